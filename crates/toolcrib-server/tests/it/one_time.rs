//! One-time links: what the page shows, that looking decides nothing, and that an answer counts for what was shown.

use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use serde_json::json;
use toolcrib::approval::{Queued, Status};
use toolcrib::crib::Approvals;
use toolcrib::notify::Links;

use crate::approvals::{asks, file, one_pending};
use crate::harness::{Asking, Scene};

const CHANNEL: &str =
    "[server]\nurl = 'https://crib.example.com'\n[notify.phone]\ntype = 'desktop'\n";

fn scene(settings: &str) -> Scene {
    Scene::prepared(
        tempfile::tempdir().unwrap(),
        |home, _| std::fs::write(home.join("config.toml"), settings).unwrap(),
        |options| options.approvals(Approvals::Queue { wait: None }),
    )
}

fn on() -> Scene {
    scene(&format!("{CHANNEL}oneTimeLinks = true\n"))
}

/// A question about deleting a file, and its link.
async fn question(scene: &Scene) -> (Queued, String) {
    let id = one_pending(scene).await["id"].as_str().unwrap().to_owned();
    let queued = scene.crib.approvals().show(&id).unwrap();
    let link = Links::of_home(scene.crib.home()).make(&queued, "phone");
    (queued, format!("/answer?link={}", link.unwrap().unwrap()))
}

struct Page {
    status: StatusCode,
    policy: String,
    html: String,
}

async fn page(asking: Asking<'_>, method: Method, path: &str, form: Option<&str>) -> Page {
    let form = form.map(|form| form.to_owned().into());
    let response = asking
        .raw(method, path, "application/x-www-form-urlencoded", form)
        .await;
    let header = |name: &str| {
        let value = response.headers().get(name);
        value.map_or("", |value| value.to_str().unwrap()).to_owned()
    };
    let (status, policy) = (response.status(), header("content-security-policy"));
    assert_eq!(header("cache-control"), "no-store");
    if !policy.is_empty() {
        assert_eq!(header("referrer-policy"), "same-origin");
    }
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let html = String::from_utf8(bytes.to_vec()).unwrap();
    Page {
        status,
        policy,
        html,
    }
}

#[tokio::test]
async fn looking_decides_nothing_and_shows_everything() {
    let scene = on();
    file(&scene, "<b>a&.txt");
    let call = asks(&scene, "delete_file", json!({"path": "<b>a&.txt"}));
    let (queued, path) = question(&scene).await;
    for method in [Method::GET, Method::HEAD, Method::GET] {
        let shown = page(scene.as_nobody(), method.clone(), &path, None).await;
        assert_eq!(shown.status, 200);
        if method == Method::HEAD {
            continue;
        }
        for part in [
            "delete_file (core v1)",
            "&lt;b&gt;a&amp;.txt",
            &queued.request.id,
            "Asked because",
            "name=\"decision\" value=\"approve\"",
        ] {
            assert!(shown.html.contains(part), "{part}: {}", shown.html);
        }
        assert!(!shown.html.contains("<b>a&.txt") && !shown.html.contains("<script"));
        assert!(
            shown.policy.contains("default-src 'none'")
                && shown.policy.contains("form-action 'self'")
        );
    }
    let after = scene.crib.approvals().show(&queued.request.id).unwrap();
    assert_eq!(after.status, Status::Pending);
    assert!(scene.work().join("<b>a&.txt").exists());
    drop(call);
}

