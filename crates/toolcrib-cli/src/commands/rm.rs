//! `toolcrib rm`: removes a tool for good.

use super::Done;
use crate::args::{Global, RmArgs};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn rm(_args: &RmArgs, _global: &Global, _output: &Output) -> Done {
    Err(CliError::usage("`toolcrib rm` is not there yet"))
}
