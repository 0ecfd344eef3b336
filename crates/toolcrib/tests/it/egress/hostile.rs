//! Servers that mean harm or know no better: a clear error, in bounded time and memory.

use std::io::Write as _;
use std::time::Instant;

use super::*;
use http::header::{HeaderName, HeaderValue};
use toolcrib::testing::Reply;

/// 64 MB of zeros, as the reference encoder packs them.
const BROTLI_BOMB: &[u8] = include_bytes!("bomb.br");

/// Less than it takes a server that never ends; more than a busy machine needs for what ends in time.
const AGES: Duration = Duration::from_secs(15);

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    writer.write_all(content).unwrap();
    writer.finish().unwrap()
}

/// Blocks of one byte, repeated to 128 KB each.
fn zstd_bomb(blocks: u32) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    for at in 1..=blocks {
        let header = ((128 * 1024) << 3) | (1 << 1) | u32::from(at == blocks);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(b'x');
    }
    frame
}

#[tokio::test]
async fn a_bomb_is_stopped_at_the_limit_however_it_is_packed() {
    let gzipped = gzip(&vec![0; 8 << 20]);
    for (name, body) in [
        ("gzip", gzipped.clone()),
        ("br", BROTLI_BOMB.to_vec()),
        ("zstd", zstd_bomb(80_000)),
        ("gzip, gzip", gzip(&gzipped)),
        ("zstd, gzip", gzip(&zstd_bomb(80_000))),
    ] {
        assert!(body.len() < 1 << 20);
        let server = ScriptedServer::script([Reply::ok(body).header("Content-Encoding", name)]);
        let result = fetch(&to(&server), &server.url("/")).await;
        assert_eq!(
            error(result),
            "UPSTREAM_ERROR: the answer is over the limit of 5242880 bytes",
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_packed_body_is_unpacked_and_counted_as_it_came() {
    let packed = gzip(b"hello hello hello hello hello hello hello");
    let length = packed.len() as u64;
    let server = ScriptedServer::script([Reply::ok(packed).header("Content-Encoding", "gzip")]);
    let request = Request::get(server.url("/").parse().unwrap());
    let log = request.log.clone();
    let response = to(&server).send(request).await.unwrap();
    assert!(response.body.starts_with(b"hello hello"));
    assert_eq!(log.exchanges()[0].received, length);
    assert!(!response.headers.contains_key("content-encoding"));
    assert!(!response.headers.contains_key("content-length"));
    assert_eq!(
        server.received()[0].header("accept-encoding"),
        Some("gzip, deflate, br, zstd")
    );
}

#[tokio::test]
async fn a_body_that_is_too_long_is_an_error_announced_or_not() {
    let long = vec![b'x'; 3000];
    let server = ScriptedServer::script([
        Reply::ok(long.clone()),
        Reply::ok(long.clone()).endless(),
        Reply::ok(vec![b'x'; 1000]).header("Content-Length", "99999999999999"),
        Reply::raw(
            [
                b"HTTP/1.1 200 x\r\nConnection: close\r\n\r\n".to_vec(),
                long,
            ]
            .concat(),
        ),
        Reply::ok(vec![b'x'; 2000]),
    ]);
    let egress = to(&server);
    let request = || {
        let mut request = get(&server.url("/"));
        request.max_received = 2000;
        request
    };
    for _ in 0..4 {
        assert_eq!(
            error(egress.send(request()).await),
            "UPSTREAM_ERROR: the answer is over the limit of 2000 bytes"
        );
    }
    assert_eq!(egress.send(request()).await.unwrap().body.len(), 2000);
}

#[tokio::test]
async fn the_time_covers_every_byte_of_head_and_body() {
    let pause = Duration::from_millis(20);
    let server = ScriptedServer::start(move |request| match request.target.as_str() {
        "/never" => Reply::ok("late").after(Duration::from_secs(5)),
        "/body" => Reply::ok(vec![b'x'; 1000]).slowly(1, pause),
        "/endless" => Reply::ok("x").slowly(1, pause).endless(),
        "/head" => Reply::raw(format!("HTTP/1.1 200 x\r\nX: {}\r\n\r\n", "y".repeat(1000)))
            .slowly(1, pause),
        "/hop" => Reply::redirect(302, "/hop").after(Duration::from_millis(120)),
        _ => Reply::status(404),
    });
    let egress = to(&server);
    for path in ["/never", "/body", "/endless", "/head", "/hop"] {
        let mut request = get(&server.url(path));
        request.timeout = Duration::from_millis(300);
        let started = Instant::now();
        let result = error(egress.send(request).await);
        assert_eq!(
            result,
            format!(
                "TIMEOUT: the exchange with `{}` was not over in time",
                server.host()
            ),
            "{path}"
        );
        assert!(started.elapsed() < AGES, "{path}");
    }
}

#[tokio::test]
async fn the_time_covers_names_connections_and_encryption() {
    struct Never;
    impl Resolve for Never {
        fn resolve<'a>(
            &'a self,
            _name: &'a str,
        ) -> toolcrib::BoxFuture<'a, std::io::Result<Vec<std::net::IpAddr>>> {
            Box::pin(std::future::pending())
        }
    }
    impl Dial for Never {
        fn dial(
            &self,
            _to: std::net::SocketAddr,
        ) -> toolcrib::BoxFuture<'_, std::io::Result<Box<dyn toolcrib::egress::Dialled>>> {
            Box::pin(std::future::pending())
        }
    }
    let mut no_names = options(&["a.test"]);
    no_names.resolver = Some(Arc::new(Never));
    let mut no_connections = options(&["a.test"]);
    no_connections.resolver = Some(Arc::new(
        NameTable::new().name("a.test", &["93.184.216.34", "93.184.216.35"]),
    ));
    no_connections.dialler = Some(Arc::new(Never));
    let silent = ScriptedServer::start(|_| Reply::ok("x"));
    let mut no_encryption = options(&[&silent.host()]);
    no_encryption.dialler = Some(Arc::new(RecordingDialler::to(silent.address())));
    let encrypted = silent.url("/").replace("http:", "https:");
    for (options, url) in [
        (no_names, "http://a.test/"),
        (no_connections, "http://a.test/"),
        (no_encryption, encrypted.as_str()),
    ] {
        let mut request = get(url);
        request.timeout = Duration::from_millis(200);
        let started = Instant::now();
        let result = Egress::new(options).unwrap().send(request).await;
        assert!(error(result).starts_with("TIMEOUT"), "{url}");
        assert!(started.elapsed() < AGES, "{url}");
    }
}

