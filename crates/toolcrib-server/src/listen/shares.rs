//! How many of the connections one client may keep busy: [`Shares`].
//!
//! Requests that take long and that the client takes the answers of, such as those that wait for a call, hold their connections
//! rightfully, so none of them makes room for anybody. Therefore a client has no more of them at once than three quarters of the
//! connections that others leave: one client never fills a server, nor do a few together. A client without a token cannot start long work.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderValue, header};
use toolcrib::{ErrorCode, ToolError};

use crate::api::Refusal;
use crate::auth::Principal;

/// How many clients are remembered before those with nothing to do are forgotten.
const REMEMBERED: usize = 256;

/// The connections that are busy, by client.
#[derive(Debug)]
pub(super) struct Shares {
    connections: usize,
    busy: AtomicUsize,
    operator: Arc<AtomicUsize>,
    clients: Mutex<HashMap<String, Arc<AtomicUsize>>>,
}

/// One busy connection of a client. Gives its share back.
#[derive(Debug)]
pub(super) struct Share {
    shares: Arc<Shares>,
    own: Arc<AtomicUsize>,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.own.fetch_sub(1, Ordering::Relaxed);
        self.shares.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shares {
    /// Of so many connections.
    pub(super) fn of(connections: usize) -> Self {
        Shares {
            connections,
            busy: AtomicUsize::new(0),
            operator: Arc::default(),
            clients: Mutex::default(),
        }
    }

    /// Counts a request, unless its client has its share already.
    pub(super) fn take(self: &Arc<Self>, principal: &Principal) -> Result<Share, Refusal> {
        let own = match principal {
            Principal::Client(name) => self.client(name),
            Principal::Operator | Principal::Nobody => Arc::clone(&self.operator),
        };
        let before = own.fetch_add(1, Ordering::Relaxed);
        let all = self.busy.fetch_add(1, Ordering::Relaxed);
        let share = Share {
            shares: Arc::clone(self),
            own,
        };
        let left = self.connections.saturating_sub(all.saturating_sub(before));
        // One is for everybody: it has a connection.
        let most = (left - left / 4).max(1);
        match before < most {
            true => Ok(share),
            false => Err(refusal(before)),
        }
    }

    fn client(&self, name: &str) -> Arc<AtomicUsize> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = clients.get(name) {
            return Arc::clone(own);
        }
        if clients.len() >= REMEMBERED {
            clients.retain(|_, own| Arc::strong_count(own) > 1);
        }
        Arc::clone(clients.entry(name.to_owned()).or_default())
    }
}

fn refusal(busy: usize) -> Refusal {
    let message = format!(
        "{busy} requests of this client are being answered, which is its share of the connections (`server.maxConnections`); retry when one has ended"
    );
    let error = ToolError::new(ErrorCode::RateLimited, message).with_detail("retryAfterMs", 1000);
    Refusal::from(error).with_header(header::RETRY_AFTER, HeaderValue::from_static("1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_one_takes_what_others_need() {
        let shares = Arc::new(Shares::of(16));
        let client = |name: &str| Principal::Client(name.to_owned());
        let fill = |principal: &Principal| {
            let mut held = Vec::new();
            while let Ok(share) = shares.take(principal) {
                held.push(share);
            }
            held
        };
        let greedy = fill(&client("greedy"));
        assert_eq!(greedy.len(), 12);
        let second = fill(&client("second"));
        assert_eq!(second.len(), 3);
        assert_eq!(fill(&Principal::Operator).len(), 1);
        drop(greedy);
        assert_eq!(fill(&client("second")).len(), 9);
        drop(second);
        assert_eq!(
            shares.busy.load(Ordering::Relaxed),
            0,
            "what is refused is not counted"
        );
    }

    #[test]
    fn the_only_connection_can_be_used() {
        let shares = Arc::new(Shares::of(1));
        let share = shares.take(&Principal::Operator).unwrap();
        assert_eq!(shares.take(&Principal::Operator).unwrap_err().status(), 429);
        drop(share);
        assert!(shares.take(&Principal::Operator).is_ok());
    }

    #[test]
    fn clients_that_are_gone_are_forgotten() {
        let shares = Arc::new(Shares::of(10_000));
        for number in 0..REMEMBERED * 3 {
            shares.take(&Principal::Client(number.to_string())).unwrap();
        }
        assert!(shares.clients.lock().unwrap().len() <= REMEMBERED);
    }
}
