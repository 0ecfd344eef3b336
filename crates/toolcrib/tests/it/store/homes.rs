//! A whole home with something damaged in it, opened as every command opens it: nothing hangs, it is said what is wrong, and
//! `doctor --fix` puts it right without losing a byte.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use toolcrib::crib::HomeProblem;
use toolcrib::{Crib, ErrorCode};

use super::damage::Which;
use super::ground::{Ground, Home, acme, beta};
use super::state_files::{call, open};
use super::view::View;
use super::ways::{Damaging, SURE, picture, within};
use super::{draft, files_below};

const LIMIT: Duration = Duration::from_secs(30);

/// The problems that keep something from working.
fn damage(crib: &Crib) -> Vec<HomeProblem> {
    let mut problems = crib.home_problems();
    problems.retain(HomeProblem::is_damage);
    problems
}

fn files(problems: &[HomeProblem]) -> Vec<&str> {
    problems
        .iter()
        .map(|problem| problem.file.as_str())
        .collect()
}

/// Puts everything right that there is.
fn put_right(crib: &Crib, context: &str) -> Vec<String> {
    let problems = damage(crib);
    let put = |problem: &HomeProblem| {
        let done = crib.put_right(problem);
        done.unwrap_or_else(|error| panic!("{context}: {}: {error}", problem.file))
    };
    let done = problems.iter().map(put).collect();
    assert_eq!(damage(crib), [], "{context}");
    done
}

/// The contents of `damaged/`.
fn aside(home: &Path) -> Vec<String> {
    match home.join("damaged").exists() {
        true => files_below(&home.join("damaged")),
        false => Vec::new(),
    }
}

/// Calls go on without what is damaged.
fn assert_others_work(crib: &Crib, context: &str) {
    assert_eq!(call(crib), Ok(()), "{context}");
    assert_eq!(crib.bundle_tools(beta()).len(), 1, "{context}");
    crib.set_bundle_enabled("beta", false).unwrap();
    crib.set_bundle_enabled("beta", true).unwrap();
}

fn assert_every_way(which: Which) {
    let ground = Ground::new();
    for (how, harm) in SURE {
        // What only tools say.
        if which == Which::Bundle
            && ["half a surrogate", "deep nesting in a field of ours"].contains(how)
        {
            continue;
        }
        let home = ground.copy();
        let file = which.file(&home);
        harm(&file);
        within(LIMIT, move || {
            let context = format!("{which:?}, {how}");
            let before = picture(&file);
            let crib = open(&home);
            assert_eq!(picture(&file), before, "{context}: opening touched it");
            let name = file.strip_prefix(&home.path).unwrap().to_str().unwrap();
            assert_eq!(files(&damage(&crib)), [name], "{context}");
            assert_others_work(&crib, &context);
            put_right(&crib, &context);
            assert!(!aside(&home.path).is_empty(), "{context}");
            let left = match which {
                Which::Tool => 2,
                Which::Bundle => 3,
            };
            assert_eq!(crib.bundle_tools(acme()).len(), left, "{context}");
            // And for the next process that opens it.
            assert!(View::fresh(&home.path).damage.is_empty(), "{context}");
        });
    }
}

#[test]
fn a_home_with_a_tool_damaged_in_any_way_opens_and_is_put_right() {
    assert_every_way(Which::Tool);
}

#[test]
fn a_home_with_a_bundle_damaged_in_any_way_opens_and_is_put_right() {
    assert_every_way(Which::Bundle);
}

/// What may stand where there should be a directory or a lock.
const IN_THE_WAY: &[Damaging] = &[
    ("a file", |path| fs::write(path, "x").unwrap()),
    ("a dangling link", |path| {
        symlink("/nonexistent", path).unwrap();
    }),
    ("a link to itself", |path| {
        symlink(path.file_name().unwrap(), path).unwrap();
    }),
    ("a link to a device", |path| {
        symlink("/dev/zero", path).unwrap();
    }),
    ("a pipe", |path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    }),
    ("a directory", |path| fs::create_dir(path).unwrap()),
];

#[test]
fn a_store_that_is_not_a_directory_is_said_and_set_aside() {
    for (how, make) in IN_THE_WAY.iter().filter(|(how, _)| *how != "a directory") {
        let home = Home::empty();
        make(&home.path.join("bundles"));
        within(LIMIT, move || {
            let crib = open(&home);
            let warnings = crib.store_warnings().join("\n");
            assert!(warnings.contains("are not loaded"), "{how}: {warnings}");
            assert_eq!(files(&damage(&crib)), ["bundles"], "{how}");
            assert_eq!(call(&crib), Ok(()), "{how}");
            put_right(&crib, how);
            assert_eq!(aside(&home.path).len(), 1, "{how}");
            crib.put_bundle(acme(), draft("acme")).unwrap();
            assert_eq!(crib.store_warnings(), [""; 0], "{how}");
        });
    }
}

