//! OpenAI's strict mode: output that is guaranteed to fit, for schemas of a small sublanguage.
//!
//! Every object is closed and requires all its properties; what was optional may be null instead.
//! [`Schema::check_arguments`](crate::Schema::check_arguments) reads that null as left out, except
//! where the forms of an `anyOf` or `oneOf` disagree about it.
//!
//! An object that takes any field and a value of any type have no strict form: an optional
//! property of such a kind is left out of the definition, a required one leaves out the tool.

use std::collections::HashMap;

use serde_json::Value;

use super::flatten::{Form, References, annotations, simplify};
use super::limits::check_limits;
use super::node::{MAX_DEPTH, Node, Word};
use super::refs::{attach, reachable};
use super::types::{by_type, tuple_to_list};
use super::{Context, Dialect, LossExtent, Trouble};

const FORMATS: [&str; 9] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

/// Lowers a schema whose root is one object.
pub(super) fn lower(cx: &mut Context, mut root: Node) -> Result<Node, Trouble> {
    if cx.dialect == Dialect::AnthropicStrict {
        super::ordinary_dialect::plain_names(cx, &mut root)?;
    }
    let trail = vec!["#".to_owned()];
    let mut strict = Strict {
        cx,
        trail,
        begun: HashMap::new(),
        definitions: HashMap::new(),
    };
    let mut root = strict.object(root, Level::Root, 0)?;
    let mut definitions = strict.definitions;
    let used = reachable(&root, |reference| {
        let (node, losses) = definitions.remove(reference)?;
        losses
            .iter()
            .for_each(|(at, reason)| cx.lose(at, reason.as_str()));
        Some(node)
    });
    attach(&mut root, used)?;
    check_limits(&root)?;
    Ok(root)
}

struct Strict<'a> {
    cx: &'a mut Context,
    /// The references followed to get here.
    trail: Vec<String>,
    /// The definitions lowered or being lowered, and why those failed that did.
    begun: HashMap<String, Option<String>>,
    /// The lowered ones, each with what it lost.
    definitions: HashMap<String, (Node, Vec<(String, String)>)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Inside,
}

