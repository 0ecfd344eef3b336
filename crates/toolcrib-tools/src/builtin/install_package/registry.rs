//! Where packages come from: the registry that the operator's own settings name, or the public one.
//!
//! Package managers keep the name of a registry and the token for it in the same files (`~/.npmrc`, `~/.cargo`), which no program in
//! the sandbox reads. So they are read here, for registries and certificates alone, and written again without anything secret; the
//! hosts that are named are the hosts that a command can reach. A registry that wants a token cannot be used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use url::Url;

use super::manager::Manager;
use super::settings::{ini, pairs, read};

/// The settings of the user who runs Toolcrib.
#[derive(Debug, Clone, Default)]
pub(super) struct Operator {
    pub(super) home: Option<PathBuf>,
    pub(super) variables: BTreeMap<String, String>,
}

/// A registry as a command finds it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Registry {
    /// What can be reached, as the setting `allowedHosts` writes it.
    pub(super) hosts: Vec<String>,
    /// Variables of the command.
    pub(super) variables: Vec<(String, String)>,
    /// Files of the call's directory, by name.
    pub(super) files: Vec<(String, String)>,
    /// Certificates and directories of packages on this machine that it may read.
    pub(super) readable: Vec<PathBuf>,
    /// Why an address of the settings is not used as it is.
    pub(super) notes: Vec<String>,
}

