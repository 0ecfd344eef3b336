//! Whole bundles in one step.

use super::*;
use crate::model::ids::ToolId;

pub(super) fn bundle(id: BundleId, name: &str) -> Bundle {
    serde_json::from_value(json!({
        "bundleID": id, "slug": name, "isEnabled": false, "isBuiltIn": true,
        "createdAt": "2000-01-01T00:00:00Z", "modifiedAt": "2000-01-01T00:00:00Z",
        "importedAt": "2026-01-01T00:00:00Z",
    }))
    .unwrap()
}

fn tools(id: BundleId, names: &[&str]) -> Vec<ToolManifest> {
    names
        .iter()
        .map(|name| manifest(&key(id, name, "v1")))
        .collect()
}

#[test]
fn a_bundle_comes_with_all_its_tools_and_the_times_of_the_store() {
    let place = TestHome::new();
    let (store, other) = (place.store(), place.store());
    other.changes(Look::Glance).unwrap();
    let id = BundleId::generate();
    // They say that they are of another bundle, and built in.
    let mut given = tools(BundleId::generate(), &["a", "b"]);
    given[0].is_built_in = true;
    let view = store
        .install(bundle(id, "acme"), given.clone(), Install::New)
        .unwrap();
    assert_eq!(view.tools, 2);
    assert_eq!(view.bundle.created_at, place.now());
    assert!(!view.bundle.is_built_in && !view.bundle.is_enabled);
    assert_eq!(view.bundle.extra["importedAt"], "2026-01-01T00:00:00Z");
    let changes = other.changes(Look::Glance).unwrap();
    assert_eq!((changes.bundles.len(), changes.tools.len()), (1, 2));
    let tool = other.tool(&key(id, "a", "v1")).unwrap();
    assert_eq!(tool.head.created_at, place.now());
    assert_eq!(tool.head.tool_id, given[0].tool_id);
    assert!(!tool.manifest().unwrap().is_built_in);
    assert!(store.changes(Look::Thorough).unwrap().damage.eq(&false));
    // Again it is refused, with other ids for what is there already.
    let error = store
        .install(bundle(id, "acme"), given.clone(), Install::New)
        .unwrap_err();
    assert!(matches!(error, StoreError::BundleTaken { .. }), "{error:?}");
    let copy = BundleId::generate();
    let error = store
        .install(bundle(copy, "acme"), given.clone(), Install::New)
        .unwrap_err();
    assert!(matches!(error, StoreError::SlugTaken { .. }), "{error:?}");
    store
        .install(bundle(copy, "copy"), given.clone(), Install::New)
        .unwrap();
    assert_ne!(
        store.tool(&key(copy, "a", "v1")).unwrap().head.tool_id,
        given[0].tool_id
    );
    assert!(place.store().damage().is_empty());
}

#[test]
fn an_update_replaces_the_whole_and_keeps_what_stays() {
    let place = TestHome::new();
    let (store, other) = (place.store(), place.store());
    let id = BundleId::generate();
    let first = tools(id, &["same", "changed", "going"]);
    store
        .install(bundle(id, "acme"), first.clone(), Install::Update)
        .unwrap();
    other.changes(Look::Glance).unwrap();
    let made = place.now();
    place.pass(60);
    let mut second = tools(id, &["same", "changed", "coming"]);
    second[0].is_enabled = false;
    second[1].description = "Another".to_owned();
    let view = store
        .install(bundle(id, "acme"), second, Install::Update)
        .unwrap();
    assert_eq!((view.tools, view.bundle.created_at), (3, made));
    assert_eq!(view.bundle.modified_at, place.now());
    let times = |name: &str| {
        let head = &store.tool(&key(id, name, "v1")).unwrap().head;
        (head.created_at, head.modified_at)
    };
    assert_eq!(times("same"), (made, made));
    assert_eq!(times("changed"), (made, place.now()));
    assert_eq!(times("coming"), (place.now(), place.now()));
    assert_eq!(
        store.tool(&key(id, "same", "v1")).unwrap().head.tool_id,
        first[0].tool_id
    );
    assert_eq!(other.changes(Look::Glance).unwrap().tools.len(), 3);
    let changed = place.now();
    assert!(other.tool(&key(id, "going", "v1")).is_err());
    assert_eq!(other.tools(id).len(), 3);
    // The old one is not left anywhere.
    assert_eq!(
        std::fs::read_dir(place.home.path().join("bundles"))
            .unwrap()
            .count(),
        2
    );
    // A clock that was set back makes nothing older.
    place.pass(-86_400);
    let third = tools(id, &["same", "changed"]);
    let view = store
        .install(bundle(id, "acme"), third, Install::Update)
        .unwrap();
    assert_eq!(view.bundle.modified_at, changed);
    assert_eq!(times("changed"), (made, changed));
}

