//! When the bin is emptied, and of what.

use super::*;

const DAY: i64 = 86_400;

#[test]
fn an_empty_bundle_is_reaped_after_two_days_and_no_other() {
    let place = TestHome::new();
    let (store, other) = (place.store(), place.store());
    let (empty, full, live) = (
        put(&store, "empty"),
        put(&store, "full"),
        put(&store, "live"),
    );
    let tool = key(full, "a", "v1");
    store.put_tool(manifest(&tool)).unwrap();
    store.delete_bundle(empty).unwrap();
    store.delete_bundle(full).unwrap();
    other.changes(Look::Glance).unwrap();
    place.pass(2 * DAY - 1);
    assert!(store.reap().unwrap().is_empty());
    place.pass(1);
    assert_eq!(store.reap().unwrap(), [empty]);
    assert!(!place.bundle_dir(empty).exists());
    let changes = other.changes(Look::Glance).unwrap();
    assert!(matches!(&changes.bundles[..], [(id, None)] if *id == empty));
    place.pass(100 * DAY);
    assert!(store.reap().unwrap().is_empty());
    // Not before it is empty.
    other.delete_tool(&tool).unwrap();
    assert_eq!(other.reap().unwrap(), [full]);
    assert_eq!(store.bundles().len(), 2);
    store.changes(Look::Glance).unwrap();
    assert_eq!(store.bundles()[0].bundle.bundle_id, live);
}

#[test]
fn a_clock_that_jumps_reaps_nothing_that_has_a_file_and_nothing_early() {
    let place = TestHome::new();
    let store = place.store();
    let (empty, noted) = (put(&store, "empty"), put(&store, "noted"));
    store.delete_bundle(empty).unwrap();
    store.delete_bundle(noted).unwrap();
    let notes = place.bundle_dir(noted).join(".notes");
    std::fs::write(&notes, "mine").unwrap();
    place.pass(-3 * DAY);
    assert!(store.reap().unwrap().is_empty());
    // Put in the bin while the clock is three days ahead, and set right again.
    let late = put(&store, "late");
    place.pass(6 * DAY);
    store.delete_bundle(late).unwrap();
    place.pass(-3 * DAY);
    assert!(store.reap().unwrap().is_empty());
    place.pass(3 * DAY);
    assert_eq!(store.reap().unwrap(), [empty]);
    assert!(notes.exists());
    // Restored in time, it is no longer in the bin.
    store.restore_bundle(late).unwrap();
    place.pass(30 * DAY);
    assert!(store.reap().unwrap().is_empty());
}

#[test]
fn what_dead_writers_left_is_swept_and_nothing_else() {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    store.put_tool(manifest(&key(id, "a", "v1"))).unwrap();
    let here = place.home.path().join("bundles");
    let temp = |number: u8| format!(".{number:032x}.toolcrib-tmp");
    std::fs::write(here.join(temp(1)), "half").unwrap();
    std::fs::write(place.bundle_dir(id).join(temp(2)), "half").unwrap();
    std::fs::create_dir(here.join(temp(3))).unwrap();
    std::fs::write(here.join(temp(3)).join("bundle.json"), "half").unwrap();
    let kept = [
        here.join(".mine.toolcrib-tmp"),
        here.join("backup"),
        place.bundle_dir(id).join("x.toolcrib-tmp"),
    ];
    for file in &kept {
        std::fs::write(file, "mine").unwrap();
    }
    assert!(store.damage().is_empty());
    store.reap().unwrap();
    assert_eq!(std::fs::read_dir(&here).unwrap().count(), 4);
    assert_eq!(std::fs::read_dir(place.bundle_dir(id)).unwrap().count(), 3);
    assert!(kept.iter().all(|file| file.exists()));
}
