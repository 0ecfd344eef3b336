//! A table of servers in a YAML file, as Goose has one: read as JSON, and changed by whole lines, so that everything else stays what it is.
//!
//! Tables in block style are changed; one that is written on a line (`{a: …}`) is left alone, unless it is empty.

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// How deep a file may nest.
const MAX_DEPTH: usize = 32;

/// The table of servers in a file.
struct Table {
    /// The line behind the key.
    behind_key: usize,
    /// The value of the key, in bytes; empty where there is none.
    value: Range<usize>,
    is_block: bool,
    entries: Vec<Entry>,
}

struct Entry {
    name: String,
    value: Value,
    /// Its lines, in bytes.
    lines: Range<usize>,
}

/// What the parser says, with the bytes it says it of.
struct Item<'a> {
    event: Event<'a>,
    at: Range<usize>,
}

struct Reader<'a> {
    text: &'a str,
    items: Vec<Item<'a>>,
    next: usize,
}

/// The servers of a file, in their order.
pub(super) fn servers(text: &str, key: &str) -> Result<Map<String, Value>, String> {
    let table = table(text, key)?;
    let entries = table.into_iter().flat_map(|table| table.entries);
    Ok(entries.map(|entry| (entry.name, entry.value)).collect())
}

/// Whether the file has a table of servers.
pub(super) fn has_table(text: &str, key: &str) -> bool {
    table(text, key).is_ok_and(|table| table.is_some())
}

/// The text with a server, new or in the place of the one with its name.
pub(super) fn with(
    text: &str,
    key: &str,
    name: &str,
    server: &Map<String, Value>,
) -> Result<String, String> {
    let changed = match table(text, key)? {
        None => {
            let mut all = text.to_owned();
            if !all.is_empty() && !all.ends_with('\n') {
                all.push_str(newline(text));
            }
            all.push_str(&format!("{key}:{}", newline(text)));
            all + &block(2, name, server, newline(text))
        }
        Some(found) if found.is_block => {
            let indent = found.entries.first().map_or(2, |first| {
                let line = &text[first.lines.clone()];
                line.len() - line.trim_start_matches(' ').len()
            });
            let new = block(indent, name, server, newline(text));
            let place = match found.entries.iter().find(|entry| entry.name == name) {
                Some(old) => old.lines.clone(),
                None => found.behind_key..found.behind_key,
            };
            replaced(text, place, &new)
        }
        Some(found) if found.entries.is_empty() => {
            let new = block(2, name, server, newline(text));
            let rest = &text[found.value.end..found.behind_key];
            // The line of the key may have no end, or a comment.
            let end = match text[..found.behind_key].ends_with('\n') {
                true => "",
                false => newline(text),
            };
            let head = text[..found.value.start].trim_end_matches(' ');
            format!("{head}{rest}{end}{new}{}", &text[found.behind_key..])
        }
        Some(_) => return Err(not_block(key)),
    };
    let mut expected = servers(text, key)?;
    expected.insert(name.to_owned(), Value::Object(server.clone()));
    checked(changed, key, &expected)
}

/// The text without a server; the key goes too if that was all it had and `and_table` says so.
pub(super) fn without(
    text: &str,
    key: &str,
    name: &str,
    and_table: bool,
) -> Result<String, String> {
    let Some(found) = table(text, key)? else {
        return Ok(text.to_owned());
    };
    let Some(old) = found.entries.iter().find(|entry| entry.name == name) else {
        return Ok(text.to_owned());
    };
    if !found.is_block {
        return Err(not_block(key));
    }
    let mut expected = servers(text, key)?;
    expected.shift_remove(name);
    let changed = match (expected.is_empty(), and_table) {
        (true, true) => {
            let start = text[..found.behind_key.saturating_sub(1)]
                .rfind('\n')
                .map_or(0, |at| at + 1);
            let less = replaced(text, old.lines.clone(), "");
            replaced(&less, start..found.behind_key, "")
        }
        (true, false) => {
            // A key without a value would be null.
            let less = replaced(text, old.lines.clone(), "");
            let line = less[..found.behind_key].trim_end_matches(['\n', '\r']);
            let (line, rest) = (line.to_owned(), &less[line.len()..]);
            format!("{line} {{}}{rest}")
        }
        (false, _) => replaced(text, old.lines.clone(), ""),
    };
    checked(changed, key, &expected)
}

