//! `parameters`.

use serde_json::{Value, json};

use super::field_value::At;
use super::templates::is_variable;
use crate::definition::problem::{Findings, SpannedProblem};
use crate::definition::values;
use crate::definition::yaml::{Key, Node};
use crate::definition::{Format, Parameter, ParameterKind, Validation};
use crate::expr::Expression;
use crate::model::text::{nearest, or_list, shorten};
use crate::schema::Schema;
use crate::template::{NamedParameter, Names, Text};

/// A parameter that has been read.
pub(super) struct Read {
    pub(super) parameter: Parameter,
}

/// The longest name: what providers allow.
const MAX_NAME: usize = 64;

pub(super) fn read(root: At<'_, '_>, found: &mut Findings<'_>) -> Vec<Read> {
    let Some(at) = root.get("parameters") else {
        return Vec::new();
    };
    let mut read = Vec::new();
    for (key, at) in at.entries() {
        if name(key, found) {
            let parameter = parameter(key, at, found);
            read.push(Read { parameter });
        }
    }
    read
}

fn name(key: &Key<'_>, found: &mut Findings<'_>) -> bool {
    let name = &*key.text;
    if is_variable(name) {
        let message =
            format!("`{name}` is a variable of Toolcrib's, so no parameter can have its name");
        found.push(
            SpannedProblem::error("reserved-name", key.span.clone(), message)
                .help(format!("choose another name, as in `MY_{name}`")),
        );
        return false;
    }
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let rest = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if starts && rest && name.len() <= MAX_NAME {
        return true;
    }
    let message = format!(
        "`{}` cannot be a parameter's name: it begins with a letter or `_`, goes on with letters, digits, `_` and `-`, and has at most {MAX_NAME} characters",
        shorten(name, 80)
    );
    found.push(SpannedProblem::error("bad-name", key.span.clone(), message));
    false
}

fn kind(word: Option<&str>) -> ParameterKind {
    match word {
        Some("number") => ParameterKind::Number,
        Some("integer") => ParameterKind::Integer,
        Some("boolean") => ParameterKind::Boolean,
        Some("array") => ParameterKind::Array,
        Some("object") => ParameterKind::Object,
        _ => ParameterKind::String,
    }
}

/// The name of a type in files.
pub(super) fn word(kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::String => "string",
        ParameterKind::Number => "number",
        ParameterKind::Integer => "integer",
        ParameterKind::Boolean => "boolean",
        ParameterKind::Array => "array",
        ParameterKind::Object => "object",
    }
}

fn parameter(key: &Key<'_>, at: At<'_, '_>, found: &mut Findings<'_>) -> Parameter {
    let name = key.text.clone().into_owned();
    let kind = kind(at.choice("type"));
    let description = at.text_of("description").unwrap_or_default();
    if !at.has("description") {
        let message = format!(
            "the parameter `{name}` has no `description`, which is what a model fills it in by"
        );
        found.push(SpannedProblem::error(
            "missing-field",
            key.span.clone(),
            message,
        ));
    }
    let validation = validation(&name, kind, at, found);
    let transform = at.get("transform").and_then(|at| {
        let text = at.text()?;
        match Expression::compile(text, &["value"]) {
            Ok(expression) => Some(expression),
            Err(error) => {
                let message = format!("`transform` of `{name}` cannot be used: {error}");
                found.push(
                    SpannedProblem::error("bad-expression", at.span(), message)
                        .help("write an expression over `value`, as in \"value.toLowerCase()\""),
                );
                None
            }
        }
    });
    // A transformation changes what is checked, and a file's JavaScript does not run before a person has trusted it.
    let checks = match transform {
        Some(_) => None,
        None => checks(kind, &validation),
    };
    let mut default = None;
    if let Some(value_at) = at.get("default") {
        let severity = at.boolean("required").unwrap_or(false);
        default = typed(
            value_at.node,
            kind,
            &format!("the default of `{name}`"),
            found,
        );
        if let (Some(value), Some(checks)) = (&default, &checks)
            && let Some(why) = unfit(checks, value)
        {
            let message =
                format!("the default of `{name}` does not pass its own validation: {why}");
            found.push(match severity {
                true => SpannedProblem::warning("default-unfit", value_at.span(), message),
                false => SpannedProblem::error("default-unfit", value_at.span(), message),
            });
        }
        if at.boolean("required") == Some(true) {
            let message = format!(
                "`{name}` is said to be required and has a default: a call that lacks it gets the default"
            );
            found.push(
                SpannedProblem::warning("required-default", at.key_span("required"), message)
                    .help("remove one of the two"),
            );
        }
    }
    let mut examples = Vec::new();
    for example in at.get("examples").map(At::nodes).unwrap_or_default() {
        let Some(value) = typed(
            example.node,
            kind,
            &format!("an example of `{name}`"),
            found,
        ) else {
            continue;
        };
        if let Some(why) = checks.as_ref().and_then(|checks| unfit(checks, &value)) {
            let message = format!("an example of `{name}` does not pass its validation: {why}");
            found.push(SpannedProblem::warning(
                "example-unfit",
                example.span(),
                message,
            ));
        }
        examples.push(value);
    }
    let escape_shell = at
        .get("security")
        .and_then(|security| {
            let escape = security.boolean("escape-shell")?;
            if !escape {
                let message = format!(
                    "`{name}` is pasted into commands as it is, so its value can be any command; every call asks a person"
                );
                found.push(
                    SpannedProblem::warning("raw-parameter", security.key_span("escape-shell"), message)
                        .help("remove the line unless the parameter is meant to be shell text"),
                );
            }
            Some(escape)
        })
        .unwrap_or(true);
    Parameter {
        kind,
        description: description.trim_end().to_owned(),
        required: at.boolean("required").unwrap_or(default.is_none()),
        default,
        validation,
        transform,
        format: at.get("format").and_then(|at| format(&name, at, found)),
        examples,
        detailed_help: at.text_of("detailed-help").map(str::to_owned),
        escape_shell,
        name,
    }
}

