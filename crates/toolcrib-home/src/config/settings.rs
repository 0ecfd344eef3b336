//! The table of settings, `settings.toml`: every key, its type, its default, what it does, and how a project may
//! tighten it. Files, environment variables, `config show` and docs/config.md all come from it.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{notify, server};
use crate::egress::{AllowedHosts, EgressOptions, Target};
use crate::model::text;
use crate::secret::SecretName;
use crate::table::{Row, bounds, rows, words};

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// The key in config.toml, with dots for tables.
    pub key: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Its value when no one sets it.
    pub default: Value,
    /// What a project's own file may do to it.
    pub project: ProjectMay,
    /// What it does.
    pub effect: &'static str,
}

/// The type of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number within bounds, or nothing.
    Integer {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// A path.
    Path,
    /// A list of words; in the environment separated by commas.
    Words,
    /// One of these words, loosest first, or nothing.
    Choice(&'static [&'static str]),
    /// A list of hosts; in the environment separated by commas.
    Hosts,
    /// A list of hosts by name.
    HostNames,
    /// The address of a proxy, or nothing.
    Proxy,
    /// The address of a server, or nothing.
    Url,
    /// The name of a secret, or nothing.
    Secret,
    /// Yes or no.
    Switch,
    /// An address to listen on.
    Listen,
    /// A list of names that the server itself goes by.
    OwnHosts,
    /// A list of origins of web pages.
    Origins,
    /// The address by which people reach the server itself, or nothing.
    OwnUrl,
    /// A name of letters, digits, `.`, `_` and `-`.
    Name,
    /// A line of text, or nothing.
    Line,
}

/// What a project's own file may do: a cloned repository must not loosen anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectMay {
    /// Nothing.
    NotSet,
    /// Make it smaller.
    Lower,
    /// Choose a stricter word.
    Tighten,
    /// Add to the list.
    Extend,
    /// Take from the list; an empty list means everything, so the first list narrows.
    Narrow,
    /// Keep of a list of hosts what it has too; an empty list means nothing.
    Keep,
}

/// The longest list of words.
const MAX_WORDS: usize = 1000;

const TABLE: &str = include_str!("settings.toml");

/// Every setting, in the order they are shown.
pub static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(|| {
    let rows = rows(TABLE);
    let settings = rows.iter().map(Setting::read);
    settings
        .collect::<Option<_>>()
        .expect("a test reads every row")
});

impl Kind {
    /// Reads the `kind` of a row: `path`, `integer 1 100`, `choice text json off`.
    fn read(text: &'static str) -> Option<Kind> {
        let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
        Some(match kind {
            "integer" => bounds(rest).map(|(min, max)| Kind::Integer { min, max })?,
            "path" => Kind::Path,
            "words" => Kind::Words,
            "choice" => Kind::Choice(words(rest)),
            "hosts" => Kind::Hosts,
            "host-names" => Kind::HostNames,
            "proxy" => Kind::Proxy,
            "url" => Kind::Url,
            "secret" => Kind::Secret,
            "switch" => Kind::Switch,
            "listen" => Kind::Listen,
            "own-hosts" => Kind::OwnHosts,
            "origins" => Kind::Origins,
            "own-url" => Kind::OwnUrl,
            "name" => Kind::Name,
            "line" => Kind::Line,
            _ => return None,
        })
    }

    pub(super) fn is_list(self) -> bool {
        match self {
            Kind::Words | Kind::Hosts | Kind::HostNames | Kind::OwnHosts | Kind::Origins => true,
            Kind::Integer { .. }
            | Kind::Path
            | Kind::Choice(_)
            | Kind::Proxy
            | Kind::Url
            | Kind::Secret
            | Kind::Switch
            | Kind::Listen
            | Kind::OwnUrl
            | Kind::Name
            | Kind::Line => false,
        }
    }
}

