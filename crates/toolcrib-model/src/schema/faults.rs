//! Faults of a value, each with its JSON pointer, in words a model can act on.

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{ValidationError, Validator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Schema, cost};
use crate::text;

/// One thing wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Where, as a JSON pointer.
    pub pointer: String,
    /// What; reads on from the pointer: `` `/path` is required ``.
    pub message: String,
}

/// More than these help no one.
pub(super) const MAX_FAULTS: usize = 50;
/// Looking for near names is dear.
const MAX_SUGGESTIONS: usize = 10;

/// The longest pointer that is said whole, in bytes: names in a value may be as long as the value.
const MAX_POINTER: usize = 512;

pub(super) fn of(validator: &Validator, value: &Value, schema: &Schema) -> Vec<Fault> {
    let errors = cost::of(&schema.value, value)
        .ok()
        .and_then(|cost| cost.errors);
    if errors.is_none() {
        return vec![Fault {
            pointer: String::new(),
            message:
                "does not match the schema, and has too many parts, or names too long, to say where"
                    .to_owned(),
        }];
    }
    let mut faults = Vec::new();
    for error in validator.iter_errors(value) {
        let at = error.instance_path().as_str();
        let shortened = (at.len() > MAX_POINTER).then(|| text::shorten(at, MAX_POINTER));
        let at = shortened.as_deref().unwrap_or(at);
        match error.kind() {
            Kind::Required { property } => faults.push(Fault {
                pointer: pointer_to(at, property.as_str().unwrap_or_default()),
                message: "is required".to_owned(),
            }),
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                for name in unexpected.iter().take(MAX_FAULTS) {
                    let suggest = faults.len() < MAX_SUGGESTIONS;
                    faults.push(unknown_parameter(at, name, schema, suggest));
                }
            }
            _ => faults.push(Fault {
                pointer: at.to_owned(),
                message: in_words(&error),
            }),
        }
        if faults.len() >= MAX_FAULTS {
            break;
        }
    }
    faults.truncate(MAX_FAULTS);
    faults
}

/// The message for a text at which an engine gave up.
const UNDECIDED: &str = "could not be matched with its pattern within bounds";

/// Whether an engine gave up, so that nothing is known.
pub(super) fn is_undecided(fault: &Fault) -> bool {
    fault.message == UNDECIDED
}

fn unknown_parameter(at: &str, name: &str, schema: &Schema, suggest: bool) -> Fault {
    let mut message = String::from("is not a parameter");
    if at.is_empty() && suggest {
        let known: Vec<&str> = schema
            .properties()
            .map(|(name, _)| name)
            .take(500)
            .collect();
        match text::nearest(name, known.iter().copied()).as_slice() {
            [] if known.is_empty() => message.push_str("; there are none"),
            [] => message.push_str(&format!("; there are {}", listed(&known))),
            near => message.push_str(&format!("; did you mean {}?", text::or_list(near))),
        }
    }
    Fault {
        pointer: pointer_to(at, name),
        message,
    }
}

