//! Another `expected` in the text of a file, line by line: only the lines of fields that change are touched.
//!
//! Only tests in block style are understood, as people write them; anything else is refused rather than guessed at.

use std::ops::Range;

use serde_json::Value;

use super::RecordError;
use crate::definition::Expected;

/// A line of the file, as far as its indentation goes.
#[derive(Clone, Copy)]
struct Line<'t> {
    indent: usize,
    /// Without indentation and line end.
    text: &'t str,
}

impl<'t> Line<'t> {
    fn of(line: &'t str) -> Self {
        let text = line.trim_end_matches(['\n', '\r']);
        let inner = text.trim_start_matches(' ');
        Line {
            indent: text.len() - inner.len(),
            text: inner,
        }
    }

    /// Neither blank nor a comment.
    fn counts(self) -> bool {
        !self.text.trim().is_empty() && !self.text.starts_with('#')
    }

    /// The text after a key, if the line has that key.
    fn after_key(self, key: &str) -> Option<&'t str> {
        let rest = [key, &format!("\"{key}\""), &format!("'{key}'")]
            .into_iter()
            .find_map(|key| self.text.strip_prefix(key))?;
        let rest = rest.trim_start().strip_prefix(':')?;
        (rest.is_empty() || rest.starts_with(' ')).then_some(rest.trim())
    }
}

pub(super) fn edit(
    text: &str,
    at: (usize, usize),
    old: &Expected,
    new: &Expected,
) -> Result<String, RecordError> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let item = Item::at(&lines, at)?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut edit = Edit {
        lines: &lines,
        newline,
        changes: Vec::new(),
    };
    match item.key(&lines, "expected") {
        None => {
            let place = item
                .key(&lines, "cleanup")
                .map_or(item.content_end(&lines), |cleanup| cleanup.start);
            let mut block = vec![format!("{}expected:", " ".repeat(item.indent))];
            block.extend(fields(new, item.indent + 2));
            edit.replace(place..place, block);
        }
        Some(found) => {
            let head = Line::of(&item.without_dash(&lines, found.start)).after_key_owned();
            let nested = found
                .clone()
                .skip(1)
                .map(|index| Line::of(lines[index]))
                .find(|line| line.counts());
            let is_block = head.is_empty() || head.starts_with('#');
            match nested {
                Some(first) if is_block => edit.fields(found, first.indent, old, new),
                // `{…}`, `null` or nothing: written again.
                _ => {
                    if item.dash_line == found.start {
                        return Err(RecordError::Layout("`expected` is its first key"));
                    }
                    let mut block = vec![format!("{}expected:", " ".repeat(item.indent))];
                    block.extend(fields(new, item.indent + 2));
                    edit.replace(found, block);
                }
            }
        }
    }
    Ok(edit.apply())
}

impl Line<'_> {
    /// The text after `expected:`.
    fn after_key_owned(self) -> String {
        self.after_key("expected").unwrap_or_default().to_owned()
    }
}

/// One entry of `tests:`, in block style.
struct Item {
    /// The line of its dash.
    dash_line: usize,
    /// Where its keys stand.
    indent: usize,
    lines: Range<usize>,
}

impl Item {
    fn at(lines: &[&str], at: (usize, usize)) -> Result<Self, RecordError> {
        let unknown = RecordError::Layout("it is not a separate list entry");
        let named = at.0.checked_sub(1).filter(|line| *line < lines.len());
        let mut dash_line = named.ok_or(unknown.clone())?;
        // Where the dash is alone, the entry begins on a later line.
        while !is_dash(Line::of(lines[dash_line])) {
            let line = Line::of(lines[dash_line]);
            let is_first = dash_line + 1 == at.0;
            if dash_line == 0 || (line.counts() && !is_first) {
                return Err(unknown);
            }
            dash_line -= 1;
        }
        let dash = Line::of(lines[dash_line]);
        let behind = dash.text[1..].trim_start_matches(' ');
        if behind.starts_with('{') {
            return Err(RecordError::Layout("it is written in braces"));
        }
        let (indent, first) = match behind.is_empty() || behind.starts_with('#') {
            false => (dash.indent + dash.text.len() - behind.len(), dash_line + 1),
            true => {
                let next = (dash_line + 1..lines.len())
                    .map(|index| (Line::of(lines[index]), index))
                    .find(|(line, _)| line.counts());
                let (line, index) = next.ok_or(unknown)?;
                (line.indent, index)
            }
        };
        let end = (first..lines.len())
            .find(|index| {
                let line = Line::of(lines[*index]);
                line.counts() && line.indent < indent
            })
            .unwrap_or(lines.len());
        Ok(Item {
            dash_line,
            indent,
            lines: dash_line..end,
        })
    }

    /// A line of the entry with a blank for its dash.
    fn without_dash(&self, lines: &[&str], index: usize) -> String {
        let line = lines[index];
        if index != self.dash_line {
            return line.to_owned();
        }
        line.replacen('-', " ", 1)
    }

