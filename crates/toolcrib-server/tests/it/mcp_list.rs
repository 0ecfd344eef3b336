//! The list of tools for MCP clients: what is in it, in which order, page by page, and when it is another one.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use toolcrib::model::names::Slug;
use toolcrib::store::BundleDraft;
use toolcrib::{BundleId, FnTool, Schema, Tool, ToolManifest, ToolOutput, ToolSpec, WireName};
use toolcrib_mcp::protocol::Era;
use toolcrib_mcp::rpc::{RpcError, code};
use toolcrib_mcp::server::{Ask, Context, Host as _, Reply, Server, StdioOptions};
use toolcrib_server::mcp::{CribHost, HostOptions};

use crate::harness::Scene;

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

/// A scene whose home has these settings.
fn scene(settings: &str) -> Scene {
    Scene::prepared(
        tempfile::tempdir().unwrap(),
        |home, _| std::fs::write(home.join("config.toml"), settings).unwrap(),
        |options| options,
    )
}

fn host(scene: &Scene, bundles: &[&str]) -> Arc<CribHost> {
    let bundles = bundles.iter().map(ToString::to_string).collect();
    CribHost::new(
        Arc::clone(&scene.crib),
        HostOptions {
            bundles,
            ..HostOptions::default()
        },
    )
}

async fn ask(host: &Arc<CribHost>, ask: Ask) -> Result<Value, RpcError> {
    let context = Context::detached(Era::Modern, "mcp");
    match Arc::clone(host).answer(ask, context).await? {
        Reply::Complete { body, .. } => Ok(serde_json::from_slice(&body).unwrap()),
        Reply::InputRequired { .. } => panic!("nothing is asked"),
    }
}

async fn page(host: &Arc<CribHost>, cursor: Option<&str>) -> Value {
    let cursor = cursor.map(str::to_owned);
    ask(host, Ask::ListTools { cursor }).await.unwrap()
}

fn names(page: &Value) -> Vec<&str> {
    let tools = page["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

async fn call(host: &Arc<CribHost>, name: &str, arguments: Value) -> Result<Value, RpcError> {
    let arguments = serde_json::value::to_raw_value(&arguments).unwrap();
    let ask_for = Ask::CallTool {
        name: name.to_owned(),
        arguments: Some(arguments),
        input: None,
    };
    ask(host, ask_for).await
}

fn tool<'a>(page: &'a Value, name: &str) -> &'a Value {
    let tools = page["tools"].as_array().unwrap();
    let found = tools.iter().find(|tool| tool["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {page}"))
}

/// Puts a bundle with tools in the store.
fn store(scene: &Scene, bundle: &str, slugs: &[&str]) {
    let id = BundleId::generate();
    let draft = BundleDraft {
        slug: Slug::parse(bundle).unwrap(),
        display_name: String::new(),
        description: String::new(),
        is_enabled: true,
    };
    scene.crib.put_bundle(id, draft).unwrap();
    for slug in slugs {
        let manifest: ToolManifest = serde_json::from_value(json!({
            "bundleID": id, "slug": slug, "version": "v1", "displayName": "Says", "description": "Says something about mail",
            "type": "http", "tags": ["read", "mail"],
            "argSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
            "impl": {"method": "GET", "urlTemplate": "https://api.example.com/"},
            "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-05-14T13:44:00Z",
        }))
        .unwrap();
        scene.crib.put_tool(manifest).unwrap();
    }
}

#[tokio::test]
async fn built_ins_are_listed_by_name_with_all_that_clients_show() {
    let scene = Scene::new();
    let page = page(&host(&scene, &[]), None).await;
    assert_eq!(
        names(&page),
        [
            "apply_patch",
            "delete_file",
            "edit_file",
            "format_code",
            "git_add",
            "git_branch",
            "git_commit",
            "git_diff",
            "git_log",
            "git_push",
            "git_status",
            "glob_files",
            "install_package",
            "list_directory",
            "move_file",
            "query_database",
            "read_file",
            "read_result",
            "run_code",
            "run_tests",
            "search_code",
            "shell",
            "web_fetch",
            "write_file",
        ]
    );
    assert_eq!(page.get("nextCursor"), None);
    let read = tool(&page, "read_file");
    assert_eq!(read["title"], "Read file");
    assert_eq!(read["inputSchema"]["type"], "object");
    assert_eq!(read["outputSchema"]["type"], "object");
    assert_eq!(
        read["annotations"],
        json!({"title": "Read file", "readOnlyHint": true, "openWorldHint": false})
    );
    assert_eq!(
        read["_meta"],
        json!({"toolcrib/bundle": "core", "toolcrib/version": "v1"})
    );
    for tool in page["tools"].as_array().unwrap() {
        let icon = tool["icons"][0]["src"].as_str().unwrap();
        let url = url::Url::parse(icon).unwrap();
        assert_eq!(url.scheme(), "data", "{icon}");
        // A valid URI is the same after it was read: nothing in it had to be encoded.
        assert_eq!(url.as_str(), icon);
        assert!(icon.starts_with("data:image/svg+xml,%3Csvg%20"), "{icon}");
        assert!(!icon.contains([' ', '<', '>', '"']), "{icon}");
    }
    assert_eq!(
        tool(&page, "write_file")["annotations"],
        json!({"title": "Write file", "readOnlyHint": false, "destructiveHint": true,
            "idempotentHint": true, "openWorldHint": false})
    );
    assert_eq!(
        tool(&page, "web_fetch")["annotations"]["openWorldHint"],
        true
    );
    assert_eq!(tool(&page, "shell")["annotations"]["destructiveHint"], true);
    // No one approves through a tool.
    assert!(!names(&page).iter().any(|name| name.contains("approv")));
}

