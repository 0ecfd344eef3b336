//! `run`: a program and its arguments, no shell. The text is split into words once, when the template is compiled.
//!
//! Quotes and backslashes keep words together as in a shell; nothing is expanded. A placeholder that is a separate word becomes
//! the words of its value, none or several; anywhere else it is text.

use std::ops::Range;

use super::bash::{self, Demands, Made, Slot, SlotForm, Trust};
use super::code::Prepared;
use super::scan::{Piece, Scanned};
use super::{Invocation, Names, TemplateProblem, Values};
use crate::model::budget::Budget;
use crate::shell::quoting::Quote;

/// An argument list with placeholders in it.
#[derive(Debug, Clone)]
pub(super) struct Run {
    words: Vec<Vec<Part>>,
    slots: Vec<Slot>,
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Slot(usize),
}

impl Run {
    /// Splits a template.
    pub(super) fn compile(
        scanned: &Scanned,
        names: &Names,
        budget: &mut Budget,
    ) -> Result<Self, Vec<TemplateProblem>> {
        let mut splitter = Splitter::default();
        for piece in &scanned.pieces {
            match piece {
                Piece::Literal(text) => splitter.text(text),
                Piece::Placeholder { reference, span } => {
                    let parameter = match reference {
                        super::Reference::Parameter(name) => names.parameter(name).cloned(),
                        _ => None,
                    };
                    let trust = match bash::trust(reference, parameter.as_ref()) {
                        // There is no shell that would read it.
                        Trust::Raw => Trust::Text,
                        trust => trust,
                    };
                    splitter.slot(Slot {
                        reference: reference.clone(),
                        span: span.clone(),
                        parameter,
                        trust,
                        quote: Quote::Bare,
                        form: SlotForm::Text,
                        demands: Demands::default(),
                    });
                }
            }
        }
        let Splitter {
            words, mut slots, ..
        } = splitter.end()?;
        if words.is_empty() {
            return Err(vec![TemplateProblem {
                span: 0..0,
                code: "template-empty",
                message: "there is no program to run".to_owned(),
                fix: Some("write the program and its arguments".to_owned()),
            }]);
        }
        for word in &words {
            if let [Part::Slot(index)] = word.as_slice() {
                slots[*index].form = SlotForm::Words;
            }
        }
        let chunks = chunks(&words);
        let slots = bash::check_words(chunks, slots, names, &scanned.source, budget)?;
        Ok(Run { words, slots })
    }

    /// What to start.
    pub(super) fn prepare(&self, values: &Values) -> Prepared {
        let made: Vec<Made> = self.slots.iter().map(|slot| slot.make(values)).collect();
        let faults = bash::faults(&self.slots, &made);
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut words = self.render(&made).into_iter();
        Ok(Invocation {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            environment: Vec::new(),
            files: Vec::new(),
        })
    }

    /// The words, quoted for a shell.
    pub(super) fn judged(&self, values: &Values) -> String {
        let made: Vec<Made> = self.slots.iter().map(|slot| slot.make(values)).collect();
        let words: Vec<String> = self
            .render(&made)
            .iter()
            .map(|word| bash::single(word))
            .collect();
        words.join(" ")
    }

    fn render(&self, made: &[Made]) -> Vec<String> {
        let mut words = Vec::new();
        for parts in &self.words {
            if let [Part::Slot(index)] = parts.as_slice()
                && self.slots[*index].form == SlotForm::Words
            {
                words.extend(made[*index].words.iter().map(|word| word.text.clone()));
                continue;
            }
            let mut word = String::new();
            for part in parts {
                match part {
                    Part::Text(text) => word.push_str(text),
                    Part::Slot(index) => word.push_str(&made[*index].text()),
                }
            }
            words.push(word);
        }
        words
    }
}

