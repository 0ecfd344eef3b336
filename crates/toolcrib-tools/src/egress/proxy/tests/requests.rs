//! Plain HTTP: what is passed on, what is refused, what a server gets to see.

use super::{PUBLIC, Scene, status};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Own: yes\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n\r\nhello";

fn get(host: &str) -> String {
    format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

#[tokio::test]
async fn a_permitted_host_is_reached_at_its_judged_address_and_another_is_not() {
    let (scene, _) = Scene::answering(&["api.test", "*.wide.test:8080"], OK).await;
    let answer = scene.ask(&get("api.test")).await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
    assert_eq!(
        scene.dialler.dialled(),
        [format!("{PUBLIC}:80").parse().unwrap()]
    );
    assert_eq!(status(&scene.ask(&get("API.Test:443")).await), "200");
    assert_eq!(status(&scene.ask(&get("a.wide.test:8080")).await), "200");
    let reached = scene.dialled();
    for refused in [
        "other.test",
        "api.test:8080",
        "api.test:22",
        "wide.test:8080",
        "a.wide.test",
        "api.test.evil.example",
        "evil-api.test",
        "127.0.0.1",
        "127.0.0.1:3128",
        "[::1]:80",
        "[::ffff:127.0.0.1]",
        "0x7f.1",
        "2130706433",
        "169.254.169.254",
        "localhost",
        "metadata.google.internal",
        PUBLIC,
    ] {
        let answer = scene.ask(&get(refused)).await;
        assert_eq!(status(&answer), "403", "{refused}: {answer}");
        assert!(
            answer.contains("x-toolcrib-refused: host-not-allowed"),
            "{answer}"
        );
        assert!(answer.contains("\r\n\r\ntoolcrib: "), "{answer}");
    }
    assert_eq!(scene.dialled(), reached, "no one else was dialled");
    assert_eq!(
        scene.log.exchanges().len(),
        3,
        "what did not leave is not on record"
    );
}

#[tokio::test]
async fn a_permitted_name_with_an_address_of_ours_is_refused() {
    let (scene, _) = Scene::answering(&["inside.test", "both.test", "nowhere.test"], OK).await;
    for name in ["inside.test", "both.test"] {
        assert_eq!(status(&scene.ask(&get(name)).await), "403", "{name}");
    }
    assert_eq!(status(&scene.ask(&get("nowhere.test")).await), "502");
    assert_eq!(scene.dialled(), 0);
}

#[tokio::test]
async fn a_server_sees_the_request_and_nothing_of_its_way() {
    let (scene, heard) = Scene::answering(&["api.test"], OK).await;
    let answer = scene
        .ask(
            "GET http://api.test/a%20b?c=d&e=%2F HTTP/1.1\r\nHost: API.test:80\r\nAccept: x\r\nX-Mine: 1\r\nX-Hop: 2\r\n\
             Connection: keep-alive, X-Hop, Host\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic Zm9v\r\n\
             TE: trailers\r\nUpgrade: websocket\r\nKeep-Alive: 5\r\n\r\n",
        )
        .await;
    let head = heard.lock().unwrap().remove(0).to_lowercase();
    let mut lines: Vec<&str> = head.trim_end().lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "accept: x",
            "connection: close",
            "get /a%20b?c=d&e=%2f http/1.1",
            "host: api.test",
            "x-mine: 1",
        ]
    );
    let answer = answer.to_lowercase();
    assert!(answer.contains("x-own: yes"), "{answer}");
    assert!(
        !answer.contains("x-hop") && !answer.contains("keep-alive: timeout"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_connection_serves_one_request_after_another() {
    let (scene, heard) = Scene::answering(&["api.test"], OK).await;
    let mut client = scene.client().await;
    for _ in 0..3 {
        client.send(&get("api.test")).await;
        client.until("hello").await;
    }
    client.send(&get("other.test")).await;
    assert!(client.until("\n").await.contains("403"));
    client.until("\r\n\r\n").await;
    client.until("\n").await;
    client.send(&get("api.test")).await;
    client.until("hello").await;
    assert_eq!(heard.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn bodies_go_both_ways_and_are_counted() {
    let (scene, heard) = Scene::answering(&["api.test"], OK).await;
    let post =
        "POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nContent-Length: 6\r\n\r\nabcdef";
    assert_eq!(status(&scene.ask(post).await), "200");
    let chunked = "PUT http://api.test/ HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
    assert_eq!(status(&scene.ask(chunked).await), "200");
    let waits = "POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    let mut client = scene.client().await;
    client.send(waits).await;
    assert_eq!(
        client.until("\r\n\r\n").await,
        "HTTP/1.1 100 Continue\r\n\r\n"
    );
    client.send("ok").await;
    client.until("hello").await;
    let heard = heard.lock().unwrap().clone();
    assert!(heard[0].ends_with("\r\n\r\nabcdef"), "{heard:?}");
    assert!(
        heard[1].contains("abc") && heard[1].ends_with("0\r\n\r\n"),
        "{heard:?}"
    );
    assert!(heard[2].ends_with("ok"), "{heard:?}");
    let exchanges = scene.log.exchanges();
    let bytes: Vec<(&str, u64, u64)> = exchanges
        .iter()
        .map(|exchange| (exchange.method.as_str(), exchange.sent, exchange.received))
        .collect();
    assert_eq!(bytes, [("POST", 6, 5), ("PUT", 5, 5), ("POST", 2, 5)]);
    assert_eq!(exchanges[0].host, "api.test:80");
    assert_eq!(exchanges[0].status, Some(200));
}

#[tokio::test]
async fn an_answer_without_a_body_says_how_long_it_would_be() {
    let no_body = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
    let (scene, _) = Scene::answering(&["api.test"], no_body).await;
    let head = "HEAD http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n";
    let answer = scene.ask(head).await.to_lowercase();
    assert!(answer.contains("content-length: 1000000"), "{answer}");
}

#[tokio::test]
async fn a_body_that_ends_with_its_connection_arrives_whole() {
    let open = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end";
    let (scene, _) = Scene::answering(&["api.test"], open).await;
    let answer = scene.ask(&get("api.test")).await;
    assert!(answer.contains("until the end"), "{answer}");
}

#[tokio::test]
async fn what_two_readers_could_read_in_two_ways_is_not_passed_on() {
    let (scene, heard) = Scene::answering(&["api.test"], OK).await;
    let headers = |more: &str| {
        format!("POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\n{more}\r\n\r\nabcdef")
    };
    for bad in [
        headers("Content-Length: 3\r\nContent-Length: 6"),
        headers("Content-Length: 3, 6"),
        headers("Content-Length: +3"),
        headers("Content-Length: -3"),
        headers("Content-Length: 0x3"),
        headers("Content-Length : 3"),
        headers("Transfer-Encoding: gzip, chunked"),
        headers("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        headers("Transfer-Encoding: xchunked"),
        headers("Transfer-Encoding:\x0bchunked"),
        headers("Transfer-Encoding : chunked"),
        headers("X: a\0b"),
        headers("X: a\rb"),
        headers("X: a\r\n folded: b"),
        headers(" X: a"),
        headers("Host: other.test"),
        headers("Host: api.test"),
        "GET http://api.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n".to_owned(),
        "GET http://api.test/ HTTP/1.1\r\nHost: api.test:8080\r\n\r\n".to_owned(),
        "GET http://api.test/ HTTP/1.1\r\nHost: user@api.test\r\n\r\n".to_owned(),
        "GET http://user:pw@api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http://api.test@other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n".to_owned(),
        "GET http://api.test\\@other.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET https://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET ftp://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET file:///etc/passwd HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http:///x HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http://api.test/a b HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "GET http://api.test/ HTTP/3.0\r\nHost: api.test\r\n\r\n".to_owned(),
        "CONNECT api.test HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "CONNECT http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "CONNECT /x HTTP/1.1\r\nHost: api.test\r\n\r\n".to_owned(),
        "CONNECT u@api.test:443 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT api.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n".to_owned(),
        "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\nContent-Length: 3\r\n\r\nabc"
            .to_owned(),
        "CONNECT api.test:99999 HTTP/1.1\r\n\r\n".to_owned(),
        "\x16\x03\x01\0\0".to_owned(),
        "nonsense\r\n\r\n".to_owned(),
    ] {
        let answer = scene.ask(&bad).await;
        assert!(
            answer.is_empty() || status(&answer) == "400",
            "{bad:?}: {answer}"
        );
    }
    assert_eq!(scene.dialled(), 0);
    // A length beside chunks: the chunks count, and the length goes no further.
    let both = "POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://other.test/ HTTP/1.1\r\n\r\n";
    let answer = scene.ask(both).await;
    let heard = heard.lock().unwrap().clone();
    assert!(heard.len() <= 1, "{heard:?}");
    assert!(
        !heard.concat().to_lowercase().contains("content-length"),
        "{heard:?}"
    );
    assert!(!answer.is_empty());
}

#[tokio::test]
async fn a_server_that_makes_no_sense_is_a_bad_gateway() {
    for nonsense in [
        "nonsense\r\n\r\n",
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
    ] {
        let (scene, _) = Scene::answering(&["api.test"], nonsense).await;
        let answer = scene.ask(&get("api.test")).await;
        assert_eq!(status(&answer), "502", "{nonsense:?}: {answer}");
    }
}
