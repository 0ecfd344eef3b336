//! `${NAME}` in texts of HTTP tools, cut up when the file is read.
//!
//! A template is a list of pieces, and every placeholder knows what it stands for and, by the type it is part of, where: in the path,
//! in the query, in a header, inside a text of a JSON body or as a whole JSON value. Filling one in never looks for placeholders again,
//! so a value that looks like one is a value.
//!
//! `$${` is the escape for a literal `${`; a `$` before anything else is itself.

use crate::model::secret::SecretName;
use crate::target::Target;

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    /// Its pieces; no two literals follow each other, and none is empty.
    pub parts: Vec<Part>,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// As it is.
    Literal(String),
    /// What a value is put in the place of.
    Value(Placeholder),
}

/// What a placeholder stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Placeholder {
    /// The value of an argument: a property of `argSchema`.
    Argument(String),
    /// A secret: any other name.
    Secret(SecretName),
    /// `${version}`, `${slug}`, `${displayName}`.
    BuiltIn(BuiltIn),
    /// `${prev.value}`: what the request before gave.
    Previous,
}

/// A variable that every tool has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BuiltIn {
    /// `version`
    Version,
    /// `slug`
    Slug,
    /// `displayName`
    DisplayName,
}

/// `urlTemplate`: scheme, host and port are fixed, and placeholders stand in path and query only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlTemplate {
    /// Where it goes.
    pub target: Target,
    /// Scheme, host and port as the file has them: `https://api.example.com`.
    pub origin: String,
    /// The path, from its `/` on. A value in it must stay within its segment: `/` is encoded, and a segment that comes out as `.` or
    /// `..` is to be refused, since it would be taken away.
    pub path: Template,
    /// What is behind the `?`.
    pub query: Option<Template>,
}

/// `bodyTemplate`, by what the body is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyTemplate {
    /// JSON: the `Content-Type` says so, or there is none and the text is JSON once its placeholders have values.
    Json(Vec<JsonPart>),
    /// `application/x-www-form-urlencoded`: values are encoded like those of a query.
    Form(Template),
    /// Anything else: values stand as they are.
    Text(Template),
}

/// A piece of a JSON body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonPart {
    /// As it is.
    Literal(String),
    /// Inside the quotes of a text: the value as text, escaped, without quotes.
    InText(Placeholder),
    /// A whole value: the value as JSON.
    Whole(Placeholder),
}

impl Placeholder {
    /// The name, as the file has it.
    pub fn name(&self) -> &str {
        match self {
            Placeholder::Argument(name) => name,
            Placeholder::Secret(name) => name.as_str(),
            Placeholder::BuiltIn(variable) => variable.name(),
            Placeholder::Previous => PREVIOUS,
        }
    }
}

/// `prev.value`
pub(crate) const PREVIOUS: &str = "prev.value";

impl BuiltIn {
    /// All of them.
    pub const ALL: [BuiltIn; 3] = [BuiltIn::Version, BuiltIn::Slug, BuiltIn::DisplayName];

    /// The name in templates; no argument and no secret may have it.
    pub fn name(self) -> &'static str {
        match self {
            BuiltIn::Version => "version",
            BuiltIn::Slug => "slug",
            BuiltIn::DisplayName => "displayName",
        }
    }
}

impl Template {
    /// A text without placeholders.
    pub fn literal(text: impl Into<String>) -> Self {
        let text = text.into();
        Template {
            parts: match text.is_empty() {
                true => Vec::new(),
                false => vec![Part::Literal(text)],
            },
        }
    }

    /// The placeholders, in order.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(_) => None,
            Part::Value(placeholder) => Some(placeholder),
        })
    }

    /// The text, if there are no placeholders in it.
    pub fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The text with `fill`'s words for the placeholders, for people: what a file says, not what is sent.
    pub fn shown(&self, fill: impl Fn(&Placeholder) -> String) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Literal(text) => text.clone(),
                Part::Value(placeholder) => fill(placeholder),
            })
            .collect()
    }
}

impl BodyTemplate {
    /// The placeholders, in order.
    pub fn placeholders(&self) -> Vec<&Placeholder> {
        match self {
            BodyTemplate::Json(parts) => parts
                .iter()
                .filter_map(|part| match part {
                    JsonPart::Literal(_) => None,
                    JsonPart::InText(placeholder) | JsonPart::Whole(placeholder) => {
                        Some(placeholder)
                    }
                })
                .collect(),
            BodyTemplate::Form(template) | BodyTemplate::Text(template) => {
                template.placeholders().collect()
            }
        }
    }
}
