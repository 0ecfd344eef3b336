//! Where a redirection leads, and what goes along.
//!
//! A hop is a new request to be judged like the first; nothing here decides whether it may be made.

use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use url::Url;

use super::request::Request;
use crate::target::{EgressError, Target};

/// Headers that say how to answer. They are all that goes to another origin.
static HARMLESS: [HeaderName; 11] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::ACCEPT_LANGUAGE,
    header::CACHE_CONTROL,
    header::CONTENT_LANGUAGE,
    header::CONTENT_TYPE,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::PRAGMA,
    header::RANGE,
    header::USER_AGENT,
];

/// Where an answer sends the client, if it does. `Refresh` is for browsers with a person in front of them.
pub(super) fn location(
    status: StatusCode,
    headers: &HeaderMap,
) -> Option<Result<&str, EgressError>> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let mut all = headers.get_all(header::LOCATION).iter();
    let location = all.next()?;
    let unreadable = || refused("the server redirects to something that is not a URL");
    if all.any(|other| other != location) {
        return Some(Err(refused("the server redirects to two places at once")));
    }
    Some(location.to_str().map_err(|_| unreadable()))
}

/// A refusal that says where the redirection led, so that it can be asked for by itself; the query is no one's business.
pub(super) fn led_to(url: &Url, error: EgressError) -> EgressError {
    match error {
        EgressError::Refused(refusal) => {
            let mut shown = url.clone();
            shown.set_query(None);
            shown.set_fragment(None);
            let shown = crate::model::text::shorten(shown.as_str(), 300);
            refused(&format!(
                "the server redirects to `{shown}`: {}",
                refusal.message
            ))
        }
        error => error,
    }
}

/// Turns a request into the one that a redirection asks for.
pub(super) fn follow(
    request: &mut Request,
    from: &Target,
    status: StatusCode,
    location: &str,
) -> Result<(Url, Target), EgressError> {
    let (url, to) = read(&request.url, location)?;
    let becomes_get = match status.as_u16() {
        303 => request.method != Method::HEAD && request.method != Method::GET,
        // As browsers do, against the letter of the standard.
        301 | 302 => request.method == Method::POST,
        _ => false,
    };
    if becomes_get {
        request.method = Method::GET;
        request.body = bytes::Bytes::new();
        for name in [
            header::CONTENT_TYPE,
            header::CONTENT_LANGUAGE,
            header::CONTENT_ENCODING,
        ] {
            request.headers.remove(name);
        }
    }
    let keeps_a_secret = !request.body.is_empty() && !request.body_is_plain;
    if from.https && !to.https && (keeps_a_secret || request.has_credentials()) {
        return Err(refused(&format!(
            "`{from}` redirects from https to http, and the request has credentials; they do not travel in the clear"
        )));
    }
    if *from != to {
        if keeps_a_secret {
            return Err(refused(&format!(
                "`{from}` redirects to `{to}` together with the body of the request, which is not for another server"
            )));
        }
        drop_what_was_for_another(&mut request.headers);
    }
    request.url = url.clone();
    Ok((url, to))
}

fn drop_what_was_for_another(headers: &mut HeaderMap) {
    let names: Vec<HeaderName> = headers.keys().cloned().collect();
    for name in names {
        let is_sensitive = headers
            .get_all(&name)
            .iter()
            .any(http::HeaderValue::is_sensitive);
        if is_sensitive || !HARMLESS.contains(&name) {
            headers.remove(name);
        }
    }
}

/// Reads a location: an absolute URL is read as strictly as any; anything else is relative to where it came from.
fn read(base: &Url, location: &str) -> Result<(Url, Target), EgressError> {
    let location = location.trim_matches([' ', '\t']);
    if location.contains('\\') || location.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Err(refused(
            "the server redirects to a URL with a character in it that programs read differently",
        ));
    }
    let before = location.find(['/', '?', '#']).unwrap_or(location.len());
    let read = if location[..before].contains(':') {
        Target::parse(location)
    } else if location.starts_with("///") {
        Err(refused(
            "the server redirects to a URL that programs read differently",
        ))
    } else {
        match base.join(location) {
            Ok(url) => Target::parse(url.as_str()),
            Err(error) => Err(EgressError::BadUrl(error.to_string())),
        }
    };
    // Whose arguments these are: no one's.
    read.map_err(|error| match error {
        EgressError::BadUrl(why) => refused(&format!(
            "the server redirects to something that is not a URL: {why}"
        )),
        other => other,
    })
}

