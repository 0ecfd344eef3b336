//! Every file of a store, damaged in every way: its own record is out, with a reason, and nothing else; the file stays as it is
//! until somebody has it set aside, and then the record can be put again.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use toolcrib::store::{Look, Store};
use toolcrib::{ErrorCode, ToolError};

use super::ground::{Ground, Home, acme, beta};
use super::view::View;
use super::{Dice, NOW, draft, key, manifest, open, options, scale, seed, tool_id};

/// Runs something that must not hang.
pub(super) fn within<T: Send + 'static>(
    limit: Duration,
    what: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (send, receive) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _ = send.send(what());
    });
    match receive.recv_timeout(limit) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("it would have sent something"),
        },
    }
}

/// Whatever can be seen of a file without changing it.
pub(super) fn picture(path: &Path) -> String {
    let Ok(found) = fs::symlink_metadata(path) else {
        return String::from("not there");
    };
    let content = if found.is_file() && found.len() < 1 << 20 {
        format!("{:?}", fs::read(path))
    } else {
        format!("{:?}", fs::read_link(path).ok())
    };
    format!(
        "{} {:o} {} {:?} {content}",
        found.ino(),
        found.mode(),
        found.len(),
        found.modified()
    )
}

/// One way to damage a file.
pub(super) type Damaging = (&'static str, fn(&Path));

/// Ways after which nobody can take the file for a record.
pub(super) const SURE: &[Damaging] = &[
    ("empty", |path| fs::write(path, "").unwrap()),
    ("one NUL", |path| fs::write(path, "\0").unwrap()),
    ("NULs of its size", |path| {
        let size = fs::metadata(path).unwrap().len();
        fs::write(path, vec![0; usize::try_from(size).unwrap()]).unwrap();
    }),
    ("NULs behind it", |path| {
        change(path, |text| format!("{text}\0\0\0\0"));
    }),
    ("huge", |path| {
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_len(1 << 33)
            .unwrap();
    }),
    ("over the limit", |path| {
        change(path, |text| text + &" ".repeat(5 << 20));
    }),
    ("wrong UTF-8", |path| {
        let mut bytes = fs::read(path).unwrap();
        let at = bytes
            .windows(4)
            .position(|four| four == b"For " || four == b"The ")
            .unwrap();
        bytes[at] = 0xff;
        fs::write(path, bytes).unwrap();
    }),
    ("half a surrogate", |path| {
        change(path, |text| text.replacen("\"The", "\"\\ud800The", 1));
    }),
    ("UTF-16", |path| {
        let text = fs::read_to_string(path).unwrap();
        fs::write(
            path,
            text.encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<_>>(),
        )
        .unwrap();
    }),
    ("a byte order mark", |path| {
        change(path, |text| format!("\u{feff}{text}"));
    }),
    ("null", |path| fs::write(path, "null\n").unwrap()),
    ("a number", |path| fs::write(path, "17").unwrap()),
    ("an array", |path| change(path, |text| format!("[{text}]"))),
    ("an object without anything", |path| {
        fs::write(path, "{}").unwrap();
    }),
    ("two records", |path| {
        change(path, |text| format!("{text}{text}"));
    }),
    ("deep arrays", |path| {
        fs::write(path, "[".repeat(200_000)).unwrap();
    }),
    ("deep objects", |path| {
        fs::write(path, "{\"a\":".repeat(200_000)).unwrap();
    }),
    ("deep nesting in a field", |path| {
        let deep = format!(
            "{{\"deep\": {}1{},",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        change(path, |text| text.replacen('{', &deep, 1));
    }),
    ("deep nesting in a field of ours", |path| {
        let deep = format!("{{\"impl\": {}1{},", "[".repeat(300), "]".repeat(300));
        change(path, |text| {
            text.replacen("{", &deep, 1)
                .replace("\"impl\": {", "\"impl2\": {")
        });
    }),
    ("a field twice", |path| {
        change(path, |text| text.replacen('{', "{\"slug\": \"x\",", 1));
    }),
    ("a slug with `_`", |path| {
        change_field(path, "slug", "\"read_file\"");
    }),
    ("a slug that is a number", |path| {
        change_field(path, "slug", "7");
    }),
    ("an id of version 4", |path| {
        change_field(path, "bundleID", "\"018faf50-b7b6-4a01-9a05-000000000001\"");
    }),
    ("another bundle's id", |path| {
        change_field(path, "bundleID", "\"018faf50-b7b6-7a01-9a05-0000000000ff\"");
    }),
    ("a time that is none", |path| {
        change_field(path, "createdAt", "\"yesterday\"");
    }),
    ("a switch that is a word", |path| {
        change_field(path, "isEnabled", "\"yes\"");
    }),
    ("HTML", |path| {
        fs::write(path, "<!doctype html><p>404").unwrap();
    }),
    ("a conflict of git's", |path| {
        change(path, |text| {
            format!("<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> x\n")
        });
    }),
    ("a directory", |path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
        fs::write(path.join("x"), "x").unwrap();
    }),
    ("a dangling link", |path| link(path, Path::new("nowhere"))),
    ("a link to itself", |path| {
        link(path, Path::new(path.file_name().unwrap()));
    }),
    ("a link to a good one", |path| {
        let elsewhere = path.with_extension("moved");
        fs::rename(path, &elsewhere).unwrap();
        symlink(elsewhere, path).unwrap();
    }),
    ("a link to /dev/zero", |path| {
        link(path, Path::new("/dev/zero"));
    }),
    ("a pipe", |path| {
        fs::remove_file(path).unwrap();
        let done = std::process::Command::new("mkfifo")
            .arg(path)
            .status()
            .unwrap();
        assert!(done.success());
    }),
    ("a socket", |path| {
        fs::remove_file(path).unwrap();
        // Names of sockets are short, so it is made beside the home.
        let short = tempfile::tempdir().unwrap();
        drop(std::os::unix::net::UnixListener::bind(short.path().join("s")).unwrap());
        fs::rename(short.path().join("s"), path).unwrap();
    }),
];

fn change(path: &Path, how: impl FnOnce(String) -> String) {
    fs::write(path, how(fs::read_to_string(path).unwrap())).unwrap();
}

/// Gives a field another value, in the text.
fn change_field(path: &Path, field: &str, value: &str) {
    change(path, |text| {
        let start = text.find(&format!("\"{field}\": ")).unwrap() + field.len() + 4;
        let end = start + text[start..].find([',', '\n']).unwrap();
        format!("{}{value}{}", &text[..start], &text[end..])
    });
}

fn link(path: &Path, target: &Path) {
    fs::remove_file(path).unwrap();
    symlink(target, path).unwrap();
}

/// A file of the ground and what is out when it is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Tool,
    Bundle,
}

