//! The forms in which a secret commonly turns up in texts.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use crate::names::hex;

/// The shortest value and the shortest form: what is shorter is in too many texts by chance to be masked.
#[doc(hidden)]
pub const MIN_BYTES: usize = 4;

/// Longer secrets, private keys mostly, are looked for in fewer forms: what looks for them grows with every byte of every form.
const MAX_IN_EVERY_FORM: usize = 512;

/// The shortest line of a secret of many lines, and of its base64, that is looked for by itself.
const MIN_LINE: usize = 16;

/// Every form of a value, sorted, each once.
pub(super) fn forms(value: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([value.to_owned(), value.trim().to_owned()]);
    forms.extend(base64_forms(value.as_bytes()));
    forms.extend(lines(value));
    let digits = hex(value.as_bytes());
    if value.len() > MAX_IN_EVERY_FORM {
        forms.extend([
            json(value, Json::default()),
            percent(value, UNRESERVED, false, true),
        ]);
        forms.insert(digits);
    } else {
        forms.insert(digits.to_ascii_uppercase());
        forms.insert(digits);
        forms.extend(percent_forms(value));
        // A request said back whole in base64 has the URL's form in it.
        let in_url = percent(value, UNRESERVED, false, true);
        forms.extend(base64_forms(in_url.as_bytes()));
        forms.extend(json_forms(value));
        forms.extend(html_forms(value));
        forms.extend(quoted_forms(value));
    }
    forms.retain(|form| form.len() >= MIN_BYTES);
    forms
}

/// The base64 of a value that is part of something longer depends on where in a group of three bytes it starts; what is looked
/// for is the part that depends on nothing but the value.
fn base64_forms(value: &[u8]) -> Vec<String> {
    let mut forms = Vec::new();
    for offset in 0..3 {
        let mut bytes = vec![0; offset];
        bytes.extend(value);
        let whole = STANDARD_NO_PAD.encode(&bytes);
        // The first characters carry bits of what is before, the last one may carry bits of what follows.
        let own = (offset * 8).div_ceil(6)..bytes.len() * 8 / 6;
        forms.push(whole[own.clone()].to_owned());
        // At the end of a text nothing follows.
        forms.push(whole[own.start..].to_owned());
        let padded = STANDARD.encode(&bytes);
        forms.push(padded[own.start..].to_owned());
    }
    // As programs break it into lines.
    let whole = STANDARD.encode(value);
    for width in [64, 76] {
        let broken = whole.as_bytes().chunks(width);
        let lines = broken.filter_map(|line| std::str::from_utf8(line).ok());
        forms.extend(lines.filter(|l| l.len() >= MIN_LINE).map(str::to_owned));
    }
    let url_safe: Vec<String> = forms
        .iter()
        .map(|form| form.replace('+', "-").replace('/', "_"))
        .collect();
    forms.extend(url_safe);
    forms
}

/// The lines of a value of many: programs may indent them or end them otherwise.
fn lines(value: &str) -> Vec<String> {
    if !value.contains('\n') {
        return Vec::new();
    }
    let telling = |line: &&str| line.len() >= MIN_LINE && !line.starts_with("-----");
    value
        .lines()
        .map(str::trim)
        .filter(telling)
        .map(str::to_owned)
        .collect()
}

/// Which bytes are left as they are, besides letters and digits.
type UnescapedBytes = &'static [u8];

const UNRESERVED: UnescapedBytes = b"-._~";
const PERCENT_SETS: &[UnescapedBytes] = &[
    UNRESERVED,
    // Nothing but letters and digits.
    b"",
    // `encodeURIComponent`, `encodeURI`.
    b"-._~!'()*",
    b"-._~!'()*;/?:@&=+$,#",
    // Forms.
    b"-._*",
    // Path segments, queries (two readings), user names of URLs.
    b"-._~!$&'()*+,;=:@[\\]^|",
    b"-._~!$&()*+,;=:@[\\]^|/?`{}%",
    b"-._~!$&'()*+,;=:@[\\]^|/?`{}%",
    b"-._~!$&'()*+,",
];

fn percent_forms(value: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for upper in [true, false] {
        for kept in PERCENT_SETS {
            for plus in [false, true] {
                forms.push(percent(value, kept, plus, upper));
            }
        }
        let twice = percent(value, UNRESERVED, false, upper);
        forms.push(percent(&twice, UNRESERVED, false, upper));
        forms.push(every_byte(value, "%", upper));
    }
    forms
}

fn percent(value: &str, kept: &[u8], plus_for_space: bool, upper: bool) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        match byte {
            b' ' if plus_for_space => out.push('+'),
            byte if byte.is_ascii_alphanumeric() || kept.contains(&byte) => out.push(byte.into()),
            byte => push_byte(&mut out, "%", byte, upper),
        }
    }
    out
}

/// Every byte behind a sign: `%73%65`.
fn every_byte(value: &str, sign: &str, upper: bool) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        push_byte(&mut out, sign, byte, upper);
    }
    out
}

// Writing to a string cannot fail.
fn push_byte(out: &mut String, sign: &str, byte: u8, upper: bool) {
    let _ = match upper {
        true => write!(out, "{sign}{byte:02X}"),
        false => write!(out, "{sign}{byte:02x}"),
    };
}

