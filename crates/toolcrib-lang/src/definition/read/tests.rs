//! `tests`: the tool's own.

use std::ops::Range;

use super::body::leaves_workspace;
use super::field_value::At;
use super::parameters::{self, Read};
use super::templates::{Templates, VisibleSteps};
use crate::definition::problem::SpannedProblem;
use crate::definition::values;
use crate::definition::{Expected, Program, TestCase};
use crate::model::text::{nearest, or_list, shorten};
use crate::template::Form;

pub(super) fn read(
    root: At<'_, '_>,
    known: &[Read],
    is_alias: bool,
    templates: &mut Templates<'_, '_>,
) -> Vec<TestCase> {
    let nodes = root.get("tests").map(At::nodes).unwrap_or_default();
    let outside = templates.reach(VisibleSteps::Nothing("it belongs to a test, not to a step"));
    let mut tests: Vec<TestCase> = Vec::new();
    for at in nodes {
        if at.node.map().is_none() {
            continue;
        }
        let name = at.text_of("name").unwrap_or_default();
        if !at.has("name") {
            let message = "a test has no `name`, by which it is run: `toolcrib test TOOL:NAME`";
            templates.push(SpannedProblem::error("missing-field", at.span(), message));
        } else if tests.iter().any(|test| test.name == name) {
            let message = format!("two tests are called `{}`", shorten(name, 60));
            let span = at.get("name").map_or(at.span(), At::span);
            templates.push(
                SpannedProblem::error("duplicate-name", span, message)
                    .help("give each test its own name"),
            );
        }
        let test = one(at, name, known, is_alias, templates);
        tests.push(test);
    }
    templates.reach(outside);
    tests
}

fn one(
    at: At<'_, '_>,
    name: &str,
    known: &[Read],
    is_alias: bool,
    templates: &mut Templates<'_, '_>,
) -> TestCase {
    let mut arguments = Vec::new();
    for (key, value) in at.get("parameters").into_iter().flat_map(At::entries) {
        let argument = &*key.text;
        let parameter = known.iter().find(|read| read.parameter.name == argument);
        match parameter {
            Some(read) => {
                let whose = format!("the argument `{argument}`");
                let kind = read.parameter.kind;
                if let Some(value) =
                    parameters::typed(value.node, kind, &whose, templates.findings())
                {
                    arguments.push((argument.to_owned(), value));
                }
            }
            // The tool behind an alias knows them.
            None if is_alias => arguments.push((argument.to_owned(), values::json(value.node))),
            None => {
                let message = format!("the tool has no parameter `{}`", shorten(argument, 60));
                let problem = SpannedProblem::error("unknown-parameter", key.span.clone(), message);
                let names = known.iter().map(|read| read.parameter.name.as_str());
                templates.push(match nearest(argument, names).as_slice() {
                    [] => problem.help("declare it under `parameters`, or remove it"),
                    [one] => problem
                        .help(format!("did you mean `{one}`?"))
                        .fix(key.span.clone(), *one),
                    several => problem.help(format!("did you mean {}?", or_list(several))),
                });
            }
        }
    }
    let files = files(at, templates);
    let files_from = at.get("files-from").and_then(|from| {
        let text = from.text()?;
        in_workspace("files-from", text, from.span(), templates);
        Some(text.to_owned())
    });
    let setup = commands(at, "setup", templates);
    let expected = expected(at, templates);
    let cleanup = commands(at, "cleanup", templates);
    TestCase {
        name: name.to_owned(),
        description: at.text_of("description").map(str::to_owned),
        parameters: arguments,
        files,
        files_from,
        setup,
        expected,
        cleanup,
        at: line_and_column(templates.findings().text, at.span().start),
    }
}

/// The bash commands of a list.
fn commands(test: At<'_, '_>, field: &str, templates: &mut Templates<'_, '_>) -> Vec<Program> {
    let commands = test.get(field).map(At::nodes).unwrap_or_default();
    let commands = commands.into_iter();
    commands
        .filter_map(|at| templates.program(at, &Form::Bash))
        .collect()
}

fn files(test: At<'_, '_>, templates: &mut Templates<'_, '_>) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (path, text) in test.get("files").into_iter().flat_map(At::entries) {
        in_workspace("files", &path.text, path.span.clone(), templates);
        // An empty text is an empty file.
        let text = text.text().unwrap_or_default();
        files.push((path.text.clone().into_owned(), text.to_owned()));
    }
    files
}

/// Reports a path that leads out of the test's directory.
fn in_workspace(field: &str, path: &str, span: Range<usize>, templates: &mut Templates<'_, '_>) {
    if let Some(why) = leaves_workspace(path) {
        let message = format!("`{field}` must be a path in the workspace: {why}");
        templates.push(SpannedProblem::error("outside-path", span, message));
    }
}

fn expected(test: At<'_, '_>, templates: &mut Templates<'_, '_>) -> Expected {
    let Some(at) = test.get("expected") else {
        return Expected::default();
    };
    for item in at.get("output-matches").map(At::nodes).unwrap_or_default() {
        if let Some(pattern) = item.text()
            && let Err(why) = parameters::check_pattern(pattern)
        {
            let message = format!("the pattern cannot be used: {why}");
            templates.push(SpannedProblem::error("bad-pattern", item.span(), message));
        }
    }
    for item in at.get("file-exists").map(At::nodes).unwrap_or_default() {
        if let Some(path) = item.text() {
            in_workspace("file-exists", path, item.span(), templates);
        }
    }
    let mut file_contains = Vec::new();
    for (path, texts) in at.get("file-contains").into_iter().flat_map(At::entries) {
        in_workspace("file-contains", &path.text, path.span.clone(), templates);
        let texts = texts.nodes().into_iter().filter_map(At::text);
        file_contains.push((
            path.text.clone().into_owned(),
            texts.map(str::to_owned).collect(),
        ));
    }
    Expected {
        exit_code: at.integer("exit-code"),
        output: at.text_of("output").map(str::to_owned),
        output_contains: at.texts("output-contains"),
        output_matches: at.texts("output-matches"),
        file_exists: at.texts("file-exists"),
        file_contains,
        error: at.text_of("error").map(str::to_owned),
        value: at.get("value").map(|at| values::json(at.node)),
    }
}

fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}
