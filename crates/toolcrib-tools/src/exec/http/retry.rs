//! When a request is sent again, and after what pause: [`Retries`].
//!
//! Decisions only, without a clock or a socket. A request is repeated if repeating it changes nothing (idempotent methods, or the file
//! says so), or if nothing of it was sent. The pause is exponential with full jitter, so that many callers of a server that
//! stumbled do not come back in step; a server that says when to come back is believed, if there is that much time.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use http::Method;

use crate::egress::Redirected;
use crate::manifest::Retry;
use crate::model::error::ToolError;
use crate::model::limits::as_millis;

/// The first pause is at most this long; each further one at most twice as long as the one before.
const BASE: Duration = Duration::from_millis(200);
/// No pause is longer, unless the server asks for it.
const CAP: Duration = Duration::from_secs(10);

/// An attempt that came to nothing.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: ToolError,
    pub(super) repeat: Repeat,
    /// When the server wants to be asked again.
    pub(super) retry_after: Option<Duration>,
    /// How the request got to a server that had the credentials and did not take them (401).
    pub(super) refused_credentials: Option<Redirected>,
}

impl Failure {
    /// Marks the failure as final.
    pub(super) fn for_good(self) -> Self {
        Failure {
            repeat: Repeat::Never,
            ..self
        }
    }

    /// One that trying again does not mend.
    pub(super) fn lasting(error: ToolError) -> Self {
        Failure {
            error,
            repeat: Repeat::Never,
            retry_after: None,
            refused_credentials: None,
        }
    }
}

/// Whether trying again is worth it, and harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// It would fail again.
    Never,
    /// If the server may do twice what it is asked.
    IfIdempotent,
    /// Nothing was sent.
    Always,
}

/// Where jitter comes from: a number in 0..1. Tests have their own.
pub(crate) type Jitter = fn() -> f64;

/// A number in 0..1 that no one can guess; the quality that jitter needs.
pub(super) fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1u64 << 53) as f64
}

/// The retries of one request.
#[derive(Debug)]
pub(super) struct Retries {
    left: u32,
    made: u32,
    repeats_anything: bool,
    jitter: Jitter,
}

impl Retries {
    pub(super) fn new(retry: Retry, method: &Method, jitter: Jitter) -> Self {
        Retries {
            left: retry.max,
            made: 0,
            repeats_anything: retry.non_idempotent || is_idempotent(method),
            jitter,
        }
    }

    /// How long to wait before the next attempt; the error if there is none.
    pub(super) fn pause(
        &mut self,
        failure: Failure,
        remaining: Duration,
    ) -> Result<Duration, ToolError> {
        let again = match failure.repeat {
            Repeat::Never => false,
            Repeat::IfIdempotent => self.repeats_anything,
            Repeat::Always => true,
        };
        if !again || self.left == 0 {
            return Err(self.said(failure));
        }
        let own = backoff(self.made, (self.jitter)());
        let pause = failure.retry_after.map_or(own, |asked| asked.max(own));
        if pause >= remaining {
            return Err(self.said(failure));
        }
        self.left -= 1;
        self.made += 1;
        Ok(pause)
    }

    /// Whether asking twice is harmless although the first time was carried out.
    pub(super) fn repeats_anything(&self) -> bool {
        self.repeats_anything
    }

    /// The error, with how often it was tried and when to try again.
    fn said(&self, failure: Failure) -> ToolError {
        let mut error = failure.error;
        if let Some(after) = failure.retry_after {
            error = error.with_detail("retryAfterMs", as_millis(after));
        }
        if self.made > 0 {
            error = error.with_detail("attempts", self.made + 1);
        }
        error
    }
}

/// Whether asking twice does what asking once does (RFC 9110, 9.2.2).
fn is_idempotent(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET | Method::HEAD | Method::PUT | Method::DELETE | Method::OPTIONS
    )
}

/// The pause before retry number `made`, counted from 0: anything up to `BASE` doubled that often.
fn backoff(made: u32, jitter: f64) -> Duration {
    let most = BASE.saturating_mul(1u32 << made.min(16)).min(CAP);
    most.mul_f64(jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::error::ErrorCode;

    const AGES: Duration = Duration::from_secs(3600);

    fn failure(repeat: Repeat, retry_after: Option<Duration>) -> Failure {
        Failure {
            error: ToolError::new(ErrorCode::UpstreamError, "it answered 503"),
            repeat,
            retry_after,
            refused_credentials: None,
        }
    }

    fn retries(method: &Method, retry: Retry) -> Retries {
        Retries::new(retry, method, || 1.0)
    }

    #[test]
    fn pauses_double_up_to_a_cap_and_end_with_the_number_of_retries() {
        let retry = Retry {
            max: 8,
            non_idempotent: false,
        };
        let mut retries = retries(&Method::GET, retry);
        let mut pauses = Vec::new();
        let error = loop {
            match retries.pause(failure(Repeat::IfIdempotent, None), AGES) {
                Ok(pause) => pauses.push(as_millis(pause)),
                Err(error) => break error,
            }
        };
        assert_eq!(pauses, [200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        assert_eq!(error.details().unwrap()["attempts"], 9);
    }

    #[test]
    fn jitter_spreads_a_pause_over_its_whole_span() {
        assert_eq!(backoff(0, 0.0), Duration::ZERO);
        assert_eq!(backoff(1, 0.5), Duration::from_millis(200));
        assert_eq!(backoff(60, 1.0), CAP);
        let rolls: Vec<f64> = (0..200).map(|_| random()).collect();
        assert!(rolls.iter().all(|roll| (0.0..1.0).contains(roll)));
        assert!(rolls.iter().any(|roll| *roll < 0.5) && rolls.iter().any(|roll| *roll >= 0.5));
    }

    #[test]
    fn only_what_may_be_done_twice_is_repeated() {
        let default = Retry::default();
        let says_so = Retry {
            non_idempotent: true,
            ..default
        };
        for (method, retry, repeat, expected) in [
            (Method::GET, default, Repeat::IfIdempotent, true),
            (Method::PUT, default, Repeat::IfIdempotent, true),
            (Method::DELETE, default, Repeat::IfIdempotent, true),
            (Method::POST, default, Repeat::IfIdempotent, false),
            (Method::PATCH, default, Repeat::IfIdempotent, false),
            (Method::POST, says_so, Repeat::IfIdempotent, true),
            (Method::POST, default, Repeat::Always, true),
            (Method::GET, default, Repeat::Never, false),
            (Method::POST, says_so, Repeat::Never, false),
        ] {
            let next = retries(&method, retry).pause(failure(repeat, None), AGES);
            assert_eq!(next.is_ok(), expected, "{method} {repeat:?} {retry:?}");
        }
    }

    #[test]
    fn a_server_that_names_a_time_is_believed_if_there_is_that_much() {
        let asked = Some(Duration::from_secs(30));
        let pause = retries(&Method::GET, Retry::default())
            .pause(failure(Repeat::IfIdempotent, asked), AGES);
        assert_eq!(pause.unwrap(), Duration::from_secs(30));
        let error = retries(&Method::GET, Retry::default())
            .pause(failure(Repeat::IfIdempotent, asked), Duration::from_secs(5))
            .unwrap_err();
        assert_eq!(error.details().unwrap()["retryAfterMs"], 30_000);
    }
}
