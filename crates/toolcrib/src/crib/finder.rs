//! Search over all tools of a crib: an index that follows the registry.

use std::sync::Arc;

use super::Crib;
use crate::model::error::ToolError;
use crate::registry::Entry;
use crate::search::Class;

/// What to look for.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// The words; none: everything, newest first.
    pub query: String,
    /// Also tools that are off or cannot run.
    pub include_disabled: bool,
    /// The most hits; 0: the default of 50. At most 500.
    pub limit: usize,
    /// Where the last page ended.
    pub page_token: Option<String>,
}

/// A tool that was found.
pub struct Found {
    /// The tool.
    pub entry: Arc<Entry>,
    /// How well it matches.
    pub class: Class,
}

/// Some of what was found, best first.
#[derive(Default)]
pub struct SearchPage {
    /// The tools.
    pub results: Vec<Found>,
    /// Where to go on; none if that was all.
    pub next_page_token: Option<String>,
}

impl Crib {
    /// Looks for tools by words.
    pub fn search(&self, _request: &SearchRequest) -> Result<SearchPage, ToolError> {
        todo!()
    }
}
