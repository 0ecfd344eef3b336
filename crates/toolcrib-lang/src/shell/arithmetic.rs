//! Arithmetic runs code: bash evaluates the values of variables as expressions, and a subscript in one may hold `$(…)`.
//!
//! So an expression is fine when it is made of numbers and of variables that nothing but numbers is put into.

use super::facts::{identifiers, prints_number};
use super::syntax::{Operation, Piece};
use super::walk::Walker;

const REASON: &str =
    "arithmetic evaluates a value that cannot be determined, and values may run commands";

impl Walker {
    /// Doubts an expression whose value may run something. The substitutions in it are walked elsewhere.
    pub(super) fn check_arithmetic(&mut self, pieces: &[Piece<'_>], source: &str) {
        if !pieces.iter().all(|piece| self.is_harmless(piece)) {
            self.doubt(REASON, source);
        }
    }

    fn is_harmless(&self, piece: &Piece<'_>) -> bool {
        match piece {
            Piece::Plain(text) | Piece::Text(text) => self.is_harmless_expression(text),
            Piece::Arithmetic { .. } => true,
            Piece::Substitution { source, .. } => prints_number(source),
            Piece::Backticks { .. } | Piece::Process { .. } => false,
            Piece::Parameter(parameter) => match parameter.operation {
                Operation::Length => true,
                Operation::None | Operation::Slice if is_number_parameter(parameter.name) => true,
                Operation::None => {
                    parameter
                        .name
                        .starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
                        && self.facts.is_numeric(parameter.name)
                }
                Operation::Edit | Operation::Assign | Operation::Slice => {
                    parameter
                        .name
                        .starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
                        && self.facts.is_numeric(parameter.name)
                        && parameter.rest.iter().all(|piece| self.is_harmless(piece))
                }
                Operation::Indirect | Operation::Prompt => false,
            },
        }
    }

    /// Whether evaluating a fixed text can only calculate.
    pub(super) fn is_harmless_expression(&self, text: &str) -> bool {
        !text.contains(['`', '$', '\\', '\'', '"', '\0'])
            && identifiers(text).all(|name| self.facts.is_numeric(name))
    }
}

fn is_number_parameter(name: &str) -> bool {
    matches!(
        name,
        "#" | "?"
            | "$"
            | "!"
            | "RANDOM"
            | "SECONDS"
            | "LINENO"
            | "UID"
            | "EUID"
            | "PPID"
            | "BASHPID"
            | "COLUMNS"
            | "LINES"
    )
}
