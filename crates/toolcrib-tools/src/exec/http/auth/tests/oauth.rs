//! Tokens of a real token server: both grants, and everything that goes wrong.

use std::time::Duration;

use super::*;
use crate::call::event::EventKind;

#[tokio::test]
async fn client_credentials_are_exchanged_for_a_token_that_is_kept() {
    let issuer = Issuer::giving(json!({"expires_in": 3600}));
    let mut request = issuer.client_credentials();
    request["auth"]["scope"] = json!("read write");
    let scene = Scene::new()
        .secret("CLIENT_ID", "my client")
        .secret("CLIENT_SECRET", "p:ss+wö/&")
        .tool(&[&issuer.server], request);
    for _ in 0..3 {
        assert_eq!(scene.value().await["ok"], true);
    }
    assert_eq!(issuer.seen(), ["Bearer token-1"; 3]);
    let asked = issuer.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].method, "POST");
    assert_eq!(
        form(&asked[0]),
        pairs(&[
            ("grant_type", "client_credentials"),
            ("scope", "read write")
        ])
    );
    // base64 of `my+client:p%3Ass%2Bw%C3%B6%2F%26`
    assert_eq!(
        asked[0].header("authorization"),
        Some("Basic bXkrY2xpZW50OnAlM0FzcyUyQnclQzMlQjYlMkYlMjY=")
    );
    assert_eq!(
        asked[0].header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
}

#[tokio::test]
async fn a_public_client_names_itself_in_the_body() {
    let issuer = Issuer::giving(json!({}));
    let scene = Scene::new()
        .secret("REFRESH", "r3fresh-1")
        .tool(&[&issuer.server], issuer.refresh_token("${REFRESH}"));
    scene.value().await;
    let asked = issuer.asked();
    assert_eq!(asked[0].header("authorization"), None);
    assert_eq!(
        form(&asked[0]),
        pairs(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", "r3fresh-1"),
            ("client_id", "app")
        ])
    );
}

#[tokio::test]
async fn a_token_that_is_over_is_replaced() {
    let issuer = Issuer::giving(json!({"expires_in": 0}));
    let scene = issuer.scene(issuer.client_credentials());
    scene.value().await;
    scene.value().await;
    assert_eq!(issuer.seen(), ["Bearer token-1", "Bearer token-2"]);
}

#[tokio::test]
async fn the_clients_secret_is_sent_to_the_token_server_and_no_one_else() {
    let issuer = Issuer::giving(json!({}));
    let api = ScriptedServer::start(|_| Reply::ok("{}"));
    let mut request = issuer.client_credentials();
    request["urlTemplate"] = json!(api.url("/"));
    let only = issuer.server.host();
    let scene = Scene::new()
        .secret("CLIENT_ID", "the-client")
        .bound("CLIENT_SECRET", "cl1ent-s3cret", &[&only])
        .tool(&[&issuer.server, &api], request);
    scene.value().await;
    assert_eq!(
        api.received()[0].header("authorization"),
        Some("Bearer token-1")
    );

    let elsewhere = api.host();
    set(
        &scene.store,
        "CLIENT_SECRET",
        "an0ther-s3cret",
        &Binding::new([elsewhere.as_str()], []).unwrap(),
    );
    assert_eq!(scene.error().await.code(), ErrorCode::ToolUnavailable);
    assert_eq!(issuer.asked().len(), 1);
}

#[tokio::test]
async fn a_new_refresh_token_replaces_the_secret_and_keeps_its_binding() {
    let issuer = Issuer::answering(|request, number| {
        let expected = format!("r3fresh-{number}");
        assert_eq!(form(request)[1].1, expected);
        Reply::json(&json!({
            "access_token": format!("token-{number}"), "token_type": "bearer", "expires_in": 0,
            "refresh_token": format!("r3fresh-{}", number + 1),
        }))
    });
    let host = issuer.server.host();
    let scene = Scene::new()
        .bound("REFRESH", "r3fresh-1", &[&host])
        .tool(&[&issuer.server], issuer.refresh_token("${REFRESH}"));
    for _ in 0..3 {
        assert_eq!(scene.value().await["ok"], true);
    }
    assert_eq!(issuer.asked().len(), 3);
    let kept = scene.other_process().list().unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].binding.hosts(), [host]);
    let (_, target) = crate::egress::Target::parse(&issuer.server.url("/token")).unwrap();
    let value =
        scene
            .other_process()
            .reveal(&kept[0].name, &Slug::parse("local").unwrap(), &target);
    assert_eq!(value.unwrap().expose(), "r3fresh-4");
}

