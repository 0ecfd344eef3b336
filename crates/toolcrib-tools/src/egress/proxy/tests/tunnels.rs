//! CONNECT: bytes both ways, to whom the tunnel was opened for.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::super::hello::tests::real;
use super::{Client, PUBLIC, Scene, status};

/// Sends everything back.
async fn echo() -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let again = std::net::TcpListener::from(super::rustix_clone(&listener));
    let accepting = TcpListener::from_std(again).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = accepting.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = stream.into_split();
                let _ = tokio::io::copy(&mut from, &mut to).await;
            });
        }
    });
    listener
}

fn connect(target: &str) -> String {
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")
}

/// Sends bytes, and reads as many.
async fn echoed(client: &mut Client, bytes: &[u8]) -> Vec<u8> {
    client.0.write_all(bytes).await.unwrap();
    let mut back = vec![0; bytes.len()];
    client.0.read_exact(&mut back).await.unwrap();
    back
}

#[tokio::test]
async fn a_tunnel_passes_bytes_both_ways_and_ends_side_by_side() {
    let scene = Scene::new(&["api.test"], echo().await).await;
    let mut client = scene.client().await;
    client.send(&connect("api.test:443")).await;
    assert_eq!(status(&client.until("\r\n\r\n").await), "200");
    let hello = real("api.test");
    assert_eq!(echoed(&mut client, &hello).await, hello);
    client.send("and the rest").await;
    client.0.shutdown().await.unwrap();
    assert_eq!(
        client.rest().await,
        "and the rest",
        "the other side is still open"
    );
    let long = hello.len() as u64 + 12;
    let [exchange] = &scene.log.exchanges()[..] else {
        panic!("one exchange");
    };
    assert_eq!(
        (
            exchange.method.as_str(),
            exchange.host.as_str(),
            exchange.sent,
            exchange.received
        ),
        ("CONNECT", "api.test:443", long, long)
    );
    assert_eq!(
        scene.dialler.dialled(),
        [format!("{PUBLIC}:443").parse().unwrap()]
    );
}

#[tokio::test]
async fn bytes_sent_along_with_connect_are_not_lost() {
    let scene = Scene::new(&["api.test"], echo().await).await;
    let mut client = scene.client().await;
    let hello = real("api.test");
    let early = [connect("api.test:443").as_bytes(), &hello].concat();
    client.0.write_all(&early).await.unwrap();
    client.until("\r\n\r\n").await;
    let mut back = vec![0; hello.len()];
    client.0.read_exact(&mut back).await.unwrap();
    assert_eq!(back, hello);
}

#[tokio::test]
async fn a_tunnel_to_someone_else_is_not_opened() {
    let scene = Scene::new(&["api.test"], echo().await).await;
    for target in [
        "other.test:443",
        "api.test:22",
        "api.test:8443",
        "127.0.0.1:443",
        "[::1]:443",
        "localhost:443",
        "0x7f000001:443",
        "[::ffff:169.254.169.254]:80",
    ] {
        let answer = scene.ask(&connect(target)).await;
        assert_eq!(status(&answer), "403", "{target}: {answer}");
    }
    assert_eq!(scene.dialled(), 0);
}

#[tokio::test]
async fn tls_for_another_name_than_the_tunnels_does_not_leave() {
    let scene = Scene::new(&["api.test"], echo().await).await;
    for (name, passes) in [
        ("api.test", true),
        ("other.test", false),
        ("127.0.0.1", false),
    ] {
        let mut client = scene.client().await;
        client.send(&connect("api.test:443")).await;
        client.until("\r\n\r\n").await;
        let sent = real(name);
        // In pieces, as a network may bring them.
        for piece in sent.chunks(100) {
            client.0.write_all(piece).await.unwrap();
        }
        let mut back = vec![0; sent.len()];
        let read = client.0.read_exact(&mut back).await;
        assert_eq!(read.is_ok(), passes, "{name}");
    }
    let exchanges = scene.log.exchanges();
    assert!(
        exchanges[0].sent > 0 && exchanges[1].sent == 0 && exchanges[2].sent == 0,
        "{exchanges:?}"
    );
}

#[tokio::test]
async fn plain_http_in_a_tunnel_to_a_name_does_not_leave_and_gets_the_reason() {
    let (scene, heard) = Scene::answering(&["api.test"], "HTTP/1.1 200 OK\r\n\r\n").await;
    for (target, host) in [
        ("api.test:80", "other.test"),
        ("api.test:80", "api.test"),
        ("api.test:443", "api.test"),
    ] {
        let mut client = scene.client().await;
        client.send(&connect(target)).await;
        client.until("\r\n\r\n").await;
        client
            .send(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"))
            .await;
        let answer = client.rest().await;
        assert_eq!(status(&answer), "403", "{target}: {answer}");
        assert!(
            answer.contains("\r\nX-Toolcrib-Refused: not-tls\r\n"),
            "{answer}"
        );
        assert!(answer.contains("without a tunnel"), "{answer}");
    }
    assert!(
        scene
            .log
            .exchanges()
            .iter()
            .all(|exchange| exchange.sent == 0)
    );
    let heard = heard.lock().unwrap();
    assert!(heard.iter().all(String::is_empty), "{heard:?}");
}

#[tokio::test]
async fn closing_cuts_what_is_open_and_nothing_is_served_after_it() {
    let scene = Scene::new(&["api.test"], echo().await).await;
    let mut tunnel = scene.client().await;
    tunnel.send(&connect("api.test:443")).await;
    tunnel.until("\r\n\r\n").await;
    let mut idle = scene.client().await;
    idle.send("GET http://api").await;
    scene.proxy.close();
    scene.serving.await.unwrap().unwrap();
    assert_eq!(tunnel.rest().await, "");
    assert_eq!(idle.rest().await, "");
    let again = TcpStream::connect(scene.address).await;
    assert!(again.is_err(), "no one listens any more");
}
