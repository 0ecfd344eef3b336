//! Which tools and bundles of Toolcrib's own the user switched off: [`Flags`], `state/flags.json` in the home.
//!
//! A flag is about `bundle/slug`, whatever the version, or about a whole `bundle`; one of the bundle `local` is about one workspace.
//! It stays when its tool is gone for a while. Tools and bundles of the store have their switches in their own files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::spec::ToolSpec;
use crate::storage::{DurableDir, Stamp, StorageError};

const STATE: &str = "state";
const FILE: &str = "flags.json";
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// The most flags; beyond it a new one is refused.
const MAX_FLAGS: usize = 10_000;

/// Tools that are switched off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Flags {
    /// Everywhere, as `bundle/slug`.
    #[serde(default)]
    disabled: BTreeSet<String>,
    /// Whole bundles, everywhere.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    bundles: BTreeSet<String>,
    /// By workspace: `local/slug`, or `local` for the whole bundle.
    #[serde(default)]
    workspaces: BTreeMap<String, BTreeSet<String>>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl Flags {
    /// Whether a tool is switched off.
    pub(super) fn disables(&self, spec: &ToolSpec, workspace: Option<&Path>) -> bool {
        let name = name_of(spec);
        let here = workspace.and_then(|path| self.workspaces.get(path.to_string_lossy().as_ref()));
        self.disabled.contains(&name) || here.is_some_and(|here| here.contains(&name))
    }

    /// Whether a bundle of Toolcrib's own is switched off.
    pub(super) fn disables_bundle(&self, bundle: &str, workspace: Option<&Path>) -> bool {
        let here = workspace.and_then(|path| self.workspaces.get(path.to_string_lossy().as_ref()));
        self.bundles.contains(bundle) || here.is_some_and(|here| here.contains(bundle))
    }

    fn set_bundle(&mut self, bundle: &str, workspace: Option<&Path>, enabled: bool) {
        let here = workspace.map(|path| path.to_string_lossy().into_owned());
        if enabled {
            self.bundles.remove(bundle);
            if let Some(names) = here.and_then(|path| self.workspaces.get_mut(&path)) {
                names.remove(bundle);
            }
            self.workspaces.retain(|_, names| !names.is_empty());
            return;
        }
        match here.filter(|_| bundle == "local") {
            Some(path) => {
                let names = self.workspaces.entry(path).or_default();
                names.insert(bundle.to_owned());
            }
            None => {
                self.bundles.insert(bundle.to_owned());
            }
        }
    }

    fn set(&mut self, spec: &ToolSpec, workspace: Option<&Path>, enabled: bool) {
        let name = name_of(spec);
        if enabled {
            self.disabled.remove(&name);
            let here =
                workspace.and_then(|path| self.workspaces.get_mut(path.to_string_lossy().as_ref()));
            if let Some(names) = here {
                names.remove(&name);
            }
            self.workspaces.retain(|_, names| !names.is_empty());
            return;
        }
        match workspace.filter(|_| spec.bundle.as_str() == "local") {
            Some(path) => {
                let path = path.to_string_lossy().into_owned();
                self.workspaces.entry(path).or_default().insert(name);
            }
            None => {
                self.disabled.insert(name);
            }
        }
    }

    fn len(&self) -> usize {
        let here: usize = self.workspaces.values().map(BTreeSet::len).sum();
        self.disabled.len() + self.bundles.len() + here
    }
}

fn name_of(spec: &ToolSpec) -> String {
    format!("{}/{}", spec.bundle, spec.slug)
}

/// Problems of the flags and what to do, for a caller that would change them.
fn in_words(error: &serde_json::Error) -> std::io::Error {
    std::io::Error::other(format!("{error}; `toolcrib doctor --fix` sets it aside"))
}

/// Where the flags are kept.
#[derive(Debug, Clone)]
pub(super) struct FlagStore {
    home: PathBuf,
}

impl FlagStore {
    pub(super) fn at(home: &Path) -> Self {
        FlagStore {
            home: home.to_owned(),
        }
    }

    fn directory(&self) -> PathBuf {
        self.home.join(STATE)
    }

    /// When they were last written. An entry in place of their directory counts, too.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let directory = self.directory();
        Stamp::at(&self.path()).or_else(|| match directory.is_dir() {
            true => None,
            false => Stamp::of_entry(&directory),
        })
    }

    /// Where they are.
    pub(super) fn path(&self) -> PathBuf {
        self.directory().join(FILE)
    }

    /// The flags; the error is what is wrong with them.
    pub(super) fn read(&self) -> Result<Flags, String> {
        let dir = DurableDir::open_in_home(&self.home, STATE).map_err(|error| error.to_string())?;
        let bytes = dir.map_or(Ok(None), |dir| dir.read(FILE, MAX_BYTES));
        let bytes = bytes.map_err(|error| error.to_string())?;
        match bytes {
            Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
            None => Ok(Flags::default()),
        }
    }

    /// Switches tools on or off, for good.
    pub(super) fn set(
        &self,
        specs: &[&ToolSpec],
        workspace: Option<&Path>,
        enabled: bool,
    ) -> Result<(), StorageError> {
        self.change(enabled, |flags| {
            for spec in specs {
                flags.set(spec, workspace, enabled);
            }
        })
    }

    /// Switches a bundle of Toolcrib's own on or off, for good.
    pub(super) fn set_bundle(
        &self,
        bundle: &str,
        workspace: Option<&Path>,
        enabled: bool,
    ) -> Result<(), StorageError> {
        self.change(enabled, |flags| {
            flags.set_bundle(bundle, workspace, enabled);
        })
    }

    fn change(&self, enabled: bool, change: impl FnOnce(&mut Flags)) -> Result<(), StorageError> {
        let dir = DurableDir::create(self.directory())?;
        let lock = dir.lock()?;
        let mut flags: Flags = match dir.read(FILE, MAX_BYTES)? {
            Some(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| StorageError::io("read", FILE, in_words(&error)))?,
            None => Flags::default(),
        };
        let before = flags.clone();
        change(&mut flags);
        if flags == before {
            return Ok(());
        }
        if !enabled && flags.len() > MAX_FLAGS {
            let error = std::io::Error::other(format!("there are {MAX_FLAGS} flags already"));
            return Err(StorageError::io("write", FILE, error));
        }
        let bytes = serde_json::to_vec_pretty(&flags)
            .map_err(|error| StorageError::io("write", FILE, error))?;
        dir.write(&lock, FILE, &bytes)
    }
}
