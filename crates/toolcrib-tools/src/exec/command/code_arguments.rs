//! Values in arguments that another tool reads as code: `use-tool: shell` with `command: "ls {DIR}"`.
//!
//! The other tool cannot tell the author's text from a value in it, so a text with a value is refused when tools are linked. A
//! text that is one placeholder and nothing else passes: the whole command is the caller's then, as it is with the other tool
//! itself, and the rules judge it there.

use crate::definition::{Definition, JsonTemplate};
use crate::model::text::fold;
use crate::spec::{Role, ToolSpec};
use crate::template::{Reference, StepField};

/// Why arguments cannot be handed to a tool: a value would be read as code.
pub(super) fn fault(
    definition: &Definition,
    spec: &ToolSpec,
    arguments: &[(String, JsonTemplate)],
) -> Option<String> {
    arguments.iter().find_map(|(name, template)| {
        let value = mixed_in(definition, spec, template)?;
        reads_code(spec, name).then(|| {
            format!(
                "`{}` reads `{name}` as code, and the value of `{{{value}}}` in it would be code, too; write a `bash` step, \
                 or pass the value as a separate argument",
                spec.name
            )
        })
    })
}

/// Whether a tool reads a parameter, in whatever spelling, as code.
fn reads_code(spec: &ToolSpec, name: &str) -> bool {
    let published = fold(published_name(spec, name));
    spec.roles.iter().any(|(parameter, role)| {
        fold(parameter) == published && matches!(role, Role::Shell | Role::Code { .. })
    })
}

/// The name that a tool publishes for a parameter in another spelling.
pub(super) fn published_name<'a>(spec: &'a ToolSpec, name: &'a str) -> &'a str {
    let folded = fold(name);
    let synonym = spec
        .synonyms
        .iter()
        .find(|(accepted, _)| fold(accepted) == folded);
    synonym.map_or(name, |(_, published)| published)
}

/// A value that is only a part of a text and is not a number.
fn mixed_in(definition: &Definition, spec: &ToolSpec, template: &JsonTemplate) -> Option<String> {
    let JsonTemplate::Text(text) = template else {
        return None;
    };
    if text.whole().is_some() {
        return None;
    }
    let is_number = |reference: &Reference| match reference {
        Reference::Parameter(name) => is_number(definition, spec, name),
        Reference::Step { field, .. } => *field == StepField::ExitCode,
        // A path on the machine, chosen by the user who runs the tool.
        Reference::Variable(_) => true,
    };
    let value = text.references().iter().find(|value| !is_number(value))?;
    Some(value.to_string())
}

fn is_number(definition: &Definition, base: &ToolSpec, name: &str) -> bool {
    if let Some(own) = definition.parameters.iter().find(|own| own.name == name) {
        return own.kind.is_numeric();
    }
    // An alias takes what its base takes.
    let mut properties = base.input_schema.properties();
    let kind = properties
        .find(|(property, _)| *property == name)
        .and_then(|(_, schema)| schema.get("type")?.as_str());
    matches!(kind, Some("number" | "integer"))
}

#[cfg(test)]
mod tests {
    use super::super::links;
    use super::*;
    use crate::definition::read;
    use crate::model::names::WireName;
    use crate::schema::Schema;
    use serde_json::json;
    use std::sync::Arc;

    fn fault_of(yaml: &str) -> Option<String> {
        let definition = read(yaml.as_bytes(), "t").definition.unwrap();
        let faults = links::faults(&definition, &|_| {
            let schema = json!({"type": "object", "properties": {
                "command": {"type": "string", "description": "c"}, "cwd": {"type": "string", "description": "d"}}});
            let schema = Schema::stored(schema).unwrap();
            let mut spec = ToolSpec::new(WireName::parse("shell").unwrap(), "runs", schema);
            spec.roles = vec![("command".to_owned(), Role::Shell)];
            spec.synonyms = vec![("cmd".to_owned(), "command".to_owned())];
            Some(Arc::new(spec))
        });
        faults.into_iter().next().map(|fault| fault.message)
    }

    fn step(with: &str) -> Option<String> {
        fault_of(&format!(
            "description: d\ntags: [run]\nsteps:\n  - name: a\n    use-tool: shell\n    with:\n      {with}\nparameters:\n  \
             P: {{type: string, description: d}}\n  N: {{type: number, description: d}}\n"
        ))
    }

    #[test]
    fn a_value_in_the_midst_of_code_is_refused() {
        for with in [
            "command: \"ls {P}\"",
            "Command: \"ls '{P}'\"",
            "cmd: \"{P}{P}\"",
            "cmd: \"{N} {P}\"",
        ] {
            let fault = step(with).unwrap_or_default();
            assert!(
                fault.contains("reads") && fault.contains("{P}"),
                "{with}: {fault}"
            );
        }
        let alias = "type: alias\nbase-tool: shell\ndefault-parameters:\n  command: \"ls {DIR}\"\n";
        assert!(fault_of(alias).is_some());
    }

    #[test]
    fn whole_commands_numbers_and_data_pass() {
        for with in [
            "command: \"{P}\"",
            "command: \"seq {N}\"",
            "command: ls",
            "cwd: \"src/{P}\"",
        ] {
            assert_eq!(step(with), None, "{with}");
        }
    }
}
