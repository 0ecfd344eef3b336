//! What changes in a text, line by line, for a person to read: a unified diff, bounded.
//!
//! Myers' algorithm finds the shortest diff and needs time for every difference. Two texts with little
//! in common would cost a lot and show little, so it gives up after a while: then everything between the
//! first and the last differing line counts as replaced. The shown text is bounded too.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

/// Lines around a change that are shown with it.
const CONTEXT: usize = 3;
/// The longest diff shown.
const MAX_LINES: usize = 400;
const MAX_BYTES: usize = 32 * 1024;
/// The longest line shown.
const MAX_LINE: usize = 1024;
/// How many differences are looked for, and how many steps that may take.
const MAX_DIFFERENCES: usize = 1500;
const MAX_STEPS: usize = 10_000_000;

/// The unified diff of two texts; empty if they are the same.
#[doc(hidden)]
pub fn unified(path: &str, old: &str, new: &str) -> String {
    let (old, new) = (lines(old), lines(new));
    let changes = changes(&old, &new);
    let mut shown = Shown::default();
    let mut rest = changes.as_slice();
    if !rest.is_empty() {
        shown.line(format_args!("--- {path}"));
        shown.line(format_args!("+++ {path}"));
    }
    while let Some(first) = rest.first() {
        // Changes whose contexts touch share a hunk.
        let is_apart = |pair: &[Change]| pair[1].old.start - pair[0].old.end > 2 * CONTEXT;
        let length = rest
            .windows(2)
            .position(is_apart)
            .map_or(rest.len(), |last| last + 1);
        let (hunk, later) = rest.split_at(length);
        let last = hunk.last().unwrap_or(first);
        let before = first.old.start.min(CONTEXT);
        let after = (old.len() - last.old.end).min(CONTEXT);
        let old_range = first.old.start - before..last.old.end + after;
        let new_range = first.new.start - before..last.new.end + after;
        shown.line(format_args!(
            "@@ -{} +{} @@",
            numbers(&old_range),
            numbers(&new_range)
        ));
        let mut at = old_range.start;
        for change in hunk {
            old[at..change.old.start]
                .iter()
                .for_each(|line| shown.text(' ', line));
            old[change.old.clone()]
                .iter()
                .for_each(|line| shown.text('-', line));
            new[change.new.clone()]
                .iter()
                .for_each(|line| shown.text('+', line));
            at = change.old.end;
        }
        old[at..old_range.end]
            .iter()
            .for_each(|line| shown.text(' ', line));
        rest = later;
    }
    shown.finish()
}

/// A range of lines as diffs count them: from 1, and an empty one from the line before it.
fn numbers(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        length => format!("{},{length}", range.start + 1),
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The lines of a diff that fit, and a count of those that do not.
#[derive(Default)]
struct Shown {
    text: String,
    lines: usize,
    left_out: usize,
}

impl Shown {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        if self.lines < MAX_LINES && self.text.len() < MAX_BYTES {
            self.lines += 1;
            let _ = writeln!(self.text, "{line}");
        } else {
            self.left_out += 1;
        }
    }

    fn text(&mut self, mark: char, line: &str) {
        let (text, ending) = match line.strip_suffix('\n') {
            Some(text) => (text, ""),
            None => (line, "\n\\ No newline at end of file"),
        };
        let cut = text.floor_char_boundary(MAX_LINE);
        match text.len() - cut {
            0 => self.line(format_args!("{mark}{text}{ending}")),
            more => self.line(format_args!(
                "{mark}{}… {more} more bytes{ending}",
                &text[..cut]
            )),
        }
    }

    fn finish(mut self) -> String {
        match self.left_out {
            0 => {}
            1 => self.text.push_str("… 1 more line\n"),
            more => {
                let _ = writeln!(self.text, "… {more} more lines");
            }
        }
        self.text
    }
}

/// Lines of the old text that become lines of the new one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

fn changes<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Change> {
    let is_same = |(a, b): &(&&str, &&str)| a == b;
    let start = old.iter().zip(new).take_while(is_same).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(is_same)
        .count();
    let old_middle = &old_rest[..old_rest.len() - end];
    let new_middle = &new_rest[..new_rest.len() - end];
    // Numbers compare faster than lines.
    let mut ids: HashMap<&'t str, u32> = HashMap::new();
    let mut number = |line: &&'t str| {
        let next = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        *ids.entry(line).or_insert(next)
    };
    let a: Vec<u32> = old_middle.iter().map(&mut number).collect();
    let b: Vec<u32> = new_middle.iter().map(&mut number).collect();
    let whole = vec![Change {
        old: 0..a.len(),
        new: 0..b.len(),
    }];
    let found = match (a.len(), b.len()) {
        (0, 0) => Vec::new(),
        (0, _) | (_, 0) => whole,
        _ => shortest(&a, &b).unwrap_or(whole),
    };
    let shifted = |range: Range<usize>| range.start + start..range.end + start;
    found
        .into_iter()
        .map(|change| Change {
            old: shifted(change.old),
            new: shifted(change.new),
        })
        .collect()
}

