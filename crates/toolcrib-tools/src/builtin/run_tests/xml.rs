//! A small strict reader of XML, for the reports of test runners: no document types, no entities but the five and numbers, names that
//! match, bounded depth. It reads what JUnit reports are made of and refuses the rest; it keeps nothing but its place.

use std::borrow::Cow;

/// How deep elements may be nested.
const MAX_DEPTH: usize = 64;
/// How many attributes an element may have.
const MAX_ATTRIBUTES: usize = 64;

/// What comes next in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event<'a> {
    /// The beginning of an element.
    Open {
        name: &'a str,
        attributes: Vec<(&'a str, Cow<'a, str>)>,
    },
    /// The end of the element of this name.
    Close(&'a str),
    /// Text in an element.
    Text(Cow<'a, str>),
}

/// Why a document is not read on, and where: the byte.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub(super) struct XmlError {
    what: &'static str,
    at: usize,
}

/// Reads a document from its beginning.
#[derive(Debug)]
pub(super) struct Xml<'a> {
    text: &'a str,
    at: usize,
    open: Vec<&'a str>,
    /// The name of an element that ends where it begins, until that is reported.
    empty: Option<&'a str>,
    is_over: bool,
}

impl<'a> Xml<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Xml {
            text,
            at: if text.starts_with('\u{feff}') { 3 } else { 0 },
            open: Vec::new(),
            empty: None,
            is_over: false,
        }
    }

    /// The next event; `None` at the end of a whole document.
    pub(super) fn next(&mut self) -> Result<Option<Event<'a>>, XmlError> {
        if let Some(name) = self.empty.take() {
            return Ok(Some(self.closed(name)));
        }
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                return match self.is_over {
                    true => Ok(None),
                    false => self.fail("the document ends too early"),
                };
            }
            if rest.starts_with("<!--") {
                self.skip_to("-->")?;
            } else if rest.starts_with("<?") {
                self.skip_to("?>")?;
            } else if let Some(data) = rest.strip_prefix("<![CDATA[") {
                let Some(end) = data.find("]]>").filter(|_| !self.open.is_empty()) else {
                    return self.fail("a CDATA section has no end, or is in no element");
                };
                self.at += "<![CDATA[".len() + end + "]]>".len();
                return Ok(Some(Event::Text(data[..end].into())));
            } else if rest.starts_with("<!") {
                return self.fail("a document type is not read");
            } else if let Some(tag) = rest.strip_prefix("</") {
                return self.close(tag).map(Some);
            } else if let Some(tag) = rest.strip_prefix('<') {
                return self.open(tag).map(Some);
            } else if let Some(text) = self.text()? {
                return Ok(Some(Event::Text(text)));
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn fail<T>(&self, what: &'static str) -> Result<T, XmlError> {
        Err(XmlError { what, at: self.at })
    }

    fn skip_to(&mut self, end: &str) -> Result<(), XmlError> {
        match self.rest().find(end) {
            Some(found) => {
                self.at += found + end.len();
                Ok(())
            }
            None => self.fail("a comment or instruction has no end"),
        }
    }

    /// Text up to the next tag; between elements outside of the document there can only be white space.
    fn text(&mut self) -> Result<Option<Cow<'a, str>>, XmlError> {
        let rest = self.rest();
        let raw = &rest[..rest.find('<').unwrap_or(rest.len())];
        if self.open.is_empty() {
            if !raw.trim().is_empty() {
                return self.fail("there is text outside of the document");
            }
            self.at += raw.len();
            return Ok(None);
        }
        let text = self.unescaped(raw)?;
        self.at += raw.len();
        Ok(Some(text))
    }

    fn close(&mut self, tag: &'a str) -> Result<Event<'a>, XmlError> {
        let name = name(tag);
        let after = tag[name.len()..].trim_start();
        if self.open.last() != Some(&name) || !after.starts_with('>') {
            return self.fail("an end tag does not fit");
        }
        self.at = self.text.len() - after.len() + 1;
        Ok(self.closed(name))
    }

    fn closed(&mut self, name: &'a str) -> Event<'a> {
        self.open.pop();
        self.is_over = self.open.is_empty();
        Event::Close(name)
    }

    fn open(&mut self, tag: &'a str) -> Result<Event<'a>, XmlError> {
        if self.is_over {
            return self.fail("there is a second document");
        }
        let name = name(tag);
        if name.is_empty() || self.open.len() == MAX_DEPTH {
            return self.fail("a tag has no name, or is nested too deep");
        }
        let mut rest = &tag[name.len()..];
        let mut attributes: Vec<(&str, Cow<'_, str>)> = Vec::new();
        loop {
            let trimmed = rest.trim_start();
            if let Some(after) = trimmed.strip_prefix('>') {
                self.at = self.text.len() - after.len();
                break;
            }
            if let Some(after) = trimmed.strip_prefix("/>") {
                self.at = self.text.len() - after.len();
                self.empty = Some(name);
                break;
            }
            if trimmed.len() == rest.len() || attributes.len() == MAX_ATTRIBUTES {
                return self.fail("a tag has no end, or too many attributes");
            }
            let (key, value, after) = self.attribute(trimmed)?;
            if attributes.iter().any(|(other, _)| *other == key) {
                return self.fail("an attribute is there twice");
            }
            attributes.push((key, value));
            rest = after;
        }
        self.open.push(name);
        Ok(Event::Open { name, attributes })
    }

    fn attribute(&self, text: &'a str) -> Result<(&'a str, Cow<'a, str>, &'a str), XmlError> {
        let key = name(text);
        let value = text[key.len()..].trim_start().strip_prefix('=');
        let value = value.map(str::trim_start).filter(|_| !key.is_empty());
        let quoted = value.and_then(|value| {
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            value[1..].split_once(quote)
        });
        match quoted {
            Some((raw, after)) if !raw.contains('<') => Ok((key, self.unescaped(raw)?, after)),
            _ => self.fail("an attribute is not well-formed"),
        }
    }

    fn unescaped(&self, raw: &'a str) -> Result<Cow<'a, str>, XmlError> {
        if !raw.contains('&') {
            return Ok(raw.into());
        }
        let mut text = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some((before, after)) = rest.split_once('&') {
            text.push_str(before);
            let Some((entity, after)) = after
                .split_once(';')
                .filter(|(entity, _)| entity.len() <= 10)
            else {
                return self.fail("an entity has no end");
            };
            match character(entity) {
                Some(c) => text.push(c),
                None => return self.fail("an entity is not known"),
            }
            rest = after;
        }
        text.push_str(rest);
        Ok(text.into())
    }
}

fn character(entity: &str) -> Option<char> {
    let number = match entity {
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "amp" => return Some('&'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        entity => entity.strip_prefix('#')?,
    };
    let code = match number.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code)
}

/// The name at the beginning of a text.
fn name(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')));
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<String>, XmlError> {
        let mut xml = Xml::new(text);
        let mut seen = Vec::new();
        while let Some(event) = xml.next()? {
            seen.push(match event {
                Event::Open { name, attributes } => {
                    let words = attributes
                        .iter()
                        .map(|(key, value)| format!(" {key}={value}"));
                    format!("<{name}{}", words.collect::<String>())
                }
                Event::Close(name) => format!("{name}>"),
                Event::Text(text) => text.into_owned(),
            });
        }
        Ok(seen)
    }

    #[test]
    fn a_report_is_read_as_it_is_written() {
        let text = "\u{feff}<?xml version=\"1.0\"?>\n<!-- <x> -->\n<a b='1 &lt; 2' c = \"&#233;&#x1F600;\"><d/>x &amp; y<![CDATA[<&]]></a >\n<!-- end -->";
        let expected = ["<a b=1 < 2 c=é😀", "<d", "d>", "x & y", "<&", "a>"];
        assert_eq!(all(text).unwrap(), expected);
    }

    #[test]
    fn input_that_is_not_a_report_is_refused() {
        for text in [
            "",
            "  ",
            "text",
            "<a>",
            "<a></b>",
            "</a>",
            "<a></a",
            "<a/><b/>",
            "<a/>text",
            "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
            "<a>&nbsp;</a>",
            "<a>&#xD800;</a>",
            "<a>&#99999999;</a>",
            "<a>&lt</a>",
            "<a b></a>",
            "<a b=c></a>",
            "<a b='1' b='2'/>",
            "<a b='1'c='2'/>",
            "<a b='<'/>",
            "<a b='",
            "<!-- ",
            "<![CDATA[x]]><a/>",
            "<>",
            "< a/>",
        ] {
            assert!(all(text).is_err(), "{text:?}");
        }
        let deep = "<a>".repeat(MAX_DEPTH + 1);
        assert!(all(&deep).is_err());
    }
}