#[tokio::test]
async fn an_address_that_does_not_answer_leaves_time_for_the_next() {
    let server = ScriptedServer::start(|_| Reply::ok("second"));
    struct FirstNever(RecordingDialler);
    impl Dial for FirstNever {
        fn dial(
            &self,
            to: std::net::SocketAddr,
        ) -> toolcrib::BoxFuture<'_, std::io::Result<Box<dyn toolcrib::egress::Dialled>>> {
            match to.ip().to_string().ends_with(".1") {
                true => Box::pin(std::future::pending()),
                false => self.0.dial(to),
            }
        }
    }
    let mut options = options(&["a.test"]);
    options.resolver = Some(Arc::new(
        NameTable::new().name("a.test", &["93.184.216.1", "93.184.216.2"]),
    ));
    options.dialler = Some(Arc::new(FirstNever(RecordingDialler::to(server.address()))));
    let mut request = get("http://a.test/");
    request.timeout = Duration::from_millis(600);
    assert_eq!(
        Egress::new(options)
            .unwrap()
            .send(request)
            .await
            .unwrap()
            .body,
        "second"
    );
}

#[tokio::test]
async fn headers_over_the_limit_and_answers_that_are_none_are_reported() {
    let too_much = "answered with headers over the limit of 64 KB or 100 headers";
    let many: String = (0..150).map(|at| format!("X-{at}: y\r\n")).collect();
    for (raw, expected) in [
        (
            format!("HTTP/1.1 200 x\r\nX: {}\r\n\r\n", "y".repeat(1 << 20)),
            too_much,
        ),
        (format!("HTTP/1.1 200 x\r\n{many}\r\n"), too_much),
        (
            format!("HTTP/1.1 200 {}\r\n\r\n", "y".repeat(1 << 20)),
            too_much,
        ),
        (
            "hello, I am no server\r\n\r\n".to_owned(),
            "did not answer in HTTP/1.1",
        ),
        ("<html>0.9</html>".to_owned(), "did not answer in HTTP/1.1"),
        (
            "SSH-2.0-OpenSSH_9.2\r\n".to_owned(),
            "did not answer in HTTP/1.1",
        ),
        (
            "HTTP/1.1 xyz\r\n\r\n".to_owned(),
            "did not answer in HTTP/1.1",
        ),
        (
            "HTTP/1.1 200 x\r\nContent-Length: -1\r\n\r\n".to_owned(),
            "did not answer in HTTP/1.1",
        ),
        (
            "HTTP/1.1 200 x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!".to_owned(),
            "did not answer in HTTP/1.1",
        ),
        (
            "HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned(),
            "broke",
        ),
        (
            "HTTP/1.1 200 x\r\nContent-Length: 100\r\n\r\nshort".to_owned(),
            "closed the connection before its answer was whole",
        ),
        (
            "HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe".to_owned(),
            "closed the connection before its answer was whole",
        ),
        (
            "HTTP/1.1 200 x\r\n".to_owned(),
            "closed the connection before its answer was whole",
        ),
        (
            String::new(),
            "closed the connection before its answer was whole",
        ),
        (
            "HTTP/1.1 101 x\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n".to_owned(),
            "changed the protocol",
        ),
        (
            "HTTP/1.1 200 x\r\nContent-Encoding: rot13\r\nContent-Length: 1\r\n\r\nx".to_owned(),
            "packed in a way",
        ),
        (
            "HTTP/1.1 200 x\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx".to_owned(),
            "cannot be unpacked",
        ),
        (
            "HTTP/1.1 302 x\r\nLocation: /\u{ff}\r\nContent-Length: 0\r\n\r\n".to_owned(),
            "not a URL",
        ),
    ] {
        let server = ScriptedServer::script([Reply::raw(raw.clone())]);
        let result = error(fetch(&to(&server), &server.url("/")).await);
        assert!(
            result.contains(expected),
            "{:?}: {result}",
            &raw[..raw.len().min(60)]
        );
        assert_eq!(
            server.received().len(),
            1,
            "nothing is tried again by itself"
        );
    }
}

