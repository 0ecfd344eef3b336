//! Sessions of clients that began with `initialize`: [`HttpSessions`].
//!
//! An id is a random UUID from a cryptographic generator and opens a session to the principal that began it only: another principal's id
//! counts as unknown. How many there are is bounded, in all and of one principal; those that no one uses make room, the longest unused
//! first, and what is not used for [`IDLE`] ends.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use super::super::outbox::lock;
use super::super::session::Session;
use super::events::EventLog;

/// How many sessions there are at most.
const MAX: usize = 1024;
/// How many of them are of one principal.
const MAX_OF_ONE: usize = 256;
/// After how long a session ends that no one uses.
pub(super) const IDLE: Duration = Duration::from_secs(60 * 60);
/// How many streams that are over are kept for clients that come back, and how many bytes of them.
const MAX_OVER: usize = 16;
const MAX_OVER_BYTES: usize = 4 * 1024 * 1024;

/// The number of the stream that belongs to no request.
pub(super) const STANDALONE: u64 = 0;

/// All sessions.
pub(crate) struct HttpSessions {
    all: RwLock<HashMap<Uuid, Arc<HttpSession>>>,
    began: Instant,
}

/// One session.
pub(super) struct HttpSession {
    pub(super) id: Uuid,
    pub(super) session: Arc<Session>,
    /// What belongs to no request.
    pub(super) standalone: Arc<EventLog>,
    streams: Mutex<Streams>,
    /// Requests and connections that use it now.
    users: AtomicUsize,
    /// When it was used last, in milliseconds since the beginning.
    used: AtomicU64,
}

#[derive(Default)]
struct Streams {
    last: u64,
    logs: VecDeque<(u64, Arc<EventLog>)>,
}

/// There are as many sessions as there may be, and all of them are used.
#[derive(Debug)]
pub(super) struct Full;

impl Default for HttpSessions {
    fn default() -> Self {
        HttpSessions {
            all: RwLock::default(),
            began: Instant::now(),
        }
    }
}

impl HttpSessions {
    fn read(&self) -> RwLockReadGuard<'_, HashMap<Uuid, Arc<HttpSession>>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<Uuid, Arc<HttpSession>>> {
        self.all.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Keeps a session that has begun.
    pub(super) fn add(&self, session: Arc<Session>) -> Result<Arc<HttpSession>, Full> {
        let now = self.now();
        let mut all = self.write();
        let mut ended = Vec::new();
        let is_idle = |session: &HttpSession| session.is_unused() && session.is_stale(now);
        ended.extend(all.extract_if(|_, session| is_idle(session)).map(|it| it.1));
        let principal = Arc::clone(&session.principal);
        let is_own = |other: &HttpSession| *other.session.principal == *principal;
        if all.values().filter(|other| is_own(other)).count() >= MAX_OF_ONE {
            ended.push(take_unused(&mut all, is_own).ok_or(Full)?);
        }
        if all.len() >= MAX {
            ended.push(take_unused(&mut all, |_| true).ok_or(Full)?);
        }
        let added = Arc::new(HttpSession {
            id: Uuid::new_v4(),
            session,
            standalone: EventLog::new(STANDALONE),
            streams: Mutex::default(),
            users: AtomicUsize::new(0),
            used: AtomicU64::new(now),
        });
        all.insert(added.id, Arc::clone(&added));
        drop(all);
        for session in ended {
            session.end();
        }
        Ok(added)
    }

    /// The session of this id for this principal, used from now on until the guard goes.
    pub(super) fn enter(&self, id: &str, principal: &str) -> Option<Using> {
        let id = Uuid::try_parse(id).ok()?;
        let session = self.read().get(&id).cloned()?;
        if *session.session.principal != *principal {
            return None;
        }
        session.users.fetch_add(1, Ordering::AcqRel);
        let using = Using {
            session,
            began: self.began,
        };
        // One that ended meanwhile, or was unused for too long, is not there.
        if using.users.load(Ordering::Acquire) == 1 && using.is_stale(self.now()) {
            self.remove(&using);
            return None;
        }
        match using.session.session.ended.is_cancelled() {
            true => None,
            false => Some(using),
        }
    }

    /// Ends a session.
    pub(super) fn remove(&self, session: &HttpSession) {
        self.write().remove(&session.id);
        session.end();
    }

    /// Ends the sessions of those who are gone.
    pub(super) fn remove_of(&self, is_gone: impl Fn(&str) -> bool) {
        let gone: Vec<_> = {
            let all = self.read();
            let gone = all.values().filter(|it| is_gone(&it.session.principal));
            gone.cloned().collect()
        };
        for session in gone {
            self.remove(&session);
        }
    }
}

/// Takes out the one that was unused for longest among those that may go.
fn take_unused(
    all: &mut HashMap<Uuid, Arc<HttpSession>>,
    may_go: impl Fn(&HttpSession) -> bool,
) -> Option<Arc<HttpSession>> {
    let id = all
        .values()
        .filter(|session| session.is_unused() && may_go(session))
        .min_by_key(|session| session.used())?
        .id;
    all.remove(&id)
}

