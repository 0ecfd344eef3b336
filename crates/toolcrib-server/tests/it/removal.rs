//! A client that is removed takes with it what was done in its name; the next client of that name has none of it.

use std::time::{Duration, Instant};

use http::Method;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use toolcrib_server::auth::{Clients, remove_clients};

use crate::harness::{Asking, Scene};

async fn made<'a>(scene: &'a Scene, name: &str) -> Asking<'a> {
    let (status, made) = scene
        .as_operator()
        .post("/api/clients", json!({"name": name}))
        .await;
    assert_eq!(status, 201, "{made}");
    scene.with_token(made["token"].as_str().unwrap())
}

/// Asks again until there is as much as expected.
async fn until(asking: &Asking<'_>, path: &str, is_there: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let (_, found) = asking.get(path).await;
        if is_there(&found) {
            return found;
        }
        assert!(Instant::now() < deadline, "{path}: {found}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn grant_for(caller: &str) -> Value {
    json!({
        "tool": "write_file",
        "shape": {"path": {"path": "**"}, "content": "any"},
        "scope": "user",
        "caller": caller,
    })
}

#[tokio::test]
async fn a_removed_client_leaves_nothing_to_the_next_of_its_name() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    std::fs::write(scene.work().join("o.txt"), "1").unwrap();
    let first = made(&scene, "carol").await;
    let (status, granted) = operator
        .post("/api/grants", grant_for("client:carol"))
        .await;
    assert_eq!(
        (status.as_u16(), &granted["caller"]),
        (201, &json!("client:carol"))
    );
    let overwrite = |content: &str| json!({"tool": "write_file", "args": {"path": "o.txt", "content": content}, "approvals": "given", "callId": format!("w-{content}")});
    let (status, done) = first.post("/api/calls", overwrite("2")).await;
    assert_eq!(status, 200, "{done}");
    let waiting = first.header("prefer", "respond-async");
    let body = json!({"tool": "delete_file", "args": {"path": "o.txt"}, "callId": "del"});
    assert_eq!(waiting.post("/api/calls", body).await.0, 202);
    let asked = until(&operator, "/api/approvals", |found| {
        found["approvals"]
            .as_array()
            .is_some_and(|all| all.len() == 1)
    })
    .await;
    let question = asked["approvals"][0]["id"].as_str().unwrap().to_owned();

    assert_eq!(operator.delete("/api/clients/carol").await.0, 204);
    assert_eq!(operator.get("/api/grants").await.1["grants"], json!([]));
    assert_eq!(
        operator.get("/api/approvals?status=pending").await.1["approvals"],
        json!([])
    );
    let digest = asked["approvals"][0]["argsDigest"].clone();
    let (late, told) = operator
        .post(
            &format!("/api/approvals/{question}"),
            json!({"approved": true, "argsDigest": digest}),
        )
        .await;
    assert_eq!(late, 409, "{told}");
    let over = until(&operator, "/api/calls/del", |call| call["status"] == "done").await;
    assert_eq!(over["outcome"]["ok"], false, "{over}");

    let second = made(&scene, "carol").await;
    let (status, refused) = second.post("/api/calls", overwrite("3")).await;
    assert_eq!(
        refused["error"]["code"], "APPROVAL_UNAVAILABLE",
        "{status} {refused}"
    );
    assert_eq!(
        std::fs::read_to_string(scene.work().join("o.txt")).unwrap(),
        "2"
    );
    for id in ["w-2", "del"] {
        let (status, call) = second.get(&format!("/api/calls/{id}")).await;
        assert_eq!(status, 404, "{call}");
    }
    let own = second.get("/api/calls").await.1;
    let ids: Vec<&Value> = own["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| &call["callId"])
        .collect();
    assert_eq!(ids, [&json!("w-3")], "{own}");
    // A grant for the name is one for its present owner.
    let (status, granted) = operator
        .post("/api/grants", grant_for("client:carol"))
        .await;
    assert_eq!(
        (status.as_u16(), &granted["caller"]),
        (201, &json!("client:carol#2"))
    );
    let mut again = overwrite("4");
    again["callId"] = json!("w-4");
    assert_eq!(second.post("/api/calls", again).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_a_removed_client_ends() {
    let scene = Scene::new();
    let eve = made(&scene, "eve").await;
    let mut stream = eve
        .raw(Method::GET, "/api/events", "", None)
        .await
        .into_body();
    assert!(stream.frame().await.is_some());
    let clients = Clients::of_home(&scene.home());
    remove_clients(scene.api.crib(), &clients, &["eve".to_owned()]).unwrap();
    let rest = tokio::time::timeout(Duration::from_secs(16), stream.frame()).await;
    assert!(matches!(rest, Ok(None)), "{rest:?}");
}

#[tokio::test]
async fn calls_of_a_client_that_another_process_removed_are_cancelled() {
    let scene = Scene::new();
    let api = scene.api.clone();
    tokio::spawn(async move { api.follow_clients().await });
    let mallory = made(&scene, "mallory")
        .await
        .header("prefer", "respond-async");
    let body = json!({"tool": "shell", "args": {"command": "sleep 60"}, "callId": "long", "approvals": "wait"});
    assert_eq!(mallory.post("/api/calls", body).await.0, 202);
    let clients = Clients::of_home(&scene.home());
    remove_clients(scene.api.crib(), &clients, &["mallory".to_owned()]).unwrap();
    let over = until(&scene.as_operator(), "/api/calls/long", |call| {
        call["status"] == "done"
    })
    .await;
    assert_eq!(over["outcome"]["ok"], false, "{over}");
}

#[tokio::test]
async fn a_file_of_clients_that_others_may_write_lets_no_one_in() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::new();
    let client = made(&scene, "app").await;
    assert_eq!(client.get("/api/calls").await.0, 200);
    let file = scene.home().join("clients.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(client.get("/api/calls").await.0, 401);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(client.get("/api/calls").await.0, 200);
}
