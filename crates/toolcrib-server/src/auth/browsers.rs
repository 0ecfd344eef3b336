//! Browsers that are signed in to the web admin, as the operator.
//!
//! A link carries a code that is valid once and for ten minutes. The page exchanges it for two secrets: a cookie that scripts cannot
//! read, and a key that the page keeps in the storage of its origin and sends as a header. Neither is of use alone: cookies ignore ports,
//! so another server on this machine receives the cookie, and a script that reads the key has no cookie.
//!
//! The home holds digests in `browsers.json`, so that a browser stays signed in when the server restarts. They are made with the
//! operator's token: another token signs every browser out. Codes are in memory only.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, Method, header};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use toolcrib::ErrorCode;
use toolcrib::storage::{DirLock, DurableDir, Followed, Stamp, Stamps, StorageError};

use super::digest::{TokenDigest, new_token};
use crate::api::Refusal;

/// The file of the home.
const FILE: &str = "browsers.json";
/// How large the file may be: more than the most browsers take.
const MAX_BYTES: u64 = 256 * 1024;
/// How many browsers may be signed in; one more signs the oldest out.
const MAX_BROWSERS: usize = 64;
/// How many codes are remembered, used and expired ones among them.
const MAX_CODES: usize = 64;
/// How long a code is valid.
pub const CODE_LASTS: Duration = Duration::from_mins(10);
/// How long a browser stays signed in.
const SIGNED_IN_DAYS: i64 = 30;
/// The header that carries a browser's key.
pub(crate) const KEY: &str = "toolcrib-key";
/// How many cookies of one name are tried: a path or a subdomain can add some.
const MAX_COOKIES: usize = 8;

/// A browser that is signed in. Only digests of its secrets are kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    /// Its id, for the list and for signing it out.
    id: uuid::Uuid,
    created_at: Timestamp,
    expires_at: Timestamp,
    /// The digest of its cookie, in hexadecimal digits.
    cookie: String,
    /// The digest of its key.
    key: String,
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct File {
    browsers: Vec<Kept>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// A browser that is signed in, as it is listed.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Browser {
    /// Its id.
    pub id: String,
    /// When it signed in.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub created_at: Timestamp,
    /// When it is signed out by itself.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub expires_at: Timestamp,
    /// Whether it is the browser that asks.
    pub current: bool,
}

/// What a browser that signs in receives, this once.
pub(crate) struct SignedIn {
    pub(crate) id: String,
    pub(crate) cookie: String,
    pub(crate) key: String,
    pub(crate) expires_at: Timestamp,
}

/// Why a code does not sign a browser in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadCode {
    Unknown,
    Used,
    Expired,
}

/// A code that was issued.
struct Code {
    digest: TokenDigest,
    until: Instant,
    is_used: bool,
}

/// The browsers of a home. Cloning is cheap and shares everything.
#[derive(Clone)]
pub struct Browsers(Arc<Shared>);

struct Shared {
    home: PathBuf,
    /// Digests are made with it.
    operator: TokenDigest,
    codes: Mutex<Vec<Code>>,
    known: Mutex<Followed<Arc<Vec<Kept>>>>,
}

impl std::fmt::Debug for Browsers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Browsers").field(&self.0.home).finish()
    }
}

impl Browsers {
    pub(super) fn new(home: &Path, operator: TokenDigest) -> Self {
        Browsers(Arc::new(Shared {
            home: home.to_owned(),
            operator,
            codes: Mutex::default(),
            known: Mutex::default(),
        }))
    }

    /// Issues a code that signs one browser in.
    pub fn issue_code(&self) -> Result<String, String> {
        self.issue_code_at(Instant::now())
    }

    fn issue_code_at(&self, now: Instant) -> Result<String, String> {
        let code = new_token()?;
        let mut codes = self.0.codes.lock().unwrap_or_else(PoisonError::into_inner);
        if codes.len() >= MAX_CODES {
            codes.remove(0);
        }
        codes.push(Code {
            digest: TokenDigest::of(&code),
            until: now + CODE_LASTS,
            is_used: false,
        });
        Ok(code)
    }

    /// Uses a code up.
    pub(crate) fn use_code(&self, code: &str) -> Result<(), BadCode> {
        self.use_code_at(code, Instant::now())
    }

    fn use_code_at(&self, code: &str, now: Instant) -> Result<(), BadCode> {
        let digest = TokenDigest::of(code);
        let mut codes = self.0.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = codes.iter_mut().find(|known| known.digest.is(&digest));
        let code = known.ok_or(BadCode::Unknown)?;
        if code.is_used {
            return Err(BadCode::Used);
        }
        if now >= code.until {
            return Err(BadCode::Expired);
        }
        code.is_used = true;
        Ok(())
    }

