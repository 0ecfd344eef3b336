//! `web_search` and each provider's requests, answers and refusals.

use std::fmt::Write as _;
use toolcrib::RegisterBuiltins as _;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib::builtin::{BuiltinOptions, SearchProvider, SearchSettings};
use toolcrib::secret::{Binding, SecretName, SecretStore};
use toolcrib::testing::{Received, Reply, ScriptedServer};
use toolcrib::{ErrorCode, Outcome, Registry, Secret};

use super::{call, failure, value};
use crate::golden;

/// A search by a provider at a server on loopback, which no setting lists.
struct Search {
    provider: SearchProvider,
    server: ScriptedServer,
    registry: Registry,
    _home: TempDir,
}

impl Search {
    fn new(provider: SearchProvider, reply: Reply) -> Self {
        Search::with_key(provider, reply, Some("key-1"))
    }

    fn with_key(provider: SearchProvider, reply: Reply, key: Option<&str>) -> Self {
        let server = ScriptedServer::start(move |_| reply.clone());
        let home = TempDir::new().unwrap();
        let secrets = SecretStore::at(home.path().join("secrets"));
        for name in ["BRAVE_API_KEY", "TAVILY_API_KEY"] {
            if let Some(key) = key {
                let name = SecretName::parse(name).unwrap();
                secrets
                    .set(&name, &Secret::new(key), &Binding::default())
                    .unwrap();
            }
        }
        let registry = Registry::new();
        registry
            .register_builtins_with(BuiltinOptions {
                search: Some(SearchSettings {
                    provider,
                    url: Some(server.url("/")),
                    secret: None,
                }),
                secrets: Some(secrets),
                ..BuiltinOptions::default()
            })
            .unwrap();
        Search {
            provider,
            server,
            registry,
            _home: home,
        }
    }

    async fn run(&self, args: Value) -> Outcome {
        call(&self.registry, "web_search", args).await
    }
}

/// A request as the golden files have it: without what differs from run to run.
fn shown(request: &Received) -> String {
    let mut text = format!("{} {}\n", request.method, request.target);
    let mut headers: Vec<String> = request
        .headers
        .iter()
        .filter(|(name, _)| !name.eq_ignore_ascii_case("host"))
        .map(|(name, value)| format!("{}: {value}", name.to_lowercase()))
        .map(|line| {
            line.replace(
                concat!("toolcrib/", env!("CARGO_PKG_VERSION")),
                "toolcrib/VERSION",
            )
        })
        .collect();
    headers.sort();
    for header in headers {
        let _ = writeln!(text, "{header}");
    }
    if !request.body.is_empty() {
        let _ = writeln!(text, "\n{}", request.text());
    }
    text
}

/// An answer as the provider documents it.
fn answer(provider: SearchProvider) -> Value {
    match provider {
        SearchProvider::SearXng => json!({
            "query": "rust & <types>", "number_of_results": 0, "answers": [], "suggestions": [],
            "results": [
                {"url": "https://www.rust-lang.org/", "title": "Rust Programming Language", "content": "A language empowering everyone",
                 "engine": "brave", "score": 4.0, "category": "general", "publishedDate": "2026-01-02T00:00:00"},
                {"url": "https://doc.rust-lang.org/std/", "title": "std - Rust", "content": "Vec<T> and more", "publishedDate": null},
                {"url": "https://crates.io/", "title": "crates.io", "content": ""}
            ]
        }),
        SearchProvider::Brave => json!({
            "type": "search", "query": {"original": "rust"},
            "web": {"type": "search", "results": [
                {"title": "Rust Programming Language", "url": "https://www.rust-lang.org/", "description": "A language <strong>empowering</strong> everyone &amp; all",
                 "page_age": "2026-01-02T00:00:00", "age": "January 2, 2026", "language": "en"},
                {"title": "std - Rust", "url": "https://doc.rust-lang.org/std/", "description": "Vec&lt;T&gt;"}
            ]}
        }),
        SearchProvider::Tavily => json!({
            "query": "rust", "answer": null, "images": [], "response_time": 1.2,
            "results": [
                {"title": "Rust Programming Language", "url": "https://www.rust-lang.org/", "content": "A language empowering everyone", "score": 0.98, "raw_content": null},
                {"title": "Rust news", "url": "https://blog.rust-lang.org/", "content": "News", "score": 0.5, "published_date": "Fri, 02 Jan 2026 00:00:00 GMT"}
            ]
        }),
    }
}

#[tokio::test]
async fn each_provider_is_asked_as_it_documents_and_answers_alike() {
    for provider in SearchProvider::ALL {
        let search = Search::new(provider, Reply::json(&answer(provider)));
        let outcome = search
            .run(json!({"query": "rust & <types> ü+1", "numResults": 2}))
            .await;
        let found = value(&outcome);
        let name = search.provider.as_str();
        golden::assert_text(
            &format!("web/{name}.request.txt"),
            &shown(&search.server.received()[0]),
        );
        golden::assert_json(&format!("web/{name}.results.json"), &found);
        golden::assert_text(
            &format!("web/{name}.txt"),
            &outcome.result.as_ref().unwrap().text(),
        );
    }
}

#[tokio::test]
async fn a_base_address_may_have_a_path() {
    let server = ScriptedServer::start(|_| Reply::json(&json!({"results": []})));
    let registry = Registry::new();
    let options = BuiltinOptions {
        search: Some(SearchSettings {
            provider: SearchProvider::SearXng,
            url: Some(server.url("/searxng/")),
            secret: None,
        }),
        ..BuiltinOptions::default()
    };
    registry.register_builtins_with(options).unwrap();
    let outcome = call(
        &registry,
        "web_search",
        json!({"query": "nothing", "max_results": 20}),
    )
    .await;
    assert_eq!(
        value(&outcome),
        json!({"query": "nothing", "results": [], "provider": "searxng"})
    );
    assert_eq!(
        outcome.result.unwrap().text(),
        "nothing was found for `nothing`\n"
    );
    assert_eq!(
        server.received()[0].target,
        "/searxng/search?q=nothing&format=json"
    );
}

