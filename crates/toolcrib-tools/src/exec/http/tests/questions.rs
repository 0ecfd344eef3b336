//! The judgement of a call before anything is sent.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Scene, call, code, error};
use crate::approval::ApprovalResponse;
use crate::model::effects::{Effects, Verdict};
use crate::model::error::ErrorCode;
use crate::testing::{NameTable, RecordingDialler, Reply, ScriptedServer};
use toolcrib_lang::rules::{Rule, RuleSet, Whose};

fn weather() -> Value {
    json!({
        "urlTemplate": "https://api.weatherapi.com/v1/current.json?q=${city}&key=${WEATHER_API_KEY}",
    })
}

#[tokio::test]
async fn a_host_that_is_not_listed_is_refused_with_the_line_to_add() {
    let scene = Scene::listing(&["api.example.test"])
        .approved()
        .tool(json!({"impl": weather()}));
    let outcome = scene.call(json!({"city": "Paris"})).await;
    assert_eq!(code(&outcome), ErrorCode::HostNotAllowed);
    let message = error(&outcome).message();
    assert!(
        message.contains("`toolcrib config set --add allowedHosts api.weatherapi.com`"),
        "{message}"
    );
    assert!(
        message.contains("TOOLCRIB_ALLOWED_HOSTS=api.example.test,api.weatherapi.com"),
        "{message}"
    );
    assert!(scene.crib.asked().is_empty());
    let dry = scene
        .registry()
        .plan(call(json!({"city": "Paris"})))
        .unwrap_err();
    assert_eq!(dry.code(), ErrorCode::HostNotAllowed);
}

