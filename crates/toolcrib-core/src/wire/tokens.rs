//! How much of a model's context a definition takes: an estimate, the same everywhere and always.
//!
//! Every model has its own tokenizer, and few are public; so this counts what they have in common. Text in a Latin alphabet and
//! JSON around it come to about four bytes a token; of other scripts a character is about one. It errs by a quarter or so either way,
//! which is good enough to say which tools are dear and when a list is too long.
//!
//! Counted is what clients hand to models: name, description and the schema of the arguments. Titles, hints, icons and what is
//! returned are for the clients themselves.

use std::io::{self, Write};

use serde_json::Value;

use super::lower::{self, Dialect};
use crate::spec::ToolSpec;

/// How many bytes of ASCII make a token.
const BYTES_A_TOKEN: u64 = 4;
/// What a definition has around it, whatever it says.
const AROUND: u64 = 8;

/// Estimates how many tokens the definition of a tool costs a model that is given it.
pub fn estimated_tokens(spec: &ToolSpec) -> u64 {
    // What cannot be published as it is costs about the same in any other form.
    let lowered = lower::lower(spec.input_schema.as_value(), Dialect::Mcp).ok();
    let schema = lowered
        .as_ref()
        .map_or(spec.input_schema.as_value(), |lowered| &lowered.schema);
    tokens_of(spec.name.as_str(), &spec.description, schema)
}

/// Like [`estimated_tokens`], but for a definition of which only the parts that a model is given are known.
pub fn tokens_of(name: &str, description: &str, schema: &Value) -> u64 {
    let mut counted = Counter::default();
    counted.text(name);
    counted.text(description);
    counted.json(schema);
    counted.tokens()
}

/// Estimates how many tokens a definition costs in the format of a provider, whatever that calls its parts.
pub fn tokens_sent(definition: &Value) -> u64 {
    let parts = definition.get("function").unwrap_or(definition);
    let text = |part: &str| parts.get(part).and_then(Value::as_str).unwrap_or_default();
    let schema = [
        "parameters",
        "parametersJsonSchema",
        "input_schema",
        "inputSchema",
    ];
    let schema = schema.iter().find_map(|name| parts.get(name));
    tokens_of(
        text("name"),
        text("description"),
        schema.unwrap_or(&Value::Null),
    )
}

/// Counts what is written to it.
#[derive(Debug, Default)]
pub(super) struct Counter {
    ascii: u64,
    others: u64,
}

impl Counter {
    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn json(&mut self, value: &Value) {
        // Writing into a counter cannot fail.
        let _ = serde_json::to_writer(&mut *self, value);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let ascii = bytes.iter().filter(|byte| byte.is_ascii()).count();
        self.ascii += ascii as u64;
        // The first byte of each character.
        let others = bytes.iter().filter(|byte| **byte >= 0xc0).count();
        self.others += others as u64;
    }

    pub(super) fn tokens(&self) -> u64 {
        AROUND + self.ascii.div_ceil(BYTES_A_TOKEN) + self.others
    }
}

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted_in_fours_and_other_scripts_by_the_character() {
        let mut counter = Counter::default();
        counter.text("abcdefgh");
        assert_eq!(counter.tokens(), AROUND + 2);
        counter.text("天気é");
        assert_eq!(counter.tokens(), AROUND + 2 + 3);
    }
}
