//! HTTP tools as files, from the command line to a server on loopback.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib::testing::{Reply, ScriptedServer};

use crate::harness::{Ran, Test};

/// A tool `weather` that asks this server, as S4 has it.
fn weather(server: &ScriptedServer) -> Value {
    json!({
        "slug": "weather", "version": "v2", "displayName": "Weather report",
        "description": "Fetch current weather for a city",
        "type": "http", "isEnabled": true, "tags": ["read"],
        "argSchema": {
            "type": "object", "required": ["city"],
            "properties": {
                "city": {"type": "string", "description": "Where"},
                "note": {"type": "string", "description": "Whatever"},
            },
        },
        "impl": {
            "method": "GET",
            "urlTemplate": server.url("/v1/current.json?q=${city}"),
            "headers": {"User-Agent": "MyApp/${version}"},
            "bodyTemplate": "",
            "successCodes": [200],
            "timeoutMs": 10000,
            "responseEncoding": "json",
            "extractExpr": "$.current.condition.text",
            "errorMode": "fail",
        },
    })
}

fn sunny() -> ScriptedServer {
    ScriptedServer::start(|_| Reply::json(&json!({"current": {"condition": {"text": "Sunny"}}})))
}

/// The user's own tool.
fn with(tool: &Value) -> Test {
    let test = Test::new();
    let directory = test.home().parent().unwrap().join(".toolcrib/tools");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("weather.json"), tool.to_string()).unwrap();
    test
}

fn fails(ran: Ran, exit: i32, code: &str) -> Value {
    let document = ran.exits(exit).json();
    assert_eq!(document["ok"], false, "{document:#}");
    assert_eq!(document["error"]["code"], code, "{document:#}");
    document["error"].clone()
}

#[test]
fn a_tool_runs_once_its_host_is_allowed_by_file_or_by_variable() {
    let server = sunny();
    let test = with(&weather(&server));
    let error = fails(
        test.run(&["run", "weather", "city=Paris", "--json"]),
        8,
        "HOST_NOT_ALLOWED",
    );
    let entry = format!("toolcrib config set --add allowedHosts {}", server.host());
    assert!(
        error["message"].as_str().unwrap().contains(&entry),
        "{error}"
    );
    assert!(server.received().is_empty());

    let test = test.config(&format!("allowedHosts = [\"{}\"]\n", server.host()));
    test.run(&["run", "weather", "city=New York"])
        .exits(0)
        .prints("Sunny\n");
    assert_eq!(server.received()[0].target, "/v1/current.json?q=New%20York");
    assert_eq!(server.received()[0].header("user-agent"), Some("MyApp/v2"));

    let test = with(&weather(&server)).variable("TOOLCRIB_ALLOWED_HOSTS", &server.host());
    let outcome = test
        .run(&["run", "weather", "city=Paris", "--json"])
        .exits(0)
        .json();
    assert_eq!(outcome["value"], "Sunny");
    assert_eq!(outcome["metadata"]["bundle"], "user");
    assert_eq!(outcome["metadata"]["version"], "v2");
}

#[test]
fn an_entry_for_another_port_is_not_permission() {
    let server = sunny();
    let other = sunny();
    let test = with(&weather(&server)).variable("TOOLCRIB_ALLOWED_HOSTS", &other.host());
    fails(
        test.run(&["run", "weather", "city=Paris", "--json", "--yes"]),
        8,
        "HOST_NOT_ALLOWED",
    );
    let test = with(&weather(&server)).variable("TOOLCRIB_ALLOWED_HOSTS", "127.0.0.1");
    let ran = test.run(&["run", "weather", "city=Paris", "--json", "--yes"]);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(server.received().is_empty());
}

#[test]
fn the_environments_proxies_are_ignored() {
    let server = sunny();
    let proxy = ScriptedServer::start(|_| Reply::ok("proxied"));
    let url = proxy.url("");
    let test = with(&weather(&server))
        .variable("TOOLCRIB_ALLOWED_HOSTS", &server.host())
        .variable("HTTP_PROXY", &url)
        .variable("http_proxy", &url)
        .variable("ALL_PROXY", &url);
    test.run(&["run", "weather", "city=Paris"])
        .exits(0)
        .prints("Sunny\n");
    assert_eq!(proxy.connections(), 0);
}

