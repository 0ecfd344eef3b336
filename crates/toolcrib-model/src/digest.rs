//! Digests of JSON: the same for the same data, whatever the order of its keys.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::JsonObject;
use super::names::hex;

/// Which calls are the same: those of one caller, by its word, of one tool, by its digest, with equal
/// arguments. As hexadecimal.
pub fn of_call(caller: &str, tool: &str, args: &JsonObject) -> String {
    Digester::default()
        .text(caller)
        .text(tool)
        .object(args)
        .finish()
}

/// A SHA-256 of bytes, as hexadecimal.
#[doc(hidden)]
pub fn of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A SHA-256 over tagged parts, as hexadecimal.
#[derive(Default)]
#[doc(hidden)]
pub struct Digester(Sha256);

impl Digester {
    #[doc(hidden)]
    pub fn text(mut self, text: &str) -> Self {
        self.string(text);
        self
    }

    #[doc(hidden)]
    pub fn object(mut self, object: &JsonObject) -> Self {
        self.fields(object);
        self
    }

    #[doc(hidden)]
    pub fn json(mut self, value: &Value) -> Self {
        self.value(value);
        self
    }

    #[doc(hidden)]
    pub fn finish(self) -> String {
        hex(&self.0.finalize())
    }

    // Every piece is written with a tag and its length, so that no two values share a byte string.
    fn string(&mut self, text: &str) {
        self.0.update([b's']);
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    fn fields(&mut self, object: &JsonObject) {
        self.0.update([b'{']);
        self.0.update((object.len() as u64).to_le_bytes());
        let mut keys: Vec<&String> = object.keys().collect();
        keys.sort_unstable();
        for key in keys {
            self.string(key);
            self.value(&object[key]);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.0.update([b'n']),
            Value::Bool(flag) => self.0.update([b'b', u8::from(*flag)]),
            Value::Number(number) => {
                self.0.update([b'#']);
                self.string(&number.to_string());
            }
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                self.0.update([b'[']);
                self.0.update((items.len() as u64).to_le_bytes());
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(object) => self.fields(object),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn digest(value: Value) -> String {
        Digester::default().json(&value).finish()
    }

    #[test]
    fn the_order_of_keys_does_not_count_and_everything_else_does() {
        assert_eq!(
            digest(json!({"a": 1, "b": [2, 3]})),
            digest(json!({"b": [2, 3], "a": 1}))
        );
        let all = [
            json!({"a": 1}),
            json!({"a": "1"}),
            json!({"a": [1]}),
            json!({"a": null}),
            json!({"a1": null}),
            json!({}),
            json!([]),
            json!([[], []]),
            json!([[[]]]),
            json!("ab"),
            json!(["a", "b"]),
            json!(1.5),
            json!(false),
        ];
        let distinct: std::collections::HashSet<String> = all.iter().cloned().map(digest).collect();
        assert_eq!(distinct.len(), all.len());
    }
}
