//! The client against scripted servers, on real sockets.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;
use toolcrib::{CallId, ErrorCode, EventKind, ToolError};
use toolcrib_server::client::{
    Address, Ask, CallBody, Client, ClientError, ClientOptions, StreamItem,
};

/// What the server does with one request.
#[derive(Clone)]
enum Act {
    /// Answers and stays.
    Say(String),
    /// Answers and closes the connection.
    SayAndClose(String),
}

/// The requests, each with the number of its connection.
type Seen = Arc<Mutex<Vec<(usize, String)>>>;

fn json_answer(status: &str, body: &serde_json::Value) -> String {
    let body = body.to_string();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn stream_head() -> String {
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        .to_owned()
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

fn event(seq: u64, kind: &str, fields: &str) -> String {
    chunk(&format!(
        "id: {seq}\nevent: {kind}\ndata: {{\"seq\":{seq},\"callId\":\"c-1\",\"time\":\"2026-11-16T10:00:00Z\",\"event\":\"{kind}\"{fields}}}\n\n"
    ))
}

fn outcome() -> serde_json::Value {
    json!({"ok": true, "value": "done", "metadata": {"callId": "c-1", "tool": "t", "parameters": {},
        "startTime": "2026-11-16T10:00:00Z", "endTime": "2026-11-16T10:00:01Z", "queueTimeMs": 0.0,
        "executionTimeMs": 1.0, "durationMs": 1.0}})
}

async fn talk<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    number: usize,
    acts: &Mutex<Vec<Act>>,
    seen: &Seen,
) {
    let mut received = Vec::new();
    loop {
        let head_end = loop {
            if let Some(end) = received.windows(4).position(|part| part == b"\r\n\r\n") {
                break end + 4;
            }
            if stream.read_buf(&mut received).await.unwrap_or(0) == 0 {
                return;
            }
        };
        let head = String::from_utf8(received[..head_end].to_vec()).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        while received.len() < head_end + length {
            stream.read_buf(&mut received).await.unwrap();
        }
        let whole = String::from_utf8(received.drain(..head_end + length).collect()).unwrap();
        seen.lock().unwrap().push((number, whole));
        let act = acts.lock().unwrap().remove(0);
        let (text, stays) = match act {
            Act::Say(text) => (text, true),
            Act::SayAndClose(text) => (text, false),
        };
        stream.write_all(text.as_bytes()).await.unwrap();
        if !stays {
            let _ = stream.shutdown().await;
            return;
        }
    }
}

async fn scripted(acts: Vec<Act>) -> (Address, Seen, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let seen = Seen::default();
    let told = Arc::clone(&seen);
    let acts = Arc::new(Mutex::new(acts));
    let server = tokio::spawn(async move {
        for number in 1.. {
            let (stream, _) = listener.accept().await.unwrap();
            let (acts, told) = (Arc::clone(&acts), Arc::clone(&told));
            tokio::spawn(async move { talk(stream, number, &acts, &told).await });
        }
    });
    (address.parse().unwrap(), seen, server)
}

fn client(address: Address) -> Client {
    Client::new(ClientOptions::new(address).token("secret-token-of-the-test")).unwrap()
}

#[tokio::test]
async fn requests_share_a_connection_and_carry_the_token() {
    let answer = Act::Say(json_answer("200 OK", &json!({"status": "ok"})));
    let (address, seen, _server) = scripted(vec![answer.clone(), answer]).await;
    let client = client(address);
    assert_eq!(client.get("/api/health").await.unwrap()["status"], "ok");
    client.post("/api/check", &json!({"a": 1})).await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!((seen[0].0, seen[1].0), (1, 1), "{seen:?}");
    assert!(
        seen[0].1.starts_with("GET /api/health HTTP/1.1\r\n"),
        "{seen:?}"
    );
    assert!(
        seen[0]
            .1
            .contains("authorization: Bearer secret-token-of-the-test\r\n"),
        "{seen:?}"
    );
    assert!(
        seen[1].1.contains("content-type: application/json\r\n"),
        "{seen:?}"
    );
    assert!(seen[1].1.ends_with("{\"a\":1}"), "{seen:?}");
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_made_again() {
    let answer = json_answer("200 OK", &json!(1));
    let acts = vec![Act::SayAndClose(answer.clone()), Act::Say(answer)];
    let (address, seen, _server) = scripted(acts).await;
    let client = client(address);
    client.get("/a").await.unwrap();
    client.get("/b").await.unwrap();
    assert_eq!(seen.lock().unwrap()[1].0, 2);
}

#[tokio::test]
async fn refusals_are_errors_with_their_code() {
    let body = json!({"ok": false, "error": {"code": "UNAUTHENTICATED", "message": "no token"}});
    let acts = vec![
        Act::Say(json_answer("401 Unauthorized", &body)),
        Act::Say("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 4\r\n\r\noops".to_owned()),
    ];
    let (address, _, _server) = scripted(acts).await;
    let client = client(address);
    let error = client.get("/api/stats").await.unwrap_err();
    assert_eq!(error.status(), Some(401));
    assert_eq!(ToolError::from(error).code(), ErrorCode::Unauthenticated);
    let error = client.get("/api/stats").await.unwrap_err();
    assert!(matches!(error, ClientError::Strange { .. }), "{error:?}");
}

#[tokio::test]
async fn a_missing_server_is_distinguished_from_a_lost_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address: Address = format!("http://{}", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    drop(listener);
    let error = client(address).get("/").await.unwrap_err();
    assert!(error.is_unsent(), "{error:?}");
    let (address, _, _server) = scripted(vec![Act::SayAndClose(
        "HTTP/1.1 200 OK\r\ncontent-le".to_owned(),
    )])
    .await;
    let error = client(address)
        .post("/api/calls", &json!({}))
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Lost { .. }), "{error:?}");
}

