//! Values that reach programs by other ways than their texts: variables of the environment, and standard input.

use serde_json::json;
use toolcrib::template::{Code, Form, Names, TemplateProblem, Text};

use super::{usual, values};

fn with_variable(text: &str) -> Names {
    let mut names = usual();
    names.environment = vec![("X".to_owned(), Text::compile(text, &names).unwrap())];
    names
}

fn with_input(text: &str) -> Names {
    let mut names = usual();
    names.input = Some(Text::compile(text, &names).unwrap());
    names
}

fn codes(result: Result<Code, Vec<TemplateProblem>>) -> Vec<&'static str> {
    match result {
        Ok(_) => Vec::new(),
        Err(problems) => problems.into_iter().map(|problem| problem.code).collect(),
    }
}

#[test]
fn a_variable_of_the_environment_is_no_way_around_the_rules_for_values() {
    let names = with_variable("{P}");
    let refused = [
        "eval \"$X\"",
        "$X",
        "\"$X\" --version",
        "sh -c \"$X\"",
        "sh -c 'eval $X'",
        "sh -c 'eval \"$X\"'",
        "bash -c '$X'",
        "python3 -c \"$X\"",
        "perl -e \"print $X\"",
        "echo $((X+1))",
        "[[ X -eq 1 ]] && echo one",
        "let y=X",
        "ls $X",
        "y=$X; eval \"$y\"",
        "echo \"${!X}\"",
        "awk \"$X\" file",
        "env | while read -r line; do eval \"$line\"; done",
    ];
    for text in refused {
        assert!(
            Code::compile(&Form::Bash, text, &names).is_err(),
            "{text} is accepted"
        );
        let sh = Form::Script("sh".to_owned());
        if !text.contains("[[") && !text.contains("let") && !text.contains("${!") {
            assert!(Code::compile(&sh, text, &names).is_err(), "sh: {text}");
        }
    }
    for text in ["sh -c 'eval $X'", "sh -c '$X'", "env sh -c 'eval \"$X\"'"] {
        assert!(
            Code::compile(&Form::Run, text, &names).is_err(),
            "run: {text}"
        );
    }
}

#[test]
fn a_variable_of_the_environment_may_be_used_as_data() {
    for held in ["{P}", "it's {P} and {Q}", "{L}", "{R}"] {
        let names = with_variable(held);
        for text in [
            "echo \"$X\"",
            "ls -- \"$X\"",
            "grep -e \"$X\" -- *.txt",
            "curl -H \"Authorization: $X\" https://example.org",
            "make build",
            "awk '{ gsub(ENVIRON[\"X\"], \"b\") } 1' f",
            "python3 script.py",
            "sh -c 'echo \"$X\"'",
            "[ -n \"$X\" ] && echo {Q}",
        ] {
            let found = codes(Code::compile(&Form::Bash, text, &names));
            assert!(found.is_empty(), "{held}: {text}: {found:?}");
        }
        assert!(Code::compile(&Form::Run, "cargo build", &names).is_ok());
    }
    for held in ["{N}", "fixed", "{WORKSPACE}"] {
        let names = with_variable(held);
        assert!(
            Code::compile(&Form::Bash, "ls $X", &names).is_ok(),
            "{held}"
        );
    }
}

#[test]
fn a_variable_of_the_environment_is_judged_and_does_not_become_part_of_the_text() {
    let names = with_variable("{P}");
    let code = Code::compile(&Form::Bash, "echo line\nls \"$X\"", &names).unwrap();
    let invocation = code.prepare(&values(json!({"P": "a b"}))).unwrap();
    assert_eq!(invocation.arguments, ["-c", "echo line\nls \"$X\""]);
    assert!(invocation.environment.is_empty());
    let judged = code.judged(&values(json!({"P": "a b"}))).unwrap();
    assert_eq!(judged, "export X='a b'; echo line\nls \"$X\"");
    let faults = code
        .prepare(&values(json!({"P": "--version"})))
        .unwrap_err();
    assert!(faults[0].message.contains("dash"), "{faults:?}");
    let long = "x".repeat(200_000);
    assert!(code.prepare(&values(json!({"P": long}))).is_err());
}

