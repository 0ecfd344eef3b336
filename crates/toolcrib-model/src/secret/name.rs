//! What a secret is called.

use std::fmt;

use crate::text;

/// Variables that every HTTP tool has; a secret of such a name could never be used.
const BUILT_IN: &[&str] = &["version", "slug", "displayName", "prev"];

/// The longest name.
const MAX_CHARS: usize = 64;

/// The name of a secret: `[A-Za-z_][A-Za-z0-9_]{0,63}`, and none of the built-in variables.
///
/// ```
/// use toolcrib::secret::SecretName;
/// assert!(SecretName::parse("WEATHER_API_KEY").is_ok());
/// assert!(SecretName::parse("weather-key").is_err());
/// assert!(SecretName::parse("version").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName(String);

impl SecretName {
    /// Reads a name; the error says what a name may be.
    pub fn parse(name: &str) -> Result<Self, String> {
        let refused = |why: &str| {
            let shown = text::shorten(name, MAX_CHARS);
            Err(format!("`{shown}` cannot be the name of a secret: {why}"))
        };
        if BUILT_IN.contains(&name) {
            return refused("it is a built-in variable of HTTP tools; choose another name");
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let starts_well = name
            .chars()
            .next()
            .is_some_and(|c| is_word(c) && !c.is_ascii_digit());
        if !starts_well || !name.chars().all(is_word) || name.len() > MAX_CHARS {
            return refused(
                "write letters, digits and `_`, at most 64, no digit first, like `WEATHER_API_KEY`",
            );
        }
        Ok(SecretName(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_variables() {
        for good in ["A", "_", "api_key", "K3Y", &"x".repeat(64)] {
            assert!(SecretName::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "3X",
            "a-b",
            "a.b",
            "a b",
            "é",
            "../x",
            "a\n",
            "version",
            "slug",
            "displayName",
            "prev",
            &"x".repeat(65),
        ] {
            assert!(SecretName::parse(bad).is_err(), "{bad:?}");
        }
    }
}