/// A file that does not say what it should is not written.
fn checked(text: String, key: &str, expected: &Map<String, Value>) -> Result<String, String> {
    let read = servers(&text, key)?;
    let same = read.len() == expected.len()
        && expected
            .iter()
            .all(|(name, value)| read.get(name) == Some(value));
    match same {
        true => Ok(text),
        false => Err("it is written in a way that cannot be changed by machine".to_owned()),
    }
}

fn not_block(key: &str) -> String {
    format!("`{key}` in it is written on one line; start each extension on a new line")
}

fn replaced(text: &str, range: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..range.start], &text[range.end..])
}

fn newline(text: &str) -> &'static str {
    match text.contains("\r\n") {
        true => "\r\n",
        false => "\n",
    }
}

/// A server in block style. Its values are JSON, which YAML reads as the same.
fn block(indent: usize, name: &str, server: &Map<String, Value>, newline: &str) -> String {
    let mut lines = format!("{:indent$}{name}:{newline}", "");
    let deeper = indent + 2;
    for (key, value) in server {
        lines.push_str(&format!("{:deeper$}{key}: {value}{newline}", ""));
    }
    lines
}

fn table(text: &str, key: &str) -> Result<Option<Table>, String> {
    let mut reader = Reader::of(text)?;
    reader.skip(|event| matches!(event, Event::StreamStart | Event::DocumentStart(..)));
    let is_map = matches!(
        reader.peek(),
        Some(Item {
            event: Event::MappingStart(..),
            ..
        })
    );
    if !is_map {
        return match reader.peek() {
            None => Ok(None),
            Some(Item {
                event: Event::StreamEnd | Event::DocumentEnd,
                ..
            }) => Ok(None),
            // An empty document is a null.
            Some(Item {
                event: Event::Scalar(word, ..),
                ..
            }) if word.is_empty() => Ok(None),
            _ => Err("it is YAML, but not a table of settings".to_owned()),
        };
    }
    reader.next += 1;
    let mut found = None;
    while !matches!(
        reader.peek(),
        None | Some(Item {
            event: Event::MappingEnd,
            ..
        })
    ) {
        let (name, at) = reader.key()?;
        if name != key {
            reader.value(0)?;
            continue;
        }
        if found.is_some() {
            return Err(format!("`{key}` is in it twice"));
        }
        found = Some(reader.servers(key, &at)?);
    }
    reader.next += 1;
    reader.skip(|event| matches!(event, Event::DocumentEnd));
    match reader.peek() {
        None
        | Some(Item {
            event: Event::StreamEnd,
            ..
        }) => Ok(found),
        Some(_) => Err("it holds more than one YAML document".to_owned()),
    }
}

