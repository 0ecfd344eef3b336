//! Bundles: times, the switch, the bin, and who may have which slug.

use super::*;
use crate::model::error::{ErrorCode, ToolError};

fn code(error: StoreError) -> ErrorCode {
    ToolError::from(error).code()
}

#[test]
fn a_bundle_is_written_as_s4_spells_it() {
    let place = TestHome::new();
    let id = put(&place.store(), "acme");
    let text = std::fs::read_to_string(place.bundle_dir(id).join("bundle.json")).unwrap();
    let expected = format!(
        r#"{{
  "schemaVersion": "1",
  "bundleID": "{id}",
  "slug": "acme",
  "displayName": "ACME",
  "description": "The tools of acme",
  "isEnabled": true,
  "isBuiltIn": false,
  "createdAt": "2026-01-01T00:00:00Z",
  "modifiedAt": "2026-01-01T00:00:00Z"
}}
"#
    );
    assert_eq!(text, expected);
}

#[test]
fn nothing_is_created_before_there_is_something_to_write() {
    let place = TestHome::new();
    let store = place.store();
    let id = BundleId::generate();
    assert!(store.changes(Look::Thorough).unwrap().is_empty());
    assert!(store.bundles().is_empty() && store.damage().is_empty());
    assert!(store.reap().unwrap().is_empty());
    for refused in [
        store.bundle(id).map(drop),
        store.set_bundle_enabled(id, true).map(drop),
        store.delete_bundle(id).map(drop),
        store.restore_bundle(id).map(drop),
        store.put_tool(manifest(&key(id, "a", "v1"))).map(drop),
        store.delete_tool(&key(id, "a", "v1")),
    ] {
        assert!(matches!(refused, Err(StoreError::BundleNotFound { .. })));
    }
    assert_eq!(std::fs::read_dir(place.home.path()).unwrap().count(), 0);
}

#[test]
fn putting_a_bundle_again_keeps_when_it_was_made() {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    let made = place.now();
    place.pass(60);
    // The same again, and the switch, are not structural change.
    for is_enabled in [true, false, true] {
        let same = BundleDraft {
            is_enabled,
            ..draft("acme")
        };
        let Put::Replaced(bundle) = store.put_bundle(id, same).unwrap() else {
            panic!("it was not there");
        };
        let times = (bundle.created_at, bundle.modified_at);
        assert_eq!((times, bundle.is_enabled), ((made, made), is_enabled));
    }
    let Put::Replaced(bundle) = store.put_bundle(id, draft("other")).unwrap() else {
        panic!("it was not there");
    };
    let changed = place.now();
    assert_eq!((bundle.created_at, bundle.modified_at), (made, changed));
    // Before it was made, says the clock.
    place.pass(-10 * 365 * 86_400);
    let Put::Replaced(bundle) = store.put_bundle(id, draft("third")).unwrap() else {
        panic!("it was not there");
    };
    assert_eq!((bundle.created_at, bundle.modified_at), (made, changed));
    assert_eq!(place.store().bundle(id).unwrap().bundle, bundle);
}

#[test]
fn switching_a_bundle_leaves_everything_else() {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    let file = place.bundle_dir(id).join("bundle.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        text.replacen("\"1\"", "\"99\"", 1)
            .replacen("{", "{\"later\": [1],", 1),
    )
    .unwrap();
    place.pass(5);
    let before = place.store().bundle(id).unwrap().bundle.clone();
    let after = store.set_bundle_enabled(id, false).unwrap();
    assert_eq!(after.extra["later"], json!([1]));
    assert_eq!(after.schema_version, "99");
    assert_eq!(
        Bundle {
            is_enabled: true,
            ..after.clone()
        },
        before
    );
    assert_eq!(place.store().bundle(id).unwrap().bundle, after);
}

#[test]
fn a_slug_belongs_to_one_bundle_outside_the_bin() {
    let place = TestHome::new();
    let (store, other) = (place.store(), place.store());
    let first = put(&store, "acme");
    let second = BundleId::generate();
    let taken = |result: Result<Put, StoreError>| match result {
        Err(StoreError::SlugTaken { by, .. }) => by,
        other => panic!("{other:?}"),
    };
    assert_eq!(taken(other.put_bundle(second, draft("acme"))), first);
    // Case counts.
    other.put_bundle(second, draft("Acme")).unwrap();
    assert_eq!(taken(store.put_bundle(second, draft("acme"))), first);
    other.delete_bundle(first).unwrap();
    store.put_bundle(second, draft("acme")).unwrap();
    let error = other.restore_bundle(first).unwrap_err();
    assert!(matches!(&error, StoreError::SlugTaken { by, .. } if *by == second));
    assert_eq!(code(error), ErrorCode::Conflict);
    store.put_bundle(second, draft("else")).unwrap();
    assert!(
        other
            .restore_bundle(first)
            .unwrap()
            .soft_deleted_at
            .is_none()
    );
    assert!(store.damage().is_empty() && other.damage().is_empty());
}

