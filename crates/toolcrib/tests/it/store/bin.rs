//! What time does to a store: bundles that are off or in the bin, the reaper, clocks that jump, what is a change and what is none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use jiff::Timestamp;
use toolcrib::store::{Look, Put, Store, StoreError, StoreOptions};
use toolcrib::{BundleId, ErrorCode, ToolError, ToolId};

use super::ground::{Ground, Home, acme, binned};
use super::view::View;
use super::{bundle_id, draft, key, manifest, open, tool_id};

fn code(result: Result<(), StoreError>) -> ErrorCode {
    ToolError::from(result.unwrap_err()).code()
}

pub(super) fn nothing_changes_in_a_bundle_that_is_off_or_in_the_bin() {
    let home = Ground::new().copy();
    let store = open(&home.path);
    store.set_bundle_enabled(acme(), false).unwrap();
    for (bundle, tool) in [(acme(), "x"), (binned(), "z")] {
        let before = View::of(&store);
        let old = key(bundle, tool, "v1");
        let digest = store.tool(&old).unwrap().digest();
        let id = store.tool(&old).unwrap().head.tool_id;
        for refused in [
            store
                .put_tool(manifest(&key(bundle, "new", "v1"), tool_id(70), "x"))
                .map(drop),
            store
                .put_tool(manifest(&key(bundle, tool, "v9"), tool_id(70), "x"))
                .map(drop),
            store.set_tool_enabled(&old, false).map(drop),
            store
                .replace_tool(manifest(&old, id, "x"), &digest)
                .map(drop),
        ] {
            assert_eq!(code(refused), ErrorCode::Conflict);
        }
        assert_eq!(View::of(&store), before);
        assert_eq!(View::fresh(&home.path), before);
        // To remove something is allowed, and to switch it on again, or to take it out of the bin.
        store.delete_tool(&old).unwrap();
    }
    store.set_bundle_enabled(acme(), true).unwrap();
    store.restore_bundle(binned()).unwrap();
    for bundle in [acme(), binned()] {
        store
            .put_tool(manifest(&key(bundle, "new", "v1"), ToolId::generate(), "x"))
            .unwrap();
    }
}

/// Time that a test moves.
#[derive(Clone)]
pub(super) struct Clock(Arc<AtomicI64>);

impl Clock {
    pub(super) const DAY: i64 = 24 * 3600;

    /// Starts with the year 2026.
    pub(super) fn new() -> Self {
        Clock(Arc::new(AtomicI64::new(1_767_225_600)))
    }

    pub(super) fn jump(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::Relaxed)).unwrap()
    }

    pub(super) fn options(&self) -> StoreOptions {
        let clock = self.clone();
        StoreOptions {
            clock: Arc::new(move || clock.now()),
            ..StoreOptions::default()
        }
    }
}

pub(super) fn the_reaper_takes_no_bundle_with_something_in_it() {
    let home = Home::empty();
    let clock = Clock::new();
    let store = Store::at(&home.path, clock.options());
    let (full, empty) = (bundle_id(1), bundle_id(2));
    store.put_bundle(full, draft("full")).unwrap();
    store.put_bundle(empty, draft("empty")).unwrap();
    store
        .put_tool(manifest(&key(full, "x", "v1"), tool_id(1), "x"))
        .unwrap();
    store.delete_bundle(full).unwrap();
    store.delete_bundle(empty).unwrap();
    clock.jump(-3 * Clock::DAY);
    assert_eq!(store.reap().unwrap(), []);
    clock.jump(3 * Clock::DAY + 2 * Clock::DAY - 1);
    assert_eq!(store.reap().unwrap(), [], "a second before its time");
    clock.jump(Clock::DAY);
    let other = Store::at(&home.path, clock.options());
    assert_eq!(other.reap().unwrap(), [empty]);
    store.changes(Look::Glance).unwrap();
    assert!(store.bundle(full).is_ok() && store.bundle(empty).is_err());
    assert_eq!(store.tools(full).len(), 1);
    // Emptied and still in the bin, it goes; taken out, it stays.
    store.delete_tool(&key(full, "x", "v1")).unwrap();
    store.restore_bundle(full).unwrap();
    assert_eq!(store.reap().unwrap(), []);
    store.delete_bundle(full).unwrap();
    assert_eq!(store.reap().unwrap(), [], "its two days start again");
    clock.jump(2 * Clock::DAY + 1);
    assert_eq!(store.reap().unwrap(), [full]);
    assert!(!home.path.join("bundles").join(full.to_string()).exists());
}