impl Strict<'_> {
    fn schema(&mut self, node: Node, depth: usize) -> Result<Node, Trouble> {
        if depth > MAX_DEPTH {
            return Err(Trouble::whole(
                &node.at,
                "its references are nested too deep",
            ));
        }
        let mark = self.trail.len();
        let lowered = simplify(self.cx, node, &mut self.trail, References::Keep)
            .and_then(|form| self.of_form(form, depth));
        self.trail.truncate(mark);
        lowered
    }

    fn of_form(&mut self, form: Form, depth: usize) -> Result<Node, Trouble> {
        match form {
            Form::Reference(reference, mut notes) => {
                self.define(&reference, &notes.at, depth)?;
                let target = Node::with(&notes.at, "$ref", Word::Data(reference.into()));
                self.cx.keep_only(&mut notes, &["title", "description"]);
                // A reference must stand alone.
                if notes.keywords().next().is_none() {
                    return Ok(target);
                }
                notes.set("anyOf", Word::Many(vec![target]));
                Ok(notes)
            }
            Form::AnyOf(notes, variants) => self.any_of(notes, variants, depth),
            Form::Typed(kinds, node) => match kinds.as_slice() {
                [kind] if kind == "object" => self.object(node, Level::Inside, depth),
                [kind] if kind == "array" => self.array(node, depth),
                kinds if kinds.iter().any(|kind| kind == "object" || kind == "array") => {
                    self.any_of(annotations(&node), by_type(&node, kinds), depth)
                }
                kinds if self.is_anthropic() && kinds.len() > 1 => {
                    self.any_of(annotations(&node), by_type(&node, kinds), depth)
                }
                kinds => self.scalar(node, kinds),
            },
            Form::Anything(node) => Err(Trouble::part(
                &node.at,
                "it takes a value of any type, which strict mode cannot say; give it a `type`",
            )),
        }
    }

    /// Anthropic's strict mode has fewer words than OpenAI's, and lets parameters be left out.
    fn is_anthropic(&self) -> bool {
        self.cx.dialect == Dialect::AnthropicStrict
    }

    /// Lowers a definition, once.
    fn define(&mut self, reference: &str, at: &str, depth: usize) -> Result<(), Trouble> {
        let is_open =
            self.begun.get(reference) == Some(&None) && !self.definitions.contains_key(reference);
        if self.is_anthropic() && (is_open || reference == "#") {
            return Err(Trouble::part(
                at,
                "it contains itself, which Anthropic's strict mode cannot say",
            ));
        }
        match self.begun.get(reference) {
            Some(None) => return Ok(()),
            Some(Some(reason)) => return Err(Trouble::part(at, reason.clone())),
            None if reference == "#" => return Ok(()),
            None => {}
        }
        self.begun.insert(reference.to_owned(), None);
        let body = self.cx.expand(reference)?;
        let around = std::mem::replace(&mut self.trail, vec!["#".to_owned(), reference.to_owned()]);
        let before = self.cx.mark();
        let lowered = self.schema(body, depth + 1);
        self.trail = around;
        // Kept with the definition: the part that needed it first may still be left out.
        let losses = self.cx.forget_since(before);
        match lowered {
            Ok(node) => {
                self.definitions
                    .insert(reference.to_owned(), (node, losses));
                Ok(())
            }
            Err(trouble) => {
                self.begun
                    .insert(reference.to_owned(), Some(trouble.reason.clone()));
                Err(trouble)
            }
        }
    }

    fn any_of(
        &mut self,
        mut notes: Node,
        variants: Vec<Node>,
        depth: usize,
    ) -> Result<Node, Trouble> {
        let mut lowered: Vec<Node> = Vec::new();
        for variant in variants {
            let (at, before) = (variant.at.clone(), self.cx.mark());
            match self.schema(variant, depth + 1) {
                Ok(variant) if lowered.contains(&variant) => {}
                Ok(variant) => lowered.push(variant),
                Err(part) if part.reach == LossExtent::Part => {
                    self.cx.forget_since(before);
                    self.cx.lose(
                        &at,
                        format!("this alternative is left out: {}", part.reason),
                    );
                }
                Err(whole) => return Err(whole),
            }
        }
        self.cx.keep_only(&mut notes, &["title", "description"]);
        match lowered.len() {
            0 => Err(Trouble::part(
                &notes.at,
                "none of its alternatives can be said in strict mode",
            )),
            1 if notes.keywords().next().is_none() => Ok(lowered.remove(0)),
            _ => {
                notes.set("anyOf", Word::Many(lowered));
                Ok(notes)
            }
        }
    }

    fn object(&mut self, mut node: Node, level: Level, depth: usize) -> Result<Node, Trouble> {
        let required = node.required();
        let properties = node.take_named("properties");
        let is_map = node.remove("patternProperties").is_some();
        let others = node
            .remove("additionalProperties")
            .or_else(|| node.remove("unevaluatedProperties"));
        node.remove("unevaluatedProperties");
        let is_closed = matches!(others, Some(Word::Data(Value::Bool(false))));
        if properties.is_empty() {
            // At the root, saying nothing about parameters is how a tool says that it has none.
            let says_nothing = level == Level::Root && others.is_none();
            if is_map || !(is_closed || says_nothing) {
                return Err(Trouble::part(
                    &node.at,
                    "it takes an object of any fields, which strict mode cannot say; list its `properties`",
                ));
            }
        } else if is_map || (others.is_some() && !is_closed) {
            self.cx.lose(
                &node.at,
                "fields that are not listed are left out: in strict mode every object is closed",
            );
        }
        if let Some(name) = required
            .iter()
            .find(|name| !properties.iter().any(|(own, _)| own == *name))
        {
            let name = crate::model::text::shorten(name, 64);
            return Err(Trouble::part(
                &node.at,
                format!("it requires `{name}` but does not describe it"),
            ));
        }
        let mut lowered = Vec::new();
        for (name, property) in properties {
            let (at, before) = (property.at.clone(), self.cx.mark());
            match self.schema(property, depth + 1) {
                Ok(property) if required.contains(&name) => lowered.push((name, property)),
                Ok(property) if self.is_anthropic() => lowered.push((name, property)),
                Ok(property) => lowered.push((name, nullable(property))),
                Err(part) if part.reach == LossExtent::Part && !required.contains(&name) => {
                    self.cx.forget_since(before);
                    self.cx
                        .lose(&at, format!("this property is left out: {}", part.reason));
                }
                Err(trouble) => return Err(trouble),
            }
        }
        refuse_values(&node)?;
        node.remove("required");
        self.cx
            .keep_only(&mut node, &["type", "title", "description"]);
        node.set_data("type", "object");
        let names = lowered.iter().map(|(name, _)| name.clone());
        let names: Vec<String> = match self.is_anthropic() {
            true => names.filter(|name| required.contains(name)).collect(),
            false => names.collect(),
        };
        node.set("properties", Word::Named(lowered));
        node.set_data("required", names);
        node.set_data("additionalProperties", false);
        Ok(node)
    }

    fn array(&mut self, mut node: Node, depth: usize) -> Result<Node, Trouble> {
        tuple_to_list(self.cx, &mut node);
        refuse_values(&node)?;
        let Some(Word::One(items)) = node.remove("items") else {
            return Err(Trouble::part(
                &node.at,
                "it takes an array of anything, which strict mode cannot say; give it `items`",
            ));
        };
        let items = self.schema(*items, depth + 1)?;
        self.cx.keep_only(
            &mut node,
            &["type", "title", "description", "minItems", "maxItems"],
        );
        self.keep_if(
            &mut node,
            &["minItems", "maxItems"],
            "it is not a whole number",
            Value::is_u64,
        );
        if self.is_anthropic() {
            let why = "Anthropic's strict mode takes no more than `minItems` of 0 or 1";
            let is_few = |count: &Value| count.as_u64().is_some_and(|count| count < 2);
            self.keep_if(&mut node, &["minItems"], why, is_few);
            self.keep_if(&mut node, &["maxItems"], why, |_| false);
        }
        node.set_data("type", "array");
        node.set("items", Word::One(Box::new(items)));
        Ok(node)
    }

    fn scalar(&mut self, mut node: Node, kinds: &[String]) -> Result<Node, Trouble> {
        let known = ["string", "number", "integer", "boolean", "null"];
        if let Some(kind) = kinds.iter().find(|kind| !known.contains(&kind.as_str())) {
            let kind = crate::model::text::shorten(kind, 64);
            return Err(Trouble::part(&node.at, format!("`{kind}` is not a type")));
        }
        let numeric = [
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ];
        let plain = [
            "type",
            "title",
            "description",
            "enum",
            "const",
            "pattern",
            "format",
        ];
        let words = match self.is_anthropic() {
            true => plain
                .into_iter()
                .filter(|word| *word != "pattern")
                .collect(),
            false => [&plain[..], &numeric[..]].concat(),
        };
        self.cx.keep_only(&mut node, &words);
        self.keep_if(&mut node, &numeric, "it is not a number", Value::is_number);
        self.keep_if(
            &mut node,
            &["format"],
            "strict mode does not know this one",
            |format| {
                format
                    .as_str()
                    .is_some_and(|format| FORMATS.contains(&format))
            },
        );
        self.keep_if(
            &mut node,
            &["pattern"],
            "strict mode cannot look around",
            |pattern| {
                let looks_around = |pattern: &str| {
                    ["(?=", "(?!", "(?<"]
                        .iter()
                        .any(|look| pattern.contains(look))
                };
                pattern
                    .as_str()
                    .is_some_and(|pattern| !looks_around(pattern))
            },
        );
        self.keep_if(
            &mut node,
            &["enum"],
            "it is not a list of values",
            |values| values.as_array().is_some_and(|values| !values.is_empty()),
        );
        let values = node
            .data("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        if values
            .chain(node.data("const"))
            .any(|value| value.is_array() || value.is_object())
        {
            return Err(Trouble::part(&node.at, "its values are arrays or objects"));
        }
        Ok(node)
    }

    /// Leaves out the keywords whose value is of no use, and reports each.
    fn keep_if(
        &mut self,
        node: &mut Node,
        keywords: &[&str],
        why: &str,
        is_good: impl Fn(&Value) -> bool,
    ) {
        for keyword in keywords {
            if node.has(keyword) && !node.data(keyword).is_some_and(&is_good) {
                self.cx.lose_constraint(&node.place(keyword), keyword, why);
                node.remove(keyword);
            }
        }
    }
}

