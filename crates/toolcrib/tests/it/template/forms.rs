//! Templates of all forms, with values of all types, really run where the program is here.

use serde_json::{Value, json};
use toolcrib::definition::{Format, ParameterKind};
use toolcrib::template::{
    Code, Condition, Form, NamedParameter, Names, StepValues, Text, Values, Variable, words,
};

use super::programs::Yard;
use super::{bash, names, usual, values};

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

fn format(text: &str) -> Format {
    let value = names("value", "");
    Format {
        words: text
            .split_whitespace()
            .map(|word| Text::compile(word, &value).unwrap())
            .collect(),
        source: text.to_owned(),
    }
}

fn with_format(name: &str, kind: ParameterKind, text: &str) -> Names {
    Names {
        parameters: vec![NamedParameter {
            name: name.to_owned(),
            kind,
            format: Some(format(text)),
            raw: false,
        }],
        steps: Vec::new(),
    }
}

#[test]
fn a_text_has_values_in_the_place_of_names() {
    let all = Values {
        steps: [(
            "step1".to_owned(),
            StepValues {
                output: "out\nerr".into(),
                stdout: "out".into(),
                stderr: "err".into(),
                exit_code: Some(3),
            },
        )]
        .into(),
        variables: [(Variable::Workspace, "/w".to_owned())].into(),
        ..values(
            json!({"P": "x {Q}", "N": 1e5, "L": ["a", 1, true, [2]], "O": {"a": 1}, "F": false}),
        )
    };
    for (text, expected) in [
        ("{P}", "x {Q}"),
        ("a{P}b{P}", "ax {Q}bx {Q}"),
        (
            "{N} {L} {O} {F} [{Q}]",
            "100000 a 1 true [2] {\"a\":1} false []",
        ),
        (
            "{step1.output}|{step1.stdout}|{step1.stderr}|{step1.exit-code}",
            "out\nerr|out|err|3",
        ),
        ("{WORKSPACE}/x {HOME}", "/w/x "),
        (
            "{{P}} {{{N}}} ${P} {p p} {} {unknown} }}{{ {{.Names}}",
            "{P} {100000} ${P} {p p} {} {unknown} }}{{ {{.Names}}",
        ),
        ("{\"a\":{\"n\":{N}}}", "{\"a\":{\"n\":100000}}"),
    ] {
        let compiled = Text::compile(text, &usual()).unwrap();
        assert_eq!(compiled.render(&all), expected, "{text}");
    }
    assert_eq!(
        Text::compile("{P}", &usual())
            .unwrap()
            .whole()
            .unwrap()
            .to_string(),
        "P"
    );
    assert!(Text::compile("{P} ", &usual()).unwrap().whole().is_none());
}

#[test]
fn a_near_miss_is_noticed_and_a_wrong_step_refused() {
    let near = Text::compile("{PATERN} {dir} {print} {x,y}", &usual()).unwrap();
    let fixes: Vec<_> = near
        .warnings()
        .iter()
        .map(|warning| warning.fix.clone().unwrap())
        .collect();
    assert_eq!(
        fixes,
        [
            "write `{PATTERN}` if you mean that",
            "write `{DIR}` if you mean that"
        ]
    );
    for (text, code) in [
        ("{step1.outptu}", "template-unknown-step"),
        ("{step2.output}", "template-unknown-step"),
    ] {
        let problems = Text::compile(text, &usual()).unwrap_err();
        assert_eq!(problems[0].code, code);
        assert_eq!(problems[0].span, 0..text.len());
    }
    assert!(Text::compile("{file.txt} {a.b}", &usual()).is_ok());
}

#[test]
fn a_format_says_how_a_value_appears() {
    use ParameterKind::{Array, Boolean, Object, String as Text};
    let named = format("--name={value}");
    let two = format("--name {value}");
    let flag = format("--verbose");
    for (format, kind, value, expected) in [
        (None, Text, json!("a b"), vec!["a b"]),
        (None, Text, json!(null), vec![]),
        (None, Array, json!(["a", 2, "c d"]), vec!["a", "2", "c d"]),
        (None, Array, json!([]), vec![]),
        (None, Object, json!({"a": [1]}), vec!["{\"a\":[1]}"]),
        (None, Boolean, json!(false), vec!["false"]),
        (Some(&named), Text, json!("a b"), vec!["--name=a b"]),
        (Some(&named), Text, json!(null), vec![]),
        (
            Some(&named),
            Array,
            json!(["a", "b"]),
            vec!["--name=a", "--name=b"],
        ),
        (
            Some(&two),
            Array,
            json!(["a", "b"]),
            vec!["--name", "a", "--name", "b"],
        ),
        (Some(&flag), Boolean, json!(true), vec!["--verbose"]),
        (Some(&flag), Boolean, json!(false), vec![]),
        (Some(&named), Boolean, json!(true), vec!["--name=true"]),
        (Some(&flag), Text, json!("x"), vec!["--verbose"]),
    ] {
        assert_eq!(
            words(format, kind, Some(&value)),
            expected,
            "{format:?} {value}"
        );
    }
    assert!(words(Some(&named), Text, None).is_empty());
}

