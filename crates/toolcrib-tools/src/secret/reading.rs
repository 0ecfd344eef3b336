//! What the files of a store held when they were last read, and whether they still do.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

use super::error::SecretError;
use super::file::{self, Stored, exposure};
use crate::egress::Target;
use crate::model::secret::Secret;
use crate::model::secret::SecretName;
use crate::storage::{DurableDir, Stamp, StorageError};

/// A file of the store that holds no secret that could be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretProblem {
    /// The file's name in the directory of the store; empty where the directory itself is meant.
    pub file: String,
    /// The owner of the file, where that is known.
    pub name: Option<SecretName>,
    /// The problem, and what to type.
    pub why: String,
}

/// The secrets of a directory, as of one moment.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) secrets: BTreeMap<SecretName, Stored>,
    pub(super) problems: Vec<SecretProblem>,
    /// Secrets in files that others may read: not to be used, but all the more to be masked.
    exposed: Vec<Stored>,
    directory: Option<Stamp>,
    files: Vec<(String, Option<Stamp>)>,
    /// Whether the directory had been left alone for long enough to trust its time.
    pub(super) settled: bool,
}

impl Loaded {
    pub(super) fn read(directory: &Path) -> Result<Self, SecretError> {
        let mut loaded = Loaded {
            secrets: BTreeMap::new(),
            problems: Vec::new(),
            exposed: Vec::new(),
            directory: None,
            files: Vec::new(),
            settled: true,
        };
        let Some(dir) = DurableDir::open(directory)? else {
            return Ok(loaded);
        };
        // Before the files: what changes from here on makes it another one.
        let metadata = std::fs::metadata(directory)
            .map_err(|error| StorageError::io("read", "secrets", error))?;
        let stamp = Stamp::from(&metadata);
        loaded.directory = Some(stamp);
        loaded.settled = stamp.is_settled(SystemTime::now());
        let open_directory = exposure(&metadata);
        for file in dir.list()?.into_iter().filter(|f| file::is_file_name(f)) {
            let stamp = Stamp::of_entry(&directory.join(&file));
            loaded.files.push((file.clone(), stamp));
            match read_file(&dir, &file) {
                Ok(StoredFile {
                    stored,
                    exposed,
                    settled,
                }) => {
                    loaded.settled &= settled;
                    let name = stored.name.clone();
                    let exposed = exposed.map(|why| {
                        format!("the file of the secret `{name}` cannot be trusted: {why}; set a new value with `toolcrib secret set {name}`, or `chmod 600` the file `secrets/{file}` in Toolcrib's home")
                    });
                    let exposed = exposed.or_else(|| {
                        let why = open_directory.as_ref()?;
                        Some(format!("the directory of the secret `{name}` cannot be trusted: {why}; `chmod 700` the directory `secrets` in Toolcrib's home"))
                    });
                    match exposed {
                        None => drop(loaded.secrets.insert(name, stored)),
                        Some(why) => {
                            loaded.problems.push(SecretProblem {
                                file,
                                name: Some(name),
                                why,
                            });
                            loaded.exposed.push(stored);
                        }
                    }
                }
                Err(why) => loaded.problems.push(SecretProblem {
                    why: format!("the file `secrets/{file}` in Toolcrib's home holds no secret: {why}; set it again with `toolcrib secret set`, or remove the file"),
                    file,
                    name: None,
                }),
            }
        }
        Ok(loaded)
    }

    /// Whether the files are as they were. One look at the directory and one at each file.
    pub(super) fn is_current(&self, directory: &Path) -> bool {
        self.settled
            && Stamp::at(directory) == self.directory
            && self
                .files
                .iter()
                .all(|(file, stamp)| Stamp::of_entry(&directory.join(file)) == *stamp)
    }

    /// A secret that can be used, for this target; the error says why not.
    pub(super) fn usable(
        &self,
        name: &SecretName,
        target: Option<&Target>,
    ) -> Result<&Stored, SecretError> {
        if let Some(stored) = self.secrets.get(name) {
            return Ok(stored);
        }
        let file = file::file_name(name);
        match self.problems.iter().find(|problem| problem.file == file) {
            Some(SecretProblem {
                why, name: None, ..
            }) => Err(SecretError::Unusable(format!(
                "the secret `{name}` cannot be used: {why}"
            ))),
            Some(problem) => Err(SecretError::Unusable(problem.why.clone())),
            None => Err(SecretError::missing(name.as_str(), target)),
        }
    }

    /// Every value that could be read, to be masked.
    pub(super) fn values(&self) -> impl Iterator<Item = &Secret> {
        self.stored().map(|stored| &stored.value)
    }

    /// Every secret that could be read, also one that is not to be used.
    pub(super) fn stored(&self) -> impl Iterator<Item = &Stored> {
        self.secrets.values().chain(&self.exposed)
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        self.secrets
            .values()
            .chain(&self.exposed)
            .any(|stored| stored.name.as_str() == name)
    }

    pub(super) fn has_same_values(&self, other: &Loaded) -> bool {
        self.values().count() == other.values().count()
            && self
                .values()
                .all(|value| other.values().any(|o| o == value))
    }
}

struct StoredFile {
    stored: Stored,
    /// Why it is not to be trusted.
    exposed: Option<String>,
    settled: bool,
}

fn read_file(dir: &DurableDir, name: &str) -> Result<StoredFile, String> {
    let opened = dir.open_file(name).map_err(|error| error.to_string())?;
    let opened = opened.ok_or("it is gone")?;
    // Of the open file: what is checked is what is read.
    let metadata = opened.metadata().map_err(|error| error.to_string())?;
    let settled = Stamp::from(&metadata).is_settled(SystemTime::now());
    if metadata.size() > file::MAX_FILE_BYTES {
        return Err("it is too long".to_owned());
    }
    let mut bytes = Vec::new();
    opened
        .take(file::MAX_FILE_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    let stored = file::parse(name, &bytes);
    bytes.fill(0);
    std::hint::black_box(&bytes);
    Ok(StoredFile {
        stored: stored?,
        exposed: exposure(&metadata),
        settled,
    })
}
