//! Chat completions: `choices[0].delta`, with calls by their index.

use serde_json::{Value, json};

use super::{Fault, Merge, Merged};

/// The most calls in one reply: an index is a place in a list.
const MAX_CALLS: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct OpenAi {
    content: String,
    calls: Vec<Call>,
    finish: Option<String>,
    is_done: bool,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Merge for OpenAi {
    fn take(&mut self, document: Value, said: &mut String) -> Result<(), Fault> {
        if let Some(fault) = Fault::said(&document) {
            return Err(fault);
        }
        let Some(choices) = document.get("choices").and_then(Value::as_array) else {
            return Err(Fault::strange("an event without `choices`"));
        };
        // The last one, with the usage, has none.
        let Some(choice) = choices.first() else {
            return Ok(());
        };
        let delta = match choice.get("message") {
            Some(message) if message.is_object() => message,
            _ => &choice["delta"],
        };
        for key in ["content", "refusal"] {
            if let Some(text) = delta[key].as_str() {
                self.content.push_str(text);
                said.push_str(text);
            }
        }
        if let Some(calls) = delta["tool_calls"].as_array() {
            for call in calls {
                self.add(call)?;
            }
        }
        if let Some(finish) = choice["finish_reason"].as_str() {
            self.finish = Some(finish.to_owned());
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some() || self.is_done
    }

    fn done(&mut self) {
        self.is_done = true;
    }

    fn finish(self: Box<Self>) -> Merged {
        let content = match self.content.is_empty() && !self.calls.is_empty() {
            true => Value::Null,
            false => self.content.into(),
        };
        let mut message = json!({"role": "assistant", "content": content});
        if !self.calls.is_empty() {
            let calls = self.calls.into_iter().enumerate().map(|(place, call)| {
                // Answers name the call they are for, so it needs a name.
                let id = match call.id.is_empty() {
                    true => format!("call_{}", place + 1),
                    false => call.id,
                };
                json!({"id": id, "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments}})
            });
            message["tool_calls"] = calls.collect();
        }
        let cut_short = self
            .finish
            .filter(|word| !["stop", "tool_calls", "function_call", ""].contains(&word.as_str()));
        Merged {
            messages: vec![message],
            cut_short,
        }
    }
}

impl OpenAi {
    /// A piece of a call. It belongs to the call of its index; without one, an id that is new
    /// begins the next call.
    fn add(&mut self, piece: &Value) -> Result<(), Fault> {
        if !piece.is_object() {
            return Err(Fault::strange("a piece of a call that is not an object"));
        }
        let index = piece["index"].as_u64();
        let id = piece["id"].as_str().unwrap_or_default();
        let known = match index {
            Some(_) => self.calls.iter().position(|call| {
                // Some servers give every call the index 0, and its own id.
                call.index == index && (id.is_empty() || call.id.is_empty() || call.id == id)
            }),
            None if id.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().position(|call| call.id == id),
        };
        let place = match known {
            Some(place) => place,
            None => {
                if self.calls.len() >= MAX_CALLS {
                    return Err(Fault::strange("more calls than anybody makes"));
                }
                self.calls.push(Call {
                    index,
                    ..Call::default()
                });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[place];
        if call.id.is_empty() {
            call.id = id.to_owned();
        }
        let function = piece.get("function").unwrap_or(piece);
        if let Some(name) = function["name"].as_str()
            && name != call.name
        {
            call.name.push_str(name);
        }
        match &function["arguments"] {
            Value::String(text) => call.arguments.push_str(text),
            Value::Null => {}
            whole => call.arguments = whole.to_string(),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_put_together_by_index_id_or_order() {
        let piece = |call: Value| json!({"choices": [{"delta": {"tool_calls": [call]}}]});
        let by_index = [
            piece(json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{\"p\""}})),
            piece(json!({"index": 1, "id": "b", "function": {"name": "y", "arguments": "{}"}})),
            piece(json!({"index": 0, "function": {"arguments": ":1}"}})),
        ];
        let all_zero = [
            piece(
                json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{\"p\":1}"}}),
            ),
            piece(json!({"index": 0, "id": "b", "function": {"name": "y", "arguments": "{}"}})),
        ];
        let no_index = [
            piece(json!({"id": "a", "function": {"name": "x", "arguments": "{\"p\""}})),
            piece(json!({"function": {"arguments": ":1}"}})),
            piece(json!({"id": "b", "function": {"name": "y", "arguments": {}}})),
        ];
        for pieces in [&by_index[..], &all_zero, &no_index] {
            let mut merger = Box::new(OpenAi::default());
            for piece in pieces {
                merger.take(piece.clone(), &mut String::new()).unwrap();
            }
            let message = merger.finish().messages.remove(0);
            assert_eq!(
                message["tool_calls"],
                json!([
                    {"id": "a", "type": "function", "function": {"name": "x", "arguments": "{\"p\":1}"}},
                    {"id": "b", "type": "function", "function": {"name": "y", "arguments": "{}"}},
                ])
            );
            assert_eq!(message["content"], Value::Null);
        }
    }

    #[test]
    fn malformed_pieces_are_faults_and_no_panics() {
        for document in [
            json!(3),
            json!({"choices": 3}),
            json!({"choices": [{"delta": {"tool_calls": [7]}}]}),
            json!({"error": {"message": "overloaded"}}),
        ] {
            let taken = OpenAi::default().take(document, &mut String::new());
            assert!(taken.is_err());
        }
        for document in [
            json!({"choices": [{"delta": null}]}),
            json!({"choices": [{"delta": {"content": 5, "tool_calls": "x"}}]}),
            json!({"choices": [null]}),
        ] {
            assert!(OpenAi::default().take(document, &mut String::new()).is_ok());
        }
    }
}
