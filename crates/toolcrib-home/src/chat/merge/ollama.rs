//! Ollama's lines: pieces of one message, whole calls among them.

use serde_json::{Value, json};

use super::{Fault, Merge, Merged};

#[derive(Debug, Default)]
pub(super) struct Ollama {
    content: String,
    thinking: String,
    calls: Vec<Value>,
    is_whole: bool,
    reason: Option<String>,
}

impl Merge for Ollama {
    fn take(&mut self, document: Value, said: &mut String) -> Result<(), Fault> {
        if let Some(fault) = Fault::said(&document) {
            return Err(fault);
        }
        let message = &document["message"];
        if !message.is_object() && document["done"] != true {
            return Err(Fault::strange("a line without a `message`"));
        }
        if let Some(text) = message["content"].as_str() {
            self.content.push_str(text);
            said.push_str(text);
        }
        if let Some(text) = message["thinking"].as_str() {
            self.thinking.push_str(text);
        }
        if let Some(calls) = message["tool_calls"].as_array() {
            self.calls.extend(calls.iter().cloned());
        }
        if document["done"] == true {
            self.is_whole = true;
            self.reason = document["done_reason"].as_str().map(str::to_owned);
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn finish(self: Box<Self>) -> Merged {
        let mut message = json!({"role": "assistant", "content": self.content});
        if !self.thinking.is_empty() {
            message["thinking"] = self.thinking.into();
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.into();
        }
        Merged {
            messages: vec![message],
            cut_short: self.reason.filter(|reason| reason != "stop"),
        }
    }
}
