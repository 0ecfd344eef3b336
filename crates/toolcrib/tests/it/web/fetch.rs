//! What goes out and what comes back.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib::ErrorCode;
use toolcrib::testing::{Reply, ScriptedServer};

use super::{Scene, call, failure, value};

/// A server with one answer, and a scene that lists it.
fn serving(reply: Reply) -> (ScriptedServer, Scene) {
    let server = ScriptedServer::start(move |_| reply.clone());
    let scene = Scene::listing(&[&server.host()]);
    (server, scene)
}

#[tokio::test]
async fn s1s_fetch_with_only_a_url_works() {
    let body = json!({"name": "agent"});
    let (server, scene) = serving(Reply::json(&body));
    let url = server.url("/repos/wyrmspire/agent");
    let outcome = call(&scene.registry, "fetch", json!({"url": url})).await;
    assert_eq!(
        value(&outcome),
        json!({
            "status": 200,
            "headers": {"content-type": "application/json", "content-length": "16"},
            "body": body.to_string(),
            "url": url,
            "contentType": "application/json",
            "bytes": 16,
            "format": "raw",
            "binary": false,
        })
    );
    assert_eq!(outcome.result.as_ref().unwrap().text(), body.to_string());
    let received = &server.received()[0];
    assert_eq!(
        (received.method.as_str(), received.target.as_str()),
        ("GET", "/repos/wyrmspire/agent")
    );
    assert_eq!(received.header("accept"), Some("*/*"));
    assert!(
        received
            .header("user-agent")
            .unwrap()
            .starts_with("toolcrib/")
    );
}

#[tokio::test]
async fn s2s_arguments_are_sent_as_they_are() {
    let (server, scene) = serving(Reply::status(201).body("made"));
    let outcome = scene
        .fetch(json!({
            "url": server.url("/items?a=1&b=%20"),
            "method": "POST",
            "headers": {"X-Trace": "7", "Authorization": "Bearer t"},
            "body": "{\"name\":\"ü\"}",
            "timeout": 5
        }))
        .await;
    assert_eq!(value(&outcome)["status"], 201);
    let received = &server.received()[0];
    assert_eq!(
        (received.method.as_str(), received.target.as_str()),
        ("POST", "/items?a=1&b=%20")
    );
    assert_eq!(received.text(), "{\"name\":\"ü\"}");
    assert_eq!(received.header("x-trace"), Some("7"));
    assert_eq!(received.header("authorization"), Some("Bearer t"));
    assert_eq!(received.header("content-type"), Some("application/json"));
    let outcome = scene
        .fetch(json!({"url": server.url("/x"), "method": "HEAD"}))
        .await;
    assert_eq!(value(&outcome)["body"], "");
    assert_eq!(server.received()[1].method, "HEAD");
}

#[tokio::test]
async fn a_page_comes_back_as_markdown_and_an_error_page_too() {
    let html = "<html><title>Gone</title><body><script>x</script><h2>Not here</h2><p>Try <a href='/b'>this</a>.</body></html>";
    let reply = Reply::status(404)
        .body(html)
        .header("Content-Type", "text/html; charset=utf-8");
    let (server, scene) = serving(reply);
    let outcome = scene
        .fetch(json!({"url": server.url("/a"), "format": "markdown"}))
        .await;
    let found = value(&outcome);
    assert_eq!(found["status"], 404);
    assert_eq!(found["format"], "markdown");
    assert_eq!(
        found["body"],
        format!(
            "# Gone\n\n## Not here\n\nTry [this]({}).\n",
            server.url("/b")
        )
    );
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_before_anything_leaves() {
    let (server, scene) = serving(Reply::ok("x"));
    for (args, pointer) in [
        (json!({"headers": {"Host": "evil.test"}}), "/headers/Host"),
        (json!({"headers": {"X": "a\r\nHost: evil"}}), "/headers/X"),
        (json!({"body": "x"}), "/body"),
        (json!({"timeout": 31}), "/timeout"),
        (json!({"timeout": 0}), "/timeout"),
        (json!({"method": "DELETE"}), "/method"),
        (json!({"format": "pdf"}), "/format"),
    ] {
        let mut all = args.clone();
        all["url"] = json!(server.url("/"));
        let outcome = scene.fetch(all).await;
        let error = outcome.error().unwrap_or_else(|| panic!("{args}"));
        assert_eq!(error.code(), ErrorCode::InvalidArguments, "{args}");
        assert_eq!(error.details().unwrap()["faults"][0]["pointer"], pointer);
    }
    for url in ["no url", "", "http://", "http://a.test/a b", "http://[::1"] {
        let (code, _) = failure(&scene.fetch(json!({"url": url})).await);
        assert!(
            matches!(
                code,
                ErrorCode::InvalidArguments | ErrorCode::HostNotAllowed
            ),
            "{url}"
        );
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn an_answer_is_bounded_in_size_and_time() {
    let (server, scene) = serving(Reply::ok("x".repeat(64 * 1024)).endless());
    let (code, message) = failure(&scene.fetch(json!({"url": server.url("/")})).await);
    assert_eq!(code, ErrorCode::UpstreamError, "{message}");
    let (server, scene) = serving(Reply::ok("x".repeat(1000)).slowly(1, Duration::from_millis(50)));
    let outcome = scene
        .fetch(json!({"url": server.url("/"), "timeout": 0.3}))
        .await;
    assert_eq!(failure(&outcome).0, ErrorCode::Timeout);
}

#[tokio::test]
async fn a_redirection_is_followed_and_the_last_address_is_reported() {
    let server = ScriptedServer::script([
        Reply::redirect(302, "/b?c=1"),
        Reply::ok("here").header("Content-Type", "text/plain"),
    ]);
    let scene = Scene::listing(&[&server.host()]);
    let found = value(&scene.fetch(json!({"url": server.url("/a")})).await);
    assert_eq!(found["body"], "here");
    assert_eq!(found["url"], server.url("/b?c=1"));
}

#[tokio::test]
async fn a_text_that_grows_by_its_charset_comes_back_whole() {
    let text = "é".repeat(2 * 1024 * 1024);
    let latin: Vec<u8> = vec![0xe9; 2 * 1024 * 1024];
    let reply = Reply::ok(latin).header("Content-Type", "text/plain; charset=iso-8859-1");
    let (server, scene) = serving(reply);
    let found = value(&scene.fetch(json!({"url": server.url("/")})).await);
    assert!(found["body"] == Value::String(text));
    assert_eq!(found["bytes"], 2 * 1024 * 1024);
}

#[tokio::test]
async fn spellings_of_arguments_are_free() {
    let (server, scene) = serving(Reply::ok("x"));
    let outcome = scene.fetch(json!({"URL": server.url("/")})).await;
    assert_eq!(value(&outcome)["status"], 200);
}
