//! `toolcrib bundle export`: writes a bundle as a ZIP file.

use crate::args::{BundleExportArgs, Global};
use crate::commands::Done;
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn export(_args: &BundleExportArgs, _global: &Global, _output: &Output) -> Done {
    Err(CliError::usage("`toolcrib bundle export` is not there yet"))
}