/// The fewest changes that make `b` of `a`; `None` if they are too many to look for.
///
/// Myers, "An O(ND) Difference Algorithm and Its Variations" (1986): `furthest[k]` is how far into `a`
/// the diagonal `k` can be followed with so many differences; each round allows one more.
fn shortest(a: &[u32], b: &[u32]) -> Option<Vec<Change>> {
    let most = MAX_DIFFERENCES.min(a.len() + b.len());
    let mut furthest = vec![0_usize; 2 * most + 3];
    let middle = most + 1;
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    let mut steps = 0;
    for differences in 0..=most {
        // What this round starts from is all that is needed to find the way back.
        rounds.push(furthest[middle - differences - 1..=middle + differences + 1].to_vec());
        for down in (0..=2 * differences).step_by(2) {
            // The diagonal is k = x - y; its place in the table is never negative.
            let at = middle + differences - down;
            let is_insertion =
                down == 2 * differences || (down != 0 && furthest[at - 1] < furthest[at + 1]);
            let mut x = if is_insertion {
                furthest[at + 1]
            } else {
                furthest[at - 1] + 1
            };
            let mut y = (x + middle).checked_sub(at)?;
            while x < a.len() && y < b.len() && a[x] == b[y] {
                x += 1;
                y += 1;
                steps += 1;
            }
            furthest[at] = x;
            if x >= a.len() && y >= b.len() {
                return Some(way_back(&rounds, a.len(), b.len()));
            }
            steps += 1;
        }
        if steps > MAX_STEPS {
            return None;
        }
    }
    None
}

fn way_back(rounds: &[Vec<usize>], mut x: usize, mut y: usize) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for (differences, furthest) in rounds.iter().enumerate().skip(1).rev() {
        // The table of a round has its own middle.
        let middle = differences + 1;
        let at = middle + x - y.min(middle + x);
        let is_insertion = at == middle - differences
            || (at != middle + differences && furthest[at - 1] < furthest[at + 1]);
        let (came_from, old, new) = if is_insertion {
            let from = furthest[at + 1];
            let new = from + middle - at - 1;
            (from, from..from, new..new + 1)
        } else {
            let from = furthest[at - 1];
            let new = from + middle - (at - 1);
            (from, from..from + 1, new..new)
        };
        y = new.start;
        x = came_from;
        match changes.last_mut() {
            // The change after this one begins where this one ends: they are one.
            Some(later) if later.old.start == old.end && later.new.start == new.end => {
                later.old.start = old.start;
                later.new.start = new.start;
            }
            _ => changes.push(Change { old, new }),
        }
    }
    changes.reverse();
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_diff_shows_what_changes_with_three_lines_around_it() {
        let old: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let new = old
            .replace("line 5\n", "LINE 5\nand more\n")
            .replace("line 20\n", "line 20");
        let expected = "--- notes\n+++ notes\n@@ -2,7 +2,8 @@\n line 2\n line 3\n line 4\n-line 5\n+LINE 5\n+and more\n \
                        line 6\n line 7\n line 8\n@@ -17,4 +18,4 @@\n line 17\n line 18\n line 19\n-line 20\n+line 20\n\
                        \\ No newline at end of file\n";
        assert_eq!(unified("notes", &old, &new), expected);
        assert_eq!(unified("notes", &old, &old), "");
        assert_eq!(unified("x", "", "a\n"), "--- x\n+++ x\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(unified("x", "a\n", ""), "--- x\n+++ x\n@@ -1 +0,0 @@\n-a\n");
    }

    #[test]
    fn a_long_diff_is_cut_and_says_how_much_is_missing() {
        let old = "old\n".repeat(1000);
        let new = "new\n".repeat(1000);
        let diff = unified("x", &old, &new);
        assert_eq!(diff.lines().count(), MAX_LINES + 1);
        assert!(diff.ends_with("… 1603 more lines\n"), "{diff}");
        let diff = unified("x", "a\n", &"x".repeat(1 << 20));
        assert!(diff.len() < 2 * MAX_LINE, "{}", diff.len());
        assert!(diff.contains("… 1047552 more bytes"), "{diff}");
    }

    #[test]
    fn texts_with_nothing_in_common_take_no_longer_than_their_reading() {
        let text = |salt: usize| -> String {
            let line = |n: usize| format!("{}\n", n.wrapping_mul(2_654_435_761 + salt) % 65_521);
            (0..150_000).map(line).collect()
        };
        let start = std::time::Instant::now();
        assert!(unified("x", &text(0), &text(1)).contains(" more lines\n"));
        let took = start.elapsed();
        assert!(took < std::time::Duration::from_secs(10), "{took:?}");
    }

    fn text() -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(prop::sample::select(vec!["a\n", "b\n", "c\n", "\n"]), 0..40)
    }

    /// The shortest possible number of changed lines, the slow way.
    fn distance(a: &[&str], b: &[&str]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut next = vec![i + 1];
            for (j, y) in b.iter().enumerate() {
                let best = if x == y {
                    row[j]
                } else {
                    1 + row[j + 1].min(next[j])
                };
                next.push(best);
            }
            row = next;
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn changes_make_the_new_text_of_the_old_one_and_are_the_fewest(old in text(), new in text()) {
            let changes = changes(&old, &new);
            let mut made: Vec<&str> = Vec::new();
            let mut at = 0;
            for change in &changes {
                prop_assert!(at <= change.old.start);
                made.extend(&old[at..change.old.start]);
                made.extend(&new[change.new.clone()]);
                at = change.old.end;
            }
            made.extend(&old[at..]);
            prop_assert_eq!(&made, &new);
            let count: usize = changes.iter().map(|change| change.old.len() + change.new.len()).sum();
            prop_assert_eq!(count, distance(&old, &new));
        }
    }
}
