//! `toolcrib bundle enable`: switches bundles.

use crate::args::{BundleNamesArgs, BundleSwitchArgs, Global};
use crate::commands::Done;
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn enable(_args: &BundleSwitchArgs, _global: &Global, _output: &Output) -> Done {
    Err(CliError::usage("`toolcrib bundle enable` is not there yet"))
}
pub(super) fn disable(_args: &BundleNamesArgs, _global: &Global, _output: &Output) -> Done {
    Err(CliError::usage("`toolcrib bundle enable` is not there yet"))
}