#[test]
fn a_problem_with_a_variable_of_the_environment_is_shown_where_it_is_used() {
    let names = with_variable("{P}");
    let problems = Code::compile(&Form::Bash, "echo hi\nls $X", &names).unwrap_err();
    assert_eq!(problems[0].span, 12..13);
    assert_eq!(problems[0].code, "template-unquoted");
    assert!(
        problems[0]
            .message
            .contains("`X` comes from `environment.variables`"),
        "{problems:?}"
    );
}

#[test]
fn what_a_program_reads_is_no_way_around_the_rules_for_values() {
    let refused = [
        (Form::Run, "bash", "echo {P}"),
        (Form::Run, "bash -s", "echo {P}"),
        (Form::Run, "sh", "echo {P}"),
        (Form::Run, "python3 -", "print(\"{P}\")"),
        (Form::Run, "python3", "{P}"),
        (Form::Run, "node", "{P}"),
        (Form::Run, "perl", "{P}"),
        (Form::Run, "xargs sort", "{P}"),
        (Form::Run, "env bash", "{P}"),
        (Form::Run, "ssh host", "{P}"),
        (Form::Bash, "bash -s", "{P}"),
        (Form::Bash, "bash", "{P}"),
        (Form::Bash, "eval \"$(cat)\"", "{P}"),
        (Form::Bash, "source /dev/stdin", "{P}"),
        (Form::Bash, ". /dev/stdin", "{P}"),
        (Form::Bash, "read -r x; $x", "{P}"),
        (Form::Bash, "x=$(cat); eval \"$x\"", "{P}"),
        (Form::Bash, "cat | bash", "{P}"),
        (Form::Bash, "echo hi; xargs rm", "{P}"),
        (Form::Bash, "while read -r x; do sh -c \"$x\"; done", "{L}"),
        (Form::Script("sh".to_owned()), "eval \"$(cat)\"", "{P}"),
    ];
    for (form, text, input) in refused {
        let found = codes(Code::compile(&form, text, &with_input(input)));
        assert!(
            !found.is_empty() && found.iter().all(|code| *code == "template-input"),
            "{text} < {input}: {found:?}"
        );
    }
}

#[test]
fn what_a_program_reads_may_be_data() {
    let fine = [
        (Form::Run, "wc -l"),
        (Form::Run, "jq ."),
        (Form::Run, "sort"),
        (Form::Run, "cat"),
        (Form::Run, "python3 script.py"),
        (Form::Run, "grep -c foo"),
        (Form::Bash, "wc -l"),
        (Form::Bash, "jq ."),
        (Form::Bash, "sort | uniq -c"),
        (Form::Bash, "cat > {FILE}"),
        (Form::Bash, "python3 script.py"),
        (Form::Bash, "tr a-z A-Z"),
        (Form::Bash, "x=$(cat); echo \"$x\""),
        (Form::Bash, "sed s/a/b/"),
        (Form::Bash, "awk '{print $1}'"),
        (Form::Bash, "git commit -F -"),
        (Form::Bash, "base64 -d"),
    ];
    for (form, text) in fine {
        let names = with_input("{P}\n");
        match Code::compile(&form, text, &names) {
            Ok(code) => {
                let prepared = code.prepare(&values(json!({"P": "-x", "FILE": "f"})));
                assert!(prepared.is_ok(), "{text}: {prepared:?}");
            }
            Err(problems) => panic!("{text}: {problems:?}"),
        }
    }
    for (text, input) in [
        ("bash", "echo hi"),
        ("bash", "echo {N}"),
        ("bash -s", "{N}"),
    ] {
        assert!(
            Code::compile(&Form::Run, text, &with_input(input)).is_ok(),
            "{text} < {input}"
        );
    }
}

#[test]
fn what_a_program_reads_may_be_any_bytes() {
    let code = Code::compile(&Form::Bash, "wc -c; echo {Q}", &with_input("{P}")).unwrap();
    let long = "\0".repeat(200_000);
    assert!(code.prepare(&values(json!({"P": long, "Q": "q"}))).is_ok());
}
