//! `toolcrib mcp` from outside: lines in, lines out, and nothing else on stdout.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::Test;

/// How long an answer may take, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(30);

const CHATTY: &str = "\
name: chatty
description: Says a lot
tags: [read]
bash: |
  echo '{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}'
  echo noise >&2
  echo more > /dev/stdout
";

/// A client that started the server.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: i64,
}

impl Client {
    fn start(test: &Test, words: &[&str]) -> Self {
        let mut command = test.command();
        command
            .arg("mcp")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { return };
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let mut client = Client {
            child,
            input,
            lines,
            next: 0,
        };
        let hello = client.ask(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "toolcrib", "{hello}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    /// Sends a request and says which it is.
    fn request(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        id
    }

    /// The next message. Anything that is not JSON-RPC fails the test.
    fn message(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("a message");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    fn answer(&self, id: i64) -> Value {
        loop {
            let message = self.message();
            if message["id"] == id {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    fn tools(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    }

    fn until_changed(&self) {
        loop {
            if self.message()["method"] == "notifications/tools/list_changed" {
                return;
            }
        }
    }

    /// Ends its input; the rest of what it says, and how it ended.
    fn end(mut self) -> (Vec<String>, i32) {
        self.input = None;
        let mut rest = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            rest.push(line);
        }
        (rest, self.child.wait().unwrap().code().unwrap())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn trust(test: &Test) {
    assert_eq!(test.run(&["trust", "--yes"]).code, 0);
}

#[test]
fn tools_that_come_change_or_go_are_announced() {
    let test = Test::new().file(".toolcrib/tools/chatty.yaml", CHATTY);
    let mut client = Client::start(&test, &[]);
    let before = client.tools();
    assert!(before.contains(&"read_file".to_owned()) && !before.contains(&"chatty".to_owned()));
    trust(&test);
    client.until_changed();
    assert!(client.tools().contains(&"chatty".to_owned()));
    assert_eq!(test.run(&["disable", "shell"]).code, 0);
    client.until_changed();
    assert!(!client.tools().contains(&"shell".to_owned()));
    // Another text is another tool, which no one has trusted.
    let file = test.workspace().join(".toolcrib/tools/chatty.yaml");
    std::fs::write(file, CHATTY.replace("Says a lot", "Says less")).unwrap();
    client.until_changed();
    assert!(!client.tools().contains(&"chatty".to_owned()));
    let (rest, code) = client.end();
    assert_eq!((rest.as_slice(), code), (&[][..], 0));
}

#[test]
fn what_a_tool_prints_is_in_its_result_and_nowhere_else() {
    let test = Test::new().file(".toolcrib/tools/chatty.yaml", CHATTY);
    trust(&test);
    let mut client = Client::start(&test, &[]);
    let answer = client.ask("tools/call", json!({"name": "chatty", "arguments": {}}));
    let text = answer["result"]["content"].to_string();
    assert!(text.contains("noise") || text.contains("more"), "{answer}");
    let (rest, code) = client.end();
    assert_eq!((rest.as_slice(), code), (&[][..], 0));
}

#[test]
fn calls_in_flight_are_answered_when_the_input_ends() {
    let test = Test::new().file("a.txt", "hello");
    let mut client = Client::start(&test, &[]);
    let ids: Vec<i64> = (0..50)
        .map(|_| {
            client.request(
                "tools/call",
                json!({"name": "read_file", "arguments": {"path": "a.txt"}}),
            )
        })
        .collect();
    let (rest, code) = client.end();
    let mut answered: Vec<i64> = rest
        .iter()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["id"]
                .as_i64()
                .unwrap()
        })
        .collect();
    answered.sort_unstable();
    assert_eq!((answered, code), (ids, 0));
}

#[test]
fn ten_thousand_lines_of_noise_leave_it_usable() {
    let test = Test::new();
    let mut client = Client::start(&test, &[]);
    let noise = [
        "",
        "{",
        "[]",
        "null",
        "\u{0}\u{1}",
        "{\"id\":null}",
        "tools/list",
        "\r",
        "[1,2",
        "{\"jsonrpc\":\"1.0\"}",
    ];
    // Read while it is written: every line may be answered.
    let lines: String = (0..1000)
        .flat_map(|_| noise)
        .flat_map(|line| [line, "\n"])
        .collect();
    let mut input = client.input.take().unwrap();
    let writing = std::thread::spawn(move || {
        input.write_all(lines.as_bytes()).unwrap();
        input
    });
    client.input = Some(writing.join().unwrap());
    assert!(client.tools().contains(&"read_file".to_owned()));
    assert_eq!(client.end().1, 0);
}

#[test]
fn a_tool_cannot_take_the_name_of_a_built_in_one() {
    let tool =
        |name: &str| format!("name: {name}\ndescription: Poses\ntags: [read]\nbash: echo posed\n");
    let test = Test::new()
        .file(".toolcrib/tools/read_file.yaml", tool("read_file"))
        .file(".toolcrib/tools/find_tools.yaml", tool("find_tools"))
        .file("a.txt", "hello");
    trust(&test);
    let mut client = Client::start(&test, &[]);
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let named: Vec<&Value> = tools
        .iter()
        .filter(|tool| tool["name"] == "read_file")
        .collect();
    assert_eq!(named.len(), 1, "{listed}");
    assert_eq!(named[0]["_meta"]["toolcrib/bundle"], "core");
    let answer = client.ask(
        "tools/call",
        json!({"name": "read_file", "arguments": {"path": "a.txt"}}),
    );
    assert!(
        answer["result"]["content"].to_string().contains("hello"),
        "{answer}"
    );
}

#[test]
fn a_bundle_or_client_that_no_one_has_is_an_error_before_anything_is_served() {
    let test = Test::new();
    for (words, said) in [
        (["mcp", "--bundle", "nobodys"], "bundle not found"),
        (["mcp", "--client", "nobody"], "there is no client"),
    ] {
        let ran = test.run(&words);
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    assert_eq!(test.run(&["clients", "add", "assistant"]).code, 0);
    let mut client = Client::start(&test, &["--bundle", "core", "--client", "assistant"]);
    let answer = client.ask(
        "tools/call",
        json!({"name": "list_directory", "arguments": {"path": "."}}),
    );
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    drop(client.end());
    let calls = test.run(&["calls", "list", "--json"]).stdout;
    assert!(calls.contains("client:assistant"), "{calls}");
}

#[test]
fn a_client_that_reads_no_more_ends_its_calls_though_its_input_is_open() {
    let test = Test::new();
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "shell", "arguments": {"command": "touch begun; sleep 60"},
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}}}});
    let mut child = test
        .command()
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{line}").unwrap();
    let deadline = std::time::Instant::now() + PATIENCE;
    let begun = test.workspace().join("begun");
    while !begun.exists() {
        assert!(std::time::Instant::now() < deadline, "it never began");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(child.stdout.take());
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(std::time::Instant::now() < deadline, "it goes on");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(0));
    drop(input);
}

#[test]
fn files_and_sigterm_end_it_as_they_should() {
    let test = Test::new();
    let requests = test.workspace().join("requests.jsonl");
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    std::fs::write(&requests, format!("{line}\n")).unwrap();
    let answers = test.workspace().join("answers.jsonl");
    let status = test
        .command()
        .arg("mcp")
        .stdin(std::fs::File::open(&requests).unwrap())
        .stdout(std::fs::File::create(&answers).unwrap())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
    let answer: Value = serde_json::from_slice(&std::fs::read(&answers).unwrap()).unwrap();
    assert_eq!(answer["id"], 1);
    let mut client = Client::start(&test, &[]);
    let id = client.request(
        "tools/call",
        json!({"name": "shell", "arguments": {"command": "sleep 60"}}),
    );
    let pid = rustix::process::Pid::from_child(&client.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    // Cancelled or never begun: either way it ends now, in order.
    let mut rest = Vec::new();
    while let Ok(line) = client.lines.recv_timeout(PATIENCE) {
        rest.push(line);
    }
    assert_eq!(
        client.child.wait().unwrap().code(),
        Some(0),
        "{id}: {rest:?}"
    );
}

#[test]
fn the_pipes_it_is_given_stay_as_they_were_for_the_processes_that_share_them() {
    let test = Test::new();
    let (their_input, mut input) = std::io::pipe().unwrap();
    let (output, their_output) = std::io::pipe().unwrap();
    let mut command = test.command();
    command
        .arg("mcp")
        .stdin(their_input.try_clone().unwrap())
        .stdout(their_output.try_clone().unwrap())
        // One pipe for both, as `2>&1` makes it.
        .stderr(their_output.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    input
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
        .unwrap();
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).unwrap();
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    let is_waited_for = |flags: rustix::fs::OFlags| !flags.contains(rustix::fs::OFlags::NONBLOCK);
    assert!(is_waited_for(
        rustix::fs::fcntl_getfl(&their_input).unwrap()
    ));
    assert!(is_waited_for(
        rustix::fs::fcntl_getfl(&their_output).unwrap()
    ));
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_tool_of_another_server_that_cannot_be_called_is_unavailable_everywhere() {
    let test = Test::new();
    let property = |p: Value| json!({"inputSchema": {"type": "object", "properties": {"p": p}}});
    let broken = [
        ("any-type", property(json!({"type": "any"}))),
        (
            "null-required",
            json!({"inputSchema": {"type": "object", "required": null}}),
        ),
        (
            "draft-3",
            property(json!({"type": "string", "required": true})),
        ),
        (
            "draft-4",
            property(json!({"type": "number", "minimum": 0, "exclusiveMinimum": true})),
        ),
        (
            "as-task",
            json!({"inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}),
        ),
    ];
    let tools: Vec<Value> = broken
        .iter()
        .map(|(name, fields)| {
            let mut tool = fields.clone();
            tool["name"] = json!(name);
            tool["description"] = json!("Cannot be called");
            tool
        })
        .collect();
    let more = test.workspace().join("more.json");
    std::fs::write(&more, json!(tools).to_string()).unwrap();
    let more = more.to_str().unwrap();
    let mut add = vec!["upstream", "add", "fake", "--yes", "--allow", "echo"];
    add.extend(broken.iter().flat_map(|(name, _)| ["--allow", name]));
    add.extend(["--", "python3", crate::upstream::server(), "plain", more]);
    test.run(&add).exits(0);
    let wire = |name: &str| name.replace('-', "_");
    let listed = test.run(&["list", "--all", "--json"]).exits(0).json();
    let mut client = Client::start(&test, &[]);
    let published = client.tools();
    assert!(published.iter().any(|tool| tool == "echo"), "{published:?}");
    for (name, _) in &broken {
        let is_it = |tool: &&Value| {
            let shown = tool["name"].as_str().unwrap_or_default();
            shown == *name || shown == wire(name)
        };
        let row = listed.as_array().unwrap().iter().find(is_it);
        assert_eq!(
            row.unwrap_or(&listed)["availability"]["state"],
            "unavailable",
            "{name}"
        );
        assert!(
            !published
                .iter()
                .any(|tool| tool == name || *tool == wire(name)),
            "{published:?}"
        );
        let called = client.ask("tools/call", json!({"name": name, "arguments": {}}));
        let said = called.to_string();
        assert!(
            said.contains("TOOL_UNAVAILABLE") || called["error"].is_object(),
            "{said}"
        );
        test.run(&["run", name]).exits(3);
    }
    for provider in ["openai", "anthropic", "gemini", "ollama", "mcp"] {
        let defined = test.run(&["schema", "--provider", provider]).exits(0);
        assert!(defined.stdout.contains("\"echo\""), "{provider}");
        for (name, _) in &broken {
            let quoted = [format!("\"{name}\""), format!("\"{}\"", wire(name))];
            assert!(
                !quoted.iter().any(|name| defined.stdout.contains(name)),
                "{provider}: {name}"
            );
        }
    }
}
