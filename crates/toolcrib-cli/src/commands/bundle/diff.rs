//! `toolcrib bundle diff`: compares bundles.

use crate::args::{BundleDiffArgs, Global};
use crate::commands::Done;
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn diff(_args: &BundleDiffArgs, _global: &Global, _output: &Output) -> Done {
    Err(CliError::usage("`toolcrib bundle diff` is not there yet"))
}
