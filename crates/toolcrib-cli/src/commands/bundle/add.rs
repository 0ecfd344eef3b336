//! `toolcrib bundle add`: puts tools of files into a bundle.

use crate::args::{BundleAddArgs, Global};
use crate::commands::Done;
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn add(_args: &BundleAddArgs, _global: &Global, _output: &Output) -> Done {
    Err(CliError::usage("`toolcrib bundle add` is not there yet"))
}
