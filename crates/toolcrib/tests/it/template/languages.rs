//! Scripts, `sh` and `run`, really run.

use serde_json::{Value, json};
use toolcrib::template::{Code, Form};

use super::programs::Yard;
use super::{usual, values};

const HOSTILE: &[&str] = &[
    "plain",
    "",
    "a b  c ",
    "\n\ntrailing\n\n",
    "$(touch canary)`touch canary`",
    "'; touch canary; '\"; touch canary; \"",
    "\\",
    "\\\\'\"",
    "{P}{{P}}",
    "ü€😀\u{2028}\u{85}",
    "*",
    "\t\r\u{1}\u{7f}",
    "__import__('os').system('touch canary')",
    "\"\"\"'''\"",
    "${process.exit(3)}`",
    "</script>",
    "EOF\n",
];

/// All of them, and in one, for programs that take long to start.
fn hostile_all() -> Vec<String> {
    vec![HOSTILE.concat(), String::new()]
}

#[test]
fn sh_takes_values_in_its_own_way() {
    let yard = Yard::new();
    let sh = |text: &str| Code::compile(&Form::Script("sh".into()), text, &usual());
    for hostile in HOSTILE {
        for (text, expected) in [
            ("printf '%s\\0' {P}", vec![(*hostile).to_owned()]),
            (
                "printf '%s\\0' \"a{P}\" 'b{P}'",
                vec![format!("a{hostile}"), format!("b{hostile}")],
            ),
            ("x={P}; printf '%s\\0' \"+$x\"", vec![format!("+{hostile}")]),
            (
                "printf '%s\\0' \"${NONE:-+{P}}\"",
                vec![format!("+{hostile}")],
            ),
            (
                "cat <<'EOF'\n{P} $x\nEOF\nprintf '\\0'",
                vec![format!("{hostile} $x\n")],
            ),
            (
                "printf '%s\\0' {L} {Q}",
                vec!["a b".to_owned(), String::new()],
            ),
            ("printf '%s\\0' $(( {N} + 1 ))", vec!["5".to_owned()]),
        ] {
            let code = sh(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
            let ran = yard.print(
                &code,
                &values(json!({"P": hostile, "L": ["a b", ""], "N": 4})),
            );
            assert_eq!(ran.words(), expected, "{text}: {}", ran.stderr);
        }
    }
    let large = format!("{}\n\n", "y".repeat(200_000));
    let ran = yard.print(
        &sh("printf '%s\\0' {P}").unwrap(),
        &values(json!({ "P": large })),
    );
    assert_eq!(ran.words(), [large]);
    for text in [
        "x=$'{P}'",
        "cat <<< {P}",
        "[[ {P} == x ]]",
        "a=({P})",
        "eval {P}",
        "echo {a,{P}}",
        "diff <(echo {P}) x",
    ] {
        assert!(sh(text).is_err(), "{text}");
    }
    assert!(yard.is_untouched());
}

#[test]
fn run_is_words_without_a_shell() {
    let yard = Yard::new();
    let run = |text: &str| Code::compile(&Form::Run, text, &usual());
    for hostile in HOSTILE {
        let code =
            run("printf %s\\\\0 'a b' \"c {P}\" d\\ {P} {L} {Q} '' --x={P} $HOME * `x` \"\"{Q}")
                .unwrap();
        let ran = yard.print(&code, &values(json!({"P": hostile, "L": ["1", "2 3"]})));
        assert_eq!(
            ran.words(),
            vec![
                "a b".to_owned(),
                format!("c {hostile}"),
                format!("d {hostile}"),
                "1".into(),
                "2 3".into(),
                String::new(),
                format!("--x={hostile}"),
                "$HOME".into(),
                "*".into(),
                "`x`".into(),
                String::new(),
            ],
        );
    }
    for text in [
        "{P} x",
        "",
        "sh -c 'echo {P}'",
        "sh -c {P}",
        "env {P}",
        "python3 -c \"print({P})\"",
        "echo 'open",
        "find . -exec {P} ;",
    ] {
        assert!(run(text).is_err(), "{text}");
    }
    let code = run("rm {P}").unwrap();
    assert!(code.prepare(&values(json!({"P": "-rf"}))).is_err());
    assert!(
        code.prepare(&values(json!({"P": "x".repeat(140_000)})))
            .is_err()
    );
    assert_eq!(
        code.judged(&values(json!({"P": "it's"}))).unwrap(),
        "rm 'it'\\''s'"
    );
    assert!(yard.is_untouched());
}

#[test]
fn python_has_values_of_its_types() {
    let yard = Yard::new();
    let python = |text: &str| Code::compile(&Form::Script("python".into()), text, &usual());
    let text = r#"
import sys
def show(*words):
    for word in words:
        sys.stdout.buffer.write((word if isinstance(word, str) else repr(word)).encode() + b"\0")
show({P}, "a {P} b", 'c{P}', """d "{P}" e
f""", r'g\d{P}')  # {P} isn't here
show({N} + 1, {L}, {O}["k"], {F}, {Q}, len({L}), "{L}", {"x": {P}}["x"])
x = {P}
show(x)
"#;
    let code = python(text).unwrap_or_else(|problems| panic!("{problems:?}"));
    for hostile in &hostile_all() {
        let ran = yard.print(
            &code,
            &values(json!({"P": hostile, "N": 41, "L": ["q", 2], "O": {"k": null}, "F": true})),
        );
        assert_eq!(
            ran.words(),
            vec![
                hostile.clone(),
                format!("a {hostile} b"),
                format!("c{hostile}"),
                format!("d \"{hostile}\" e\nf"),
                format!("g\\d{hostile}"),
                "42".into(),
                "['q', 2]".into(),
                "None".into(),
                "True".into(),
                "None".into(),
                "2".into(),
                "q 2".into(),
                hostile.clone(),
                hostile.clone(),
            ],
            "{}",
            ran.stderr
        );
    }
    let large = "ü".repeat(150_000);
    let code = python("import sys\nsys.stdout.write({P})\nsys.stdout.write('\\0')").unwrap();
    assert_eq!(
        yard.print(&code, &values(json!({ "P": large }))).words(),
        [large]
    );
    for text in [
        "f'{P}'",
        "f\"a {P}\"",
        "b'{P}'",
        "x{P} = 1",
        "{P}x",
        "a.{P}",
        "'a' 'b{P}'",
        "('a{P}'\n 'b')",
        "'\\{P}'",
        "'open {P}",
        "eval({P})",
        "import os\nos.system('ls {P}')",
        "exec('{P}')",
        "import subprocess\nsubprocess.run('ls ' + {P}, shell=True)",
    ] {
        assert!(python(text).is_err(), "{text}");
    }
    assert!(python("import subprocess\nsubprocess.run(['ls', {P}])").is_ok());
    assert!(yard.is_untouched());
}

#[test]
fn javascript_has_values_of_its_types() {
    let yard = Yard::new();
    let node = |text: &str| Code::compile(&Form::Script("node".into()), text, &usual());
    let text = r#"
const show = (...words) => { for (const word of words) process.stdout.write((typeof word === "string" ? word : JSON.stringify(word)) + "\0"); };
show({P}, "a {P} b", 'c{P}', `d ${1 + 1} {P} "e"`); // {P} isn't here
show({N} / 2 + 1, {L}, {O}.k, {F}, {Q}, {L}.length, "{L}", ({P}).length / 1 >= 0); /* {P} */
const re = /a+/g; show("x".replace(re, {P}));
"#;
    let code = node(text).unwrap_or_else(|problems| panic!("{problems:?}"));
    for hostile in &hostile_all() {
        let ran = yard.print(
            &code,
            &values(json!({"P": hostile, "N": 82, "L": ["q", 2], "O": {"k": 5}, "F": true})),
        );
        assert_eq!(
            ran.words(),
            vec![
                hostile.clone(),
                format!("a {hostile} b"),
                format!("c{hostile}"),
                format!("d 2 {hostile} \"e\""),
                "42".into(),
                "[\"q\",2]".into(),
                "5".into(),
                "true".into(),
                "null".into(),
                "2".into(),
                "q 2".into(),
                "true".into(),
                "x".into(),
            ],
            "{}",
            ran.stderr
        );
    }
    for text in [
        "/{P}/.test('x')",
        "x{P}",
        "a.{P}",
        "({ 'a{P}': 1 })",
        "'\\{P}'",
        "`\\{P}`",
        "'open {P}",
        "eval({P})",
        "new Function({P})",
        "require('child_process').execSync('ls {P}')",
        "require('child_process').spawn('ls', [{P}], { shell: true })",
    ] {
        assert!(node(text).is_err(), "{text}");
    }
    assert!(node("require('child_process').execFileSync('ls', [{P}])").is_ok());
    assert!(yard.is_untouched());
}

#[test]
fn other_languages_have_arguments_in_the_environment() {
    let yard = Yard::new();
    let perl = |text: &str| Code::compile(&Form::Script("perl".into()), text, &usual());
    let problems = perl("print '{P}'").unwrap_err();
    assert_eq!(problems[0].code, "template-language");
    assert!(problems[0].fix.as_ref().unwrap().contains("TOOLCRIB_ARG_P"));
    let code = perl("print $ENV{TOOLCRIB_ARG_P}, qq(\\0), $ENV{TOOLCRIB_ARG_L}, qq(\\0)").unwrap();
    let ran = yard.print(&code, &values(json!({"P": "a'b", "L": ["x", 1]})));
    assert_eq!(ran.words(), ["a'b", "[\"x\",1]"], "{}", ran.stderr);
    // A program that no one knows is given a file.
    let cat = Code::compile(&Form::Script("cat -u".into()), "text $x\n", &usual()).unwrap();
    assert_eq!(yard.print(&cat, &values(json!({}))).stdout, b"text $x\n");
    assert!(
        perl("print 1")
            .unwrap()
            .prepare(&values(json!({"P": "a\u{0}b"})))
            .is_err()
    );
}

#[test]
fn a_null_byte_is_refused_everywhere() {
    for (form, text) in [
        (Form::Bash, "echo {P}"),
        (Form::Bash, "cat <<EOF\n{P}\nEOF"),
        (Form::Run, "echo {P}"),
        (Form::Script("sh".into()), "echo {P}"),
        (Form::Script("python".into()), "print({P})"),
        (Form::Pwsh, "echo {P}"),
        (Form::Cmd, "echo {P}"),
        (Form::Bash, "echo {R}"),
    ] {
        let code = Code::compile(&form, text, &usual()).unwrap();
        let value: Value = json!({"P": "a\u{0}b", "R": "a\u{0}b"});
        assert!(code.prepare(&values(value)).is_err(), "{form:?} {text}");
    }
}
