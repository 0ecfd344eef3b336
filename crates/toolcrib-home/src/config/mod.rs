//! Settings: where they come from, which one wins, and what they say.

mod chat;
mod databases;
mod edit;
mod hooks;
mod locations;
mod mcp;
mod notify;
mod rules;
mod server;
mod settings;
mod upstreams;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use serde::Serialize;
use serde_json::Value;

pub use chat::ChatSettings;
use databases::DATABASES;
pub use edit::{Changed, SettingChange, change_home, change_text, check_text, replace_home};
pub use hooks::HookSettings;
pub use locations::{NoHome, NoWorkspace, Surroundings};
pub use mcp::McpSettings;
use notify::NOTIFY;
pub use rules::load_rules;
pub use server::{AccessLog, Certificate, ServerSettings, TelemetrySettings};
use upstreams::UPSTREAMS;
pub use upstreams::{
    Replace, read_upstreams, remove_upstream, set_upstream_approval, write_upstream,
};

pub use settings::{Kind, ProjectMay, SETTINGS, Setting, reference};

use crate::approval::QueueOptions;
use crate::builtin::{
    DatabaseSettings, EmbeddingKind, EmbeddingSettings, GitSettings, SearchProvider, SearchSettings,
};
use crate::egress::{AllowedHosts, EgressOptions};
use crate::model::error::ErrorCode;
use crate::model::limits::{LimitsPatch, MB};
use crate::model::text;
use crate::notify::NotifySettings;
use crate::process::NetworkAccess;
use crate::results::ResultSettings;
use crate::rules::RulesError;
use crate::sandbox::{AbsentNames, Level};
use crate::upstream::UpstreamTable;
use crate::wire::MAX_RESULT_TOKENS;
use crate::workspace::Workspace;

/// A project's own settings, in its workspace.
const PROJECT_FILE: &str = ".toolcrib/config.toml";

/// The largest configuration file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Where a value comes from; what is later wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// No one set it.
    Default,
    /// `config.toml` in the home.
    Home,
    /// `.toolcrib/config.toml` in the workspace.
    Project,
    /// An environment variable.
    Environment,
    /// A flag.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Default => "default",
            Origin::Home => "home",
            Origin::Project => "project",
            Origin::Environment => "environment",
            Origin::Flag => "flag",
        })
    }
}

