//! Servers that stumble, limits, and calls that end early.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{AGES, Scene, call, code, error, value};
use crate::call::event::EventKind;
use crate::model::error::ErrorCode;
use crate::model::ids::CallId;
use crate::model::secret::Secret;
use crate::secret::{Binding, SecretName};
use crate::testing::{Reply, ScriptedServer};

fn get(server: &ScriptedServer) -> Value {
    json!({"urlTemplate": server.url("/")})
}

#[tokio::test]
async fn what_may_pass_is_asked_again_and_what_will_not_is_not() {
    for (status, asked) in [
        (429, 3),
        (500, 3),
        (502, 3),
        (503, 3),
        (504, 3),
        (400, 1),
        (401, 1),
        (404, 1),
        (408, 1),
    ] {
        let server = ScriptedServer::start(move |_| Reply::status(status));
        let scene = Scene::with(&server).request(get(&server));
        let outcome = scene.call(json!({})).await;
        assert_eq!(code(&outcome), ErrorCode::UpstreamError);
        let details = error(&outcome).details().unwrap();
        assert_eq!(details["status"], status);
        assert_eq!(
            details.get("attempts"),
            (asked > 1).then(|| json!(3)).as_ref()
        );
        assert_eq!(server.received().len(), asked, "{status}");
    }
}

#[tokio::test]
async fn a_server_that_recovers_is_not_a_failure() {
    let server =
        ScriptedServer::script([Reply::status(503), Reply::status(429), Reply::ok("\"ok\"")]);
    let scene = Scene::with(&server).request(get(&server));
    assert_eq!(value(&scene.call(json!({})).await), "ok");
    assert_eq!(server.received().len(), 3);
}

