//! Hostile values in every place of a bash text, really run: every byte arrives, nothing else happens.
//!
//! Many pieces make one template, and every placeholder of it has its own value, so that one bash tries a whole bunch.
//! `TOOLCRIB_TEMPLATE_CASES=200000` tries more values than the usual few thousand, `TOOLCRIB_TEMPLATE_SEED` others.

use std::io::Write;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value};
use toolcrib::template::{Code, Form, Reference};

use super::programs::Yard;
use super::snippets::{SNIPPETS, Snippet};
use super::{names, values};

/// Pieces of values that mean something to bash, somewhere.
const FRAGMENTS: &[&str] = &[
    "$(touch CANARY)",
    "`touch CANARY`",
    "; touch CANARY",
    "\ntouch CANARY\n",
    "| touch CANARY",
    "&& touch CANARY",
    "|| touch CANARY",
    "& touch CANARY &",
    "\"; touch CANARY; \"",
    "'; touch CANARY; '",
    "\" $(touch CANARY) \"",
    "' $(touch CANARY) '",
    "\n)\ntouch CANARY\n",
    "}; touch CANARY; {",
    "${x:=$(touch CANARY)}",
    "a[$(touch CANARY)]",
    "$((a[$(touch CANARY)]))",
    "<(touch CANARY)",
    ">(touch CANARY)",
    "> CANARY",
    ">> CANARY",
    "2> CANARY",
    "\nEOF\ntouch CANARY\n",
    "\nE_1\ntouch CANARY\n",
    "EOF",
    "\nEOF\n",
    "\tEOF\n",
    "A",
    "\nB\n",
    "$HOME",
    "${IFS}",
    "$IFS",
    "$@",
    "$*",
    "$1",
    "$$",
    "$?",
    "$!",
    "~",
    "~root",
    "*",
    "?",
    "[a-z]*",
    "{a,b}",
    "{1..3}",
    "{P}",
    "{P0}",
    "{{P}}",
    "{{P1}}",
    "${P}",
    "!!",
    "!",
    "!x",
    "\\",
    "\\\\",
    "\\'",
    "\\\"",
    "\\n",
    "\\0",
    "\\x41",
    "'",
    "\"",
    "`",
    "$",
    "''",
    "\"\"",
    "$'",
    "$\"",
    " ",
    "  ",
    "\t",
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "\u{1}",
    "\u{7f}",
    "\u{b}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{feff}",
    "\u{e000}",
    "ü",
    "€",
    "😀",
    "#",
    " # ",
    "%s",
    "%n",
    "%%",
    "%",
    "&",
    "|",
    ";",
    ";;",
    "(",
    ")",
    "((",
    "))",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "<",
    ">",
    "<<EOF",
    "<<<",
    "=",
    "==",
    "=~",
    "+",
    "-",
    "--",
    "-n",
    "-e",
    "-rf",
    "--help",
    "-v x",
    "-v",
    "x=1",
    "esac",
    "done",
    "fi",
    "in",
    "do",
    ";;\n*) touch CANARY;;\n",
    "__toolcrib_0",
    "${__toolcrib_0}",
    "$__toolcrib_1",
    "TOOLCRIB_VALUES",
    "a",
    "b c",
    "0",
    "1",
    "-1",
    "x",
    ".",
    "..",
    "/",
    "*/",
    "/*",
    "a=b",
    "PATH=x",
    "x\u{0}y",
];

fn hostile() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        6 => proptest::sample::select(FRAGMENTS).prop_map(str::to_owned),
        1 => "[ -~]{0,6}",
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(fragment, 0..7).prop_map(|parts| parts.concat())
}

pub(super) fn cases() -> usize {
    let wanted = std::env::var("TOOLCRIB_TEMPLATE_CASES").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(2000)
}

pub(super) fn seed() -> [u8; 32] {
    let mut seed = [9; 32];
    if let Ok(text) = std::env::var("TOOLCRIB_TEMPLATE_SEED") {
        let _ = (&mut seed[..]).write_all(text.as_bytes());
    }
    seed
}

