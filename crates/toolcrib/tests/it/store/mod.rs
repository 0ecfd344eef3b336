//! The promises of the store, against real files and real processes: killed, refused by the disk, raced, damaged, followed.
//! Here is what these tests share: a home with a bit of everything in it, what a store shows of it, and the kinds of write.

mod bin;
mod books;
mod cases;
mod crash;
mod damage;
mod disk;
mod follow;
mod ground;
mod homes;
mod kinds;
mod map;
mod model;
mod operation;
mod places;
mod races;
mod refused;
mod state_files;
mod state_writes;
mod view;
mod ways;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use toolcrib::store::{BundleDraft, Store, StoreOptions, ToolKey};
use toolcrib::{BundleId, Slug, ToolId, ToolManifest, Version};

/// When the things of [`ground`] were made.
const THEN: &str = "2026-01-01T00:00:00Z";

/// Three days later: when the tests do what they do.
const NOW: &str = "2026-01-04T00:00:00Z";

fn options(now: &str) -> StoreOptions {
    let now = now.parse().unwrap();
    StoreOptions {
        clock: Arc::new(move || now),
        ..StoreOptions::default()
    }
}

/// A store that has looked at everything.
fn open(home: &Path) -> Store {
    let store = Store::at(home, options(NOW));
    store.changes(toolcrib::store::Look::Thorough).unwrap();
    store
}

/// Ids that are the same in every run.
fn bundle_id(number: u64) -> BundleId {
    BundleId::parse(&format!("018faf50-b7b6-7a01-9a05-{number:012x}")).unwrap()
}

fn tool_id(number: u64) -> ToolId {
    ToolId::parse(&format!("018faf50-b7b6-7a01-9a06-{number:012x}")).unwrap()
}

fn slug(text: &str) -> Slug {
    Slug::parse(text).unwrap()
}

fn key(bundle: BundleId, tool: &str, version: &str) -> ToolKey {
    ToolKey {
        bundle,
        slug: slug(tool),
        version: Version::parse(version).unwrap(),
    }
}

fn draft(name: &str) -> BundleDraft {
    BundleDraft {
        slug: slug(name),
        display_name: format!("The bundle {name}"),
        description: String::from("For tests"),
        is_enabled: true,
    }
}

/// A tool with a field that this version does not know, which has to survive.
fn manifest(key: &ToolKey, id: ToolId, description: &str) -> ToolManifest {
    let json = json!({
        "schemaVersion": "99-of-the-future",
        "bundleID": key.bundle, "toolID": id, "slug": key.slug, "version": key.version,
        "displayName": "A tool", "description": description, "type": "rust",
        "argSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
        "impl": {"function": "weather"}, "tags": ["read", "天気"],
        "createdAt": "2001-01-01T00:00:00Z", "modifiedAt": "2001-01-01T00:00:00Z",
        "fromTheFuture": {"b": [1, null], "a": 2}
    });
    ToolManifest::from_json(json.to_string().as_bytes()).unwrap()
}

/// How much of a proof is done: 1 in the usual run, more when `TOOLCRIB_TEST_SCALE` says so.
fn scale() -> usize {
    std::env::var("TOOLCRIB_TEST_SCALE")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1)
}

/// Numbers that look random and are the same for the same seed.
struct Dice(u64);

impl Dice {
    /// Below `sides`.
    fn roll(&mut self, sides: usize) -> usize {
        // SplitMix64: good enough to choose with, and a few lines.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % sides as u64).unwrap()
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }
}

/// The seed of a run: the one the environment names, to repeat it, or another one each time. Printed.
fn seed() -> u64 {
    let seed = std::env::var("TOOLCRIB_TEST_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| uuid_bits(&ToolId::generate()));
    eprintln!("TOOLCRIB_TEST_SEED={seed}");
    seed
}

fn uuid_bits(id: &ToolId) -> u64 {
    let digits: String = id.to_string().chars().filter(|c| *c != '-').collect();
    u64::from_str_radix(&digits[16..], 16).unwrap() >> 8
}

/// Every file below a directory, by its path from there, sorted. Directories that are empty count as files, with a `/`.
fn files_below(path: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(dir) = pending.pop() {
        let entries: Vec<_> = std::fs::read_dir(path.join(&dir))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        if entries.is_empty() && dir != Path::new("") {
            found.push(format!("{}/", dir.display()));
        }
        for entry in entries {
            let name = dir.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                pending.push(name);
            } else {
                found.push(name.to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Copies a directory and all below it.
fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
