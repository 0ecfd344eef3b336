//! Damage beside the records: the lock file, copies in other places, two of one name, strange things among the bundles, and what may not be
//! read. It costs what it is about and nothing else.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use toolcrib::store::{Look, Store};
use toolcrib::{ErrorCode, ToolError};

use super::damage::{Which, assert_only_it_is_out};
use super::ground::{Ground, Home, acme, beta};
use super::view::View;
use super::ways::{Damaging, SURE, change_field, within};
use super::{NOW, key, manifest, open, options, tool_id};

/// The lock file holds a counter that only speeds up looking. Reading never needs it; writing either works or says why.
#[test]
fn a_lock_file_damaged_in_any_way_costs_no_record() {
    let ground = Ground::new();
    let whole = View::fresh(ground.path());
    let ways: &[Damaging] = &[
        ("gone", |path| fs::remove_file(path).unwrap()),
        ("text", |path| fs::write(path, "hello").unwrap()),
        ("the largest number", |path| {
            fs::write(path, u64::MAX.to_string()).unwrap();
        }),
        ("the largest bytes", |path| {
            fs::write(path, [0xff; 8]).unwrap();
        }),
        ("more bytes", |path| fs::write(path, [0xff; 4096]).unwrap()),
        ("odd", |path| fs::write(path, 7_u64.to_le_bytes()).unwrap()),
        ("odd in text", |path| fs::write(path, "7\n").unwrap()),
        ("too many digits", |path| {
            fs::write(path, "9".repeat(100)).unwrap();
        }),
        ("negative", |path| fs::write(path, "-2").unwrap()),
    ];
    let simple = [
        "empty",
        "one NUL",
        "huge",
        "null",
        "a directory",
        "a dangling link",
        "a link to itself",
        "a link to /dev/zero",
        "a pipe",
        "a socket",
    ];
    let others = SURE.iter().filter(|(how, _)| simple.contains(how));
    for (how, damage) in ways.iter().chain(others) {
        let home = ground.copy();
        let lock = home.path.join("bundles/.lock");
        let witness = open(&home.path);
        damage(&lock);
        let path = home.path.clone();
        let (view, written) = within(Duration::from_secs(20), move || {
            let store = open(&path);
            let view = View::of(&store);
            (view, store.set_bundle_enabled(beta(), false))
        });
        assert_eq!(view, whole, "{how}");
        let is_usable = fs::symlink_metadata(&lock).is_ok_and(|found| found.is_file());
        match written.map_err(ToolError::from) {
            Ok(bundle) => assert!(!bundle.is_enabled),
            Err(error) => {
                assert!(!is_usable, "{how}: {error}");
                assert_eq!(error.code(), ErrorCode::StorageError, "{how}: {error}");
                assert!(error.message().starts_with("cannot "), "{how}: {error}");
                continue;
            }
        }
        // And those that follow see it.
        assert_eq!(
            View::at_a_glance(&witness),
            View::fresh(&home.path),
            "{how}"
        );
        let mode = fs::symlink_metadata(&lock).unwrap();
        assert!(mode.is_file() && !mode.file_type().is_fifo(), "{how}");
    }
}

