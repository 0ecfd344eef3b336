//! Which trace and which span: [`SpanContext`], as W3C Trace Context writes it.

use http::HeaderMap;
use sha2::{Digest as _, Sha256};
use toolcrib::CallId;
use uuid::Uuid;

/// A span's place in its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::observe) struct SpanContext {
    pub(super) trace: [u8; 16],
    pub(super) span: [u8; 8],
    pub(super) parent: Option<[u8; 8]>,
    /// Whether the span is sent; the origin of the trace decides.
    pub(in crate::observe) sampled: bool,
}

impl SpanContext {
    /// The span of a request: within the trace of its `traceparent`, if that is a sound one, else the first of a new trace.
    pub(in crate::observe) fn of_request(headers: &HeaderMap) -> Self {
        let mut given = headers.get_all("traceparent").iter();
        let outer = match (given.next(), given.next()) {
            (Some(one), None) => one.to_str().ok().and_then(read),
            _ => None,
        };
        let span = last_eight(Uuid::now_v7().as_bytes());
        match outer {
            Some((trace, parent, sampled)) => SpanContext {
                trace,
                span,
                parent: Some(parent),
                sampled,
            },
            None => SpanContext {
                trace: Uuid::now_v7().into_bytes(),
                span,
                parent: None,
                sampled: true,
            },
        }
    }

    /// The span of another program, by its `traceparent`.
    pub(in crate::observe) fn of_another(traceparent: &str) -> Option<Self> {
        let (trace, span, sampled) = read(traceparent)?;
        Some(SpanContext {
            trace,
            span,
            parent: None,
            sampled,
        })
    }

    /// This span, moved below another one.
    pub(in crate::observe) fn below(self, other: &SpanContext) -> Self {
        SpanContext {
            trace: other.trace,
            span: self.span,
            parent: Some(other.span),
            sampled: other.sampled,
        }
    }

    /// Whether both are of one trace.
    pub(in crate::observe) fn is_of_the_trace_of(&self, other: &SpanContext) -> bool {
        self.trace == other.trace
    }

    /// Whether nothing is known of what it is part of.
    pub(in crate::observe) fn is_first(&self) -> bool {
        self.parent.is_none()
    }

    /// The span of a call that no one's request is known for: its own trace.
    pub(super) fn alone(call: &CallId) -> Self {
        let digest = Sha256::digest(call.to_string());
        let mut trace = [0; 16];
        trace.copy_from_slice(&digest[8..24]);
        SpanContext {
            trace,
            span: span_of(call),
            parent: None,
            sampled: true,
        }
    }

    /// The span of a call within this one.
    pub(super) fn child_for(&self, call: &CallId) -> Self {
        SpanContext {
            trace: self.trace,
            span: span_of(call),
            parent: Some(self.span),
            sampled: self.sampled,
        }
    }

    /// As a header's value.
    pub(in crate::observe) fn traceparent(&self) -> String {
        let flags = u8::from(self.sampled);
        format!("00-{}-{}-{flags:02x}", hex(&self.trace), hex(&self.span))
    }
}

/// The span of a call follows from its id, so that inner calls know their parent's before it is over.
fn span_of(call: &CallId) -> [u8; 8] {
    let digest = Sha256::digest(call.to_string());
    let mut span = [0; 8];
    span.copy_from_slice(&digest[..8]);
    span
}

fn last_eight(bytes: &[u8; 16]) -> [u8; 8] {
    let mut last = [0; 8];
    last.copy_from_slice(&bytes[8..]);
    last
}

/// Lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Reads `version-trace-span-flags`. A later version may have more behind it; anything else that is malformed is not a context.
fn read(text: &str) -> Option<([u8; 16], [u8; 8], bool)> {
    let (head, rest) = text.split_at_checked(55)?;
    let mut parts = head.split('-');
    let version: [u8; 1] = bytes(parts.next()?)?;
    let trace: [u8; 16] = bytes(parts.next()?)?;
    let span: [u8; 8] = bytes(parts.next()?)?;
    let flags: [u8; 1] = bytes(parts.next()?)?;
    let has_sound_end = match version {
        [0] => rest.is_empty(),
        [0xff] => false,
        _ => rest.is_empty() || rest.starts_with('-'),
    };
    let is_sound = parts.next().is_none() && has_sound_end && trace != [0; 16] && span != [0; 8];
    is_sound.then_some((trace, span, flags[0] & 1 == 1))
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |letter: u8| match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    };
    let text = text.as_bytes();
    if text.len() != 2 * N {
        return None;
    }
    let mut out = [0; N];
    for (byte, pair) in out.iter_mut().zip(text.chunks(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn headers(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("traceparent", value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_sound_traceparent_is_the_parent() {
        let context = SpanContext::of_request(&headers(&[GIVEN]));
        assert_eq!(hex(&context.trace), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(
            context.parent.map(|span| hex(&span)).unwrap(),
            "00f067aa0ba902b7"
        );
        assert!(context.sampled);
        let unsampled = GIVEN.replace("-01", "-00");
        assert!(!SpanContext::of_request(&headers(&[&unsampled])).sampled);
        let later = GIVEN.replacen("00-", "cc-", 1) + "-what-comes";
        assert!(
            SpanContext::of_request(&headers(&[&later]))
                .parent
                .is_some()
        );
    }

    #[test]
    fn any_other_traceparent_is_ignored() {
        let bad = [
            "",
            "00",
            &GIVEN.to_uppercase(),
            &GIVEN.replacen("00-", "ff-", 1),
            &format!("{GIVEN}-more"),
            &format!("{GIVEN} "),
            &GIVEN.replace('b', "g"),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473600f067aa0ba902b7--01",
        ];
        for given in bad {
            let context = SpanContext::of_request(&headers(&[given]));
            assert_eq!(context.parent, None, "{given}");
        }
        let twice = SpanContext::of_request(&headers(&[GIVEN, GIVEN]));
        assert_eq!(twice.parent, None, "two of them");
    }

    #[test]
    fn a_context_reads_what_it_writes() {
        let context = SpanContext::of_request(&HeaderMap::new());
        let (trace, span, sampled) = read(&context.traceparent()).unwrap();
        assert_eq!((trace, span, sampled), (context.trace, context.span, true));
    }
}