/// The settings in force, each with its origin, and what a project asked for in vain.
#[derive(Debug, Clone, PartialEq)]
pub struct Config(
    BTreeMap<&'static str, (Value, Origin)>,
    Vec<String>,
    UpstreamTable,
    DatabaseSettings,
    /// The home's file, for messages.
    String,
    NotifySettings,
);

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {file}: {source}")]
    Unreadable {
        /// Which file, in words.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{file} is not TOML: {problem}")]
    Syntax {
        /// Which file, in words.
        file: String,
        /// Where and why.
        problem: String,
    },
    /// A key or value is wrong.
    #[error("{place}: {problem}")]
    Value {
        /// The file and key, or the variable.
        place: String,
        /// The problem and what to write.
        problem: String,
    },
    /// The rules are wrong. Nothing runs without the rules that someone wrote.
    #[error(transparent)]
    Rules(#[from] RulesError),
}

impl Config {
    /// The defaults.
    pub fn defaults() -> Self {
        Config(
            SETTINGS
                .iter()
                .map(|setting| (setting.key, (setting.default.clone(), Origin::Default)))
                .collect(),
            Vec::new(),
            UpstreamTable::new(),
            DatabaseSettings::default(),
            "config.toml".to_owned(),
            NotifySettings::default(),
        )
    }

    /// Puts the home's file and the environment over the defaults.
    pub fn load(home: &Path, surroundings: &Surroundings) -> Result<Self, ConfigError> {
        let mut config = Config::defaults();
        let file = home.join("config.toml");
        let shown = file.display().to_string();
        config.4.clone_from(&shown);
        match open_regular(&file).and_then(read_capped) {
            Ok(text) => config.read_text(&text, &shown, Origin::Home)?,
            // Where the home is a file, there is no configuration; the first write reports that.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(source) => {
                return Err(ConfigError::Unreadable {
                    file: shown,
                    source,
                });
            }
        }
        for setting in SETTINGS.iter() {
            let variable = setting.variable();
            if let Some(text) = surroundings.variable(&variable) {
                let text = text.ok_or_else(|| "is not text".to_owned());
                let value = text
                    .and_then(|text| setting.parse(text))
                    .map_err(|problem| ConfigError::Value {
                        place: variable,
                        problem,
                    })?;
                config.set(setting, value, Origin::Environment);
            }
        }
        Ok(config)
    }

    /// Puts a workspace's own file over this: it may only tighten, and what the user set by
    /// environment or flag stays.
    pub fn tighten_by_project(&mut self, workspace: &Workspace) -> Result<(), ConfigError> {
        // Opened like any path of the workspace: a link to a file outside must not show up, line by
        // line, in an error.
        let opened = workspace
            .path(PROJECT_FILE)
            .and_then(|path| workspace.open_project_file(&path));
        let file = PROJECT_FILE.to_owned();
        let text = match opened {
            Ok((opened, _)) => read_capped(opened),
            Err(error) if error.code() == ErrorCode::FileNotFound => return Ok(()),
            Err(error) => Err(std::io::Error::other(error)),
        };
        let text = text.map_err(|source| ConfigError::Unreadable {
            file: file.clone(),
            source,
        })?;
        self.read_text(&text, &file, Origin::Project)
    }

    /// Sets a value by a flag.
    pub fn set_flag(&mut self, key: &str, text: &str) -> Result<(), ConfigError> {
        let setting = known(key, "flag")?;
        let problem = |problem| ConfigError::Value {
            place: key.to_owned(),
            problem,
        };
        let value = setting.parse(text).map_err(problem)?;
        self.set(setting, value, Origin::Flag);
        Ok(())
    }

    fn set(&mut self, setting: &'static Setting, value: Value, origin: Origin) {
        self.0.insert(setting.key, (value, origin));
    }

    fn read_text(&mut self, text: &str, file: &str, origin: Origin) -> Result<(), ConfigError> {
        let table: toml::Table =
            text.parse()
                .map_err(|error: toml::de::Error| ConfigError::Syntax {
                    file: file.to_owned(),
                    problem: error.to_string().trim_end().to_owned(),
                })?;
        self.read_table(&table, "", file, origin)
    }

    fn read_table(
        &mut self,
        table: &toml::Table,
        prefix: &str,
        file: &str,
        origin: Origin,
    ) -> Result<(), ConfigError> {
        for (name, value) in table {
            // Rules are not settings: see `load_rules`.
            if prefix.is_empty() && name == "rules" {
                continue;
            }
            if prefix.is_empty() && name == UPSTREAMS {
                self.2 = upstreams::read(value, file, origin)?;
                continue;
            }
            if prefix.is_empty() && name == DATABASES {
                self.3 = databases::read(value, file, origin)?;
                continue;
            }
            if prefix.is_empty() && name == NOTIFY {
                self.5 = notify::read(value, file, origin)?;
                continue;
            }
            let key = format!("{prefix}{name}");
            if let (toml::Value::Table(inner), true) = (value, is_table(&key)) {
                self.read_table(inner, &format!("{key}."), file, origin)?;
                continue;
            }
            let setting = known(&key, file)?;
            let problem = |problem: String| ConfigError::Value {
                place: format!("{file}: `{key}`"),
                problem,
            };
            let json = serde_json::to_value(value).map_err(|error| problem(error.to_string()))?;
            let value = setting.accept(json).map_err(problem)?;
            let (current, set_by) = &self.0[setting.key];
            let value = match origin {
                Origin::Project if *set_by > Origin::Project => continue,
                Origin::Project => {
                    let own = &self.4;
                    self.1.extend(setting.in_vain(current, &value).map(|host| {
                        format!(
                            "{file}: `{key}` names `{host}`, which your own {own} does not: a project cannot add hosts, only leave some out"
                        )
                    }));
                    setting
                        .tighten(current, value)
                        .map_err(|why| problem(why.to_owned()))?
                }
                _ => value,
            };
            if origin == Origin::Project && value == *current {
                continue;
            }
            self.set(setting, value, origin);
        }
        Ok(())
    }

    /// What a project's file asks for and does not get, in words.
    pub fn warnings(&self) -> &[String] {
        &self.1
    }

    /// Every setting in force: key, value, origin.
    pub fn entries(&self) -> impl Iterator<Item = (&'static Setting, &Value, Origin)> {
        SETTINGS.iter().map(|setting| {
            let (value, origin) = &self.0[setting.key];
            (setting, value, *origin)
        })
    }

    fn value(&self, key: &str) -> &Value {
        &self.0[key].0
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.value(key).as_u64()
    }

    fn words(&self, key: &str) -> Vec<String> {
        let words = self.value(key).as_array().into_iter().flatten();
        words.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// The workspace, when it is configured.
    pub fn workspace(&self) -> Option<PathBuf> {
        self.value("workspace").as_str().map(PathBuf::from)
    }

    /// `readExtensions`.
    pub fn read_extensions(&self) -> Vec<String> {
        self.words("readExtensions")
    }

    /// `readable`.
    pub fn readable(&self) -> Vec<String> {
        self.words("readable")
    }

    /// How the way out is set up: `allowedHosts` and `network.*`. The file of certificates is read here.
    pub fn egress(&self) -> Result<EgressOptions, ConfigError> {
        let hosts = |key: &str| self.words(key);
        let problem = |key: &str, problem: String| ConfigError::Value {
            place: format!("`{key}`"),
            problem,
        };
        let (allowed, private) = (hosts("allowedHosts"), hosts("network.privateHosts"));
        let certificates = match self.value("network.certificates").as_str() {
            Some(file) if !Path::new(file).is_absolute() => {
                let why = "must be an absolute path".to_owned();
                return Err(problem("network.certificates", why));
            }
            Some(file) => open_regular(Path::new(file))
                .and_then(read_capped)
                .map_err(|source| ConfigError::Unreadable {
                    file: format!("{file} (`network.certificates`)"),
                    source,
                })?
                .into_bytes(),
            None => Vec::new(),
        };
        let proxy = match self.value("network.proxy").as_str() {
            Some(url) => {
                Some(EgressOptions::parse_proxy(url).map_err(|why| problem("network.proxy", why))?)
            }
            None => None,
        };
        Ok(EgressOptions {
            allowed_hosts: AllowedHosts::parse(allowed.iter().map(String::as_str))
                .map_err(|why| problem("allowedHosts", why))?,
            private_hosts: AllowedHosts::parse_names(private.iter().map(String::as_str))
                .map_err(|why| problem("network.privateHosts", why))?,
            proxy,
            certificates,
            ..EgressOptions::default()
        })
    }

    /// `search.*`; `None` without a provider.
    pub fn search(&self) -> Option<SearchSettings> {
        let text = |key: &str| self.value(key).as_str().map(str::to_owned);
        Some(SearchSettings {
            provider: SearchProvider::from_word(self.value("search.provider").as_str()?)?,
            url: text("search.url"),
            secret: text("search.secret"),
        })
    }

    /// `search.embeddings.*`; `None` without an address.
    pub fn embeddings(&self) -> Option<EmbeddingSettings> {
        let text = |key: &str| self.value(key).as_str().map(str::to_owned);
        let kind = self.value("search.embeddings.kind").as_str()?.to_owned();
        Some(EmbeddingSettings {
            kind: EmbeddingKind::from_word(&kind)?,
            url: text("search.embeddings.url")?,
            model: text("search.embeddings.model"),
            key: text("search.embeddings.key"),
        })
    }

    /// The address of a registry of MCP servers (`mcp.registry`).
    pub fn mcp_registry(&self) -> Option<String> {
        self.value("mcp.registry").as_str().map(str::to_owned)
    }

    /// `git.*`.
    pub fn git(&self) -> GitSettings {
        let text = |key: &str| self.value(key).as_str().map(str::to_owned);
        GitSettings {
            name: text("git.name"),
            email: text("git.email"),
            secret: text("git.secret"),
        }
    }

    /// `[databases.NAME]`.
    pub fn databases(&self) -> DatabaseSettings {
        self.3.clone()
    }

    /// `sandbox.shell`.
    pub fn shell_isolation(&self) -> Option<Level> {
        self.level("sandbox.shell")
    }

    /// `sandbox.code`.
    pub fn code_isolation(&self) -> Option<Level> {
        self.level("sandbox.code")
    }

    fn level(&self, key: &str) -> Option<Level> {
        self.value(key).as_str().and_then(|word| word.parse().ok())
    }

    /// `sandbox.network`.
    pub fn sandbox_network(&self) -> NetworkAccess {
        match self.value("sandbox.network").as_str() {
            Some("full") => NetworkAccess::Full,
            Some("listed") => NetworkAccess::Listed,
            _ => NetworkAccess::None,
        }
    }

    /// `sandbox.absentNames`.
    pub fn absent_names(&self) -> AbsentNames {
        match self.value("sandbox.absentNames").as_str() {
            Some("refuse") => AbsentNames::Refuse,
            _ => AbsentNames::Hold,
        }
    }

    /// `limits.cpuSeconds`.
    pub fn cpu_time(&self) -> Option<Duration> {
        self.number("limits.cpuSeconds").map(Duration::from_secs)
    }

    /// `sandbox.memoryMb`, in bytes.
    pub fn sandbox_memory(&self) -> Option<u64> {
        self.number("sandbox.memoryMb").map(|mb| mb * MB)
    }

    /// `sandbox.maxProcesses`.
    pub fn sandbox_processes(&self) -> Option<u32> {
        self.number("sandbox.maxProcesses")
            .and_then(|number| u32::try_from(number).ok())
    }

    /// `sandbox.sudo`.
    pub fn sudo(&self) -> Option<PathBuf> {
        self.value("sandbox.sudo").as_str().map(PathBuf::from)
    }

    /// `tools.globalDirectory`.
    pub fn global_directory(&self) -> PathBuf {
        let path = self.value("tools.globalDirectory").as_str();
        path.unwrap_or("/etc").into()
    }

    /// `disabledTools`.
    pub fn disabled_tools(&self) -> Vec<String> {
        self.words("disabledTools")
    }

    /// `disabledRules`.
    pub fn disabled_rules(&self) -> Vec<String> {
        self.words("disabledRules")
    }

    /// The limits of calls that someone set; a default does not limit a tool that sets its own.
    pub fn limits(&self) -> LimitsPatch {
        let set = |key: &str| {
            self.number(key)
                .filter(|_| self.0[key].1 != Origin::Default)
        };
        let small = |key| set(key).and_then(|number| u32::try_from(number).ok());
        LimitsPatch {
            timeout_ms: set("limits.timeoutMs"),
            max_input_bytes: set("limits.maxInputBytes"),
            max_output_bytes: set("limits.maxOutputBytes"),
            max_calls_per_minute: small("limits.maxCallsPerMinute"),
            max_concurrent: small("limits.maxConcurrent"),
        }
    }

    /// `limits.maxConcurrentTotal`.
    pub fn max_concurrent_total(&self) -> usize {
        self.size("limits.maxConcurrentTotal")
    }

    /// `limits.listEntries`.
    pub fn list_entries(&self) -> usize {
        self.size("limits.listEntries")
    }

    /// `limits.maxTools`.
    pub fn max_tools(&self) -> usize {
        self.size("limits.maxTools")
    }

    fn size(&self, key: &str) -> usize {
        self.number(key)
            .and_then(|number| usize::try_from(number).ok())
            .unwrap_or(usize::MAX)
    }

    /// How approvals wait: the settings `approvals.*`.
    pub fn approvals(&self) -> QueueOptions {
        let defaults = QueueOptions::default();
        let millis = |key| self.number(key).map(Duration::from_millis);
        QueueOptions {
            expires: millis("approvals.expiresMs").unwrap_or(defaults.expires),
            remember_denial: millis("approvals.rememberDenialMs")
                .unwrap_or(defaults.remember_denial),
            max_pending: self.size("approvals.maxPending"),
            keep: self
                .number("approvals.keepHours")
                .map_or(defaults.keep, |hours| Duration::from_secs(hours * 3600)),
            clock: defaults.clock,
        }
    }

    /// `approvals.respondAfterMs`.
    pub fn respond_after(&self) -> Duration {
        Duration::from_millis(self.number("approvals.respondAfterMs").unwrap_or(45_000))
    }

    /// `calls.keepOutcomesHours`.
    pub fn keep_outcomes(&self) -> Duration {
        Duration::from_secs(self.number("calls.keepOutcomesHours").unwrap_or(24) * 3600)
    }

    /// How long results are for a model, and how their whole is kept: the settings `results.*`.
    pub fn results(&self) -> ResultSettings {
        ResultSettings {
            max_tokens: self
                .number("results.maxTokens")
                .unwrap_or(MAX_RESULT_TOKENS),
            keep_hours: self.number("results.keepHours").unwrap_or(24),
            max_bytes: self.number("results.maxBytes").unwrap_or(u64::MAX),
        }
    }

    /// `calls.maxLogBytes`.
    pub fn max_log_bytes(&self) -> u64 {
        self.number("calls.maxLogBytes").unwrap_or(u64::MAX)
    }
}

fn is_table(key: &str) -> bool {
    SETTINGS.iter().any(|setting| {
        setting
            .key
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

fn known(key: &str, place: &str) -> Result<&'static Setting, ConfigError> {
    if let Some(setting) = Setting::find(key) {
        return Ok(setting);
    }
    let keys = SETTINGS
        .iter()
        .map(|setting| setting.key)
        .chain(["rules", UPSTREAMS, DATABASES, NOTIFY]);
    let hint = match text::nearest(key, keys).as_slice() {
        [] => "docs/config.md lists the keys, as does `toolcrib config reference`".to_owned(),
        near => format!("did you mean {}?", text::or_list(near)),
    };
    let problem = format!("unknown key `{}`; {hint}", text::shorten(key, 80));
    Err(ConfigError::Value {
        place: place.to_owned(),
        problem,
    })
}

/// Opens a file without waiting: a FIFO in its place must not hang every command.
fn open_regular(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

fn read_capped(file: File) -> std::io::Result<String> {
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(std::io::Error::other("the file is over 1 MB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(home: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), home).unwrap();
        Config::load(
            dir.path(),
            &Surroundings::new(dir.path(), variables.iter().copied()),
        )
    }

    #[test]
    fn the_environment_wins_over_the_file_and_the_file_over_the_default() {
        let config = load(
            "[limits]\ntimeoutMs = 5000\nlistEntries = 7\n",
            &[("TOOLCRIB_LIMITS_TIMEOUT_MS", "9000")],
        )
        .unwrap();
        assert_eq!(config.limits().timeout_ms, Some(9000));
        assert_eq!(config.list_entries(), 7);
        let origins: BTreeMap<_, _> = config
            .entries()
            .map(|(setting, _, origin)| (setting.key, origin))
            .collect();
        assert_eq!(origins["limits.timeoutMs"], Origin::Environment);
        assert_eq!(origins["limits.listEntries"], Origin::Home);
        assert_eq!(origins["workspace"], Origin::Default);
    }

    #[test]
    fn what_is_wrong_is_named_with_a_fix() {
        for (toml, expected) in [
            ("limits = 3", "unknown key `limits`"),
            (
                "[limits]\ntimeoutMS = 1",
                "did you mean `limits.timeoutMs`?",
            ),
            (
                "[limits]\ntimeoutMs = 'long'",
                "must be a whole number from 1",
            ),
            ("[limits]\ntimeoutMs = 0", "must be a whole number from 1"),
            ("disabledTools = 'a'", "must be a list of words"),
            ("[limits\n", "is not TOML"),
        ] {
            let error = load(toml, &[]).unwrap_err().to_string();
            assert!(error.contains(expected), "{toml}: {error}");
        }
        let error = load("", &[("TOOLCRIB_LIMITS_TIMEOUT_MS", "soon")])
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("TOOLCRIB_LIMITS_TIMEOUT_MS: must be"),
            "{error}"
        );
    }

    #[test]
    fn a_project_tightens_and_never_loosens() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".toolcrib")).unwrap();
        let project = |toml: &str| {
            std::fs::write(dir.path().join(".toolcrib/config.toml"), toml).unwrap();
            let mut config = Config::defaults();
            config
                .tighten_by_project(&Workspace::open(dir.path()).unwrap())
                .map(|()| config)
        };
        assert_eq!(
            project("[limits]\ntimeoutMs = 100")
                .unwrap()
                .limits()
                .timeout_ms,
            Some(100)
        );
        // Wider than what is in force: that stays, and nothing else stops working.
        let wider = project("[limits]\ntimeoutMs = 100000").unwrap();
        assert_eq!(
            wider.0["limits.timeoutMs"],
            (60_000.into(), Origin::Default)
        );
        assert!(project("workspace = '/'").is_err());
    }

    #[test]
    fn a_project_that_would_add_hosts_is_informed_that_it_cannot() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".toolcrib")).unwrap();
        let list = "allowedHosts = ['a.example.com', '*.b.example.com']";
        std::fs::write(dir.path().join("config.toml"), list).unwrap();
        let list = "allowedHosts = ['x.b.example.com', 'c.example.com']";
        std::fs::write(dir.path().join(PROJECT_FILE), list).unwrap();
        let mut config = Config::load(dir.path(), &Surroundings::new(dir.path(), [])).unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        config.tighten_by_project(&workspace).unwrap();
        let [warning] = config.warnings() else {
            panic!("{:?}", config.warnings());
        };
        assert!(warning.contains("names `c.example.com`"), "{warning}");
        assert!(warning.contains("cannot add hosts"), "{warning}");
    }

    #[test]
    fn what_the_user_set_by_hand_is_not_the_projects_to_change() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".toolcrib")).unwrap();
        std::fs::write(dir.path().join(PROJECT_FILE), "[limits]\ntimeoutMs = 100").unwrap();
        let hand = [("TOOLCRIB_LIMITS_TIMEOUT_MS", "90000")];
        let mut config = Config::load(dir.path(), &Surroundings::new(dir.path(), hand)).unwrap();
        config
            .tighten_by_project(&Workspace::open(dir.path()).unwrap())
            .unwrap();
        assert_eq!(config.limits().timeout_ms, Some(90_000));
    }

    #[test]
    fn a_projects_file_is_read_only_from_inside_and_never_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let secret = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(secret.path(), "SENTINEL = [").unwrap();
        std::fs::create_dir(dir.path().join(".toolcrib")).unwrap();
        let project = dir.path().join(PROJECT_FILE);
        std::os::unix::fs::symlink(secret.path(), &project).unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let error = Config::defaults()
            .tighten_by_project(&workspace)
            .unwrap_err()
            .to_string();
        assert!(!error.contains("SENTINEL"), "{error}");
        std::fs::remove_file(&project).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &project, fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(Config::defaults().tighten_by_project(&workspace).is_err());
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("config.toml");
        rustix::fs::mknodat(rustix::fs::CWD, &file, fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let error = Config::load(home.path(), &Surroundings::new(dir.path(), [])).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }
}
