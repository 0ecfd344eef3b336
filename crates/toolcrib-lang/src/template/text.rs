//! Texts in which values are only ever data: [`Text`].

use super::scan::{Piece, scan};
use super::{Names, Reference, TemplateProblem, Values, value};

/// A text in which values are only ever data: a variable of the environment, standard input, a path, a preset.
///
/// As text, a list is its items with blanks between them, an object is JSON, a number is plain digits.
#[derive(Debug, Clone)]
pub struct Text {
    pub(super) pieces: Vec<Piece>,
    references: Vec<Reference>,
    warnings: Vec<TemplateProblem>,
}

impl Text {
    /// Reads a template.
    pub fn compile(text: &str, names: &Names) -> Result<Self, Vec<TemplateProblem>> {
        let scanned = scan(text, names)?;
        Ok(Text {
            references: scanned.references(),
            pieces: scanned.pieces,
            warnings: scanned.warnings,
        })
    }

    /// What it names, each once.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// What may be meant otherwise: names that are nearly those of parameters.
    pub fn warnings(&self) -> &[TemplateProblem] {
        &self.warnings
    }

    /// The one placeholder that is the whole text, if it is.
    pub fn whole(&self) -> Option<&Reference> {
        match self.pieces.as_slice() {
            [Piece::Placeholder { reference, .. }] => Some(reference),
            _ => None,
        }
    }

    /// The text for readers, with placeholders in braces.
    pub fn shown(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Literal(literal) => literal.clone(),
            Piece::Placeholder { reference, .. } => format!("{{{reference}}}"),
        };
        self.pieces.iter().map(piece).collect()
    }

    /// The text with every value in its place; what is absent is nothing.
    pub fn render(&self, values: &Values) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Placeholder { reference, .. } => {
                    if let Some(value) = values.get(reference) {
                        text.push_str(&value::text(&value));
                    }
                }
            }
        }
        text
    }
}
