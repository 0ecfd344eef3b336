//! Questions reach a person: what each channel is sent, by which process, and what happens when a channel does not take it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib::config::Surroundings;
use toolcrib::crib::Approvals;
use toolcrib::model::secret::{Secret, SecretName};
use toolcrib::notify::Notifier;
use toolcrib::registry::CallHandle;
use toolcrib::secret::Binding;
use toolcrib::testing::{Received, Reply, ScriptedServer};
use toolcrib::{CallRequest, Caller, Crib, CribOptions};

struct Scene {
    _directory: TempDir,
    crib: Crib,
    problems: Arc<Mutex<Vec<String>>>,
}

impl Scene {
    /// A crib with these settings, and the secret `KEY`, which may go to this server only.
    fn new(settings: &str, key: &str, server: &ScriptedServer) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (work, home) = (directory.path().join("work"), directory.path().join("home"));
        std::fs::create_dir(&work).unwrap();
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join("config.toml"), settings).unwrap();
        std::fs::write(work.join("a.txt"), "a").unwrap();
        let surroundings = Surroundings::new(&work, [("HOME", directory.path().to_str().unwrap())]);
        let crib = CribOptions::default()
            .surroundings(surroundings)
            .home(home)
            .workspace(&work)
            .approvals(Approvals::Queue { wait: None })
            .open()
            .unwrap();
        let host = server.host();
        let binding = Binding::new([host.as_str()], []).unwrap();
        let name = SecretName::parse("KEY").unwrap();
        crib.secrets()
            .set(&name, &Secret::new(key.to_owned()), &binding)
            .unwrap();
        Scene {
            _directory: directory,
            crib,
            problems: Arc::default(),
        }
    }

    fn notifier(&self) -> Notifier {
        let problems = Arc::clone(&self.problems);
        let options = self.crib.notifier(TimeZone::UTC).unwrap();
        let report = move |problem| problems.lock().unwrap().push(problem);
        Notifier::start(options, |_| (), report).unwrap()
    }

    /// A call that asks.
    fn asks(&self) -> CallHandle {
        let args = json!({"path": "a.txt"});
        let request = CallRequest::new("delete_file")
            .args(args.as_object().unwrap().clone())
            .caller(Caller::Client("claude".to_owned()));
        self.crib.registry().execute_async(request)
    }
}

/// Waits until something is there.
async fn until<T>(what: &str, mut there: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = there() {
            return found;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{what} does not come"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What a channel of this type is sent about one call.
async fn sent(table: &str, key: &str) -> (Received, Scene) {
    let server = ScriptedServer::start(|_| Reply::json(&json!({"ok": true})));
    let table = table
        .replace("SERVER", &server.url(""))
        .replace("HOST", &server.host());
    let key = key.replace("SERVER", &server.url(""));
    let settings = format!(
        "[server]\nurl = 'https://crib.example.com'\n[notify.phone]\n{table}\ngatherMs = 0\n"
    );
    let scene = Scene::new(&settings, &key, &server);
    let notifier = scene.notifier();
    let call = scene.asks();
    let received = until("a message", || {
        assert_eq!(scene.problems.lock().unwrap()[..], [""; 0]);
        server.received().first().cloned()
    });
    let received = received.await;
    drop((notifier, call));
    (received, scene)
}

/// Effect, tool, caller and link, in a text for a person.
fn assert_says_all(text: &str) {
    for part in [
        "elete the file `a.txt`",
        "delete_file",
        "client:claude",
        "https://crib.example.com/ui/approvals/",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_gets_json_that_is_signed() {
    let (received, _scene) = sent(
        "type = 'webhook'\nurl = 'SERVER/hook'\nsecret = 'KEY'",
        "a signing key of the test",
    )
    .await;
    assert_eq!(
        (received.method.as_str(), received.target.as_str()),
        ("POST", "/hook")
    );
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(body["type"], "approvals.pending");
    let item = &body["approvals"][0];
    assert_eq!(
        (&item["tool"], &item["caller"]),
        (&json!("delete_file"), &json!("client:claude"))
    );
    assert_says_all(&format!(
        "{} {} {} {}",
        item["effect"], item["tool"], item["caller"], item["link"]
    ));
    assert_eq!(item.get("oneTimeLink"), None);
    let header = |name: &str| received.header(name).unwrap().to_owned();
    let signed = format!(
        "{}.{}.{}",
        header("webhook-id"),
        header("webhook-timestamp"),
        received.text()
    );
    // HMAC by hand: RFC 2104 over the digest that is there.
    assert_eq!(
        header("webhook-signature"),
        format!(
            "v1,{}",
            hmac(b"a signing key of the test", signed.as_bytes())
        )
    );
}

fn hmac(key: &[u8], message: &[u8]) -> String {
    use sha2::{Digest as _, Sha256};
    let mut block = [0_u8; 64];
    block[..key.len()].copy_from_slice(key);
    let inner = Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x36))
        .chain_update(message)
        .finalize();
    let outer = Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x5c))
        .chain_update(inner)
        .finalize();
    base64::engine::general_purpose::STANDARD.encode(outer)
}

