//! Results that fit into a model's context: [`fits`], and [`fit`] for those that do not.
//!
//! A result that is too long keeps its shape and loses its middle: texts keep head and tail, strings and arrays of a value are shortened as
//! long as the tool's output schema still holds. A note behind it says what is missing and how `read_result` returns it. Whether the
//! whole is kept anywhere is [`KeepResults`]'s to say; nothing is stored here.

mod blocks;
mod cost;
mod text;
mod value;

use serde_json::{Map, Value};

use crate::model::caller::Caller;
use crate::model::error::ToolError;
use crate::model::outcome::{Outcome, ToolOutput};
use crate::schema::Schema;
use cost::TOKEN;

/// The most tokens of a result, if no one says otherwise.
pub const MAX_RESULT_TOKENS: u64 = 20_000;

/// What the note behind a result costs at most, in quarters of a token.
const NOTE: u64 = 1200;
/// How many shortened places the note names.
const MAX_PLACES: usize = 5;
/// How many lines the note suggests to read next.
const NEXT_LINES: usize = 200;

/// Keeps the whole of results that a model gets in part.
pub trait KeepResults: Send + Sync + 'static {
    /// The most tokens of a result.
    fn max_tokens(&self) -> u64;

    /// Keeps a result for its caller, if it can, and says how the rest is read. May block.
    fn keep(&self, outcome: &Outcome, caller: &Caller) -> ReadOn;
}

/// How a model gets at the rest of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadOn {
    /// With `read_result`, for so many hours.
    Kept {
        /// How many.
        hours: u64,
    },
    /// Not at all, for this reason.
    Lost(String),
}

/// What a reader gets of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderOf {
    /// Its text.
    Text,
    /// MCP's content, and the value if that is an object.
    Objects,
    /// MCP's content, and the value unless that is a text.
    Values,
}

impl ReaderOf {
    fn gets(self, output: &ToolOutput) -> bool {
        match self {
            ReaderOf::Text => false,
            ReaderOf::Objects => output.value.is_object(),
            ReaderOf::Values => !output.value.is_string() && !output.value.is_null(),
        }
    }

    fn gets_blocks(self, output: &ToolOutput) -> bool {
        self != ReaderOf::Text && !output.content.is_empty()
    }
}

/// A result that was made to fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The result without what was left out.
    pub outcome: Outcome,
    /// What a model should know of it.
    pub note: String,
    /// The value does not fit without breaking the output schema: it is not to be sent as if it held.
    pub is_broken: bool,
}

/// Whether a result is within so many tokens for a reader.
pub fn fits(outcome: &Outcome, max_tokens: u64, reader: ReaderOf) -> bool {
    let limit = max_tokens.saturating_mul(TOKEN);
    let fits_text = |text: &str| {
        // A byte costs ten quarters at most, so short ones need no counting.
        text.len() as u64 <= limit / 10 || cost::of_text(text, limit) <= limit
    };
    let fits_value = |value: &Value| cost::of_value(value, limit) <= limit;
    match &outcome.result {
        Err(error) => fits_text(&whole_error_text(error)),
        Ok(output) => {
            let is_text_fine = match (&output.text, &output.value) {
                _ if reader.gets_blocks(output) => blocks::fit(&output.content, limit),
                (Some(text), _) | (None, Value::String(text)) => fits_text(text),
                (None, value) => fits_value(value),
            };
            is_text_fine && (!reader.gets(output) || fits_value(&output.value))
        }
    }
}

/// Makes a result fit. For one that [does not](fits); `schema` is the output schema of its tool.
pub fn fit(
    outcome: Outcome,
    max_tokens: u64,
    reader: ReaderOf,
    schema: Option<&Schema>,
    read_on: &ReadOn,
) -> Fitted {
    let limit = max_tokens.saturating_mul(TOKEN);
    let budget = limit.saturating_sub(NOTE).max(limit / 4);
    let mut cutting = Cutting::default();
    let Outcome {
        result, call_id, ..
    } = outcome;
    let (result, whole) = match result {
        Ok(output) => {
            let whole = Extent::of(&output.text());
            (Ok(cutting.output(output, budget, reader, schema)), whole)
        }
        Err(error) => {
            let whole = Extent::of(&whole_error_text(&error));
            (Err(cutting.error(&error, budget)), whole)
        }
    };
    let note = cutting.note(&whole, call_id.as_str(), read_on);
    Fitted {
        outcome: Outcome {
            result,
            call_id,
            truncated: true,
            ..outcome
        },
        note,
        is_broken: cutting.is_broken,
    }
}

/// How many bytes from the start of a text cost no more than so many tokens, as a text and as JSON. A character is not divided.
pub fn head_within(text: &str, max_tokens: u64) -> usize {
    let mut left = max_tokens.saturating_mul(TOKEN);
    for (at, c) in text.char_indices() {
        let cost = cost::of_char(c).max(cost::of_json_char(c));
        if cost > left {
            return at;
        }
        left -= cost;
    }
    text.len()
}

/// A value with its strings and arrays shortened to so many tokens; `None` where it has too many fields for that.
pub fn value_within(value: &Value, max_tokens: u64) -> Option<Value> {
    let cut = value::cut(value, max_tokens.saturating_mul(TOKEN), None)?;
    Some(cut.value)
}

