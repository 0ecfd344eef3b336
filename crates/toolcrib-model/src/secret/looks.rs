//! What looks like a credential, by its name or by its shape. A doubt counts: a secret too many is a line to type, one too few
//! is a password in a file that gets shared.

/// Words in names of headers, parameters and fields whose values are credentials.
const WORDS: &[&str] = &[
    "apikey",
    "appid",
    "appkey",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "csrf",
    "jwt",
    "key",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "pat",
    "pin",
    "pwd",
    "secret",
    "session",
    "sessionid",
    "sid",
    "sig",
    "signature",
    "token",
    "xsrf",
];

/// How the credentials of well-known services begin.
const PREFIXES: &[&str] = &[
    "AIza",
    "AKIA",
    "ASIA",
    "EAAC",
    "GOCSPX-",
    "SG.",
    "dckr_pat_",
    "dop_v1_",
    "eyJ",
    "ghp_",
    "gho_",
    "ghr_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "hf_",
    "key-",
    "lin_api_",
    "npm_",
    "ntn_",
    "pk_live_",
    "pk_test_",
    "pypi-",
    "r8_",
    "rk_live_",
    "rk_test_",
    "secret_",
    "shpat_",
    "sk-",
    "sk_live_",
    "sk_test_",
    "sq0",
    "whsec_",
    "xapp-",
    "xox",
    "ya29.",
];

/// Names with one of the words whose values are none.
const HARMLESS: &[&str] = &[
    "idempotency-key",
    "x-idempotency-key",
    "sec-websocket-key",
    "max_tokens",
    "tokens",
];

/// Whether what has this name is a credential: `X-Api-Key`, `access_token`, `apiKey`, `appid`.
pub fn is_name(name: &str) -> bool {
    if HARMLESS
        .iter()
        .any(|harmless| name.eq_ignore_ascii_case(harmless))
    {
        return false;
    }
    let whole: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let whole = whole.to_ascii_lowercase();
    let is_word = |word: &str| WORDS.contains(&word);
    is_word(&whole) || whole.ends_with("apikey") || words(name).iter().any(|word| is_word(word))
}

/// `apiKey`, `api-key` and `API_KEY` as `api`, `key`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for char in name.chars() {
        let begins = char.is_ascii_uppercase() && before.is_ascii_lowercase();
        if begins || !char.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if char.is_ascii_alphanumeric() {
            let last = words.last_mut();
            last.into_iter()
                .for_each(|word| word.push(char.to_ascii_lowercase()));
        }
        before = char;
    }
    words
}

/// Whether a value looks like a credential, whatever it is called: it begins like one, or is long and random.
pub fn is_value(value: &str) -> bool {
    let known = PREFIXES
        .iter()
        .any(|prefix| value.starts_with(prefix) && value.len() >= prefix.len() + 10);
    known || value.contains("-----BEGIN ") || is_bot(value) || is_random(value)
}

/// `bot123456789:AAF…`, as it is in Telegram's paths.
fn is_bot(value: &str) -> bool {
    let parts = value
        .strip_prefix("bot")
        .and_then(|rest| rest.split_once(':'));
    parts.is_some_and(|(id, token)| {
        id.len() >= 5 && id.bytes().all(|byte| byte.is_ascii_digit()) && token.len() >= 20
    })
}

/// Long, one word, with capitals, small letters and digits mixed; a UUID or a digest in hex is not.
fn is_random(value: &str) -> bool {
    let mut kinds = [false; 3];
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' => kinds[0] = true,
            b'a'..=b'z' => kinds[1] = true,
            b'0'..=b'9' => kinds[2] = true,
            b'-' | b'_' | b'=' | b'+' | b'/' => {}
            _ => return false,
        }
    }
    (20..=4096).contains(&value.len()) && kinds == [true; 3] && !has_words(value)
}

/// Three or more words that a person would write are a title, not a key: `How-To-Build-A-Tool-In-2024`.
fn has_words(value: &str) -> bool {
    let words = value.split(['-', '_', '/', '+', '=']);
    let is_written = |word: &&str| {
        let mut letters = word.chars();
        letters
            .next()
            .is_some_and(|first| first.is_ascii_alphanumeric())
            && (letters
                .as_str()
                .bytes()
                .all(|byte| byte.is_ascii_lowercase())
                || word.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.len() >= 3 && words.iter().all(is_written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_credentials_are_known_in_every_spelling() {
        for name in [
            "X-Api-Key",
            "api_key",
            "apiKey",
            "APIKEY",
            "key",
            "access_token",
            "PRIVATE-TOKEN",
            "x-goog-api-key",
            "xi-api-key",
            "client_secret",
            "password",
            "appid",
            "X-Auth-Key",
            "X-CSRF-Token",
            "x-xsrf-token",
            "sig",
            "OPENAI_API_KEY",
            "Ocp-Apim-Subscription-Key",
            "X-Amz-Security-Token",
            "ApiKey",
            "DD-APPLICATION-KEY",
            "sessionId",
        ] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "q",
            "keyword",
            "keywords",
            "monkey",
            "author",
            "Accept",
            "Idempotency-Key",
            "max_tokens",
            "passenger",
            "tokenize",
            "design",
            "assignee",
            "X-GitHub-Api-Version",
            "sort",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn values_of_credentials_are_known_by_their_shape() {
        for value in [
            "ghp_0123456789abcdefghij",
            "sk-proj-abcdefghijkl",
            "xoxb-123456789012-abc",
            "AIzaSyA-1234567890abcdef",
            "bot123456789:AAF0123456789abcdefghij",
            "XXXXXXXXXXXX1234abcdXYZW",
            "eyJhbGciOiJIUzI1NiJ9.e30.x",
        ] {
            assert!(is_value(value), "{value}");
        }
        for value in [
            "rust-lang",
            "018faf50-b7b6-7a01-9a05-a22a6e0af101",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "application/json",
            "How-To-Build-A-Tool-In-2024",
            "current.json",
            "Paris",
        ] {
            assert!(!is_value(value), "{value}");
        }
    }
}
