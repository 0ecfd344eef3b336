//! Bearer tokens: the operator's in the file `token` of the home, callers' as digests in [`Clients`].
//!
//! The operator's token is read once, when the server starts: to change it, remove the file and start the server again.
//! What a request carries is hashed once and compared with digests only.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use http::{HeaderMap, HeaderValue, Method, header};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use toolcrib::ErrorCode;
use toolcrib::storage::{DurableDir, StorageError};

use super::browsers::{Browsers, KEY};
use super::clients::Clients;
use super::digest::{TokenDigest, new_token, problem_of};
use crate::api::Refusal;

/// The file of the home.
const FILE: &str = "token";
/// The shortest token, in characters.
pub(super) const MIN_TOKEN: usize = 16;
/// The longest token, in bytes; a longer one in a request is not even hashed.
pub(super) const MAX_TOKEN: usize = 512;

/// The principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// No one in particular: no token was asked for.
    Nobody,
    /// The operator of this server.
    Operator,
    /// A client, by its name, or `NAME#2` for the second one of this name. It may list, search and call, and never approve.
    Client(String),
}

/// Why there is no token to check by.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The one given (`TOOLCRIB_TOKEN`) will not do.
    #[error(
        "`TOOLCRIB_TOKEN` cannot be the token: {0}; unset it to use the one in Toolcrib's home directory"
    )]
    Given(&'static str),
    /// The contents of the file are not usable.
    #[error(
        "`{FILE}` in Toolcrib's home directory does not hold a token: {0}; remove the file to have a new one made"
    )]
    Content(&'static str),
    /// The file is not one that can be trusted.
    #[error("`{FILE}` in Toolcrib's home directory is not safe: {0}")]
    Unsafe(&'static str),
    /// The file could not be read or made.
    #[error("the token cannot be read or made: {0}")]
    Storage(#[from] StorageError),
    /// The system has no random numbers.
    #[error("no token can be made: {0}")]
    Random(String),
}

/// The tokens that open this server.
#[derive(Debug, Clone)]
pub struct Tokens {
    /// None: no token is the operator's.
    operator: Option<TokenDigest>,
    clients: Clients,
    /// None: there is no operator to sign in as.
    browsers: Option<Browsers>,
}

impl Tokens {
    /// The operator's token is `given` (`TOOLCRIB_TOKEN`) or the one in the home, made on first use.
    pub fn open(home: &Path, given: Option<String>, clients: Clients) -> Result<Self, TokenError> {
        let operator = match given {
            Some(given) => match problem_of(&given) {
                None => given,
                Some(problem) => return Err(TokenError::Given(problem)),
            },
            None => match operator_token(home)? {
                Some(token) => token,
                None => make_operator_token(home)?,
            },
        };
        let operator = TokenDigest::of(&operator);
        Ok(Tokens {
            operator: Some(operator),
            clients,
            browsers: Some(Browsers::new(home, operator)),
        })
    }

    /// The tokens of clients alone: for a process that asks itself, which needs no token and makes none.
    pub fn of_clients(clients: Clients) -> Self {
        Tokens {
            operator: None,
            clients,
            browsers: None,
        }
    }

    /// The clients.
    pub fn clients(&self) -> &Clients {
        &self.clients
    }

    /// The browsers that are signed in as the operator; none in a process that has no operator's token.
    pub fn browsers(&self) -> Option<&Browsers> {
        self.browsers.as_ref()
    }

    /// Whether who asked before may still ask: a client's token may have been taken back.
    pub(crate) fn stands(&self, who: &Principal) -> bool {
        match who {
            Principal::Client(caller) => self.clients.stands(caller),
            Principal::Operator | Principal::Nobody => true,
        }
    }

    /// Whose token a request carries, or whose browser sends it.
    pub fn principal(&self, method: &Method, headers: &HeaderMap) -> Result<Principal, Refusal> {
        let is_browser = headers.contains_key(KEY) && !headers.contains_key(header::AUTHORIZATION);
        if let (true, Some(browsers)) = (is_browser, &self.browsers) {
            return browsers
                .check(method, headers)
                .map(|()| Principal::Operator);
        }
        let Some(token) = bearer(headers) else {
            let has_one = headers.contains_key(header::AUTHORIZATION);
            return Err(unauthenticated(match has_one {
                true => "the token is not one of this server",
                false => "the request has no token",
            }));
        };
        let digest = TokenDigest::of(token);
        if self.operator.as_ref().is_some_and(|own| digest.is(own)) {
            return Ok(Principal::Operator);
        }
        match self.clients.caller_of(&digest) {
            Some(caller) => Ok(Principal::Client(caller)),
            None => Err(unauthenticated("the token is not one of this server")),
        }
    }
}

/// The token of `Authorization: Bearer TOKEN`, if there is exactly one and it could be a token.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else {
        return None;
    };
    if value.len() > MAX_TOKEN + "Bearer ".len() {
        return None;
    }
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer");
    (is_bearer && problem_of(token).is_none()).then_some(token)
}

fn unauthenticated(why: &str) -> Refusal {
    Refusal::new(
        ErrorCode::Unauthenticated,
        format!(
            "{why}; send `Authorization: Bearer TOKEN` with the operator's token (`toolcrib serve` prints where it is), or one by `toolcrib clients add NAME`"
        ),
    )
    .with_header(
        header::WWW_AUTHENTICATE,
        HeaderValue::from_static("Bearer realm=\"toolcrib\""),
    )
}

/// The operator's token of a home, if one was made.
///
/// A file that others can read or write, that belongs to someone else or is a link is refused: its reader counts as the operator.
pub fn operator_token(home: &Path) -> Result<Option<String>, TokenError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let io = |cause: std::io::Error| StorageError::Io {
        doing: "read",
        name: FILE.to_owned(),
        cause,
    };
    let file = match rustix::fs::open(home.join(FILE), flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::LOOP) => {
            return Err(TokenError::Unsafe(
                "it is a link; put the token into a regular file with the mode 600",
            ));
        }
        Err(error) => return Err(io(error.into()).into()),
    };
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        return Err(TokenError::Unsafe(
            "it is not a regular file; move it out of Toolcrib's home directory",
        ));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(TokenError::Unsafe(
            "it belongs to another user; remove it to have a new one made",
        ));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(TokenError::Unsafe(
            "others may read or write it; remove it to have a new one made, or `chmod 600` it if no one else has read it",
        ));
    }
    let mut text = String::new();
    file.take(2 * MAX_TOKEN as u64)
        .read_to_string(&mut text)
        .map_err(io)?;
    let token = text.trim();
    match problem_of(token) {
        None => Ok(Some(token.to_owned())),
        Some(_) if token.is_empty() => Err(TokenError::Content("it is empty")),
        Some(problem) => Err(TokenError::Content(problem)),
    }
}

/// Makes the token of a home; if another process was faster, that one's is taken.
fn make_operator_token(home: &Path) -> Result<String, TokenError> {
    let token = new_token().map_err(TokenError::Random)?;
    let dir = DurableDir::create(home)?;
    let lock = dir.lock()?;
    match dir.create_new(&lock, FILE, format!("{token}\n").as_bytes()) {
        Ok(()) => Ok(token),
        Err(StorageError::Exists { .. }) => {
            operator_token(home)?.ok_or(TokenError::Content("it was there and is not any more"))
        }
        Err(error) => Err(error.into()),
    }
}
