//! What a run shows of its outcome, and what a dry run shows instead.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib::crib::{Planned, SecretNeeded};
use toolcrib::model::outcome::HeldNote;
use toolcrib::model::{JsonObject, text};
use toolcrib::wire::{ResultShape, render};
use toolcrib::{ErrorCode, Outcome, ToolError, ToolOutput};

use crate::args::RunArgs;
use crate::commands::{Done, in_words, word};
use crate::duration;
use crate::failure::print_error;
use crate::ids::short;
use crate::output::Output;

/// Facts about a call beside its outcome.
pub(super) struct CallSetting {
    /// Whether the tool is one of the store.
    pub(super) is_stored: bool,
    /// How long a denial is remembered; `None` where only a server knows.
    pub(super) remember_denial: Option<Duration>,
}

/// What to do about a call that failed, where the call itself says more than its code.
fn hint(
    args: &RunArgs,
    outcome: &Outcome,
    error: &ToolError,
    known: &CallSetting,
) -> Option<String> {
    // As it was typed: the name for models may be that of another version.
    let tool = match known.is_stored {
        true => word(&args.tool),
        false => outcome.tool.clone(),
    };
    match error.code() {
        ErrorCode::InvalidArguments => Some(format!("`toolcrib show {tool}` lists the parameters")),
        ErrorCode::ToolDisabled | ErrorCode::ToolUnavailable => {
            Some(format!("`toolcrib explain {tool}` says more"))
        }
        ErrorCode::Conflict => {
            let id = args.call_id.as_ref()?;
            Some(format!(
                "choose another id; `toolcrib calls show {id}` shows that call"
            ))
        }
        ErrorCode::ApprovalDenied => {
            let remembered = known.remember_denial?;
            (!remembered.is_zero()).then(|| {
                format!(
                    "do something else; to change your mind, call again with `--yes`, or {} after the denial to be asked again",
                    duration::in_words(remembered)
                )
            })
        }
        _ => None,
    }
}

/// What of a result was shown while it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Nothing,
    /// What a program complained.
    Stderr,
    Everything,
}

pub(super) fn print_outcome(
    args: &RunArgs,
    outcome: &Outcome,
    shown: Shown,
    known: &CallSetting,
    output: &Output,
) {
    if let Some(shape) = args
        .shape
        .as_deref()
        .and_then(|shape| shape.parse::<ResultShape>().ok())
    {
        output.document(&render(outcome, shape));
    } else if output.json() {
        let document = render(outcome, ResultShape::Tagged);
        if args.stream {
            output.ndjson(&document);
        } else {
            output.document(&document);
        }
    } else {
        match &outcome.result {
            Ok(result) => match result.value.as_object().and_then(Program::of) {
                Some(program) => {
                    program.print(shown, output);
                    if program.exit_code != 0 {
                        output.say(&output.dim(&format!("exit code {}", program.exit_code)));
                    }
                    say_note(result.value.as_object(), output);
                }
                None if shown == Shown::Everything => {}
                None => print_result(result, output),
            },
            Err(error) => {
                if let Some(program) = error.details().and_then(Program::of) {
                    program.print(shown, output);
                }
                let hint = hint(args, outcome, error, known);
                print_error(output, error, hint.as_deref());
                say_note(error.details(), output);
            }
        }
    }
    for note in notes(outcome, output.json()) {
        output.say(&output.dim(&note));
    }
    if output.verbose() {
        if let Some(approval) = outcome.approval.as_ref().filter(|trail| trail.approved) {
            let by = match approval.by.strip_prefix("grant ") {
                Some(id) => format!("grant {}", short(id)),
                None => approval.by.clone(),
            };
            let by = text::shorten(&by, 100);
            output.say(&output.dim(&format!("approved by {by}")));
        }
        let timing = &outcome.timing;
        output.say(&output.dim(&format!(
            "call {} · queue {:.1?} · execution {:.1?} · total {:.1?}",
            outcome.call_id, timing.queue, timing.execution, timing.total
        )));
    }
}

/// What should be known about a result besides itself; what the document says already is not said again.
fn notes(outcome: &Outcome, in_document: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let result = outcome.result.as_ref().ok();
    if let Some(fields) = result.and_then(|result| result.value.as_object())
        && !in_document
    {
        if fields.get("truncated") == Some(&Value::Bool(true)) {
            notes
                .push("the list is not complete: it has as many entries as are allowed".to_owned());
        }
        notes.extend(note_on_answer(fields).map(|note| text::shorten(note, 500)));
    }
    if let Some(failure) = result.and_then(|result| result.failure.as_ref()) {
        let why = text::shorten(failure.message(), 500);
        notes.push(format!("nothing, because {why}"));
    }
    if outcome.truncated {
        notes.push("the output was cut to its limit".to_owned());
    }
    if !in_document {
        let warnings = outcome.warnings.iter();
        notes.extend(warnings.map(|warning| text::shorten(&text::visible_line(warning), 500)));
    }
    notes.extend(outcome.held.iter().map(held_note));
    let planted = outcome.sandbox.iter().flat_map(|used| &used.planted);
    notes.extend(planted.map(|path| planted_note(path)));
    notes
}

