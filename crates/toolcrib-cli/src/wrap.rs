//! Text from outside: escaped, and broken into rows here rather than by the terminal.
//!
//! A terminal goes on with a long line in its first column, where a crafted value would pass for a line of ours. So every row
//! is narrower than the terminal, and the printer puts a mark in front. Nothing is lost or added by breaking; characters
//! that terminals disagree about count as the wider.

use std::borrow::Cow;
use std::fmt::Write as _;

use toolcrib::model::text::hides_something;
use unicode_width::UnicodeWidthChar as _;

/// The columns of a terminal that does not say.
const UNKNOWN: usize = 80;
/// Wider is hard to read; and a window that is made narrower afterwards breaks its lines again.
const WIDEST: usize = 120;
const NARROWEST: usize = 20;
/// The least room for a text: that of a tab.
const LEAST: usize = TAB;
/// Where tabs lead to.
const TAB: usize = 8;

/// How many columns of a terminal are written to. The last one is not: there terminals differ in when they break.
pub(crate) fn usable(columns: u16) -> usize {
    match usize::from(columns) {
        0 => UNKNOWN - 1,
        columns => columns.clamp(NARROWEST, WIDEST) - 1,
    }
}

/// A piece of a text, in one line of the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) text: String,
    /// Whether a line of the text begins here; else the line above goes on.
    pub(crate) is_start: bool,
}

/// Escapes what could deceive, so that nothing else is written alike: before `u{`, and before an escape, a backslash of the
/// text is doubled.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !hides_something(text) && !text.contains("\\u{") {
        return text.into();
    }
    let hidden = |c: char| hides_something(c.encode_utf8(&mut [0; 4]));
    let mut out = String::with_capacity(text.len() + 16);
    let mut backslashes = 0;
    for (at, c) in text.char_indices() {
        let is_hidden = hidden(c);
        if is_hidden || text[at..].starts_with("u{") {
            out.extend(std::iter::repeat_n('\\', backslashes));
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        if is_hidden {
            let _ = write!(out, "\\u{{{:04x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out.into()
}

/// A text, escaped already, as rows of at most `room` columns.
pub(crate) fn rows(text: &str, room: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for line in text.split('\n') {
        for (index, text) in broken(line, room.max(LEAST)).into_iter().enumerate() {
            let is_start = index == 0;
            rows.push(Row { text, is_start });
        }
    }
    rows
}

/// Breaks a line: between words where that leaves no row half empty, else anywhere.
fn broken(line: &str, room: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let (mut row, mut column) = (String::new(), 0);
    // Where the last word begins: the byte and the column.
    let mut word = (0, 0);
    for c in line.chars() {
        let columns = match c {
            '\t' => TAB - column % TAB,
            c => columns_of(c),
        };
        if column + columns > room {
            if word.1 * 2 < room {
                word = (row.len(), column);
            }
            let rest = row.split_off(word.0);
            column -= word.1;
            rows.push(std::mem::replace(&mut row, rest));
            word = (0, 0);
        }
        // A tab has less to go now that the row is another one.
        let columns = match c {
            '\t' => (TAB - column % TAB).min(room - column),
            _ => columns,
        };
        match c {
            '\t' => row.extend(std::iter::repeat_n(' ', columns)),
            c => row.push(c),
        }
        column += columns;
        if matches!(c, ' ' | '\t') {
            word = (row.len(), column);
        }
    }
    rows.push(row);
    rows
}

/// A text of one line in at most `room` columns; where it is cut it ends with `…`.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let (mut cut, mut column) = (String::new(), 0);
    for c in text.chars() {
        column += columns_of(c);
        if column + 1 > room {
            break;
        }
        cut.push(c);
    }
    cut.truncate(cut.trim_end().len());
    cut + "…"
}

/// The columns of a text, as far as terminals agree.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// A zero-width character may still get a column from a terminal that does not know it.
fn columns_of(c: char) -> usize {
    c.width().unwrap_or_default().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, room: usize) -> Vec<String> {
        rows(text, room).into_iter().map(|row| row.text).collect()
    }

    #[test]
    fn a_cut_text_is_not_wider_than_its_room() {
        assert_eq!(cut("one two three", 13), "one two three");
        assert_eq!(cut("one two three", 8), "one two…");
        assert_eq!(cut("one two three", 9), "one two…");
        assert_eq!(cut("一二三四", 5), "一二…");
    }

    #[test]
    fn no_row_is_wider_than_its_room_and_nothing_is_lost() {
        let words = "one two three four five six";
        assert_eq!(texts(words, 16), ["one two three ", "four five six"]);
        for text in [
            words.to_owned(),
            "x".repeat(100),
            "天気".repeat(40),
            format!("a {}", "b".repeat(60)),
            "e\u{301}".repeat(50),
        ] {
            for room in [16, 17, 40] {
                let rows = texts(&text, room);
                assert!(rows.iter().all(|row| width(row) <= room), "{rows:?}");
                assert_eq!(rows.concat(), text);
            }
        }
    }

    #[test]
    fn rows_say_whether_a_line_begins_with_them() {
        let starts: Vec<bool> = rows(&format!("{}\nb", "a".repeat(20)), 16)
            .iter()
            .map(|row| row.is_start)
            .collect();
        assert_eq!(starts, [true, false, true]);
    }

    #[test]
    fn tabs_take_the_room_they_need() {
        assert_eq!(texts("a\tb", 16), ["a       b"]);
        assert_eq!(texts("aaaaaaaaaaaa\tb\tc", 16).len(), 2);
    }

    #[test]
    fn an_escape_cannot_be_written_by_hand() {
        assert_eq!(escaped("a\u{1b}b"), "a\\u{001b}b");
        assert_eq!(escaped("a\\u{001b}b"), "a\\\\u{001b}b");
        assert_eq!(escaped("\\\u{1b}"), "\\\\\\u{001b}");
        assert_eq!(escaped("\\\\u{1b}"), "\\\\\\\\u{1b}");
        // Elsewhere backslashes stay as they are: commands are full of them.
        assert_eq!(escaped("grep 'a\\.b'\u{7}"), "grep 'a\\.b'\\u{0007}");
    }

    #[test]
    fn a_terminal_that_does_not_say_has_eighty_columns() {
        assert_eq!([0, 10, 80, 500].map(usable), [79, 19, 79, 119]);
    }
}
