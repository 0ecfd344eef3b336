//! Where a server is: [`Address`].

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use url::{Host, Url};

use super::error::ClientError;

/// Where a server is: `http://127.0.0.1:7410`, `https://tools.example`, `unix:/run/toolcrib.sock`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A port of a machine.
    Tcp {
        /// Its name or address.
        host: Host,
        /// The port.
        port: u16,
        /// Whether it is spoken to by TLS.
        tls: bool,
    },
    /// A socket in the file system.
    Unix(PathBuf),
    /// This process: nothing is dialled.
    Process,
}

impl Address {
    /// Whether no one on the way can read along: TLS, a socket of this machine, or loopback.
    pub fn is_private(&self) -> bool {
        match self {
            Address::Unix(_) | Address::Process | Address::Tcp { tls: true, .. } => true,
            Address::Tcp { .. } => self.is_this_machine(),
        }
    }

    /// Whether it is a socket or a loopback address of this machine.
    pub fn is_this_machine(&self) -> bool {
        match self {
            Address::Unix(_) | Address::Process => true,
            Address::Tcp { host, .. } => match host {
                Host::Domain(name) => name.eq_ignore_ascii_case("localhost"),
                Host::Ipv4(address) => address.is_loopback(),
                Host::Ipv6(address) => address.is_loopback(),
            },
        }
    }

    /// Whether it is spoken to by TLS.
    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self, Address::Tcp { tls: true, .. })
    }

    /// The `Host` header.
    pub(super) fn host_header(&self) -> String {
        match self {
            Address::Unix(_) | Address::Process => "localhost".to_owned(),
            Address::Tcp { host, port, tls } => match (tls, port) {
                (true, 443) | (false, 80) => host.to_string(),
                _ => format!("{host}:{port}"),
            },
        }
    }

    /// The name or address of its machine.
    pub(super) fn host(&self) -> String {
        match self {
            Address::Unix(_) | Address::Process => "localhost".to_owned(),
            Address::Tcp { host, .. } => host.to_string(),
        }
    }

    /// The literal address, if it is one.
    pub(super) fn ip(&self) -> Option<IpAddr> {
        match self {
            Address::Tcp {
                host: Host::Ipv4(address),
                ..
            } => Some(IpAddr::V4(*address)),
            Address::Tcp {
                host: Host::Ipv6(address),
                ..
            } => Some(IpAddr::V6(*address)),
            Address::Tcp { .. } | Address::Unix(_) | Address::Process => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Process => f.write_str("this process"),
            Address::Tcp { tls, .. } => {
                let scheme = if *tls { "https" } else { "http" };
                write!(f, "{scheme}://{}", self.host_header())
            }
        }
    }
}

impl FromStr for Address {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Self, ClientError> {
        let wrong = |why: &str| {
            ClientError::Usage(format!(
                "`{}` is not the address of a server: {why}; write http://127.0.0.1:7410, https://HOST or unix:PATH",
                toolcrib::model::text::shorten(text, 200)
            ))
        };
        if let Some(path) = text.strip_prefix("unix:") {
            let path = match path.strip_prefix("//") {
                // unix:///run/x.sock
                Some(path) if path.starts_with('/') => path,
                Some(_) => return Err(wrong("`unix://` wants an absolute path")),
                None => path,
            };
            return match path.is_empty() || path.contains('\0') {
                true => Err(wrong("it names no socket")),
                false => Ok(Address::Unix(PathBuf::from(path))),
            };
        }
        let url = Url::parse(text).map_err(|_| wrong("it cannot be read"))?;
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return Err(wrong("it is neither http nor https")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("it has a user in it; the token is the credential"));
        }
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("there is something behind the host"));
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(wrong("it names no host"));
        };
        Ok(Address::Tcp {
            host: host.to_owned(),
            port,
            tls,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_they_are_read() {
        for text in [
            "http://127.0.0.1:7410",
            "http://localhost",
            "https://tools.example",
            "https://[::1]:8443",
            "unix:/run/toolcrib.sock",
            "unix:relative.sock",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        let spelled: Address = "unix:///run/a.sock".parse().unwrap();
        assert_eq!(spelled, Address::Unix("/run/a.sock".into()));
    }

    #[test]
    fn input_that_is_not_an_address_is_refused_with_an_example() {
        for text in [
            "",
            "7410",
            "127.0.0.1:7410",
            "ftp://a",
            "http://",
            "http://a/b",
            "http://a?x",
            "http://u:p@a",
            "unix:",
            "unix://run/a.sock",
            "http://a#b",
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(
                error.contains("write http://127.0.0.1:7410"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn only_other_machines_in_plain_text_are_not_private() {
        for (text, private) in [
            ("http://127.0.0.1:1", true),
            ("http://127.9.9.9:1", true),
            ("http://[::1]:1", true),
            ("http://LOCALHOST:1", true),
            ("unix:/a", true),
            ("https://tools.example", true),
            ("http://tools.example", false),
            ("http://localhost.tools.example", false),
            ("http://10.0.0.1", false),
            ("http://[::ffff:127.0.0.1]", false),
            ("http://0.0.0.0", false),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.is_private(), private, "{text}");
        }
    }
}
