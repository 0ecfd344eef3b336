//! `check --fix`: what can be put right without asking.
//!
//! A fix replaces bytes at a place, so that comments and layout stay. A round of fixes is kept only when the file reads better
//! after it than before.

use super::problem::{Fix, Problem, Severity};
use super::{Reading, read};

/// The most rounds: one fix may bring the next problem to light.
const MAX_ROUNDS: usize = 8;

/// What fixing came to.
#[derive(Debug)]
pub struct Fixed {
    /// The file afterwards.
    pub bytes: Vec<u8>,
    /// What was put right, in order; the places are those of the moment.
    pub done: Vec<Problem>,
    /// What is left.
    pub reading: Reading,
}

/// Applies every safe fix, as often as one leads to another. Without any the bytes are those given.
pub fn fix(bytes: &[u8], stem: &str) -> Fixed {
    let mut bytes = bytes.to_vec();
    let mut reading = read(&bytes, stem);
    let mut done = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let Some((better, next, applied)) = round(&bytes, &reading, stem) else {
            break;
        };
        bytes = better;
        reading = next;
        done.extend(applied);
    }
    Fixed {
        bytes,
        done,
        reading,
    }
}

/// One round: all fixes that do not touch each other or, if they make the file worse together, the first that alone does not.
fn round(bytes: &[u8], reading: &Reading, stem: &str) -> Option<(Vec<u8>, Reading, Vec<Problem>)> {
    let fixable: Vec<&Problem> = reading
        .problems
        .iter()
        .filter(|problem| problem.fix.is_some())
        .collect();
    if fixable.is_empty() {
        return None;
    }
    let all = std::iter::once(fixable.clone());
    let single = fixable.iter().map(|problem| vec![*problem]);
    // One alone is the same as all.
    let attempts: Vec<Vec<&Problem>> = match fixable.len() {
        1 => all.collect(),
        _ => all.chain(single).take(20).collect(),
    };
    attempts.into_iter().find_map(|problems| {
        let (edited, applied) = apply(bytes, &problems)?;
        let next = read(&edited, stem);
        (is_better(reading, &next) && !breaks(reading, &next, &applied))
            .then_some((edited, next, applied))
    })
}

/// The file with these fixes; those that overlap an earlier one are left for later.
fn apply(bytes: &[u8], problems: &[&Problem]) -> Option<(Vec<u8>, Vec<Problem>)> {
    let mut fixes: Vec<(&Fix, &Problem)> = problems
        .iter()
        .filter_map(|problem| Some((problem.fix.as_ref()?, *problem)))
        .collect();
    fixes.sort_by_key(|(fix, _)| (fix.span.start, fix.span.end));
    let mut edited = Vec::with_capacity(bytes.len() + 64);
    let mut applied = Vec::new();
    let mut at = 0;
    for (fix, problem) in fixes {
        if fix.span.start < at || fix.span.end > bytes.len() {
            continue;
        }
        edited.extend_from_slice(&bytes[at..fix.span.start]);
        edited.extend_from_slice(fix.text.as_bytes());
        at = fix.span.end;
        applied.push(problem.clone());
    }
    edited.extend_from_slice(&bytes[at..]);
    (!applied.is_empty()).then_some((edited, applied))
}

/// Whether fixes made an error of a kind that was not there. Names of fields and quotes only bring to light what was wrong in their
/// values; any other fix is a guess that was wrong then.
fn breaks(before: &Reading, after: &Reading, applied: &[Problem]) -> bool {
    let brings_to_light = |problem: &Problem| {
        matches!(
            problem.code,
            "unknown-key"
                | "missing-field"
                | "wrong-type"
                | "needs-quotes"
                | "yaml-syntax"
                | "indentation"
                | "tab-indentation"
        )
    };
    let errors = |reading: &Reading, code: &str| {
        let problems = reading.problems.iter();
        problems
            .filter(|problem| problem.severity == Severity::Error && problem.code == code)
            .count()
    };
    let grew = |code: &str| errors(after, code) > errors(before, code);
    let guesses_steps = applied.iter().any(|problem| problem.code == "unknown-step");
    (guesses_steps && grew("wait-circle"))
        || (!applied.iter().any(brings_to_light)
            && after.problems.iter().any(|problem| grew(problem.code)))
}

/// Whether a file got better. Where it could not be parsed before, more can be seen now, and any file that parses is better.
fn is_better(before: &Reading, after: &Reading) -> bool {
    let count = |reading: &Reading, severity| {
        let problems = reading.problems.iter();
        problems
            .filter(|problem| problem.severity == severity)
            .count()
    };
    let unreadable = |reading: &Reading| {
        reading.problems.iter().any(|problem| {
            matches!(
                problem.code,
                "needs-quotes" | "yaml-syntax" | "indentation" | "tab-indentation"
            )
        })
    };
    match (unreadable(before), unreadable(after)) {
        (true, false) => return true,
        (false, true) => return false,
        (true, true) | (false, false) => {}
    }
    let errors = |reading| count(reading, Severity::Error);
    let warnings = |reading| count(reading, Severity::Warning);
    let fixable = |reading: &Reading| {
        let problems = reading.problems.iter();
        problems.filter(|problem| problem.fix.is_some()).count()
    };
    // A misspelt key hid the problems of its value.
    errors(after) < errors(before)
        || (errors(after) == errors(before) && warnings(after) < warnings(before))
        || fixable(after) < fixable(before)
}
