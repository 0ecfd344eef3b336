//! What a tool does to the world when what it uses is counted in: [`effective_effects`].

use crate::definition::{Action, Body, Definition, Step, StreamTo};
use crate::model::effects::Effects;

/// The effects of a tool together with those of the tools it uses, which `lookup` knows.
///
/// A tool without a security tag stays unknown whatever it uses, so that a person is asked; so does one that uses a tool that
/// is not there or does not say. An alias without a tag is what its base is. A step whose output goes to a file writes.
pub(crate) fn effective_effects(
    definition: &Definition,
    lookup: impl Fn(&str) -> Option<Effects>,
) -> Effects {
    let own = Effects::from_tags(definition.tags.iter().map(String::as_str));
    match &definition.body {
        Body::Command(_) | Body::Commands { .. } => own,
        Body::Steps(steps) => steps
            .iter()
            .fold(own, |all, step| both(all, of_step(step, own, &lookup))),
        Body::Alias { base, .. } => {
            let base = lookup(base).unwrap_or(Effects::UNKNOWN);
            match own.is_unknown() {
                true => base,
                false => both(own, base),
            }
        }
    }
}

/// What a step does; one that runs a program does what its tool says it does.
fn of_step(step: &Step, own: Effects, lookup: impl Fn(&str) -> Option<Effects>) -> Effects {
    let does = match &step.action {
        Action::Run(_) => own,
        Action::UseTool { tool, .. } => lookup(tool).unwrap_or(Effects::UNKNOWN),
    };
    match step.output.stream_to {
        Some(StreamTo::File(_)) => both(does, Effects::WRITE),
        Some(StreamTo::Console | StreamTo::Function) | None => does,
    }
}

/// The union; what is not known makes all of it unknown.
fn both(one: Effects, other: Effects) -> Effects {
    match one.is_unknown() || other.is_unknown() {
        true => Effects::UNKNOWN,
        false => one.and(other),
    }
}
