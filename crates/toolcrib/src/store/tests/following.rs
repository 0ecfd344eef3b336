//! How one process follows what others write, and what somebody does with an editor.

use super::*;
use crate::storage::Generation;

#[test]
fn a_bundle_and_its_tools_are_there_for_everybody() {
    let place = Place::new();
    let (store, other) = (place.store(), place.store());
    assert!(other.changes(Look::Glance).unwrap().is_empty());
    assert!(other.is_current());
    let id = put(&store, "acme");
    assert!(!other.is_current() && !store.is_current());
    for store in [&store, &other] {
        let changes = store.changes(Look::Glance).unwrap();
        let [(changed, Some(view))] = &changes.bundles[..] else {
            panic!("{changes:?}");
        };
        assert_eq!((*changed, view.tools), (id, 0));
        assert!(store.is_current());
    }
    let key = key(id, "weather", "v2");
    let tool = store.put_tool(manifest(&key)).unwrap();
    for store in [&store, &other] {
        let changes = store.changes(Look::Glance).unwrap();
        assert!(changes.bundles.is_empty() && !changes.damage);
        assert!(matches!(&changes.tools[..], [(k, Some(t))] if *k == key && t.head == tool.head));
        assert_eq!(store.bundle(id).unwrap().tools, 1);
    }
    other.set_tool_enabled(&key, false).unwrap();
    let changes = store.changes(Look::Glance).unwrap();
    assert!(matches!(&changes.tools[..], [(_, Some(t))] if !t.head.is_enabled));
    other.delete_tool(&key).unwrap();
    let changes = store.changes(Look::Glance).unwrap();
    assert!(matches!(&changes.tools[..], [(k, None)] if *k == key));
    let error = store.tool(&key).unwrap_err();
    assert!(matches!(error, StoreError::ToolNotFound { .. }));
    for store in [&store, &other] {
        store.changes(Look::Glance).unwrap();
        assert!(store.is_current());
        assert!(store.changes(Look::Thorough).unwrap().is_empty());
    }
}

#[test]
fn two_changes_in_one_tick_of_the_clock_are_both_seen() {
    let place = Place::new();
    let (store, other) = (place.store(), place.store());
    let id = put(&store, "acme");
    for number in 0..10 {
        let key = key(id, &format!("tool-{number}"), "v1");
        store.put_tool(manifest(&key)).unwrap();
        assert_eq!(
            other.changes(Look::Glance).unwrap().tools.len(),
            1,
            "{number}"
        );
        store.set_tool_enabled(&key, false).unwrap();
        assert_eq!(
            other.changes(Look::Glance).unwrap().tools.len(),
            1,
            "{number}"
        );
    }
}

#[test]
fn edits_by_hand_are_found_by_a_thorough_look() {
    let place = Place::new();
    let store = place.store();
    let id = put(&store, "acme");
    let (a, b) = (key(id, "a", "v1"), key(id, "b", "v1"));
    store.put_tool(manifest(&a)).unwrap();
    store.put_tool(manifest(&b)).unwrap();
    store.changes(Look::Thorough).unwrap();
    let text = std::fs::read_to_string(place.tool_file(&a)).unwrap();
    // As long as before: only its stamp tells.
    std::fs::write(place.tool_file(&a), text.replace("Weather", "weather")).unwrap();
    std::fs::remove_file(place.tool_file(&b)).unwrap();
    assert!(store.is_current());
    assert!(store.changes(Look::Glance).unwrap().is_empty());
    let mut changes = store.changes(Look::Thorough).unwrap().tools;
    changes.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(
        matches!(&changes[..], [(_, Some(one)), (_, None)] if one.head.display_name == "weather report")
    );
    // A file that is touched is no change, and a directory that goes takes all with it.
    std::fs::write(place.tool_file(&a), text.replace("Weather", "weather")).unwrap();
    assert!(store.changes(Look::Thorough).unwrap().is_empty());
    std::fs::remove_dir_all(place.bundle_dir(id)).unwrap();
    let changes = store.changes(Look::Thorough).unwrap();
    assert!(matches!(&changes.bundles[..], [(gone, None)] if *gone == id));
    assert!(matches!(&changes.tools[..], [(_, None)]));
    assert!(!changes.damage && store.bundles().is_empty());
}