fn refused(message: &str) -> EgressError {
    EgressError::Refused(message.to_owned().into())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn request(url: &str) -> (Request, Target) {
        let (url, target) = Target::parse(url).unwrap();
        let mut request = Request::get(url);
        let mut secret = HeaderValue::from_static("SENTINEL");
        secret.set_sensitive(true);
        request.headers.insert("x-key", secret);
        request
            .headers
            .insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer x"));
        request
            .headers
            .insert(header::COOKIE, HeaderValue::from_static("a=b"));
        request
            .headers
            .insert(header::ACCEPT, HeaderValue::from_static("text/plain"));
        request
            .headers
            .insert("x-custom", HeaderValue::from_static("1"));
        (request, target)
    }

    fn names(request: &Request) -> Vec<&str> {
        let mut names: Vec<&str> = request.headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn credentials_stay_with_their_origin() {
        let (mut same, from) = request("https://a.test/x");
        follow(&mut same, &from, StatusCode::FOUND, "/y").unwrap();
        assert_eq!(same.url.as_str(), "https://a.test/y");
        assert_eq!(
            names(&same),
            ["accept", "authorization", "cookie", "x-custom", "x-key"]
        );
        for location in [
            "https://b.test/",
            "//b.test/",
            "https://a.test:8443/",
            "https://sub.a.test/",
        ] {
            let (mut other, from) = request("https://a.test/x");
            follow(&mut other, &from, StatusCode::FOUND, location).unwrap();
            assert_eq!(names(&other), ["accept"], "{location}");
        }
        let (mut sensitive, from) = request("https://a.test/x");
        let mut accept = HeaderValue::from_static("SENTINEL");
        accept.set_sensitive(true);
        sensitive.headers.insert(header::ACCEPT, accept);
        follow(&mut sensitive, &from, StatusCode::FOUND, "https://b.test/").unwrap();
        assert!(sensitive.headers.is_empty());
    }

    #[test]
    fn credentials_do_not_travel_in_the_clear_even_to_the_same_host() {
        let (mut downgraded, from) = request("https://a.test/x");
        assert!(follow(&mut downgraded, &from, StatusCode::FOUND, "http://a.test/").is_err());
        let (mut plain, from) = request("https://a.test/x");
        plain.headers.clear();
        assert!(follow(&mut plain, &from, StatusCode::FOUND, "http://a.test/").is_ok());
    }

    #[test]
    fn methods_change_as_in_browsers() {
        for (status, method, becomes) in [
            (301, Method::POST, Method::GET),
            (302, Method::POST, Method::GET),
            (303, Method::POST, Method::GET),
            (303, Method::PUT, Method::GET),
            (303, Method::HEAD, Method::HEAD),
            (301, Method::HEAD, Method::HEAD),
            (302, Method::DELETE, Method::DELETE),
            (307, Method::POST, Method::POST),
            (308, Method::PUT, Method::PUT),
        ] {
            let (mut request, from) = request("http://a.test/x");
            request.method = method.clone();
            request.body = "body".into();
            request
                .headers
                .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
            let status = StatusCode::from_u16(status).unwrap();
            follow(&mut request, &from, status, "/y").unwrap();
            assert_eq!(request.method, becomes, "{status} {method}");
            let kept = becomes == method;
            assert_eq!(request.body.is_empty(), !kept, "{status} {method}");
            assert_eq!(request.headers.contains_key(header::CONTENT_TYPE), kept);
        }
    }

    #[test]
    fn a_body_goes_to_another_origin_only_if_it_is_plain() {
        let (mut request, from) = request("http://a.test/x");
        request.method = Method::POST;
        request.body = "body".into();
        let mut plain = request.clone();
        plain.body_is_plain = true;
        assert!(
            follow(
                &mut request,
                &from,
                StatusCode::TEMPORARY_REDIRECT,
                "http://b.test/"
            )
            .is_err()
        );
        assert!(
            follow(
                &mut plain,
                &from,
                StatusCode::TEMPORARY_REDIRECT,
                "http://b.test/"
            )
            .is_ok()
        );
        assert_eq!(plain.body, "body");
    }

    #[test]
    fn a_location_is_read_as_strictly_as_a_url() {
        let base = Url::parse("http://a.test/dir/x").unwrap();
        for (location, expected) in [
            ("y", Some("http://a.test/dir/y")),
            ("?q", Some("http://a.test/dir/x?q")),
            ("../z", Some("http://a.test/z")),
            ("/a:b", Some("http://a.test/a:b")),
            ("//b.test/", Some("http://b.test/")),
            ("https://b.test", Some("https://b.test/")),
            ("file:///etc/passwd", None),
            ("http:evil.test", None),
            ("http:/evil.test", None),
            ("///evil.test", None),
            ("/\\evil.test", None),
            ("\\\\evil.test", None),
            ("http://u@evil.test/", None),
            ("//u@evil.test/", None),
            ("a b", None),
            ("javascript:x", None),
            ("http://", None),
        ] {
            let read = read(&base, location).ok().map(|(url, _)| url.to_string());
            assert_eq!(read.as_deref(), expected, "{location}");
        }
    }

    #[test]
    fn only_redirections_redirect_and_only_to_one_place() {
        let mut headers = HeaderMap::new();
        headers.insert(
            header::REFRESH,
            HeaderValue::from_static("0; url=http://127.0.0.1/"),
        );
        assert!(location(StatusCode::FOUND, &headers).is_none());
        headers.insert(header::LOCATION, HeaderValue::from_static("/x"));
        assert!(location(StatusCode::OK, &headers).is_none());
        assert!(location(StatusCode::MULTIPLE_CHOICES, &headers).is_none());
        assert!(location(StatusCode::NOT_MODIFIED, &headers).is_none());
        assert_eq!(
            location(StatusCode::FOUND, &headers).unwrap().unwrap(),
            "/x"
        );
        headers.append(header::LOCATION, HeaderValue::from_static("/y"));
        assert!(location(StatusCode::FOUND, &headers).unwrap().is_err());
    }
}
