//! Tests of the pattern on values made by hand; those on texts are in `tests/it/grants`.

use proptest::prelude::*;

use super::*;
use crate::shell::{Doubt, Part, Redirect, RedirectKind};

fn argv(words: &[&str]) -> Argv {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    Argv::try_from(words).unwrap()
}

fn word(text: &str) -> Word {
    Word {
        parts: vec![Part::Text(text.to_owned())],
        ..Word::default()
    }
}

fn command(words: &[&str]) -> SimpleCommand {
    SimpleCommand {
        words: words.iter().map(|text| word(text)).collect(),
        span: 0..words.join(" ").len(),
        ..SimpleCommand::default()
    }
}

fn script(commands: Vec<SimpleCommand>) -> Script {
    Script {
        commands,
        ..Script::default()
    }
}

fn covers(pattern: &[&str], words: &[&str]) -> bool {
    argv(pattern).covers_script(&words.join(" "), &script(vec![command(words)]))
}

#[test]
fn a_pattern_covers_its_own_words_and_no_others() {
    for (pattern, words) in [
        (&["git", "status"][..], &["git", "status"][..]),
        (&["git", "status", "*"], &["git", "status", "docs/"]),
        (&["git", "log", "**"], &["git", "log"]),
        (&["git", "log", "**"], &["git", "log", "--stat", "-p", "x"]),
        (&["cat", "*", "*"], &["cat", "a", "b.txt"]),
        (
            &["git", "commit", "-m", "a; b"],
            &["git", "commit", "-m", "a; b"],
        ),
        (&["echo", "\\*"], &["echo", "*"]),
        (&["echo", "\\**"], &["echo", "**"]),
        (&["echo", "\\\\x"], &["echo", "\\x"]),
    ] {
        assert!(covers(pattern, words), "{pattern:?} {words:?}");
    }
    for (pattern, words) in [
        (&["git", "status"][..], &["git"][..]),
        (&["git", "status"], &["git", "status", "x"]),
        (&["git", "status"], &["git", "-c", "core.pager=x", "status"]),
        (&["git", "status"], &["/tmp/git", "status"]),
        (&["git", "status"], &["git", "Status"]),
        (&["git", "status", "*"], &["git", "status"]),
        (&["git", "status", "*"], &["git", "status", "--short"]),
        (&["git", "status", "*"], &["git", "status", "a", "b"]),
        (&["cat", "*"], &["cat", "/etc/passwd"]),
        (&["cat", "*"], &["cat", "../x"]),
        (&["cat", "*"], &["cat", "a/../../x"]),
        (&["cat", "*"], &["cat", "~/x"]),
        (&["cat", "*"], &["cat", "file:///etc/passwd"]),
        (&["cat", "*"], &["cat", "x=/etc/passwd"]),
        (&["cat", "*"], &["cat", ""]),
        (&["git", "log", "**"], &["git"]),
        (&["git", "log", "**"], &["git", "logx"]),
        (&["echo", "\\*"], &["echo", "x"]),
    ] {
        assert!(!covers(pattern, words), "{pattern:?} {words:?}");
    }
}

#[test]
fn only_one_plain_command_is_covered() {
    let git = || command(&["git", "status"]);
    let text = "git status";
    let pattern = argv(&["git", "status"]);
    let covers = |change: &dyn Fn(&mut SimpleCommand)| {
        let mut changed = git();
        change(&mut changed);
        pattern.covers_script(text, &script(vec![changed]))
    };
    assert!(covers(&|_| {}));
    assert!(!covers(&|git| git.piped = true));
    assert!(!covers(&|git| git.span = 2..10));
    assert!(!covers(&|git| git.words[1].splits = true));
    assert!(!covers(&|git| git.via.push("env".to_owned())));
    assert!(!covers(&|git| git.directory = Directory::Unknown));
    assert!(!covers(
        &|git| git.directory = Directory::Known("sub".to_owned())
    ));
    assert!(!covers(&|git| git
        .assignments
        .push(("X".to_owned(), word("1")))));
    assert!(!covers(&|git| git.redirects.push(Redirect {
        kind: RedirectKind::Write,
        target: word("x"),
        directory: Directory::Start,
    })));
    for part in [
        Part::Variable("HOME".to_owned()),
        Part::Glob("*".to_owned()),
        Part::Dynamic("$(x)".to_owned()),
    ] {
        assert!(!covers(&|git| git.words[1].parts = vec![part.clone()]));
        assert!(!covers(&|git| git.words[1].parts.push(part.clone())));
    }
    assert!(!pattern.covers_script(text, &Script::default()));
    assert!(!pattern.covers_script(text, &script(vec![git(), git()])));
    let mut doubtful = script(vec![git()]);
    doubtful.doubts.push(Doubt {
        reason: "who knows".to_owned(),
        text: "x".to_owned(),
    });
    assert!(!pattern.covers_script(text, &doubtful));
}

