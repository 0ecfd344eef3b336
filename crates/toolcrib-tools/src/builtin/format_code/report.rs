//! The jobs of a call, and their report: files that changed, with diffs as far as there is room, and what went wrong.

use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};

use super::apply::{Complaint, Formatted, Shop, Surveyed};
use super::choose::{self, Job, Plan};
use super::formatter::Formatter;
use crate::builtin::project::join;
use crate::call::context::CallContext;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::outcome::ToolOutput;

/// How many files are given to formatters in one call, and how many at once.
const MAX_FILES: usize = 1000;
const AT_ONCE: usize = 4;

/// How many files and problems are reported, and how many bytes of diffs.
const MAX_TOLD: usize = 200;
const MAX_DIFFS: usize = 64 * 1024;

/// The report of a call.
#[derive(Debug, Default)]
pub(super) struct FormatReport {
    by: Vec<Formatter>,
    changed: Vec<(String, String)>,
    unchanged: usize,
    errors: Vec<(String, Complaint)>,
    missing: Vec<Formatter>,
    given: usize,
    is_cut: bool,
}

impl FormatReport {
    pub(super) fn of(plan: &Plan) -> Self {
        FormatReport {
            is_cut: plan.is_cut,
            missing: plan.missing.clone(),
            ..FormatReport::default()
        }
    }

    /// Does a job.
    pub(super) async fn work(&mut self, shop: &Shop, job: &Job) -> Result<(), ToolError> {
        if !self.by.contains(&job.formatter) {
            self.by.push(job.formatter);
        }
        let (mut suspects, considered, complaint) = match &job.survey {
            None => (job.files.clone(), job.files.len(), None),
            Some(directory) => match shop.survey(job, directory).await? {
                Surveyed::Some {
                    suspects,
                    considered,
                    complaint,
                } => (suspects, considered, complaint),
                Surveyed::Nothing(complaint) => {
                    self.errors.push((place(job), complaint));
                    return Ok(());
                }
            },
        };
        let room = MAX_FILES.saturating_sub(self.given);
        self.is_cut |= suspects.len() > room;
        let left = suspects.len().saturating_sub(room);
        suspects.truncate(room);
        self.given += suspects.len();
        let (changed, failed) = (self.changed.len(), self.errors.len());
        let mut work = stream::iter(suspects)
            .map(|file| async move {
                let formatted = shop.format(job, &file).await;
                (file, formatted)
            })
            .buffered(AT_ONCE);
        while let Some((file, formatted)) = work.next().await {
            match formatted {
                Ok(Formatted::Unchanged) => {}
                Ok(Formatted::Changed { diff }) => {
                    self.changed.push((file, diff));
                    self.keep_partial(shop);
                }
                Ok(Formatted::Failed(complaint)) => self.errors.push((file, complaint)),
                Err(error) if is_about_the_call(&error) => return Err(error),
                // If one file cannot be read or written, the others are still formatted.
                Err(error) => self.errors.push((
                    file,
                    Complaint {
                        line: None,
                        message: error.message().to_owned(),
                    },
                )),
            }
        }
        if let (Some(complaint), true) = (complaint, failed == self.errors.len()) {
            self.errors.push((place(job), complaint));
        }
        let touched = self.changed.len() - changed + self.errors.len() - failed + left;
        self.unchanged += considered.saturating_sub(touched);
        Ok(())
    }

    /// What was changed already, should the call end early.
    fn keep_partial(&self, shop: &Shop) {
        if !shop.check {
            let paths: Vec<&str> = self
                .changed
                .iter()
                .map(|(path, _)| path.as_str())
                .take(MAX_TOLD)
                .collect();
            shop.cx.keep_partial("changed", json!(paths));
        }
    }

    pub(super) fn into_output(mut self, cx: &CallContext, check: bool) -> ToolOutput {
        self.is_cut |= self.changed.len() > MAX_TOLD || self.errors.len() > MAX_TOLD;
        let total = self.changed.len();
        let mut room = MAX_DIFFS;
        let mut changed = Vec::new();
        let mut shown = String::new();
        for (path, diff) in self.changed.into_iter().take(MAX_TOLD) {
            match room.checked_sub(diff.len()) {
                Some(left) => {
                    room = left;
                    if check {
                        shown.push_str(&diff);
                    }
                    changed.push(json!({"path": path, "diff": diff}));
                }
                None => {
                    self.is_cut = true;
                    changed.push(json!({"path": path}));
                }
            }
            if !check
                || changed
                    .last()
                    .is_some_and(|last| last.get("diff").is_none())
            {
                shown.push_str(&format!("{path}\n"));
            }
        }
        let names: Vec<&str> = self.by.iter().map(|formatter| formatter.name()).collect();
        let names = names.join(", ");
        let files = |count: usize| if count == 1 { "file" } else { "files" };
        let would = if check { "would change" } else { "changed" };
        let mut text = format!(
            "{names}: {total} {} {would}, {} unchanged\n{shown}",
            files(total),
            self.unchanged
        );
        let mut errors = Vec::new();
        for (path, Complaint { line, message }) in self.errors.into_iter().take(MAX_TOLD) {
            let at = line.map_or(String::new(), |line| format!(":{line}"));
            text.push_str(&format!("error: {path}{at}: {message}\n"));
            let mut error = json!({"path": path, "message": message});
            if let Some(line) = line {
                error["line"] = line.into();
            }
            errors.push(error);
        }
        let mut skipped = Vec::new();
        for formatter in self.missing {
            let missing = choose::missing(formatter);
            let reason = missing.message();
            text.push_str(&format!("skipped: {reason}\n"));
            skipped.push(json!({"formatter": formatter.name(), "reason": reason}));
        }
        if self.is_cut {
            cx.note_truncated();
            text.push_str("not everything is shown or done; call again with a narrower path\n");
        }
        let mut value = json!({
            "formatter": names,
            "changed": changed,
            "unchanged": self.unchanged,
            "errors": errors,
            "truncated": self.is_cut,
        });
        if !skipped.is_empty() {
            value["skipped"] = Value::Array(skipped);
        }
        ToolOutput::value(value).with_text(text)
    }
}

/// The place of a problem that is about a whole job.
fn place(job: &Job) -> String {
    match (job.root.as_str(), job.formatter) {
        (root, Formatter::Rustfmt) => join(root, "Cargo.toml"),
        (root, _) => root.to_owned(),
    }
}

/// Whether an error ends the call, rather than concerning one file.
fn is_about_the_call(error: &ToolError) -> bool {
    matches!(
        error.code(),
        ErrorCode::Cancelled
            | ErrorCode::Timeout
            | ErrorCode::SandboxUnavailable
            | ErrorCode::ToolUnavailable
    )
}
