//! Texts, formats and conditions: values where they are only data.

use serde_json::json;
use toolcrib::definition::ParameterKind;
use toolcrib::template::{Condition, StepValues, Text, Values, Variable, words};

use super::{format, usual, values};

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
