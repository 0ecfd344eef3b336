//! When a server wants to be asked again.

use std::time::Duration;

use http::HeaderMap;
use http::header::RETRY_AFTER;
use jiff::Timestamp;

/// What `Retry-After` says: seconds, or a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are more seconds than anybody waits.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX / 1000)));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    let wait = date.duration_since(now);
    // A date that has passed: come back now.
    Some(Duration::try_from(wait).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_as_seconds_or_as_a_date() {
        let now: Timestamp = "2026-11-16T08:00:00Z".parse().unwrap();
        let read = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, text.parse().unwrap());
            retry_after(&headers, now)
        };
        assert_eq!(read("120"), Some(Duration::from_secs(120)));
        assert_eq!(read(" 0 "), Some(Duration::ZERO));
        assert_eq!(
            read("Mon, 16 Nov 2026 08:00:07 GMT"),
            Some(Duration::from_secs(7))
        );
        assert_eq!(read("Fri, 13 Nov 2026 08:00:07 GMT"), Some(Duration::ZERO));
        assert!(read("99999999999999999999999").unwrap() > Duration::from_secs(3600));
        for nonsense in ["", "soon", "-3", "1.5", "Mon, 99 Nov 2026 08:00:07 GMT"] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