    /// The lines of one of its keys.
    fn key(&self, lines: &[&str], key: &str) -> Option<Range<usize>> {
        let is_key = |index: usize| {
            let line = self.without_dash(lines, index);
            let line = Line::of(&line);
            line.indent == self.indent && line.after_key(key).is_some()
        };
        let start = self.lines.clone().find(|index| is_key(*index))?;
        Some(start..value_end(lines, start + 1, self.lines.end, self.indent))
    }

    /// Behind its last line that counts.
    fn content_end(&self, lines: &[&str]) -> usize {
        let last = self
            .lines
            .clone()
            .rev()
            .find(|index| Line::of(lines[*index]).counts());
        last.map_or(self.lines.end, |last| last + 1)
    }
}

fn is_dash(line: Line<'_>) -> bool {
    line.text == "-" || line.text.starts_with("- ")
}

/// Where the value of a key ends whose own indentation is this: blank lines and comments behind it are not part of it.
fn value_end(lines: &[&str], from: usize, limit: usize, indent: usize) -> usize {
    let mut end = from;
    for (index, line) in lines.iter().enumerate().take(limit).skip(from) {
        let line = Line::of(line);
        if !line.counts() {
            continue;
        }
        // A list may stand in the same column as its key.
        if line.indent < indent || (line.indent == indent && !is_dash(line)) {
            break;
        }
        end = index + 1;
    }
    end
}

/// Lines that take the place of others.
struct Edit<'t> {
    lines: &'t [&'t str],
    newline: &'static str,
    changes: Vec<(Range<usize>, Vec<String>)>,
}

impl Edit<'_> {
    fn replace(&mut self, lines: Range<usize>, by: Vec<String>) {
        self.changes.push((lines, by));
    }

    /// Changes those fields of a block that differ, and leaves the others alone.
    fn fields(&mut self, block: Range<usize>, indent: usize, old: &Expected, new: &Expected) {
        for name in FIELDS {
            let (was, is) = (field(old, name, indent), field(new, name, indent));
            if was == is {
                continue;
            }
            let found = block.clone().skip(1).find(|index| {
                let line = Line::of(self.lines[*index]);
                line.indent == indent && line.after_key(name).is_some()
            });
            match found {
                Some(start) => {
                    let end = value_end(self.lines, start + 1, block.end, indent);
                    self.replace(start..end, is);
                }
                None => self.replace(block.end..block.end, is),
            }
        }
    }

    fn apply(mut self) -> String {
        // Insertions at one place stay in the order they were made.
        self.changes
            .sort_by_key(|(lines, _)| (lines.start, lines.end));
        let mut out = String::new();
        let mut at = 0;
        for (range, by) in &self.changes {
            out.extend(self.lines[at..range.start].iter().copied());
            for line in by {
                if !out.is_empty() && !out.ends_with('\n') {
                    out.push_str(self.newline);
                }
                out.push_str(line);
                out.push_str(self.newline);
            }
            at = range.end;
        }
        out.extend(self.lines[at..].iter().copied());
        out
    }
}

/// The fields of `expected`, in the order they are written.
const FIELDS: [&str; 5] = [
    "exit-code",
    "output-contains",
    "output-matches",
    "file-exists",
    "value",
];

fn fields(expected: &Expected, indent: usize) -> Vec<String> {
    FIELDS
        .iter()
        .flat_map(|name| field(expected, name, indent))
        .collect()
}

/// The lines of one field; none if nothing is expected of it.
fn field(expected: &Expected, name: &str, indent: usize) -> Vec<String> {
    let texts = |texts: &[String]| texts_field(name, texts, indent);
    let line = |value: String| vec![format!("{}{name}: {value}", " ".repeat(indent))];
    match name {
        "exit-code" => expected
            .exit_code
            .map_or(Vec::new(), |code| line(code.to_string())),
        "output-contains" => texts(&expected.output_contains),
        "output-matches" => texts(&expected.output_matches),
        "file-exists" => texts(&expected.file_exists),
        _ => expected
            .value
            .as_ref()
            .map_or(Vec::new(), |value| line(escaped(&value.to_string()))),
    }
}

fn texts_field(name: &str, texts: &[String], indent: usize) -> Vec<String> {
    let pad = " ".repeat(indent);
    match texts {
        [] => Vec::new(),
        [text] if reads_as_block(text) => {
            let mut lines = vec![format!("{pad}{name}: |-")];
            lines.extend(text.lines().map(|line| match line {
                "" => String::new(),
                line => format!("{pad}  {line}"),
            }));
            lines
        }
        [text] => vec![format!("{pad}{name}: {}", quoted(text))],
        texts => {
            let mut lines = vec![format!("{pad}{name}:")];
            lines.extend(
                texts
                    .iter()
                    .map(|text| format!("{pad}  - {}", quoted(text))),
            );
            lines
        }
    }
}

