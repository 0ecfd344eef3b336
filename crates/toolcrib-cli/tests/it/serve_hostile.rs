//! One client sends a server everything that hurts readers, and another client does not notice.
//!
//! The server has 1 GB. In a release build (`./test.sh hostile`) the other client's calls take at most three times as long as they took
//! alone in the same run. A debug build reads slowly, so there these calls are only compared with the requests of the attack: a busy machine
//! is busy for both.

#[path = "../../../toolcrib/tests/it/hostile/corpus.rs"]
#[expect(
    dead_code,
    reason = "some texts are for readers that no request reaches"
)]
mod corpus;

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib::testing::{Reply, ScriptedServer};

use crate::harness::Test;
use crate::serving::{Client, Serving};

/// The memory of the server, in KB.
const MEMORY: u64 = 1024 * 1024;

/// A negligible time: below it calls are fast enough, and differences are noise.
const FLOOR: Duration = Duration::from_millis(5);

/// How long a request of the attack may wait for its answer: the pages are converted one after another, each within 8 s.
const ATTACKS_PATIENCE: Duration = Duration::from_secs(300);

/// How many calls are made alone.
const ALONE: usize = 400;

/// How many requests the attacker has open at once.
const ATTACKERS: usize = 8;

/// A request.
struct Request {
    name: String,
    method: &'static str,
    by_operator: bool,
    path: String,
    headers: String,
    kind: &'static str,
    body: Vec<u8>,
    /// Whether it has a page made into Markdown.
    is_page: bool,
}

impl Request {
    fn json(name: &str, path: &str, body: String) -> Self {
        Request {
            name: name.to_owned(),
            method: "POST",
            by_operator: false,
            path: path.to_owned(),
            headers: String::new(),
            kind: "application/json",
            body: body.into_bytes(),
            is_page: false,
        }
    }

    fn by_operator(self) -> Self {
        Request {
            by_operator: true,
            ..self
        }
    }

    /// Sends it; the status of the answer, or none if the server closed the connection before all was sent and its answer was lost by that.
    fn send(&self, client: &Client, operator: &Client) -> Option<u16> {
        let by = if self.by_operator { operator } else { client };
        let head = format!(
            "{} {} HTTP/1.1\r\nHost: localhost:{}\r\nAuthorization: Bearer {}\r\nContent-Type: {}\r\n{}Content-Length: {}\r\n\
             Connection: close\r\n\r\n",
            self.method,
            self.path,
            by.address.port(),
            by.token,
            self.kind,
            self.headers,
            self.body.len()
        );
        let mut stream = TcpStream::connect(by.address).expect("it listens");
        stream.set_read_timeout(Some(ATTACKS_PATIENCE)).unwrap();
        // A server that has heard enough may answer before everything is sent.
        let sent = stream.write_all(head.as_bytes());
        let sent = sent.and_then(|()| stream.write_all(&self.body));
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let status = String::from_utf8_lossy(&answer)
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let is_reset = |error: &std::io::Error| {
            matches!(
                error.kind(),
                ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
            )
        };
        let was_cut = sent.as_ref().is_err_and(is_reset) || read.as_ref().is_err_and(is_reset);
        assert!(
            status.is_some() || was_cut,
            "{} to {}: sent {sent:?}, read {read:?}",
            self.name,
            self.path
        );
        status
    }
}