impl Operator {
    /// The settings of this process.
    pub(super) fn of_this_process() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Operator {
            home: std::env::var_os("HOME")
                .map(PathBuf::from)
                .filter(|home| home.is_absolute()),
            variables,
        }
    }

    /// The registry of a manager. Blocks.
    pub(super) fn registry(&self, manager: Manager) -> Registry {
        match manager {
            Manager::Cargo => self.cargo(),
            Manager::Pip => self.pip(),
            Manager::Npm => self.npm(),
            Manager::Go => self.go(),
        }
    }

    fn npm(&self) -> Registry {
        let mut registry = Registry::default();
        let file = self
            .variable("NPM_CONFIG_USERCONFIG")
            .map(PathBuf::from)
            .or_else(|| Some(self.home.as_ref()?.join(".npmrc")));
        let text = file.and_then(|file| read(&file)).unwrap_or_default();
        let mut lines = String::new();
        let mut has_registry = false;
        for (name, value) in pairs(&text) {
            let value = self.expanded(&value);
            if name == "registry" || (name.starts_with('@') && name.ends_with(":registry")) {
                if let Some(url) = registry.address(&value) {
                    has_registry |= name == "registry";
                    lines.push_str(&format!("{name}={url}\n"));
                }
            } else if name == "cafile" && registry.may_read(&value) {
                lines.push_str(&format!("cafile={value}\n"));
            }
        }
        // Stronger than what a project says, like for npm itself.
        if let Some(url) = self
            .variable("NPM_CONFIG_REGISTRY")
            .and_then(|url| registry.address(url))
        {
            registry
                .variables
                .push(("npm_config_registry".to_owned(), url));
            has_registry = true;
        }
        if !has_registry {
            registry.hosts.push("registry.npmjs.org".to_owned());
        }
        registry.files.push(("npmrc".to_owned(), lines));
        registry
    }

    fn pip(&self) -> Registry {
        let mut registry = Registry::default();
        let mut settings = BTreeMap::new();
        for file in self.pip_files() {
            let text = read(&file).unwrap_or_default();
            settings.extend(ini(&text, &["global", "install"]));
        }
        for name in ["index-url", "extra-index-url", "cert"] {
            let variable = format!("PIP_{}", name.replace('-', "_").to_uppercase());
            if let Some(value) = self.variable(&variable) {
                settings.insert(name.to_owned(), value.to_owned());
            }
        }
        let mut addresses = |name: &str| -> Vec<String> {
            let said = settings.get(name).map(String::as_str).unwrap_or_default();
            said.split_whitespace()
                .filter_map(|url| registry.address(url))
                .collect()
        };
        let (index, more) = (addresses("index-url"), addresses("extra-index-url"));
        if index.is_empty() {
            registry.hosts.push("pypi.org".to_owned());
        } else {
            registry
                .variables
                .push(("PIP_INDEX_URL".to_owned(), index.join(" ")));
        }
        if !more.is_empty() {
            registry
                .variables
                .push(("PIP_EXTRA_INDEX_URL".to_owned(), more.join(" ")));
        }
        if registry.hosts.iter().any(|host| host == "pypi.org") {
            registry.hosts.push("files.pythonhosted.org".to_owned());
        }
        if let Some(cert) = settings.get("cert").filter(|cert| registry.may_read(cert)) {
            registry
                .variables
                .push(("PIP_CERT".to_owned(), cert.clone()));
        }
        registry
    }

    /// The files of pip, weakest first.
    fn pip_files(&self) -> Vec<PathBuf> {
        if let Some(file) = self.variable("PIP_CONFIG_FILE") {
            return vec![PathBuf::from(file)];
        }
        let mut files = vec![PathBuf::from("/etc/pip.conf")];
        if let Some(home) = &self.home {
            let config = self.variable("XDG_CONFIG_HOME").map(PathBuf::from);
            files.push(home.join(".pip/pip.conf"));
            files.push(
                config
                    .unwrap_or_else(|| home.join(".config"))
                    .join("pip/pip.conf"),
            );
        }
        files
    }

    fn cargo(&self) -> Registry {
        let mut registry = Registry::default();
        let home = self
            .variable("CARGO_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(self.home.as_ref()?.join(".cargo")));
        let text = home.and_then(|home| {
            read(&home.join("config.toml")).or_else(|| read(&home.join("config")))
        });
        let settings: toml::Table = text.and_then(|text| text.parse().ok()).unwrap_or_default();
        let mut kept = toml::Table::new();
        for (section, keys) in [
            ("source", SOURCE_KEYS),
            ("registries", &["index", "protocol"]),
        ] {
            let Some(toml::Value::Table(entries)) = settings.get(section) else {
                continue;
            };
            let mut section_kept = toml::Table::new();
            for (name, entry) in entries {
                let Some(entry) = entry.as_table() else {
                    continue;
                };
                let mut entry_kept = toml::Table::new();
                for key in keys {
                    if let Some(value) = entry.get(*key).and_then(toml::Value::as_str)
                        && let Some(value) = registry.of_cargo(key, value)
                    {
                        entry_kept.insert((*key).to_owned(), value.into());
                    }
                }
                section_kept.insert(name.clone(), entry_kept.into());
            }
            kept.insert(section.to_owned(), section_kept.into());
        }
        let said = |section: &str, key: &str| settings.get(section)?.get(key)?.as_str();
        let mut keep = |section: &str, key: &str, value: &str| {
            kept.insert(
                section.to_owned(),
                toml::Table::from_iter([(key.to_owned(), value.into())]).into(),
            );
        };
        if let Some(name) = said("registry", "default") {
            keep("registry", "default", name);
        }
        if let Some(file) = said("http", "cainfo").filter(|file| registry.may_read(file)) {
            keep("http", "cainfo", file);
        }
        let is_replaced = settings
            .get("source")
            .and_then(|sources| sources.get("crates-io")?.get("replace-with"))
            .is_some();
        if !is_replaced {
            registry.hosts.push("index.crates.io".to_owned());
            registry.hosts.push("static.crates.io".to_owned());
        }
        registry
            .files
            .push(("cargo/config.toml".to_owned(), kept.to_string()));
        registry
    }

    fn go(&self) -> Registry {
        let mut registry = Registry::default();
        let config = self.home.as_ref().map(|home| home.join(".config/go/env"));
        let text = config.and_then(|file| read(&file)).unwrap_or_default();
        let settings: BTreeMap<String, String> = pairs(&text).collect();
        let said = |name: &str| {
            let own = settings.get(name).map(String::as_str);
            self.variable(name).or(own).unwrap_or_default()
        };
        let mut proxies: Vec<String> = said("GOPROXY")
            .split([',', '|'])
            // `direct` is every host there is.
            .filter(|proxy| !matches!(*proxy, "direct" | "off" | ""))
            .filter_map(|proxy| registry.address(proxy))
            .collect();
        if proxies.is_empty() {
            registry.hosts.push("proxy.golang.org".to_owned());
            proxies.push("https://proxy.golang.org".to_owned());
        }
        registry
            .variables
            .push(("GOPROXY".to_owned(), proxies.join(",")));
        // Whether sums are checked is the operator's to say, and by default they are.
        let sums = match said("GOSUMDB") {
            "off" => "off",
            _ => {
                registry.hosts.push("sum.golang.org".to_owned());
                "sum.golang.org"
            }
        };
        registry
            .variables
            .push(("GOSUMDB".to_owned(), sums.to_owned()));
        registry
    }

    /// A variable that is not empty, in either case.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        let value = self
            .variables
            .get(name)
            .or_else(|| self.variables.get(&name.to_lowercase()))?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// `${NAME}` as npm reads it.
    fn expanded(&self, value: &str) -> String {
        let mut text = String::new();
        let mut rest = value;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else {
                break;
            };
            text.push_str(before);
            text.push_str(
                self.variables
                    .get(name)
                    .map(String::as_str)
                    .unwrap_or_default(),
            );
            rest = after;
        }
        text.push_str(rest);
        text
    }
}

/// The kept settings of a cargo source.
const SOURCE_KEYS: &[&str] = &["replace-with", "registry", "local-registry", "directory"];

impl Registry {
    /// No registry at all, for packages of the workspace.
    pub(super) fn local(manager: Manager) -> Self {
        let file = match manager {
            Manager::Cargo => Some("cargo/config.toml"),
            Manager::Npm => Some("npmrc"),
            Manager::Pip | Manager::Go => None,
        };
        Registry {
            files: file
                .map(|file| (file.to_owned(), String::new()))
                .into_iter()
                .collect(),
            ..Registry::default()
        }
    }

