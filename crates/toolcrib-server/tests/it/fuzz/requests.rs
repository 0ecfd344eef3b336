//! Requests that should work: made from the documented parameters, schemas and examples, with ids that exist.

use serde_json::{Map, Value, json};

use super::documented::{Documented, Operation};
use super::known_ids::{BUNDLES, Known};
use super::random::Random;
use super::sent::Sent;

/// How deep values are made.
const DEPTH: usize = 5;

/// Where a stream may be asked to go on: sound places, and the ends of what a number can hold.
pub(super) const EVENT_IDS: &[&str] = &[
    "0",
    "1",
    "7",
    "x-1",
    "1.0",
    "1.1",
    "2.7",
    "1.18446744073709551615",
    "2.18446744073709551615",
    "18446744073709551615",
    "18446744073709551614",
    "18446744073709551615.18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "-1",
    "1.-1",
    "1.",
    ".1",
    "",
];

/// What may be preferred.
pub(super) const PREFERENCES: &[&str] = &[
    "respond-async",
    "respond-async, wait=1",
    "Respond-Async",
    "respond-async; foo=bar",
    "respond-async=1",
    "respond-async, respond-async",
    "wait=5",
    "wait=18446744073709551615",
    "wait=-1",
    "return=minimal",
    ",,,",
    "",
];

/// A request for an operation.
pub(super) fn request(
    operation: &Operation,
    documented: &Documented,
    known: &Known,
    random: &mut Random,
) -> Sent {
    let maker = Maker {
        documented,
        known,
        topic: operation.doc["tags"][0].as_str().unwrap_or_default(),
    };
    let mut sent = Sent {
        method: operation.method.clone(),
        path: String::new(),
        query: None,
        headers: vec![("host".to_owned(), b"localhost".to_vec())],
        body: None,
    };
    for segment in operation.path.split('/').skip(1) {
        let text = match segment.strip_prefix('{') {
            Some(name) => maker.path_value(name.trim_end_matches('}'), random),
            None => segment.to_owned(),
        };
        sent.path.push('/');
        sent.path.push_str(&encoded(&text));
    }
    let mut query = Vec::new();
    for param in operation.doc["parameters"].as_array().into_iter().flatten() {
        let param = documented.resolve(param);
        let name = param["name"].as_str().unwrap();
        let is_wanted = param["required"] == json!(true) || random.once_in(4);
        match param["in"].as_str() {
            Some("query") if is_wanted => {
                let value = maker.parameter(name, &param["schema"], random);
                query.push(format!("{}={}", encoded(name), encoded(&value)));
            }
            Some("header") if is_wanted => {
                let value = maker.parameter(name, &param["schema"], random);
                sent.set_header(&name.to_lowercase(), value.replace(['\r', '\n', '\0'], " "));
            }
            _ => {}
        }
    }
    if !query.is_empty() {
        sent.query = Some(query.join("&"));
    }
    maker.body(operation, &mut sent, random);
    sent.set_header("authorization", format!("Bearer {}", known.operator));
    sent
}

struct Maker<'a> {
    documented: &'a Documented,
    known: &'a Known,
    topic: &'a str,
}