#[tokio::test]
async fn a_refresh_token_that_is_not_a_separate_secret_lives_in_memory_and_the_call_says_so() {
    let issuer = Issuer::answering(|request, number| {
        let expected = if number == 1 {
            "v1/first-half".to_owned()
        } else {
            format!("r3fresh-{number}")
        };
        assert_eq!(form(request)[1].1, expected);
        Reply::json(&json!({
            "access_token": format!("token-{number}"), "token_type": "bearer", "expires_in": 0,
            "refresh_token": format!("r3fresh-{}", number + 1),
        }))
    });
    let scene = Scene::new()
        .secret("REFRESH", "first-half")
        .tool(&[&issuer.server], issuer.refresh_token("v1/${REFRESH}"));
    for _ in 0..3 {
        let handle = scene.registry().execute_async(CallRequest::new("t"));
        let mut events = handle.events();
        let mut said = Vec::new();
        while let Some(event) = events.next().await {
            if let EventKind::Progress { message, .. } = &event.kind {
                said.extend(message.clone());
            }
        }
        let outcome = handle.outcome().await;
        assert!(outcome.error().is_none(), "{outcome:?}");
        let notice = format!(
            "the token server `{}` gave a new refresh token, which is kept in memory only: `auth.refreshToken` is not one \
             secret and nothing else",
            issuer.server.url("")
        );
        assert_eq!(said, [notice]);
    }
    assert_eq!(issuer.asked().len(), 3);
}

#[tokio::test]
async fn another_refresh_token_is_another_account() {
    let issuer = Issuer::giving(json!({"expires_in": 3600}));
    let scene = Scene::new()
        .secret("REFRESH", "r3fresh-of-ada")
        .tool(&[&issuer.server], issuer.refresh_token("${REFRESH}"));
    scene.value().await;
    scene.value().await;
    set(
        &scene.other_process(),
        "REFRESH",
        "r3fresh-of-bob",
        &Binding::default(),
    );
    scene.value().await;
    assert_eq!(
        issuer.seen(),
        ["Bearer token-1", "Bearer token-1", "Bearer token-2"]
    );
    assert_eq!(form(&issuer.asked()[1])[1].1, "r3fresh-of-bob");
}

