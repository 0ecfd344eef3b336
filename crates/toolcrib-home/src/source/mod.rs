//! Tools as files: where they are, whether they are trusted, what they become, and how changes are followed.
//!
//! ```text
//! scope     the directories          files      reading them safely
//! glance    has anything changed?    definition either kind of tool
//! survey    what has changed         content    what a file says
//! link      how tools use tools      compose    from files to registered tools
//! pins      what the user trusted    flags      what the user switched off
//! trust     asking about it          report     what became of each file
//! draft     a file for a store
//! stored    tools of the store     upstream   tools of upstream servers
//! written   a file as its user writes it
//! ```
//!
//! Files are the truth. Before tools are looked for, the directories are looked at, and what changed is loaded and swapped in as a
//! whole; a call that runs keeps its tool. Looking is a system call for each directory and file, as long as nothing has changed; where they
//! are very many or slow, it is done less often, so that it takes no more than a twentieth of the time. Polling rather than the kernel's notifications, because those get lost on network file systems, run out, and come late;
//! here the answer to "is it current?" is given when it is asked.
//!
//! The invariant: a file of a workspace is a tool that can be called only while it says what the user trusted (comments and layout aside), and one
//! file never keeps another from being loaded. Files of the user or the machine need no trust as long as other users cannot
//! change them. A tool that is broken, shadowed or not trusted keeps its name and says why it cannot be called.

mod broken;
mod compose;
mod content;
mod definition;
mod draft;
mod files;
mod flags;
mod glance;
mod link;
mod pins;
mod report;
mod scope;
mod stored;
mod survey;
mod trust;
mod upstream;
mod written;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::{ArcSwap, ArcSwapOption};

pub use definition::{FileDefinition, FileKind, FileReading, named_like_secrets};
pub use draft::{Draft, draft, draft_as_sent, without_computed};
pub use files::{read_file, yaml_of};
pub(crate) use pins::is_trusted_elsewhere;
pub use report::{FileOutcome, Report, ToolFile, Trust};
pub use scope::Scope;
pub use stored::refusal_of;
pub(crate) use stored::{
    Checked, StoredTools, Workshop, check as check_record, command_of as command_of_record,
    definition_of as definition_of_record, refusal as refusal_of_record,
};
pub use trust::{Review, ReviewedFile, runs};
pub(crate) use upstream::UpstreamTools;
pub use written::{Overwrite, Written, write_file};

use crate::exec::command::CommandSettings;
use crate::exec::http::HttpSettings;
use crate::model::error::ToolError;
use crate::model::names::Slug;
use crate::model::reference::ToolRef;
use crate::registry::{Follow, Registry};
use crate::secret::{SecretEntry, SecretStore};
use crate::spec::ToolSpec;
use crate::storage::{Followed, Stamp, Stamps};
use crate::store::Look as StoreLook;
use crate::upstream::UpstreamTable;
use crate::workspace::Workspace;
use compose::{FileId, Made, Materials};
use flags::FlagStore;
use glance::Glance;
use pins::{PinStore, Pins};
use scope::ScopeDir;
use survey::{KnownDir, Surveyed};

/// That a slug only looks like another, in words that show the difference.
pub(crate) fn look_alike(slug: &Slug, other: &Slug) -> String {
    let escaped = |slug: &Slug| -> String {
        let c = |c: char| match c.is_ascii() {
            true => c.to_string(),
            false => c.escape_unicode().to_string(),
        };
        slug.as_str().chars().map(c).collect()
    };
    format!(
        "`{}` looks like the tool `{}` but is another name; give it one that cannot be mistaken",
        escaped(slug),
        escaped(other)
    )
}

/// Looking at more files than this, or for longer, is not done for every call: then no one looks for a while.
const FEW: usize = 300;
const SHORT: Duration = Duration::from_millis(50);
/// How much longer than it took no one looks then.
const PACE: u32 = 20;
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// From how many changed files on a call does not load them itself.
const MANY: usize = 16;
/// How long a call waits for those who do.
const PATIENCE: Duration = Duration::from_millis(200);