#[tokio::test]
async fn without_a_provider_the_tool_says_how_to_have_one() {
    let registry = Registry::new();
    registry.register_builtins().unwrap();
    let (code, message) = failure(&call(&registry, "web_search", json!({"query": "x"})).await);
    assert_eq!(code, ErrorCode::ToolUnavailable);
    for word in [
        "search.provider",
        "search.url",
        "toolcrib secret set BRAVE_API_KEY",
    ] {
        assert!(message.contains(word), "{message}");
    }
    let searxng = SearchSettings {
        provider: SearchProvider::SearXng,
        url: None,
        secret: None,
    };
    let registry = Registry::new();
    let options = BuiltinOptions {
        search: Some(searxng),
        ..BuiltinOptions::default()
    };
    registry.register_builtins_with(options).unwrap();
    let (code, message) = failure(&call(&registry, "web_search", json!({"query": "x"})).await);
    assert_eq!(code, ErrorCode::ToolUnavailable);
    assert!(message.contains("`search.url` is missing"), "{message}");
}

#[tokio::test]
async fn a_missing_key_is_reported_before_anything_leaves() {
    let search = Search::with_key(SearchProvider::Brave, Reply::ok("{}"), None);
    let (code, message) = failure(&search.run(json!({"query": "x"})).await);
    assert_eq!(code, ErrorCode::ToolUnavailable);
    assert!(
        message.contains("toolcrib secret set BRAVE_API_KEY"),
        "{message}"
    );
    assert_eq!(search.server.connections(), 0);
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    let (searxng, brave, tavily) = (
        SearchProvider::SearXng,
        SearchProvider::Brave,
        SearchProvider::Tavily,
    );
    let brave_says = |code: &str, detail: &str| json!({"type": "ErrorResponse", "error": {"code": code, "detail": detail}});
    let tavily_says = |text: &str| json!({"detail": {"error": text}});
    for (provider, status, body, words) in [
        (searxng, 403, json!("Forbidden"), "`search.formats`"),
        (
            brave,
            422,
            brave_says(
                "SUBSCRIPTION_TOKEN_INVALID",
                "The provided subscription token is invalid.",
            ),
            "toolcrib secret set BRAVE_API_KEY",
        ),
        (brave, 401, json!({}), "toolcrib secret set BRAVE_API_KEY"),
        (
            brave,
            422,
            brave_says("VALIDATION", "Unable to validate request parameter(s)"),
            "Unable to validate",
        ),
        (
            tavily,
            401,
            tavily_says("Unauthorized: missing or invalid API key."),
            "toolcrib secret set TAVILY_API_KEY",
        ),
        (tavily, 432, tavily_says("limit"), "used up"),
        (
            tavily,
            400,
            tavily_says("Query is too long"),
            "`Query is too long`",
        ),
        (searxng, 500, json!({}), "answered 500"),
        (searxng, 302, json!({}), "points elsewhere"),
    ] {
        let reply = match status {
            302 => Reply::redirect(302, "http://other.test/"),
            status => Reply::status(status).body(body.to_string()),
        };
        let search = Search::new(provider, reply);
        let (code, message) = failure(&search.run(json!({"query": "x"})).await);
        assert_eq!(code, ErrorCode::UpstreamError, "{message}");
        assert!(message.contains(words), "{message}");
        assert!(!message.contains("key-1"), "{message}");
    }
}

#[tokio::test]
async fn too_many_requests_say_when_to_try_again() {
    for (after, expected) in [
        (Some("7"), 7000),
        (Some("soon"), 1000),
        (None, 1000),
        (Some("99999999"), 3_600_000),
    ] {
        let reply = Reply::status(429);
        let reply = match after {
            Some(after) => reply.header("Retry-After", after),
            None => reply,
        };
        let outcome = Search::new(SearchProvider::Tavily, reply)
            .run(json!({"query": "x"}))
            .await;
        let error = outcome.error().unwrap();
        assert_eq!(error.code(), ErrorCode::RateLimited);
        assert_eq!(error.details().unwrap()["retryAfterMs"], expected);
    }
}

#[tokio::test]
async fn input_that_is_not_an_answer_is_an_error_of_the_server() {
    for (body, words) in [
        ("<html>", "not JSON"),
        ("{}", "no list of results"),
        ("[]", "no list of results"),
    ] {
        let search = Search::new(SearchProvider::SearXng, Reply::ok(body));
        let (code, message) = failure(&search.run(json!({"query": "x"})).await);
        assert_eq!(code, ErrorCode::UpstreamError);
        assert!(message.contains(words), "{message}");
    }
    let search = Search::new(
        SearchProvider::SearXng,
        Reply::ok("x".repeat(65536)).endless(),
    );
    assert_eq!(
        failure(&search.run(json!({"query": "x"})).await).0,
        ErrorCode::UpstreamError
    );
}

#[tokio::test]
async fn queries_and_numbers_are_bounded() {
    let search = Search::new(SearchProvider::SearXng, Reply::ok("{}"));
    for args in [
        json!({"query": ""}),
        json!({"query": "  "}),
        json!({"query": "x".repeat(401)}),
        json!({"query": "x", "numResults": 0}),
        json!({"query": "x", "numResults": 21}),
    ] {
        let outcome = search.run(args.clone()).await;
        assert_eq!(failure(&outcome).0, ErrorCode::InvalidArguments, "{args}");
    }
    assert_eq!(search.server.connections(), 0);
}
