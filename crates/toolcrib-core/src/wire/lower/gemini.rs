//! Gemini: the fields of its `Schema` message, a part of OpenAPI 3.0.
//!
//! Its server reads the request as a protocol buffer: an unknown field, a list where it has one
//! type, an array without `items` or an `enum` of numbers refuses the whole request. So there are
//! no references, one type per schema, null is `nullable`, and `anyOf` is alone.
//!
//! Newer endpoints also read JSON Schema from `parametersJsonSchema`. It is not used: the stable
//! API and what imitates it do not know the field, and what is lost here is enforced when the
//! tool is called. Types are in lower case, as in the examples of its documentation: the server accepts both, and so do readers of JSON
//! Schema.

use serde_json::{Value, json};

use super::flatten::{Form, annotations, cut_short, write_out};
use super::node::{Node, Word};
use super::types::{by_type, is_of, tuple_to_list};
use super::{Context, LossExtent, Trouble};

const KEYWORDS: [&str; 16] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "properties",
    "required",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "pattern",
];
const COUNTS: [&str; 4] = ["minItems", "maxItems", "minLength", "maxLength"];
const SCALARS: [&str; 4] = ["string", "number", "integer", "boolean"];

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
                [one] if SCALARS.contains(&one.as_str()) => one.as_str(),
                _ => "object",
            };
            keep_notes(cx, &mut node);
            node.set_data("type", kind);
            Ok(node)
        }
        Form::AnyOf(notes, variants) => any_of(cx, notes, variants, trail, depth),
        Form::Typed(kinds, node) => match kinds.as_slice() {
            [kind] => of_type(cx, kind, node, trail, depth),
            kinds => any_of(cx, annotations(&node), by_type(&node, kinds), trail, depth),
        },
        Form::Anything(mut node) => {
            keep_notes(cx, &mut node);
            Ok(anything(cx, node))
        }
    }
}

/// Leaves title and description, where they are texts.
fn keep_notes(cx: &mut Context, node: &mut Node) {
    cx.keep_only(node, &["title", "description"]);
    for entry in node.take_words() {
        if matches!(&entry.word, Word::Data(Value::String(_))) {
            node.adopt(entry);
        }
    }
}

/// Alternatives. Null among them is a flag of the others, and what is beside them moves into
/// each: `anyOf` must be the only field of its schema.
fn any_of(
    cx: &mut Context,
    mut notes: Node,
    variants: Vec<Node>,
    trail: &mut Vec<String>,
    depth: usize,
) -> Result<Node, Trouble> {
    let (nulls, variants): (Vec<Node>, Vec<Node>) = variants.into_iter().partition(is_null);
    let mut lowered: Vec<Node> = Vec::new();
    let mut trouble = None;
    for variant in variants {
        let (at, before) = (variant.at.clone(), cx.mark());
        match plain(cx, variant, trail, depth + 1) {
            // Alternatives inside alternatives are alternatives.
            Ok(mut variant) if variant.has("anyOf") => {
                for inner in variant.take_many("anyOf") {
                    if !lowered.contains(&inner) {
                        lowered.push(inner);
                    }
                }
            }
            Ok(variant) if lowered.contains(&variant) => {}
            Ok(variant) => lowered.push(variant),
            Err(part) if part.reach == LossExtent::Part => {
                cx.forget_since(before);
                let reason = format!("this alternative is left out: {}", part.reason);
                cx.lose(&at, reason);
                trouble = Some(part);
            }
            Err(whole) => return Err(whole),
        }
    }
    keep_notes(cx, &mut notes);
    if !nulls.is_empty() {
        for variant in &mut lowered {
            variant.set_data("nullable", true);
        }
    }
    if lowered.len() == 1 {
        let mut only = lowered.remove(0);
        notes
            .take_words()
            .into_iter()
            .for_each(|entry| only.adopt(entry));
        return Ok(only);
    }
    if lowered.is_empty() {
        return Err(trouble.unwrap_or_else(|| {
            Trouble::part(
                &notes.at,
                "null is all it takes, which Gemini has no type for",
            )
        }));
    }
    Ok(alternatives(notes, lowered))
}

fn alternatives(mut notes: Node, mut variants: Vec<Node>) -> Node {
    let at = notes.at.clone();
    for entry in notes.take_words() {
        for variant in &mut variants {
            if !variant.has(&entry.keyword) {
                variant.adopt(entry.clone());
            }
        }
    }
    Node::with(&at, "anyOf", Word::Many(variants))
}

/// A value of any type, which Gemini has no word for: the plain types and an open object.
fn anything(cx: &mut Context, notes: Node) -> Node {
    cx.lose(
        &notes.at,
        "it takes a value of any type; arrays and null are left out, since Gemini wants a type \
         for everything",
    );
    let of = |kind| Node::of_type(&notes.at, kind);
    let variants = ["string", "number", "boolean", "object"].map(of).to_vec();
    alternatives(notes, variants)
}

fn is_null(node: &Node) -> bool {
    node.data("type") == Some(&json!("null"))
}