/// What tools as files need to know.
pub(crate) struct SourceOptions {
    /// Toolcrib's home, for pins and flags.
    pub(crate) home: PathBuf,
    /// The workspace, for the local scope.
    pub(crate) workspace: Option<Arc<Workspace>>,
    /// The user's home directory, for the user scope.
    pub(crate) user: Option<PathBuf>,
    /// Where the directories of the global scope are: `/etc`.
    pub(crate) global: PathBuf,
    /// The setting `disabledTools`.
    pub(crate) disabled: Vec<String>,
    /// What all YAML tools share.
    pub(crate) settings: Arc<CommandSettings>,
    /// What all HTTP tools share.
    pub(crate) http: Arc<HttpSettings>,
    /// Where secrets are: no argument may have the name of one.
    pub(crate) secrets: SecretStore,
    /// The tools of the store.
    pub(crate) stored: Arc<StoredTools>,
    /// The tools of upstream servers.
    pub(crate) upstream: Arc<UpstreamTools>,
    /// The settings of those, as they were read.
    pub(crate) upstreams: UpstreamTable,
    /// What else is to be done while the tools are in use, if it is time; it must not take long.
    pub(crate) now_and_then: Box<dyn Fn() + Send + Sync>,
}

/// The files of all scopes, and what they became.
pub(crate) struct Sources {
    options: SourceOptions,
    places: Vec<ScopeDir>,
    pins: PinStore,
    flags: FlagStore,
    state: Mutex<State>,
    /// By what to see that nothing has changed since the last look, if that can be seen.
    glance: ArcSwapOption<Glance>,
    report: ArcSwap<Report>,
    begun: Instant,
    /// When to look again, in nanoseconds after `begun`.
    next_look: AtomicU64,
}

/// What was found last.
#[derive(Default)]
struct State {
    dirs: Vec<KnownDir>,
    made: HashMap<FileId, Made>,
    /// Pins, flags and secrets, as far as they were read.
    read: Followed<(), 3>,
    /// How often the store of secrets had found others.
    secrets: u64,
    /// Which tools the program had, and the store as far as it matters.
    changes: u64,
}

/// The present state.
struct Look {
    dirs: Vec<Surveyed>,
    /// Of pins, flags and secrets.
    stamps: Stamps<3>,
    secrets: u64,
    changes: u64,
    now: SystemTime,
    /// When it began.
    begun: Instant,
    /// What the directories were that those of users and the machine would be in, before these were looked for.
    bases: Vec<(PathBuf, Stamp)>,
}

impl Sources {
    pub(crate) fn new(options: SourceOptions) -> Arc<Self> {
        let places = scope::places(
            options.workspace.as_ref(),
            options.user.as_deref(),
            &options.global,
        );
        Arc::new(Sources {
            pins: PinStore::at(&options.home),
            flags: FlagStore::at(&options.home),
            state: Mutex::new(State {
                dirs: places.iter().map(|_| KnownDir::default()).collect(),
                ..State::default()
            }),
            places,
            options,
            glance: ArcSwapOption::empty(),
            report: ArcSwap::default(),
            begun: Instant::now(),
            next_look: AtomicU64::new(0),
        })
    }

    /// Keeps a registry's tools in step with the files from now on.
    pub(crate) fn attach(self: &Arc<Self>, registry: &Registry) {
        // First: tools of the store may be tools of these servers.
        self.upstream().upstreams().set(&self.options.upstreams);
        self.stored().refresh(registry, StoreLook::Thorough);
        self.reload_files(registry);
        // Last: names that others have are not theirs.
        self.upstream().begin(registry, &self.options.upstreams);
        self.reload_files(registry);
        registry.follow_with(Box::new(Follower(Arc::clone(self))));
    }

    /// What the programs of tools run with.
    pub(crate) fn settings(&self) -> &CommandSettings {
        &self.options.settings
    }

    /// What became of the files.
    pub(crate) fn report(&self) -> Arc<Report> {
        self.report.load_full()
    }

    /// The tools of the store.
    pub(crate) fn stored(&self) -> &Arc<StoredTools> {
        &self.options.stored
    }

    /// The tools of upstream servers.
    pub(crate) fn upstream(&self) -> &Arc<UpstreamTools> {
        &self.options.upstream
    }

    /// Brings a registry up to date, however long it takes; says whether something changed.
    pub(crate) fn reload(&self, registry: &Registry) -> bool {
        let of_store = self.stored().refresh(registry, StoreLook::Thorough);
        let of_files = self.reload_files(registry);
        let of_upstreams = self.upstream().refresh(registry) && {
            self.reload_files(registry);
            true
        };
        of_store || of_files || of_upstreams
    }

    fn reload_files(&self, registry: &Registry) -> bool {
        let mut state = self.state();
        let look = self.look(&state, registry);
        self.load(look, &mut state, registry)
    }

    /// Switches tools on or off, for good.
    pub(crate) fn set_enabled(&self, specs: &[&ToolSpec], enabled: bool) -> Result<(), ToolError> {
        let workspace = self.workspace_path();
        Ok(self.flags.set(specs, workspace, enabled)?)
    }

