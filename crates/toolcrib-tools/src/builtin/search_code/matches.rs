//! What was found, of which the first matches in order of path and line are kept.
//!
//! Threads hand in files in any order. Kept are always the smallest paths handed in so far, as many as hold the matches that can be shown;
//! the rest is only counted. So the result is the same whatever the threads did, and memory is bounded by what is shown.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

/// The most bytes of lines that are shown, context included.
pub(super) const MAX_BYTES: usize = 128 * 1024;

/// A matching line, or several if the query spans lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct MatchedLine {
    /// Counted from 1.
    pub(super) line: u64,
    /// The last line of a match that spans several.
    pub(super) last_line: u64,
    /// Where the first match begins, in bytes of the line, counted from 1.
    pub(super) column: u64,
    /// The line without its end; a long one is cut around its first match.
    pub(super) text: String,
    pub(super) is_cut: bool,
    /// Where the matches are in `text`, in bytes: from, and up to.
    pub(super) spans: Vec<(usize, usize)>,
    pub(super) before: Vec<String>,
    pub(super) after: Vec<String>,
}

impl MatchedLine {
    /// How much it takes to show it.
    pub(super) fn size(&self) -> usize {
        let context = self.before.iter().chain(&self.after);
        self.text.len() + context.map(|line| line.len() + 1).sum::<usize>() + 1
    }
}

/// The matches of one file, in order.
pub(super) type InFile = (Vec<u8>, Vec<MatchedLine>);

/// Collects what threads find.
#[derive(Debug)]
pub(super) struct Collector {
    /// How many matches are shown.
    max: usize,
    kept: Mutex<FileMatches>,
    /// Whether there is enough, so that a path beyond `last` need not be kept.
    is_full: AtomicBool,
    last: RwLock<Vec<u8>>,
}

#[derive(Debug, Default)]
struct FileMatches {
    files: BTreeMap<Vec<u8>, Vec<MatchedLine>>,
    matches: usize,
    bytes: usize,
}

impl Collector {
    pub(super) fn new(max: usize) -> Self {
        Collector {
            max,
            kept: Mutex::default(),
            is_full: AtomicBool::new(false),
            last: RwLock::default(),
        }
    }

    /// How many matches of one file can be shown at most.
    pub(super) fn max(&self) -> usize {
        self.max
    }

    /// Whether matches in a file of this path can be among those shown. Others need only be counted.
    pub(super) fn wants(&self, path: &[u8]) -> bool {
        if !self.is_full.load(Ordering::Acquire) {
            return true;
        }
        let last = self.last.read().unwrap_or_else(PoisonError::into_inner);
        path <= last.as_slice()
    }

    /// Keeps the matches of a file, the first of them at least as many as could be shown.
    pub(super) fn keep(&self, path: &[u8], matches: Vec<MatchedLine>) {
        if matches.is_empty() {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.matches += matches.len();
        kept.bytes += bytes(&matches);
        kept.files.insert(path.to_vec(), matches);
        // The last file goes if those before it are enough.
        while let Some((_, last)) = kept.files.last_key_value() {
            let (count, size) = (last.len(), bytes(last));
            if kept.matches - count < self.max && kept.bytes - size <= MAX_BYTES {
                break;
            }
            kept.files.pop_last();
            kept.matches -= count;
            kept.bytes -= size;
        }
        if (kept.matches >= self.max || kept.bytes > MAX_BYTES)
            && let Some((path, _)) = kept.files.last_key_value()
        {
            let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
            last.clone_from(path);
            self.is_full.store(true, Ordering::Release);
        }
    }

    /// The first matches, at least one if there is any.
    pub(super) fn into_first(self) -> Vec<InFile> {
        let kept = self
            .kept
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let (mut matches, mut bytes) = (0, 0);
        let mut first = Vec::with_capacity(kept.files.len());
        for (path, found) in kept.files {
            let mut shown = Vec::with_capacity(found.len());
            let mut is_whole = true;
            for found in found {
                bytes += found.size();
                is_whole = matches == 0 || (matches < self.max && bytes <= MAX_BYTES);
                if !is_whole {
                    break;
                }
                matches += 1;
                shown.push(found);
            }
            if !shown.is_empty() {
                first.push((path, shown));
            }
            if !is_whole {
                break;
            }
        }
        first
    }
}

fn bytes(matches: &[MatchedLine]) -> usize {
    matches.iter().map(MatchedLine::size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: u64, text: &str) -> MatchedLine {
        MatchedLine {
            line,
            last_line: line,
            text: text.to_owned(),
            ..MatchedLine::default()
        }
    }

    fn lines(first: &[InFile]) -> Vec<(String, u64)> {
        let lines = first.iter().flat_map(|(path, found)| {
            let path = String::from_utf8_lossy(path).into_owned();
            found.iter().map(move |found| (path.clone(), found.line))
        });
        lines.collect()
    }

    /// Every order of handing in gives the first matches of the whole.
    #[test]
    fn the_first_matches_are_kept_in_whatever_order_they_come() {
        let files: Vec<(String, usize)> = (0..40)
            .map(|number| (format!("f{number:02}"), 1 + number % 5))
            .collect();
        let all: Vec<(String, u64)> = files
            .iter()
            .flat_map(|(path, count)| (1..=*count as u64).map(move |line| (path.clone(), line)))
            .collect();
        for max in [1, 2, 3, 7, 20, 200] {
            for step in [1, 3, 7, 11, 39] {
                let collector = Collector::new(max);
                for index in 0..files.len() {
                    let (path, count) = &files[index * step % files.len()];
                    if collector.wants(path.as_bytes()) {
                        let matches = (1..=*count as u64).take(max).map(|line| found(line, "x"));
                        collector.keep(path.as_bytes(), matches.collect());
                    }
                }
                let first = lines(&collector.into_first());
                assert_eq!(first, all[..max.min(all.len())], "{max} {step}");
            }
        }
    }

    #[test]
    fn what_is_kept_is_bounded_in_bytes_and_the_first_always_is() {
        let long = "x".repeat(MAX_BYTES / 4);
        for step in [1, 3, 7] {
            let collector = Collector::new(100);
            for index in 0..20 {
                let path = format!("{:02}", index * step % 20);
                collector.keep(path.as_bytes(), vec![found(1, &long)]);
                let kept = collector.kept.lock().unwrap();
                assert!(kept.bytes <= MAX_BYTES + 2 * long.len(), "{}", kept.bytes);
            }
            let first = lines(&collector.into_first());
            assert_eq!(
                first,
                [
                    ("00".to_owned(), 1),
                    ("01".to_owned(), 1),
                    ("02".to_owned(), 1)
                ]
            );
        }
        let collector = Collector::new(100);
        collector.keep(
            b"one",
            vec![found(1, &"x".repeat(2 * MAX_BYTES)), found(2, "y")],
        );
        assert_eq!(lines(&collector.into_first()), [("one".to_owned(), 1)]);
    }

    #[test]
    fn paths_beyond_the_last_that_can_be_shown_are_not_wanted() {
        let collector = Collector::new(2);
        assert!(collector.wants(b"z"));
        collector.keep(b"m", vec![found(1, "x"), found(2, "x")]);
        assert!(collector.wants(b"a") && collector.wants(b"m") && !collector.wants(b"n"));
        collector.keep(b"a", vec![found(1, "x"), found(2, "x")]);
        assert!(!collector.wants(b"b"));
    }
}