/// The liberties that writers of JSON take.
#[derive(Clone, Copy, Default)]
struct Json {
    /// `/` as `\/`.
    slash: bool,
    /// Everything that is not ASCII as `\u`.
    ascii: bool,
    /// `<`, `>`, `&` and `'` as `\u`.
    html: bool,
    /// All characters as `\u`.
    all: bool,
    /// Digits of `\u` in upper case.
    upper: bool,
}

/// Escaped once, and as it is in JSON that is a text of JSON.
fn json_forms(value: &str) -> BTreeSet<String> {
    let mut once = BTreeSet::new();
    for bits in 0..32_u8 {
        let has = |bit: u8| bits & (1 << bit) != 0;
        let liberties = Json {
            slash: has(0),
            ascii: has(1),
            html: has(2),
            all: has(3),
            upper: has(4),
        };
        once.insert(json(value, liberties));
    }
    let twice: Vec<String> = once
        .iter()
        .map(|form| json(form, Json::default()))
        .collect();
    once.extend(twice);
    once
}

fn json(value: &str, liberties: Json) -> String {
    let mut out = String::new();
    for c in value.chars() {
        let short = match c {
            _ if liberties.all => None,
            '"' => Some("\\\""),
            '\\' => Some("\\\\"),
            '\n' => Some("\\n"),
            '\r' => Some("\\r"),
            '\t' => Some("\\t"),
            '\u{8}' => Some("\\b"),
            '\u{c}' => Some("\\f"),
            '/' if liberties.slash => Some("\\/"),
            _ => None,
        };
        let numbered = liberties.all
            || c < ' '
            || (liberties.ascii && !c.is_ascii())
            || (liberties.html && matches!(c, '<' | '>' | '&' | '\''));
        match short {
            Some(short) => out.push_str(short),
            None if numbered => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = match liberties.upper {
                        true => write!(out, "\\u{unit:04X}"),
                        false => write!(out, "\\u{unit:04x}"),
                    };
                }
            }
            None => out.push(c),
        }
    }
    out
}

fn html_forms(value: &str) -> Vec<String> {
    let minimal = value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let mut forms = vec![minimal.clone()];
    for double in ["&quot;", "&#34;"] {
        let quoted = minimal.replace('"', double);
        for single in ["'", "&#39;", "&#x27;", "&apos;"] {
            let quoted = quoted.replace('\'', single);
            forms.push(quoted.replace('/', "&#x2F;"));
            forms.push(quoted);
        }
    }
    forms
}

/// As shells and debuggers write it.
fn quoted_forms(value: &str) -> Vec<String> {
    let debug = format!("{value:?}");
    let backslashed = value.chars().fold(String::new(), |mut out, c| {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && !"-._/:=@%+,".contains(c) {
            out.push('\\');
        }
        out.push(c);
        out
    });
    vec![
        debug.trim_matches('"').to_owned(),
        value.replace('\'', "'\\''"),
        value.replace('\'', "'\"'\"'"),
        backslashed,
        every_byte(value, "\\x", false),
        every_byte(value, "\\x", true),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "s3/cr+3t \"é\"&<'x'>\\";

    #[test]
    fn forms_of_common_writers_are_known() {
        let forms = forms(VALUE);
        for form in [
            // Python: json.dumps, JavaScript: JSON.stringify, PHP: json_encode, Go: json.Marshal.
            r#"s3/cr+3t \"\u00e9\"&<'x'>\\"#,
            r#"s3/cr+3t \"é\"&<'x'>\\"#,
            r#"s3\/cr+3t \"\u00e9\"&<'x'>\\"#,
            r#"s3/cr+3t \"é\"\u0026\u003c\u0027x\u0027\u003e\\"#,
            // JSON in JSON.
            r#"s3/cr+3t \\\"é\\\"&<'x'>\\\\"#,
            // encodeURIComponent, encodeURI, urlencode.
            "s3%2Fcr%2B3t%20%22%C3%A9%22%26%3C'x'%3E%5C",
            "s3/cr+3t%20%22%C3%A9%22&%3C'x'%3E%5C",
            "s3%2Fcr%2B3t+%22%C3%A9%22%26%3C%27x%27%3E%5C",
            "s3%2fcr%2b3t+%22%c3%a9%22%26%3c%27x%27%3e%5c",
            "s3%252Fcr%252B3t%2520%2522%25C3%25A9%2522%2526%253C%2527x%2527%253E%255C",
            // html.escape
            "s3/cr+3t &quot;é&quot;&amp;&lt;&#x27;x&#x27;&gt;\\",
            // Shells.
            "s3/cr+3t \"é\"&<'\\''x'\\''>\\",
        ] {
            assert!(forms.contains(form), "{form}\n{forms:#?}");
        }
    }

    #[test]
    fn base64_is_found_at_every_offset() {
        let forms = forms("SENTINEL-7f3a");
        for before in ["", "a", "ab", "user:", "abcdefgh"] {
            for after in ["", "z", "zz", "\n", "zzzz"] {
                let text = STANDARD.encode(format!("{before}SENTINEL-7f3a{after}"));
                assert!(
                    forms.iter().any(|form| text.contains(form.as_str())),
                    "{before}|{after}: {text}"
                );
            }
        }
    }

    #[test]
    fn there_are_not_too_many() {
        let forms = forms("a secret of 40 characters, with \"'<&/+éé\\");
        assert!(forms.len() < 150, "{}", forms.len());
        assert!(super::forms("plainSecret0123").len() < 45);
    }
}