impl<'a> Reader<'a> {
    fn of(text: &'a str) -> Result<Self, String> {
        let options = granit_parser::options! {
            emit_unresolved_aliases: true,
            emit_comments: false,
            flow_nesting_limit: MAX_DEPTH,
            block_nesting_limit: MAX_DEPTH,
        };
        let mut parser = Parser::new_from_str_with_options(text, options);
        let mut items = Vec::new();
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| {
                let at = error.marker().byte_offset().unwrap_or(text.len());
                let before = text.get(..at).unwrap_or(text);
                let line = before.matches('\n').count() + 1;
                format!("it is not YAML: line {line}: {}", error.info())
            })?;
            let range = span.byte_range().unwrap_or(0..0);
            let start = text.floor_char_boundary(range.start.min(text.len()));
            let end = text.floor_char_boundary(range.end.min(text.len()));
            items.push(Item {
                event,
                at: start..end.max(start),
            });
        }
        Ok(Reader {
            text,
            items,
            next: 0,
        })
    }

    fn peek(&self) -> Option<&Item<'a>> {
        self.items.get(self.next)
    }

    fn skip(&mut self, is_skipped: impl Fn(&Event<'a>) -> bool) {
        while self.peek().is_some_and(|item| is_skipped(&item.event)) {
            self.next += 1;
        }
    }

    fn key(&mut self) -> Result<(String, Range<usize>), String> {
        let key = match self.peek() {
            Some(Item {
                event: Event::Scalar(word, ..),
                at,
            }) => (word.to_string(), at.clone()),
            _ => return Err("a key in it is not a plain word".to_owned()),
        };
        self.next += 1;
        Ok(key)
    }

    /// The value behind the key of servers.
    fn servers(&mut self, key: &str, at: &Range<usize>) -> Result<Table, String> {
        let mut table = Table {
            behind_key: line_end(self.text, at.end),
            value: at.end..at.end,
            is_block: false,
            entries: Vec::new(),
        };
        let Some(item) = self.peek() else {
            return Ok(table);
        };
        let start = item.at.start;
        match &item.event {
            Event::Scalar(word, ScalarStyle::Plain, ..) if matches!(&**word, "" | "~" | "null") => {
                if !word.is_empty() {
                    table.value = item.at.clone();
                }
                self.next += 1;
                return Ok(table);
            }
            Event::MappingStart(..) => {}
            _ => return Err(format!("`{key}` in it is not a table of servers")),
        }
        let is_flow = self.text[start..].starts_with('{');
        self.next += 1;
        while !matches!(
            self.peek(),
            None | Some(Item {
                event: Event::MappingEnd,
                ..
            })
        ) {
            let (name, at) = self.key()?;
            let first = self.text[..at.start].rfind('\n').map_or(0, |at| at + 1);
            let (value, end) = self.value(0)?;
            let end = line_end(self.text, end.max(at.end));
            if table.entries.iter().any(|entry| entry.name == name) {
                return Err(format!("`{name}` is in it twice"));
            }
            table.entries.push(Entry {
                name,
                value,
                lines: first..end,
            });
        }
        let end = self.peek().map_or(start, |item| item.at.end);
        self.next += 1;
        table.is_block = !is_flow;
        if is_flow {
            table.value = start..end;
            table.behind_key = line_end(self.text, end);
        }
        Ok(table)
    }

    /// A value, and where the last of it ends.
    fn value(&mut self, depth: usize) -> Result<(Value, usize), String> {
        if depth > MAX_DEPTH {
            return Err("it nests too deep".to_owned());
        }
        self.skip(|event| matches!(event, Event::Anchor(..)));
        let Some(item) = self.items.get(self.next) else {
            return Err("it ends too early".to_owned());
        };
        self.next += 1;
        let mut end = item.at.end;
        let value = match &item.event {
            Event::Scalar(word, style, ..) => scalar(word, *style == ScalarStyle::Plain),
            Event::MappingStart(..) => {
                let mut fields = Map::new();
                while !matches!(
                    self.peek(),
                    None | Some(Item {
                        event: Event::MappingEnd,
                        ..
                    })
                ) {
                    let (name, at) = self.key()?;
                    let (value, last) = self.value(depth + 1)?;
                    end = end.max(at.end).max(last);
                    fields.insert(name, value);
                }
                end = end.max(self.end_of_flow());
                Value::Object(fields)
            }
            Event::SequenceStart(..) => {
                let mut values = Vec::new();
                while !matches!(
                    self.peek(),
                    None | Some(Item {
                        event: Event::SequenceEnd,
                        ..
                    })
                ) {
                    let (value, last) = self.value(depth + 1)?;
                    end = end.max(last);
                    values.push(value);
                }
                end = end.max(self.end_of_flow());
                Value::Array(values)
            }
            // What it stands for is elsewhere in the file.
            Event::Alias(_) | Event::UnresolvedAlias(_) => Value::Null,
            _ => return Err("it is written in a way that is not understood".to_owned()),
        };
        Ok((value, end))
    }

    /// Takes the end of a list or table; where it is written as a bracket, that is its end.
    fn end_of_flow(&mut self) -> usize {
        let end = self.peek().map(|item| item.at.clone()).unwrap_or_default();
        self.next += 1;
        match self.text[end.clone()].ends_with(['}', ']']) {
            true => end.end,
            false => 0,
        }
    }
}