impl Which {
    pub(super) fn file(self, home: &Home) -> PathBuf {
        match self {
            Which::Tool => home.tool_file(acme(), "x", "v1"),
            Which::Bundle => home.bundle_file(acme()),
        }
    }

    /// What is left of a view without it. The tools of a bundle that cannot be read are not looked at here.
    fn without(self, mut view: View) -> View {
        match self {
            Which::Tool => {
                view.tools.remove(&format!("{}/x@v1", acme()));
            }
            Which::Bundle => {
                view.bundles.remove(&acme().to_string());
                view.tools
                    .retain(|name, _| !name.starts_with(&acme().to_string()));
            }
        }
        view.damage.clear();
        view
    }
}

/// Opens a home, and checks that just this one file is out. Returns the store.
fn assert_only_it_is_out(which: Which, home: &Home, file: &Path, whole: &View, how: &str) -> Store {
    let before = picture(file);
    let path = home.path.clone();
    let store = within(Duration::from_secs(20), move || open(&path));
    let view = View::of(&store);
    assert_eq!(
        which.without(view.clone()),
        which.without(whole.clone()),
        "{which:?}, {how}"
    );
    let name = file.strip_prefix(&home.path).unwrap().to_str().unwrap();
    assert_eq!(
        view.damage.iter().collect::<Vec<_>>(),
        [name],
        "{which:?}, {how}"
    );
    let damage = &store.damage()[0];
    assert_eq!(damage.bundle, acme(), "{how}");
    assert!(
        damage.reason.len() > 3 && damage.reason.len() < 500,
        "{how}: {}",
        damage.reason
    );
    assert!(!damage.reason.contains("/tmp/"), "{how}: {}", damage.reason);
    match which {
        Which::Tool => {
            assert_eq!(
                view,
                {
                    let mut expected = which.without(whole.clone());
                    expected.damage = view.damage.clone();
                    expected
                },
                "{how}"
            );
            let error = ToolError::from(store.tool(&key(acme(), "x", "v1")).unwrap_err());
            assert!(
                [ErrorCode::StorageError, ErrorCode::ToolNotFound].contains(&error.code()),
                "{how}: {error}"
            );
            let again = manifest(&key(acme(), "x", "v1"), tool_id(77), "x");
            let refused = ToolError::from(store.put_tool(again).unwrap_err());
            assert_eq!(refused.code(), ErrorCode::StorageError, "{how}: {refused}");
            assert!(
                refused.message().contains("doctor --fix"),
                "{how}: {refused}"
            );
        }
        Which::Bundle => {
            for refused in [
                store.set_bundle_enabled(acme(), true).map(drop),
                store.put_bundle(acme(), draft("acme")).map(drop),
                store
                    .put_tool(manifest(&key(acme(), "n", "v1"), tool_id(77), "x"))
                    .map(drop),
            ] {
                let refused = ToolError::from(refused.unwrap_err());
                assert_eq!(refused.code(), ErrorCode::StorageError, "{how}: {refused}");
                assert!(
                    refused.message().contains("doctor --fix"),
                    "{how}: {refused}"
                );
            }
        }
    }
    assert_eq!(picture(file), before, "{which:?}, {how}: it was touched");
    // Others can be written as before.
    store.set_bundle_enabled(beta(), false).unwrap();
    store.set_bundle_enabled(beta(), true).unwrap();
    store
}

