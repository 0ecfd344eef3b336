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
fn a_variable_of_the_environment_does_not_get_around_the_rules_for_values() {
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
fn what_a_program_reads_does_not_get_around_the_rules_for_values() {
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
        (Form::Bash, "bash -s", "{P}"),
        (Form::Bash, "bash", "{P}"),
        (Form::Bash, "eval \"$(cat)\"", "{P}"),
        (Form::Bash, "source /dev/stdin", "{P}"),
        (Form::Bash, ". /dev/stdin", "{P}"),
        (Form::Bash, "read -r x; $x", "{P}"),
        (Form::Bash, "x=$(cat); eval \"$x\"", "{P}"),
        (Form::Bash, "cat | bash", "{P}"),
        (Form::Bash, "echo hi; xargs sort", "{P}"),
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

fn script(shell: &str, text: &str) -> Vec<&'static str> {
    codes(Code::compile(
        &Form::Script(shell.to_owned()),
        text,
        &usual(),
    ))
}

#[test]
fn a_script_that_makes_code_of_texts_takes_no_values() {
    for (shell, text) in [
        ("python", "getattr(os, {P})(\"touch x\")"),
        ("python", "f=getattr(os,'sys'+'tem'); f({P})"),
        ("python", "pty.spawn(['sh','-c',{P}])"),
        ("python", "subprocess.run(['sh', '-c', {P}])"),
        ("python", "subprocess.run(['sh', '-c', 'ls {P}'])"),
        ("python", "x={P}\nsubprocess.run(['bash', '-c', x])"),
        ("python", "ctypes.CDLL({P})"),
        ("python", "runpy.run_path({P})"),
        ("python", "__import__({P})"),
        ("python", "importlib.import_module('x.{P}')"),
        ("python", "c = compile({P}, 'x', 'single')"),
        ("python", "pickle.loads({P})"),
        ("node", "import({P})"),
        ("node", "require({P})"),
        ("node", "require('./x/{P}')"),
        ("node", "[].constructor.constructor({P})()"),
        ("node", "require('vm').runInNewContext({P})"),
        ("node", "globalThis[{P}]('x')"),
        ("python", "os.system(os.environ['TOOLCRIB_ARG_P'])"),
        ("node", "eval(process.env.TOOLCRIB_ARG_P)"),
        ("perl", "system($ENV{TOOLCRIB_ARG_P})"),
        ("perl", "my $x = $ENV{TOOLCRIB_ARG_P};\nprint `ls $x`;"),
        ("perl", "eval $ENV{TOOLCRIB_ARG_P};"),
        ("ruby", "system ENV['TOOLCRIB_ARG_P']"),
        ("ruby", "x = ENV['TOOLCRIB_ARG_P']\nputs `ls #{x}`"),
        ("php", "shell_exec(getenv('TOOLCRIB_ARG_P'));"),
    ] {
        assert_eq!(script(shell, text), ["template-code"], "{shell}: {text}");
    }
    let names = with_variable("{P}");
    let python = Form::Script("python".to_owned());
    let text = "import os\nos.system(os.environ['X'])";
    assert_eq!(
        codes(Code::compile(&python, text, &names)),
        ["template-code"]
    );
    let text = "import sys\nexec(sys.stdin.read())";
    let names = with_input("{P}");
    assert_eq!(
        codes(Code::compile(&python, text, &names)),
        ["template-code"]
    );
}

#[test]
fn a_script_that_does_not_make_code_of_texts_takes_values() {
    for (shell, text) in [
        ("python", "import re\nprint(re.compile({P}).pattern)"),
        (
            "python",
            "subprocess.run(['sh', '-c', 'echo \"$1\"', 'sh', {P}])",
        ),
        ("python", "subprocess.run(['git', '-c', 'a=b', 'log', {P}])"),
        ("python", "x = {P} == 'a' or {P} != 'b'\nprint(x, end={Q})"),
        ("python", "for x in {L}:\n    print(x)"),
        ("python", "print({N} <= 3)"),
        ("python", "os.system('ls')"),
        (
            "node",
            "const fs = require('fs'); console.log(fs.existsSync({P}))",
        ),
        (
            "node",
            "class A { constructor(x) { this.x = x } }; console.log(new A({P}).x)",
        ),
        ("node", "console.log({P} === 'a')"),
        ("perl", "print $ENV{TOOLCRIB_ARG_P}"),
        (
            "perl",
            "system('ls', '--', $ENV{TOOLCRIB_ARG_P}); eval { die };",
        ),
        ("ruby", "puts ENV['TOOLCRIB_ARG_P']"),
    ] {
        assert_eq!(script(shell, text), [""; 0], "{shell}: {text}");
    }
}

#[test]
fn a_value_in_the_place_of_a_name_is_refused() {
    for (shell, text) in [
        ("python", "import {P}"),
        ("python", "from {P} import x"),
        ("python", "import x as {P}"),
        ("python", "{P} = 1"),
        ("python", "{P} += 1"),
        ("python", "def {P}(): pass"),
        ("python", "for {P} in []: pass"),
        ("node", "let {P} = 1"),
        ("node", "{P} = 1"),
        ("node", "const f = {P} => 1"),
    ] {
        assert_eq!(
            script(shell, text),
            ["template-language"],
            "{shell}: {text}"
        );
    }
}

#[test]
fn a_shell_that_is_not_known_to_run_files_is_refused() {
    for shell in ["jq", "awk", "sed", "made-up", "git", "ls -l"] {
        assert_eq!(script(shell, "."), ["template-shell"], "{shell}");
    }
    for shell in [
        "jq -f",
        "/usr/bin/awk -f",
        "tclsh8.6",
        "perl -w",
        "python3.12",
        "julia",
    ] {
        assert_eq!(script(shell, "."), [""; 0], "{shell}");
    }
}
