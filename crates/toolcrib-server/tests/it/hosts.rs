//! By which names the server is reached, and by pages of which origins.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::Full;
use toolcrib_server::api::{Body, Peer};
use toolcrib_server::auth::Hosts;

use crate::harness::{OPERATOR, Scene};

fn scene(hosts: &[&str], origins: &[&str], listening: &str) -> Scene {
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let (hosts, origins) = (words(hosts), words(origins));
    let listening = listening.parse().unwrap();
    Scene::with_api(|mut options| {
        options.hosts = Hosts::new(hosts, origins, Some(listening)).unwrap();
        options
    })
}

async fn ask(
    scene: &Scene,
    method: Method,
    target: &str,
    headers: &[(&str, &str)],
) -> Response<Body> {
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::new())).unwrap();
    let peer = Peer::Address("127.0.0.1:50000".parse().unwrap());
    scene.api.answer(request, peer).await
}

async fn by_host(scene: &Scene, host: &str) -> u16 {
    ask(scene, Method::GET, "/api/health", &[("host", host)])
        .await
        .status()
        .as_u16()
}

#[tokio::test]
async fn the_server_is_reached_by_its_own_names_only() {
    let scene = scene(
        &["crib.example", "proxy.example:8443"],
        &[],
        "127.0.0.1:7410",
    );
    for own in [
        "localhost:7410",
        "LocalHost:7410",
        "localhost.:7410",
        "127.0.0.1:7410",
        "[::1]:7410",
        "[0:0:0:0:0:0:0:1]:7410",
        "[::ffff:127.0.0.1]:7410",
        "crib.example",
        "CRIB.example.:1234",
        "proxy.example:8443",
    ] {
        assert_eq!(by_host(&scene, own).await, 200, "{own}");
    }
    for foreign in [
        "localhost",
        "localhost:7411",
        "localhost:80",
        "127.0.0.2:7410",
        "127.1:7410",
        "2130706433:7410",
        "0x7f.0.0.1:7410",
        "0.0.0.0:7410",
        "[::]:7410",
        "evil.example:7410",
        "localhost.evil.example:7410",
        "127.0.0.1.evil.example:7410",
        "crib.example.evil.example",
        "xcrib.example",
        "proxy.example",
        "proxy.example:443",
        "192.168.0.7:7410",
    ] {
        assert_eq!(by_host(&scene, foreign).await, 403, "{foreign}");
    }
    for senseless in [
        "",
        ":7410",
        "localhost:",
        "localhost:0",
        "localhost:+7410",
        "localhost:74100",
        "localhost:7410:7410",
        "user@localhost:7410",
        "localhost:7410@evil.example",
        "localhost:7410,evil.example",
        "localhost:7410 evil",
        "[::1",
        "::1",
        "[::1]x:7410",
        "[fe80::1%25lo]:7410",
        "local host:7410",
        "a/b",
        "localhost..:7410",
        ".localhost:7410",
        "*",
    ] {
        assert_eq!(by_host(&scene, senseless).await, 400, "{senseless}");
    }
}

#[tokio::test]
async fn a_name_that_someone_else_points_here_is_refused_with_the_setting() {
    let scene = scene(&[], &[], "127.0.0.1:7410");
    let headers = [
        ("host", "rebound.evil.example:7410"),
        ("authorization", &format!("Bearer {OPERATOR}")),
    ];
    let response = ask(&scene, Method::GET, "/api/clients", &headers).await;
    assert_eq!(response.status(), 403);
    let bytes = http_body_util::BodyExt::collect(response.into_body())
        .await
        .unwrap()
        .to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(
        text.contains("FORBIDDEN") && text.contains("server.hosts"),
        "{text}"
    );
}

#[tokio::test]
async fn the_address_listened_on_is_a_name_too() {
    let scene = scene(&[], &[], "192.168.0.7:80");
    for (host, status) in [
        ("192.168.0.7", 200),
        ("192.168.0.7:80", 200),
        ("localhost", 200),
        ("192.168.0.8", 403),
        ("192.168.0.7:81", 403),
    ] {
        assert_eq!(by_host(&scene, host).await, status, "{host}");
    }
}

#[tokio::test]
async fn there_is_exactly_one_host() {
    let scene = scene(&[], &[], "127.0.0.1:7410");
    assert_eq!(
        ask(&scene, Method::GET, "/api/health", &[]).await.status(),
        400
    );
    let own = ("host", "localhost:7410");
    for second in [own, ("host", "evil.example")] {
        assert_eq!(
            ask(&scene, Method::GET, "/api/health", &[own, second])
                .await
                .status(),
            400
        );
    }
    // The target's own host counts as well.
    for (target, status) in [
        ("http://localhost:7410/api/health", 200),
        ("http://evil.example/api/health", 403),
        ("http://user@localhost:7410/api/health", 400),
    ] {
        assert_eq!(
            ask(&scene, Method::GET, target, &[own])
                .await
                .status()
                .as_u16(),
            status,
            "{target}"
        );
    }
    let foreign = [("host", "evil.example")];
    let target = "http://localhost:7410/api/health";
    assert_eq!(
        ask(&scene, Method::GET, target, &foreign).await.status(),
        403
    );
}

