//! Calls on real sockets: clients that go, and clients that never read.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use toolcrib_server::listen::{ListenOptions, Server, Stopping};

use super::{Stage, soon};
use crate::harness::OPERATOR;

/// A stage that listens.
struct Listening {
    stage: Stage,
    address: SocketAddr,
}

impl Listening {
    fn start(settings: &str, change: impl FnOnce(&mut ListenOptions)) -> Self {
        let stage = Stage::with_settings(settings);
        let mut options = ListenOptions {
            addr: Some(([127, 0, 0, 1], 0).into()),
            ..ListenOptions::default()
        };
        change(&mut options);
        let server = Server::bind(options).unwrap();
        let address = server.address().unwrap();
        tokio::spawn(server.serve(stage.scene.api.clone(), Stopping::default()));
        Listening { stage, address }
    }

    /// Sends a request for a call.
    async fn call(&self, accept: &str, body: &Value) -> TcpStream {
        let stream = TcpStream::connect(self.address).await.unwrap();
        self.send(stream, accept, body).await
    }

    async fn send(&self, mut stream: TcpStream, accept: &str, body: &Value) -> TcpStream {
        let body = body.to_string();
        let request = format!(
            "POST /api/calls HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {OPERATOR}\r\nAccept: {accept}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    async fn runs(&self, id: &str) {
        let registry = self.stage.scene.crib.registry();
        soon(|| {
            let mut running = registry.running().into_iter();
            running.find(|call| call.call_id.as_str() == id)
        })
        .await;
    }
}

#[tokio::test]
async fn a_connection_that_closes_cancels_its_call_if_that_was_asked_for() {
    let server = Listening::start("", |_| {});
    for accept in ["application/json", "text/event-stream"] {
        let (goes, stays) = (
            format!("goes-{}", accept.len()),
            format!("stays-{}", accept.len()),
        );
        for (id, cancel) in [(&goes, true), (&stays, false)] {
            let body = json!({"tool": "hold", "callId": id, "cancelOnDisconnect": cancel});
            let stream = server.call(accept, &body).await;
            server.runs(id).await;
            drop(stream);
        }
        let operator = server.stage.operator();
        let (_, gone) = operator
            .get(&format!("/api/calls/{goes}?waitMs=20000"))
            .await;
        assert_eq!(
            (&gone["status"], &gone["code"]),
            (&json!("done"), &json!("CANCELLED")),
            "{accept}: {gone}"
        );
        let (_, still) = operator.get(&format!("/api/calls/{stays}")).await;
        assert_eq!(still["status"], "running", "{accept}");
        server.stage.release.add_permits(1);
        let (_, done) = operator
            .get(&format!("/api/calls/{stays}?waitMs=20000"))
            .await;
        assert_eq!(done["outcome"]["value"], "let go", "{accept}: {done}");
    }
}

#[tokio::test]
async fn a_stream_over_a_socket_brings_events_as_they_happen() {
    let server = Listening::start("", |_| {});
    let body = json!({"tool": "hold", "callId": "held"});
    let mut stream = server.call("text/event-stream", &body).await;
    let mut text = String::new();
    read_until(&mut stream, &mut text, "holding").await;
    assert!(text.contains("content-type: text/event-stream"), "{text}");
    assert!(!text.contains("event: outcome"));
    server.stage.release.add_permits(1);
    read_until(&mut stream, &mut text, "event: outcome").await;
    // The end of the stream, and the connection is there for more.
    read_until(&mut stream, &mut text, "\r\n0\r\n\r\n").await;
    assert!(text.contains("event: finished"), "{text}");
}

async fn read_until(stream: &mut TcpStream, text: &mut String, wanted: &str) {
    let reading = async {
        while !text.contains(wanted) {
            let mut buffer = [0; 4096];
            let read = stream.read(&mut buffer).await.unwrap();
            assert_ne!(read, 0, "it ended without {wanted:?}: {text}");
            text.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reading)
        .await
        .unwrap_or_else(|_| panic!("no {wanted:?} within 20 s"));
}

/// What this process has in memory, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.unwrap().split_whitespace().nth(1).unwrap();
    kilobytes.parse::<usize>().unwrap() * 1024
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_never_read_cost_little_and_are_dropped() {
    const CLIENTS: usize = 60;
    let server = Listening::start("", |options| options.limits.write = Duration::from_secs(1));
    let body = json!({"tool": "print", "args": {"times": 2000, "bytes": 50_000}, "callId": "much"});
    let printing = server.call("text/event-stream", &body).await;
    server.runs("much").await;
    let before = resident();
    let mut silent = Vec::new();
    for _ in 0..CLIENTS {
        let socket = TcpSocket::new_v4().unwrap();
        // As little as the kernel allows waits unread.
        socket.set_recv_buffer_size(2048).unwrap();
        let mut stream = socket.connect(server.address).await.unwrap();
        let request = format!(
            "GET /api/calls/much/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {OPERATOR}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        silent.push(stream);
    }
    let operator = server.stage.operator();
    let mut most = before;
    let (_, state) = loop {
        let state = operator.get("/api/calls/much?waitMs=50").await;
        most = most.max(resident());
        if state.1["status"] == "done" {
            break state;
        }
    };
    assert_eq!(state["ok"], true, "{state}");
    let grown = most.saturating_sub(before) / CLIENTS;
    assert!(
        grown < 512 * 1024,
        "{grown} bytes for each client that does not read"
    );
    // All of them go by the deadline of writing, and others are served meanwhile.
    let gate = tokio::time::timeout(Duration::from_secs(20), async {
        // Reading before they are dropped would be no silence.
        while server.stage.scene.api.observer().streams_open() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for stream in &mut silent {
            let mut rest = Vec::new();
            // What the kernel holds can still be read; the end is an end or a reset.
            let _ = stream.read_to_end(&mut rest).await;
            let text = String::from_utf8_lossy(&rest);
            assert!(!text.contains("event: finished"), "it was not dropped");
        }
    });
    gate.await.expect("those who never read are dropped");
    drop(printing);
}
