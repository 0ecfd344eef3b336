//! Where secrets are kept: one file each beneath the home, mode 0600, written like everything that must not be lost.
//!
//! Looking is cheap: what was read is kept until the directory or a file in it is another one than it was. A file that is
//! damaged, or that others may read, is not a secret until it is mended; all others stay what they are.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::fs::{Mode, OFlags};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::binding::{Asker, Binding};
use super::error::SecretError;
use super::file::{self, Stored};
use super::reading::{Loaded, SecretProblem};
use crate::egress::Target;
use crate::model::mask::{Masker, Secrets};
use crate::model::names::{Slug, hex};
use crate::model::secret::Secret;
use crate::model::secret::SecretName;
use crate::storage::{DurableDir, Followed, Stamp, Stamps, StorageError};

/// How many values learned at run time are masked, and how many bytes of them.
const MAX_LEARNED: usize = 64;
const MAX_LEARNED_BYTES: usize = 128 * 1024;

/// How long ago a look at the files is a moment ago: less than another process takes to keep a secret and have it printed.
const LATELY: Duration = Duration::from_micros(500);
/// How much of the file besides is read, in bytes.
const MAX_BESIDES: u64 = 4096;
/// How long output goes on with what the files held.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What can be shown of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretEntry {
    /// Its name.
    pub name: SecretName,
    /// Where it may be sent.
    pub binding: Binding,
    /// When there was first a secret of this name.
    pub created_at: Timestamp,
    /// When its value or binding was set.
    pub modified_at: Timestamp,
    /// The last four digits of the value's SHA-256: enough to tell two values apart, too little to find one.
    pub fingerprint: String,
}

/// The secrets of a home. Cheap to clone; clones share what was read and what was learned.
#[derive(Debug, Clone)]
pub struct SecretStore(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    /// A file whose whole text is masked, too, though it is not a secret that tools could use.
    also: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    loaded: Option<Arc<Loaded>>,
    /// When the files were last looked at; none after they were written from here.
    looked: Option<Instant>,
    /// Values that are in no file: tokens that servers gave, and what files held before.
    learned: VecDeque<Secret>,
    /// Values that are never forgotten.
    pinned: Vec<Secret>,
    /// What the file besides holds.
    also: Followed<Option<Secret>>,
    /// Made when it is first asked for: who lists secrets needs none.
    masker: Option<Masker>,
    /// How often something else was found in the files.
    readings: u64,
}

