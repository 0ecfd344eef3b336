//! `tests`: the tool's own.

use super::at::At;
use super::body::leaves_workspace;
use super::parameters::{self, Read};
use super::templates::{Reach, Templates};
use crate::definition::problem::Found;
use crate::definition::values;
use crate::definition::{Expected, TestCase};
use crate::model::text::{nearest, or_list, shorten};
use crate::template::Form;

pub(super) fn read(
    root: At<'_, '_>,
    known: &[Read],
    is_alias: bool,
    templates: &mut Templates<'_, '_>,
) -> Vec<TestCase> {
    let nodes = root.get("tests").map(At::nodes).unwrap_or_default();
    let outside = templates.reach(Reach::Nothing("it belongs to a test, not to a step"));
    let mut tests: Vec<TestCase> = Vec::new();
    for at in nodes {
        if at.node.map().is_none() {
            continue;
        }
        let name = at.text_of("name").unwrap_or_default();
        if !at.has("name") {
            let message = "a test has no `name`, by which it is run: `toolcrib test TOOL:NAME`";
            templates.push(Found::error("missing-field", at.span(), message));
        } else if tests.iter().any(|test| test.name == name) {
            let message = format!("two tests are called `{}`", shorten(name, 60));
            let span = at.get("name").map_or(at.span(), At::span);
            templates.push(
                Found::error("duplicate-name", span, message)
                    .help("give each test a name of its own"),
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
                let problem = Found::error("unknown-parameter", key.span.clone(), message);
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
    let expected = expected(at, templates);
    let cleanup = at
        .get("cleanup")
        .map(At::nodes)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|at| templates.program(at, &Form::Bash))
        .collect();
    TestCase {
        name: name.to_owned(),
        description: at.text_of("description").map(str::to_owned),
        parameters: arguments,
        expected,
        cleanup,
        at: line_and_column(templates.findings().text, at.span().start),
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
            templates.push(Found::error("bad-pattern", item.span(), message));
        }
    }
    for item in at.get("file-exists").map(At::nodes).unwrap_or_default() {
        if let Some(why) = item.text().and_then(leaves_workspace) {
            let message = format!("`file-exists` must be a path in the workspace: {why}");
            templates.push(Found::error("outside-path", item.span(), message));
        }
    }
    Expected {
        exit_code: at.integer("exit-code"),
        output_contains: at.texts("output-contains"),
        output_matches: at.texts("output-matches"),
        file_exists: at.texts("file-exists"),
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