/// Sets all damaged files aside, and puts the record again.
fn assert_can_be_put_again(which: Which, home: &Home, file: &Path, store: &Store, how: &str) {
    let before = picture(file);
    for damage in store.damage() {
        let aside = store
            .set_aside(&damage)
            .unwrap_or_else(|error| panic!("{how}: {error}"));
        assert!(
            aside.starts_with(home.path.join("damaged")),
            "{how}: {}",
            aside.display()
        );
        assert_eq!(picture(&aside), before, "{how}: moved, not changed");
    }
    assert_eq!(picture(file), "not there", "{how}");
    let reasons: Vec<String> = store
        .damage()
        .into_iter()
        .map(|damage| damage.reason)
        .collect();
    match which {
        Which::Tool => assert!(reasons.is_empty(), "{how}: {reasons:?}"),
        // Its tools are there still, and belong to nobody.
        Which::Bundle => {
            assert!(
                reasons.len() == 1 && reasons[0].contains("missing"),
                "{how}: {reasons:?}"
            );
        }
    }
    match which {
        Which::Tool => {
            let again = manifest(&key(acme(), "x", "v1"), tool_id(1), "Put again");
            store
                .put_tool(again)
                .unwrap_or_else(|error| panic!("{how}: {error}"));
        }
        Which::Bundle => {
            store
                .put_bundle(acme(), draft("acme"))
                .unwrap_or_else(|error| panic!("{how}: {error}"));
            assert_eq!(store.tools(acme()).len(), 3, "{how}: the tools are back");
        }
    }
    assert!(store.damage().is_empty(), "{how}: {:?}", store.damage());
    assert_eq!(View::of(store), View::fresh(&home.path), "{how}");
}

fn assert_every_way(which: Which) {
    let ground = Ground::new();
    let whole = View::fresh(ground.path());
    for (how, damage) in SURE {
        // What only tools say.
        if which == Which::Bundle
            && ["half a surrogate", "deep nesting in a field of ours"].contains(how)
        {
            continue;
        }
        let home = ground.copy();
        let file = which.file(&home);
        // One that runs meanwhile sees the same as one that starts then.
        let witness = open(&home.path);
        damage(&file);
        let store = assert_only_it_is_out(which, &home, &file, &whole, how);
        let changes = witness.changes(Look::Thorough).unwrap();
        assert!(changes.damage, "{how}");
        assert_eq!(View::of(&witness), View::of(&store), "{how}");
        assert_can_be_put_again(which, &home, &file, &store, how);
    }
}

