//! When a server wants to be asked again.

use std::time::Duration;

use http::HeaderMap;
use http::header::RETRY_AFTER;
use jiff::Timestamp;

/// What `Retry-After` says: seconds, or a date in one of the three forms of RFC 9110. The error is what cannot be read: a server that
/// names a time no one understands is not asked again.
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Result<Option<Duration>, String> {
    let Some(value) = headers.get(RETRY_AFTER) else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(value.as_bytes());
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are more seconds than anybody waits.
        let seconds = text.parse().unwrap_or(u64::MAX / 1000);
        return Ok(Some(Duration::from_secs(seconds.min(u64::MAX / 1000))));
    }
    let obsolete = |format: &str| {
        let date = jiff::fmt::strtime::parse(format, text).ok()?;
        let date = date.to_datetime().ok()?;
        date.to_zoned(jiff::tz::TimeZone::UTC).ok()
    };
    let date = jiff::fmt::rfc2822::parse(text)
        .ok()
        .or_else(|| obsolete("%A, %d-%b-%y %H:%M:%S GMT"))
        .or_else(|| obsolete("%a %b %e %H:%M:%S %Y"))
        .ok_or_else(|| crate::model::text::shorten(text, 60))?;
    let wait = date.timestamp().duration_since(now);
    // A date that has passed: come back now.
    Ok(Some(Duration::try_from(wait).unwrap_or(Duration::ZERO)))
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
        let seconds = |seconds| Ok(Some(Duration::from_secs(seconds)));
        assert_eq!(read("120"), seconds(120));
        assert_eq!(read(" 0 "), seconds(0));
        for date in [
            "Mon, 16 Nov 2026 08:00:07 GMT",
            "Monday, 16-Nov-26 08:00:07 GMT",
            "Mon Nov 16 08:00:07 2026",
        ] {
            assert_eq!(read(date), seconds(7), "{date}");
        }
        assert_eq!(read("Tue Dec  1 08:00:00 2026"), seconds(15 * 86_400));
        assert_eq!(read("Fri, 13 Nov 2026 08:00:07 GMT"), seconds(0));
        for ages in ["99999999999999999999999", "18446744073709551615"] {
            assert!(read(ages).unwrap().unwrap() > Duration::from_secs(3600));
        }
        for nonsense in ["", "soon", "-3", "1.5", "Mon, 99 Nov 2026 08:00:07 GMT"] {
            assert_eq!(read(nonsense), Err(nonsense.to_owned()), "{nonsense}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), Ok(None));
    }
}
