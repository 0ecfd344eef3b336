//! The approval of requests: who is asked, which requests never ask, and what an answer covers.

use serde_json::json;
use toolcrib::RegisterBuiltins as _;
use toolcrib::approval::ApprovalResponse;
use toolcrib::approval::grants::{GrantRequest, Scope};
use toolcrib::rules::{Rule, RuleSet, Whose};
use toolcrib::testing::{NameTable, RecordingDialler, Reply, ScriptedServer};
use toolcrib::{CallRequest, ErrorCode, Verdict};

use super::{Scene, failure, value};

/// Names of the outside world; all of them are served by one server on loopback.
fn world(server: &ScriptedServer) -> (NameTable, RecordingDialler) {
    let names = NameTable::new()
        .name("docs.test", &["93.184.216.34"])
        .name("other.test", &["93.184.216.35"])
        .name("inside.test", &["10.0.0.7"]);
    (names, RecordingDialler::to(server.address()))
}

fn scene(hosts: &[&str], server: &ScriptedServer) -> Scene {
    let (names, dialler) = world(server);
    Scene::new(hosts, names, Some(dialler), |builder| builder)
}

fn hello() -> ScriptedServer {
    ScriptedServer::start(|_| Reply::ok("hello").header("Content-Type", "text/plain"))
}

#[tokio::test]
async fn a_listed_host_is_not_asked_about_and_another_is() {
    let server = hello();
    let scene = scene(&["docs.test"], &server);
    let listed = scene
        .fetch(json!({"url": "http://docs.test/", "method": "POST", "body": "x"}))
        .await;
    assert_eq!(value(&listed)["body"], "hello");
    assert_eq!(scene.person.asked().len(), 0);

    scene.person.then(Ok(ApprovalResponse::approve("Ada")));
    let args = json!({
        "url": "http://other.test/a/b?key=1", "method": "POST", "body": "{\"a\":1}", "headers": {"X-Token": "t"}
    });
    assert_eq!(value(&scene.fetch(args).await)["body"], "hello");
    let asked = scene.person.asked();
    assert_eq!(asked[0].reason, "`other.test` is not one of `allowedHosts`");
    assert_eq!(
        asked[0].effect,
        "send (POST) to `http://other.test/a/b` with the query `key=1`, 5 bytes, body of 7 bytes: `{\"a\":1}`, headers `X-Token`"
    );
}