/// Whether a text of several lines can stand as it is, below its key.
fn reads_as_block(text: &str) -> bool {
    let is_plain = |c: char| c == '\n' || (!c.is_control() && !is_odd(c));
    text.contains('\n')
        && !text.ends_with('\n')
        && !text.starts_with([' ', '\n'])
        && text.chars().all(is_plain)
        && text
            .lines()
            .all(|line| line.is_empty() || !line.trim().is_empty())
}

/// A double-quoted scalar: JSON, with everything escaped that YAML does not take.
fn quoted(text: &str) -> String {
    escaped(&Value::from(text).to_string())
}

fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            c if c.is_control() || is_odd(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// What YAML takes for the end of a line, or for nothing.
fn is_odd(c: char) -> bool {
    matches!(
        c,
        '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# A tool.
name: hello
bash: echo hello   # says hello
tests:
  # The first.
  - name: bare
    parameters: {}

  - name: full   # about it
    parameters:
      WHO: you
    expected:
      # It ends well.
      exit-code: 0   # always
      output-contains: \"old\"
      file-exists: a.txt
    cleanup:
      - rm a.txt

# The end.
tags: [run]
";

    fn at(name: &str) -> (usize, usize) {
        let line = FILE
            .lines()
            .position(|line| line.contains(&format!("- name: {name}")));
        (line.unwrap() + 1, 5)
    }

    fn two() -> Expected {
        Expected {
            exit_code: Some(0),
            output_contains: vec!["new\n\n  and: more".into()],
            file_exists: vec!["a.txt".into()],
            ..Expected::default()
        }
    }

    #[test]
    fn expectations_are_added_at_the_end_of_a_test_and_nothing_else_moves() {
        let edited = edit(FILE, at("bare"), &Expected::default(), &two()).unwrap();
        let added = "    parameters: {}\n    expected:\n      exit-code: 0\n      output-contains: |-\n        new\n\n          and: more\n      file-exists: \"a.txt\"\n\n  - name: full";
        assert_eq!(
            edited,
            FILE.replace("    parameters: {}\n\n  - name: full", added)
        );
    }

    #[test]
    fn only_fields_that_change_are_rewritten() {
        let old = Expected {
            output_contains: vec!["old".into()],
            ..two()
        };
        let new = Expected {
            output_contains: vec!["one".into(), "t\u{7f}wo".into()],
            output_matches: vec!["^o".into()],
            ..old.clone()
        };
        let edited = edit(FILE, at("full"), &old, &new).unwrap();
        let expected = FILE
            .replace(
                "      output-contains: \"old\"\n",
                "      output-contains:\n        - \"one\"\n        - \"t\\u007fwo\"\n",
            )
            .replace(
                "      file-exists: a.txt\n",
                "      file-exists: a.txt\n      output-matches: \"^o\"\n",
            );
        assert_eq!(edited, expected);
    }

    #[test]
    fn expectations_go_before_the_cleanup_and_in_the_place_of_braces() {
        let file = FILE.replace(
            "    expected:\n      # It ends well.\n      exit-code: 0   # always\n      output-contains: \"old\"\n      file-exists: a.txt\n",
            "",
        );
        let one = Expected {
            exit_code: Some(1),
            ..Expected::default()
        };
        let edited = edit(&file, at("full"), &Expected::default(), &one).unwrap();
        let block = "      WHO: you\n    expected:\n      exit-code: 1\n    cleanup:";
        assert_eq!(edited, file.replace("      WHO: you\n    cleanup:", block));
        for braces in ["{}", "{exit-code: 0}", "", "null"] {
            let old = format!("      WHO: you\n    expected: {braces}\n    cleanup:");
            let file = file.replace("      WHO: you\n    cleanup:", &old);
            let edited = edit(&file, at("full"), &Expected::default(), &one).unwrap();
            assert_eq!(edited, file.replace(&old, block), "{braces}");
        }
    }

    #[test]
    fn what_is_in_braces_is_left_to_its_author() {
        let file = "tests:\n  - {name: x}\n";
        let edited = edit(file, (2, 5), &Expected::default(), &two());
        assert!(matches!(edited, Err(RecordError::Layout(_))), "{edited:?}");
    }

    #[test]
    fn a_file_without_a_last_newline_gets_one_before_what_is_added() {
        let file = "tests:\n  - name: x";
        let one = Expected {
            exit_code: Some(1),
            ..Expected::default()
        };
        assert_eq!(
            edit(file, (2, 5), &Expected::default(), &one).unwrap(),
            "tests:\n  - name: x\n    expected:\n      exit-code: 1\n"
        );
    }

    #[test]
    fn a_dash_on_a_separate_line_and_a_list_in_the_column_of_its_key_are_read() {
        let file = "tests:\n-\n  name: x\n  cleanup:\n  - true\ntags: [run]\n";
        let one = Expected {
            exit_code: Some(1),
            ..Expected::default()
        };
        assert_eq!(
            edit(file, (3, 3), &Expected::default(), &one).unwrap(),
            "tests:\n-\n  name: x\n  expected:\n    exit-code: 1\n  cleanup:\n  - true\ntags: [run]\n"
        );
    }
}
