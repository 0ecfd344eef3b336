//! Tokens and what is kept of them: a digest, which is compared without saying by its time how much of it was right.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// The SHA-256 of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TokenDigest([u8; 32]);

impl TokenDigest {
    pub(super) fn of(token: &str) -> Self {
        TokenDigest(Sha256::digest(token.as_bytes()).into())
    }

    /// Whether both are the same, in the same time whatever they are.
    pub(super) fn is(&self, other: &TokenDigest) -> bool {
        let difference = self
            .0
            .iter()
            .zip(other.0)
            .fold(0, |sum, (a, b)| sum | (a ^ b));
        std::hint::black_box(difference) == 0
    }

    /// As hexadecimal digits.
    pub(super) fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// From 64 hexadecimal digits.
    pub(super) fn from_hex(text: &str) -> Option<Self> {
        let mut digest = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (byte, digits) in digest.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).ok()?;
            // `from_str_radix` takes a sign.
            *byte = digits
                .bytes()
                .all(|digit| digit.is_ascii_hexdigit())
                .then(|| u8::from_str_radix(digits, 16).ok())??;
        }
        Some(TokenDigest(digest))
    }
}

/// A new token: 32 random bytes in 43 characters.
pub(super) fn new_token() -> Result<String, String> {
    let mut bytes = [0; 32];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| "the system gives no random numbers".to_owned())?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Says what is wrong with a text as a token, if something is.
pub(super) fn problem_of(token: &str) -> Option<&'static str> {
    if token.chars().count() < super::tokens::MIN_TOKEN {
        Some("it has fewer than 16 characters")
    } else if token.len() > super::tokens::MAX_TOKEN {
        Some("it has more than 512 characters")
    } else if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        Some(
            "it has characters that no header can carry; letters, digits and `-._~+/=` can be used",
        )
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_survives_its_text_and_is_distinguished_from_others() {
        let digest = TokenDigest::of("a");
        assert_eq!(TokenDigest::from_hex(&digest.to_hex()), Some(digest));
        assert!(digest.is(&TokenDigest::of("a")));
        for other in ["b", "", "aa"] {
            assert!(!digest.is(&TokenDigest::of(other)));
        }
        for bad in [
            "",
            "ab",
            &"+1".repeat(32),
            &"zz".repeat(32),
            &"é".repeat(32),
        ] {
            assert_eq!(TokenDigest::from_hex(bad), None, "{bad}");
        }
    }

    #[test]
    fn new_tokens_differ_and_are_tokens() {
        let (one, other) = (new_token().unwrap(), new_token().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), 43);
        assert_eq!(problem_of(&one), None);
    }
}
