//! The one table of the format's fields: [`FIELDS`], which is `fields.toml`.
//!
//! It says what a file may hold. The shape check, "did you mean", the published JSON Schema and `toolcrib explain <field>` all
//! come from it, and the reader can only ask for what is in it.
//!
//! A path names the fields from the top, `[]` an entry of a list, `*` an entry of a mapping whose keys are free.

use std::sync::LazyLock;

use crate::table::{Row, bounds, rows, words};

const TABLE: &str = include_str!("fields.toml");

/// Every field of a YAML tool's file, in the order of the documentation.
pub static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| fields(TABLE));

static FOREIGN: LazyLock<Row> = LazyLock::new(|| foreign(TABLE));

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
    /// `true`, `false` or a JavaScript expression that gives one of them.
    Condition,
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
    /// Its own fields.
    Fields,
    /// Its own fields, or a list of such.
    FieldsOrList,
    /// A mapping whose keys are free.
    Map,
    /// A list.
    List,
}

impl Kind {
    /// Reads the `kind` of a row: `text`, `integer 1 100`, `choice fail empty`.
    fn read(text: &'static str) -> Option<Kind> {
        let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
        Some(match kind {
            "text" | "" => Kind::Text,
            "template" => Kind::Template,
            "program" => Kind::Program,
            "expression" => Kind::Expression,
            "condition" => Kind::Condition,
            "pattern" => Kind::Pattern,
            "boolean" => Kind::Boolean,
            "integer" => bounds(rest).map(|(least, most)| Kind::Integer { least, most })?,
            "number" => Kind::Number,
            "time" => bounds(rest).map(|(least, most)| Kind::Time { least, most })?,
            "size" => bounds(rest).map(|(least, most)| Kind::Size { least, most })?,
            "choice" => Kind::Choice(words(rest)),
            "choices" => Kind::Choices(words(rest)),
            "integers" => bounds(rest).map(|(least, most)| Kind::Integers { least, most })?,
            "texts" => Kind::Texts,
            "text-or-texts" => Kind::TextOrTexts,
            "value" => Kind::Value,
            "values" => Kind::Values,
            "schema" => Kind::Schema,
            "fields" => Kind::Fields,
            "fields-or-list" => Kind::FieldsOrList,
            "map" => Kind::Map,
            "list" => Kind::List,
            _ => return None,
        })
    }
}

/// The fields of a catalogue.
pub(crate) fn fields(table: &'static str) -> Vec<Field> {
    let fields = rows(table).into_iter().filter(|row| !is_foreign(row));
    let read = |row: Row| Field {
        path: row.name,
        kind: Kind::read(row.get("kind")).expect("a test reads every kind"),
        default: row.find("default"),
        meaning: row.get("meaning"),
        example: row.get("example"),
        enforced: row.get("enforced"),
    };
    fields.map(read).collect()
}

/// The keys of a catalogue that other formats have.
pub(crate) fn foreign(table: &'static str) -> Row {
    let mut rows = rows(table).into_iter();
    rows.find(is_foreign).expect("a test reads every catalogue")
}

fn is_foreign(row: &Row) -> bool {
    row.name == "foreign"
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
    pub(crate) fields: &'static LazyLock<Vec<Field>>,
    /// Keys that other formats have, and what they are here.
    pub(crate) foreign: &'static LazyLock<Row>,
}

/// YAML command tools.
pub(crate) static YAML: Dialect = Dialect {
    syntax: Syntax::Yaml,
    fields: &FIELDS,
    foreign: &FOREIGN,
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
pub(crate) static FORMAT: LazyLock<Shape> = LazyLock::new(|| Shape::of(&FIELDS));

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::table::assert_read_as_toml;

    pub(crate) fn assert_catalogue(table: &'static str) {
        let mut keys = vec!["kind", "default", "meaning", "example", "enforced"];
        keys.extend(foreign(table).values.into_iter().map(|(key, _)| key));
        assert_read_as_toml(table, &keys);
        assert_eq!(fields(table).len() + 1, rows(table).len());
    }

    #[test]
    fn every_row_of_the_catalogue_is_read_in_full() {
        assert_catalogue(TABLE);
    }
}
