//! The one-time link: a signed text that names a question, what it showed, and the channel it was sent by: [`Links`].
//!
//! The key is the home's, a random file of mode 0600. A link is good for the arguments that the question had when it was sent, by their
//! digest, until the question lapses; since a question is answered once, a link is used once. It holds nothing secret, but anyone who has it
//! may answer: that is what it is for.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::approval::Queued;
use crate::storage::{DurableDir, StorageError};

/// The file of the home that has the key.
const FILE: &str = "notify-seal";
const KEY: usize = 32;
/// What of a digest is in a link, and how long the signature is.
const DIGEST: usize = 16;
const MAC: usize = 32;
/// How long a link is good whose question does not say, in seconds.
const LASTS: i64 = 3600;
/// What there is before the channel's name: the question, the end, the digest.
const HEAD: usize = 16 + 8 + DIGEST;
/// The longest link that is looked at.
const MAX_LINK: usize = 400;

/// Makes and reads the one-time links of a home.
#[derive(Debug, Clone)]
pub struct Links {
    home: PathBuf,
}

/// What a link is good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneTime {
    /// The question.
    pub id: String,
    /// The channel that it was sent by.
    pub channel: String,
    digest: [u8; DIGEST],
}

/// Why a link is not good.
#[derive(Debug, thiserror::Error)]
pub enum BadLink {
    /// It was not made here, or is not whole.
    #[error("this link is not valid; open it as it was sent")]
    Forged,
    /// Its time is over.
    #[error("this link has expired, and so has its question")]
    Expired,
    /// The home cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl OneTime {
    /// Whether a question still shows what it showed when the link was sent.
    pub fn is_about(&self, question: &Queued) -> bool {
        self.id == question.request.id && self.digest == digest_of(question)
    }
}

impl Links {
    /// Of a home.
    pub fn of_home(home: &Path) -> Self {
        Links {
            home: home.to_owned(),
        }
    }

    /// A link for a question, sent by a channel: the text behind `link=`.
    pub fn make(&self, question: &Queued, channel: &str) -> Result<Option<String>, StorageError> {
        // A question that no call waits for has another kind of id, and is answered in the page.
        let Ok(id) = Uuid::try_parse(&question.request.id) else {
            return Ok(None);
        };
        let ends = question
            .request
            .expires_at
            .map_or_else(|| Timestamp::now().as_second() + LASTS, |at| at.as_second());
        let mut bytes = Vec::with_capacity(HEAD + channel.len() + MAC);
        bytes.extend_from_slice(id.as_bytes());
        bytes.extend_from_slice(&ends.to_be_bytes());
        bytes.extend_from_slice(&digest_of(question));
        bytes.extend_from_slice(channel.as_bytes());
        let mac = mac(&self.key()?, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&mac);
        Ok(Some(BASE64.encode(bytes)))
    }

    /// What a link is good for.
    pub fn read(&self, link: &str, now: Timestamp) -> Result<OneTime, BadLink> {
        if link.len() > MAX_LINK {
            return Err(BadLink::Forged);
        }
        let bytes = BASE64.decode(link).map_err(|_| BadLink::Forged)?;
        let at = bytes.len().checked_sub(MAC).filter(|at| *at > HEAD);
        let (signed, given) = bytes.split_at(at.ok_or(BadLink::Forged)?);
        let key = self.known_key()?.ok_or(BadLink::Forged)?;
        mac(&key, signed)
            .verify_slice(given)
            .map_err(|_| BadLink::Forged)?;
        let (id, rest) = signed.split_at(16);
        let (ends, rest) = rest.split_at(8);
        let (digest, channel) = rest.split_at(DIGEST);
        let forged = |_| BadLink::Forged;
        let ends = i64::from_be_bytes(ends.try_into().map_err(forged)?);
        if ends < now.as_second() {
            return Err(BadLink::Expired);
        }
        Ok(OneTime {
            id: Uuid::from_slice(id)
                .map_err(|_| BadLink::Forged)?
                .hyphenated()
                .to_string(),
            channel: String::from_utf8_lossy(channel).into_owned(),
            digest: digest.try_into().map_err(forged)?,
        })
    }

