//! One policy, ready to run commands; and the sandboxes it keeps ready for them.

use crate::{
    birth::{self, Failed, Order},
    cell::{Cell, Pipes},
    cgroup::CgroupLimits,
    child::Op,
    command::Command,
    error::SandboxError,
    layer::{Layer, Missing},
    plan::Plan,
    policy::{Level, Network, Policy},
    protect::Guard,
    proxy,
    report::Report,
    run::{self, Cancel, Stream},
    sandbox::{Engine, Sandbox},
    sys,
    temporary::TemporaryDirectory,
};
use std::{
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::net::UnixDatagram,
    },
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

/// One policy, ready to run commands, one after another or at once.
///
/// While it exists the workspace holds the placeholders of its policy, if that has any ([`crate::AbsentNames`]). Where a protected
/// name has been replaced or made since the last run, the next one is planned again.
#[derive(Debug)]
pub struct Prepared {
    sandbox: Sandbox,
    policy: Policy,
    inner: Mutex<Arc<Inner>>,
    keeps_ready: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) engine: Arc<Engine>,
    pub(crate) policy: Policy,
    pub(crate) workspace: PathBuf,
    pub(crate) plan: Plan,
    /// Where a run cannot have its own `/tmp`; then this is for one run only.
    pub(crate) temporary: Option<TemporaryDirectory>,
    pub(crate) used: AtomicBool,
    pub(crate) idle: Mutex<Vec<Cell>>,
    pub(crate) guard: Option<Guard>,
}

impl Prepared {
    pub(crate) fn new(sandbox: Sandbox, policy: Policy, inner: Inner) -> Self {
        Self {
            sandbox,
            policy,
            inner: Mutex::new(Arc::new(inner)),
            keeps_ready: AtomicBool::new(false),
        }
    }

    /// Sets one sandbox up ahead of its command, so that the next run costs little more than the command's own start.
    /// Each run sets up the next.
    pub fn keep_ready(&self) -> Result<(), SandboxError> {
        let inner = self.current()?;
        self.keeps_ready.store(true, Ordering::Relaxed);
        let making = Arc::clone(&inner);
        let made = inner.engine.midwife.call(move || making.make());
        let cell = made.map_err(|source| SandboxError::setup("a sandbox", source))??;
        lock(&inner.idle).push(cell);
        Ok(())
    }

    /// Whether a sandbox is ready for the next command.
    pub fn is_ready(&self) -> bool {
        !lock(&lock(&self.inner).idle).is_empty()
    }

    /// Runs a command, passing on its output as it comes; returns when its last process is gone.
    pub fn run(
        &self,
        command: &Command,
        output: &mut dyn FnMut(Stream, &[u8]),
        cancel: &Cancel,
    ) -> Result<Report, SandboxError> {
        if command.answers().is_some() && !self.policy.terminal {
            return Err(SandboxError::Invalid(
                "a command without a terminal cannot be answered".to_owned(),
            ));
        }
        let endpoint = match (self.policy.network, command.endpoint()) {
            (Network::Proxy, None) => {
                return Err(SandboxError::Invalid(
                    "a command whose network is a proxy needs a process that serves the proxy"
                        .to_owned(),
                ));
            }
            (Network::Proxy, endpoint) => endpoint,
            (Network::None | Network::Loopback | Network::Full, _) => None,
        };
        let inner = &self.for_a_run()?;
        let looking = inner.guard.as_ref().map(Guard::looking);
        if let (Some(looking), Some(keeper)) = (&looking, command.kept_by()) {
            let begun = keeper.begin(&looking.baseline());
            begun.map_err(|source| {
                SandboxError::setup("writing down what the workspace holds", source)
            })?;
        }
        let program = command.resolve(&inner.workspace, inner.plan.readable.as_deref())?;
        let extra = inner.variables();
        let terminal = inner.policy.terminal;
        let wire = command.wire(&program, &inner.workspace, &extra, terminal)?;
        let mut cell = match inner.take_ready() {
            Some(cell) => cell,
            None => inner.cell()?,
        };
        if let (Some(endpoint), Some(listener)) = (endpoint, cell.take_listener()) {
            endpoint.serve(listener);
        }
        // Beside the run, which leaves a core idle more often than not. But its own root takes so many mounts that the run
        // would wait for the kernel's lock over them: that one is made after it.
        let mut next = self
            .keeps_ready
            .load(Ordering::Relaxed)
            .then(|| Arc::downgrade(inner));
        if self.policy.level < Level::Container
            && let Some(next) = next.take()
        {
            inner.engine.midwife.send(move || refill(&next));
        }
        let looking = looking.as_ref();
        let (answer, namespaces) =
            run::supervise(inner, cell, command, &wire, looking, output, cancel);
        inner.engine.midwife.send(move || {
            if let Some(inner) = next {
                refill(&inner);
            }
            drop(namespaces);
        });
        answer
    }

