//! The tables `[notify.NAME]`. A project's file may not have them: it would send questions, and links to answer them, wherever it wants.

use super::{Config, ConfigError, Origin};
use crate::notify::NotifySettings;

/// The key of the tables.
pub(super) const NOTIFY: &str = "notify";

/// The part of docs/config.md about them.
pub(super) const REFERENCE: &str = include_str!("notify.md");

/// Reads the tables of a file.
pub(super) fn read(
    value: &toml::Value,
    file: &str,
    origin: Origin,
) -> Result<NotifySettings, ConfigError> {
    let problem = |key: &str, problem: String| ConfigError::Value {
        place: format!("{file}: `{key}`"),
        problem,
    };
    if origin == Origin::Project {
        let why = "cannot be set by a project: it would choose who learns of your approvals; put it into your own config.toml";
        return Err(problem(NOTIFY, why.to_owned()));
    }
    let json = serde_json::to_value(value).map_err(|error| problem(NOTIFY, error.to_string()))?;
    NotifySettings::read(&json).map_err(|fault| problem(&fault.key, fault.problem))
}

impl Config {
    /// The channels `[notify.NAME]`. One-time links need to know where the server is, and a way there that no one reads along.
    pub fn notify(&self) -> Result<&NotifySettings, ConfigError> {
        let once = self.5.channels().find(|(_, channel)| channel.one_time);
        let Some((name, _)) = once else {
            return Ok(&self.5);
        };
        let problem = |problem: &str| ConfigError::Value {
            place: format!("`notify.{name}.oneTimeLinks`"),
            problem: problem.to_owned(),
        };
        match self.server_url() {
            None => Err(problem("needs `server.url`: where people reach the server")),
            Some(url) if !is_private(&url) => Err(problem(
                "needs a `server.url` with https: anyone on the way could read the link and answer",
            )),
            Some(_) => Ok(&self.5),
        }
    }

    /// The host of `server.url`, with its port: one that the server is known by.
    pub fn server_host(&self) -> Option<String> {
        let url = self.server_url()?;
        let (_, host) = url.split_once("://")?;
        Some(host.to_owned())
    }

    /// `server.url`, without a slash at the end.
    pub fn server_url(&self) -> Option<String> {
        let url = self.value("server.url").as_str()?;
        Some(url.trim_end_matches('/').to_owned())
    }
}

/// Whether no one on the way to this address reads along.
fn is_private(url: &str) -> bool {
    let Some(("http", rest)) = url.split_once("://") else {
        return true;
    };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let host = host
        .rsplit_once(':')
        .filter(|(_, port)| !port.ends_with(']'));
    let host = host.map_or(
        rest.split(['/', '?']).next().unwrap_or_default(),
        |(host, _)| host,
    );
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

/// Reads `server.url`: scheme, host and perhaps a path, which a proxy takes off.
pub(super) fn own_url(text: &str) -> Result<String, String> {
    const FORM: &str = "write `https://crib.example.com`";
    let url =
        url::Url::parse(text).map_err(|error| format!("must be an address ({error}); {FORM}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("must begin with `https://` or `http://`; {FORM}"));
    }
    let has_more = url.query().is_some() || url.fragment().is_some();
    if has_more
        || !url.username().is_empty()
        || url.password().is_some()
        || url.host_str().is_none()
    {
        return Err(format!("must be a scheme and a host; {FORM}"));
    }
    if url.path() != "/" {
        return Err(format!(
            "has a path, below which this server has no pages; {FORM}"
        ));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Surroundings;

    fn load(toml: &str) -> Result<Config, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), toml).unwrap();
        Config::load(dir.path(), &Surroundings::new(dir.path(), []))
    }

    #[test]
    fn a_project_cannot_name_channels_and_faults_have_their_place() {
        let table: toml::Table = "[notify.phone]\ntype = 'ntfy'\nurl = 'https://ntfy.sh'"
            .parse()
            .unwrap();
        let error = |origin| {
            read(&table[NOTIFY], "config.toml", origin)
                .unwrap_err()
                .to_string()
        };
        assert!(error(Origin::Project).contains("cannot be set by a project"));
        let text = error(Origin::Home);
        assert!(
            text.starts_with("config.toml: `notify.phone.url`: must end with a topic"),
            "{text}"
        );
    }

    #[test]
    fn one_time_links_need_a_server_that_is_reached_in_private() {
        let channel = "[notify.phone]\ntype = 'desktop'\noneTimeLinks = true\n";
        for (url, is_fine) in [
            ("", false),
            ("[server]\nurl = 'http://crib.example.com'\n", false),
            ("[server]\nurl = 'http://localhost.example.com'\n", false),
            ("[server]\nurl = 'https://crib.example.com/'\n", true),
            ("[server]\nurl = 'http://127.0.0.1:7410'\n", true),
            ("[server]\nurl = 'http://[::1]:7410'\n", true),
        ] {
            let config = load(&format!("{url}{channel}")).unwrap();
            assert_eq!(config.notify().is_ok(), is_fine, "{url}");
        }
    }

    #[test]
    fn the_servers_own_address_is_a_scheme_and_a_host() {
        assert_eq!(
            own_url("https://Crib.example.com:8443/").unwrap(),
            "https://crib.example.com:8443"
        );
        for odd in [
            "crib.example.com",
            "ftp://a.example",
            "https://u@a.example",
            "https://a.example/x",
            "https://a.example/?q",
        ] {
            assert!(own_url(odd).is_err(), "{odd}");
        }
    }
}
