//! Where a `$ref` leads: to a part of the same schema, by a JSON pointer in the fragment of a URI.

use std::borrow::Cow;

use serde_json::Value;

/// The JSON pointer of a local reference, percent-decoded; `None` for a reference of another kind.
#[doc(hidden)]
pub fn pointer(reference: &str) -> Option<Cow<'_, str>> {
    let pointer = reference.strip_prefix('#')?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    match pointer.contains('%') {
        false => Some(pointer.into()),
        true => decoded(pointer).map(Cow::Owned),
    }
}

/// The part of a schema that a reference leads to.
#[doc(hidden)]
pub fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&pointer(reference)?)
}

/// The local reference of a JSON pointer, as a URI has it.
#[doc(hidden)]
pub fn to(pointer: &str) -> String {
    let mut reference = String::with_capacity(pointer.len() + 1);
    reference.push('#');
    for byte in pointer.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => reference.push(char::from(byte)),
            // What a fragment may have as it is (RFC 3986).
            _ if b"-._~!$&'()*+,;=:@/?".contains(&byte) => reference.push(char::from(byte)),
            _ => reference.push_str(&format!("%{byte:02X}")),
        }
    }
    reference
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digit = |at: usize| char::from(*tail.get(at)?).to_digit(16);
        bytes.push(u8::try_from(digit(0)? * 16 + digit(1)?).ok()?);
        rest = tail.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_in_a_reference_is_percent_decoded() {
        assert_eq!(
            pointer("#/$defs/List%3Cint%3E").as_deref(),
            Some("/$defs/List<int>")
        );
        assert_eq!(to("/$defs/List<int>"), "#/$defs/List%3Cint%3E");
        assert_eq!(pointer("#/a%C3%A9").as_deref(), Some("/aé"));
        for other in ["#anchor", "other.json#/a", "#/%", "#/%zz", "#/%ff"] {
            assert_eq!(pointer(other), None, "{other}");
        }
    }
}
