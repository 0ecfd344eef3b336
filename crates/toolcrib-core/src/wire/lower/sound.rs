//! What every reader wants of a schema, whichever keywords it takes: [`settle`] brings a schema into that form, or says why it cannot.
//!
//! A list of tools is refused as a whole for one bad schema: by JSON Schema's own rules (Anthropic and VS Code check a schema by its
//! metaschema), and for arrays without `items` (OpenAI, VS Code). So a word of an older draft is replaced by that of today, and a word whose
//! value makes no sense is [`Trouble`], which leaves the tool out alone.

use serde_json::Value;

use super::Trouble;
use super::node::{Node, Word, join};

/// The types there are.
const TYPES: [&str; 7] = [
    "object", "array", "string", "number", "integer", "boolean", "null",
];

/// What a keyword that holds no schema must have; `None` if its value is fine.
pub(super) fn fault(keyword: &str, value: &Value) -> Option<&'static str> {
    let is_type = |value: &Value| value.as_str().is_some_and(|kind| TYPES.contains(&kind));
    let (is_sound, wanted) = match keyword {
        "type" => (
            match value {
                Value::Array(kinds) => !kinds.is_empty() && kinds.iter().all(is_type),
                kind => is_type(kind),
            },
            "is one of `object`, `array`, `string`, `number`, `integer`, `boolean` and `null`, or a list of them",
        ),
        "required" => (
            value
                .as_array()
                .is_some_and(|names| names.iter().all(Value::is_string)),
            "is a list of names",
        ),
        "enum" | "examples" => (value.is_array(), "is a list"),
        "title" | "description" | "format" | "pattern" | "contentEncoding" | "contentMediaType" => {
            (value.is_string(), "is a text")
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            (value.is_number(), "is a number")
        }
        "multipleOf" => (
            value.as_f64().is_some_and(|number| number > 0.0),
            "is a number above 0",
        ),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => (is_count(value), "is a whole number, 0 or more"),
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => {
            (value.is_boolean(), "is true or false")
        }
        // A `dependencies` that holds schemas is not data.
        "dependentRequired" | "dependencies" => (
            value
                .as_object()
                .is_some_and(|lists| lists.values().all(is_names_once)),
            "maps names to lists of names, each name once in its list",
        ),
        _ => return None,
    };
    (!is_sound).then_some(wanted)
}

fn is_names_once(value: &Value) -> bool {
    value.as_array().is_some_and(|names| {
        let is_new = |index: usize| !names[..index].contains(&names[index]);
        names.iter().all(Value::is_string) && (0..names.len()).all(is_new)
    })
}

fn is_count(value: &Value) -> bool {
    value.is_u64()
        || value
            .as_f64()
            .is_some_and(|number| number >= 0.0 && number.fract() == 0.0)
}

/// Brings a schema, and every schema in it, into the form that all readers take.
pub(super) fn settle(root: &mut Node) -> Result<Vec<(String, String)>, Trouble> {
    let mut losses = Vec::new();
    let mut trouble = None;
    root.each_mut(&mut |node| {
        if trouble.is_none() {
            trouble = settle_one(node, &mut losses).err();
        }
    });
    match trouble {
        Some(trouble) => Err(trouble),
        None => Ok(losses),
    }
}

fn settle_one(node: &mut Node, losses: &mut Vec<(String, String)>) -> Result<(), Trouble> {
    of_today(node);
    let keywords: Vec<String> = node.keywords().map(str::to_owned).collect();
    for keyword in keywords {
        if let Some(wanted) = node.data(&keyword).and_then(|value| fault(&keyword, value)) {
            let reason = format!("`{keyword}` {wanted}");
            return Err(Trouble::whole(&node.place(&keyword), reason));
        }
    }
    once_each(node);
    without_empty_lists(node, losses);
    without_impossible(node, losses)?;
    if let Some(Value::String(pattern)) = node.data("pattern")
        && !crate::schema::patterns::is_regular(pattern)
    {
        let place = node.place("pattern");
        node.remove("pattern");
        losses.push((
            place,
            "`pattern` is left out: it is not a regular expression".to_owned(),
        ));
    }
    let place = node.place("patternProperties");
    if let Some(Word::Named(patterns)) = node.get_mut("patternProperties") {
        let before = patterns.len();
        patterns.retain(|(pattern, _)| crate::schema::patterns::is_regular(pattern));
        if patterns.len() < before {
            losses.push((
                place,
                "a pattern of `patternProperties` is left out: it is not a regular expression"
                    .to_owned(),
            ));
        }
    }
    if has_no_values(node) {
        let place = node.place("enum");
        node.remove("enum");
        losses.push((
            place,
            "`enum` is left out: it is empty, so no value fits".to_owned(),
        ));
    }
    Ok(())
}

