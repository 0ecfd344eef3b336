//! What a template knows of a parameter: its type and how its value appears.

use super::Text;

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParameterKind {
    /// Text.
    String,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A list.
    Array,
    /// Fields.
    Object,
}

impl ParameterKind {
    /// Whether its values are numbers, which mean nothing to a shell.
    pub fn is_numeric(self) -> bool {
        matches!(self, ParameterKind::Number | ParameterKind::Integer)
    }
}

/// `format`: how a value appears in a command.
#[derive(Debug, Clone)]
pub struct Format {
    /// The words of it; `{value}` stands for the value. Without it the format is a flag.
    pub words: Vec<Text>,
    /// The text as the file has it.
    pub source: String,
}
