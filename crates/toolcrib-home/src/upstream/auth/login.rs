//! The stored state of a login: [`Login`], one file of the home each, `logins/NAME/login.json`, for its owner only.
//!
//! A login is for one server at one address, from one issuer: tokens and registrations are never shown to another. Every process of the
//! home reads the same file, and a process that renews a token holds the lock of its directory meanwhile, so that a refresh token is used once.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::AuthError;
use crate::model::names::Slug;
use crate::storage::{DirLock, DurableDir};

/// The directory in the home, and the file in the directory of a server.
const DIRECTORY: &str = "logins";
const FILE: &str = "login.json";
const MAX_BYTES: u64 = 1024 * 1024;

/// A login. Without an access token someone has to log in again.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Login {
    /// The address of the server, as it was configured.
    pub(super) server: String,
    /// What tokens are for.
    pub(super) resource: String,
    /// The issuer.
    pub(super) issuer: String,
    /// Where they are renewed.
    pub(super) token_endpoint: String,
    /// Our identity there.
    pub(super) client: Registered,
    /// What was asked for, and what a server wanted besides since then.
    pub(super) asked: Vec<String>,
    pub(super) wanted: Vec<String>,
    pub(super) access_token: Option<String>,
    pub(super) refresh_token: Option<String>,
    /// When the access token ends, in seconds since 1970.
    pub(super) expires_at: Option<i64>,
}

/// Our identity at an issuer.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Registered {
    pub(super) client_id: String,
    /// As the issuer gave it; one that is configured is not kept here.
    pub(super) client_secret: Option<String>,
    /// Whether id and secret are those of the settings.
    pub(super) is_configured: bool,
    /// How we show who we are where tokens are given.
    pub(super) method: Method,
    /// Where browsers are sent back to.
    pub(super) redirect_uri: String,
}

/// How a client shows who it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Method {
    /// By its id alone.
    #[default]
    #[serde(rename = "none")]
    None,
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
}

/// Whatever prints one prints no token.
impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login")
            .field("server", &self.server)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

/// The logins of a home.
#[derive(Debug, Clone)]
pub(super) struct LoginStore {
    home: PathBuf,
}

/// The right to change a login.
pub(super) struct Changing {
    dir: DurableDir,
    lock: DirLock,
}

impl LoginStore {
    pub(super) fn at(home: &Path) -> Self {
        LoginStore {
            home: home.to_owned(),
        }
    }

    fn place(&self, name: &Slug) -> PathBuf {
        self.home.join(DIRECTORY).join(name.as_str())
    }

    /// The login at a server, if there is one for this address.
    pub(super) async fn read(&self, name: &Slug, server: &str) -> Result<Option<Login>, AuthError> {
        let (place, server) = (self.place(name), server.to_owned());
        blocking(move || match DurableDir::open(place)? {
            Some(dir) => read(&dir, &server),
            None => Ok(None),
        })
        .await
    }

    /// Waits until no one else changes it.
    pub(super) async fn change(&self, name: &Slug) -> Result<Changing, AuthError> {
        let place = self.place(name);
        blocking(move || {
            let dir = DurableDir::create(place)?;
            let lock = dir.lock()?;
            Ok(Changing { dir, lock })
        })
        .await
    }

    /// Forgets a login; whether there was one.
    pub(super) fn remove(&self, name: &Slug) -> Result<bool, AuthError> {
        let Some(dir) = DurableDir::open(self.place(name))? else {
            return Ok(false);
        };
        let lock = dir.lock()?;
        Ok(dir.remove(&lock, FILE)?)
    }
}

impl Changing {
    /// The login as it is now, for this address.
    pub(super) fn read(&self, server: &str) -> Result<Option<Login>, AuthError> {
        read(&self.dir, server)
    }

    /// Writes it.
    pub(super) fn write(&self, login: &Login) -> Result<(), AuthError> {
        let bytes = serde_json::to_vec_pretty(login)
            .map_err(|error| AuthError::Failed(format!("the login cannot be kept: {error}")))?;
        Ok(self.dir.write(&self.lock, FILE, &bytes)?)
    }
}

fn read(dir: &DurableDir, server: &str) -> Result<Option<Login>, AuthError> {
    let Some(bytes) = dir.read_own(FILE, MAX_BYTES)? else {
        return Ok(None);
    };
    // A damaged file is not a login; the next one replaces it.
    let login: Option<Login> = serde_json::from_slice(&bytes).ok();
    Ok(login.filter(|login| login.server == server))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AuthError> + Send + 'static,
) -> Result<T, AuthError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(AuthError::Failed("the runtime is shutting down".to_owned())))
}
