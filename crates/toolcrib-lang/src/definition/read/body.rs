//! What a tool runs: one program, one for each platform, steps, or another tool.

use super::alias;
use super::field_value::At;
use super::general;
use super::steps;
use super::templates::Templates;
use crate::definition::fields::Syntax;
use crate::definition::problem::{Findings, SpannedProblem};
use crate::definition::{Body, Program};
use crate::model::names::{Slug, WireName};
use crate::model::reference::ToolRef;
use crate::model::text::{or_list, shorten};
use crate::template::Form;

/// The ways to say what a tool runs.
const FORMS: &[&str] = &[
    "bash",
    "cmd",
    "pwsh",
    "run",
    "script",
    "commands",
    "steps",
    "base-tool",
];

pub(super) fn read(
    root: At<'_, '_>,
    name: Option<&WireName>,
    is_alias: bool,
    templates: &mut Templates<'_, '_>,
) -> Option<Body> {
    let form = one_of(root, FORMS, "the tool", templates.findings())?;
    if form == "base-tool" {
        return alias::read(root, name, templates);
    }
    if is_alias {
        let found = SpannedProblem::error(
            "missing-field",
            root.key_span("type"),
            "an alias needs a `base-tool`: the tool it stands for",
        );
        templates.push(found);
    }
    match form {
        "commands" => commands(root, templates),
        "steps" => steps::read(root, name, templates).map(Body::Steps),
        form => program(root, form, templates).map(Body::Command),
    }
}

/// The one key of several that is there; several or none are an error.
pub(super) fn one_of(
    at: At<'_, '_>,
    keys: &'static [&'static str],
    whose: &str,
    found: &mut Findings<'_>,
) -> Option<&'static str> {
    // `null` in JSON is what is not said.
    let is_given = |key: &str| match found.dialect.syntax {
        Syntax::Json => at.get(key).is_some(),
        Syntax::Yaml => at.has(key),
    };
    let given: Vec<&'static str> = keys.iter().copied().filter(|key| is_given(key)).collect();
    match given.as_slice() {
        [one] => Some(one),
        // A misspelt one has been reported.
        [] if keys.iter().any(|key| found.suggests(key)) => None,
        [] => {
            let message = format!("{whose} does not say what it runs");
            found.push(
                SpannedProblem::error("nothing-to-run", at.span(), message)
                    .help(format!("add one of {}", or_list(keys))),
            );
            None
        }
        [first, rest @ ..] => {
            for key in rest {
                let message = format!("{whose} says twice what it runs: `{first}` and `{key}`");
                found.push(
                    SpannedProblem::error("two-ways-to-run", at.key_span(key), message)
                        .help("keep one of them; several commands are `steps`"),
                );
            }
            None
        }
    }
}

/// The program of a form, at the top or in a step.
pub(super) fn program(
    at: At<'_, '_>,
    form: &str,
    templates: &mut Templates<'_, '_>,
) -> Option<Program> {
    if form != "script" && at.has("shell") {
        let message = format!("`shell` has no effect on `{form}`: it is for `script`");
        templates.push(
            SpannedProblem::warning("without-effect", at.key_span("shell"), message)
                .help("remove the line, or write `script` instead"),
        );
    }
    let form_of = match form {
        "bash" => Form::Bash,
        "cmd" => Form::Cmd,
        "pwsh" => Form::Pwsh,
        "run" => Form::Run,
        _ => match at.text_of("shell") {
            None | Some("bash") => Form::Bash,
            Some("cmd") => Form::Cmd,
            Some("pwsh" | "powershell") => Form::Pwsh,
            Some(shell) => Form::Script(shell.to_owned()),
        },
    };
    let source = at.get(form)?;
    templates.program(source, &form_of)
}

fn commands(root: At<'_, '_>, templates: &mut Templates<'_, '_>) -> Option<Body> {
    let given = root.get("commands");
    let default = given
        .and_then(|at| at.get("default"))
        .map(|at| templates.program(at, &Form::Bash));
    let mut platforms = Vec::new();
    let (mut fine, mut elsewhere) = (true, false);
    if let Some(by_platform) = given.and_then(|at| at.get("platforms")) {
        for word in ["windows", "linux", "macos", "unix"] {
            let Some(at) = by_platform.get(word) else {
                continue;
            };
            let Some(platform) = general::platform(word) else {
                continue;
            };
            let program = match platform.is_here() {
                true => templates.program(at, &Form::Bash),
                false => templates.program_elsewhere(at, &Form::Bash, platform),
            };
            match program {
                Some(program) => platforms.push((platform, program)),
                None if platform.is_here() => fine = false,
                None => elsewhere = true,
            }
        }
    }
    if default.is_none() && platforms.is_empty() && fine && !elsewhere {
        let message = "`commands` holds no command";
        let span = given.map_or_else(|| root.key_span("commands"), At::span);
        templates.push(
            SpannedProblem::error("nothing-to-run", span, message)
                .help("add a `default`, or `platforms` with a command each"),
        );
        return None;
    }
    let default = match default {
        Some(default) => Some(default?),
        None => None,
    };
    fine.then_some(Body::Commands { default, platforms })
}

/// The name of another tool.
pub(super) fn tool_reference(
    at: At<'_, '_>,
    field: &str,
    own: Option<&WireName>,
    found: &mut Findings<'_>,
) -> Option<String> {
    let text = at.text()?;
    if let Err(error) = text.parse::<ToolRef>() {
        let message = format!("`{field}` names no tool: {error}");
        found.push(SpannedProblem::error("bad-name", at.span(), message));
        return None;
    }
    let is_own = own.is_some_and(|own| {
        let slug = Slug::from_wire(own);
        let bare = text.strip_prefix('+').unwrap_or(text);
        bare == own.as_str() || bare == slug.as_str()
    });
    if is_own {
        let message = format!("the tool uses itself: `{}`", shorten(text, 60));
        found.push(
            SpannedProblem::error("uses-itself", at.span(), message)
                .help("name another tool; a tool that calls itself would never end"),
        );
        return None;
    }
    Some(text.to_owned())
}

/// Why a path is not one of the workspace's.
pub(super) fn leaves_workspace(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.starts_with(['/', '~']) || path.contains('\0') {
        return Some("it is not relative");
    }
    path.split('/')
        .any(|part| part == "..")
        .then_some("it leads out by `..`")
}
