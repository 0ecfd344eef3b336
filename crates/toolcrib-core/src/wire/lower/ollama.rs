//! Ollama: what its server's own types hold. Anything else it drops without a word or refuses.
//!
//! A schema there has one `type` (older servers refuse a list, and the chat templates of many
//! models print it as it is), no references and no constraints.

use serde_json::{Value, json};

use super::flatten::{Form, annotations, cut_short, write_out};
use super::node::{Node, Word};
use super::types::{by_type, is_of, tuple_to_list};
use super::{Context, LossExtent, Trouble};

const KEYWORDS: [&str; 7] = [
    "type",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "anyOf",
];

/// Lowers a schema whose root is one object.
pub(super) fn lower(cx: &mut Context, root: Node) -> Result<Node, Trouble> {
    plain(cx, root, &mut vec!["#".to_owned()], 0)
}

fn plain(
    cx: &mut Context,
    node: Node,
    trail: &mut Vec<String>,
    depth: usize,
) -> Result<Node, Trouble> {
    write_out(cx, node, trail, depth, of_form)
}

fn of_form(
    cx: &mut Context,
    form: Form,
    trail: &mut Vec<String>,
    depth: usize,
) -> Result<Node, Trouble> {
    match form {
        Form::Reference(reference, mut node) => {
            let kinds = cut_short(cx, &reference, &node);
            let kind = match kinds.as_slice() {
                [one] => one.as_str(),
                _ => "object",
            };
            node.set_data("type", kind);
            cx.keep_only(&mut node, &KEYWORDS);
            Ok(node)
        }
        Form::AnyOf(mut notes, variants) => {
            let (nulls, variants): (Vec<Node>, Vec<Node>) = variants.into_iter().partition(is_null);
            if !nulls.is_empty() && !variants.is_empty() {
                lose_null(cx, &notes);
            }
            let variants = if variants.is_empty() { nulls } else { variants };
            let mut lowered: Vec<Node> = Vec::new();
            let mut trouble = None;
            for variant in variants {
                match plain(cx, variant, trail, depth + 1) {
                    Ok(variant) if lowered.contains(&variant) => {}
                    Ok(variant) => lowered.push(variant),
                    Err(part) if part.reach == LossExtent::Part => trouble = Some(part),
                    Err(whole) => return Err(whole),
                }
            }
            cx.keep_only(&mut notes, &KEYWORDS);
            match (lowered.len(), trouble) {
                (0, Some(trouble)) => Err(trouble),
                (1, _) => {
                    let mut only = lowered.remove(0);
                    notes
                        .take_words()
                        .into_iter()
                        .for_each(|entry| only.adopt(entry));
                    Ok(only)
                }
                _ => {
                    notes.set("anyOf", Word::Many(lowered));
                    Ok(notes)
                }
            }
        }
        Form::Typed(kinds, node) => match kinds.as_slice() {
            [kind] => of_type(cx, kind, node, trail, depth),
            kinds => {
                let form = Form::AnyOf(annotations(&node), by_type(&node, kinds));
                of_form(cx, form, trail, depth)
            }
        },
        Form::Anything(mut node) => {
            cx.keep_only(&mut node, &KEYWORDS);
            Ok(node)
        }
    }
}

fn is_null(node: &Node) -> bool {
    node.data("type") == Some(&json!("null"))
}

fn lose_null(cx: &mut Context, node: &Node) {
    cx.lose(
        &node.at,
        "null is left out: Ollama takes one type per schema",
    );
}

fn of_type(
    cx: &mut Context,
    kind: &str,
    mut node: Node,
    trail: &mut Vec<String>,
    depth: usize,
) -> Result<Node, Trouble> {
    node.set_data("type", kind);
    if let Some(Word::Data(value)) = node.remove("const") {
        node.set_data("enum", vec![value]);
    }
    if let Some(Word::Data(Value::Array(values))) = node.get_mut("enum") {
        values.retain(|value| is_of(value, kind));
    }
    tuple_to_list(cx, &mut node);
    cx.keep_only(&mut node, &KEYWORDS);
    if kind != "object" {
        node.remove("properties");
        node.remove("required");
    }
    if kind != "array" {
        node.remove("items");
    }
    if let Some(Word::One(items)) = node.get_mut("items") {
        let inner = std::mem::replace(&mut **items, Node::empty(""));
        let at = inner.at.clone();
        match plain(cx, inner, trail, depth + 1) {
            Ok(inner) => node.set("items", Word::One(Box::new(inner))),
            Err(part) if part.reach == LossExtent::Part => {
                node.remove("items");
                cx.lose(&at, format!("`items` is left out: {}", part.reason));
            }
            Err(whole) => return Err(whole),
        }
    }
    let required = node.required();
    let Some(described) = node.empty_named("properties") else {
        return Ok(node);
    };
    let mut properties = Vec::new();
    for (name, property) in described {
        let at = property.at.clone();
        match plain(cx, property, trail, depth + 1) {
            Ok(property) => properties.push((name, property)),
            Err(part) if part.reach == LossExtent::Part && !required.contains(&name) => {
                cx.lose(&at, format!("this property is left out: {}", part.reason));
            }
            Err(trouble) => return Err(trouble),
        }
    }
    node.set("properties", Word::Named(properties));
    Ok(node)
}
