//! What the record of a call says about what left: [`Exchange`], and the list of them, [`ExchangeLog`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};

use super::names::hex;

/// What the record of a call says about one hop: enough to see that something left, without what it was.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exchange {
    /// The method.
    pub method: String,
    /// The host and port.
    pub host: String,
    /// How long the URL was, in bytes.
    pub url_bytes: usize,
    /// SHA-256 of the URL, in hex.
    pub url_digest: String,
    /// The status, if an answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Bytes of the body that were sent.
    pub sent: u64,
    /// Bytes of the body that came, as they came.
    pub received: u64,
}

/// How many exchanges of one call are listed separately; further ones are counted together, so that a record stays a line.
const MAX_TOLD_APART: usize = 32;

/// The exchanges of a call, filled while they happen: a call that is stopped half-way still says what left. Clones share the list.
#[derive(Debug, Clone, Default)]
pub struct ExchangeLog(Arc<Mutex<NotedExchanges>>);

#[derive(Debug, Default)]
struct NotedExchanges {
    told_apart: Vec<Noted>,
    /// The rest in one.
    others: Option<(u64, Noted)>,
    /// Bytes that left, heads included.
    left: u64,
}

/// One exchange that is under way.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct Noted(Arc<Mutex<Exchange>>);

impl ExchangeLog {
    /// Notes that a request is about to be made, of which nothing was sent so far.
    #[doc(hidden)]
    pub fn begin(&self, method: &str, url: &str, host: String) -> Noted {
        self.push(Exchange {
            method: method.to_owned(),
            host,
            url_bytes: url.len(),
            url_digest: hex(&Sha256::digest(url)),
            status: None,
            sent: 0,
            received: 0,
        })
    }

    /// Notes an exchange.
    #[doc(hidden)]
    pub fn push(&self, exchange: Exchange) -> Noted {
        let mut kept = lock(&self.0);
        if kept.told_apart.len() < MAX_TOLD_APART {
            let noted = Noted(Arc::new(Mutex::new(exchange)));
            kept.told_apart.push(noted.clone());
            return noted;
        }
        let (count, noted) = kept.others.get_or_insert_with(|| {
            let none = Exchange {
                method: "*".to_owned(),
                host: String::new(),
                url_bytes: 0,
                url_digest: String::new(),
                status: None,
                sent: 0,
                received: 0,
            };
            (0, Noted(Arc::new(Mutex::new(none))))
        });
        *count += 1;
        {
            let mut others = lock(&noted.0);
            others.host = format!("{count} more");
            others.url_bytes = others.url_bytes.saturating_add(exchange.url_bytes);
            others.sent = others.sent.saturating_add(exchange.sent);
            others.received = others.received.saturating_add(exchange.received);
        }
        noted.clone()
    }

    /// Counts the bytes of a request that is about to be made, its head included.
    #[doc(hidden)]
    pub fn leaves(&self, bytes: u64) {
        let mut kept = lock(&self.0);
        kept.left = kept.left.saturating_add(bytes);
    }

    /// How many bytes left so far, heads included.
    #[doc(hidden)]
    pub fn left(&self) -> u64 {
        lock(&self.0).left
    }

    /// How many bytes of bodies came so far, those of answers that broke off and of redirections included.
    #[doc(hidden)]
    pub fn received(&self) -> u64 {
        let kept = lock(&self.0);
        let others = kept.others.as_ref().map(|(_, others)| others);
        let all = kept.told_apart.iter().chain(others);
        all.fold(0, |sum, noted| sum.saturating_add(noted.bytes_received()))
    }

    /// The exchanges so far.
    pub fn exchanges(&self) -> Vec<Exchange> {
        let kept = lock(&self.0);
        let others = kept.others.as_ref().map(|(_, others)| others);
        kept.told_apart
            .iter()
            .chain(others)
            .map(Noted::exchange)
            .collect()
    }
}

impl Noted {
    #[doc(hidden)]
    pub fn answered(&self, status: u16) {
        let mut exchange = lock(&self.0);
        if exchange.method != "*" {
            exchange.status = Some(status);
        }
    }

    #[doc(hidden)]
    pub fn sent(&self, bytes: u64) {
        let mut exchange = lock(&self.0);
        exchange.sent = exchange.sent.saturating_add(bytes);
    }

    #[doc(hidden)]
    pub fn received(&self, bytes: u64) {
        let mut exchange = lock(&self.0);
        exchange.received = exchange.received.saturating_add(bytes);
    }

    #[doc(hidden)]
    pub fn bytes_received(&self) -> u64 {
        lock(&self.0).received
    }

    pub(crate) fn exchange(&self) -> Exchange {
        lock(&self.0).clone()
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_recorded_by_length_and_digest_and_many_exchanges_as_one() {
        let log = ExchangeLog::default();
        let url = "https://example.test/?d=SENTINEL";
        for _ in 0..MAX_TOLD_APART + 3 {
            let noted = log.begin("POST", url, "example.test:443".to_owned());
            noted.sent(5);
            noted.answered(200);
            noted.received(7);
        }
        let exchanges = log.exchanges();
        assert_eq!(exchanges.len(), MAX_TOLD_APART + 1);
        assert_eq!(
            exchanges[0],
            Exchange {
                method: "POST".to_owned(),
                host: "example.test:443".to_owned(),
                url_bytes: 32,
                url_digest: hex(&Sha256::digest("https://example.test/?d=SENTINEL")),
                status: Some(200),
                sent: 5,
                received: 7,
            }
        );
        let rest = exchanges.last().unwrap();
        assert_eq!(
            (rest.host.as_str(), rest.sent, rest.received),
            ("3 more", 15, 21)
        );
        assert!(
            !serde_json::to_string(&exchanges)
                .unwrap()
                .contains("SENTINEL")
        );
    }
}
