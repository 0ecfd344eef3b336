//! Requests to forbidden addresses: refused, and a listener there receives nothing.

use std::net::{Ipv6Addr, SocketAddr};

use super::*;
use toolcrib::egress::Reach;
use toolcrib::testing::Reply;

/// Listeners on this machine that must not be reached, and a way out that has no permission for them.
struct Trap {
    v4: ScriptedServer,
    v6: ScriptedServer,
    egress: Egress,
}

impl Trap {
    fn new() -> Self {
        Trap {
            v4: ScriptedServer::start(|_| Reply::ok("secret")),
            v6: ScriptedServer::start_at(Ipv6Addr::LOCALHOST, |_| Reply::ok("secret")),
            egress: egress(&["api.example.test"]),
        }
    }

    fn hits(&self) -> usize {
        self.v4.connections() + self.v6.connections()
    }
}

#[tokio::test]
async fn no_spelling_of_this_machine_is_reached_even_if_a_person_agreed() {
    let trap = Trap::new();
    let (v4, v6) = (trap.v4.port(), trap.v6.port());
    for url in [
        format!("http://127.0.0.1:{v4}/"),
        format!("http://0x7f000001:{v4}/"),
        format!("http://0x7f.1:{v4}/"),
        format!("http://0177.0.0.1:{v4}/"),
        format!("http://2130706433:{v4}/"),
        format!("http://127.1:{v4}/"),
        format!("http://127.0.0.1.:{v4}/"),
        format!("http://127.255.255.254:{v4}/"),
        format!("http://0:{v4}/"),
        format!("http://0.0.0.0:{v4}/"),
        format!("http://localhost:{v4}/"),
        format!("http://localhost.:{v4}/"),
        format!("http://LocalHost:{v4}/"),
        format!("http://x.localhost:{v4}/"),
        format!("http://localhost:{v6}/"),
        format!("http://[::1]:{v6}/"),
        format!("http://[::]:{v6}/"),
        format!("http://[0:0:0:0:0:0:0:1]:{v6}/"),
        format!("http://[::ffff:7f00:1]:{v4}/"),
        format!("http://[::ffff:127.0.0.1]:{v4}/"),
        format!("http://[::127.0.0.1]:{v4}/"),
        format!("http://[64:ff9b::7f00:1]:{v4}/"),
        format!("http://①②⑦.0.0.1:{v4}/"),
        format!("http://%31%32%37.0.0.1:{v4}/"),
        format!("http:127.0.0.1:{v4}/"),
        format!("http:/127.0.0.1:{v4}/"),
        format!("http://api.example.test@127.0.0.1:{v4}/"),
        format!("http://127.0.0.1:{v4}\\.api.example.test/"),
        format!("http://127.0.0.1:{v4}\\@api.example.test/"),
        format!("gopher://127.0.0.1:{v4}/_x"),
        format!("ftp://127.0.0.1:{v4}/"),
        format!("http://[fe80::1%25lo]:{v6}/"),
    ] {
        assert!(is_refused(&fetch(&trap.egress, &url).await), "{url}");
        // Nor if someone approved that very host.
        if let Ok((_, target)) = Target::parse(&url) {
            let mut request = get(&url);
            request.reach = Reach::ListedOr(target);
            assert!(is_refused(&trap.egress.send(request).await), "{url}");
        }
    }
    assert_eq!(trap.hits(), 0);
}

#[tokio::test]
async fn a_name_with_a_refused_address_is_refused_whatever_else_it_has() {
    let dialler = RecordingDialler::refusing();
    for addresses in [
        &["127.0.0.1"][..],
        &["93.184.216.34", "127.0.0.1"],
        &["127.0.0.1", "93.184.216.34"],
        &["93.184.216.34", "::1"],
        &["::ffff:127.0.0.1"],
        &["64:ff9b::7f00:1"],
        &["10.0.0.1"],
        &["169.254.169.254"],
        &["fd00:ec2::254"],
        &["100.100.100.200"],
        &["0.0.0.0"],
        &["fe80::1"],
    ] {
        let names = NameTable::new().name("api.example.test", addresses);
        let egress = doubled(&["api.example.test"], &names, &dialler);
        let result = fetch(&egress, "http://api.example.test/").await;
        assert!(is_refused(&result), "{addresses:?}");
    }
    assert_eq!(dialler.dialled(), []);
}

