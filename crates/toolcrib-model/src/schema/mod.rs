//! JSON Schemas of tools: which ones are accepted, and checking arguments and outputs by them.
//!
//! A schema comes from outside (a manifest, an upstream server) and is hostile until proven
//! otherwise: its size, depth and references are bounded when it is made, so that compiling and
//! validating are bounded too, and `pattern` runs on a linear-time engine, or within a number of
//! steps. Compiling is lazy (a thousand tools of which three are called compile three validators).

mod builder;
mod cost;
mod depth;
mod faults;
mod glance;
#[doc(hidden)]
pub mod hidden;
mod limits;
mod parts;
#[doc(hidden)]
pub mod patterns;
#[doc(hidden)]
pub mod reference;
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
    /// What the patterns ask that need steps, if there are some; the validator knows nothing of them.
    stepwise: Option<Stepwise>,
    /// The parameters of which the validator checks the type alone.
    relaxed: Vec<String>,
    shape: Shape,
    has_secrets: bool,
    /// How deep a value may be nested, and how many checks one place of it may get.
    bounds: depth::Bounds,
    /// How many bytes of text a value may have.
    max_text: u64,
}

/// A validator that takes steps at patterns, within bounds.
struct Stepwise {
    validator: Validator,
    /// The parameters of which it checks the type alone.
    relaxed: Vec<String>,
}

impl Compiled {
    fn new(schema: &Value) -> Result<Self, SchemaError> {
        let largest = patterns::largest(schema);
        let direct = largest
            .clone()
            .and_then(|_| built(schema, patterns::linear()));
        let why = match direct {
            Ok(validator) => {
                let largest = largest.unwrap_or_default();
                return Ok(Compiled::of(schema, validator, None, Vec::new(), largest));
            }
            Err(error) => error,
        };
        let odd = patterns::Odd::of(schema);
        if odd.is_empty() {
            return Err(why);
        }
        let (plain, relaxed) = odd.linear(schema);
        let validator = built(&plain, patterns::linear())?;
        let stepwise = odd.backtracked(schema).and_then(|(schema, relaxed)| {
            let validator = built(&schema, patterns::backtracking()).ok()?;
            Some(Stepwise { validator, relaxed })
        });
        let largest = patterns::largest(&plain)?;
        Ok(Compiled::of(schema, validator, stepwise, relaxed, largest))
    }

    fn of(
        schema: &Value,
        validator: Validator,
        stepwise: Option<Stepwise>,
        relaxed: Vec<String>,
        largest: usize,
    ) -> Self {
        Compiled {
            validator,
            stepwise,
            relaxed,
            shape: Shape::of(schema),
            has_secrets: shape::mentions_secrets(schema),
            bounds: depth::Bounds::of(schema),
            max_text: patterns::longest_text(largest),
        }
    }

