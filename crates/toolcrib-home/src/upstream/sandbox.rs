//! The wall around a server that is a program, as the operator describes it: [`UpstreamSandbox`], the table `sandbox` of `[upstreams.NAME]`.
//!
//! [`wall`](super::wall) enforces these settings, or the server does not start.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::settings::{Fields, SettingProblem, fault, unknown};
use crate::egress::AllowedHosts;
use crate::model::text;
use crate::sandbox::Level;

/// The most paths, hosts or variables.
const MAX_ENTRIES: usize = 200;
/// The least memory: below it nothing starts.
const MIN_MEMORY: u64 = 16 << 20;

const KEYS: &[&str] = &["level", "read", "write", "hosts", "memory", "environment"];

/// What a server that is a program may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamSandbox {
    /// How strong the wall is.
    pub level: Level,
    /// What it may read besides programs and libraries, absolute or below `~/`; what its arguments name if not said.
    pub read: Option<Vec<String>>,
    /// What it may write besides its own directory.
    pub write: Vec<String>,
    /// What it may reach, as `allowedHosts` writes it.
    pub hosts: Vec<String>,
    /// Bytes of memory of all its processes; `sandbox.memoryMb` if not said.
    pub memory: Option<u64>,
    /// Variables of Toolcrib's own environment that it gets.
    pub environment: Vec<String>,
}

impl UpstreamSandbox {
    /// A wall of this level with nothing but the server's own directory behind it, and what its arguments name.
    pub fn of(level: Level) -> Self {
        UpstreamSandbox {
            level,
            read: None,
            write: Vec::new(),
            hosts: Vec::new(),
            memory: None,
            environment: Vec::new(),
        }
    }

    pub(super) fn read(value: &Value) -> Result<Self, SettingProblem> {
        let Some(table) = value.as_object() else {
            return Err(fault("", "must be a table"));
        };
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(unknown(key, KEYS));
        }
        let fields = Fields(table);
        let level = match fields.text("level")? {
            None => Level::Process,
            Some(word) => word
                .parse()
                .map_err(|_| fault("level", "must be `none`, `process` or `container`"))?,
        };
        if level == Level::None {
            let bound = KEYS[1..].iter().filter(|key| **key != "environment");
            if let Some(key) = bound.into_iter().find(|key| table.contains_key(**key)) {
                let why = "needs a wall: it is for the levels `process` and `container`";
                return Err(fault(*key, why));
            }
        }
        let read = table.contains_key("read").then(|| paths(&fields, "read"));
        let hosts = words(&fields, "hosts")?;
        AllowedHosts::parse(hosts.iter().map(String::as_str)).map_err(|why| fault("hosts", why))?;
        let memory = match fields.text("memory")? {
            None => None,
            Some(size) => {
                let size =
                    text::read_size(&size).filter(|size| (MIN_MEMORY..1 << 50).contains(size));
                let why = "must be a size of 16 MB or more, such as `512MB`";
                Some(size.ok_or_else(|| fault("memory", why))?)
            }
        };
        let environment = words(&fields, "environment")?;
        let is_odd = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        if let Some(name) = environment.iter().find(is_odd) {
            let why = format!(
                "`{}` cannot be the name of a variable",
                text::shorten(name, 80)
            );
            return Err(fault("environment", why));
        }
        Ok(UpstreamSandbox {
            level,
            read: read.transpose()?,
            write: paths(&fields, "write")?,
            hosts,
            memory,
            environment,
        })
    }

    pub(super) fn written(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("level".to_owned(), self.level.name().into());
        if let Some(read) = &self.read {
            fields.insert("read".to_owned(), json!(read));
        }
        for (key, list) in [
            ("write", &self.write),
            ("hosts", &self.hosts),
            ("environment", &self.environment),
        ] {
            if !list.is_empty() {
                fields.insert(key.to_owned(), json!(list));
            }
        }
        if let Some(memory) = self.memory {
            fields.insert("memory".to_owned(), memory.to_string().into());
        }
        Value::Object(fields)
    }
}