    /// Why it is unknown what is switched off, if it is.
    pub(crate) fn flags_problem(&self) -> Option<String> {
        self.flags.read().err()
    }

    /// Switches a bundle of Toolcrib's own on or off, for good.
    pub(crate) fn set_bundle_enabled(&self, bundle: &str, enabled: bool) -> Result<(), ToolError> {
        let workspace = self.workspace_path();
        Ok(self.flags.set_bundle(bundle, workspace, enabled)?)
    }

    /// Whether a bundle of Toolcrib's own is switched off; none if no one can tell.
    pub(crate) fn is_bundle_enabled(&self, bundle: &str) -> Option<bool> {
        let flags = self.flags.read().ok()?;
        Some(!flags.disables_bundle(bundle, self.workspace_path()))
    }

    /// The secrets that are kept. Where they cannot be read no tool gets one, so there is nothing to keep apart.
    fn kept_secrets(&self) -> Vec<SecretEntry> {
        self.options.secrets.list().unwrap_or_default()
    }

    /// Where new files of a scope go; nothing where the scope has no directory here.
    pub(crate) fn directory_of(&self, scope: Scope) -> Option<&Path> {
        let mut places = self.places.iter();
        let place = places.find(|place| place.scope == scope)?;
        Some(&place.path)
    }

    fn workspace_path(&self) -> Option<&Path> {
        self.options
            .workspace
            .as_ref()
            .map(|workspace| workspace.root())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks what there is now.
    fn look(&self, state: &State, registry: &Registry) -> Look {
        let (now, begun) = (SystemTime::now(), Instant::now());
        let workspace = self.options.workspace.as_deref();
        let bases = self.bases();
        let pairs = self.places.iter().zip(&state.dirs);
        Look {
            bases,
            dirs: pairs
                .map(|(place, known)| survey::survey(place, workspace, known, now))
                .collect(),
            stamps: Stamps::new([
                self.workspace_path()
                    .and_then(|workspace| self.pins.stamp(workspace)),
                self.flags.stamp(),
                // A secret that came or went: each is a separate file.
                Stamp::at(self.options.secrets.directory()),
            ]),
            secrets: self.options.secrets.readings(),
            changes: registry.changes(),
            now,
            begun,
        }
    }

    /// Reads what has changed and, if that makes a difference, swaps the tools.
    fn load(&self, look: Look, state: &mut State, registry: &Registry) -> bool {
        let mut differs =
            state.read.current(&look.stamps).is_none() || look.changes != state.changes;
        let surveyed = look.dirs.into_iter().zip(&self.places);
        let read = surveyed.map(|(surveyed, place)| surveyed.read(place, look.now));
        state.dirs = read
            .map(|(known, is_new)| {
                differs |= is_new;
                known
            })
            .collect();
        state.read.set(look.stamps, ());
        state.secrets = look.secrets;
        state.changes = look.changes;
        let glance = self.glance_after(look.begun, look.now, &look.bases, state);
        let glance = glance.map(Arc::new);
        if !differs {
            self.glance.store(glance);
            return false;
        }
        let mut notes = Vec::new();
        let pins = match self.workspace_path() {
            Some(workspace) => self.pins.read(workspace).unwrap_or_else(|why| {
                notes.push(format!(
                    "what was trusted here cannot be read ({why}): `toolcrib trust` asks again"
                ));
                Pins::default()
            }),
            None => Pins::default(),
        };
        let flags = self.flags.read();
        if let Err(why) = &flags {
            notes.push(format!(
                "which tools are switched off cannot be read ({why}); so all of them are, until `toolcrib doctor --fix` has put `state/flags.json` right"
            ));
        }
        self.stored()
            .switch(flags.as_ref().ok(), self.workspace_path());
        let State { dirs, made, .. } = state;
        let materials = Materials {
            places: &self.places,
            dirs,
            pins: &pins,
            flags: flags.as_ref().ok(),
            workspace: self.workspace_path(),
            disabled: &self.options.disabled,
            settings: &self.options.settings,
            http: &self.options.http,
            secrets: self.kept_secrets(),
            notes,
        };
        let report = compose::compose(registry, materials, made);
        self.report.store(Arc::new(report));
        self.stored().relink(registry);
        // Last: a caller that sees by it that nothing has changed uses the present tools.
        self.glance.store(glance);
        true
    }

    /// What the directories are now that those of users and the machine would be in.
    fn bases(&self) -> Vec<(PathBuf, Stamp)> {
        let places = self.places.iter();
        let mut bases: Vec<&Path> = places
            .filter(|place| place.scope != Scope::Local)
            .map(|place| place.base.as_path())
            .collect();
        bases.dedup();
        let stamp = |base: &Path| Some((base.to_owned(), Stamp::at(base)?));
        bases.into_iter().filter_map(stamp).collect()
    }

    /// By what to see that all is as it was found; none while something changed so recently that its next change might not show.
    fn glance_after(
        &self,
        begun: Instant,
        now: SystemTime,
        bases: &[(PathBuf, Stamp)],
        state: &State,
    ) -> Option<Glance> {
        let mut glance = Glance::new(begun, [state.changes, state.secrets]);
        // Where none of several directories exists, their parent shows changes of all of them. Not so of a workspace, in which
        // something changes all the time.
        let mut empty: Vec<&Path> = Vec::new();
        for (base, stamp) in bases.iter().filter(|(_, stamp)| stamp.is_settled(now)) {
            let mut there = self.places.iter().filter(|place| place.base == *base);
            if there.all(ScopeDir::is_nowhere) {
                glance.expect(base, Some(*stamp), true)?;
                empty.push(base);
            }
        }
        for (place, dir) in self.places.iter().zip(&state.dirs) {
            match empty.contains(&place.base.as_path()) {
                true if dir.is_missing() => {}
                true => return None,
                false => dir.watch(place, &mut glance)?,
            }
        }
        let read = state.read.stamps().filter(|read| read.is_settled())?;
        // Whether secrets changed again, their store says.
        let [pins, flags, _] = read.each();
        if let Some(workspace) = self.workspace_path() {
            glance.expect(&self.pins.path(workspace), pins, true)?;
        }
        glance.expect(&self.flags.path(), flags, true)?;
        Some(glance)
    }

    /// Brings a registry up to date if it is time to look, no one else does, and it is soon done.
    fn follow(self: &Arc<Self>, registry: &Registry) {
        let since =
            |instant: Instant| u64::try_from((instant - self.begun).as_nanos()).unwrap_or(u64::MAX);
        let start = Instant::now();
        if since(start) < self.next_look.load(Ordering::Relaxed) {
            return;
        }
        // Also while someone else looks: what they see may be from before this call.
        if let Some(glance) = &*self.glance.load()
            && glance.holds(start, || {
                [registry.changes(), self.options.secrets.readings()]
            })
        {
            let took = start.elapsed();
            let pause = pause_after(glance.len(), took);
            if !pause.is_zero() {
                let next = since(Instant::now() + pause);
                self.next_look.store(next, Ordering::Relaxed);
            }
            return;
        }
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Someone looks already; what is registered will do until they are done.
            Err(TryLockError::WouldBlock) => return,
        };
        let look = self.look(&state, registry);
        let took = start.elapsed();
        let files: usize = look.dirs.iter().map(Surveyed::len).sum();
        let pause = pause_after(files, took);
        let to_read: usize = look.dirs.iter().map(|dir| dir.to_read.len()).sum();
        if to_read < MANY {
            self.load(look, &mut state, registry);
        } else {
            drop((look, state));
            self.load_aside(registry);
        }
        let next = since(Instant::now() + pause);
        self.next_look.store(next, Ordering::Relaxed);
    }

