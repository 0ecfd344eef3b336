//! What a tool does to the world, and what that means for asking a person first.

use serde::{Deserialize, Serialize};

/// The set of S0's security tags: `read`, `write`, `run`. The empty set means *unknown*.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<&'static str>")]
pub struct Effects(u8);

impl Effects {
    /// Nothing declared: the tool counts as high risk.
    pub const UNKNOWN: Effects = Effects(0);
    /// Reads, changes nothing.
    pub const READ: Effects = Effects(1);
    /// Changes files or other state.
    pub const WRITE: Effects = Effects(2);
    /// Runs programs.
    pub const RUN: Effects = Effects(4);

    /// The union of two sets.
    #[must_use]
    pub const fn and(self, other: Effects) -> Effects {
        Effects(self.0 | other.0)
    }

    /// Whether nothing was declared.
    pub const fn is_unknown(self) -> bool {
        self.0 == 0
    }

    /// Whether the tool only reads.
    pub const fn is_read_only(self) -> bool {
        self.0 == Effects::READ.0
    }

    /// Whether every effect of `other` is in this set.
    pub const fn contains(self, other: Effects) -> bool {
        self.0 & other.0 == other.0
    }

    /// The tags in this set, in the order read, write, run.
    pub fn tags(self) -> Vec<&'static str> {
        [
            ("read", Effects::READ),
            ("write", Effects::WRITE),
            ("run", Effects::RUN),
        ]
        .into_iter()
        .filter(|(_, effect)| self.contains(*effect))
        .map(|(tag, _)| tag)
        .collect()
    }

    /// Picks the security tags out of a list of tags; others are categories and mean nothing here.
    pub fn from_tags<'a>(tags: impl IntoIterator<Item = &'a str>) -> Effects {
        tags.into_iter()
            .fold(Effects::UNKNOWN, |effects, tag| match tag {
                "read" => effects.and(Effects::READ),
                "write" => effects.and(Effects::WRITE),
                "run" => effects.and(Effects::RUN),
                _ => effects,
            })
    }
}

impl From<Vec<String>> for Effects {
    fn from(tags: Vec<String>) -> Self {
        Effects::from_tags(tags.iter().map(String::as_str))
    }
}

impl From<Effects> for Vec<&'static str> {
    fn from(effects: Effects) -> Self {
        effects.tags()
    }
}

/// Allow < ask < deny; of several verdicts the severest wins.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The call may go ahead.
    Allow,
    /// A person decides.
    Ask,
    /// The call is refused for every caller.
    Deny,
}

impl Verdict {
    /// The word used in JSON, on the command line and in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        }
    }
}

/// What a tool itself says about one call, before rules: may it go ahead, and what would it do?
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// Allow, ask or deny.
    pub verdict: Verdict,
    /// Why a person is asked (or the call refused).
    pub reason: Option<String>,
    /// What the call would do, in words a person decides on.
    pub effect: Option<String>,
    /// A diff of what would change, for writes.
    pub diff: Option<String>,
    /// What the decision rested on (for example "the file did not exist"). It travels into
    /// execution, so that what was approved is what runs; see `CallContext::basis`.
    pub basis: Option<serde_json::Value>,
    /// Whether a person is to be asked every time: no grant is offered, and none counts.
    pub every_time: bool,
}

impl Approval {
    /// The call may go ahead.
    pub fn allow() -> Self {
        Approval {
            verdict: Verdict::Allow,
            reason: None,
            effect: None,
            diff: None,
            basis: None,
            every_time: false,
        }
    }

    /// A person must agree first.
    pub fn ask(reason: impl Into<String>) -> Self {
        Approval {
            verdict: Verdict::Ask,
            reason: Some(reason.into()),
            ..Approval::allow()
        }
    }

    /// The tool refuses this call by itself.
    pub fn deny(reason: impl Into<String>) -> Self {
        Approval {
            verdict: Verdict::Deny,
            reason: Some(reason.into()),
            ..Approval::allow()
        }
    }

    /// Says what the call would do.
    #[must_use]
    pub fn with_effect(mut self, effect: impl Into<String>) -> Self {
        self.effect = Some(effect.into());
        self
    }

    /// Shows what would change in a file.
    #[must_use]
    pub fn with_diff(mut self, diff: impl Into<String>) -> Self {
        self.diff = Some(diff.into());
        self
    }

    /// Asks every time: no grant is offered, and none counts.
    #[must_use]
    pub fn every_time(mut self) -> Self {
        self.every_time = true;
        self
    }

    /// Records what the decision rests on.
    #[must_use]
    pub fn with_basis(mut self, basis: impl Into<serde_json::Value>) -> Self {
        self.basis = Some(basis.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_security_tags_count() {
        assert!(Effects::from_tags(["git", "repository"]).is_unknown());
        assert!(Effects::from_tags(["git", "read"]).is_read_only());
        assert_eq!(
            Effects::from_tags(["run", "write"]).tags(),
            ["write", "run"]
        );
    }

    #[test]
    fn the_severest_verdict_is_the_greatest() {
        assert_eq!(
            [Verdict::Ask, Verdict::Deny, Verdict::Allow]
                .into_iter()
                .max(),
            Some(Verdict::Deny)
        );
    }
}
