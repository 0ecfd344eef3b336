//! `toolcrib bundle new`: makes a bundle.

use crate::args::{BundleNewArgs, Global};
use crate::commands::Done;
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn new(_args: &BundleNewArgs, _global: &Global, _output: &Output) -> Done {
    Err(CliError::usage("`toolcrib bundle new` is not there yet"))
}
