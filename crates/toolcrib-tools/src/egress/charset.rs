//! Bytes as text: the charsets that web servers still send, by the rules browsers follow.
//!
//! A byte order mark wins, then what the header says, then what the document says about itself, then UTF-8. Of the rest, UTF-16 and the
//! Latin-1 family (which browsers read as windows-1252) are read; anything else is read as UTF-8 with a note, not guessed at.

/// How far into a document its own word about its charset is looked for, as browsers do.
const LOOKED_AT: usize = 1024;

/// What bytes were read as.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) text: String,
    /// What should be known about the reading.
    pub(crate) note: Option<String>,
}

/// A charset that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Charset {
    Utf8,
    Utf16Le,
    Utf16Be,
    Windows1252,
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
    let (bytes, marked) = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => (rest, Some(Charset::Utf8)),
        [0xff, 0xfe, rest @ ..] => (rest, Some(Charset::Utf16Le)),
        [0xfe, 0xff, rest @ ..] => (rest, Some(Charset::Utf16Be)),
        bytes => (bytes, None),
    };
    let named = match marked {
        Some(_) => None,
        None => header
            .map(str::to_owned)
            .or_else(|| own_word(&bytes[..bytes.len().min(LOOKED_AT)])),
    };
    let known = marked.or_else(|| match &named {
        Some(label) => charset(label),
        None => Some(Charset::Utf8),
    });
    let unknown = || {
        let label = crate::model::text::shorten(named.as_deref().unwrap_or_default(), 60);
        format!("the charset `{label}` is not known here: read as UTF-8, other bytes replaced")
    };
    let note = known.is_none().then(unknown);
    let (text, damaged) = match known.unwrap_or(Charset::Utf8) {
        Charset::Utf8 => {
            let text = String::from_utf8_lossy(bytes);
            let damaged = matches!(text, std::borrow::Cow::Owned(_));
            (text.into_owned(), damaged.then_some("UTF-8"))
        }
        Charset::Utf16Le => utf16(bytes, u16::from_le_bytes),
        Charset::Utf16Be => utf16(bytes, u16::from_be_bytes),
        Charset::Windows1252 => (latin1(bytes), None),
    };
    let damage = damaged.map(|name| format!("some bytes are no {name} and were replaced"));
    Decoded {
        text,
        note: note.or(damage),
    }
}

/// The charset of a label, by the names browsers know.
fn charset(label: &str) -> Option<Charset> {
    let label = label.trim_matches(|c: char| c.is_ascii_whitespace() || c == '"' || c == '\'');
    Some(match label.to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" | "unicode-1-1-utf-8" | "x-unicode20utf8" => Charset::Utf8,
        "utf-16" | "utf-16le" | "unicode" | "ucs-2" | "iso-10646-ucs-2" | "csunicode" => {
            Charset::Utf16Le
        }
        "utf-16be" | "unicodefffe" => Charset::Utf16Be,
        "us-ascii" | "ascii" | "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "iso88591"
        | "latin1" | "latin-1" | "l1" | "windows-1252" | "cp1252" | "x-cp1252" | "cp819"
        | "ibm819" | "ansi_x3.4-1968" => Charset::Windows1252,
        _ => return None,
    })
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
        Some(Charset::Utf16Le | Charset::Utf16Be) => Some("utf-8".to_owned()),
        _ => Some(label),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> (String, Option<&'static str>) {
    let pairs = bytes.chunks_exact(2);
    let odd = !pairs.remainder().is_empty();
    let units = pairs.map(|pair| unit([pair[0], pair[1]]));
    let mut damaged = odd;
    let mut text: String = char::decode_utf16(units)
        .map(|c| {
            c.unwrap_or_else(|_| {
                damaged = true;
                char::REPLACEMENT_CHARACTER
            })
        })
        .collect();
    if odd {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    (text, damaged.then_some("UTF-16"))
}

/// Latin-1 as browsers read it: windows-1252.
pub(crate) fn latin1(bytes: &[u8]) -> String {
    /// What stands at 0x80 to 0x9f.
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    bytes
        .iter()
        .map(|byte| match byte {
            0x80..=0x9f => HIGH[usize::from(byte - 0x80)],
            byte => char::from(*byte),
        })
        .collect()
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
        let unknown = decode(b"\x82\xa0", Some("shift_jis"));
        assert_eq!(unknown.text, "\u{fffd}\u{fffd}");
        assert!(unknown.note.unwrap().contains("`shift_jis`"));
        let damaged = decode(b"a\xffb", None);
        assert_eq!(damaged.text, "a\u{fffd}b");
        assert!(damaged.note.unwrap().contains("UTF-8"));
        for odd in [&b"\xff\xfea"[..], b"\xff\xfe\0\xd8a\0"] {
            assert!(decode(odd, None).note.unwrap().contains("UTF-16"));
        }
    }
}
