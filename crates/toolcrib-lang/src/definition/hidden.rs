//! Hidden characters in what a file has others read: descriptions, parameters, schemas, tags. Whether they are written as
//! they are or as escapes makes no difference to the reader of the tool.
//!
//! Programs and templates are not looked at: an escape there is visible to who reads the file, and part of what runs. Names of tools and
//! parameters have stricter rules.

use super::problem::{Findings, Severity, SpannedProblem};
use super::yaml::{Content, Node, Scalar};
use crate::model::hidden::{hidden, without_hidden};
use crate::model::text::{shorten, visible_line};
use crate::schema::hidden::{explains, in_data, in_name};

/// What a value is to its readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A text.
    Text,
    /// Fields with texts and values: `parameters` and what is in them.
    Fields,
    /// A value that is passed on.
    Data,
    /// A JSON Schema, whose names and values [`Schema`](crate::schema::Schema) looks at.
    Schema,
}

/// The fields of a file that are looked at.
fn part_of(field: &str) -> Option<Part> {
    match field {
        "description" | "displayName" | "tags" | "keywords" | "metadata" | "security"
        | "changelog" => Some(Part::Text),
        "parameters" => Some(Part::Fields),
        "default-parameters" | "fixed-parameters" => Some(Part::Data),
        "argSchema" | "outputSchema" => Some(Part::Schema),
        _ => None,
    }
}

/// Reports the hidden characters of a file's tree.
pub(crate) fn check(root: &Node<'_>, found: &mut Findings<'_>) {
    for entry in root.map().unwrap_or_default() {
        if let Some(part) = part_of(&entry.key.text) {
            look(&entry.value, part, &entry.key.text, found);
        }
    }
}

fn look(node: &Node<'_>, part: Part, path: &str, found: &mut Findings<'_>) {
    if found.is_full(Severity::Error) {
        return;
    }
    match &node.content {
        Content::Scalar(scalar) => {
            if let Some(c) = hidden_in(scalar, part) {
                report(node, c, part, path, found);
            }
        }
        Content::List(items) => {
            for item in items {
                look(item, part, path, found);
            }
        }
        Content::Map(entries) => {
            for entry in entries {
                let key = &*entry.key.text;
                if part == Part::Data
                    && let Some(c) = in_name(key)
                {
                    let message = message(path, c);
                    let problem =
                        SpannedProblem::error("hidden-text", entry.key.span.clone(), message);
                    found.push_hidden(problem);
                }
                let part = match (part, key) {
                    (Part::Schema, key) if explains(key) && entry.value.scalar().is_some() => {
                        Part::Text
                    }
                    (Part::Fields, "default" | "examples" | "validation") => Part::Data,
                    // Code, and names that code goes by.
                    (Part::Fields, "transform" | "format" | "type" | "security") => continue,
                    (Part::Fields, "description" | "detailed-help") => Part::Text,
                    (part, _) => part,
                };
                let path = format!("{path}.{}", shorten(&visible_line(key), 60));
                look(&entry.value, part, &path, found);
            }
        }
        Content::Refused => {}
    }
}

fn hidden_in(scalar: &Scalar<'_>, part: Part) -> Option<char> {
    let text = &*scalar.text;
    match part {
        // A line may end as on Windows.
        Part::Text | Part::Fields => hidden(text)
            .find(|(at, c)| *c != '\r' || !text[at + 1..].starts_with('\n'))
            .map(|(_, c)| c),
        Part::Data => in_data(text).map(|(_, c)| c),
        Part::Schema => None,
    }
}

fn report(node: &Node<'_>, c: char, part: Part, path: &str, found: &mut Findings<'_>) {
    let message = message(path, c);
    let span = node.span.clone();
    let source = found.text.get(span.clone()).unwrap_or_default();
    let raw = source.find(c);
    // `line-separator` says it already.
    if raw.is_some() && matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}') {
        return;
    }
    let problem = match raw {
        // It is written as an escape.
        None => SpannedProblem::error("hidden-text", span.clone(), message),
        Some(at) => {
            let at = span.start + at;
            let problem = SpannedProblem::error("hidden-text", at..at + c.len_utf8(), message);
            match part {
                Part::Data => problem,
                Part::Text | Part::Fields | Part::Schema => {
                    problem.fix(span.clone(), without_raw(source))
                }
            }
        }
    };
    found.forget("hidden-character", &span);
    found.push_hidden(
        problem.help("remove it; only joiners that a script or an emoji needs may stay"),
    );
}

