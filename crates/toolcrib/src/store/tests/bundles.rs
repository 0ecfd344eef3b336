//! Bundles and their switch, the bin and who may have which slug.

use super::*;
use crate::storage::StorageError;

#[test]
fn a_bundle_is_there_for_everybody_when_it_was_put() {
    let place = Place::new();
    let (store, other) = (place.store(), place.store());
    assert!(other.changes(Look::Glance).unwrap().is_empty());
    assert!(other.is_current());
    let id = BundleId::generate();
    let Put::Created(bundle) = store.put_bundle(id, draft("acme")).unwrap() else {
        panic!("it was there");
    };
    assert_eq!(
        (bundle.created_at, bundle.modified_at),
        (place.now(), place.now())
    );
    assert!(!other.is_current());
    let changes = other.changes(Look::Glance).unwrap();
    assert_eq!(changes.bundles.len(), 1);
    assert_eq!(other.bundle(id).unwrap().bundle, bundle);
    assert!(other.is_current() && !store.is_current());
    assert_eq!(store.changes(Look::Glance).unwrap().bundles.len(), 1);
    assert!(store.is_current());
    assert!(store.changes(Look::Thorough).unwrap().is_empty());
    let text = std::fs::read_to_string(place.bundle_dir(id).join("bundle.json")).unwrap();
    assert!(
        text.starts_with("{\n  \"schemaVersion\": \"1\",\n  \"bundleID\":"),
        "{text}"
    );
    assert!(text.ends_with("}\n"));
}

#[test]
fn a_tool_is_put_read_switched_and_removed() {
    let place = Place::new();
    let (store, other) = (place.store(), place.store());
    let id = put(&store, "acme");
    let key = key(id, "weather", "v2");
    let tool = store.put_tool(manifest(&key)).unwrap();
    other.changes(Look::Glance).unwrap();
    assert_eq!(other.tool(&key).unwrap().head, tool.head);
    assert_eq!(other.bundle(id).unwrap().tools, 1);
    other.set_tool_enabled(&key, false).unwrap();
    assert!(!store.is_current());
    let changes = store.changes(Look::Glance).unwrap();
    assert!(
        changes
            .tools
            .iter()
            .any(|(k, t)| *k == key && !t.as_ref().unwrap().head.is_enabled)
    );
    store.delete_tool(&key).unwrap();
    let changes = other.changes(Look::Glance).unwrap();
    assert!(matches!(&changes.tools[..], [(k, None)] if *k == key));
    assert!(matches!(
        other.tool(&key),
        Err(StoreError::ToolNotFound { .. })
    ));
    let _: Option<StorageError> = None;
}
