//! Redirections: every hop is judged like the first, and credentials stay where they were meant for.

use super::*;
use http::{HeaderValue, Method};
use toolcrib::testing::Reply;

#[tokio::test]
async fn no_redirection_leads_to_where_no_request_may_go() {
    let trap = ScriptedServer::start(|_| Reply::ok("secret"));
    for status in [301, 302, 303, 307, 308] {
        for location in [
            trap.url("/"),
            format!("//127.0.0.1:{}/", trap.port()),
            format!("http://localhost:{}/", trap.port()),
            format!("http://0x7f.1:{}/", trap.port()),
            "file:///etc/passwd".to_owned(),
            "http://169.254.169.254/latest/meta-data/".to_owned(),
            format!("http:\\\\127.0.0.1:{}/", trap.port()),
            format!("gopher://127.0.0.1:{}/", trap.port()),
        ] {
            let server = ScriptedServer::script([Reply::redirect(status, &location)]);
            let result = fetch(&to(&server), &server.url("/")).await;
            assert!(is_refused(&result), "{status} {location}");
        }
    }
    assert_eq!(trap.connections(), 0);
}

#[tokio::test]
async fn a_refresh_header_and_a_redirection_without_a_place_are_answers() {
    let trap = ScriptedServer::start(|_| Reply::ok("secret"));
    let refresh = format!("0; url={}", trap.url("/"));
    let server = ScriptedServer::script([
        Reply::ok("stay").header("Refresh", &refresh),
        Reply::status(302).header("Refresh", &refresh).body("stay"),
        Reply::status(300)
            .header("Location", &trap.url("/"))
            .body("stay"),
    ]);
    let egress = to(&server);
    for _ in 0..3 {
        assert_eq!(fetch(&egress, &server.url("/")).await.unwrap().body, "stay");
    }
    assert_eq!(trap.connections(), 0);
}

#[tokio::test]
async fn hops_are_counted_and_a_circle_ends() {
    let server = ScriptedServer::start(|_| Reply::redirect(302, "/again"));
    let egress = to(&server);
    let result = fetch(&egress, &server.url("/")).await;
    assert_eq!(
        error(result),
        format!(
            "UPSTREAM_ERROR: `{}` redirects once more after 5 redirections",
            server.host()
        )
    );
    assert_eq!(server.received().len(), 6);
    let mut many = get(&server.url("/"));
    many.max_redirects = 255;
    assert!(egress.send(many).await.is_err());
    assert_eq!(server.received().len(), 12);
    let mut none = get(&server.url("/"));
    none.max_redirects = 0;
    assert_eq!(egress.send(none).await.unwrap().status, 302);
    let hops = &server.received()[..6];
    assert!(
        hops.iter().all(|hop| hop.connection == 1),
        "a redirection leaves its connection usable"
    );
}

#[tokio::test]
async fn credentials_do_not_leave_their_origin() {
    let other = ScriptedServer::start(|_| Reply::ok("other"));
    let elsewhere = other.url("/");
    let server = ScriptedServer::start(move |request| match request.target.as_str() {
        "/near" => Reply::redirect(302, "/here"),
        "/far" => Reply::redirect(302, &elsewhere),
        _ => Reply::ok("here"),
    });
    let egress = egress(&[&server.host(), &other.host()]);
    let request = |path: &str| {
        let mut request = get(&server.url(path));
        let mut secret = HeaderValue::from_static("SENTINEL");
        secret.set_sensitive(true);
        for (name, value) in [
            ("x-api-key", secret),
            ("authorization", HeaderValue::from_static("Bearer SENTINEL")),
            ("cookie", HeaderValue::from_static("a=SENTINEL")),
            ("accept", HeaderValue::from_static("text/plain")),
        ] {
            request.headers.insert(name, value);
        }
        request
    };
    egress.send(request("/near")).await.unwrap();
    let head = String::from_utf8(server.received()[1].head.clone()).unwrap();
    assert_eq!(head.matches("SENTINEL").count(), 3, "{head}");
    let response = egress.send(request("/far")).await.unwrap();
    assert_eq!(response.body, "other");
    assert_eq!(response.url.as_str(), other.url("/"));
    let received = &other.received()[0];
    let head = String::from_utf8(received.head.clone()).unwrap();
    assert!(!head.contains("SENTINEL"), "{head}");
    assert_eq!(received.header("accept"), Some("text/plain"));
    assert_eq!(received.header("host"), Some(other.host().as_str()));
    assert_eq!(received.header("referer"), None);
}

#[tokio::test]
async fn a_body_is_sent_again_to_the_same_origin_only() {
    let other = ScriptedServer::start(|_| Reply::ok("other"));
    let elsewhere = other.url("/");
    let server = ScriptedServer::start(move |request| match request.target.as_str() {
        "/near" => Reply::redirect(307, "/here"),
        "/far" => Reply::redirect(308, &elsewhere),
        "/get" => Reply::redirect(303, &elsewhere),
        _ => Reply::ok("here"),
    });
    let egress = egress(&[&server.host(), &other.host()]);
    let post = |path: &str| {
        let mut request = get(&server.url(path));
        request.method = Method::POST;
        request.body = "SENTINEL".into();
        request
    };
    egress.send(post("/near")).await.unwrap();
    let again = &server.received()[1];
    assert_eq!(
        (again.method.as_str(), again.text().as_str()),
        ("POST", "SENTINEL")
    );
    assert!(is_refused(&egress.send(post("/far")).await));
    assert_eq!(other.connections(), 0);
    egress.send(post("/get")).await.unwrap();
    let got = &other.received()[0];
    assert_eq!((got.method.as_str(), got.text().as_str()), ("GET", ""));
}

#[tokio::test]
async fn cookies_are_not_kept() {
    let server = ScriptedServer::start(|request| match request.target.as_str() {
        "/" => Reply::redirect(302, "/next").header("Set-Cookie", "a=b"),
        _ => Reply::ok("x"),
    });
    fetch(&to(&server), &server.url("/")).await.unwrap();
    assert_eq!(server.received()[1].header("cookie"), None);
}

#[tokio::test]
async fn a_redirection_to_a_host_that_is_not_listed_is_refused_before_it_is_looked_up() {
    let server = ScriptedServer::start(|_| Reply::redirect(302, "http://evil.test/x?d=SENTINEL"));
    let names = NameTable::new()
        .name("a.test", &["93.184.216.34"])
        .name("evil.test", &["93.184.216.35"]);
    let dialler = RecordingDialler::to(server.address());
    let egress = doubled(&["a.test"], &names, &dialler);
    let result = fetch(&egress, "http://a.test/").await;
    assert!(is_refused(&result));
    assert!(!error(result).contains("SENTINEL"));
    assert_eq!(names.asked(), ["a.test"]);
    assert_eq!(dialler.dialled().len(), 1);
}
