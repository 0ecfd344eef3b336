//! What a file says, as one digest: comments, layout, quotes and the order of fields do not count.
//!
//! Two files of one name with the same digest are the same tool: everything that the reader sees is in it. A value without quotes is
//! kept apart from one with quotes only if it may be a number, true, false or null; the order of keys counts where a file's author chooses
//! them, as in `parameters`. Trust is pinned to it.

use sha2::{Digest as _, Sha256};

use super::fields::{Kind, Shape};
use super::yaml::{Content, Node, Style};
use crate::model::names::hex;

/// What a file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meaning {
    /// SHA-256, in hex.
    pub digest: String,
    /// As earlier versions made it: quotes and the order of fields counted. Their pins stay valid.
    pub before: String,
}

impl Meaning {
    /// What a tree says, in a file of this form.
    pub(crate) fn of(root: &Node<'_>, format: &Shape) -> Self {
        Meaning {
            digest: digest(root, Some(format), Form::Second),
            before: digest(root, None, Form::First),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    First,
    Second,
}

/// SHA-256 of what a tree says, in hex.
fn digest(root: &Node<'_>, shape: Option<&Shape>, form: Form) -> String {
    let mut digest = Sha256::new();
    digest.update(match form {
        Form::First => b"toolcrib tool 1\0",
        Form::Second => b"toolcrib tool 2\0",
    });
    add(root, shape, form, &mut digest);
    hex(&digest.finalize())
}

fn text(mark: &[u8], text: &str, digest: &mut Sha256) {
    digest.update(mark);
    digest.update((text.len() as u64).to_le_bytes());
    digest.update(text);
}

fn count(mark: &[u8], items: usize, digest: &mut Sha256) {
    digest.update(mark);
    digest.update((items as u64).to_le_bytes());
}

/// Adds a node. Every part has a mark and its length, so that no two trees are the same bytes; depth is bounded by the parser.
fn add(node: &Node<'_>, shape: Option<&Shape>, form: Form, digest: &mut Sha256) {
    match &node.content {
        Content::Scalar(scalar) => match scalar.style {
            Style::Plain if form == Form::First || !is_surely_text(&scalar.text) => {
                text(b"p", &scalar.text, digest);
            }
            Style::Plain | Style::Quoted | Style::Block => text(b"q", &scalar.text, digest),
        },
        Content::List(items) => {
            count(b"l", items.len(), digest);
            let shape = match shape {
                // One request or several.
                Some(shape) if matches!(shape.kind, Kind::FieldsOrList) => Some(shape),
                shape => shape.and_then(|shape| shape.entry.as_deref()),
            };
            items.iter().for_each(|item| add(item, shape, form, digest));
        }
        Content::Map(entries) => {
            count(b"m", entries.len(), digest);
            let mut entries: Vec<_> = entries.iter().collect();
            let fields =
                shape.filter(|shape| matches!(shape.kind, Kind::Fields | Kind::FieldsOrList));
            if fields.is_some() {
                entries.sort_by(|one, other| one.key.text.cmp(&other.key.text));
            }
            for entry in entries {
                text(b"k", &entry.key.text, digest);
                let below = match fields {
                    Some(fields) => fields.get(&entry.key.text),
                    None => shape.and_then(|shape| shape.entry.as_deref()),
                };
                add(&entry.value, below, form, digest);
            }
        }
        Content::Refused => digest.update(b"r"),
    }
}

/// Words that some field or reader takes for something other than a text.
const WORDS: [&str; 12] = [
    "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity",
];

/// Whether a value means the same with quotes.
fn is_surely_text(text: &str) -> bool {
    let begins_a_word = |c: char| !(c.is_ascii_digit() || "+-.~".contains(c));
    text.starts_with(begins_a_word) && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use crate::definition::read;
    use crate::manifest;

    fn of_yaml(text: &str) -> String {
        read(text.as_bytes(), "tool")
            .definition
            .unwrap()
            .meaning
            .digest
    }

    #[test]
    fn comments_layout_and_quotes_do_not_count() {
        let first = of_yaml("description: Says hello\ntags: [read]\nbash: echo hello\n");
        for same in [
            "# mine\ndescription: Says hello # yes\n\ntags:\n  - read\nbash: echo hello",
            "description: Says hello\r\ntags: [ read, ]\r\nbash: echo hello\r\n",
        ] {
            assert_eq!(of_yaml(same), first, "{same}");
        }
        for same in [
            "description: 'Says hello'\ntags: [\"read\"]\nbash: \"echo hello\"\n",
            "description: \"Says hello\"\ntags: [read]\nbash: |-\n  echo hello\n",
            "bash: echo hello\ntags: [read]\ndescription: Says hello\n",
        ] {
            assert_eq!(of_yaml(same), first, "{same}");
        }
    }

    #[test]
    fn quotes_count_where_they_decide_what_a_value_is() {
        let with = |value: &str| {
            of_yaml(&format!(
                "description: d\ntags: [read]\nbash: echo {{A}}\nparameters:\n  A:\n    description: a\n    examples: [{value}]\n"
            ))
        };
        for value in ["1", "true", "null", "-1", "1.5", "~"] {
            assert_ne!(with(value), with(&format!("\"{value}\"")), "{value}");
        }
        assert_eq!(with("one"), with("\"one\""));
    }

    #[test]
    fn the_digest_of_earlier_versions_is_still_made() {
        let meaning = |text: &str| read(text.as_bytes(), "tool").definition.unwrap().meaning;
        let plain = meaning("description: d\ntags: [read]\nbash: echo a\n");
        assert_eq!(plain.before, OF_0_1);
        let quoted = meaning("description: d\ntags: [read]\nbash: \"echo a\"\n");
        assert_ne!(plain.before, quoted.before);
        assert_eq!(plain.digest, quoted.digest);
    }

    /// What 0.1.0 made of the first file of the test above.
    const OF_0_1: &str = "f5450a65ffa85c9ef2451e4b459c60bf48f98eed2c41dc1ce958da111edbf371";

    #[test]
    fn everything_that_is_read_counts() {
        let base = "description: d\ntags: [read]\nbash: echo {A} {B}\nparameters:\n  A: {description: a, default: x}\n  B: {description: b}\n";
        let first = of_yaml(base);
        for (old, new) in [
            ("echo {A}", "echo  {A}"),
            ("description: d\n", "description: e\n"),
            ("[read]", "[read, files]"),
            ("default: x", "default: y"),
            (
                "  A: {description: a, default: x}\n  B: {description: b}\n",
                "  B: {description: b}\n  A: {description: a, default: x}\n",
            ),
            ("tags", "timeout: 5s\ntags"),
        ] {
            assert_ne!(of_yaml(&base.replace(old, new)), first, "{new}");
        }
    }

    #[test]
    fn a_json_tool_has_a_meaning_too() {
        let of = |text: &str| {
            manifest::read(text.as_bytes(), "t")
                .definition
                .unwrap()
                .meaning
                .digest
        };
        let plain = r#"{"description": "d", "tags": ["read"], "impl": {"urlTemplate": "https://a.example/"}}"#;
        let spaced = "{\n  // a comment\n  \"description\": \"d\", \"tags\": [\"read\",],\n  \"impl\": {\"urlTemplate\": \"https://a.example/\"}}\n";
        assert_eq!(of(plain), of(spaced));
        let moved = r#"{"impl": {"urlTemplate": "https://a.example/"}, "tags": ["read"], "description": "d"}"#;
        assert_eq!(of(plain), of(moved));
        assert_ne!(of(plain), of(&plain.replace("a.example", "b.example")));
    }
}