#[tokio::test]
async fn what_must_not_be_done_twice_is_not_unless_the_file_says_so() {
    for (method, retry, asked) in [
        ("POST", json!({}), 1),
        ("PATCH", json!({}), 1),
        ("PUT", json!({}), 3),
        ("DELETE", json!({}), 3),
        ("POST", json!({"nonIdempotent": true}), 3),
        ("POST", json!({"max": 1, "nonIdempotent": true}), 2),
        ("GET", json!({"max": 0}), 1),
    ] {
        let server = ScriptedServer::start(|_| Reply::status(503));
        let scene = Scene::with(&server)
            .request(json!({"method": method, "urlTemplate": server.url("/"), "retry": retry}));
        assert_eq!(code(&scene.call(json!({})).await), ErrorCode::UpstreamError);
        assert_eq!(server.received().len(), asked, "{method} {retry}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_off_is_asked_again_only_where_that_is_harmless() {
    for (method, asked) in [("GET", 2), ("POST", 1)] {
        let server = ScriptedServer::script([Reply::raw(""), Reply::ok("1")]);
        let scene =
            Scene::with(&server).request(json!({"method": method, "urlTemplate": server.url("/")}));
        let outcome = scene.call(json!({})).await;
        assert_eq!(server.received().len(), asked, "{method} {outcome:#?}");
        assert_eq!(outcome.is_ok(), method == "GET");
    }
}

#[tokio::test]
async fn a_missing_server_is_a_network_error_after_all_attempts() {
    let gone = ScriptedServer::script([]);
    let host = gone.host();
    drop(gone);
    let scene = Scene::listing(&[&host])
        .request(json!({"method": "POST", "urlTemplate": format!("http://{host}/")}));
    let outcome = scene.call(json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::NetworkError);
    // Nothing was sent, so even a POST was tried again.
    assert_eq!(error(&outcome).details().unwrap()["attempts"], 3);
}

#[tokio::test]
async fn what_led_to_a_redirection_was_sent_whatever_becomes_of_the_next_hop() {
    let gone = ScriptedServer::script([]);
    let dead = gone.host();
    drop(gone);
    for (method, asked) in [("POST", 1), ("GET", 3)] {
        let location = format!("http://{dead}/done");
        let server =
            ScriptedServer::start(move |_| Reply::status(303).header("Location", &location));
        let scene = Scene::listing(&[&server.host(), &dead])
            .request(json!({"method": method, "urlTemplate": server.url("/orders")}));
        assert_eq!(code(&scene.call(json!({})).await), ErrorCode::NetworkError);
        assert_eq!(server.received().len(), asked, "{method}");
    }
}

#[tokio::test]
async fn retry_after_is_waited_for_if_there_is_time_and_else_reported_at_once() {
    let server = ScriptedServer::script([
        Reply::status(429).header("Retry-After", "1"),
        Reply::ok("1"),
    ]);
    let scene = Scene::with(&server).request(get(&server));
    let start = Instant::now();
    assert_eq!(value(&scene.call(json!({})).await), 1);
    assert!(start.elapsed() >= Duration::from_secs(1));

    let server = ScriptedServer::start(|_| Reply::status(429).header("Retry-After", "3600"));
    let scene = Scene::with(&server).request(get(&server));
    let start = Instant::now();
    let outcome = scene.call(json!({})).await;
    assert!(start.elapsed() < AGES);
    assert_eq!(code(&outcome), ErrorCode::UpstreamError);
    let details = error(&outcome).details().unwrap();
    assert_eq!(
        (&details["status"], &details["retryAfterMs"]),
        (&json!(429), &json!(3_600_000))
    );
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_pause_is_reported_to_the_watcher() {
    let server = ScriptedServer::script([Reply::status(503), Reply::ok("1")]);
    let scene = Scene::with(&server).request(get(&server));
    let handle = scene.registry().execute_async(call(json!({})));
    let mut events = handle.events();
    assert!(handle.outcome().await.is_ok());
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        if let EventKind::Progress {
            message: Some(message),
            ..
        } = &event.kind
        {
            told.push(message.clone());
        }
    }
    assert_eq!(told.len(), 1);
    assert!(
        told[0].contains("answered 503 Service Unavailable; trying again in"),
        "{told:?}"
    );
}

#[tokio::test]
async fn an_attempt_has_its_own_time_and_the_call_another() {
    let server = ScriptedServer::start(|_| Reply::ok("1").after(2 * AGES));
    let scene =
        Scene::with(&server).request(json!({"urlTemplate": server.url("/"), "timeoutMs": 100}));
    let start = Instant::now();
    let outcome = scene.call(json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::Timeout);
    let message = error(&outcome).message();
    assert!(
        message.ends_with("it has 100 ms (`timeoutMs` of the request)"),
        "{message}"
    );
    assert_eq!(server.received().len(), 1);
    let scene = Scene::with(&server).request(get(&server));
    let outcome = scene
        .registry()
        .execute(call(json!({})).timeout(Duration::from_millis(100)))
        .await;
    assert_eq!(code(&outcome), ErrorCode::Timeout);
    assert!(start.elapsed() < AGES);
}

#[tokio::test]
async fn cancelling_ends_the_exchange_at_once() {
    let server = ScriptedServer::start(|_| Reply::ok("x").slowly(1, 2 * AGES).endless());
    let scene = Scene::with(&server).request(
        json!({"urlTemplate": server.url("/"), "responseEncoding": "text", "errorMode": "empty"}),
    );
    let handle = scene.registry().execute_async(call(json!({})));
    let start = Instant::now();
    while server.received().is_empty() {
        assert!(start.elapsed() < AGES);
        tokio::task::yield_now().await;
    }
    handle.cancel();
    assert_eq!(code(&handle.outcome().await), ErrorCode::Cancelled);
    assert!(start.elapsed() < AGES);
    // The record says that something left.
    assert_eq!(scene.crib.records()[0].network.len(), 1);
}

#[tokio::test]
async fn a_url_may_be_as_long_as_is_said_and_a_longer_one_is_a_fault_of_the_arguments() {
    let server = ScriptedServer::start(|_| Reply::ok("1"));
    let url = server.url("/?q=${q}");
    let scene = Scene::with(&server).request(json!({"urlTemplate": url}));
    let room = 32 * 1024 - server.url("/?q=").len();
    let outcome = scene.call(json!({"q": "x".repeat(room)})).await;
    assert!(outcome.is_ok(), "{outcome:#?}");
    let scene = Scene::with(&server).tool(json!({"impl": {"urlTemplate": url}}));
    let outcome = scene.call(json!({"q": "x".repeat(room + 1)})).await;
    // Not a question that no one can answer: it is refused before anybody is asked.
    assert_eq!(code(&outcome), ErrorCode::InvalidArguments);
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn what_would_send_too_much_is_refused_before_anything_is_sent() {
    let server = ScriptedServer::start(|_| Reply::ok("1"));
    let scene = Scene::with(&server).tool(json!({
        "tags": ["write"],
        "impl": {"method": "POST", "urlTemplate": server.url("/"), "bodyTemplate": "${v}"},
        "limits": {"maxSentBytes": 500},
    }));
    assert!(scene.call(json!({"v": "x".repeat(100)})).await.is_ok());
    let outcome = scene.call(json!({"v": "x".repeat(500)})).await;
    assert_eq!(code(&outcome), ErrorCode::InvalidArguments);
    assert!(
        error(&outcome)
            .message()
            .contains("`limits.maxSentBytes` of the tool is 500")
    );
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn retries_count_against_what_may_be_sent() {
    let server = ScriptedServer::start(|_| Reply::status(503));
    let scene = Scene::with(&server).tool(json!({
        "tags": ["write"],
        "impl": {"method": "PUT", "urlTemplate": server.url("/"), "bodyTemplate": "${v}"},
        "limits": {"maxSentBytes": 700},
    }));
    let outcome = scene.call(json!({"v": "x".repeat(400)})).await;
    assert_eq!(code(&outcome), ErrorCode::UpstreamError);
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn answers_together_may_not_be_more_than_the_file_says() {
    let server = ScriptedServer::start(|_| Reply::ok("x".repeat(600)));
    let scene = |requests: Value| {
        Scene::with(&server).tool(json!({
            "tags": ["write"], "impl": requests, "limits": {"maxReceivedBytes": 1000},
        }))
    };
    let one = json!({"urlTemplate": server.url("/"), "responseEncoding": "text"});
    assert!(scene(one.clone()).call(json!({})).await.is_ok());
    let outcome = scene(json!([one, one])).call(json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::UpstreamError);
    assert_eq!(error(&outcome).details().unwrap()["request"], 2);
    let message = error(&outcome).message();
    assert!(message.starts_with("request 2 of 2: `http://"), "{message}");
    let limit = "gave an answer over the limit of 1000 bytes for a call, of which 600 came before; \
                 `limits.maxReceivedBytes` of the tool changes it";
    assert!(message.ends_with(limit), "{message}");
    let endless = ScriptedServer::start(|_| Reply::ok("x".repeat(4096)).endless());
    let scene = Scene::with(&endless)
        .request(json!({"urlTemplate": endless.url("/"), "responseEncoding": "text"}));
    assert_eq!(code(&scene.call(json!({})).await), ErrorCode::UpstreamError);
}

#[tokio::test]
async fn what_came_of_a_broken_attempt_counts() {
    let broken = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{}",
        "x".repeat(600)
    );
    let server = ScriptedServer::script([Reply::raw(broken), Reply::ok("y".repeat(600))]);
    let scene = Scene::with(&server).tool(json!({
        "tags": ["write"], "limits": {"maxReceivedBytes": 1000},
        "impl": {"urlTemplate": server.url("/"), "responseEncoding": "text"},
    }));
    let outcome = scene.call(json!({})).await;
    assert_eq!(server.received().len(), 2);
    let message = error(&outcome).message();
    assert!(
        message.contains("1000 bytes for a call, of which 600 came before"),
        "{message}"
    );
}

#[tokio::test]
async fn a_url_that_is_too_long_is_refused() {
    let server = ScriptedServer::start(|_| Reply::ok("1"));
    let scene = Scene::with(&server).request(json!({"urlTemplate": server.url("/?q=${q}")}));
    let outcome = scene.call(json!({"q": "é".repeat(10_000)})).await;
    assert_eq!(code(&outcome), ErrorCode::InvalidArguments);
    assert!(
        error(&outcome).message().contains("the limit is 32768"),
        "{outcome:#?}"
    );
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_tool_may_be_called_so_often_a_minute() {
    let server = ScriptedServer::start(|_| Reply::ok("1"));
    let scene = Scene::with(&server).tool(json!({
        "tags": ["write"], "impl": get(&server), "limits": {"maxCallsPerMinute": 2},
    }));
    assert!(scene.call(json!({})).await.is_ok());
    assert!(scene.call(json!({})).await.is_ok());
    let outcome = scene.call(json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::RateLimited);
    assert!(
        error(&outcome)
            .details()
            .unwrap()
            .contains_key("retryAfterMs")
    );
    assert_eq!(server.received().len(), 2);
}

#[tokio::test]
async fn a_call_that_comes_twice_is_sent_once() {
    let server = ScriptedServer::start(|_| Reply::ok("1").after(Duration::from_millis(50)));
    let scene =
        Scene::with(&server).request(json!({"method": "POST", "urlTemplate": server.url("/")}));
    let id = CallId::parse("order-17").unwrap();
    let again = || {
        scene
            .registry()
            .execute(call(json!({})).call_id(id.clone()))
    };
    let (first, second) = tokio::join!(again(), again());
    let third = again().await;
    for outcome in [&first, &second, &third] {
        assert_eq!(value(outcome), 1);
    }
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn what_broken_answers_took_counts_against_the_limit_and_ends_the_retries() {
    let broken = || {
        Reply::raw(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{}",
            "x".repeat(900)
        ))
    };
    let server = ScriptedServer::start(move |_| broken());
    let request = json!({"urlTemplate": server.url("/"), "retry": {"max": 10}});
    let scene = Scene::with(&server)
        .tool(json!({"impl": request, "tags": ["write"], "limits": {"maxReceivedBytes": 1000}}));
    let outcome = scene.call(json!({})).await;
    // The second answer announces more than is left.
    assert_eq!(server.received().len(), 2, "{outcome:#?}");
    assert_eq!(code(&outcome), ErrorCode::UpstreamError);
}

#[tokio::test]
async fn a_body_that_redirections_send_again_counts_each_time() {
    let server = ScriptedServer::start(|received| match received.target.as_str() {
        "/0" => Reply::redirect(307, "/1").body("x".repeat(50)),
        "/1" => Reply::redirect(307, "/2"),
        _ => Reply::ok("1"),
    });
    let request = json!({"method": "POST", "urlTemplate": server.url("/0"), "bodyTemplate": "x".repeat(1000)});
    for (limit, asked) in [(1500, 1), (2500, 2), (4000, 3)] {
        let before = server.received().len();
        let scene = Scene::with(&server)
            .tool(json!({"impl": request, "tags": ["write"], "limits": {"maxSentBytes": limit}}));
        let outcome = scene.call(json!({})).await;
        assert_eq!(server.received().len() - before, asked, "{outcome:#?}");
        assert_eq!(outcome.is_ok(), asked == 3);
        if asked < 3 {
            assert_eq!(code(&outcome), ErrorCode::InvalidArguments);
            assert!(error(&outcome).message().contains("maxSentBytes"));
        }
    }
}

#[tokio::test]
async fn a_secret_that_one_server_says_back_goes_to_no_other_than_it_is_bound_to() {
    let server = ScriptedServer::start(|received| {
        Reply::json(&json!(received.header("authorization").unwrap_or("none")))
    });
    for (host, goes_on) in [("api.example.test", false), ("*.example.test", true)] {
        let scene = Scene::named(&server);
        let name = SecretName::parse("TOK").unwrap();
        let binding = Binding::new([host], []).unwrap();
        scene
            .secrets()
            .set(&name, &Secret::new("s3cr3t-t0ken-value"), &binding)
            .unwrap();
        let scene = scene.approved().request(json!([
            {"urlTemplate": "http://api.example.test/", "headers": {"Authorization": "Bearer ${TOK}"}},
            {"urlTemplate": "http://other.example.test/?x=${prev.value}"},
        ]));
        let before = server.received().len();
        let outcome = scene.call(json!({})).await;
        let asked = server.received().len() - before;
        assert_eq!(outcome.is_ok(), goes_on, "{outcome:#?}");
        assert_eq!(asked, if goes_on { 2 } else { 1 });
        if !goes_on {
            assert_eq!(code(&outcome), ErrorCode::ToolUnavailable);
            assert!(
                error(&outcome)
                    .message()
                    .contains("not for `other.example.test`")
            );
        }
    }
}

#[tokio::test]
async fn a_time_no_one_can_read_is_not_a_reason_to_ask_at_once() {
    let server = ScriptedServer::start(|_| Reply::status(503).header("Retry-After", "soon"));
    let scene = Scene::with(&server).request(get(&server));
    let outcome = scene.call(json!({})).await;
    assert_eq!(server.received().len(), 1);
    let said = &error(&outcome).details().unwrap()["retryAfter"];
    assert!(said.as_str().unwrap().contains("`soon`"), "{said}");
}

#[tokio::test]
async fn a_value_that_is_refused_before_anything_was_sent_stays_an_error() {
    let server = ScriptedServer::start(|_| Reply::json(&json!("..")));
    let scene = Scene::with(&server).request(json!([
        {"urlTemplate": server.url("/")},
        {"urlTemplate": server.url("/a/${prev.value}"), "errorMode": "empty"},
    ]));
    let outcome = scene.call(json!({})).await;
    assert_eq!(server.received().len(), 1);
    assert_eq!(code(&outcome), ErrorCode::UpstreamError, "{outcome:#?}");
}
