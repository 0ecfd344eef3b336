//! What is wrong with the files of a home, and putting it right: for `toolcrib doctor`.
//!
//! Putting right never deletes what a person may want: what cannot be read is moved to `damaged/` of the home, with its bytes. It can be
//! done again and again; what is in order is left alone.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::Crib;
use crate::model::error::ToolError;
use crate::model::ids::BundleId;
use crate::model::names::Slug;
use crate::storage::{DurableDir, StorageError, is_leftover, set_aside};
use crate::store::Damage;

/// The directory of the home that the store is in.
const BUNDLES: &str = "bundles";
/// The file that says what is switched off.
const FLAGS: &str = "flags.json";
/// The directory it is in.
const STATE: &str = "state";
/// The directories of a home that Toolcrib alone writes to. `config.toml` and `rules` are the user's own.
const OWN: [&str; 8] = [
    BUNDLES,
    STATE,
    "calls",
    "approvals",
    "grants",
    "secrets",
    "trust",
    "damaged",
];
/// How deep they are looked through.
const MAX_DEPTH: usize = 3;
/// How much of a damaged file is looked through for its slug.
const MAX_SALVAGE: u64 = 64 * 1024;
/// A temporary file that is older was left by somebody who died.
const LEFT: Duration = Duration::from_secs(60);

/// Something that is wrong with files of the home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeProblem {
    /// The file or directory, relative to the home; empty for the home itself.
    pub file: String,
    /// What is wrong with it.
    pub reason: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Record(Damage),
    Flags,
    Counts,
    Leftovers,
    OpenToOthers(Vec<PathBuf>),
}

impl HomeProblem {
    /// Whether something does not work because of it; otherwise it is only untidy.
    pub fn is_damage(&self) -> bool {
        match self.kind {
            Kind::Record(_) | Kind::Flags | Kind::Counts => true,
            Kind::Leftovers | Kind::OpenToOthers(_) => false,
        }
    }

    /// Which version of which tool cannot be had because of it, where that can be told.
    pub fn record(&self) -> Option<&Damage> {
        match &self.kind {
            Kind::Record(damage) => Some(damage),
            Kind::Flags | Kind::Counts | Kind::Leftovers | Kind::OpenToOthers(_) => None,
        }
    }
}

impl Crib {
    /// What is wrong with the files that Toolcrib keeps in the home: records of the store, state, what dead writers left, and modes that
    /// let others in.
    pub fn home_problems(&self) -> Vec<HomeProblem> {
        let mut problems = Vec::new();
        self.reload();
        problems.extend(self.store.damage().into_iter().map(|damage| HomeProblem {
            file: damage.file.clone(),
            reason: damage.reason.clone(),
            kind: Kind::Record(damage),
        }));
        problems.extend(self.sources.flags_problem().map(|reason| HomeProblem {
            file: format!("{STATE}/{FLAGS}"),
            reason: format!("which tools are switched off cannot be read: {reason}"),
            kind: Kind::Flags,
        }));
        problems.extend(
            self.usage
                .problems()
                .into_iter()
                .map(|problem| HomeProblem {
                    file: problem.file,
                    reason: problem.reason,
                    kind: Kind::Counts,
                }),
        );
        problems.extend(untidy(&self.home));
        problems
    }

    /// Puts a problem right, and says what was done.
    pub fn put_right(&self, problem: &HomeProblem) -> Result<String, ToolError> {
        match &problem.kind {
            Kind::Record(damage) => {
                let done = self.put_record_right(damage);
                self.reload();
                done
            }
            Kind::Flags => {
                let dir = DurableDir::create(self.home.join(STATE))?;
                let lock = dir.lock()?;
                let place = set_aside(&self.home, &dir, &lock, FLAGS, Timestamp::now())?;
                drop(lock);
                self.reload();
                Ok(format!(
                    "moved to {}; tools that were switched off are on again: `toolcrib disable` those that are to be off",
                    place.display()
                ))
            }
            Kind::Counts => {
                let moved = self.usage.mend()?;
                let places: Vec<String> = moved
                    .iter()
                    .map(|(file, place)| format!("{file} moved to {}", place.display()))
                    .collect();
                Ok(match places.is_empty() {
                    true => "damaged lines left out".to_owned(),
                    false => format!("{}; calls are counted anew", places.join(", ")),
                })
            }
            Kind::Leftovers if problem.file == BUNDLES => {
                self.store.reap()?;
                Ok("removed".to_owned())
            }
            Kind::Leftovers => {
                let dir = DurableDir::create(self.home.join(&problem.file))?;
                let swept = dir.sweep(&dir.lock()?)?;
                Ok(format!("{swept} removed"))
            }
            Kind::OpenToOthers(paths) => {
                for path in paths {
                    close(path).map_err(|error| {
                        let name = path.file_name().unwrap_or(path.as_os_str());
                        StorageError::io("change the mode of", &name.to_string_lossy(), error)
                    })?;
                }
                Ok("for you alone now".to_owned())
            }
        }
    }

