//! The files of a home that say how tools are switched and how often they were called, damaged: the store has all its tools, and
//! calls go on, or say why they do not.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toolcrib::config::Surroundings;
use toolcrib::{CallRequest, Crib, CribOptions, ErrorCode};

use super::ground::{Ground, Home};
use super::operation::Operation;
use super::view::View;
use super::ways::{SURE, picture, within};

/// Ways that need no content of a certain kind.
const WAYS: [&str; 9] = [
    "empty",
    "one NUL",
    "huge",
    "an array",
    "deep objects",
    "a directory",
    "a dangling link",
    "a link to /dev/zero",
    "a pipe",
];

pub(super) fn open(home: &Home) -> Crib {
    open_at(&home.path)
}

/// A workspace beside a home.
pub(super) fn workspace_of(home: &Path) -> PathBuf {
    let work = home.with_extension("work");
    if !work.is_dir() {
        fs::create_dir(&work).unwrap();
    }
    work
}

/// A crib with its home here, and an empty workspace beside it.
pub(super) fn open_at(home: &Path) -> Crib {
    let work = workspace_of(home);
    let text = home.to_str().unwrap();
    let surroundings = Surroundings::new(&work, [("TOOLCRIB_HOME", text), ("HOME", text)]);
    CribOptions::default()
        .surroundings(surroundings)
        .open()
        .unwrap()
}

/// Lists the workspace: a call that needs nothing of a store.
pub(super) fn call(crib: &Crib) -> Result<(), ErrorCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let request = CallRequest::new("list_directory").arg("path", ".");
    let outcome = runtime.block_on(crib.registry().execute(request));
    crib.registry().flush();
    outcome.result.map(drop).map_err(|error| error.code())
}

#[test]
fn damaged_state_files_cost_no_tool_and_hang_no_one() {
    let ground = Ground::new();
    // A crib reaps when it is opened.
    let whole = Operation::Reap.done(&ground);
    for name in ["flags.json", "usage.json", "usage.jsonl"] {
        for (how, damage) in SURE.iter().filter(|(how, _)| WAYS.contains(how)) {
            let context = format!("{name}, {how}");
            let home = ground.copy();
            super::open(&home.path).reap().unwrap();
            let file = home.path.join("state").join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "{}\n").unwrap();
            damage(&file);
            let before = picture(&file);
            let (path, told) = within(Duration::from_secs(60), move || {
                let crib = open(&home);
                let opened = picture(&home.path.join("state").join(name));
                let shown = View::of(crib.store());
                let warnings = crib.warnings().join("\n");
                (home, (opened, shown, warnings, call(&crib)))
            });
            let (opened, shown, warnings, called) = told;
            assert_eq!(opened, before, "{context}: opening touched it");
            assert_eq!(shown, whole, "{context}");
            match name {
                // No one knows what was switched off: nothing runs, and every caller learns why.
                "flags.json" => {
                    assert_eq!(called, Err(ErrorCode::ToolDisabled), "{context}");
                    assert!(
                        warnings.contains("state/flags.json"),
                        "{context}: {warnings}"
                    );
                    assert_eq!(picture(&file), before, "{context}: it was touched");
                }
                _ => assert_eq!(called, Ok(()), "{context}"),
            }
            assert_eq!(View::fresh(&path.path), whole, "{context}");
        }
    }
}
