//! What a client carries between a question and its answer, since 2026-07-28: [`State`], sealed so that it comes back as it went.
//!
//! It holds nothing secret, so it is signed (HMAC-SHA256) and not encrypted. The key is the home's: a random file of mode 0600, so that
//! a state is good after a restart and in another process of the same home, and nowhere else. The state names the principal, tool and
//! arguments by a digest, and each question with the digest of what was shown. It cannot be used twice: a question is not
//! answered twice, be it one of the approval queue or a tool's, and a call that is over is not begun again (`once`).

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use toolcrib::storage::{DurableDir, StorageError};

/// The file of the home that has the key.
const FILE: &str = "mcp-seal";
/// How many bytes a key has.
const KEY: usize = 32;
/// The longest state that is looked at.
const MAX_STATE: usize = 64 * 1024;

/// What there is to know about a request that was answered with questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// Which request it was: see [`toolcrib::model::digest::of_call`].
    pub(super) request: String,
    /// The call that waits.
    pub(super) call: String,
    /// The questions.
    pub(super) questions: Vec<Sealed>,
    /// Until when it counts, in Unix seconds. What counts in the end is the queue's own clock.
    pub(super) expires: i64,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sealed {
    /// The key under which it was put to the client.
    pub(super) key: String,
    /// Its id in the queue.
    pub(super) id: String,
    /// The digest of what was shown, if it asks for an approval.
    pub(super) digest: Option<String>,
}

/// Why a state is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadState {
    /// It is not one that was made here.
    #[error("`requestState` was not made by this server; call again without it to be asked again")]
    Forged,
    /// Its time is over.
    #[error(
        "`requestState` has expired; the question has lapsed. Call again without it to be asked again"
    )]
    Expired,
    /// It belongs to something else.
    #[error(
        "`requestState` belongs to another request: it is bound to who asked, to the tool and to its arguments. Call again without it to be asked again"
    )]
    OfAnother,
}

/// Seals and opens states with a home's key.
pub(super) struct Seal([u8; KEY]);

impl Seal {
    /// The key of a home, made at first use. Blocks.
    pub(super) fn of_home(home: &Path) -> Result<Self, StorageError> {
        let dir = DurableDir::create(home)?;
        if let Some(seal) = Self::read(&dir)? {
            return Ok(seal);
        }
        let mut key = [0; KEY];
        rustls::crypto::ring::default_provider()
            .secure_random
            .fill(&mut key)
            .map_err(|_| broken("the system gives no random numbers"))?;
        let lock = dir.lock()?;
        match dir.create_new(&lock, FILE, &key) {
            Ok(()) => Ok(Seal(key)),
            // Another process was faster.
            Err(StorageError::Exists { .. }) => {
                Self::read(&dir)?.ok_or_else(|| broken("it was there and is not any more"))
            }
            Err(error) => Err(error),
        }
    }

    fn read(dir: &DurableDir) -> Result<Option<Self>, StorageError> {
        let Some(bytes) = dir.read_own(FILE, KEY as u64)? else {
            return Ok(None);
        };
        let key = bytes.try_into();
        key.map(|key| Some(Seal(key)))
            .map_err(|_| broken("it is not a key; remove it to have a new one made"))
    }

    /// A state as text that only this home can have made.
    pub(super) fn close(&self, state: &State) -> Option<String> {
        let body = BASE64.encode(serde_json::to_vec(state).ok()?);
        let mac = self.mac(&body)?.finalize().into_bytes();
        Some(format!("{body}.{}", BASE64.encode(mac)))
    }

    /// The state of a text, if it was made here, for this request, and not too long ago.
    pub(super) fn open(&self, text: &str, request: &str, now: i64) -> Result<State, BadState> {
        let parts = text.split_once('.').filter(|_| text.len() <= MAX_STATE);
        let (body, mac) = parts.ok_or(BadState::Forged)?;
        let mac = BASE64.decode(mac).map_err(|_| BadState::Forged)?;
        let expected = self.mac(body).ok_or(BadState::Forged)?;
        expected.verify_slice(&mac).map_err(|_| BadState::Forged)?;
        let body = BASE64.decode(body).map_err(|_| BadState::Forged)?;
        let state: State = serde_json::from_slice(&body).map_err(|_| BadState::Forged)?;
        if state.request != request {
            return Err(BadState::OfAnother);
        }
        if state.expires < now {
            return Err(BadState::Expired);
        }
        Ok(state)
    }

    fn mac(&self, body: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        // Nothing else that is ever signed with this key begins so.
        mac.update(b"toolcrib mcp request state 1\n");
        mac.update(body.as_bytes());
        Some(mac)
    }
}

fn broken(why: &'static str) -> StorageError {
    StorageError::Io {
        doing: "use",
        name: FILE.to_owned(),
        cause: std::io::Error::other(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State {
            request: "r".to_owned(),
            call: "c".to_owned(),
            questions: vec![Sealed {
                key: "approval".to_owned(),
                id: "q".to_owned(),
                digest: Some("d".to_owned()),
            }],
            expires: 100,
        }
    }

    #[test]
    fn a_state_comes_back_after_a_restart_and_to_no_one_else() {
        let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let text = Seal::of_home(home.path()).unwrap().close(&state()).unwrap();
        let again = Seal::of_home(home.path()).unwrap();
        assert_eq!(again.open(&text, "r", 100), Ok(state()));
        assert_eq!(again.open(&text, "r", 101), Err(BadState::Expired));
        assert_eq!(again.open(&text, "x", 100), Err(BadState::OfAnother));
        let foreign = Seal::of_home(other.path()).unwrap();
        assert_eq!(foreign.open(&text, "r", 100), Err(BadState::Forged));
    }

    #[test]
    fn every_changed_character_breaks_the_seal() {
        let home = tempfile::tempdir().unwrap();
        let seal = Seal::of_home(home.path()).unwrap();
        let text = seal.close(&state()).unwrap();
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            // The last digit of base64 has bits that stand for nothing; the decoder refuses those.
            assert!(seal.open(&changed, "r", 0).is_err(), "{at}");
        }
        for odd in [
            "",
            ".",
            "a.b",
            &format!("{text}-TAMPERED"),
            &format!("{text}.x"),
            &text[1..],
        ] {
            assert_eq!(seal.open(odd, "r", 0), Err(BadState::Forged), "{odd}");
        }
    }

    #[test]
    fn the_key_is_no_one_elses_to_read() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        Seal::of_home(home.path()).unwrap();
        let mode = home.path().join(FILE).metadata().unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
}
