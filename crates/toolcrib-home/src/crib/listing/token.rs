//! Where a page ended, as text: [`Token`].

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;

/// Longer texts are none of ours.
const MAX_TEXT: usize = 16 * 1024;

/// Where a page of a list ended, and what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Token {
    /// Which list it is of.
    pub(super) list: String,
    /// What was asked for.
    pub(super) asked: RowFilter,
    /// The order of the last row.
    pub(super) after: (String, String),
}

/// What rows of a list were asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowFilter {
    pub(super) tags: Vec<String>,
    pub(super) bundles: Vec<String>,
    pub(super) include_disabled: bool,
    pub(super) size: usize,
}

impl Token {
    pub(super) fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    /// Reads a token of a list, given for the same rows. Anything left out (`asked` with nothing in it) is taken from the token.
    pub(super) fn read(text: &str, list: &str, asked: &RowFilter) -> Result<Token, ToolError> {
        let bytes = Some(text).filter(|text| text.len() <= MAX_TEXT);
        let bytes = bytes.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let token: Option<Token> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let token = token.ok_or_else(|| refused(text, "is not one"))?;
        if token.list != list {
            return Err(refused(text, "is of another list"));
        }
        let same = |one: &[String], other: &[String]| one.is_empty() || one == other;
        let is_same = same(&asked.tags, &token.asked.tags)
            && same(&asked.bundles, &token.asked.bundles)
            && (!asked.include_disabled || token.asked.include_disabled);
        match is_same {
            true => Ok(token),
            false => Err(refused(text, "was given for other rows")),
        }
    }
}

fn refused(token: &str, problem: &str) -> ToolError {
    let shown = text::shorten(token, 40);
    let message = format!(
        "page token `{shown}` {problem}; take the one that came with the last page, or leave it out for the first page"
    );
    ToolError::new(ErrorCode::Usage, message)
}
