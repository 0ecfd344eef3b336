//! PowerShell and `cmd`: values in variables of the environment, `${env:…}` and `!…!` in the text.
//!
//! PowerShell does not read a variable's value again, so any value will do in a string or as a separate word; a string in single
//! quotes becomes one in double quotes. `cmd` replaces `!X!` after it has read the line, but programs split their own command
//! lines and `%X%` is read again, so only plain signs are let through. Nothing here runs on this system; the texts are compared
//! with golden files.

mod cmd;
mod pwsh;
mod reader;

use super::code::Prepared;
use super::scan::Scanned;
use super::value::{self, MadeWord};
use super::{Invocation, NamedParameter, Names, Reference, TemplateProblem, ValueFault, Values};
use crate::template::ParameterKind;

/// A text for PowerShell or `cmd`.
#[derive(Debug, Clone)]
pub(super) struct Windows {
    shell: Shell,
    chunks: Vec<Chunk>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shell {
    Pwsh,
    Cmd,
}

#[derive(Debug, Clone)]
enum Chunk {
    Text(String),
    Value(Slot),
}

#[derive(Debug, Clone)]
struct Slot {
    reference: Reference,
    parameter: Option<NamedParameter>,
    form: SlotForm,
    /// Whether a dash at its beginning would make it an option.
    starts_word: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum SlotForm {
    /// In a string.
    Text,
    /// Its own word.
    Word,
    Raw,
}

impl Windows {
    /// Reads a template for PowerShell.
    pub(super) fn pwsh(scanned: &Scanned, names: &Names) -> Result<Self, Vec<TemplateProblem>> {
        reader::Reader::new(scanned, names).pwsh()
    }

    /// Reads a template for `cmd`.
    pub(super) fn cmd(scanned: &Scanned, names: &Names) -> Result<Self, Vec<TemplateProblem>> {
        reader::Reader::new(scanned, names).cmd()
    }

    pub(super) fn pastes(&self) -> bool {
        self.chunks.iter().any(|chunk| {
            matches!(
                chunk,
                Chunk::Value(Slot {
                    form: SlotForm::Raw,
                    ..
                })
            )
        })
    }

    /// What to start.
    pub(super) fn prepare(&self, values: &Values) -> Prepared {
        let mut text = String::new();
        let mut environment: Vec<(String, String)> = Vec::new();
        let mut known: Vec<(Reference, SlotForm)> = Vec::new();
        let mut faults: Vec<ValueFault> = Vec::new();
        for chunk in &self.chunks {
            let slot = match chunk {
                Chunk::Text(chunk) => {
                    text.push_str(chunk);
                    continue;
                }
                Chunk::Value(slot) => slot,
            };
            let words = slot.words(values);
            if let Some(message) = self.fault(slot, &words, values) {
                if faults.iter().all(|fault| fault.reference != slot.reference) {
                    faults.push(ValueFault {
                        reference: slot.reference.clone(),
                        message,
                    });
                }
                continue;
            }
            let joined = words
                .iter()
                .map(|word| word.text.as_str())
                .collect::<Vec<_>>()
                .join(" ");
            if slot.form == SlotForm::Raw {
                text.push_str(&joined);
                continue;
            }
            let many = slot.form == SlotForm::Word && (slot.is_list() || words.is_empty());
            let key = (slot.reference.clone(), slot.form);
            let number = known.iter().position(|other| *other == key);
            let number = number.unwrap_or_else(|| {
                known.push(key);
                let number = known.len() - 1;
                let value = if many && self.shell == Shell::Pwsh {
                    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
                    serde_json::Value::from(words).to_string()
                } else {
                    joined.clone()
                };
                environment.push((format!("TOOLCRIB_VALUE_{number}"), value));
                number
            });
            let name = format!("TOOLCRIB_VALUE_{number}");
            match (self.shell, slot.form) {
                (Shell::Pwsh, SlotForm::Word) if many => {
                    text.push_str(&format!("@(ConvertFrom-Json -InputObject ${{env:{name}}})"));
                }
                (Shell::Pwsh, _) => text.push_str(&format!("${{env:{name}}}")),
                (Shell::Cmd, SlotForm::Word) if words.is_empty() => {}
                (Shell::Cmd, SlotForm::Word) => text.push_str(&format!("\"!{name}!\"")),
                (Shell::Cmd, _) => text.push_str(&format!("!{name}!")),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let (program, options): (&str, &[&str]) = match self.shell {
            Shell::Pwsh => ("pwsh", &["-NoProfile", "-NonInteractive", "-Command"]),
            Shell::Cmd => ("cmd", &["/d", "/v:on", "/s", "/c"]),
        };
        let mut arguments: Vec<String> =
            options.iter().map(|option| (*option).to_owned()).collect();
        arguments.push(text);
        Ok(Invocation {
            program: program.to_owned(),
            arguments,
            environment,
            files: Vec::new(),
        })
    }

    fn fault(&self, slot: &Slot, words: &[MadeWord], values: &Values) -> Option<String> {
        if words.iter().any(|word| word.text.contains('\0')) {
            return Some("contains a null byte, which no program can be given".to_owned());
        }
        let longest: usize = words.iter().map(|word| word.text.len() + 1).sum();
        // The whole environment of a process has 32,767 characters there.
        if longest > 16 * 1024 {
            return Some(format!(
                "is {longest} bytes long, and a variable can carry 16 KB there"
            ));
        }
        if slot.form == SlotForm::Raw {
            return None;
        }
        let is_number = values
            .get(&slot.reference)
            .is_some_and(|value| value.is_number());
        let dashed = words
            .iter()
            .take(if slot.form == SlotForm::Word {
                usize::MAX
            } else {
                1
            })
            .any(|word| !word.glued && word.text.starts_with(['-', '/']) && !is_number);
        let is_option = dashed
            && slot.starts_word
            && (self.shell == Shell::Cmd || words.iter().any(|word| word.text.starts_with('-')));
        if is_option {
            return Some("starts with a dash or slash and would be taken for an option".to_owned());
        }
        if self.shell == Shell::Cmd {
            let plain = |c: char| c.is_alphanumeric() || " _-./\\:,=+@#~*?[](){}".contains(c);
            let unsafe_word = words
                .iter()
                .any(|word| !word.text.chars().all(plain) || word.text.ends_with('\\'));
            if unsafe_word {
                return Some(
                    "has signs in it that `cmd` would not pass on as they are; letters, digits, blanks and \
                     `_-./\\:,=+@#~*?[](){}` are fine, except a backslash at the end"
                        .to_owned(),
                );
            }
            if slot.is_list() && slot.form == SlotForm::Word && words.len() > 1 {
                return Some("is a list, which `cmd` has no way to take".to_owned());
            }
        }
        None
    }
}

impl Slot {
    fn words(&self, values: &Values) -> Vec<MadeWord> {
        let kind = self
            .parameter
            .as_ref()
            .map_or(ParameterKind::String, |parameter| parameter.kind);
        let format = self
            .parameter
            .as_ref()
            .and_then(|parameter| parameter.format.as_ref());
        value::made_words(format, kind, values.get(&self.reference).as_ref())
    }

    fn is_list(&self) -> bool {
        self.parameter.as_ref().is_some_and(|parameter| {
            parameter.kind == ParameterKind::Array
                || parameter
                    .format
                    .as_ref()
                    .is_some_and(|format| format.words.len() != 1)
        })
    }
}
