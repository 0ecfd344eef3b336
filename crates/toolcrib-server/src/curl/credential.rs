//! What looks like a credential ([`is_name`], [`is_value`]), and what the secret that it becomes is called.

pub(super) use toolcrib::secret::looks::{is_name, is_value};

/// The beginning of the names of a host's secrets: `GITHUB` for `api.github.com`. None for addresses and `localhost`.
pub(super) fn prefix_of_host(host: &str) -> Option<String> {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let labels: Vec<&str> = name.split('.').filter(|label| !label.is_empty()).collect();
    let (last, rest) = labels.split_last()?;
    if rest.is_empty() || last.bytes().all(|byte| byte.is_ascii_digit()) || host.starts_with('[') {
        return None;
    }
    const SECOND: &[&str] = &["ac", "co", "com", "edu", "gov", "net", "or", "org"];
    let rest = match rest.split_last() {
        Some((second, before))
            if last.len() == 2 && SECOND.contains(second) && !before.is_empty() =>
        {
            before
        }
        _ => rest,
    };
    rest.last().map(|label| upper(label))
}

/// A text as part of a secret's name.
pub(super) fn upper(text: &str) -> String {
    let word: String = text
        .chars()
        .map(|char| match char.is_ascii_alphanumeric() {
            true => char.to_ascii_uppercase(),
            false => '_',
        })
        .collect();
    let word = word.trim_matches('_').to_owned();
    match word.starts_with(|char: char| char.is_ascii_digit()) {
        true => format!("N{word}"),
        false => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_named_after_the_service() {
        for (host, prefix) in [
            ("api.github.com", Some("GITHUB")),
            ("slack.com", Some("SLACK")),
            ("api.service.co.uk", Some("SERVICE")),
            ("my-shop.example:8443", Some("MY_SHOP")),
            ("127.0.0.1:8080", None),
            ("localhost:3000", None),
            ("[::1]:80", None),
        ] {
            assert_eq!(prefix_of_host(host).as_deref(), prefix, "{host}");
        }
    }
}