#[tokio::test]
async fn a_refresh_token_that_another_process_has_replaced_meanwhile_is_read_again() {
    let scene = Scene::new().secret("REFRESH", "r3fresh-1");
    let other = scene.other_process();
    let issuer = Issuer::answering(move |request, number| match number {
        1 => {
            set(&other, "REFRESH", "r3fresh-2", &Binding::default());
            Reply::status(400).body(r#"{"error": "invalid_grant"}"#)
        }
        _ => {
            assert_eq!(form(request)[1].1, "r3fresh-2");
            Reply::json(&json!({"access_token": "token-2", "token_type": "bearer"}))
        }
    });
    let scene = scene.tool(&[&issuer.server], issuer.refresh_token("${REFRESH}"));
    assert_eq!(scene.value().await["ok"], true);
    assert_eq!(issuer.asked().len(), 2);
}

#[tokio::test]
async fn a_token_that_is_no_longer_taken_is_replaced_once() {
    let issuer = Issuer::giving(json!({"expires_in": 3600}));
    let scene = issuer.scene(issuer.client_credentials());
    scene.value().await;
    issuer.revoke_all();
    assert_eq!(scene.value().await["ok"], true);
    assert_eq!(
        issuer.seen(),
        ["Bearer token-1", "Bearer token-1", "Bearer token-2"]
    );
    assert_eq!(issuer.asked().len(), 2);
}

/// A tool that posts with a token to the first of these servers.
fn posting(issuer: &Issuer, servers: [&ScriptedServer; 2]) -> Scene {
    let mut request = issuer.client_credentials();
    request["method"] = "POST".into();
    request["urlTemplate"] = servers[0].url("/orders").into();
    Scene::new()
        .secret("CLIENT_ID", "the-client")
        .secret("CLIENT_SECRET", "cl1ent-s3cret")
        .tool(&[&issuer.server, servers[0], servers[1]], request)
}

#[tokio::test]
async fn a_server_that_never_saw_the_token_does_not_have_it_dropped() {
    let issuer = Issuer::giving(json!({"expires_in": 3600}));
    let other = ScriptedServer::start(|_| Reply::status(401));
    let location = other.url("/");
    let api = ScriptedServer::script([
        Reply::ok("1"),
        Reply::status(303).header("Location", &location),
        Reply::ok("3"),
    ]);
    let scene = posting(&issuer, [&api, &other]);
    assert_eq!(scene.value().await, 1);
    assert_eq!(scene.error().await.details().unwrap()["status"], 401);
    assert_eq!(other.received().len(), 1);
    assert_eq!(scene.value().await, 3);
    assert_eq!((api.received().len(), issuer.asked().len()), (3, 1));
}

#[tokio::test]
async fn what_was_carried_out_is_not_repeated_for_a_stale_token() {
    let issuer = Issuer::giving(json!({"expires_in": 3600}));
    let api = ScriptedServer::script([
        Reply::ok("1"),
        Reply::status(303).header("Location", "/orders"),
        Reply::status(401),
        Reply::ok("3"),
    ]);
    let scene = posting(&issuer, [&api, &api]);
    assert_eq!(scene.value().await, 1);
    assert_eq!(scene.error().await.details().unwrap()["status"], 401);
    let methods: Vec<String> = api.received().iter().map(|r| r.method.clone()).collect();
    assert_eq!(methods, ["POST", "POST", "GET"]);
    assert_eq!(scene.value().await, 3);
    assert_eq!(issuer.asked().len(), 2);
}

#[tokio::test]
async fn a_fresh_token_that_is_not_taken_is_the_end_of_it() {
    let issuer = Issuer::answering(|_, _| {
        Reply::json(&json!({"access_token": "never-good", "token_type": "bearer"}))
    });
    let scene = issuer.scene(issuer.client_credentials());
    let error = scene.error().await;
    assert_eq!(error.code(), ErrorCode::UpstreamError);
    assert_eq!(issuer.seen(), ["Bearer never-good"]);
    assert_eq!(issuer.asked().len(), 1);
    // It was dropped, so that the next call asks for another one.
    scene.error().await;
    assert_eq!(issuer.asked().len(), 2);
}

#[tokio::test]
async fn a_token_is_masked_wherever_the_server_repeats_it() {
    let issuer = Issuer::answering(|_, _| {
        Reply::json(&json!({"access_token": "SENTINEL-token-abcdef", "token_type": "bearer"}))
    });
    issuer
        .good
        .lock()
        .unwrap()
        .push("Bearer SENTINEL-token-abcdef".to_owned());
    let scene = issuer.scene(issuer.client_credentials());
    let value = scene.value().await.to_string();
    assert!(value.contains("Bearer [REDACTED]"), "{value}");
    issuer.revoke_all();
    issuer.good.lock().unwrap().push("nothing".to_owned());
    let outcome = scene.call().await;
    let shown = serde_json::to_string(&outcome).unwrap()
        + &format!("{outcome:?} {:?}", scene.crib.records());
    assert!(!shown.contains("SENTINEL"), "{shown}");
}

#[tokio::test]
async fn a_refused_client_hears_why_and_what_to_do() {
    let issuer = Issuer::answering(|_, _| {
        Reply::status(401)
            .body(r#"{"error": "invalid_client", "error_description": "no client cl1ent-s3cret"}"#)
    });
    let scene = issuer.scene(issuer.client_credentials());
    let error = scene.error().await;
    assert_eq!(error.code(), ErrorCode::UpstreamError);
    assert_eq!(
        error.message(),
        format!(
            "the token server `{}` gives no token: invalid_client (no client [REDACTED]); check `auth.clientId` and \
             `auth.clientSecret` (secrets: `CLIENT_ID`, `CLIENT_SECRET`; `toolcrib secret set` sets one)",
            issuer.server.url("")
        )
    );
    assert_eq!(error.details().unwrap()["tokenStatus"], 401);
    assert_eq!((issuer.asked().len(), issuer.seen().len()), (1, 0));
}

#[tokio::test]
async fn a_refresh_token_that_is_over_names_the_secret_to_set() {
    let issuer = Issuer::answering(|_, _| Reply::status(400).body(r#"{"error": "invalid_grant"}"#));
    let scene = Scene::new()
        .secret("REFRESH", "r3fresh-1")
        .tool(&[&issuer.server], issuer.refresh_token("${REFRESH}"));
    let error = scene.error().await;
    assert!(
        error.message().ends_with(
            "invalid_grant; sign in there again, and set the new refresh token with `toolcrib secret set REFRESH`"
        ),
        "{error}"
    );
    assert_eq!(issuer.asked().len(), 1);
}

#[tokio::test]
async fn answers_that_make_no_sense_are_errors_of_the_server() {
    let endless = || Reply::ok("x".repeat(10_000)).endless();
    let answers: [fn() -> Reply; 5] = [
        || Reply::ok("<html>"),
        || Reply::status(204),
        || Reply::ok(r#"{"access_token": "a"}"#),
        || Reply::ok(r#"{"access_token": "a\r\nX: y", "token_type": "bearer"}"#),
        || Reply::status(500),
    ];
    let all = answers.into_iter().map(|reply| reply()).chain([endless()]);
    for reply in all {
        let issuer = Issuer::answering(move |_, _| reply.clone());
        let scene = issuer.scene(issuer.client_credentials());
        let error = scene.error().await;
        assert_eq!(error.code(), ErrorCode::UpstreamError, "{error}");
        assert!(error.message().contains("token"), "{error}");
        assert!(issuer.seen().is_empty());
    }
}

#[tokio::test]
async fn a_token_server_that_points_elsewhere_is_not_followed() {
    let elsewhere = ScriptedServer::start(|_| Reply::ok("{}"));
    let target = elsewhere.url("/token");
    let issuer = Issuer::answering(move |_, _| Reply::redirect(307, &target));
    let scene = Scene::new()
        .secret("CLIENT_ID", "the-client")
        .secret("CLIENT_SECRET", "cl1ent-s3cret")
        .tool(&[&issuer.server, &elsewhere], issuer.client_credentials());
    let error = scene.error().await;
    assert!(error.message().contains("answered 307"), "{error}");
    assert!(elsewhere.received().is_empty());
}

#[tokio::test]
async fn a_token_server_that_is_not_listed_is_not_asked() {
    let issuer = Issuer::giving(json!({}));
    let api = ScriptedServer::start(|_| Reply::ok("{}"));
    let mut request = issuer.client_credentials();
    request["urlTemplate"] = json!(api.url("/"));
    let scene = Scene::new()
        .secret("CLIENT_ID", "the-client")
        .secret("CLIENT_SECRET", "cl1ent-s3cret")
        .tool(&[&api], request);
    let error = scene.error().await;
    assert_eq!(error.code(), ErrorCode::HostNotAllowed, "{error}");
    assert_eq!((issuer.server.connections(), api.connections()), (0, 0));
}

#[tokio::test]
async fn a_slow_token_server_is_a_timeout() {
    let issuer = Issuer::answering(|_, _| Reply::status(500).after(Duration::from_secs(3)));
    let mut request = issuer.client_credentials();
    request["timeoutMs"] = json!(100);
    let scene = issuer.scene(request);
    let error = scene.error().await;
    assert_eq!(error.code(), ErrorCode::Timeout, "{error}");
    assert!(error.message().contains("gave no token within"), "{error}");
}

#[tokio::test]
async fn a_token_server_that_is_not_there_is_a_network_error() {
    let issuer = Issuer::giving(json!({}));
    let gone = ScriptedServer::start(|_| Reply::ok("{}"));
    let mut request = issuer.client_credentials();
    request["auth"]["tokenUrl"] = json!(gone.url("/token"));
    let scene = Scene::new()
        .secret("CLIENT_ID", "the-client")
        .secret("CLIENT_SECRET", "cl1ent-s3cret")
        .tool(&[&issuer.server, &gone], request);
    drop(gone);
    let error = scene.error().await;
    assert_eq!(error.code(), ErrorCode::NetworkError, "{error}");
    assert!(error.message().starts_with("no token from"), "{error}");
}