/// The existing paths that the arguments of a program name: `/path`, `~/path` and `--option=/path`. The root is left out.
pub(super) fn named_in(args: &[String]) -> Vec<PathBuf> {
    let mut named: Vec<PathBuf> = Vec::new();
    for arg in args {
        let after = arg.strip_prefix('-').and_then(|_| arg.split_once('='));
        let text = after.map_or(arg.as_str(), |(_, value)| value);
        let path = place(text);
        if path.is_absolute() && path.parent().is_some() && path.exists() && !named.contains(&path)
        {
            named.push(path);
        }
    }
    named
}

/// A path as the settings write it: `~/` is the user's home directory.
pub(super) fn place(text: &str) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    }
}

fn paths(fields: &Fields<'_>, key: &str) -> Result<Vec<String>, SettingProblem> {
    let paths = words(fields, key)?;
    let is_odd = |path: &&String| {
        let is_whole = Path::new(path).is_absolute() || path.starts_with("~/");
        !is_whole || Path::new(path).parent().is_none()
    };
    match paths.iter().find(is_odd) {
        None => Ok(paths),
        Some(path) => {
            let path = text::shorten(path, 80);
            let why = match path.as_str() {
                "/" => "`/` is everything; name the directories that are meant".to_owned(),
                path => format!("`{path}` must be an absolute path, or begin with `~/`"),
            };
            Err(fault(key, why))
        }
    }
}

fn words(fields: &Fields<'_>, key: &str) -> Result<Vec<String>, SettingProblem> {
    let Some(value) = fields.0.get(key) else {
        return Ok(Vec::new());
    };
    let all = value.as_array().filter(|all| all.len() <= MAX_ENTRIES);
    let fits = |text: &&str| !text.is_empty() && text.len() <= 4096 && !text.contains('\0');
    let all = all.and_then(|all| {
        let text = |value: &Value| value.as_str().filter(fits).map(str::to_owned);
        all.iter().map(text).collect::<Option<Vec<String>>>()
    });
    all.ok_or_else(|| fault(key, "must be a list of texts, 200 at most"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_the_same() {
        for value in [
            json!({"level": "process"}),
            json!({"level": "container", "read": [], "write": ["~/notes"], "hosts": ["api.example.com", "127.0.0.1:8080"],
                "memory": "536870912", "environment": ["GH_TOKEN"]}),
            json!({"level": "none", "environment": ["A"]}),
        ] {
            assert_eq!(UpstreamSandbox::read(&value).unwrap().written(), value);
        }
        let short = UpstreamSandbox::read(&json!({"memory": "512MB"})).unwrap();
        assert_eq!(
            (short.level, short.memory),
            (Level::Process, Some(512 << 20))
        );
    }

    #[test]
    fn what_could_not_be_enforced_is_refused() {
        for (value, expected) in [
            (
                json!({"level": "none", "hosts": ["a.test"]}),
                "`hosts`: needs a wall",
            ),
            (json!({"level": "none", "read": []}), "`read`: needs a wall"),
            (json!({"level": "strong"}), "`level`: must be"),
            (json!({"hosts": ["*"]}), "names every host"),
            (json!({"write": ["/"]}), "`/` is everything"),
            (json!({"write": ["notes"]}), "must be an absolute path"),
            (json!({"memory": "1MB"}), "`memory`: must be a size"),
            (
                json!({"environment": ["A=B"]}),
                "cannot be the name of a variable",
            ),
            (json!({"wirte": []}), "did you mean `write`?"),
        ] {
            let error = UpstreamSandbox::read(&value).unwrap_err().to_string();
            assert!(error.contains(expected), "{value}: {error}");
        }
    }

    #[test]
    fn paths_that_arguments_name_are_found_if_they_exist() {
        let dir = tempfile::tempdir().unwrap();
        let there = dir.path().to_str().unwrap().to_owned();
        let args = [
            "-y".to_owned(),
            "a/b".to_owned(),
            "/".to_owned(),
            format!("{there}/absent"),
            format!("--root={there}"),
            there.clone(),
        ];
        assert_eq!(named_in(&args), [PathBuf::from(there)]);
    }
}
