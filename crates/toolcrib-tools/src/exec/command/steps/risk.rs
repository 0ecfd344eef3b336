//! What a tool does to the world when what it uses is counted in: [`effective_effects`].

use crate::definition::{Action, Body, Definition, Step, StreamTo};
use crate::exec::command::command_reach::level;
use crate::model::effects::Effects;
use crate::sandbox::Level;

/// The effects of a tool together with those of the tools it uses, which `lookup` knows.
///
/// A tool without a security tag stays unknown whatever it uses, so that a person is asked; so does one that uses a tool that
/// is not there or does not say. An alias without a tag is what its base is. A step whose output goes to a file writes.
pub(crate) fn effective_effects(
    definition: &Definition,
    lookup: impl Fn(&str) -> Option<Effects>,
) -> Effects {
    let own = match definition.declared_effects() {
        // Without a wall nothing keeps it from doing more.
        reads if reads.is_read_only() && level(definition) == Level::None => {
            reads.and(Effects::RUN)
        }
        declared => declared,
    };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition;

    /// The effects of a tool with these lines, where `reads`, `writes`, `runs` and `silent` are there.
    fn effects(lines: &str) -> Vec<&'static str> {
        let yaml = format!("description: A tool\n{lines}");
        let reading = definition::read(yaml.as_bytes(), "tool");
        let definition = reading
            .definition
            .unwrap_or_else(|| panic!("{yaml}\n{:#?}", reading.problems));
        let lookup = |name: &str| match name {
            "reads" => Some(Effects::READ),
            "writes" => Some(Effects::WRITE),
            "runs" => Some(Effects::RUN),
            "silent" => Some(Effects::UNKNOWN),
            _ => None,
        };
        effective_effects(&definition, lookup).tags()
    }

    fn with_steps(tags: &str, steps: &[&str]) -> Vec<&'static str> {
        let steps = steps.iter().enumerate();
        let steps: String = steps
            .map(|(index, step)| format!("  - {{name: s{index}, {step}}}\n"))
            .collect();
        effects(&format!("tags: {tags}\nsteps:\n{steps}"))
    }

    #[test]
    fn a_tool_does_what_its_tags_say_and_what_it_uses_does() {
        let none: [&str; 0] = [];
        assert_eq!(effects("tags: [read]\nbash: ls\n"), ["read"]);
        assert_eq!(with_steps("[read]", &["bash: ls"]), ["read"]);
        assert_eq!(
            with_steps("[read]", &["bash: ls", "use-tool: writes"]),
            ["read", "write"]
        );
        assert_eq!(
            with_steps("[read, git]", &["use-tool: reads", "use-tool: runs"]),
            ["read", "run"]
        );
        // An unknown risk asks, whatever else is known.
        assert_eq!(with_steps("[read]", &["use-tool: silent"]), none);
        assert_eq!(with_steps("[run]", &["bash: ls", "use-tool: nobody"]), none);
        assert_eq!(with_steps("[git]", &["use-tool: reads"]), none);
    }

    #[test]
    fn a_step_that_writes_its_output_to_a_file_writes() {
        let step = "bash: ls, output: {stream-callback: file}";
        assert_eq!(with_steps("[read]", &[step]), ["read", "write"]);
        let step = "bash: ls, output: {stream-callback: console}";
        assert_eq!(with_steps("[read]", &[step]), ["read"]);
    }

    #[test]
    fn an_alias_is_what_its_base_is() {
        let alias =
            |tags: &str, base: &str| effects(&format!("type: alias\nbase-tool: {base}\n{tags}"));
        let none: [&str; 0] = [];
        assert_eq!(alias("", "reads"), ["read"]);
        assert_eq!(alias("", "nobody"), none);
        assert_eq!(alias("tags: [read]\n", "writes"), ["read", "write"]);
        assert_eq!(alias("tags: [read]\n", "silent"), none);
    }
}
