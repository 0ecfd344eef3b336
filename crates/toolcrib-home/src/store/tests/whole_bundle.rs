//! What was shown is what is changed.

use super::install::bundle;
use super::*;
use crate::store::archive::IMPORTED_AT;

fn tool(id: BundleId, name: &str, version: &str, description: &str) -> ToolManifest {
    let mut tool = manifest(&key(id, name, version));
    tool.description = description.to_owned();
    tool
}

/// A bundle with two tools, as an import brings it.
fn installed(store: &Store) -> BundleId {
    let id = BundleId::generate();
    let tools = vec![tool(id, "a", "v1", "first"), tool(id, "b", "v1", "first")];
    store
        .install(bundle(id, "acme"), tools, Install::New)
        .unwrap();
    id
}

#[test]
fn a_bundle_is_switched_on_only_as_it_was_shown() {
    type Change = (&'static str, fn(&TestHome, &Store, BundleId));
    let changes: [Change; 5] = [
        ("replaced by another process", |_, other, id| {
            let tools = vec![tool(id, "a", "v1", "second"), tool(id, "b", "v1", "first")];
            other
                .install(bundle(id, "acme"), tools, Install::Update)
                .unwrap();
        }),
        ("one tool less", |_, other, id| {
            other.delete_tool(&key(id, "b", "v1")).unwrap();
        }),
        ("edited by hand", |place, _, id| {
            let file = place.tool_file(&key(id, "a", "v1"));
            let text = std::fs::read_to_string(&file).unwrap();
            std::fs::write(&file, text.replace("first", "other")).unwrap();
        }),
        ("removed by hand", |place, _, id| {
            std::fs::remove_file(place.tool_file(&key(id, "b", "v1"))).unwrap();
        }),
        ("added by hand", |place, _, id| {
            let new = tool(id, "c", "v1", "first");
            let file = place.tool_file(&key(id, "c", "v1"));
            std::fs::write(&file, serde_json::to_vec(&new).unwrap()).unwrap();
        }),
    ];
    for (how, change) in changes {
        let place = TestHome::new();
        let (store, other) = (place.store(), place.store());
        let id = installed(&store);
        let shown = store.whole(id).unwrap();
        assert_eq!(shown.tools.len(), 2);
        change(&place, &other, id);
        let error = store.enable_as_shown(id, shown.digest()).unwrap_err();
        assert!(
            matches!(error, StoreError::BundleChanged { .. }),
            "{how}: {error:?}"
        );
        assert!(
            !place.store().bundle(id).unwrap().bundle.is_enabled,
            "{how}"
        );
        let shown = place.store().whole(id).unwrap();
        assert!(
            store
                .enable_as_shown(id, shown.digest())
                .unwrap()
                .is_enabled
        );
    }
}

#[test]
fn switching_a_bundle_makes_no_other_bundle_of_it() {
    let place = TestHome::new();
    let store = place.store();
    let id = installed(&store);
    let shown = store.whole(id).unwrap().digest();
    store.set_bundle_enabled(id, true).unwrap();
    assert_eq!(store.whole(id).unwrap().digest(), shown);
    store.enable_as_shown(id, shown).unwrap();
}

#[test]
fn an_update_replaces_only_what_it_was_compared_with() {
    let place = TestHome::new();
    let (store, other) = (place.store(), place.store());
    let id = installed(&store);
    let shown = store.whole(id).unwrap().digest();
    other.set_bundle_enabled(id, true).unwrap();
    other.put_tool(tool(id, "mine", "v1", "added")).unwrap();
    let tools = || vec![tool(id, "a", "v1", "second")];
    let update = |shown| store.install(bundle(id, "acme"), tools(), Install::UpdateOf(shown));
    let error = update(shown).unwrap_err();
    assert!(
        matches!(error, StoreError::BundleChanged { .. }),
        "{error:?}"
    );
    assert!(place.store().tool(&key(id, "mine", "v1")).is_ok());
    let shown = store.whole(id).unwrap().digest();
    assert_eq!(update(shown).unwrap().tools, 1);
}

#[test]
fn an_update_leaves_the_switches_of_single_tools() {
    let place = TestHome::new();
    let store = place.store();
    let id = installed(&store);
    store.set_bundle_enabled(id, true).unwrap();
    store.set_tool_enabled(&key(id, "a", "v1"), false).unwrap();
    let mut off = tool(id, "b", "v1", "second");
    off.is_enabled = false;
    let tools = vec![
        tool(id, "a", "v1", "second"),
        // A tool that is off does not come back as a new version of itself.
        tool(id, "a", "v2", "second"),
        off,
        tool(id, "b", "v2", "second"),
        tool(id, "c", "v1", "second"),
    ];
    store
        .install(bundle(id, "acme"), tools, Install::Update)
        .unwrap();
    let is_on = |name: &str, version: &str| {
        let tool = store.tool(&key(id, name, version)).unwrap();
        tool.head.is_enabled
    };
    assert_eq!((is_on("a", "v1"), is_on("a", "v2")), (false, false));
    assert_eq!((is_on("b", "v1"), is_on("b", "v2")), (true, true));
    assert!(is_on("c", "v1"));
}

#[test]
fn tools_whose_bundle_is_lost_come_back_off_and_imported() {
    let place = TestHome::new();
    let store = place.store();
    let id = installed(&store);
    store.set_bundle_enabled(id, true).unwrap();
    std::fs::remove_file(place.bundle_dir(id).join("bundle.json")).unwrap();
    let store = place.store();
    let put = store.put_bundle(id, draft("acme")).unwrap();
    let Put::Created(bundle) = put else {
        panic!("{put:?}");
    };
    assert!(!bundle.is_enabled);
    assert!(bundle.extra.contains_key(IMPORTED_AT));
    assert_eq!(place.store().bundle(id).unwrap().bundle, bundle);
}