/// A value of a parameter's type, from the text that the file has.
pub(super) fn typed(
    node: &Node<'_>,
    kind: ParameterKind,
    whose: &str,
    found: &mut Findings<'_>,
) -> Option<Value> {
    let problem = match (kind, node.scalar()) {
        (ParameterKind::String, Some(scalar)) => {
            return Some(Value::String(scalar.text.clone().into_owned()));
        }
        (ParameterKind::Number, Some(scalar)) => match values::number(scalar) {
            Ok(number) => return Some(Value::Number(number)),
            Err(unfit) => Some(unfit),
        },
        (ParameterKind::Integer, Some(scalar)) => match values::whole(scalar) {
            Ok(number) => return Some(Value::Number(number)),
            Err(unfit) => Some(unfit),
        },
        (ParameterKind::Boolean, Some(scalar)) => match values::boolean(scalar) {
            Ok(truth) => return Some(Value::Bool(truth)),
            Err(unfit) => Some(unfit),
        },
        (ParameterKind::Array, None) if node.list().is_some() => return Some(values::json(node)),
        (ParameterKind::Object, None) if node.map().is_some() => return Some(values::json(node)),
        _ => None,
    };
    let message = match &problem {
        Some(unfit) => unfit.sentence(whose, &format!("of type {}", word(kind))),
        None => format!(
            "{whose} must be of type {}; this is {}",
            word(kind),
            node.in_words()
        ),
    };
    let mut found_here = SpannedProblem::error("wrong-type", node.span.clone(), message);
    if let Some(instead) = problem.and_then(|unfit| unfit.instead) {
        found_here = found_here
            .help(format!("write `{instead}`"))
            .fix(node.span.clone(), instead);
    }
    found.push(found_here);
    None
}

/// The words of JSON Schema that a parameter and its `validation` may both have.
const WORDS: &[&str] = &[
    "minimum",
    "maximum",
    "pattern",
    "minLength",
    "maxLength",
    "enum",
];

