//! Accepted tokens: the operator's token, clients' tokens, and what their files may look like.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use http::Method;
use serde_json::json;
use tempfile::TempDir;
use toolcrib_server::auth::{Clients, ClientsError, Tokens, operator_token, remove_clients};

use crate::harness::{OPERATOR, Scene};

fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn open(home: &Path) -> Result<Tokens, String> {
    Tokens::open(home, None, Clients::of_home(home)).map_err(|error| error.to_string())
}

fn put_token(home: &Path, text: &str, mode: u32) {
    let path = home.join("token");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_first_start_makes_a_token_for_its_owner_alone() {
    let home = home();
    let inside = home.path().join("new");
    open(&inside).unwrap();
    let mode = std::fs::metadata(inside.join("token"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let token = operator_token(&inside).unwrap().unwrap();
    assert_eq!(token.len(), 43);
    open(&inside).unwrap();
    assert_eq!(
        operator_token(&inside).unwrap().unwrap(),
        token,
        "the second start keeps it"
    );
}

#[test]
fn of_two_first_starts_both_have_the_same_token() {
    let home = home();
    let path = home.path().join("new");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| open(&path).unwrap());
        }
    });
    let left: Vec<_> = std::fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.iter().filter(|name| *name == "token").count(), 1);
}

#[test]
fn a_token_file_that_cannot_be_trusted_is_refused_with_what_to_do() {
    let long = "t".repeat(40);
    for (text, mode, said) in [
        (long.as_str(), 0o644, "chmod 600"),
        (long.as_str(), 0o660, "chmod 600"),
        ("", 0o600, "remove the file"),
        ("\n", 0o600, "remove the file"),
        ("short", 0o600, "fewer than 16"),
        (&"t".repeat(600), 0o600, "more than 512"),
        ("with spaces in between it", 0o600, "no header can carry"),
        ("žžžžžžžžžžžžžžžžžžžžž", 0o600, "no header can carry"),
    ] {
        let home = home();
        put_token(home.path(), text, mode);
        let error = open(home.path()).unwrap_err();
        assert!(error.contains(said), "{text} {mode:o}: {error}");
    }
    let home = home();
    put_token(home.path(), &long, 0o600);
    std::fs::rename(home.path().join("token"), home.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(home.path().join("elsewhere"), home.path().join("token")).unwrap();
    assert!(open(home.path()).unwrap_err().contains("a link"));
    std::fs::remove_file(home.path().join("token")).unwrap();
    std::fs::create_dir(home.path().join("token")).unwrap();
    assert!(
        open(home.path())
            .unwrap_err()
            .contains("not a regular file")
    );
}

#[test]
fn a_given_token_must_be_long_enough_and_leaves_the_home_alone() {
    let home = home();
    let given = |token: &str| {
        Tokens::open(
            home.path(),
            Some(token.to_owned()),
            Clients::of_home(home.path()),
        )
    };
    for bad in [
        "",
        "fifteen-letters",
        "a token with spaces in it",
        &"t".repeat(513),
    ] {
        let error = given(bad).unwrap_err().to_string();
        assert!(error.contains("TOOLCRIB_TOKEN"), "{error}");
        assert!(
            bad.is_empty() || !error.contains(bad),
            "the token is not repeated: {error}"
        );
    }
    given("sixteen-letters!").unwrap();
    assert!(!home.path().join("token").exists());
}

#[tokio::test]
async fn only_a_good_token_gets_in() {
    let scene = Scene::new();
    let status = async |value: &str| {
        let asking = scene.as_nobody().header("authorization", value);
        let response = asking.raw(Method::GET, "/api/clients", "", None).await;
        if response.status() == 401 {
            let challenge = response.headers()["www-authenticate"].to_str().unwrap();
            assert!(challenge.starts_with("Bearer"));
        }
        response.status().as_u16()
    };
    for good in [
        format!("Bearer {OPERATOR}"),
        format!("bearer {OPERATOR}"),
        format!("BEARER {OPERATOR}"),
    ] {
        assert_eq!(status(&good).await, 200, "{good}");
    }
    for bad in [
        "".to_owned(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        OPERATOR.to_owned(),
        format!("Bearer  {OPERATOR}"),
        format!("Bearer {OPERATOR} "),
        format!("Bearer {OPERATOR}x"),
        format!("Bearer {}", &OPERATOR[1..]),
        format!("Bearer {}", OPERATOR.to_uppercase()),
        format!("Basic {OPERATOR}"),
        format!("Bearer {OPERATOR},{OPERATOR}"),
        format!("Bearer {}", "x".repeat(100_000)),
    ] {
        assert_eq!(status(&bad).await, 401, "{}", &bad[..bad.len().min(60)]);
    }
    assert_eq!(scene.as_nobody().get("/api/clients").await.0, 401);
}

#[tokio::test]
async fn two_tokens_in_one_request_are_none() {
    let scene = Scene::new();
    let request = http::Request::get("/api/clients")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {OPERATOR}"))
        .header("authorization", "Bearer something-else-entirely")
        .body(http_body_util::Full::new(bytes::Bytes::new()))
        .unwrap();
    let response = scene
        .api
        .answer(request, toolcrib_server::api::Peer::Local)
        .await;
    assert_eq!(response.status(), 401);
}

#[tokio::test]
async fn clients_are_made_listed_and_removed() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let (status, made) = operator.post("/api/clients", json!({"name": "app"})).await;
    assert_eq!(status, 201);
    assert_eq!(made["name"], "app");
    let token = made["token"].as_str().unwrap().to_owned();
    let (status, listed) = operator.get("/api/clients").await;
    assert_eq!(status, 200);
    assert_eq!(
        listed,
        json!({"clients": [{"name": "app", "createdAt": made["createdAt"], "elicitation": false}]})
    );
    let client = scene.with_token(&token);
    assert_eq!(client.get("/api/openapi.json").await.0, 200);
    for (method, path) in [
        (Method::GET, "/api/clients"),
        (Method::POST, "/api/clients"),
        (Method::DELETE, "/api/clients/app"),
    ] {
        let (status, body) = client.send(method, path, None).await;
        assert_eq!(
            (status.as_u16(), body["error"]["code"].as_str()),
            (403, Some("FORBIDDEN"))
        );
    }
    assert_eq!(operator.delete("/api/clients/app").await.0, 204);
    assert_eq!(
        client.get("/api/openapi.json").await.0,
        401,
        "at its next request"
    );
    let (status, body) = operator.delete("/api/clients/app").await;
    assert_eq!(
        (status.as_u16(), body["error"]["code"].as_str()),
        (404, Some("NOT_FOUND"))
    );
}

#[tokio::test]
async fn a_client_that_another_process_removes_is_refused_at_once() {
    let scene = Scene::new();
    // As another process has it: nothing is shared but the file.
    let elsewhere = Clients::of_home(&scene.home());
    let token = elsewhere.add("app").unwrap().token;
    let client = scene.with_token(&token);
    for _ in 0..3 {
        assert_eq!(client.get("/api/openapi.json").await.0, 200);
    }
    remove_clients(scene.api.crib(), &elsewhere, &["app".to_owned()]).unwrap();
    assert_eq!(client.get("/api/openapi.json").await.0, 401);
    let again = elsewhere.add("app").unwrap().token;
    assert_eq!(
        client.get("/api/openapi.json").await.0,
        401,
        "the old token stays out"
    );
    assert_eq!(
        scene.with_token(&again).get("/api/openapi.json").await.0,
        200
    );
}

#[tokio::test]
async fn a_name_is_taken_once_and_is_plain() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    assert_eq!(
        operator
            .post("/api/clients", json!({"name": "app"}))
            .await
            .0,
        201
    );
    let (status, body) = operator.post("/api/clients", json!({"name": "app"})).await;
    assert_eq!(
        (status.as_u16(), body["error"]["code"].as_str()),
        (409, Some("CONFLICT"))
    );
    for bad in ["", ".", "..", "a b", "a/b", "ä", "a\u{0}", &"a".repeat(65)] {
        let (status, _) = operator.post("/api/clients", json!({"name": bad})).await;
        assert_eq!(status, 400, "{bad:?}");
    }
    assert_eq!(
        operator
            .post("/api/clients", json!({"name": "a".repeat(64)}))
            .await
            .0,
        201
    );
}