impl ProjectMay {
    fn read(word: &str) -> Option<ProjectMay> {
        Some(match word {
            "" => ProjectMay::NotSet,
            "lower" => ProjectMay::Lower,
            "tighten" => ProjectMay::Tighten,
            "extend" => ProjectMay::Extend,
            "narrow" => ProjectMay::Narrow,
            "keep" => ProjectMay::Keep,
            _ => return None,
        })
    }
}

impl Setting {
    fn read(row: &Row) -> Option<Setting> {
        let mut setting = Setting {
            key: row.name,
            kind: Kind::read(row.get("kind"))?,
            default: Value::Null,
            project: ProjectMay::read(row.get("project"))?,
            effect: row.get("effect"),
        };
        setting.default = match row.find("default") {
            Some(text) => setting.parse(text).ok()?,
            None if setting.kind.is_list() => json!([]),
            None => Value::Null,
        };
        Some(setting)
    }

    /// What it holds, for people.
    pub fn kind_in_words(&self) -> String {
        match self.kind {
            Kind::Integer { min, max } => format!("whole number, {min} to {max}"),
            Kind::Path => "path".to_owned(),
            Kind::Words => "list of words".to_owned(),
            Kind::Choice(words) => text::or_list(words),
            Kind::Hosts => "list of hosts".to_owned(),
            Kind::HostNames => "list of names".to_owned(),
            Kind::Proxy | Kind::Url | Kind::OwnUrl => "address".to_owned(),
            Kind::Secret => "name of a secret".to_owned(),
            Kind::Switch => "true or false".to_owned(),
            Kind::Listen => "address and port".to_owned(),
            Kind::OwnHosts => "list of hosts".to_owned(),
            Kind::Origins => "list of origins".to_owned(),
            Kind::Name => "name".to_owned(),
            Kind::Line => "text".to_owned(),
        }
    }