#[tokio::test]
async fn what_is_off_or_shadowed_is_not_listed_and_one_bad_tool_spoils_nothing() {
    let scene = Scene::new();
    store(&scene, "acme", &["send-mail", "read-file"]);
    let broken = Schema::stored(json!({"type": "object", "properties": {
        "a": {"$ref": "https://example.com/elsewhere.json"}}}));
    let bad = broken
        .ok()
        .map(|schema| ToolSpec::new(WireName::parse("bad").unwrap(), "Bad", schema));
    if let Some(spec) = bad {
        struct Bad(Arc<ToolSpec>);
        impl Tool for Bad {
            fn spec(&self) -> Arc<ToolSpec> {
                Arc::clone(&self.0)
            }
            fn call(
                &self,
                _: toolcrib::model::JsonObject,
                _: toolcrib::CallContext,
            ) -> toolcrib::BoxFuture<'_, Result<ToolOutput, toolcrib::ToolError>> {
                Box::pin(async { Ok(ToolOutput::value(1)) })
            }
        }
        scene.crib.registry().register(Bad(Arc::new(spec))).unwrap();
        let host = host(&scene, &[]);
        let left_out = host.left_out();
        assert_eq!(left_out.len(), 1, "{left_out:?}");
        assert_eq!(left_out[0].tool, "bad");
    }
    let host = host(&scene, &[]);
    let before = page(&host, None).await;
    assert!(names(&before).contains(&"send-mail"));
    assert!(!names(&before).contains(&"bad"));
    // The built-in has the name, and is once.
    assert_eq!(
        names(&before)
            .iter()
            .filter(|name| **name == "read_file")
            .count(),
        1
    );
    assert_eq!(
        tool(&before, "read_file")["_meta"]["toolcrib/bundle"],
        "core"
    );
    scene
        .crib
        .set_enabled(&["send-mail", "shell"], false)
        .unwrap();
    let after = page(&host, None).await;
    assert!(!names(&after).contains(&"send-mail") && !names(&after).contains(&"shell"));
    scene
        .crib
        .set_enabled(&["send-mail", "shell"], true)
        .unwrap();
    assert_eq!(page(&host, None).await, before);
}

#[tokio::test]
async fn pages_go_on_where_the_last_ended_whatever_comes_or_goes() {
    let scene = scene("[mcp]\npageSize = 3\n");
    let host = host(&scene, &[]);
    let unpaged = Scene::new();
    let whole = page(&super::mcp_list::host(&unpaged, &[]), None).await;
    let all = names(&whole);
    let first = page(&host, None).await;
    assert_eq!(names(&first), all[..3]);
    let cursor = first["nextCursor"].as_str().unwrap();
    let second = page(&host, Some(cursor)).await;
    assert_eq!(names(&second), all[3..6]);
    let mut next = second["nextCursor"].as_str().map(str::to_owned);
    let mut seen = 6;
    while let Some(cursor) = next {
        let page = page(&host, Some(&cursor)).await;
        let names = names(&page);
        assert_eq!(names, all[seen..seen + names.len()]);
        seen += names.len();
        next = page["nextCursor"].as_str().map(str::to_owned);
    }
    assert_eq!(seen, all.len());
    // One before, one after and the last of the page itself.
    scene
        .crib
        .set_enabled(&[all[0], all[2], all[4]], false)
        .unwrap();
    let second = page(&host, Some(cursor)).await;
    assert_eq!(names(&second), [all[3], all[5], all[6]]);
    for bad in ["", "x", "MjpyZWFk", &"A".repeat(10_000)] {
        let cursor = Some(bad.to_owned());
        let error = ask(&host, Ask::ListTools { cursor }).await.unwrap_err();
        assert_eq!(error.code, code::INVALID_PARAMS, "{bad}");
    }
}