/// Where the line ends that has this byte, its newline included.
fn line_end(text: &str, at: usize) -> usize {
    // A block of text ends behind its last newline.
    if at > 0 && text[..at].ends_with('\n') {
        return at;
    }
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

fn scalar(word: &str, is_plain: bool) -> Value {
    if !is_plain {
        return word.into();
    }
    match word {
        "" | "~" | "null" => Value::Null,
        "true" => true.into(),
        "false" => false.into(),
        word => match serde_json::from_str::<Value>(word) {
            Ok(number @ Value::Number(_)) => number,
            _ => word.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server() -> Map<String, Value> {
        let server = json!({"cmd": "/bin/x", "args": ["mcp", "it's: #1"], "enabled": true});
        server.as_object().unwrap().clone()
    }

    const MINE: &str = "# mine\nGOOSE_MODEL: gpt # best\nextensions:\n  # built in\n  developer:\n    enabled: true\n    timeout: 300\n    args: [a, 'b']\n  notes:\n    cmd: npx\n    description: |\n      two\n      lines\n# end\nother: 1\n";

    #[test]
    fn servers_are_read_as_json() {
        let read = Value::Object(servers(MINE, "extensions").unwrap());
        assert_eq!(
            read,
            json!({
                "developer": {"enabled": true, "timeout": 300, "args": ["a", "b"]},
                "notes": {"cmd": "npx", "description": "two\nlines\n"},
            })
        );
    }

    #[test]
    fn a_server_is_added_replaced_and_removed_and_every_other_line_stays() {
        let other = server();
        for text in [
            MINE.to_owned(),
            MINE.replace('\n', "\r\n"),
            "a: 1\nextensions: {} # none\nb: 2\n".to_owned(),
            "a: 1\nextensions:\nb: 2\n".to_owned(),
            "a: 1".to_owned(),
            "extensions:\n    deep:\n        cmd: x\n".to_owned(),
            "extensions: {}".to_owned(),
            String::new(),
            "# nothing\n".to_owned(),
        ] {
            let new = with(&text, "extensions", "toolcrib", &other).unwrap();
            let read = servers(&new, "extensions").unwrap();
            assert_eq!(read["toolcrib"], Value::Object(other.clone()), "{new}");
            for line in text.lines().filter(|line| !line.contains("{}")) {
                assert!(new.lines().any(|kept| kept == line), "{line:?}: {new}");
            }
            assert_eq!(new.contains("\r\n"), text.contains("\r\n"));
            let again = with(&new, "extensions", "toolcrib", &other).unwrap();
            assert_eq!(again, new, "it is replaced in its place");
            let had = has_table(&text, "extensions");
            let gone = without(&new, "extensions", "toolcrib", !had).unwrap();
            assert_eq!(
                servers(&gone, "extensions").unwrap(),
                servers(&text, "extensions").unwrap(),
                "{gone}"
            );
        }
        let less = without(MINE, "extensions", "notes", false).unwrap();
        assert!(
            less.ends_with("args: [a, 'b']\n# end\nother: 1\n"),
            "{less}"
        );
    }

    #[test]
    fn what_cannot_be_changed_by_lines_is_left_alone() {
        for (text, why) in [
            ("extensions: {a: {cmd: x}}\n", "on one line"),
            ("extensions: 3\n", "not a table"),
            ("- a\n", "not a table of settings"),
            ("a: [\n", "not YAML"),
            ("extensions: {}\n---\nb: 1\n", "more than one"),
            ("extensions: {}\nextensions: {}\n", "twice"),
        ] {
            let error = with(text, "extensions", "toolcrib", &server()).unwrap_err();
            assert!(error.contains(why), "{text:?}: {error}");
        }
    }
}