    /// The key, made at first use.
    fn key(&self) -> Result<[u8; KEY], StorageError> {
        let dir = DurableDir::create(&self.home)?;
        if let Some(key) = self.known_key()? {
            return Ok(key);
        }
        let mut hash = Sha256::new();
        for _ in 0..4 {
            hash.update(Uuid::new_v4().as_bytes());
        }
        let key: [u8; KEY] = hash.finalize().into();
        let lock = dir.lock()?;
        match dir.create_new(&lock, FILE, &key) {
            Ok(()) => Ok(key),
            // Another process was faster.
            Err(StorageError::Exists { .. }) => self
                .known_key()?
                .ok_or_else(|| broken("it was there and is not any more")),
            Err(error) => Err(error),
        }
    }

    fn known_key(&self) -> Result<Option<[u8; KEY]>, StorageError> {
        let Some(dir) = DurableDir::open(&self.home)? else {
            return Ok(None);
        };
        let Some(bytes) = dir.read_own(FILE, KEY as u64)? else {
            return Ok(None);
        };
        let key = bytes.try_into();
        key.map(Some)
            .map_err(|_| broken("it is not a key; remove it to have a new one made"))
    }
}

fn digest_of(question: &Queued) -> [u8; DIGEST] {
    let whole: [u8; 32] = Sha256::digest(question.request.args_digest.as_bytes()).into();
    let mut short = [0; DIGEST];
    short.copy_from_slice(&whole[..DIGEST]);
    short
}

fn mac(key: &[u8; KEY], bytes: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    // Nothing else that is ever signed with this key begins so.
    mac.update(b"toolcrib one-time link 1\n");
    mac.update(bytes);
    mac
}

fn broken(why: &'static str) -> StorageError {
    StorageError::io("use", FILE, std::io::Error::other(why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn question(digest: &str) -> Queued {
        serde_json::from_value(json!({
            "id": "0197f9a0-aaaa-7000-8000-00000000abcd", "stepId": "1", "callId": "c", "tool": "shell", "args": {}, "reason": "",
            "effect": "", "argsDigest": digest, "expiresAt": "2026-01-01T00:00:00Z", "status": "pending", "waiting": true,
        }))
        .unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_link_is_good_for_one_question_as_it_was_until_it_lapses() {
        let home = tempfile::tempdir().unwrap();
        let links = Links::of_home(home.path());
        let link = links.make(&question("d1"), "phone").unwrap().unwrap();
        let read = Links::of_home(home.path())
            .read(&link, at("2025-12-31T00:00:00Z"))
            .unwrap();
        assert_eq!(
            (read.id.as_str(), read.channel.as_str()),
            ("0197f9a0-aaaa-7000-8000-00000000abcd", "phone")
        );
        assert!(read.is_about(&question("d1")) && !read.is_about(&question("d2")));
        assert!(matches!(
            links.read(&link, at("2026-01-01T00:00:01Z")),
            Err(BadLink::Expired)
        ));
    }

    #[test]
    fn a_changed_link_and_one_of_another_home_are_not_valid() {
        let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let links = Links::of_home(home.path());
        let link = links.make(&question("d"), "phone").unwrap().unwrap();
        let now = at("2025-12-31T00:00:00Z");
        for place in 0..link.len() {
            let mut bytes = link.clone().into_bytes();
            bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(links.read(&changed, now).is_err(), "{place}");
        }
        for odd in ["", "x", &link[4..], &format!("{link}A"), &"A".repeat(5000)] {
            assert!(
                matches!(links.read(odd, now), Err(BadLink::Forged)),
                "{odd}"
            );
        }
        assert!(matches!(
            Links::of_home(other.path()).read(&link, now),
            Err(BadLink::Forged)
        ));
        Links::of_home(other.path())
            .make(&question("d"), "phone")
            .unwrap();
        assert!(matches!(
            Links::of_home(other.path()).read(&link, now),
            Err(BadLink::Forged)
        ));
    }

    #[test]
    fn the_key_is_no_one_elses_to_read() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        Links::of_home(home.path())
            .make(&question("d"), "phone")
            .unwrap();
        let mode = home.path().join(FILE).metadata().unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
}