#[test]
fn words_of_a_format_reach_the_program() {
    let yard = Yard::new();
    let code = |text: &str, kind, format: &str| {
        Code::compile(&Form::Bash, text, &with_format("X", kind, format)).unwrap()
    };
    for (text, kind, format, value, expected) in [
        (
            "printf '%s\\0' a {X}",
            ParameterKind::String,
            "--name={value}",
            json!("-x y"),
            vec!["a", "--name=-x y"],
        ),
        (
            "printf '%s\\0' a {X}",
            ParameterKind::Array,
            "--name={value}",
            json!(["1", "2 3"]),
            vec!["a", "--name=1", "--name=2 3"],
        ),
        (
            "printf '%s\\0' a {X}",
            ParameterKind::Array,
            "-n {value}",
            json!(["1", "2 3"]),
            vec!["a", "-n", "1", "-n", "2 3"],
        ),
        (
            "printf '%s\\0' a {X}",
            ParameterKind::Boolean,
            "--all",
            json!(true),
            vec!["a", "--all"],
        ),
        (
            "printf '%s\\0' a {X}",
            ParameterKind::Boolean,
            "--all",
            json!(false),
            vec!["a"],
        ),
        (
            "printf '%s\\0' a {X}",
            ParameterKind::String,
            "--name={value}",
            json!(null),
            vec!["a"],
        ),
        (
            "printf '%s\\0' \"a {X}\"",
            ParameterKind::Array,
            "-n {value}",
            json!(["1", "2"]),
            vec!["a -n 1 -n 2"],
        ),
    ] {
        let ran = yard.print(&code(text, kind, format), &values(json!({ "X": value })));
        assert_eq!(
            ran.words(),
            expected,
            "{text} {format} {value}: {}",
            ran.stderr
        );
    }
    let dashed = code("printf '%s\\0' {X}", ParameterKind::String, "-n {value}")
        .prepare(&values(json!({"X": "-rf"})));
    assert!(dashed.is_err());
}

#[test]
fn values_of_all_types_reach_bash() {
    let yard = Yard::new();
    let all = json!({"P": "a b", "N": -3, "L": ["x y", "", "*"], "O": {"a": "'b'"}, "F": true});
    for (text, expected) in [
        ("printf '%s\\0' {L}", vec!["x y", "", "*"]),
        ("printf '%s\\0' \"{L}\"", vec!["x y  *"]),
        ("printf '%s\\0' pre{L}", vec!["prex y  *"]),
        (
            "printf '%s\\0' {O} {F} {N}",
            vec!["{\"a\":\"'b'\"}", "true", "-3"],
        ),
        (
            "printf '%s\\0' $((5-{N})) $(( -{N} )) $(({N}*{N}))",
            vec!["8", "3", "9"],
        ),
        (
            "a=(p q r s); printf '%s\\0' \"${a[{N}]}\" \"${a[@]:{N}}\"",
            vec!["q", "q", "r", "s"],
        ),
        (
            "[[ {N} -eq -3 ]] && (( {N} < 0 )) && printf '%s\\0' yes",
            vec!["yes"],
        ),
        ("sh -c 'printf \"%s\\0\" {N}'", vec!["-3"]),
        (
            "printf '%s\\0' a {Q} b \"{Q}\" c{Q}",
            vec!["a", "b", "", "c"],
        ),
        (
            "[ -n \"{Q}\" ] || printf '%s\\0' no; [ -z {Q} ] && printf '%s\\0' empty",
            vec!["no", "empty"],
        ),
        (
            "for x in {L} {Q}; do printf '%s\\0' \"<$x>\"; done",
            vec!["<x y>", "<>", "<*>"],
        ),
        ("a=({L}); printf '%s\\0' ${#a[@]}", vec!["3"]),
        ("set -u; printf '%s\\0' x{Q} {Q}", vec!["x"]),
    ] {
        let ran = yard.print(
            &bash(text).unwrap_or_else(|p| panic!("{text}: {p:?}")),
            &values(all.clone()),
        );
        assert_eq!(ran.words(), expected, "{text}: {}", ran.stderr);
    }
}

