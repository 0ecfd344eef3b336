//! What values of all types become in bash, and which are refused.

use serde_json::json;
use toolcrib::definition::ParameterKind;
use toolcrib::template::{Code, Form, NamedParameter, Names};

use super::programs::Yard;
use super::{bash, format, values};

fn with_format(name: &str, kind: ParameterKind, text: &str) -> Names {
    Names {
        parameters: vec![NamedParameter {
            name: name.to_owned(),
            kind,
            format: Some(format(text)),
            raw: false,
        }],
        ..Names::default()
    }
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
fn what_is_left_of_a_value_is_not_an_option() {
    for (text, wrong, fine) in [
        ("x={P}; sort \"${x##*/}\"", "a/--output=pwn", "a/b-c"),
        ("f={P}; tar cf o f \"${f##*/}\"", "a/-Itouch pwn", "a/b-c"),
        (
            "x={P}; y=\"${x##*/}\"; sort \"$y\"",
            "a/--output=pwn",
            "a/b-c",
        ),
        ("x=\"pre{P}\"; sort \"${x#pre}\"", "--output=pwn", "a"),
        ("x=\"ab{P}\"; sort \"${x:2}\"", "--output=pwn", "a"),
        ("x={P}; sort \"${x//a/}\"", "a-o", "b"),
        ("sort \"$(basename {P})\"", "a/--output=pwn", "a/b-c"),
        ("sort \"$(basename -- {P})\"", "-o", "a/b-c"),
        ("sort \"`basename {P}`\"", "a/--output=pwn", "a/b-c"),
        ("x=$(basename {P}); sort \"$x\"", "a/--output=pwn", "a/b-c"),
        ("sort \"$(cut -d, -f2 <<< {P})\"", "a,--output=pwn", "a,b"),
        (
            "f() { sort \"${1##*/}\"; }; f {P}",
            "a/--output=pwn",
            "a/b-c",
        ),
        (
            "while IFS= read -r f; do sort \"$f\"; done <<< {P}",
            "--output=pwn",
            "a-b c",
        ),
        (
            "printf '%s\\n' {P} | while read -r f; do sort \"$f\"; done",
            "/dev/null\n--output=pwn",
            "a-b\nc",
        ),
        (
            "echo {P} | tr , '\\n' | while read -r f; do sort \"$f\"; done",
            "/dev/null,--output=pwn",
            "a,c",
        ),
        (
            "IFS=, read -ra a <<< {P}; cat \"${a[@]}\"",
            "/dev/null,--output=pwn",
            "a,c",
        ),
        ("printf '%s\\0' x{P} | xargs -0 cat", "\n--o", "a-b"),
        ("identify {P}", "|touch pwn", "a.png"),
    ] {
        let code = bash(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        assert!(
            code.prepare(&values(json!({"P": wrong}))).is_err(),
            "{text}"
        );
        let prepared = code.prepare(&values(json!({"P": fine})));
        assert!(prepared.is_ok(), "{text}: {prepared:?}");
    }
    for text in [
        "x={P}; sort -- \"${x##*/}\"",
        "sort -- \"$(basename -- {P})\"",
        "x={P}; sort \"./${x##*/}\"",
        "while IFS= read -r f; do sort -- \"$f\"; done <<< {P}",
        "x={P}; sort < \"${x##*/}\"",
    ] {
        let code = bash(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        assert!(
            code.prepare(&values(json!({"P": "a/-x"}))).is_ok(),
            "{text}"
        );
    }
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
        ("command {P}", "./x"),
        ("command {P}", "-v"),
        ("command {P}", "a b"),
        ("command {P}", "$(x)"),
        ("bash {FILE}", "+c"),
        ("make -C sub {P}", "CC=touch x"),
        ("make {P}", "$(shell touch canary)"),
        ("make build-{P}", "; touch canary"),
        // Each of two programs has its say.
        ("x={P}; make \"$x\"; bash \"$x\"", "$(shell touch canary)"),
        ("x={P}; bash \"$x\"; make \"$x\"", "+c"),
        ("perl script.pl {P}", "touch canary|"),
        ("perl -ne print a{P}", "; touch canary|"),
        ("vim {FILE}", "+!touch canary"),
        ("less {FILE}", "+!touch canary"),
        ("mail -s hello {P}", "|touch canary"),
        ("ruby -e 'puts File.read(ARGV[0])' {FILE}", "|touch canary"),
        ("gm convert {FILE} out.png", "|touch canary"),
        ("pdflatex {FILE}", "\\write18{touch canary}"),
        ("pdflatex ./{FILE}", "\\directlua{x}"),
        ("gcc {FILE}", "@options"),
        ("git clone {P} x", "ext::sh -c touch% canary"),
        ("git -C sub fetch {P}", "ext::sh -c touch% canary"),
        ("deno run {P}", "data:text/javascript,1"),
        ("ftp {P}", "http://x/|touch canary"),
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
fn words_that_mean_more_to_some_commands_only_are_fine_elsewhere() {
    for (text, fine) in [
        ("ed ./{P}", "!touch canary"),
        ("ed -p {N} ./{P}", "!x"),
        ("git commit -m {P}", "std::vector"),
        ("git clone {P} x", "https://x.test/y.git"),
        ("git clone {P} x", "git@x.test:y.git"),
        ("pdflatex {P}", "thesis/main.tex"),
        ("mail -s {P} a@x.test", "a|b"),
        ("gnuplot -e 'set term png' ./{P}", "<x"),
        ("ruby x.rb {P}", "a|b"),
    ] {
        let code = bash(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        let prepared = code.prepare(&values(json!({"P": fine, "N": 1})));
        assert!(prepared.is_ok(), "{text}: {prepared:?}");
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

/// What a format writes around a value decides what the value is to the program.
#[test]
fn the_words_of_a_format_are_read_with_the_template() {
    let compile = |text: &str, format: &str| {
        let names = with_format("X", ParameterKind::String, format);
        Code::compile(&Form::Bash, text, &names)
    };
    for (text, format) in [
        ("tar cf o.tar {X} f", "-I {value}"),
        ("tar cf o.tar \"{X}\" f", "-I{value}"),
        ("tar cf o.tar {X} f", "--use-compress-program={value}"),
        ("find . {X}", "-exec {value} ;"),
        ("python3 {X}", "-c {value}"),
        ("sort {X} f", "--compress-program={value}"),
        ("ls; {X}", "sh -c {value}"),
    ] {
        assert!(compile(text, format).is_err(), "{text} with {format}");
    }
    for (text, format) in [
        ("git {X} status", "-C {value}"),
        ("timeout {X} 5 ls", "-k {value}"),
        ("grep {X} f", "--regexp={value}"),
        ("ls {X}", "--all"),
        ("echo \"{X}\"", "x={value}"),
    ] {
        let compiled = compile(text, format);
        assert!(compiled.is_ok(), "{text} with {format}: {compiled:?}");
    }
}
