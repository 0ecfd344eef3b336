//! From answers to values.

use serde_json::{Value, json};

use super::{Scene, code, error, value};
use crate::model::error::ErrorCode;
use crate::testing::{Reply, ScriptedServer};

/// What a tool with these fields makes of an answer.
async fn read(reply: Reply, fields: Value) -> crate::model::outcome::Outcome {
    let server = ScriptedServer::start(move |_| reply.clone());
    let mut request = json!({"urlTemplate": server.url("/"), "retry": {"max": 0}});
    let own = request.as_object_mut().unwrap();
    own.extend(fields.as_object().unwrap().clone());
    Scene::with(&server).request(request).call(json!({})).await
}

#[tokio::test]
async fn one_node_is_its_value_several_are_a_list_and_none_is_a_failure() {
    let answer = || Reply::json(&json!({"a": [{"n": 1}, {"n": 2}], "e": []}));
    for (path, expected) in [
        ("$.a[0].n", json!(1)),
        ("$.a[*].n", json!([1, 2])),
        ("$.e", json!([])),
        ("$", json!({"a": [{"n": 1}, {"n": 2}], "e": []})),
    ] {
        let outcome = read(answer(), json!({"extractExpr": path})).await;
        assert_eq!(value(&outcome), &expected, "{path}");
    }
    let outcome = read(answer(), json!({"extractExpr": "$.missing"})).await;
    assert_eq!(code(&outcome), ErrorCode::UpstreamError);
    assert!(
        error(&outcome).message().contains("extractExpr"),
        "{outcome:#?}"
    );
}

#[tokio::test]
async fn parts_that_hold_one_another_are_not_copied_without_end() {
    let nested = |text: usize| {
        let deep = format!(
            "{}\"{}\"{}",
            "[".repeat(100),
            "x".repeat(text),
            "]".repeat(100)
        );
        Reply::ok(deep)
    };
    let fields = json!({"extractExpr": "$..*"});
    let small = read(nested(100), fields.clone()).await;
    assert_eq!(value(&small).as_array().map(Vec::len), Some(100));
    let outcome = read(nested(1_000_000), fields).await;
    assert_eq!(code(&outcome), ErrorCode::UpstreamError);
    let message = error(&outcome).message();
    assert!(
        message.contains("more than 4 times the answer together: `$..*`; have it take fewer"),
        "{message}"
    );
}