#[tokio::test]
async fn an_answer_over_the_limit_is_not_read() {
    let (address, _, _server) = scripted(vec![Act::Say(json_answer(
        "200 OK",
        &json!("x".repeat(1000)),
    ))])
    .await;
    let error = client(address)
        .json(Ask::get("/").max_answer(100))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("limit"), "{error}");
}

#[test]
fn a_token_does_not_go_to_another_machine_in_plain_text() {
    let address: Address = "http://tools.example:7410".parse().unwrap();
    let error = Client::new(ClientOptions::new(address.clone()).token("t")).unwrap_err();
    assert!(error.to_string().contains("use https://"), "{error}");
    assert!(Client::new(ClientOptions::new(address)).is_ok());
}

#[tokio::test]
async fn a_socket_in_the_file_system_is_a_server_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let seen = Seen::default();
    let told = Arc::clone(&seen);
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let acts = Mutex::new(vec![Act::Say(json_answer("200 OK", &json!(7)))]);
        talk(stream, 1, &acts, &told).await;
    });
    let client = client(Address::Unix(path));
    assert_eq!(client.get("/x").await.unwrap(), 7);
    assert!(seen.lock().unwrap()[0].1.contains("host: localhost\r\n"));
}

/// A server that speaks TLS and says `"tls"`, with a certificate for `localhost`: its port, and the certificate.
async fn encrypted(is_authority: bool) -> (u16, String) {
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    if is_authority {
        // As `openssl req -x509` makes it.
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    }
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let (pem, der) = (certificate.pem(), certificate.der().clone());
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![der], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        for number in 1.. {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(stream) = acceptor.accept(stream).await else {
                continue;
            };
            // A client may keep its connection.
            tokio::spawn(async move {
                let acts = Mutex::new(vec![Act::Say(json_answer("200 OK", &json!("tls")))]);
                talk(stream, number, &acts, &Seen::default()).await;
            });
        }
    });
    (port, pem)
}