#[tokio::test]
async fn beyond_the_budget_tools_are_found_and_the_pinned_ones_stay() {
    let scene = scene("[mcp]\ntokenBudget = 300\npinned = ['read_file', 'nobody']\n");
    store(&scene, "acme", &["send-mail", "list-mail"]);
    let host = host(&scene, &[]);
    let listed = page(&host, None).await;
    assert_eq!(
        names(&listed),
        [
            "call_read_tool",
            "call_tool",
            "call_write_tool",
            "find_tools",
            "read_file",
            "read_result"
        ]
    );
    let said = tool(&listed, "find_tools")["description"].as_str().unwrap();
    assert!(said.contains("25 are not listed"), "{said}");
    assert!(said.contains("core (23), acme (2)"), "{said}");
    assert!(said.contains("mail"), "{said}");
    assert!(said.len() < 1200);
    let hints = |name: &str| tool(&listed, name)["annotations"].clone();
    assert_eq!(hints("find_tools")["readOnlyHint"], true);
    assert_eq!(hints("call_read_tool")["readOnlyHint"], true);
    assert_eq!(hints("call_write_tool")["destructiveHint"], false);
    assert_eq!(hints("call_tool")["destructiveHint"], true);
    let description = host.description();
    assert!(description.instructions.unwrap().contains("find_tools"));
    let left_out = host.left_out();
    assert!(
        left_out
            .iter()
            .any(|one| one.tool == "nobody" && one.reason.contains("mcp.pinned"))
    );
    // Without the one that finds them, the others would be out of reach.
    scene.crib.set_enabled(&["find_tools"], false).unwrap();
    assert!(names(&page(&host, None).await).contains(&"send-mail"));
}

#[tokio::test]
async fn a_host_of_some_bundles_serves_no_other() {
    let scene = scene("[mcp]\ntokenBudget = 1\n");
    store(&scene, "acme", &["send-mail"]);
    store(&scene, "other", &["list-mail"]);
    let host = host(&scene, &["acme"]);
    let unknown = call(&host, "list-mail", json!({})).await.unwrap_err();
    assert_eq!(unknown.code, code::INVALID_PARAMS);
    assert!(unknown.message.contains("not of the bundles"), "{unknown}");
    for name in ["list-mail", "read_file", "core/read-file@v1"] {
        let refused = call(&host, "call_tool", json!({"name": name, "arguments": {}}))
            .await
            .unwrap();
        assert_eq!(refused["isError"], true, "{name}: {refused}");
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("not of the bundles"), "{text}");
    }
    // What the pipeline would forgive is not judged here, so it is not taken.
    for odd in [
        json!({"Name": "list-mail"}),
        json!({"NAME": "read_file", "arguments": {"path": "a"}}),
        json!({"name": "send-mail", "Name": "list-mail"}),
        json!({"name": ["list-mail"]}),
        json!({"name": " list-mail "}),
        json!({}),
    ] {
        let refused = call(&host, "call_tool", odd.clone()).await.unwrap();
        assert_eq!(
            refused["_meta"]["toolcrib/call"]["error"]["code"], "INVALID_ARGUMENTS",
            "{odd}: {refused}"
        );
    }
    let odd = call(
        &host,
        "find_tools",
        json!({"query": "mail", "Bundles": ["other"]}),
    )
    .await;
    assert_eq!(odd.unwrap()["isError"], true);
    let arguments = r#"{"name": "list-mail", "name": "send-mail"}"#.to_owned();
    let ask_twice = Ask::CallTool {
        name: "call_tool".to_owned(),
        arguments: Some(serde_json::value::RawValue::from_string(arguments).unwrap()),
        input: None,
    };
    let twice = ask(&host, ask_twice).await.unwrap_err();
    assert_eq!(twice.code, code::INVALID_PARAMS, "{twice}");
    let said = page(&host, None).await;
    let said = tool(&said, "find_tools")["description"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        said.contains("acme (1)") && !said.contains("other"),
        "{said}"
    );
}