#[tokio::test(flavor = "multi_thread")]
async fn ntfy_slack_and_telegram_get_what_they_take() {
    let (received, _scene) = sent(
        "type = 'ntfy'\nurl = 'SERVER/my-topic'\nsecret = 'KEY'",
        "tk_0123456789",
    )
    .await;
    assert_eq!(
        (received.target.as_str(), received.header("authorization")),
        ("/", Some("Bearer tk_0123456789"))
    );
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(
        (&body["topic"], &body["title"]),
        (
            &json!("my-topic"),
            &json!("Toolcrib: `delete_file` waits for approval")
        )
    );
    assert_says_all(body["message"].as_str().unwrap());
    assert!(
        body["click"]
            .as_str()
            .unwrap()
            .starts_with("https://crib.example.com/ui/approvals/0")
    );

    let (received, _scene) = sent(
        "type = 'slack'\nurl = 'SERVER'\nsecret = 'KEY'",
        "SERVER/services/T0/B0/x0123",
    )
    .await;
    assert_eq!(received.target, "/services/T0/B0/x0123");
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_says_all(body["text"].as_str().unwrap());

    let (received, _scene) = sent(
        "type = 'telegram'\nurl = 'SERVER'\nsecret = 'KEY'\nchat = -100123",
        "123456:ABC-def_0",
    )
    .await;
    assert_eq!(received.target, "/bot123456:ABC-def_0/sendMessage");
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(body["chat_id"], "-100123");
    assert_says_all(body["text"].as_str().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_time_links_are_sent_only_where_they_are_switched_on() {
    let table = "type = 'ntfy'\nurl = 'SERVER/my-topic'\noneTimeLinks = true";
    let (received, scene) = sent(table, "not used here").await;
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    let text = body["message"].as_str().unwrap();
    let link = text
        .split("https://crib.example.com/answer?link=")
        .nth(1)
        .unwrap();
    let links = toolcrib::notify::Links::of_home(scene.crib.home());
    let read = links.read(link.trim(), jiff::Timestamp::now()).unwrap();
    assert_eq!(read.channel, "phone");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_of_a_home_send_a_question_once() {
    let server = ScriptedServer::start(|_| Reply::ok("fine"));
    let settings = format!(
        "[notify.a]\ntype = 'ntfy'\nurl = '{0}/a'\ngatherMs = 0\n[notify.b]\ntype = 'ntfy'\nurl = '{0}/b'\ngatherMs = 0\n",
        server.url("")
    );
    let scene = Scene::new(&settings, "not used here", &server);
    let notifiers = [scene.notifier(), scene.notifier(), scene.notifier()];
    let call = scene.asks();
    until("a message by each channel", || {
        (server.received().len() >= 2).then_some(())
    })
    .await;
    // Two more looks of each: nothing else is sent.
    let markers = || {
        std::fs::read_dir(scene.crib.home().join("notified"))
            .unwrap()
            .count()
    };
    until("both files", || (markers() >= 2).then_some(())).await;
    drop(notifiers);
    let topics: Vec<Value> = server
        .received()
        .iter()
        .map(|one| serde_json::from_slice::<Value>(&one.body).unwrap()["topic"].clone())
        .collect();
    assert_eq!(topics.len(), 2, "{topics:?}");
    assert_ne!(topics[0], topics[1]);
    drop(call);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_is_tried_again_and_a_refusal_is_reported_without_the_secret() {
    let server = ScriptedServer::script([
        Reply::status(503),
        Reply::ok("fine"),
        Reply::status(403).body("no entry for tk_0123456789"),
    ]);
    let settings = format!(
        "[notify.phone]\ntype = 'ntfy'\nurl = '{}/t'\nsecret = 'KEY'\ngatherMs = 0\n",
        server.url("")
    );
    let scene = Scene::new(&settings, "tk_0123456789", &server);
    let notifier = scene.notifier();
    let first = scene.asks();
    until("the second attempt", || {
        (server.received().len() == 2).then_some(())
    })
    .await;
    assert_eq!(scene.problems.lock().unwrap()[..], [""; 0]);
    std::fs::write(scene.crib.workspace_path().unwrap().join("b.txt"), "b").unwrap();
    let args = json!({"path": "b.txt"});
    let request = CallRequest::new("delete_file").args(args.as_object().unwrap().clone());
    let second = scene.crib.registry().execute_async(request);
    let problem = until("a report", || {
        scene.problems.lock().unwrap().first().cloned()
    })
    .await;
    assert_eq!(
        problem,
        format!(
            "cannot notify by `phone`: `{}` answered with status 403: no entry for [REDACTED]",
            server.host()
        )
    );
    drop((notifier, first, second));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_for_another_host_is_not_sent() {
    let (server, other) = (
        ScriptedServer::start(|_| Reply::ok("")),
        ScriptedServer::start(|_| Reply::ok("")),
    );
    let settings = format!(
        "[notify.phone]\ntype = 'ntfy'\nurl = '{}/t'\nsecret = 'KEY'\ngatherMs = 0\n",
        server.url("")
    );
    let scene = Scene::new(&settings, "tk_0123456789", &other);
    let options = scene.crib.notifier(TimeZone::UTC).unwrap();
    let tried = options.try_channels(Some("phone")).await.unwrap();
    assert!(tried[0].1.is_err(), "{tried:?}");
    assert_eq!(server.received().len() + other.received().len(), 0);
    let unknown = options.try_channels(Some("phnoe")).await.unwrap_err();
    assert!(unknown.message().contains("there are `phone`"), "{unknown}");
}