impl SecretStore {
    /// The store in this directory; nothing is made until something is kept.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        SecretStore(Arc::new(Shared {
            directory: directory.into(),
            also: None,
            state: Mutex::default(),
        }))
    }

    /// Masks the contents of this file, too, from its creation on and after every change: the operator's token. To be said before the store
    /// is shared.
    #[must_use]
    #[doc(hidden)]
    pub fn masking_file(self, file: PathBuf) -> Self {
        SecretStore(Arc::new(Shared {
            directory: self.0.directory.clone(),
            also: Some(file),
            state: Mutex::default(),
        }))
    }

    /// Where the files are.
    pub fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// Keeps a secret, in the place of one with the same name.
    pub fn set(
        &self,
        name: &SecretName,
        value: &Secret,
        binding: &Binding,
    ) -> Result<(), SecretError> {
        self.set_with(name, value, |_| Ok(binding.clone()))?;
        Ok(())
    }

    /// As [`set`](Self::set), with a binding made from that of the secret that is replaced; returns it.
    pub fn set_with(
        &self,
        name: &SecretName,
        value: &Secret,
        binding: impl FnOnce(Option<&Binding>) -> Result<Binding, SecretError>,
    ) -> Result<Binding, SecretError> {
        file::check_value(value)?;
        let dir = DurableDir::create(&self.0.directory)?;
        keep_private(&self.0.directory)?;
        let lock = dir.lock()?;
        let file = file::file_name(name);
        // A damaged file is written again.
        let before = dir
            .read(&file, file::MAX_FILE_BYTES)
            .ok()
            .flatten()
            .and_then(|bytes| file::parse(&file, &bytes).ok());
        let binding = binding(before.as_ref().map(|before| &before.binding))?;
        let now = Timestamp::now();
        let (created_at, unknown) = before.map_or_else(
            || (now, serde_json::Map::new()),
            |before| (before.created_at, before.unknown),
        );
        let stored = Stored {
            name: name.clone(),
            value: value.clone(),
            binding: binding.clone(),
            created_at,
            modified_at: now,
            unknown,
        };
        dir.write(&lock, &file, &file::render(&stored)?)?;
        self.state().looked = None;
        dir.sweep(&lock)?;
        Ok(binding)
    }

    /// What there is, by name. [`problems`](Self::problems) reports the others.
    pub fn list(&self) -> Result<Vec<SecretEntry>, SecretError> {
        let loaded = self.loaded(&mut self.state())?;
        let entry = |stored: &Stored| SecretEntry {
            name: stored.name.clone(),
            binding: stored.binding.clone(),
            created_at: stored.created_at,
            modified_at: stored.modified_at,
            fingerprint: fingerprint(&stored.value),
        };
        Ok(loaded.secrets.values().map(entry).collect())
    }

    /// The files that hold no secret that could be used, and why.
    pub fn problems(&self) -> Result<Vec<SecretProblem>, SecretError> {
        Ok(self.loaded(&mut self.state())?.problems.clone())
    }

    /// Whether there is a secret of this name, usable or not.
    pub fn contains(&self, name: &SecretName) -> Result<bool, SecretError> {
        let loaded = self.loaded(&mut self.state())?;
        let file = file::file_name(name);
        Ok(loaded.secrets.contains_key(name)
            || loaded.problems.iter().any(|problem| problem.file == file))
    }

    /// Removes a secret, also one whose file is damaged.
    pub fn remove(&self, name: &SecretName) -> Result<(), SecretError> {
        let missing = || SecretError::missing(name.as_str(), None);
        let dir = DurableDir::open(&self.0.directory)?.ok_or_else(missing)?;
        let lock = dir.lock()?;
        if dir.remove(&lock, &file::file_name(name))? {
            self.state().looked = None;
            Ok(())
        } else {
            Err(missing())
        }
    }

    /// The value, for a request of a tool of this bundle to this target.
    pub fn reveal(
        &self,
        name: &SecretName,
        bundle: impl Into<Asker>,
        target: &Target,
    ) -> Result<Secret, SecretError> {
        let loaded = self.loaded(&mut self.state())?;
        let stored = loaded.usable(name, Some(target))?;
        stored.binding.check(name, &bundle.into(), target)?;
        Ok(stored.value.clone())
    }

    /// The value, for the environment of a program that a bundle runs: an upstream MCP server. A program may tell it anybody, so a secret that is
    /// for some hosts only is refused.
    #[doc(hidden)]
    pub fn reveal_to_program(
        &self,
        name: &SecretName,
        bundle: &Slug,
    ) -> Result<Secret, SecretError> {
        let loaded = self.loaded(&mut self.state())?;
        let stored = loaded.usable(name, None)?;
        if !stored.binding.hosts().is_empty() {
            return Err(SecretError::NotBound(format!(
                "the secret `{name}` is for some hosts only, and `{bundle}` is a program, which may tell it anybody; keep it under another name without `--host` for it: `toolcrib secret set NAME --bundle {bundle}`"
            )));
        }
        if !stored.binding.is_for(&Asker::from(bundle)) {
            return Err(SecretError::NotBound(format!(
                "the secret `{name}` is not for `{bundle}`; `toolcrib secret set {name} --bundle {bundle}`, with everything else it is for, changes that"
            )));
        }
        Ok(stored.value.clone())
    }

    /// Refuses a value in which there is a secret, in any form, that may not be sent to this target: an echoed secret must not get around
    /// its binding.
    pub(crate) fn check_passing_on(
        &self,
        value: &Value,
        asker: &Asker,
        target: &Target,
    ) -> Result<(), SecretError> {
        if !self.masker().finds_in(value) {
            return Ok(());
        }
        let loaded = self.loaded(&mut self.state())?;
        for stored in loaded.stored() {
            if let Err(error) = stored.binding.check(&stored.name, asker, target)
                && Masker::of([&stored.value]).finds_in(value)
            {
                return Err(error);
            }
        }
        Ok(())
    }

    /// The secrets whose values stand in a value or in a text, in any form.
    #[doc(hidden)]
    pub fn names_in(&self, value: &Value, text: &str) -> Result<Vec<SecretName>, SecretError> {
        let loaded = self.loaded(&mut self.state())?;
        let stands_there = |stored: &&Stored| {
            let masker = Masker::of([&stored.value]);
            masker.finds_in(value) || masker.finds(text)
        };
        let found = loaded.stored().filter(stands_there);
        Ok(found.map(|stored| stored.name.clone()).collect())
    }

    /// Masks this value from now on, too: one that was learned at run time, such as a token that a server gave. It is kept in
    /// memory only, with a few dozen others at most. Values too short to be masked are not.
    pub fn also_mask(&self, value: &Secret) {
        if file::check_value(value).is_err() {
            return;
        }
        let mut state = self.state();
        if let Some(known) = state.learned.iter().position(|known| known == value) {
            // Secrets in use stay longest.
            let known = state.learned.remove(known);
            state.learned.extend(known);
            return;
        }
        state.learned.push_back(value.clone());
        state.forget();
        state.masker = None;
    }

    /// Masks this value for as long as this store is open: one that opens Toolcrib itself.
    pub fn always_mask(&self, value: &Secret) {
        let mut state = self.state();
        if file::check_value(value).is_ok() && !state.pinned.contains(value) {
            state.pinned.push(value.clone());
            state.masker = None;
        }
    }

    /// What takes all secrets of this store out of a text, as of now; kept until a file changes.
    ///
    /// Where the files cannot be read, it takes out what was known last.
    pub fn masker(&self) -> Masker {
        let mut state = self.state();
        // Nothing is known about an unreadable file.
        let _ = self.loaded(&mut state);
        state.masker()
    }

    /// Looks at the files; another number than before says that they were read again.
    #[doc(hidden)]
    pub fn readings(&self) -> u64 {
        let mut state = self.state();
        // What cannot be read is read again each time.
        match self.loaded(&mut state) {
            Ok(_) => {}
            Err(_) => state.readings += 1,
        }
        state.readings
    }

    /// Whether a variable of the environment is a secret: by its name, or because its value has one in it.
    pub(crate) fn is_in_variable(&self, name: &str, value: &str) -> bool {
        let masker = self.masker();
        let state = self.state();
        let named = state
            .loaded
            .as_ref()
            .is_some_and(|loaded| loaded.is_named(name));
        named || masker.finds(value)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks whether the file besides is another one than before. What it held is masked on, since it may still be printed.
    fn look_besides(&self, state: &mut State) {
        let Some(file) = &self.0.also else { return };
        let stamps = Stamps::new([Stamp::of_entry(file)]);
        if state.also.current(&stamps).is_some() {
            return;
        }
        let before = state.also.last().cloned().flatten();
        let value = text_of(file).map(Secret::new);
        let value = value.filter(|value| file::check_value(value).is_ok());
        if before != value {
            state.learned.extend(before);
            state.forget();
            state.masker = None;
        }
        state.also.set(stamps, value);
    }

    /// What the files hold now.
    fn loaded(&self, state: &mut State) -> Result<Arc<Loaded>, SecretError> {
        // Before the look: what changes while it lasts is not seen by it.
        state.looked = Some(Instant::now());
        self.look_besides(state);
        if let Some(loaded) = &state.loaded
            && loaded.is_current(&self.0.directory)
        {
            return Ok(Arc::clone(loaded));
        }
        let loaded = Arc::new(Loaded::read(&self.0.directory)?);
        state.readings += 1;
        let before = state.loaded.replace(Arc::clone(&loaded));
        let same = match &before {
            Some(before) => before.has_same_values(&loaded),
            None => loaded.values().next().is_none(),
        };
        if !same {
            // A tool may still print what a file held before.
            for value in before.iter().flat_map(|before| before.values()) {
                if !loaded.values().any(|now| now == value) {
                    state.learned.push_back(value.clone());
                }
            }
            state.forget();
            state.masker = None;
        }
        Ok(loaded)
    }
}

