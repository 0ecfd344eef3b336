//! Secrets in HTTP tools: sent where they belong, and told to no one else.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use toolcrib::testing::{Reply, ScriptedServer};

use super::sentinel::{is_clean, search_files};
use crate::harness::Test;

/// A value that a header can carry.
const KEY: &str = "SENTINEL-7f3a/?&\"x+y";

/// Says back everything it was sent, as it came and in base64.
fn echo() -> ScriptedServer {
    ScriptedServer::start(|received| {
        let head = String::from_utf8_lossy(&received.head).into_owned();
        let told = json!({
            "head": head, "base64": STANDARD.encode(&received.head), "body": received.text(),
        });
        let status = match received.target.as_str() {
            target if target.contains("/500") => 500,
            target if target.contains("/401") => 401,
            _ => 200,
        };
        let reply = Reply::status(status)
            .header("content-type", "application/json")
            .header("x-echo", &head.replace(['\r', '\n'], " "))
            .body(told.to_string());
        match received.target.contains("/slow") {
            true => reply.after(Duration::from_secs(60)),
            false => reply,
        }
    })
}

fn tool(name: &str, url: &str, method: &str) -> Value {
    json!({
        "slug": name, "version": "v1", "displayName": name, "description": "Sends a secret",
        "type": "http", "isEnabled": true, "tags": ["write"],
        "argSchema": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Where"}},
        },
        "impl": {
            "method": method, "urlTemplate": url,
            "headers": {"X-Key": "${KEY}", "Authorization": "Bearer ${KEY}"},
            "bodyTemplate": if method == "POST" { "{\"key\": \"${KEY}\"}" } else { "" },
            "successCodes": [200], "timeoutMs": 700, "responseEncoding": "json",
            "extractExpr": "$", "errorMode": "fail",
        },
    })
}

#[test]
fn an_upstream_that_says_everything_back_reveals_nothing() {
    let server = echo();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed_at = closed.local_addr().unwrap();
    drop(closed);
    let tools = [
        tool("ok", &server.url("/200?q=${city}&key=${KEY}"), "GET"),
        tool("posts", &server.url("/200/${KEY}"), "POST"),
        tool("fails", &server.url("/500?key=${KEY}"), "GET"),
        tool("refused", &server.url("/401?key=${KEY}"), "GET"),
        tool("slow", &server.url("/slow?key=${KEY}"), "GET"),
        tool(
            "nobody",
            &format!("http://{closed_at}/?key=${{KEY}}"),
            "GET",
        ),
        tool("nowhere", "http://no-such-host.invalid/?key=${KEY}", "GET"),
    ];
    let mut test = Test::new().config(&format!(
        "allowedHosts = [\"{}\", \"{closed_at}\", \"no-such-host.invalid\"]\n",
        server.host()
    ));
    for tool in &tools {
        let path = format!("../.toolcrib/tools/{}.json", tool["slug"].as_str().unwrap());
        test = test.file(&path, tool.to_string());
    }
    test.run_with_input(&["secret", "set", "KEY"], KEY).exits(0);
    for tool in &tools {
        let name = tool["slug"].as_str().unwrap();
        // Those that find no one try again and again.
        let waits = ["slow", "nobody", "nowhere"].contains(&name);
        let modes = [&["--json"][..], &[], &["--stream", "--json"]];
        for flags in &modes[..if waits { 1 } else { 3 }] {
            let words = ["run", name, "city=Paris", "--yes", "-v", "--call-id"];
            let id = format!("{name}-{}", flags.len());
            is_clean(test.run(&[&words[..], &[id.as_str()], flags].concat()));
        }
        is_clean(test.run(&["run", name, "city=Paris", "--dry-run", "--json"]));
        is_clean(test.run(&["show", name, "--json"]).exits(0));
    }
    let ok = test
        .run(&["run", "ok", "city=Paris", "--yes", "--json"])
        .exits(0);
    assert!(ok.stdout.contains("[REDACTED]"), "{ok:?}");
    let received = server.received();
    let sent = |target: &str| received.iter().find(|one| one.target.starts_with(target));
    assert_eq!(
        sent("/200?").unwrap().header("x-key"),
        Some(KEY),
        "what is sent is not masked"
    );
    assert!(sent("/500?").is_some() && sent("/slow?").is_some());
    let mut searched = Vec::new();
    search_files(&test.home(), &mut searched);
    assert!(searched.len() > 3, "{searched:?}");
}

#[test]
fn a_secret_that_is_bound_elsewhere_is_not_sent() {
    let server = echo();
    let test = Test::new()
        .config(&format!("allowedHosts = [\"{}\"]\n", server.host()))
        .file(
            "../.toolcrib/tools/ok.json",
            tool("ok", &server.url("/200"), "GET").to_string(),
        );
    let call = ["run", "ok", "--yes"];
    test.run(&call).exits(3).says("toolcrib secret set KEY");
    for binding in [
        &["--host", "api.example.test"][..],
        &["--bundle", "weather"],
    ] {
        let words = [&["secret", "set", "KEY"][..], binding].concat();
        test.run_with_input(&words, KEY).exits(0);
        let ran = test.run(&call);
        assert_ne!(ran.code, 0, "{ran:?}");
        assert!(ran.stderr.contains("toolcrib secret set KEY"), "{ran:?}");
    }
    assert!(server.received().is_empty());
    let words = [
        "secret",
        "set",
        "KEY",
        "--host",
        &server.host(),
        "--bundle",
        "user",
    ];
    test.run_with_input(&words, KEY).exits(0);
    test.run(&call).exits(0);
    test.run_with_input(&["secret", "set", "KEY", "--host", "https://x.test/"], KEY)
        .exits(2);
}

/// TPL-009.
#[test]
fn a_secret_cannot_have_the_name_of_an_http_tools_argument() {
    let test = Test::new().file(
        "../.toolcrib/tools/ok.json",
        tool("ok", "http://api.example.test/${city}", "GET").to_string(),
    );
    test.run_with_input(&["secret", "set", "city"], KEY)
        .exits(9)
        .says("the HTTP tool `ok` has an argument `city`");
    test.run_with_input(&["secret", "set", "path"], KEY)
        .exits(0);
}