#[test]
fn what_was_changed_last_elsewhere_counts_as_changed_last_here() {
    let place = TestHome::new();
    let store = place.store();
    let id = BundleId::generate();
    let mut given = tools(id, &["new", "old", "older"]);
    for (manifest, second) in given.iter_mut().zip([300, 200, 200]) {
        manifest.modified_at = Timestamp::from_second(second).unwrap();
    }
    store
        .install(bundle(id, "acme"), given, Install::New)
        .unwrap();
    let modified = |name: &str| store.tool(&key(id, name, "v1")).unwrap().head.modified_at;
    assert!(modified("new") > modified("old"));
    assert_eq!(modified("old"), modified("older"));
    assert_eq!(modified("old"), place.now());
}

#[test]
fn what_cannot_be_installed_leaves_nothing() {
    let mut place = TestHome::new();
    place.max_tools = 3;
    let store = place.store();
    let id = BundleId::generate();
    let twice = [tools(id, &["a"]), tools(id, &["a"])].concat();
    let mut same_id = tools(id, &["a", "b"]);
    same_id[1].tool_id = same_id[0].tool_id;
    let mut large = tools(id, &["a"]);
    large[0].description = "x".repeat(files::MAX_BYTES);
    for (given, expected) in [
        (twice, "exists already"),
        (same_id, "another tool has the id"),
        (large, "over the limit"),
        (tools(id, &["a", "b", "c", "d"]), "limits.maxTools"),
    ] {
        let error = store
            .install(bundle(id, "acme"), given, Install::New)
            .unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        // Nothing but the lock.
        assert_eq!(
            std::fs::read_dir(place.home.path().join("bundles"))
                .unwrap()
                .count(),
            1
        );
    }
    assert!(store.changes(Look::Thorough).unwrap().is_empty());
    for (own, name) in BundleId::OWN {
        let error = store.install(bundle(own, "acme"), Vec::new(), Install::Update);
        assert!(matches!(error, Err(StoreError::ReadOnly { .. })));
        let error = store.install(bundle(id, name), Vec::new(), Install::New);
        assert!(matches!(error, Err(StoreError::ReadOnly { .. })));
    }
    // Three are there: three may come in their place.
    store
        .install(
            bundle(id, "acme"),
            tools(id, &["a", "b", "c"]),
            Install::New,
        )
        .unwrap();
    store
        .install(
            bundle(id, "acme"),
            tools(id, &["c", "d", "e"]),
            Install::Update,
        )
        .unwrap();
}

#[test]
fn an_update_destroys_nothing_that_it_does_not_know() {
    let place = TestHome::new();
    let store = place.store();
    let id = BundleId::generate();
    let install = |how| store.install(bundle(id, "acme"), tools(id, &["a"]), how);
    install(Install::New).unwrap();
    let notes = place.bundle_dir(id).join("notes.txt");
    std::fs::write(&notes, "mine").unwrap();
    let error = install(Install::Update).unwrap_err();
    assert!(error.to_string().contains("`notes.txt`"), "{error}");
    std::fs::remove_file(&notes).unwrap();
    // What a dead writer left is no one's.
    let temp = format!(".{}.toolcrib-tmp", "0".repeat(32));
    std::fs::write(place.bundle_dir(id).join(temp), "").unwrap();
    install(Install::Update).unwrap();
    std::fs::write(place.bundle_dir(id).join("x.json"), "{").unwrap();
    assert!(matches!(
        install(Install::Update),
        Err(StoreError::Damaged { .. })
    ));
    std::fs::remove_file(place.bundle_dir(id).join("x.json")).unwrap();
    store.delete_bundle(id).unwrap();
    assert!(matches!(
        install(Install::Update),
        Err(StoreError::BundleDeleted { .. })
    ));
    assert!(matches!(
        install(Install::New),
        Err(StoreError::BundleDeleted { .. })
    ));
}

#[test]
fn an_id_of_another_bundle_is_not_taken_over() {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    let mine = store
        .put_tool(manifest(&key(id, "a", "v1")))
        .unwrap()
        .head
        .tool_id;
    let other = BundleId::generate();
    let mut given = tools(other, &["a"]);
    given[0].tool_id = mine;
    store
        .install(bundle(other, "other"), given, Install::New)
        .unwrap();
    let theirs: ToolId = store.tool(&key(other, "a", "v1")).unwrap().head.tool_id;
    assert_ne!(theirs, mine);
}
