//! What a file says, as one digest: comments, layout and the kind of quotes do not count.
//!
//! Two files of one name with the same digest are the same tool: everything that the reader sees is in it, in the order of the file,
//! with whether a value has quotes, for that decides between `"1"` and `1`. Trust is pinned to it.

use sha2::{Digest as _, Sha256};

use super::yaml::{Content, Node, Style};
use crate::model::names::hex;

/// SHA-256 of what a tree says, in hex.
pub(crate) fn digest(root: &Node<'_>) -> String {
    let mut digest = Sha256::new();
    digest.update(b"toolcrib tool 1\0");
    add(root, &mut digest);
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
fn add(node: &Node<'_>, digest: &mut Sha256) {
    match &node.content {
        Content::Scalar(scalar) => match scalar.style {
            Style::Plain => text(b"p", &scalar.text, digest),
            Style::Quoted | Style::Block => text(b"q", &scalar.text, digest),
        },
        Content::List(items) => {
            count(b"l", items.len(), digest);
            items.iter().for_each(|item| add(item, digest));
        }
        Content::Map(entries) => {
            count(b"m", entries.len(), digest);
            for entry in entries {
                text(b"k", &entry.key.text, digest);
                add(&entry.value, digest);
            }
        }
        Content::Refused => digest.update(b"r"),
    }
}

#[cfg(test)]
mod tests {
    use crate::definition::read;
    use crate::manifest;

    fn of_yaml(text: &str) -> String {
        read(text.as_bytes(), "tool").definition.unwrap().meaning
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
        let quoted = of_yaml("description: 'Says hello'\ntags: [read]\nbash: \"echo hello\"\n");
        assert_eq!(
            of_yaml("description: \"Says hello\"\ntags: [read]\nbash: |-\n  echo hello\n"),
            quoted
        );
    }

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
        };
        let plain = r#"{"description": "d", "tags": ["read"], "impl": {"urlTemplate": "https://a.example/"}}"#;
        let spaced = "{\n  // a comment\n  \"description\": \"d\", \"tags\": [\"read\",],\n  \"impl\": {\"urlTemplate\": \"https://a.example/\"}}\n";
        assert_eq!(of(plain), of(spaced));
        assert_ne!(of(plain), of(&plain.replace("a.example", "b.example")));
    }
}
