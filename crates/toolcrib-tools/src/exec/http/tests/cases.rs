//! The adversarial cases about templates, word for word: `TPL-*`, `SSRF-064`, `SSRF-065`.

use serde_json::{Value, json};

use super::{Scene, code, error, value};
use crate::model::error::ErrorCode;
use crate::testing::{Received, Reply, ScriptedServer};

/// Says which request it got.
fn echo() -> ScriptedServer {
    ScriptedServer::start(|received| Reply::json(&json!({"target": received.target})))
}

/// The tool of `TPL-001` to `TPL-008`.
fn weather(server: &ScriptedServer) -> Scene {
    Scene::named(server)
        .secret("WEATHER_API_KEY", "s3cr3t-value")
        .request(json!({
            "method": "GET",
            "urlTemplate": "http://api.example.test/v1?q=${city}&key=${WEATHER_API_KEY}",
            "extractExpr": "$",
        }))
}

async fn sent(city: &str) -> Received {
    let server = echo();
    let scene = weather(&server);
    let outcome = scene.call(json!({"city": city})).await;
    assert!(outcome.is_ok(), "{outcome:#?}");
    let received = server.received();
    assert_eq!(received.len(), 1);
    let [received] = <[Received; 1]>::try_from(received).unwrap();
    assert_eq!(received.header("host"), Some("api.example.test"));
    let query = received.target.strip_prefix("/v1?").unwrap();
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(pairs, [pair("q", city), pair("key", "s3cr3t-value")]);
    received
}

#[tokio::test]
async fn tpl_001_an_argument_cannot_name_a_secret() {
    let received = sent("${WEATHER_API_KEY}").await;
    assert!(
        received.target.contains("q=%24%7BWEATHER_API_KEY%7D&"),
        "{}",
        received.target
    );
}

#[tokio::test]
async fn tpl_002_to_008_a_value_stays_one_parameter() {
    for (city, encoded) in [
        ("Paris&key=evil", "q=Paris%26key%3Devil&"),
        ("x#frag", "q=x%23frag&"),
        ("a%26b", "q=a%2526b&"),
        ("@evil.test/", "q=%40evil.test%2F&"),
        ("$${x}", "q=%24%24%7Bx%7D&"),
        ("a\r\nX-Evil: 1\r\n\r\nGET /admin", "q=a%0D%0AX-Evil"),
        ("../../admin?x=1", "q=..%2F..%2Fadmin%3Fx%3D1&"),
        ("a+b c", "q=a%2Bb%20c&"),
        ("", "q=&"),
    ] {
        let received = sent(city).await;
        assert!(received.target.contains(encoded), "{}", received.target);
        assert!(received.header("x-evil").is_none());
    }
}

