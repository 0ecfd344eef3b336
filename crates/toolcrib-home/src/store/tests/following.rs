//! How one process follows what others write, and what someone does with an editor.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::*;
use crate::storage::Generation;

#[test]
fn a_bundle_and_its_tools_are_there_for_everybody() {
    let place = TestHome::new();
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
    let place = TestHome::new();
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
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    let (a, b) = (key(id, "a", "v1"), key(id, "b", "v1"));
    store.put_tool(manifest(&a)).unwrap();
    store.put_tool(manifest(&b)).unwrap();
    store.changes(Look::Thorough).unwrap();
    let text = std::fs::read_to_string(place.tool_file(&a)).unwrap();
    // As long as before: only its stamp shows the change.
    std::fs::write(place.tool_file(&a), text.replace("Weather", "weather")).unwrap();
    std::fs::remove_file(place.tool_file(&b)).unwrap();
    assert!(store.is_current());
    assert!(store.changes(Look::Glance).unwrap().is_empty());
    let mut changes = store.changes(Look::Thorough).unwrap().tools;
    changes.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(
        matches!(&changes[..], [(_, Some(one)), (_, None)] if one.head.display_name == "weather report")
    );
    // A file that is touched is not a change, and a directory that goes takes all with it.
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
    let place = TestHome::new();
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
    let place = TestHome::new();
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
    let place = TestHome::new();
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
    let place = TestHome::new();
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
    let place = TestHome::new();
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
    let place = TestHome::new();
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

/// The report for a caller in a hurry.
fn followed(store: &Store) -> Changes {
    match store.follow(Look::Glance).unwrap() {
        StoreNews::Changes(changes) => changes,
        StoreNews::Much => panic!("there is not so much"),
    }
}

#[test]
fn a_call_waits_for_no_writer_of_its_process() {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    followed(&store);
    store
        .write(id, writing::NoStore::Refuse, |_| {
            let (done, waiting) = mpsc::channel();
            let store = store.clone();
            std::thread::spawn(move || done.send(followed(&store).is_empty()));
            let is_empty = waiting.recv_timeout(Duration::from_secs(10));
            assert!(is_empty.expect("it does not wait"));
            Ok(())
        })
        .unwrap();
}

#[test]
fn calls_leave_a_writer_alone_that_is_at_it_for_long() {
    let place = TestHome::new();
    let (store, other) = (place.store(), place.store());
    let id = put(&store, "acme");
    followed(&store);
    let write = |session: &writing::Session<'_>, name: &str| {
        let file = place.bundle_dir(id).join("bundle.json");
        let text = std::fs::read_to_string(file).unwrap();
        let text = text.replace("\"displayName\": \"", &format!("\"displayName\": \"{name}"));
        let shelf = session.shelf(id).unwrap();
        shelf
            .write(&session.lock, "bundle.json", text.as_bytes())
            .unwrap();
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    other
        .write(id, writing::NoStore::Refuse, |session| {
            loop {
                assert!(Instant::now() < deadline);
                let start = Instant::now();
                write(session, "a");
                followed(&store);
                write(session, "b");
                let is_left_alone = followed(&store).is_empty();
                // Otherwise the machine was too slow to tell.
                if start.elapsed() < Duration::from_millis(90) {
                    assert!(is_left_alone);
                    return Ok(());
                }
            }
        })
        .unwrap();
    assert_eq!(followed(&store).bundles.len(), 1, "now it is done");
    assert!(store.is_current());
}

#[test]
fn one_change_of_another_is_found_without_a_look_at_each_file() {
    let place = TestHome::new();
    let (store, other) = (place.store(), place.store());
    let id = put(&store, "acme");
    let key_of = |number: usize| key(id, &format!("tool-{number}"), "v1");
    for number in 0..3 {
        other.put_tool(manifest(&key_of(number))).unwrap();
    }
    store.changes(Look::Thorough).unwrap();
    // No one counts an edit by hand: it is found when all files are looked at.
    let edited = place.tool_file(&key_of(0));
    let text = std::fs::read_to_string(&edited).unwrap();
    std::fs::write(&edited, text.replace("Weather", "weather")).unwrap();
    let told = |store: &Store| {
        let tools = store.changes(Look::Glance).unwrap().tools;
        let mut told: Vec<_> = tools
            .into_iter()
            .map(|(key, tool)| (key, tool.is_some()))
            .collect();
        told.sort();
        told
    };
    other.put_tool(manifest(&key_of(3))).unwrap();
    assert_eq!(told(&store), [(key_of(3), true)]);
    other.set_tool_enabled(&key_of(1), false).unwrap();
    assert_eq!(told(&store), [(key_of(1), true)]);
    other.delete_tool(&key_of(2)).unwrap();
    assert_eq!(told(&store), [(key_of(2), false)]);
    // After more than one, inodes may be used again and prove nothing.
    for round in 0..20 {
        other.set_tool_enabled(&key_of(1), round % 2 == 0).unwrap();
        other.set_tool_enabled(&key_of(3), round % 2 == 0).unwrap();
        other.set_tool_enabled(&key_of(1), round % 2 != 0).unwrap();
        other.set_tool_enabled(&key_of(3), round % 2 != 0).unwrap();
        store.changes(Look::Glance).unwrap();
        for number in [1, 3] {
            let tool = store.tool(&key_of(number)).unwrap();
            assert_eq!(tool.head.is_enabled, round % 2 != 0, "{round}");
        }
    }
    let tool = store.tool(&key_of(0)).unwrap();
    assert_eq!(tool.head.display_name, "weather report");
}

#[test]
fn own_writes_need_no_look_after_another_has_written_elsewhere() {
    let place = TestHome::new();
    let (store, other) = (place.store(), place.store());
    let (ours, theirs) = (put(&store, "ours"), put(&other, "theirs"));
    store.changes(Look::Glance).unwrap();
    let (a, b) = (key(ours, "a", "v1"), key(ours, "b", "v1"));
    store.put_tool(manifest(&a)).unwrap();
    store.put_tool(manifest(&b)).unwrap();
    store.set_tool_enabled(&a, false).unwrap();
    store.delete_tool(&b).unwrap();
    store.changes(Look::Glance).unwrap();
    let listed = || {
        let lock_file = place.home.path().join("bundles/.lock");
        let dir = DurableDir::open(place.home.path().join("bundles")).unwrap();
        let seen = *store.inner.seen.lock().unwrap();
        let how = How::new(Look::Glance);
        let how = Seen::since(seen, Generation::read(&lock_file), how);
        let found = scan::look(&store.known(), dir.as_ref(), &how).unwrap();
        found.unwrap().listed()
    };
    // Once a moment has passed in which no one wrote.
    let deadline = Instant::now() + Duration::from_secs(10);
    while listed().contains(&ours) {
        assert!(Instant::now() < deadline && store.is_current());
    }
    other.put_tool(manifest(&key(theirs, "c", "v1"))).unwrap();
    assert_eq!(listed(), [theirs]);
}

#[test]
fn a_look_at_all_files_gives_way_and_ends() {
    let place = TestHome::new();
    let (store, other) = (place.store(), place.store());
    let id = put(&store, "acme");
    for number in 0..600 {
        let key = key(id, &format!("tool-{number}"), "v1");
        let text = serde_json::to_vec(&manifest(&key)).unwrap();
        std::fs::write(place.tool_file(&key), text).unwrap();
    }
    assert!(matches!(
        store.follow(Look::Glance).unwrap(),
        StoreNews::Changes(_)
    ));
    other.set_bundle_enabled(id, false).unwrap();
    other.set_bundle_enabled(id, true).unwrap();
    // So many are not read by someone in a hurry.
    assert!(matches!(
        store.follow(Look::Glance).unwrap(),
        StoreNews::Much
    ));
    store.survey(Look::Glance, Yield::Keep).unwrap();
    assert_eq!(store.told().tools.len(), 600);
    let edited = place.tool_file(&key(id, "tool-7", "v1"));
    let text = std::fs::read_to_string(&edited).unwrap();
    std::fs::write(&edited, text.replace("Weather", "weather")).unwrap();
    std::thread::scope(|scope| {
        let survey = scope.spawn(|| store.survey(Look::Thorough, Yield::Give));
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut told = Vec::new();
        while told.is_empty() {
            assert!(Instant::now() < deadline);
            told = followed(&store).tools;
        }
        assert_eq!(told.len(), 1);
        survey.join().unwrap().unwrap();
    });
}
