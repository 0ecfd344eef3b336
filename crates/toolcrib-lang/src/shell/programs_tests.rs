//! Whether the table is one that its readers understand.

use std::collections::HashSet;

use super::*;
use crate::shell::LANGUAGES;

#[test]
fn a_real_parser_reads_the_same_table() {
    let parsed: toml::Table = TABLE.parse().unwrap();
    let mut facts = 0;
    for (name, program) in &parsed {
        let read = find(name).unwrap();
        assert_eq!(read.name, name);
        for (key, value) in program.as_table().unwrap() {
            let fact = Fact::of(key).unwrap_or_else(|| panic!("unknown key `{key}` in {name}"));
            let value = value.as_str().unwrap();
            assert!(!value.trim().is_empty(), "{name}: {key} has no words");
            let found = read.facts.iter().find(|(known, _)| *known == fact);
            assert_eq!(found.unwrap().1, value, "{name}: {key}");
            facts += 1;
        }
    }
    assert_eq!(parsed.len(), PROGRAMS.programs.len());
    let read = PROGRAMS.programs.iter().map(|program| program.facts.len());
    assert_eq!(facts, read.sum::<usize>());
}

#[test]
fn every_name_is_listed_once_and_every_likeness_exists() {
    let mut names = HashSet::new();
    for program in &PROGRAMS.programs {
        let all = std::iter::once(program.name).chain(program.words(Fact::Names));
        for name in all {
            assert!(names.insert(name), "{name} is listed twice");
        }
        let mut at = program;
        let mut steps = 0;
        while let Some((_, other)) = at.facts.iter().find(|(fact, _)| *fact == Fact::Like) {
            at = find(other).unwrap_or_else(|| panic!("{} is like {other}", program.name));
            steps += 1;
            assert!(steps < 5, "{} is like itself", program.name);
        }
    }
}

/// Facts are looked up by variants of `Fact`, so each that is in the table is read somewhere. A program without one is not.
#[test]
fn every_program_has_a_fact_and_every_fact_a_program() {
    for program in &PROGRAMS.programs {
        let says = |(fact, _): &&(Fact, &str)| *fact != Fact::Names;
        assert!(
            program.facts.iter().any(|fact| says(&fact)),
            "{}",
            program.name
        );
    }
    for fact in Fact::ALL {
        let mut programs = PROGRAMS.programs.iter();
        assert!(programs.any(|program| program.has(*fact)), "{fact:?}");
    }
}

#[test]
fn likeness_and_versions_carry_no_mild_facts() {
    let nodejs = find("nodejs").unwrap();
    assert_eq!(nodejs.get(Fact::Language), "node");
    assert_eq!(nodejs.get(Fact::Runs), "code");
    assert_eq!(nodejs.get(Fact::Text), "");
    assert_eq!(find("python3.12").map(Program::name), None);
    assert_eq!(version("python3.12").map(Program::name), Some("python"));
    assert_eq!(version(".").map(Program::name), Some("."));
    assert_eq!(version("..").map(Program::name), None);
}

#[test]
fn every_reader_exists() {
    for program in &PROGRAMS.programs {
        let reader = program.get(Fact::Reader);
        let exists = reader.is_empty() || super::super::runners::reader(reader).is_some();
        assert!(exists, "{}: {reader}", program.name);
    }
}

/// The shell reader, rules and templates know the same interpreters.
#[test]
fn all_parts_know_the_same_interpreters() {
    for program in &PROGRAMS.programs {
        let name = program.name;
        let reader = program.get(Fact::Reader);
        let runs = program.get(Fact::Runs);
        if program.has(Fact::Language) {
            assert_eq!((reader, runs), ("code", "code"), "{name}");
            assert!(LANGUAGES.contains(&program.get(Fact::Language)), "{name}");
        }
        if matches!(reader, "code" | "shell") {
            assert!(program.has(Fact::Code), "{name} has no option for code");
        }
        if matches!(reader, "code" | "shell" | "inline" | "sed" | "awk" | "make") {
            assert_eq!(runs, "code", "{name}");
            assert_eq!(program.get(Fact::Executes), "yes", "{name}");
        }
        if program.has(Fact::Flags) || program.has(Fact::Before) {
            assert_eq!(runs, "others", "{name} is a wrapper");
        }
    }
}

/// A misspelt value would be one that no reader looks for.
#[test]
fn facts_with_few_values_have_one_of_them() {
    let known: &[(Fact, &[&str])] = &[
        (Fact::Runs, &["others", "code"]),
        (Fact::Removes, &["names", "otherwise"]),
        (Fact::Destroys, &["tree", "files", "input", "script"]),
        (Fact::Hosts, &["operands", "remote", "none"]),
        (Fact::Once, &["yes"]),
        (Fact::Selects, &["yes"]),
        (Fact::Unclear, &["any", "bare", "dynamic", "value"]),
        (Fact::Input, &["arguments", "queries", "commands"]),
        (Fact::File, &["first", "run"]),
        (Fact::Prints, &["start", "slash", "blank", "anywhere"]),
        (Fact::Output, &["paths", "lines", "words", "edits"]),
        (Fact::Operands, &["text", "write", "last"]),
        (
            Fact::Forbids,
            &[
                "recipe",
                "pipe",
                "image",
                "plus",
                "first-bar",
                "tex",
                "options",
                "address",
                "helper",
            ],
        ),
        (Fact::Sets, &["yes"]),
        (Fact::Skips, &["yes"]),
        (Fact::Keyword, &["yes"]),
        (Fact::Reads, &["yes"]),
        (Fact::Harmless, &["yes"]),
        (Fact::Filter, &["yes", "code"]),
        (Fact::Executes, &["yes"]),
        (Fact::Typed, &["yes"]),
        (Fact::Before, &["1"]),
        (Fact::First, &["1"]),
    ];
    for program in &PROGRAMS.programs {
        for (fact, values) in known {
            let value = program.get(*fact);
            let is_known = value.is_empty() || values.contains(&value);
            assert!(is_known, "{}: {fact:?} = {value}", program.name);
        }
        let script = program.words(Fact::Script).last();
        assert!(
            matches!(script, None | Some("CODE" | "FILE")),
            "{}",
            program.name
        );
    }
}