impl Maker<'_> {
    fn body(&self, operation: &Operation, sent: &mut Sent, random: &mut Random) {
        let Some(body) = operation.doc.get("requestBody") else {
            return;
        };
        let contents = self.documented.resolve(body)["content"]
            .as_object()
            .unwrap();
        let (content, media) = contents.iter().next().unwrap();
        let bytes = match content.as_str() {
            "application/json" => {
                let examples: Vec<&Value> = media
                    .get("examples")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flat_map(|examples| examples.values().map(|example| &example["value"]))
                    .chain(media.get("example"))
                    .collect();
                let mut value = match examples.as_slice() {
                    [] => self.value(&media["schema"], DEPTH, random),
                    _ if random.once_in(3) => self.value(&media["schema"], DEPTH, random),
                    examples => (*random.pick(examples)).clone(),
                };
                self.suit(&mut value, &sent.path, random);
                value.to_string().into_bytes()
            }
            _ => random.pick(&self.known.archives).clone(),
        };
        sent.body = Some(bytes);
        sent.set_header("content-type", content.as_str());
    }

    fn path_value(&self, name: &str, random: &mut Random) -> String {
        let known = self.known;
        match name {
            "bundleID" => known.bundle(random),
            "toolSlug" => random.pick(&known.slugs).clone(),
            "v" | "version" => (*random.pick(&["v1", "v1", "v1", "1.0.0", "v2"])).to_owned(),
            "provider" => (*random.pick(&[
                "openai",
                "anthropic",
                "gemini",
                "mcp",
                "ollama",
                "openai-functions",
                "openai-responses",
                "auto",
            ]))
            .to_owned(),
            "id" => known.id_of(self.topic, random),
            "name" => (*random.pick(&["assistant", "builder", "TOKEN", "API_KEY"])).to_owned(),
            "scope" => (*random.pick(&["local", "local", "user", "global"])).to_owned(),
            "file" => {
                (*random.pick(&["hello.yaml", "hello.yaml", "weather.json", "x.yaml"])).to_owned()
            }
            "format" => (*random.pick(&["yaml", "http", "toml"])).to_owned(),
            "key" => (*random.pick(&["limits.timeoutMs", "disabledTools", "none"])).to_owned(),
            _ => "x".to_owned(),
        }
    }

    fn parameter(&self, name: &str, schema: &Value, random: &mut Random) -> String {
        let known = self.known;
        match name.to_lowercase().as_str() {
            "digest" => known.learnt("files/digest", random),
            "pagetoken" => known.learnt("nextPageToken", random),
            "bundleids" => format!("{},{}", known.bundle(random), known.bundle(random)),
            "last-event-id" => (*random.pick(EVENT_IDS)).to_owned(),
            "accept" => {
                (*random.pick(&["text/event-stream", "application/json", "*/*"])).to_owned()
            }
            "mcp-session-id" => known.learnt("session", random),
            "mcp-protocol-version" => {
                (*random.pick(&["2025-11-25", "2025-11-25", "2026-07-28", "1"])).to_owned()
            }
            "prefer" => (*random.pick(PREFERENCES)).to_owned(),
            "toolcrib-caller" => "cli".to_owned(),
            _ => match self.value(schema, 1, random) {
                Value::String(text) => text,
                other => other.to_string(),
            },
        }
    }

    /// Puts what exists where examples and schemas can only say a type.
    fn suit(&self, value: &mut Value, path: &str, random: &mut Random) {
        let Some(fields) = value.as_object_mut() else {
            return;
        };
        let known = self.known;
        let is_call = self.topic == "calls" || path.ends_with("/invoke");
        if is_call && !random.once_in(5) {
            let (tool, args) = known.call(random);
            let args = match path.ends_with("/invoke") {
                true => known.arguments_for(path, random),
                false => args,
            };
            let named: Vec<&str> = ["tool", "name"]
                .into_iter()
                .filter(|name| fields.contains_key(*name))
                .collect();
            if let Some(name) = named.first() {
                fields.insert((*name).to_owned(), tool.into());
            }
            for name in ["args", "arguments", "parameters"] {
                fields.remove(name);
            }
            fields.insert("args".to_owned(), args);
            if !random.once_in(4) {
                fields.remove("callId");
            }
        }
        for (name, field) in fields.iter_mut() {
            match name.as_str() {
                "id" | "bundleID" | "slug" | "version" => {
                    self.suit_identity(name, field, path, random);
                }
                "argsDigest" => *field = known.digest_of(path, random).into(),
                "callId" => *field = known.call_id(random).into(),
                "tool" if !is_call && random.once_in(5) => *field = known.call(random).0.into(),
                "timeoutMs" | "approvalWaitMs" => *field = json!(1 + random.below(50)),
                _ => {}
            }
        }
    }

    /// A definition says again what its path says.
    fn suit_identity(&self, name: &str, field: &mut Value, path: &str, random: &mut Random) {
        let segments: Vec<&str> = path.split('/').collect();
        let after = |word: &str| {
            let at = segments.iter().rposition(|segment| *segment == word)?;
            segments.get(at + 1).map(|text| decoded(text))
        };
        let said = match name {
            "id" if !path.contains("/version/") => after("bundles"),
            "bundleID" => after("bundles"),
            "slug" if path.contains("/version/") => after("tools"),
            "slug" if path.contains("/tools/bundles/") => {
                after("bundles").map(|id| match known_number(&id) {
                    Some(number) => format!("kit-{number}"),
                    None => "kit-x".to_owned(),
                })
            }
            "version" => after("version"),
            _ => None,
        };
        if let Some(said) = said.filter(|_| !random.once_in(20)) {
            *field = said.into();
        }
    }

    /// A value of a schema.
    fn value(&self, schema: &Value, depth: usize, random: &mut Random) -> Value {
        let schema = self.documented.resolve(schema);
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return random.pick(values).clone();
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        let is_whole = schema.get("properties").is_none();
        for key in ["oneOf", "anyOf"].into_iter().filter(|_| is_whole) {
            if let Some(options) = schema.get(key).and_then(Value::as_array) {
                let option = random.pick(options).clone();
                return self.value(&option, depth, random);
            }
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => random.pick(kinds).clone(),
            kind => kind.clone(),
        };
        match kind.as_str() {
            Some("object") => self.object(schema, depth, random),
            Some("array") if depth > 0 => {
                let count = random.below(3);
                let items = (0..count).map(|_| self.value(&schema["items"], depth - 1, random));
                Value::Array(items.collect())
            }
            Some("array") => json!([]),
            Some("boolean") => json!(random.once_in(2)),
            Some("integer" | "number") => {
                let least = schema["minimum"].as_i64().unwrap_or(0);
                let most = schema["maximum"].as_i64().unwrap_or(1000).max(least);
                let span = usize::try_from(most - least).unwrap_or(1000).clamp(1, 1000);
                json!(least + i64::try_from(random.below(span + 1)).unwrap())
            }
            Some("null") => Value::Null,
            Some(_) => self.known.word(random).into(),
            None => (*random.pick(&[json!("x"), json!(1), json!({}), json!(null)])).clone(),
        }
    }

    fn object(&self, schema: &Value, depth: usize, random: &mut Random) -> Value {
        let mut object = Map::new();
        // Some say by choices which of their properties they need.
        let choice = schema["oneOf"]
            .as_array()
            .map(|choices| random.pick(choices));
        let required: Vec<&Value> = [Some(schema), choice]
            .into_iter()
            .flatten()
            .filter_map(|schema| schema["required"].as_array())
            .flatten()
            .collect();
        let is_required = |name: &str| required.iter().any(|one| *one == name);
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if is_required(name) || (depth > 0 && random.once_in(2)) {
                let value = self.value(property, depth.saturating_sub(1), random);
                object.insert(name.clone(), value);
            }
        }
        if object.is_empty()
            && depth > 0
            && let Some(other) = schema
                .get("additionalProperties")
                .filter(|other| other.is_object())
        {
            let value = self.value(other, depth - 1, random);
            object.insert(self.known.word(random), value);
        }
        Value::Object(object)
    }
}

/// The number of one of our bundles.
fn known_number(id: &str) -> Option<usize> {
    (0..BUNDLES).find(|number| Known::bundle_id(*number) == id)
}

/// A text as a segment of a path, or a value of a query.
pub(super) fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

fn decoded(text: &str) -> String {
    url::form_urlencoded::parse(format!("x={}", text.replace('+', "%2B")).as_bytes())
        .next()
        .map_or(String::new(), |(_, value)| value.into_owned())
}
