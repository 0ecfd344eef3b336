//! A home with a bit of everything in it: [`Ground`], made once and copied.

use std::path::{Path, PathBuf};

use toolcrib::BundleId;
use toolcrib::store::Store;

use super::{THEN, bundle_id, copy_dir, draft, files_below, key, manifest, options, tool_id};

/// On, with the tools `x@v1`, `x@v2` and `y@v1`.
pub(super) fn acme() -> BundleId {
    bundle_id(1)
}

/// On, with the tool `x@v1`.
pub(super) fn beta() -> BundleId {
    bundle_id(2)
}

/// In the bin for three days, with the tool `z@v1`, which keeps it there.
pub(super) fn binned() -> BundleId {
    bundle_id(3)
}

/// In the bin for three days, and empty: to be reaped.
pub(super) fn ripe() -> BundleId {
    bundle_id(4)
}

/// A template of a home. Nothing writes in it.
pub(super) struct Ground(tempfile::TempDir);

/// A copy of a ground, to be used up.
pub(super) struct Home {
    _temp: tempfile::TempDir,
    pub(super) path: PathBuf,
}

impl Ground {
    /// Makes it with the store itself, but for files of the user's own that look a bit like the store's.
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path(), options(THEN));
        for (id, name) in [
            (acme(), "acme"),
            (beta(), "beta"),
            (binned(), "binned"),
            (ripe(), "ripe"),
        ] {
            store.put_bundle(id, draft(name)).unwrap();
        }
        for (number, (bundle, tool, version)) in [
            (acme(), "x", "v1"),
            (acme(), "x", "v2"),
            (acme(), "y", "v1"),
            (beta(), "x", "v1"),
            (binned(), "z", "v1"),
        ]
        .into_iter()
        .enumerate()
        {
            let number = number as u64 + 1;
            let tool = manifest(&key(bundle, tool, version), tool_id(number), "The old one");
            store.put_tool(tool).unwrap();
        }
        store.delete_bundle(ripe()).unwrap();
        store.delete_bundle(binned()).unwrap();
        let ground = Ground(home);
        for name in Self::FOREIGN {
            let name = name.replace("ACME", &acme().to_string());
            std::fs::write(ground.path().join("bundles").join(name), "mine").unwrap();
        }
        ground
    }

    /// Files of a user's own, as editors and people leave them. Nothing of ours may remove one.
    pub(super) const FOREIGN: [&str; 5] = [
        "notes.toolcrib-tmp",
        ".0abc.toolcrib-tmp",
        "ACME/.x.json.toolcrib-tmp",
        "ACME/.bundle.json.swp",
        "ACME/README.md",
    ];

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn copy(&self) -> Home {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("home");
        copy_dir(self.path(), &path);
        Home { _temp: temp, path }
    }
}

/// Whether a file has the name of a bundle's directory.
pub(super) fn is_in_place_of_a_bundle(file: &str) -> bool {
    BundleId::parse(file).is_ok()
}

impl Home {
    /// A home in which nothing was ever stored.
    pub(super) fn empty() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("home");
        std::fs::create_dir(&path).unwrap();
        Home { _temp: temp, path }
    }

    /// The file of a tool in the ground, by what it says.
    pub(super) fn tool_file(&self, bundle: BundleId, tool: &str, version: &str) -> PathBuf {
        let dir = self.path.join("bundles").join(bundle.to_string());
        let is_it = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).unwrap();
            text.contains(&format!("\"slug\": \"{tool}\""))
                && text.contains(&format!("\"version\": \"{version}\""))
        };
        files_below(&dir)
            .into_iter()
            .filter(|name| name.ends_with(".json") && name != "bundle.json")
            .map(|name| dir.join(name))
            .find(is_it)
            .unwrap()
    }

    pub(super) fn bundle_file(&self, bundle: BundleId) -> PathBuf {
        let dir = self.path.join("bundles").join(bundle.to_string());
        dir.join("bundle.json")
    }

    /// Temporary files and directories of ours, anywhere. What was set aside has its own name.
    pub(super) fn temps(&self) -> Vec<String> {
        let known = |name: &String| {
            let in_bundles = name.strip_prefix("bundles/").unwrap_or_default();
            let in_bundles = in_bundles.replace(&acme().to_string(), "ACME");
            Ground::FOREIGN.contains(&in_bundles.as_str())
                || (name.contains(".json") || name.starts_with("damaged/")) && !name.contains("/.")
                || name.ends_with("/.lock")
                || ["bundles/", "damaged/"].contains(&name.as_str())
                || is_in_place_of_a_bundle(&in_bundles)
        };
        files_below(&self.path)
            .into_iter()
            .filter(|name| !known(name))
            .collect()
    }

    pub(super) fn assert_users_files_are_there(&self, context: &str) {
        for name in Ground::FOREIGN {
            let name = name.replace("ACME", &acme().to_string());
            let content = std::fs::read(self.path.join("bundles").join(&name));
            assert_eq!(
                content.unwrap_or_default(),
                b"mine",
                "{context}: the user's {name}"
            );
        }
    }
}