#[tokio::test]
async fn every_request_of_a_tool_needs_a_listed_host() {
    let server = ScriptedServer::start(|_| Reply::ok("1"));
    let scene = Scene::with(&server).request(json!([
        {"urlTemplate": server.url("/")},
        {"urlTemplate": "http://other.example.test:8080/"},
    ]));
    let outcome = scene.call(json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::HostNotAllowed);
    assert!(
        error(&outcome)
            .message()
            .contains(",other.example.test:8080`")
    );
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn an_address_that_nothing_reaches_is_refused_before_anybody_is_asked() {
    let server = ScriptedServer::start(|_| Reply::ok("1"));
    let port = server.port();
    for url in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://localhost:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://10.0.0.1/".to_owned(),
    ] {
        let scene = Scene::listing(&["api.example.test"])
            .approved()
            .tool(json!({"impl": {"urlTemplate": url}}));
        let outcome = scene.call(json!({})).await;
        assert_eq!(code(&outcome), ErrorCode::HostNotAllowed, "{url}");
        assert!(scene.crib.asked().is_empty());
    }
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_tool_whose_method_writes_asks_and_shows_the_request() {
    let server = ScriptedServer::start(|_| Reply::ok("1"));
    let mut scene = Scene::listing(&["api.weatherapi.com"]);
    let names = NameTable::new().name("api.weatherapi.com", &["93.184.216.34"]);
    let dialler = RecordingDialler::to(server.address());
    scene.options.resolver = Some(Arc::new(names.clone()));
    scene.options.dialler = Some(Arc::new(dialler));
    scene.crib = scene.crib.answers([ApprovalResponse::deny("test", "no")]);
    let scene = scene
        .secret("WEATHER_API_KEY", "SENTINEL-7f3a")
        .tool(json!({"impl": posted()}));
    let outcome = scene.call(json!({"city": "Paris & more"})).await;
    assert_eq!(code(&outcome), ErrorCode::ApprovalDenied);
    let asked = scene.crib.asked();
    assert_eq!(
        asked[0].effect,
        "POST https://api.weatherapi.com/v1/current.json?q=Paris%20%26%20more&key=[secret WEATHER_API_KEY]"
    );
    assert!(asked[0].reason.contains("no tag"), "{}", asked[0].reason);
    assert!(!asked[0].reason.contains("there is no secret"));
    assert!(!asked[0].offers.is_empty(), "a grant may cover it");
    // Not even the name was looked up.
    assert!(names.asked().is_empty());
}

#[tokio::test]
async fn the_person_asked_learns_that_a_secret_is_missing() {
    let scene = Scene::listing(&["api.weatherapi.com"]).tool(json!({"impl": posted()}));
    let plan = scene
        .registry()
        .plan(call(json!({"city": "Paris"})))
        .unwrap();
    let reason = plan.reason.unwrap();
    assert!(
        reason.ends_with("there is no secret `WEATHER_API_KEY`"),
        "{reason}"
    );
}

#[test]
fn requests_that_may_take_long_make_calls_that_may() {
    let time = |requests: Value, limits: Value| {
        let tool = json!({"slug": "t", "impl": requests, "limits": limits});
        let scene = Scene::listing(&[]).tool(tool);
        scene.registry().find("t").unwrap().spec().limits.timeout_ms
    };
    let request = |timeout: u64| json!({"urlTemplate": "http://a.test/", "timeoutMs": timeout});
    assert_eq!(time(request(10_000), json!({})), None);
    assert_eq!(time(request(30_000), json!({})), Some(90_000));
    assert_eq!(
        time(json!([request(30_000), request(1000)]), json!({})),
        Some(93_000)
    );
    assert_eq!(time(request(30_000), json!({"timeoutMs": 500})), Some(500));
}

#[tokio::test]
async fn tags_that_say_what_a_tool_does_let_it_run() {
    for tag in ["write", "run"] {
        let server = ScriptedServer::start(|_| Reply::ok("1"));
        let scene = Scene::with(&server).tool(json!({
            "tags": [tag], "impl": {"method": "POST", "urlTemplate": server.url("/")},
        }));
        assert!(scene.call(json!({})).await.is_ok());
        assert!(scene.crib.asked().is_empty());
    }
}

#[tokio::test]
async fn a_dry_run_shows_everything_and_sends_nothing() {
    let server = ScriptedServer::start(|_| Reply::ok("1"));
    let scene = Scene::with(&server)
        .secret("KEY", "SENTINEL-7f3a")
        .tool(json!({
            "tags": ["write"],
            "impl": [
                {
                    "method": "POST", "urlTemplate": server.url("/a/${id}"),
                    "headers": {"X-Key": "k ${KEY}", "X-Fixed": "1"},
                    "bodyTemplate": "{\"text\": \"${text}\", \"key\": \"${KEY}\"}",
                },
                {"urlTemplate": server.url("/b?x=${prev.value}")},
            ],
        }));
    let args = json!({"id": 7, "text": "say \"hi\""});
    let plan = scene.registry().plan(call(args)).unwrap();
    assert_eq!(plan.verdict, Verdict::Allow);
    let origin = server.url("");
    assert_eq!(
        plan.effect,
        format!(
            "1. POST {origin}/a/7, header x-key: k [secret KEY], body: {{\"text\": \"say \\\"hi\\\"\", \"key\": \"[secret KEY]\"}}; \
             2. GET {origin}/b?x=[value of the request before]"
        )
    );
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn an_argument_that_is_a_secret_is_not_shown() {
    let server = ScriptedServer::start(|_| Reply::ok("1"));
    let scene = Scene::with(&server).tool(json!({
        "impl": {"urlTemplate": server.url("/?p=${password}")},
        "argSchema": {"type": "object", "properties": {
            "password": {"type": "string", "description": "A password", "format": "password"},
        }},
    }));
    let plan = scene
        .registry()
        .plan(call(json!({"password": "hunter2"})))
        .unwrap();
    assert!(
        plan.effect.ends_with("/?p=[argument password]"),
        "{}",
        plan.effect
    );
}

#[tokio::test]
async fn a_rule_about_a_host_holds_for_tools_that_ask_it() {
    let server = ScriptedServer::start(|_| Reply::ok("1"));
    let rules = Rule::from_toml(
        "[[rules]]\nname = \"no-example\"\nhost = \"*.example.test\"\nverdict = \"deny\"\nreason = \"not there\"\n",
        "test.toml",
        Whose::Operator,
    )
    .unwrap();
    let rules = rules.into_iter().fold(RuleSet::empty(), RuleSet::with);
    let mut scene = Scene::named(&server);
    scene.crib = scene.crib.rules(rules);
    let scene = scene.request(json!({"urlTemplate": "http://api.example.test/"}));
    let outcome = scene.call(json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::BlockedByRule);
    assert!(server.received().is_empty());
}

#[test]
fn the_spec_says_what_the_file_says() {
    let scene = Scene::listing(&[]).tool(json!({
        "slug": "t", "version": "v7", "displayName": "Title", "description": "Words",
        "tags": ["read", "weather"], "keywords": ["rain"],
        "impl": {"urlTemplate": "https://api.example.test/${city}"},
        "outputSchema": {"type": "string"},
        "limits": {"maxCallsPerMinute": 5},
    }));
    let entry = scene.registry().find("local/t@v7").unwrap();
    let spec = entry.spec();
    assert_eq!(spec.title.as_deref(), Some("Title"));
    assert_eq!(spec.description, "Words");
    assert_eq!(spec.effects, Effects::READ);
    assert_eq!(spec.tags, ["read", "weather"]);
    assert_eq!(spec.keywords, ["rain"]);
    assert_eq!(spec.urls, ["https://api.example.test"]);
    assert_eq!(spec.limits.max_calls_per_minute, Some(5));
    assert_eq!(spec.content_digest.as_deref().map(str::len), Some(64));
    assert!(spec.output_schema.is_some());
    assert!(spec.asks.is_none());
}

/// The weather, by a method that writes.
fn posted() -> Value {
    let mut weather = weather();
    weather["method"] = "POST".into();
    weather
}

#[tokio::test]
async fn the_methods_say_what_a_tool_without_tags_does() {
    let server = ScriptedServer::start(|_| Reply::ok("1"));
    for (method, tags, effects, asks) in [
        ("GET", json!([]), vec!["read"], false),
        ("HEAD", json!(["weather"]), vec!["read"], false),
        ("OPTIONS", json!([]), vec!["read"], false),
        ("POST", json!([]), vec!["write"], true),
        ("DELETE", json!([]), vec!["write"], true),
        ("PUT", json!(["read"]), vec!["write"], true),
        ("POST", json!(["write"]), vec!["write"], false),
        ("POST", json!(["read", "run"]), vec!["read", "run"], false),
    ] {
        let url = format!("http://127.0.0.1:{}/", server.port());
        let request = json!({"method": method, "urlTemplate": url, "responseEncoding": "text"});
        let scene = Scene::with(&server).tool(json!({"impl": request, "tags": tags}));
        let spec = Arc::clone(scene.registry().find("t").unwrap().spec());
        assert_eq!(spec.effects.tags(), effects, "{method} {tags}");
        let plan = scene.registry().plan(call(json!({}))).unwrap();
        assert_eq!(
            plan.verdict == Verdict::Ask,
            asks,
            "{method} {tags}: {plan:?}"
        );
        assert_eq!(spec.asks.is_some(), asks, "{method} {tags}");
    }
}

#[tokio::test]
async fn requires_approval_decides_about_a_method_and_about_arguments() {
    let server = ScriptedServer::start(|_| Reply::ok("1"));
    let verdict = |method: &str, requires: Value, args: Value| {
        let url = format!("http://127.0.0.1:{}/${{amount}}", server.port());
        let schema =
            json!({"type": "object", "properties": {"amount": {"type": "number", "default": 7}}});
        let scene = Scene::with(&server).tool(json!({
            "impl": {"method": method, "urlTemplate": url}, "argSchema": schema, "requiresApproval": requires,
        }));
        scene.registry().plan(call(args)).unwrap().verdict
    };
    let none = || json!({});
    assert_eq!(verdict("POST", json!(false), none()), Verdict::Allow);
    assert_eq!(verdict("GET", json!(true), none()), Verdict::Ask);
    let by = |amount: u32| verdict("POST", json!("{amount} > 100"), json!({"amount": amount}));
    assert_eq!(by(100), Verdict::Allow);
    assert_eq!(by(101), Verdict::Ask);
    // With the default in place.
    assert_eq!(verdict("GET", json!("{amount} == 7"), none()), Verdict::Ask);
    // What cannot be evaluated asks.
    assert_eq!(verdict("GET", json!("{amount}.a.b"), none()), Verdict::Ask);
    assert_eq!(verdict("GET", json!("{amount}"), none()), Verdict::Ask);
}