/// Everything that the attacker sends, by every way in.
fn attack(pages: &str) -> VecDeque<Request> {
    let mut requests = VecDeque::new();
    for (number, (name, _)) in corpus::html(400).into_iter().enumerate() {
        let args = json!({"url": format!("{pages}{number}")});
        let call = json!({"tool": "web_fetch", "args": args});
        requests.push_back(Request {
            is_page: true,
            ..Request::json(name, "/api/calls", call.to_string())
        });
    }
    for (name, text) in corpus::arguments(1024 * 1024) {
        let path = format!("{TOOLS}/known/version/v1/invoke");
        let body = format!("{{\"args\":{text}}}");
        requests.push_back(Request::json(name, &path, body));
    }
    for (number, (name, text)) in corpus::schemas(16 * 1024).into_iter().enumerate() {
        if let Ok(schema) = serde_json::from_str::<Value>(&text) {
            let path = format!("{TOOLS}/t{number}/version/v1");
            let tool = tool(&schema, "https://api.example.org/").to_string();
            requests.push_back(Request {
                method: "PUT",
                ..Request::json(name, &path, tool).by_operator()
            });
        }
    }
    for size in [400, 64 * 1024] {
        for (number, (name, text)) in corpus::shell(size).into_iter().enumerate() {
            let command = json!({"command": text});
            requests.push_back(match number % 4 {
                0 => {
                    let args = json!({"language": "bash", "code": text});
                    let call = json!({"tool": "run_code", "args": args, "approvals": "given"});
                    Request::json(name, "/api/calls", call.to_string())
                }
                1 => {
                    let call = json!([{"type": "function", "id": "c", "function": {"name": "shell", "arguments": command.to_string()}}]);
                    Request::json(name, "/api/answer/openai?approvals=given", call.to_string())
                }
                2 => {
                    let params = json!({"name": "shell", "arguments": command, "_meta": {
                        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                        "io.modelcontextprotocol/clientCapabilities": {},
                    }});
                    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
                    Request {
                        headers: "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
                                  Mcp-Method: tools/call\r\nMcp-Name: shell\r\n"
                            .to_owned(),
                        ..Request::json(name, "/mcp", message.to_string())
                    }
                }
                _ => {
                    let call = json!({"tool": "shell", "args": command, "approvals": "given"});
                    Request::json(name, "/api/calls", call.to_string())
                }
            });
            if number % 10 == 0 {
                let trial = json!({"command": text}).to_string();
                requests.push_back(Request::json(name, "/api/rules/test", trial).by_operator());
            }
        }
    }
    for size in [16 * 1024, 4 * 1024 * 1024 - 100] {
        for (name, text) in corpus::json(size) {
            let call = format!("{{\"tool\":\"read_file\",\"args\":{{\"path\":{text}}}}}");
            requests.push_back(Request::json(name, "/api/calls", call));
            if matches!(name, "lists" | "numbers" | "text" | "keys") {
                requests.push_back(Request::json(name, "/api/answer/auto", text.clone()));
                requests.push_back(Request::json(name, "/mcp", text));
            }
        }
    }
    for (name, text) in corpus::json_paths(4000) {
        let args = json!({"query": text, "regex": true});
        let call = json!({"tool": "search_code", "args": args});
        requests.push_back(Request::json(name, "/api/calls", call.to_string()));
    }
    for pattern in [
        "(a)".repeat(1300),
        "(a|b)?".repeat(600),
        "\\w{900}".repeat(9),
    ] {
        let call = json!({"tool": "search_code", "args": {"query": pattern, "regex": true}});
        requests.push_back(Request::json("pattern", "/api/calls", call.to_string()));
    }
    for (name, text) in corpus::yaml(60_000) {
        let file = json!({"file": "x.yaml", "content": text}).to_string();
        requests.push_back(Request::json(name, "/api/check", file).by_operator());
    }
    for (name, text) in corpus::templates(60_000) {
        let text = serde_json::to_string(&text).unwrap();
        let yaml = format!(
            "name: x\ndescription: x\ntags: [run]\nbash: {text}\nparameters:\n  P: {{type: string, description: x}}\n  Q: {{type: string, description: x}}\n  \
             L: {{type: array, description: x}}\n"
        );
        let file = json!({"file": "x.yaml", "content": yaml}).to_string();
        requests.push_back(Request::json(name, "/api/check", file).by_operator());
    }
    for (name, text) in corpus::schemas(16 * 1024) {
        let Ok(schema) = serde_json::from_str(&text) else {
            continue;
        };
        let tool = corpus::tool("t", 1, &schema, "x").to_string();
        requests.push_back(Request::json(name, "/api/check", tool).by_operator());
    }
    for (name, bytes) in corpus::archives(256 * 1024) {
        let mut request = Request::json(name, "/api/bundles/import", String::new()).by_operator();
        request.kind = "application/zip";
        request.body = bytes;
        requests.push_back(request);
    }
    requests
}

/// Where the tools of the test's own bundle are.
const TOOLS: &str = "/tools/bundles/018faf50-b7b6-7a01-9a05-a22a6e0af1ff/tools";

fn tool(schema: &Value, url: &str) -> Value {
    json!({
        "displayName": "Known", "description": "x", "type": "http", "isEnabled": true, "argSchema": schema,
        "impl": {"method": "GET", "urlTemplate": url}, "tags": ["read"],
    })
}

/// A call of a file of the workspace by its path.
fn call(client: &Client, path: &str) -> Duration {
    let begun = Instant::now();
    let call = json!({"tool": "read_file", "args": {"path": path}});
    let (status, answer) = client.ask("POST", "/api/calls", &call).unwrap();
    let took = begun.elapsed();
    assert_eq!(
        (status, &answer["ok"]),
        (200, &Value::Bool(true)),
        "{answer}"
    );
    took
}

/// Calls one after another, at least so many, until it is over.
fn calls(client: &Client, path: &str, at_least: usize, is_over: &AtomicBool) -> Vec<Duration> {
    let mut times = Vec::new();
    while !is_over.load(Ordering::Relaxed) || times.len() < at_least {
        times.push(call(client, path));
    }
    times
}

/// The time that 99 of 100 calls stay within.
fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() * 99 / 100]
}

