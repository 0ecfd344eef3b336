//! `toolcrib bundle list`: which bundles there are.

use crate::args::{BundleListArgs, Global};
use crate::commands::Done;
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn list(_args: &BundleListArgs, _global: &Global, _output: &Output) -> Done {
    Err(CliError::usage("`toolcrib bundle list` is not there yet"))
}
