//! Problems for people: where, the line, a caret, why, and what to do.

use unicode_width::UnicodeWidthChar as _;

use super::problem::{Problem, Severity};
use crate::model::text::{shorten, visible};

/// How wide a line of a file is shown where no one says, its frame not counted.
const MAX_COLUMNS: usize = 100;
/// How narrow a line can become.
const MIN_COLUMNS: usize = 20;

/// The parts of a rendering that a terminal may colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `error` and the caret of one.
    Error,
    /// `warning` and the caret of one.
    Warning,
    /// The problem.
    Message,
    /// Line numbers, bars and the place.
    Frame,
    /// What to do.
    Help,
}

/// A problem as lines for a person. `paint` may colour the parts; `file` is what people know the file by.
pub fn render(
    problem: &Problem,
    file: &str,
    bytes: &[u8],
    paint: &dyn Fn(Part, &str) -> String,
) -> String {
    render_within(problem, file, bytes, usize::MAX, paint)
}

/// Like [`render`], but for a terminal of so many columns: the line of the file is cut around the error, so that the caret stays under
/// it.
pub fn render_within(
    problem: &Problem,
    file: &str,
    bytes: &[u8],
    columns: usize,
    paint: &dyn Fn(Part, &str) -> String,
) -> String {
    let part = match problem.severity {
        Severity::Error => Part::Error,
        Severity::Warning => Part::Warning,
    };
    let title = format!("{}[{}]", problem.severity.as_str(), problem.code);
    // One line each: what a file holds must not pass for a line of ours.
    let one_line = |text: &str| visible(text).replace(['\n', '\t'], " ");
    let message = one_line(&problem.message);
    let mut out = format!(
        "{}{} {}\n",
        paint(part, &title),
        paint(Part::Message, ":"),
        paint(Part::Message, &message)
    );
    let number = problem.line.to_string();
    let margin = " ".repeat(number.len());
    let place = format!("{}:{}:{}", shorten(file, 300), problem.line, problem.column);
    out.push_str(&format!(
        "{margin}{}\n",
        paint(Part::Frame, &format!("--> {place}"))
    ));
    // Before the line is `12 | `, and on either side of it `…` where it is cut.
    let room = columns.saturating_sub(number.len() + 3 + 2);
    let room = room.clamp(MIN_COLUMNS, MAX_COLUMNS);
    if let Some(shown) = Shown::of(problem, bytes, room) {
        out.push_str(&format!("{}\n", paint(Part::Frame, &format!("{margin} |"))));
        out.push_str(&format!(
            "{} {}\n",
            paint(Part::Frame, &format!("{number} |")),
            shown.line
        ));
        out.push_str(&format!(
            "{} {}{}\n",
            paint(Part::Frame, &format!("{margin} |")),
            " ".repeat(shown.indent),
            paint(part, &"^".repeat(shown.width))
        ));
    }
    if let Some(help) = &problem.help {
        let help = one_line(help);
        out.push_str(&format!(
            "{margin} {}\n",
            paint(Part::Help, &format!("= {help}"))
        ));
    }
    out
}

/// A problem on one line, for lists and logs.
pub fn one_line(problem: &Problem, file: &str) -> String {
    let help = match &problem.help {
        Some(help) => format!("; {help}"),
        None => String::new(),
    };
    let text = format!(
        "{}:{}:{}: {}{help} [{}]",
        shorten(file, 300),
        problem.line,
        problem.column,
        problem.message,
        problem.code
    );
    visible(&text).replace(['\n', '\t'], " ")
}

/// The line of a problem, and where the caret goes.
struct Shown {
    line: String,
    indent: usize,
    width: usize,
}

