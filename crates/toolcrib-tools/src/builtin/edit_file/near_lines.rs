//! What a text that is not in a file may have meant: the nearest lines, with their numbers.
//!
//! Only the message depends on this. Each step looks at every line a bounded number of times.

use std::collections::HashSet;

use crate::model::text::shorten;

/// How many lines of the wanted text are compared; more make the search longer and no better.
const MAX_LINES: usize = 60;

/// The longest line that is compared letter by letter.
const MAX_LINE: usize = 400;

/// How many lines are compared letter by letter.
const MAX_COMPARED: usize = 20_000;

/// How alike a line must be to be shown, of 100.
const ALIKE: usize = 60;

/// The longest line shown.
const SHOWN: usize = 120;

/// Says where something like `old` is.
pub(super) fn explain(text: &str, old: &str) -> String {
    if let Some(why) = line_ends(text, old) {
        return why;
    }
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = old.lines().take(MAX_LINES).collect();
    let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = [
        (
            "differs only in white space",
            position(&lines, &wanted, plain),
        ),
        (
            "differs only in upper and lower case",
            position(&lines, &wanted, |line| plain(line).to_lowercase()),
        ),
    ];
    for (how, at) in found {
        if let Some(at) = at {
            return format!(
                "{} {how}{}",
                range(at, wanted.len()),
                first_difference(&lines, at, &wanted)
            );
        }
    }
    let unnumbered: Vec<&str> = wanted.iter().map(|line| without_number(line)).collect();
    if unnumbered != wanted && position(&lines, &unnumbered, plain).is_some() {
        return "its lines begin with line numbers, which are not in the file; leave the numbers out".to_owned();
    }
    match nearest(&lines, &wanted) {
        Some(at) => format!(
            "the nearest is {}{}",
            range(at, wanted.len()),
            first_difference(&lines, at, &wanted)
        ),
        None => "no line of the file is like it; read the file first".to_owned(),
    }
}

fn line_ends(text: &str, old: &str) -> Option<String> {
    if text.contains("\r\n") && text.replace("\r\n", "\n").contains(old) {
        return Some(
            "it would be there if line breaks did not count: the lines of the file end in `\\r\\n`, those of `old` in `\\n`; write `\\r\\n` in `old` and `new`"
                .to_owned(),
        );
    }
    if old.contains("\r\n") && text.contains(&old.replace("\r\n", "\n")) {
        return Some(
            "it would be there if line breaks did not count: the lines of the file end in `\\n`, those of `old` in `\\r\\n`"
                .to_owned(),
        );
    }
    None
}

/// Where all lines of the wanted text are, as far as a reading of them goes. Its first and last line may be parts of lines.
fn position(lines: &[&str], wanted: &[&str], read: impl Fn(&str) -> String) -> Option<usize> {
    let wanted: Vec<String> = wanted.iter().map(|line| read(line)).collect();
    if wanted.iter().all(String::is_empty) {
        return None;
    }
    let lines: Vec<String> = lines.iter().map(|line| read(line)).collect();
    let last = wanted.len() - 1;
    lines.windows(wanted.len()).position(|window| {
        let mut pairs = window.iter().zip(&wanted).enumerate();
        pairs.all(|(index, (line, wanted))| match index {
            0 if last == 0 => line.contains(wanted.as_str()),
            0 => line.ends_with(wanted.as_str()),
            index if index == last => line.starts_with(wanted.as_str()),
            _ => line == wanted,
        })
    })
}

fn without_number(line: &str) -> &str {
    let rest = line.trim_start();
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mark = rest[digits..].chars().next();
    match mark {
        Some(mark @ (':' | '|' | '\t' | '→' | '-')) if digits > 0 => {
            &rest[digits + mark.len_utf8()..]
        }
        _ => line,
    }
}