fn of_type(
    cx: &mut Context,
    kind: &str,
    mut node: Node,
    trail: &mut Vec<String>,
    depth: usize,
) -> Result<Node, Trouble> {
    match kind {
        "null" => {
            return Err(Trouble::part(
                &node.at,
                "null is all it takes, which Gemini has no type for",
            ));
        }
        "object" | "array" => {}
        kind if SCALARS.contains(&kind) => {}
        other => {
            let other = crate::model::text::shorten(other, 64);
            return Err(Trouble::part(&node.at, format!("`{other}` is not a type")));
        }
    }
    node.set_data("type", kind);
    values(cx, kind, &mut node);
    tuple_to_list(cx, &mut node);
    // OpenAPI's word, which JSON Schema knows nothing of: ours alone says it.
    node.remove("nullable");
    cx.keep_only(&mut node, &KEYWORDS);
    constraints(cx, kind, &mut node);
    match kind {
        "array" => items(cx, &mut node, trail, depth)?,
        "object" => properties(cx, &mut node, trail, depth)?,
        _ => {}
    }
    Ok(node)
}

/// The values to choose from: texts only.
fn values(cx: &mut Context, kind: &str, node: &mut Node) {
    let place = if node.has("const") {
        node.place("const")
    } else {
        node.place("enum")
    };
    let given = match (node.remove("const"), node.remove("enum")) {
        (Some(Word::Data(value)), _) => vec![value],
        (_, Some(Word::Data(Value::Array(values)))) => values,
        _ => return,
    };
    let fitting: Vec<Value> = given
        .into_iter()
        .filter(|value| is_of(value, kind))
        .collect();
    let usable = kind == "string"
        && !fitting.is_empty()
        && fitting
            .iter()
            .all(|value| value.as_str().is_some_and(|text| !text.is_empty()));
    if usable {
        node.set_data("enum", fitting);
    } else {
        let why = "Gemini takes texts that are not empty as values to choose from";
        cx.lose_constraint(&place, "enum", why);
    }
}

/// Leaves out what does not concern the type, or what the server cannot read.
fn constraints(cx: &mut Context, kind: &str, node: &mut Node) {
    let concerns: &[&str] = match kind {
        "string" => &["format", "minLength", "maxLength", "pattern"],
        "number" | "integer" => &["format", "minimum", "maximum"],
        "array" => &["items", "minItems", "maxItems"],
        "object" => &["properties", "required"],
        _ => &[],
    };
    let always = ["type", "title", "description", "nullable", "enum"];
    for entry in node.take_words() {
        let word = entry.keyword.as_str();
        let value = match &entry.word {
            Word::Data(value) => Some(value),
            Word::One(_) | Word::Many(_) | Word::Named(_) => None,
        };
        let readable = match word {
            "format" => value.and_then(Value::as_str).is_some_and(|format| {
                let formats: &[&str] = match kind {
                    "string" => &["date-time"],
                    "integer" => &["int32", "int64"],
                    _ => &["float", "double"],
                };
                formats.contains(&format)
            }),
            "minimum" | "maximum" => value.is_some_and(Value::is_number),
            "pattern" | "title" | "description" => value.is_some_and(Value::is_string),
            word if COUNTS.contains(&word) => value.is_some_and(Value::is_u64),
            _ => true,
        };
        if always.contains(&word) && readable {
            node.adopt(entry);
        } else if concerns.contains(&word) {
            if readable {
                node.adopt(entry);
            } else {
                let why = "Gemini does not know this one";
                cx.lose_constraint(&entry.place(), word, why);
            }
        }
    }
}

fn items(
    cx: &mut Context,
    node: &mut Node,
    trail: &mut Vec<String>,
    depth: usize,
) -> Result<(), Trouble> {
    let inner = match node.remove("items") {
        Some(Word::One(items)) => *items,
        // A missing part has no place.
        _ => Node::empty(&node.at.clone()),
    };
    let items = plain(cx, inner, trail, depth + 1)?;
    node.set("items", Word::One(Box::new(items)));
    Ok(())
}

fn properties(
    cx: &mut Context,
    node: &mut Node,
    trail: &mut Vec<String>,
    depth: usize,
) -> Result<(), Trouble> {
    let required = node.required();
    let mut lowered = Vec::new();
    for (name, property) in node.empty_named("properties").unwrap_or_default() {
        let (at, before) = (property.at.clone(), cx.mark());
        match plain(cx, property, trail, depth + 1) {
            Ok(property) => lowered.push((name, property)),
            Err(part) if part.reach == LossExtent::Part && !required.contains(&name) => {
                cx.forget_since(before);
                cx.lose(&at, format!("this property is left out: {}", part.reason));
            }
            Err(trouble) => return Err(trouble),
        }
    }
    // A name in `required` that is not described refuses the request.
    let mut known: Vec<String> = Vec::new();
    for name in required {
        if !lowered.iter().any(|(own, _)| *own == name) {
            let name = crate::model::text::shorten(&name, 64);
            let why = format!("it names `{name}`, which is not described");
            cx.lose_constraint(&node.place("required"), "required", &why);
        } else if !known.contains(&name) {
            known.push(name);
        }
    }
    match known.is_empty() {
        true => drop(node.remove("required")),
        false => node.set_data("required", known),
    }
    match lowered.is_empty() {
        true => drop(node.remove("properties")),
        false => node.set("properties", Word::Named(lowered)),
    }
    Ok(())
}