#[test]
fn of_many_who_add_one_name_one_wins() {
    let home = home();
    let clients: Vec<Clients> = (0..8).map(|_| Clients::of_home(home.path())).collect();
    let made: Vec<Result<_, ClientsError>> = std::thread::scope(|scope| {
        let adding: Vec<_> = clients
            .iter()
            .map(|clients| scope.spawn(|| clients.add("app")))
            .collect();
        adding
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1);
    let others = made.iter().filter_map(|made| made.as_ref().err());
    assert!(
        others
            .into_iter()
            .all(|error| matches!(error, ClientsError::Exists(_)))
    );
    assert_eq!(clients[0].list().unwrap().len(), 1);
}

#[test]
fn the_file_holds_no_token_and_is_for_its_owner_alone() {
    let home = home();
    let made = Clients::of_home(home.path()).add("app").unwrap();
    let path = home.path().join("clients.json");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains(&made.token), "{text}");
    assert!(!format!("{made:?}").contains(&made.token));
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn what_other_versions_wrote_survives() {
    let home = home();
    let clients = Clients::of_home(home.path());
    clients.add("a").unwrap();
    let path = home.path().join("clients.json");
    let mut kept: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    kept["later"] = json!({"x": 1});
    kept["clients"][0]["scope"] = json!("all");
    std::fs::write(&path, kept.to_string()).unwrap();
    clients.add("b").unwrap();
    let now: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(now["later"], json!({"x": 1}));
    assert_eq!(now["clients"][0]["scope"], "all");
}

/// A user who can write the list can make their own client.
#[tokio::test]
async fn a_list_of_clients_that_others_may_write_lets_no_one_in() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::new();
    let client = scene.as_client("agent");
    let path = scene.home().join("clients.json");
    for (mode, status) in [(0o600, 200), (0o620, 401), (0o602, 401), (0o644, 200)] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let answer = client.get("/api/openapi.json").await;
        assert_eq!(answer.0, status, "{mode:o}: {answer:?}");
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o620)).unwrap();
    let (_, refused) = scene.as_operator().get("/api/clients").await;
    assert!(refused.to_string().contains("chmod go-w"), "{refused}");
}