#[tokio::test]
async fn no_one_is_asked_for_an_address_before_a_person_agreed() {
    let server = hello();
    let scene = scene(&[], &server);
    let outcome = scene.fetch(json!({"url": "http://other.test/"})).await;
    assert_eq!(failure(&outcome).0, ErrorCode::ApprovalUnavailable);
    scene.person.then(Ok(ApprovalResponse::deny("Ada", "no")));
    let outcome = scene.fetch(json!({"url": "http://other.test/"})).await;
    assert_eq!(failure(&outcome).0, ErrorCode::ApprovalDenied);
    assert_eq!(scene.names.asked(), [""; 0]);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_refused_scheme_or_address_is_never_asked_about() {
    let server = hello();
    let scene = Scene::new(&["docs.test"], world(&server).0, None, |builder| builder);
    let port = server.port();
    let addresses = [
        "127.0.0.1",
        "127.1",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "2130706433",
        "127.0.0.1.",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "a.localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:7f00:1]",
        "0.0.0.0",
        "[::]",
        "①②⑦.0.0.1",
        "%31%32%37.0.0.1",
        "[64:ff9b::7f00:1]",
        "[fe80::1]",
        "127.255.255.254",
        "0",
    ];
    let urls = addresses
        .iter()
        .map(|address| format!("http://{address}:{port}/"))
        .chain(
            [
                "http://169.254.169.254/latest/meta-data/",
                "http://metadata.google.internal/",
                "http://[fd00:ec2::254]/",
                "http://100.100.100.200/",
                "http://10.0.0.1/",
                "http://192.168.0.1/",
                "http://172.16.0.1/",
                "http://100.64.0.1/",
                "http://224.0.0.1/",
                "http://255.255.255.255/",
                "gopher://127.0.0.1:70/_x",
                "ftp://docs.test/",
                "file:///etc/passwd",
                "data:text/plain,x",
                "javascript:alert(1)",
                "unix:///var/run/docker.sock",
                "http://docs.test@127.0.0.1/",
                "http://user:pass@docs.test/",
                "http://127.0.0.1\\.docs.test/",
                "http:127.0.0.1/",
                "http:/127.0.0.1/",
                "http:///127.0.0.1/",
                "https://docs.test:22/",
            ]
            .map(str::to_owned),
        );
    for url in urls {
        scene.person.then(Ok(ApprovalResponse::approve("Ada")));
        let outcome = scene.fetch(json!({"url": url})).await;
        let (code, message) = failure(&outcome);
        assert_eq!(code, ErrorCode::HostNotAllowed, "{url}: {message}");
    }
    assert_eq!(scene.person.asked().len(), 0);
    assert_eq!(scene.names.asked(), [""; 0]);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused_regardless_of_who_agreed() {
    let server = hello();
    let scene = scene(&[], &server);
    scene.person.then(Ok(ApprovalResponse::approve("Ada")));
    let outcome = scene.fetch(json!({"url": "http://inside.test/"})).await;
    let (code, message) = failure(&outcome);
    assert_eq!(code, ErrorCode::HostNotAllowed);
    assert!(!message.contains("redirection"), "{message}");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_redirection_to_another_host_is_refused_with_its_place() {
    let server = ScriptedServer::start(|request| match request.header("host") {
        Some("docs.test") => Reply::redirect(302, "http://other.test/next?token=1"),
        _ => Reply::ok("over here"),
    });
    let scene = scene(&[], &server);
    scene.person.then(Ok(ApprovalResponse::approve("Ada")));
    let outcome = scene.fetch(json!({"url": "http://docs.test/"})).await;
    let (code, message) = failure(&outcome);
    assert_eq!(code, ErrorCode::HostNotAllowed);
    assert!(message.contains("`http://other.test/next`"), "{message}");
    assert!(
        message.contains("`web_fetch` with that URL asks for it"),
        "{message}"
    );
    assert!(!message.contains("token"), "{message}");
    assert_eq!(scene.names.asked(), ["docs.test"]);
    scene.person.then(Ok(ApprovalResponse::approve("Ada")));
    let outcome = scene.fetch(json!({"url": "http://other.test/next"})).await;
    assert_eq!(value(&outcome)["body"], "over here");
}

#[tokio::test]
async fn edited_arguments_are_asked_about_as_edited() {
    let server = hello();
    let scene = scene(&[], &server);
    // The person sends the call inside: that is refused like any other.
    let edit = json!({"url": "http://127.0.0.1:1/"});
    let edited = ApprovalResponse::approve_with("Ada", crate::tools::args(edit));
    scene.person.then(Ok(edited));
    let outcome = scene.fetch(json!({"url": "http://other.test/"})).await;
    assert_eq!(failure(&outcome).0, ErrorCode::HostNotAllowed);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_host_can_be_granted_and_nothing_besides() {
    let server = hello();
    let scene = scene(&[], &server);
    let refused = scene.fetch(json!({"url": "http://docs.test/a"})).await;
    assert_eq!(failure(&refused).0, ErrorCode::ApprovalUnavailable);
    let offers = scene.person.asked()[0].offers.clone();
    assert_eq!(
        offers[1].words,
        "this host: anything at `http://docs.test`, the other arguments as they are"
    );
    let grant = GrantRequest::of(&offers[1], Scope::User);
    scene
        .person
        .then(Ok(ApprovalResponse::approve("Ada").with_grant(grant)));
    assert_eq!(
        value(&scene.fetch(json!({"url": "http://docs.test/a"})).await)["status"],
        200
    );
    let asked = scene.person.asked().len();
    for args in [
        json!({"url": "http://docs.test/other?x=1"}),
        json!({"url": "HTTP://DOCS.test:80/", "timeout": 3}),
    ] {
        assert_eq!(value(&scene.fetch(args).await)["status"], 200);
    }
    assert_eq!(scene.person.asked().len(), asked);
    for args in [
        json!({"url": "https://docs.test/"}),
        json!({"url": "http://docs.test:8080/"}),
        json!({"url": "http://other.test/"}),
        json!({"url": "http://docs.test/", "method": "POST", "body": "x"}),
        json!({"url": "http://docs.test/", "headers": {"Cookie": "x"}}),
    ] {
        let outcome = scene.fetch(args.clone()).await;
        assert_eq!(
            failure(&outcome).0,
            ErrorCode::ApprovalUnavailable,
            "{args}"
        );
    }
    drop(scene.home);
}

#[tokio::test]
async fn a_rule_for_a_host_denies_every_spelling_of_it() {
    let rules = "[[rules]]\nname = \"no-other\"\nhost = [\"other.test\", \"*.other.test\"]\nverdict = \"deny\"\nreason = \"not there\"\n";
    let server = hello();
    let (names, dialler) = world(&server);
    let mut set = RuleSet::empty();
    for rule in Rule::from_toml(rules, "rules.toml", Whose::Operator).unwrap() {
        set.add(rule);
    }
    let scene = Scene::new(
        &["other.test", "docs.test"],
        names,
        Some(dialler),
        |builder| builder.rules(set),
    );
    let denied = [
        "http://other.test/",
        "https://OTHER.test./x",
        "http://other.test:80/",
        "http://\u{ff4f}ther.test/",
        "http://other\u{3002}test/",
        "http://%6fther.test/",
        "http://a.other.test/",
    ];
    for url in denied {
        let outcome = scene.fetch(json!({"url": url})).await;
        assert_eq!(failure(&outcome).0, ErrorCode::BlockedByRule, "{url}");
    }
    // A URL that programs read differently does not even get to the rules.
    for url in [
        "http://oth\u{ad}er.test/",
        "http://docs.test@other.test/",
        "http:other.test/",
    ] {
        let outcome = scene.fetch(json!({"url": url})).await;
        assert_eq!(failure(&outcome).0, ErrorCode::HostNotAllowed, "{url}");
    }
    assert_eq!(
        value(
            &scene
                .fetch(json!({"url": "http://docs.test/?other.test"}))
                .await
        )["status"],
        200
    );
    assert_eq!(scene.names.asked(), ["docs.test"]);
}

#[tokio::test]
async fn a_registry_without_a_home_asks_for_every_host() {
    let registry = toolcrib::Registry::new();
    registry.register_builtins().unwrap();
    let url = "https://api.github.com/repos/wyrmspire/agent";
    let plan = registry
        .plan(CallRequest::new("fetch").arg("url", url))
        .unwrap();
    assert_eq!(plan.verdict, Verdict::Ask);
    assert_eq!(plan.effect, format!("fetch (GET) `{url}`"));
    let inside = CallRequest::new("fetch").arg("url", "http://127.0.0.1:80/");
    assert_eq!(
        registry.plan(inside).unwrap_err().code(),
        ErrorCode::HostNotAllowed
    );
}
