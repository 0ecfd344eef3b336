//! The rules of the store, each shown on real files.

mod bundles;
mod damage;
mod following;
mod install;
mod reaper;
mod tools;
mod whole_bundle;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::model::names::{Slug, Version};
use crate::spec::manifest::ToolManifest;

/// A home with its own clock.
pub(super) struct TestHome {
    home: tempfile::TempDir,
    clock: Arc<AtomicI64>,
    max_tools: usize,
}

/// 2026-01-01.
pub(super) const START: i64 = 1_767_225_600;

impl TestHome {
    pub(super) fn new() -> Self {
        TestHome {
            home: tempfile::tempdir().unwrap(),
            clock: Arc::new(AtomicI64::new(START)),
            max_tools: 100_000,
        }
    }

    /// A store as another process would have it.
    pub(super) fn store(&self) -> Store {
        let clock = Arc::clone(&self.clock);
        let options = StoreOptions {
            max_tools: self.max_tools,
            clock: Arc::new(move || Timestamp::from_second(clock.load(Ordering::Relaxed)).unwrap()),
        };
        Store::at(self.home.path(), options)
    }

    pub(super) fn pass(&self, seconds: i64) {
        self.clock.fetch_add(seconds, Ordering::Relaxed);
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from_second(self.clock.load(Ordering::Relaxed)).unwrap()
    }

    pub(super) fn bundle_dir(&self, id: BundleId) -> PathBuf {
        self.home.path().join("bundles").join(id.to_string())
    }

    pub(super) fn tool_file(&self, key: &ToolKey) -> PathBuf {
        self.bundle_dir(key.bundle)
            .join(files::file_name(&key.slug, &key.version))
    }

    /// What the file of a tool says.
    pub(super) fn json(&self, key: &ToolKey) -> Value {
        serde_json::from_slice(&std::fs::read(self.tool_file(key)).unwrap()).unwrap()
    }
}

pub(super) fn slug(text: &str) -> Slug {
    Slug::parse(text).unwrap()
}

pub(super) fn draft(name: &str) -> BundleDraft {
    BundleDraft {
        slug: slug(name),
        display_name: name.to_uppercase(),
        description: format!("The tools of {name}"),
        is_enabled: true,
    }
}

/// A bundle that is there.
pub(super) fn put(store: &Store, name: &str) -> BundleId {
    let id = BundleId::generate();
    store.put_bundle(id, draft(name)).unwrap();
    id
}

pub(super) fn key(bundle: BundleId, name: &str, version: &str) -> ToolKey {
    ToolKey {
        bundle,
        slug: slug(name),
        version: Version::parse(version).unwrap(),
    }
}

pub(super) fn manifest(key: &ToolKey) -> ToolManifest {
    let json = json!({
        "schemaVersion": "1",
        "bundleID": key.bundle,
        "slug": key.slug,
        "version": key.version,
        "displayName": "Weather report",
        "description": "Fetch current weather for a city",
        "type": "http",
        "argSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
        "impl": {"method": "GET", "urlTemplate": "https://api.weatherapi.com/v1/current.json?q=${city}"},
        "createdAt": "2024-05-14T13:44:00Z",
        "modifiedAt": "2024-06-01T09:17:10Z",
    });
    ToolManifest::from_json(json.to_string().as_bytes()).unwrap()
}
