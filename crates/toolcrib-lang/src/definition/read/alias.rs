//! `type: alias`: another tool with some arguments preset.

use super::body::tool_reference;
use super::field_value::At;
use super::templates::{Templates, braced, is_variable};
use crate::definition::problem::{Findings, SpannedProblem};
use crate::definition::yaml::{Content, Node};
use crate::definition::{Body, ParameterKind};
use crate::model::names::WireName;
use crate::model::text::shorten;
use crate::template::NamedParameter;

/// What an alias cannot say: the tool behind it says it.
const NOT_OF_ALIASES: &[&str] = &[
    "shell",
    "requires-approval",
    "parameters",
    "environment",
    "function-calling",
    "security",
    "file-paths",
    "resources",
    "interactive",
    "interactive-options",
    "working-directory",
    "ignore-errors",
    "input",
];

pub(super) fn is_alias(root: At<'_, '_>) -> bool {
    root.choice("type") == Some("alias") || root.has("base-tool")
}

/// Refuses what an alias cannot say.
pub(super) fn check_fields(root: At<'_, '_>, found: &mut Findings<'_>) {
    for field in NOT_OF_ALIASES {
        if root.has(field) {
            let message = format!(
                "an alias cannot have `{field}`: what the tool behind it says holds for the alias too"
            );
            found.push(
                SpannedProblem::error("not-in-alias", root.key_span(field), message)
                    .help("remove it, or write a separate tool with `use-tool`"),
            );
        }
    }
    if root.has("base-tool") && !root.has("type") {
        let message = "`base-tool` is for an alias, and the file does not say `type: alias`";
        let at = root.key_span("base-tool");
        found.push(
            SpannedProblem::error("missing-field", at.clone(), message)
                .help("add `type: alias`")
                .fix(at.start..at.start, "type: alias\n"),
        );
    }
}

pub(super) fn read(
    root: At<'_, '_>,
    name: Option<&WireName>,
    templates: &mut Templates<'_, '_>,
) -> Option<Body> {
    let base = tool_reference(
        root.get("base-tool")?,
        "base-tool",
        name,
        templates.findings(),
    );
    let mut presets = Vec::new();
    let mut fine = true;
    let mut defaults = Vec::new();
    for field in ["fixed-parameters", "default-parameters"] {
        let Some(at) = root.get(field) else { continue };
        // Presets may use arguments of the alias's own call, which no one declares.
        let mut names = Vec::new();
        for (_, value) in at.entries() {
            collect(value.node, &mut names);
        }
        templates.admit(names.into_iter().map(|name| NamedParameter {
            name,
            kind: ParameterKind::String,
            format: None,
            raw: false,
        }));
        for (key, value) in at.entries() {
            let name = key.text.clone().into_owned();
            if presets.iter().any(|(known, _)| *known == name) {
                let message = format!(
                    "`{}` is in `fixed-parameters` and in `default-parameters`",
                    shorten(&name, 60)
                );
                templates.push(
                    SpannedProblem::error("duplicate-key", key.span.clone(), message)
                        .help("remove one of them"),
                );
                fine = false;
                continue;
            }
            match templates.json(value.node) {
                Some(value) => {
                    if field == "default-parameters" {
                        defaults.push(name.clone());
                    }
                    presets.push((name, value));
                }
                None => fine = false,
            }
        }
    }
    let base = base?;
    fine.then_some(Body::Alias {
        base,
        presets,
        defaults,
    })
}

fn collect(node: &Node<'_>, names: &mut Vec<String>) {
    match &node.content {
        Content::Scalar(scalar) => {
            for (_, name) in braced(&scalar.text) {
                let fresh = !names.iter().any(|known| known == name);
                if fresh && !name.contains('.') && !is_variable(name) {
                    names.push(name.to_owned());
                }
            }
        }
        Content::List(items) => items.iter().for_each(|item| collect(item, names)),
        Content::Map(entries) => entries
            .iter()
            .for_each(|entry| collect(&entry.value, names)),
        Content::Refused => {}
    }
}
