//! `toolcrib bundle import`: reads a bundle from a ZIP file.

use crate::args::{BundleImportArgs, Global};
use crate::commands::Done;
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn import(_args: &BundleImportArgs, _global: &Global, _output: &Output) -> Done {
    Err(CliError::usage("`toolcrib bundle import` is not there yet"))
}
