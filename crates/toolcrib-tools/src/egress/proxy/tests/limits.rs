//! What a program inside can make the proxy hold, and for how long.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::super::hello::tests::real;
use super::{Scene, rustix_clone, status};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server that sends as much as is taken, and says how much that was once nothing more is.
async fn flood() -> (TcpListener, tokio::sync::oneshot::Receiver<u64>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let again = std::net::TcpListener::from(rustix_clone(&listener));
    let accepting = TcpListener::from_std(again).unwrap();
    let (tell, told) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let (mut stream, _) = accepting.accept().await.unwrap();
        let mut head = [0; 1024];
        let _ = stream.read(&mut head).await;
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n";
        stream.write_all(head).await.unwrap();
        let piece = vec![b'x'; 64 * 1024];
        let mut sent = 0u64;
        while let Ok(Ok(more)) =
            tokio::time::timeout(Duration::from_millis(500), stream.write(&piece)).await
        {
            sent += more as u64;
            if sent > 100_000_000 {
                break;
            }
        }
        let _ = tell.send(sent);
        std::future::pending::<()>().await;
    });
    (listener, told)
}

#[tokio::test]
async fn a_client_that_never_reads_makes_no_one_hold_its_answer() {
    let plain: &[u8] = b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n";
    let connect = b"CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n";
    let tunnel = [connect, &real("api.test")[..]].concat();
    for (kind, request) in [("plain", plain), ("tunnel", &tunnel)] {
        let (server, told) = flood().await;
        let scene = Scene::new(&["api.test"], server).await;
        let mut client = scene.client().await;
        client.0.write_all(request).await.unwrap();
        let sent = told.await.unwrap();
        // Mostly what the kernel holds for both sockets.
        assert!(sent < 30_000_000, "{kind}: {sent}");
    }
}

#[tokio::test]
async fn a_large_answer_passes_through_in_pieces() {
    let (server, _told) = flood().await;
    let scene = Scene::new(&["api.test"], server).await;
    let mut client = scene.client().await;
    client
        .send("GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n")
        .await;
    let mut buffer = vec![0; 256 * 1024];
    let mut read = 0;
    while read < 50_000_000 {
        let more = client.0.read(&mut buffer).await.unwrap();
        assert!(more > 0);
        read += more;
    }
    let received = scene.log.exchanges()[0].received;
    assert!(
        received >= 49_000_000,
        "counted while it goes on: {received}"
    );
}

/// Time advances only by waiting, so minutes pass at once.
#[tokio::test(start_paused = true)]
async fn a_client_that_never_says_what_it_wants_is_let_go() {
    let (scene, _) = Scene::answering(&["api.test"], OK).await;
    for beginning in ["", "GET http://api.test/ HTTP/1.1\r\nHost: "] {
        let mut client = scene.client().await;
        client.send(beginning).await;
        let mut read = Vec::new();
        let _ = client.0.read_to_end(&mut read).await;
        let answer = String::from_utf8_lossy(&read);
        assert!(answer.is_empty() || status(&answer) == "408", "{answer}");
    }
    assert_eq!(scene.dialled(), 0);
}

/// A tunnel over which nothing is sent is closed after the same time.
#[tokio::test(start_paused = true)]
async fn a_tunnel_that_makes_no_progress_is_let_go() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let scene = Scene::new(&["api.test"], listener).await;
    let mut client = scene.client().await;
    client
        .send("CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
        .await;
    let mut read = Vec::new();
    let _ = client.0.read_to_end(&mut read).await;
    assert_eq!(status(&String::from_utf8_lossy(&read)), "200");
}

#[tokio::test]
async fn a_head_has_a_size_and_a_number_of_lines() {
    let (scene, _) = Scene::answering(&["api.test"], OK).await;
    let head =
        |more: &str| format!("GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n{more}\r\n");
    let large = head(&format!("X: {}\r\n", "x".repeat(60_000)));
    assert_eq!(status(&scene.ask(&large).await), "200");
    let larger = head(&format!("X: {}\r\n", "x".repeat(80_000)));
    assert_eq!(status(&scene.ask(&larger).await), "431");
    let many = head(&"X: y\r\n".repeat(500));
    let answer = scene.ask(&many).await;
    assert!(["431", "400"].contains(&status(&answer)), "{answer}");
    assert_eq!(scene.dialled(), 1);
}

#[tokio::test]
async fn more_clients_than_are_served_at_once_wait_for_their_turn() {
    let (scene, _) = Scene::answering(&["api.test"], OK).await;
    let mut holding = Vec::new();
    for _ in 0..super::super::MOST_CONNECTIONS {
        let mut client = scene.client().await;
        client.send("GET http://api.test/ HTTP/1.1\r\n").await;
        holding.push(client);
    }
    let mut late = scene.client().await;
    late.send("GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n")
        .await;
    let waiting = tokio::time::timeout(Duration::from_millis(200), late.0.read_u8()).await;
    assert!(waiting.is_err(), "served too early");
    drop(holding);
    late.until("hello").await;
}
