//! Problems for people: where, the line, a caret, why, and what to do.

use unicode_width::UnicodeWidthChar as _;

use super::problem::{Problem, Severity};
use crate::model::text::{shorten, visible};

/// How much of a line is shown.
const MAX_COLUMNS: usize = 100;
/// How much of a line is shown before what is wrong, when the line is long.
const LEAD: usize = 30;

/// The parts of a rendering that a terminal may colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `error` and the caret of one.
    Error,
    /// `warning` and the caret of one.
    Warning,
    /// What is wrong.
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
    if let Some(shown) = Shown::of(problem, bytes) {
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
    fn of(problem: &Problem, bytes: &[u8]) -> Option<Shown> {
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
        let from = match chars.len() > MAX_COLUMNS {
            true => start.saturating_sub(LEAD),
            false => 0,
        };
        let to = chars.len().min(from + MAX_COLUMNS);
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

fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}
