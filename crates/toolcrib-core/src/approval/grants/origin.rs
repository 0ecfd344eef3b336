//! Which URLs a grant covers: [`Origin`], everything at one scheme, host and port.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::target::Target;

/// A scheme, a host and a port in their one spelling, as `https://docs.rs` or `http://127.0.0.1:8080`.
///
/// URLs are read as the client reads them (`Target::parse`): what is covered is what would be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Origin(Target);

/// Why a text is not an origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an origin: {0}")]
pub struct OriginError(String);

impl Origin {
    /// The origin of a URL; `None` for what is none that can be asked.
    pub fn of_url(url: &str) -> Option<Self> {
        read(url).ok()
    }

    /// Whether a URL is there.
    pub fn covers(&self, url: &str) -> bool {
        Origin::of_url(url).is_some_and(|origin| origin == *self)
    }

    /// The host, and the port where it is not the scheme's own.
    pub fn authority(&self) -> String {
        self.0.authority()
    }
}

#[cfg(feature = "urls")]
fn read(url: &str) -> Result<Origin, OriginError> {
    match Target::parse(url) {
        Ok((_, target)) => Ok(Origin(target)),
        Err(error) => Err(OriginError(error.to_string())),
    }
}

#[cfg(not(feature = "urls"))]
fn read(_: &str) -> Result<Origin, OriginError> {
    let message = "this program was built without the reader of URLs (the feature `urls`)";
    Err(OriginError(message.to_owned()))
}

impl From<&Target> for Origin {
    fn from(target: &Target) -> Self {
        Origin(target.clone())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.0.https { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority())
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> Self {
        origin.to_string()
    }
}

impl TryFrom<String> for Origin {
    type Error = OriginError;

    fn try_from(text: String) -> Result<Self, OriginError> {
        let origin = read(&text)?;
        // A path would read as a narrower grant than it is, and another spelling as another host.
        if origin.to_string() != text {
            let message = format!("write it as `{origin}`, without path, query and usual port");
            return Err(OriginError(message));
        }
        Ok(origin)
    }
}

#[cfg(feature = "urls")]
#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str) -> Origin {
        Origin::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn an_origin_covers_its_scheme_host_and_port_only() {
        let docs = origin("https://docs.test");
        for url in [
            "https://docs.test",
            "https://docs.test/a?b#c",
            "HTTPS://DOCS.test:443/",
            "https://docs.test./",
        ] {
            assert!(docs.covers(url), "{url}");
        }
        for url in [
            "http://docs.test/",
            "https://docs.test:8443/",
            "https://www.docs.test/",
            "https://docs.test.evil.test/",
            "https://docs.test@evil.test/",
            "https://evil.test/https://docs.test",
            "https://evil.test\\docs.test",
            "docs.test",
            "",
        ] {
            assert!(!docs.covers(url), "{url}");
        }
        assert!(origin("http://8.8.8.8:8080").covers("http://8.8.8.8:8080/x"));
    }

    #[test]
    fn an_origin_has_one_spelling() {
        for bad in [
            "https://docs.test/",
            "https://docs.test:443",
            "https://DOCS.test",
            "https://docs.test/path",
            "docs.test",
            "ftp://docs.test",
            "*",
        ] {
            assert!(Origin::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