/// Whole objects or arrays to choose from have no strict form.
fn refuse_values(node: &Node) -> Result<(), Trouble> {
    if node.has("enum") || node.has("const") {
        return Err(Trouble::part(&node.at, "its values are arrays or objects"));
    }
    Ok(())
}

/// The same schema, or null.
fn nullable(mut node: Node) -> Node {
    if accepts_null(&node) {
        return node;
    }
    let null = Node::of_type(&node.at, "null");
    if let Some(Word::Many(variants)) = node.get_mut("anyOf") {
        variants.push(null);
        return node;
    }
    let is_plain = !["enum", "const", "$ref", "properties", "items"]
        .iter()
        .any(|word| node.has(word));
    match node.types() {
        Some(mut kinds) if is_plain => {
            kinds.push("null".to_owned());
            node.set_types(&kinds);
            node
        }
        _ => {
            let mut notes = annotations(&node);
            for keyword in ["title", "description"] {
                node.remove(keyword);
            }
            notes.set("anyOf", Word::Many(vec![node, null]));
            notes
        }
    }
}

fn accepts_null(node: &Node) -> bool {
    if let Some(Word::Many(variants)) = node.get("anyOf") {
        return variants.iter().any(accepts_null);
    }
    let is_null_type = node
        .types()
        .is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"));
    match (node.data("enum"), node.data("const")) {
        (Some(Value::Array(values)), _) => is_null_type && values.contains(&Value::Null),
        (_, Some(value)) => value.is_null(),
        _ => is_null_type,
    }
}