#[test]
fn numbers_have_no_surprises() {
    let yard = Yard::new();
    let code = bash("printf '%s\\0' {N} $(( {N} + 0 ))").unwrap();
    for (number, expected) in [
        (json!(1e5), "100000"),
        (json!(100.0), "100"),
        (json!(-0.0), "0"),
        (json!(9_007_199_254_740_993_i64), "9007199254740993"),
    ] {
        let ran = yard.print(&code, &values(json!({ "N": number })));
        assert_eq!(ran.words(), [expected, expected]);
    }
    for wrong in [
        json!(1.5),
        json!(1e30),
        json!("a[$(touch canary)]"),
        json!("08"),
    ] {
        let faults = code.prepare(&values(json!({ "N": wrong }))).unwrap_err();
        assert_eq!(faults.len(), 1, "{wrong}: {faults:?}");
    }
    // Where nothing reads it as code, a transformation may have made a text of it.
    let plain = bash("printf '%s\\0' {N}").unwrap();
    assert_eq!(
        yard.print(&plain, &values(json!({"N": "007"}))).words(),
        ["007"]
    );
    assert_eq!(
        yard.print(&plain, &values(json!({"N": 1.25}))).words(),
        ["1.25"]
    );
    let inner = bash("sh -c 'echo {N}'").unwrap();
    assert!(
        inner
            .prepare(&values(json!({"N": "$(touch canary)"})))
            .is_err()
    );
}

