//! The order of steps: file order, `parallel` and `wait-for` as one graph.
//!
//! A step waits for all steps before it. With `parallel: true` it waits for what the previous step waits for. With `wait-for` it
//! waits for the steps that are named and no others.

use std::collections::HashSet;

use super::field_value::At;
use crate::definition::problem::{Findings, SpannedProblem};
use crate::model::text::{nearest, or_list, shorten};

/// What each step waits for, as places in the list; unknown names, the step itself and circles are reported.
pub(super) fn waits(steps: &[At<'_, '_>], found: &mut Findings<'_>) -> Vec<Vec<usize>> {
    let names: Vec<&str> = steps
        .iter()
        .map(|step| step.text_of("name").unwrap_or_default())
        .collect();
    let mut waits: Vec<Vec<usize>> = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let own = match step.get("wait-for") {
            Some(at) => named(at, index, &names, found),
            None if step.boolean("parallel") == Some(true) => match waits.last() {
                Some(previous) => previous.clone(),
                None => Vec::new(),
            },
            None => (0..index).collect(),
        };
        waits.push(own);
    }
    if let Some(circle) = circle(&waits) {
        report(&circle, steps, &names, found);
        // What follows goes by the order of the file.
        return (0..steps.len()).map(|index| (0..index).collect()).collect();
    }
    waits
}

fn named(at: At<'_, '_>, own: usize, names: &[&str], found: &mut Findings<'_>) -> Vec<usize> {
    let mut waits = Vec::new();
    for item in at.nodes() {
        let Some(name) = item.text() else { continue };
        match names.iter().position(|known| *known == name) {
            Some(index) if index == own => {
                let message = format!("the step `{name}` waits for itself");
                found.push(
                    SpannedProblem::error("wait-circle", item.span(), message)
                        .help("remove it from `wait-for`"),
                );
            }
            Some(index) => {
                if !waits.contains(&index) {
                    waits.push(index);
                }
            }
            None => {
                let message = format!("there is no step `{}` to wait for", shorten(name, 60));
                let problem = SpannedProblem::error("unknown-step", item.span(), message);
                let others = names.iter().enumerate();
                let others = others
                    .filter(|(index, _)| *index != own)
                    .map(|(_, name)| *name);
                found.push(match nearest(name, others).as_slice() {
                    [] => problem,
                    [one] => problem
                        .help(format!("did you mean `{one}`?"))
                        .fix(item.span(), *one),
                    several => problem.help(format!("did you mean {}?", or_list(several))),
                });
            }
        }
    }
    waits.sort_unstable();
    waits
}

/// A circle of steps that wait for each other, each followed by what it waits for.
fn circle(waits: &[Vec<usize>]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; waits.len()];
    for start in 0..waits.len() {
        // Where each open step is in its own list; no recursion, since a file can hold a long chain.
        let mut path: Vec<(usize, usize)> = Vec::new();
        if marks[start] == Mark::New {
            marks[start] = Mark::Open;
            path.push((start, 0));
        }
        while let Some((step, next)) = path.last_mut() {
            let Some(&awaited) = waits[*step].get(*next) else {
                marks[*step] = Mark::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match marks[awaited] {
                Mark::Done => {}
                Mark::New => {
                    marks[awaited] = Mark::Open;
                    path.push((awaited, 0));
                }
                Mark::Open => {
                    let first = path.iter().position(|(step, _)| *step == awaited);
                    let first = first.unwrap_or_default();
                    return Some(path[first..].iter().map(|(step, _)| *step).collect());
                }
            }
        }
    }
    None
}

fn report(circle: &[usize], steps: &[At<'_, '_>], names: &[&str], found: &mut Findings<'_>) {
    let shown: Vec<String> = circle
        .iter()
        .chain(circle.first())
        .map(|step| format!("`{}`", shorten(names[*step], 40)))
        .collect();
    let message = format!(
        "steps wait for each other, so that none could start: {}",
        shown
            .join(", which waits for ")
            .replacen(", which waits", " waits", 1)
    );
    // The one whose own words make the circle: a step waits for what is before it without saying so.
    let at = circle
        .iter()
        .find(|step| steps[**step].has("wait-for"))
        .map_or(steps[circle[0]].span(), |step| {
            steps[*step].key_span("wait-for")
        });
    let silent = circle.iter().any(|step| !steps[*step].has("wait-for"));
    let help = match silent {
        true => {
            "a step waits for all steps before it unless it has a `wait-for` or `parallel: true`; move the step that waits after those it waits for"
        }
        false => "remove one of the `wait-for`",
    };
    found.push(SpannedProblem::error("wait-circle", at, message).help(help));
}

/// The steps that have certainly run when a step starts.
pub(super) fn before(waits: &[Vec<usize>]) -> Vec<HashSet<usize>> {
    let mut before: Vec<HashSet<usize>> = vec![HashSet::new(); waits.len()];
    for index in 0..waits.len() {
        let mut open: Vec<usize> = waits[index].clone();
        let mut seen = HashSet::new();
        while let Some(step) = open.pop() {
            if seen.insert(step) {
                open.extend(&waits[step]);
            }
        }
        before[index] = seen;
    }
    before
}
