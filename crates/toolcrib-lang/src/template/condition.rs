//! Conditions of steps and of approvals: [`Condition`].

use serde_json::Value;

use super::scan::{Piece, scan};
use super::{Names, Reference, TemplateProblem, Values};
use crate::expr::javascript::{Lexed, ScriptContext};
use crate::expr::{ExprError, Expression};

/// A `run-condition` or `requires-approval`: a JavaScript expression in which `{X}` is bound to a value, and which is true or false.
///
/// The value has its own type: an exit code is a number, a list is a list; what is absent is null.
#[derive(Debug, Clone)]
pub struct Condition {
    text: String,
    expression: Expression,
    references: Vec<Reference>,
    warnings: Vec<TemplateProblem>,
}

impl Condition {
    /// Reads an expression. `{X}` inside a string literal is a problem.
    pub fn compile(text: &str, names: &Names) -> Result<Self, Vec<TemplateProblem>> {
        let scanned = scan(text, names)?;
        let references = scanned.references();
        let mut source = String::new();
        let mut slots = Vec::new();
        for piece in &scanned.pieces {
            match piece {
                Piece::Literal(literal) => source.push_str(literal),
                Piece::Placeholder { reference, span } => {
                    let index = references.iter().position(|known| known == reference);
                    let name = variable(index.unwrap_or_default());
                    slots.push((source.len()..source.len() + name.len(), reference, span));
                    source.push_str(&name);
                }
            }
        }
        let mut problems = Vec::new();
        let lexed = Lexed::read(&source);
        for (range, reference, span) in slots {
            let problem = |code, message: String, fix: String| TemplateProblem {
                span: span.clone(),
                code,
                message,
                fix: Some(fix),
            };
            match lexed.place(range) {
                ScriptContext::Code => {}
                ScriptContext::Comment => problems.push(problem(
                    "template-comment",
                    format!("`{{{reference}}}` is in a comment, where it has no meaning"),
                    "take it out of the comment".to_owned(),
                )),
                ScriptContext::Quotes | ScriptContext::Template | ScriptContext::Regex | ScriptContext::Unclear => problems.push(problem(
                    "template-string",
                    format!("`{{{reference}}}` is inside a string of a JavaScript expression, where it is not replaced"),
                    format!("write it without quotes: `{{{reference}}}` is the value itself, as in `{{{reference}}} == \"x\"`"),
                )),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let variables: Vec<String> = (0..references.len()).map(variable).collect();
        let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
        let unusable = |error: ExprError| {
            vec![TemplateProblem {
                span: 0..text.len(),
                code: "template-expression",
                message: error.to_string(),
                fix: None,
            }]
        };
        let expression = Expression::condition(&source, &variables).map_err(unusable)?;
        if references.is_empty() {
            // It has the same value in every call, so a mistake shows now.
            expression.holds(&[]).map_err(unusable)?;
        }
        Ok(Condition {
            text: text.to_owned(),
            expression,
            references,
            warnings: scanned.warnings,
        })
    }

    /// The expression as the file has it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it names, each once.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// What may be meant otherwise: names that are nearly those of parameters.
    pub fn warnings(&self) -> &[TemplateProblem] {
        &self.warnings
    }

    /// Whether it holds.
    pub fn holds(&self, values: &Values) -> Result<bool, ExprError> {
        let bound: Vec<Value> = self
            .references
            .iter()
            .map(|reference| values.get(reference).unwrap_or(Value::Null))
            .collect();
        self.expression.holds(&bound.iter().collect::<Vec<_>>())
    }
}

/// What a placeholder is called in the expression.
fn variable(index: usize) -> String {
    format!("$toolcrib{index}")
}