    /// The layers that stand around every run of this policy.
    pub fn layers(&self) -> Vec<Layer> {
        lock(&self.inner).layers()
    }

    /// Layers that would stand if they could be had here.
    pub fn not_enforced(&self) -> Vec<Missing> {
        lock(&self.inner).plan.not_enforced.clone()
    }

    /// The plan, made again if the workspace no longer is what it was made for.
    fn current(&self) -> Result<Arc<Inner>, SandboxError> {
        let mut inner = lock(&self.inner);
        if inner
            .guard
            .as_ref()
            .is_some_and(|guard| !guard.is_current())
        {
            *inner = Arc::new(self.planned_after(&inner)?);
        }
        Ok(Arc::clone(&inner))
    }

    /// Plans for a run that begins now, with its own temporary directory.
    fn for_a_run(&self) -> Result<Arc<Inner>, SandboxError> {
        let mut inner = self.current()?;
        if inner.guard.as_ref().is_some_and(|guard| !guard.begin()) {
            inner = Arc::new(self.planned_after(&inner)?);
            *lock(&self.inner) = Arc::clone(&inner);
            inner.begin();
        }
        if inner.temporary.is_none() || !inner.used.swap(true, Ordering::Relaxed) {
            return Ok(inner);
        }
        inner.guard.iter().for_each(|guard| drop(guard.looking()));
        let inner = Arc::new(self.planned_after(&inner)?);
        inner.begin();
        inner.used.store(true, Ordering::Relaxed);
        Ok(inner)
    }

    /// A new plan, which knows what runs of the last one made.
    fn planned_after(&self, inner: &Inner) -> Result<Inner, SandboxError> {
        let mut policy = self.policy.clone();
        policy.made = inner.guard.as_ref().map(Guard::made).unwrap_or_default();
        self.sandbox.plan(&policy)
    }
}

/// More than the kernel can count to.
const MOST_PIDS: u32 = 4_000_000;

/// A lock whose holder never leaves things half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the next sandbox up, on the thread that makes them.
fn refill(inner: &Weak<Inner>) {
    let Some(inner) = inner.upgrade() else { return };
    if lock(&inner.idle).is_empty()
        && let Ok(cell) = inner.make()
    {
        lock(&inner.idle).push(cell);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Before the guard takes its placeholders away.
        lock(&self.idle).clear();
    }
}

impl Inner {
    /// Begins to look after a run of a plan that was just made: nothing can have changed since.
    fn begin(&self) {
        if let Some(guard) = &self.guard {
            guard.begin();
        }
    }

    fn take_ready(&self) -> Option<Cell> {
        lock(&self.idle).pop()
    }

    /// A sandbox without a command, made on the thread whose end would be its end; or the one that this thread was just
    /// about to get ready.
    fn cell(self: &Arc<Self>) -> Result<Cell, SandboxError> {
        let inner = Arc::clone(self);
        let made = self
            .engine
            .midwife
            .call(move || inner.take_ready().map_or_else(|| inner.make(), Ok));
        made.map_err(|source| SandboxError::setup("a sandbox", source))?
    }