#[tokio::test]
async fn tpl_007_nul_is_refused_before_anything_is_sent() {
    let server = echo();
    let outcome = weather(&server).call(json!({"city": "\0"})).await;
    assert_eq!(code(&outcome), ErrorCode::InvalidArguments);
    assert!(error(&outcome).message().contains("/city"), "{outcome:#?}");
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn tpl_012_a_value_in_a_text_of_json_stays_in_it() {
    let server = echo();
    let scene = Scene::with(&server).request(json!({
        "method": "POST",
        "urlTemplate": server.url("/"),
        "bodyTemplate": "{\"a\":\"${v}\"}",
        "responseEncoding": "json",
    }));
    let hostile = "\",\"admin\":true,\"x\":\"";
    assert!(scene.call(json!({"v": hostile})).await.is_ok());
    let received = &server.received()[0];
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(body, json!({"a": hostile}));
    assert_eq!(received.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn tpl_013_a_placeholder_without_a_value_is_named_and_nothing_sent() {
    let server = echo();
    let scene = Scene::with(&server).request(json!({
        "urlTemplate": server.url("/v1?q=${missing}"),
    }));
    for args in [json!({}), json!({"missing": null})] {
        let outcome = scene.call(args).await;
        assert_eq!(code(&outcome), ErrorCode::InvalidArguments);
        let error = error(&outcome);
        assert!(error.message().contains("${missing}"), "{error:?}");
        assert!(
            format!("{:?}", error.details()).contains("/missing"),
            "{error:?}"
        );
    }
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn tpl_014_a_secret_in_the_url_is_in_no_error() {
    let echoing = ScriptedServer::start(|received| {
        Reply::status(500).body(format!("cannot do {}", received.target))
    });
    let silent = ScriptedServer::start(|_| Reply::ok("").after(super::AGES));
    let gone = ScriptedServer::script([]);
    let address = gone.host();
    drop(gone);
    for (host, timeout) in [
        (echoing.host(), 5000),
        (silent.host(), 100),
        (address, 5000),
    ] {
        let scene = Scene::listing(&[&host])
            .secret("WEATHER_API_KEY", "s3cr3t value+1")
            .request(json!({
                "urlTemplate": format!("http://{host}/v1?q=${{city}}&key=${{WEATHER_API_KEY}}"),
                "timeoutMs": timeout,
                "retry": {"max": 0},
            }));
        let outcome = scene.call(json!({"city": "s3cr3t value+1"})).await;
        assert!(!outcome.is_ok());
        let all = format!("{outcome:?} {:?}", scene.crib.records());
        assert!(!all.contains("s3cr3t"), "{all}");
    }
}

#[tokio::test]
async fn ssrf_064_no_line_break_reaches_a_header() {
    let server = echo();
    let scene = Scene::with(&server).request(json!({
        "urlTemplate": server.url("/"),
        "headers": {"X": "${v}"},
    }));
    for hostile in [
        "a\r\nHost: evil\r\n\r\nGET /admin",
        "a\nb",
        "a\rb",
        "a\0b",
        "\u{85}",
        "\u{2028}",
    ] {
        let outcome = scene.call(json!({"v": hostile})).await;
        assert_eq!(code(&outcome), ErrorCode::InvalidArguments, "{hostile:?}");
    }
    assert!(server.received().is_empty());
    assert!(scene.call(json!({"v": "fine"})).await.is_ok());
    assert_eq!(server.received()[0].header("x"), Some("fine"));
}

#[tokio::test]
async fn ssrf_064_a_secret_with_a_line_break_is_not_sent_either() {
    let server = echo();
    let scene = Scene::with(&server)
        .secret("TOKEN", "abc-secret\r\nX-Evil: 1")
        .request(json!({"urlTemplate": server.url("/"), "headers": {"X": "${TOKEN}"}}));
    let outcome = scene.call(json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::ToolUnavailable);
    let message = error(&outcome).message();
    assert!(message.contains("`TOKEN` has a line break"), "{message}");
    assert!(message.contains("toolcrib secret set TOKEN"), "{message}");
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn ssrf_065_credentials_do_not_go_to_another_origin() {
    let server = ScriptedServer::start(|received| match received.header("host") {
        Some("api.example.test") => Reply::redirect(302, "http://other.example.test/landed"),
        _ => Reply::json(&json!("landed")),
    });
    let scene = Scene::named(&server)
        .secret("TOKEN", "SENTINEL-7f3a")
        .request(json!({
            "urlTemplate": "http://api.example.test/x?key=${TOKEN}",
            "headers": {
                "Authorization": "Bearer ${TOKEN}",
                "Cookie": "a=${TOKEN}",
                "X-Api-Key": "${TOKEN}",
                "Accept": "application/json",
            },
        }));
    let outcome = scene.call(json!({})).await;
    assert_eq!(value(&outcome), "landed");
    let received = server.received();
    assert_eq!(received.len(), 2);
    assert!(received[0].header("x-api-key").is_some());
    let head = String::from_utf8_lossy(&received[1].head).into_owned();
    assert!(!head.contains("SENTINEL"), "{head}");
    assert!(received[1].header("authorization").is_none());
    assert!(received[1].header("cookie").is_none());
    assert_eq!(received[1].header("accept"), Some("application/json"));
}

#[tokio::test]
async fn a_body_with_a_secret_does_not_go_to_another_origin() {
    let server = ScriptedServer::start(|received| match received.header("host") {
        Some("api.example.test") => Reply::redirect(307, "http://other.example.test/landed"),
        _ => Reply::json(&json!("landed")),
    });
    let request = |body: &str| {
        json!({
            "method": "POST",
            "urlTemplate": "http://api.example.test/x",
            "bodyTemplate": body,
        })
    };
    let scene = Scene::named(&server)
        .secret("TOKEN", "SENTINEL-7f3a")
        .request(request("{\"key\": \"${TOKEN}\"}"));
    let outcome = scene.call(json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::HostNotAllowed);
    assert_eq!(server.received().len(), 1);
    let scene = Scene::named(&server).request(request("{\"key\": \"${v}\"}"));
    assert_eq!(value(&scene.call(json!({"v": 1})).await), "landed");
    assert_eq!(server.received()[2].text(), "{\"key\": \"1\"}");
}