    /// The faults of a value, and what of it could not be checked.
    fn faults(&self, value: &Value, schema: &Schema) -> (Vec<Fault>, Vec<String>) {
        if let Some(fault) = self.too_much(value, schema) {
            return (vec![fault], Vec::new());
        }
        let is_short = |names: &[String]| {
            let bytes = patterns::MAX_ODD_TEXT;
            !names.iter().any(|name| match name.as_str() {
                "" => is_longer(value, bytes),
                name => value.get(name).is_some_and(|value| is_longer(value, bytes)),
            })
        };
        if let Some(stepwise) = &self.stepwise
            && is_short(&self.relaxed)
        {
            let unchecked = || unchecked(&stepwise.relaxed, value);
            if stepwise.validator.is_valid(value) {
                return (Vec::new(), unchecked());
            }
            let faults = faults::of(&stepwise.validator, value, schema);
            if !faults.iter().any(faults::is_undecided) {
                return (faults, unchecked());
            }
        }
        let faults = match self.validator.is_valid(value) {
            true => Vec::new(),
            false => faults::of(&self.validator, value, schema),
        };
        (faults, unchecked(&self.relaxed, value))
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
    fn too_much(&self, value: &Value, schema: &Schema) -> Option<Fault> {
        let what = match self.bounds.depth {
            Some(max) if is_deeper(value, max) => format!("is nested more than {max} levels deep"),
            _ if is_longer(value, self.max_text) => {
                format!("has more than {} bytes of text", self.max_text)
            }
            // An upper bound first, which nearly all values are below.
            _ if has_more_parts(value, cost::MAX_CHECKS / self.bounds.checks.max(1))
                && cost::of(&schema.value, value).is_err() =>
            {
                format!("asks for more than {} checks", cost::MAX_CHECKS)
            }
            _ => return None,
        };
        Some(Fault {
            pointer: String::new(),
            message: format!("{what}, which takes too long to check by this schema"),
        })
    }
}

fn built<E>(schema: &Value, patterns: PatternOptions<E>) -> Result<Validator, SchemaError> {
    jsonschema::options()
        .offline()
        .should_validate_formats(true)
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(|error| SchemaError::one(error.instance_path().as_str(), faults::in_words(&error)))
}

/// Warnings for the parameters that were given and checked by their type alone.
fn unchecked(names: &[String], value: &Value) -> Vec<String> {
    let given = names
        .iter()
        .filter(|name| name.is_empty() || value.get(name.as_str()).is_some());
    let said = given.map(|name| {
        let what = match name.as_str() {
            "" => "the arguments were".to_owned(),
            name => format!("`{}` was", pointer_to("", name)),
        };
        format!("{what} checked by type alone: the pattern in the schema takes more than can be spent on it here")
    });
    said.collect()
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

/// Whether a value has more parts than this.
fn has_more_parts(value: &Value, parts: u64) -> bool {
    fn left(value: &Value, parts: u64) -> Option<u64> {
        let parts = parts.checked_sub(1)?;
        match value {
            Value::Array(items) => items
                .iter()
                .try_fold(parts, |parts, item| left(item, parts)),
            Value::Object(fields) => fields
                .values()
                .try_fold(parts, |parts, field| left(field, parts)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(parts),
        }
    }
    left(value, parts).is_none()
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
    /// The problem and what to write instead.
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

/// Arguments that fit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Accepted {
    /// What the tool gets.
    pub args: JsonObject,
    /// What could not be checked, and defaults that were not used.
    pub warnings: Vec<String>,
}

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

    /// Compiles the validator now rather than at the first call, and holds an author to patterns that run in linear time; says what is wrong if
    /// it cannot.
    pub fn compile(&self) -> Result<(), SchemaError> {
        let compiled = self.compiled().map_err(Clone::clone)?;
        match compiled.relaxed.is_empty() {
            true => Ok(()),
            // In the words of the engine that takes linear time.
            false => patterns::largest(&self.value)
                .and_then(|_| built(&self.value, patterns::linear()))
                .map(|_| ()),
        }
    }

    /// Whether calls can be checked by it; says why if not. Patterns that cannot be checked are not in the way.
    pub fn usable(&self) -> Result<(), SchemaError> {
        self.compiled().map(|_| ()).map_err(Clone::clone)
    }

    /// Like [`usable`](Self::usable), without compiling what is made of everyday words with values that fit them.
    pub fn usable_at_a_glance(&self) -> Result<(), SchemaError> {
        match glance::is_everyday(&self.value) {
            true => Ok(()),
            false => self.usable(),
        }
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
        self.judge_arguments(args, synonyms)
            .map(|accepted| accepted.args)
    }

    /// Like [`check_arguments`](Self::check_arguments), and says what could not be checked.
    pub fn judge_arguments(
        &self,
        args: JsonObject,
        synonyms: &[(String, String)],
    ) -> Result<Accepted, Rejected> {
        let compiled = match self.compiled() {
            Ok(compiled) => compiled,
            Err(error) => return Err(Rejected::Schema(error.clone())),
        };
        let mut faults = Vec::new();
        let mut args = compiled.shape.normalise(args, synonyms, &mut faults);
        let mut warnings = Vec::new();
        let value = Value::Object(std::mem::take(&mut args));
        let (found, unchecked) = compiled.faults(&value, self);
        let Value::Object(checked) = value else {
            unreachable!("made an object above")
        };
        args = checked;
        let places = found.iter().map(|fault| fault.pointer.as_str());
        let taken_back = compiled.shape.take_back(&mut args, places);
        if taken_back.is_empty() {
            faults.extend(found);
            warnings.extend(unchecked);
        } else {
            // A default that does not fit is the author's fault, not the caller's.
            let said = taken_back.iter().map(|place| {
                format!("the default of `{place}` does not fit its own schema and was not used")
            });
            warnings.extend(said);
            let value = Value::Object(std::mem::take(&mut args));
            let (found, unchecked) = compiled.faults(&value, self);
            faults.extend(found);
            warnings.extend(unchecked);
            if let Value::Object(checked) = value {
                args = checked;
            }
        }
        match faults.is_empty() {
            true => Ok(Accepted { args, warnings }),
            false => Err(Rejected::Arguments { args, faults }),
        }
    }

    /// Checks an output; returns every fault.
    pub fn check_output(&self, value: &Value) -> Result<Vec<Fault>, &SchemaError> {
        Ok(self.compiled()?.faults(value, self).0)
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

    fn judged(schema: &Value, args: Value) -> Result<Accepted, Vec<String>> {
        let Value::Object(args) = args else {
            panic!("an object")
        };
        let schema = Schema::stored(schema.clone()).unwrap();
        schema
            .judge_arguments(args, &[])
            .map_err(|rejected| match rejected {
                Rejected::Arguments { faults, .. } => faults
                    .into_iter()
                    .map(|fault| format!("{} {}", fault.pointer, fault.message))
                    .collect(),
                Rejected::Schema(error) => vec![error.to_string()],
            })
    }

    /// As zod 4.0 to 4.5 write `z.email()`.
    const EMAIL: &str = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$";

    #[test]
    fn a_pattern_with_look_ahead_is_checked_by_an_engine_that_can() {
        let schema = json!({"type": "object", "properties": {
            "to": {"type": "string", "pattern": EMAIL}, "body": {"type": "string"}}});
        let fits = judged(
            &schema,
            json!({"to": "ann@example.com", "body": "x".repeat(100_000)}),
        );
        assert_eq!(fits.unwrap().warnings, [""; 0]);
        let faults = judged(&schema, json!({"to": "..@example.com"})).unwrap_err();
        assert!(
            faults[0].starts_with("/to must match the pattern"),
            "{faults:?}"
        );
        // Authors of tools here are held to patterns of linear time.
        let schema = Schema::stored(schema).unwrap();
        assert_eq!(
            (schema.usable().is_ok(), schema.compile().is_err()),
            (true, true)
        );
    }

    #[test]
    fn beyond_the_bounds_the_type_alone_is_checked_and_that_is_said() {
        let slow = json!({"type": "object", "properties": {
            "a": {"type": "string", "pattern": r"^(?=a)((a|a)*)*\1b$"}, "not": {"not": {"pattern": r"(?=x)(x+x+)+y"}}}});
        let begun = std::time::Instant::now();
        let text = "a".repeat(5_000);
        let accepted = judged(&slow, json!({"a": text})).unwrap();
        assert!(
            accepted.warnings[0].contains("`/a` was checked by type alone"),
            "{accepted:?}"
        );
        assert!(begun.elapsed() < std::time::Duration::from_secs(20));
        let unreadable = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"$ref": "#/$defs/p"}, "b": {"type": "integer"}}, "$defs": {"p": {"type": "string", "pattern": "[unclosed"}}});
        let accepted = judged(&unreadable, json!({"a": "x", "b": 1})).unwrap();
        assert_eq!(accepted.warnings.len(), 1);
        assert_eq!(judged(&unreadable, json!({"b": "x"})).unwrap_err().len(), 2);
        let long =
            json!({"type": "object", "properties": {"to": {"type": "string", "pattern": EMAIL}}});
        let accepted = judged(&long, json!({"to": "a".repeat(100_000)})).unwrap();
        assert_eq!(accepted.warnings.len(), 1);
        assert_eq!(
            judged(&long, json!({"to": vec![1; 3]})).unwrap_err().len(),
            1
        );
    }

    #[test]
    fn a_default_that_does_not_fit_is_not_the_fault_of_the_caller() {
        let schema = json!({"type": "object", "properties": {
            "mode": {"enum": ["x", "y"], "default": ""}, "n": {"type": "number", "default": "10"},
            "ok": {"type": "integer", "default": 3},
            "inner": {"type": "object", "properties": {"s": {"type": "string", "default": 1}}}}});
        let accepted = judged(&schema, json!({"inner": {}})).unwrap();
        assert_eq!(Value::Object(accepted.args), json!({"inner": {}, "ok": 3}));
        assert_eq!(accepted.warnings.len(), 3);
        assert!(
            accepted.warnings[0].contains("`/inner/s`")
                || accepted.warnings.iter().any(|w| w.contains("`/inner/s`"))
        );
        // What the caller gave is still the caller's.
        let faults = judged(&schema, json!({"n": "ten"})).unwrap_err();
        assert_eq!(faults, ["/n must be of type number, not string"]);
        let required = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "number", "default": "10"}}});
        assert_eq!(
            judged(&required, json!({})).unwrap_err(),
            ["/n is required"]
        );
    }

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