/// What a file says of a text, without the hidden characters that are written as they are. Ends of lines stay as they are.
fn without_raw(source: &str) -> String {
    let lines: Vec<_> = source.split("\r\n").map(without_hidden).collect();
    lines.join("\r\n")
}

fn message(path: &str, c: char) -> String {
    format!(
        "`{path}` has a character that cannot be seen, U+{:04X}, so that it says something else than it shows",
        u32::from(c)
    )
}

impl Findings<'_> {
    /// An error in a file, whose author can mend it. A record that is stored is shown and published without what hides in
    /// its texts, so that it is a warning there.
    fn push_hidden(&mut self, mut problem: SpannedProblem) {
        if self.is_record {
            problem.severity = Severity::Warning;
        }
        self.push(problem);
    }
}

#[cfg(test)]
mod tests {
    use crate::definition::{self, Problem, Severity};
    use crate::manifest;

    fn yaml(fields: &str) -> String {
        format!("tags: [read]\nbash: echo hello {{A}}\n{fields}")
    }

    fn found(problems: &[Problem]) -> Vec<(&str, Severity, usize, usize)> {
        let row =
            |problem: &Problem| (problem.code, problem.severity, problem.line, problem.column);
        problems
            .iter()
            .map(row)
            .map(|(code, severity, line, column)| {
                let code = definition::code(code).unwrap().name;
                (code, severity, line, column)
            })
            .collect()
    }

    const PARAMETER: &str = "parameters:\n  A:\n    description: Who\n";

    #[test]
    fn texts_of_yaml_files_hide_nothing_however_they_are_written() {
        for (fields, line, column, named) in [
            (format!("description: \"Says\\u200b hello\"\n{PARAMETER}"), 3, 14, "`description`"),
            (format!("description: \"Says\\U000E0041\"\n{PARAMETER}"), 3, 14, "U+E0041"),
            (format!("description: Says\u{202e} hello\n{PARAMETER}"), 3, 18, "U+202E"),
            (format!("description: \"\\e[2J\"\n{PARAMETER}"), 3, 14, "U+001B"),
            (format!("description: |\n  Says\n  he\u{2066}llo\n{PARAMETER}"), 5, 5, "U+2066"),
            ("description: Says\nparameters:\n  A:\n    description: \"a\\ufeff\"\n".to_owned(), 6, 18, "`parameters.A.description`"),
            ("description: Says\nparameters:\n  A:\n    description: a\n    default: \"a\\u2060\"\n".to_owned(), 7, 14, "`parameters.A.default`"),
            ("description: Says\nparameters:\n  A:\n    description: a\n    validation:\n      enum: [a, \"b\\u200c\"]\n".to_owned(), 8, 17, "U+200C"),
            ("description: Says\nparameters:\n  A:\n    description: a\n    examples: [\"b\\u00ad\"]\n".to_owned(), 7, 16, "U+00AD"),
            (format!("description: Says\n{PARAMETER}metadata:\n  category: \"a\\u200e\"\n"), 8, 13, "`metadata.category`"),
        ] {
            let text = yaml(&fields);
            let reading = definition::read(text.as_bytes(), "t");
            assert!(reading.definition.is_none(), "{text:?}");
            assert_eq!(found(&reading.problems), [("hidden-text", Severity::Error, line, column)], "{text:?} {:?}", reading.problems);
            assert!(reading.problems[0].message.contains(named), "{:?}", reading.problems);
            let record = definition::read_record(text.as_bytes(), "t");
            assert_eq!(found(&record.problems), [("hidden-text", Severity::Warning, line, column)]);
        }
    }

    #[test]
    fn warnings_take_the_place_of_no_error() {
        let comment = format!("# {}\n", "\u{200b}".repeat(250));
        for (body, fields) in [
            ("echo", "description: \"Says\\u200b hello\"\n"),
            ("echo", "description: Says\ncolour: red\n"),
            ("echo", "description: Says\ntimeout: soon\n"),
            ("eval", "description: Says\n"),
        ] {
            let text = format!("tags: [read]\nbash: {body} {{A}}\n{fields}{PARAMETER}");
            let errors = |text: &str| {
                let reading = definition::read(text.as_bytes(), "t");
                assert!(reading.definition.is_none(), "{text}");
                let errors = reading.problems.iter();
                let errors = errors.filter(|one| one.severity == Severity::Error);
                let codes: Vec<&str> = errors.map(|one| one.code).collect();
                (codes.join(" "), reading.problems.len())
            };
            let (codes, count) = errors(&text);
            assert!(!codes.is_empty(), "{text}");
            assert_eq!(errors(&format!("{comment}{text}")), (codes, count + 200));
        }
    }