/// Where most of the lines are, or one that is like the longest of them.
fn nearest(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let trimmed: Vec<&str> = wanted.iter().map(|line| line.trim()).collect();
    let worth = |line: &str| usize::from(line.len() > 2);
    let score = |at: usize| -> usize {
        let pairs = lines[at..].iter().zip(&trimmed);
        pairs
            .filter(|(line, wanted)| line.trim() == **wanted)
            .map(|(_, wanted)| worth(wanted))
            .sum()
    };
    let scores = (0..lines.len()).map(|at| (score(at), at));
    let best = scores
        .filter(|(score, _)| *score > 0)
        .max_by_key(|(score, at)| (*score, usize::MAX - at));
    if let Some((_, at)) = best {
        return Some(at);
    }
    let (offset, longest) = trimmed
        .iter()
        .enumerate()
        .max_by_key(|(index, line)| (line.len(), usize::MAX - index))?;
    let pairs = pairs_of(longest);
    let alike = |line: &str| {
        let own = pairs_of(line.trim());
        let both = own.intersection(&pairs).count();
        200 * both / (own.len() + pairs.len()).max(1)
    };
    let compared = lines.iter().take(MAX_COMPARED).enumerate();
    let (likeness, at) = compared
        .map(|(at, line)| (alike(line), at))
        .max_by_key(|(likeness, at)| (*likeness, usize::MAX - at))?;
    (likeness >= ALIKE).then(|| at.saturating_sub(offset))
}

/// The pairs of neighbouring letters of a line.
fn pairs_of(line: &str) -> HashSet<(char, char)> {
    let letters = || line.chars().take(MAX_LINE).filter(|c| !c.is_whitespace());
    letters().zip(letters().skip(1)).collect()
}

fn range(at: usize, count: usize) -> String {
    match count {
        0 | 1 => format!("line {}", at + 1),
        count => format!("the text at lines {} to {}", at + 1, at + count),
    }
}

fn first_difference(lines: &[&str], at: usize, wanted: &[&str]) -> String {
    let mut pairs = lines[at..].iter().zip(wanted).enumerate();
    let differs = pairs.find(|(_, (line, wanted))| line != wanted);
    match differs {
        Some((index, (line, wanted))) => format!(
            "; line {} is {}, and `old` has {}",
            at + index + 1,
            shown(line),
            shown(wanted)
        ),
        None => match lines.get(at + wanted.len()) {
            Some(_) => "; the line breaks at its end differ".to_owned(),
            None => "; the file ends there".to_owned(),
        },
    }
}

/// A line whose white space can be seen at its ends.
fn shown(line: &str) -> String {
    let line = line.replace('\t', "\\t").replace('\r', "\\r");
    format!("`{}`", shorten(&line, SHOWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "fn main() {\n\tlet total = count(a, b);\n\tprint(total);\n}\n";

    #[track_caller]
    fn says(old: &str, expected: &str) {
        let said = explain(TEXT, old);
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn white_space_that_differs_is_shown_with_its_line() {
        says(
            "    let total = count(a, b);\n    print(total);",
            "lines 2 to 3 differs only in white space; line 2 is `\\tlet total = count(a, b);`, and `old` has `    let total",
        );
        says("print( total )", "the nearest is line 3");
        says(
            "Print(Total);",
            "line 3 differs only in upper and lower case",
        );
    }

    #[test]
    fn the_nearest_lines_are_shown_with_the_first_difference() {
        says(
            "\tlet total = count(a, c);\n\tprint(total);\n",
            "lines 2 to 3; line 2 is `\\tlet total = count(a, b);`, and `old` has `\\tlet total = count(a, c);`",
        );
        says(
            "let total = counts(a,b)",
            "the nearest is line 2; line 2 is",
        );
        says("something else entirely", "no line of the file is like it");
    }

    #[test]
    fn line_numbers_and_line_breaks_are_recognised() {
        says(
            "2:\tlet total = count(a, b);\n3:\tprint(total);",
            "leave the numbers out",
        );
        assert!(explain("a\r\nb\r\n", "a\nb").contains("`\\r\\n`"));
        assert!(explain("a\nb\n", "a\r\nb").contains("`\\n`"));
        assert!(explain("", "x").contains("read the file first"));
        assert!(
            explain("a\nb", "\n\n\n").contains("line"),
            "only line breaks"
        );
    }

    #[test]
    fn a_large_file_with_nothing_alike_takes_no_longer_than_its_reading() {
        let text = "abcdefgh ijklmnop\n".repeat(50_000);
        let old = "qrstuvwx\n".repeat(5_000);
        let start = std::time::Instant::now();
        let _ = explain(&text, &old);
        assert!(start.elapsed() < std::time::Duration::from_secs(10));
    }
}
