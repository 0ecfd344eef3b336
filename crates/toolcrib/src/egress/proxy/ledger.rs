//! [`Ledger`]: what went over, for the record of the call. Open entries count as they go, so that it can be read at any time.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::egress::client::Exchange;

/// How many exchanges are told apart; what comes after is counted in one.
const MOST: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Vec<Arc<Entry>>>);

/// One exchange under way.
#[derive(Debug)]
pub(super) struct Entry {
    method: String,
    host: String,
    url_bytes: usize,
    url_digest: String,
    /// 0 for none yet.
    status: AtomicU16,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Ledger {
    /// Begins an exchange.
    pub(super) fn open(&self, method: &str, host: &str, url: &str) -> Arc<Entry> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() > MOST
            && let Some(rest) = entries.last()
        {
            return Arc::clone(rest);
        }
        let entry = if entries.len() == MOST {
            Entry::new("…", "others", "")
        } else {
            Entry::new(method, host, url)
        };
        let entry = Arc::new(entry);
        entries.push(Arc::clone(&entry));
        entry
    }

    /// What is known now.
    pub(super) fn exchanges(&self) -> Vec<Exchange> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().map(|entry| entry.exchange()).collect()
    }
}

impl Entry {
    fn new(method: &str, host: &str, url: &str) -> Self {
        let digest = Sha256::digest(url.as_bytes());
        Entry {
            method: method.to_owned(),
            host: host.to_owned(),
            url_bytes: url.len(),
            url_digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            status: AtomicU16::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
        }
    }

    pub(super) fn answered(&self, status: http::StatusCode) {
        self.status.store(status.as_u16(), Ordering::Relaxed);
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn exchange(&self) -> Exchange {
        let status = self.status.load(Ordering::Relaxed);
        Exchange {
            method: self.method.clone(),
            host: self.host.clone(),
            url_bytes: self.url_bytes,
            url_digest: self.url_digest.clone(),
            status: (status != 0).then_some(status),
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_exchanges_than_are_told_apart_are_counted_together() {
        let ledger = Ledger::default();
        for n in 0..MOST + 50 {
            let entry = ledger.open("GET", &format!("h{n}:80"), "http://h/");
            entry.sent(1);
            entry.received(2);
        }
        let exchanges = ledger.exchanges();
        assert_eq!(exchanges.len(), MOST + 1);
        let rest = exchanges.last().unwrap();
        assert_eq!(
            (rest.host.as_str(), rest.sent, rest.received),
            ("others", 50, 100)
        );
        assert_eq!((exchanges[0].url_bytes, exchanges[0].status), (9, None));
    }
}
