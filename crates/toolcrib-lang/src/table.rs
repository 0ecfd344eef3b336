//! Reads catalogues that are data: TOML files that are compiled into the program, as `shell/programs.toml` and `definition/fields.toml` are.
//!
//! Such a file has a table per entry, a key per line, and strings as values; a text of several lines is between `'''`. Only that is read,
//! and texts are not copied: 1,000 lines take 0.1 ms in a process that just started. A line that is not understood is skipped, so every
//! catalogue has a test that compares what is read with what a TOML parser reads.

use std::str::FromStr;

/// A table of a catalogue.
#[derive(Debug)]
#[doc(hidden)]
pub struct Row {
    /// The text between the brackets.
    pub name: &'static str,
    /// Keys and values as they are written.
    pub values: Vec<(&'static str, &'static str)>,
}

impl Row {
    /// The value of a key.
    pub fn find(&self, key: &str) -> Option<&'static str> {
        let found = self.values.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| *value)
    }

    /// The value of a key; empty if there is none.
    pub fn get(&self, key: &str) -> &'static str {
        self.find(key).unwrap_or_default()
    }
}

/// The tables of a catalogue, in its order.
#[doc(hidden)]
pub fn rows(text: &'static str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = after;
        if let Some(name) = line.strip_prefix('[') {
            rows.push(Row {
                name: string(name.trim_end_matches(']')),
                values: Vec::with_capacity(8),
            });
        } else if !line.starts_with('#')
            && let Some((key, value)) = line.split_once('=')
            && let Some(row) = rows.last_mut()
        {
            let value = match value.trim_start() {
                "'''" => {
                    let (lines, after) = rest.split_once("'''").unwrap_or((rest, ""));
                    rest = after;
                    lines
                }
                value => string(value),
            };
            row.values.push((key.trim_end(), value));
        }
    }
    rows
}

/// What a name or a value says: between three quotes, between one, or without.
fn string(written: &'static str) -> &'static str {
    // In double quotes the escapes of TOML that catalogues use are those of JSON.
    if written.starts_with('"') && written.contains('\\') {
        return serde_json::from_str(written).map_or(written, |text: String| text.leak());
    }
    let between = |quotes| written.strip_prefix(quotes)?.strip_suffix(quotes);
    between("'''")
        .or_else(|| between("'"))
        .or_else(|| between("\""))
        .unwrap_or(written)
}

/// The words of a value, for as long as the program runs.
#[doc(hidden)]
pub fn words(text: &'static str) -> &'static [&'static str] {
    text.split_ascii_whitespace().collect::<Vec<_>>().leak()
}

/// The two bounds in a value like `1 100`.
#[doc(hidden)]
pub fn bounds<N: FromStr>(text: &str) -> Option<(N, N)> {
    let (least, most) = text.split_once(' ')?;
    Some((least.parse().ok()?, most.parse().ok()?))
}

/// Panics unless a TOML parser reads the same from a catalogue, and every key in it is one of `keys`.
#[cfg(test)]
pub(crate) fn assert_read_as_toml(text: &'static str, keys: &[&str]) {
    let parsed: toml::Table = text.parse().unwrap();
    let mut count = 0;
    for row in rows(text) {
        let expected = parsed[row.name].as_table().unwrap();
        assert_eq!(row.values.len(), expected.len(), "{}", row.name);
        for (key, value) in &row.values {
            assert_eq!(expected[*key].as_str(), Some(*value), "{}: {key}", row.name);
            let is_known = keys.is_empty() || keys.contains(key);
            assert!(is_known, "unknown key `{key}` in {}", row.name);
        }
        count += 1;
    }
    assert_eq!(count, parsed.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_string_is_read() {
        let text = concat!(
            "# a = \"comment\"\n\n[\"a.*[]\"]\nplain = \"it's\"\nquotes = '\"'\nboth = '''\"'\"'''\n",
            "escapes = \"\\u2028\\n\\\"\"\nlines = '''\n[b]\n  c = 1\n'''\nlast = '''\nno\nend'''\n\n[b]\nc = \"\"\n",
        );
        assert_read_as_toml(text, &[]);
        let all = rows(text);
        assert_eq!((all[0].name, all[1].name, all.len()), ("a.*[]", "b", 2));
        assert_eq!(all[0].get("lines"), "[b]\n  c = 1\n");
        assert_eq!(all[0].get("escapes"), "\u{2028}\n\"");
        assert_eq!((all[0].find("none"), all[0].get("none")), (None, ""));
    }
}
