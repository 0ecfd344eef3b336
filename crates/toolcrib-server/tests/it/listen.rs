//! The server on real sockets, in this process: caps, deadlines, TLS, sockets in the file system.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinHandle;
use toolcrib::call::event::OutputStream;
use toolcrib::{Effects, FnTool};
use toolcrib_server::listen::{Limits, ListenError, ListenOptions, Server, Stopping, Tls};

use crate::harness::Scene;

const SHORT: Duration = Duration::from_millis(300);
const HEALTH: &str = "GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A server that listens.
pub(crate) struct Listening {
    pub(crate) address: Option<SocketAddr>,
    stopping: Stopping,
    served: JoinHandle<()>,
    pub(crate) scene: Scene,
}

pub(crate) fn options() -> ListenOptions {
    ListenOptions {
        addr: Some(([127, 0, 0, 1], 0).into()),
        ..ListenOptions::default()
    }
}

fn limits(change: impl FnOnce(&mut Limits)) -> ListenOptions {
    let mut options = options();
    change(&mut options.limits);
    options
}

impl Listening {
    pub(crate) fn start(options: ListenOptions) -> Self {
        let scene = Scene::new();
        let server = Server::bind(options).unwrap();
        let address = server.address();
        let stopping = Stopping {
            grace: SHORT,
            ..Stopping::default()
        };
        let served = tokio::spawn(server.serve(scene.api.clone(), stopping.clone()));
        Listening {
            address,
            stopping,
            served,
            scene,
        }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address.unwrap()).await.unwrap()
    }
}

/// Sends a request and reads its answer, whose body is as long as its head says.
pub(crate) async fn ask<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    request: &str,
) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = stream.read(&mut buffer).await.unwrap_or_default();
        answer.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let whole = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            let length = head.lines().find_map(|line| {
                let line = line.to_ascii_lowercase();
                line.strip_prefix("content-length: ")?.parse::<usize>().ok()
            });
            length.is_some_and(|length| body.len() >= length)
        });
        if whole || read == 0 {
            return text;
        }
    }
}

/// Waits for the other end to close; says after how long. It may reset the connection: there is nothing to read any more.
async fn closed(stream: &mut TcpStream) -> Duration {
    let began = Instant::now();
    let mut rest = Vec::new();
    let reading = stream.read_to_end(&mut rest);
    let _ = tokio::time::timeout(Duration::from_secs(10), reading)
        .await
        .expect("the server closes the connection");
    began.elapsed()
}

#[tokio::test]
async fn requests_follow_each_other_on_one_connection() {
    let server = Listening::start(options());
    let mut stream = server.connect().await;
    for _ in 0..3 {
        let answer = ask(&mut stream, HEALTH).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    }
}

#[tokio::test]
async fn a_connection_that_sends_nothing_is_closed_at_the_deadline_of_heads() {
    let server = Listening::start(limits(|limits| limits.head = SHORT));
    let mut stream = server.connect().await;
    let after = closed(&mut stream).await;
    assert!(after >= SHORT, "{after:?}");
}

