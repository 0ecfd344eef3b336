//! Every file of a store, damaged in every way: its own record is out, with a reason, and nothing else; the file stays as it is
//! until someone has it set aside, and then the record can be put again.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toolcrib::store::{Look, Store};
use toolcrib::{ErrorCode, ToolError};

use super::ground::{Ground, Home, acme, beta};
use super::view::View;
use super::ways::{SURE, picture, within};
use super::{Dice, draft, key, manifest, open, scale, seed, tool_id};

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

    /// The rest of a view without it. The tools of a bundle that cannot be read are not looked at here.
    pub(super) fn without(self, mut view: View) -> View {
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
pub(super) fn assert_only_it_is_out(
    which: Which,
    home: &Home,
    file: &Path,
    whole: &View,
    how: &str,
) -> Store {
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
        // Its tools are there still, and belong to no one.
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