/// Were the reader to overlook a command, what begins it is in the text and in no word.
#[test]
fn a_text_with_more_in_it_than_its_words_is_not_covered() {
    let read_wrongly = script(vec![command(&["git", "status"])]);
    let pattern = argv(&["git", "status"]);
    let covers = |text: &str| {
        let mut script = read_wrongly.clone();
        script.commands[0].span = 0..text.len();
        pattern.covers_script(text, &script)
    };
    assert!(covers("  git status \n"));
    for text in [
        "git status; rm -rf x",
        "git status & rm x",
        "git status | sh",
        "git status > x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status\nrm x",
        "git status\rrm x",
        "(git status)",
        "f() { git status; }",
        "git status <(rm x)",
    ] {
        assert!(!covers(text), "{text}");
    }
}

#[test]
fn commands_that_run_others_have_no_pattern() {
    let refused = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Argv::try_from(words).is_err()
    };
    for bad in [
        &[][..],
        &[""],
        &["*"],
        &["**"],
        &["**", "git"],
        &["git", "**", "x"],
        &["env", "git"],
        &["/usr/bin/env", "git"],
        &["sudo", "**"],
        &["xargs", "rm"],
        &["find", ".", "*"],
        &["python3", "*"],
        &["python3.12", "*"],
        &["/bin/bash", "*"],
        &["node", "**"],
        &["make", "*"],
    ] {
        assert!(refused(bad), "{bad:?}");
    }
    // Other names of the same interpreters, and versions of them.
    for name in [
        "nodejs", "node22", "pypy", "pypy3", "jruby", "luajit", "mawk", "gsed", "gmake", "tsx",
        "mksh", "pip3", "nerdctl",
    ] {
        assert!(refused(&[name, "*"]), "{name} *");
        assert!(refused(&[name, "x", "**"]), "{name} x **");
        assert!(!refused(&[name, "x"]), "{name} x");
    }
    for good in [
        &["python3", "build.py"][..],
        &["make", "test"],
        &["ls", "*"],
    ] {
        assert!(!refused(good), "{good:?}");
    }
    // Nor are they covered by one that was made in another way.
    let script = script(vec![command(&["env", "ls"])]);
    assert_eq!(simple_words("env ls", &script), None);
}

/// An interpreter that one part of Toolcrib knows is known to grants, too.
#[test]
fn no_program_that_runs_code_or_others_has_a_pattern_with_a_wildcard() {
    let names = |fact, value| programs::with(fact, value).collect::<Vec<&str>>();
    let interpreters = [
        (Fact::Runs, "others"),
        (Fact::Runs, "code"),
        (Fact::Reader, "code"),
        (Fact::Reader, "inline"),
        (Fact::Reader, "shell"),
        (Fact::Reader, "wrapper"),
        (Fact::Reader, "unclear"),
        (Fact::Reader, "project"),
        (Fact::File, "first"),
        (Fact::File, "run"),
    ];
    for (fact, value) in interpreters {
        let names = names(fact, value);
        assert!(!names.is_empty(), "{fact:?} = {value}");
        for name in names {
            let pattern = vec![name.to_owned(), "*".to_owned()];
            assert!(Argv::try_from(pattern).is_err(), "{name} *");
        }
    }
}

fn any_word() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::from("git")),
        Just(String::from("status")),
        Just(String::from("-x")),
        Just(String::from("*")),
        Just(String::from("**")),
        Just(String::from("\\")),
        Just(String::from("../a")),
        "[a-c/.*\\\\-]{0,4}",
    ]
}

proptest! {
    #[test]
    fn what_a_pattern_covers_has_its_words(
        pattern in prop::collection::vec(any_word(), 1..5),
        words in prop::collection::vec(any_word(), 0..6),
    ) {
        let Ok(argv) = Argv::try_from(pattern) else { return Ok(()) };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if argv.covers_words(&words) {
            for (at, pattern) in argv.words().iter().enumerate() {
                match pattern {
                    ArgvWord::Literal(literal) => prop_assert_eq!(literal, words[at]),
                    ArgvWord::One => prop_assert!(!words[at].starts_with('-')),
                    ArgvWord::Rest => prop_assert_eq!(at, argv.words().len() - 1),
                }
            }
            let ends = argv.words().last() != Some(&ArgvWord::Rest);
            prop_assert!(!ends || words.len() == argv.words().len());
        }
    }

    #[test]
    fn a_pattern_survives_the_wire(pattern in prop::collection::vec(any_word(), 1..5)) {
        let literal = pattern.iter().cloned().map(ArgvWord::Literal).collect();
        let Ok(argv) = Argv::new(literal) else { return Ok(()) };
        let wire = serde_json::to_value(&argv).unwrap();
        prop_assert_eq!(serde_json::from_value::<Argv>(wire).unwrap(), argv);
    }
}