/// All of an error, as a model reads it: code, message and details.
pub fn whole_error_text(error: &ToolError) -> String {
    let mut text = format!("{}: {}", error.code(), error.message());
    if let Some(details) = error.details() {
        text.push('\n');
        text.push_str(&serde_json::json!(details).to_string());
    }
    text
}

/// How long a whole result is, as `read_result` counts.
struct Extent {
    characters: usize,
    lines: usize,
}

impl Extent {
    fn of(text: &str) -> Self {
        Extent {
            characters: text.chars().count(),
            lines: text.lines().count(),
        }
    }
}

/// Collects what the note says while something is cut.
#[derive(Default)]
struct Cutting {
    places: Vec<value::Place>,
    /// Where a reader of the text goes on.
    first_line: Option<usize>,
    is_broken: bool,
}

impl Cutting {
    fn output(
        &mut self,
        mut output: ToolOutput,
        budget: u64,
        reader: ReaderOf,
        schema: Option<&Schema>,
    ) -> ToolOutput {
        let is_value_read = reader.gets(&output);
        let has_blocks = reader.gets_blocks(&output);
        let is_text = output.text.is_some() || output.value.is_string();
        if has_blocks {
            blocks::cut(&mut output.content, budget);
        } else if is_text {
            let cut = text::cut(&output.text(), budget);
            if let Some(cut) = cut {
                self.first_line = Some(cut.first_line).filter(|_| cut.lines > 1);
                output.text = Some(cut.text);
            }
        }
        // The value is read, or its JSON is the text.
        if is_value_read || (!is_text && !has_blocks) {
            let schema = schema.filter(|_| is_value_read);
            match value::cut(&output.value, budget, schema) {
                Some(cut) => {
                    output.value = cut.value;
                    self.places = cut.places;
                }
                None => {
                    self.is_broken = is_value_read;
                    if !is_text && !has_blocks {
                        let cut = text::cut(&output.text(), budget);
                        if let Some(cut) = cut {
                            self.first_line = Some(cut.first_line).filter(|_| cut.lines > 1);
                            output.text = Some(cut.text);
                        }
                    }
                }
            }
        }
        output
    }

    fn error(&mut self, error: &ToolError, budget: u64) -> ToolError {
        let message = text::cut(error.message(), budget / 2);
        let message = message.map_or_else(|| error.message().to_owned(), |cut| cut.text);
        let left = budget.saturating_sub(cost::of_text(&message, budget) + 2 * TOKEN * 8);
        let mut made = ToolError::new(error.code(), message);
        if let Some(tool) = error.tool() {
            made = made.of_tool(tool);
        }
        let details = error.details().map(|details| {
            let details = Value::Object(details.clone());
            value::cut(&details, left, None)
        });
        match details {
            Some(Some(cut)) => {
                self.places = cut.places;
                let Value::Object(details) = cut.value else {
                    return made;
                };
                details
                    .into_iter()
                    .fold(made, |made, (key, value)| made.with_detail(key, value))
            }
            // So many that none can stay.
            Some(None) => made.with_detail("leftOut", "the details are too long"),
            None => made,
        }
    }

    fn note(&self, whole: &Extent, call: &str, read_on: &ReadOn) -> String {
        let mut note = format!(
            "[This result is shortened; the whole has {} characters in {} lines.",
            whole.characters, whole.lines
        );
        if self.is_broken {
            note.push_str(" As structured content it cannot be shortened without breaking the tool's output schema, so it is only text here.");
        }
        let places = self.places.iter().take(MAX_PLACES);
        let places: Vec<String> = places
            .map(|place| {
                let at = match place.pointer.as_str() {
                    "" => "the value",
                    pointer => pointer,
                };
                let at = crate::model::text::shorten(&crate::model::text::visible_line(at), 80);
                format!("`{at}` has {} of {} {}", place.kept, place.of, place.unit)
            })
            .collect();
        if !places.is_empty() {
            let more = match self.places.len().saturating_sub(MAX_PLACES) {
                0 => String::new(),
                more => format!(", and {more} more places are shortened"),
            };
            note.push_str(&format!(" Of the value, {}{more}.", places.join(", ")));
        }
        match read_on {
            ReadOn::Kept { hours } => {
                let mut example = Map::new();
                example.insert("call".to_owned(), call.into());
                match self.first_line {
                    Some(first) => {
                        let last = (first + NEXT_LINES - 1).min(whole.lines.max(first));
                        example.insert("lines".to_owned(), serde_json::json!([first, last]));
                    }
                    None => {
                        example.insert("range".to_owned(), serde_json::json!([0, 20_000]));
                    }
                }
                note.push_str(&format!(
                    " To read more, call `read_result` with {}, or with `lines`, `range` (characters), `regex` or `jsonpath` instead. \
                     The whole is kept for {hours} hours.]",
                    Value::Object(example)
                ));
            }
            ReadOn::Lost(why) => {
                let why = crate::model::text::shorten(why, 300);
                note.push_str(&format!(
                    " The rest cannot be read: {why}. Ask for less to see it.]"
                ));
            }
        }
        note
    }
}

#[cfg(test)]
mod tests;
