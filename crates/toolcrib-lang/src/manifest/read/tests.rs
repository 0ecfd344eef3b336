//! `tests`: the tool's own.

use super::Reader;
use crate::definition::problem::SpannedProblem;
use crate::definition::{At, Expected, TestCase, values};
use crate::manifest::{ExpectedRequest, HttpTest, Respond};
use crate::model::text::shorten;
use serde_json::Value;

impl Reader<'_, '_> {
    /// Its tests, in the order of the file.
    pub(super) fn tests(&mut self, root: At<'_, '_>) -> Vec<HttpTest> {
        let nodes = root.get("tests").map(At::nodes).unwrap_or_default();
        let mut tests: Vec<HttpTest> = Vec::new();
        for at in nodes {
            if at.node.map().is_none() {
                continue;
            }
            let name = at.text_of("name").unwrap_or_default();
            if name.is_empty() {
                let message = "a test has no `name`, by which it is run: `toolcrib test TOOL:NAME`";
                self.found
                    .push(SpannedProblem::error("missing-field", at.span(), message));
            } else if tests.iter().any(|test| test.case.name == name) {
                let message = format!("two tests are called `{}`", shorten(name, 60));
                let span = at.get("name").map_or(at.span(), At::span);
                self.found.push(
                    SpannedProblem::error("duplicate-name", span, message)
                        .help("give each test its own name"),
                );
            }
            tests.push(self.test(at, name));
        }
        tests
    }

    fn test(&mut self, at: At<'_, '_>, name: &str) -> HttpTest {
        let parameters = at.get("parameters").into_iter().flat_map(At::entries);
        let respond = at.get("respond").map(one_or_several).unwrap_or_default();
        let expected = at.get("expected");
        let requests = expected.and_then(|at| at.get("request"));
        let requests = requests.map(one_or_several).unwrap_or_default();
        let case = TestCase {
            name: name.to_owned(),
            description: at.text_of("description").map(str::to_owned),
            parameters: parameters
                .map(|(key, value)| (key.text.clone().into_owned(), values::json(value.node)))
                .collect(),
            files: Vec::new(),
            files_from: None,
            setup: Vec::new(),
            expected: expected.map(outcome).unwrap_or_default(),
            cleanup: Vec::new(),
            at: line_and_column(self.found.text, at.span().start),
        };
        HttpTest {
            case,
            respond: respond.into_iter().map(answer).collect(),
            requests: requests.into_iter().map(request).collect(),
        }
    }
}

/// The one mapping that is there, or those of a list.
fn one_or_several<'n, 'a>(at: At<'n, 'a>) -> Vec<At<'n, 'a>> {
    match at.node.list() {
        Some(_) => at.items(),
        None => vec![at],
    }
}

fn answer(at: At<'_, '_>) -> Respond {
    let status = at
        .integer("status")
        .and_then(|code| u16::try_from(code).ok());
    Respond {
        status: status.unwrap_or(200),
        headers: headers(at),
        body: match at.get("body").map(|at| values::json(at.node)) {
            None => String::new(),
            Some(Value::String(text)) => text,
            Some(value) => value.to_string(),
        },
    }
}

fn request(at: At<'_, '_>) -> ExpectedRequest {
    ExpectedRequest {
        method: at.choice("method").map(str::to_owned),
        url: at.text_of("url").map(str::to_owned),
        headers: headers(at),
        body: at.get("body").map(|at| values::json(at.node)),
    }
}

fn headers(at: At<'_, '_>) -> Vec<(String, String)> {
    let headers = at.get("headers").into_iter().flat_map(At::entries);
    let headers = headers.map(|(name, value)| {
        let value = value.text().unwrap_or_default();
        (name.text.clone().into_owned(), value.to_owned())
    });
    headers.collect()
}

fn outcome(at: At<'_, '_>) -> Expected {
    Expected {
        output: at.text_of("output").map(str::to_owned),
        output_contains: at.texts("outputContains"),
        output_matches: at.texts("outputMatches"),
        error: at.text_of("error").map(str::to_owned),
        // `null` is a value, too: that of a failure with `errorMode` `empty`.
        value: at.has("value").then(|| {
            let value = at.get("value");
            value.map_or(Value::Null, |at| values::json(at.node))
        }),
        ..Expected::default()
    }
}

fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}