    /// What a project's own file may do to it, for people.
    pub fn project_in_words(&self) -> &'static str {
        match self.project {
            ProjectMay::NotSet => "not set it",
            ProjectMay::Lower => "lower it",
            ProjectMay::Tighten => "make it stricter",
            ProjectMay::Extend => "add to it",
            ProjectMay::Narrow | ProjectMay::Keep => "take from it",
        }
    }

    /// Finds a setting by its key.
    pub fn find(key: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }

    /// The environment variable: `limits.timeoutMs` is `TOOLCRIB_LIMITS_TIMEOUT_MS`.
    pub fn variable(&self) -> String {
        let mut name = String::from("TOOLCRIB_");
        for c in self.key.chars() {
            match c {
                '.' => name.push('_'),
                c if c.is_ascii_uppercase() => {
                    name.push('_');
                    name.push(c);
                }
                c => name.push(c.to_ascii_uppercase()),
            }
        }
        name
    }

    /// Checks a value; the error says what the setting takes.
    pub(super) fn accept(&self, value: Value) -> Result<Value, String> {
        match (self.kind, &value) {
            (Kind::Integer { min, max }, Value::Number(number)) => match number.as_u64() {
                Some(number) if (min..=max).contains(&number) => Ok(value),
                _ => Err(format!("must be a whole number from {min} to {max}")),
            },
            (Kind::Integer { min, max }, _) => {
                Err(format!("must be a whole number from {min} to {max}"))
            }
            (Kind::Path, Value::String(path)) if !path.is_empty() => Ok(value),
            (Kind::Path, _) => Err("must be a path".to_owned()),
            (Kind::Words, Value::Array(words)) if words.len() > MAX_WORDS => {
                Err(format!("may have {MAX_WORDS} words at most"))
            }
            (Kind::Words, Value::Array(words)) if words.iter().all(Value::is_string) => Ok(value),
            (Kind::Words, _) => Err("must be a list of words".to_owned()),
            (Kind::Choice(words), Value::String(word)) if words.contains(&word.as_str()) => {
                Ok(value)
            }
            (Kind::Choice(words), _) => Err(format!("must be {}", text::or_list(words))),
            (Kind::Hosts | Kind::HostNames, Value::Array(words)) if words.len() > MAX_WORDS => {
                Err(format!("may have {MAX_WORDS} hosts at most"))
            }
            (Kind::Hosts | Kind::HostNames, Value::Array(_)) => {
                let hosts = self.hosts(&value)?;
                Ok(hosts.entries().collect::<Vec<_>>().into())
            }
            (Kind::Hosts | Kind::HostNames, _) => Err("must be a list of hosts".to_owned()),
            (Kind::Proxy, Value::String(url)) => {
                EgressOptions::parse_proxy(url).map(|url| json!(url.as_str()))
            }
            (Kind::Proxy, _) => {
                Err("must be a proxy like `http://proxy.example.com:3128`".to_owned())
            }
            (Kind::Url, Value::String(url)) => match Target::parse(url) {
                Ok(_) => Ok(value),
                Err(error) => Err(format!("must be an address: {error}")),
            },
            (Kind::Url, _) => Err("must be an address like `http://localhost:8888`".to_owned()),
            (Kind::Secret, Value::String(name)) => match SecretName::parse(name) {
                Ok(_) => Ok(value),
                Err(error) => Err(format!("must be the name of a secret: {error}")),
            },
            (Kind::Secret, _) => Err("must be the name of a secret".to_owned()),
            (Kind::Switch, Value::Bool(_)) => Ok(value),
            (Kind::Switch, _) => Err("must be true or false".to_owned()),
            (Kind::Listen, Value::String(text)) => {
                server::listen_address(text).map(|address| json!(address.to_string()))
            }
            (Kind::Listen, _) => Err(server::NO_ADDRESS.to_owned()),
            (Kind::OwnUrl, Value::String(url)) => notify::own_url(url).map(|url| json!(url)),
            (Kind::OwnUrl, _) => {
                Err("must be an address like `https://crib.example.com`".to_owned())
            }
            (Kind::OwnHosts, _) => list(&value, "hosts", server::own_host),
            (Kind::Origins, _) => list(&value, "origins", server::origin),
            (Kind::Name, Value::String(name)) if is_name(name) => Ok(value),
            (Kind::Name, _) => {
                Err("must be a name of 1 to 64 letters, digits, `.`, `_` and `-`".to_owned())
            }
            (Kind::Line, Value::String(line)) if is_line(line) => Ok(value),
            (Kind::Line, _) => Err("must be a line of 1 to 200 characters of text".to_owned()),
        }
    }

    /// Reads a value from text, as environment variables and flags have it.
    pub(super) fn parse(&self, text: &str) -> Result<Value, String> {
        let value = match self.kind {
            Kind::Integer { .. } => match text.trim().parse::<u64>() {
                Ok(number) => json!(number),
                Err(_) => json!(text),
            },
            Kind::Switch => match text.trim() {
                "true" => json!(true),
                "false" => json!(false),
                other => json!(other),
            },
            kind if kind.is_list() => text
                .split(',')
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .collect(),
            _ => json!(text),
        };
        self.accept(value)
    }

    /// Reads a list of hosts; the error says which one is wrong and what to write.
    fn hosts(&self, value: &Value) -> Result<AllowedHosts, String> {
        let words = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
        let words = words.ok_or_else(|| "must be a list of hosts".to_owned())?;
        match self.kind {
            Kind::HostNames => AllowedHosts::parse_names(words),
            _ => AllowedHosts::parse(words),
        }
    }

    /// The hosts of a project's list that it does not get, because the list in force has nothing of them.
    pub(super) fn in_vain(&self, current: &Value, wanted: &Value) -> impl Iterator<Item = String> {
        let wanted = match self.project {
            ProjectMay::Keep => self.hosts(wanted).unwrap_or_default(),
            _ => AllowedHosts::default(),
        };
        let current = self.hosts(current).unwrap_or_default();
        let wanted: Vec<String> = wanted.entries().collect();
        wanted.into_iter().filter(move |entry| {
            let alone = AllowedHosts::parse([entry.as_str()]).unwrap_or_default();
            alone.narrowed_by(&current).is_empty()
        })
    }

    /// What a project's value makes of the value in force; the error says why it may not.
    pub(super) fn tighten(&self, current: &Value, wanted: Value) -> Result<Value, &'static str> {
        match self.project {
            ProjectMay::NotSet => Err("a project may not set this"),
            ProjectMay::Lower => match (current.as_u64(), wanted.as_u64()) {
                (Some(current), Some(wanted)) => Ok(current.min(wanted).into()),
                _ => Ok(wanted),
            },
            ProjectMay::Tighten => {
                let Kind::Choice(words) = self.kind else {
                    return Ok(wanted);
                };
                let strictness =
                    |value: &Value| words.iter().position(|word| value.as_str() == Some(word));
                // An unset value is as strict as possible, so only the strictest word is sure not to loosen it.
                let current_is = strictness(current).unwrap_or(words.len() - 1);
                Ok(if strictness(&wanted) >= Some(current_is) {
                    wanted
                } else {
                    current.clone()
                })
            }
            ProjectMay::Extend => {
                let mut words = current.as_array().cloned().unwrap_or_default();
                for word in wanted.as_array().into_iter().flatten() {
                    if !words.contains(word) {
                        words.push(word.clone());
                    }
                }
                Ok(Value::Array(words))
            }
            ProjectMay::Keep => {
                let read = |value: &Value| self.hosts(value).unwrap_or_default();
                let both = read(current).narrowed_by(&read(&wanted));
                Ok(both.entries().collect::<Vec<_>>().into())
            }
            ProjectMay::Narrow => {
                let current = current.as_array().map(Vec::as_slice).unwrap_or_default();
                let wanted = wanted.as_array().map(Vec::as_slice).unwrap_or_default();
                let both: Vec<Value> = match (current, wanted) {
                    (all, []) => all.to_vec(),
                    ([], some) => some.to_vec(),
                    (some, others) => some
                        .iter()
                        .filter(|word| others.contains(word))
                        .cloned()
                        .collect(),
                };
                // An empty list means everything, so "nothing" cannot be said.
                if both.is_empty() && !wanted.is_empty() {
                    return Err(
                        "leaves nothing of the list in force; name at least one entry of it",
                    );
                }
                Ok(both.into())
            }
        }
    }
}

