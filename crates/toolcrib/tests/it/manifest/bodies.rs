//! `bodyTemplate`: what it is, and where placeholders stand in it.

use serde_json::{Value, json};
use toolcrib::manifest::{BodyTemplate, JsonPart, Placeholder};

use super::{loads, refused, tool, warned};

fn post(content_type: Option<&str>, body: &str) -> String {
    let mut request =
        json!({"method": "POST", "urlTemplate": "https://a.example/", "bodyTemplate": body});
    if let Some(content_type) = content_type {
        request["headers"] = json!({"content-type": content_type});
    }
    tool(request)
}

fn body(content_type: Option<&str>, body: &str) -> BodyTemplate {
    loads(&post(content_type, body))
        .requests
        .remove(0)
        .body
        .unwrap()
}

#[test]
fn a_placeholder_of_json_is_inside_a_text_or_a_whole_value() {
    let BodyTemplate::Json(parts) = body(
        None,
        r#"{"q": "in ${city}, \"${city}\"", "n": ${limit}, "a": [${city}, {"b": ${limit}}]}"#,
    ) else {
        panic!("not JSON");
    };
    let kinds: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            JsonPart::Literal(_) => None,
            JsonPart::InText(_) => Some("text"),
            JsonPart::Whole(_) => Some("whole"),
        })
        .collect();
    assert_eq!(kinds, ["text", "text", "whole", "whole", "whole"]);
    // Alone it is the whole body.
    assert!(matches!(
        body(Some("application/json"), "${city}"),
        BodyTemplate::Json(parts) if matches!(parts.as_slice(), [JsonPart::Whole(Placeholder::Argument(_))])
    ));
    assert!(matches!(
        body(Some("application/problem+json; charset=utf-8"), "{}"),
        BodyTemplate::Json(_)
    ));
    assert!(matches!(
        body(Some("application/x-www-form-urlencoded"), "a=${city}"),
        BodyTemplate::Form(_)
    ));
    assert!(matches!(
        body(Some("text/plain"), "{ ${city}"),
        BodyTemplate::Text(_)
    ));
    assert!(matches!(body(None, "hello ${city}"), BodyTemplate::Text(_)));
}

#[test]
fn what_would_not_be_json_is_refused() {
    for text in [
        r#"{"${city}": 1}"#,
        r#"{"a${city}": 1}"#,
        r#"{"a": {"b${city}": 1}}"#,
        r#"{${city}: 1}"#,
        r#"{"a": 1${limit}}"#,
        r#"{"a": ${limit}1}"#,
        r#"{"a": -${limit}}"#,
        r#"{"a": ${city}${city}}"#,
        r#"{"a": "x"${city}}"#,
        r#"{"a": "\${city}"}"#,
        r#"{"a": "\u00${city}"}"#,
        r#"{"a": "${city}}"#,
        r#"{"a": 1,}"#,
        r#"{"a": 1 /* ${city} */}"#,
        r#"{"a": 1} ${city}"#,
        r#"${city}, {}"#,
    ] {
        assert_eq!(
            refused(&post(Some("application/json"), text)),
            ["body-json"],
            "{text}"
        );
    }
    // Without a type it begins like JSON and must be.
    assert_eq!(refused(&post(None, r#"{"a": "#)), ["body-json"]);
}

#[test]
fn a_get_has_no_body_and_an_empty_one_is_none() {
    for method in ["GET", "HEAD"] {
        let request =
            json!({"method": method, "urlTemplate": "https://a.example/", "bodyTemplate": "x"});
        assert_eq!(refused(&tool(request)), ["body-not-allowed"]);
    }
    let empty = json!({"urlTemplate": "https://a.example/", "bodyTemplate": ""});
    assert!(loads(&tool(empty)).requests[0].body.is_none());
    let null = json!({"urlTemplate": "https://a.example/", "bodyTemplate": Value::Null});
    assert!(loads(&tool(null)).requests[0].body.is_none());
}

#[test]
fn values_in_forms_that_no_one_here_knows_are_doubtful_or_refused() {
    assert_eq!(
        warned(&post(Some("application/xml"), "<a>${city}</a>")),
        ["raw-body"]
    );
    assert_eq!(
        warned(&post(Some("application/xml"), "<a/>")),
        Vec::<&str>::new()
    );
    assert_eq!(
        warned(&post(Some("text/plain"), "${city}")),
        Vec::<&str>::new()
    );
    assert_eq!(
        refused(&post(
            Some("multipart/form-data; boundary=x"),
            "--x ${city}"
        )),
        ["body-type"]
    );
    assert_eq!(
        refused(&post(Some("application/${city}"), "x")),
        ["body-type"]
    );
}

#[test]
fn values_in_several_json_documents_are_refused() {
    for kind in [
        "application/x-ndjson",
        "application/jsonl",
        "application/json-seq",
        "application/geo+json-seq",
    ] {
        let text = "{\"a\": \"${city}\"}\n{\"b\": 1}\n";
        assert_eq!(refused(&post(Some(kind), text)), ["body-type"], "{kind}");
        loads(&post(Some(kind), "{\"a\": 1}\n{\"b\": 1}\n"));
    }
    let parts = body(Some("application/vnd.api+json"), r#"{"a": "${city}"}"#);
    assert!(matches!(parts, BodyTemplate::Json(_)));
}