#[tokio::test]
async fn an_encrypted_server_is_trusted_by_its_certificate_alone() {
    for is_authority in [false, true] {
        let (port, pem) = encrypted(is_authority).await;
        let (_, other) = encrypted(is_authority).await;
        let address: Address = format!("https://localhost:{port}").parse().unwrap();
        let error = client(address.clone()).get("/").await.unwrap_err();
        assert!(error.to_string().contains("--server-ca"), "{error}");
        let trusting = |address: &Address, pem: &str| {
            let options = ClientOptions::new(address.clone()).token("t");
            Client::new(options.certificate(pem)).unwrap()
        };
        assert_eq!(trusting(&address, &pem).get("/").await.unwrap(), "tls");
        let error = trusting(&address, &other).get("/").await.unwrap_err();
        assert!(error.to_string().contains("--server-ca"), "{error}");
        assert!(error.is_unsent(), "{error}");
        // By another name it is another server, unless its home says that this is its certificate.
        let elsewhere: Address = format!("https://127.0.0.1:{port}").parse().unwrap();
        let error = trusting(&elsewhere, &pem).get("/").await.unwrap_err();
        let told = error.to_string();
        assert!(
            told.contains("its certificate is not for `127.0.0.1`"),
            "{told}"
        );
        let mut options = ClientOptions::new(elsewhere.clone()).token("t");
        options.own_certificate = Some(pem.into_bytes());
        let known = Client::new(options).unwrap();
        assert_eq!(known.get("/").await.unwrap(), "tls");
        let mut options = ClientOptions::new(elsewhere).token("t");
        options.own_certificate = Some(other.into_bytes());
        let error = Client::new(options).unwrap().get("/").await.unwrap_err();
        assert!(error.to_string().contains("--server-ca"), "{error}");
    }
}

#[tokio::test]
async fn http_and_https_mixed_up_are_reported() {
    let (port, _) = encrypted(false).await;
    let plain: Address = format!("http://127.0.0.1:{port}").parse().unwrap();
    let error = client(plain).get("/").await.unwrap_err();
    assert!(error.to_string().contains("is it https://"), "{error}");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 8];
        stream.read_exact(&mut head).await.unwrap();
        let answer = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        std::future::pending::<()>().await;
    });
    let tls: Address = format!("https://127.0.0.1:{port}").parse().unwrap();
    let error = client(tls).get("/").await.unwrap_err();
    assert!(error.to_string().contains("is it http://"), "{error}");
}

async fn all(client: &Client, body: CallBody) -> Result<Vec<StreamItem>, ClientError> {
    let mut stream = client.call(&body).await?;
    let mut all = Vec::new();
    while let Some(followed) = stream.next().await? {
        all.push(followed);
    }
    Ok(all)
}

fn seqs(all: &[StreamItem]) -> Vec<u64> {
    all.iter()
        .filter_map(|followed| match followed {
            StreamItem::Event(event) => Some(event.seq),
            StreamItem::Outcome(_) => None,
        })
        .collect()
}