#[tokio::test]
async fn by_a_socket_in_the_file_system_any_host_will_do() {
    let scene = scene(&[], &[], "127.0.0.1:7410");
    let asking = scene.as_nobody().header("host", "whatever");
    assert_eq!(asking.get("/api/health").await.0, 200);
}

async fn by_origin(scene: &Scene, origin: &str) -> (u16, HeaderMap) {
    let headers = [("host", "localhost:7410"), ("origin", origin)];
    let response = ask(scene, Method::GET, "/api/health", &headers).await;
    (response.status().as_u16(), response.headers().clone())
}

#[tokio::test]
async fn pages_from_elsewhere_are_refused_unless_they_are_listed() {
    let scene = scene(
        &["crib.example"],
        &["https://app.example", "http://localhost:3000"],
        "127.0.0.1:7410",
    );
    for own in [
        "http://localhost:7410",
        "http://127.0.0.1:7410",
        "https://crib.example",
    ] {
        let (status, headers) = by_origin(&scene, own).await;
        assert_eq!(status, 200, "{own}");
        assert!(
            !headers.contains_key("access-control-allow-origin"),
            "{own}"
        );
    }
    for listed in [
        "https://app.example",
        "http://localhost:3000",
        "https://app.example:443",
    ] {
        let (status, headers) = by_origin(&scene, listed).await;
        assert_eq!(status, 200, "{listed}");
        assert_eq!(headers["access-control-allow-origin"], listed);
        assert_eq!(headers["vary"], "Origin");
        assert!(!headers.contains_key("access-control-allow-credentials"));
    }
    for foreign in [
        "null",
        "",
        "http://evil.example",
        "http://app.example",
        "https://app.example:8443",
        "https://app.example.evil.example",
        "https://evil.example/https://app.example",
        "http://localhost:7411",
        "http://localhost",
        "file://",
        "chrome-extension://abc",
        "https://user@app.example",
        "*",
    ] {
        let (status, headers) = by_origin(&scene, foreign).await;
        assert_eq!(status, 403, "{foreign}");
        assert!(
            !headers.contains_key("access-control-allow-origin"),
            "{foreign}"
        );
    }
}

#[tokio::test]
async fn a_browser_that_asks_first_is_answered_without_a_token() {
    let scene = scene(&[], &["https://app.example"], "127.0.0.1:7410");
    let preflight = |origin| {
        [
            ("host", "localhost:7410"),
            ("origin", origin),
            ("access-control-request-method", "PUT"),
        ]
    };
    let response = ask(
        &scene,
        Method::OPTIONS,
        "/tools/bundles/x",
        &preflight("https://app.example"),
    )
    .await;
    assert_eq!(response.status(), 204);
    let headers = response.headers();
    assert_eq!(
        headers["access-control-allow-origin"],
        "https://app.example"
    );
    assert!(
        headers["access-control-allow-methods"]
            .to_str()
            .unwrap()
            .contains("PUT")
    );
    assert!(
        headers["access-control-allow-headers"]
            .to_str()
            .unwrap()
            .contains("Authorization")
    );
    let response = ask(
        &scene,
        Method::OPTIONS,
        "/tools/bundles/x",
        &preflight("https://evil.example"),
    )
    .await;
    assert_eq!(response.status(), 403);
    // Its own pages never ask, and other clients need a token.
    let response = ask(
        &scene,
        Method::OPTIONS,
        "/tools/bundles/x",
        &preflight("http://localhost:7410"),
    )
    .await;
    assert_eq!(response.status(), 401);
}

#[test]
fn settings_that_mean_nothing_are_refused() {
    let hosts = |entry: &str| Hosts::new([entry.to_owned()], [], None);
    for bad in [
        "",
        "*",
        "*.example",
        "http://crib.example",
        "a b",
        "a:b",
        "a:0",
        "u@a",
    ] {
        let error = hosts(bad).unwrap_err().to_string();
        assert!(error.contains("server.hosts"), "{error}");
    }
    let origins = |entry: &str| Hosts::new([], [entry.to_owned()], None);
    for bad in [
        "*",
        "null",
        "app.example",
        "https://app.example/",
        "https://*.example",
        "ftp://a",
        "https://",
    ] {
        let error = origins(bad).unwrap_err().to_string();
        assert!(error.contains("server.origins"), "{error}");
    }
}