#[test]
fn faults_of_arguments_are_named_and_nothing_is_sent() {
    let server = sunny();
    let mut tool = weather(&server);
    tool["impl"]["headers"] = json!({"X-Note": "${note}"});
    let test = with(&tool).variable("TOOLCRIB_ALLOWED_HOSTS", &server.host());
    let error = fails(
        test.run(&["run", "weather", "city=Paris", "--json"]),
        4,
        "INVALID_ARGUMENTS",
    );
    assert_eq!(error["details"]["faults"][0]["pointer"], "/note");
    let hostile = json!({"city": "Paris", "note": "a\r\nHost: evil"}).to_string();
    let error = fails(
        test.run(&["run", "weather", "--args", &hostile, "--json"]),
        4,
        "INVALID_ARGUMENTS",
    );
    assert_eq!(error["details"]["faults"][0]["pointer"], "/note");
    assert!(server.received().is_empty());
}

#[test]
fn what_a_server_does_wrong_is_exit_8_and_what_takes_too_long_7() {
    let broken = ScriptedServer::start(|_| Reply::status(404).body("no such city"));
    let test = with(&weather(&broken)).variable("TOOLCRIB_ALLOWED_HOSTS", &broken.host());
    let error = fails(
        test.run(&["run", "weather", "city=Paris", "--json"]),
        8,
        "UPSTREAM_ERROR",
    );
    assert_eq!(error["details"]["status"], 404);
    assert_eq!(error["details"]["body"], "no such city");

    let silent = ScriptedServer::start(|_| Reply::ok("").after(Duration::from_secs(10)));
    let mut slow = weather(&silent);
    slow["impl"]["timeoutMs"] = 200.into();
    let test = with(&slow).variable("TOOLCRIB_ALLOWED_HOSTS", &silent.host());
    fails(
        test.run(&["run", "weather", "city=Paris", "--json"]),
        7,
        "TIMEOUT",
    );

    let gone = sunny();
    let mut tool = weather(&gone);
    tool["retry"] = json!({"max": 0});
    let test = with(&tool).variable("TOOLCRIB_ALLOWED_HOSTS", &gone.host());
    drop(gone);
    fails(
        test.run(&["run", "weather", "city=Paris", "--json"]),
        8,
        "NETWORK_ERROR",
    );
}

#[test]
fn error_mode_empty_prints_null_and_says_why_beside_it() {
    let server = ScriptedServer::start(|_| Reply::status(404));
    let mut tool = weather(&server);
    tool["impl"]["errorMode"] = "empty".into();
    let test = with(&tool).variable("TOOLCRIB_ALLOWED_HOSTS", &server.host());
    test.run(&["run", "weather", "city=Paris"])
        .exits(0)
        .prints("null\n")
        .says("answered 404 Not Found");
    let outcome = test
        .run(&["run", "weather", "city=Paris", "--json"])
        .exits(0)
        .json();
    assert_eq!(outcome["value"], Value::Null);
    assert_eq!(outcome["metadata"]["failure"]["code"], "UPSTREAM_ERROR");
}

#[test]
fn a_dry_run_shows_the_request_and_sends_nothing() {
    let server = sunny();
    let mut tool = weather(&server);
    tool["requiresApproval"] = json!(true);
    tool["impl"]["urlTemplate"] = server.url("/v1?q=${city}&key=${WEATHER_API_KEY}").into();
    let test = with(&tool).variable("TOOLCRIB_ALLOWED_HOSTS", &server.host());
    let words = ["run", "weather", "city=Paris", "--dry-run", "--json"];
    let plan = test.run(&words).exits(0).json();
    let shown = server.url("/v1?q=Paris&key=[secret WEATHER_API_KEY]");
    assert!(
        plan.to_string().contains(&format!("GET {shown}")),
        "{plan:#}"
    );
    let missing = &plan["value"]["secrets"][0];
    assert_eq!(
        (&missing["name"], &missing["kept"]),
        (&json!("WEATHER_API_KEY"), &json!(false))
    );
    // Someone has to be asked.
    fails(
        test.run(&["run", "weather", "city=Paris", "--json"]),
        6,
        "APPROVAL_UNAVAILABLE",
    );
    // With someone's consent, the secret is what is missing.
    let error = fails(
        test.run(&["run", "weather", "city=Paris", "--json", "--yes"]),
        3,
        "TOOL_UNAVAILABLE",
    );
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("toolcrib secret set WEATHER_API_KEY"),
        "{message}"
    );
    assert!(server.received().is_empty());
}

