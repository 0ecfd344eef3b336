//! Killed at any system call of any kind of write, a process leaves the store as it was or as it was to be: for a store that is
//! started then and for one that was there all along; and the next writer goes on at once.
//!
//! A kill stops the program, not the machine; what reaches the disk, and in which order, `refused` looks at.

use std::time::{Duration, Instant};

use toolcrib::store::{Look, StoreError};

use super::ground::{Ground, Home, acme, is_in_place_of_a_bundle};
use super::operation::Operation;
use super::view::View;
use super::{bundle_id, draft, files_below, key, manifest, open, scale, tool_id};
use crate::syscalls::{Followed, Stand, between_stops, is_change_of_files};

/// The side that is killed. On its own it does nothing.
#[test]
fn child() {
    if let Some((operation, home)) = Operation::from_environment() {
        let store = Operation::store(&home);
        between_stops(|| operation.run(&store)).unwrap();
    }
}

/// Lets a child run to its nth call; false when it has not that many. At scale 1 only calls that can change files count: from one
/// of them to the next, files made by opening them included, nothing differs for those who come after.
fn gets_to(child: &mut Followed, nth: usize) -> bool {
    let is_wanted = |call| scale() > 1 || is_change_of_files(call);
    (0..nth).all(|_| child.next_of(is_wanted) != Stand::Done)
}

/// Kills a child at its first system call, another at its second, and so on, until one gets through.
fn assert_old_or_new_at_every_call(operation: Operation) {
    let ground = Ground::new();
    let old = View::fresh(&operation.prepare(&ground).path);
    let new = operation.done(&ground);
    assert_ne!(old, new);
    for call in 1.. {
        let home = operation.prepare(&ground);
        let witness = open(&home.path);
        let mut command = operation.in_child("store::crash::child", &home.path);
        let Some(mut child) = Followed::start(&mut command) else {
            return;
        };
        let is_done = !gets_to(&mut child, call);
        if is_done {
            assert_eq!(child.finish(), 0);
        } else {
            child.kill();
        }
        let context = format!("{operation:?} killed at call {call}");
        let found = View::fresh(&home.path);
        // How many calls there are differs: what was written a moment ago is read again.
        assert!(found == old || found == new, "{context}: {found:#?}");
        assert!(!is_done || found == new, "{context}: {found:#?}");
        assert_eq!(
            View::at_a_glance(&witness),
            found,
            "{context}, to one who was there all along"
        );
        assert!(
            witness.changes(Look::Thorough).unwrap().is_empty(),
            "{context}"
        );
        assert_next_writer_works(operation, found == new, &home, &context);
        if is_done {
            assert!(
                call > 5,
                "followed only {call} calls of {operation:?}: that cannot be all"
            );
            return;
        }
    }
}

/// A new writer finds the lock free; what the dead one left is gone after the reaper came; what users put there is not.
fn assert_next_writer_works(operation: Operation, is_done: bool, home: &Home, context: &str) {
    let store = open(&home.path);
    let started = Instant::now();
    let id = bundle_id(10);
    store.put_bundle(id, draft("later")).unwrap();
    let later = key(id, "later", "v1");
    store
        .put_tool(manifest(&later, tool_id(200), "A later one"))
        .unwrap();
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "{context}: the next writer waited"
    );

    store.reap().unwrap();
    assert_eq!(home.temps(), [] as [&str; 0], "{context}");
    let view = View::fresh(&home.path);
    assert_eq!(view, View::of(&store), "{context}");
    let records = view.bundles.len() + view.tools.len() + view.damage.len();
    let files = files_below(&home.path.join("bundles"));
    let is_record = |file: &&String| file.ends_with(".json") || is_in_place_of_a_bundle(file);
    let json = files.iter().filter(is_record).count();
    assert_eq!(json, records, "{context}: {files:?}");
    if operation != Operation::FirstBundle {
        home.assert_users_files_are_there(context);
    }
    // Done again by the next one: it works, or it says that it was done before.
    match operation.run(&store) {
        Ok(()) => {}
        Err(
            StoreError::VersionTaken { .. }
            | StoreError::BundleTaken { .. }
            | StoreError::ToolNotFound { .. }
            | StoreError::NotDeleted { .. }
            | StoreError::BundleDeleted { .. },
        ) if is_done => {}
        Err(error) => panic!("{context}, again: {error}"),
    }
    assert_eq!(store.damage(), [], "{context}");
    assert_eq!(View::of(&store), View::fresh(&home.path), "{context}");
}

macro_rules! killed {
    ($($name:ident $operation:ident;)*) => {
        $(#[test]
        fn $name() {
            assert_old_or_new_at_every_call(Operation::$operation);
        })*

        #[test]
        fn every_kind_of_write_is_killed() {
            assert_eq!([$(Operation::$operation),*], Operation::ALL);
        }
    };
}

killed! {
    the_first_bundle_of_a_home_is_there_or_not FirstBundle;
    a_new_bundle_is_there_or_not PutBundle;
    a_replaced_bundle_is_old_or_new ReplaceBundle;
    a_switched_bundle_is_on_or_off SwitchBundle;
    a_bundle_that_was_shown_is_on_or_off EnableShown;
    a_deleted_bundle_is_in_the_bin_or_not DeleteBundle;
    a_restored_bundle_is_out_of_the_bin_or_not RestoreBundle;
    a_new_tool_is_there_or_not PutTool;
    a_replaced_tool_is_old_or_new ReplaceTool;
    a_switched_tool_is_on_or_off SwitchTool;
    a_deleted_tool_is_gone_or_not DeleteTool;
    an_installed_bundle_is_there_as_a_whole_or_not InstallNew;
    an_updated_bundle_is_old_or_new_as_a_whole InstallUpdate;
    a_reaped_bundle_is_gone_or_not Reap;
    a_damaged_file_is_here_or_aside SetAside;
    a_directory_in_place_of_a_file_is_here_or_aside SetAsideFull;
    a_file_in_place_of_a_bundle_is_here_or_aside SetAsideBundle;
    a_bundle_without_its_file_is_made_anew_or_not PutHeadless;
    a_bundle_without_its_file_is_recovered_or_not RecoverBundle;
}

/// What a user keeps in a bundle that is in the bin is a file, too: such a bundle is not empty.
#[test]
fn a_bundle_with_any_file_of_a_users_in_it_is_not_reaped() {
    let home = Ground::new().copy();
    let mine = home
        .bundle_file(super::ground::ripe())
        .with_file_name("mine.txt");
    std::fs::write(&mine, "mine").unwrap();
    let store = open(&home.path);
    assert_eq!(store.reap().unwrap(), []);
    assert_eq!(std::fs::read(&mine).unwrap(), b"mine");
    std::fs::remove_file(&mine).unwrap();
    assert_eq!(store.reap().unwrap(), [super::ground::ripe()]);
    assert!(store.bundle(acme()).is_ok());
}