impl HttpSession {
    fn is_unused(&self) -> bool {
        self.users.load(Ordering::Acquire) == 0
    }

    /// Whether it was not used for too long.
    fn is_stale(&self, now: u64) -> bool {
        u128::from(now.saturating_sub(self.used())) >= IDLE.as_millis()
    }

    fn used(&self) -> u64 {
        self.used.load(Ordering::Acquire)
    }

    /// The version that was agreed on.
    pub(super) fn version(&self) -> &'static str {
        self.session
            .agreed()
            .map_or(crate::protocol::LEGACY, |agreed| agreed.version)
    }

    /// A stream for a request, which its client can come back to.
    pub(super) fn stream(&self) -> Arc<EventLog> {
        let mut streams = lock(&self.streams);
        let over = |streams: &Streams| {
            let logs = streams.logs.iter().filter(|(_, log)| log.is_over());
            logs.fold((0, 0), |(count, bytes), (_, log)| {
                (count + 1, bytes + log.bytes())
            })
        };
        loop {
            let (count, bytes) = over(&streams);
            if count < MAX_OVER && bytes <= MAX_OVER_BYTES {
                break;
            }
            let Some(oldest) = streams.logs.iter().position(|(_, log)| log.is_over()) else {
                break;
            };
            streams.logs.remove(oldest);
        }
        streams.last += 1;
        let log = EventLog::new(streams.last);
        let number = streams.last;
        streams.logs.push_back((number, Arc::clone(&log)));
        log
    }

    /// The stream of this number, if it is still there.
    pub(super) fn stream_of(&self, number: u64) -> Option<Arc<EventLog>> {
        if number == STANDALONE {
            return Some(Arc::clone(&self.standalone));
        }
        let streams = lock(&self.streams);
        let mut logs = streams.logs.iter();
        logs.find(|(own, _)| *own == number)
            .map(|(_, log)| Arc::clone(log))
    }

    /// Ends it: what runs is cancelled, and its streams end.
    fn end(&self) {
        self.session.end();
        self.standalone.finish();
        for (_, log) in &lock(&self.streams).logs {
            log.finish();
        }
    }
}

/// A session that is used: it does not make room for another.
pub(super) struct Using {
    session: Arc<HttpSession>,
    began: Instant,
}

impl std::ops::Deref for Using {
    type Target = Arc<HttpSession>;

    fn deref(&self) -> &Arc<HttpSession> {
        &self.session
    }
}

impl Drop for Using {
    fn drop(&mut self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.session.used.store(now, Ordering::Release);
        self.session.users.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(sessions: &HttpSessions, principal: &str) -> Result<String, Full> {
        let session = Session::new(principal.into(), Arc::default());
        sessions.add(session).map(|added| added.id.to_string())
    }

    #[tokio::test]
    async fn a_session_is_there_only_for_the_client_that_began_it() {
        let sessions = HttpSessions::default();
        let id = begun(&sessions, "client:a").unwrap();
        assert!(sessions.enter(&id, "client:a").is_some());
        assert!(sessions.enter(&id, "client:b").is_none());
        assert!(sessions.enter("0", "client:a").is_none());
        sessions.remove_of(|principal| principal == "client:a");
        assert!(sessions.enter(&id, "client:a").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_no_one_uses_ends_and_what_a_caller_uses_does_not() {
        let sessions = HttpSessions::default();
        let (used, unused) = (
            begun(&sessions, "a").unwrap(),
            begun(&sessions, "a").unwrap(),
        );
        let using = sessions.enter(&used, "a").unwrap();
        tokio::time::advance(IDLE).await;
        assert!(sessions.enter(&unused, "a").is_none());
        drop(using);
        assert!(sessions.enter(&used, "a").is_some());
        tokio::time::advance(IDLE).await;
        begun(&sessions, "b").unwrap();
        assert_eq!(sessions.read().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_unused_makes_room_and_a_flood_of_one_leaves_others_alone() {
        let sessions = HttpSessions::default();
        let other = begun(&sessions, "other").unwrap();
        let first = begun(&sessions, "flood").unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        for _ in 0..MAX_OF_ONE {
            begun(&sessions, "flood").unwrap();
        }
        assert!(sessions.enter(&first, "flood").is_none());
        assert!(sessions.enter(&other, "other").is_some());
        assert_eq!(sessions.read().len(), 1 + MAX_OF_ONE);
        let ids: Vec<String> = sessions.read().keys().map(Uuid::to_string).collect();
        let _used: Vec<_> = ids
            .iter()
            .filter_map(|id| sessions.enter(id, "flood"))
            .collect();
        assert!(begun(&sessions, "flood").is_err(), "all are in use");
    }
}
