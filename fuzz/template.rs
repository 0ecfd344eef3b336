//! Any text as a template for bash, with any value: compiling never panics, and what a value is makes no difference to the text
//! that bash reads.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};
use toolcrib::definition::ParameterKind;
use toolcrib::shell::read;
use toolcrib::template::{Code, Form, NamedParameter, Names, Values};

fn names() -> Names {
    let parameter = |name: &str, kind| NamedParameter {
        name: name.to_owned(),
        kind,
        format: None,
        raw: false,
    };
    Names {
        parameters: vec![
            parameter("P", ParameterKind::String),
            parameter("Q", ParameterKind::String),
            parameter("N", ParameterKind::Number),
        ],
        steps: vec!["s".to_owned()],
        ..Names::default()
    }
}

fn values(text: &str) -> Values {
    let mut arguments = Map::new();
    arguments.insert("P".to_owned(), Value::from(text));
    arguments.insert("Q".to_owned(), Value::from(text));
    arguments.insert("N".to_owned(), Value::from(7));
    Values {
        arguments,
        ..Values::default()
    }
}

fuzz_target!(|input: (&str, &str)| {
    let (template, value) = input;
    for form in [
        Form::Run,
        Form::Pwsh,
        Form::Cmd,
        Form::Script("sh".to_owned()),
        Form::Script("python".to_owned()),
        Form::Script("node".to_owned()),
    ] {
        if let Ok(code) = Code::compile(&form, template, &names()) {
            let _ = (code.prepare(&values(value)), code.judged(&values(value)));
        }
    }
    let Ok(code) = Code::compile(&Form::Bash, template, &names()) else {
        return;
    };
    let plain = code.prepare(&values("x")).expect("a plain value is fine");
    if let Ok(prepared) = code.prepare(&values(value)) {
        assert_eq!(plain.arguments, prepared.arguments, "{template:?} with {value:?}");
        // The judge sees the same commands, too.
        if let (Some(one), Some(other)) = (code.judged(&values("x")), code.judged(&values(value))) {
            let (one, other) = (read(&one), read(&other));
            if value.len() < 1000 && one.doubts.is_empty() && other.doubts.is_empty() {
                let counts = |script: &toolcrib::shell::Script| {
                    let words = script.commands.iter().map(|command| command.words.len());
                    words.collect::<Vec<_>>()
                };
                assert_eq!(counts(&one), counts(&other), "{template:?} with {value:?}");
            }
        }
    }
});