/// Draft 4 has limits that are marked as exclusive, and drafts up to 2019-09 tuples in `items`.
fn of_today(node: &mut Node) {
    for (mark, limit) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        match node.data(mark) {
            Some(Value::Bool(false)) => drop(node.remove(mark)),
            Some(Value::Bool(true)) => match node.remove(limit) {
                Some(value) => node.set(mark, value),
                None => drop(node.remove(mark)),
            },
            _ => {}
        }
    }
    if matches!(node.get("items"), Some(Word::Many(_))) {
        let places = node.take_many("items");
        let rest = node.remove("additionalItems");
        if !places.is_empty() {
            node.set("prefixItems", Word::Many(places));
        }
        match rest {
            Some(Word::Data(Value::Bool(true))) | None => {}
            Some(Word::Data(Value::Bool(false))) => {
                let nothing = super::read::never(&join(&node.at, "items"));
                node.set("items", Word::One(Box::new(nothing)));
            }
            Some(rest) => node.set("items", rest),
        }
    }
    match node.data("items") {
        Some(Value::Bool(true)) => {
            let anything = Node::empty(&join(&node.at, "items"));
            node.set("items", Word::One(Box::new(anything)));
        }
        Some(Value::Bool(false)) => {
            let nothing = super::read::never(&join(&node.at, "items"));
            node.set("items", Word::One(Box::new(nothing)));
        }
        _ => {}
    }
}

/// Names and types are said once.
fn once_each(node: &mut Node) {
    for keyword in ["required", "type"] {
        if let Some(Word::Data(Value::Array(names))) = node.get_mut(keyword) {
            let mut seen: Vec<Value> = Vec::with_capacity(names.len());
            names.retain(|name| {
                let is_new = !seen.contains(name);
                if is_new {
                    seen.push(name.clone());
                }
                is_new
            });
        }
    }
}

/// A list of schemas holds at least one. An empty `allOf` or `prefixItems` asks for nothing; an empty `anyOf` or `oneOf` lets nothing fit.
fn without_empty_lists(node: &mut Node, losses: &mut Vec<(String, String)>) {
    for keyword in ["allOf", "anyOf", "oneOf", "prefixItems"] {
        if !matches!(node.get(keyword), Some(Word::Many(nodes)) if nodes.is_empty()) {
            continue;
        }
        let place = node.place(keyword);
        node.remove(keyword);
        if matches!(keyword, "anyOf" | "oneOf") {
            losses.push((
                place,
                format!("`{keyword}` is left out: it is empty, so no value fits"),
            ));
        }
    }
}

/// Leaves out parameters that no value fits. One that is required makes the object impossible.
fn without_impossible(node: &mut Node, losses: &mut Vec<(String, String)>) -> Result<(), Trouble> {
    let required = node.required();
    let Some(Word::Named(properties)) = node.get_mut("properties") else {
        return Ok(());
    };
    let mut needed = None;
    properties.retain(|(name, property)| {
        if !has_no_values(property) {
            return true;
        }
        let place = property.place("enum");
        if required.contains(name) {
            needed.get_or_insert(place);
        } else {
            let reason = "this property is left out: its `enum` is empty, so no value fits";
            losses.push((place, reason.to_owned()));
        }
        false
    });
    match needed {
        Some(place) => Err(Trouble::whole(
            &place,
            "no value fits a required parameter: its `enum` is empty",
        )),
        None => Ok(()),
    }
}

fn has_no_values(node: &Node) -> bool {
    matches!(node.data("enum"), Some(Value::Array(values)) if values.is_empty())
}

