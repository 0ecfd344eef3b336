//! What a server says when it lets no one in: [`Challenge`], read from `WWW-Authenticate` (RFC 9110, RFC 6750, RFC 9728).

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

/// The longest header that is read, and the most scopes that are asked for.
const MAX_HEADER: usize = 8 * 1024;
const MAX_SCOPES: usize = 100;

/// What a server wants, as far as it says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    /// Where it says who lets people in.
    pub(super) resource_metadata: Option<String>,
    /// What one has to be permitted.
    pub(super) scopes: Vec<String>,
    /// The problem of the token that it received.
    pub(super) error: Option<String>,
}

impl Challenge {
    /// The challenge `Bearer` of an answer; nothing is known where there is none.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut found = Challenge::default();
        for value in headers.get_all(WWW_AUTHENTICATE) {
            let Ok(text) = value.to_str() else { continue };
            if text.len() > MAX_HEADER {
                continue;
            }
            for (name, value) in bearer_parameters(text) {
                match name.as_str() {
                    "resource_metadata" => found.resource_metadata = Some(value),
                    "scope" => found.scopes = scopes(&value),
                    "error" => found.error = Some(value),
                    _ => {}
                }
            }
        }
        found
    }

    /// Whether the token is good, and permits too little.
    pub(super) fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// The scopes in a text, each once; what can be none is left out (RFC 6749, 3.3).
pub(super) fn scopes(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for scope in text.split(' ').filter(|scope| is_scope(scope)) {
        if all.len() < MAX_SCOPES && !all.iter().any(|known| known == scope) {
            all.push(scope.to_owned());
        }
    }
    all
}

/// Whether a text can be a scope.
pub(super) fn is_scope(text: &str) -> bool {
    let fits =
        |byte: u8| byte == 0x21 || (0x23..=0x5b).contains(&byte) || (0x5d..=0x7e).contains(&byte);
    !text.is_empty() && text.len() <= 500 && text.bytes().all(fits)
}

/// The parameters of the challenge `Bearer`, their names in lower case.
fn bearer_parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut is_bearer = false;
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c == ',' || c.is_ascii_whitespace());
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        let after = after.trim_start();
        match after.strip_prefix('=') {
            // A parameter of the scheme before it.
            Some(after) if !word.is_empty() => {
                let (value, left) = value(after.trim_start());
                if is_bearer {
                    found.push((word.to_ascii_lowercase(), value));
                }
                rest = left;
            }
            // A scheme.
            _ if !word.is_empty() => {
                is_bearer = word.eq_ignore_ascii_case("bearer");
                rest = after;
            }
            // Something that no one can read: it is passed over.
            _ => {
                let mut left = after.chars();
                left.next();
                rest = left.as_str();
            }
        }
        rest = rest.trim_start_matches(|c: char| c == ',' || c.is_ascii_whitespace());
    }
    found
}

/// A token or a quoted string, and what is after it.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(|c: char| c == ',' || c.is_ascii_whitespace());
        let (value, rest) = text.split_at(end.unwrap_or(text.len()));
        return (value.to_owned(), rest);
    };
    let mut value = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => value.extend(chars.next()),
            c => value.push(c),
        }
    }
    (value, chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Challenge {
        let mut headers = HeaderMap::new();
        headers.insert(WWW_AUTHENTICATE, text.parse().unwrap());
        Challenge::of(&headers)
    }

    #[test]
    fn parameters_are_those_of_the_scheme_bearer_in_any_surroundings() {
        let challenge = read(
            r#"Basic realm="scope=\"x\", y", bearer error="insufficient_scope",scope="a b a", Resource_Metadata = "https://a.test/x?y=1,2" , Digest scope="c""#,
        );
        assert_eq!(challenge.scopes, ["a", "b"]);
        assert!(challenge.is_insufficient_scope());
        assert_eq!(
            challenge.resource_metadata.as_deref(),
            Some("https://a.test/x?y=1,2")
        );
    }

    #[test]
    fn what_cannot_be_read_says_nothing_and_ends() {
        for text in [
            "",
            "Bearer",
            "=",
            ",,=,=",
            "Bearer scope",
            "Bearer scope=\"a",
            "Bearer =\"\\",
        ] {
            let challenge = read(text);
            assert!(challenge.resource_metadata.is_none(), "{text}");
        }
        assert_eq!(read("Bearer scope=\"a").scopes, ["a"]);
        assert_eq!(read("Bearer scope=a, error=x").scopes, ["a"]);
    }
}
