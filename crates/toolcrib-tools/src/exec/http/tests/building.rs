//! From values to requests, without sending any.

use std::sync::Arc;

use http::Method;
use proptest::prelude::*;
use serde_json::{Value, json};
use url::Url;

use super::super::build::Draft;
use super::super::values::{Faults, Shown};
use crate::egress::{Host, Target};
use crate::manifest::{
    BodyTemplate, ErrorMode, HttpDefinition, JsonPart, Part, Placeholder, RequestTemplate,
    ResponseEncoding, Retry, Template, UrlTemplate,
};
use crate::model::JsonObject;
use crate::model::limits::LimitsPatch;
use crate::model::names::{Slug, Version, WireName};
use crate::schema::{Fault, Schema};
use crate::secret::SecretName;

/// A text with `${name}`; names in capitals are secrets.
fn template(text: &str) -> Template {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').unwrap();
        if !before.is_empty() {
            parts.push(Part::Literal(before.to_owned()));
        }
        parts.push(Part::Value(placeholder(name)));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Literal(rest.to_owned()));
    }
    Template { parts }
}

fn placeholder(name: &str) -> Placeholder {
    match name {
        "prev.value" => Placeholder::Previous,
        name if name.chars().any(|c| c.is_ascii_lowercase()) => {
            Placeholder::Argument(name.to_owned())
        }
        name => Placeholder::Secret(SecretName::parse(name).unwrap()),
    }
}

/// A definition with one request to `http://api.example.test`.
fn definition(path: &str, query: Option<&str>) -> HttpDefinition {
    let request = RequestTemplate {
        method: Method::GET,
        url: UrlTemplate {
            target: Target {
                https: false,
                host: Host::Name("api.example.test".to_owned()),
                port: 80,
            },
            origin: "http://api.example.test".to_owned(),
            path: template(path),
            query: query.map(template),
        },
        headers: Vec::new(),
        body: None,
        success_codes: Vec::new(),
        timeout: std::time::Duration::from_secs(1),
        encoding: ResponseEncoding::Text,
        extract: None,
        error_mode: ErrorMode::Fail,
        auth: None,
        retry: Retry::default(),
    };
    HttpDefinition {
        name: WireName::fit("weather"),
        slug: Slug::parse("weather").unwrap(),
        version: Version::v1(),
        display_name: "Weather".to_owned(),
        description: "Says".to_owned(),
        is_enabled: true,
        arg_schema: Arc::new(Schema::object().build().unwrap()),
        output_schema: None,
        requires_approval: Default::default(),
        tags: Vec::new(),
        keywords: Vec::new(),
        requests: vec![request],
        limits: LimitsPatch::default(),
        max_sent: None,
        max_received: None,
        tests: Vec::new(),
        digest: String::new(),
        meaning: crate::definition::Meaning::default(),
        arguments_at: Vec::new(),
    }
}

fn object(value: Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

/// The request that arguments make, or everything that is wrong with them.
fn built(definition: &HttpDefinition, args: &JsonObject) -> Result<Draft, Vec<Fault>> {
    let mut faults = Faults::new(definition, args);
    let draft = Draft::of(&definition.requests[0], &mut faults).unwrap();
    match faults.into_found() {
        found if found.is_empty() => Ok(draft),
        found => Err(found),
    }
}

fn refused(definition: &HttpDefinition, args: Value) -> String {
    let faults = built(definition, &object(args)).unwrap_err();
    let words = |fault: &Fault| format!("{} {}", fault.pointer, fault.message);
    faults.iter().map(words).collect::<Vec<_>>().join("; ")
}

/// Values that mean something to someone on the way.
fn hostile() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        Just("&key=evil".to_owned()),
        Just("#frag".to_owned()),
        Just("%26".to_owned()),
        Just("%00".to_owned()),
        Just("..".to_owned()),
        Just(".".to_owned()),
        Just("%2e%2E".to_owned()),
        Just("/".to_owned()),
        Just("\\".to_owned()),
        Just("@evil.test/".to_owned()),
        Just("//evil.test".to_owned()),
        Just("?".to_owned()),
        Just(";".to_owned()),
        Just("+ ".to_owned()),
        Just("${KEY}".to_owned()),
        Just("$${x}".to_owned()),
        Just("\r\nHost: evil".to_owned()),
        Just("\t".to_owned()),
        Just("\"}],\"admin\":true".to_owned()),
        Just("\\u0022".to_owned()),
        Just("é\u{202e}\u{10ffff}".to_owned()),
        "[^\0]{0,4}",
    ];
    prop::collection::vec(fragment, 0..5).prop_map(|fragments| fragments.concat())
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            other => other,
        });
    }
    String::from_utf8(bytes).unwrap()
}

