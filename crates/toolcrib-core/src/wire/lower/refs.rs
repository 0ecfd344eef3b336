//! References: checked, brought into one form, and taken apart from the schema that uses them.
//!
//! Lowering moves schemas about, so a reference into the middle of one (`#/properties/a`) would
//! soon point elsewhere. [`Definitions::detach`] gives such a target its own definition; after
//! that every reference is `#` or names a definition.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::Trouble;
use super::node::{Node, Word, join};

/// The keywords that hold definitions: of today and of draft 7.
const CONTAINERS: [&str; 2] = ["$defs", "definitions"];

/// The definitions of a schema, by the reference that names them (`#/$defs/Filter`).
#[derive(Debug, Default)]
pub(super) struct Definitions(HashMap<String, Node>);

impl Definitions {
    /// Takes the definitions out of a schema, whose references all name one of them after.
    pub(super) fn detach(root: &mut Node) -> Result<Definitions, Trouble> {
        let mut renamed = HashMap::new();
        let mut hoisted = Vec::new();
        let mut taken: HashSet<String> = match root.get("$defs") {
            Some(Word::Named(nodes)) => nodes.iter().map(|(name, _)| name.clone()).collect(),
            _ => HashSet::new(),
        };
        for (reference, target) in check(root)? {
            let canonical = match target.path.as_slice() {
                [] => "#".to_owned(),
                [container, name] if CONTAINERS.contains(&container.as_str()) => {
                    named(container, name)
                }
                [.., last] => {
                    let name = fresh(last, hoisted.len() + 2, &taken);
                    hoisted.push((name.clone(), target.node.clone()));
                    let canonical = named("$defs", &name);
                    taken.insert(name);
                    canonical
                }
            };
            renamed.insert(reference, canonical);
        }
        let mut definitions: HashMap<String, Node> = hoisted
            .into_iter()
            .map(|(name, node)| (named("$defs", &name), node))
            .collect();
        for container in CONTAINERS {
            for (name, node) in root.take_named(container) {
                definitions.insert(named(container, &name), node);
            }
        }
        for node in definitions.values_mut().chain([&mut *root]) {
            node.each_mut(&mut |node| {
                // Definitions in other places were reached by hoisting, if at all.
                CONTAINERS
                    .iter()
                    .for_each(|container| drop(node.remove(container)));
                if let Some(Word::Data(Value::String(reference))) = node.get_mut("$ref")
                    && let Some(canonical) = renamed.get(reference)
                {
                    reference.clone_from(canonical);
                }
            });
        }
        // The root refers to itself: what is written out of it is the root as the author has it.
        if renamed.values().any(|canonical| canonical == "#") {
            definitions.insert("#".to_owned(), root.clone());
        }
        Ok(Definitions(definitions))
    }

    /// The definition a reference names.
    pub(super) fn get(&self, reference: &str) -> Option<&Node> {
        self.0.get(reference)
    }

    /// Takes a definition out for good.
    pub(super) fn remove(&mut self, reference: &str) -> Option<Node> {
        self.0.remove(reference)
    }
}

/// The definitions a schema needs, in the order of use. Others would only cost tokens.
pub(super) fn reachable(
    root: &Node,
    mut take: impl FnMut(&str) -> Option<Node>,
) -> Vec<(String, Node)> {
    let mut found: Vec<(String, Node)> = Vec::new();
    let mut seen = HashSet::from(["#".to_owned()]);
    let mut looked_at = 0;
    let mut node = root;
    loop {
        let mut wanted = Vec::new();
        node.each(&mut |node| {
            if let Some(reference) = node.reference()
                && seen.insert(reference.to_owned())
            {
                wanted.push(reference.to_owned());
            }
        });
        for reference in wanted {
            if let Some(node) = take(&reference) {
                found.push((reference, node));
            }
        }
        match found.get(looked_at) {
            Some((_, next)) => node = next,
            None => return found,
        }
        looked_at += 1;
    }
}

/// Puts definitions back into the schema that refers to them.
pub(super) fn attach(root: &mut Node, definitions: Vec<(String, Node)>) -> Result<(), Trouble> {
    let known: HashSet<&str> = definitions
        .iter()
        .map(|(reference, _)| reference.as_str())
        .chain(["#"])
        .collect();
    for node in definitions.iter().map(|(_, node)| node).chain([&*root]) {
        let mut missing = None;
        node.each(&mut |node| match node.reference() {
            Some(reference) if !known.contains(reference) => missing = Some(node.at.clone()),
            _ => {}
        });
        if let Some(at) = missing {
            return Err(Trouble::whole(
                &at,
                "it refers to a part that cannot be expressed",
            ));
        }
    }
    for (reference, node) in definitions {
        let (container, name) = split(&reference).unwrap_or_default();
        if !root.has(&container) {
            root.set(&container, Word::Named(Vec::new()));
        }
        if let Some(Word::Named(nodes)) = root.get_mut(&container) {
            nodes.push((name, node));
        }
    }
    Ok(())
}

/// Where a reference leads.
pub(super) struct Target<'a> {
    path: Vec<String>,
    node: &'a Node,
}