#[test]
fn what_is_in_the_bin_stays_as_it_is_until_it_is_taken_out() {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    let tool = key(id, "weather", "v1");
    store.put_tool(manifest(&tool)).unwrap();
    let before = store.bundle(id).unwrap().bundle.clone();
    place.pass(10);
    let binned = store.delete_bundle(id).unwrap();
    assert_eq!(binned.soft_deleted_at, Some(place.now()));
    place.pass(10);
    assert_eq!(store.delete_bundle(id).unwrap(), binned);
    for refused in [
        store.put_bundle(id, draft("acme")).map(drop),
        store.set_bundle_enabled(id, false).map(drop),
        store.put_tool(manifest(&key(id, "b", "v1"))).map(drop),
        store.set_tool_enabled(&tool, false).map(drop),
        store
            .replace_tool(manifest(&tool), &store.tool(&tool).unwrap().digest())
            .map(drop),
    ] {
        let error = refused.unwrap_err();
        assert!(
            matches!(&error, StoreError::BundleDeleted { .. }),
            "{error:?}"
        );
        assert_eq!(code(error), ErrorCode::Conflict);
    }
    assert_eq!(store.restore_bundle(id).unwrap(), before);
    assert!(matches!(
        store.restore_bundle(id),
        Err(StoreError::NotDeleted { .. })
    ));
    assert_eq!(store.tools(id).len(), 1);
    // Removing is allowed.
    store.delete_bundle(id).unwrap();
    store.delete_tool(&tool).unwrap();
    assert!(store.tools(id).is_empty());
}

#[test]
fn nothing_in_a_bundle_that_is_off_is_changed() {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    let tool = key(id, "weather", "v1");
    let digest = store.put_tool(manifest(&tool)).unwrap().digest();
    place.store().set_bundle_enabled(id, false).unwrap();
    for refused in [
        store.put_tool(manifest(&key(id, "b", "v1"))).map(drop),
        store.set_tool_enabled(&tool, false).map(drop),
        store.replace_tool(manifest(&tool), &digest).map(drop),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(&error, StoreError::BundleOff { .. }), "{error:?}");
        assert_eq!(code(error), ErrorCode::Conflict);
    }
    store.delete_tool(&tool).unwrap();
    // Someone switches it on with an editor.
    let file = place.bundle_dir(id).join("bundle.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        text.replace("\"isEnabled\": false", "\"isEnabled\": true"),
    )
    .unwrap();
    store.put_tool(manifest(&tool)).unwrap();
}

#[test]
fn the_bundles_of_toolcrib_itself_cannot_be_written() {
    let place = TestHome::new();
    let store = place.store();
    for (id, name) in BundleId::OWN {
        let error = store.put_bundle(id, draft("acme")).unwrap_err();
        assert_eq!(code(error), ErrorCode::ReadOnly);
        let other = BundleId::generate();
        let error = store.put_bundle(other, draft(name)).unwrap_err();
        assert_eq!(code(error), ErrorCode::ReadOnly);
        let tool = key(id, "a", "v1");
        for refused in [
            store.delete_bundle(id).map(drop),
            store.restore_bundle(id).map(drop),
            store.set_bundle_enabled(id, false).map(drop),
            store.put_tool(manifest(&tool)).map(drop),
            store.set_tool_enabled(&tool, false).map(drop),
            store.delete_tool(&tool),
        ] {
            assert_eq!(code(refused.unwrap_err()), ErrorCode::ReadOnly, "{name}");
        }
    }
    assert_eq!(std::fs::read_dir(place.home.path()).unwrap().count(), 0);
}

#[test]
fn ids_are_unique_and_in_order_within_a_process() {
    let ids: Vec<BundleId> = (0..10_000).map(|_| BundleId::generate()).collect();
    assert!(ids.is_sorted_by(|a, b| a < b));
}