proptest! {
    #[test]
    fn a_value_in_the_path_is_one_segment_and_the_whole_of_it(value in hostile()) {
        let definition = definition("/v1/${a}/x", Some("key=1"));
        match built(&definition, &object(json!({"a": value}))) {
            Ok(draft) => {
                let url = Url::parse(&draft.url).unwrap();
                prop_assert_eq!(url.host_str(), Some("api.example.test"));
                let segments: Vec<&str> = url.path_segments().unwrap().collect();
                prop_assert_eq!(segments.len(), 3, "{}", url);
                prop_assert_eq!((segments[0], segments[2]), ("v1", "x"));
                prop_assert_eq!(percent_decoded(segments[1]), value);
                prop_assert_eq!(url.query(), Some("key=1"));
                prop_assert_eq!(url.fragment(), None);
            }
            Err(_) => prop_assert!(matches!(value.as_str(), "" | "." | ".."), "{}", value),
        }
    }

    #[test]
    fn two_values_of_one_segment_stay_in_it(first in hostile(), second in hostile()) {
        let definition = definition("/v1/${a}${b}/%2e${a}/x", None);
        if let Ok(draft) = built(&definition, &object(json!({"a": first, "b": second}))) {
            let url = Url::parse(&draft.url).unwrap();
            let segments: Vec<String> = url.path_segments().unwrap().map(percent_decoded).collect();
            let expected = ["v1".to_owned(), format!("{first}{second}"), format!(".{first}"), "x".to_owned()];
            prop_assert_eq!(segments, expected);
        }
    }

    #[test]
    fn a_value_in_the_query_is_one_parameter(name in hostile(), value in hostile()) {
        let definition = definition("/v1", Some("q=${q}&${n}=2&key=own"));
        let draft = built(&definition, &object(json!({"q": value, "n": name}))).unwrap();
        let url = Url::parse(&draft.url).unwrap();
        prop_assert_eq!((url.host_str(), url.path()), (Some("api.example.test"), "/v1"));
        let read: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        prop_assert_eq!(read, [pair("q", &value), pair(&name, "2"), pair("key", "own")]);
    }

    #[test]
    fn a_body_of_json_is_its_template_with_the_value(value in hostile()) {
        let mut definition = definition("/v1", None);
        let literal = |text: &str| JsonPart::Literal(text.to_owned());
        definition.requests[0].body = Some(BodyTemplate::Json(vec![
            literal("{\"a\":\"<"),
            JsonPart::InText(placeholder("v")),
            literal(">\",\"b\":["),
            JsonPart::Whole(placeholder("v")),
            literal("],\"c\":"),
            JsonPart::Whole(placeholder("w")),
            literal("}"),
        ]));
        let whole = json!({"list": [value, 1.5, null]});
        let draft = built(&definition, &object(json!({"v": value, "w": whole}))).unwrap();
        let read: Value = serde_json::from_str(&draft.body).unwrap();
        prop_assert_eq!(read, json!({"a": format!("<{value}>"), "b": [value], "c": whole}));
    }

    #[test]
    fn a_body_of_fields_has_no_more_of_them(value in hostile()) {
        let mut definition = definition("/v1", None);
        definition.requests[0].body = Some(BodyTemplate::Form(template("a=${v}&b=2")));
        let draft = built(&definition, &object(json!({"v": value}))).unwrap();
        let read: Vec<(String, String)> = url::form_urlencoded::parse(draft.body.as_bytes()).into_owned().collect();
        prop_assert_eq!(read, [("a".to_owned(), value), ("b".to_owned(), "2".to_owned())]);
    }

    #[test]
    fn what_is_shown_has_no_secret_and_the_request_as_it_is_sent(value in hostile()) {
        let definition = definition("/v1", Some("q=${q}&key=${KEY}"));
        let args = object(json!({"q": value}));
        let draft = built(&definition, &args).unwrap();
        let mut shown = Shown { definition: &definition, args: &args, masked: &args };
        let shown = Draft::of(&definition.requests[0], &mut shown).unwrap();
        prop_assert_eq!(shown.url, format!("{}[secret KEY]", draft.url));
    }
}