#[tokio::test]
async fn an_answer_is_given_once_and_named_after_its_channel() {
    let scene = on();
    file(&scene, "a.txt");
    let call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let (_, path) = question(&scene).await;
    // A form with neither is not an answer.
    for form in ["", "decision=maybe", "decision=approve&decision=deny"] {
        let odd = page(scene.as_nobody(), Method::POST, &path, Some(form)).await;
        assert_eq!(odd.status, 400, "{form}: {}", odd.html);
    }
    let done = page(
        scene.as_nobody(),
        Method::POST,
        &path,
        Some("decision=deny&reason=not+today"),
    )
    .await;
    assert_eq!(done.status, 200, "{}", done.html);
    assert!(
        done.html.contains("<h1>Denied</h1>") && done.html.contains("one-time link of `phone`")
    );
    let outcome = call.outcome().await;
    assert!(
        outcome.error().unwrap().message().contains("not today"),
        "{outcome:?}"
    );
    assert!(scene.work().join("a.txt").exists());
    let again = page(
        scene.as_nobody(),
        Method::POST,
        &path,
        Some("decision=approve"),
    )
    .await;
    assert_eq!(again.status, 409, "{}", again.html);
    let seen = page(scene.as_nobody(), Method::GET, &path, None).await;
    assert!(
        seen.status == 200 && seen.html.contains("<h1>Denied</h1>"),
        "{}",
        seen.html
    );
    assert!(!seen.html.contains("<form"));
}

#[tokio::test]
async fn an_approval_runs_the_call_from_the_servers_own_page() {
    let scene = on();
    file(&scene, "a.txt");
    let call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let (_, path) = question(&scene).await;
    let elsewhere = scene
        .as_nobody()
        .header("origin", "https://evil.example.com");
    let refused = page(elsewhere, Method::POST, &path, Some("decision=approve")).await;
    assert_eq!(refused.status, 403, "{}", refused.html);
    let done = page(
        scene.as_nobody(),
        Method::POST,
        &path,
        Some("decision=approve"),
    )
    .await;
    assert!(
        done.status == 200 && done.html.contains("<h1>Approved</h1>"),
        "{}",
        done.html
    );
    assert!(call.outcome().await.is_ok());
    assert!(!scene.work().join("a.txt").exists());
}

#[tokio::test]
async fn a_link_is_bound_to_what_its_question_showed_and_to_this_home() {
    let scene = on();
    file(&scene, "a.txt");
    let call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let (mut queued, path) = question(&scene).await;
    queued.request.args_digest.push('x');
    let other = Links::of_home(scene.crib.home())
        .make(&queued, "phone")
        .unwrap();
    let other = format!("/answer?link={}", other.unwrap());
    let of_another_home = tempfile::tempdir().unwrap();
    let foreign = Links::of_home(of_another_home.path()).make(&queued, "phone");
    let foreign = format!("/answer?link={}", foreign.unwrap().unwrap());
    let unknown_channel = Links::of_home(scene.crib.home()).make(&queued, "pager");
    let unknown_channel = format!("/answer?link={}", unknown_channel.unwrap().unwrap());
    queued.request.expires_at = Some(Timestamp::UNIX_EPOCH);
    let old = Links::of_home(scene.crib.home()).make(&queued, "phone");
    let old = format!("/answer?link={}", old.unwrap().unwrap());
    for (path, status) in [
        (other.as_str(), 409),
        (&foreign, 403),
        (&unknown_channel, 403),
        (&old, 403),
        ("/answer?link=", 403),
        ("/answer", 403),
        (&path.replace("link=", "link=A"), 403),
    ] {
        for (method, form) in [
            (Method::GET, None),
            (Method::POST, Some("decision=approve")),
        ] {
            let refused = page(scene.as_nobody(), method, path, form).await;
            assert_eq!(refused.status, status, "{path}: {}", refused.html);
        }
    }
    assert!(scene.work().join("a.txt").exists());
    drop(call);
}

#[tokio::test]
async fn where_links_are_switched_off_those_that_were_sent_are_dead() {
    let scene = scene(CHANNEL);
    file(&scene, "a.txt");
    let call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let (_, path) = question(&scene).await;
    let refused = page(
        scene.as_nobody(),
        Method::POST,
        &path,
        Some("decision=approve"),
    )
    .await;
    assert_eq!(refused.status, 403);
    assert!(refused.html.contains("switched off"), "{}", refused.html);
    assert!(scene.work().join("a.txt").exists());
    drop(call);
}