impl State {
    fn masker(&mut self) -> Masker {
        let (loaded, learned) = (&self.loaded, &self.learned);
        let stored = loaded.iter().flat_map(|loaded| loaded.values());
        let besides = self.also.last().into_iter().flatten();
        let all = stored.chain(learned).chain(&self.pinned).chain(besides);
        let masker = self.masker.get_or_insert_with(|| Masker::of(all));
        masker.clone()
    }

    /// Forgets the oldest of too many learned values.
    fn forget(&mut self) {
        let bytes = |learned: &VecDeque<Secret>| -> usize {
            learned.iter().map(|value| value.expose().len()).sum()
        };
        while self.learned.len() > MAX_LEARNED || bytes(&self.learned) > MAX_LEARNED_BYTES {
            self.learned.pop_front();
        }
    }
}

/// The text of a small regular file, without white space around it.
fn text_of(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let mut text = String::new();
    File::from(file)
        .take(MAX_BESIDES)
        .read_to_string(&mut text)
        .ok()?;
    Some(text.trim().to_owned())
}

fn fingerprint(value: &Secret) -> String {
    let digest = hex(&Sha256::digest(value.expose().as_bytes()));
    digest[digest.len() - 4..].to_owned()
}

/// Takes others' rights on the directory away, should it have been made by someone else.
fn keep_private(directory: &Path) -> Result<(), StorageError> {
    let failed = |error| StorageError::io("protect", "secrets", error);
    let metadata = std::fs::metadata(directory).map_err(failed)?;
    if file::exposure(&metadata).is_some() {
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(directory, private).map_err(failed)?;
    }
    Ok(())
}
impl Secrets for SecretStore {
    fn masker(&self) -> Masker {
        SecretStore::masker(self)
    }

    fn recent_masker(&self) -> Masker {
        let mut state = self.state();
        let is_fresh = state.looked.is_some_and(|at| at.elapsed() < LATELY)
            && state.loaded.as_ref().is_some_and(|loaded| loaded.settled);
        if !is_fresh {
            let _ = self.loaded(&mut state);
        }
        state.masker()
    }

    fn output_masker(&self) -> Masker {
        let mut state = self.state();
        if state.looked.is_none_or(|at| at.elapsed() >= LOOK_AGAIN) {
            let _ = self.loaded(&mut state);
        }
        state.masker()
    }
}