/// Where a text has, as the beginning of a word without quotes, what only a shell reads: `|`, `&&`, `>` and the like.
pub(crate) fn shell_operator(source: &str) -> Option<Range<usize>> {
    let (mut quote, mut is_escaped, mut begins) = (None, false, true);
    for (at, c) in source.char_indices() {
        if is_escaped {
            (is_escaped, begins) = (false, false);
            continue;
        }
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None | Some('"'), '\\') => is_escaped = true,
            (Some(_), _) => {}
            (None, '\'' | '"') => (quote, begins) = (Some(c), false),
            (None, ' ' | '\t' | '\n' | '\r') => begins = true,
            (None, _) if begins => {
                let word = source[at..].split_whitespace().next().unwrap_or_default();
                let operator = word.trim_start_matches(|c: char| c.is_ascii_digit());
                let length =
                    operator.len() - operator.trim_start_matches(['|', '&', '>', '<']).len();
                // A lone `&` is rarely meant for a shell in the midst of words: it may be text.
                let is_one = match operator.as_bytes() {
                    [b'|' | b'>' | b'<', ..] => true,
                    [b'&', next, ..] => matches!(next, b'&' | b'>'),
                    _ => false,
                };
                if is_one {
                    return Some(at..at + word.len() - operator.len() + length);
                }
                begins = false;
            }
            (None, _) => {}
        }
    }
    None
}

/// The words as a text for bash, to check them.
fn chunks(words: &[Vec<Part>]) -> Vec<bash::Chunk> {
    let mut chunks = Vec::new();
    for word in words {
        if !chunks.is_empty() {
            chunks.push(bash::Chunk::Text(" ".to_owned()));
        }
        if word.is_empty() {
            chunks.push(bash::Chunk::Text("''".to_owned()));
        }
        for part in word {
            chunks.push(match part {
                Part::Text(text) => bash::Chunk::Text(bash::single(text)),
                Part::Slot(index) => bash::Chunk::Slot(*index),
            });
        }
    }
    chunks
}

#[derive(Default)]
struct Splitter {
    words: Vec<Vec<Part>>,
    slots: Vec<Slot>,
    current: Option<Vec<Part>>,
    quote: Option<char>,
    escaped: bool,
}

impl Splitter {
    fn push(&mut self, c: char) {
        let word = self.current.get_or_insert_default();
        if let Some(Part::Text(text)) = word.last_mut() {
            text.push(c);
        } else {
            word.push(Part::Text(c.to_string()));
        }
    }

    fn text(&mut self, text: &str) {
        for c in text.chars() {
            match (self.quote, c) {
                _ if self.escaped => {
                    self.escaped = false;
                    // In double quotes a backslash escapes what would end or escape them.
                    if self.quote == Some('"') && !matches!(c, '"' | '\\') {
                        self.push('\\');
                    }
                    if c != '\n' {
                        self.push(c);
                    }
                }
                (Some('\''), '\'') | (Some('"'), '"') => self.quote = None,
                (None | Some('"'), '\\') => self.escaped = true,
                (Some(_), c) => self.push(c),
                (None, '\'' | '"') => {
                    self.quote = Some(c);
                    // Quotes make a word even of nothing, and a placeholder in them a part of one.
                    let word = self.current.get_or_insert_default();
                    if !matches!(word.last(), Some(Part::Text(_))) {
                        word.push(Part::Text(String::new()));
                    }
                }
                (None, ' ' | '\t' | '\n' | '\r') => self.words.extend(self.current.take()),
                (None, c) => self.push(c),
            }
        }
    }

    fn slot(&mut self, slot: Slot) {
        if self.escaped {
            self.escaped = false;
            self.push('\\');
        }
        let word = self.current.get_or_insert_default();
        word.push(Part::Slot(self.slots.len()));
        self.slots.push(slot);
    }

    fn end(mut self) -> Result<Splitter, Vec<TemplateProblem>> {
        if self.quote.is_some() || self.escaped {
            return Err(vec![TemplateProblem {
                span: 0..0,
                code: "template-not-understood",
                message: "a quote that is never closed, or a backslash at the end".to_owned(),
                fix: Some("close the quote".to_owned()),
            }]);
        }
        self.words.extend(self.current.take());
        Ok(self)
    }
}
