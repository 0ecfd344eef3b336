//! The settings of the server: `server.*` and `telemetry.*`, read into types.
//!
//! Single values are checked where they are read, like all settings; what several of them say together is checked by
//! [`Config::server`], for the start of a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use super::{Config, ConfigError};
use crate::model::text;

/// Where the server listens, unless configured.
pub(super) const DEFAULT_ADDR: &str = "127.0.0.1:7410";

pub(super) const NO_ADDRESS: &str =
    "must be an address and a port like `127.0.0.1:7410` or `[::1]:7410`";

/// How the server is set up: the settings `server.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    /// `server.addr`.
    pub addr: SocketAddr,
    /// `server.socket`: an absolute path.
    pub socket: Option<PathBuf>,
    /// `server.hosts`: names, in lower case, with a port where one was given.
    pub hosts: Vec<String>,
    /// `server.origins`: as browsers send them, in lower case and without the port that the scheme has anyway.
    pub origins: Vec<String>,
    /// `server.certificate` and `server.key`.
    pub certificate: Option<Certificate>,
    /// `server.plaintext`: whether others may reach it without TLS.
    pub plaintext: bool,
    /// `server.maxConnections`.
    pub max_connections: usize,
    /// `server.maxStreams`.
    pub max_streams: usize,
    /// `server.maxBodyBytes`.
    pub max_body_bytes: u64,
    /// `server.headerTimeoutMs`.
    pub header_timeout: Duration,
    /// `server.bodyTimeoutMs`.
    pub body_timeout: Duration,
    /// `server.idleTimeoutMs`.
    pub idle_timeout: Duration,
    /// `server.writeTimeoutMs`.
    pub write_timeout: Duration,
    /// `server.maxCalls`.
    pub max_calls: usize,
    /// `server.maxWaiting`.
    pub max_waiting: usize,
    /// `server.shutdownMs`.
    pub shutdown: Duration,
    /// `server.accessLog`.
    pub access_log: AccessLog,
}

/// The files that TLS needs, as absolute paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate and those above it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// How requests are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccessLog {
    /// A line to read.
    #[default]
    Text,
    /// A line of JSON.
    Json,
    /// Not at all.
    Off,
}

/// Where traces go: the settings `telemetry.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// `telemetry.endpoint`: the collector; none are sent without.
    pub endpoint: Option<String>,
    /// `telemetry.service`.
    pub service: String,
}

impl Config {
    /// The settings `server.*`. Paths have to be absolute, and a certificate comes with its key.
    pub fn server(&self) -> Result<ServerSettings, ConfigError> {
        let millis = |key| Duration::from_millis(self.number(key).unwrap_or_default());
        let addr = self.value("server.addr").as_str().unwrap_or(DEFAULT_ADDR);
        let certificate = match (self.path("server.certificate")?, self.path("server.key")?) {
            (Some(certificate), Some(key)) => Some(Certificate { certificate, key }),
            (None, None) => None,
            (Some(_), None) => {
                let why = "needs the private key, too; set `server.key`";
                return Err(problem("server.certificate", why.to_owned()));
            }
            (None, Some(_)) => {
                let why = "needs the certificate, too; set `server.certificate`";
                return Err(problem("server.key", why.to_owned()));
            }
        };
        Ok(ServerSettings {
            addr: listen_address(addr).map_err(|why| problem("server.addr", why))?,
            socket: self.path("server.socket")?,
            hosts: self.words("server.hosts"),
            origins: self.words("server.origins"),
            certificate,
            plaintext: self.value("server.plaintext").as_bool().unwrap_or(false),
            max_connections: self.size("server.maxConnections"),
            max_streams: self.size("server.maxStreams"),
            max_body_bytes: self.number("server.maxBodyBytes").unwrap_or_default(),
            header_timeout: millis("server.headerTimeoutMs"),
            body_timeout: millis("server.bodyTimeoutMs"),
            idle_timeout: millis("server.idleTimeoutMs"),
            write_timeout: millis("server.writeTimeoutMs"),
            max_calls: self.size("server.maxCalls"),
            max_waiting: self.size("server.maxWaiting"),
            shutdown: millis("server.shutdownMs"),
            access_log: match self.value("server.accessLog").as_str() {
                Some("json") => AccessLog::Json,
                Some("off") => AccessLog::Off,
                _ => AccessLog::Text,
            },
        })
    }

    /// The settings `telemetry.*`.
    pub fn telemetry(&self) -> TelemetrySettings {
        let text = |key: &str| self.value(key).as_str().map(str::to_owned);
        TelemetrySettings {
            endpoint: text("telemetry.endpoint"),
            service: text("telemetry.service").unwrap_or_default(),
        }
    }

