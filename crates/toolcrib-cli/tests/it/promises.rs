//! What a definition says holds, wherever it is asked about: effects, approval, conditions, and calls that wait.

use serde_json::{Value, json};
use toolcrib::testing::{Reply, ScriptedServer};

use crate::harness::Test;
use crate::serving::{Serving, eventually};

/// A workspace with a trusted tool `t`.
fn with_tool(yaml: &str) -> Test {
    let test = Test::new().file(
        ".toolcrib/tools/t.yaml",
        format!("description: A tool\n{yaml}"),
    );
    test.run(&["trust", "--yes"]);
    test
}

#[test]
fn a_tool_that_only_reads_says_so_and_cannot_write() {
    let test = with_tool("bash: echo hi > out.txt\ntags: [read]\n");
    test.run(&["run", "t"])
        .exits(1)
        .says("it is tagged only `read`");
    assert!(!test.workspace().join("out.txt").exists());
    let explained = test.run(&["explain", "t"]).exits(0).stdout;
    assert!(
        explained.contains("reads the workspace (tagged only `read`)"),
        "{explained}"
    );
    let published = test
        .run(&["schema", "t", "--provider", "mcp"])
        .exits(0)
        .json();
    assert_eq!(published["annotations"]["readOnlyHint"], true);
    // Without a wall nothing enforces it.
    let open = with_tool("bash: echo hi\ntags: [read]\nsecurity: {isolation: none}\n");
    open.run(&["run", "t", "--no-input"]).exits(6);
    let published = open.run(&["schema", "t", "--provider", "mcp"]).json();
    assert_ne!(published["annotations"]["readOnlyHint"], true);
}

#[test]
fn check_refuses_to_read_and_write_and_assignments() {
    for (yaml, code) in [
        (
            "bash: ls\ntags: [read]\nsecurity: {required-permissions: ['filesystem:write:/srv']}\n",
            "read-tag",
        ),
        (
            "tags: [run]\nsteps:\n  - {name: a, bash: 'true'}\n  - {name: b, bash: ls, run-condition: '{a.exit-code} = 5'}\n",
            "template-expression",
        ),
        (
            "bash: ls\ntags: [run]\nrequires-approval: 1 + 1\n",
            "template-expression",
        ),
        (
            "bash: ls\ntags: [run]\nrequires-approval: yes\n",
            "wrong-type",
        ),
        (
            "bash: ls\ntags: [run]\nrequires-approval: '{NOBODY} += 1'\n",
            "template-expression",
        ),
    ] {
        let test = with_tool(yaml);
        let checked = test.run(&["check", "--json"]).exits(4).json();
        assert!(checked.to_string().contains(code), "{yaml}: {checked}");
        test.run(&["run", "t"]).exits(3);
    }
    let test = with_tool(
        "bash: ls\ntags: [read, write]\nsecurity: {required-permissions: ['filesystem:write:/srv']}\n",
    );
    test.run(&["check"]).exits(0);
}

#[test]
fn a_host_that_no_call_can_reach_is_an_error_of_check() {
    let test = with_tool(
        "bash: ls\ntags: [run]\nsecurity: {required-permissions: ['network:external:127.0.0.1:99999']}\n",
    );
    let checked = test.run(&["check", "--json"]).exits(4).json();
    assert!(checked.to_string().contains("always-refused"), "{checked}");
}

#[test]
fn a_place_that_no_call_can_write_is_an_error_of_check() {
    for place in ["/", "/proc", "/dev", "/sys"] {
        let test = with_tool(&format!(
            "bash: ls\ntags: [write]\nsecurity: {{required-permissions: ['filesystem:write:{place}']}}\n"
        ));
        let checked = test.run(&["check", "--json"]).exits(4).json();
        assert!(checked.to_string().contains("always-refused"), "{checked}");
    }
    let test = with_tool("bash: ls\ntags: [write]\nworking-directory: '{TEMP_DIR}/x'\n");
    let checked = test.run(&["check", "--json"]).exits(4).json();
    assert!(checked.to_string().contains("always-refused"), "{checked}");
}

#[test]
fn a_rule_whose_expression_assigns_is_refused() {
    let test = Test::new().config(
        "[[rules]]\nname = \"r\"\nexpr = 'tool = \"shell\"'\nverdict = \"deny\"\nreason = \"no\"\n",
    );
    let ran = test.run(&["rules", "check"]);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("it assigns a value with `=`"), "{said}");
}

#[test]
fn a_rule_whose_expression_is_never_a_boolean_is_refused() {
    for (expression, is_refused) in [
        ("1+1", true),
        ("'deny'", true),
        ("true", false),
        ("args.n > 1", false),
    ] {
        let test = Test::new().config(&format!(
            "[[rules]]\nname = \"r\"\nexpr = \"{expression}\"\nverdict = \"deny\"\nreason = \"no\"\n"
        ));
        let ran = test.run(&["rules", "check"]);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        let refuses = said.contains("a condition must be true or false");
        assert_eq!(refuses, is_refused, "{expression}: {said}");
        assert_eq!(ran.code != 0, is_refused, "{expression}: {said}");
    }
}