/// What a value must be like. Each word may be beside `type`, as in a JSON Schema, or beneath `validation`.
fn validation(
    name: &str,
    kind: ParameterKind,
    parameter: At<'_, '_>,
    found: &mut Findings<'_>,
) -> Validation {
    let below = parameter.get("validation");
    for word in WORDS {
        if let Some(below) = below.filter(|below| below.has(word) && parameter.has(word)) {
            let message = format!(
                "`{word}` of `{name}` is given twice: beside `type` and beneath `validation`"
            );
            let problem = SpannedProblem::error("duplicate-key", below.key_span(word), message);
            found.push(problem.help("remove one of them"));
        }
    }
    let holder = |word: &str| match below {
        Some(below) if !parameter.has(word) => below,
        _ => parameter,
    };
    let length = |word: &str| {
        let length = holder(word).integer(word)?;
        u64::try_from(length).ok()
    };
    let mut validation = Validation {
        minimum: holder("minimum").number("minimum"),
        maximum: holder("maximum").number("maximum"),
        pattern: holder("pattern").text_of("pattern").map(str::to_owned),
        min_length: length("minLength"),
        max_length: length("maxLength"),
        allowed: holder("enum").get("enum").map(|at| {
            at.nodes()
                .into_iter()
                .filter_map(|item| typed(item.node, kind, &format!("a value of `{name}`"), found))
                .collect()
        }),
        items: items(name, parameter, found),
    };
    for (word, kinds) in [
        (
            "minimum",
            &[ParameterKind::Number, ParameterKind::Integer][..],
        ),
        ("maximum", &[ParameterKind::Number, ParameterKind::Integer]),
        ("pattern", &[ParameterKind::String]),
        ("minLength", &[ParameterKind::String, ParameterKind::Array]),
        ("maxLength", &[ParameterKind::String, ParameterKind::Array]),
        ("items", &[ParameterKind::Array]),
    ] {
        let at = match word {
            "items" => parameter,
            word => holder(word),
        };
        if at.has(word) && !kinds.contains(&kind) {
            let kinds: Vec<&str> = kinds.iter().map(|kind| self::word(*kind)).collect();
            let message = format!(
                "`{word}` has no effect on a parameter of type {}; it is for {}",
                self::word(kind),
                kinds.join(" and ")
            );
            found.push(SpannedProblem::warning(
                "without-effect",
                at.key_span(word),
                message,
            ));
        }
    }
    let number =
        |number: &Option<serde_json::Number>| number.as_ref().and_then(serde_json::Number::as_f64);
    if let (Some(least), Some(most)) = (number(&validation.minimum), number(&validation.maximum))
        && least > most
    {
        found.push(empty_range(holder("minimum"), "minimum", "maximum"));
    }
    if let (Some(least), Some(most)) = (validation.min_length, validation.max_length)
        && least > most
    {
        found.push(empty_range(holder("minLength"), "minLength", "maxLength"));
    }
    if validation.allowed.as_ref().is_some_and(Vec::is_empty) {
        found.push(SpannedProblem::error(
            "empty-range",
            holder("enum").key_span("enum"),
            "`enum` lists no value, so no call can be right",
        ));
    }
    if let Some(pattern_at) = holder("pattern").get("pattern")
        && let Some(pattern) = pattern_at.text()
        && let Err(why) = check_pattern(pattern)
    {
        let message = format!("the pattern of `{name}` cannot be used: {why}");
        found.push(SpannedProblem::error("bad-pattern", pattern_at.span(), message).help(
            "patterns run in linear time: no look-around, no back-references, no huge repetitions",
        ));
        validation.pattern = None;
    }
    validation
}

/// What each item of a list must be like. Only the words that everything else here knows, so that a misspelt one is found.
fn items(name: &str, parameter: At<'_, '_>, found: &mut Findings<'_>) -> Option<Value> {
    let at = parameter.get("items")?;
    at.node.map()?;
    let items = values::json(at.node);
    if let Some(word) = unknown_word(&items) {
        let message = format!(
            "`{}` in the `items` of `{name}` is not a word of JSON Schema",
            shorten(&word, 60)
        );
        let problem = SpannedProblem::error("unknown-key", at.span(), message);
        found.push(
            match nearest(&word, SCHEMA_WORDS.iter().copied()).as_slice() {
                [] => problem.help("write a JSON Schema, as in `items: {type: string}`"),
                near => problem.help(format!("did you mean {}?", or_list(near))),
            },
        );
        return None;
    }
    let schema = json!({"type": "array", "items": items});
    let checked = Schema::output(schema).and_then(|schema| schema.compile());
    if let Err(error) = checked {
        let message = format!("`items` of `{name}` cannot be used as a JSON Schema: {error}");
        let problem = SpannedProblem::error("bad-schema", at.span(), message);
        found.push(problem.help("write a JSON Schema, as in `items: {type: string}`"));
        return None;
    }
    Some(items)
}

