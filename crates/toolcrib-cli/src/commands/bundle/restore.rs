//! `toolcrib bundle restore`: takes a bundle out of the bin.

use crate::args::{BundleArgs, Global};
use crate::commands::Done;
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn restore(_args: &BundleArgs, _global: &Global, _output: &Output) -> Done {
    Err(CliError::usage(
        "`toolcrib bundle restore` is not there yet",
    ))
}
