//! Rows within their limits: [`Answer`], as JSON for programs and as a table for models.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::model::outcome::ToolOutput;
use crate::model::text;

/// The largest whole number that a JSON number holds for everybody who reads it as a double.
const MAX_SAFE: u64 = 1 << 53;

/// The longest cell and the longest table of the text.
const MAX_CELL: usize = 200;
const MAX_TABLE: usize = 64 * 1024;

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    /// As the database calls it.
    pub(super) kind: Option<String>,
}

/// What a statement returned.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) columns: Vec<Column>,
    rows: Vec<Value>,
    bytes: u64,
    /// How many rows were changed.
    pub(super) changes: Option<u64>,
    max_rows: usize,
    max_bytes: u64,
    overflow: Option<Overflow>,
}

/// Why there are rows that are not in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overflow {
    /// There are too many.
    Rows,
    /// They are too long.
    Bytes,
}

impl Answer {
    pub(super) fn new(max_rows: usize, max_bytes: u64) -> Self {
        Answer {
            max_rows,
            max_bytes,
            ..Answer::default()
        }
    }

    /// Takes a row, value by value: what comes after the one that is too much is not even made. Says whether it was taken.
    pub(super) fn push<E>(
        &mut self,
        values: impl IntoIterator<Item = Result<Value, E>>,
    ) -> Result<bool, E> {
        if self.rows.len() == self.max_rows {
            self.overflow = Some(Overflow::Rows);
            return Ok(false);
        }
        let mut row = Vec::new();
        for value in values {
            let value = value?;
            self.bytes = self.bytes.saturating_add(length(&value) + 1);
            if self.bytes > self.max_bytes {
                self.overflow = Some(Overflow::Bytes);
                return Ok(false);
            }
            row.push(value);
        }
        self.rows.push(Value::Array(row));
        Ok(true)
    }

    pub(super) fn overflow(&self) -> Option<Overflow> {
        self.overflow
    }

    pub(super) fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// What a caller gets.
    pub(super) fn into_output(self) -> ToolOutput {
        let table = self.table();
        let columns: Vec<Value> = self
            .columns
            .iter()
            .map(|column| json!({"name": column.name, "type": column.kind}))
            .collect();
        let mut value = json!({
            "columns": columns,
            "rowCount": self.rows.len(),
            "truncated": self.overflow.is_some(),
        });
        value["rows"] = Value::Array(self.rows);
        if let Some(changes) = self.changes {
            value["changes"] = changes.into();
        }
        ToolOutput::value(value).with_text(table)
    }

    fn table(&self) -> String {
        let mut table = String::new();
        let mut left_out = 0;
        if !self.columns.is_empty() {
            let names: Vec<String> = self
                .columns
                .iter()
                .map(|column| cell(&column.name))
                .collect();
            let _ = writeln!(table, "{}", names.join(" | "));
        }
        for row in &self.rows {
            if table.len() > MAX_TABLE {
                left_out += 1;
                continue;
            }
            let cells: Vec<String> = row.as_array().into_iter().flatten().map(shown).collect();
            let _ = writeln!(table, "{}", cells.join(" | "));
        }
        let count = self.rows.len();
        let rows = if count == 1 { "row" } else { "rows" };
        let _ = match (self.overflow, self.changes) {
            (Some(Overflow::Rows), _) => writeln!(
                table,
                "({count} {rows}; there are more: narrow the statement, or raise maxRows)"
            ),
            (Some(Overflow::Bytes), _) => writeln!(
                table,
                "({count} {rows}; more would be too long: select fewer columns or shorter values)"
            ),
            (None, Some(changes)) if self.columns.is_empty() => {
                writeln!(
                    table,
                    "({changes} {} changed)",
                    if changes == 1 { "row" } else { "rows" }
                )
            }
            (None, _) => writeln!(table, "({count} {rows})"),
        };
        if left_out > 0 {
            let _ = writeln!(table, "(the last {left_out} of them are not shown here)");
        }
        table
    }
}

