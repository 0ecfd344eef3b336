//! What reading PowerShell and `cmd` have in common: signs, placeholders among them, problems.

use std::ops::Range;

use super::{Chunk, Shell, Slot, SlotForm, Windows};
use crate::template::bash::{self, Trust};
use crate::template::scan::{Piece, Scanned};
use crate::template::{Names, Reference, TemplateProblem};

/// Stands for a placeholder while the text is read.
pub(super) const MARK: char = '\u{e000}';

pub(super) struct Reader<'s> {
    pub(super) text: Vec<char>,
    pub(super) names: &'s Names,
    pub(super) marks: Vec<(&'s Reference, Range<usize>)>,
    pub(super) at: usize,
    /// The index of the next mark.
    pub(super) next: usize,
    pub(super) chunks: Vec<Chunk>,
    pub(super) problems: Vec<TemplateProblem>,
    /// Whether a literal `--` is before on the line.
    pub(super) ended: bool,
}

impl<'s> Reader<'s> {
    pub(super) fn new(scanned: &'s Scanned, names: &'s Names) -> Reader<'s> {
        let mut text = Vec::new();
        let mut marks = Vec::new();
        for piece in &scanned.pieces {
            match piece {
                Piece::Literal(literal) => text.extend(literal.chars().filter(|c| *c != MARK)),
                Piece::Placeholder { reference, span } => {
                    text.push(MARK);
                    marks.push((reference, span.clone()));
                }
            }
        }
        Reader {
            text,
            names,
            marks,
            at: 0,
            next: 0,
            chunks: Vec::new(),
            problems: Vec::new(),
            ended: false,
        }
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    pub(super) fn push(&mut self, c: char) {
        if let Some(Chunk::Text(text)) = self.chunks.last_mut() {
            text.push(c);
        } else {
            self.chunks.push(Chunk::Text(c.to_string()));
        }
    }

    pub(super) fn push_text(&mut self, text: &str) {
        text.chars().for_each(|c| self.push(c));
    }

    /// Takes the mark that is here.
    pub(super) fn slot(&mut self, form: SlotForm, starts_word: bool) {
        self.at += 1;
        let Some((reference, _)) = self.marks.get(self.next) else {
            return;
        };
        self.next += 1;
        let parameter = match reference {
            Reference::Parameter(name) => self.names.parameter(name).cloned(),
            _ => None,
        };
        let trust = bash::trust(reference, parameter.as_ref());
        let form = if trust == Trust::Raw {
            SlotForm::Raw
        } else {
            form
        };
        self.chunks.push(Chunk::Value(Slot {
            reference: (*reference).clone(),
            parameter,
            form,
            starts_word: starts_word && !self.ended,
        }));
    }

    pub(super) fn refuse(&mut self, code: &'static str, message: &str, fix: &str) {
        if let Some((reference, span)) = self.marks.get(self.next) {
            let name = format!("{{{reference}}}");
            self.problems.push(TemplateProblem {
                span: span.clone(),
                code,
                message: message.replace("{X}", &name),
                fix: Some(fix.replace("{X}", &name)),
            });
        }
        self.at += 1;
        self.next += 1;
    }

    pub(super) fn is_raw(&self) -> bool {
        self.marks.get(self.next).is_some_and(|(reference, _)| {
            let parameter = match reference {
                Reference::Parameter(name) => self.names.parameter(name),
                _ => None,
            };
            bash::trust(reference, parameter) == Trust::Raw
        })
    }

    pub(super) fn finish(self, shell: Shell) -> Result<Windows, Vec<TemplateProblem>> {
        if self.problems.is_empty() {
            Ok(Windows {
                shell,
                chunks: self.chunks,
            })
        } else {
            Err(self.problems)
        }
    }
}