#[test]
fn the_same_call_id_is_sent_once_across_processes() {
    let server = sunny();
    let test = with(&weather(&server)).variable("TOOLCRIB_ALLOWED_HOSTS", &server.host());
    let words = ["run", "weather", "city=Paris", "--call-id", "order-17"];
    for _ in 0..2 {
        test.run(&words).exits(0).prints("Sunny\n");
    }
    assert_eq!(server.received().len(), 1);
}

#[test]
fn a_file_of_a_workspace_asks_no_one_until_it_is_trusted() {
    let server = sunny();
    let test = Test::new()
        .file(".toolcrib/tools/weather.json", weather(&server).to_string())
        .variable("TOOLCRIB_ALLOWED_HOSTS", &server.host());
    let error = fails(
        test.run(&["run", "weather", "city=Paris", "--json"]),
        3,
        "TOOL_DISABLED",
    );
    assert_eq!(error["details"]["reason"], "untrusted");
    assert!(server.received().is_empty());
    test.run(&["trust", "--yes"]).exits(0);
    test.run(&["run", "weather", "city=Paris"])
        .exits(0)
        .prints("Sunny\n");
}

#[test]
fn a_secret_that_is_bound_elsewhere_is_said_by_explain_and_dry_runs_as_by_a_call() {
    let server = sunny();
    let mut tool = weather(&server);
    tool["impl"]["urlTemplate"] = server.url("/v1?q=${city}&key=${WEATHER_API_KEY}").into();
    let test = with(&tool).variable("TOOLCRIB_ALLOWED_HOSTS", &server.host());
    let set = |host: &str| {
        let words = [
            "secret",
            "set",
            "WEATHER_API_KEY",
            "--host",
            host,
            "--quiet",
        ];
        test.run_with_input(&words, "s3cr3t-k3y\n").exits(0);
    };
    set("elsewhere.example");
    let error = fails(
        test.run(&["run", "weather", "city=Paris", "--json"]),
        3,
        "TOOL_UNAVAILABLE",
    );
    let message = error["message"].as_str().unwrap();
    let dry = ["run", "weather", "city=Paris", "--dry-run"];
    for words in [&["explain", "weather"][..], &dry] {
        let ran = test.run(words).exits(0);
        assert!(ran.stdout.contains(message), "{words:?}: {}", ran.stdout);
        assert!(!ran.stdout.contains("is kept here"), "{}", ran.stdout);
    }
    set(&server.host());
    for words in [&["explain", "weather"][..], &dry] {
        let ran = test.run(words).exits(0);
        assert!(
            ran.stdout.contains("WEATHER_API_KEY is kept here"),
            "{}",
            ran.stdout
        );
    }
}

#[test]
fn an_answer_that_is_not_200_is_reported_on_stderr() {
    let server = ScriptedServer::start(|request| match request.target.as_str() {
        "/missing" => Reply::status(404)
            .body(r#"{"error":"no such thing"}"#)
            .header("Content-Type", "application/json"),
        _ => Reply::ok("hello").header("X-Kind", "greeting"),
    });
    let test = Test::new().variable("TOOLCRIB_ALLOWED_HOSTS", &server.host());
    let fetch = |path: &str, method: &str| {
        let (url, method) = (
            format!("url={}", server.url(path)),
            format!("method={method}"),
        );
        test.run(&["run", "fetch", &url, &method])
    };
    let missing = fetch("/missing", "GET").exits(0);
    assert_eq!(missing.stdout, r#"{"error":"no such thing"}"#);
    assert_eq!(
        missing.stderr,
        "404 Not Found, application/json, 25 bytes\n"
    );
    let found = fetch("/", "GET").exits(0);
    assert_eq!(
        (found.stdout.as_str(), found.stderr.as_str()),
        ("hello", "")
    );
    let asked = fetch("/", "HEAD").exits(0);
    assert!(asked.stdout.contains("x-kind: greeting\n"), "{asked:?}");
}