    #[test]
    fn joiners_escapes_in_programs_and_data_stay() {
        for fields in [
            "description: \"👩\\u200d🚀 می\\u200cخواهم\"\nparameters:\n  A:\n    description: a\n    default: \"\\r\\n\\t\"\n",
            "description: Says\nparameters:\n  A:\n    description: a\n    transform: \"value.replaceAll('\\u200b', '')\"\n",
            "description: Says\ninput: \"\\u200b\"\nparameters:\n  A:\n    description: \"Line\\r\\nline\"\n",
        ] {
            let text = yaml(fields);
            let reading = definition::read(text.as_bytes(), "t");
            assert!(
                reading.definition.is_some(),
                "{text:?} {:?}",
                reading.problems
            );
        }
    }

    #[test]
    fn texts_and_schemas_of_json_files_hide_nothing() {
        let file = |description: &str, property: &str| {
            format!(
                "{{\n\"description\": \"{description}\", \"tags\": [\"read\"],\n\"argSchema\": {{\"type\": \"object\", \"properties\":\n{{{property}}}}},\n\"impl\": {{\"urlTemplate\": \"https://a.example/?a=${{a}}\"}}}}"
            )
        };
        let fine = "\"a\": {\"type\": \"string\", \"description\": \"b\"}";
        assert!(
            manifest::read(file("Says", fine).as_bytes(), "t")
                .definition
                .is_some()
        );
        for (text, line, is_text) in [
            (file("Says\\u200b", fine), 2, true),
            (file("Says\u{e0041}", fine), 2, true),
            (
                file(
                    "Says",
                    "\"a\": {\"type\": \"string\", \"description\": \"b\\u202e\"}",
                ),
                4,
                true,
            ),
            (
                file(
                    "Says",
                    "\"a\": {\"type\": \"string\", \"title\": \"b\\u2066\", \"description\": \"b\"}",
                ),
                4,
                true,
            ),
            (
                file(
                    "Says",
                    "\"a\": {\"type\": \"string\", \"description\": \"b\", \"enum\": [\"x\", \"x\\u200b\"]}",
                ),
                4,
                false,
            ),
            (
                file(
                    "Says",
                    "\"a\": {\"type\": \"string\", \"description\": \"b\", \"default\": \"\\u00ad\"}",
                ),
                4,
                false,
            ),
            (
                file(
                    "Says",
                    &format!(
                        "{fine}, \"b\\u200b\": {{\"type\": \"string\", \"description\": \"b\"}}"
                    ),
                ),
                3,
                false,
            ),
        ] {
            let reading = manifest::read(text.as_bytes(), "t");
            assert!(reading.definition.is_none(), "{text}");
            let hidden: Vec<&Problem> = reading
                .problems
                .iter()
                .filter(|one| one.code == "hidden-text")
                .collect();
            assert_eq!(hidden.len(), 1, "{text} {:?}", reading.problems);
            assert_eq!(
                (hidden[0].severity, hidden[0].line),
                (Severity::Error, line),
                "{text} {hidden:?}"
            );
            // A record of the store stays usable unless a name or a value would be another one.
            assert_eq!(
                manifest::read_record(text.as_bytes(), "t")
                    .definition
                    .is_some(),
                is_text,
                "{text}"
            );
            assert_eq!(
                manifest::load_record(text.as_bytes(), "t")
                    .definition
                    .is_some(),
                is_text,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_written_as_it_is_in_a_text_is_taken_out_by_a_fix() {
        let text = yaml(&format!("description: S\u{200b}ay\u{202e}s\n{PARAMETER}"));
        let fixed = definition::fix(text.as_bytes(), "t");
        assert_eq!(
            String::from_utf8(fixed.bytes).unwrap(),
            yaml(&format!("description: Says\n{PARAMETER}"))
        );
    }
}
