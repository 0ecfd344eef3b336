//! Clients: names with a token each, for programs that may call tools and nothing else.
//!
//! The file `clients.json` of the home holds digests of tokens, never tokens. Every process reads it for itself and sees what others
//! change: a client that was removed is refused at its next request. Who writes holds the home's lock; fields of other versions survive.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolcrib::storage::{DirLock, DurableDir, StorageError};
use toolcrib::{ErrorCode, ToolError};

use super::digest::{TokenDigest, new_token};

/// The file of the home.
const FILE: &str = "clients.json";
/// How large the file may be: more than the most clients take.
const MAX_BYTES: u64 = 1024 * 1024;
/// How many clients there may be.
const MAX_CLIENTS: usize = 1000;
/// The longest name, in characters.
const MAX_NAME: usize = 64;

/// A client, without its token, of which only a digest is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Client {
    /// Its name.
    pub name: String,
    /// When it was made.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub created_at: Timestamp,
}

/// A client that was just made. This is the only time its token is told.
#[derive(Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NewClient {
    /// The client.
    #[serde(flatten)]
    pub client: Client,
    /// Its token.
    pub token: String,
}

impl std::fmt::Debug for NewClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("NewClient").field(&self.client).finish()
    }
}

/// Why a client cannot be made, listed or removed.
#[derive(Debug, thiserror::Error)]
pub enum ClientsError {
    /// The name is not one.
    #[error(
        "`{}` cannot be the name of a client: it takes 1 to {MAX_NAME} of the characters `A-Z a-z 0-9 . _ -`",
        toolcrib::model::text::visible(.0)
    )]
    Name(String),
    /// There is one of this name.
    #[error("there is a client `{0}` already; choose another name, or remove it first")]
    Exists(String),
    /// There is none of this name.
    #[error("there is no client `{}`", toolcrib::model::text::visible(.0))]
    Unknown(String),
    /// There are too many.
    #[error("there are {MAX_CLIENTS} clients already, and no more are kept; remove some first")]
    TooMany,
    /// The file does not hold clients.
    #[error(
        "`{FILE}` in the home cannot be read: {0}; mend it, or remove it and make the clients again"
    )]
    Damaged(String),
    /// The file could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The system has no random numbers.
    #[error("no token can be made: {0}")]
    Random(String),
}

impl From<ClientsError> for ToolError {
    fn from(error: ClientsError) -> Self {
        let code = match &error {
            ClientsError::Name(_) => ErrorCode::Usage,
            ClientsError::Exists(_) | ClientsError::TooMany => ErrorCode::Conflict,
            ClientsError::Unknown(_) => ErrorCode::NotFound,
            ClientsError::Damaged(_) | ClientsError::Random(_) => ErrorCode::StorageError,
            ClientsError::Storage(_) => ErrorCode::StorageError,
        };
        ToolError::new(code, error.to_string()).caused_by(error)
    }
}

/// What the file holds.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    clients: Vec<KeptClient>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptClient {
    #[serde(flatten)]
    client: Client,
    /// The SHA-256 of the token, in hexadecimal digits.
    digest: String,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// The clients of a home, shared by every process that serves it. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Clients(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    home: PathBuf,
    known: Mutex<Option<Known>>,
}

/// What was in the file when it had this stamp.
#[derive(Debug)]
struct Known {
    stamp: Option<Stamp>,
    names: Arc<HashMap<TokenDigest, String>>,
}

/// What tells one state of the file from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp([i64; 6]);

impl Stamp {
    fn of(file: &Metadata) -> Self {
        Stamp([
            file.ino().cast_signed(),
            file.size().cast_signed(),
            file.mtime(),
            file.mtime_nsec(),
            file.ctime(),
            file.ctime_nsec(),
        ])
    }
}

impl Clients {
    /// The clients of a home.
    pub fn of_home(home: &Path) -> Self {
        Clients(Arc::new(Shared {
            home: home.to_owned(),
            known: Mutex::new(None),
        }))
    }

    /// Makes a client and its token.
    pub fn add(&self, name: &str) -> Result<NewClient, ClientsError> {
        check_name(name)?;
        let dir = DurableDir::create(&self.0.home)?;
        let lock = dir.lock()?;
        let mut kept = read(&dir)?;
        if kept.clients.iter().any(|kept| kept.client.name == name) {
            return Err(ClientsError::Exists(name.to_owned()));
        }
        if kept.clients.len() >= MAX_CLIENTS {
            return Err(ClientsError::TooMany);
        }
        let token = new_token().map_err(ClientsError::Random)?;
        let client = Client {
            name: name.to_owned(),
            created_at: Timestamp::now(),
        };
        kept.clients.push(KeptClient {
            client: client.clone(),
            digest: TokenDigest::of(&token).to_hex(),
            other: Map::new(),
        });
        write(&dir, &lock, &mut kept)?;
        Ok(NewClient { client, token })
    }

