//! A server of another program's file as a server of ours.
//!
//! Values that look like keys become secrets, bound to that server: a secret in clear in config.toml would be one more place to lose it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use toolcrib::crib::UpstreamCandidate;
use toolcrib::model::names::Slug;
use toolcrib::model::secret::Secret;
use toolcrib::secret::{Binding, SecretName};
use toolcrib::upstream::{self, ConfiguredValue, UpstreamSettings};

use crate::clients_of_others::{ConnectBy, OtherServer, expand};

/// A value that goes into the secrets.
#[derive(Debug)]
pub(super) struct StoredSecret {
    /// The variable or header that had it.
    pub(super) of: String,
    pub(super) name: SecretName,
    pub(super) value: Secret,
    pub(super) binding: Binding,
}

#[derive(Debug)]
pub(super) struct Translated {
    pub(super) candidate: UpstreamCandidate,
    pub(super) kept: Vec<StoredSecret>,
}

/// Reads a server in our terms; the error says why that cannot be.
pub(super) fn translate(
    server: &OtherServer,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Translated, String> {
    let name = upstream::name(&slug(&server.name))?;
    let value = |text: &str| expand(text, &variable).map_err(|why| why.to_string());
    let mut kept = Vec::new();
    let mut fields = Map::new();
    match &server.way {
        ConnectBy::Unknown(why) => return Err(why.clone()),
        ConnectBy::Program {
            command,
            args,
            env,
            cwd,
        } => {
            fields.insert("command".to_owned(), value(command)?.into());
            let mut words = Vec::new();
            for (index, word) in args.iter().enumerate() {
                let expanded = value(word)?;
                let is_key = looks_like_a_key(expanded.rsplit('=').next().unwrap_or_default());
                let option = index.checked_sub(1).and_then(|before| args.get(before));
                let names_one =
                    option.is_some_and(|option| option.starts_with('-') && is_secret_name(option));
                let own = word
                    .split_once('=')
                    .is_some_and(|(option, _)| option.starts_with('-') && is_secret_name(option));
                if is_key || names_one || own {
                    return Err("one of its arguments looks like a key, and every program can read those; add it by hand with `toolcrib upstream add`, and the key by `--env NAME=secret:…` if it takes one".to_owned());
                }
                words.push(expanded);
            }
            fields.insert("args".to_owned(), json!(words));
            let mut variables = BTreeMap::new();
            for (variable, text) in env {
                let text = value(text)?;
                let given = given(&name, variable, text, &[], &mut kept)?;
                variables.insert(variable.clone(), given);
            }
            if !variables.is_empty() {
                fields.insert("env".to_owned(), json!(variables));
            }
            if let Some(cwd) = cwd {
                fields.insert("cwd".to_owned(), value(cwd)?.into());
            }
        }
        ConnectBy::Http {
            url,
            headers,
            token_variable,
        } => {
            let url = value(url)?;
            let host = host(&url);
            let hosts: Vec<&str> = host.as_deref().into_iter().collect();
            let mut sent = BTreeMap::new();
            let token = token_variable.as_ref().map(|variable| {
                let text = format!("Bearer ${{env:{variable}}}");
                ("Authorization".to_owned(), text)
            });
            for (header, text) in headers.iter().cloned().chain(token) {
                let text = value(&text)?;
                sent.insert(
                    header.clone(),
                    given(&name, &header, text, &hosts, &mut kept)?,
                );
            }
            fields.insert("url".to_owned(), url.into());
            if !sent.is_empty() {
                fields.insert("headers".to_owned(), json!(sent));
            }
        }
    }
    let settings = UpstreamSettings::read(&fields).map_err(|fault| fault.to_string())?;
    let settings = settings.with_usual_sandbox();
    Ok(Translated {
        candidate: UpstreamCandidate { name, settings },
        kept,
    })
}

/// A value as config.toml has it: itself, or the name of the secret it becomes.
fn given(
    server: &Slug,
    of: &str,
    text: String,
    hosts: &[&str],
    kept: &mut Vec<StoredSecret>,
) -> Result<Value, String> {
    // Only what is sent to one host has a word before it: `Bearer …`.
    let (before, key) = match text.split_once(' ') {
        Some((word, key))
            if !hosts.is_empty()
                && matches!(word, "Bearer" | "Basic" | "Token" | "bearer" | "token") =>
        {
            (format!("{word} "), key)
        }
        _ => (String::new(), text.as_str()),
    };
    let is_secret = is_secret_name(of) || !before.is_empty() || looks_like_a_key(key);
    if !is_secret || key.is_empty() {
        // It would be read as the name of a secret of ours.
        if !matches!(ConfiguredValue::parse(&text), Ok(ConfiguredValue::Plain(_))) {
            return Err(format!(
                "its `{of}` has `secret:` in it, which means something else here"
            ));
        }
        return Ok(text.into());
    }
    let word: String = format!("{server}_{of}")
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    let word = match word.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("_{word}"),
        false => word,
    };
    let name = SecretName::parse(&word)?;
    let binding =
        Binding::new(hosts.iter().copied(), [server.clone()]).map_err(|error| error.to_string())?;
    let written = format!("{before}secret:{name}");
    kept.push(StoredSecret {
        of: of.to_owned(),
        name,
        value: Secret::new(key),
        binding,
    });
    Ok(written.into())
}

