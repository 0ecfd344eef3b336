//! `steps`.

use super::body;
use super::field_value::At;
use super::graph;
use super::templates::{Templates, VisibleSteps};
use crate::definition::problem::{Findings, SpannedProblem};
use crate::definition::{Action, OutputMode, Retry, Step, StreamTo};
use crate::model::names::WireName;
use crate::model::text::shorten;
use crate::template::Form;

/// The most steps of a tool.
const MAX_STEPS: usize = 200;

/// The names of the steps, for templates; bad ones are reported.
pub(super) fn names(root: At<'_, '_>, found: &mut Findings<'_>) -> Vec<String> {
    let Some(at) = root.get("steps") else {
        return Vec::new();
    };
    let mut names: Vec<String> = Vec::new();
    for step in at.nodes() {
        if step.node.map().is_none() {
            continue;
        }
        let Some(name_at) = step.get("name") else {
            if !step.has("name") {
                let message = "a step has no `name`, by which others refer to it";
                found.push(SpannedProblem::error("missing-field", step.span(), message));
            }
            continue;
        };
        let Some(name) = name_at.text() else { continue };
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let fits = name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if !starts || !fits || name.len() > 64 {
            let message = format!(
                "`{}` cannot be a step's name: it begins with a letter or `_`, goes on with letters, digits, `_` and `-`, and has at most 64 characters",
                shorten(name, 80)
            );
            found.push(SpannedProblem::error("bad-name", name_at.span(), message));
        } else if names.iter().any(|other| other == name) {
            let message = format!("two steps are called `{name}`");
            found.push(
                SpannedProblem::error("duplicate-name", name_at.span(), message)
                    .help("give each step its own name"),
            );
        } else {
            names.push(name.to_owned());
        }
    }
    names
}

pub(super) fn read(
    root: At<'_, '_>,
    tool: Option<&WireName>,
    templates: &mut Templates<'_, '_>,
) -> Option<Vec<Step>> {
    let given = root.get("steps");
    let span = given.map_or_else(|| root.key_span("steps"), At::span);
    let nodes: Vec<At<'_, '_>> = given
        .into_iter()
        .flat_map(At::nodes)
        .filter(|step| step.node.map().is_some())
        .collect();
    if nodes.is_empty() {
        let found = SpannedProblem::error("missing-value", span, "`steps` has no step");
        templates.push(found.help("add at least one, with a `name` and what it runs"));
        return None;
    }
    if nodes.len() > MAX_STEPS {
        let message = format!(
            "`steps` has {} steps; a tool may have {MAX_STEPS}",
            nodes.len()
        );
        templates.push(SpannedProblem::error("too-much", span, message));
        return None;
    }
    let waits = graph::waits(&nodes, templates.findings());
    let before = graph::before(&waits);
    let step_names: Vec<&str> = nodes
        .iter()
        .map(|step| step.text_of("name").unwrap_or_default())
        .collect();
    let mut steps = Vec::new();
    for (index, step) in nodes.iter().enumerate() {
        let reach = VisibleSteps::Before {
            step: step_names[index].to_owned(),
            steps: before[index]
                .iter()
                .map(|earlier| step_names[*earlier].to_owned())
                .collect(),
        };
        let outside = templates.reach(reach);
        let read = one(
            *step,
            step_names[index],
            waits[index].clone(),
            tool,
            templates,
        );
        templates.reach(outside);
        steps.extend(read);
    }
    (steps.len() == nodes.len()).then_some(steps)
}

fn one(
    at: At<'_, '_>,
    name: &str,
    wait_for: Vec<usize>,
    tool: Option<&WireName>,
    templates: &mut Templates<'_, '_>,
) -> Option<Step> {
    let action = action(at, name, tool, templates);
    let run_condition = at.get("run-condition").map(|at| templates.condition(at));
    let handling = at.get("error-handling");
    let fallback = handling
        .and_then(|at| at.get("fallback"))
        .map(|at| templates.program(at, &Form::Bash));
    let retry = handling
        .and_then(|at| at.get("retry"))
        .and_then(|at| retry(at, templates));
    let output = output(at, templates);
    Some(Step {
        name: name.to_owned(),
        action: action?,
        continue_on_error: at.boolean("continue-on-error").unwrap_or(false),
        // A condition that could not be read is an error, not an absence.
        run_condition: match run_condition {
            Some(condition) => Some(condition?),
            None => None,
        },
        parallel: at.boolean("parallel").unwrap_or(false),
        wait_for,
        retry,
        fallback: match fallback {
            Some(fallback) => Some(fallback?),
            None => None,
        },
        output,
        timeout: at.time("timeout"),
    })
}

