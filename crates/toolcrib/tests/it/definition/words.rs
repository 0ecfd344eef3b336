//! The words of JSON Schema where people write them, and what else people try first.

use serde_json::json;
use toolcrib::definition::{ParameterKind, fix, read};
use toolcrib::exec::spec_of;
use toolcrib::wire::{self, DefinitionOptions, Provider};

use super::{loads, refused, shown, tool, warned};

fn parameter(lines: &str) -> String {
    tool(&format!(
        "bash: echo {{X}}\nparameters:\n  X:\n    description: x\n{}",
        lines
            .lines()
            .map(|line| format!("    {line}\n"))
            .collect::<String>()
    ))
}

#[test]
fn the_words_of_json_schema_may_be_beside_the_type() {
    let text = parameter("type: integer\nminimum: 1\nmaximum: 9\nenum: [1, 2.0]\ndefault: 2.0");
    let x = loads(&text).parameters.remove(0);
    assert_eq!(x.kind, ParameterKind::Integer);
    assert_eq!(x.default, Some(json!(2)));
    assert_eq!(x.validation.allowed, Some(vec![json!(1), json!(2)]));
    assert_eq!(x.validation.minimum.unwrap().as_i64(), Some(1));
    assert_eq!(x.validation.maximum.unwrap().as_i64(), Some(9));

    let text = parameter("pattern: \"^[a-z]+$\"\nminLength: 1\nmaxLength: 3");
    let x = loads(&text).parameters.remove(0).validation;
    assert_eq!(
        (x.pattern.as_deref(), x.min_length, x.max_length),
        (Some("^[a-z]+$"), Some(1), Some(3))
    );

    let text = parameter("type: array\nitems: {type: string, minLength: 2}");
    let x = loads(&text).parameters.remove(0).validation;
    assert_eq!(x.items, Some(json!({"type": "string", "minLength": 2})));
}

#[test]
fn a_word_of_json_schema_is_given_once_and_fits_the_type() {
    for (lines, code) in [
        (
            "type: integer\nminimum: 1\nvalidation: {minimum: 2}",
            "duplicate-key",
        ),
        (
            "type: integer\nminimum: 3\nvalidation: {maximum: 2}",
            "empty-range",
        ),
        ("type: integer\nmaximum: 2\ndefault: 3", "default-unfit"),
        ("type: integer\ndefault: 2.5", "wrong-type"),
        ("type: integer\nenum: [1, two]", "wrong-type"),
        ("pattern: \"(a+\"", "bad-pattern"),
        ("enum: []", "empty-range"),
        ("type: array\nitems: {tpye: string}", "unknown-key"),
        ("type: array\nitems: {type: strnig}", "bad-schema"),
        (
            "type: array\nitems: {type: string}\ndefault: [1]",
            "default-unfit",
        ),
    ] {
        assert_eq!(refused(parameter(lines)), [code], "{lines}");
    }
    assert_eq!(
        warned(&parameter("items: {type: string}")),
        ["without-effect"]
    );
    assert_eq!(warned(&parameter("minimum: 3")), ["without-effect"]);
}

