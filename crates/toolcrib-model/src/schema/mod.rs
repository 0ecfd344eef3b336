//! JSON Schemas of tools: which ones are accepted, and checking arguments and outputs by them.
//!
//! A schema comes from outside (a manifest, an upstream server) and is hostile until proven
//! otherwise: its size, depth and references are bounded when it is made, so that compiling and
//! validating are bounded too, and `pattern` runs on a linear-time engine. Compiling is lazy (a
//! thousand tools of which three are called compile three validators).

mod builder;
mod depth;
mod faults;
#[doc(hidden)]
pub mod hidden;
mod limits;
mod patterns;
mod shape;
mod typed;

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, Hash as _, Hasher, RandomState};
use std::sync::{Arc, OnceLock, Weak};

use jsonschema::{PatternOptions, Validator};
use serde::Serialize;
use serde_json::Value;

pub use builder::{ObjectBuilder, Property};
pub use faults::Fault;
pub use faults::pointer_to;
pub use typed::{input_schema_of, output_schema_of};

use crate::JsonObject;
use shape::Shape;

/// A JSON Schema that Toolcrib accepts.
pub struct Schema {
    value: Value,
    compiled: OnceLock<Result<Compiled, SchemaError>>,
}

struct Compiled {
    validator: Validator,
    shape: Shape,
    has_secrets: bool,
    /// How deep a value may be nested.
    max_depth: Option<usize>,
    /// How many bytes of text a value may have.
    max_text: u64,
}

impl Compiled {
    fn new(schema: &Value) -> Result<Self, SchemaError> {
        let largest = patterns::largest(schema)?;
        let patterns = PatternOptions::regex()
            .size_limit(patterns::MAX_SIZE)
            .dfa_size_limit(patterns::MAX_SIZE);
        let validator = jsonschema::options()
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(patterns)
            .build(schema)
            .map_err(|error| {
                SchemaError::one(error.instance_path().as_str(), faults::in_words(&error))
            })?;
        Ok(Compiled {
            validator,
            shape: Shape::of(schema),
            has_secrets: shape::mentions_secrets(schema),
            max_depth: depth::limit(schema),
            max_text: patterns::longest_text(largest),
        })
    }

    /// Compiles where there is stack enough: the compiler recurses along references, and a schema
    /// within the bounds can lead it through thousands.
    fn roomy(schema: &Value) -> Result<Self, SchemaError> {
        const STACK: usize = 64 * 1024 * 1024;
        if !limits::refers(schema) {
            return Compiled::new(schema);
        }
        let failed = || SchemaError::one("", "the schema could not be compiled");
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, || Compiled::new(schema));
            thread
                .map_err(|_| failed())?
                .join()
                .unwrap_or_else(|_| Err(failed()))
        })
    }

    /// Why a value would take too long to check.
    fn too_much(&self, value: &Value) -> Option<Fault> {
        let what = match self.max_depth {
            Some(max) if is_deeper(value, max) => format!("is nested more than {max} levels deep"),
            _ if is_longer(value, self.max_text) => {
                format!("has more than {} bytes of text", self.max_text)
            }
            _ => return None,
        };
        Some(Fault {
            pointer: String::new(),
            message: format!("{what}, which takes too long to check by this schema"),
        })
    }
}

