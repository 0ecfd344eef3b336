//! `argSchema` and `outputSchema`: bounded, without references to elsewhere, and what templates can name.

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Argument, Reader};
use crate::definition::At;
use crate::definition::problem::SpannedProblem;
use crate::definition::values;
use crate::definition::yaml::{Content, Node};
use crate::manifest::BuiltIn;
use crate::manifest::template::PREVIOUS;
use crate::model::text::shorten;
use crate::schema::{Schema, SchemaError, hidden};

impl Reader<'_, '_> {
    /// Reads `argSchema`; its properties are known afterwards, whatever else is wrong with it.
    pub(super) fn arg_schema(&mut self, root: At<'_, '_>) -> Option<Arc<Schema>> {
        let Some(at) = root.get("argSchema") else {
            return self.schema_of(json!({"type": "object", "properties": {}}), root);
        };
        at.node.map()?;
        self.arguments = arguments(at.node);
        let names = self.arguments.iter().enumerate().rev();
        self.arguments_by_name = names.map(|(at, one)| (one.name.clone(), at)).collect();
        let undescribed: Vec<(String, Range<usize>)> = self
            .arguments
            .iter()
            .filter(|argument| !argument.is_described)
            .map(|argument| (argument.name.clone(), argument.span.clone()))
            .collect();
        let reserved =
            |name: &str| name == PREVIOUS || BuiltIn::ALL.iter().any(|one| one.name() == name);
        for argument in self
            .arguments
            .iter()
            .filter(|argument| reserved(&argument.name))
        {
            let message = format!(
                "`{}` is a variable that every tool has, and no argument can have its name",
                argument.name
            );
            self.found.push(
                SpannedProblem::error("reserved-name", argument.span.clone(), message)
                    .help("give the argument another name"),
            );
        }
        for (name, span) in undescribed {
            let message = format!(
                "the argument `{}` has no `description`, which is what a model fills it in by",
                shorten(&name, 60)
            );
            self.found.push(
                SpannedProblem::warning("undescribed-argument", span, message)
                    .help("add `\"description\": \"…\"`"),
            );
        }
        let value = match values::json(at.node) {
            // What takes nothing is often written so.
            Value::Object(map) if map.is_empty() => json!({"type": "object", "properties": {}}),
            value => value,
        };
        self.schema_of(value, at)
    }

    fn schema_of(&mut self, value: Value, at: At<'_, '_>) -> Option<Arc<Schema>> {
        let schema = Schema::stored(value);
        self.accepted(schema, at, "argSchema")
    }

    /// Reads `outputSchema`; `None` if something is wrong with it.
    #[expect(clippy::option_option, reason = "none is not the same as a wrong one")]
    pub(super) fn output_schema(&mut self, root: At<'_, '_>) -> Option<Option<Arc<Schema>>> {
        let Some(at) = root.get("outputSchema") else {
            return Some(None);
        };
        at.node.map()?;
        let schema = Schema::output(values::json(at.node));
        self.accepted(schema, at, "outputSchema").map(Some)
    }

    fn accepted(
        &mut self,
        schema: Result<Schema, SchemaError>,
        at: At<'_, '_>,
        field: &str,
    ) -> Option<Arc<Schema>> {
        if let Err(error) = hidden::check(&values::json(at.node)) {
            for problem in error.problems {
                let message = format!(
                    "in `{field}`, {}: callers would not see what to send",
                    problem.message
                );
                let span = spot(at.node, &problem.pointer);
                let problem = SpannedProblem::error("hidden-text", span, message);
                let help = "remove it; in a `pattern`, write the escape of the regular expression, as in `\\\\u200b`";
                self.found.push(problem.help(help));
            }
            return None;
        }
        // A pattern may be too large, or none that runs in linear time; the rest is left to the first call.
        let checked =
            schema.and_then(
                |schema| match self.is_thorough || has_patterns(schema.as_value()) {
                    true => schema.compile().map(|()| schema),
                    false => Ok(schema),
                },
            );
        match checked {
            Ok(schema) => Some(Arc::new(schema)),
            Err(error) => {
                for problem in error.problems {
                    let span = spot(at.node, &problem.pointer);
                    let place = match problem.pointer.as_str() {
                        "" => String::new(),
                        pointer => format!(", at `{}`", shorten(pointer, 200)),
                    };
                    let message = format!(
                        "`{field}` is not a usable schema{place}: {}",
                        problem.message
                    );
                    self.found.push(SpannedProblem::error("bad-schema", span, message).help("references may only lead to `#/…` of the same schema; `toolcrib explain bad-schema` says what is bounded"));
                }
                None
            }
        }
    }
}

