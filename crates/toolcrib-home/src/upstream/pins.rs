//! What the user accepted of a server: [`Pinned`], one file of the home each, `upstreams/NAME.json`.
//!
//! Tools are made from the pins alone, so that no one waits for a server to see them. When a server says something else than its pins, that
//! is kept beside them (`found`) until someone accepts it or the server takes it back: every process of the home knows of it. Damage means that
//! nothing is pinned, and is said.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::definition::Definition;
use super::material::Material;
use super::names::Since;
use crate::model::names::Slug;
use crate::storage::{DurableDir, Stamp, StorageError};

/// The directory in the home.
const DIRECTORY: &str = "upstreams";
/// The largest file.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// A tool as it was accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PinnedTool {
    /// Its digest when it was accepted.
    pub digest: String,
    /// When a tool of this name was first accepted: of two tools of one name the older keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// What was accepted.
    #[serde(flatten)]
    pub definition: Definition,
}

impl PinnedTool {
    /// Pins a definition, of a tool that is accepted since then.
    pub fn of(definition: Definition, since: Option<Timestamp>) -> Self {
        PinnedTool {
            digest: definition.digest(),
            since,
            definition,
        }
    }

    /// Whether it still is what was accepted: no one changed the file by hand.
    pub fn is_whole(&self) -> bool {
        self.digest == self.definition.digest()
    }
}

/// What a server said last, where that is not what is pinned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unpinned {
    /// When.
    pub at: String,
    /// All its tools.
    pub tools: Vec<Definition>,
}

/// What was accepted of a server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pinned {
    /// What the server calls itself: `name`, `version` and more.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub server: Value,
    /// The version of MCP that it spoke.
    #[serde(default)]
    pub protocol: String,
    /// When something was accepted last.
    #[serde(default)]
    pub pinned_at: String,
    /// How the server was reached then: a command line or an address.
    #[serde(default)]
    pub pinned_by: String,
    /// A digest of the same.
    #[serde(default)]
    pub identity: String,
    /// The tools, in the server's order.
    #[serde(default)]
    pub tools: Vec<PinnedTool>,
    /// What the server said last, where that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Unpinned>,
    /// The prompts and resources that it had last.
    #[serde(default, skip_serializing_if = "Material::is_empty")]
    pub material: Material,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// What a server says now about a tool, compared with its pin.
#[derive(Debug, Clone, PartialEq)]
pub enum PinChange {
    /// There is no pin.
    New(Definition),
    /// It is something else than its pin.
    Changed {
        /// The pinned state.
        pinned: Definition,
        /// What there is.
        found: Definition,
    },
    /// There is a pin, and no such tool any more.
    Removed(Definition),
}

impl PinChange {
    /// The tool, as the server names it.
    pub fn tool(&self) -> &str {
        match self {
            PinChange::New(definition) | PinChange::Removed(definition) => &definition.name,
            PinChange::Changed { pinned, .. } => &pinned.name,
        }
    }

    /// One word for it.
    pub fn kind(&self) -> &'static str {
        match self {
            PinChange::New(_) => "new",
            PinChange::Changed { .. } => "changed",
            PinChange::Removed(_) => "removed",
        }
    }

    /// The differences, line by line.
    pub fn difference(&self) -> String {
        let nothing = |name: &str| Definition {
            name: name.to_owned(),
            fields: Map::new(),
        };
        match self {
            PinChange::New(new) => nothing(&new.name).difference(new),
            PinChange::Changed { pinned, found } => pinned.difference(found),
            PinChange::Removed(old) => old.difference(&nothing(&old.name)),
        }
    }
}

