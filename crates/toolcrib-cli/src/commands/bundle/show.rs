//! `toolcrib bundle show`: one bundle and its tools.

use crate::args::{BundleArgs, Global};
use crate::commands::Done;
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn show(_args: &BundleArgs, _global: &Global, _output: &Output) -> Done {
    Err(CliError::usage("`toolcrib bundle show` is not there yet"))
}
