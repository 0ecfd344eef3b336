//! Tokens that are still good, in memory only, and one fetch for all who wait for the same token.
//!
//! A fetch is a task of its own: a call that is cancelled while it waits takes nothing away from the others, and a refresh token
//! that is on its way is not lost with it. When it fails, everybody who waits hears why, and nobody tries again by themselves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::watch;
use tokio::time::Instant;

use super::AuthContext;
use super::fetch::{Fetched, fetch};
use super::grant::{Grant, GrantKey};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::CallId;
use crate::model::limits::as_millis;
use crate::model::secret::Secret;

/// How many grants are remembered. Every change of a tool's file makes a new one.
const MAX_GRANTS: usize = 1024;
/// How long the end of a call waits for a refresh token that is on its way to be kept.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// Tokens of token servers, shared by all tools of a registry.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tokens(Arc<Mutex<HashMap<GrantKey, Slot>>>);

/// What is known of one grant.
#[derive(Debug, Default)]
struct Slot {
    kept: Option<Kept>,
    /// Under way now.
    flight: Option<Flight>,
    /// A refresh token that no file holds, and the one in the file that it is for.
    remembered: Option<(Secret, Secret)>,
}

/// A token that was given.
#[derive(Debug)]
struct Kept {
    token: Secret,
    until: Instant,
    refresh_tokens: Vec<Secret>,
    /// The call that it was got for.
    asked_by: CallId,
}

/// Hears what becomes of a fetch.
type Flight = watch::Receiver<Option<Result<Fetched, ToolError>>>;

impl Tokens {
    /// A token that is good now: a kept one, or what the token server gives within this time.
    pub(super) async fn token(
        &self,
        grant: Grant,
        wait: Duration,
        cx: &AuthContext<'_>,
    ) -> Result<Secret, ToolError> {
        let server = grant.server();
        let refreshes = grant.refresh.is_some();
        let (egress, log) = (cx.egress.clone(), cx.call.exchanges());
        let begin = |grant, remembered| fetch(grant, remembered, egress, log);
        let (mut flight, leads) = match self.kept_or_flight(grant, cx.call.call_id(), begin) {
            Ok(token) => return Ok(token),
            Err(flight) => flight,
        };
        if leads && refreshes {
            let mut flight = flight.clone();
            cx.call.afterwards(async move {
                let landed = flight.wait_for(Option::is_some);
                let _ = tokio::time::timeout(LAST_WAIT, landed).await;
            });
        }
        let wait = wait.min(cx.call.remaining());
        let fetched = landed(&mut flight, wait, &server).await?;
        if leads && let Some(notice) = &fetched.notice {
            cx.call.emit_progress(0.0, None, Some(notice.clone()));
        }
        Ok(fetched.token)
    }

    /// The kept token, or else the fetch of the next one and whether it was begun just now.
    fn kept_or_flight<F>(
        &self,
        grant: Grant,
        call: &CallId,
        begin: impl FnOnce(Grant, Option<Secret>) -> F,
    ) -> Result<Secret, (Flight, bool)>
    where
        F: Future<Output = Result<Fetched, ToolError>> + Send + 'static,
    {
        let mut slots = self.slots();
        make_room(&mut slots);
        let slot = slots.entry(grant.key).or_default();
        if let Some(kept) = &slot.kept
            && Instant::now() < kept.until
            && kept.fits(&grant)
        {
            return Ok(kept.token.clone());
        }
        if let Some(flight) = slot.flight_under_way() {
            return Err((flight, false));
        }
        let (sender, flight) = watch::channel(None);
        slot.flight = Some(flight.clone());
        let remembered = slot.remembered_for(&grant);
        let (key, first) = (grant.key, grant.refresh.as_ref().map(|r| r.token.clone()));
        let task = begin(grant, remembered);
        let (tokens, call) = (self.clone(), call.clone());
        tokio::spawn(async move {
            let result = task.await;
            tokens.land(key, first, call, &result);
            let _ = sender.send(Some(result));
        });
        Err((flight, true))
    }

    /// Takes the result of a fetch in.
    fn land(
        &self,
        key: GrantKey,
        first: Option<Secret>,
        call: CallId,
        result: &Result<Fetched, ToolError>,
    ) {
        let mut slots = self.slots();
        let slot = slots.entry(key).or_default();
        slot.flight = None;
        let Ok(fetched) = result else {
            slot.kept = None;
            return;
        };
        if let Some((first, unkept)) = first.zip(fetched.unkept.clone()) {
            slot.remembered = Some((first, unkept));
        }
        slot.kept = Some(Kept {
            token: fetched.token.clone(),
            until: Instant::now() + fetched.lasts,
            refresh_tokens: fetched.refresh_tokens.clone(),
            asked_by: call,
        });
    }

    /// Drops a token that a server refused; whether there is hope for another one.
    pub(super) fn drop_refused(&self, grant: &Grant, sent: &HeaderValue, call: &CallId) -> bool {
        let mut slots = self.slots();
        let Some(slot) = slots.get_mut(&grant.key) else {
            return true;
        };
        let is_sent = |kept: &mut Kept| {
            sent.as_bytes().strip_prefix(b"Bearer ") == Some(kept.token.expose().as_bytes())
        };
        match slot.kept.take_if(is_sent) {
            Some(refused) => refused.asked_by != *call,
            // Somebody else was faster.
            None => true,
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<GrantKey, Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Whether it is of the refresh token that the file has now; somebody may have set another one, for another account.
    fn fits(&self, grant: &Grant) -> bool {
        match &grant.refresh {
            None => true,
            Some(refresh) => self.refresh_tokens.contains(&refresh.token),
        }
    }
}

impl Slot {
    /// The fetch that is under way. One whose runtime went away never ends.
    fn flight_under_way(&self) -> Option<Flight> {
        let flight = self.flight.as_ref()?;
        flight.has_changed().is_ok().then(|| flight.clone())
    }

    fn remembered_for(&self, grant: &Grant) -> Option<Secret> {
        let (first, next) = self.remembered.as_ref()?;
        let refresh = grant.refresh.as_ref()?;
        (refresh.token == *first).then(|| next.clone())
    }

    fn is_worth_keeping(&self) -> bool {
        let good = |kept: &Kept| Instant::now() < kept.until;
        self.flight.is_some() || self.remembered.is_some() || self.kept.as_ref().is_some_and(good)
    }
}

/// Forgets what is over; and if that is not enough, what can be had again.
fn make_room(slots: &mut HashMap<GrantKey, Slot>) {
    if slots.len() < MAX_GRANTS {
        return;
    }
    slots.retain(|_, slot| slot.is_worth_keeping());
    if slots.len() >= MAX_GRANTS {
        slots.retain(|_, slot| slot.flight.is_some());
    }
}

/// Waits for a fetch.
async fn landed(flight: &mut Flight, wait: Duration, server: &str) -> Result<Fetched, ToolError> {
    match tokio::time::timeout(wait, flight.wait_for(Option::is_some)).await {
        Ok(Ok(result)) => match result.as_ref() {
            Some(result) => result.clone(),
            None => Err(broken_off(server)),
        },
        Ok(Err(_)) => Err(broken_off(server)),
        Err(_) => Err(ToolError::new(
            ErrorCode::Timeout,
            format!(
                "the token server `{server}` gave no token within {} ms",
                as_millis(wait)
            ),
        )),
    }
}

fn broken_off(server: &str) -> ToolError {
    let message = format!("asking the token server `{server}` was broken off; call again");
    ToolError::new(ErrorCode::NetworkError, message)
}
