//! The caller's environment, for commands that ask for it (`inherit: true`): without what makes programs load or run something
//! else, and without what looks like a secret.
//!
//! A list of names cannot know every secret; it errs on the side of leaving out. What a command needs of what is left out it
//! is given by name.

use std::ffi::OsString;

use crate::shell;

/// What a shell or an interpreter reads that is plain when a command sets it for itself, as `IFS=, read a b` does, and not
/// when it comes from elsewhere. The rest of the table is [`shell::is_acted_on`], with which commands are judged.
const READ_BY_SHELLS: &[&str] = &["IFS", "PYTHONPATH", "RUBYLIB", "GEM_PATH", "ZDOTDIR"];

/// A description of another process: where it is, and what is ours.
const NOT_THEIRS: &[&str] = &["PWD", "OLDPWD", "_"];

/// Whose variables are credentials, or lead to them.
const SECRET_PREFIXES: &[&str] = &[
    "TOOLCRIB_",
    "AWS_",
    "AZURE_",
    "ARM_",
    "GOOGLE_",
    "GCP_",
    "VAULT_",
    "OP_SESSION",
    "BW_SESSION",
    "KUBECONFIG",
];

/// Parts of a name that say that the value is a secret, wherever they are.
const SECRET_PARTS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "ACCESSKEY",
    "PRIVATE_KEY",
    "PRIVATEKEY",
    "CONNECTION_STRING",
    "CONNECTIONSTRING",
    "WEBHOOK",
];

/// Words of a name, between underscores, that do: as parts of other words they are common (`AUTHOR`, `KEYBOARD`).
const SECRET_WORDS: &[&str] = &[
    "AUTH", "BEARER", "COOKIE", "DSN", "JWT", "KEY", "KEYS", "PASS", "PAT", "PIN", "PSK", "PWD",
    "SALT", "SK",
];

/// The caller's variables that a command may have.
pub(crate) fn inherited() -> Vec<(OsString, OsString)> {
    std::env::vars_os()
        .filter(|(name, value)| {
            name.to_str()
                .is_some_and(|name| is_inherited(name, &value.to_string_lossy()))
        })
        .collect()
}

fn is_inherited(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let secret = SECRET_PREFIXES.iter().any(|start| upper.starts_with(start))
        || SECRET_PARTS.iter().any(|part| upper.contains(part))
        || upper.split('_').any(|word| SECRET_WORDS.contains(&word));
    !secret
        && !holds_secret(value)
        && !shell::is_acted_on(name)
        && !READ_BY_SHELLS.contains(&name)
        && !NOT_THEIRS.contains(&name)
}

/// A private key, or an address with a password in it, whatever the variable is called.
fn holds_secret(value: &str) -> bool {
    let with_password = value.match_indices("://").any(|(at, separator)| {
        let rest = &value[at + separator.len()..];
        let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
        authority
            .rsplit_once('@')
            .is_some_and(|(user, _)| user.contains(':'))
    });
    with_password || value.contains("PRIVATE KEY-----")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_variables_are_inherited() {
        for (name, value) in [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/home/ada"),
            ("LANG", "C.UTF-8"),
            ("SHELL", "/bin/bash"),
            ("MY_SETTING", "token"),
            ("CI", "true"),
            ("GIT_AUTHOR_NAME", "Ada"),
            ("KEYBOARD_LAYOUT", "de"),
            ("COMPASS", "north"),
            ("JAVA_HOME", "/usr/lib/jvm"),
            ("CARGO_HOME", "/home/ada/.cargo"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("http_proxy", "http://proxy.example:3128"),
            ("REPOSITORY", "ssh://git@example.com:22/x"),
            ("EMPTY", ""),
        ] {
            assert!(is_inherited(name, value), "{name}={value}");
        }
    }

    #[test]
    fn what_makes_programs_load_or_run_something_else_is_not_inherited() {
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "ENV",
            "PS4",
            "SHELLOPTS",
            "BASHOPTS",
            "BASH_FUNC_ls%%",
            "IFS",
            "PROMPT_COMMAND",
            "PYTHONSTARTUP",
            "PYTHONPATH",
            "PYTHONHOME",
            "NODE_OPTIONS",
            "NODE_PATH",
            "PERL5OPT",
            "PERL5LIB",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "GIT_SSH_COMMAND",
            "GIT_EXTERNAL_DIFF",
            "GIT_PAGER",
            "GIT_EDITOR",
            "GIT_ASKPASS",
            "GIT_EXEC_PATH",
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_GLOBAL",
            "GIT_PROXY_COMMAND",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
            "MAKEFLAGS",
            "PWD",
            "OLDPWD",
        ] {
            assert!(!is_inherited(name, "x"), "{name}");
        }
    }

    #[test]
    fn secrets_are_not_inherited() {
        for name in [
            "TOOLCRIB_HOME",
            "TOOLCRIB_APPROVAL_WAIT",
            "GITHUB_TOKEN",
            "npm_config__authToken",
            "OPENAI_API_KEY",
            "ANTHROPIC_APIKEY",
            "AWS_ACCESS_KEY_ID",
            "AWS_PROFILE",
            "AZURE_CLIENT_ID",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "DB_PASSWORD",
            "PGPASSWORD",
            "MYSQL_PWD",
            "SMTP_PASS",
            "CLIENT_SECRET",
            "SSH_PRIVATE_KEY",
            "STRIPE_KEY",
            "GITHUB_PAT",
            "SENTRY_DSN",
            "SLACK_WEBHOOK_URL",
            "SSH_AUTH_SOCK",
            "stripe_secret_live",
            "VAULT_ADDR",
            "STRIPE_SK",
            "KUBECONFIG",
        ] {
            assert!(!is_inherited(name, "x"), "{name}");
        }
        for value in [
            "postgres://ada:geheim@db.example/x",
            "a, redis://:geheim@cache.example:6379",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
        ] {
            assert!(!is_inherited("DATABASE", value), "{value}");
        }
    }

    #[test]
    fn what_is_inherited_comes_from_this_process() {
        let all = inherited();
        assert!(all.iter().any(|(name, _)| name == "PATH"));
        assert!(all.len() <= std::env::vars_os().count());
    }
}
