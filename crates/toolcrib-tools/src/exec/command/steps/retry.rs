//! Whether and when a step is tried again.

use std::time::Duration;

use crate::definition::Retry;
use crate::model::error::ErrorCode;

/// The longest wait between two attempts, however often the delay was multiplied.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// How long to wait after this many failed attempts: `delay × backoff^(failed - 1)`, no longer than [`LONGEST_PAUSE`].
pub(super) fn pause(retry: &Retry, failed: u32) -> Duration {
    let times = i32::try_from(failed.saturating_sub(1)).unwrap_or(i32::MAX);
    let seconds = retry.delay.as_secs_f64() * retry.backoff.powi(times);
    // Not finite: too long, or nothing multiplied by too much.
    match Duration::try_from_secs_f64(seconds) {
        Ok(pause) => pause.min(LONGEST_PAUSE),
        Err(_) if retry.delay.is_zero() => Duration::ZERO,
        Err(_) => LONGEST_PAUSE,
    }
}

/// Whether what failed with this code may go well the next time. A refusal does not change by asking again, and a person who
/// said no is not asked again.
pub(super) fn is_worth_another(code: ErrorCode) -> bool {
    match code {
        ErrorCode::ExecutionError
        | ErrorCode::Timeout
        | ErrorCode::InvalidOutput
        | ErrorCode::RateLimited
        | ErrorCode::NetworkError
        | ErrorCode::UpstreamError
        | ErrorCode::Conflict
        | ErrorCode::StorageError
        | ErrorCode::FileNotFound
        | ErrorCode::FileExists
        | ErrorCode::RequestTimeout
        | ErrorCode::Unavailable => true,
        ErrorCode::ToolNotFound
        | ErrorCode::BundleNotFound
        | ErrorCode::CallNotFound
        | ErrorCode::ToolDisabled
        | ErrorCode::ToolUnavailable
        | ErrorCode::InvalidArguments
        | ErrorCode::BlockedByRule
        | ErrorCode::ApprovalDenied
        | ErrorCode::ApprovalUnavailable
        | ErrorCode::ApprovalExpired
        | ErrorCode::InvalidPath
        | ErrorCode::PermissionDenied
        | ErrorCode::FileTooLarge
        | ErrorCode::NotText
        | ErrorCode::Cancelled
        | ErrorCode::SandboxUnavailable
        | ErrorCode::HostNotAllowed
        | ErrorCode::ReadOnly
        | ErrorCode::Usage
        | ErrorCode::Unauthenticated
        | ErrorCode::Forbidden
        | ErrorCode::NotFound
        | ErrorCode::MethodNotAllowed
        | ErrorCode::Gone
        | ErrorCode::PayloadTooLarge
        | ErrorCode::UnsupportedMediaType
        | ErrorCode::Unprocessable
        | ErrorCode::Internal => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(delay: u64, backoff: f64) -> Vec<u64> {
        let retry = Retry {
            attempts: 5,
            delay: Duration::from_millis(delay),
            backoff,
        };
        let millis = |failed| pause(&retry, failed).as_millis();
        [1, 2, 3, 20, u32::MAX]
            .map(|failed| u64::try_from(millis(failed)).unwrap())
            .to_vec()
    }

    #[test]
    fn pauses_grow_by_the_factor_up_to_a_bound() {
        assert_eq!(pauses(1000, 1.0), [1000; 5]);
        assert_eq!(pauses(1000, 2.0), [1000, 2000, 4000, 300_000, 300_000]);
        assert_eq!(pauses(1000, 0.5), [1000, 500, 250, 0, 0]);
        assert_eq!(pauses(u64::MAX, 2.0), [300_000; 5]);
    }

    #[test]
    fn a_delay_of_nothing_and_factors_that_are_none_do_no_harm() {
        assert_eq!(pauses(0, 10.0), [0; 5]);
        assert_eq!(pauses(0, f64::INFINITY), [0; 5]);
        assert_eq!(pauses(1, f64::NAN)[1], 300_000);
        assert_eq!(pauses(1, -1.0)[1], 300_000);
    }
}
