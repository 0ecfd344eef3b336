//! Combinators worked out: the root as one object, and any schema as one of four plain [`Form`]s.

use super::merge::{conjoin, unite};
use super::node::{ANNOTATIONS, MAX_DEPTH, Node, Word};
use super::types::types;
use super::{Context, Trouble};

/// The root as an object without combinators, with `type` and `properties`.
pub(super) fn root(cx: &mut Context, root: Node) -> Result<Node, Trouble> {
    let mut trail = Trail {
        all: vec!["#".to_owned()],
        ..Trail::default()
    };
    let Some(mut root) = object(cx, root, &mut trail, 0)? else {
        return Err(Trouble::whole(
            "",
            "its root is not an object, and arguments always are",
        ));
    };
    for keyword in ["enum", "const", "not"] {
        let place = root.place(keyword);
        if root.remove(keyword).is_some() {
            let why = format!("{} does not take it at the top level", cx.dialect.label());
            cx.lose_constraint(&place, keyword, &why);
        }
    }
    if !root.has("properties") {
        root.set("properties", Word::Named(Vec::new()));
    }
    Ok(root)
}

/// The references that are being worked out while one object is made.
#[derive(Default)]
struct Trail {
    /// Those around this place and in it. One that comes up again in it adds nothing.
    all: Vec<String>,
    /// How many of them belong to schemas around this one: one of these coming up again means
    /// that the schema contains itself.
    around: usize,
    /// Every one followed in this place.
    followed: Vec<String>,
}

/// A schema as one object without `$ref`, `allOf`, `anyOf` and `oneOf`; `None` when no object can
/// fit it.
fn object(
    cx: &mut Context,
    node: Node,
    trail: &mut Trail,
    depth: usize,
) -> Result<Option<Node>, Trouble> {
    let mark = trail.all.len();
    let made = one_object(cx, node, trail, depth);
    trail.all.truncate(mark);
    made
}

fn one_object(
    cx: &mut Context,
    mut node: Node,
    trail: &mut Trail,
    depth: usize,
) -> Result<Option<Node>, Trouble> {
    if depth > MAX_DEPTH {
        return Err(Trouble::whole(
            &node.at,
            "its references are nested too deep",
        ));
    }
    cx.spend(1)?;
    let at = node.at.clone();
    let reference = node
        .remove("$ref")
        .map(|reference| Node::with(&at, "$ref", reference));
    let parts: Vec<Node> = reference
        .into_iter()
        .chain(node.take_many("allOf"))
        .collect();
    for mut part in parts {
        if let Some(reference) = part.reference().map(str::to_owned) {
            part.remove("$ref");
            match trail.all.iter().position(|own| *own == reference) {
                Some(place) if place < trail.around => {
                    cx.lose_constraint(&part.place("$ref"), "$ref", LEADS_BACK);
                }
                Some(_) => {}
                None => {
                    let target = cx.expand(&reference)?;
                    trail.all.push(reference.clone());
                    trail.followed.push(reference);
                    if conjoin(cx, &mut part, target).is_err() {
                        return Ok(None);
                    }
                }
            }
        }
        // Not `object`: what this part follows stays on the trail for the next.
        let Some(part) = one_object(cx, part, trail, depth + 1)? else {
            return Ok(None);
        };
        if conjoin(cx, &mut node, part).is_err() {
            return Ok(None);
        }
    }
    for keyword in ["anyOf", "oneOf"] {
        let place = node.place(keyword);
        let variants = node.take_many(keyword);
        if variants.is_empty() {
            continue;
        }
        let mut objects = Vec::new();
        for variant in variants {
            objects.extend(object(cx, variant, trail, depth + 1)?);
        }
        match objects.len() {
            0 => return Ok(None),
            // No choice is left: what it says holds.
            1 => {
                if conjoin(cx, &mut node, objects.remove(0)).is_err() {
                    return Ok(None);
                }
            }
            _ => {
                cx.lose(
                    &place,
                    format!(
                        "the alternatives of `{keyword}` are merged into one object; \
                         Toolcrib still enforces them when the tool is called"
                    ),
                );
                node = unite(node, objects);
            }
        }
    }
    match node.types() {
        Some(kinds) if !kinds.iter().any(|kind| kind == "object") => return Ok(None),
        Some(kinds) if kinds.len() > 1 => {
            cx.lose(
                &node.place("type"),
                "only objects are taken here; other types are left out",
            );
        }
        _ => {}
    }
    if node.is_never() {
        return Ok(None);
    }
    node.set_data("type", "object");
    Ok(Some(node))
}

const LEADS_BACK: &str = "it leads back to a schema around this one";

/// Whether references stay or are written out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum References {
    Keep,
    WriteOut,
}

/// What a schema comes down to.
#[derive(Debug)]
pub(super) enum Form {
    /// A reference, and annotations beside it. When references are written out it is one that
    /// leads back to where it is, and could be written out forever.
    Reference(String, Node),
    /// Alternatives, and annotations beside them.
    AnyOf(Node, Vec<Node>),
    /// A schema of these types, without combinators.
    Typed(Vec<String>, Node),
    /// A schema that says nothing about types.
    Anything(Node),
}

/// Lowers a schema for a provider that knows no references: they are written out, down to where a schema contains itself.
pub(super) fn write_out(
    cx: &mut Context,
    node: Node,
    trail: &mut Vec<String>,
    depth: usize,
    of_form: fn(&mut Context, Form, &mut Vec<String>, usize) -> Result<Node, Trouble>,
) -> Result<Node, Trouble> {
    if depth > MAX_DEPTH {
        return Err(Trouble::whole(
            &node.at,
            "its references, written out, are nested too deep",
        ));
    }
    let mark = trail.len();
    let lowered = simplify(cx, node, trail, References::WriteOut)
        .and_then(|form| of_form(cx, form, trail, depth));
    trail.truncate(mark);
    lowered
}

