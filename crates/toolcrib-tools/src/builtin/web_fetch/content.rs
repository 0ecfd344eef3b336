//! Whether an answer is text, and which.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

use crate::egress::charset::{self, Decoded};
use crate::model::text;

/// An answer's body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    Text { text: String, note: Option<String> },
    Binary,
}

/// Kinds of media that are not text, whatever their bytes look like.
const BINARY: &[&str] = &["image/", "audio/", "video/", "font/"];

impl Content {
    /// Reads a body. Content declared as media is binary; for everything else the bytes decide, since servers declare what they like.
    pub(super) fn of(headers: &HeaderMap, body: &[u8]) -> Self {
        let declared = media_type(headers);
        let is_medium = BINARY.iter().any(|kind| declared.starts_with(kind));
        if is_medium && !declared.ends_with("+xml") {
            return Content::Binary;
        }
        let kind = headers
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok());
        let named = kind.and_then(charset::named);
        let Decoded { text, note } = charset::decode(body, named);
        let replaced = text.matches(char::REPLACEMENT_CHARACTER).count();
        let controls = text.chars().filter(|c| is_no_text(*c)).count();
        // A NUL is in no text; a few stray bytes are in many.
        let is_declared = named.is_some() || is_textual(&declared);
        let too_odd = if is_declared { 10 } else { 100 };
        if text.contains('\0')
            || (replaced + controls).saturating_mul(too_odd) > text.chars().count()
        {
            return Content::Binary;
        }
        Content::Text { text, note }
    }
}

/// Controls that no text has; escape is in logs with colours.
fn is_no_text(c: char) -> bool {
    c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}')
}

fn is_textual(declared: &str) -> bool {
    declared.starts_with("text/")
        || ["json", "xml", "javascript", "yaml"]
            .iter()
            .any(|name| declared.ends_with(name))
}

/// The declared type, in lower case and without parameters; empty if there is none.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let declared = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = declared.and_then(|value| value.split(';').next());
    let essence = essence.unwrap_or_default().trim().to_ascii_lowercase();
    let known = |c: char| c.is_ascii_alphanumeric() || "/+-.*_".contains(c);
    if essence.len() <= 100 && essence.chars().all(known) {
        essence
    } else {
        String::new()
    }
}

/// Whether a text is a web page: by its type, or by its start where no type is declared.
pub(super) fn is_html(declared: &str, text: &str) -> bool {
    match declared {
        "text/html" | "application/xhtml+xml" => true,
        "" => {
            let start = text.trim_start();
            let start = &start[..start.floor_char_boundary(14)];
            let start = start.to_ascii_lowercase();
            start.starts_with("<!doctype html") || start.starts_with("<html")
        }
        _ => false,
    }
}

/// Binary content in words.
pub(super) fn in_words(declared: &str, bytes: usize) -> String {
    let kind = match declared {
        "" => String::new(),
        kind => format!(" ({})", text::shorten(kind, 100)),
    };
    format!(
        "binary content{kind}, {}: not shown",
        text::size(bytes as u64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: &str, body: &[u8]) -> Option<String> {
        let mut headers = HeaderMap::new();
        if !kind.is_empty() {
            headers.insert(CONTENT_TYPE, kind.parse().unwrap());
        }
        match Content::of(&headers, body) {
            Content::Text { text, .. } => Some(text),
            Content::Binary => None,
        }
    }

    #[test]
    fn text_comes_back_exactly_as_it_was_sent() {
        let json = "{\r\n  \"a\": 1.0,  \"ü\": [ ] }\n";
        for kind in [
            "application/json",
            "application/vnd.x+json",
            "text/plain",
            "application/octet-stream",
            "",
        ] {
            assert_eq!(of(kind, json.as_bytes()).as_deref(), Some(json), "{kind}");
        }
        let xml = "<?xml version=\"1.0\"?>\n<a>&amp;<!-- c --></a>";
        assert_eq!(of("application/xml", xml.as_bytes()).as_deref(), Some(xml));
        assert_eq!(of("image/svg+xml", xml.as_bytes()).as_deref(), Some(xml));
        assert_eq!(of("text/plain", b""), Some(String::new()));
        assert_eq!(
            of("text/plain; charset=\"ISO-8859-1\"", b"\xfc").as_deref(),
            Some("ü")
        );
        assert_eq!(
            of("TEXT/HTML;Charset=UTF-16LE", b"a\0").as_deref(),
            Some("a")
        );
    }

    #[test]
    fn input_that_is_not_text_is_binary_whatever_is_declared() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        for kind in [
            "image/png",
            "application/octet-stream",
            "text/plain",
            "",
            "application/json",
        ] {
            assert_eq!(of(kind, png), None, "{kind}");
        }
        assert_eq!(of("video/mp4", b"plain"), None);
        assert_eq!(of("application/zip", b"PK\x03\x04\x14\x01\x08\x02"), None);
        // Random bytes without a NUL.
        let noise: Vec<u8> = (0..4000_u32).map(|n| (n * n % 255 + 1) as u8).collect();
        assert_eq!(of("", &noise), None);
        // One stray byte in a text.
        let mut stray = b"a text of some length, ".repeat(20);
        stray.push(0xff);
        assert!(of("text/plain", &stray).is_some());
    }

    #[test]
    fn a_page_is_known_by_its_type_or_its_start() {
        assert!(is_html("text/html", "x"));
        assert!(is_html("application/xhtml+xml", "x"));
        assert!(is_html("", " \n<!DOCTYPE HTML><p>"));
        assert!(is_html("", "<HTML lang=en>"));
        assert!(!is_html("text/plain", "<html>"));
        assert!(!is_html("", "€€€€€€€"));
    }

    #[test]
    fn a_type_that_is_none_is_not_repeated() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, "text/`rm`; x".parse().unwrap());
        assert_eq!(media_type(&headers), "");
    }
}
