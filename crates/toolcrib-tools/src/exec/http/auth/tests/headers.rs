//! Bearer, basic and HMAC as they are sent.

use super::*;
use crate::egress::Request;
use crate::exec::http::auth::signature;

#[tokio::test]
async fn bearer_and_basic_are_sent_and_never_shown() {
    for (auth, expected) in [
        (
            json!({"type": "bearer", "token": "${TOKEN}"}),
            "Bearer t0ken-SENTINEL",
        ),
        (
            json!({"type": "basic", "username": "user", "password": "${TOKEN}"}),
            "Basic dXNlcjp0MGtlbi1TRU5USU5FTA==",
        ),
        // A literal in a file may still be a secret.
        (
            json!({"type": "bearer", "token": "t0ken-SENTINEL"}),
            "Bearer t0ken-SENTINEL",
        ),
    ] {
        let server = ScriptedServer::start(|request| {
            Reply::json(&json!({"head": String::from_utf8_lossy(&request.head)}))
        });
        let request = json!({"urlTemplate": server.url("/"), "auth": auth});
        let scene = Scene::new()
            .secret("TOKEN", "t0ken-SENTINEL")
            .tool(&[&server], request);
        let value = scene.value().await.to_string();
        let received = server.received();
        assert_eq!(received[0].header("authorization"), Some(expected));
        assert!(value.contains("[REDACTED]"), "{value}");
        assert!(
            !value.contains("SENTINEL") && !value.contains("SU5FTA"),
            "{value}"
        );
    }
}

#[tokio::test]
async fn a_secret_for_another_host_is_not_sent() {
    let server = ScriptedServer::start(|_| Reply::ok("{}"));
    let auth = json!({"type": "bearer", "token": "${TOKEN}"});
    let scene = Scene::new()
        .bound("TOKEN", "t0ken-SENTINEL", &["api.example.com"])
        .tool(
            &[&server],
            json!({"urlTemplate": server.url("/"), "auth": auth}),
        );
    let error = scene.error().await;
    assert_eq!(error.code(), ErrorCode::ToolUnavailable, "{error}");
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_signature_is_of_what_is_sent_and_made_again_for_every_attempt() {
    let server = ScriptedServer::script([Reply::status(503), Reply::ok("{}")]);
    let request = json!({
        "method": "PUT",
        "urlTemplate": server.url("/v1/${q}/x?name=${q}"),
        "bodyTemplate": "{\"q\": \"${q}\"}",
        "auth": {
            "type": "hmac", "key": "${KEY}", "keyId": "key-1", "keyIdHeader": "X-Which",
            "signatureHeader": "X-Sig", "timestampHeader": "X-Time",
        },
    });
    let scene = Scene::new()
        .secret("KEY", "s1gning-key")
        .tool(&[&server], request);
    let call = CallRequest::new("t").arg("q", "a b/ü?&");
    let before = jiff::Timestamp::now().as_second();
    let outcome = scene.registry().execute(call).await;
    assert!(outcome.error().is_none(), "{outcome:?}");
    let after = jiff::Timestamp::now().as_second();

    let received = server.received();
    assert_eq!(received.len(), 2);
    for attempt in received {
        assert_eq!(attempt.header("x-which"), Some("key-1"));
        let time: i64 = attempt.header("x-time").unwrap().parse().unwrap();
        assert!((before..=after).contains(&time), "{time}");
        // What a server does: sign what came, as it came.
        let mut came = Request::get(server.url(&attempt.target).parse().unwrap());
        assert_eq!(came.url.as_str(), server.url(&attempt.target));
        came.method = attempt.method.parse().unwrap();
        came.body = attempt.body.clone().into();
        let expected = signature::of(&came, &Secret::new("s1gning-key"), time).unwrap();
        assert_eq!(attempt.header("x-sig"), Some(expected.expose()));
    }
}

#[tokio::test]
async fn credentials_do_not_follow_a_redirection_to_another_origin() {
    let elsewhere = ScriptedServer::start(|_| Reply::ok("{}"));
    let target = elsewhere.url("/");
    let server = ScriptedServer::start(move |_| Reply::redirect(302, &target));
    for auth in [
        json!({"type": "bearer", "token": "${TOKEN}"}),
        json!({"type": "hmac", "key": "${TOKEN}", "keyId": "key-1"}),
    ] {
        let request = json!({"urlTemplate": server.url("/"), "auth": auth});
        let scene = Scene::new()
            .secret("TOKEN", "t0ken-SENTINEL")
            .tool(&[&server, &elsewhere], request);
        scene.call().await;
    }
    for request in elsewhere.received() {
        for name in ["authorization", "x-signature", "x-timestamp", "x-key-id"] {
            assert_eq!(request.header(name), None);
        }
    }
}