/// Reads each word of a list; the error is about the first that is wrong.
fn list(
    value: &Value,
    of: &str,
    read: impl Fn(&str) -> Result<String, String>,
) -> Result<Value, String> {
    let words: Option<Vec<&str>> = match value {
        Value::Array(words) if words.len() > MAX_WORDS => {
            return Err(format!("may have {MAX_WORDS} {of} at most"));
        }
        Value::Array(words) => words.iter().map(Value::as_str).collect(),
        _ => None,
    };
    let words = words.ok_or_else(|| format!("must be a list of {of}"))?;
    let words: Result<Vec<String>, String> = words.into_iter().map(read).collect();
    words.map(Value::from)
}

fn is_name(name: &str) -> bool {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(is_fine)
}

fn is_line(line: &str) -> bool {
    !line.trim().is_empty() && line.len() <= 200 && !line.contains(char::is_control)
}

/// docs/config.md: the reference of every setting.
pub fn reference() -> String {
    let mut page = String::from(include_str!("reference.md"));
    for setting in SETTINGS.iter() {
        let kind = setting.kind_in_words();
        let default = match &setting.default {
            Value::Null => "unset".to_owned(),
            value => format!("`{value}`"),
        };
        let project = setting.project_in_words();
        page.push_str(&format!(
            "| `{}` | {kind} | {default} | `{}` | {project} | {} |\n",
            setting.key,
            setting.variable(),
            setting.effect
        ));
    }
    page.push_str(super::upstreams::REFERENCE);
    page.push_str(super::databases::REFERENCE);
    page.push_str(notify::REFERENCE);
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::limits::Limits;
    use crate::store::StoreOptions;
    use toolcrib_core::limits::DEFAULT_MAX_CONCURRENT;

    #[test]
    fn every_default_is_accepted_by_its_own_setting() {
        for setting in SETTINGS.iter() {
            let default = setting.default.clone();
            assert!(
                default.is_null() || setting.accept(default).is_ok(),
                "{}",
                setting.key
            );
        }
    }

    #[test]
    fn a_real_parser_reads_the_same_table() {
        let parsed: toml::Table = TABLE.parse().unwrap();
        assert_eq!(parsed.len(), SETTINGS.len());
        for row in rows(TABLE) {
            let expected = parsed[row.name].as_table().unwrap();
            assert_eq!(row.values.len(), expected.len(), "{}", row.name);
            for (key, value) in &row.values {
                assert_eq!(expected[*key].as_str(), Some(*value), "{}", row.name);
                let known = ["kind", "default", "project", "effect"].contains(key);
                assert!(known, "unknown key `{key}` in {}", row.name);
            }
        }
    }

    #[test]
    fn the_table_has_the_defaults_of_the_library() {
        let limits = Limits::default();
        for (key, default) in [
            ("limits.timeoutMs", json!(limits.timeout.as_millis() as u64)),
            ("limits.maxInputBytes", json!(limits.max_input_bytes)),
            ("limits.maxOutputBytes", json!(limits.max_output_bytes)),
            ("limits.maxConcurrent", json!(limits.max_concurrent)),
            ("limits.maxConcurrentTotal", json!(DEFAULT_MAX_CONCURRENT)),
            ("limits.maxTools", json!(StoreOptions::default().max_tools)),
            (
                "results.maxTokens",
                json!(toolcrib_core::wire::MAX_RESULT_TOKENS),
            ),
            ("server.addr", json!(server::DEFAULT_ADDR)),
        ] {
            assert_eq!(Setting::find(key).unwrap().default, default, "{key}");
        }
    }

    #[test]
    fn variables_are_spelled_from_keys() {
        assert_eq!(
            Setting::find("limits.maxCallsPerMinute")
                .unwrap()
                .variable(),
            "TOOLCRIB_LIMITS_MAX_CALLS_PER_MINUTE"
        );
        assert_eq!(
            Setting::find("readExtensions").unwrap().variable(),
            "TOOLCRIB_READ_EXTENSIONS"
        );
    }

    #[test]
    fn a_project_can_only_tighten() {
        let tighten = |key: &str, current: Value, wanted: Value| {
            Setting::find(key).unwrap().tighten(&current, wanted)
        };
        assert!(tighten("workspace", Value::Null, json!("/")).is_err());
        assert_eq!(
            tighten("limits.timeoutMs", json!(1000), json!(1001)),
            Ok(json!(1000))
        );
        assert_eq!(
            tighten("limits.timeoutMs", json!(1000), json!(10)),
            Ok(json!(10))
        );
        assert_eq!(
            tighten("limits.maxCallsPerMinute", Value::Null, json!(10)),
            Ok(json!(10))
        );
        assert_eq!(
            tighten("disabledTools", json!(["a"]), json!(["b"])),
            Ok(json!(["a", "b"]))
        );
        assert_eq!(
            tighten("readExtensions", json!([]), json!(["md"])),
            Ok(json!(["md"]))
        );
        assert_eq!(
            tighten("readExtensions", json!(["md"]), json!([])),
            Ok(json!(["md"]))
        );
        assert_eq!(
            tighten("readExtensions", json!(["md"]), json!(["md", "key"])),
            Ok(json!(["md"]))
        );
        assert!(tighten("readExtensions", json!(["md"]), json!(["key"])).is_err());
        for (current, wanted, result) in [
            (json!("process"), json!("container"), json!("container")),
            (json!("process"), json!("none"), json!("process")),
            (Value::Null, json!("process"), Value::Null),
            (Value::Null, json!("container"), json!("container")),
        ] {
            assert_eq!(tighten("sandbox.code", current, wanted), Ok(result));
        }
        assert_eq!(
            tighten("sandbox.network", json!("none"), json!("full")),
            Ok(json!("none"))
        );
    }
}
