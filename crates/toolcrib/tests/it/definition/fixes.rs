//! `check --fix`: texts are edited, comments stay, and no file gets worse.

use toolcrib::definition::{fix, read};

use super::{shown, tool};

/// What a file is after fixing.
fn fixed(text: &str) -> String {
    let fixed = fix(text.as_bytes(), "tool");
    String::from_utf8(fixed.bytes).unwrap()
}

#[test]
fn what_is_certain_is_put_right_and_comments_stay() {
    let text = "# my tool\ndescripton: Greets   # short\ntags: read # only\nbash: {WHO} said hi # why\nignore-errors: no\nparamters:\n  WHO:\n    type: str # text\n    description: Whom\nsecurity:\n  isolaton: contianer\n";
    let after = "# my tool\ndescription: Greets   # short\ntags: [read] # only\nbash: '{WHO} said hi' # why\nignore-errors: false\nparameters:\n  WHO:\n    type: string # text\n    description: Whom\nsecurity:\n  isolation: container\n";
    assert_eq!(fixed(text), after);
    let again = fix(after.as_bytes(), "tool");
    assert!(again.done.is_empty());
}

#[test]
fn a_command_in_braces_is_put_in_quotes() {
    let parameters = "parameters:\n  X: {type: string, description: x}\n";
    for (wrong, right) in [
        ("script: {X}", "script: '{X}'"),
        ("input: {X} foo", "input: '{X} foo'"),
        ("input: \"{X}\" is 'x'", "input: '\"{X}\" is ''x'''"),
        ("input: [{X}]", "input: '[{X}]'"),
        ("input: note: {X}", "input: 'note: {X}'"),
        ("input: @{X}", "input: '@{X}'"),
    ] {
        let text = tool(&format!("bash: cat {{X}}\n{wrong}\n{parameters}"));
        let text = text.replace("bash: cat {X}\nscript", "script");
        let after = fixed(&text);
        assert!(after.contains(right), "{wrong}: {after}");
        let left = read(after.as_bytes(), "tool");
        let still = left
            .problems
            .iter()
            .any(|problem| matches!(problem.code, "needs-quotes" | "wrong-type"));
        assert!(!still, "{wrong}: {}", shown(&left));
    }
}

#[test]
fn what_is_not_certain_is_left_alone() {
    for lines in [
        // The near name would close a circle.
        "steps:\n  - {name: b, bash: ls, wait-for: [a]}\n  - {name: a, bash: ls, wait-for: [bb]}\n",
        // Two near names; a name that is taken; a key of other formats.
        "bash: ls\nplatform: [linux]\nplatforms: [linux]\n",
        "bash: ls\ncommand: ls\n",
        "bash: *anchor\n",
        "bash: ls\nenabled: no\n",
        "bash: ls\ntimeout: soon\n",
    ] {
        let text = tool(lines);
        assert_eq!(fixed(&text), text);
    }
}

#[test]
fn a_step_to_wait_for_and_an_argument_of_a_test_are_put_right() {
    let text = tool(
        "steps:\n  - name: build\n    bash: echo {WHO}\n  - name: check\n    bash: echo\n    wait-for: [biuld]\nparameters:\n  WHO: {type: string, description: w}\ntests:\n  - name: t\n    parameters: {WOH: you}\n",
    );
    let after = fixed(&text);
    assert!(
        after.contains("wait-for: [build]") && after.contains("{WHO: you}"),
        "{after}"
    );
    assert!(read(after.as_bytes(), "tool").definition.is_some());
}

#[test]
fn fixes_of_a_file_with_a_byte_order_mark_are_at_their_place() {
    let text = format!("\u{feff}{}", tool("bahs: ls\n"));
    assert_eq!(fixed(&text), text.replace("bahs", "bash"));
}
