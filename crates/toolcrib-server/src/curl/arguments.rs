//! Which values become arguments: those that `--param` names, and placeholders that are not secrets.

use serde_json::{Value, json};

use super::placeholder;
use super::url::decoded;

/// What `--param` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Param {
    /// As it was typed.
    pub(super) typed: String,
    /// The argument's name.
    pub(super) name: String,
    pub(super) finds: Finds,
}

/// What becomes an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finds {
    /// The query parameter, form field or field of the body with this name.
    Named(String),
    /// A field of the body: `body.a.b`.
    Field(Vec<String>),
    /// Whatever is exactly this text: a segment of the path, or a value.
    Text(String),
}

impl Param {
    /// Reads `NAME`, `body.FIELD` or `NAME=TEXT`.
    pub(super) fn read(typed: &str) -> Param {
        let (name, finds) = match (typed.split_once('='), typed.strip_prefix("body.")) {
            (Some((name, text)), _) => (name, Finds::Text(text.to_owned())),
            (None, Some(field)) => {
                let path: Vec<String> = field.split('.').map(str::to_owned).collect();
                let last = path
                    .iter()
                    .rev()
                    .find(|part| part.parse::<usize>().is_err());
                let name = last.map_or(field, String::as_str);
                return Param {
                    typed: typed.to_owned(),
                    name: argument_name(name),
                    finds: Finds::Field(path),
                };
            }
            (None, None) => (typed, Finds::Named(typed.to_owned())),
        };
        Param {
            typed: typed.to_owned(),
            name: argument_name(name),
            finds,
        }
    }

    /// Whether it names a part of a query or a form.
    pub(super) fn is_pair(&self, name: &str, value: &str) -> bool {
        match &self.finds {
            Finds::Named(wanted) => decoded(name).as_deref() == Some(wanted),
            Finds::Text(text) => decoded(value).as_deref() == Some(text),
            Finds::Field(path) => matches!(path.as_slice(), [only] if only == name),
        }
    }

    /// Whether it names a field of a JSON body.
    pub(super) fn is_field(&self, path: &[String], value: &Value) -> bool {
        match &self.finds {
            Finds::Named(wanted) => matches!(path, [only] if only == wanted),
            Finds::Field(wanted) => path == wanted,
            Finds::Text(text) => match value {
                Value::String(value) => value == text,
                Value::Number(number) => number.to_string() == *text,
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
            },
        }
    }
}

/// A name that templates take: `page[size]` is `page_size`.
fn argument_name(text: &str) -> String {
    let name: String = text
        .chars()
        .map(|char| match char.is_ascii_alphanumeric() {
            true => char,
            false => '_',
        })
        .collect();
    let name = name.trim_matches('_').to_owned();
    match placeholder::is_name(&name) {
        true => name,
        false => format!("p_{name}"),
    }
}

/// An argument of the tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its type in JSON Schema.
    pub kind: &'static str,
    /// Where it is, in words.
    pub place: String,
    /// What stood there.
    pub example: Option<Value>,
}

impl Argument {
    /// One that stands for nothing yet.
    pub fn new(name: &str, kind: &'static str, place: &str) -> Self {
        Argument {
            name: name.to_owned(),
            kind,
            place: place.to_owned(),
            example: None,
        }
    }

    /// One with the text that stood there: a number stays one.
    pub(super) fn of_text(name: &str, place: &str, text: &str) -> Self {
        let whole = text.parse::<i64>().ok();
        let whole = whole.filter(|number| number.to_string() == text);
        let decimal = text.parse::<f64>().ok();
        let decimal = decimal.filter(|number| number.to_string() == text && number.is_finite());
        let (kind, example) = match (whole, decimal) {
            (Some(number), _) => ("integer", json!(number)),
            (None, Some(number)) => ("number", json!(number)),
            (None, None) => ("string", json!(text)),
        };
        Argument {
            name: name.to_owned(),
            kind,
            place: place.to_owned(),
            example: (!text.is_empty()).then_some(example),
        }
    }

    /// One with the JSON value that stood there.
    pub(super) fn of_value(name: &str, place: &str, value: &Value) -> Self {
        let kind = match value {
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
            Value::Number(_) => "number",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
            Value::Null | Value::String(_) => "string",
        };
        Argument {
            name: name.to_owned(),
            kind,
            place: place.to_owned(),
            example: (!value.is_null()).then(|| value.clone()),
        }
    }

    /// Its part of `argSchema`.
    pub(super) fn schema(&self) -> Value {
        let mut schema = json!({"type": self.kind, "description": self.place});
        if let (Some(example), Some(schema)) = (&self.example, schema.as_object_mut()) {
            schema.insert("examples".to_owned(), json!([example]));
        }
        schema
    }
}
