//! What holds a tool's programs back, for people: [`SandboxPlan`].

use std::fmt;

use serde::Serialize;

/// The wall around a tool's programs, line by line, and what backs each line on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxPlan {
    /// The lines, in the order of a tool's file.
    pub lines: Vec<PlanLine>,
    /// Why calls are refused here, if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// One line of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanLine {
    /// What it is about: `isolation`, `network`, `memory` …
    pub about: String,
    /// The promise.
    pub promise: String,
    /// What keeps the promise here, or what is missing.
    pub backed_by: String,
    /// Whether the promise is kept in full.
    pub kept: bool,
}

impl PlanLine {
    /// A promise that something keeps.
    #[doc(hidden)]
    pub fn kept(about: &str, promise: impl Into<String>, backed_by: impl Into<String>) -> Self {
        PlanLine {
            about: about.to_owned(),
            promise: promise.into(),
            backed_by: backed_by.into(),
            kept: true,
        }
    }

    /// A promise that nothing keeps, or not in full.
    #[doc(hidden)]
    pub fn open(about: &str, promise: impl Into<String>, why: impl Into<String>) -> Self {
        PlanLine {
            kept: false,
            ..PlanLine::kept(about, promise, why)
        }
    }
}

/// Two columns, what backs a line beneath it.
impl fmt::Display for SandboxPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self
            .lines
            .iter()
            .map(|line| line.about.chars().count())
            .max()
            .unwrap_or(0);
        for line in &self.lines {
            writeln!(f, "{:width$}  {}", line.about, line.promise)?;
            let mark = match line.kept {
                true => "by",
                false => "NOT IN FULL:",
            };
            if !line.backed_by.is_empty() {
                writeln!(f, "{:width$}    {mark} {}", "", line.backed_by)?;
            }
        }
        match &self.refused {
            Some(why) => writeln!(f, "{:width$}  {why}", "refused"),
            None => Ok(()),
        }
    }
}
