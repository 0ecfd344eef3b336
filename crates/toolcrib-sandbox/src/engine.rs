//! What this machine can enforce, and policies planned for it: the sandboxes of one plan are made here.

use crate::{
    birth::{self, Failed, Midwife, Order},
    cell::{Cell, Pipes},
    cgroup::{CgroupLimits, Cgroups},
    child::Op,
    error::SandboxError,
    layer::{Layer, Missing},
    level::Level,
    plan::{self, Plan},
    policy::{Network, Policy},
    protect::Guard,
    proxy,
    support::Support,
    sys,
    temporary::TemporaryDirectory,
    user::Namespaces,
};
use std::{
    fs,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::net::UnixDatagram,
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
};

/// What was found out and set up once.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) support: Support,
    pub(crate) cgroups: Cgroups,
    pub(crate) namespaces: Namespaces,
    pub(crate) init: OwnedFd,
    pub(crate) midwife: Midwife,
}

/// A policy, planned.
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

/// More than the kernel can count to.
const MOST_PIDS: u32 = 4_000_000;

/// A lock whose holder never leaves things half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    pub(crate) fn plan(self: &Arc<Self>, policy: &Policy) -> Result<Inner, SandboxError> {
        policy.check()?;
        let unavailable = |missing: Missing| SandboxError::Unavailable {
            level: policy.level,
            missing,
        };
        self.support.refuses(policy).map_err(unavailable)?;
        let unusable = |source| SandboxError::Path {
            role: "workspace",
            path: policy.workspace.clone(),
            source,
        };
        let workspace = policy.workspace.canonicalize().map_err(unusable)?;
        if workspace == Path::new("/") {
            return Err(SandboxError::Invalid(
                "`/` cannot be a workspace behind a wall; name a directory".to_owned(),
            ));
        }
        fs::read_dir(&workspace).map_err(unusable)?;
        let mounts =
            policy.level > Level::None && self.support.check(Layer::MountNamespace).is_ok();
        let guard = ((policy.protect || !policy.protected.is_empty())
            && policy.level > Level::None)
            .then(|| {
                let processes = self.support.check(Layer::PidNamespace).is_ok();
                Guard::new(&workspace, policy, mounts, processes)
            })
            .transpose()
            .map_err(unusable)?;
        let temporary = (!mounts).then(TemporaryDirectory::create).transpose();
        let temporary =
            temporary.map_err(|source| SandboxError::setup("a temporary directory", source))?;
        let user_namespace = self.user_namespace(policy)?;
        let directory = temporary.as_ref().map(TemporaryDirectory::path);
        let plan = plan::plan(
            policy,
            &self.support,
            &workspace,
            guard.as_ref(),
            directory,
            user_namespace,
        )?;
        Ok(Inner {
            engine: Arc::clone(self),
            policy: policy.clone(),
            workspace,
            plan,
            temporary,
            guard,
            used: AtomicBool::new(false),
            idle: Mutex::default(),
        })
    }

    /// Root's commands live in a user namespace in which no uid but their own exists; others get one at birth.
    fn user_namespace(&self, policy: &Policy) -> Result<Option<Arc<OwnedFd>>, SandboxError> {
        if sys::uid() != 0 || policy.level != Level::Container {
            return Ok(None);
        }
        let crate::User::Reduced { uid, gid } = (match policy.user {
            crate::User::Same => crate::User::REDUCED,
            reduced @ crate::User::Reduced { .. } => reduced,
        }) else {
            return Ok(None);
        };
        let namespace = self.namespaces.of(uid, gid);
        namespace
            .map(Some)
            .map_err(|source| SandboxError::setup("a user namespace", source))
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
    pub(crate) fn begin(&self) {
        if let Some(guard) = &self.guard {
            guard.begin();
        }
    }

    pub(crate) fn take_ready(&self) -> Option<Cell> {
        lock(&self.idle).pop()
    }

    /// A sandbox without a command, made on the thread whose end would be its end; or the one that this thread was just
    /// about to get ready.
    pub(crate) fn cell(self: &Arc<Self>) -> Result<Cell, SandboxError> {
        let inner = Arc::clone(self);
        let made = self
            .engine
            .midwife
            .call(move || inner.take_ready().map_or_else(|| inner.make(), Ok));
        made.map_err(|source| SandboxError::setup("a sandbox", source))?
    }

    pub(crate) fn make(&self) -> Result<Cell, SandboxError> {
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
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
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
