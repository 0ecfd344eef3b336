//! Rules: what is refused or asked about before anything runs.
//!
//! Rules route and explain; the sandbox is the wall. A rule says on which calls it has something to say (docs/rules.md has the
//! language) and what: allow, ask or deny. All rules that match are listed, and the severest verdict wins. Shell text is not
//! searched but read ([`crate::shell`]): `echo sudo` runs no `sudo`. What cannot be understood is asked about.
//!
//! ```text
//! facts        what a call is about, read once: invocation, paths (habits, links), place, host
//! rule         one condition on it: patterns, command, glob (name_glob), knowledge
//! set          all rules, behind the trait Rules
//! file         rules as TOML, checked with their examples when they are loaded
//! ```

mod command;
mod examples;
mod facts;
mod file;
mod glob;
mod habits;
mod host;
mod invocation;
mod knowledge;
mod links;
mod name_glob;
mod paths;
mod patterns;
mod place;
mod rule;
mod set;

use std::path::Path;

use serde::Serialize;

pub use file::{RuleProblem, RulesError, Whose};
pub use rule::{Rule, RuleOrigin};
pub use set::RuleSet;

use crate::model::JsonObject;
use crate::model::effects::Verdict;
use crate::spec::ToolSpec;
use crate::tool::{ShellText, Touched};

/// Judges calls.
pub trait Rules: Send + Sync + 'static {
    /// Judges one call, after its arguments were validated.
    fn judge(&self, tool: &ToolSpec, args: &JsonObject, cx: &RuleContext<'_>) -> Judgement;
}

/// What rules may know of the place a call would run in.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleContext<'a> {
    /// Where the workspace is on the host, without links.
    pub workspace: Option<&'a Path>,
    /// Shell text that the call would run and that no argument shows: [`Tool::commands`](crate::Tool::commands). Its author wrote
    /// it and somebody trusted it, values in it are quoted words. So what it certainly does is judged like any shell text, but
    /// that parts of it cannot be told before it runs is no reason to ask.
    pub commands: &'a [ShellText],
    /// Paths that the call touches besides those that its parameters name: what [`Tool::writes`](crate::Tool::writes) says, and where
    /// links lead to.
    pub touched: &'a [Touched],
    /// Whether links in the workspace are looked up, so that `cat notes.txt` is judged by where `notes.txt` leads.
    pub follows_links: bool,
}

/// What the rules say about a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The severest verdict of all rules that match; allow when none does.
    pub verdict: Verdict,
    /// The rules that match, severest first.
    pub findings: Vec<Finding>,
}

/// One rule that matched.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Finding {
    /// The rule's name.
    pub rule: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Its reason.
    pub reason: String,
    /// The command, path, host or parameter it is about, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

impl Finding {
    /// The finding as a sentence: why, about what, by which rule.
    pub fn in_words(&self) -> String {
        let Finding { rule, reason, .. } = self;
        match &self.about {
            Some(about) => format!("{reason}: `{about}` (rule `{rule}`)"),
            None => format!("{reason} (rule `{rule}`)"),
        }
    }
}

impl Judgement {
    /// No rule matches.
    pub fn allow() -> Self {
        Judgement {
            verdict: Verdict::Allow,
            findings: Vec::new(),
        }
    }

    /// The judgement that a list of findings amounts to.
    pub fn of(mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
        let verdict = findings
            .first()
            .map_or(Verdict::Allow, |finding| finding.verdict);
        Judgement { verdict, findings }
    }
}