#[test]
fn what_one_client_sends_neither_ends_the_server_nor_holds_up_another() {
    let html = corpus::html(1024 * 1024);
    let pages = ScriptedServer::start(move |request| {
        let number = request.target.rsplit('/').next().unwrap_or_default();
        match number
            .parse()
            .ok()
            .and_then(|number: usize| html.get(number))
        {
            Some((_, page)) => Reply::ok(page.as_str()).header("content-type", "text/html"),
            None => Reply::ok("{}"),
        }
    });
    let host = pages.host();
    let test = Test::new().file("hello.txt", "hello\n").config(
        // What was read is not run: the test is about reading.
        &format!("allowedHosts = [{host:?}]\n[[rules]]\nname = \"nothing-runs\"\ntools = [\"shell\", \"run_code\"]\nexpr = \"true\"\nverdict = \"deny\"\nreason = \"x\"\n"),
    );
    let mut server = Serving::start_with_memory(&test, MEMORY);
    let operator = server.client();
    let client = |name: &str| {
        let (status, made) = server.post("/api/clients", &json!({"name": name}));
        assert_eq!(status, 201, "{made}");
        Client {
            token: made["token"].as_str().unwrap().to_owned(),
            ..server.client()
        }
    };
    let (attacker, other) = (client("attacker"), client("other"));
    // It has more bytes than are read at once.
    let long_path = format!("{}hello.txt", "./".repeat(400));
    let is_alone = AtomicBool::new(true);
    let alone = p99(calls(&other, "hello.txt", ALONE, &is_alone));
    let long_alone = p99(calls(&other, &long_path, ALONE, &is_alone));

    let (bundle, _) = TOOLS.rsplit_once('/').unwrap();
    let (status, made) = server.put(
        bundle,
        &json!({"slug": "known", "displayName": "Known", "isEnabled": true}),
    );
    assert!(status < 300, "{made}");
    let known = json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "string", "pattern": "^(a|b)*$"}, {"type": "array", "uniqueItems": true}]}}});
    let (status, made) = server.put(
        &format!("{TOOLS}/known/version/v1"),
        &tool(&known, &pages.url("/answer")),
    );
    assert!(status < 300, "{made}");

    let requests = attack(&pages.url("/page/"));
    let sent = requests.len();
    let (requests, is_over) = (Mutex::new(requests), AtomicBool::new(false));
    // Pages, which may take seconds each, and everything else.
    let (slowest_page, slowest_text) = (Mutex::new(Duration::ZERO), Mutex::new(Duration::ZERO));
    let lost = AtomicUsize::new(0);
    let (beside, long) = std::thread::scope(|scope| {
        let beside = scope.spawn(|| calls(&other, "hello.txt", ALONE, &is_over));
        let long = scope.spawn(|| calls(&other, &long_path, 1, &is_over));
        let attackers: Vec<_> = (0..ATTACKERS)
            .map(|_| {
                scope.spawn(|| {
                    let next = || requests.lock().unwrap().pop_front();
                    while let Some(request) = next() {
                        let begun = Instant::now();
                        let status = request.send(&attacker, &operator);
                        let took = begun.elapsed();
                        let slowest = match request.is_page {
                            true => &slowest_page,
                            false => &slowest_text,
                        };
                        let mut slowest = slowest.lock().unwrap();
                        *slowest = took.max(*slowest);
                        drop(slowest);
                        println!(
                            "{} to {} ({} bytes): {status:?} in {took:?}",
                            request.name,
                            request.path,
                            request.body.len(),
                        );
                        assert!(
                            status.is_none_or(|status| status < 500 || status == 503),
                            "{} to {} was answered with {status:?}",
                            request.name,
                            request.path
                        );
                        lost.fetch_add(usize::from(status.is_none()), Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let attackers: Vec<_> = attackers.into_iter().map(|one| one.join()).collect();
        // Also if one of them failed: the others would go on for ever.
        is_over.store(true, Ordering::Relaxed);
        for attacker in attackers {
            attacker.unwrap();
        }
        (beside.join().unwrap(), long.join().unwrap())
    });
    let (calls, long) = (beside.len(), p99(long));
    let slowest_page = slowest_page.into_inner().unwrap();
    let slowest_text = slowest_text.into_inner().unwrap();
    let slowest = beside.iter().max().copied();
    let beside = p99(beside);
    let (peak, lost) = (server.peak_memory(), lost.into_inner());
    println!(
        "{sent} requests, at most {slowest_text:?}, pages {slowest_page:?}, {lost} answers lost; alone {alone:?}, beside them {beside:?} of \
         {calls} calls, at most {slowest:?}; long ones alone {long_alone:?}, beside them {long:?}; {peak} KB"
    );
    assert!(server.is_running(), "{}", server.said());
    assert!(peak < MEMORY, "the server took {peak} KB");
    assert!(lost < sent / 10, "{lost} of {sent} answers were lost");
    // A text that is read aside waits for the one that is being read, and for no more of the same client, and for no page.
    let most = 2 * slowest_text.max(FLOOR);
    assert!(
        long <= most,
        "the other client's long calls took {long:?}, the slowest of the attack but pages {slowest_text:?}"
    );
    let most = match cfg!(debug_assertions) {
        true => slowest_text.max(slowest_page).max(20 * alone),
        false => 3 * alone.max(FLOOR),
    };
    assert!(
        beside <= most,
        "the other client's calls took {beside:?} instead of {alone:?}"
    );
}