#[test]
fn a_segment_that_would_vanish_is_refused_naming_the_argument() {
    let whole = definition("/v1/${a}/x", None);
    for value in ["", ".", ".."] {
        let refusal = refused(&whole, json!({"a": value}));
        assert!(refusal.starts_with("/a "), "{refusal}");
    }
    assert!(refused(&whole, json!({"a": []})).starts_with("/a is empty"));
    let last = definition("/v1/${a}", None);
    assert!(refused(&last, json!({"a": ""})).starts_with("/a is empty"));
    let beside = definition("/v1/%2e${a}", None);
    assert!(refused(&beside, json!({"a": "."})).contains("`..`"));
    assert!(refused(&beside, json!({"a": ""})).contains("`..`"));
    let part = definition("/v1/v${a}", None);
    assert!(built(&part, &object(json!({"a": ""}))).is_ok());
    assert!(built(&part, &object(json!({"a": ".."}))).is_ok());
}

#[test]
fn a_placeholder_without_a_value_is_named_wherever_it_is() {
    let mut everywhere = definition("/v1/${a}", Some("q=${b}"));
    let header = (http::HeaderName::from_static("x-c"), template("${c}"));
    everywhere.requests[0].headers.push(header);
    everywhere.requests[0].body = Some(BodyTemplate::Text(template("${d}")));
    let refusal = refused(&everywhere, json!({"b": "here"}));
    let named: Vec<&str> = refusal.split("; ").map(|fault| &fault[..2]).collect();
    assert_eq!(named, ["/a", "/c", "/d"], "{refusal}");
    assert!(refusal.contains("`${a}` is used in the path of the URL and has no value"));
    // `null` is not text either, but it is JSON.
    assert!(
        refused(&everywhere, json!({"a": null, "b": "", "c": "", "d": ""}))
            .contains("/a is needed")
    );
}

#[test]
fn line_breaks_and_nul_do_not_get_into_headers_or_urls() {
    let mut definition = definition("/v1", Some("q=${q}"));
    let header = (http::HeaderName::from_static("x-v"), template("a ${v}"));
    definition.requests[0].headers.push(header);
    let smuggled = "a\r\nHost: evil\r\n\r\nGET /admin";
    let refusal = refused(&definition, json!({"q": "", "v": smuggled}));
    assert!(refusal.starts_with("/v has a line break"), "{refusal}");
    assert!(refused(&definition, json!({"q": "\0", "v": ""})).starts_with("/q has a NUL"));
    assert!(refused(&definition, json!({"q": "", "v": "\0"})).starts_with("/v has a NUL"));
    let draft = built(&definition, &object(json!({"q": smuggled, "v": "b"}))).unwrap();
    assert!(!draft.url.contains(['\r', '\n']), "{}", draft.url);
    assert_eq!(draft.headers[0].value, "a b");
}

#[test]
fn only_values_that_may_be_secrets_make_a_header_sensitive() {
    let mut definition = definition("/v1", None);
    for (name, value) in [
        ("x-a", "${a}"),
        ("x-b", "k ${KEY}"),
        ("x-c", "${prev.value}"),
    ] {
        let name = http::HeaderName::from_static(name);
        definition.requests[0].headers.push((name, template(value)));
    }
    let draft = built(&definition, &object(json!({"a": "1"}))).unwrap();
    let sensitive: Vec<bool> = draft
        .headers
        .iter()
        .map(|header| header.sensitive)
        .collect();
    assert_eq!(sensitive, [false, true, true]);
}
