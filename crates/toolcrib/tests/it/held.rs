//! Killed at any system call that changes files, a process that takes planted things out of a workspace loses nothing: the next one
//! finishes its work.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use toolcrib::held::HeldFile;
use toolcrib::sandbox::{self, Keeper, Level, Moment, Policy, recover};
use toolcrib::{Crib, CribOptions};

use crate::syscalls::{Followed, between_stops, test_in_child};

/// The planted file, and its contents.
const PLANTED: [(&str, &str); 4] = [
    (".envrc", "evil\n"),
    (".husky", "evil hook\n"),
    (
        "sub/.git/config",
        "[core]\n\tbare = false\n\tfsmonitor = ./evil\n",
    ),
    ("sub/.git/hooks/pre-commit", "another hook\n"),
];

fn crib(home: &Path, workspace: &Path) -> Crib {
    let options = CribOptions::default().home(home).workspace(workspace);
    options.open().unwrap()
}

fn plant(workspace: &Path) {
    for (path, text) in PLANTED {
        let path = match path {
            ".husky" => workspace.join(".husky/pre-commit"),
            path => workspace.join(path),
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let git = workspace.join("sub/.git");
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::create_dir(git.join("objects")).unwrap();
    fs::create_dir(git.join("refs")).unwrap();
}

/// The side that is killed. On its own it does nothing.
#[test]
fn child() {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let (Some(home), Some(workspace)) = (
        variable("TOOLCRIB_TEST_HELD_HOME"),
        variable("TOOLCRIB_TEST_HELD_WORKSPACE"),
    ) else {
        return;
    };
    match std::env::var("TOOLCRIB_TEST_OPERATION").as_deref() {
        Ok("closed") => {
            let crib = crib(&home, &workspace);
            let (_, run) = crib.look_after(sandbox::Command::new("true")).unwrap();
            run.begin(b"").unwrap();
            plant(&workspace);
            let policy = Policy::new(Level::Process, &workspace);
            let planted = recover(&policy, b"").unwrap();
            let closed =
                ["sub/.git/hooks", "sub/.git", ".husky", "."].map(|name| workspace.join(name));
            for directory in &closed {
                fs::set_permissions(directory, fs::Permissions::from_mode(0o555)).unwrap();
            }
            run.planted(&planted, Moment::Ended);
            let (_, left) = run.end(&[]);
            assert_eq!(left, [""; 0].map(PathBuf::from));
            for directory in closed
                .iter()
                .filter(|directory| !directory.ends_with(".husky"))
            {
                let mode = directory.metadata().unwrap().mode() & 0o777;
                assert_eq!(mode, 0o555, "{}", directory.display());
            }
        }
        Ok("recover") => {
            between_stops(|| crib(&home, &workspace));
        }
        Ok("leave") => {
            let crib = crib(&home, &workspace);
            let (_, run) = crib.look_after(sandbox::Command::new("true")).unwrap();
            run.begin(b"").unwrap();
            plant(&workspace);
            // As if it was killed: nothing is dropped.
            std::process::exit(0);
        }
        _ => {
            let crib = crib(&home, &workspace);
            let (_, run) = crib.look_after(sandbox::Command::new("true")).unwrap();
            run.begin(b"").unwrap();
            plant(&workspace);
            let policy = Policy::new(Level::Process, &workspace);
            let planted = recover(&policy, b"").unwrap();
            assert_eq!(planted.len(), PLANTED.len(), "{planted:?}");
            between_stops(|| {
                run.planted(&planted, Moment::Ended);
                run.end(&[]);
            });
        }
    }
}

fn child_in(home: &Path, workspace: &Path, operation: &str) -> Command {
    let mut command = test_in_child("held::child");
    command.env("TOOLCRIB_TEST_HELD_HOME", home);
    command.env("TOOLCRIB_TEST_HELD_WORKSPACE", workspace);
    command.env("TOOLCRIB_TEST_OPERATION", operation);
    command
}

#[test]
fn a_killed_run_is_not_forgotten_while_its_workspace_cannot_be_opened() {
    let (home, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (workspace, away) = (place.path().join("there"), place.path().join("away"));
    let other = place.path().join("other");
    fs::create_dir(&workspace).unwrap();
    fs::create_dir(&other).unwrap();
    let left = child_in(home.path(), &workspace, "leave").status().unwrap();
    assert!(left.success());
    fs::rename(&workspace, &away).unwrap();
    let store = crib(home.path(), &other).held().clone();
    let said = store.recover();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("could not be looked at"), "{said:?}");
    assert_eq!(store.list().unwrap(), []);
    fs::rename(&away, &workspace).unwrap();
    assert_eq!(store.recover(), [""; 0]);
    check(
        home.path(),
        &workspace,
        false,
        "after the workspace was away",
    );
}

#[test]
fn a_workspace_whose_path_is_not_text_is_looked_after_too() {
    let (home, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workspace = place.path().join(OsStr::from_bytes(b"work\xff"));
    fs::create_dir(&workspace).unwrap();
    let crib = crib(home.path(), &workspace);
    let (_, run) = crib.look_after(sandbox::Command::new("true")).unwrap();
    run.begin(b"").unwrap();
    fs::write(workspace.join(".envrc"), "evil\n").unwrap();
    let policy = Policy::new(Level::Process, &workspace);
    run.planted(&recover(&policy, b"").unwrap(), Moment::Ended);
    run.end(&[]);
    let store = crib.held();
    let items = store.list().unwrap();
    assert_eq!(items.len(), 1, "{items:?}");
    assert!(!workspace.join(".envrc").exists());
    store.restore(&items[0].id).unwrap();
    assert_eq!(
        fs::read_to_string(workspace.join(".envrc")).unwrap(),
        "evil\n"
    );
    // One that was killed is found again, too.
    fs::remove_file(workspace.join(".envrc")).unwrap();
    let left = child_in(home.path(), &workspace, "leave").status().unwrap();
    assert!(left.success());
    assert_eq!(store.recover(), [""; 0]);
    assert!(!workspace.join(".envrc").exists());
}

/// The names in a directory and beneath.
fn names(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        found.push(entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            found.extend(names(&entry.path()));
        }
    }
    found
}

/// That all of it is held as it was, and nothing is left over; once, unless it had to be copied to another disk.
fn check(home: &Path, workspace: &Path, is_copied: bool, context: &str) {
    let store = crib(home, workspace).held().clone();
    let items = store.list().unwrap();
    let mut held: Vec<(&str, String)> = items
        .iter()
        .map(|item| {
            let shown = store.show(&item.id).unwrap();
            let text = |file: &HeldFile| file.text.clone().unwrap();
            let texts: Vec<String> = shown.files.iter().map(text).collect();
            (item.path.as_str(), texts.concat())
        })
        .collect();
    held.sort();
    if is_copied {
        // A directory may have been emptied and not removed.
        held.dedup();
        held.retain(|(_, text)| !text.is_empty());
    }
    assert_eq!(
        held,
        PLANTED.map(|(path, text)| (path, text.to_owned())),
        "{context}"
    );
    let left = names(workspace);
    for name in &left {
        let is_planted = [".envrc", ".husky", "pre-commit"].contains(&name.as_str());
        let is_ours = name.contains("toolcrib") || name.contains("held") || name.contains(".lock");
        assert!(!is_planted && !is_ours, "{context}: {left:?}");
    }
    let config = fs::read_to_string(workspace.join("sub/.git/config")).unwrap();
    assert!(
        config.contains("bare") && !config.contains("evil"),
        "{context}: {config}"
    );
    let kept = fs::read_dir(home.join("held")).unwrap().flatten();
    let kept =
        kept.filter(|entry| uuid::Uuid::try_parse(&entry.file_name().to_string_lossy()).is_ok());
    assert_eq!(kept.count(), items.len(), "{context}");
    assert_eq!(names(&home.join("held/runs")), [""; 0], "{context}");
}

/// A directory on another disk than the temporary one, where there is one.
fn elsewhere() -> Option<tempfile::TempDir> {
    let other = tempfile::tempdir_in("/dev/shm").ok()?;
    let here = tempfile::tempdir().ok()?;
    let device = |path: &Path| path.metadata().ok().map(|metadata| metadata.dev());
    (device(other.path()) != device(here.path())).then_some(other)
}

fn killed_at_any_call(workspace: impl Fn() -> Option<tempfile::TempDir>, operation: &str) {
    for stop in 1.. {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let Some(workspace) = workspace() else {
            return crate::skipped(format_args!("there is no other disk here"));
        };
        let workspace = workspace.path();
        if operation == "recover" {
            let Some(child) = Followed::start(&mut child_in(home, workspace, "take")) else {
                return;
            };
            child.kill();
        }
        let Some(mut child) = Followed::start(&mut child_in(home, workspace, operation)) else {
            return;
        };
        let is_done = !child.gets_to_change(stop);
        match is_done {
            true => assert_eq!(child.finish(), 0),
            false => child.kill(),
        }
        let device = |path: &Path| path.metadata().unwrap().dev();
        check(
            home,
            workspace,
            device(home) != device(workspace),
            &format!("{operation} killed at call {stop}"),
        );
        if is_done {
            assert!(stop > 20, "followed only {stop} calls: that cannot be all");
            break;
        }
    }
}

/// To root no directory is closed.
#[test]
fn what_a_command_closes_is_taken_all_the_same() {
    let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut command = child_in(home.path(), workspace.path(), "closed");
    if rustix::process::geteuid().is_root() {
        const NOBODY: u32 = 65534;
        for directory in [home.path(), workspace.path()] {
            std::os::unix::fs::chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    check(home.path(), workspace.path(), false, "closed");
}

#[test]
fn a_second_name_of_something_held_changes_nothing_in_it() {
    let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (home, workspace) = (home.path(), workspace.path());
    let crib = crib(home, workspace);
    let (_, run) = crib.look_after(sandbox::Command::new("true")).unwrap();
    run.begin(b"").unwrap();
    plant(workspace);
    for (name, other) in [(".envrc", "notes"), (".husky/pre-commit", "lint")] {
        fs::hard_link(workspace.join(name), workspace.join(other)).unwrap();
    }
    let policy = Policy::new(Level::Process, workspace);
    run.planted(&recover(&policy, b"").unwrap(), Moment::Ended);
    run.end(&[]);
    for other in ["notes", "lint"] {
        fs::write(workspace.join(other), "changed after a person has looked").unwrap();
    }
    drop((run, crib));
    check(home, workspace, false, "with second names");
}

#[test]
fn a_file_that_a_command_still_has_open_changes_neither_what_was_shown_nor_what_is_put_back() {
    let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (home, workspace) = (home.path(), workspace.path());
    let crib = crib(home, workspace);
    let (_, run) = crib.look_after(sandbox::Command::new("true")).unwrap();
    run.begin(b"").unwrap();
    plant(workspace);
    let mut file = fs::File::options()
        .append(true)
        .open(workspace.join(".envrc"))
        .unwrap();
    let directory = fs::File::open(workspace.join(".husky")).unwrap();
    let policy = Policy::new(Level::Process, workspace);
    run.planted(&recover(&policy, b"").unwrap(), Moment::Ended);
    run.end(&[]);
    let mut change = || {
        let planted = format!("/proc/self/fd/{}/more", directory.as_raw_fd());
        // The original may be gone, and nothing can be made in it then.
        let _ = fs::write(planted, "more");
        file.write_all(b"changed after a person has looked\n")
            .unwrap();
    };
    let store = crib.held();
    let shown = || -> Vec<_> {
        let items = store.list().unwrap().into_iter();
        items
            .map(|item| store.show(&item.id).unwrap().files)
            .collect()
    };
    let before = shown();
    change();
    assert_eq!(shown(), before);
    for item in store.list().unwrap() {
        store.restore(&item.id).unwrap();
    }
    change();
    assert_eq!(
        fs::read_to_string(workspace.join(".envrc")).unwrap(),
        "evil\n"
    );
    assert_eq!(names(&workspace.join(".husky")), ["pre-commit"]);
}

/// Bytes that a directory takes on the disk, each file once.
fn bytes_on_disk(directory: &Path) -> u64 {
    let mut seen = std::collections::BTreeMap::new();
    let mut queue = vec![directory.to_owned()];
    while let Some(path) = queue.pop() {
        let metadata = path.symlink_metadata().unwrap();
        if metadata.is_dir() {
            queue.extend(
                fs::read_dir(path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else {
            seen.insert(metadata.ino(), metadata.blocks() * 512);
        }
    }
    seen.values().sum()
}

fn many_names_and_holes(workspace: tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let (home, workspace) = (home.path(), workspace.path());
    let crib = crib(home, workspace);
    let (_, run) = crib.look_after(sandbox::Command::new("true")).unwrap();
    fs::create_dir_all(workspace.join(".husky/d")).unwrap();
    let husky = |name: &str| workspace.join(".husky").join(name);
    fs::write(husky("shared"), vec![b'x'; 1 << 20]).unwrap();
    fs::write(husky("alone"), vec![b'x'; 1 << 20]).unwrap();
    for number in 0..100 {
        fs::hard_link(husky("shared"), husky(&format!("d/{number}"))).unwrap();
        fs::hard_link(husky("alone"), husky(&format!("d/alone{number}"))).unwrap();
    }
    let holes = fs::File::create(husky("holes")).unwrap();
    holes.set_len(1 << 33).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&holes, b"end", 1 << 32).unwrap();
    for name in ["shared", "holes"] {
        fs::hard_link(husky(name), workspace.join(name)).unwrap();
    }
    let policy = Policy::new(Level::Process, workspace);
    run.planted(&recover(&policy, b"").unwrap(), Moment::Ended);
    let (held, left) = run.end(&[]);
    assert_eq!((held.len(), left.len()), (1, 0));
    fs::write(workspace.join("shared"), "changed").unwrap();
    let content = home.join("held").join(&held[0].id).join("content");
    for name in ["shared", "d/0", "d/99"] {
        assert_eq!(
            content.join(name).metadata().unwrap().len(),
            1 << 20,
            "{name}"
        );
    }
    let held_holes = fs::File::open(content.join("holes")).unwrap();
    let mut end = [0; 3];
    std::os::unix::fs::FileExt::read_exact_at(&held_holes, &mut end, 1 << 32).unwrap();
    assert_eq!(
        (&end, held_holes.metadata().unwrap().len()),
        (b"end", 1 << 33)
    );
    let bytes = bytes_on_disk(&home.join("held"));
    assert!(bytes < 4 << 20, "{bytes}");
}

#[test]
fn many_names_and_holes_of_something_held_take_no_more_space_than_before() {
    many_names_and_holes(tempfile::tempdir().unwrap());
    match elsewhere() {
        Some(other) => many_names_and_holes(other),
        None => crate::skipped(format_args!("there is no other disk here")),
    }
}

#[test]
fn a_second_name_of_something_too_long_to_be_copied_is_reported() {
    let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (home, workspace) = (home.path(), workspace.path());
    let crib = crib(home, workspace);
    let (_, run) = crib.look_after(sandbox::Command::new("true")).unwrap();
    fs::create_dir(workspace.join(".husky")).unwrap();
    let long = fs::File::create(workspace.join("long")).unwrap();
    rustix::fs::fallocate(&long, rustix::fs::FallocateFlags::empty(), 0, 65 << 20).unwrap();
    for part in 0..65 {
        std::os::unix::fs::FileExt::write_all_at(&long, &[b'x'; 1 << 20], part << 20).unwrap();
    }
    fs::hard_link(workspace.join("long"), workspace.join(".husky/long")).unwrap();
    let policy = Policy::new(Level::Process, workspace);
    run.planted(&recover(&policy, b"").unwrap(), Moment::Ended);
    let (held, left) = run.end(&[]);
    assert_eq!((held.len(), left.len()), (1, 0));
    assert!(
        held[0].why.contains("can still be changed"),
        "{}",
        held[0].why
    );
    assert_eq!(crib.held().find(&held[0].id).unwrap().why, held[0].why);
    assert!(bytes_on_disk(&home.join("held")) < 66 << 20);
}

/// Does something again and again while another thread exchanges two names.
fn while_exchanged(one: &Path, other: &Path, mut work: impl FnMut() -> bool) -> bool {
    use std::sync::atomic::{AtomicBool, Ordering};
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let here = rustix::fs::CWD;
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                let _ = rustix::fs::renameat_with(here, one, here, other, exchange);
            }
        });
        let is_good = (0..300).all(|_| work());
        is_over.store(true, Ordering::Relaxed);
        is_good
    })
}

#[test]
fn a_link_put_in_the_place_of_a_directory_changes_nothing_where_it_leads() {
    let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let outside = tempfile::NamedTempFile::new().unwrap();
    let (home, workspace) = (home.path(), workspace.path());
    let crib = crib(home, workspace);
    let (_, run) = crib.look_after(sandbox::Command::new("true")).unwrap();
    let git = workspace.join(".git");
    fs::create_dir_all(git.join("objects")).unwrap();
    std::os::unix::fs::symlink(outside.path(), git.join("link")).unwrap();
    let mode = || outside.path().metadata().unwrap().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    let planted = [sandbox::Planted {
        path: git.join("objects"),
        why: String::new(),
        remedy: sandbox::Remedy::MakeDirectory,
        changed: None,
    }];
    let is_good = while_exchanged(&git.join("objects"), &git.join("link"), || {
        run.planted(&planted, Moment::Running);
        let _ = std::os::unix::fs::symlink(outside.path(), git.join("link"));
        let _ = fs::create_dir(git.join("link"));
        mode() == 0o600
    });
    assert!(is_good, "{:o}", mode());
    let (_, left) = run.end(&[]);
    assert!(left.len() <= 1, "{left:?}");
}

#[test]
fn a_link_put_in_the_place_of_a_directory_that_is_removed_changes_nothing_where_it_leads() {
    let home = tempfile::tempdir().unwrap();
    let Some(workspace) = elsewhere() else {
        return crate::skipped(format_args!("there is no other disk here"));
    };
    let outside = tempfile::NamedTempFile::new().unwrap();
    let (home, workspace) = (home.path(), workspace.path());
    let crib = crib(home, workspace);
    let (_, run) = crib.look_after(sandbox::Command::new("true")).unwrap();
    let mode = || outside.path().metadata().unwrap().mode() & 0o777;
    let (husky, link) = (workspace.join(".husky"), workspace.join("link"));
    let planted = [sandbox::Planted {
        path: husky.clone(),
        why: String::new(),
        remedy: sandbox::Remedy::Take,
        changed: None,
    }];
    let is_good = while_exchanged(&husky, &link, || {
        let _ = fs::create_dir(&husky);
        let _ = std::os::unix::fs::symlink(outside.path(), &link);
        let _ = fs::create_dir(&link);
        let _ = std::os::unix::fs::symlink(outside.path(), &husky);
        run.planted(&planted, Moment::Ended);
        mode() == 0o600
    });
    assert!(is_good, "{:o}", mode());
}

#[test]
fn a_long_name_gets_another_one_too_when_no_more_is_held() {
    let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (home, workspace) = (home.path(), workspace.path());
    let crib = crib(home, workspace);
    let (_, run) = crib.look_after(sandbox::Command::new("true")).unwrap();
    let long = format!("{}.code-workspace", "x".repeat(240));
    let names = (0..200).map(|number| format!("{number}.code-workspace"));
    let planted: Vec<sandbox::Planted> = names
        .chain([long.clone()])
        .map(|name| {
            fs::write(workspace.join(&name), "evil").unwrap();
            sandbox::Planted {
                path: workspace.join(name),
                why: String::new(),
                remedy: sandbox::Remedy::Take,
                changed: None,
            }
        })
        .collect();
    run.planted(&planted, Moment::Ended);
    let (held, left) = run.end(&[]);
    assert_eq!((held.len(), left.len()), (200, 1));
    assert!(!workspace.join(long).exists());
    assert!(
        left[0].exists() && left[0].to_string_lossy().contains(".held-"),
        "{left:?}"
    );
}

#[test]
fn what_is_not_shown_of_something_held_is_counted() {
    let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (home, workspace) = (home.path(), workspace.path());
    let crib = crib(home, workspace);
    let (_, run) = crib.look_after(sandbox::Command::new("true")).unwrap();
    fs::write(workspace.join(".envrc"), "\n".repeat(20_000) + "evil\n").unwrap();
    let policy = Policy::new(Level::Process, workspace);
    run.planted(&recover(&policy, b"").unwrap(), Moment::Ended);
    let (held, _) = run.end(&[]);
    let shown = crib.held().show(&held[0].id).unwrap();
    assert_eq!(
        (shown.files[0].size, shown.files[0].omitted),
        (20_005, 3621)
    );
}

#[test]
fn a_deep_directory_can_be_dropped() {
    let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (home, workspace) = (home.path(), workspace.path());
    let crib = crib(home, workspace);
    let (_, run) = crib.look_after(sandbox::Command::new("true")).unwrap();
    let deep = "d/".repeat(700);
    fs::create_dir_all(workspace.join(".husky").join(&deep)).unwrap();
    fs::write(workspace.join(".husky").join(deep).join("x"), "x").unwrap();
    let policy = Policy::new(Level::Process, workspace);
    run.planted(&recover(&policy, b"").unwrap(), Moment::Ended);
    let (held, _) = run.end(&[]);
    crib.held().drop(&held[0].id).unwrap();
    assert_eq!(names(&home.join("held")), [".lock"]);
}

#[test]
fn nothing_is_lost_when_taking_is_killed_at_any_call() {
    killed_at_any_call(|| tempfile::tempdir().ok(), "take");
}

#[test]
fn nothing_is_lost_when_taking_to_another_disk_is_killed_at_any_call() {
    killed_at_any_call(elsewhere, "take");
}

#[test]
fn nothing_is_lost_when_the_next_process_is_killed_at_any_call_too() {
    killed_at_any_call(|| tempfile::tempdir().ok(), "recover");
}