    /// Signs a browser in, whose code was used up for it.
    pub(crate) fn sign_in(&self) -> Result<SignedIn, Refusal> {
        let random = |problem| Refusal::new(ErrorCode::Internal, problem);
        let (cookie, key) = (new_token().map_err(random)?, new_token().map_err(random)?);
        let created_at = Timestamp::now();
        let expires_at = created_at + SignedDuration::from_hours(24 * SIGNED_IN_DAYS);
        let id = uuid::Uuid::now_v7();
        self.change(|browsers| {
            browsers.retain(|kept| kept.expires_at > created_at);
            while browsers.len() >= MAX_BROWSERS {
                browsers.remove(0);
            }
            browsers.push(Kept {
                id,
                created_at,
                expires_at,
                cookie: self.digest("cookie", &cookie).to_hex(),
                key: self.digest("key", &key).to_hex(),
                other: Map::new(),
            });
        })?;
        Ok(SignedIn {
            id: id.to_string(),
            cookie,
            key,
            expires_at,
        })
    }

    /// Signs a browser out; `false` if there is none of this id.
    pub(crate) fn sign_out(&self, id: &str) -> Result<bool, Refusal> {
        let mut is_there = false;
        self.change(|browsers| {
            browsers.retain(|kept| {
                kept.id.to_string() != id || {
                    is_there = true;
                    false
                }
            });
        })?;
        Ok(is_there)
    }

    /// The browsers that are signed in, the last one first. `asked` are the headers of the browser that wants to know.
    pub(crate) fn list(&self, asked: &HeaderMap) -> Vec<Browser> {
        let current = self.of(asked).map(|kept| kept.id);
        let now = Timestamp::now();
        let browsers = self.kept();
        let live = browsers.iter().rev().filter(|kept| kept.expires_at > now);
        live.map(|kept| Browser {
            id: kept.id.to_string(),
            created_at: kept.created_at,
            expires_at: kept.expires_at,
            current: Some(kept.id) == current,
        })
        .collect()
    }

    /// The name of the cookie: one for each home, because a browser sends it to every port of this machine.
    pub(crate) fn cookie_name(&self) -> String {
        let digest = Sha256::digest(self.0.home.as_os_str().as_encoded_bytes());
        let id: String = digest[..6]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("toolcrib-{id}")
    }

    /// Checks a request that carries a browser's key. It is the operator's, or it is refused.
    pub(super) fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        if self.of(headers).is_none() {
            return Err(Refusal::new(
                ErrorCode::Unauthenticated,
                "this browser is not signed in; open the link that `toolcrib ui --print` prints",
            ));
        }
        prove_origin(method, headers)
    }

    /// The browser whose cookie and key these headers carry.
    fn of(&self, headers: &HeaderMap) -> Option<Kept> {
        let mut keys = headers.get_all(KEY).iter();
        let (Some(key), None) = (keys.next(), keys.next()) else {
            return None;
        };
        let key = self.digest("key", key.to_str().ok()?);
        let name = self.cookie_name();
        let cookies: Vec<TokenDigest> = headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(given, _)| *given == name)
            .take(MAX_COOKIES)
            .map(|(_, value)| self.digest("cookie", value))
            .collect();
        let is = |kept: &str, given: &TokenDigest| {
            TokenDigest::from_hex(kept).is_some_and(|kept| kept.is(given))
        };
        let now = Timestamp::now();
        let browsers = self.kept();
        let found = browsers.iter().find(|kept| {
            kept.expires_at > now
                && is(&kept.key, &key)
                && cookies.iter().any(|cookie| is(&kept.cookie, cookie))
        });
        found.cloned()
    }

    fn digest(&self, kind: &str, secret: &str) -> TokenDigest {
        TokenDigest::of(&format!("{kind} {} {secret}", self.0.operator.to_hex()))
    }

    /// What the file holds now. A file that cannot be read signs everyone out; why goes to the log, once for each state of the file.
    fn kept(&self) -> Arc<Vec<Kept>> {
        let stamps = Stamps::new([Stamp::of_entry(&self.0.home.join(FILE))]);
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(browsers) = known.current(&stamps) {
            return Arc::clone(browsers);
        }
        let read = DurableDir::open(&self.0.home)
            .map_err(|error| error.to_string())
            .and_then(|dir| match dir {
                Some(dir) => read(&dir),
                None => Ok(File::default()),
            });
        let browsers = read.map(|file| file.browsers).unwrap_or_else(|error| {
            if known.is_other(&stamps) {
                let file = self.0.home.join(FILE);
                eprintln!(
                    "toolcrib: every browser is signed out, because of `{}`: {error}",
                    file.display()
                );
            }
            Vec::new()
        });
        Arc::clone(known.set(stamps, Arc::new(browsers)))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Kept>)) -> Result<(), Refusal> {
        let storage =
            |error: StorageError| Refusal::new(ErrorCode::StorageError, error.to_string());
        let dir = DurableDir::create(&self.0.home).map_err(storage)?;
        let lock = dir.lock().map_err(storage)?;
        // A damaged file holds nothing that could not be made again by signing in.
        let mut file = read(&dir).unwrap_or_default();
        change(&mut file.browsers);
        write(&dir, &lock, &mut file).map_err(storage)
    }
}

