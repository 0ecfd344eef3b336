//! Finds and repairs problems of the files of a home: for `toolcrib doctor`.
//!
//! Putting right never deletes what a person may want: what cannot be read is moved to `damaged/` of the home, with its bytes. It can be
//! repeated; healthy files are left alone.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::Crib;
use crate::model::error::ToolError;
use crate::model::ids::BundleId;
use crate::model::names::Slug;
use crate::storage::{DurableDir, StorageError, is_leftover, set_aside, set_aside_unguarded};
use crate::store::Damage;

/// The directory of the home that the store is in.
const BUNDLES: &str = "bundles";
/// The file that says what is switched off.
const FLAGS: &str = "flags.json";
/// The directory it is in.
const STATE: &str = "state";
/// The file in each directory whose lock guards it.
const LOCK: &str = ".lock";
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
/// A temporary file that is older was left by someone who died.
const LEFT: Duration = Duration::from_secs(60);

/// Something that is wrong with files of the home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeProblem {
    /// The file or directory, relative to the home; empty for the home itself.
    pub file: String,
    /// The problem.
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
    /// Something is where a directory (empty for the home) should have a directory or lock file of this name.
    InTheWay(&'static str, &'static str),
}

impl HomeProblem {
    /// Whether something does not work because of it; otherwise it is only untidy.
    pub fn is_damage(&self) -> bool {
        match self.kind {
            Kind::Record(_) | Kind::Flags | Kind::Counts | Kind::InTheWay(..) => true,
            Kind::Leftovers | Kind::OpenToOthers(_) => false,
        }
    }

    /// The tool version that is unavailable because of it, where that is known.
    pub fn record(&self) -> Option<&Damage> {
        match &self.kind {
            Kind::Record(damage) => Some(damage),
            Kind::Flags
            | Kind::Counts
            | Kind::Leftovers
            | Kind::OpenToOthers(_)
            | Kind::InTheWay(..) => None,
        }
    }
}

impl Crib {
    /// Problems of the files that Toolcrib keeps in the home: records of the store, state, what dead writers left, and modes that
    /// let others in.
    pub fn home_problems(&self) -> Vec<HomeProblem> {
        let mut problems = in_the_way(&self.home);
        let is_state_there = !problems.iter().any(|problem| problem.file == STATE);
        self.reload();
        problems.extend(self.store.damage().into_iter().map(|damage| HomeProblem {
            file: damage.file.clone(),
            reason: damage.reason.clone(),
            kind: Kind::Record(damage),
        }));
        let flags = self.sources.flags_problem().filter(|_| is_state_there);
        problems.extend(flags.map(|reason| HomeProblem {
            file: format!("{STATE}/{FLAGS}"),
            reason: format!("which tools are switched off cannot be read: {reason}"),
            kind: Kind::Flags,
        }));
        let counts = self.usage.problems().into_iter();
        problems.extend(
            counts
                .filter(|_| is_state_there)
                .map(|problem| HomeProblem {
                    file: problem.file,
                    reason: problem.reason,
                    kind: Kind::Counts,
                }),
        );
        problems.extend(untidy(&self.home));
        problems
    }