    /// All clients, by name.
    pub fn list(&self) -> Result<Vec<Client>, ClientsError> {
        let Some(dir) = DurableDir::open(&self.0.home)? else {
            return Ok(Vec::new());
        };
        let mut clients: Vec<Client> = read(&dir)?
            .clients
            .into_iter()
            .map(|kept| kept.client)
            .collect();
        clients.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(clients)
    }

    /// Takes a client's token back.
    pub fn remove(&self, name: &str) -> Result<(), ClientsError> {
        self.remove_all(&[name.to_owned()])
    }

    /// Takes the tokens of clients back: of all, or of none if one of them is unknown.
    pub fn remove_all(&self, names: &[String]) -> Result<(), ClientsError> {
        let unknown = |name: &String| ClientsError::Unknown(name.clone());
        // A home that is not there is not made for this.
        let Some(dir) = DurableDir::open(&self.0.home)? else {
            return names.first().map_or(Ok(()), |name| Err(unknown(name)));
        };
        let lock = dir.lock()?;
        let mut kept = read(&dir)?;
        let is_there = |name: &&String| kept.clients.iter().any(|kept| kept.client.name == **name);
        if let Some(name) = names.iter().find(|name| !is_there(name)) {
            return Err(unknown(name));
        }
        kept.clients
            .retain(|kept| !names.contains(&kept.client.name));
        write(&dir, &lock, &mut kept)
    }

    /// Whose token has this digest. A file that cannot be read knows nobody; why goes to the log, once for each state of the file.
    pub(super) fn name_of(&self, digest: &TokenDigest) -> Option<String> {
        let names = {
            let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
            let stamp = self.stamp();
            match &*known {
                Some(now) if now.stamp == stamp && stamp.is_none_or(is_settled) => {
                    Arc::clone(&now.names)
                }
                before => {
                    let is_new = before.as_ref().is_none_or(|before| before.stamp != stamp);
                    let names = Arc::new(self.names().unwrap_or_else(|error| {
                        if is_new {
                            eprintln!("toolcrib: no client is let in: {error}");
                        }
                        HashMap::new()
                    }));
                    *known = Some(Known {
                        stamp,
                        names: Arc::clone(&names),
                    });
                    names
                }
            }
        };
        names.get(digest).cloned()
    }

    fn stamp(&self) -> Option<Stamp> {
        let metadata = std::fs::symlink_metadata(self.0.home.join(FILE)).ok()?;
        Some(Stamp::of(&metadata))
    }

    fn names(&self) -> Result<HashMap<TokenDigest, String>, ClientsError> {
        let Some(dir) = DurableDir::open(&self.0.home)? else {
            return Ok(HashMap::new());
        };
        let by_digest = |kept: KeptClient| {
            let digest = TokenDigest::from_hex(&kept.digest);
            digest.map(|digest| (digest, kept.client.name))
        };
        Ok(read(&dir)?
            .clients
            .into_iter()
            .filter_map(by_digest)
            .collect())
    }
}

/// Whether the file was left alone for long enough that its next change will show: clocks of file systems tick, some in seconds.
fn is_settled(stamp: Stamp) -> bool {
    let [.., modified, modified_nanos, changed, changed_nanos] = stamp.0;
    let tick = match (modified_nanos, changed_nanos) {
        (0, 0) => Duration::from_secs(2),
        _ => Duration::from_millis(20),
    };
    let (seconds, nanos) = (modified, modified_nanos).max((changed, changed_nanos));
    let seconds = u64::try_from(seconds).unwrap_or_default();
    let nanos = u32::try_from(nanos).unwrap_or_default();
    let newest = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
    SystemTime::now()
        .duration_since(newest)
        .is_ok_and(|age| age > tick)
}

fn check_name(name: &str) -> Result<(), ClientsError> {
    let is_name = (1..=MAX_NAME).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
        // No path can carry these two.
        && !matches!(name, "." | "..");
    match is_name {
        true => Ok(()),
        false => Err(ClientsError::Name(toolcrib::model::text::shorten(
            name, MAX_NAME,
        ))),
    }
}

fn read(dir: &DurableDir) -> Result<Kept, ClientsError> {
    let Some(bytes) = dir.read_own(FILE, MAX_BYTES)? else {
        return Ok(Kept::default());
    };
    let damaged = |problem: String| ClientsError::Damaged(problem);
    let kept: Kept = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    for client in &kept.clients {
        check_name(&client.client.name).map_err(|error| damaged(error.to_string()))?;
        if TokenDigest::from_hex(&client.digest).is_none() {
            let name = &client.client.name;
            return Err(damaged(format!("`{name}` has no digest of a token")));
        }
    }
    Ok(kept)
}

fn write(dir: &DurableDir, lock: &DirLock, kept: &mut Kept) -> Result<(), ClientsError> {
    kept.other
        .entry("schemaVersion")
        .or_insert_with(|| 1.into());
    let mut bytes = serde_json::to_vec_pretty(kept)
        .map_err(|error| ClientsError::Damaged(error.to_string()))?;
    bytes.push(b'\n');
    Ok(dir.write(lock, FILE, &bytes)?)
}