/// Whether all texts in a value have more bytes than this.
fn is_longer(value: &Value, bytes: u64) -> bool {
    fn left(value: &Value, bytes: u64) -> Option<u64> {
        match value {
            Value::String(text) => bytes.checked_sub(text.len() as u64),
            Value::Array(items) => items
                .iter()
                .try_fold(bytes, |bytes, item| left(item, bytes)),
            Value::Object(fields) => fields.iter().try_fold(bytes, |bytes, (key, value)| {
                left(value, bytes.checked_sub(key.len() as u64)?)
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => Some(bytes),
        }
    }
    bytes < u64::MAX && left(value, bytes).is_none()
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let deeper = |inner: &Value| levels == 0 || is_deeper(inner, levels - 1);
    match value {
        Value::Array(items) => items.iter().any(deeper),
        Value::Object(fields) => fields.values().any(deeper),
        _ => false,
    }
}

/// Why a schema is not accepted: every problem, each with the JSON pointer of its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    /// The problems, at least one.
    pub problems: Vec<SchemaProblem>,
}

/// One problem of a schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaProblem {
    /// Where in the schema.
    pub pointer: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl SchemaError {
    fn one(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        SchemaError {
            problems: vec![SchemaProblem {
                pointer: pointer.into(),
                message: message.into(),
            }],
        }
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            let place = if problem.pointer.is_empty() {
                "/"
            } else {
                &problem.pointer
            };
            write!(f, "{separator}at `{place}`: {}", problem.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for SchemaError {}

/// Why arguments were not accepted.
#[derive(Debug, Clone, PartialEq)]
pub enum Rejected {
    /// They do not fit.
    Arguments {
        /// The arguments, as far as they could be normalised.
        args: JsonObject,
        /// Every fault.
        faults: Vec<Fault>,
    },
    /// The schema itself cannot be used.
    Schema(SchemaError),
}

impl Schema {
    /// Starts a schema of named parameters; see [`ObjectBuilder`].
    pub fn object() -> ObjectBuilder {
        ObjectBuilder::default()
    }

    /// S1's `create_json_schema`: properties and the names of the required ones.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolcrib::Schema;
    /// let schema = Schema::create(json!({"arg1": {"type": "string", "description": "First argument"}}), &["arg1"]);
    /// assert!(schema.is_ok());
    /// let error = Schema::create(json!({"arg1": {"type": "string"}}), &[]).unwrap_err();
    /// assert!(error.to_string().contains("needs a `description`"));
    /// ```
    pub fn create(properties: Value, required: &[&str]) -> Result<Schema, SchemaError> {
        let mut root = serde_json::json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            root["required"] = required.iter().copied().collect();
        }
        Schema::authored(root)
    }

    /// Accepts what an author writes, by all of S1's rules: the root is an object; every property
    /// has a type and a description.
    pub fn authored(value: Value) -> Result<Schema, SchemaError> {
        let schema = Schema::stored(value)?;
        let mut problems = Vec::new();
        builder::check_properties(&schema.value, &mut problems);
        if problems.is_empty() {
            Ok(schema)
        } else {
            Err(SchemaError { problems })
        }
    }

    /// Accepts what is stored or comes from upstream: the root must be an object, the rest is the
    /// author's affair.
    pub fn stored(value: Value) -> Result<Schema, SchemaError> {
        match value.get("type") {
            Some(Value::String(kind)) if kind == "object" => Schema::output(value),
            Some(other) => Err(SchemaError::one(
                "/type",
                format!(
                    "the root of a tool's parameters must be `\"type\": \"object\"`, not `{other}`"
                ),
            )),
            None => Err(SchemaError::one(
                "",
                "the root of a tool's parameters needs `\"type\": \"object\"`; providers refuse anything else",
            )),
        }
    }

    /// Accepts what describes an output: any bounded schema without hidden characters in names and values.
    pub fn output(value: Value) -> Result<Schema, SchemaError> {
        limits::check(&value)?;
        hidden::check(&value)?;
        Ok(Schema {
            value,
            compiled: OnceLock::new(),
        })
    }

    /// The schema as JSON.
    pub fn as_value(&self) -> &Value {
        &self.value
    }

    /// The top-level properties, in the author's order.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.value
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|properties| {
                properties
                    .iter()
                    .map(|(name, property)| (name.as_str(), property))
            })
    }

    /// Whether a top-level property is required.
    pub fn requires(&self, name: &str) -> bool {
        self.value
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|required| required.iter().any(|entry| entry == name))
    }

    /// Compiles the validator now rather than at the first call; says what is wrong if it cannot.
    pub fn compile(&self) -> Result<(), SchemaError> {
        self.compiled().map(|_| ()).map_err(Clone::clone)
    }

    fn compiled(&self) -> Result<&Compiled, &SchemaError> {
        self.compiled
            .get_or_init(|| Compiled::roomy(&self.value))
            .as_ref()
    }

    /// Whether a parameter is marked as secret.
    #[doc(hidden)]
    pub fn mentions_secrets(&self) -> bool {
        shape::mentions_secrets(&self.value)
    }

    /// Checks arguments: other spellings are folded in, nulls of optional parameters dropped,
    /// defaults filled, then everything validated. Returns what the tool gets, or every fault.
    pub fn check_arguments(
        &self,
        args: JsonObject,
        synonyms: &[(String, String)],
    ) -> Result<JsonObject, Rejected> {
        let compiled = match self.compiled() {
            Ok(compiled) => compiled,
            Err(error) => return Err(Rejected::Schema(error.clone())),
        };
        let mut faults = Vec::new();
        let value = Value::Object(compiled.shape.normalise(args, synonyms, &mut faults));
        if let Some(fault) = compiled.too_much(&value) {
            faults.push(fault);
        } else if !faults.is_empty() || !compiled.validator.is_valid(&value) {
            faults.extend(faults::of(&compiled.validator, &value, self));
        }
        match value {
            Value::Object(args) if faults.is_empty() => Ok(args),
            Value::Object(args) => Err(Rejected::Arguments { args, faults }),
            _ => unreachable!("made an object above"),
        }
    }

    /// Checks an output; returns every fault.
    pub fn check_output(&self, value: &Value) -> Result<Vec<Fault>, &SchemaError> {
        let compiled = self.compiled()?;
        if let Some(fault) = compiled.too_much(value) {
            return Ok(vec![fault]);
        }
        if compiled.validator.is_valid(value) {
            return Ok(Vec::new());
        }
        Ok(faults::of(&compiled.validator, value, self))
    }

    /// The arguments with the values of secret parameters (`writeOnly`, or `format: password`)
    /// replaced by a mask.
    pub fn masked(&self, args: &JsonObject, synonyms: &[(String, String)]) -> JsonObject {
        let mut masked = args.clone();
        match self.compiled() {
            Ok(compiled) if compiled.has_secrets => compiled.shape.mask(&mut masked, synonyms),
            Ok(_) | Err(_) => {}
        }
        masked
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.value)
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

/// Shares equal schemas between tools: thousands of generated tools often have a handful of
/// parameter lists between them. Keeps nothing alive that no tool uses.
#[derive(Debug, Default)]
pub struct SchemaPool {
    by_hash: HashMap<u64, Weak<Schema>>,
    hasher: RandomState,
}

impl SchemaPool {
    /// The shared instance of a schema equal to this one.
    pub fn share(&mut self, schema: Arc<Schema>) -> Arc<Schema> {
        let mut hash = self.hasher.build_hasher();
        hash_value(&schema.value, &mut hash);
        let slot = self.by_hash.entry(hash.finish()).or_default();
        match slot.upgrade() {
            Some(shared) if shared.value == schema.value => shared,
            // Another schema with the same hash keeps its place: sharing is only thrift.
            Some(_) => schema,
            None => {
                *slot = Arc::downgrade(&schema);
                schema
            }
        }
    }
}

fn hash_value(value: &Value, hash: &mut impl Hasher) {
    std::mem::discriminant(value).hash(hash);
    match value {
        Value::Null => {}
        Value::Bool(flag) => flag.hash(hash),
        Value::Number(number) => number.hash(hash),
        Value::String(text) => text.hash(hash),
        Value::Array(items) => items.iter().for_each(|item| hash_value(item, hash)),
        Value::Object(fields) => fields.iter().for_each(|(key, field)| {
            key.hash(hash);
            hash_value(field, hash);
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_longest_chains_that_are_accepted_compile_also_on_a_small_stack() {
        let mut defs = JsonObject::new();
        for n in 0..4000 {
            defs.insert(
                format!("c{n}"),
                json!({"properties": {"x": {"$ref": format!("#/$defs/c{}", n + 1)}}}),
            );
        }
        defs.insert("c4000".into(), json!({}));
        let schema =
            json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/c0"}}, "$defs": defs});
        let small = std::thread::Builder::new().stack_size(512 * 1024);
        let compiled =
            small.spawn(move || Schema::stored(schema).map(|schema| schema.compile().is_ok()));
        assert_eq!(compiled.unwrap().join().unwrap(), Ok(true));
    }

    #[test]
    fn many_parameters_that_refer_to_the_whole_stay_small() {
        let properties: JsonObject = (0..1000)
            .map(|n| (format!("p{n}"), json!({"$ref": "#"})))
            .collect();
        let schema = Schema::stored(json!({"type": "object", "properties": properties})).unwrap();
        let args = json!({"p1": {"p2": {}}}).as_object().unwrap().clone();
        assert!(schema.check_arguments(args, &[]).is_ok());
    }

    #[test]
    fn formats_are_enforced() {
        let schema =
            json!({"type": "object", "properties": {"day": {"type": "string", "format": "date"}}});
        let schema = Schema::stored(schema).unwrap();
        let check = |day: &str| {
            schema
                .check_arguments(json!({"day": day}).as_object().unwrap().clone(), &[])
                .is_ok()
        };
        assert!(check("2026-11-15") && !check("banana"));
    }
}