/// Says that a schema contains itself where it cannot; the types that the reference leads to.
pub(super) fn cut_short(cx: &mut Context, reference: &str, node: &Node) -> Vec<String> {
    cx.lose(
        &node.at,
        "the schema contains itself here and is cut short; \
         Toolcrib still enforces all of it when the tool is called",
    );
    let kinds = cx.definitions.get(reference).and_then(Node::types);
    kinds.unwrap_or_default()
}

/// Works out references with company, `allOf`, and alternatives with company.
///
/// References followed are added to the trail, which the caller cuts back when it is done with the
/// schema and what is inside it.
pub(super) fn simplify(
    cx: &mut Context,
    mut node: Node,
    trail: &mut Vec<String>,
    references: References,
) -> Result<Form, Trouble> {
    let mark = trail.len();
    let contradiction = |at: &str| Trouble::part(at, "nothing can fit all that is asked of it");
    loop {
        cx.spend(1)?;
        if node.is_never() {
            return Err(Trouble::part(&node.at, "nothing is allowed here"));
        }
        if let Some(reference) = node.reference().map(str::to_owned) {
            let known = trail.iter().position(|own| *own == reference);
            node.remove("$ref");
            let alone = node.only_annotates();
            match known {
                // Said already, by this very schema.
                Some(place) if place >= mark => continue,
                Some(_) => {
                    let company: Vec<String> = node.keywords().map(str::to_owned).collect();
                    for keyword in company
                        .iter()
                        .filter(|word| !ANNOTATIONS.contains(&word.as_str()))
                    {
                        let why = "the reference beside it leads back to a schema around this one";
                        cx.lose_constraint(&node.place(keyword), keyword, why);
                        node.remove(keyword);
                    }
                    return Ok(Form::Reference(reference, node));
                }
                None if alone && references == References::Keep => {
                    return Ok(Form::Reference(reference, node));
                }
                None => {
                    let target = cx.expand(&reference)?;
                    trail.push(reference);
                    let at = node.at.clone();
                    conjoin(cx, &mut node, target).map_err(|_| contradiction(&at))?;
                    continue;
                }
            }
        }
        let parts = node.take_many("allOf");
        if !parts.is_empty() {
            for mut part in parts {
                // A schema has one `$ref`; of two, the second is written out.
                if let (true, Some(reference)) =
                    (node.has("$ref"), part.reference().map(str::to_owned))
                {
                    part.remove("$ref");
                    match trail.iter().position(|own| *own == reference) {
                        Some(place) if place < mark => {
                            cx.lose_constraint(&part.place("$ref"), "$ref", LEADS_BACK);
                        }
                        Some(_) => {}
                        None if node.reference() == Some(&reference) => {}
                        None => {
                            let target = cx.expand(&reference)?;
                            trail.push(reference);
                            conjoin(cx, &mut part, target).map_err(|_| contradiction(&node.at))?;
                        }
                    }
                }
                let at = node.at.clone();
                conjoin(cx, &mut node, part).map_err(|_| contradiction(&at))?;
            }
            continue;
        }
        if node.has("anyOf") && node.has("oneOf") {
            let why = "there are other alternatives beside it";
            cx.lose_constraint(&node.place("oneOf"), "oneOf", why);
            node.remove("oneOf");
        }
        let keyword = if node.has("oneOf") { "oneOf" } else { "anyOf" };
        let variants = match node.get_mut(keyword) {
            Some(Word::Many(variants)) if !variants.is_empty() => variants,
            _ => {
                return Ok(match types(&node) {
                    Some(kinds) => {
                        node.set_types(&kinds);
                        Form::Typed(kinds, node)
                    }
                    None => Form::Anything(node),
                });
            }
        };
        variants.retain(|variant| !variant.is_never());
        match variants.len() {
            0 => return Err(Trouble::part(&node.at, "nothing is allowed here")),
            1 => {
                let only = node.take_many(keyword);
                node.set("allOf", Word::Many(only));
                continue;
            }
            _ if is_object(&node) => {
                let at = node.at.clone();
                let all = trail.clone();
                let mut inner = Trail {
                    all,
                    around: mark,
                    ..Trail::default()
                };
                let merged = object(cx, node, &mut inner, 0)?;
                trail.append(&mut inner.followed);
                node = merged.ok_or_else(|| contradiction(&at))?;
                continue;
            }
            _ => {}
        }
        let place = node.place(keyword);
        let mut variants = node.take_many(keyword);
        if keyword == "oneOf" {
            cx.lose(
                &place,
                "`oneOf` becomes `anyOf`; \
                 Toolcrib still enforces that exactly one fits when the tool is called",
            );
        }
        let notes = annotations(&node);
        ANNOTATIONS
            .iter()
            .for_each(|keyword| drop(node.remove(keyword)));
        if node.keywords().next().is_some() {
            cx.spend(node.size().saturating_mul(variants.len()))?;
            for variant in &mut variants {
                let at = variant.at.clone();
                let own = std::mem::replace(variant, Node::empty(&at));
                *variant = Node::with(&at, "allOf", Word::Many(vec![own, node.clone()]));
            }
        }
        return Ok(Form::AnyOf(notes, variants));
    }
}

/// The annotations of a schema, without the rest.
pub(super) fn annotations(node: &Node) -> Node {
    let mut notes = node.clone();
    for entry in notes.take_words() {
        if ANNOTATIONS.contains(&entry.keyword.as_str()) {
            notes.adopt(entry);
        }
    }
    notes
}

fn is_object(node: &Node) -> bool {
    match types(node) {
        Some(kinds) => kinds == ["object"],
        None => false,
    }
}