impl Shown {
    /// Nothing for what is not at one place but missing from the file, or wrong with all of it.
    fn of(problem: &Problem, bytes: &[u8], room: usize) -> Option<Shown> {
        if problem.span == (0..0) {
            return None;
        }
        let line = bytes.split(|byte| *byte == b'\n').nth(problem.line - 1)?;
        let line = String::from_utf8_lossy(line);
        let line = line.strip_prefix('\u{feff}').unwrap_or(&line);
        let line = line.trim_end();
        if line.is_empty() && problem.span.is_empty() {
            return None;
        }
        let chars: Vec<char> = line.chars().collect();
        let start = (problem.column - 1).min(chars.len());
        let length = String::from_utf8_lossy(bytes.get(problem.span.clone()).unwrap_or_default())
            .lines()
            .next()
            .map_or(0, |first| first.trim_end().chars().count());
        let end = (start + length).min(chars.len());
        // A long line is cut around what is wrong.
        let (from, to) = match chars.iter().map(|c| columns_of(*c)).sum::<usize>() > room {
            true => {
                let from = start - fitting(chars[..start].iter().rev(), room * 3 / 10);
                (from, from + fitting(chars[from..].iter(), room))
            }
            false => (0, chars.len()),
        };
        let (start, end) = (start.clamp(from, to), end.clamp(from, to));
        let text = |range: &[char]| -> String {
            visible(&range.iter().collect::<String>()).replace('\t', "    ")
        };
        let mut shown = String::new();
        if from > 0 {
            shown.push('…');
        }
        shown.push_str(&text(&chars[from..start]));
        let indent = width(&shown);
        let marked = text(&chars[start..end]);
        let width_marked = width(&marked).max(1);
        shown.push_str(&marked);
        shown.push_str(&text(&chars[end..to]));
        if to < chars.len() {
            shown.push('…');
        }
        Some(Shown {
            line: shown,
            indent,
            width: width_marked,
        })
    }
}

/// How many characters fit into so many columns.
fn fitting<'a>(chars: impl Iterator<Item = &'a char>, columns: usize) -> usize {
    let mut taken = 0;
    chars
        .take_while(|c| {
            taken += columns_of(**c);
            taken <= columns
        })
        .count()
}

/// As wide as [`Shown`] writes it.
fn columns_of(c: char) -> usize {
    match c {
        '\t' => 4,
        c => width(&visible(c.encode_utf8(&mut [0; 4]))),
    }
}

fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What of the line is shown, and what the caret is under.
    fn shown(line: &str, wrong: &str, columns: usize) -> (String, String) {
        let at = line.find(wrong).unwrap();
        let problem = Problem {
            code: "a-code",
            severity: Severity::Error,
            span: at..at + wrong.len(),
            line: 1,
            column: line[..at].chars().count() + 1,
            message: "m".to_owned(),
            help: None,
            fix: None,
        };
        let text = render_within(&problem, "f", line.as_bytes(), columns, &|_, words| {
            words.to_owned()
        });
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[3..].iter().all(|line| width(line) <= columns),
            "{text}"
        );
        let (first, last) = (lines[4].find('^').unwrap(), lines[4].rfind('^').unwrap());
        let mut place = 0;
        let marked = lines[3].chars().filter(|c| {
            let here = place;
            place += c.width().unwrap_or(0);
            (first..=last).contains(&here)
        });
        (lines[3].to_owned(), marked.collect())
    }

    #[test]
    fn a_long_line_is_cut_to_the_terminal_and_the_caret_stays_under_what_is_wrong() {
        let long = format!("{} wrong {}", "before ".repeat(20), "after ".repeat(20));
        let wide = format!("{} wrong {}", "前".repeat(60), "後".repeat(60));
        let tabs = format!("{}wrong{}", "\t".repeat(40), "\t".repeat(40));
        for line in [&long, &wide, &tabs] {
            for columns in [40, 80, 100, usize::MAX] {
                let (shown, marked) = shown(line, "wrong", columns);
                assert_eq!(marked, "wrong", "{columns}: {shown}");
                assert!(shown.contains('…'), "{columns}: {shown}");
            }
        }
        let short = "a: wrong, and it fits";
        assert_eq!(shown(short, "wrong", 40).0, format!("1 | {short}"));
    }
}
