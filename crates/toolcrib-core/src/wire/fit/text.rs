//! A long text cut to a budget: its head and its tail, with a mark between them that says what is missing: [`cut`].

use super::cost;

/// What the mark between head and tail costs.
const MARK: u64 = 160;

/// A text of which the middle is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CutText {
    pub(super) text: String,
    /// The first line that is not whole, from 1.
    pub(super) first_line: usize,
    /// How many lines the whole text has.
    pub(super) lines: usize,
}

/// Cuts a text to a budget; `None` if all of it fits.
pub(super) fn cut(text: &str, budget: u64) -> Option<CutText> {
    if cost::of_text(text, budget) <= budget {
        return None;
    }
    let left = budget.saturating_sub(MARK);
    let (head, tail) = ends(text, left, cost::of_char);
    let head = whole_lines_before(text, head);
    let tail = whole_lines_after(text, tail);
    let (from, to) = (text[..head].chars().count(), text[..tail].chars().count());
    let all = to + text[tail..].chars().count();
    let line_of = |at: usize| 1 + text[..at].matches('\n').count();
    let lines = line_of(text.trim_end_matches('\n').len());
    let first_line = line_of(head);
    let newline = usize::from(text[..tail].ends_with('\n'));
    let last_line = (line_of(tail) - newline).max(first_line);
    let mark = format!(
        "[… left out: characters {from} to {to} of {all}, in lines {first_line} to {last_line} of {lines} …]"
    );
    let before = match text[..head].ends_with('\n') || head == 0 {
        true => "",
        false => "\n",
    };
    Some(CutText {
        text: format!("{}{before}{mark}\n{}", &text[..head], &text[tail..]),
        first_line,
        lines,
    })
}

/// Where the head of a text ends and its tail begins, if three quarters of the budget are the head's.
pub(super) fn ends(text: &str, budget: u64, cost: impl Fn(char) -> u64) -> (usize, usize) {
    let for_tail = budget / 4;
    let mut left = budget - for_tail;
    let head = text.char_indices().find(|(_, c)| {
        let is_over = cost(*c) > left;
        left = left.saturating_sub(cost(*c));
        is_over
    });
    let head = head.map_or(text.len(), |(at, _)| at);
    let mut left = for_tail;
    let mut tail = text.len();
    for (at, c) in text[head..].char_indices().rev() {
        if cost(c) > left {
            break;
        }
        left -= cost(c);
        tail = head + at;
    }
    (head, tail)
}

/// A place at or before this one where a line begins, unless that costs half of the text.
fn whole_lines_before(text: &str, at: usize) -> usize {
    match text[..at].rfind('\n') {
        Some(end) if end + 1 > at / 2 => end + 1,
        Some(_) | None => at,
    }
}

/// A place at or after this one where a line begins, unless that costs half of the text.
fn whole_lines_after(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    match rest.find('\n') {
        Some(end) if end + 1 < rest.len() / 2 => at + end + 1,
        Some(_) | None => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_fits_is_not_cut() {
        assert_eq!(cut("short", 5), None);
        assert_eq!(cut("天気", 8), None);
    }

    #[test]
    fn whole_lines_are_kept_at_both_ends_and_the_mark_says_which_are_missing() {
        let text: String = (1..=1000).map(|n| format!("line {n}\n")).collect();
        let made = cut(&text, 1200).unwrap();
        assert!(
            cost::of_text(&made.text, u64::MAX) <= 1200,
            "{}",
            made.text.len()
        );
        assert_eq!(made.lines, 1000);
        let first = made.first_line;
        assert!(
            made.text
                .contains(&format!("line {}\n[… left out: characters ", first - 1)),
            "{}",
            made.text
        );
        assert!(made.text.ends_with("line 999\nline 1000\n"));
        let mark = made
            .text
            .lines()
            .find(|line| line.starts_with('['))
            .unwrap();
        let last: usize = mark
            .split(" to ")
            .last()
            .and_then(|rest| rest.split(' ').next())
            .and_then(|number| number.parse().ok())
            .unwrap();
        assert!(
            made.text.contains(&format!("…]\nline {}\n", last + 1)),
            "{mark}"
        );
    }

    #[test]
    fn one_long_line_is_cut_in_the_middle() {
        let text = "é".repeat(5000);
        let made = cut(&text, 1000).unwrap();
        assert!(made.text.starts_with("éééé") && made.text.ends_with("éééé"));
        assert!(
            made.text.contains("of 5000, in lines 1 to 1 of 1 …]"),
            "{}",
            made.text
        );
        assert!(cost::of_text(&made.text, u64::MAX) <= 1000);
    }
}
