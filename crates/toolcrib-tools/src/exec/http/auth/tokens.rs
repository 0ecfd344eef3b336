//! Tokens that are still good, in memory only, and one fetch for all who wait for the same token.
//!
//! A fetch is a separate task: a call that is cancelled while it waits takes nothing away from the others, and a refresh token
//! that is on its way is not lost with it. When it fails, everybody who waits hears why, and no one tries again by themselves.

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
/// How many refresh tokens are remembered of one grant.
const MAX_REMEMBERED: usize = 8;
/// How long the end of a call waits for a refresh token that is on its way to be kept.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// Tokens of token servers, shared by all tools of a registry.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tokens(Arc<Mutex<HashMap<GrantKey, Slot>>>);

/// The state of one grant.
#[derive(Debug, Default)]
struct Slot {
    kept: Option<CachedToken>,
    /// Under way now.
    flight: Option<Flight>,
    /// The refresh token of the file with which it was begun.
    flight_of: Option<Secret>,
    /// Refresh tokens that no file holds, and the one in the file that each is for; the latest last.
    remembered: Vec<(Secret, Secret)>,
}

/// A token that was given.
#[derive(Debug)]
struct CachedToken {
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
            Ok(token) => {
                // It may be hours old, and what masks may have forgotten it for newer ones.
                cx.also_mask(&token);
                return Ok(token);
            }
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
        cx.also_mask(&fetched.token);
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
        if let Some(flight) = slot.flight_under_way(&grant) {
            return Err((flight, false));
        }
        let (sender, flight) = watch::channel(None);
        let remembered = slot.remembered_for(&grant);
        let (key, first) = (grant.key, grant.refresh.as_ref().map(|r| r.token.clone()));
        slot.flight = Some(flight.clone());
        slot.flight_of.clone_from(&first);
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
        // Another one may be under way by now, for another account; what comes of that one counts.
        let is_latest = slot.flight_of == first;
        if is_latest {
            slot.flight = None;
        }
        let Ok(fetched) = result else {
            if is_latest {
                slot.kept = None;
            }
            return;
        };
        if let Some((first, unkept)) = first.zip(fetched.unkept.clone()) {
            slot.remember(first, unkept);
        }
        if !is_latest {
            return;
        }
        slot.kept = Some(CachedToken {
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
        let is_sent = |kept: &mut CachedToken| {
            sent.as_bytes().strip_prefix(b"Bearer ") == Some(kept.token.expose().as_bytes())
        };
        match slot.kept.take_if(is_sent) {
            Some(refused) => refused.asked_by != *call,
            // Someone else was faster.
            None => true,
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<GrantKey, Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedToken {
    /// Whether it is of the refresh token that the file has now; someone may have set another one, for another account.
    fn fits(&self, grant: &Grant) -> bool {
        match &grant.refresh {
            None => true,
            Some(refresh) => self.refresh_tokens.contains(&refresh.token),
        }
    }
}

impl Slot {
    /// The fetch that is under way with the refresh token that the file has now. One whose runtime went away never ends.
    fn flight_under_way(&self, grant: &Grant) -> Option<Flight> {
        let flight = self.flight.as_ref()?;
        let fits = self.flight_of.as_ref() == grant.refresh.as_ref().map(|refresh| &refresh.token);
        (fits && flight.has_changed().is_ok()).then(|| flight.clone())
    }

    fn remembered_for(&self, grant: &Grant) -> Option<Secret> {
        let refresh = grant.refresh.as_ref()?;
        let mut remembered = self.remembered.iter();
        let (_, next) = remembered.find(|(first, _)| *first == refresh.token)?;
        Some(next.clone())
    }

    fn remember(&mut self, first: Secret, next: Secret) {
        self.remembered.retain(|(other, _)| *other != first);
        self.remembered.push((first, next));
        // Those of files that were changed since; going back further takes another login.
        let too_many = self.remembered.len().saturating_sub(MAX_REMEMBERED);
        self.remembered.drain(..too_many);
    }

    fn is_worth_keeping(&self) -> bool {
        let good = |kept: &CachedToken| Instant::now() < kept.until;
        self.flight.is_some() || !self.remembered.is_empty() || self.kept.as_ref().is_some_and(good)
    }
}

/// Forgets what is over; and if that is not enough, what can be had again.
fn make_room(slots: &mut HashMap<GrantKey, Slot>) {
    if slots.len() < MAX_GRANTS {
        return;
    }
    slots.retain(|_, slot| slot.is_worth_keeping());
    if slots.len() >= MAX_GRANTS {
        // A token can be had again; a refresh token that is in no file cannot.
        slots.retain(|_, slot| slot.flight.is_some() || !slot.remembered.is_empty());
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

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use tokio::sync::oneshot;

    use super::*;

    type Answer = Result<Fetched, ToolError>;

    fn fetched(token: &str, lasts: u64, refresh_tokens: &[&str], unkept: Option<&str>) -> Answer {
        Ok(Fetched {
            token: Secret::new(token),
            lasts: Duration::from_secs(lasts),
            refresh_tokens: refresh_tokens
                .iter()
                .map(|text| Secret::new(*text))
                .collect(),
            unkept: unkept.map(Secret::new),
            notice: None,
        })
    }

    /// The next token, fetched by this if there is none.
    async fn next(tokens: &Tokens, grant: Grant, answer: Answer) -> Result<String, ToolError> {
        let call = CallId::generate();
        match tokens.kept_or_flight(grant, &call, |_, _| async move { answer }) {
            Ok(token) => Ok(token.expose().to_owned()),
            Err((mut flight, _)) => landed(&mut flight, Duration::from_secs(60), "x")
                .await
                .map(|fetched| fetched.token.expose().to_owned()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_used_until_it_is_over() {
        let tokens = Tokens::default();
        let get =
            |name: &'static str| next(&tokens, Grant::bare(None), fetched(name, 60, &[], None));
        assert_eq!(get("a").await.unwrap(), "a");
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(get("b").await.unwrap(), "a");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(get("c").await.unwrap(), "c");
    }

    #[tokio::test]
    async fn everybody_who_waits_hears_why_there_is_no_token_and_no_one_asks_again() {
        let tokens = Tokens::default();
        let (release, released) = oneshot::channel::<Answer>();
        let mut released = Some(released);
        let mut flights = Vec::new();
        for number in 0..100 {
            let released = released.take();
            let begin = |_, _| async move { released.expect("one fetch only").await.unwrap() };
            let (flight, leads) = tokens
                .kept_or_flight(Grant::bare(None), &CallId::generate(), begin)
                .unwrap_err();
            assert_eq!(leads, number == 0);
            flights.push(flight);
        }
        let reason = ToolError::new(ErrorCode::UpstreamError, "no such client");
        release.send(Err(reason)).unwrap();
        let waiting = flights
            .iter_mut()
            .map(|flight| landed(flight, Duration::from_secs(60), "x"));
        for result in join_all(waiting).await {
            assert_eq!(result.unwrap_err().message(), "no such client");
        }
        // The next call does.
        let answer = fetched("a", 60, &[], None);
        assert_eq!(next(&tokens, Grant::bare(None), answer).await.unwrap(), "a");
    }

    #[tokio::test(start_paused = true)]
    async fn no_one_waits_longer_than_they_can() {
        let tokens = Tokens::default();
        let never = |_, _| std::future::pending::<Answer>();
        let (mut flight, _) = tokens
            .kept_or_flight(Grant::bare(None), &CallId::generate(), never)
            .unwrap_err();
        let error = landed(&mut flight, Duration::from_secs(2), "https://auth.example").await;
        assert_eq!(
            error.unwrap_err().message(),
            "the token server `https://auth.example` gave no token within 2000 ms"
        );
    }

    #[tokio::test]
    async fn a_fetch_that_panics_is_over() {
        let tokens = Tokens::default();
        let broken = |_, _| async { panic!("broken") };
        let (mut flight, _) = tokens
            .kept_or_flight(Grant::bare(None), &CallId::generate(), broken)
            .unwrap_err();
        let error = landed(&mut flight, Duration::from_secs(60), "x")
            .await
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::NetworkError);
        let answer = fetched("a", 60, &[], None);
        assert_eq!(next(&tokens, Grant::bare(None), answer).await.unwrap(), "a");
    }

    #[tokio::test]
    async fn a_refresh_token_in_memory_is_for_the_one_in_the_file() {
        let tokens = Tokens::default();
        let first = || Grant::bare(Some("r1"));
        next(&tokens, first(), fetched("a", 0, &["r1", "r2"], Some("r2")))
            .await
            .unwrap();
        let used = |grant: Grant| {
            let (sender, receiver) = oneshot::channel();
            let begin = |_, remembered: Option<Secret>| async move {
                sender.send(remembered).unwrap();
                fetched("b", 0, &[], None)
            };
            tokens
                .kept_or_flight(grant, &CallId::generate(), begin)
                .unwrap_err();
            receiver
        };
        assert_eq!(used(first()).await.unwrap(), Some(Secret::new("r2")));
        // Once that one has landed: someone set another.
        while tokens.slots().values().any(|slot| slot.flight.is_some()) {
            tokio::task::yield_now().await;
        }
        assert_eq!(used(Grant::bare(Some("other"))).await.unwrap(), None);
    }

    #[tokio::test]
    async fn no_one_waits_for_the_token_of_another_account() {
        let tokens = Tokens::default();
        let (release, released) = oneshot::channel::<Answer>();
        let slow = |_, _| async move { released.await.unwrap() };
        let (mut first, leads) = tokens
            .kept_or_flight(Grant::bare(Some("r1")), &CallId::generate(), slow)
            .unwrap_err();
        assert!(leads);
        // Someone sets another refresh token meanwhile; its token is there first.
        let other = || Grant::bare(Some("other"));
        let answer = fetched("b", 60, &["other"], None);
        assert_eq!(next(&tokens, other(), answer).await.unwrap(), "b");
        release
            .send(fetched("a", 60, &["r1", "r2"], Some("r2")))
            .unwrap();
        let late = landed(&mut first, Duration::from_secs(60), "x").await;
        assert_eq!(late.unwrap().token.expose(), "a");
        // What comes late takes nothing away, and is not lost.
        let unused = fetched("c", 60, &["other"], None);
        assert_eq!(next(&tokens, other(), unused).await.unwrap(), "b");
        let remembered = tokens
            .slots()
            .values()
            .find_map(|slot| slot.remembered_for(&Grant::bare(Some("r1"))));
        assert_eq!(remembered, Some(Secret::new("r2")));
    }

    #[tokio::test]
    async fn a_refresh_token_that_is_nowhere_else_stays() {
        let tokens = Tokens::default();
        let first = || Grant::bare(Some("r1"));
        let answer = fetched("a", 60, &["r1", "r2"], Some("r2"));
        next(&tokens, first(), answer).await.unwrap();
        for number in 1..=2 * MAX_GRANTS as u32 {
            let mut grant = Grant::bare(None);
            grant.key = GrantKey::numbered(number);
            next(&tokens, grant, fetched("a", 60, &[], None))
                .await
                .unwrap();
        }
        let slots = tokens.slots();
        let remembered = slots.get(&first().key).unwrap().remembered_for(&first());
        assert_eq!(remembered, Some(Secret::new("r2")));
    }

    #[tokio::test]
    async fn what_is_remembered_is_bounded() {
        let tokens = Tokens::default();
        for number in 0..MAX_GRANTS as u32 + 10 {
            let mut grant = Grant::bare(None);
            grant.key = GrantKey::numbered(number);
            next(&tokens, grant, fetched("a", 60, &[], None))
                .await
                .unwrap();
        }
        assert!(tokens.slots().len() <= MAX_GRANTS);
    }
}