#[test]
fn what_curl_imports_asks_if_it_writes() {
    let test = Test::new();
    for (method, asks) in [("GET", false), ("POST", true), ("DELETE", true)] {
        let name = format!("c-{}", method.to_lowercase());
        let command = format!("curl -X {method} http://127.0.0.1:9/v1/charges");
        test.run(&["new", &name, "--from-curl", &command]).exits(0);
        let explained = test.run(&["explain", &name, "--json"]).exits(0).json();
        let approval = explained["approval"].as_str().unwrap();
        assert_eq!(
            approval.starts_with("asks until granted"),
            asks,
            "{approval}"
        );
        test.run(&["check", "--strict", &format!(".toolcrib/tools/{name}.json")])
            .exits(0);
    }
}

/// A server that knows the weather, and a Toolcrib server whose tools may ask it.
fn weather(more: &str) -> (ScriptedServer, Test, Serving) {
    let server = ScriptedServer::start(|_| {
        Reply::ok(r#"{"current": {"condition": {"text": "Light rain"}}}"#)
    });
    let test = Test::new().config(&format!("allowedHosts = [\"{}\"]\n{more}", server.host()));
    test.run(&["secret", "set", "WEATHER_API_KEY", "--from-env", "KEY"]);
    let serving = Serving::start(&test);
    (server, test, serving)
}

const BUNDLE: &str = "018faf50-b7b6-7a01-9a05-a22a6e0af101";

/// The fourth document's `tool.json`, its blocks joined, `{ ... }` filled in and the host another one.
fn tool_json(server: &ScriptedServer) -> Value {
    json!({
        "schemaVersion": "xyz", "bundleID": BUNDLE, "slug": "weather", "version": "v2",
        "displayName": "Weather report", "description": "Fetch current weather for a city",
        "type": "http", "isEnabled": true, "isBuiltIn": false,
        "argSchema": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "The city"}},
            "required": ["city"],
        },
        "outputSchema": {"type": "string"},
        "impl": {
            "method": "GET", "urlTemplate": server.url("/v1/current.json?q=${city}"),
            "headers": {"User-Agent": "MyApp/${version}"}, "bodyTemplate": "", "successCodes": [200],
            "timeoutMs": 10000, "responseEncoding": "json", "extractExpr": "$.current.condition.text",
            "errorMode": "fail",
        },
        "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-06-01T09:17:10Z",
    })
}

/// Puts a tool into the bundle of the document; the answer.
fn put(serving: &Serving, tool: &Value) -> Value {
    let bundle = json!({"slug": "acme", "displayName": "Acme"});
    let (status, answer) = serving.put(&format!("/tools/bundles/{BUNDLE}"), &bundle);
    assert!(status < 300, "{answer}");
    let path = format!("/tools/bundles/{BUNDLE}/tools/weather/version/v2");
    let (status, answer) = serving.put(&path, tool);
    assert_eq!(status, 201, "{answer}");
    answer
}

fn invoke() -> String {
    format!("/tools/bundles/{BUNDLE}/tools/weather/version/v2/invoke")
}

#[test]
fn the_weather_of_the_fourth_document_answers_without_asking() {
    let (server, _test, serving) = weather("");
    let answer = put(&serving, &tool_json(&server));
    assert_eq!(answer.get("warnings"), None, "{answer}");
    let (status, outcome) = serving.post(&invoke(), &json!({"args": {"city": "Bern"}}));
    assert_eq!(status, 200, "{outcome}");
    assert_eq!(
        (&outcome["ok"], &outcome["value"]),
        (&json!(true), &json!("Light rain")),
        "{outcome}"
    );
}

#[test]
fn a_call_that_waits_is_answered_with_where_to_follow_it() {
    let (server, test, serving) = weather("[approvals]\nrespondAfterMs = 1\n");
    let mut tool = tool_json(&server);
    tool["impl"]["method"] = json!("POST");
    let answer = put(&serving, &tool);
    assert_eq!(answer["warnings"][0]["code"], "no-security-tag", "{answer}");
    let args = json!({"args": {"city": "Bern"}});
    let (status, waiting) = serving.post(&invoke(), &args);
    assert_eq!(
        (status, &waiting["status"]),
        (202, &json!("waiting")),
        "{waiting}"
    );
    let id = waiting["callId"].as_str().unwrap();
    let question = waiting["approval"]["id"].as_str().unwrap().to_owned();
    eventually("the server names the waiting call", || {
        let said = serving.said();
        let line = format!(
            "toolcrib approvals approve {}",
            &question[question.len() - 8..]
        );
        said.lines()
            .any(|said| said.contains("`weather`") && said.ends_with(&line))
    });
    let (_, standing) = serving.get(&format!("/api/calls/{id}"));
    assert_eq!(standing["status"], "waiting", "{standing}");
    test.run(&["approvals", "approve", &question[question.len() - 8..]])
        .exits(0);
    let follow = waiting["follow"]["outcome"].as_str().unwrap();
    let (_, over) = serving.get(follow);
    assert_eq!(over["outcome"]["value"], "Light rain", "{over}");
    // A client may say how long it waits; the call itself goes on.
    assert_eq!(server.received().len(), 1);
}
