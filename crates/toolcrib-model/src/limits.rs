//! How much one call may use. Merging is *default < config < tool*; a request may only tighten.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// 1,048,576 bytes: Toolcrib's MB.
pub const MB: u64 = 1024 * 1024;

/// The limits in force for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The tool's own time, from the start of execution; waiting for a place is bounded by the
    /// same span, waiting for a person is not counted.
    pub timeout: Duration,
    /// The arguments, as JSON.
    pub max_input_bytes: u64,
    /// Each text in the output; longer ones keep head and tail.
    pub max_output_bytes: u64,
    /// How many calls of this tool may start per minute.
    pub max_calls_per_minute: Option<u32>,
    /// How many calls of this tool may run at once; further ones wait.
    pub max_concurrent: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            timeout: Duration::from_secs(60),
            max_input_bytes: 16 * MB,
            max_output_bytes: MB,
            max_calls_per_minute: None,
            max_concurrent: 64,
        }
    }
}

/// Limits that someone set; what is `None` stays as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitsPatch {
    /// See [`Limits::timeout`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// See [`Limits::max_input_bytes`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_input_bytes: Option<u64>,
    /// See [`Limits::max_output_bytes`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<u64>,
    /// See [`Limits::max_calls_per_minute`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls_per_minute: Option<u32>,
    /// See [`Limits::max_concurrent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
}

/// What a request may ask for: less than it would have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestLimits {
    /// See [`Limits::timeout`].
    pub timeout_ms: Option<u64>,
    /// See [`Limits::max_input_bytes`].
    pub max_input_bytes: Option<u64>,
    /// See [`Limits::max_output_bytes`].
    pub max_output_bytes: Option<u64>,
}

impl From<RequestLimits> for LimitsPatch {
    fn from(request: RequestLimits) -> Self {
        LimitsPatch {
            timeout_ms: request.timeout_ms,
            max_input_bytes: request.max_input_bytes,
            max_output_bytes: request.max_output_bytes,
            ..LimitsPatch::default()
        }
    }
}

impl Limits {
    /// Puts a patch over these limits: the patch's values win.
    #[must_use]
    pub fn overlaid(self, patch: &LimitsPatch) -> Limits {
        Limits {
            timeout: patch.timeout_ms.map_or(self.timeout, Duration::from_millis),
            max_input_bytes: patch.max_input_bytes.unwrap_or(self.max_input_bytes),
            max_output_bytes: patch.max_output_bytes.unwrap_or(self.max_output_bytes),
            max_calls_per_minute: patch.max_calls_per_minute.or(self.max_calls_per_minute),
            max_concurrent: patch.max_concurrent.unwrap_or(self.max_concurrent),
        }
    }

    /// Tightens these limits: of two values the smaller wins.
    #[must_use]
    pub fn tightened(self, patch: &LimitsPatch) -> Limits {
        let patched = self.overlaid(patch);
        Limits {
            timeout: self.timeout.min(patched.timeout),
            max_input_bytes: self.max_input_bytes.min(patched.max_input_bytes),
            max_output_bytes: self.max_output_bytes.min(patched.max_output_bytes),
            max_calls_per_minute: match (self.max_calls_per_minute, patch.max_calls_per_minute) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            max_concurrent: self.max_concurrent.min(patched.max_concurrent),
        }
    }
}

/// A duration in whole milliseconds, as limits are written on the wire.
pub fn as_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_can_only_tighten() {
        let limits = Limits {
            max_calls_per_minute: Some(10),
            ..Limits::default()
        };
        let wider = LimitsPatch {
            timeout_ms: Some(u64::MAX),
            max_input_bytes: Some(u64::MAX),
            max_output_bytes: Some(u64::MAX),
            max_calls_per_minute: Some(u32::MAX),
            max_concurrent: Some(u32::MAX),
        };
        assert_eq!(limits.tightened(&wider), limits);
        let tighter = LimitsPatch {
            timeout_ms: Some(5),
            max_output_bytes: Some(7),
            ..LimitsPatch::default()
        };
        let tightened = limits.tightened(&tighter);
        assert_eq!(
            (tightened.timeout, tightened.max_output_bytes),
            (Duration::from_millis(5), 7)
        );
        assert_eq!(tightened.max_input_bytes, limits.max_input_bytes);
    }

    #[test]
    fn an_overlay_wins_in_both_directions() {
        let patch = LimitsPatch {
            timeout_ms: Some(120_000),
            max_concurrent: Some(1),
            ..LimitsPatch::default()
        };
        let limits = Limits::default().overlaid(&patch);
        assert_eq!(
            (limits.timeout, limits.max_concurrent),
            (Duration::from_secs(120), 1)
        );
    }
}