    /// Sets a damaged record aside. A bundle that has lost its file that way, or by other hands, gets a new one, so that its tools can be had.
    fn put_record_right(&self, damage: &Damage) -> Result<String, ToolError> {
        let is_bundle = damage.file.ends_with("/bundle.json");
        let is_there = self.home.join(&damage.file).symlink_metadata().is_ok();
        let mut done = Vec::new();
        let mut slug = None;
        if is_there || !is_bundle {
            let place = self.store.set_aside(damage)?;
            slug = is_bundle.then(|| slug_in(&place)).flatten();
            done.push(format!("moved to {}", place.display()));
        }
        let is_headless = || {
            self.store
                .damage()
                .iter()
                .any(|now| now.file == damage.file)
        };
        if is_bundle && is_headless() {
            let recover = |slug: Slug| self.store.recover_bundle(damage.bundle, slug);
            // Another bundle may have the slug by now.
            let recovered = match slug.and_then(|slug| recover(slug).ok()) {
                Some(recovered) => recovered,
                None => recover(stand_in(damage.bundle))?,
            };
            let slug = recovered.slug;
            done.push(format!(
                "made anew as `{slug}`, switched off: `toolcrib bundle enable {slug}` switches it on"
            ));
        }
        Ok(done.join("; "))
    }
}

/// The slug that the damaged file of a bundle still shows.
fn slug_in(place: &Path) -> Option<Slug> {
    let file = open_plainly(place).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_SALVAGE).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (_, rest) = text.split_once("\"slug\"")?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    let (slug, _) = value.strip_prefix('"')?.split_once('"')?;
    Slug::parse(slug).ok()
}

/// A slug for a bundle whose own cannot be had: the end of its id is what tells it from others.
fn stand_in(id: BundleId) -> Slug {
    let id = id.to_string();
    let end = &id[id.len().saturating_sub(12)..];
    Slug::parse(&format!("recovered-{end}")).expect("letters, digits and a dash")
}

/// What dead writers left, and what others can read.
fn untidy(home: &Path) -> Vec<HomeProblem> {
    let mut problems = Vec::new();
    let open: Vec<PathBuf> = Some(home.to_owned())
        .filter(|home| fs::symlink_metadata(home).is_ok_and(|found| is_open(&found)))
        .into_iter()
        .collect();
    problems.extend(open_to_others(String::new(), open));
    for name in OWN {
        let mut found = Found::default();
        found.look(&home.join(name), MAX_DEPTH);
        problems.extend((found.leftovers > 0).then(|| HomeProblem {
            file: name.to_owned(),
            reason: match found.leftovers {
                1 => "a temporary file was left by a writer that died".to_owned(),
                count => format!("{count} temporary files were left by writers that died"),
            },
            kind: Kind::Leftovers,
        }));
        problems.extend(open_to_others(name.to_owned(), found.open));
    }
    problems
}

fn open_to_others(file: String, paths: Vec<PathBuf>) -> Option<HomeProblem> {
    let first = paths.first()?.file_name()?.to_string_lossy().into_owned();
    let reason = match paths.len() {
        1 => format!("other users may read or change `{first}`"),
        more => format!("other users may read or change {more} files, `{first}` among them"),
    };
    Some(HomeProblem {
        file,
        reason,
        kind: Kind::OpenToOthers(paths),
    })
}

#[derive(Default)]
struct Found {
    leftovers: usize,
    open: Vec<PathBuf>,
}

impl Found {
    /// Looks at a file or directory and what is in it. What is no file of ours (a link, a socket) is passed over.
    fn look(&mut self, path: &Path, depth: usize) {
        let Ok(found) = fs::symlink_metadata(path) else {
            return;
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if is_leftover(&name) {
            let age = found
                .modified()
                .ok()
                .and_then(|at| SystemTime::now().duration_since(at).ok());
            self.leftovers += usize::from(age.is_some_and(|age| age > LEFT));
            return;
        }
        if (found.is_file() || found.is_dir()) && is_open(&found) {
            self.open.push(path.to_owned());
        }
        if !found.is_dir() || depth == 0 {
            return;
        }
        let Ok(entries) = fs::read_dir(path) else {
            return;
        };
        for entry in entries.flatten() {
            self.look(&entry.path(), depth - 1);
        }
    }
}

/// Whether others than the owner may do anything with it.
fn is_open(found: &fs::Metadata) -> bool {
    found.mode() & 0o077 != 0
}

/// Opens what is there itself: follows no link, and waits for nobody at a pipe.
fn open_plainly(path: &Path) -> rustix::io::Result<fs::File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map(fs::File::from)
}

/// Takes everything from others, and nothing from the owner. By an open file, which a link put there meanwhile cannot redirect.
fn close(path: &Path) -> std::io::Result<()> {
    let file = match open_plainly(path) {
        Ok(file) => file,
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mode = file.metadata()?.mode() & 0o700;
    file.set_permissions(fs::Permissions::from_mode(mode))
}