#[test]
fn a_dash_does_not_make_an_option() {
    for (text, fine) in [
        ("find {P} -name x", false),
        ("find . -name \"{P}\"", false),
        ("grep {P} f", false),
        ("grep -e {P} f", false),
        ("grep -e{P} f", true),
        ("grep --regexp={P} f", true),
        ("grep -- {P} f", true),
        ("grep -- f {P}", true),
        ("find -- {P}", false),
        ("echo -- {P}", false),
        ("sudo -- rm {P}", false),
        ("sudo rm -- {P}", true),
        ("env X=1 rm {P}", false),
        ("rm ./{P}", true),
        ("rm \"$HOME\"{P}", false),
        ("rm {TOOL_NAME}{P}", false),
        ("x={P}; cat <<< \"$x\"", true),
        ("x={P}; rm \"$x\"", false),
        ("x={P}; rm -- \"$x\"", true),
        ("x=a{P}; rm \"$x\"", true),
        ("for x in {P}; do rm \"$x\"; done", false),
        ("a=({P}); rm \"${a[@]}\"", false),
        ("x=$(grep --regexp={P} f); echo \"$x\"", true),
        ("cat < {P} > {P}", true),
        ("case {P} in -*) echo yes;; esac", true),
        ("[[ {P} == -* ]]", true),
        ("cat <<EOF\n{P}\nEOF", true),
        ("X={P} printenv X", true),
        ("export X={P}", true),
        ("printf '%s' {P}", false),
        ("xargs rm {P} < f", false),
        ("sh -c 'echo \"$1\"' sh {P}", false),
    ] {
        let code = bash(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        let prepared = code.prepare(&values(json!({"P": "-rf"})));
        assert_eq!(prepared.is_ok(), fine, "{text}: {prepared:?}");
        assert!(
            code.prepare(&values(json!({"P": "x-rf"}))).is_ok(),
            "{text}"
        );
    }
    let number = bash("head {N}").unwrap();
    assert!(number.prepare(&values(json!({"N": -5}))).is_ok());
    let second = bash("rm {P}{Q}").unwrap();
    assert!(
        second
            .prepare(&values(json!({"P": "a", "Q": "-b"})))
            .is_ok()
    );
    assert!(
        second
            .prepare(&values(json!({"P": "", "Q": "-b"})))
            .is_err()
    );
    let list = bash("rm {L}").unwrap();
    assert!(list.prepare(&values(json!({"L": ["a", "-rf"]}))).is_err());
}

#[test]
fn a_missing_value_does_not_make_another_one_the_command() {
    let code = bash("timeout {N} curl {P}").unwrap();
    assert!(code.prepare(&values(json!({"N": 3, "P": "x"}))).is_ok());
    assert!(code.prepare(&values(json!({"P": "x"}))).is_err());
    assert!(bash("timeout {L} curl {P}").is_err());
}

#[test]
fn words_that_mean_more_to_a_program_are_refused() {
    for (text, wrong) in [
        ("make {P}", "SHELL=/tmp/x"),
        ("make -C sub {P}", "CC=touch x"),
        ("perl script.pl {P}", "touch canary|"),
        ("vim {FILE}", "+!touch canary"),
        ("less {FILE}", "+!touch canary"),
    ] {
        let code = bash(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        assert!(
            code.prepare(&values(json!({"P": wrong, "FILE": wrong})))
                .is_err(),
            "{text}"
        );
        assert!(
            code.prepare(&values(json!({"P": "x", "FILE": "x"})))
                .is_ok(),
            "{text}"
        );
    }
}

#[test]
fn large_values_reach_builtins_and_input_but_no_argument() {
    let yard = Yard::new();
    let large = format!("{}\n\n", "x$(touch canary)y\n".repeat(20_000));
    assert!(large.len() > 300_000);
    for text in [
        "printf '%s\\0' {P}",
        "cat <<EOF\n{P}\nEOF\nprintf '\\0'",
        "cat <<'EOF'\n{P}\nEOF\nprintf '\\0'",
        "cat <<< {P}; printf '\\0'",
        "x={P}; printf '%s\\0' \"$x\"",
        "printf '%s' {P} | cat; printf '\\0'",
        "for x in {P}; do printf '%s\\0' \"$x\"; done",
        "printf '%s' \"{P}\" > f; cat f; rm f; printf '\\0'",
    ] {
        let code = bash(text).unwrap();
        let ran = yard.print(&code, &values(json!({"P": large})));
        let words = ran.words();
        assert_eq!(words.len(), 1, "{text}: {}", ran.stderr);
        assert!(
            words[0].trim_end_matches('\n') == large.trim_end_matches('\n'),
            "{text}"
        );
        if text.starts_with("printf '%s\\0'") || text.contains("for x") {
            assert!(words[0] == large, "{text}");
        }
    }
    for text in [
        "cat {P}",
        "/usr/bin/printf '%s' {P}",
        "env printf '%s' {P}",
        "X={P} printenv X",
        "export X={P}; printenv X",
        "x={P}; cat \"$x\"",
        "f() { cat \"$1\"; }; f {P}",
        "for x in {P}; do cat \"$x\"; done",
        "cat --name={P}",
    ] {
        let faults = bash(text)
            .unwrap()
            .prepare(&values(json!({"P": large})))
            .unwrap_err();
        assert!(faults[0].message.contains("128 KB"), "{text}: {faults:?}");
        assert!(
            bash(text)
                .unwrap()
                .prepare(&values(json!({"P": "x".repeat(120_000)})))
                .is_ok(),
            "{text}"
        );
    }
    // The environment is not the only way for a list.
    let many: Vec<String> = (0..5000).map(|n| format!("{n} *")).collect();
    let ran = yard.print(
        &bash("printf '%s\\0' {L}").unwrap(),
        &values(json!({ "L": many })),
    );
    assert_eq!(ran.words(), many);
    assert!(yard.is_untouched());
}

#[test]
fn sixteen_megabytes_go_through_a_here_document() {
    let yard = Yard::new();
    let large = "0123456789abcde\n".repeat(1024 * 1024);
    use sha2::Digest as _;
    let code = bash("cat <<EOF | sha256sum\n{P}EOF\nEOF").unwrap();
    let ran = yard.print(&code, &values(json!({ "P": large })));
    let digest = sha2::Sha256::digest(format!("{large}EOF\n"));
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        String::from_utf8_lossy(&ran.stdout),
        format!("{hex}  -\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn values_are_not_in_the_environment_of_programs_and_cannot_be_changed() {
    let yard = Yard::new();
    let large = "z".repeat(200_000);
    let code = bash("printf '%s\\0' {P} {L} ${#PATTERN} >/dev/null; x={Q}; env | grep -ci toolcrib; printf '%s\\0' '{P}'").unwrap();
    let ran = yard.print(
        &code,
        &values(json!({"P": "secret", "L": ["a", "b"], "Q": large})),
    );
    assert_eq!(
        String::from_utf8_lossy(&ran.stdout),
        "0\nsecret\0",
        "{}",
        ran.stderr
    );
    assert!(bash("__toolcrib_0=x; echo {P}").is_err());
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
fn python_has_values_of_its_own_types() {
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
fn javascript_has_values_of_its_own_types() {
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
    // A program that nobody knows is given a file.
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
fn conditions_are_expressions_over_values() {
    let all = Values {
        steps: [(
            "step1".to_owned(),
            StepValues {
                exit_code: Some(0),
                output: "it's \"done\"".into(),
                ..StepValues::default()
            },
        )]
        .into(),
        ..values(json!({"P": "x", "N": 4, "L": ["a", "b"], "F": false}))
    };
    for (text, expected) in [
        ("{step1.exit-code} == 0", true),
        ("{step1.exit-code} === 0 && {P} == 'x'", true),
        ("{step1.output}.includes('\"done\"')", true),
        ("{N} > 3 && {L}.length == 2", true),
        ("{F}", false),
        ("{Q} === null", true),
        ("({N} + 2) / 3 === {N} - 2 // a comment", true),
        ("/^x$/.test({P})", true),
        ("`${ {N} }` == '4'", true),
    ] {
        let condition = Condition::compile(text, &usual())
            .unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        assert_eq!(condition.holds(&all), Ok(expected), "{text}");
    }
    for (text, code) in [
        ("'{P}' == 'x'", "template-string"),
        ("\"{P}\" == \"x\"", "template-string"),
        ("`{P}` == 'x'", "template-string"),
        ("/{P}/.test('x')", "template-string"),
        ("{P} ==", "template-expression"),
        ("1 // {P}", "template-comment"),
    ] {
        assert_eq!(
            Condition::compile(text, &usual()).unwrap_err()[0].code,
            code,
            "{text}"
        );
    }
    let hostile = Condition::compile("{P} == 'x'", &usual()).unwrap();
    assert_eq!(
        hostile.holds(&values(json!({"P": "x' || true || '"}))),
        Ok(false)
    );
}

#[test]
fn what_is_judged_has_values_as_words() {
    let all = values(json!({"P": "it's $x", "DIR": "a b", "L": ["1", "2 3"], "N": 3}));
    for (text, expected) in [
        ("rm {P}", "rm 'it'\\''s $x'"),
        (
            "rm \"{P}\" '{DIR}' x{DIR}",
            "rm \"it's \\$x\" '''a b''' x'a b'",
        ),
        ("rm {L} {Q} $(({N} + 1))", "rm 1 '2 3'  $((3 + 1))"),
        ("cat <<EOF\n{P}\nEOF", "cat <<EOF\nit's \\$x\nEOF"),
        ("cat <<'EOF'\n$a {P}\nEOF", "cat <<EOF\n\\$a it's \\$x\nEOF"),
        ("eval {R}", "eval "),
    ] {
        assert_eq!(
            bash(text).unwrap().judged(&all).unwrap(),
            expected,
            "{text}"
        );
    }
    let pasted = bash("eval {R}").unwrap();
    assert_eq!(
        pasted.judged(&values(json!({"R": "a; b"}))).unwrap(),
        "eval a; b"
    );
    assert_eq!(
        pasted
            .prepare(&values(json!({"R": "a; b"})))
            .unwrap()
            .arguments,
        ["-c", "eval a; b"]
    );
}

#[test]
fn the_given_cases_hold() {
    // INJ-003, INJ-004, INJ-008, INJ-010, INJ-011: one template, every value in both places.
    let yard = Yard::new();
    let code = bash("find() { printf '%s\\0' \"$@\"; }; find {DIR} -name \"{PATTERN}\"").unwrap();
    let canary = yard.canary().to_string_lossy().into_owned();
    for value in [
        format!("`touch {canary}`"),
        format!("\" -o -exec touch {canary} {{}} + -o \""),
        "!!".to_owned(),
        "{DIR}{{DIR}}".to_owned(),
    ] {
        for (dir, pattern) in [(".", value.as_str()), (value.as_str(), value.as_str())] {
            let ran = yard.print(&code, &values(json!({"DIR": dir, "PATTERN": pattern})));
            assert_eq!(ran.words(), [dir, "-name", pattern], "{}", ran.stderr);
        }
    }
    let option = format!("--fprintf={canary}");
    for (dir, pattern) in [(".", option.as_str()), (option.as_str(), option.as_str())] {
        let faults = code
            .prepare(&values(json!({"DIR": dir, "PATTERN": pattern})))
            .unwrap_err();
        assert!(faults[0].message.contains("dash"), "{faults:?}");
    }
    assert!(yard.is_untouched());
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