#[tokio::test]
async fn a_damaged_list_of_clients_keeps_them_out_and_the_operator_in() {
    let scene = Scene::new();
    let client = scene.as_client("app");
    assert_eq!(client.get("/api/openapi.json").await.0, 200);
    let path = scene.home().join("clients.json");
    let good = std::fs::read(&path).unwrap();
    for bad in [
        "{",
        "[]",
        "{\"clients\": [{\"name\": \"app\"}]}",
        "{\"clients\": [{\"name\": \"app\", \"createdAt\": \"2026-01-01T00:00:00Z\", \"digest\": \"12\"}]}",
    ] {
        std::fs::write(&path, bad).unwrap();
        assert_eq!(client.get("/api/openapi.json").await.0, 401, "{bad}");
        let operator = scene.as_operator();
        assert_eq!(operator.get("/api/openapi.json").await.0, 200);
        for (status, body) in [
            operator.get("/api/clients").await,
            operator.post("/api/clients", json!({"name": "b"})).await,
        ] {
            assert_eq!(
                (status.as_u16(), body["error"]["code"].as_str()),
                (500, Some("STORAGE_ERROR")),
                "{bad}"
            );
            let message = body["error"]["message"].as_str().unwrap();
            assert!(
                message.contains("clients.json") && message.contains("mend it"),
                "{message}"
            );
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            bad,
            "nothing is lost"
        );
    }
    std::fs::write(&path, good).unwrap();
    assert_eq!(
        client.get("/api/openapi.json").await.0,
        200,
        "mended, it counts again"
    );
}

#[tokio::test]
async fn clients_come_in_pages() {
    let scene = Scene::new();
    for name in ["c", "a", "b"] {
        scene.api.tokens().clients().add(name).unwrap();
    }
    let operator = scene.as_operator();
    let (_, first) = operator.get("/api/clients?pageSize=2").await;
    let names = |page: &serde_json::Value| {
        let clients = page["clients"].as_array().unwrap().clone();
        clients
            .iter()
            .map(|client| client["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&first), ["a", "b"]);
    let token = first["nextPageToken"].as_str().unwrap();
    let (_, second) = operator
        .get(&format!("/api/clients?pageSize=2&pageToken={token}"))
        .await;
    assert_eq!(names(&second), ["c"]);
    assert_eq!(second.get("nextPageToken"), None);
}
