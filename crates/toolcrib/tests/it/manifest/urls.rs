//! `urlTemplate`: where a request goes is fixed.

use serde_json::json;
use toolcrib::manifest::{Placeholder, Template};

use super::{loads, refused, tool, warned, with};

fn url(text: &str) -> String {
    tool(json!({"urlTemplate": text}))
}

#[test]
fn only_http_and_https_are_urls() {
    for text in [
        "ftp://a.example/",
        "file:///etc/passwd",
        "HTTPS://a.example/",
        "//a.example/",
        "a.example/",
        "https:/a.example/",
        "https:a.example",
        " https://a.example/",
        "",
        "javascript:alert(1)",
    ] {
        assert_eq!(refused(&url(text)), ["url-scheme"], "{text}");
    }
}

#[test]
fn no_placeholder_is_allowed_in_the_host() {
    for text in [
        "${city}://a.example/",
        "${city}",
        "https://${city}/",
        "https://${city}.a.example/",
        "https://a.example${city}",
        "https://a.example${city}/x",
        "https://a.example:${limit}/",
        "https://${city}@a.example/",
        "https://user:${API_KEY}@a.example/",
        "https://[::${city}]/",
        "https://a.${version}.example/",
    ] {
        assert_eq!(refused(&url(text)), ["url-placeholder"], "{text}");
    }
}

#[test]
fn a_host_that_different_programs_read_differently_is_refused() {
    for text in [
        "https://",
        "https:///x",
        "https://user@a.example/",
        "https://user:password@a.example/",
        "https://a.example\\@b.example/",
        "https://a example/",
        "https://a.example:99999/",
        "https://a.example:x/",
        "https://a\u{0}.example/",
    ] {
        let codes = refused(&url(text));
        assert!(
            codes
                .iter()
                .all(|code| ["url-host", "url-character", "control-character"].contains(code)),
            "{text}: {codes:?}"
        );
    }
}

#[test]
fn a_fragment_or_a_blank_is_refused() {
    assert_eq!(refused(&url("https://a.example/#top")), ["url-fragment"]);
    assert_eq!(
        refused(&url("https://a.example/?q=1#${city}")),
        ["url-fragment"]
    );
    assert_eq!(refused(&url("https://a.example#x")), ["url-fragment"]);
    assert_eq!(refused(&url("https://a.example/a b")), ["url-character"]);
    assert_eq!(
        refused(&url("https://a.example/a\nb")),
        ["control-character"]
    );
}

#[test]
fn path_and_query_are_apart() {
    let read = |text: &str| loads(&url(text)).requests.remove(0).url;
    let bare = read("https://a.example");
    assert_eq!((bare.path, bare.query), (Template::literal("/"), None));
    let query = read("https://a.example?q=${city}?x=/${limit}");
    assert_eq!(query.path, Template::literal("/"));
    let names: Vec<&str> = query
        .query
        .as_ref()
        .unwrap()
        .placeholders()
        .map(Placeholder::name)
        .collect();
    assert_eq!(names, ["city", "limit"]);
    let path = read("https://a.example:8443/v1/${city}/x?");
    assert_eq!(path.origin, "https://a.example:8443");
    assert_eq!(path.target.port, 8443);
    assert_eq!(path.path.placeholders().count(), 1);
    assert_eq!(path.query, Some(Template::default()));
    let escaped = read("https://a.example/$${city}");
    assert_eq!(escaped.path, Template::literal("/${city}"));
}

#[test]
fn secrets_in_urls_and_in_the_open_are_doubtful() {
    assert_eq!(
        warned(&url("https://a.example/?key=${API_KEY}")),
        ["secret-in-url"]
    );
    let header = |url: &str| tool(json!({"urlTemplate": url, "headers": {"X-Key": "${API_KEY}"}}));
    assert_eq!(warned(&header("https://a.example/")), Vec::<&str>::new());
    assert_eq!(warned(&header("http://a.example/")), ["secret-over-http"]);
    for loopback in ["http://127.0.0.1:8080/", "http://[::1]:8080/"] {
        assert_eq!(warned(&header(loopback)), Vec::<&str>::new(), "{loopback}");
    }
    // Nothing secret, nothing to hide.
    assert_eq!(
        warned(&url("http://a.example/?q=${city}")),
        Vec::<&str>::new()
    );
    let auth = with(
        json!({"auth": {"type": "bearer", "token": "${TOKEN}"}}),
        json!({"urlTemplate": "http://a.example/"}),
    );
    assert_eq!(warned(&auth), ["secret-over-http"]);
}

#[test]
fn a_value_cannot_complete_an_escape() {
    for text in [
        "https://a.example/v1/%${city}/end",
        "https://a.example/?x=%${city}",
        "https://a.example/%2${city}",
        "https://a.example/100%",
        "https://a.example/%zz",
    ] {
        assert_eq!(refused(&url(text)), ["url-character"], "{text}");
    }
    loads(&url("https://a.example/%20${city}%41?a=%25${city}"));
}

#[test]
fn what_no_one_sees_cannot_be_in_a_url() {
    for c in ["\u{200b}", "\u{202e}", "\u{2066}", "\u{feff}", "\u{ad}"] {
        let text = format!("https://a.example/x{c}y");
        assert_eq!(refused(&url(&text)), ["url-character"], "{text:?}");
    }
}

#[test]
fn no_file_has_more_headers_than_are_sent() {
    let headers = |count: usize| {
        let all = (0..count).map(|n| (format!("X-{n}"), json!("v")));
        let all: serde_json::Map<_, _> = all.collect();
        tool(json!({"urlTemplate": "https://a.example/", "headers": all}))
    };
    loads(&headers(90));
    assert_eq!(refused(&headers(91)), ["out-of-range"]);
}

#[test]
fn a_value_that_goes_on_to_another_host_behind_a_secret_is_warned_about() {
    let two = |second: &str| {
        with(
            json!({}),
            json!([
                {"urlTemplate": "https://a.example/", "headers": {"X-Key": "${API_KEY}"}},
                {"urlTemplate": second},
            ]),
        )
    };
    let crossing = two("https://b.example/?x=${prev.value}");
    assert_eq!(warned(&crossing), ["value-crosses-hosts"]);
    assert!(warned(&two("https://a.example/?x=${prev.value}")).is_empty());
    assert!(warned(&two("https://b.example/")).is_empty());
}