#[tokio::test]
async fn a_pattern_gives_its_first_group_or_the_match() {
    let answer = || Reply::ok("<b>temp: 21 C</b>");
    for (pattern, expected) in [
        (r"/temp: (\d+)/", Some("21")),
        (r"/temp: \d+/", Some("temp: 21")),
        (r"/(wet)|C/", Some("C")),
        (r"/snow/", None),
    ] {
        let fields = json!({"extractExpr": pattern, "responseEncoding": "text"});
        let outcome = read(answer(), fields).await;
        match expected {
            Some(expected) => assert_eq!(value(&outcome), expected, "{pattern}"),
            None => assert_eq!(code(&outcome), ErrorCode::UpstreamError),
        }
    }
    // On JSON a pattern reads the text as it came.
    let fields = json!({"extractExpr": r#"/"n":\s*(\d+)/"#});
    assert_eq!(value(&read(Reply::ok(r#"{"n":  7}"#), fields).await), "7");
}

#[tokio::test]
async fn statuses_beyond_the_success_codes_are_errors_with_what_the_server_said() {
    let outcome = read(Reply::status(404).body("no such city"), json!({})).await;
    let error = error(&outcome);
    assert_eq!(error.code(), ErrorCode::UpstreamError);
    assert!(
        error
            .message()
            .ends_with("answered 404 Not Found: no such city"),
        "{error:?}"
    );
    let details = error.details().unwrap();
    assert_eq!(
        (&details["status"], &details["body"]),
        (&json!(404), &json!("no such city"))
    );
    let long = read(Reply::status(400).body("é".repeat(50_000)), json!({})).await;
    let body = super::error(&long).details().unwrap()["body"]
        .as_str()
        .unwrap()
        .len();
    assert!(body < 2100, "{body}");
    let listed = json!({"successCodes": [404], "responseEncoding": "text"});
    let outcome = read(Reply::status(404).body("none"), listed.clone()).await;
    assert_eq!(value(&outcome), "none");
    assert_eq!(
        code(&read(Reply::ok("some"), listed).await),
        ErrorCode::UpstreamError
    );
    assert_eq!(
        value(&read(Reply::status(201).body("1"), json!({})).await),
        1
    );
}

#[tokio::test]
async fn a_message_alone_says_what_came_and_what_to_do() {
    let html = || Reply::ok("<!doctype html>\n<p>Sign\tin").header("Content-Type", "text/html");
    let auth = json!({"auth": {"type": "bearer", "token": "${API_KEY}"}});
    for (reply, fields, expected) in [
        (
            Reply::status(500).body("a\n  b".to_owned() + &"c".repeat(500)),
            json!({}),
            format!("answered 500 Internal Server Error: a b{}…", "c".repeat(197)),
        ),
        (Reply::status(500).body(vec![0xff, 0, 1]), json!({}), "answered 500 Internal Server Error".into()),
        (
            Reply::status(401).body("who?"),
            json!({}),
            "answered 401 Unauthorized: who?; the request has no `auth` and no secret".into(),
        ),
        (
            Reply::status(403),
            auth,
            "answered 403 Forbidden; look at `auth` of the request and the secret `API_KEY` (`toolcrib secret set API_KEY`)".into(),
        ),
        (
            html(),
            json!({}),
            "is not JSON (text/html), expected value at line 1 column 1: <!doctype html> <p>Sign in; \
             `\"responseEncoding\": \"text\"` takes an answer that is not JSON".into(),
        ),
        (
            Reply::ok("{\"a\": 1}"),
            json!({"extractExpr": "$.b"}),
            "in which `extractExpr` finds nothing: `$.b`: {\"a\": 1}".into(),
        ),
    ] {
        let server = ScriptedServer::start(move |_| reply.clone());
        let mut request = json!({"urlTemplate": server.url("/"), "retry": {"max": 0}});
        let own = request.as_object_mut().unwrap();
        own.extend(fields.as_object().unwrap().clone());
        let scene = Scene::with(&server).secret("API_KEY", "s3cr3t-value");
        let outcome = scene.request(request).call(json!({})).await;
        let message = error(&outcome).message();
        assert!(message.ends_with(&expected), "{message}\n{expected}");
    }
}

#[tokio::test]
async fn an_answer_that_says_nothing_is_null() {
    assert_eq!(
        value(&read(Reply::status(204), json!({})).await),
        &Value::Null
    );
    assert_eq!(
        value(&read(Reply::ok(" \n"), json!({})).await),
        &Value::Null
    );
    let text = json!({"responseEncoding": "text"});
    assert_eq!(value(&read(Reply::ok(""), text).await), "");
    let extracting = json!({"extractExpr": "$.a"});
    assert_eq!(
        code(&read(Reply::ok(""), extracting).await),
        ErrorCode::UpstreamError
    );
}

#[tokio::test]
async fn input_that_is_not_json_is_an_error_that_shows_it() {
    for body in ["<html>", "{\"a\":", "1 2", "\u{feff}{", "NaN"] {
        let outcome = read(
            Reply::ok(body).header("Content-Type", "text/html"),
            json!({}),
        )
        .await;
        let error = error(&outcome);
        assert_eq!(error.code(), ErrorCode::UpstreamError);
        assert!(
            error.message().contains("not JSON (text/html)"),
            "{error:?}"
        );
    }
    assert_eq!(
        value(&read(Reply::ok("\u{feff}[1]"), json!({})).await),
        &json!([1])
    );
    let deep = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
    assert_eq!(
        code(&read(Reply::ok(deep), json!({})).await),
        ErrorCode::UpstreamError
    );
    let deepish = format!("{}1{}", "[".repeat(110), "]".repeat(110));
    assert_eq!(
        code(&read(Reply::ok(deepish), json!({})).await),
        ErrorCode::InvalidOutput
    );
}

#[tokio::test]
async fn an_answer_of_too_many_values_is_refused_before_it_is_read() {
    let many = || Reply::ok(format!("[{}0]", "0,".repeat(1_000_000)));
    let outcome = read(many(), json!({"extractExpr": "$[0]"})).await;
    assert_eq!(code(&outcome), ErrorCode::UpstreamError);
    assert!(
        error(&outcome).message().contains("1000000 values"),
        "{}",
        error(&outcome)
    );
    // Commas in texts are not values.
    let text = Reply::ok(format!("[\"\\\"{}\"]", ",".repeat(1_100_000)));
    let outcome = read(text, json!({"extractExpr": "$.*"})).await;
    assert!(value(&outcome).is_string());
    // Large answers are read aside, and come to the same.
    let large = Reply::json(&json!({"pad": "x".repeat(200_000), "n": 7}));
    assert_eq!(value(&read(large, json!({"extractExpr": "$.n"})).await), 7);
}

#[tokio::test]
async fn text_is_read_by_the_charset_it_names() {
    let text = json!({"responseEncoding": "text"});
    for (body, kind, expected) in [
        (b"caf\xc3\xa9".to_vec(), "text/plain", Some("café")),
        (
            b"\xef\xbb\xbfx".to_vec(),
            "text/plain; charset=UTF-8",
            Some("x"),
        ),
        (
            b"caf\xe9 \x80".to_vec(),
            "text/plain; charset=ISO-8859-1",
            Some("café €"),
        ),
        (
            b"caf\xe9".to_vec(),
            "text/plain; charset=\"windows-1252\"",
            Some("café"),
        ),
        (
            b"a\0\xe9\0".to_vec(),
            "text/plain; charset=utf-16le",
            Some("aé"),
        ),
        (
            b"\xfe\xff\0a".to_vec(),
            "text/plain; charset=utf-16",
            Some("a"),
        ),
        (b"caf\xe9".to_vec(), "text/plain", None),
        (b"a\0b".to_vec(), "text/plain; charset=utf-16", None),
        (b"x".to_vec(), "text/plain; charset=klingon", None),
    ] {
        let outcome = read(Reply::ok(body).header("Content-Type", kind), text.clone()).await;
        match expected {
            Some(expected) => assert_eq!(value(&outcome), expected, "{kind}"),
            None => assert_eq!(code(&outcome), ErrorCode::UpstreamError, "{kind}"),
        }
    }
}

#[tokio::test]
async fn error_mode_empty_gives_null_for_what_the_server_did_and_hides_no_refusal() {
    let empty = |extra: Value| {
        let mut fields = json!({"errorMode": "empty"});
        fields
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        fields
    };
    for (reply, extra) in [
        (Reply::status(500), json!({})),
        (Reply::status(404), json!({})),
        (Reply::ok("<html>"), json!({})),
        (Reply::ok("{}"), json!({"extractExpr": "$.a"})),
        (Reply::raw("nonsense"), json!({})),
        (Reply::ok("1").after(super::AGES), json!({"timeoutMs": 50})),
    ] {
        let outcome = read(reply, empty(extra)).await;
        assert_eq!(value(&outcome), &Value::Null);
        let shown = toolcrib_core::wire::render(&outcome, toolcrib_core::wire::ResultShape::Tagged);
        let failure = &shown["metadata"]["failure"];
        assert!(failure["message"].is_string(), "{shown:#}");
    }
    let server = ScriptedServer::start(|_| Reply::ok("1"));
    let unlisted = Scene::listing(&[]).request(json!({
        "urlTemplate": "http://api.example.test/", "errorMode": "empty",
    }));
    assert_eq!(
        code(&unlisted.call(json!({})).await),
        ErrorCode::HostNotAllowed
    );
    let elsewhere = ScriptedServer::start(|_| Reply::redirect(302, "http://127.0.0.1:1/"));
    let scene = Scene::with(&elsewhere)
        .request(json!({"urlTemplate": elsewhere.url("/"), "errorMode": "empty"}));
    assert_eq!(
        code(&scene.call(json!({})).await),
        ErrorCode::HostNotAllowed
    );
    let scene = Scene::with(&server)
        .request(json!({"urlTemplate": server.url("/?q=${q}"), "errorMode": "empty"}));
    assert_eq!(
        code(&scene.call(json!({})).await),
        ErrorCode::InvalidArguments
    );
}

#[tokio::test]
async fn the_output_schema_is_checked_and_null_of_error_mode_empty_is_not() {
    let server = ScriptedServer::script([
        Reply::ok("{\"n\": \"x\"}"),
        Reply::ok("{\"n\": 1}"),
        Reply::ok("null"),
        Reply::status(404),
    ]);
    let scene = Scene::with(&server).tool(json!({
        "tags": ["read"],
        "impl": {"urlTemplate": server.url("/"), "errorMode": "empty"},
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    }));
    assert_eq!(code(&scene.call(json!({})).await), ErrorCode::InvalidOutput);
    assert_eq!(value(&scene.call(json!({})).await), &json!({"n": 1}));
    assert_eq!(code(&scene.call(json!({})).await), ErrorCode::InvalidOutput);
    assert_eq!(value(&scene.call(json!({})).await), &Value::Null);
}

#[tokio::test]
async fn an_empty_value_is_not_a_value_for_the_next_request() {
    let server = ScriptedServer::script([Reply::status(404), Reply::ok("1")]);
    let requests = |second: &str| {
        json!([
            {"urlTemplate": server.url("/1"), "errorMode": "empty"},
            {"urlTemplate": second},
        ])
    };
    let scene = Scene::with(&server).request(requests(&server.url("/2?q=${prev.value}")));
    let outcome = scene.call(json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::UpstreamError);
    assert!(
        error(&outcome).message().contains("prev.value"),
        "{outcome:#?}"
    );
    assert_eq!(server.received().len(), 1);
}