    /// Has another thread bring a registry up to date, and waits for it no longer than a call should.
    fn load_aside(self: &Arc<Self>, registry: &Registry) {
        let (done, waiting) = mpsc::channel();
        let (sources, registry) = (Arc::clone(self), registry.clone());
        std::thread::spawn(move || {
            sources.reload(&registry);
            // The waiting caller may be gone.
            let _ = done.send(());
        });
        let _ = waiting.recv_timeout(PATIENCE);
    }
}

/// How long no one looks after a look at so many files that took so long.
fn pause_after(files: usize, took: Duration) -> Duration {
    match files > FEW || took > SHORT {
        true => (took * PACE).min(LONGEST_PAUSE),
        false => Duration::ZERO,
    }
}

/// Has the registry's tools follow the files.
struct Follower(Arc<Sources>);

impl Follow for Follower {
    fn follow(&self, registry: &Registry) {
        // First: files may use what is in the store.
        self.0.stored().follow(registry);
        self.0.follow(registry);
        if self.0.upstream().follow(registry) {
            // Flags are yet to switch them.
            self.0.follow(registry);
        }
        (self.0.options.now_and_then)();
    }

    fn why_absent(&self, reference: &ToolRef, bundle_has_tools: bool) -> Option<String> {
        let upstream = self.0.upstream().why_absent(reference);
        upstream.or_else(|| self.0.stored().why_absent(reference, bundle_has_tools))
    }
}