fn action(
    at: At<'_, '_>,
    name: &str,
    tool: Option<&WireName>,
    templates: &mut Templates<'_, '_>,
) -> Option<Action> {
    let whose = format!("the step `{name}`");
    let form = body::one_of(
        at,
        &["bash", "cmd", "pwsh", "run", "script", "use-tool"],
        &whose,
        templates.findings(),
    )?;
    if form != "use-tool" {
        if at.has("with") {
            let message = format!("`with` has no effect on {whose}: it is for `use-tool`");
            templates.push(SpannedProblem::warning(
                "without-effect",
                at.key_span("with"),
                message,
            ));
        }
        return body::program(at, form, templates).map(Action::Run);
    }
    let tool_at = at.get("use-tool")?;
    let used = body::tool_reference(tool_at, "use-tool", tool, templates.findings());
    let mut with = Vec::new();
    let mut fine = true;
    if let Some(at) = at.get("with") {
        for (key, value) in at.entries() {
            match templates.json(value.node) {
                Some(value) => with.push((key.text.clone().into_owned(), value)),
                None => fine = false,
            }
        }
    }
    let tool = used?;
    fine.then_some(Action::UseTool { tool, with })
}

fn retry(at: At<'_, '_>, templates: &mut Templates<'_, '_>) -> Option<Retry> {
    if !at.has("attempts") {
        let message = "`retry` does not say how many `attempts` there are in all";
        templates.push(
            SpannedProblem::error("missing-field", at.span(), message).help("add `attempts: 3`"),
        );
    }
    let backoff = at
        .number("backoff")
        .and_then(|number| number.as_f64())
        .unwrap_or(1.0);
    if !(1.0..=10.0).contains(&backoff) {
        let message = format!("`backoff` must be between 1 and 10, not {backoff}");
        let span = at.get("backoff").map_or(at.span(), At::span);
        templates.push(SpannedProblem::error("out-of-range", span, message));
    }
    Some(Retry {
        attempts: u32::try_from(at.integer("attempts")?).ok()?,
        delay: at.time("delay").unwrap_or_default(),
        backoff,
    })
}

fn output(step: At<'_, '_>, templates: &mut Templates<'_, '_>) -> OutputMode {
    let Some(at) = step.get("output") else {
        return OutputMode::default();
    };
    let callback = at.choice("stream-callback");
    let streams = match at.choice("mode") {
        Some(mode) => mode == "stream",
        None => callback.is_some(),
    };
    if callback.is_some() && !streams {
        let message = "`stream-callback` has no effect with `mode: buffer`";
        let span = at.key_span("stream-callback");
        templates.push(
            SpannedProblem::warning("without-effect", span, message)
                .help("write `mode: stream`, or remove the line"),
        );
    }
    let file = at.get("file").and_then(|file| {
        let text = file.text()?;
        if callback != Some("file") {
            let message = "`file` has no effect without `stream-callback: file`";
            templates.push(SpannedProblem::warning(
                "without-effect",
                at.key_span("file"),
                message,
            ));
        }
        if let Some(why) = body::leaves_workspace(text) {
            let message = format!("`file` must be a path in the workspace: {why}");
            templates.push(SpannedProblem::error("outside-path", file.span(), message));
        }
        Some(text.to_owned())
    });
    OutputMode {
        stream_to: streams.then_some(match callback {
            Some("file") => StreamTo::File(file),
            Some("function") => StreamTo::Function,
            _ => StreamTo::Console,
        }),
        buffer_limit: at.size("buffer-limit"),
    }
}