#[tokio::test]
async fn a_call_is_followed_to_its_outcome() {
    let text = stream_head()
        + &chunk(": \n\n")
        + &event(1, "started", ",\"tool\":\"t\"")
        + &event(2, "output", ",\"stream\":\"stdout\",\"chunk\":\"hi\"")
        + &event(3, "surprise", ",\"of\":\"tomorrow\"")
        + &event(4, "finished", ",\"ok\":true")
        + &chunk(&format!("event: outcome\ndata: {}\n\n", outcome()))
        + "0\r\n\r\n";
    let (address, seen, _server) = scripted(vec![Act::Say(text)]).await;
    let body = CallBody {
        tool: "t".to_owned(),
        approvals: Some("given"),
        ..CallBody::default()
    };
    let all = all(&client(address), body).await.unwrap();
    assert_eq!(seqs(&all), [1, 2, 4]);
    let StreamItem::Outcome(last) = all.last().unwrap() else {
        panic!("{all:?}")
    };
    assert_eq!(last.value().unwrap(), "done");
    let seen = seen.lock().unwrap();
    assert!(seen[0].1.contains("toolcrib-caller: cli\r\n"), "{seen:?}");
    assert!(
        seen[0].1.contains("accept: text/event-stream\r\n"),
        "{seen:?}"
    );
    assert!(
        seen[0]
            .1
            .ends_with("{\"tool\":\"t\",\"args\":{},\"approvals\":\"given\"}"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_lost_stream_goes_on_behind_the_last_event() {
    let first = stream_head()
        + &event(1, "started", ",\"tool\":\"t\"")
        + &event(2, "output", ",\"stream\":\"stdout\",\"chunk\":\"a\"");
    let second = stream_head()
        + &event(2, "output", ",\"stream\":\"stdout\",\"chunk\":\"a\"")
        + &event(3, "output", ",\"stream\":\"stdout\",\"chunk\":\"b\"")
        + &event(4, "finished", ",\"ok\":true")
        + "0\r\n\r\n";
    let acts = vec![
        Act::SayAndClose(first),
        Act::Say(second),
        Act::Say(json_answer("200 OK", &outcome())),
    ];
    let (address, seen, _server) = scripted(acts).await;
    let body = CallBody {
        tool: "t".to_owned(),
        ..CallBody::default()
    };
    let all = all(&client(address), body).await.unwrap();
    assert_eq!(seqs(&all), [1, 2, 3, 4], "each event once");
    assert!(
        matches!(all.last(), Some(StreamItem::Outcome(_))),
        "{all:?}"
    );
    let seen = seen.lock().unwrap();
    assert!(
        seen[1]
            .1
            .starts_with("GET /api/calls/c-1/events HTTP/1.1\r\n"),
        "{seen:?}"
    );
    assert!(seen[1].1.contains("last-event-id: 2\r\n"), "{seen:?}");
    assert!(
        seen[2].1.starts_with("GET /api/calls/c-1 HTTP/1.1\r\n"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_call_that_ends_with_its_connection_is_not_looked_for_again() {
    let first = stream_head() + &event(1, "started", ",\"tool\":\"t\"");
    let (address, seen, _server) = scripted(vec![Act::SayAndClose(first)]).await;
    let body = CallBody {
        tool: "t".to_owned(),
        cancel_on_disconnect: true,
        ..CallBody::default()
    };
    let error = all(&client(address), body).await.unwrap_err();
    assert!(matches!(error, ClientError::Lost { .. }), "{error:?}");
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_call_that_is_refused_at_once_has_an_outcome_or_an_error() {
    let mut refused = outcome();
    refused["ok"] = false.into();
    refused["error"] = json!({"code": "TOOL_NOT_FOUND", "message": "tool not found"});
    let acts = vec![
        Act::Say(json_answer("404 Not Found", &refused)),
        Act::Say(json_answer(
            "429 Too Many Requests",
            &json!({"ok": false, "error": {"code": "RATE_LIMITED", "message": "later"}}),
        )),
    ];
    let (address, _, _server) = scripted(acts).await;
    let client = client(address);
    let got = all(&client, CallBody::default()).await.unwrap();
    assert!(
        matches!(got.as_slice(), [StreamItem::Outcome(outcome)] if !outcome.is_ok()),
        "{got:?}"
    );
    let error = all(&client, CallBody::default()).await.unwrap_err();
    assert_eq!(error.status(), Some(429));
}

#[tokio::test]
async fn a_call_of_someone_else_can_be_followed() {
    let text = stream_head()
        + &event(8, "progress", ",\"progress\":1.0")
        + &event(9, "finished", ",\"ok\":true")
        + "0\r\n\r\n";
    let acts = vec![Act::Say(text), Act::Say(json_answer("200 OK", &outcome()))];
    let (address, seen, _server) = scripted(acts).await;
    let mut stream = client(address).follow(CallId::parse("c-1").unwrap(), 7);
    let Some(StreamItem::Event(first)) = stream.next().await.unwrap() else {
        panic!()
    };
    assert!(matches!(first.kind, EventKind::Progress { .. }));
    assert!(seen.lock().unwrap()[0].1.contains("last-event-id: 7\r\n"));
}

#[tokio::test]
async fn a_server_that_stops_is_reported_as_such() {
    let stop = chunk("event: shutdown\ndata: {\"event\":\"shutdown\"}\n\n");
    let text = format!("{}{stop}0\r\n\r\n", stream_head());
    let (address, _, _server) = scripted(vec![Act::SayAndClose(text)]).await;
    let mut stream = client(address).follow(CallId::parse("c-1").unwrap(), 0);
    let error = stream.next().await.unwrap_err();
    assert!(matches!(error, ClientError::Lost { .. }), "{error}");
    let message = error.to_string();
    for part in ["the server stops", "toolcrib calls show c-1"] {
        assert!(message.contains(part), "{message}");
    }
}