#[tokio::test]
async fn a_name_no_one_agreed_to_is_not_even_looked_up() {
    let names = NameTable::new();
    let dialler = RecordingDialler::refusing();
    let egress = doubled(&["api.example.test"], &names, &dialler);
    for url in [
        "http://evil.test/?x=api.example.test",
        "http://127.0.0.1.nip.io:9999/",
        "http://evilapi.example.test/",
        "http://api.example.test:8080/",
        "http://api.example.test:22/",
    ] {
        assert!(is_refused(&fetch(&egress, url).await), "{url}");
    }
    assert_eq!((names.asked(), dialler.dialled()), (vec![], vec![]));
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_never_dialled_at_the_wrong_one() {
    let trap = ScriptedServer::start(|_| Reply::ok("secret"));
    let public =
        ScriptedServer::start(|_| Reply::ok("public").header("Connection", "close").close());
    let port = trap.port();
    let names = NameTable::new().name_in_turn("rebind.test", &[&["93.184.216.34"], &["127.0.0.1"]]);
    let dialler = RecordingDialler::to(public.address());
    let entry = format!("rebind.test:{port}");
    let egress = doubled(&[&entry], &names, &dialler);
    let mut fetched = 0;
    for _ in 0..200 {
        match fetch(&egress, &format!("http://rebind.test:{port}/")).await {
            Ok(response) => {
                assert_eq!(response.body, "public");
                fetched += 1;
            }
            Err(error) => assert!(matches!(error, EgressError::Refused(_)), "{error}"),
        }
    }
    assert!((50..=150).contains(&fetched), "{fetched}");
    assert_eq!(trap.connections(), 0);
    let judged = SocketAddr::new("93.184.216.34".parse().unwrap(), port);
    assert!(dialler.dialled().iter().all(|address| *address == judged));
    assert_eq!(names.asked().len(), 200);
}

#[tokio::test]
async fn a_server_on_this_machine_is_reached_with_its_port_in_the_settings() {
    let server = ScriptedServer::start(|_| Reply::ok("hello"));
    let port = server.port();
    let response = fetch(&to(&server), &server.url("/a?b=c#d")).await.unwrap();
    assert_eq!(
        (response.status.as_u16(), &response.body[..]),
        (200, &b"hello"[..])
    );
    let request = &server.received()[0];
    assert_eq!(request.target, "/a?b=c");
    assert_eq!(request.header("host"), Some(server.host().as_str()));
    let by_name = egress(&[&format!("localhost:{port}")]);
    assert!(
        fetch(&by_name, &format!("http://LOCALHOST.:{port}/"))
            .await
            .is_ok()
    );
    assert_eq!(
        server.received()[1].header("host"),
        Some(format!("localhost:{port}").as_str())
    );
    // The same port by another name is another permission.
    assert!(is_refused(&fetch(&by_name, &server.url("/")).await));
}

#[tokio::test]
async fn what_one_request_may_reach_another_does_not_reach_over_its_connection() {
    let server = ScriptedServer::start(|_| Reply::ok("search results"));
    let egress = egress(&[]);
    let (_, target) = Target::parse(&server.url("/")).unwrap();
    let mut configured = get(&server.url("/"));
    configured.reach = Reach::Configured(target.clone());
    assert!(egress.send(configured.clone()).await.is_ok());
    assert!(egress.send(configured).await.is_ok());
    assert_eq!(server.connections(), 1);
    for reach in [
        Reach::Listed,
        Reach::ListedOr(target),
        Reach::Only(AllowedHosts::parse([server.host().as_str()]).unwrap()),
    ] {
        let mut request = get(&server.url("/"));
        request.reach = reach;
        assert!(is_refused(&egress.send(request).await));
    }
    assert_eq!(server.received().len(), 2);
}

#[tokio::test]
async fn a_trailing_dot_and_case_are_folded_alike_for_the_check_and_the_dial() {
    let server = ScriptedServer::start(|_| Reply::ok("x"));
    let names = NameTable::new().name("example.test", &["93.184.216.34"]);
    let dialler = RecordingDialler::to(server.address());
    let egress = doubled(&["*.example.test", "example.test"], &names, &dialler);
    assert!(fetch(&egress, "http://EXAMPLE.test./").await.is_ok());
    assert_eq!(names.asked(), ["example.test"]);
    assert_eq!(server.received()[0].header("host"), Some("example.test"));
    for url in [
        "http://example.test\0.evil.test/",
        "http://evilexample.test/",
        "http://example.test../",
    ] {
        assert!(fetch(&egress, url).await.is_err(), "{url:?}");
    }
    assert_eq!(dialler.dialled().len(), 1);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(256))]

    /// Whatever the text: what is dialled is the address and port that its one reading names, and only if that may be reached.
    #[test]
    fn what_is_dialled_is_what_was_read(text in hostile_url()) {
        let dialler = RecordingDialler::refusing();
        let names = NameTable::new().name("a.test", &["93.184.216.34"]).name("b.test", &["10.0.0.1"]);
        let egress = doubled(&["a.test", "b.test", "127.0.0.1:9999"], &names, &dialler);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _ = runtime.block_on(fetch(&egress, &text));
        let permitted: [SocketAddr; 3] = [
            "93.184.216.34:80".parse().unwrap(),
            "93.184.216.34:443".parse().unwrap(),
            "127.0.0.1:9999".parse().unwrap(),
        ];
        for address in dialler.dialled() {
            proptest::prop_assert!(permitted.contains(&address), "{text} dialled {address}");
        }
    }
}

/// URLs out of the pieces that confuse parsers.
fn hostile_url() -> impl proptest::strategy::Strategy<Value = String> {
    let pieces = [
        "http:",
        "https:",
        "HTTP:",
        "//",
        "/",
        "\\",
        "a.test",
        "b.test",
        "127.0.0.1",
        "0x7f.1",
        "[::1]",
        "[::ffff:7f00:1]",
        "localhost",
        "@",
        ":",
        ":80",
        ":9999",
        ":443",
        "#",
        "?",
        ".",
        "..",
        "%2e",
        "%40",
        "%00",
        "\t",
        " ",
        "x",
        "①",
        "。",
        "user:pw@",
        "evil.test",
    ];
    let piece = proptest::sample::select(pieces.to_vec());
    let start = proptest::sample::select(vec!["http://", "https://", "http:", ""]);
    proptest::strategy::Strategy::prop_map(
        (start, proptest::collection::vec(piece, 1..6)),
        |(start, pieces)| format!("{start}{}", pieces.concat()),
    )
}