impl Pinned {
    /// What its tools are called there, and since when each is accepted.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, Since)> {
        self.tools
            .iter()
            .map(|tool| (tool.definition.name.as_str(), Since::Accepted(tool.since)))
    }

    /// The pin of a tool.
    pub fn tool(&self, name: &str) -> Option<&PinnedTool> {
        self.tools.iter().find(|tool| tool.definition.name == name)
    }

    /// The differences in the present answer of a server.
    pub fn compare(&self, now: &[Definition]) -> Vec<PinChange> {
        let pins: BTreeMap<&str, &PinnedTool> = self
            .tools
            .iter()
            .map(|tool| (tool.definition.name.as_str(), tool))
            .collect();
        let mut changes = Vec::new();
        for found in now {
            match pins.get(found.name.as_str()) {
                None => changes.push(PinChange::New(found.clone())),
                Some(pin) if pin.digest == found.digest() && pin.is_whole() => {}
                Some(pin) => changes.push(PinChange::Changed {
                    pinned: pin.definition.clone(),
                    found: found.clone(),
                }),
            }
        }
        let there: std::collections::BTreeSet<&str> =
            now.iter().map(|found| found.name.as_str()).collect();
        let removed = self
            .tools
            .iter()
            .filter(|tool| !there.contains(tool.definition.name.as_str()));
        changes.extend(removed.map(|tool| PinChange::Removed(tool.definition.clone())));
        changes
    }

    /// The differences in the last answer of the server.
    pub fn changes(&self) -> Vec<PinChange> {
        self.found
            .as_ref()
            .map_or_else(Vec::new, |found| self.compare(&found.tools))
    }

    /// Accepts what a server says now: all of it, or only some tools.
    pub fn accept(&mut self, now: &[Definition], only: Option<&[String]>) {
        let is_meant = |name: &str| only.is_none_or(|only| only.iter().any(|one| one == name));
        let kept: Vec<PinnedTool> = std::mem::take(&mut self.tools);
        let pin_of = |name: &str| kept.iter().find(|pin| pin.definition.name == name).cloned();
        let today = Some(Timestamp::now());
        let mut tools: Vec<PinnedTool> = now
            .iter()
            .filter_map(|found| match (is_meant(&found.name), pin_of(&found.name)) {
                (true, Some(pin)) => Some(PinnedTool::of(found.clone(), pin.since)),
                (true, None) => Some(PinnedTool::of(found.clone(), today)),
                (false, pin) => pin,
            })
            .collect();
        // A tool that is gone stays pinned unless its removal is accepted, too.
        let gone = kept.iter().filter(|pin| {
            let name = &pin.definition.name;
            !is_meant(name) && !now.iter().any(|found| found.name == *name)
        });
        tools.extend(gone.cloned());
        self.tools = tools;
        self.note(now);
    }

    /// Keeps what a server says now beside the pins, if it is something else.
    fn note(&mut self, now: &[Definition]) {
        self.found = (!self.compare(now).is_empty()).then(|| Unpinned {
            at: Timestamp::now().to_string(),
            tools: now.to_vec(),
        });
    }
}

/// The directory of pins.
#[derive(Debug, Clone)]
pub struct PinStore {
    home: PathBuf,
}

impl PinStore {
    /// That of a home.
    pub fn at(home: &Path) -> Self {
        PinStore {
            home: home.to_owned(),
        }
    }

    /// When something in it was last written: writing replaces files.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        Stamp::at(&self.home.join(DIRECTORY))
    }

    /// The pins of a server; the error is what is wrong with them.
    pub fn read(&self, name: &Slug) -> Result<Option<Pinned>, String> {
        let dir =
            DurableDir::open_in_home(&self.home, DIRECTORY).map_err(|error| error.to_string())?;
        let Some(dir) = dir else {
            return Ok(None);
        };
        let bytes = dir
            .read_own(&file_name(name), MAX_BYTES)
            .map_err(|error| error.to_string())?;
        match bytes {
            Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
            None => Ok(None),
        }
    }

    /// Changes the pins of a server under the lock of the directory, and returns what they are then. A damaged file is written again.
    pub fn change(
        &self,
        name: &Slug,
        change: impl FnOnce(&mut Pinned),
    ) -> Result<Pinned, StorageError> {
        let dir = DurableDir::create(self.home.join(DIRECTORY))?;
        let lock = dir.lock()?;
        let file = file_name(name);
        let mut pinned: Pinned = match dir.read(&file, MAX_BYTES) {
            Ok(Some(bytes)) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Ok(None) | Err(StorageError::TooLarge { .. }) => Pinned::default(),
            Err(error) => return Err(error),
        };
        let before = pinned.clone();
        change(&mut pinned);
        if pinned != before {
            let bytes = serde_json::to_vec_pretty(&pinned)
                .map_err(|error| StorageError::io("write", &file, error))?;
            dir.write(&lock, &file, &bytes)?;
        }
        Ok(pinned)
    }

    /// Notes what a server says now, where it has pins; returns them.
    pub fn note(&self, name: &Slug, now: &[Definition]) -> Result<Pinned, StorageError> {
        self.change(name, |pinned| {
            let same = pinned
                .found
                .as_ref()
                .is_some_and(|found| found.tools == now);
            if !same {
                pinned.note(now);
            }
        })
    }

    /// Keeps the prompts and resources that a server has now, if something was accepted of it; whether they are others.
    pub fn note_material(&self, name: &Slug, now: Material) -> Result<bool, StorageError> {
        let mut is_other = false;
        self.change(name, |pinned| {
            if !pinned.pinned_at.is_empty() && pinned.material != now {
                pinned.material = now;
                is_other = true;
            }
        })?;
        Ok(is_other)
    }

    /// Forgets the pins of a server.
    pub fn remove(&self, name: &Slug) -> Result<bool, StorageError> {
        let Some(dir) = DurableDir::open_in_home(&self.home, DIRECTORY)? else {
            return Ok(false);
        };
        let lock = dir.lock()?;
        dir.remove(&lock, &file_name(name))
    }
}