/// Facts about a server's answer, of which only the content is shown.
fn note_on_answer(fields: &JsonObject) -> Option<&str> {
    let is_answer = ["status", "headers", "body", "contentType"]
        .iter()
        .all(|name| fields.contains_key(*name));
    fields.get("note").filter(|_| is_answer)?.as_str()
}

/// What a program printed, when a tool ran one.
struct Program<'a> {
    stdout: &'a str,
    stderr: &'a str,
    exit_code: i64,
}

impl<'a> Program<'a> {
    fn of(fields: &'a JsonObject) -> Option<Self> {
        Some(Program {
            stdout: fields.get("stdout")?.as_str()?,
            stderr: fields.get("stderr")?.as_str()?,
            exit_code: fields.get("exitCode")?.as_i64()?,
        })
    }

    /// Each stream goes where the program meant it to go.
    fn print(&self, shown: Shown, output: &Output) {
        if shown != Shown::Everything {
            output.text(self.stdout);
        }
        if shown == Shown::Nothing {
            output.error_text(self.stderr);
        }
    }
}

/// Says why a program failed, where the sandbox knows.
fn say_note(fields: Option<&JsonObject>, output: &Output) {
    let note = fields.and_then(|fields| fields.get("note")?.as_str());
    if let Some(note) = note {
        output.say(&format!("{} {}", output.bold("note:"), text::visible(note)));
    }
}

fn print_result(result: &ToolOutput, output: &Output) {
    match &result.text {
        // The content of a file, the output of a program: exactly that.
        Some(text) => output.text(text),
        None => output.text(&format!("{}\n", result.text())),
    }
}

pub(super) fn dry_run(plan: &Planned, output: &Output) -> Done {
    if output.json() {
        let secrets = plan.secrets.iter().cloned();
        let plan = Planned {
            secrets: secrets.map(SecretNeeded::without_host).collect(),
            ..plan.clone()
        };
        output.document(&json!({"ok": true, "value": plan}));
        return Ok(ExitCode::SUCCESS);
    }
    let parameters = serde_json::to_string(&plan.parameters).unwrap_or_default();
    let ask = plan.reason.as_deref().unwrap_or_default();
    let verdict = match plan.verdict {
        toolcrib::Verdict::Allow => match &plan.grant {
            Some(grant) => format!("runs without asking, by grant {}", short(grant)),
            None => "runs without asking".to_owned(),
        },
        toolcrib::Verdict::Ask => format!("asks first: {ask}"),
        toolcrib::Verdict::Deny => format!("is refused: {ask}"),
    };
    let effects = match plan.effects.as_slice() {
        [] => "unknown".to_owned(),
        tags => tags.join(", "),
    };
    output.line(&format!("would    {}", text::visible(&plan.effect)));
    output.line(&format!("tool     {}", plan.reference));
    output.line(&format!("with     {}", text::shorten(&parameters, 2000)));
    output.line(&format!("effects  {effects}"));
    output.line(&format!("verdict  {verdict}"));
    for secret in &plan.secrets {
        output.line(&format!("secret   {}", text::visible(&secret.in_words())));
    }
    let timeout = Duration::from_millis(plan.timeout_ms);
    output.line(&format!(
        "limits   {}",
        in_words(timeout, plan.max_output_bytes)
    ));
    if let Some(diff) = &plan.diff {
        output.line(&text::visible(diff));
    }
    output.say(&output.dim("nothing was done"));
    Ok(ExitCode::SUCCESS)
}

/// What was not held, and is worth a look.
pub(in crate::commands) fn planted_note(path: &str) -> String {
    let path = text::visible_line(path);
    format!("look at `{path}` before another program runs it")
}

/// What was held, and how it comes back.
pub(in crate::commands) fn held_note(note: &HeldNote) -> String {
    format!(
        "held `{}`, because {}; it may be your own, if you made it while the command ran: `toolcrib held show {id}` shows it, `toolcrib held restore {id}` puts it back",
        text::visible_line(&note.path),
        text::visible_line(&note.why),
        id = short(&note.id)
    )
}