#[tokio::test]
async fn callers_cannot_say_what_frames_a_message() {
    let server = ScriptedServer::start(|_| Reply::ok("x"));
    let egress = to(&server);
    for name in [
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Upgrade",
        "Expect",
        "TE",
        "Trailer",
        "Proxy-Authorization",
        "Proxy-Connection",
        "Keep-Alive",
    ] {
        let mut request = get(&server.url("/"));
        let name: HeaderName = name.parse().unwrap();
        request
            .headers
            .insert(name.clone(), HeaderValue::from_static("1"));
        let result = error(egress.send(request).await);
        assert_eq!(
            result,
            format!(
                "INVALID_ARGUMENTS: the header `{name}` cannot be set: it follows from the request itself"
            )
        );
    }
    for method in ["CONNECT", "TRACE"] {
        let mut request = get(&server.url("/"));
        request.method = method.parse().unwrap();
        assert!(error(egress.send(request).await).starts_with("INVALID_ARGUMENTS"));
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn answers_without_a_body_are_whole() {
    let server = ScriptedServer::script([
        Reply::status(204),
        Reply::status(304).header("Content-Encoding", "gzip"),
        Reply::ok("never sent").header("Content-Encoding", "gzip"),
        Reply::ok(""),
    ]);
    let egress = to(&server);
    for (method, status) in [("GET", 204), ("GET", 304), ("HEAD", 200), ("POST", 200)] {
        let mut request = get(&server.url("/"));
        request.method = method.parse().unwrap();
        let response = egress.send(request).await.unwrap();
        assert_eq!((response.status.as_u16(), response.body.len()), (status, 0));
    }
    assert_eq!(server.received()[3].header("content-length"), Some("0"));
    assert_eq!(server.connections(), 1);
}
