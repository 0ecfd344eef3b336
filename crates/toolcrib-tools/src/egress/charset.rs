//! Bytes as text: the charsets that web servers still send, by the rules browsers follow.
//!
//! A byte order mark wins, then what the header says, then what the document says about itself, then UTF-8. A charset that browsers do not
//! know either is read as UTF-8 with a note, not guessed at.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// How far into a document its own word about its charset is looked for, as browsers do.
const LOOKED_AT: usize = 1024;

/// What bytes were read as.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) text: String,
    /// What should be known about the reading.
    pub(crate) note: Option<String>,
}

/// The charset that a `Content-Type` names.
pub(crate) fn named(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"');
        let is_it = name.trim().eq_ignore_ascii_case("charset") && !value.is_empty();
        is_it.then_some(value)
    })
}

/// Reads bytes as text; `header` is the charset that the server named.
pub(crate) fn decode(bytes: &[u8], header: Option<&str>) -> Decoded {
    let marked = Encoding::for_bom(bytes);
    let bytes = &bytes[marked.map_or(0, |(_, length)| length)..];
    let named = match marked {
        Some(_) => None,
        None => header
            .map(str::to_owned)
            .or_else(|| own_word(&bytes[..bytes.len().min(LOOKED_AT)])),
    };
    let marked = marked.map(|(encoding, _)| encoding);
    let known = marked.or_else(|| match &named {
        Some(label) => charset(label),
        None => Some(UTF_8),
    });
    let unknown = || {
        let label = crate::model::text::shorten(named.as_deref().unwrap_or_default(), 60);
        format!("the charset `{label}` is not known here: read as UTF-8, other bytes replaced")
    };
    let note = known.is_none().then(unknown);
    let encoding = known.unwrap_or(UTF_8);
    let (text, is_damaged) = encoding.decode_without_bom_handling(bytes);
    let damage = || {
        // Both orders of UTF-16 go by one name.
        let name = encoding.name().trim_end_matches(['L', 'B', 'E']);
        format!("some bytes are no {name} and were replaced")
    };
    Decoded {
        text: text.into_owned(),
        note: note.or_else(|| is_damaged.then(damage)),
    }
}

/// The charset of a label, by the names browsers know.
fn charset(label: &str) -> Option<&'static Encoding> {
    let label = label.trim_matches(|c: char| c.is_ascii_whitespace() || c == '"' || c == '\'');
    match label.eq_ignore_ascii_case("latin-1") {
        true => Some(WINDOWS_1252),
        false => Encoding::for_label_no_replacement(label.as_bytes()),
    }
}

/// What a document says about itself: `<meta charset=…>`, `<meta … content="…; charset=…">`, `<?xml … encoding="…"?>`.
fn own_word(start: &[u8]) -> Option<String> {
    let start: String = start.iter().map(|byte| char::from(*byte)).collect();
    let lower = start.to_ascii_lowercase();
    let (from, key) = if lower.trim_start().starts_with("<?xml") {
        (lower.split("?>").next()?, "encoding")
    } else {
        (&lower[lower.find("<meta")?..], "charset")
    };
    let after = &from[from.find(key)? + key.len()..];
    let after = after.trim_start().strip_prefix('=')?.trim_start();
    let label: String = after
        .trim_start_matches(['"', '\''])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "-_.:".contains(*c))
        .take(60)
        .collect();
    // A document that can be read so far is not UTF-16, whatever it says.
    match charset(&label) {
        _ if label.is_empty() => None,
        Some(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => Some("utf-8".to_owned()),
        _ => Some(label),
    }
}

/// Latin-1 as browsers read it: windows-1252.
pub(crate) fn latin1(bytes: &[u8]) -> String {
    let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
    text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_names_its_charset() {
        for (kind, expected) in [
            ("text/html; charset=utf-8", Some("utf-8")),
            ("text/html;x=y; Charset = \"latin1\" ", Some("latin1")),
            ("text/html; charset=", None),
            ("charset=utf-8", None),
            ("", None),
        ] {
            assert_eq!(named(kind), expected, "{kind}");
        }
    }

    fn text(bytes: &[u8], header: Option<&str>) -> String {
        let decoded = decode(bytes, header);
        assert_eq!(decoded.note, None, "{bytes:?}");
        decoded.text
    }

    #[test]
    fn the_charset_is_the_marks_then_the_headers_then_the_documents() {
        assert_eq!(text("grün".as_bytes(), None), "grün");
        assert_eq!(text(b"gr\xfcn \x80", Some("ISO-8859-1")), "grün €");
        assert_eq!(text(b"\xef\xbb\xbfgr\xc3\xbcn", Some("latin1")), "grün");
        assert_eq!(text(b"\xff\xfeg\0\xfc\0", None), "gü");
        assert_eq!(text(b"\xfe\xff\0g\0\xfc", Some("utf-8")), "gü");
        assert_eq!(text(b"g\0\xfc\0", Some("utf-16")), "gü");
        assert_eq!(text(b"\x82\xa0", Some("Shift_JIS")), "あ");
        assert_eq!(text(b"\x80\x81\xff", Some("latin-1")), "€\u{81}ÿ");
        let page = b"<html><META http-equiv=x content='text/html; charset=windows-1252'>\xfc";
        assert!(text(page, None).ends_with('ü'));
        assert!(text(b"<meta charset=\"latin1\">\xfc", None).ends_with('ü'));
        assert!(
            text(
                b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xfc</a>",
                None
            )
            .contains('ü')
        );
        assert_eq!(
            text(b"<meta charset=utf-16>x", None),
            "<meta charset=utf-16>x"
        );
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let unknown = decode(b"\x82\xa0", Some("shift_jis_2"));
        assert_eq!(unknown.text, "\u{fffd}\u{fffd}");
        assert!(unknown.note.unwrap().contains("`shift_jis_2`"));
        let damaged = decode(b"a\xffb", None);
        assert_eq!(damaged.text, "a\u{fffd}b");
        assert!(damaged.note.unwrap().contains("UTF-8"));
        for odd in [&b"\xff\xfea"[..], b"\xff\xfe\0\xd8a\0"] {
            assert!(decode(odd, None).note.unwrap().contains("UTF-16"));
        }
    }
}