#[test]
fn copies_of_records_in_other_places_are_out_and_the_originals_stay() {
    let ground = Ground::new();
    let whole = View::fresh(ground.path());
    let name_of = |path: &Path, home: &Home| {
        path.strip_prefix(&home.path)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    // Under another name, beside it.
    let home = ground.copy();
    let copy = home
        .bundle_file(acme())
        .with_file_name(format!("{}.json", "0".repeat(32)));
    fs::copy(home.tool_file(acme(), "y", "v1"), &copy).unwrap();
    let view = View::fresh(&home.path);
    assert_eq!(view.tools, whole.tools);
    assert_eq!(view.damage, [name_of(&copy, &home)].into());
    // Over another record.
    let home = ground.copy();
    let copy = home.tool_file(acme(), "x", "v1");
    fs::copy(home.tool_file(acme(), "y", "v1"), &copy).unwrap();
    let view = View::fresh(&home.path);
    assert_eq!(view.damage, [name_of(&copy, &home)].into());
    assert_eq!(view.tools.len(), 4);
    // Of another bundle, under the right name.
    let home = ground.copy();
    let copy = home.tool_file(acme(), "x", "v1");
    fs::copy(home.tool_file(beta(), "x", "v1"), &copy).unwrap();
    let view = View::fresh(&home.path);
    assert_eq!(view.damage, [name_of(&copy, &home)].into());
    assert!(view.tools.contains_key(&format!("{}/x@v1", beta())));
    // A bundle as a whole.
    let home = ground.copy();
    let dir = home
        .path
        .join("bundles/018faf50-b7b6-7a01-9a05-0000000000ff");
    super::copy_dir(home.bundle_file(acme()).parent().unwrap(), &dir);
    let view = View::fresh(&home.path);
    assert_eq!((&view.bundles, &view.tools), (&whole.bundles, &whole.tools));
    assert!(
        view.damage
            .contains(&name_of(&dir.join("bundle.json"), &home)),
        "{:?}",
        view.damage
    );
    assert!(
        view.damage.iter().all(|file| file.contains("0000000000ff")),
        "{:?}",
        view.damage
    );
}

/// What a writer would have refused, someone made by hand: one of the two is out, and it is always the same one.
#[test]
fn two_that_may_not_be_there_together_are_distinguished_the_same_way_by_everybody() {
    let ground = Ground::new();
    type ByHand = (&'static str, fn(&Home));
    let by_hand: [ByHand; 2] = [
        ("a slug of two bundles", |home| {
            change_field(&home.bundle_file(beta()), "slug", "\"acme\"");
        }),
        ("an id of two tools", |home| {
            let id = format!("\"{}\"", tool_id(1));
            change_field(&home.tool_file(beta(), "x", "v1"), "toolID", &id);
        }),
    ];
    for (how, edit) in by_hand {
        let home = ground.copy();
        let witness = open(&home.path);
        edit(&home);
        let view = View::fresh(&home.path);
        assert_eq!(view.damage.len(), 1, "{how}: {:?}", view.damage);
        witness.changes(Look::Thorough).unwrap();
        assert_eq!(View::of(&witness), view, "{how}");
        for _ in 0..3 {
            assert_eq!(View::fresh(&home.path), view, "{how}");
        }
        // Of the one that is out, a bundle takes its tool with it.
        let shown = (view.bundles.len(), view.tools.len());
        assert!([(3, 4), (4, 4)].contains(&shown), "{how}: {shown:?}");
    }
}

/// Foreign names cost nothing and are ignored.
#[test]
fn strange_files_and_directories_beside_the_bundles_cost_nothing() {
    let ground = Ground::new();
    let whole = View::fresh(ground.path());
    let home = ground.copy();
    let bundles = home.path.join("bundles");
    for dir in [
        "not-an-id",
        ".git",
        "018faf50-b7b6-4a01-9a05-000000000001",
        "018FAF50-B7B6-7A01-9A05-0000000000FF",
        "a b",
    ] {
        fs::create_dir(bundles.join(dir)).unwrap();
        fs::write(bundles.join(dir).join("bundle.json"), "{}").unwrap();
    }
    fs::write(
        bundles.join("018faf50-b7b6-7a01-9a05-0000000000fe"),
        "a file with a bundle's name",
    )
    .unwrap();
    symlink(
        bundles.join(acme().to_string()),
        bundles.join("018faf50-b7b6-7a01-9a05-0000000000fd"),
    )
    .unwrap();
    fs::create_dir(bundles.join("018faf50-b7b6-7a01-9a05-0000000000fc")).unwrap();
    let odd = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    fs::create_dir(bundles.join(odd)).unwrap();
    fs::write(bundles.join(acme().to_string()).join(odd), "x").unwrap();
    let store = open(&home.path);
    let view = View::of(&store);
    assert_eq!((&view.bundles, &view.tools), (&whole.bundles, &whole.tools));
    store.reap().unwrap();
    store
        .put_tool(manifest(&key(beta(), "n", "v1"), tool_id(50), "x"))
        .unwrap();
    assert!(bundles.join("not-an-id/bundle.json").exists());
    assert!(bundles.join(odd).exists());
    assert!(
        bundles
            .join("018faf50-b7b6-7a01-9a05-0000000000fe")
            .exists()
    );
}

/// As no one, since root may read everything.
#[test]
fn what_may_not_be_read_is_out_with_the_reason_and_nothing_else() {
    const NAME: &str =
        "store::places::what_may_not_be_read_is_out_with_the_reason_and_nothing_else";
    if crate::files::nobody::ran_again_as_nobody(NAME) {
        return;
    }
    let ground = Ground::new();
    let whole = View::fresh(ground.path());
    for which in [Which::Tool, Which::Bundle] {
        let home = ground.copy();
        let file = which.file(&home);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o0)).unwrap();
        let store = assert_only_it_is_out(which, &home, &file, &whole, "mode 000");
        assert!(
            store.damage()[0].reason.contains("permission"),
            "{:?}",
            store.damage()
        );
        // Once it may be read, it is back.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        store.changes(Look::Thorough).unwrap();
        assert_eq!(View::of(&store), whole);
    }
    // A bundle's directory that may not be listed, and one that may not be entered.
    for mode in [0o000, 0o200, 0o400] {
        let home = ground.copy();
        let dir = home.bundle_file(acme()).parent().unwrap().to_owned();
        fs::set_permissions(&dir, fs::Permissions::from_mode(mode)).unwrap();
        let store = open(&home.path);
        assert_eq!(
            Which::Bundle.without(View::of(&store)),
            Which::Bundle.without(whole.clone()),
            "{mode:o}"
        );
        assert!(!store.damage().is_empty(), "{mode:o}");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
        store.changes(Look::Thorough).unwrap();
        assert_eq!(View::of(&store), whole);
    }
    // All of it.
    let home = ground.copy();
    let bundles = home.path.join("bundles");
    fs::set_permissions(&bundles, fs::Permissions::from_mode(0o0)).unwrap();
    let store = Store::at(&home.path, options(NOW));
    let error = ToolError::from(store.changes(Look::Glance).unwrap_err());
    assert_eq!(error.code(), ErrorCode::StorageError);
    assert!(error.message().contains("permission denied"), "{error}");
    fs::set_permissions(&bundles, fs::Permissions::from_mode(0o700)).unwrap();
    store.changes(Look::Glance).unwrap();
    assert_eq!(View::of(&store), whole);
}