#[test]
fn an_integer_is_one_to_every_provider() {
    let definition = loads(&parameter("type: integer"));
    let spec = spec_of(&definition, &|_| None).unwrap();
    for provider in Provider::ALL {
        let made = wire::definition(&spec, provider, &DefinitionOptions::default()).unwrap();
        let json = serde_json::to_string(&made.tool).unwrap().to_lowercase();
        assert!(json.contains(r#""integer""#), "{provider:?}: {json}");
        assert!(
            made.losses.iter().all(|loss| !loss.pointer.contains("/X")),
            "{provider:?}"
        );
    }
}

#[test]
fn a_misspelt_security_tag_is_asked_about() {
    let text = "description: x\ntags: [files, reed]\nbash: ls\n";
    let reading = read(text.as_bytes(), "tool");
    assert_eq!(reading.problems.len(), 1, "{}", shown(&reading));
    let problem = &reading.problems[0];
    assert_eq!(
        (problem.code, problem.line, problem.column),
        ("no-security-tag", 2, 15)
    );
    assert_eq!(problem.help.as_deref(), Some("did you mean `read`?"));
    // Another tag is certain to be a category.
    loads("description: x\ntags: [write, reed]\nbash: ls\n");
}

#[test]
fn what_only_a_shell_reads_is_warned_of_in_run() {
    for run in [
        "cat a | wc -l",
        "make && make install",
        "ls > out.txt",
        "ls 2>err.txt",
        "a || b",
        "cat < {X}",
    ] {
        let text = tool(&format!(
            "run: {run} {{X}}\nparameters: {{X: {{description: x}}}}\n"
        ));
        assert_eq!(warned(&text), ["shell-in-run"], "{run}");
    }
    for run in [
        "grep a|b",
        "expr 3 '>' 2",
        "grep \\| a",
        "curl a?b=1&c=2",
        "find . -exec ls {{}} +",
        "rg -e '|' & co",
    ] {
        loads(&tool(&format!(
            "run: {run} {{X}}\nparameters: {{X: {{description: x}}}}\n"
        )));
    }
    let text = tool("steps:\n  - {name: a, run: ls | wc}\n");
    assert_eq!(warned(&text), ["shell-in-run"], "a step");
    loads(&tool("bash: cat a | wc -l > b && echo\n"));
}

#[test]
fn a_bracket_that_is_never_closed_is_reported_where_it_opens() {
    for (text, line, column) in [
        ("description: x\ntags: [read\nbash: ls\n", 2, 7),
        ("description: x\ntags: [read,\n  files\nbash: ls\n", 2, 7),
        (
            "description: x\ntags: [read]\nbash: ls {X}\nparameters:\n  X: {description: x\n  Y: {description: y}\n",
            5,
            6,
        ),
        ("description: x\nbash: ls\ntags: [read", 3, 7),
        (
            "description: x\nbash: ls\ntags: [read, [a]\nversion: v2\n",
            3,
            7,
        ),
    ] {
        let reading = read(text.as_bytes(), "tool");
        let first = &reading.problems[0];
        assert_eq!(
            (first.line, first.column),
            (line, column),
            "{}",
            shown(&reading)
        );
        assert!(
            first.message.contains("is never closed"),
            "{}",
            shown(&reading)
        );
    }
}

#[test]
fn a_fix_keeps_the_meaning() {
    for (wrong, right) in [
        (
            "bash: ls {X}\nparameters: {X: {type: int, description: x}}\n",
            "type: integer",
        ),
        (
            "bash: ls {X}\nparameters: {X: {type: Integer, description: x}}\n",
            "type: integer",
        ),
        (
            "bash: ls {X}\nparameters: {X: {type: float, description: x}}\n",
            "type: number",
        ),
    ] {
        let after = String::from_utf8(fix(tool(wrong).as_bytes(), "tool").bytes).unwrap();
        assert!(after.contains(right), "{after}");
    }
    for left_alone in [
        "bash: ls {X}\nparameters: {X: {type: path, description: x}}\n",
        "bash: ls {X}\nparameters: {X: {type: json, description: x}}\n",
        "bash: ls\nsecurity: {execution-privilege: root}\n",
        "bash: ls\nsecurity: {execution-privilege: elevatd}\n",
        "bash: ls\nsecurity: {isolation: none_}\n",
        "bash: ls\nsecurity: {isolation: docker}\n",
    ] {
        let text = tool(left_alone);
        let fixed = fix(text.as_bytes(), "tool");
        assert_eq!(String::from_utf8(fixed.bytes).unwrap(), text);
        let help = fixed.reading.problems[0].help.as_deref();
        assert!(
            help.is_some_and(|help| help.starts_with("did you mean")),
            "{left_alone}"
        );
    }
    let text = "description: x\ntags: [reed]\nbash: ls\n";
    assert_eq!(fix(text.as_bytes(), "tool").bytes, text.as_bytes());
}