    fn make(&self) -> Result<Cell, SandboxError> {
        let limits = CgroupLimits {
            memory: self
                .policy
                .limits
                .memory
                .filter(|_| self.stands(Layer::MemoryLimit)),
            pids: self
                .policy
                .limits
                .pids
                .filter(|_| self.stands(Layer::PidsLimit))
                .map(|pids| u64::from(pids.min(MOST_PIDS)) + 1),
        };
        let counted = self.policy.limits.cpu.is_some() && self.stands(Layer::CpuLimit);
        let slot = (limits.memory.is_some() || limits.pids.is_some() || counted)
            .then(|| self.engine.cgroups.take(&limits))
            .transpose()
            .map_err(|source| SandboxError::setup("a cgroup", source))?;
        let failed = |source| SandboxError::setup("pipes", source);
        let pipes = if self.policy.terminal {
            Pipes::with_terminal(self.plan.user)
                .map_err(|source| SandboxError::setup("a terminal", source))?
        } else {
            Pipes::new(self.plan.user).map_err(failed)?
        };
        let mounts = self.trees()?;
        let trees: Vec<RawFd> = mounts.iter().map(AsRawFd::as_raw_fd).collect();
        let channel = match self.policy.network {
            Network::Proxy => Some(UnixDatagram::pair().map_err(failed)?),
            Network::None | Network::Loopback | Network::Full => None,
        };
        let theirs = channel
            .as_ref()
            .map(|(_, theirs)| sys::high(theirs))
            .transpose()
            .map_err(failed)?;
        let order = Order {
            steps: &self.plan.steps,
            flags: self.plan.flags,
            cgroups: slot.as_ref().map_or(&[], |slot| slot.task_fds()),
            birthplace: slot.as_ref().and_then(|slot| slot.birthplace()),
            all_cgroups: slot.as_ref().map_or(&[], |slot| slot.procs_fds()),
            trees: &trees,
            channel: theirs.as_ref().map_or(-1, AsRawFd::as_raw_fd),
            descriptors: pipes.descriptors(),
            init: self.engine.init.as_raw_fd(),
        };
        let process = birth::give(&order).map_err(|failed| self.explain(failed))?;
        let mut cell = Cell::new(
            process,
            pipes,
            slot,
            self.plan.flags & libc::CLONE_NEWPID != 0,
        );
        if let Some((ours, _)) = channel {
            let listener = proxy::receive(&ours)
                .map_err(|source| SandboxError::setup("the way to the proxy", source))?;
            cell.keep(listener);
        }
        Ok(cell)
    }

    /// Fresh mounts that show files as the run's own; a detached mount can be attached once only.
    fn trees(&self) -> Result<Vec<OwnedFd>, SandboxError> {
        let Some((uid, gid)) = self.plan.user else {
            return Ok(Vec::new());
        };
        let mount = |(path, identity): &(PathBuf, (u64, u64))| {
            self.engine.namespaces.mount(path, *identity, uid, gid).map_err(|error| SandboxError::Unavailable {
                level: self.policy.level,
                missing: Missing {
                    layer: Layer::OwnUser,
                    reason: format!("the file system of `{}` cannot map owners ({error})", path.display()),
                    fix: "run Toolcrib as an ordinary user, use isolation `process`, or a workspace on ext4, xfs, btrfs or tmpfs".to_owned(),
                },
            })
        };
        self.plan.mapped.iter().map(mount).collect()
    }