    /// A path that has to be absolute: a server's current directory is anything.
    fn path(&self, key: &str) -> Result<Option<PathBuf>, ConfigError> {
        let path = self.value(key).as_str().map(PathBuf::from);
        match path {
            Some(path) if !path.is_absolute() => {
                Err(problem(key, "must be an absolute path".to_owned()))
            }
            path => Ok(path),
        }
    }
}

fn problem(key: &str, problem: String) -> ConfigError {
    ConfigError::Value {
        place: format!("`{key}`"),
        problem,
    }
}

/// Reads where to listen. Names are not looked up, but for the one that every machine has.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    let numeric = text
        .strip_prefix("localhost:")
        .map(|port| format!("127.0.0.1:{port}"));
    let address = numeric.as_deref().unwrap_or(text);
    address.parse().map_err(|_| NO_ADDRESS.to_owned())
}

/// Reads a name that the server goes by: `host` or `host:port`.
pub(super) fn own_host(word: &str) -> Result<String, String> {
    let problem = |why: &str| {
        let word = text::shorten(word, 80);
        format!(
            "`{word}` is not a host: {why}; write `crib.example.com` or `crib.example.com:8443`"
        )
    };
    if word.contains("://") {
        return Err(problem("it has a scheme"));
    }
    if word.contains('*') {
        return Err(problem("patterns are not taken here"));
    }
    host_and_port(word).map_err(|why| problem(&why))
}

/// Reads the origin of web pages: `http://host` or `https://host:port`.
pub(super) fn origin(word: &str) -> Result<String, String> {
    let problem = |why: &str| {
        let word = text::shorten(word, 80);
        format!(
            "`{word}` is not an origin: {why}; write `https://app.example.com` or `http://localhost:3000`"
        )
    };
    let Some((scheme, host)) = word.split_once("://") else {
        return Err(problem(match word {
            "*" => "every web page there is could use the server",
            "null" => "any page can make itself one without an origin",
            _ => "it has no scheme",
        }));
    };
    let scheme = scheme.to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") {
        return Err(problem("its scheme is neither `http` nor `https`"));
    }
    if host.contains('*') {
        return Err(problem("patterns are not taken here"));
    }
    let host = host_and_port(host).map_err(|why| problem(&why))?;
    // As browsers send it.
    let host = match scheme.as_str() {
        "http" => host.strip_suffix(":80"),
        "https" => host.strip_suffix(":443"),
        _ => None,
    }
    .unwrap_or(&host);
    Ok(format!("{scheme}://{host}"))
}