/// Follows every reference; refuses those that lead out of the schema or to nothing in it.
pub(super) fn check(root: &Node) -> Result<Vec<(String, Target<'_>)>, Trouble> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    root.each(&mut |node| {
        if let Some(reference) = node.reference()
            && seen.insert(reference.to_owned())
        {
            found.push((reference.to_owned(), node.place("$ref")));
        }
    });
    found
        .into_iter()
        .map(|(reference, place)| match path(&reference) {
            None => Err(Trouble::whole(
                &place,
                format!(
                    "`$ref` to `{}`: only parts of the same schema can be referred to, as `#/$defs/…`",
                    crate::model::text::shorten(&reference, 80)
                ),
            )),
            Some(path) => match find(root, &path) {
                Some(node) => Ok((reference, Target { path, node })),
                None => Err(Trouble::whole(
                    &place,
                    format!(
                        "`$ref` to `{}`, which is not a schema in it",
                        crate::model::text::shorten(&reference, 80)
                    ),
                )),
            },
        })
        .collect()
}

/// The tokens of a local reference. Anchors (`#name`) are not followed.
fn path(reference: &str) -> Option<Vec<String>> {
    let pointer = crate::schema::reference::pointer(reference)?;
    let tokens = pointer.split('/').skip(1);
    Some(
        tokens
            .map(|token| token.replace("~1", "/").replace("~0", "~"))
            .collect(),
    )
}

fn find<'a>(node: &'a Node, path: &[String]) -> Option<&'a Node> {
    let [keyword, rest @ ..] = path else {
        return Some(node);
    };
    match (node.get(keyword)?, rest) {
        (Word::Data(_), _) => None,
        (Word::One(inner), rest) => find(inner, rest),
        (Word::Many(nodes), [index, rest @ ..]) => {
            find(nodes.get(index.parse::<usize>().ok()?)?, rest)
        }
        (Word::Named(nodes), [name, rest @ ..]) => {
            find(&nodes.iter().find(|(own, _)| own == name)?.1, rest)
        }
        (Word::Many(_) | Word::Named(_), []) => None,
    }
}

fn named(container: &str, name: &str) -> String {
    crate::schema::reference::to(&join(&join("", container), name))
}

/// The container and name of a canonical reference.
fn split(reference: &str) -> Option<(String, String)> {
    match <[String; 2]>::try_from(path(reference)?) {
        Ok([container, name]) => Some((container, name)),
        Err(_) => None,
    }
}

/// A name no one has. The first number to try rises with the names given out, so that ten thousand
/// equal ones are not ten thousand searches from the start.
fn fresh(wanted: &str, mut number: usize, taken: &HashSet<String>) -> String {
    let mut name = wanted.to_owned();
    while taken.contains(&name) {
        name = format!("{wanted}_{number}");
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::lower::read::read;
    use serde_json::json;

    #[test]
    fn references_into_the_middle_get_their_own_definition() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "string"}}},
            "c": {"$ref": "#/properties/a/properties/b"}},
            "$defs": {"b": {"type": "integer"}}});
        let mut root = read(&schema).unwrap();
        let mut definitions = Definitions::detach(&mut root).unwrap();
        let hoisted = definitions.remove("#/$defs/b_2").unwrap();
        attach(&mut root, vec![("#/$defs/b_2".into(), hoisted)]).unwrap();
        let written = root.write();
        assert_eq!(written["properties"]["c"], json!({"$ref": "#/$defs/b_2"}));
        assert_eq!(written["$defs"], json!({"b_2": {"type": "string"}}));
    }

    #[test]
    fn references_that_lead_nowhere_are_refused() {
        for reference in [
            "https://example.test/s.json",
            "other.json#/a",
            "#name",
            "#/$defs/x",
            "#/required/0",
            "#/%24defs/x",
            "#/%2",
        ] {
            let schema = json!({"type": "object", "required": ["a"], "properties": {"a": {"$ref": reference}},
                "$defs": {"a": {}}});
            let trouble = Definitions::detach(&mut read(&schema).unwrap()).unwrap_err();
            assert_eq!(trouble.at, "/properties/a/$ref", "{reference}");
        }
    }

    #[test]
    fn a_percent_encoded_reference_is_followed_and_written_as_a_uri() {
        let schema = json!({"properties": {"a": {"$ref": "#/%24defs/List%3Cint%3E"}}, "$defs": {"List<int>": {"type": "array"}}});
        let mut root = read(&schema).unwrap();
        let mut definitions = Definitions::detach(&mut root).unwrap();
        let reference = "#/$defs/List%3Cint%3E";
        let node = definitions.remove(reference).unwrap();
        attach(&mut root, vec![(reference.into(), node)]).unwrap();
        let written = root.write();
        assert_eq!(written["properties"]["a"]["$ref"], reference);
        assert_eq!(written["$defs"], schema["$defs"]);
    }

    #[test]
    fn odd_definition_names_survive() {
        let schema = json!({"properties": {"a": {"$ref": "#/definitions/x~1y~0z"}}, "definitions": {"x/y~z": {"type": "string"}}});
        let mut root = read(&schema).unwrap();
        let mut definitions = Definitions::detach(&mut root).unwrap();
        let node = definitions.remove("#/definitions/x~1y~0z").unwrap();
        attach(&mut root, vec![("#/definitions/x~1y~0z".into(), node)]).unwrap();
        assert_eq!(root.write(), schema);
    }
}