/// The words of JSON Schema that `items` may have, at any depth.
const SCHEMA_WORDS: &[&str] = &[
    "type",
    "description",
    "title",
    "default",
    "examples",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "pattern",
    "minLength",
    "maxLength",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "properties",
    "required",
    "additionalProperties",
    "anyOf",
    "oneOf",
    "allOf",
];

/// The first word of a schema that has no meaning.
fn unknown_word(schema: &Value) -> Option<String> {
    let fields = schema.as_object()?;
    fields.iter().find_map(|(word, below)| match word.as_str() {
        _ if !SCHEMA_WORDS.contains(&word.as_str()) => Some(word.clone()),
        "items" | "additionalProperties" => unknown_word(below),
        "properties" => below.as_object()?.values().find_map(unknown_word),
        "anyOf" | "oneOf" | "allOf" => below.as_array()?.iter().find_map(unknown_word),
        _ => None,
    })
}

fn empty_range(at: At<'_, '_>, least: &str, most: &str) -> SpannedProblem {
    let message = format!("`{least}` is larger than `{most}`, so no value can be right");
    SpannedProblem::error("empty-range", at.key_span(least), message)
}

/// Compiles a pattern as the schema of the parameters will; the error is the end of a sentence.
pub(super) fn check_pattern(pattern: &str) -> Result<(), &'static str> {
    let schema = json!({"type": "string", "pattern": pattern});
    let compiled = Schema::output(schema).and_then(|schema| schema.compile());
    compiled.map_err(|_| {
        let escaped_digit = pattern
            .as_bytes()
            .windows(2)
            .any(|two| two[0] == b'\\' && (b'1'..=b'9').contains(&two[1]));
        if ["(?=", "(?!", "(?<=", "(?<!"]
            .iter()
            .any(|look| pattern.contains(look))
        {
            "look-around takes a search that may never end"
        } else if escaped_digit {
            "back-references take a search that may never end"
        } else {
            "it is not a regular expression, or one that becomes too large"
        }
    })
}

/// The checks of a parameter as a schema; nothing where there is nothing to check but the type.
fn checks(kind: ParameterKind, validation: &Validation) -> Option<Schema> {
    let mut schema = serde_json::Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            schema.insert(key.to_owned(), value);
        }
    };
    let (shortest, longest) = match kind {
        ParameterKind::Array => ("minItems", "maxItems"),
        _ => ("minLength", "maxLength"),
    };
    put("minimum", validation.minimum.clone().map(Value::Number));
    put("maximum", validation.maximum.clone().map(Value::Number));
    put("pattern", validation.pattern.clone().map(Value::String));
    put(shortest, validation.min_length.map(Value::from));
    put(longest, validation.max_length.map(Value::from));
    put("enum", validation.allowed.clone().map(Value::Array));
    put("items", validation.items.clone());
    match schema.is_empty() {
        true => None,
        false => Schema::output(Value::Object(schema)).ok(),
    }
}

fn unfit(checks: &Schema, value: &Value) -> Option<String> {
    let faults = checks.check_output(value).ok()?;
    faults.first().map(|fault| fault.message.clone())
}

fn format(name: &str, at: At<'_, '_>, found: &mut Findings<'_>) -> Option<Format> {
    let source = at.text()?;
    let names = Names {
        parameters: vec![NamedParameter {
            name: "value".to_owned(),
            kind: ParameterKind::String,
            format: None,
            raw: false,
        }],
        ..Names::default()
    };
    if source.trim().is_empty() {
        let message = format!("`format` of `{name}` is blank, so the parameter would never appear");
        found.push(SpannedProblem::error("bad-format", at.span(), message));
        return None;
    }
    if source.contains(['"', '\'', '`', '$']) {
        let message = format!(
            "`format` of `{name}` has characters of the shell; it is words for a program, in which a value needs no quotes"
        );
        found.push(
            SpannedProblem::error("bad-format", at.span(), message)
                .help("write the words alone, as in \"--param={value}\" or \"-p {value}\""),
        );
        return None;
    }
    let mut words = Vec::new();
    for word in source.split_whitespace() {
        match Text::compile(word, &names) {
            Ok(word) => words.push(word),
            Err(problems) => {
                for problem in problems {
                    found.push(SpannedProblem::error(
                        "bad-format",
                        at.span(),
                        problem.message,
                    ));
                }
                return None;
            }
        }
    }
    Some(Format {
        words,
        source: source.to_owned(),
    })
}
