//! Why a command cannot become a tool, and what to do. Texts never quote values: one of them may be a credential.

/// A reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Why {
    /// The obstacle.
    pub(super) what: String,
    /// What to type instead.
    pub(super) instead: String,
}

impl Why {
    pub(super) fn new(what: impl Into<String>, instead: impl Into<String>) -> Self {
        Why {
            what: what.into(),
            instead: instead.into(),
        }
    }
}