/// While one takes a bundle out of the bin, puts a tool in it and puts it back, another reaps as if days had gone by.
#[test]
fn the_reaper_never_takes_what_was_put_into_a_bundle_meanwhile() {
    let home = Home::empty();
    let clock = Clock::new();
    let store = Store::at(&home.path, clock.options());
    let ahead = clock.clone();
    let id = bundle_id(1);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reaper = scope.spawn(|| {
            let later = Store::at(&home.path, ahead.options());
            while !is_over.load(Ordering::Relaxed) {
                later.reap().unwrap();
            }
        });
        // Also when something here fails: the reaper would go on for ever.
        let over = SetWhenDropped(&is_over);
        let (mut kept, mut reaped) = (0, 0);
        for number in 1..=40 {
            store.put_bundle(id, draft("b")).unwrap();
            store.delete_bundle(id).unwrap();
            clock.jump(3 * Clock::DAY);
            let restored = store.restore_bundle(id);
            if let Err(error) = restored {
                assert!(
                    matches!(error, StoreError::BundleNotFound { .. }),
                    "{error}"
                );
                reaped += 1;
                continue;
            }
            let tool = key(id, "x", &format!("v{number}"));
            store
                .put_tool(manifest(&tool, tool_id(number), "x"))
                .unwrap();
            store.delete_bundle(id).unwrap();
            clock.jump(3 * Clock::DAY);
            std::thread::yield_now();
            assert!(
                open(&home.path).tool(&tool).is_ok(),
                "the reaper took {number}"
            );
            store.delete_tool(&tool).unwrap();
            match store.restore_bundle(id) {
                Ok(_) => kept += 1,
                Err(_) => reaped += 1,
            }
        }
        drop(over);
        reaper.join().unwrap();
        eprintln!("{kept} were kept and {reaped} reaped");
    });
    assert!(View::fresh(&home.path).damage.is_empty());
}

/// Says that it is over, however that came about.
pub(super) struct SetWhenDropped<'a>(pub(super) &'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(super) fn a_clock_that_jumps_back_changes_nothing_that_was() {
    let home = Home::empty();
    let clock = Clock::new();
    let store = Store::at(&home.path, clock.options());
    let id = bundle_id(1);
    clock.jump(-10 * 365 * Clock::DAY);
    let Put::Created(created) = store.put_bundle(id, draft("b")).unwrap() else {
        panic!("it was there");
    };
    let x = key(id, "x", "v1");
    let put = store.put_tool(manifest(&x, tool_id(1), "x")).unwrap();
    assert_eq!(
        (put.head.created_at, put.head.modified_at),
        (created.created_at, created.created_at)
    );
    clock.jump(10 * 365 * Clock::DAY);
    let replaced = store
        .replace_tool(manifest(&x, tool_id(1), "y"), &put.digest())
        .unwrap();
    assert_eq!(replaced.head.created_at, put.head.created_at);
    assert!(replaced.head.modified_at > put.head.modified_at);
    clock.jump(-20 * 365 * Clock::DAY);
    let again = store
        .replace_tool(manifest(&x, tool_id(1), "z"), &replaced.digest())
        .unwrap();
    assert_eq!(again.head.created_at, put.head.created_at);
    assert!(again.head.modified_at >= again.head.created_at);
    let mut other = draft("b");
    other.description = String::from("Another one");
    let Put::Replaced(replaced) = store.put_bundle(id, other).unwrap() else {
        panic!("it was not there");
    };
    assert_eq!(replaced.created_at, created.created_at);
    assert!(replaced.modified_at >= replaced.created_at);
    // In the bin, whatever the clock says: never reaped before its time.
    store.delete_tool(&x).unwrap();
    store.delete_bundle(id).unwrap();
    clock.jump(Clock::DAY);
    assert_eq!(store.reap().unwrap(), []);
    let ids: Vec<String> = (0..10_000)
        .map(|_| BundleId::generate().to_string())
        .collect();
    assert!(ids.is_sorted() && ids.windows(2).all(|two| two[0] != two[1]));
}

/// Switching is none either. Real calls are made in `source::stored`.
pub(super) fn a_call_is_no_structural_change() {
    let home = Ground::new().copy();
    let store = open(&home.path);
    let x = key(acme(), "x", "v1");
    let before = store.tool(&x).unwrap().head.modified_at;
    let off = store.set_tool_enabled(&x, false).unwrap();
    assert_eq!((off.head.modified_at, off.head.is_enabled), (before, false));
    let bundle = store.bundle(acme()).unwrap().bundle.modified_at;
    assert_eq!(
        store.set_bundle_enabled(acme(), false).unwrap().modified_at,
        bundle
    );
}