#[tokio::test]
async fn ten_thousand_tools_are_listed_once_each() {
    let scene = scene("[mcp]\ntokenBudget = 0\n");
    let tools = (0..10_000).map(|number| {
        let tool = FnTool::new(
            &format!("t{number:05}"),
            "Does something",
            |(): (), _| async { Ok(1) },
        );
        let registration = toolcrib::registry::Registration::default();
        (Arc::new(tool.unwrap()) as Arc<dyn Tool>, registration)
    });
    scene.crib.registry().register_all(tools).unwrap();
    let host = host(&scene, &["app"]);
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = page(&host, cursor.as_deref()).await;
        all.extend(names(&page).into_iter().map(str::to_owned));
        assert_eq!(page["tools"][0].get("icons"), None);
        cursor = page["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    let tools = (0..10_000).map(|number| format!("t{number:05}"));
    // The rest of a result is read with this, whatever bundles are served.
    let expected: Vec<String> = std::iter::once("read_result".to_owned())
        .chain(tools)
        .collect();
    assert_eq!(all, expected);
}

/// The other end of a server on pipes.
struct Pipe {
    lines: tokio::io::Lines<BufReader<tokio::io::ReadHalf<tokio::io::DuplexStream>>>,
    writer: tokio::io::WriteHalf<tokio::io::DuplexStream>,
}

impl Pipe {
    async fn send(&mut self, line: &str) {
        self.writer.write_all(line.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(10), self.lines.next_line());
        serde_json::from_str(&line.await.unwrap().unwrap().unwrap()).unwrap()
    }
}

fn served(host: &Arc<CribHost>) -> Pipe {
    let (near, far) = tokio::io::duplex(1 << 20);
    let server = Server::new(Arc::clone(host) as _);
    tokio::spawn(Arc::clone(host).follow(server.clone()));
    tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(far);
        let _ = server
            .serve_stdio(reader, writer, StdioOptions::new("mcp"))
            .await;
    });
    let (reader, writer) = tokio::io::split(near);
    Pipe {
        lines: BufReader::new(reader).lines(),
        writer,
    }
}

#[tokio::test]
async fn clients_hear_of_another_list_and_of_nothing_else() {
    let scene = Scene::new();
    let host = host(&scene, &[]);
    let mut pipe = served(&host);
    pipe.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#)
        .await;
    let greeting = pipe.next().await;
    assert_eq!(greeting["result"]["serverInfo"]["name"], "toolcrib");
    assert_eq!(
        greeting["result"]["capabilities"]["tools"]["listChanged"],
        true
    );
    pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    pipe.send(LIST).await;
    let before = pipe.next().await;
    // Off and on again is not news; then another tool is off.
    scene.crib.set_enabled(&["shell"], false).unwrap();
    scene.crib.set_enabled(&["shell"], true).unwrap();
    store(&scene, "acme", &["send-mail"]);
    let news = pipe.next().await;
    assert_eq!(news["method"], "notifications/tools/list_changed");
    pipe.send(LIST).await;
    let after = pipe.next().await;
    assert_eq!(
        names(&after["result"]).len(),
        names(&before["result"]).len() + 1
    );
    scene.crib.set_enabled(&["send-mail"], false).unwrap();
    let news = pipe.next().await;
    assert_eq!(news["method"], "notifications/tools/list_changed");
    pipe.send(LIST).await;
    assert_eq!(pipe.next().await["result"], before["result"]);
}

#[tokio::test]
async fn prompts_and_resources_of_upstream_servers_are_passed_on_and_changes_are_news() {
    let scene = Scene::new();
    let host = host(&scene, &[]);
    let mut pipe = served(&host);
    pipe.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#)
        .await;
    let greeting = pipe.next().await;
    for list in ["prompts", "resources"] {
        let declared = &greeting["result"]["capabilities"][list];
        assert_eq!(declared["listChanged"], true, "{greeting}");
    }
    pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    pipe.send(r#"{"jsonrpc":"2.0","id":2,"method":"prompts/list"}"#)
        .await;
    assert_eq!(pipe.next().await["result"], json!({"prompts": []}));
    let settings = json!({"command": "python3", "args": [crate::upstreams::server(), "material"]});
    let body = json!({"name": "fake", "settings": settings});
    let (status, added) = scene.as_operator().post("/api/upstreams", body).await;
    assert_eq!(status, 201, "{added}");
    assert_eq!(
        (&added["prompts"], &added["resources"]),
        (&json!(1), &json!(2))
    );
    let mut news = Vec::new();
    for _ in 0..3 {
        news.push(pipe.next().await["method"].as_str().unwrap().to_owned());
    }
    news.sort();
    let lists = ["prompts", "resources", "tools"];
    assert_eq!(
        news,
        lists.map(|list| format!("notifications/{list}/list_changed"))
    );
    pipe.send(r#"{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"fake_greet","arguments":{"who":"Ada"}}}"#)
        .await;
    let prompt = pipe.next().await;
    assert_eq!(
        prompt["result"]["messages"][0]["content"]["text"],
        "Greet Ada"
    );
    pipe.send(r#"{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"mcp+fake:note://one"}}"#)
        .await;
    let read = pipe.next().await;
    assert_eq!(
        read["result"]["contents"][0]["text"],
        "the text of note://one"
    );
    pipe.send(r#"{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"mcp+fake:note://other"}}"#)
        .await;
    let refused = pipe.next().await;
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`approval`"),
        "{refused}"
    );
}
