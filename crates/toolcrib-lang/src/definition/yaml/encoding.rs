//! Bytes to text: UTF-8, or a reason why not.

use super::MAX_FILE_BYTES;
use crate::definition::problem::{Findings, SpannedProblem};
use crate::model::text::hides_something;

/// A file's text.
pub(crate) struct Decoded<'a> {
    pub(crate) text: &'a str,
    /// How many bytes stand before it: a byte order mark.
    pub(crate) skipped: usize,
}

/// Reads the bytes as UTF-8. Where they are not, the problem's place counts in the readable bytes before it.
pub(crate) fn decode(bytes: &[u8]) -> Result<Decoded<'_>, Box<SpannedProblem>> {
    if bytes.len() > MAX_FILE_BYTES {
        let message = format!("the file has more than {MAX_FILE_BYTES} bytes (256 KB)");
        return Err(Box::new(SpannedProblem::error(
            "file-too-large",
            0..0,
            message,
        )));
    }
    let (skipped, rest) = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => (3, rest),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => return Err(utf16()),
        all => (0, all),
    };
    // Every second byte of plain English in UTF-16 is a NUL.
    if rest.iter().take(64).filter(|byte| **byte == 0).count() > rest.len().min(64) / 4 {
        return Err(utf16());
    }
    match std::str::from_utf8(rest) {
        Ok(text) => Ok(Decoded { text, skipped }),
        Err(error) => {
            let at = skipped + error.valid_up_to();
            let byte = bytes.get(at).copied().unwrap_or_default();
            let message = format!(
                "the file is not UTF-8: byte 0x{byte:02x} begins no character, as in files of an older encoding (Latin-1)"
            );
            Err(Box::new(
                SpannedProblem::error("not-utf8", at..at + 1, message)
                    .help("save it as UTF-8; `iconv -f latin1 -t utf-8` converts one"),
            ))
        }
    }
}

fn utf16() -> Box<SpannedProblem> {
    let found = SpannedProblem::error(
        "not-utf8",
        0..0,
        "the file is UTF-16; a tool's file is UTF-8",
    );
    Box::new(found.help("save it as UTF-8; `iconv -f utf-16 -t utf-8` converts one"))
}

/// Reports characters that some readers of YAML take for the end of a line and others do not, and those that no one sees.
pub(crate) fn odd_characters(found: &mut Findings<'_>) {
    let text = found.text;
    // Nearly every file is plain.
    if text.is_ascii() && !hides_something(text) {
        return;
    }
    for (at, c) in text.char_indices() {
        let span = at..at + c.len_utf8();
        let number = u32::from(c);
        match c {
            '\u{85}' | '\u{2028}' | '\u{2029}' => {
                let message =
                    format!("U+{number:04X} ends a line to some readers of YAML and not to others");
                found.push(
                    SpannedProblem::error("line-separator", span, message)
                        .help("write an ordinary line end, or a space"),
                );
            }
            // Joins the parts of many emoji.
            '\u{200d}' | '\r' => {}
            c if hides_something(c.encode_utf8(&mut [0; 4])) => {
                let message = format!(
                    "U+{number:04X} cannot be seen, so the file may read differently from what it does"
                );
                found.push(
                    SpannedProblem::warning("hidden-character", span, message).help(format!(
                        "remove it; in double quotes it can be written as \"\\u{number:04x}\""
                    )),
                );
            }
            _ => {}
        }
    }
}
