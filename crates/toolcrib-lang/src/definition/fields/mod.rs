//! The one table of the format's fields: [`FIELDS`].
//!
//! It says what a file may hold. The shape check, "did you mean", the published JSON Schema and `toolcrib explain <field>` all
//! come from it, and the reader can only ask for what is in it.
//!
//! A path names the fields from the top, `[]` an entry of a list, `*` an entry of a mapping whose keys are free.

mod table;

use std::sync::LazyLock;

pub use table::FIELDS;

/// One field of the format.
#[derive(Debug)]
pub struct Field {
    /// Its path, as `steps[].error-handling.retry.attempts`.
    pub path: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What it is when a file does not say; `None` for what has no default or must be said.
    pub default: Option<&'static str>,
    /// What it means, in a line.
    pub meaning: &'static str,
    /// A value, as a file has it.
    pub example: &'static str,
    /// Where it takes effect, and what sees to it.
    pub enforced: &'static str,
}

/// What a field holds. A type is what the field wants, never what YAML makes of a text: `version: 1.10` is the text `1.10`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text, as it is written.
    Text,
    /// A text in which `{NAME}` stands for a value.
    Template,
    /// The text of a program, in which `{NAME}` stands for a value.
    Program,
    /// A JavaScript expression.
    Expression,
    /// A regular expression of a linear-time dialect.
    Pattern,
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer {
        /// The least.
        least: i64,
        /// The largest.
        most: i64,
    },
    /// A number.
    Number,
    /// A time: milliseconds as a bare number, or `500ms`, `5s`, `2m`.
    Time {
        /// The shortest, in milliseconds.
        least: u64,
        /// The longest, in milliseconds.
        most: u64,
    },
    /// A size: bytes as a bare number, or `10MB`; MB = 1,048,576.
    Size {
        /// The least, in bytes.
        least: u64,
        /// The largest, in bytes.
        most: u64,
    },
    /// One of some words.
    Choice(&'static [&'static str]),
    /// A list of some words.
    Choices(&'static [&'static str]),
    /// A list of whole numbers.
    Integers {
        /// The least.
        least: i64,
        /// The largest.
        most: i64,
    },
    /// A list of texts.
    Texts,
    /// A text or a list of texts.
    TextOrTexts,
    /// Any value.
    Value,
    /// A list of any values.
    Values,
    /// A JSON Schema.
    Schema,
    /// Fields of its own.
    Fields,
    /// Fields of its own, or a list of such.
    FieldsOrList,
    /// A mapping whose keys are free.
    Map,
    /// A list.
    List,
}

/// How files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// YAML: a text needs no quotes.
    Yaml,
    /// JSON, with comments and commas at the end.
    Json,
}

/// One kind of tools' files.
#[derive(Debug)]
pub(crate) struct Dialect {
    pub(crate) syntax: Syntax,
    pub(crate) fields: &'static [Field],
    /// Keys that other formats have, and what they are here.
    pub(crate) foreign: &'static [(&'static str, &'static str)],
}

/// YAML command tools.
pub(crate) static YAML: Dialect = Dialect {
    syntax: Syntax::Yaml,
    fields: FIELDS,
    foreign: super::shape::FOREIGN,
};

/// A field with those below it.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Nothing for the whole file.
    pub(crate) field: Option<&'static Field>,
    pub(crate) kind: Kind,
    pub(crate) fields: Vec<(&'static str, Shape)>,
    /// What an entry of a list or a free mapping is.
    pub(crate) entry: Option<Box<Shape>>,
}

impl Shape {
    pub(crate) fn get(&self, name: &str) -> Option<&Shape> {
        self.fields
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, shape)| shape)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|(name, _)| *name)
    }

    fn insert(&mut self, path: &'static str, field: &'static Field) {
        let (head, rest) = split(path);
        let child = match head {
            "*" | "[]" => &mut **self.entry.get_or_insert_with(|| Box::new(Shape::bare())),
            name => {
                if self.get(name).is_none() {
                    self.fields.push((name, Shape::bare()));
                }
                let at = self.fields.iter().position(|(known, _)| *known == name);
                match at {
                    Some(at) => &mut self.fields[at].1,
                    None => unreachable!("pushed above"),
                }
            }
        };
        match rest {
            Some(rest) => child.insert(rest, field),
            None => {
                child.field = Some(field);
                child.kind = field.kind;
            }
        }
    }

    fn bare() -> Shape {
        Shape {
            field: None,
            kind: Kind::Fields,
            fields: Vec::new(),
            entry: None,
        }
    }
}

/// The first part of a path, and the rest.
fn split(path: &'static str) -> (&'static str, Option<&'static str>) {
    if let Some(rest) = path.strip_prefix("[]") {
        return ("[]", rest.strip_prefix('.').filter(|rest| !rest.is_empty()));
    }
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (head, rest) = path.split_at(end);
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    (head, (!rest.is_empty()).then_some(rest))
}

impl Shape {
    /// A whole format, as a tree.
    pub(crate) fn of(fields: &'static [Field]) -> Shape {
        let mut root = Shape::bare();
        for field in fields {
            root.insert(field.path, field);
        }
        root
    }
}

/// YAML tools, as a tree.
pub(crate) static FORMAT: LazyLock<Shape> = LazyLock::new(|| Shape::of(FIELDS));