    /// What a child that failed was doing.
    fn explain(&self, failed: Failed) -> SandboxError {
        let step = failed
            .step
            .and_then(|step| self.plan.steps.get(step))
            .map(|step| &step.op);
        let doing = match step {
            None => "starting the process".to_owned(),
            Some(Op::CopyMount { path, .. }) => format!("showing `{}`", path.to_string_lossy()),
            Some(
                Op::Attach { target, .. } | Op::AttachTree { target, .. } | Op::Bind { target, .. },
            ) => {
                format!("mounting `{}`", target.to_string_lossy())
            }
            Some(Op::Mount { kind, target, .. }) => format!(
                "mounting {} at `{}`",
                kind.to_string_lossy(),
                target.to_string_lossy()
            ),
            Some(
                Op::Directory { path, .. }
                | Op::File { path }
                | Op::Content { path, .. }
                | Op::Unmount { path }
                | Op::Link { path, .. }
                | Op::Restrict { path, .. }
                | Op::Write { path, .. },
            ) => {
                format!("making `{}`", path.to_string_lossy())
            }
            Some(Op::CheckFolded { .. }) => {
                return SandboxError::Unavailable {
                    level: self.policy.level,
                    missing: Missing {
                        layer: Layer::ProtectedNames,
                        reason: "the workspace's file system folds case in a way that mounts do not follow".to_owned(),
                        fix: "use a workspace on a file system of Linux's own".to_owned(),
                    },
                };
            }
            Some(Op::PrivateMounts | Op::EnterRoot { .. }) => "changing the root".to_owned(),
            Some(Op::HostName(_)) => "setting the host name".to_owned(),
            Some(Op::Loopback | Op::Listen) => "setting up the network".to_owned(),
            Some(Op::JoinUser(_) | Op::BecomeUser { .. }) => "changing the user".to_owned(),
            Some(Op::Limit { resource, value }) => format!("setting limit {resource} to {value}"),
            Some(Op::DropCapabilities | Op::NoNewPrivileges) => "giving up privileges".to_owned(),
            Some(Op::Landlock { .. }) => "Landlock".to_owned(),
            Some(Op::Seccomp(_)) => "seccomp".to_owned(),
        };
        SandboxError::setup(doing, failed.error)
    }

    fn stands(&self, layer: Layer) -> bool {
        self.engine.support.check(layer).is_ok()
    }

    pub(crate) fn layers(&self) -> Vec<Layer> {
        let limits = &self.policy.limits;
        let mut layers: Vec<Layer> = self
            .plan
            .steps
            .iter()
            .filter_map(|step| step.layer)
            .collect();
        layers.extend(&self.plan.also);
        layers.extend([Layer::Descriptors, Layer::Environment]);
        let flags = [
            (libc::CLONE_NEWPID, Layer::PidNamespace),
            (libc::CLONE_NEWIPC, Layer::IpcNamespace),
            (libc::CLONE_NEWNET, Layer::NetworkNamespace),
        ];
        layers.extend(
            flags
                .iter()
                .filter(|(flag, _)| self.plan.flags & flag != 0)
                .map(|(_, layer)| *layer),
        );
        if self.plan.flags & libc::CLONE_NEWPID != 0 {
            layers.push(Layer::TreeKill);
        }
        let cgroup = [
            (limits.memory.is_some(), Layer::MemoryLimit),
            (limits.pids.is_some(), Layer::PidsLimit),
            (limits.cpu.is_some(), Layer::CpuLimit),
        ];
        layers.extend(
            cgroup
                .iter()
                .filter(|(wanted, layer)| *wanted && self.stands(*layer))
                .map(|(_, layer)| *layer),
        );
        if self.policy.level > Level::None
            && self.plan.flags & libc::CLONE_NEWNET == 0
            && self.policy.network != Network::Full
        {
            layers.push(Layer::NoSockets);
        }
        layers.sort();
        layers.dedup();
        layers
    }

    /// What every command of this policy finds in its environment.
    fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = Vec::new();
        let directory = self
            .temporary
            .as_ref()
            .map_or(Path::new("/tmp"), TemporaryDirectory::path);
        if self.plan.private_tmp || self.temporary.is_some() {
            variables.push(("TMPDIR", directory.to_string_lossy().into_owned()));
        }
        if self.policy.network == Network::Proxy {
            variables.extend(proxy::variables());
        }
        variables
    }

    pub(crate) fn writable(&self) -> Vec<PathBuf> {
        std::iter::once(self.workspace.clone())
            .chain(self.policy.write.iter().cloned())
            .collect()
    }
}
