//! Anthropic's events: blocks that begin, grow and end.

use serde_json::{Value, json};

use super::{Fault, Merge, Merged, append};
use crate::model::json::read_strict;

/// The most blocks of one reply: an index is a place in a list.
const MAX_BLOCKS: u64 = 10_000;

#[derive(Debug, Default)]
pub(super) struct Anthropic {
    blocks: Vec<Block>,
    stop: Option<String>,
    is_whole: bool,
}

#[derive(Debug, Default)]
struct Block {
    content: Value,
    /// The input of a call, as text in pieces.
    input: String,
}

impl Merge for Anthropic {
    fn take(&mut self, document: Value, said: &mut String) -> Result<(), Fault> {
        match document["type"].as_str() {
            Some("error") => {
                let fault = Fault::said(&document);
                return Err(fault.unwrap_or_else(|| Fault::strange("an error without words")));
            }
            Some("content_block_start") => {
                let block = document["content_block"].clone();
                if let Some(text) = block["text"].as_str() {
                    said.push_str(text);
                }
                self.block(&document)?.content = block;
            }
            Some("content_block_delta") => {
                let delta = &document["delta"];
                let block = self.block(&document)?;
                for (key, piece) in [
                    ("text", &delta["text"]),
                    ("thinking", &delta["thinking"]),
                    ("signature", &delta["signature"]),
                ] {
                    if let Some(piece) = piece.as_str() {
                        append(&mut block.content[key], piece);
                        if key == "text" {
                            said.push_str(piece);
                        }
                    }
                }
                if let Some(piece) = delta["partial_json"].as_str() {
                    block.input.push_str(piece);
                }
            }
            Some("message_delta") => {
                if let Some(stop) = document["delta"]["stop_reason"].as_str() {
                    self.stop = Some(stop.to_owned());
                }
            }
            Some("message_stop") => self.is_whole = true,
            // Not streamed: the message itself.
            Some("message") => {
                for content in document["content"].as_array().into_iter().flatten() {
                    said.push_str(content["text"].as_str().unwrap_or_default());
                    self.blocks.push(Block {
                        content: content.clone(),
                        input: String::new(),
                    });
                }
                self.stop = document["stop_reason"].as_str().map(str::to_owned);
                self.is_whole = true;
            }
            // `message_start`, `content_block_stop`, `ping`, and what comes in later years.
            Some(_) => {}
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
        let blocks = self.blocks.into_iter().filter_map(|block| {
            let mut content = block.content;
            if content["type"] == "tool_use" && !block.input.trim().is_empty() {
                // What cannot be read stays a text, and is answered as such.
                content["input"] =
                    read_strict(block.input.as_bytes()).unwrap_or(Value::String(block.input));
            }
            // It takes no empty texts back.
            let is_empty = content["type"] == "text" && content["text"].as_str() == Some("");
            (content.is_object() && !is_empty).then_some(content)
        });
        let blocks: Vec<Value> = blocks.collect();
        let messages = match blocks.is_empty() {
            true => Vec::new(),
            false => vec![json!({"role": "assistant", "content": blocks})],
        };
        let usual = ["end_turn", "tool_use", "stop_sequence"];
        Merged {
            messages,
            cut_short: self.stop.filter(|stop| !usual.contains(&stop.as_str())),
        }
    }
}

impl Anthropic {
    fn block(&mut self, event: &Value) -> Result<&mut Block, Fault> {
        let index = event["index"].as_u64().filter(|index| *index < MAX_BLOCKS);
        let index = index.ok_or_else(|| Fault::strange("a block without a sound index"))?;
        let index = usize::try_from(index).unwrap_or_default();
        if index >= self.blocks.len() {
            self.blocks.resize_with(index + 1, Block::default);
        }
        let block = &mut self.blocks[index];
        if !block.content.is_object() {
            block.content = json!({});
        }
        Ok(block)
    }
}