/// How long a value is as JSON.
fn length(value: &Value) -> u64 {
    struct Count(u64);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => u64::MAX,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::String(text) => cell(text),
        Value::Object(fields) if fields.len() == 1 && fields.contains_key("base64") => {
            let bytes = fields["base64"].as_str().map_or(0, |text| {
                text.len() / 4 * 3 - text.bytes().rev().take_while(|byte| *byte == b'=').count()
            });
            let unit = if bytes == 1 { "byte" } else { "bytes" };
            format!("<{bytes} {unit}>")
        }
        other => cell(&other.to_string()),
    }
}

/// A value on its line, between its bars.
fn cell(value: &str) -> String {
    text::shorten(value, MAX_CELL)
        .replace('|', "\\|")
        .replace('\n', "\\n")
}

/// A whole number, as a text where a double could not hold it.
pub(super) fn integer(number: i64) -> Value {
    match number.unsigned_abs() < MAX_SAFE {
        true => number.into(),
        false => number.to_string().into(),
    }
}

/// A number; what JSON has no number for is a text.
pub(super) fn real(number: f64) -> Value {
    match serde_json::Number::from_f64(number) {
        Some(number) => Value::Number(number),
        None if number.is_nan() => "NaN".into(),
        None if number > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

/// Bytes.
pub(super) fn blob(bytes: &[u8]) -> Value {
    json!({"base64": BASE64.encode(bytes)})
}

/// The bytes that a parameter is, if it is some; the error is for base64 that is none.
pub(super) fn bytes_of(value: &Value) -> Option<Result<Vec<u8>, String>> {
    let fields = value.as_object().filter(|fields| fields.len() == 1)?;
    let text = fields.get("base64")?.as_str()?;
    Some(
        BASE64
            .decode(text)
            .map_err(|error| format!("is not base64: {error}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_readers_would_change_are_texts() {
        assert_eq!(
            integer(9_007_199_254_740_991),
            json!(9_007_199_254_740_991_i64)
        );
        assert_eq!(integer(9_007_199_254_740_992), json!("9007199254740992"));
        assert_eq!(integer(i64::MIN), json!("-9223372036854775808"));
        assert_eq!(real(f64::NAN), json!("NaN"));
        assert_eq!(real(f64::NEG_INFINITY), json!("-Infinity"));
        assert_eq!(real(0.5), json!(0.5));
    }

    #[test]
    fn a_table_keeps_rows_on_their_lines() {
        let mut answer = Answer::new(2, 1000);
        answer.columns = vec![Column {
            name: "a|b".to_owned(),
            kind: None,
        }];
        assert_eq!(take(&mut answer, vec![json!("x\ny")]), None);
        assert_eq!(take(&mut answer, vec![blob(b"12")]), None);
        assert_eq!(take(&mut answer, vec![json!(1)]), Some(Overflow::Rows));
        let output = answer.into_output();
        assert_eq!(
            output.text(),
            "a\\|b\nx\\ny\n<2 bytes>\n(2 rows; there are more: narrow the statement, or raise maxRows)\n"
        );
        assert_eq!(output.value["truncated"], true);
    }

    #[test]
    fn bytes_are_counted_before_they_are_kept() {
        let mut answer = Answer::new(10, 20);
        let long = vec![json!("x".repeat(30))];
        assert_eq!(take(&mut answer, long), Some(Overflow::Bytes));
        assert_eq!(answer.row_count(), 0);
    }

    /// A row of thousands of long values must not be in memory before it is found to be too long.
    #[test]
    fn values_after_the_one_that_is_too_much_are_not_made() {
        let mut answer = Answer::new(10, 1000);
        let mut made = 0;
        let values = (0..2000).map(|_| {
            made += 1;
            Ok::<_, ()>(json!("\u{1}".repeat(100)))
        });
        assert_eq!(answer.push(values), Ok(false));
        assert_eq!(made, 2);
    }

    fn take(answer: &mut Answer, row: Vec<Value>) -> Option<Overflow> {
        let taken = answer.push(row.into_iter().map(Ok::<_, ()>)).unwrap();
        assert_eq!(taken, answer.overflow().is_none());
        answer.overflow()
    }
}