#[tokio::test]
async fn a_head_that_dribbles_is_closed_however_often_a_byte_comes() {
    let server = Listening::start(limits(|limits| limits.head = SHORT));
    let stream = server.connect().await;
    let (mut reading, mut writing) = stream.into_split();
    let dribble = tokio::spawn(async move {
        let bytes = b"GET / HTTP/1.1\r\nX-A: "
            .iter()
            .chain(std::iter::repeat(&b'a'));
        for byte in bytes {
            if writing.write_all(&[*byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let began = Instant::now();
    let mut rest = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(5), reading.read_to_end(&mut rest)).await;
    assert!(read.is_ok(), "it is still open");
    assert!(began.elapsed() >= SHORT, "{:?}", began.elapsed());
    dribble.abort();
}

#[tokio::test]
async fn the_second_head_has_a_deadline_too_and_an_idle_connection_another() {
    let server = Listening::start(limits(|limits| {
        limits.head = SHORT;
        limits.idle = Duration::from_secs(60);
    }));
    let mut idle = server.connect().await;
    ask(&mut idle, HEALTH).await;
    let mut slow = server.connect().await;
    ask(&mut slow, HEALTH).await;
    slow.write_all(b"GET / HT").await.unwrap();
    let after = closed(&mut slow).await;
    assert!(after >= SHORT, "{after:?}");
    // The other one has been idle for as long, and may be.
    let answer = ask(&mut idle, HEALTH).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

#[tokio::test]
async fn an_idle_connection_is_closed_at_its_deadline() {
    let server = Listening::start(limits(|limits| limits.idle = SHORT));
    let mut stream = server.connect().await;
    ask(&mut stream, HEALTH).await;
    let after = closed(&mut stream).await;
    assert!(after >= SHORT - Duration::from_millis(50), "{after:?}");
}

#[tokio::test]
async fn a_head_that_is_too_large_or_has_too_many_headers_is_a_431() {
    let server = Listening::start(options());
    let large = format!(
        "GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-A: {}\r\n\r\n",
        "a".repeat(20_000)
    );
    let many = format!(
        "GET /api/health HTTP/1.1\r\nHost: localhost\r\n{}\r\n",
        "X-A: a\r\n".repeat(150)
    );
    for request in [large, many] {
        let answer = ask(&mut server.connect().await, &request).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
}

#[tokio::test]
async fn the_connection_that_was_idle_longest_makes_room_for_a_new_one() {
    let server = Listening::start(limits(|limits| limits.max_connections = 2));
    let mut first = server.connect().await;
    ask(&mut first, HEALTH).await;
    let mut second = server.connect().await;
    ask(&mut second, HEALTH).await;
    let mut third = server.connect().await;
    let answer = ask(&mut third, HEALTH).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    closed(&mut first).await;
    let answer = ask(&mut second, HEALTH).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_new_connection_is_informed_when_all_others_are_busy() {
    let server = Listening::start(limits(|limits| limits.max_connections = 1));
    let mut busy = server.connect().await;
    // Its head is whole, its body is not: it is being answered.
    let request = format!(
        "POST /api/clients HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
        crate::harness::OPERATOR
    );
    busy.write_all(request.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    busy.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    let answer = ask(&mut server.connect().await, HEALTH).await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("UNAVAILABLE"), "{answer}");
    // It is still answered itself.
    let answer = ask(&mut busy, "not json :").await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}

/// Asks for the health on new connections until one is served.
async fn is_let_in(server: &Listening) {
    let until = Instant::now() + Duration::from_secs(10);
    let mut refused = 0;
    while !ask(&mut server.connect().await, HEALTH)
        .await
        .starts_with("HTTP/1.1 200")
    {
        refused += 1;
        assert!(Instant::now() < until, "no one makes room");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(refused > 0, "there was room from the start");
}

/// A connection of someone whose kernel takes as little as can be.
async fn connect_narrow(server: &Listening) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(2048).unwrap();
    socket.connect(server.address.unwrap()).await.unwrap()
}

#[tokio::test]
async fn those_who_do_not_take_their_answers_make_room() {
    let server = Listening::start(limits(|limits| limits.max_connections = 4));
    let mut deaf = Vec::new();
    for _ in 0..4 {
        let mut stream = connect_narrow(&server).await;
        let requests = "GET /api/docs HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100);
        stream.write_all(requests.as_bytes()).await.unwrap();
        // It is being answered.
        stream.readable().await.unwrap();
        deaf.push(stream);
    }
    is_let_in(&server).await;
}

#[tokio::test]
async fn a_reader_that_takes_a_little_now_and_then_is_dropped() {
    let server = Listening::start(limits(|limits| limits.write = SHORT));
    let mut stream = connect_narrow(&server).await;
    let requests = "GET /api/docs HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(300);
    stream.write_all(requests.as_bytes()).await.unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    // Less than a byte for each millisecond.
    let mut some = [0; 16];
    // A reset is seen before all that came is read.
    while stream.take_error().unwrap().is_none()
        && stream.read(&mut some).await.is_ok_and(|read| read > 0)
    {
        assert!(Instant::now() < until, "it is kept");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn those_whose_bodies_do_not_come_make_room() {
    let server = Listening::start(limits(|limits| limits.max_connections = 2));
    let request = format!(
        "POST /api/clients HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
        crate::harness::OPERATOR
    );
    let mut slow = Vec::new();
    for _ in 0..2 {
        let mut stream = server.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.readable().await.unwrap();
        slow.push(stream);
    }
    is_let_in(&server).await;
}

#[tokio::test]
async fn requests_that_wait_leave_connections_to_others() {
    let server = Listening::start(limits(|limits| limits.max_connections = 4));
    let hold = FnTool::new("hold", "Runs until it is cancelled", |(), cx| async move {
        cx.cancelled().await;
        Ok(true)
    });
    let hold = hold.unwrap().effects(Effects::READ);
    server.scene.crib.registry().register(hold).unwrap();
    let begin = authorized(
        "POST",
        "/api/calls",
        "Prefer: respond-async\r\nContent-Type: application/json\r\n",
        r#"{"tool": "hold", "args": {}, "callId": "held"}"#,
    );
    let mut first = server.connect().await;
    let answer = ask(&mut first, &begin).await;
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    let wait = authorized("GET", "/api/calls/held?waitMs=60000", "", "");
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let mut stream = server.connect().await;
        stream.write_all(wait.as_bytes()).await.unwrap();
        waiting.push(stream);
    }
    let until = Instant::now() + Duration::from_secs(10);
    while server.scene.api.observer().in_flight() < 3 {
        assert!(Instant::now() < until, "they do not wait");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let answer = ask(&mut first, &wait).await;
    assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    assert!(answer.contains("RATE_LIMITED"), "{answer}");
    assert!(answer.contains("retry-after: 1"), "{answer}");
    // That connection has nothing to do now.
    let answer = ask(&mut server.connect().await, HEALTH).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.stopping.finish.cancel();
    server.stopping.cancel.cancel();
    server.served.await.unwrap();
}

/// A request with the operator's token.
fn authorized(method: &str, path: &str, more: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n{more}\
         Content-Length: {}\r\n\r\n{body}",
        crate::harness::OPERATOR,
        body.len()
    )
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_dropped_and_one_that_is_slow_is_not() {
    let server = Listening::start(limits(|limits| limits.write = SHORT));
    let flood = FnTool::new(
        "flood",
        "Prints for as long as it may",
        |(), cx| async move {
            let chunk = "x".repeat(16 * 1024);
            while !cx.is_cancelled() {
                cx.emit_output(OutputStream::Stdout, chunk.clone());
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok(true)
        },
    );
    let flood = flood.unwrap().effects(Effects::READ);
    server.scene.crib.registry().register(flood).unwrap();
    let begin = authorized(
        "POST",
        "/api/calls",
        "Prefer: respond-async\r\nContent-Type: application/json\r\n",
        r#"{"tool": "flood", "args": {}, "callId": "flood"}"#,
    );
    let answer = ask(&mut server.connect().await, &begin).await;
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    let follow = authorized("GET", "/api/calls/flood/events", "", "");
    let mut deaf = server.connect().await;
    deaf.write_all(follow.as_bytes()).await.unwrap();
    let mut slow = server.connect().await;
    slow.write_all(follow.as_bytes()).await.unwrap();
    let began = Instant::now();
    // A reset is seen without reading.
    while deaf.take_error().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(10), "it is kept");
        let mut buffer = [0; 4096];
        let read = slow.read(&mut buffer).await.unwrap();
        assert_ne!(read, 0);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(began.elapsed() >= SHORT, "{:?}", began.elapsed());
    server.stopping.finish.cancel();
    server.stopping.cancel.cancel();
    server.served.await.unwrap();
}

#[tokio::test]
async fn a_server_that_stops_closes_idle_connections_and_takes_no_new_ones() {
    let server = Listening::start(options());
    let mut idle = server.connect().await;
    ask(&mut idle, HEALTH).await;
    let mut fresh = server.connect().await;
    server.stopping.finish.cancel();
    closed(&mut idle).await;
    closed(&mut fresh).await;
    server.served.await.unwrap();
    assert!(TcpStream::connect(server.address.unwrap()).await.is_err());
    assert!(server.scene.api.stopping().is_cancelled());
}

#[tokio::test]
async fn only_loopback_is_listened_on_without_encryption_unless_it_is_allowed() {
    let everywhere = || ListenOptions {
        addr: Some(([0, 0, 0, 0], 0).into()),
        ..ListenOptions::default()
    };
    let error = Server::bind(everywhere()).unwrap_err();
    assert!(matches!(error, ListenError::Plaintext(_)));
    let message = error.to_string();
    for setting in ["server.certificate", "server.key", "server.plaintext"] {
        assert!(message.contains(setting), "{message}");
    }
    let allowed = ListenOptions {
        plaintext: true,
        ..everywhere()
    };
    assert!(Server::bind(allowed).is_ok());
    assert!(matches!(
        Server::bind(ListenOptions::default()),
        Err(ListenError::Nowhere)
    ));
}

fn socket(path: &Path) -> ListenOptions {
    ListenOptions {
        socket: Some(path.to_owned()),
        ..ListenOptions::default()
    }
}

#[tokio::test]
async fn a_socket_in_the_file_system_is_for_its_owner_and_goes_with_its_server() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("crib.sock");
    let server = Listening::start(socket(&path));
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut stream = UnixStream::connect(&path).await.unwrap();
    // Whatever host it names: no browser comes this way.
    let request = "GET /api/health HTTP/1.1\r\nHost: anything.example\r\n\r\n";
    let answer = ask(&mut stream, request).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.stopping.finish.cancel();
    server.served.await.unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn a_socket_that_a_dead_server_left_is_replaced_and_nothing_else_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("crib.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let live = Server::bind(socket(&path)).unwrap();
    let refused = |path: &Path| match Server::bind(socket(path)) {
        Err(ListenError::Socket { source, .. }) => source,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&path).kind(), io::ErrorKind::AddrInUse);
    assert!(path.exists());
    drop(live);
    let file = directory.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(directory.path().join("nothing"), &link).unwrap();
    for path in [&file, &link] {
        assert_eq!(refused(path).kind(), io::ErrorKind::AlreadyExists);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert!(!directory.path().join("nothing").exists());
}

#[tokio::test]
async fn a_server_removes_only_its_own_socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("crib.sock");
    let first = Server::bind(socket(&path)).unwrap();
    std::fs::remove_file(&path).unwrap();
    let second = Server::bind(socket(&path)).unwrap();
    drop(first);
    assert!(path.exists());
    drop(second);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_directory_that_another_process_keeps_locked_holds_no_one_up_for_long() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("crib.sock");
    let server = Server::bind(socket(&path)).unwrap();
    let lock = std::fs::File::open(directory.path()).unwrap();
    lock.lock().unwrap();
    let began = Instant::now();
    drop(server);
    let Err(ListenError::Socket { source, .. }) = Server::bind(socket(&path)) else {
        panic!("it was not locked");
    };
    assert_eq!(source.kind(), io::ErrorKind::WouldBlock);
    assert!(began.elapsed() < Duration::from_secs(5));
    drop(lock);
    assert!(Server::bind(socket(&path)).is_ok());
}

mod tls {
    use std::sync::Arc;

    use rustls::pki_types::{CertificateDer, ServerName};
    use rustls::{ClientConfig, RootCertStore};
    use tokio_rustls::TlsConnector;

    use super::*;

    /// Writes a new certificate for `localhost` and its key.
    fn certify(directory: &Path) -> CertificateDer<'static> {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(directory.join("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(directory.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        made.cert.der().clone()
    }

    fn open(directory: &Path) -> Result<Tls, ListenError> {
        Tls::open(&directory.join("cert.pem"), &directory.join("key.pem"))
    }

    fn connector(trusted: CertificateDer<'static>, protocol: &[u8]) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(trusted).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        TlsConnector::from(Arc::new(config))
    }

    async fn health(server: &Listening, connector: &TlsConnector) -> io::Result<String> {
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = connector.connect(name, server.connect().await).await?;
        Ok(ask(&mut stream, HEALTH).await)
    }

    #[tokio::test]
    async fn requests_come_encrypted_and_only_as_http_1() {
        let directory = tempfile::tempdir().unwrap();
        let certificate = certify(directory.path());
        let server = Listening::start(ListenOptions {
            tls: Some(open(directory.path()).unwrap()),
            ..limits(|limits| limits.head = SHORT)
        });
        let http1 = connector(certificate.clone(), b"http/1.1");
        let answer = health(&server, &http1).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let http2 = connector(certificate, b"h2");
        assert!(health(&server, &http2).await.is_err());
        // A client that does not finish the handshake has the time of a head.
        let mut silent = server.connect().await;
        silent.write_all(&[22, 3, 1]).await.unwrap();
        closed(&mut silent).await;
    }

    #[tokio::test]
    async fn a_renewed_certificate_is_used_without_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        certify(directory.path());
        let server = Listening::start(ListenOptions {
            tls: Some(open(directory.path()).unwrap()),
            ..options()
        });
        let renewed = connector(certify(directory.path()), b"http/1.1");
        let until = Instant::now() + Duration::from_secs(10);
        while health(&server, &renewed).await.is_err() {
            assert!(Instant::now() < until, "the old certificate is still used");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    #[test]
    fn a_key_that_everybody_may_read_is_reported() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        certify(directory.path());
        let key = directory.path().join("key.pem");
        for (mode, is_exposed) in [(0o644, true), (0o602, true), (0o600, false), (0o640, false)] {
            std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
            let tls = open(directory.path()).unwrap();
            let exposed = is_exposed.then_some(&*key);
            assert_eq!(tls.exposed_key(), exposed, "{mode:o}");
        }
    }

    #[tokio::test]
    async fn a_certificate_that_cannot_be_used_is_named() {
        let directory = tempfile::tempdir().unwrap();
        certify(directory.path());
        let key = directory.path().join("key.pem");
        std::fs::write(&key, "nothing").unwrap();
        let message = open(directory.path()).unwrap_err().to_string();
        assert!(message.starts_with("`server.key`"), "{message}");
        std::fs::write(directory.path().join("cert.pem"), "nothing").unwrap();
        let message = open(directory.path()).unwrap_err().to_string();
        assert!(message.starts_with("`server.certificate`"), "{message}");
        // That of another certificate.
        let other = tempfile::tempdir().unwrap();
        certify(other.path());
        certify(directory.path());
        std::fs::copy(other.path().join("key.pem"), &key).unwrap();
        let message = open(directory.path()).unwrap_err().to_string();
        assert!(message.contains("cannot be used"), "{message}");
    }
}
