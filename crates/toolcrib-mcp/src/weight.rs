//! What a message would take in memory: [`weight`], an estimate that is made before anything of it is read.
//!
//! Four bytes of text (`[1],`) become a list of one value, 400 bytes of memory, so that a bound on the length of a message does not
//! bound what it costs. Limits on lengths are elsewhere; texts too short to matter are not looked at.

/// What the values of one message may take.
pub(crate) const MAX_MESSAGE: usize = 64 << 20;
/// What the values of one question of a server may take: several may be open at once.
pub(crate) const MAX_QUESTION: usize = 2 << 20;

/// What a value takes, wherever it is.
const VALUE: usize = 80;
/// What a list or an object takes in addition: room for four.
const ROOM: usize = 4 * VALUE;
/// No text takes more than this for each of its bytes.
const MOST_PER_BYTE: usize = (2 * VALUE + ROOM) / 2;

/// Whether the values of a JSON text would take more than `most` bytes of memory. Names and texts count with their length.
pub(crate) fn is_over(most: usize, text: &str) -> bool {
    text.len() > most / MOST_PER_BYTE && weight(text) > most
}

/// The bytes that the values of a JSON text would take, estimated; what is not JSON gets a number, too.
pub(crate) fn weight(text: &str) -> usize {
    let mut weight = VALUE + text.len();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'\\' => drop(bytes.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b',' | b':' => weight += VALUE,
            b'[' | b'{' => weight += VALUE + ROOM,
            _ => {}
        }
    }
    weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_values_weigh_more_than_one_long_text() {
        let lists = format!("[{}]", vec!["[1]"; 300_000].join(","));
        assert!(is_over(MAX_MESSAGE, &lists), "{}", weight(&lists));
        let text = format!("[\"{}\"]", "[1],".repeat(300_000));
        assert!(!is_over(MAX_MESSAGE, &text), "{}", weight(&text));
    }

    #[test]
    fn no_text_weighs_more_than_its_length_allows() {
        for unit in ["[", "{", ",", ":", "[1],", "{},", "\"\"", "\"", "x"] {
            let text = unit.repeat(1000);
            assert!(weight(&text) <= VALUE + text.len() * (1 + VALUE + ROOM));
        }
        let lists = format!("[{}]", vec!["[]"; 1000].join(","));
        assert!(weight(&lists) / lists.len() <= MOST_PER_BYTE);
    }

    #[test]
    fn an_escaped_quote_does_not_end_a_text() {
        assert_eq!(weight(r#""\",,,,""#), weight(r#""xx,,,,""#));
        assert_eq!(weight(r#""\\",1"#), weight(r#""xx",1"#));
    }
}
