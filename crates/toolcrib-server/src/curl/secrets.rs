//! Which values become secrets. Their values are looked at, compared, and forgotten: nothing here gives one back.

use std::fmt;

use super::credential;
use super::placeholder;

/// The secrets of a tool that is being made.
#[derive(Debug)]
pub(super) struct Secrets {
    prefix: String,
    kept: Vec<FoundSecret>,
}

struct FoundSecret {
    name: String,
    /// What was typed, so that the same credential is the same secret; a variable has none.
    value: Option<String>,
    place: String,
}

/// Without the value.
impl fmt::Debug for FoundSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.place)
    }
}

/// A secret that a tool needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretUse {
    /// Its name.
    pub name: String,
    /// Where it is, in words.
    pub place: String,
}

impl Secrets {
    /// Those of a tool for this host; the tool's name is in for a host without a name.
    pub(super) fn of(host: &str, tool: &str) -> Self {
        Secrets {
            prefix: credential::prefix_of_host(host).unwrap_or_else(|| credential::upper(tool)),
            kept: Vec::new(),
        }
    }

    /// The mark of a secret in the place of a credential. A text of nothing but variables keeps them as secrets;
    /// a text around them is as much of a credential as any other, and the whole becomes one secret.
    pub(super) fn conceal(&mut self, value: &str, suffix: &str, place: &str) -> String {
        if value.is_empty() {
            return String::new();
        }
        if placeholder::is_in(value) && !tells(value, suffix == "COOKIE") {
            for name in placeholder::names(value) {
                self.claim(name, place);
            }
            return value.to_owned();
        }
        let same = |kept: &&FoundSecret| kept.value.as_deref() == Some(value);
        if let Some(kept) = self.kept.iter().find(same) {
            return placeholder::of(&kept.name);
        }
        self.add(Some(value.to_owned()), suffix, place)
    }

    /// The mark of a secret whose value the command does not have.
    pub(super) fn missing(&mut self, suffix: &str, place: &str) -> String {
        self.add(None, suffix, place)
    }

    fn add(&mut self, value: Option<String>, suffix: &str, place: &str) -> String {
        let suffix = credential::upper(suffix);
        let mut base = match suffix.starts_with(&format!("{}_", self.prefix)) {
            true => suffix,
            false => format!("{}_{suffix}", self.prefix),
        };
        base.truncate(60);
        let mut name = base.clone();
        let mut number = 2;
        while self.has(&name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        let marked = placeholder::of(&name);
        self.kept.push(FoundSecret {
            name,
            value,
            place: place.to_owned(),
        });
        marked
    }

    /// A variable that is a secret.
    pub(super) fn claim(&mut self, name: &str, place: &str) {
        if !self.has(name) {
            self.kept.push(FoundSecret {
                name: name.to_owned(),
                value: None,
                place: place.to_owned(),
            });
        }
    }

    /// Their names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(|kept| kept.name.as_str())
    }

    /// Whether a name is one of a secret.
    pub(super) fn has(&self, name: &str) -> bool {
        self.kept.iter().any(|kept| kept.name == name)
    }

    /// Whether the value of one was in the command.
    pub(super) fn has_typed(&self) -> bool {
        self.kept.iter().any(|kept| kept.value.is_some())
    }

    /// The known facts about them.
    pub(super) fn into_uses(self) -> Vec<SecretUse> {
        let uses = self.kept.into_iter().map(|kept| SecretUse {
            name: kept.name,
            place: kept.place,
        });
        uses.collect()
    }
}

/// Whether there is more in a text than variables and the names of what they are: `session=$SESSION` reveals nothing.
fn tells(value: &str, are_cookies: bool) -> bool {
    let is_told = |part: &str| {
        let value = match part.split_once('=') {
            Some((name, value))
                if !placeholder::is_in(name)
                    && (are_cookies || credential::is_name(name.trim())) =>
            {
                value
            }
            _ => part,
        };
        placeholder::literals(value).contains(char::is_alphanumeric)
    };
    value.split(';').any(is_told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_at_secrets_shows_no_values() {
        let mut secrets = Secrets::of("api.example.com", "tool");
        secrets.conceal("SENTINEL-7f3a", "token", "a header");
        let shown = format!("{secrets:?}");
        assert!(
            shown.contains("a header") && !shown.contains("7f3a"),
            "{shown}"
        );
    }
}
