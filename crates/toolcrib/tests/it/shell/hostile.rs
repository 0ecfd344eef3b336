//! Texts made to hurt the reader: deep, long, or both. It must answer soon and without falling over.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use toolcrib::shell::{MAX_TEXT, read};

use super::scripts;

/// Generous: a debug build on a busy machine.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn deep_and_long_texts_are_read_soon() {
    let pieces: &[&str] = &[
        "(",
        "((",
        "$(",
        "$((",
        "${",
        "${x:-",
        "`",
        "\\`",
        "\"",
        "'",
        "\"$(",
        "{",
        "{a,",
        "{a,b}",
        "[[ ( ",
        "if ",
        "while ",
        "case x in x) ",
        "f() { ",
        "<<E ",
        "cat <<E\n",
        "<(",
        "!",
        "! ",
        "time ",
        "a=",
        "a=(",
        "a[",
        "a[$(",
        "$[",
        "$'",
        "|",
        "&&",
        "x|",
        "x&&",
        "x;",
        "x\n",
        ">x ",
        "x>y ",
        "env ",
        "sudo ",
        "nice ",
        "eval ",
        "sh -c ",
        "xargs ",
        "find -exec ",
        "command ",
        "coproc ",
        "{ x;",
        "*",
        "[",
        "~",
        "$x",
        "$x ",
        "${x}",
        "x=1;",
        "x=1 ",
        "echo {1..99999} ",
        "{1..9}",
        "\\",
        "\\\n",
        "#",
        "\r",
        "\t",
        "é",
        "\u{0}",
        "select x in ",
        "for ((",
        "for i in x; do ",
        "then ",
        "esac ",
        "git -c alias.x=! ",
        "awk ",
        "sed ",
        "python -c ",
        "uv run ",
        "&",
        "$",
        "x{",
        "},",
        "]",
        ")",
        "))",
        "E\n",
    ];
    for piece in pieces {
        // What nests is tried at full length, what repeats at a tenth of it.
        let nests = piece.starts_with(['(', '[', '{', '<', '$', '`', '"', '\'', '\\']);
        let most = if nests { 100_000 } else { 10_000 };
        for count in [1_000, most.min(MAX_TEXT / piece.len())] {
            let text = piece.repeat(count);
            let start = Instant::now();
            let script = read(&text);
            assert!(
                start.elapsed() < SOON,
                "{piece:?} × {count} took {:?}",
                start.elapsed()
            );
            assert!(
                script.commands.len() <= 10_000 && script.doubts.len() <= 64,
                "{piece:?}"
            );
        }
    }
}

#[test]
fn closed_nests_are_doubted_not_overrun() {
    for (open, close) in [
        ("(", ")"),
        ("$(", ")"),
        ("{ ", "; }"),
        ("if x; then ", "; fi"),
        ("\"$(", ")\""),
        ("${x:-", "}"),
        ("$((", "))"),
        ("{a,", "}"),
        ("while x; do ", "; done"),
        ("a[$(", ")]=1"),
    ] {
        let text = format!("echo {}rm{}", open.repeat(10_000), close.repeat(10_000));
        assert!(!read(&text).doubts.is_empty(), "{open}");
    }
}

#[test]
fn many_redirections_times_many_commands_stay_few() {
    let text = format!("{{ {} }} {}", "x;".repeat(20_000), ">y ".repeat(20_000));
    let start = Instant::now();
    let script = read(&text);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    assert!(!script.doubts.is_empty());
}

#[test]
fn a_text_too_long_is_a_doubt() {
    assert!(!read(&"x".repeat(MAX_TEXT + 1)).doubts.is_empty());
    assert!(read(&"x".repeat(MAX_TEXT)).doubts.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(text in prop_oneof![any::<String>(), "[ -~\n\t\r]{0,200}", scripts::soup(), scripts::script()]) {
        let script = read(&text);
        for command in &script.commands {
            prop_assert!(text.get(command.span.clone()).is_some(), "{:?} in {text:?}", command.span);
            let _ = (command.name(), command.argv());
        }
    }
}