fn file_name(name: &Slug) -> String {
    format!("{name}.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition(name: &str, description: &str) -> Definition {
        let fields = json!({"description": description, "inputSchema": {"type": "object"}});
        Definition::of(name, fields.as_object().unwrap())
    }

    fn kinds(changes: &[PinChange]) -> Vec<(&str, &str)> {
        changes
            .iter()
            .map(|change| (change.tool(), change.kind()))
            .collect()
    }

    #[test]
    fn what_differs_is_kept_beside_the_pins_until_it_is_accepted_or_taken_back() {
        let home = tempfile::tempdir().unwrap();
        let (store, name) = (PinStore::at(home.path()), Slug::parse("files").unwrap());
        assert_eq!(store.read(&name), Ok(None));
        let first = [definition("a", "A"), definition("b", "B")];
        store
            .change(&name, |pinned| pinned.accept(&first, None))
            .unwrap();
        let then = [definition("b", "other"), definition("c", "C")];
        store.note(&name, &then).unwrap();
        let pinned = store.read(&name).unwrap().unwrap();
        assert_eq!(
            kinds(&pinned.changes()),
            [("b", "changed"), ("c", "new"), ("a", "removed")]
        );
        assert!(
            pinned.changes()[0]
                .difference()
                .contains("+description: other")
        );
        // The server takes it back.
        store.note(&name, &first).unwrap();
        assert_eq!(store.read(&name).unwrap().unwrap().found, None);
        // One of several is accepted.
        let pinned = store
            .change(&name, |pinned| {
                pinned.accept(&then, Some(&["c".to_owned()]));
            })
            .unwrap();
        assert_eq!(
            kinds(&pinned.changes()),
            [("b", "changed"), ("a", "removed")]
        );
        let pinned = store
            .change(&name, |pinned| pinned.accept(&then, None))
            .unwrap();
        assert!(pinned.found.is_none() && pinned.tools.len() == 2);
        assert!(store.remove(&name).unwrap());
        assert_eq!(store.read(&name), Ok(None));
    }

    #[test]
    fn a_pin_that_was_edited_is_not_used() {
        let home = tempfile::tempdir().unwrap();
        let (store, name) = (PinStore::at(home.path()), Slug::parse("files").unwrap());
        let now = [definition("a", "A")];
        store
            .change(&name, |pinned| pinned.accept(&now, None))
            .unwrap();
        let file = home.path().join("upstreams/files.json");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("\"A\"", "\"Z\"")).unwrap();
        let pinned = store.read(&name).unwrap().unwrap();
        assert!(!pinned.tools[0].is_whole());
        assert_eq!(
            kinds(&pinned.compare(&[definition("a", "Z")])),
            [("a", "changed")]
        );
        std::fs::write(&file, "{").unwrap();
        assert!(store.read(&name).is_err());
    }
}