/// A name as ours are: small letters, digits and `-`.
fn slug(name: &str) -> String {
    let words: Vec<String> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    words.join("-")
}

/// The host of an address, with its port where it names one.
fn host(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    Some(host.rsplit('@').next()?.to_owned()).filter(|host| !host.is_empty())
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let parts = [
        "key",
        "token",
        "secret",
        "passw",
        "passphrase",
        "pwd",
        "credential",
        "auth",
        "cookie",
        "dsn",
        "database_url",
    ];
    parts.iter().any(|part| name.contains(part))
}

/// Whether a text is one that only a machine would write: long, without blanks, letters and digits mixed.
fn looks_like_a_key(text: &str) -> bool {
    let known = [
        "sk-",
        "ghp_",
        "gho_",
        "github_pat_",
        "glpat-",
        "xoxb-",
        "xoxp-",
        "AKIA",
        "eyJ",
        "hf_",
        "npm_",
    ];
    if known.iter().any(|start| text.starts_with(start)) && text.len() >= 16 {
        return true;
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '=');
    text.len() >= 24
        && text.chars().all(is_part)
        && text.chars().any(|c| c.is_ascii_digit())
        && text.chars().any(|c| c.is_ascii_uppercase())
        && text.chars().any(|c| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(name: &str, entry: Value) -> Result<Translated, String> {
        translate(&OtherServer::read(name, &entry), |name| {
            (name == "SET").then(|| "from-outside".to_owned())
        })
    }

    fn settings(translated: &Translated) -> Value {
        translated.candidate.settings.written().into()
    }

    #[test]
    fn keys_in_variables_become_secrets_of_that_server() {
        let entry = json!({"command": "npx", "args": ["-y", "@x/github"], "env": {"GITHUB_TOKEN": "ghp_1234567890abcdefgh", "LOG": "debug", "API_KEY": "${SET}"}});
        let done = translated("GitHub Server", entry).unwrap();
        assert_eq!(done.candidate.name.as_str(), "github-server");
        assert_eq!(
            settings(&done)["env"],
            json!({"API_KEY": "secret:GITHUB_SERVER_API_KEY", "GITHUB_TOKEN": "secret:GITHUB_SERVER_GITHUB_TOKEN", "LOG": "debug"})
        );
        let kept: Vec<(&str, &str)> = done
            .kept
            .iter()
            .map(|kept| (kept.name.as_str(), kept.value.expose()))
            .collect();
        assert_eq!(
            kept,
            [
                ("GITHUB_SERVER_GITHUB_TOKEN", "ghp_1234567890abcdefgh"),
                ("GITHUB_SERVER_API_KEY", "from-outside")
            ]
        );
        assert!(done.kept.iter().all(|kept| kept.binding.hosts().is_empty()));
    }

    #[test]
    fn keys_in_headers_become_secrets_of_that_host() {
        let entry = json!({"type": "http", "url": "https://api.example.com/mcp", "headers": {"Authorization": "Bearer abc.def", "X-Team": "blue"}});
        let done = translated("tracker", entry).unwrap();
        assert_eq!(
            settings(&done)["headers"],
            json!({"Authorization": "Bearer secret:TRACKER_AUTHORIZATION", "X-Team": "blue"})
        );
        assert_eq!(done.kept[0].value.expose(), "abc.def");
        assert_eq!(done.kept[0].binding.hosts(), ["api.example.com"]);
        let codex = json!({"url": "https://api.example.com/mcp", "bearer_token_env_var": "SET"});
        let done = translated("codex", codex).unwrap();
        assert_eq!(done.kept[0].value.expose(), "from-outside");
    }

    #[test]
    fn what_cannot_be_known_or_kept_is_refused_with_a_reason() {
        for (entry, why) in [
            (
                json!({"command": "x", "env": {"A": "${input:key}"}}),
                "asks its user",
            ),
            (
                json!({"command": "x", "args": ["${workspaceFolder}"]}),
                "only the program knows",
            ),
            (json!({"command": "x", "env": {"A": "${UNSET}"}}), "not set"),
            (
                json!({"command": "x", "args": ["--token", "abc"]}),
                "looks like a key",
            ),
            (
                json!({"command": "x", "args": ["--api-key=abc"]}),
                "looks like a key",
            ),
            (
                json!({"command": "x", "args": ["ghp_1234567890abcdefgh"]}),
                "looks like a key",
            ),
            (
                json!({"command": "x", "env": {"A": "secret:OTHER"}}),
                "means something else",
            ),
            (json!({"command": "x", "cwd": "relative"}), "cwd"),
            (json!({"url": "ftp://x"}), "url"),
        ] {
            let said = translated("x", entry.clone()).unwrap_err();
            assert!(said.contains(why), "{entry}: {said}");
        }
        assert!(translated("core", json!({"command": "x"})).is_err());
        assert!(translated("…", json!({"command": "x"})).is_err());
    }
}