#[test]
fn a_tool_damaged_in_any_way_is_out_and_nothing_else() {
    assert_every_way(Which::Tool);
}

#[test]
fn a_bundle_damaged_in_any_way_is_out_and_nothing_else() {
    assert_every_way(Which::Bundle);
}

/// A copy of a whole home, to damage a file in it over and over.
struct Bench {
    home: Home,
    file: PathBuf,
    content: Vec<u8>,
    whole: View,
}

impl Bench {
    fn new(which: Which) -> Self {
        let home = Ground::new().copy();
        let file = which.file(&home);
        let content = fs::read(&file).unwrap();
        let whole = View::fresh(&home.path);
        Bench {
            home,
            file,
            content,
            whole,
        }
    }

    fn view_with(&self, content: &[u8]) -> View {
        fs::write(&self.file, content).unwrap();
        View::fresh(&self.home.path)
    }
}

#[test]
fn a_record_cut_off_anywhere_is_out_and_nothing_else() {
    for which in [Which::Tool, Which::Bundle] {
        let bench = Bench::new(which);
        let name = bench
            .file
            .strip_prefix(&bench.home.path)
            .unwrap()
            .to_str()
            .unwrap();
        // Without its last newline it is still whole.
        let end = bench.content.len() - 1;
        for length in (0..end).filter(|length| length % 5 == 0 || scale() > 1 || end - length < 20)
        {
            let view = bench.view_with(&bench.content[..length]);
            assert_eq!(
                view.damage.iter().collect::<Vec<_>>(),
                [name],
                "cut at {length}"
            );
            assert_eq!(
                which.without(view),
                which.without(bench.whole.clone()),
                "cut at {length}"
            );
        }
        assert_eq!(bench.view_with(&bench.content[..end]), bench.whole);
    }
}

/// A bit that tipped over may leave a record that can be read; it is never taken for another's, and others stay as they are.
#[test]
fn a_record_with_a_byte_changed_costs_no_other() {
    let mut dice = Dice(seed());
    for which in [Which::Tool, Which::Bundle] {
        let bench = Bench::new(which);
        let name = bench
            .file
            .strip_prefix(&bench.home.path)
            .unwrap()
            .to_str()
            .unwrap();
        let mut out = 0;
        let step = if scale() > 1 { 1 } else { 4 };
        for at in (dice.roll(step)..bench.content.len()).step_by(step) {
            let mut content = bench.content.clone();
            content[at] = match dice.roll(3) {
                0 => content[at] ^ (1 << dice.roll(8)),
                1 => dice.pick(b"\0\"{}[],:\\\n/x9"),
                _ => u8::try_from(dice.roll(256)).unwrap(),
            };
            let view = bench.view_with(&content);
            let context = format!("{which:?}: byte {at} is {:#x}", content[at]);
            assert_eq!(
                which.without(view.clone()),
                which.without(bench.whole.clone()),
                "{context}"
            );
            match view.damage.len() {
                0 => assert_eq!(
                    view.tools.keys().count(),
                    bench.whole.tools.keys().count(),
                    "{context}"
                ),
                1 => {
                    assert!(view.damage.contains(name), "{context}");
                    out += 1;
                }
                _ => panic!("{context}: {:?}", view.damage),
            }
        }
        assert!(out > 10);
    }
}

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

/// What a writer would have refused, somebody made by hand: one of the two is out, and it is always the same one.
#[test]
fn two_that_may_not_be_there_together_are_told_apart_the_same_way_by_everybody() {
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

/// Names that are none of ours cost nothing and are nobody's business.
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

/// As nobody, since root may read everything.
#[test]
fn what_may_not_be_read_is_out_with_the_reason_and_nothing_else() {
    const NAME: &str =
        "store::damage::what_may_not_be_read_is_out_with_the_reason_and_nothing_else";
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
