//! A client's file as text: [`Document`]. One server in it is written, replaced or taken out; every other byte stays what it is, comments,
//! trailing commas, indentation, line endings and a byte order mark included.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::yaml;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON as editors write it: comments and trailing commas are fine.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

impl Format {
    fn word(self) -> &'static str {
        match self {
            Format::Json => "JSON",
            Format::Toml => "TOML",
            Format::Yaml => "YAML",
        }
    }
}

/// The byte order mark some editors of Windows begin a file with.
const MARK: char = '\u{feff}';

/// Comments and trailing commas are allowed, but nothing that only looks like JSON: its author should see an error.
const LENIENT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The text of a file, and which table of it has the servers.
#[derive(Debug, Clone)]
pub(crate) struct Document<'a> {
    pub(crate) text: &'a str,
    pub(crate) format: Format,
    pub(crate) key: &'a str,
}

impl Document<'_> {
    /// The servers in it, as JSON, in their order. The error says what is wrong with the text.
    pub(crate) fn servers(&self) -> Result<Map<String, Value>, String> {
        let (_, text) = split_mark(self.text);
        match self.format {
            Format::Json => {
                let (_, servers) = self.parsed(text)?;
                let value = servers.and_then(|servers| servers.to_serde_value());
                match value {
                    Some(Value::Object(servers)) => Ok(servers),
                    _ => Ok(Map::new()),
                }
            }
            Format::Toml => {
                let document = parse_toml(text)?;
                let Some(table) = document.get(self.key) else {
                    return Ok(Map::new());
                };
                let table = table.as_table_like().ok_or_else(|| self.no_table())?;
                Ok(table
                    .iter()
                    .map(|(name, item)| (name.to_owned(), json_of(item)))
                    .collect())
            }
            Format::Yaml => yaml::servers(text, self.key),
        }
    }

    /// Whether there is a table of servers, with servers or without.
    pub(crate) fn has_table(&self) -> bool {
        let (_, text) = split_mark(self.text);
        match self.format {
            Format::Json => self
                .parsed(text)
                .is_ok_and(|(_, servers)| servers.is_some()),
            Format::Toml => parse_toml(text).is_ok_and(|document| document.contains_key(self.key)),
            Format::Yaml => yaml::has_table(text, self.key),
        }
    }

    /// The text with a server in it, new or in the place of the one with its name.
    pub(crate) fn with(&self, name: &str, server: &Map<String, Value>) -> Result<String, String> {
        let (mark, text) = split_mark(self.text);
        let changed = match self.format {
            Format::Json => return self.with_value(name, &Value::Object(server.clone())),
            Format::Toml => self.toml(text, |document| {
                let root = document.as_table_mut();
                if !root.contains_key(self.key) {
                    let mut parent = Table::new();
                    parent.set_implicit(true);
                    root.insert(self.key, Item::Table(parent));
                }
                let parent = root.get_mut(self.key).ok_or_else(|| self.no_table())?;
                if let Some(table) = parent.as_table_mut() {
                    let mut new = table_of(server);
                    // In the place of the old one, with what stood above it.
                    if let Some(Item::Table(old)) = table.get(name) {
                        *new.decor_mut() = old.decor().clone();
                        new.set_position(old.position());
                    }
                    table.insert(name, Item::Table(new));
                    return Ok(());
                }
                let table: &mut dyn TableLike =
                    parent.as_table_like_mut().ok_or_else(|| self.no_table())?;
                let inline = table_of(server).into_inline_table();
                table.insert(name, Item::Value(inline.into()));
                Ok(())
            })?,
            Format::Yaml => yaml::with(text, self.key, name, server)?,
        };
        Ok(format!("{mark}{changed}"))
    }

    /// The text of a JSON file with any value in its table, new or in the place of the one with its name.
    pub(crate) fn with_value(&self, name: &str, value: &Value) -> Result<String, String> {
        let (mark, text) = split_mark(self.text);
        let (root, servers) = self.parsed(text)?;
        let servers = match servers {
            Some(servers) => servers,
            None => root.object_value_or_set().object_value_or_set(self.key),
        };
        let input = input_of(value);
        match servers.get(name) {
            Some(known) => known.set_value(input),
            None => drop(servers.append(name, input)),
        }
        let changed = root.to_string();
        Ok(match text.trim().is_empty() {
            true => format!("{mark}{}\n", changed.trim_end()),
            false => format!("{mark}{changed}"),
        })
    }

    /// The text without a server; the table of servers goes too if that was all it had and `and_table` says so.
    pub(crate) fn without(&self, name: &str, and_table: bool) -> Result<String, String> {
        let (mark, text) = split_mark(self.text);
        let changed = match self.format {
            Format::Json => {
                let (root, servers) = self.parsed(text)?;
                if let Some(servers) = servers {
                    if let Some(known) = servers.get(name) {
                        known.remove();
                    }
                    if and_table
                        && servers.properties().is_empty()
                        && let Some(table) = root.object_value().and_then(|root| root.get(self.key))
                    {
                        table.remove();
                    }
                }
                root.to_string()
            }
            Format::Toml => self.toml(text, |document| {
                let root = document.as_table_mut();
                let table = root.get_mut(self.key).and_then(Item::as_table_like_mut);
                let is_empty = table.is_some_and(|table| {
                    table.remove(name);
                    table.is_empty()
                });
                if is_empty && and_table {
                    root.remove(self.key);
                }
                Ok(())
            })?,
            Format::Yaml => yaml::without(text, self.key, name, and_table)?,
        };
        Ok(format!("{mark}{changed}"))
    }

    /// A document with nothing but this server, to be pasted.
    pub(crate) fn snippet(
        &self,
        name: &str,
        server: &Map<String, Value>,
    ) -> Result<String, String> {
        match self.format {
            Format::Json => {
                let document = serde_json::json!({ self.key: { name: server } });
                let text = serde_json::to_string_pretty(&document);
                Ok(text.map_err(|error| error.to_string())? + "\n")
            }
            Format::Toml | Format::Yaml => Document {
                text: "",
                ..self.clone()
            }
            .with(name, server),
        }
    }

    /// The tree of a JSON text and its table of servers, if it has one.
    fn parsed(&self, text: &str) -> Result<(CstRootNode, Option<CstObject>), String> {
        let root = CstRootNode::parse(text, &LENIENT).map_err(|error| {
            let range = error.range();
            let before = text.get(..range.start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            format!(
                "it is not {}: line {line}: {}",
                self.format.word(),
                error.kind()
            )
        })?;
        let Some(value) = root.value() else {
            return Ok((root, None));
        };
        let object = value
            .as_object()
            .ok_or("it is JSON, but not an object with settings")?;
        once(&object, self.key)?;
        let Some(property) = object.get(self.key) else {
            return Ok((root, None));
        };
        let servers = property.object_value().ok_or_else(|| self.no_table())?;
        for server in servers.properties() {
            let name = server.decoded_name().unwrap_or_default();
            once(&servers, &name)?;
        }
        Ok((root, Some(servers)))
    }

    fn no_table(&self) -> String {
        let what = match self.key {
            "hooks" => "events",
            _ => "servers",
        };
        format!("`{}` in it is not a table of {what}", self.key)
    }

    /// Changes a TOML text. Its writer ends lines in one way only, so what has both is left alone.
    fn toml(
        &self,
        text: &str,
        change: impl FnOnce(&mut DocumentMut) -> Result<(), String>,
    ) -> Result<String, String> {
        let (all, windows) = (text.matches('\n').count(), text.matches("\r\n").count());
        if windows != 0 && windows != all {
            return Err("some of its lines end as on Windows and some do not".to_owned());
        }
        let mut document = parse_toml(&text.replace("\r\n", "\n"))?;
        change(&mut document)?;
        let changed = document.to_string();
        Ok(match windows {
            0 => changed,
            _ => changed.replace('\n', "\r\n"),
        })
    }
}