/// Whether a schema has patterns, or what could be some.
fn has_patterns(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(name, field)| {
            matches!(name.as_str(), "pattern" | "patternProperties") || has_patterns(field)
        }),
        Value::Array(items) => items.iter().any(has_patterns),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The properties of a schema.
fn arguments(node: &Node<'_>) -> Vec<Argument> {
    let entry = |node: &Node<'_>, name: &str| -> Option<usize> {
        node.map()?.iter().position(|entry| entry.key.text == name)
    };
    let below = |name: &str| entry(node, name).and_then(|at| Some(&node.map()?[at].value));
    let required: Vec<&str> = below("required")
        .and_then(Node::list)
        .unwrap_or_default()
        .iter()
        .filter_map(|item| item.scalar().map(|scalar| &*scalar.text))
        .collect();
    let properties = below("properties").and_then(Node::map).unwrap_or_default();
    properties
        .iter()
        .map(|property| {
            let described = entry(&property.value, "description");
            Argument {
                is_required: required.contains(&&*property.key.text),
                has_default: entry(&property.value, "default").is_some(),
                // A property that is a reference, or `true`, says what it is elsewhere or not at all.
                is_described: described.is_some()
                    || property.value.map().is_none()
                    || entry(&property.value, "$ref").is_some(),
                is_used: false,
                name: property.key.text.clone().into_owned(),
                span: property.key.span.clone(),
            }
        })
        .collect()
}

/// Where what a JSON pointer means is; the nearest that is there.
fn spot(node: &Node<'_>, pointer: &str) -> Range<usize> {
    let mut node = node;
    let mut span = node.span.clone();
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        let next = match &node.content {
            Content::Map(entries) => entries
                .iter()
                .find(|entry| entry.key.text == name)
                .map(|entry| (&entry.value, entry.key.span.clone())),
            Content::List(items) => name
                .parse()
                .ok()
                .and_then(|index: usize| items.get(index))
                .map(|item| (item, item.span.clone())),
            Content::Scalar(_) | Content::Refused => None,
        };
        let Some((below, place)) = next else { break };
        node = below;
        span = match below.content {
            Content::Scalar(_) => below.span.clone(),
            Content::Map(_) | Content::List(_) | Content::Refused => place,
        };
    }
    span
}

#[cfg(test)]
mod tests {
    use crate::manifest;

    #[test]
    fn a_pattern_that_is_too_large_is_refused_however_the_file_is_read() {
        let file = |pattern: &str| {
            format!(
                r#"{{"description": "x", "tags": ["read"], "argSchema": {{"type": "object", "properties": {{"a": {{"type": "string", "pattern": "{pattern}"}}}}}}, "impl": {{"urlTemplate": "https://a.example/?a=${{a}}"}}}}"#
            )
        };
        let (large, small) = (file("(((a{1000}){1000}){1000})"), file("a{10}"));
        assert!(manifest::read(large.as_bytes(), "t").definition.is_none());
        assert!(manifest::load(large.as_bytes(), "t").definition.is_none());
        assert!(manifest::load(small.as_bytes(), "t").definition.is_some());
    }
}
