//! Files that someone made to do harm: refused, in little time and memory.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use toolcrib::definition::read;

use super::{refused, tool};

#[test]
fn an_alias_bomb_is_refused_at_once() {
    let mut bomb = String::from("a: &a [\"lol\"]\n");
    for (level, before) in ('b'..='i').zip('a'..) {
        let items = vec![format!("*{before}"); 9].join(", ");
        writeln!(bomb, "{level}: &{level} [{items}]").unwrap();
    }
    let begun = Instant::now();
    let codes = refused(&bomb);
    assert!(
        begun.elapsed() < Duration::from_millis(100),
        "{:?}",
        begun.elapsed()
    );
    assert!(
        codes.contains(&"anchor") && codes.contains(&"alias"),
        "{codes:?}"
    );
}

#[test]
fn what_a_tool_does_not_need_of_yaml_is_refused() {
    for (lines, code) in [
        ("bash: &x ls\n", "anchor"),
        ("bash: *x\n", "alias"),
        ("metadata:\n  <<: {category: x}\nbash: ls\n", "merge-key"),
        ("bash: !!binary bHM=\n", "tag"),
        ("bash: ls\n---\nbash: ls\n", "several-documents"),
        ("bash: ls\nbash: ls\n", "duplicate-key"),
        (
            "bash: ls\nparameters:\n  A: {description: a}\n  A: {description: a}\n",
            "duplicate-key",
        ),
        (
            "bash: ls\nsecuirty: {isolation: container}\n",
            "unknown-key",
        ),
        ("bash: ls\n? [a]\n: b\n", "key-not-text"),
    ] {
        let codes = refused(tool(lines));
        assert_eq!(codes.first(), Some(&code), "{lines}: {codes:?}");
    }
}

#[test]
fn only_utf8_is_read_and_a_byte_order_mark_does_no_harm() {
    let text = tool("bash: ls\n");
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let with_mark: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(utf16.iter().copied())
        .collect();
    assert_eq!(refused(&utf16), ["not-utf8"]);
    assert_eq!(refused(&with_mark), ["not-utf8"]);
    assert_eq!(refused(b"description: Caf\xe9\nbash: ls\n"), ["not-utf8"]);
    assert_eq!(refused(b"description: x\0\nbash: ls\n").len(), 1);
    let marked = format!("\u{feff}{text}");
    assert!(read(marked.as_bytes(), "tool").definition.is_some());
    let windows = text.replace('\n', "\r\n");
    assert!(read(windows.as_bytes(), "tool").definition.is_some());
    for separator in ["\u{85}", "\u{2028}", "\u{2029}"] {
        let text = tool(&format!(
            "bash: ls\nmetadata:\n  category: \"a{separator}b\"\n"
        ));
        assert_eq!(refused(text), ["line-separator"]);
    }
}

#[test]
fn patterns_that_could_take_for_ever_are_refused() {
    let pattern = |pattern: &str| {
        tool(&format!(
            "bash: echo {{X}}\nparameters:\n  X:\n    type: string\n    description: x\n    validation:\n      pattern: '{pattern}'\n"
        ))
    };
    for wrong in [
        "((((a{100}){100}){100}){100})",
        "(?=a)b",
        "(a)\\1",
        "(?<!x)y",
        "(",
        "[z-a]",
    ] {
        assert_eq!(refused(pattern(wrong)), ["bad-pattern"], "{wrong}");
    }
    // Slow elsewhere, linear here.
    assert!(
        read(pattern("^(a+)+$").as_bytes(), "tool")
            .definition
            .is_some()
    );
}

#[test]
fn whatever_is_large_is_read_or_refused_in_little_time() {
    let many =
        |line: &dyn Fn(usize) -> String, count: usize| (0..count).map(line).collect::<String>();
    let begun_all = Instant::now();
    for (what, text) in [
        (
            "flow depth",
            format!("bash: ls\nmetadata: {}", "[".repeat(100_000)),
        ),
        (
            "block depth",
            (0..400).map(|n| format!("{}a:\n", " ".repeat(n))).collect(),
        ),
        ("list depth", format!("metadata:\n{}", "- ".repeat(50_000))),
        ("many keys", many(&|n| format!("key{n}: 1\n"), 15_000)),
        (
            "near keys",
            many(&|n| format!("description{n}: 1\n"), 11_000),
        ),
        ("one key", format!("{}: 1\n", "k".repeat(200_000))),
        (
            "long text",
            tool(&format!("bash: echo {}\n", "x".repeat(200_000))),
        ),
        (
            "many placeholders",
            tool(&format!("bash: echo {}\n", "{AB} ".repeat(12_000))),
        ),
        (
            "many parameters",
            tool(&format!(
                "bash: ls\nparameters:\n{}",
                many(&|n| format!("  P{n}: {{description: d}}\n"), 8000)
            )),
        ),
        (
            "many of both",
            tool(&format!(
                "bash: echo {}\nparameters:\n{}",
                "{ABC} ".repeat(9000),
                many(&|n| format!("  AB{n}: {{description: d}}\n"), 7000)
            )),
        ),
        (
            "many steps",
            tool(&format!(
                "steps:\n{}",
                many(&|n| format!("  - {{name: s{n}, bash: ls}}\n"), 8000)
            )),
        ),
        (
            "many quotes",
            tool(&format!("bash: {}\n", "\"'".repeat(30_000))),
        ),
        (
            "many tests",
            tool(&format!(
                "bash: ls\ntests:\n{}",
                many(&|n| format!("  - {{name: t{n}}}\n"), 9000)
            )),
        ),
        ("colons", ": ".repeat(100_000)),
        ("question marks", "? ".repeat(100_000)),
        ("comments", format!("{}bash: ls\n", "# x\n".repeat(60_000))),
        (
            "patterns",
            tool(&format!(
                "bash: ls\nparameters:\n{}",
                many(
                    &|n| format!(
                        "  P{n}: {{description: d, validation: {{pattern: 'a{{1000}}'}}}}\n"
                    ),
                    3000
                )
            )),
        ),
        (
            "transforms",
            tool(&format!(
                "bash: ls\nparameters:\n{}",
                many(
                    &|n| format!("  P{n}: {{description: d, transform: 'value + {n}'}}\n"),
                    4000
                )
            )),
        ),
    ] {
        let begun = Instant::now();
        let reading = read(text.as_bytes(), "tool");
        let took = begun.elapsed();
        eprintln!("{what}: {took:?}, {} problems", reading.problems.len());
        assert!(
            reading.problems.len() <= 250,
            "{what}: {}",
            reading.problems.len()
        );
        assert!(took < Duration::from_secs(2), "{what} took {took:?}");
    }
    assert!(begun_all.elapsed() < Duration::from_secs(20));
}
