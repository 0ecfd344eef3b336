//! The client: bytes prepared beforehand, and answers read no further than needed, so that the client costs little beside the server.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::TOKEN;

fn request(method: &str, path: &str, more: &str, body: &Value) -> Vec<u8> {
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n{body}"
    )
    .into_bytes()
}

/// The echo of axum.
pub(super) fn echo() -> Vec<u8> {
    request("POST", "/echo", "", &json!({"args": {"text": "hello"}}))
}

/// A call of the tool that does nothing.
pub(super) fn call() -> Vec<u8> {
    let body = json!({"name": "noop", "arguments": {"text": "hello"}});
    request("POST", "/api/calls", "", &body)
}

/// Begins a call that prints so much; its id.
pub(super) fn flood(address: SocketAddr, megabytes: usize) -> String {
    let body = json!({"name": "flood", "arguments": {"megabytes": megabytes}});
    let more = "Prefer: respond-async\r\nConnection: close\r\n";
    let answer = ask(address, &request("POST", "/api/calls", more, &body));
    answer["callId"].as_str().expect("a call id").to_owned()
}

/// Whether a call still runs.
pub(super) fn is_running(address: SocketAddr, call: &str) -> bool {
    let path = format!("/api/calls/{call}");
    let answer = ask(
        address,
        &request("GET", &path, "Connection: close\r\n", &Value::Null),
    );
    answer["status"] == "running"
}

/// Asks for the events of a call.
pub(super) fn follow(call: &str) -> Vec<u8> {
    let path = format!("/api/calls/{call}/events");
    request("GET", &path, "Accept: text/event-stream\r\n", &Value::Null)
}

/// Asks whether the server is there.
pub(super) fn health() -> Vec<u8> {
    request("GET", "/api/health", "", &Value::Null)
}

fn ask(address: SocketAddr, request: &[u8]) -> Value {
    let mut stream = std::net::TcpStream::connect(address).expect("a connection");
    stream.write_all(request).expect("a server that reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let body = answer.split_once("\r\n\r\n").expect("a body").1;
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// What a while of asking came to.
pub(super) struct Load {
    /// How long each took, sorted.
    pub(super) took: Vec<Duration>,
    during: Duration,
}

impl Load {
    fn of(mut took: Vec<Duration>, during: Duration) -> Self {
        took.sort();
        Load { took, during }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts")]
    pub(super) fn per_second(&self) -> f64 {
        self.took.len() as f64 / self.during.as_secs_f64()
    }

    /// In milliseconds.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in a list"
    )]
    pub(super) fn quantile(&self, part: f64) -> f64 {
        let place = (self.took.len() as f64 * part) as usize;
        let took = self.took.get(place).copied().unwrap_or_default();
        took.as_secs_f64() * 1000.0
    }
}

/// Asks on so many connections at once, each as soon as it is answered.
pub(super) fn load(
    address: SocketAddr,
    request: &[u8],
    connections: usize,
    during: Duration,
) -> Load {
    asking(address, request, connections, during, None)
}

/// Asks on each connection every ten milliseconds.
pub(super) fn paced(
    address: SocketAddr,
    request: &[u8],
    connections: usize,
    during: Duration,
) -> Load {
    let pace = Some(Duration::from_millis(10));
    asking(address, request, connections, during, pace)
}

fn asking(
    address: SocketAddr,
    request: &[u8],
    connections: usize,
    during: Duration,
    pace: Option<Duration>,
) -> Load {
    // One thread: the other cores are the server's.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (took, lasted) = runtime.block_on(async {
        let mut asking = Vec::new();
        for _ in 0..connections {
            let mut connection = Connection::open(address).await;
            let request = request.to_vec();
            asking.push(tokio::spawn(async move {
                let until = Instant::now() + during;
                let mut took = Vec::with_capacity(100_000);
                while Instant::now() < until {
                    let began = Instant::now();
                    connection.ask(&request).await;
                    took.push(began.elapsed());
                    if let Some(pace) = pace {
                        tokio::time::sleep(pace).await;
                    }
                }
                took
            }));
        }
        let (began, mut all) = (Instant::now(), Vec::new());
        for task in asking {
            all.extend(task.await.expect("a task"));
        }
        (all, began.elapsed())
    });
    Load::of(took, lasted)
}

/// A connection that stays.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        let _ = stream.set_nodelay(true);
        Connection {
            stream,
            buffer: Vec::with_capacity(16 * 1024),
        }
    }

    /// One request, one answer.
    pub(super) async fn ask(&mut self, request: &[u8]) {
        self.stream.write_all(request).await.expect("to write");
        self.buffer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await;
            assert_ne!(
                read.expect("to read"),
                0,
                "the server closed the connection"
            );
            if is_whole(&self.buffer) {
                break;
            }
        }
        assert!(
            self.buffer.starts_with(b"HTTP/1.1 200"),
            "{}",
            String::from_utf8_lossy(&self.buffer)
        );
    }

    pub(super) fn into_stream(self) -> TcpStream {
        self.stream
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return false;
    };
    let name = b"content-length: ";
    let length = bytes[..end].windows(name.len()).position(|w| w == name);
    let digits = length.map_or(&[] as &[u8], |at| &bytes[at + name.len()..end]);
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let length = digits.fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
    bytes.len() >= end + 4 + length
}