fn split_mark(text: &str) -> (&str, &str) {
    match text.starts_with(MARK) {
        true => text.split_at(MARK.len_utf8()),
        false => ("", text),
    }
}

/// Programs differ in which of two they believe.
fn once(object: &CstObject, key: &str) -> Result<(), String> {
    let properties = object.properties().into_iter();
    let same = properties.filter(|property| property.decoded_name().as_deref() == Some(key));
    match same.count() {
        0 | 1 => Ok(()),
        _ => Err(format!("`{key}` is in it twice")),
    }
}

fn parse_toml(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
        format!("it is not TOML: line {line}: {}", error.message().trim())
    })
}

fn input_of(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input_of).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), input_of(value)))
                .collect(),
        ),
    }
}

/// A server as a table of TOML: `command`, `args`, and what has parts on one line.
fn table_of(server: &Map<String, Value>) -> Table {
    let mut table = Table::new();
    for (key, value) in server {
        if let Some(value) = toml_of(value) {
            table.insert(key, Item::Value(value));
        }
    }
    table
}

fn toml_of(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => {
            let values: toml_edit::Array = values.iter().filter_map(toml_of).collect();
            values.into()
        }
        Value::Object(fields) => {
            let mut table = toml_edit::InlineTable::new();
            for (key, value) in fields {
                if let Some(value) = toml_of(value) {
                    table.insert(key, value);
                }
            }
            table.into()
        }
    })
}

fn json_of(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        let fields = table.iter();
        return Value::Object(
            fields
                .map(|(key, item)| (key.to_owned(), json_of(item)))
                .collect(),
        );
    }
    if let Some(tables) = item.as_array_of_tables() {
        let tables = tables
            .iter()
            .map(|table| json_of(&Item::Table(table.clone())));
        return tables.collect();
    }
    match item.as_value() {
        Some(toml_edit::Value::String(text)) => text.value().as_str().into(),
        Some(toml_edit::Value::Integer(number)) => (*number.value()).into(),
        Some(toml_edit::Value::Float(number)) => (*number.value()).into(),
        Some(toml_edit::Value::Boolean(value)) => (*value.value()).into(),
        Some(toml_edit::Value::Array(values)) => values
            .iter()
            .map(|value| json_of(&Item::Value(value.clone())))
            .collect(),
        Some(other) => other.to_string().trim().into(),
        None => Value::Null,
    }
}

#[cfg(test)]
mod tests;
