//! The judgement of a call before it runs: the trait [`Rules`], and [`Judgement`], its answer.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::JsonObject;
use crate::effects::Verdict;
use crate::spec::ToolSpec;

/// Shell text that a call would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellText {
    /// The text, every value in it as a quoted word.
    pub text: String,
    /// The directory it starts in, relative to the workspace; the workspace itself if not said.
    pub directory: Option<String>,
    /// Directories outside of the workspace that are the call's own, as its private temporary one.
    pub own: Vec<PathBuf>,
    /// Where its programs are looked for, if the tool says so: its `PATH`.
    pub path: Option<String>,
    /// What it finds on its standard input, if the tool gives it something: a program to one that reads its program there.
    pub input: Option<String>,
}

/// A path that a call touches and that no argument of it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// Relative to the workspace.
    pub path: String,
    /// Whether it is made, changed or removed, rather than read.
    pub is_written: bool,
}

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
    /// Shell text that the call would run and that no argument shows: `Look::commands`. Its author wrote
    /// it and someone trusted it, values in it are quoted words. So what it certainly does is judged like any shell text, but unknown
    /// parts of it are not a reason to ask.
    pub commands: &'a [ShellText],
    /// Paths that the call touches besides those that its parameters name: what `Look::writes` says, and where
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
