//! `toolcrib bundle rm`: puts a bundle in the bin.

use crate::args::{BundleRmArgs, Global};
use crate::commands::Done;
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn rm(_args: &BundleRmArgs, _global: &Global, _output: &Output) -> Done {
    Err(CliError::usage("`toolcrib bundle rm` is not there yet"))
}
