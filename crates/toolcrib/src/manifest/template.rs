//! `${NAME}` in texts of HTTP tools.

/// A text with placeholders, cut up when it was read: a value that looks like one is never read as one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    /// Its pieces.
    pub parts: Vec<Part>,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// As it stands.
    Literal(String),
    /// The value of an argument: a property of `argSchema`.
    Argument(String),
    /// A secret: any other name.
    Secret(String),
    /// `${version}`, `${slug}`, `${displayName}`: known when the file is read.
    BuiltIn(String),
    /// `${prev.value}`: what the request before gave.
    Previous,
}
