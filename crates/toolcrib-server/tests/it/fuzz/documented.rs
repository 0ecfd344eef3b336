//! What `openapi.json` says, ready to hold answers against.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

/// How answers are checked: by operation, status and content type.
type Validators = HashMap<(usize, String, String), Option<Arc<Validator>>>;

/// Every operation of the document.
pub(super) struct Documented {
    document: Value,
    pub(super) operations: Vec<Operation>,
    validators: Mutex<Validators>,
    /// Digests of answers that were found to be as documented: the same again need not be read again.
    sound: Mutex<HashSet<u64>>,
    hasher: RandomState,
}

/// One operation.
pub(super) struct Operation {
    /// In capitals.
    pub(super) method: String,
    pub(super) path: String,
    /// The description in the document.
    pub(super) doc: Value,
    segments: Vec<String>,
    /// How many of them are values.
    values: usize,
}

impl Operation {
    fn fits(&self, path: &[String]) -> bool {
        let fits = |(known, given): (&String, &String)| match known.starts_with('{') {
            true => !given.is_empty(),
            false => known == given,
        };
        self.segments.len() == path.len() && self.segments.iter().zip(path).all(fits)
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// Where a path leads.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found {
    /// To an operation, by its number.
    Operation(usize),
    /// To a path that has no such method.
    OtherMethod,
    /// To nothing.
    Nothing,
}

impl Documented {
    pub(super) fn new(document: Value) -> Self {
        let mut operations = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for method in ["get", "put", "post", "patch", "delete"] {
                if let Some(doc) = item.get(method) {
                    operations.push(Operation {
                        method: method.to_uppercase(),
                        path: path.clone(),
                        doc: doc.clone(),
                        segments: path.split('/').map(str::to_owned).collect(),
                        values: path.matches('{').count(),
                    });
                }
            }
        }
        Documented {
            document,
            operations,
            validators: Mutex::default(),
            sound: Mutex::default(),
            hasher: RandomState::new(),
        }
    }

    /// What a reference stands for; anything else is itself.
    pub(super) fn resolve<'a>(&'a self, mut schema: &'a Value) -> &'a Value {
        while let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let pointer = target.strip_prefix('#').unwrap();
            schema = self.document.pointer(pointer).unwrap();
        }
        schema
    }

    /// The operation of a raw path, found by reading both segment by segment. `HEAD` is like `GET`.
    pub(super) fn find(&self, method: &str, path: &str) -> Found {
        let method = if method == "HEAD" { "GET" } else { method };
        let Some(segments) = path.split('/').map(decoded).collect::<Option<Vec<_>>>() else {
            return Found::Nothing;
        };
        let fitting = || {
            let all = self.operations.iter().enumerate();
            all.filter(|(_, operation)| operation.fits(&segments))
        };
        // `/tools/search` before `/tools/{…}`; a fixed path without the method leaves the request to the other one, as in the server:
        // `DELETE /api/things/all` may mean the thing of the id `all`.
        let best = fitting()
            .filter(|(_, operation)| operation.method == method)
            .min_by_key(|(_, operation)| operation.values);
        match best {
            Some((number, _)) => Found::Operation(number),
            None if fitting().next().is_some() => Found::OtherMethod,
            None => Found::Nothing,
        }
    }

    /// Whether such an answer is new, and not yet found to be as documented.
    pub(super) fn is_new(&self, answer: &(usize, u16, Option<&str>, &[u8])) -> bool {
        let digest = self.hasher.hash_one(answer);
        !self.sound.lock().unwrap().contains(&digest)
    }

    pub(super) fn is_sound(&self, answer: &(usize, u16, Option<&str>, &[u8])) {
        let digest = self.hasher.hash_one(answer);
        self.sound.lock().unwrap().insert(digest);
    }

    /// The problem of an answer, if there is one.
    pub(super) fn check(
        &self,
        operation: usize,
        status: u16,
        content: Option<&str>,
        body: &[u8],
    ) -> Result<(), String> {
        let doc = &self.operations[operation].doc;
        let answer = match doc["responses"].get(status.to_string()) {
            Some(answer) => self.resolve(answer),
            None => return Err(format!("the status {status} is not documented")),
        };
        let contents = answer.get("content").and_then(Value::as_object);
        let essence_of = |content: &str| content.split(';').next().unwrap().trim().to_owned();
        let essence = content.map(essence_of);
        let (Some(contents), Some(essence)) = (contents, essence.clone()) else {
            return match (contents, essence, body.is_empty()) {
                (None, None, true) => Ok(()),
                (None, ..) => Err("a body where none is documented".to_owned()),
                (Some(_), ..) => Err("no content type".to_owned()),
            };
        };
        let mut known = contents.iter();
        let Some((_, documented)) = known.find(|(known, _)| essence_of(known) == essence) else {
            return Err(format!("the content type {essence} is not documented"));
        };
        if essence != "application/json" {
            return Ok(());
        }
        let value: Value = serde_json::from_slice(body)
            .map_err(|error| format!("the body is not JSON: {error}"))?;
        let Some(schema) = documented.get("schema") else {
            return Err("a body in JSON without a schema".to_owned());
        };
        let key = (operation, status.to_string(), essence);
        let validator = {
            let mut validators = self.validators.lock().unwrap();
            let made = validators.entry(key).or_insert_with(|| {
                let mut root = schema.clone();
                if let Some(root) = root.as_object_mut() {
                    root.insert("components".to_owned(), self.document["components"].clone());
                }
                // Most refusals share one schema; it is compiled for each of them, once.
                Some(Arc::new(jsonschema::validator_for(&root).unwrap()))
            });
            made.clone()
        };
        match validator
            .as_ref()
            .and_then(|validator| validator.iter_errors(&value).next())
        {
            None => Ok(()),
            Some(error) => Err(format!(
                "the body does not fit its schema: {error} at `{}`",
                error.instance_path()
            )),
        }
    }

    /// Whether an answer is the error of every route.
    pub(super) fn check_error(body: &[u8], status: u16) -> Result<(), String> {
        let value: Value = serde_json::from_slice(body)
            .map_err(|error| format!("the body is not JSON: {error}"))?;
        let code = value["error"]["code"].as_str().unwrap_or_default();
        let known = toolcrib::ErrorCode::from_wire(code);
        match (
            value["ok"] == json!(false),
            known,
            value["error"]["message"].as_str(),
        ) {
            (true, Some(code), Some(_)) if code.http_status() == status => Ok(()),
            _ => Err(format!("not the error of a {status}: {value}")),
        }
    }
}

/// A segment as the server reads it; `None` for what it refuses.
fn decoded(segment: &str) -> Option<String> {
    if !segment.contains('%') {
        let is_dots = segment == "." || segment == "..";
        return (!is_dots).then(|| segment.to_owned());
    }
    let mut bytes = Vec::new();
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        let digits = std::str::from_utf8(&digits).ok()?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    let text = String::from_utf8(bytes).ok()?;
    let bad = text.contains(['/', '\0']) || text == "." || text == "..";
    (!bad).then_some(text)
}
