//! Clients: names with a token each, for programs that may call tools and nothing else.
//!
//! The file `clients.json` of the home holds digests of tokens, never tokens. Every process reads it for itself and sees what others
//! change: a client that was removed is refused at its next request. A writer holds the home's lock; fields of other versions survive.
//!
//! A name can be had again, what was its former client's cannot: calls, questions and grants are bound to the caller, which is the name
//! for the first client that has it and `NAME#2` for the second. No name has a `#` in it. The names of the last
//! [`MAX_RETIRED`] that were removed are kept with how often; of all others at most so many as of the one forgotten last are assumed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolcrib::storage::{DirLock, DurableDir, Followed, Stamp, Stamps, StorageError};
use toolcrib::{ErrorCode, ToolError};

use super::digest::{TokenDigest, new_token};

/// The file of the home.
const FILE: &str = "clients.json";
/// How large the file may be: more than the most clients take.
const MAX_BYTES: u64 = 1024 * 1024;
/// How many clients there may be.
const MAX_CLIENTS: usize = 1000;
/// How many names of removed clients are kept.
const MAX_RETIRED: usize = 4096;
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
    /// Whether the person at it is asked by MCP's elicitation when its calls need an approval. It is the client's word that a person
    /// answered: without it, its questions go to the queue alone.
    #[serde(default)]
    pub elicitation: bool,
}

/// A client that was just made. This is the only time its token is shown.
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
        "`{FILE}` in Toolcrib's home directory cannot be read: {0}; mend it, or remove it and make the clients again"
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
        let error = match error {
            ClientsError::Storage(error) => return error.into(),
            other => other,
        };
        let code = match &error {
            ClientsError::Name(_) => ErrorCode::Usage,
            ClientsError::Exists(_) | ClientsError::TooMany => ErrorCode::Conflict,
            ClientsError::Unknown(_) => ErrorCode::NotFound,
            ClientsError::Damaged(_) | ClientsError::Random(_) | ClientsError::Storage(_) => {
                ErrorCode::StorageError
            }
        };
        ToolError::new(code, error.to_string()).caused_by(error)
    }
}

