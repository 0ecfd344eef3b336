//! Connections that are kept for the next request to the same target.
//!
//! A kept connection remembers the address it was dialled to, and is handed out only where that address would be dialled now: the
//! permission of one request does not outlive it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hyper::client::conn::http1::SendRequest;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::counted::Counted;
use crate::target::Target;

/// How long a connection is kept. Many servers close theirs after five seconds or more, and an address should not outlive its name by much.
const MAX_IDLE: Duration = Duration::from_secs(20);

/// How many connections are kept for one target, and for all of them.
const MAX_PER_TARGET: usize = 64;
const MAX_TOTAL: usize = 256;

/// A connection that speaks HTTP/1.1.
pub(super) struct Speaking {
    pub(super) sender: SendRequest<Counted>,
    /// The address it was dialled to; none behind a proxy.
    pub(super) address: Option<IpAddr>,
}

/// Kept connections. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Pool(Arc<Mutex<IdleConnections>>);

#[derive(Default)]
struct IdleConnections {
    connections: HashMap<Target, Vec<(Instant, Speaking)>>,
    total: usize,
    /// Closes connections that were idle for too long, while some are kept.
    sweeper: Option<JoinHandle<()>>,
}

impl Pool {
    /// Takes a connection to the target whose address is permitted, the one used last.
    pub(super) fn take(
        &self,
        target: &Target,
        is_permitted: impl Fn(Option<IpAddr>) -> bool,
    ) -> Option<Speaking> {
        let mut kept = self.lock();
        let found = kept.connections.get_mut(target)?;
        let now = Instant::now();
        let before = found.len();
        let mut taken = None;
        while let Some((since, speaking)) = found.pop() {
            if now - since > MAX_IDLE {
                // Those before it are older still.
                found.clear();
                break;
            }
            if speaking.sender.is_ready() && is_permitted(speaking.address) {
                taken = Some(speaking);
                break;
            }
        }
        let gone = before - found.len();
        if found.is_empty() {
            kept.connections.remove(target);
        }
        kept.total -= gone;
        taken
    }

    /// Keeps a connection whose answer was read to its end.
    pub(super) fn put(&self, target: Target, mut speaking: Speaking) {
        if speaking.sender.is_ready() {
            self.keep(target, speaking);
            return;
        }
        if speaking.sender.is_closed() {
            return;
        }
        // The other half has yet to notice that the answer is over.
        let pool = self.clone();
        tokio::spawn(async move {
            let ready = tokio::time::timeout(Duration::from_secs(1), speaking.sender.ready()).await;
            if let Ok(Ok(())) = ready {
                pool.keep(target, speaking);
            }
        });
    }

    fn keep(&self, target: Target, speaking: Speaking) {
        let mut kept = self.lock();
        let now = Instant::now();
        if kept.total >= MAX_TOTAL {
            kept.drop_old(now);
        }
        if kept.total >= MAX_TOTAL {
            return;
        }
        let of_target = kept.connections.entry(target).or_default();
        if of_target.len() >= MAX_PER_TARGET {
            return;
        }
        of_target.push((now, speaking));
        kept.total += 1;
        // It ends with the runtime that it was started in, and another one may come.
        if kept.sweeper.as_ref().is_none_or(JoinHandle::is_finished) {
            kept.sweeper = Some(tokio::spawn(sweep(Arc::downgrade(&self.0))));
        }
    }

    fn lock(&self) -> MutexGuard<'_, IdleConnections> {
        lock(&self.0)
    }
}

fn lock(kept: &Mutex<IdleConnections>) -> MutexGuard<'_, IdleConnections> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes connections that no one used for too long, until none is kept or the pool is gone.
async fn sweep(pool: Weak<Mutex<IdleConnections>>) {
    loop {
        tokio::time::sleep(MAX_IDLE / 4).await;
        let Some(pool) = pool.upgrade() else {
            return;
        };
        let mut kept = lock(&pool);
        kept.drop_old(Instant::now());
        if kept.total == 0 {
            kept.sweeper = None;
            return;
        }
    }
}

impl IdleConnections {
    fn drop_old(&mut self, now: Instant) {
        self.connections.retain(|_, found| {
            found.retain(|(since, speaking)| {
                now - *since <= MAX_IDLE && !speaking.sender.is_closed()
            });
            !found.is_empty()
        });
        self.total = self.connections.values().map(Vec::len).sum();
    }
}

#[cfg(test)]
mod tests {
    use hyper::client::conn::http1;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, DuplexStream};

    use super::*;

    async fn speaking() -> (Speaking, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(64);
        let (mut sender, connection) = http1::handshake(TokioIo::new(ours)).await.unwrap();
        tokio::spawn(connection);
        sender.ready().await.unwrap();
        let speaking = Speaking {
            sender,
            address: None,
        };
        (speaking, theirs)
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_no_one_uses_is_closed_without_another_request() {
        let (_, target) = Target::parse("http://a.test/").unwrap();
        let pool = Pool::default();
        // Again after the pool was empty.
        for _ in 0..2 {
            let (speaking, mut server) = speaking().await;
            pool.put(target.clone(), speaking);
            tokio::time::sleep(MAX_IDLE / 2).await;
            assert_eq!(pool.lock().total, 1);
            let closed = tokio::time::timeout(MAX_IDLE * 2, server.read_u8()).await;
            assert!(closed.unwrap().is_err());
            assert_eq!(pool.lock().total, 0);
        }
    }
}
