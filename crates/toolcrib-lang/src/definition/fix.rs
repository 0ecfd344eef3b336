//! `check --fix`: fixes what can be fixed safely.
//!
//! A fix replaces bytes at a place, so that comments and layout stay. A round of fixes is kept only when the file reads better
//! after it than before.

use super::problem::{Fix, Problem, Severity};
use super::{Reading, read};

/// The most rounds: one fix may bring the next problem to light.
const MAX_ROUNDS: usize = 8;

/// What fixing came to.
#[derive(Debug)]
pub struct Fixed<R = Reading> {
    /// The file afterwards.
    pub bytes: Vec<u8>,
    /// The problems that were fixed, in this order; each place is that at the time of its fix.
    pub done: Vec<Problem>,
    /// The rest.
    pub reading: R,
}

/// Applies every safe fix, as often as one leads to another. Without any the bytes are those given.
pub fn fix(bytes: &[u8], stem: &str) -> Fixed {
    fix_by(bytes, &|bytes| read(bytes, stem), &|reading| {
        &reading.problems
    })
}

/// Fixes what a reader reads.
pub(crate) fn fix_by<R>(
    bytes: &[u8],
    read: &dyn Fn(&[u8]) -> R,
    problems: &dyn Fn(&R) -> &[Problem],
) -> Fixed<R> {
    let mut bytes = bytes.to_vec();
    let mut reading = read(&bytes);
    let mut done = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let try_it = |edited: &[u8]| {
            let next = read(edited);
            let after = problems(&next).to_vec();
            (next, after)
        };
        let Some((better, next, applied)) = round(&bytes, problems(&reading), &try_it) else {
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
fn round<R>(
    bytes: &[u8],
    before: &[Problem],
    read: &impl Fn(&[u8]) -> (R, Vec<Problem>),
) -> Option<(Vec<u8>, R, Vec<Problem>)> {
    let fixable: Vec<&Problem> = before
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
        let (next, after) = read(&edited);
        (is_better(before, &after) && !breaks(before, &after, &applied))
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
fn breaks(before: &[Problem], after: &[Problem], applied: &[Problem]) -> bool {
    let brings_to_light = |problem: &Problem| {
        matches!(
            problem.code,
            "unknown-key"
                | "missing-field"
                | "wrong-type"
                | "needs-quotes"
                | "yaml-syntax"
                | "json-syntax"
                | "indentation"
                | "tab-indentation"
        )
    };
    let errors = |problems: &[Problem], code: &str| {
        problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error && problem.code == code)
            .count()
    };
    let grew = |code: &str| errors(after, code) > errors(before, code);
    let guesses_steps = applied.iter().any(|problem| problem.code == "unknown-step");
    (guesses_steps && grew("wait-circle"))
        || (!applied.iter().any(brings_to_light) && after.iter().any(|problem| grew(problem.code)))
}

/// Whether a file got better. Where it could not be parsed before, more can be seen now, and any file that parses is better.
fn is_better(before: &[Problem], after: &[Problem]) -> bool {
    let count = |problems: &[Problem], severity| {
        problems
            .iter()
            .filter(|problem| problem.severity == severity)
            .count()
    };
    let unreadable = |problems: &[Problem]| {
        problems.iter().any(|problem| {
            matches!(
                problem.code,
                "needs-quotes" | "yaml-syntax" | "json-syntax" | "indentation" | "tab-indentation"
            )
        })
    };
    match (unreadable(before), unreadable(after)) {
        (true, false) => return true,
        (false, true) => return false,
        (true, true) | (false, false) => {}
    }
    let errors = |problems| count(problems, Severity::Error);
    let warnings = |problems| count(problems, Severity::Warning);
    let fixable = |problems: &[Problem]| {
        problems
            .iter()
            .filter(|problem| problem.fix.is_some())
            .count()
    };
    // A misspelt key hid the problems of its value.
    errors(after) < errors(before)
        || (errors(after) == errors(before) && warnings(after) < warnings(before))
        || fixable(after) < fixable(before)
}