#[test]
fn a_lock_file_that_is_garbled_or_gone_hides_nothing() {
    let place = Place::new();
    let (store, other) = (place.store(), place.store());
    let id = put(&store, "acme");
    other.changes(Look::Glance).unwrap();
    let lock = place.home.path().join("bundles/.lock");
    for (number, garbage) in ["", "x", "12\n", &"0".repeat(64)].into_iter().enumerate() {
        std::fs::write(&lock, garbage).unwrap();
        store
            .put_tool(manifest(&key(id, "a", &number.to_string())))
            .unwrap();
        assert!(!other.is_current());
        assert_eq!(other.changes(Look::Glance).unwrap().tools.len(), 1);
        std::fs::remove_file(&lock).unwrap();
        store
            .put_tool(manifest(&key(id, "b", &number.to_string())))
            .unwrap();
        assert!(!other.is_current());
        assert_eq!(other.changes(Look::Glance).unwrap().tools.len(), 1);
        assert!(other.is_current());
    }
}

#[test]
fn after_a_writer_died_one_look_is_enough() {
    let place = Place::new();
    let (store, other) = (place.store(), place.store());
    put(&store, "acme");
    other.changes(Look::Glance).unwrap();
    let lock = place.home.path().join("bundles/.lock");
    std::fs::write(&lock, format!("{:020}\n", 7)).unwrap();
    assert!(!other.is_current());
    other.changes(Look::Glance).unwrap();
    assert!(other.is_current() && Generation::read(&lock).is_quiet());
}

#[test]
fn while_a_writer_is_at_work_everybody_looks() {
    let place = Place::new();
    let (store, other) = (place.store(), place.store());
    let id = put(&store, "acme");
    other.changes(Look::Glance).unwrap();
    other
        .write(id, writing::NoStore::Refuse, |session| {
            let text = std::fs::read_to_string(place.bundle_dir(id).join("bundle.json")).unwrap();
            let shelf = session.shelf(id).unwrap();
            let text = text.replace("ACME", "Acme");
            shelf
                .write(&session.lock, "bundle.json", text.as_bytes())
                .unwrap();
            assert!(!store.is_current());
            assert_eq!(store.changes(Look::Glance).unwrap().bundles.len(), 1);
            assert!(!store.is_current());
            Ok(())
        })
        .unwrap();
    assert!(!store.is_current());
    assert!(store.changes(Look::Glance).unwrap().is_empty());
    assert!(store.is_current());
}

#[test]
fn threads_of_one_process_never_break_uniqueness() {
    let place = Place::new();
    let store = place.store();
    let id = put(&store, "acme");
    let won = AtomicI64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = if thread % 2 == 0 {
                store.clone()
            } else {
                place.store()
            };
            let won = &won;
            scope.spawn(move || {
                for number in 0..10 {
                    match store.put_tool(manifest(&key(id, &format!("t{number}"), "v1"))) {
                        Ok(_) => won.fetch_add(1, Ordering::Relaxed),
                        Err(StoreError::VersionTaken { .. }) => 0,
                        Err(error) => panic!("{error}"),
                    };
                    store.changes(Look::Glance).unwrap();
                }
            });
        }
    });
    assert_eq!(won.load(Ordering::Relaxed), 10);
    store.changes(Look::Glance).unwrap();
    assert_eq!(store.tools(id).len(), 10);
    assert_eq!(place.store().tools(id).len(), 10);
}

#[test]
fn hundreds_of_tools_are_read_by_two_threads() {
    let place = Place::new();
    let store = place.store();
    let id = put(&store, "acme");
    for number in 0..600 {
        let key = key(id, &format!("tool-{number}"), "v1");
        std::fs::write(
            place.tool_file(&key),
            serde_json::to_vec(&manifest(&key)).unwrap(),
        )
        .unwrap();
    }
    assert_eq!(store.changes(Look::Thorough).unwrap().tools.len(), 600);
    assert_eq!(store.bundle(id).unwrap().tools, 600);
    assert!(store.changes(Look::Thorough).unwrap().is_empty());
}

#[test]
fn a_home_that_is_replaced_is_followed() {
    let place = Place::new();
    let store = place.store();
    put(&store, "acme");
    store.changes(Look::Glance).unwrap();
    let (here, aside) = (
        place.home.path().join("bundles"),
        place.home.path().join("aside"),
    );
    std::fs::rename(&here, &aside).unwrap();
    assert!(!store.is_current());
    assert_eq!(store.changes(Look::Glance).unwrap().bundles.len(), 1);
    assert!(store.bundles().is_empty());
    put(&place.store(), "other");
    store.changes(Look::Glance).unwrap();
    assert_eq!(store.bundles()[0].bundle.slug, slug("other"));
}
