//! Proxies: the configured one is used for everything, those of the environment for nothing.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use super::tls::Authority;
use super::*;
use toolcrib::testing::Reply;

const CHILD: &str = "TOOLCRIB_TEST_FETCH";

fn through(proxy: SocketAddr, allowed: &[&str], names: &NameTable) -> EgressOptions {
    EgressOptions {
        proxy: Some(EgressOptions::parse_proxy(&format!("http://{proxy}")).unwrap()),
        resolver: Some(Arc::new(names.clone())),
        ..options(allowed)
    }
}

#[test]
fn the_proxies_of_the_environment_are_ignored() {
    let trap = ScriptedServer::start(|_| Reply::ok("by proxy"));
    let server = ScriptedServer::start(|_| Reply::ok("direct"));
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "egress::proxy::a_fetch_in_a_process_of_its_own"]);
    child.env(CHILD, server.url("/"));
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        for name in [name.to_owned(), name.to_ascii_lowercase()] {
            child.env(name, trap.url("/"));
        }
    }
    child.env("NO_PROXY", "").env("no_proxy", "");
    let output = child.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert_eq!((trap.connections(), server.received().len()), (0, 1));
}

/// The other half of the test above; alone it does nothing.
#[tokio::test]
async fn a_fetch_in_a_process_of_its_own() {
    let Ok(url) = std::env::var(CHILD) else {
        return;
    };
    let (_, target) = Target::parse(&url).unwrap();
    let response = fetch(&egress(&[&target.to_string()]), &url).await.unwrap();
    assert_eq!(response.body, "direct");
}

#[tokio::test]
async fn plain_requests_go_to_the_configured_proxy_whole() {
    let proxy = ScriptedServer::start(|_| Reply::ok("by proxy"));
    let names = NameTable::new();
    let egress = Egress::new(through(proxy.address(), &["api.example.test"], &names)).unwrap();
    for _ in 0..2 {
        assert_eq!(
            fetch(&egress, "http://api.example.test/x?y")
                .await
                .unwrap()
                .body,
            "by proxy"
        );
    }
    let received = &proxy.received()[0];
    assert_eq!(received.target, "http://api.example.test/x?y");
    assert_eq!(received.header("host"), Some("api.example.test"));
    assert_eq!(proxy.connections(), 1);
    assert_eq!(
        names.asked(),
        Vec::<String>::new(),
        "the proxy resolves the names"
    );
}

#[tokio::test]
async fn a_proxy_gets_nothing_that_is_refused_without_it() {
    let proxy = ScriptedServer::start(|_| Reply::ok("by proxy"));
    let egress = Egress::new(through(
        proxy.address(),
        &["api.example.test"],
        &NameTable::new(),
    ))
    .unwrap();
    for url in [
        "http://evil.test/",
        "http://169.254.169.254/",
        "http://10.0.0.1/",
        "http://localhost:9/",
        "http://metadata.google.internal/",
        &proxy.url("/"),
    ] {
        assert!(is_refused(&fetch(&egress, url).await), "{url}");
    }
    assert_eq!(proxy.connections(), 0);
}

#[tokio::test]
async fn this_machine_is_reached_past_the_proxy() {
    let proxy = ScriptedServer::start(|_| Reply::ok("by proxy"));
    let server = ScriptedServer::start(|_| Reply::ok("direct"));
    let egress = Egress::new(through(
        proxy.address(),
        &[&server.host()],
        &NameTable::new(),
    ))
    .unwrap();
    assert_eq!(
        fetch(&egress, &server.url("/")).await.unwrap().body,
        "direct"
    );
    assert_eq!(proxy.connections(), 0);
}

/// A proxy for one tunnel: says what it was asked for, and connects to `to`.
fn tunnel(to: SocketAddr) -> (SocketAddr, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (asked, was_asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        asked.send(String::from_utf8(head).unwrap()).unwrap();
        client
            .write_all(b"HTTP/1.1 200 connected\r\nX: y\r\n\r\n")
            .unwrap();
        let server = TcpStream::connect(to).unwrap();
        let pairs = [
            (client.try_clone().unwrap(), server.try_clone().unwrap()),
            (server, client),
        ];
        for (mut from, mut to) in pairs {
            std::thread::spawn(move || drop(std::io::copy(&mut from, &mut to)));
        }
    });
    (address, was_asked)
}

#[tokio::test]
async fn encrypted_requests_go_through_a_tunnel_and_the_certificate_is_the_servers() {
    let authority = Authority::new();
    let server = authority.server(&["api.example.test"], || Reply::ok("encrypted"));
    let (proxy, was_asked) = tunnel(server.address());
    let mut options = through(proxy, &["api.example.test"], &NameTable::new());
    options.certificates = authority.pem();
    let egress = Egress::new(options).unwrap();
    let mut request = get("https://api.example.test/");
    request
        .headers
        .insert("authorization", "Bearer SENTINEL".parse().unwrap());
    assert_eq!(egress.send(request).await.unwrap().body, "encrypted");
    assert_eq!(
        was_asked.recv().unwrap(),
        "CONNECT api.example.test:443 HTTP/1.1\r\nHost: api.example.test:443\r\n\r\n"
    );
}

#[tokio::test]
async fn a_proxy_that_does_not_tunnel_is_reported() {
    for (raw, expected) in [
        (
            "HTTP/1.1 407 x\r\n\r\n",
            "did not connect to `api.example.test:443`: it answered with status 407",
        ),
        (
            "hello\r\n\r\n",
            "the configured proxy did not answer in HTTP",
        ),
        ("", "the configured proxy broke off"),
    ] {
        let proxy = ScriptedServer::script([Reply::raw(raw)]);
        let egress = Egress::new(through(
            proxy.address(),
            &["api.example.test"],
            &NameTable::new(),
        ))
        .unwrap();
        let result = error(fetch(&egress, "https://api.example.test/").await);
        assert!(
            result.starts_with("NETWORK_ERROR") && result.contains(expected),
            "{result}"
        );
    }
}

#[test]
fn a_proxy_is_an_address_and_nothing_more() {
    for bad in [
        "https://proxy.test:3128",
        "socks5://proxy.test",
        "proxy.test:3128",
        "http://u:p@proxy.test",
        "http://proxy.test/x",
    ] {
        assert!(EgressOptions::parse_proxy(bad).is_err(), "{bad}");
    }
}
