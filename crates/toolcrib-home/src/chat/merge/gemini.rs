//! Gemini's answers: parts that follow each other.

use serde_json::{Value, json};

use super::{Fault, Merge, Merged, append};

#[derive(Debug, Default)]
pub(super) struct Gemini {
    parts: Vec<Value>,
    finish: Option<String>,
}

impl Merge for Gemini {
    fn take(&mut self, document: Value, said: &mut String) -> Result<(), Fault> {
        if let Some(fault) = Fault::said(&document) {
            return Err(fault);
        }
        if let Some(why) = document["promptFeedback"]["blockReason"].as_str() {
            return Err(Fault::Provider(format!("the prompt was blocked: {why}")));
        }
        let Some(candidates) = document["candidates"].as_array() else {
            // The last one may be about tokens only.
            return match document.get("usageMetadata") {
                Some(_) => Ok(()),
                None => Err(Fault::strange("an event without `candidates`")),
            };
        };
        let Some(candidate) = candidates.first() else {
            return Ok(());
        };
        for part in candidate["content"]["parts"]
            .as_array()
            .into_iter()
            .flatten()
        {
            if part["thought"] != true {
                said.push_str(part["text"].as_str().unwrap_or_default());
            }
            self.add(part);
        }
        if let Some(finish) = candidate["finishReason"].as_str() {
            self.finish = Some(finish.to_owned());
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some()
    }

    fn finish(self: Box<Self>) -> Merged {
        let messages = match self.parts.is_empty() {
            true => Vec::new(),
            false => vec![json!({"role": "model", "parts": self.parts})],
        };
        Merged {
            messages,
            cut_short: self.finish.filter(|word| word != "STOP"),
        }
    }
}

impl Gemini {
    /// Plain text goes on with the text before it; what is signed stays as it is.
    fn add(&mut self, part: &Value) {
        fn is_plain(part: &Value) -> bool {
            part.as_object().is_some_and(|fields| fields.len() == 1) && part["text"].is_string()
        }
        if let (Some(more), Some(last)) = (part["text"].as_str(), self.parts.last_mut())
            && is_plain(part)
            && is_plain(last)
        {
            append(&mut last["text"], more);
            return;
        }
        self.parts.push(part.clone());
    }
}
