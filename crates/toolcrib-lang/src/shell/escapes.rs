//! The escapes of `$'…'`.

/// The text of `$'…'`, given what is between the quotes, and whether it is certain: bytes that are not UTF-8 cannot be
/// shown, and what `\c` makes of odd characters differs between versions.
pub(super) fn ansi(body: &str) -> (String, bool) {
    let bytes = body.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut certain = true;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        at += 1;
        let Some(&escape) = bytes.get(at) else {
            out.push(b'\\');
            break;
        };
        at += 1;
        let simple = match escape {
            b'a' => 7,
            b'b' => 8,
            b'e' | b'E' => 27,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'\\' | b'\'' | b'"' | b'?' => escape,
            b'0'..=b'7' => {
                let (value, used) = number(&bytes[at - 1..], 8, 3);
                at += used - 1;
                // Only the low eight bits count.
                (value & 0xff) as u8
            }
            b'x' => {
                if bytes.get(at) == Some(&b'{') {
                    certain = false;
                }
                let (value, used) = number(&bytes[at..], 16, 2);
                if used == 0 {
                    out.extend_from_slice(b"\\x");
                    continue;
                }
                at += used;
                value as u8
            }
            b'u' | b'U' => {
                let (value, used) = number(&bytes[at..], 16, if escape == b'u' { 4 } else { 8 });
                if used == 0 {
                    out.extend_from_slice(&[b'\\', escape]);
                    continue;
                }
                at += used;
                match char::from_u32(value) {
                    Some('\0') => 0,
                    Some(character) => {
                        // Outside UTF-8 locales something else comes out.
                        certain &= character.is_ascii();
                        let mut buffer = [0; 4];
                        out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
                        continue;
                    }
                    None => {
                        certain = false;
                        continue;
                    }
                }
            }
            b'c' => {
                certain = false;
                continue;
            }
            other => {
                out.push(b'\\');
                out.push(other);
                continue;
            }
        };
        if simple == 0 {
            // The string ends at a null byte; whether the rest of the word does is murky.
            certain = false;
            break;
        }
        out.push(simple);
    }
    match String::from_utf8(out) {
        Ok(text) => (text, certain),
        Err(error) => (
            String::from_utf8_lossy(error.as_bytes()).into_owned(),
            false,
        ),
    }
}

fn number(bytes: &[u8], base: u32, most: usize) -> (u32, usize) {
    let mut value = 0u32;
    let mut used = 0;
    while used < most {
        let digit = bytes
            .get(used)
            .and_then(|byte| char::from(*byte).to_digit(base));
        let Some(digit) = digit else { break };
        value = value.wrapping_mul(base).wrapping_add(digit);
        used += 1;
    }
    (value, used)
}

#[cfg(test)]
mod tests {
    use super::ansi;

    #[test]
    fn escapes_are_those_of_bash() {
        let read = |text: &str| ansi(text).0;
        assert_eq!(read(r"\x72\x6d"), "rm");
        assert_eq!(read(r"\162\155"), "rm");
        assert_eq!(read(r"\u0072\U0000006d"), "rm");
        assert_eq!(read(r"a\'b\q\n"), "a'b\\q\n");
        assert_eq!(ansi(r"rm\0x"), ("rm".to_owned(), false));
        assert!(!ansi(r"\xff").1);
    }
}