    /// Foreign entries in the directories of the store, relative to the home: they are left alone and are harmless.
    pub fn foreign_files(&self) -> Vec<String> {
        // Why they cannot be listed is said by those who look for damage.
        self.store.foreign_files().unwrap_or_default()
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
                    .map(|(file, place)| {
                        let which = match *file == problem.file {
                            true => String::new(),
                            false => format!("{file} "),
                        };
                        format!("{which}moved to {}", place.display())
                    })
                    .collect();
                Ok(match places.is_empty() {
                    true => "damaged lines left out".to_owned(),
                    false => format!("{}; calls are counted from zero", places.join(", ")),
                })
            }
            Kind::InTheWay(directory, name) => {
                let now = Timestamp::now();
                let place = set_aside_unguarded(&self.home, directory, name, now)?;
                self.reload();
                let lost = match (*directory, *name) {
                    ("", STATE) => {
                        "; tools that were switched off are on again: `toolcrib disable` those that are to be off"
                    }
                    _ => "",
                };
                Ok(format!("moved to {}{lost}", place.display()))
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

    /// Sets a damaged record aside. Where only the slug of a bundle is another's, the bundle gets another one. A bundle that has lost its file that way, or by other hands, gets a new one, so that its tools can be had.
    fn put_record_right(&self, damage: &Damage) -> Result<String, ToolError> {
        let is_bundle = damage.file.ends_with("/bundle.json");
        if is_bundle && self.store.has_clash(damage.bundle) {
            let slug = self.store.rename_apart(damage.bundle)?.slug;
            return Ok(format!("it is `{slug}` now"));
        }
        let is_there = self.home.join(&damage.file).symlink_metadata().is_ok();
        let mut done = Vec::new();
        if is_there || !is_bundle {
            let place = self.store.set_aside(damage)?;
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
            let slug = damage.bundle_slug.clone();
            let recovered = match slug.and_then(|slug| recover(slug).ok()) {
                Some(recovered) => recovered,
                None => recover(stand_in(damage.bundle))?,
            };
            let slug = recovered.slug;
            done.push(format!(
                "created again as `{slug}`, switched off: `toolcrib bundle enable {slug}` switches it on"
            ));
        }
        Ok(done.join("; "))
    }
}

/// A slug for a bundle whose own slug is unknown: the end of its id distinguishes it from others.
fn stand_in(id: BundleId) -> Slug {
    let id = id.to_string();
    let end = &id[id.len().saturating_sub(12)..];
    Slug::parse(&format!("recovered-{end}")).expect("letters, digits and a dash")
}

/// The entries in place of the home's directories and their locks.
fn in_the_way(home: &Path) -> Vec<HomeProblem> {
    let mut problems = Vec::new();
    let mut found = |directory: &'static str, name: &'static str, reason: String| {
        problems.push(HomeProblem {
            file: Path::new(directory).join(name).display().to_string(),
            reason,
            kind: Kind::InTheWay(directory, name),
        });
    };
    for name in OWN {
        if let Some(what) = not_a_directory(&home.join(name)) {
            let lost = match name {
                STATE => ", so it is not known which tools are switched off, and every tool is",
                BUNDLES => ", so that the store has no bundles",
                _ => "",
            };
            found("", name, format!("it is {what}, not a directory{lost}"));
        }
    }
    for directory in [""].into_iter().chain(OWN) {
        if let Some(what) = not_a_lock(&home.join(directory)) {
            let reason = format!("it is {what}, not a file, so that nothing can be written there");
            found(directory, LOCK, reason);
        }
    }
    problems
}

/// What there is in the place of a directory, if something else is.
fn not_a_directory(path: &Path) -> Option<&'static str> {
    let itself = fs::symlink_metadata(path).ok()?.file_type();
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => None,
        Ok(found) => Some(kind_of(found.file_type())),
        Err(_) if itself.is_symlink() => Some(kind_of(itself)),
        // A failed look is reported elsewhere.
        Err(_) => None,
    }
}

/// What there is in the place of a directory's lock file, if something else is.
pub(super) fn not_a_lock(directory: &Path) -> Option<&'static str> {
    let found = fs::symlink_metadata(directory.join(LOCK)).ok()?.file_type();
    match (found.is_file(), found.is_symlink()) {
        (true, _) => None,
        (false, true) => Some("a link"),
        (false, false) => Some(kind_of(found)),
    }
}

fn kind_of(found: fs::FileType) -> &'static str {
    if found.is_file() {
        "a file"
    } else if found.is_dir() {
        "a directory"
    } else if found.is_symlink() {
        "a link that leads nowhere"
    } else if found.is_fifo() {
        "a pipe"
    } else if found.is_socket() {
        "a socket"
    } else {
        "a device"
    }
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
        let mut found = UpkeepFinds::default();
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
        _ if file.is_empty() => "other users may read or change it".to_owned(),
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
struct UpkeepFinds {
    leftovers: usize,
    open: Vec<PathBuf>,
}

impl UpkeepFinds {
    /// Looks at a file or directory and what is in it. Anything that is not one of our files (a link, a socket) is skipped.
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

/// Takes everything from others, and nothing from the owner. By an open file, which a link put there meanwhile cannot redirect.
fn close(path: &Path) -> std::io::Result<()> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => fs::File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mode = file.metadata()?.mode() & 0o700;
    file.set_permissions(fs::Permissions::from_mode(mode))
}
