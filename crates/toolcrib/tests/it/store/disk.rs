//! Disks that refuse everything: a full one and a read-only one, both real.

use toolcrib::store::{Look, Store};
use toolcrib::{ErrorCode, ToolError};

use super::ground::{Ground, acme};
use super::operation::Operation;
use super::view::View;
use super::{NOW, draft, key, manifest, open, options, tool_id};
use crate::storage::disk::Disk;

/// The side that has the disk. On its own it does nothing.
#[test]
fn child_on_a_full_disk() {
    let Some((_, home)) = Operation::from_environment() else {
        return;
    };
    let store = Store::at(&home, options(NOW));
    store.put_bundle(acme(), draft("acme")).unwrap();
    let (small, large) = (key(acme(), "small", "v1"), key(acme(), "large", "v1"));
    store.put_tool(manifest(&small, tool_id(1), "x")).unwrap();
    let before = View::of(&store);
    let full = "the disk is full; free some space and try again";
    let too_large = store.put_tool(manifest(&large, tool_id(2), &"x".repeat(1 << 20)));
    let error = ToolError::from(too_large.unwrap_err());
    assert_eq!(error.code(), ErrorCode::StorageError);
    assert!(error.message().ends_with(full), "{error}");
    assert_eq!(View::of(&store), before);
    assert_eq!(View::fresh(&home), before);

    // To the last byte: now nothing can be written, and all of it can be read.
    let filler = home.join("filler");
    let mut size = 64 * 1024;
    while size > 0 {
        match std::fs::write(home.join(format!("filler{size}")), vec![b'x'; size]) {
            Ok(()) => {}
            Err(_) => size /= 2,
        }
    }
    assert!(std::fs::write(&filler, "x").is_err());
    for operation in [
        Operation::PutBundle,
        Operation::SwitchBundle,
        Operation::PutTool,
        Operation::InstallNew,
    ] {
        let error = ToolError::from(operation.run(&store).unwrap_err());
        assert!(error.message().ends_with(full), "{operation:?}: {error}");
        assert_eq!(View::of(&store), before, "{operation:?}");
        assert_eq!(View::fresh(&home), before, "{operation:?}");
    }
    // And space can be made with the store itself.
    store.delete_tool(&small).unwrap();
    assert!(store.tools(acme()).is_empty());
    assert!(View::fresh(&home).tools.is_empty());
}

#[test]
fn a_full_disk_keeps_everything_and_says_so() {
    let home = super::ground::Home::empty();
    let command = Operation::PutTool.in_child("store::disk::child_on_a_full_disk", &home.path);
    let Some(mut command) = Disk::Tiny.under(&home.path, &command) else {
        return;
    };
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The side that has the disk. On its own it does nothing.
#[test]
fn child_on_a_read_only_disk() {
    let Some((_, home)) = Operation::from_environment() else {
        return;
    };
    let store = open(&home);
    let before = View::of(&store);
    assert_eq!((before.bundles.len(), before.tools.len()), (4, 5));
    for operation in Operation::ALL {
        if operation.is_repair() {
            continue; // nothing here is damaged
        }
        let error = ToolError::from(operation.run(&store).unwrap_err());
        assert_eq!(error.code(), ErrorCode::StorageError, "{operation:?}");
        let words = "the file system is read-only; make it writable or set TOOLCRIB_HOME to another directory";
        assert!(error.message().ends_with(words), "{operation:?}: {error}");
        assert_eq!(View::of(&store), before, "{operation:?}");
    }
    assert!(store.changes(Look::Thorough).unwrap().is_empty());
    assert!(store.is_current());
}

#[test]
fn a_read_only_disk_can_be_read_and_says_why_it_is_not_written() {
    let home = Ground::new().copy();
    let command = Operation::PutTool.in_child("store::disk::child_on_a_read_only_disk", &home.path);
    let Some(mut command) = Disk::ReadOnly.under(&home.path, &command) else {
        return;
    };
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Tests that pass because they could not run are reported where `test.sh` looks for it: no one sees the output of passed tests.
#[test]
fn a_proof_that_cannot_run_here_says_so() {
    let place = tempfile::tempdir().unwrap();
    let heard = place.path().join("skipped");
    let name = "store::disk::a_full_disk_keeps_everything_and_says_so";
    let mut command = crate::syscalls::test_in_child(name);
    command
        .env("PATH", place.path())
        .env(crate::SKIPPED, &heard);
    assert!(command.status().unwrap().success());
    let heard = std::fs::read_to_string(heard).unwrap();
    let expected = format!("{name}: a Tiny disk needs the program `unshare`");
    assert!(heard.starts_with(&expected), "{heard}");
}