    /// The address of a registry without anything secret in it, whose host becomes reachable.
    pub(super) fn address(&mut self, text: &str) -> Option<String> {
        let mut url = match Url::parse(text.trim().trim_matches('"')) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => url,
            _ => {
                self.notes.push(
                    "the address of a registry in the settings is not a URL, and is not used"
                        .to_owned(),
                );
                return None;
            }
        };
        let host = url.host_str()?.to_owned();
        if !url.username().is_empty() || url.password().is_some() {
            self.notes.push(format!(
                "the settings hold a password for `{host}`, which no program in the sandbox is given"
            ));
            url.set_username("").ok()?;
            url.set_password(None).ok()?;
        }
        let entry = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host,
        };
        if !self.hosts.contains(&entry) {
            self.hosts.push(entry);
        }
        Some(url.into())
    }

    /// A value of cargo's settings, if it can be kept.
    fn of_cargo(&mut self, key: &str, value: &str) -> Option<String> {
        match key {
            "registry" | "index" => match value.strip_prefix("sparse+") {
                Some(url) => Some(format!("sparse+{}", self.address(url)?)),
                None => self.address(value),
            },
            "local-registry" | "directory" => self.may_read(value).then(|| value.to_owned()),
            _ => Some(value.to_owned()),
        }
    }

    /// Makes a path readable that the operator's settings name; whether there is something.
    pub(super) fn may_read(&mut self, path: &str) -> bool {
        let path = Path::new(path);
        let is_there = path.is_absolute() && path.exists();
        if is_there {
            self.readable.push(path.to_owned());
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(
        files: &[(&str, &str)],
        variables: &[(&str, &str)],
    ) -> (tempfile::TempDir, Operator) {
        let home = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let mut variables: BTreeMap<String, String> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        // That of this machine is no one's business here.
        variables
            .entry("PIP_CONFIG_FILE".to_owned())
            .or_insert_with(|| home.path().join("pip.conf").display().to_string());
        let operator = Operator {
            home: Some(home.path().to_owned()),
            variables,
        };
        (home, operator)
    }

    #[test]
    fn without_settings_the_public_registry_is_all_that_can_be_reached() {
        let (_home, operator) = operator(&[], &[]);
        for (manager, hosts) in [
            (Manager::Cargo, &["index.crates.io", "static.crates.io"][..]),
            (Manager::Npm, &["registry.npmjs.org"]),
            (Manager::Pip, &["pypi.org", "files.pythonhosted.org"]),
            (Manager::Go, &["proxy.golang.org", "sum.golang.org"]),
        ] {
            let registry = operator.registry(manager);
            assert_eq!(registry.hosts, hosts, "{manager:?}");
            assert!(registry.readable.is_empty() && registry.notes.is_empty());
        }
    }

    #[test]
    fn a_registry_of_the_operators_settings_takes_its_place_and_its_token_stays_behind() {
        let (_home, operator) = operator(
            &[
                (
                    ".npmrc",
                    "registry=https://npm.test:8443/\n//npm.test:8443/:_authToken=SECRET\n@own:registry=${OWN}\n_password=SECRET\n",
                ),
                (
                    "pip.conf",
                    "[global]\nindex-url = https://me:SECRET@pip.test/simple\nextra-index-url =\n  https://a.test/s\n  https://b.test/s\n[freeze]\nx = 1\n",
                ),
                (
                    ".cargo/config.toml",
                    "[source.crates-io]\nreplace-with = 'mirror'\n[source.mirror]\nregistry = 'sparse+https://crates.test/index/'\n\
                     [registries.own]\nindex = 'https://git.test/index'\ntoken = 'SECRET'\n[build]\nrustc-wrapper = '/x'\n",
                ),
                (".cargo/credentials.toml", "[registry]\ntoken = 'SECRET'\n"),
            ],
            &[
                ("OWN", "http://127.0.0.1:4873"),
                ("GOPROXY", "https://go.test,direct"),
                ("GOSUMDB", "off"),
            ],
        );
        for (manager, hosts) in [
            (Manager::Cargo, &["crates.test", "git.test"][..]),
            (Manager::Npm, &["npm.test:8443", "127.0.0.1:4873"]),
            (Manager::Pip, &["pip.test", "a.test", "b.test"]),
            (Manager::Go, &["go.test"]),
        ] {
            let registry = operator.registry(manager);
            assert_eq!(registry.hosts, hosts, "{manager:?}");
            let shown = format!("{registry:?}");
            assert!(!shown.contains("SECRET"), "{shown}");
            assert!(!shown.contains("rustc-wrapper"), "{shown}");
        }
        let pip = operator.registry(Manager::Pip);
        assert_eq!(pip.notes.len(), 1, "{:?}", pip.notes);
        assert!(pip.variables.contains(&(
            "PIP_INDEX_URL".to_owned(),
            "https://pip.test/simple".to_owned()
        )));
    }
}
