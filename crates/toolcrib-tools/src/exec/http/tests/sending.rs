//! What reaches a server.

use serde_json::{Value, json};

use super::{Scene, call, code, error, value};
use crate::model::error::ErrorCode;
use crate::model::names::Slug;
use crate::model::secret::Secret;
use crate::secret::{Binding, SecretName};
use crate::testing::{Reply, ScriptedServer};

#[tokio::test]
async fn the_seeds_weather_tool_sends_and_reads_what_it_says() {
    let server = ScriptedServer::start(|_| {
        Reply::json(&json!({"current": {"condition": {"text": "Sunny"}}}))
    });
    let scene = Scene::named(&server)
        .secret("WEATHER_API_KEY", "s3cr3t-value")
        .tool(json!({
            "slug": "t", "version": "v2", "displayName": "Weather report",
            "description": "Fetch current weather for a city",
            "type": "http", "tags": ["read"],
            "argSchema": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string", "description": "Where"}}},
            "outputSchema": {"type": "string"},
            "impl": {
                "method": "GET",
                "urlTemplate": "http://api.example.test/v1/current.json?q=${city}&key=${WEATHER_API_KEY}",
                "headers": {"User-Agent": "MyApp/${version}"},
                "bodyTemplate": "",
                "successCodes": [200],
                "timeoutMs": 10000,
                "responseEncoding": "json",
                "extractExpr": "$.current.condition.text",
                "errorMode": "fail",
            },
        }));
    let outcome = scene.call(json!({"city": "New York"})).await;
    assert_eq!(value(&outcome), "Sunny");
    let received = &server.received()[0];
    assert_eq!(received.method, "GET");
    assert_eq!(
        received.target,
        "/v1/current.json?q=New%20York&key=s3cr3t-value"
    );
    assert_eq!(received.header("user-agent"), Some("MyApp/v2"));
    assert!(received.header("content-type").is_none());
    assert!(received.body.is_empty());
    assert_eq!(outcome.result.unwrap().text(), "Sunny");
}

#[tokio::test]
async fn values_reach_path_headers_forms_and_texts_as_they_are() {
    let server = ScriptedServer::start(|_| Reply::ok("\"ok\""));
    let scene = Scene::with(&server).request(json!({
        "method": "PUT",
        "urlTemplate": server.url("/a/${path}/b?list=${list}&object=${object}"),
        "headers": {"X-V": "<${number}>", "Content-Type": "application/x-www-form-urlencoded"},
        "bodyTemplate": "name=${form}&on=${flag}",
    }));
    let args = json!({
        "path": "x/../y", "list": ["a,b", 2], "object": {"k": "v"}, "number": 3.0,
        "form": "a&b=c +é", "flag": true,
    });
    assert_eq!(value(&scene.call(args).await), "ok");
    let received = &server.received()[0];
    assert_eq!(
        received.target,
        "/a/x%2F..%2Fy/b?list=a%2Cb,2&object=%7B%22k%22%3A%22v%22%7D"
    );
    assert_eq!(received.header("x-v"), Some("<3>"));
    assert_eq!(received.text(), "name=a%26b%3Dc%20%2B%C3%A9&on=true");
}

