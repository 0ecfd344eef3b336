//! Bytes to text: UTF-8, or a reason why not.

use std::ops::Range;

use super::MAX_FILE_BYTES;
use crate::definition::problem::Found;

/// A file's text.
pub(in crate::definition) struct Decoded<'a> {
    pub(in crate::definition) text: &'a str,
    /// How many bytes stand before it: a byte order mark.
    pub(in crate::definition) skipped: usize,
}

/// Reads the bytes as UTF-8. Where they are not, the problem's place counts in the readable bytes before it.
pub(in crate::definition) fn decode(bytes: &[u8]) -> Result<Decoded<'_>, Box<Found>> {
    if bytes.len() > MAX_FILE_BYTES {
        let message = format!(
            "the file has {} bytes; a tool's file may have {MAX_FILE_BYTES}",
            bytes.len()
        );
        return Err(Box::new(Found::error("file-too-large", 0..0, message)));
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
                Found::error("not-utf8", at..at + 1, message)
                    .help("save it as UTF-8; `iconv -f latin1 -t utf-8` converts one"),
            ))
        }
    }
}

fn utf16() -> Box<Found> {
    let found = Found::error(
        "not-utf8",
        0..0,
        "the file is UTF-16; a tool's file is UTF-8",
    );
    Box::new(found.help("save it as UTF-8; `iconv -f utf-16 -t utf-8` converts one"))
}

/// Characters that some readers of YAML take for the end of a line and others do not.
pub(in crate::definition) fn line_separators(text: &str) -> Vec<Range<usize>> {
    text.char_indices()
        .filter(|(_, c)| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}'))
        .map(|(at, c)| at..at + c.len_utf8())
        .collect()
}
