//! The Responses API: items that are done, and the response that they make.

use serde_json::Value;

use super::{Fault, Merge, Merged};

#[derive(Debug, Default)]
pub(super) struct Responses {
    items: Vec<Value>,
    is_whole: bool,
    cut_short: Option<String>,
    has_streamed: bool,
}

impl Merge for Responses {
    fn take(&mut self, document: Value, said: &mut String) -> Result<(), Fault> {
        match document["type"].as_str() {
            Some("response.output_text.delta" | "response.refusal.delta") => {
                self.has_streamed = true;
                said.push_str(document["delta"].as_str().unwrap_or_default());
            }
            Some("response.output_item.done") => self.items.push(document["item"].clone()),
            Some("response.completed" | "response.incomplete") => {
                self.end(&document["response"], said);
            }
            Some("response.failed" | "error") => {
                let fault = Fault::said(&document["response"]).or_else(|| Fault::said(&document));
                let message = document["message"].as_str().unwrap_or("it failed");
                return Err(fault.unwrap_or_else(|| Fault::Provider(message.to_owned())));
            }
            // Pieces of what is done later, and what comes in later years.
            Some(_) => {}
            None if document["output"].is_array() => {
                if let Some(fault) = Fault::said(&document) {
                    return Err(fault);
                }
                self.end(&document, said);
            }
            None => {
                let fault = Fault::said(&document);
                return Err(fault.unwrap_or_else(|| Fault::strange("an event without a type")));
            }
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn finish(self: Box<Self>) -> Merged {
        // Nothing is kept at the provider's, so that ids lead nowhere, and reasoning without them is refused.
        let items = self
            .items
            .into_iter()
            .filter(|item| item["type"] != "reasoning");
        let items = items.map(|mut item| {
            if let Some(fields) = item.as_object_mut() {
                fields.shift_remove("id");
                fields.shift_remove("status");
            }
            item
        });
        Merged {
            messages: items.collect(),
            cut_short: self.cut_short,
        }
    }
}

impl Responses {
    fn end(&mut self, response: &Value, said: &mut String) {
        self.is_whole = true;
        if let Some(output) = response["output"].as_array().filter(|all| !all.is_empty()) {
            self.items.clone_from(output);
        }
        if !self.has_streamed {
            let parts = self
                .items
                .iter()
                .filter_map(|item| item["content"].as_array());
            for part in parts.flatten() {
                said.push_str(part["text"].as_str().unwrap_or_default());
            }
        }
        if response["status"] == "incomplete" {
            let reason = response["incomplete_details"]["reason"].as_str();
            self.cut_short = Some(reason.unwrap_or("incomplete").to_owned());
        }
    }
}