#[tokio::test]
async fn a_text_body_has_its_own_type_and_values_as_they_are() {
    let server = ScriptedServer::start(|_| Reply::ok("\"ok\""));
    let scene = Scene::with(&server).request(json!({
        "method": "POST",
        "urlTemplate": server.url("/"),
        "bodyTemplate": "say: ${v}",
    }));
    assert!(scene.call(json!({"v": "<a>\r\n\"&é"})).await.is_ok());
    let received = &server.received()[0];
    assert_eq!(received.text(), "say: <a>\r\n\"&é");
    assert_eq!(
        received.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(
        code(&scene.call(json!({"v": "\0"})).await),
        ErrorCode::InvalidArguments
    );
}

#[tokio::test]
async fn requests_go_in_order_and_see_what_the_one_before_gave() {
    let server = ScriptedServer::start(|received| match received.target.as_str() {
        "/login" => Reply::json(&json!({"token": "tok en&1", "ids": [1, 2]})),
        _ => Reply::json(&json!({"saw": received.target, "body": received.text()})),
    });
    let scene = Scene::with(&server).request(json!([
        {"method": "POST", "urlTemplate": server.url("/login"), "extractExpr": "$.token"},
        {"urlTemplate": server.url("/use?t=${prev.value}"), "extractExpr": "$.saw"},
        {
            "method": "POST", "urlTemplate": server.url("/last"),
            "headers": {"X-T": "${prev.value}"},
            "bodyTemplate": "{\"whole\": ${prev.value}, \"part\": \"<${prev.value}> ${q}\"}",
        },
    ]));
    let outcome = scene.call(json!({"q": "?"})).await;
    let body: Value = serde_json::from_str(value(&outcome)["body"].as_str().unwrap()).unwrap();
    let saw = "/use?t=tok%20en%261";
    assert_eq!(body, json!({"whole": saw, "part": format!("<{saw}> ?")}));
    let received = server.received();
    assert_eq!(received.len(), 3);
    assert_eq!(received[2].header("x-t"), Some(saw));
    let steps: Vec<String> = scene
        .crib
        .records()
        .iter()
        .map(|record| record.tool.clone())
        .collect();
    assert_eq!(steps, ["t"]);
}

#[tokio::test]
async fn several_requests_tell_how_far_they_got() {
    let server = ScriptedServer::script([Reply::json(&json!(1)), Reply::status(404)]);
    let scene = Scene::with(&server).request(json!([
        {"urlTemplate": server.url("/1")},
        {"urlTemplate": server.url("/2")},
        {"urlTemplate": server.url("/3")},
    ]));
    let handle = scene.registry().execute_async(call(json!({})));
    let mut events = handle.events();
    let outcome = handle.outcome().await;
    assert_eq!(error(&outcome).details().unwrap()["request"], 2);
    let mut steps = Vec::new();
    while let Some(event) = events.next().await {
        if let crate::call::event::EventKind::Step { name, status } = &event.kind {
            steps.push(format!("{name} {status}"));
        }
    }
    assert_eq!(
        steps,
        [
            "request 1 running",
            "request 1 ok",
            "request 2 running",
            "request 2 failed"
        ]
    );
}

#[tokio::test]
async fn a_missing_secret_is_named_with_how_to_set_it_and_nothing_is_sent() {
    let server = ScriptedServer::script([Reply::json(&json!(1))]);
    let scene = Scene::with(&server)
        .request(json!({"urlTemplate": server.url("/?key=${API_KEY}"), "errorMode": "empty"}));
    let outcome = scene.call(json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::ToolUnavailable);
    let message = error(&outcome).message();
    assert!(message.contains("toolcrib secret set API_KEY"), "{message}");
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn nothing_is_half_done_for_a_later_secret_that_cannot_be_sent() {
    let server = ScriptedServer::start(|_| Reply::json(&json!(1)));
    let url = server.url("/pay");
    let other = SecretName::parse("OTHERS").unwrap();
    for later in [
        json!({"urlTemplate": format!("{url}?key=${{OTHERS}}")}),
        json!({"urlTemplate": url, "headers": {"X-Key": "${TWO_LINES}"}}),
        json!({"urlTemplate": url, "headers": {"X-Key": "${prev.value} ${OTHERS}"}}),
        json!({"urlTemplate": url, "auth": {"type": "bearer", "token": "${TWO_LINES}"}}),
        json!({"urlTemplate": url, "auth": {"type": "oauth2", "tokenUrl": server.url("/token"),
               "clientId": "me", "clientSecret": "${OTHERS}"}}),
    ] {
        let scene = Scene::with(&server).secret("TWO_LINES", "one-and\ntwo-and");
        let binding = Binding::new(["api.example.test"], []).unwrap();
        let secrets = scene.secrets();
        secrets
            .set(&other, &Secret::new("for-another"), &binding)
            .unwrap();
        let order = json!({"method": "POST", "urlTemplate": server.url("/order")});
        let scene = scene.request(json!([order, later]));
        let outcome = scene.call(json!({})).await;
        assert_eq!(code(&outcome), ErrorCode::ToolUnavailable, "{later}");
        assert!(server.received().is_empty(), "{later}");
    }
}

#[tokio::test]
async fn nothing_is_half_done_for_the_want_of_a_later_secret() {
    let server = ScriptedServer::start(|_| Reply::json(&json!(1)));
    let scene = Scene::with(&server).request(json!([
        {"method": "POST", "urlTemplate": server.url("/order")},
        {"urlTemplate": server.url("/pay?key=${API_KEY}")},
    ]));
    let outcome = scene.call(json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::ToolUnavailable);
    assert!(
        error(&outcome)
            .message()
            .contains("toolcrib secret set API_KEY")
    );
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_secret_goes_only_to_the_hosts_and_bundles_it_is_bound_to() {
    let server = ScriptedServer::start(|_| Reply::json(&json!(1)));
    let host = server.host();
    let slug = |text: &str| Slug::parse(text).unwrap();
    for (binding, goes) in [
        (
            Binding::new([host.as_str()], [slug("local")]).unwrap(),
            true,
        ),
        (Binding::new(["api.example.test"], []).unwrap(), false),
        (Binding::new([], [slug("user")]).unwrap(), false),
    ] {
        let scene = Scene::with(&server);
        let name = SecretName::parse("KEY").unwrap();
        let secrets = scene.secrets();
        secrets
            .set(&name, &Secret::new("SENTINEL-7f3a"), &binding)
            .unwrap();
        let before = server.received().len();
        let scene = scene.request(json!({"urlTemplate": server.url("/?key=${KEY}")}));
        let outcome = scene.call(json!({})).await;
        assert_eq!(outcome.is_ok(), goes, "{outcome:#?}");
        assert_eq!(server.received().len(), before + usize::from(goes));
    }
}

#[tokio::test]
async fn what_left_is_in_the_record_of_the_call() {
    let server = ScriptedServer::script([Reply::status(503), Reply::json(&json!(1))]);
    let scene = Scene::with(&server).request(json!({"urlTemplate": server.url("/?q=${q}")}));
    assert!(scene.call(json!({"q": "x"})).await.is_ok());
    let records = scene.crib.records();
    let statuses: Vec<Option<u16>> = records[0].network.iter().map(|one| one.status).collect();
    assert_eq!(statuses, [Some(503), Some(200)]);
    assert_eq!(records[0].network[0].host, server.host());
}

#[tokio::test]
async fn a_redirection_that_counts_as_success_is_not_followed() {
    let server = ScriptedServer::start(|_| Reply::redirect(302, "/elsewhere").body("moved"));
    let scene = Scene::with(&server).request(json!({
        "urlTemplate": server.url("/"), "successCodes": [302], "responseEncoding": "text",
    }));
    assert_eq!(value(&scene.call(json!({})).await), "moved");
    assert_eq!(server.received().len(), 1);
}