fn read(dir: &DurableDir) -> Result<File, String> {
    let bytes = dir
        .read_own(FILE, MAX_BYTES)
        .map_err(|error| error.to_string())?;
    match bytes {
        Some(bytes) => {
            serde_json::from_slice(&bytes).map_err(|error| format!("it cannot be read: {error}"))
        }
        None => Ok(File::default()),
    }
}

fn write(dir: &DurableDir, lock: &DirLock, file: &mut File) -> Result<(), StorageError> {
    file.other
        .entry("schemaVersion")
        .or_insert_with(|| 1.into());
    let mut bytes = serde_json::to_vec_pretty(file).unwrap_or_default();
    bytes.push(b'\n');
    dir.write(lock, FILE, &bytes)
}

/// Refuses what a page of another origin makes a browser send. A browser states the origin of every request that can change something,
/// and no page can make it state another one.
pub(crate) fn prove_origin(method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
    let text = |name: &str| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    };
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    let is_own = match (text("origin"), text("host")) {
        (Some(origin), Some(host)) => origin
            .split_once("://")
            .is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host)),
        (None, _) => is_read && !headers.contains_key(header::ORIGIN),
        (Some(_), None) => false,
    };
    let site = headers.get("sec-fetch-site");
    if is_own && site.is_none_or(|site| site == "same-origin") {
        return Ok(());
    }
    Err(Refusal::new(
        ErrorCode::Forbidden,
        "only the web admin of this server may send this; programs use a token",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn browsers(home: &Path) -> Browsers {
        Browsers::new(home, TokenDigest::of("operator"))
    }

    #[test]
    fn a_code_is_valid_once_and_for_ten_minutes() {
        let home = tempfile::tempdir().unwrap();
        let browsers = browsers(home.path());
        let now = Instant::now();
        let code = browsers.issue_code_at(now).unwrap();
        let late = browsers.issue_code_at(now).unwrap();
        assert_eq!(browsers.use_code_at("other", now), Err(BadCode::Unknown));
        let last = now + CODE_LASTS - Duration::from_millis(1);
        assert_eq!(browsers.use_code_at(&code, last), Ok(()));
        assert_eq!(browsers.use_code_at(&code, last), Err(BadCode::Used));
        assert_eq!(
            browsers.use_code_at(&late, now + CODE_LASTS),
            Err(BadCode::Expired)
        );
    }

    #[test]
    fn one_browser_too_many_signs_the_oldest_out() {
        let home = tempfile::tempdir().unwrap();
        let browsers = browsers(home.path());
        let first = browsers.sign_in().unwrap();
        for _ in 0..MAX_BROWSERS {
            browsers.sign_in().unwrap();
        }
        let listed = browsers.list(&HeaderMap::new());
        assert_eq!(listed.len(), MAX_BROWSERS);
        assert!(listed.iter().all(|browser| browser.id != first.id));
    }

    #[test]
    fn the_origin_of_what_changes_something_is_proven() {
        let ask = |method: Method, pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, value.parse().unwrap());
            }
            prove_origin(&method, &headers).is_ok()
        };
        let host = ("host", "localhost:7410");
        let own = ("origin", "http://localhost:7410");
        assert!(ask(Method::GET, &[host]));
        assert!(ask(Method::POST, &[host, own]));
        assert!(ask(
            Method::POST,
            &[host, own, ("sec-fetch-site", "same-origin")]
        ));
        assert!(!ask(Method::POST, &[host]));
        assert!(!ask(Method::POST, &[host, own, own]));
        assert!(!ask(
            Method::POST,
            &[host, own, ("sec-fetch-site", "same-site")]
        ));
        assert!(!ask(Method::GET, &[host, ("sec-fetch-site", "cross-site")]));
        for other in ["http://localhost:7411", "https://evil.example", "null", ""] {
            for method in [Method::GET, Method::POST, Method::DELETE] {
                assert!(!ask(method, &[host, ("origin", other)]), "{other}");
            }
        }
    }
}
