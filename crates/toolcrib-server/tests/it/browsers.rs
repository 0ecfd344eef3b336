//! Signing a browser in to the web admin, and everything that must not sign one in.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use toolcrib_server::auth::Hosts;

use crate::harness::{Asking, OPERATOR, Scene};

/// What a browser that signed in sends.
struct Browser {
    id: String,
    cookie: String,
    key: String,
}

/// A server that is reached as `localhost`.
fn scene() -> Scene {
    Scene::with_api(|mut options| {
        options.hosts = Hosts::new(["localhost".to_owned()], [], None).unwrap();
        options
    })
}

async fn code(scene: &Scene) -> String {
    let (status, issued) = scene.as_operator().post_nothing("/api/browser-codes").await;
    assert_eq!(status, 201);
    let code = issued["code"].as_str().unwrap().to_owned();
    assert_eq!(issued["path"], format!("/ui/#code={code}"));
    assert_eq!(issued["lastsSeconds"], 600);
    code
}

fn page(scene: &Scene) -> Asking<'_> {
    scene
        .as_nobody()
        .header("origin", "http://localhost")
        .header("sec-fetch-site", "same-origin")
}

async fn sign_in(scene: &Scene) -> Browser {
    let asking = page(scene).header("toolcrib-code", &code(scene).await);
    let response = asking.raw(Method::POST, "/api/browsers", "", None).await;
    assert_eq!(response.status(), 201);
    let cookie = response.headers()["set-cookie"]
        .to_str()
        .unwrap()
        .to_owned();
    for part in [
        "; HttpOnly",
        "; SameSite=Strict",
        "; Path=/",
        "; Max-Age=2592000",
    ] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let bytes = http_body_util::BodyExt::collect(response.into_body())
        .await
        .unwrap()
        .to_bytes();
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    Browser {
        id: body["id"].as_str().unwrap().to_owned(),
        cookie: cookie.split(';').next().unwrap().to_owned(),
        key: body["key"].as_str().unwrap().to_owned(),
    }
}

fn signed_in<'a>(scene: &'a Scene, browser: &Browser) -> Asking<'a> {
    page(scene)
        .header("cookie", &browser.cookie)
        .header("toolcrib-key", &browser.key)
}

