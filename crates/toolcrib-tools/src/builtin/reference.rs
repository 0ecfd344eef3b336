//! docs/tools.md: the reference of the built-in tools, made from the tools themselves.

use std::fmt::Write as _;

use serde_json::Value;

use crate::registry::{Entry, Registry};

/// The page of the built-in tools of a registry, and of some more of them that it does not list.
#[doc(hidden)]
pub fn reference(registry: &Registry, more: &[&str]) -> String {
    let mut page = String::from(concat!(
        "# Built-in tools\n\n",
        "The tools of the bundle `core`. `toolcrib show TOOL` prints the same for one of them, `toolcrib schema` the JSON Schemas.\n",
        "Parameters may be written in other casings (`create_dirs`, `createDirs`); paths are relative to the workspace, or absolute and\n",
        "beneath it. The [rules](rules.md) also decide which calls ask and which are refused; see [approvals](approvals.md) for who is asked.\n\n",
        "| tool | also called | effects | a person is asked |\n|---|---|---|---|\n",
    ));
    let mut entries = registry.entries();
    entries.extend(more.iter().filter_map(|name| registry.find(name).ok()));
    for entry in &entries {
        let spec = entry.spec();
        let _ = writeln!(
            page,
            "| [`{name}`](#{name}) | {} | {} | {} |",
            list(spec.aliases.iter().map(|alias| alias.as_str())),
            spec.effects.tags().join(", "),
            spec.asks.as_deref().unwrap_or("never"),
            name = spec.name,
        );
    }
    for entry in &entries {
        section(&mut page, entry);
    }
    page
}

fn section(page: &mut String, entry: &Entry) {
    let spec = entry.spec();
    let _ = write!(page, "\n## {}\n\n{}\n\n", spec.name, spec.description);
    if !spec.synonyms.is_empty() {
        let others = spec
            .synonyms
            .iter()
            .map(|(accepted, published)| format!("`{accepted}` for `{published}`"));
        let others: Vec<String> = others.collect();
        let _ = write!(page, "Also accepted: {}.\n\n", others.join(", "));
    }
    let limits = entry.limits();
    let _ = write!(
        page,
        "A person is asked: {}. Time: {} s. Longest text in the output: {} bytes.\n\n",
        spec.asks.as_deref().unwrap_or("never"),
        limits.timeout.as_secs(),
        limits.max_output_bytes
    );
    page.push_str("| parameter | type | description |\n|---|---|---|\n");
    properties(page, spec.input_schema.as_value());
    if let Some(output) = &spec.output_schema {
        page.push_str("\n| returns | type | description |\n|---|---|---|\n");
        properties(page, output.as_value());
    }
    for example in &spec.examples {
        let _ = write!(
            page,
            "\n```json\n{{\"name\": \"{}\", \"arguments\": {example}}}\n```\n",
            spec.name
        );
    }
    if let Some(line) = spec.example_line() {
        let _ = write!(page, "\n```text\n$ toolcrib run {line}\n```\n");
    }
}

fn properties(page: &mut String, schema: &Value) {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let optional = if required.contains(&name.as_str()) {
            ""
        } else {
            ", optional"
        };
        let mut words = property["description"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        for (key, what) in [("enum", "One of"), ("default", "Default")] {
            match property.get(key) {
                Some(Value::Array(values)) => {
                    let values: Vec<String> =
                        values.iter().map(|value| format!("`{value}`")).collect();
                    let _ = write!(words, ". {what} {}", values.join(", "));
                }
                Some(value) => {
                    let _ = write!(words, ". {what} `{value}`");
                }
                None => {}
            }
        }
        let kind = property["type"].as_str().unwrap_or("any");
        let _ = writeln!(
            page,
            "| `{name}` | {kind}{optional} | {} |",
            words.replace('|', "\\|")
        );
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::RegisterBuiltins as _;
    use crate::builtin::{BuiltinOptions, SearchProvider, SearchSettings};
    use crate::call::request::CallRequest;

    #[test]
    fn every_built_in_says_what_it_does_and_shows_an_example_it_takes() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = crate::workspace::Workspace::open(directory.path()).unwrap();
        let registry = Registry::builder().workspace(workspace).build();
        let options = BuiltinOptions {
            search: Some(SearchSettings {
                provider: SearchProvider::SearXng,
                url: Some("http://localhost:8888".to_owned()),
                secret: None,
            }),
            ..BuiltinOptions::default()
        };
        registry.register_builtins_with(options).unwrap();
        for entry in registry.entries() {
            let spec = entry.spec();
            assert!(!spec.effects.is_unknown(), "{}", spec.name);
            assert!(!spec.examples.is_empty(), "{}", spec.name);
            for example in &spec.examples {
                let Value::Object(args) = example else {
                    panic!("{}: {example}", spec.name)
                };
                let request = CallRequest::new(spec.name.as_str()).args(args.clone());
                if let Err(error) = registry.plan(request) {
                    panic!("{}: {error}", spec.name);
                }
            }
        }
    }
}
