//! What a client takes as an answer, and what it sends.

use http::{HeaderMap, HeaderValue, header};

/// What a client takes as the answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// One JSON object or a stream, as the server likes.
    Either,
    /// One JSON object only.
    Json,
    /// A stream only.
    Events,
}

impl Takes {
    /// By `Accept`; `None` if it admits neither. Without one everything is taken.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(header::ACCEPT).iter().peekable();
        if values.peek().is_none() {
            return Some(Takes::Either);
        }
        let (mut json, mut events) = (Said::default(), Said::default());
        for range in values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
        {
            let (media, is_taken) = media_range(range);
            for (said, kind, name) in [
                (&mut json, "application/*", "application/json"),
                (&mut events, "text/*", "text/event-stream"),
            ] {
                if media.eq_ignore_ascii_case(name) {
                    said.by_name = Some(is_taken);
                } else if media.eq_ignore_ascii_case(kind) {
                    said.by_kind = Some(is_taken);
                } else if media == "*/*" {
                    said.by_any = Some(is_taken);
                }
            }
        }
        match (json.is_taken(), events.is_taken()) {
            (true, true) => Some(Takes::Either),
            (true, false) => Some(Takes::Json),
            (false, true) => Some(Takes::Events),
            (false, false) => None,
        }
    }
}

/// What ranges of `Accept` say about one type; the narrowest counts.
#[derive(Default)]
struct Said {
    by_name: Option<bool>,
    by_kind: Option<bool>,
    by_any: Option<bool>,
}

impl Said {
    fn is_taken(&self) -> bool {
        self.by_name
            .or(self.by_kind)
            .or(self.by_any)
            .unwrap_or(false)
    }
}

/// The type of a media range, and whether it is taken: `q=0` says that it is not.
fn media_range(range: &str) -> (&str, bool) {
    let mut parts = range.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default();
    let is_refused = parts.any(|part| {
        part.split_once('=').is_some_and(|(name, value)| {
            name.trim().eq_ignore_ascii_case("q")
                && value.trim().bytes().all(|byte| matches!(byte, b'0' | b'.'))
        })
    });
    (media, !is_refused)
}

/// Whether the body is JSON by its one `Content-Type`. A page of a browser cannot send that without asking first.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    if *value == HeaderValue::from_static("application/json") {
        return true;
    }
    let Ok(text) = value.to_str() else {
        return false;
    };
    let mut parts = text.split(';').map(str::trim);
    let is_json = parts
        .next()
        .is_some_and(|media| media.eq_ignore_ascii_case("application/json"));
    is_json
        && parts.all(|part| match part.split_once('=') {
            Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
                value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
            }
            _ => true,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(accept: &str) -> Option<Takes> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        Takes::of(&headers)
    }

    #[test]
    fn a_client_gets_what_it_accepts() {
        assert_eq!(Takes::of(&HeaderMap::new()), Some(Takes::Either));
        let either = Some(Takes::Either);
        assert_eq!(takes("application/json, text/event-stream"), either);
        assert_eq!(takes("Text/Event-Stream,APPLICATION/JSON;q=0.1"), either);
        assert_eq!(takes("*/*"), either);
        assert_eq!(takes("application/json"), Some(Takes::Json));
        assert_eq!(takes("application/*"), Some(Takes::Json));
        assert_eq!(takes("text/event-stream"), Some(Takes::Events));
        assert_eq!(takes("*/*, text/event-stream;q=0"), Some(Takes::Json));
        assert_eq!(takes("text/html"), None);
        assert_eq!(takes("*/*;q=0.0"), None);
        assert_eq!(takes(""), None);
    }

    #[test]
    fn only_json_is_json() {
        let is = |content: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, content.parse().unwrap());
            is_json(&headers)
        };
        assert!(is("application/json"));
        assert!(is("Application/JSON; charset=\"UTF-8\""));
        assert!(!is("application/json; charset=utf-16"));
        assert!(!is("text/plain"));
        assert!(!is("application/jsonp"));
        assert!(!is_json(&HeaderMap::new()));
    }
}