/// The names, the first dozen of them.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 12;
    let shown: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{}`", text::visible(name)))
        .collect();
    let more = if names.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// The pointer of a field of what `at` points to. Long hostile names are shortened.
#[doc(hidden)]
pub fn pointer_to(at: &str, name: &str) -> String {
    format!(
        "{at}/{}",
        text::shorten(name, 128)
            .replace('~', "~0")
            .replace('/', "~1")
    )
}

/// What the error says, without echoing the value: it may be long, or a secret.
pub(super) fn in_words(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::Type { kind } => {
            let wanted = match kind {
                TypeKind::Single(kind) => format!("{kind}"),
                TypeKind::Multiple(kinds) => kinds
                    .iter()
                    .map(|kind| kind.to_string())
                    .collect::<Vec<_>>()
                    .join(" or "),
            };
            format!(
                "must be of type {wanted}, not {}",
                type_of(error.instance())
            )
        }
        Kind::Enum { options } => format!(
            "must be one of {}",
            text::shorten(&listed_values(options), 400)
        ),
        Kind::Constant { expected_value } => format!(
            "must be {}",
            text::shorten(&expected_value.to_string(), 200)
        ),
        Kind::Minimum { limit } => format!("must be {limit} or more"),
        Kind::Maximum { limit } => format!("must be {limit} or less"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("must have {limit} or more characters"),
        Kind::MaxLength { limit } => format!("must have {limit} or fewer characters"),
        Kind::MinItems { limit } => format!("must have {limit} or more items"),
        Kind::MaxItems { limit } => format!("must have {limit} or fewer items"),
        Kind::MinProperties { limit } => format!("must have {limit} or more fields"),
        Kind::MaxProperties { limit } => format!("must have {limit} or fewer fields"),
        Kind::Pattern { pattern } => {
            format!("must match the pattern `{}`", text::shorten(pattern, 200))
        }
        Kind::BacktrackLimitExceeded { .. } => UNDECIDED.to_owned(),
        Kind::Format { format } => format!("must be a valid {}", text::shorten(format, 64)),
        Kind::UniqueItems => "must not have the same item twice".to_owned(),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            format!("matches none of the {} allowed forms", context.len())
        }
        Kind::OneOfMultipleValid { .. } => "matches more than one of the allowed forms".to_owned(),
        Kind::PropertyNames { .. } => "has a field whose name is not allowed".to_owned(),
        Kind::FalseSchema => "is not allowed here".to_owned(),
        // The rest are rare; the library's own words, with the value masked.
        _ => text::shorten(&error.masked().to_string(), 400),
    }
}

fn listed_values(options: &Value) -> String {
    match options {
        Value::Array(values) => values
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join(", "),
        other => other.to_string(),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn faults(schema: Value, args: Value) -> Vec<(String, String)> {
        let schema = Schema::stored(schema).unwrap();
        let Value::Object(args) = args else {
            panic!("an object")
        };
        let Err(super::super::Rejected::Arguments { faults, .. }) =
            schema.check_arguments(args, &[])
        else {
            panic!("the arguments were accepted, or the schema was not")
        };
        faults
            .into_iter()
            .map(|fault| (fault.pointer, fault.message))
            .collect()
    }

    #[test]
    fn every_fault_is_reported_with_its_pointer() {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["path", "mode"], "properties": {
            "path": {"type": "string", "minLength": 1},
            "mode": {"enum": ["a", "b"]},
            "nested": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}}}});
        let found = faults(schema, json!({"pth": "x", "mode": "c", "nested": {"n": 4}}));
        for expected in [
            ("/path", "is required"),
            ("/mode", r#"must be one of "a", "b""#),
            ("/nested/n", "must be 3 or less"),
            ("/pth", "is not a parameter; did you mean `path`?"),
        ] {
            assert!(
                found.contains(&(expected.0.into(), expected.1.into())),
                "{expected:?} in {found:?}"
            );
        }
    }

    /// Without a bound this takes hundreds of gigabytes.
    #[test]
    fn a_million_faults_below_a_long_name_are_one() {
        let schema = json!({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}});
        let name = "k".repeat(1_000_000);
        let many = vec![json!(1); 500_000];
        let found = faults(schema.clone(), json!({ (&name): many }));
        assert_eq!(found.len(), 1);
        assert!(found[0].1.contains("too many parts"), "{found:?}");
        let found = faults(schema.clone(), json!({"k": vec![json!(1); 500_000]}));
        assert_eq!(found.len(), 1);
        let found = faults(schema.clone(), json!({ (&name): [1, 2] }));
        assert_eq!(found.len(), 2);
        assert!(found[0].0.len() < 600, "{}", found[0].0.len());
        let found = faults(schema, json!({"k": vec![json!(1); 5_000]}));
        assert_eq!(found.len(), MAX_FAULTS);
    }

    /// Without a bound 2 KB of arguments take 1.8 GB.
    #[test]
    fn forms_times_items_that_all_fail_are_one_fault() {
        for forms in [
            json!({"anyOf": (0..4000).map(|n| json!({"const": n})).collect::<Vec<_>>()}),
            json!({"oneOf": (0..4000).map(|n| json!({"const": n})).collect::<Vec<_>>()}),
            json!({"enum": (0..4000).collect::<Vec<_>>()}),
        ] {
            let schema =
                json!({"type": "object", "properties": {"a": {"type": "array", "items": forms}}});
            let found = faults(schema.clone(), json!({"a": vec![-1; 1000]}));
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].1.contains("too many parts"), "{found:?}");
            let found = faults(schema.clone(), json!({"a": [-1, 1]}));
            assert_eq!(found[0].0, "/a/0");
            // Also if all of them fit.
            let found = faults(schema, json!({"a": vec![1; 80_000]}));
            assert!(found[0].1.contains("takes too long to check"), "{found:?}");
        }
    }

    #[test]
    fn the_value_is_never_echoed() {
        let schema = json!({"type": "object", "properties": {"token": {"type": "string", "pattern": "^x$", "maxLength": 3}}});
        let found = faults(schema, json!({"token": "SENTINEL-7f3a"}));
        assert_eq!(found.len(), 2);
        assert!(!format!("{found:?}").contains("SENTINEL"), "{found:?}");
    }

    #[test]
    fn a_value_that_would_be_checked_for_ever_is_refused_by_its_depth() {
        let schema = json!({"type": "object", "oneOf": [
            {"required": ["a"], "properties": {"next": {"$ref": "#"}}},
            {"required": ["b"], "properties": {"next": {"$ref": "#"}}}]});
        let mut deep = json!({});
        for _ in 0..60 {
            deep = json!({"next": deep});
        }
        assert!(faults(schema.clone(), deep)[0].1.contains("levels deep"));
        let shallow = json!({"a": 1, "next": {"b": 1, "next": {"a": 1}}});
        let Value::Object(shallow) = shallow else {
            panic!("an object")
        };
        assert!(
            Schema::stored(schema)
                .unwrap()
                .check_arguments(shallow, &[])
                .is_ok()
        );
    }

    #[test]
    fn patterns_run_in_linear_time_and_authors_are_refused_look_around() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}});
        let hostile = format!("{}!", "a".repeat(50_000));
        assert_eq!(faults(schema, json!({"a": hostile})).len(), 1);
        let refused =
            Schema::stored(json!({"type": "object", "properties": {"a": {"pattern": "(?=a)b"}}}))
                .unwrap();
        assert!(refused.compile().is_err());
    }
}