#[test]
fn a_lock_that_is_not_a_file_is_said_and_set_aside() {
    let ground = Ground::new();
    for (how, make) in IN_THE_WAY.iter().filter(|(how, _)| *how != "a file") {
        let home = ground.copy();
        let lock = home.path.join("bundles/.lock");
        fs::remove_file(&lock).unwrap();
        make(&lock);
        within(LIMIT, move || {
            let crib = open(&home);
            let whole = View::of(crib.store());
            assert!(crib.set_bundle_enabled("beta", false).is_err(), "{how}");
            let warnings = crib.store_warnings().join("\n");
            assert!(warnings.contains("bundles/.lock"), "{how}: {warnings}");
            assert_eq!(files(&damage(&crib)), ["bundles/.lock"], "{how}");
            put_right(&crib, how);
            assert_eq!(View::of(crib.store()), whole, "{how}");
            assert_others_work(&crib, how);
            assert_eq!(crib.store_warnings(), [""; 0], "{how}");
        });
    }
}

/// No one knows what was switched off: nothing runs, as with flags that cannot be read.
#[test]
fn state_that_is_not_a_directory_switches_everything_off_until_it_is_put_right() {
    for (how, make) in IN_THE_WAY.iter().filter(|(how, _)| *how != "a directory") {
        let home = Home::empty();
        // One that was open before sees the same as one that opens then.
        let witness = open(&home);
        witness.set_bundle_enabled("user", false).unwrap();
        assert_eq!(call(&witness), Ok(()), "{how}");
        let state = home.path.join("state");
        fs::rename(&state, home.path.join("elsewhere")).unwrap();
        make(&state);
        within(LIMIT, move || {
            assert_eq!(call(&witness), Err(ErrorCode::ToolDisabled), "{how}");
            let crib = open(&home);
            assert_eq!(call(&crib), Err(ErrorCode::ToolDisabled), "{how}");
            assert!(crib.set_bundle_enabled("core", true).is_err(), "{how}");
            assert_eq!(files(&damage(&crib)), ["state"], "{how}");
            let done = put_right(&crib, how).join("\n");
            assert!(done.contains("on again"), "{how}: {done}");
            assert_eq!(call(&crib), Ok(()), "{how}");
            assert_eq!(call(&witness), Ok(()), "{how}");
        });
    }
}

#[test]
fn what_is_in_the_place_of_the_damaged_files_is_moved_beside_it() {
    let home = Home::empty();
    fs::write(home.path.join("damaged"), "mine").unwrap();
    let crib = open(&home);
    assert_eq!(files(&damage(&crib)), ["damaged"]);
    put_right(&crib, "damaged");
    let moved = files_below(&home.path)
        .into_iter()
        .find(|name| name.starts_with("damaged-"));
    let moved = home.path.join(moved.unwrap());
    assert_eq!(fs::read_to_string(moved).unwrap(), "mine");
}

/// Nothing of the younger one is damaged but its name.
#[test]
fn of_two_bundles_with_one_slug_the_younger_is_renamed_with_all_that_it_says() {
    let home = Ground::new().copy();
    let file = home.bundle_file(beta());
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replacen("\"beta\"", "\"acme\"", 1);
    fs::write(&file, text.replacen('{', "{\"mine\": 1,", 1)).unwrap();
    let crib = open(&home);
    let problems = damage(&crib);
    let name = file.strip_prefix(&home.path).unwrap().to_str().unwrap();
    assert_eq!(files(&problems), [name]);
    let done = put_right(&crib, "a clash");
    assert_eq!(done, ["it is `acme-2` now"]);
    assert_eq!(aside(&home.path), [""; 0]);
    let renamed = crib.bundle("acme-2").unwrap();
    assert_eq!(renamed.bundle.bundle_id, beta());
    assert_eq!(renamed.bundle.extra.get("mine"), Some(&1.into()));
    assert!(renamed.bundle.is_enabled && renamed.tools == 1);
    assert_eq!(crib.bundle("acme").unwrap().bundle.bundle_id, acme());
}

#[test]
fn a_damaged_bundle_is_known_by_the_slug_that_its_file_still_says() {
    let home = Ground::new().copy();
    let file = home.bundle_file(acme());
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, &text[..text.len() - 4]).unwrap();
    let crib = open(&home);
    let view = crib.bundle("acme").unwrap();
    assert!(view.is_damaged && !view.bundle.is_enabled);
    assert_eq!((view.bundle.bundle_id, view.tools), (acme(), 3));
    let refused = crib.set_bundle_enabled("acme", true).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::StorageError);
    // Of one that says nothing more, there is its id, and a word about it.
    fs::write(&file, "{").unwrap();
    let crib = open(&home);
    assert!(crib.bundle(&acme().to_string()).unwrap().is_damaged);
    let missing = crib.bundle("acme").unwrap_err();
    assert_eq!(missing.code(), ErrorCode::BundleNotFound);
    assert!(missing.message().contains("toolcrib doctor"), "{missing}");
}
