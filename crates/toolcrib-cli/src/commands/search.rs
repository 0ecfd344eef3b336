//! `toolcrib search`: finds tools by words.

use super::Done;
use crate::args::{Global, SearchArgs};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn search(_args: &SearchArgs, _global: &Global, _output: &Output) -> Done {
    Err(CliError::usage("`toolcrib search` is not there yet"))
}
