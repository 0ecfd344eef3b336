//! The body that a command sends, in its parts.

use serde_json::Value;

use super::options::Data;
use super::placeholder::{self, Spellings};
use super::url::{Pair, component};

/// A body.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Body {
    /// JSON; texts may have marks, and whole values may be one.
    Json(Value),
    /// A form.
    Form(Vec<Pair>),
    /// Anything else.
    Text(String),
}

/// What `-d` and its kin make together.
pub(super) fn text_of(data: &[Data]) -> String {
    let pieces: Vec<String> = data
        .iter()
        .map(|piece| match piece {
            Data::Plain(text) => text.clone(),
            Data::Encode(text) => encoded(text),
        })
        .collect();
    pieces.join("&")
}

/// `name=content` with the content encoded; `=content` and `content` are content only.
pub(super) fn encoded(text: &str) -> String {
    match text.split_once('=') {
        Some(("", content)) => component(&placeholder::find(content, Spellings::Doubled)),
        Some((name, content)) => {
            let content = component(&placeholder::find(content, Spellings::Doubled));
            format!("{name}={content}")
        }
        None => component(&placeholder::find(text, Spellings::Doubled)),
    }
}

impl Body {
    /// Reads a body of this type.
    pub(super) fn read(text: &str, content_type: &str) -> Body {
        let media = content_type.split(';').next().unwrap_or_default().trim();
        let media = media.to_ascii_lowercase();
        if media.ends_with("/json") || media.ends_with("+json") {
            Body::json(text).unwrap_or_else(|| Body::plain(text))
        } else if media == "application/x-www-form-urlencoded" {
            let mut pairs = Pair::all(text);
            for pair in &mut pairs {
                pair.name = placeholder::find(&pair.name, Spellings::Doubled);
                pair.value = pair.value.as_deref().map(placeholders);
            }
            Body::Form(pairs)
        } else {
            Body::plain(text)
        }
    }

    /// JSON, if it is.
    pub(super) fn json(text: &str) -> Option<Body> {
        // `{"n": ${n}}`: what is outside of quotes is a whole value.
        let marked = placeholder::find(text, Spellings::Doubled);
        let mut value: Value = serde_json::from_str(&placeholder::quote_whole(&marked)).ok()?;
        each_text(&mut value, &placeholders);
        Some(Body::Json(value))
    }

    fn plain(text: &str) -> Body {
        Body::Text(placeholder::find(text, Spellings::Doubled))
    }

    /// As a template.
    pub(super) fn template(&self) -> String {
        match self {
            Body::Json(value) => placeholder::json_template(&value.to_string()),
            Body::Form(pairs) => placeholder::template(&Pair::join(pairs)),
            Body::Text(text) => placeholder::template(text),
        }
    }
}

/// `${name}` and `{{name}}` anywhere, `{name}` where nothing else is: braces are common in bodies.
fn placeholders(text: &str) -> String {
    let inside = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    match inside {
        Some(name) if placeholder::is_name(name) => placeholder::of(name),
        _ => placeholder::find(text, Spellings::Doubled),
    }
}

fn each_text(value: &mut Value, change: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(values) => values.iter_mut().for_each(|value| each_text(value, change)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|value| each_text(value, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_keep_what_they_are() {
        for (kind, text, expected) in [
            (
                "application/json",
                r#"{"a": "{city}", "b": {{n}}, "c": "x {y} ${z}", "d": [1, "$ref"]}"#,
                r#"{"a":"${city}","b":${n},"c":"x {y} ${z}","d":[1,"$ref"]}"#,
            ),
            ("application/json", "{not json ${a}", "{not json ${a}"),
            (
                "application/x-www-form-urlencoded",
                "a={q}&b=1%20{x}&c",
                "a=${q}&b=1%20{x}&c",
            ),
            ("text/plain", "Hello {name} ${who}", "Hello {name} ${who}"),
            ("application/json", r#""${a.b}""#, r#""$${a.b}""#),
        ] {
            assert_eq!(Body::read(text, kind).template(), expected, "{text}");
        }
    }

    #[test]
    fn urlencoding_keeps_placeholders() {
        assert_eq!(placeholder::shown(&encoded("q=a b&${c}")), "q=a%20b%26${c}");
        assert_eq!(encoded("=a b"), "a%20b");
        assert_eq!(encoded("a b"), "a%20b");
    }
}