/// A template of several pieces, each with its own parameter.
fn template(snippets: &[&Snippet]) -> Code {
    let mut text = String::new();
    for (index, snippet) in snippets.iter().enumerate() {
        let own = snippet
            .text
            .replace("{P}", &format!("{{P{index}}}"))
            .replace("x_", &format!("x{index}_"));
        text.push_str(&format!("{own}\nprintf '%s\\0' '@{index}'\n"));
    }
    let parameters: Vec<String> = (0..snippets.len())
        .map(|index| format!("P{index}"))
        .collect();
    Code::compile(&Form::Bash, &text, &names(&parameters.join(" "), ""))
        .unwrap_or_else(|problems| panic!("{problems:?}\n{text}"))
}

#[test]
fn every_piece_is_accepted_by_itself() {
    for snippet in SNIPPETS {
        let compiled = Code::compile(&Form::Bash, snippet.text, &names("P", ""));
        assert!(compiled.is_ok(), "{}: {compiled:?}", snippet.text);
    }
}

#[test]
fn hostile_values_arrive_and_do_nothing() {
    const TOGETHER: usize = 25;
    let yard = Yard::new();
    let canary = yard.canary().to_string_lossy().into_owned();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed());
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut tried, mut faults) = (0, 0);
    let cases = cases();
    while tried < cases {
        let mut draw =
            |strategy: &BoxedStrategy<String>| strategy.new_tree(&mut runner).unwrap().current();
        let value = hostile()
            .prop_map({
                let canary = canary.clone();
                move |text| text.replace("CANARY", &canary)
            })
            .boxed();
        let drawn: Vec<String> = (0..TOGETHER).map(|_| draw(&value)).collect();
        let chosen: Vec<&Snippet> = (0..TOGETHER)
            .map(|_| {
                let index = runner.rng().random_range(0..SNIPPETS.len());
                &SNIPPETS[index]
            })
            .collect();
        let code = template(&chosen);
        let mut arguments: Map<String, Value> = drawn
            .iter()
            .enumerate()
            .map(|(index, value)| (format!("P{index}"), Value::from(value.as_str())))
            .collect();
        let mut drawn = drawn;
        if let Err(refused) = code.prepare(&values(Value::Object(arguments.clone()))) {
            for fault in refused {
                let Reference::Parameter(name) = &fault.reference else {
                    panic!("{fault:?}");
                };
                let index: usize = name[1..].parse().unwrap();
                let value = &drawn[index];
                let expected =
                    value.contains('\0') || value.starts_with('-') && !chosen[index].dashes;
                assert!(expected, "{fault:?}: {value:?} in {}", chosen[index].text);
                faults += 1;
                drawn[index] = format!("x{}", value.replace('\0', ""));
                arguments.insert(name.clone(), Value::from(drawn[index].as_str()));
            }
        }
        for (index, value) in drawn.iter().enumerate() {
            let dashed = value.starts_with('-') && !chosen[index].dashes;
            assert!(!dashed, "{value:?} was accepted in {}", chosen[index].text);
        }
        let ran = yard.print(&code, &values(Value::Object(arguments)));
        let mut expected = Vec::new();
        for (index, (snippet, value)) in chosen.iter().zip(&drawn).enumerate() {
            expected.extend((snippet.prints)(value));
            expected.push(format!("@{index}"));
        }
        let words = ran.words();
        if words != expected {
            let at = words
                .iter()
                .zip(&expected)
                .position(|(one, other)| one != other)
                .unwrap_or(words.len().min(expected.len()));
            let index = expected[..at]
                .iter()
                .filter(|word| word.starts_with('@'))
                .count();
            panic!(
                "{:?} in {}\nprinted {:?}\nexpected {:?}\n{}",
                drawn[index.min(TOGETHER - 1)],
                chosen[index.min(TOGETHER - 1)].text,
                words.get(at),
                expected.get(at),
                ran.stderr
            );
        }
        assert!(yard.is_untouched(), "something happened: {drawn:?}");
        tried += TOGETHER;
    }
    println!("{tried} values tried, {faults} refused");
}
