//! The files of grants, and processes that use one at once.

use std::path::PathBuf;
use toolcrib::approval::grants::GrantStore as _;

use serde_json::{Value, json};
use toolcrib::approval::grants::{Grant, GrantError, Grants};

use super::{Scene, in_docs, is_covered, saving};
use crate::storage::modes_below;
use crate::syscalls::test_in_child;

fn grant(id: &str, max_uses: Option<u64>) -> Grant {
    serde_json::from_value(json!({
        "id": id, "tool": "app/save@v1", "toolDigest": "d", "shape": in_docs(), "scope": "user",
        "caller": "library", "expiresAt": "2999-01-01T00:00:00Z", "maxUses": max_uses,
        "createdAt": "2026-01-01T00:00:00Z",
    }))
    .unwrap()
}

const FIRST: &str = "01940000-0000-7000-8000-00000000000a";
const SECOND: &str = "01940000-0000-7000-8000-00000000000b";

#[test]
fn grants_are_private_files_with_names_of_our_own() {
    let scene = Scene::new();
    let grants = scene.grants();
    assert_eq!(grants.list().unwrap().grants, [], "and nothing is created");
    assert!(!scene.home.path().join("grants").exists());
    grants.add(grant(FIRST, None)).unwrap();
    grants.add(grant(SECOND, None)).unwrap();
    assert!(grants.add(grant(FIRST, None)).is_err(), "taken");
    assert!(grants.add(grant("../escape", None)).is_err());
    for (name, mode) in modes_below(scene.home.path()) {
        let expected = if name.contains('.') { 0o600 } else { 0o700 };
        assert_eq!(mode & 0o777, expected, "{name}");
    }
    assert!(matches!(
        grants.revoke("0194"),
        Err(GrantError::Ambiguous { count: 2, .. })
    ));
    assert!(matches!(
        grants.revoke("../x"),
        Err(GrantError::NotFound { .. })
    ));
    assert_eq!(grants.revoke("000b").unwrap().id, SECOND);
    assert!(!grants.spend(SECOND).unwrap());
    assert!(grants.spend(FIRST).unwrap());
    let left = grants.list().unwrap().grants;
    assert_eq!((left.len(), left[0].uses), (1, 1));
}

/// What the slowest of several identical calls does, when others have used up the grant of the answer they share and a third
/// party has had what is over removed.
#[tokio::test]
async fn a_grant_that_is_over_is_not_made_again_by_the_same_answer() {
    for end in ["used up", "revoked"] {
        let scene = Scene::new();
        let grants = scene.grants();
        let registry = scene.registry();
        let question = uuid::Uuid::now_v7().to_string();
        scene.grant_next(in_docs(), |grant| grant.uses(1));
        let first = registry.execute(saving("docs/a")).await;
        let made = first.approval.unwrap().grant.unwrap();
        let answered = Grant {
            id: question.clone(),
            ..grants.find(&made).unwrap()
        };
        grants.revoke(&made).unwrap();

        grants.add(answered.clone()).unwrap();
        match end {
            "used up" => assert!(is_covered(&registry, saving("docs/b")).await),
            _ => drop(grants.revoke(&question).unwrap()),
        }
        grants.add(grant(FIRST, None)).unwrap();
        assert!(grants.add(answered).is_err(), "{end}");
        assert!(!is_covered(&registry, saving("docs/c")).await, "{end}");
        let list = grants.list_all().unwrap();
        assert_eq!((list.grants.len(), list.damaged.len()), (1, 0), "{end}");
    }
}

#[test]
fn what_is_left_of_a_grant_goes_with_the_time_its_answer_had() {
    let scene = Scene::new();
    let grants = scene.grants();
    grants.add(grant(FIRST, None)).unwrap();
    grants.revoke(FIRST).unwrap();
    let left = scene.home.path().join(format!("grants/{FIRST}.over"));
    assert!(left.exists());
    grants.add(grant(SECOND, None)).unwrap();
    assert!(!left.exists(), "its id is of long ago");
}

#[tokio::test]
async fn damaged_grants_cover_nothing_and_concern_no_one_else() {
    let scene = Scene::new();
    let registry = scene.registry();
    scene.grant_next(in_docs(), |grant| grant);
    assert!(registry.execute(saving("docs/a")).await.is_ok());
    let directory = scene.home.path().join("grants");
    std::fs::write(directory.join(format!("{FIRST}.json")), "{").unwrap();
    // A copy under another name is not another grant.
    let copy = serde_json::to_vec(&grant(FIRST, None)).unwrap();
    std::fs::write(directory.join(format!("{SECOND}.json")), copy).unwrap();
    let list = scene.grants().list().unwrap();
    assert_eq!((list.grants.len(), list.damaged.len()), (1, 2));
    assert!(is_covered(&registry, saving("docs/a")).await);
}

#[test]
fn what_a_newer_toolcrib_wrote_survives_a_use() {
    let scene = Scene::new();
    let grants = scene.grants();
    grants.add(grant(FIRST, None)).unwrap();
    let path = scene.home.path().join(format!("grants/{FIRST}.json"));
    let mut stored: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    stored["mood"] = json!({"good": [1, 2]});
    std::fs::write(&path, stored.to_string()).unwrap();
    assert!(grants.spend(FIRST).unwrap());
    let after: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    stored["uses"] = json!(1);
    assert_eq!(after, stored);
}

/// The other side of the test below. On its own it does nothing.
#[test]
fn child() {
    let Some(home) = std::env::var_os("TOOLCRIB_TEST_GRANTS").map(PathBuf::from) else {
        return;
    };
    let grants = Grants::at(home.join("grants"));
    let mut spent = 0;
    for _ in 0..10 {
        spent += u8::from(grants.spend(FIRST).unwrap());
    }
    let name = format!("spent-{}", std::process::id());
    std::fs::write(home.join(name), spent.to_string()).unwrap();
}

#[test]
fn sixteen_processes_at_once_use_a_grant_as_often_as_it_says() {
    let scene = Scene::new();
    scene.grants().add(grant(FIRST, Some(50))).unwrap();
    let children: Vec<_> = (0..16)
        .map(|_| {
            let mut command = test_in_child("grants::store::child");
            command.env("TOOLCRIB_TEST_GRANTS", scene.home.path());
            command.spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let mut spent = 0;
    for entry in std::fs::read_dir(scene.home.path()).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("spent-") {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            spent += text.parse::<u32>().unwrap();
        }
    }
    assert_eq!(spent, 50);
    assert_eq!(scene.grants().find(FIRST).unwrap().uses, 50);
    assert_eq!(scene.grants().list().unwrap().grants, []);
}
