//! What a grant is bound to: tool, caller, workspace, session, call, time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use toolcrib::approval::grants::{Grants, Scope};
use toolcrib::approval::{Clock, Moment};
use toolcrib::{CallRequest, Caller, Effects, FnTool, Registry};

use super::{Scene, in_docs, is_covered, save, saving};

async fn granted(scope: Scope) -> (Scene, Registry) {
    let scene = Scene::new();
    let registry = scene.registry();
    scene.grant_next(in_docs(), |mut grant| {
        grant.scope = scope;
        grant
    });
    let outcome = registry.execute(saving("docs/a.md")).await;
    let made = outcome.approval.unwrap().grant.unwrap();
    assert!(!made.starts_with("not made"), "{made}");
    (scene, registry)
}

#[tokio::test]
async fn another_caller_is_asked_about() {
    let (_scene, registry) = granted(Scope::User).await;
    assert!(is_covered(&registry, saving("docs/a.md")).await);
    assert!(!is_covered(&registry, saving("docs/a.md").caller(Caller::Cli)).await);
}

#[tokio::test]
async fn a_tool_that_changed_is_asked_about() {
    let (scene, registry) = granted(Scope::User).await;
    assert!(is_covered(&registry, saving("docs/a.md")).await);
    registry.unregister("save").unwrap();
    let changed = save(&scene.runs).effects(Effects::WRITE.and(Effects::RUN));
    registry.register(changed).unwrap();
    assert!(!is_covered(&registry, saving("docs/a.md")).await);
}

#[tokio::test]
async fn scopes_reach_as_far_as_they_say() {
    for (scope, other_session, other_workspace) in [
        (Scope::Session, false, false),
        (Scope::Project, true, false),
        (Scope::User, true, true),
    ] {
        let (scene, registry) = granted(scope).await;
        assert!(
            is_covered(&registry, saving("docs/a.md")).await,
            "{scope:?}"
        );
        let session = scene.builder(scene.workspace.path()).session("session-2");
        let session = scene.with(session);
        assert_eq!(
            is_covered(&session, saving("docs/a.md")).await,
            other_session,
            "{scope:?}"
        );
        let elsewhere = TempDir::new().unwrap();
        let workspace = scene.with(scene.builder(elsewhere.path()));
        assert_eq!(
            is_covered(&workspace, saving("docs/a.md")).await,
            other_workspace,
            "{scope:?}"
        );
    }
}

#[tokio::test]
async fn a_grant_for_a_call_covers_what_it_calls_and_ends_with_it() {
    let scene = Scene::new();
    let registry = scene.registry();
    let tool = FnTool::new("many", "Saves many", |(), cx| async move {
        let mut oks = 0;
        for name in ["docs/a", "docs/b", "docs/c"] {
            oks += u32::from(cx.call(saving(name)).await.is_ok());
        }
        Ok(oks)
    });
    registry.register(tool.unwrap()).unwrap();
    scene.grant_next(in_docs(), |mut grant| {
        grant.scope = Scope::Call;
        grant
    });
    let outcome = registry.execute(CallRequest::new("many")).await;
    assert_eq!(outcome.value(), Some(&json!(3)));
    assert_eq!(scene.asked(), 1);
    let outcome = registry.execute(CallRequest::new("many")).await;
    assert_eq!(outcome.value(), Some(&json!(0)), "another call");
    assert!(!is_covered(&registry, saving("docs/a")).await);
}

#[tokio::test]
async fn a_short_grant_ends_by_a_clock_that_no_one_sets_and_with_the_boot() {
    let scene = Scene::new();
    let moment = |boot: &str, ms| Moment {
        boot: boot.to_owned(),
        ms,
    };
    let now = Arc::new(Mutex::new(moment("first", 1000)));
    let clock = Arc::clone(&now);
    let grants = Grants::with_clock(
        scene.home.path().join("grants"),
        Clock::by(move || clock.lock().unwrap().clone()),
    );
    let registry = scene.with(scene.builder(scene.workspace.path()).grants(grants.clone()));
    scene.grant_next(in_docs(), |grant| grant.lasting(Duration::from_secs(60)));
    assert!(registry.execute(saving("docs/a")).await.is_ok());
    *now.lock().unwrap() = moment("first", 60_999);
    assert!(is_covered(&registry, saving("docs/a")).await);
    *now.lock().unwrap() = moment("second", 2000);
    assert!(!is_covered(&registry, saving("docs/a")).await);
    *now.lock().unwrap() = moment("first", 61_000);
    assert!(!is_covered(&registry, saving("docs/a")).await);
    assert_eq!(grants.list().unwrap().grants, []);
}