/// Says what readers want to have said: what an array holds, and every required name among the properties.
pub(super) fn spell_out(node: &mut Node) {
    let is_array = node
        .types()
        .is_some_and(|kinds| kinds.iter().any(|kind| kind == "array"));
    let is_closed = matches!(node.get("items"), Some(Word::One(items)) if items.is_never());
    if is_closed && let Some(Word::Many(places)) = node.get("prefixItems") {
        let most = places.len();
        if !node.has("maxItems") {
            node.set_data("maxItems", most);
        }
    }
    // A tuple that ends is said by its length: some readers take `items` that nothing fits for none.
    let needs_items = is_array && (!node.has("items") || is_closed && node.has("prefixItems"));
    if needs_items {
        let items = Node::empty(&join(&node.at, "items"));
        node.set("items", Word::One(Box::new(items)));
    }
    let required = node.required();
    let is_open = node.data("additionalProperties") != Some(&Value::Bool(false));
    let at = node.at.clone();
    let Some(Word::Named(properties)) = node.get_mut("properties") else {
        return;
    };
    let mut unknown: Vec<String> = required
        .into_iter()
        .filter(|name| !properties.iter().any(|(own, _)| own == name))
        .collect();
    if is_open {
        for name in unknown.drain(..) {
            let place = join(&join(&at, "properties"), &name);
            properties.push((name, Node::empty(&place)));
        }
    }
    if !unknown.is_empty()
        && let Some(Word::Data(Value::Array(names))) = node.get_mut("required")
    {
        names.retain(|name| !unknown.iter().any(|one| name == one.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::read;
    use super::*;
    use serde_json::json;

    fn settled(schema: Value) -> Result<Value, String> {
        let mut node = read(&schema).unwrap();
        settle(&mut node).map_err(|trouble| format!("{}: {}", trouble.at, trouble.reason))?;
        node.each_mut(&mut spell_out);
        Ok(node.write())
    }

    #[test]
    fn words_of_older_drafts_become_those_of_today() {
        assert_eq!(
            settled(json!({"minimum": 1, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false})).unwrap(),
            json!({"exclusiveMinimum": 1, "maximum": 9})
        );
        assert_eq!(
            settled(
                json!({"type": "array", "items": [{"type": "string"}], "additionalItems": false})
            )
            .unwrap(),
            json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {}, "maxItems": 1})
        );
    }

    #[test]
    fn what_makes_no_sense_is_trouble_at_its_place() {
        for (schema, place) in [
            (
                json!({"properties": {"n": {"type": "any"}}}),
                "/properties/n/type",
            ),
            (json!({"required": null}), "/required"),
            (
                json!({"properties": {"n": {"required": true}}}),
                "/properties/n/required",
            ),
            (
                json!({"properties": {"n": {"minLength": -1}}}),
                "/properties/n/minLength",
            ),
            (
                json!({"dependentRequired": {"a": ["b", "b"]}}),
                "/dependentRequired",
            ),
            (
                json!({"required": ["n"], "properties": {"n": {"enum": []}}}),
                "/properties/n/enum",
            ),
        ] {
            let error = settled(schema).unwrap_err();
            assert!(error.starts_with(&format!("{place}: ")), "{error}");
        }
    }

    #[test]
    fn a_pattern_that_is_too_large_to_be_checked_here_is_published_and_one_that_is_not_a_pattern_is_not()
     {
        let large = format!("^({}){{2}}$", "a".repeat(20_000));
        for (pattern, is_published) in [
            ("^(a{999}){999}$", true),
            ("(?=x)(a{999}){999}", true),
            (large.as_str(), true),
            ("[unclosed", false),
            ("(?=x)[unclosed", false),
            ("(?=x", false),
        ] {
            let expected = match is_published {
                true => json!({"pattern": pattern}),
                false => json!({}),
            };
            assert_eq!(settled(json!({"pattern": pattern})).unwrap(), expected);
            let expected = match is_published {
                true => json!({pattern: {}}),
                false => json!({}),
            };
            assert_eq!(
                settled(json!({"patternProperties": {pattern: {}}})).unwrap(),
                json!({ "patternProperties": expected })
            );
        }
    }

    #[test]
    fn a_list_of_schemas_that_is_empty_is_left_out() {
        let lists = json!({"allOf": [], "anyOf": [], "oneOf": [], "prefixItems": []});
        assert_eq!(
            settled(json!({"properties": {"n": lists}})).unwrap(),
            json!({"properties": {"n": {}}})
        );
    }

    #[test]
    fn an_optional_parameter_that_nothing_fits_is_left_out() {
        let schema = json!({"properties": {"n": {"enum": []}, "m": {"items": {"enum": []}}}});
        assert_eq!(
            settled(schema).unwrap(),
            json!({"properties": {"m": {"items": {}}}})
        );
    }

    #[test]
    fn required_names_are_among_the_properties() {
        assert_eq!(
            settled(json!({"properties": {}, "required": ["a", "a"]})).unwrap(),
            json!({"properties": {"a": {}}, "required": ["a"]})
        );
        assert_eq!(
            settled(json!({"properties": {}, "required": ["a"], "additionalProperties": false}))
                .unwrap(),
            json!({"properties": {}, "required": [], "additionalProperties": false})
        );
        let nothing_described = json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
        assert_eq!(
            settled(nothing_described.clone()).unwrap(),
            nothing_described
        );
    }
}