fn is(answer: &(StatusCode, Value), status: u16, code: &str) {
    assert_eq!(
        (answer.0.as_u16(), answer.1["error"]["code"].as_str()),
        (status, Some(code)),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_browser_that_signed_in_is_the_operator() {
    let scene = scene();
    let browser = sign_in(&scene).await;
    let asking = signed_in(&scene, &browser);
    assert_eq!(asking.get("/api/approvals").await.0, 200);
    let made = asking.post("/api/clients", json!({"name": "app"})).await;
    assert_eq!(made.0, 201);
    let (_, list) = asking.get("/api/browsers").await;
    assert_eq!(list["browsers"][0]["id"], browser.id);
    assert_eq!(list["browsers"][0]["current"], true);
    let (_, list) = scene.as_operator().get("/api/browsers").await;
    assert_eq!(list["browsers"][0]["current"], false);
    let kept = std::fs::read_to_string(scene.home().join("browsers.json")).unwrap();
    let cookie = browser.cookie.split_once('=').unwrap().1;
    assert!(
        !kept.contains(cookie) && !kept.contains(&browser.key),
        "{kept}"
    );
}

#[tokio::test]
async fn a_code_signs_in_once() {
    let scene = scene();
    let code = code(&scene).await;
    let asking = page(&scene).header("toolcrib-code", &code);
    assert_eq!(asking.post_nothing("/api/browsers").await.0, 201);
    is(&asking.post_nothing("/api/browsers").await, 410, "GONE");
    for wrong in ["", "x", OPERATOR, &"A".repeat(43), &format!("{code}=")] {
        let asking = page(&scene).header("toolcrib-code", wrong);
        is(
            &asking.post_nothing("/api/browsers").await,
            401,
            "UNAUTHENTICATED",
        );
    }
    is(
        &page(&scene).post_nothing("/api/browsers").await,
        400,
        "USAGE",
    );
}

#[tokio::test]
async fn a_page_of_another_origin_cannot_use_a_code_and_does_not_use_it_up() {
    let scene = Scene::with_api(|mut options| {
        let origins = ["https://app.example".to_owned()];
        options.hosts = Hosts::new(["localhost".to_owned()], origins, None).unwrap();
        options
    });
    let code = code(&scene).await;
    for (origin, site) in [
        ("https://app.example", "cross-site"),
        ("https://app.example", "same-origin"),
        ("http://localhost:3000", "same-site"),
    ] {
        let asking = scene
            .as_nobody()
            .header("origin", origin)
            .header("sec-fetch-site", site)
            .header("toolcrib-code", &code);
        is(
            &asking.post_nothing("/api/browsers").await,
            403,
            "FORBIDDEN",
        );
    }
    let without = scene.as_nobody().header("toolcrib-code", &code);
    is(
        &without.post_nothing("/api/browsers").await,
        403,
        "FORBIDDEN",
    );
    let asking = page(&scene).header("toolcrib-code", &code);
    assert_eq!(asking.post_nothing("/api/browsers").await.0, 201);
}

#[tokio::test]
async fn a_cookie_without_its_key_and_a_key_without_its_cookie_are_nothing() {
    let scene = scene();
    let (one, other) = (sign_in(&scene).await, sign_in(&scene).await);
    let cookie_alone = page(&scene).header("cookie", &one.cookie);
    is(
        &cookie_alone.get("/api/approvals").await,
        401,
        "UNAUTHENTICATED",
    );
    let key_alone = page(&scene).header("toolcrib-key", &one.key);
    is(
        &key_alone.get("/api/approvals").await,
        401,
        "UNAUTHENTICATED",
    );
    let mixed = Browser {
        key: other.key.clone(),
        ..one
    };
    let asking = signed_in(&scene, &mixed);
    is(&asking.get("/api/approvals").await, 401, "UNAUTHENTICATED");
    // Another server on this machine may set a cookie of the same name: the right one is still found.
    let name = other.cookie.split_once('=').unwrap().0;
    let both = format!("theme=dark; {name}=planted; {}", other.cookie);
    let asking = page(&scene)
        .header("cookie", &both)
        .header("toolcrib-key", &other.key);
    assert_eq!(asking.get("/api/approvals").await.0, 200);
}

#[tokio::test]
async fn what_changes_something_proves_its_origin() {
    let scene = scene();
    let browser = sign_in(&scene).await;
    let bare = || {
        scene
            .as_nobody()
            .header("cookie", &browser.cookie)
            .header("toolcrib-key", &browser.key)
    };
    assert_eq!(bare().get("/api/approvals").await.0, 200);
    let body = json!({"name": "app"});
    is(
        &bare().post("/api/clients", body.clone()).await,
        403,
        "FORBIDDEN",
    );
    let elsewhere = bare().header("origin", "http://localhost:9999");
    is(
        &elsewhere.post("/api/clients", body.clone()).await,
        403,
        "FORBIDDEN",
    );
    is(&elsewhere.get("/api/approvals").await, 403, "FORBIDDEN");
    let (_, clients) = scene.as_operator().get("/api/clients").await;
    assert_eq!(clients["clients"], json!([]));
}

#[tokio::test]
async fn a_wrong_token_is_refused_although_the_browser_is_signed_in() {
    let scene = scene();
    let browser = sign_in(&scene).await;
    let client = scene.as_client("app");
    let with = |token: &str| {
        signed_in(&scene, &browser).header("authorization", &format!("Bearer {token}"))
    };
    is(
        &with("of-another-server").get("/api/approvals").await,
        401,
        "UNAUTHENTICATED",
    );
    is(
        &with(client.token()).get("/api/approvals").await,
        403,
        "FORBIDDEN",
    );
}

#[tokio::test]
async fn a_client_issues_no_codes_and_signs_no_one_out() {
    let scene = scene();
    let browser = sign_in(&scene).await;
    let client = scene.as_client("app");
    is(
        &client.post_nothing("/api/browser-codes").await,
        403,
        "FORBIDDEN",
    );
    let path = format!("/api/browsers/{}", browser.id);
    is(&client.delete(&path).await, 403, "FORBIDDEN");
    assert_eq!(signed_in(&scene, &browser).delete(&path).await.0, 204);
    is(
        &signed_in(&scene, &browser).get("/api/approvals").await,
        401,
        "UNAUTHENTICATED",
    );
    is(&scene.as_operator().delete(&path).await, 404, "NOT_FOUND");
}

#[tokio::test]
async fn a_browser_stays_signed_in_over_a_restart_and_not_over_another_token() {
    use toolcrib_server::auth::{Clients, Tokens};
    let scene = scene();
    let browser = sign_in(&scene).await;
    let mut headers = http::HeaderMap::new();
    headers.insert("host", "localhost".parse().unwrap());
    headers.insert("cookie", browser.cookie.parse().unwrap());
    headers.insert("toolcrib-key", browser.key.parse().unwrap());
    let after = |token: &str| {
        let clients = Clients::of_home(&scene.home());
        let tokens = Tokens::open(&scene.home(), Some(token.to_owned()), clients).unwrap();
        tokens.principal(&Method::GET, &headers).is_ok()
    };
    assert!(after(OPERATOR));
    assert!(!after("another-token-of-the-operator"));
}
