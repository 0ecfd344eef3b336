//! The error of a word that is not one of a short list.

use std::fmt;

use crate::model::text;

/// A provider or shape no one knows, with the known ones and the nearest of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownChoice {
    /// What was to be chosen: `provider`, `shape`.
    pub what: &'static str,
    /// The word given.
    pub given: String,
    /// The words that would have done.
    pub known: Vec<&'static str>,
}

impl fmt::Display for UnknownChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = text::shorten(&self.given, 64);
        write!(f, "unknown {} `{given}`; ", self.what)?;
        // The very same word in capitals is near too, and then it is the only one worth naming.
        if let Some(near) = text::nearest(&self.given, self.known.iter().copied()).first() {
            write!(f, "did you mean `{near}`? ")?;
        }
        write!(f, "use {}", text::or_list(&self.known))
    }
}

impl std::error::Error for UnknownChoice {}