/// What the file holds.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientsFile {
    clients: Vec<KeptClient>,
    /// Names that were removed, the last one last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    retired: Vec<Retired>,
    /// How often any name may have been removed that is not among those.
    #[serde(default, skip_serializing_if = "is_zero")]
    forgotten: u64,
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptClient {
    #[serde(flatten)]
    client: Client,
    /// The SHA-256 of the token, in hexadecimal digits.
    digest: String,
    /// How many clients had its name before.
    #[serde(default, skip_serializing_if = "is_zero")]
    before: u64,
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl KeptClient {
    /// What its calls, questions and grants are bound to.
    fn caller(&self) -> String {
        match self.before {
            0 => self.client.name.clone(),
            before => format!("{}#{}", self.client.name, before.saturating_add(1)),
        }
    }
}

/// A name that clients had.
#[derive(Debug, Serialize, Deserialize)]
struct Retired {
    name: String,
    /// How many of them were removed.
    times: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl ClientsFile {
    /// How many clients had this name and were removed.
    fn removed(&self, name: &str) -> u64 {
        let known = self.retired.iter().find(|retired| retired.name == name);
        known.map_or(self.forgotten, |retired| retired.times)
    }

    fn retire(&mut self, client: &KeptClient) {
        let name = client.client.name.clone();
        let times = client.before.saturating_add(1);
        self.retired.retain(|retired| retired.name != name);
        self.retired.push(Retired { name, times });
        let too_many = self.retired.len().saturating_sub(MAX_RETIRED);
        for forgotten in self.retired.drain(..too_many) {
            self.forgotten = self.forgotten.max(forgotten.times);
        }
    }
}

/// The clients of a home, shared by every process that serves it. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Clients(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    home: PathBuf,
    known: Mutex<Followed<Arc<HashMap<TokenDigest, Holder>>>>,
}

/// Whose a token is.
#[derive(Debug)]
struct Holder {
    caller: String,
    is_asked: bool,
}

impl Clients {
    /// The clients of a home.
    pub fn of_home(home: &Path) -> Self {
        Clients(Arc::new(Shared {
            home: home.to_owned(),
            known: Mutex::default(),
        }))
    }

    /// Makes a client and its token.
    pub fn add(&self, name: &str) -> Result<NewClient, ClientsError> {
        self.add_with(name, false)
    }

    /// Makes a client and its token; whether the person at it is asked ([`Client::elicitation`]) is for the operator to say.
    pub fn add_with(&self, name: &str, elicitation: bool) -> Result<NewClient, ClientsError> {
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
            elicitation,
        };
        kept.clients.push(KeptClient {
            client: client.clone(),
            digest: TokenDigest::of(&token).to_hex(),
            before: kept.removed(name),
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

    /// Takes the tokens of clients back: of all, or of none if one of them is unknown. Returns which callers they were; what is
    /// left of those is for [`remove_clients`](super::remove_clients) to take back.
    pub(super) fn remove_all(&self, names: &[String]) -> Result<Vec<String>, ClientsError> {
        let unknown = |name: &String| ClientsError::Unknown(name.clone());
        // A home that is not there is not made for this.
        let Some(dir) = DurableDir::open(&self.0.home)? else {
            return names
                .first()
                .map_or(Ok(Vec::new()), |name| Err(unknown(name)));
        };
        let lock = dir.lock()?;
        let mut kept = read(&dir)?;
        let is_there = |name: &&String| kept.clients.iter().any(|kept| kept.client.name == **name);
        if let Some(name) = names.iter().find(|name| !is_there(name)) {
            return Err(unknown(name));
        }
        let (gone, stay) = std::mem::take(&mut kept.clients)
            .into_iter()
            .partition::<Vec<_>, _>(|kept| names.contains(&kept.client.name));
        kept.clients = stay;
        for client in &gone {
            kept.retire(client);
        }
        write(&dir, &lock, &mut kept)?;
        Ok(gone.iter().map(KeptClient::caller).collect())
    }

    /// The caller that a client is, by its name or as the caller itself; none if there is no such client.
    pub fn caller(&self, word: &str) -> Result<Option<String>, ClientsError> {
        let Some(dir) = DurableDir::open(&self.0.home)? else {
            return Ok(None);
        };
        let kept = read(&dir)?.clients.into_iter();
        Ok(kept
            .map(|kept| (kept.caller(), kept.client.name))
            .find(|(caller, name)| name == word || caller == word)
            .map(|(caller, _)| caller))
    }

    /// Which caller's token has this digest. A file that cannot be read knows no one; why goes to the log, once for each state of the
    /// file.
    pub(super) fn caller_of(&self, digest: &TokenDigest) -> Option<String> {
        let callers = self.callers();
        callers.get(digest).map(|there| there.caller.clone())
    }

    /// Whether there is a client that is this caller.
    pub(crate) fn stands(&self, caller: &str) -> bool {
        let callers = self.callers();
        callers.values().any(|there| there.caller == caller)
    }

    /// Whether the person at the client that is this caller is asked by elicitation.
    pub(crate) fn is_asked(&self, caller: &str) -> bool {
        let callers = self.callers();
        callers
            .values()
            .any(|there| there.caller == caller && there.is_asked)
    }

    fn callers(&self) -> Arc<HashMap<TokenDigest, Holder>> {
        // A slow disk holds up this request, and not those that wait for the lock.
        let stamps = Stamps::new([Stamp::of_entry(&self.0.home.join(FILE))]);
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(callers) = known.current(&stamps) {
            return Arc::clone(callers);
        }
        let callers = self.read_callers().unwrap_or_else(|error| {
            if known.is_other(&stamps) {
                eprintln!("toolcrib: no client is let in: {error}");
            }
            HashMap::new()
        });
        Arc::clone(known.set(stamps, Arc::new(callers)))
    }

    fn read_callers(&self) -> Result<HashMap<TokenDigest, Holder>, ClientsError> {
        let Some(dir) = DurableDir::open(&self.0.home)? else {
            return Ok(HashMap::new());
        };
        let by_digest = |kept: KeptClient| {
            let digest = TokenDigest::from_hex(&kept.digest);
            let known = Holder {
                caller: kept.caller(),
                is_asked: kept.client.elicitation,
            };
            digest.map(|digest| (digest, known))
        };
        Ok(read(&dir)?
            .clients
            .into_iter()
            .filter_map(by_digest)
            .collect())
    }
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

fn read(dir: &DurableDir) -> Result<ClientsFile, ClientsError> {
    let Some(bytes) = dir.read_own(FILE, MAX_BYTES)? else {
        return Ok(ClientsFile::default());
    };
    let damaged = |problem: String| ClientsError::Damaged(problem);
    let kept: ClientsFile =
        serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    for client in &kept.clients {
        check_name(&client.client.name).map_err(|error| damaged(error.to_string()))?;
        if TokenDigest::from_hex(&client.digest).is_none() {
            let name = &client.client.name;
            return Err(damaged(format!("`{name}` has no digest of a token")));
        }
    }
    Ok(kept)
}

fn write(dir: &DurableDir, lock: &DirLock, kept: &mut ClientsFile) -> Result<(), ClientsError> {
    kept.other
        .entry("schemaVersion")
        .or_insert_with(|| 1.into());
    let mut bytes = serde_json::to_vec_pretty(kept)
        .map_err(|error| ClientsError::Damaged(error.to_string()))?;
    bytes.push(b'\n');
    Ok(dir.write(lock, FILE, &bytes)?)
}