/// Reads a host with or without a port, in the one spelling that clients send.
fn host_and_port(word: &str) -> Result<String, String> {
    let given = word.to_ascii_lowercase();
    if given.contains(['/', '?', '#', '@', '\\']) || given.contains(char::is_whitespace) {
        return Err("there is more than a host and a port".to_owned());
    }
    let (host, port) = match given.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            let number: u16 = port.parse().map_err(|_| "its port is none".to_owned())?;
            if number == 0 || number.to_string() != port {
                return Err("its port is none".to_owned());
            }
            (host, Some(number))
        }
        _ => (given.as_str(), None),
    };
    let read = Url::parse(&format!("http://{host}/")).map_err(|error| error.to_string())?;
    let known = read.host_str().unwrap_or_default();
    if known.is_empty() {
        return Err("its name is empty".to_owned());
    }
    if known != host {
        return Err(format!("clients send it as `{known}`"));
    }
    Ok(match port {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Surroundings;

    fn load(toml: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), toml).unwrap();
        let surroundings = Surroundings::new(dir.path(), variables.iter().copied());
        Config::load(dir.path(), &surroundings)
    }

    #[test]
    fn no_one_but_this_machine_reaches_a_server_by_default() {
        let server = Config::defaults().server().unwrap();
        assert_eq!(
            server,
            ServerSettings {
                addr: "127.0.0.1:7410".parse().unwrap(),
                socket: None,
                hosts: Vec::new(),
                origins: Vec::new(),
                certificate: None,
                plaintext: false,
                max_connections: 10_000,
                max_streams: 1000,
                max_body_bytes: 4 * 1024 * 1024,
                header_timeout: Duration::from_secs(10),
                body_timeout: Duration::from_secs(30),
                idle_timeout: Duration::from_secs(75),
                write_timeout: Duration::from_secs(30),
                max_calls: 256,
                max_waiting: 1024,
                shutdown: Duration::from_secs(10),
                access_log: AccessLog::Text,
            }
        );
        let telemetry = Config::defaults().telemetry();
        assert_eq!(
            (telemetry.endpoint, telemetry.service.as_str()),
            (None, "toolcrib")
        );
    }

    #[test]
    fn files_and_variables_set_it_in_the_same_words() {
        let toml = "[server]\naddr = 'localhost:0'\nplaintext = true\naccessLog = 'json'\n\
            hosts = ['Crib.Example.com:8443', '[::1]']\norigins = ['HTTPS://App.example.com:443', 'http://localhost:3000']\n\
            [telemetry]\nendpoint = 'http://localhost:4318'\nservice = 'crib-1'";
        let from_file = load(toml, &[]).unwrap();
        let from_variables = load(
            "",
            &[
                ("TOOLCRIB_SERVER_ADDR", "localhost:0"),
                ("TOOLCRIB_SERVER_PLAINTEXT", "true"),
                ("TOOLCRIB_SERVER_ACCESS_LOG", "json"),
                ("TOOLCRIB_SERVER_HOSTS", "Crib.Example.com:8443, [::1]"),
                (
                    "TOOLCRIB_SERVER_ORIGINS",
                    "HTTPS://App.example.com:443,http://localhost:3000",
                ),
                ("TOOLCRIB_TELEMETRY_ENDPOINT", "http://localhost:4318"),
                ("TOOLCRIB_TELEMETRY_SERVICE", "crib-1"),
            ],
        )
        .unwrap();
        let server = from_file.server().unwrap();
        assert_eq!(server, from_variables.server().unwrap());
        assert_eq!(from_file.telemetry(), from_variables.telemetry());
        assert_eq!(server.addr, "127.0.0.1:0".parse().unwrap());
        assert!(server.plaintext);
        assert_eq!(server.access_log, AccessLog::Json);
        assert_eq!(server.hosts, ["crib.example.com:8443", "[::1]"]);
        assert_eq!(
            server.origins,
            ["https://app.example.com", "http://localhost:3000"]
        );
        assert_eq!(from_file.telemetry().service, "crib-1");
    }

    #[test]
    fn input_that_is_not_a_host_origin_or_address_is_refused_when_it_is_read() {
        for (line, expected) in [
            ("origins = ['*']", "every web page"),
            ("origins = ['null']", "without an origin"),
            ("origins = ['app.example.com']", "it has no scheme"),
            ("origins = ['https://app.example.com/']", "more than a host"),
            (
                "origins = ['https://a@app.example.com']",
                "more than a host",
            ),
            ("origins = ['https://*.example.com']", "patterns"),
            ("origins = ['https://']", "is not an origin"),
            ("origins = ['https://a:99999']", "its port is none"),
            ("origins = ['1://a']", "its scheme is neither"),
            ("origins = ['app://a']", "its scheme is neither"),
            ("origins = 'https://a'", "must be a list of origins"),
            ("hosts = ['http://a']", "it has a scheme"),
            ("hosts = ['a/b']", "more than a host"),
            ("hosts = ['a b']", "more than a host"),
            ("hosts = ['a:0']", "its port is none"),
            ("hosts = ['a:080']", "its port is none"),
            ("hosts = ['']", "is not a host"),
            ("hosts = [':80']", "is not a host"),
            ("hosts = ['*']", "patterns"),
            ("hosts = ['127.1']", "clients send it as `127.0.0.1`"),
            ("hosts = ['bücher.example']", "xn--"),
            ("addr = '7410'", "must be an address and a port"),
            ("addr = 'example.com:80'", "must be an address and a port"),
            ("plaintext = 'yes'", "must be true or false"),
            ("accessLog = 'xml'", "must be `text`, `json` or `off`"),
            ("maxCalls = 0", "from 1 to"),
        ] {
            let error = load(&format!("[server]\n{line}"), &[])
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
        let error = load("", &[("TOOLCRIB_SERVER_PLAINTEXT", "1")]).unwrap_err();
        assert!(error.to_string().contains("true or false"), "{error}");
        let error = load("[telemetry]\nservice = 'a b'", &[]).unwrap_err();
        assert!(error.to_string().contains("must be a name"), "{error}");
        assert!(load("[telemetry]\nendpoint = 'ftp://a'", &[]).is_err());
    }

    #[test]
    fn a_certificate_and_its_key_come_together_and_from_somewhere_certain() {
        let server = |lines: &str| load(&format!("[server]\n{lines}"), &[]).unwrap().server();
        let both = server("certificate = '/a.pem'\nkey = '/a.key'").unwrap();
        assert_eq!(
            both.certificate,
            Some(Certificate {
                certificate: "/a.pem".into(),
                key: "/a.key".into()
            })
        );
        for (lines, expected) in [
            ("certificate = '/a.pem'", "set `server.key`"),
            ("key = '/a.key'", "set `server.certificate`"),
            ("certificate = 'a.pem'\nkey = '/a.key'", "absolute path"),
            ("socket = 'crib.sock'", "absolute path"),
        ] {
            let error = server(lines).unwrap_err().to_string();
            assert!(error.contains(expected), "{lines}: {error}");
        }
    }
}
