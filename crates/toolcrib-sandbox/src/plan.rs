//! From a policy to the steps of the child: which layers, in which order.
//!
//! The order matters. Mounts come first, while there is power to make them; then limits; then the uid, the capabilities
//! and the right to gain new ones go; Landlock comes after the last mount, since it binds to what is there; seccomp is
//! last, since it refuses most of what came before.

use crate::{
    child::{Beneath, Op, Rule, SLOTS, Step},
    error::SandboxError,
    landlock,
    layer::{Layer, Missing},
    paths::{self, Shown},
    policy::{Level, Network, Policy, User},
    protect::{Cover, Guard},
    seccomp::{self, Ipc, Sockets},
    support::Support,
    sys,
};
use std::{
    collections::BTreeSet,
    ffi::{CString, OsStr},
    fs::{self, File},
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
};

const RDONLY: u64 = 1;
const NOSUID: u64 = 2;
const NODEV: u64 = 4;
const NOEXEC: u64 = 8;

/// What all sandboxes of one policy have in common.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// Namespaces to be born into.
    pub(crate) flags: i32,
    /// Layers that would have been nice to have.
    pub(crate) not_enforced: Vec<Missing>,
    /// Paths whose files are shown as the run's own: a mapped mount for each, in this order.
    pub(crate) mapped: Vec<PathBuf>,
    /// The uid and gid of the run where they are not the caller's.
    pub(crate) user: Option<(u32, u32)>,
    /// Whether `/tmp` is the run's own; else a directory is made for each run.
    pub(crate) private_tmp: bool,
    /// Everything a command may be read from; `None` without a wall.
    pub(crate) readable: Option<Vec<PathBuf>>,
    /// Descriptors that steps name; they close with the plan.
    _held: Vec<OwnedFd>,
}

struct Planner<'a> {
    policy: &'a Policy,
    support: &'a Support,
    workspace: &'a Path,
    plan: Plan,
    rules: Vec<Rule>,
    slots: usize,
}

/// Plans the sandbox of a policy. `workspace` is the policy's, resolved.
pub(crate) fn plan(
    policy: &Policy,
    support: &Support,
    workspace: &Path,
    guard: Option<&Guard>,
    temporary: Option<&Path>,
    user_namespace: Option<Arc<OwnedFd>>,
) -> Result<Plan, SandboxError> {
    let plan = Plan {
        steps: Vec::new(),
        flags: 0,
        not_enforced: Vec::new(),
        mapped: Vec::new(),
        user: None,
        private_tmp: false,
        readable: None,
        _held: Vec::new(),
    };
    let mut planner = Planner {
        policy,
        support,
        workspace,
        plan,
        rules: Vec::new(),
        slots: 0,
    };
    planner.choose_user();
    match policy.level {
        Level::None => {}
        Level::Process => planner.process(guard)?,
        Level::Container => planner.container(guard)?,
    }
    planner.limits();
    if policy.level > Level::None {
        planner.wall(temporary, user_namespace)?;
    }
    Ok(planner.plan)
}

impl Planner<'_> {
    fn push(&mut self, op: Op) {
        self.plan.steps.push(Step { layer: None, op });
    }

    fn stand(&mut self, layer: Layer, op: Op) {
        self.plan.steps.push(Step {
            layer: Some(layer),
            op,
        });
    }

    /// Whether this layer can be had; if not, the report will say why not.
    fn has(&mut self, layer: Layer) -> bool {
        match self.support.check(layer) {
            Ok(()) => true,
            Err(missing) => {
                self.plan.not_enforced.push(missing);
                false
            }
        }
    }

    fn choose_user(&mut self) {
        self.plan.user = match self.policy.user {
            User::Reduced { uid, gid } => Some((uid, gid)),
            // Host root inside a container could still write what belongs to root: it is never kept.
            User::Same if self.policy.level == Level::Container && sys::uid() == 0 => {
                let User::Reduced { uid, gid } = User::REDUCED else {
                    return;
                };
                Some((uid, gid))
            }
            User::Same => None,
        };
    }

    /// The level that shares the host's root: own processes and mounts where they can be had.
    fn process(&mut self, guard: Option<&Guard>) -> Result<(), SandboxError> {
        let ordinary = sys::uid() != 0;
        if self.has(Layer::PidNamespace) {
            self.plan.flags |= libc::CLONE_NEWPID;
        }
        let mounts = self.has(Layer::MountNamespace);
        let proc = mounts && self.plan.flags != 0 && self.has(Layer::PrivateProc);
        if mounts {
            self.plan.flags |= libc::CLONE_NEWNS;
        }
        if matches!(self.policy.network, Network::Proxy(_)) {
            self.plan.flags |= libc::CLONE_NEWNET;
        }
        if self.plan.flags != 0 && ordinary {
            self.plan.flags |= libc::CLONE_NEWUSER;
            self.map_self();
        }
        if mounts {
            self.stand(Layer::MountNamespace, Op::PrivateMounts);
            self.show_as_own("")?;
            self.read_only_host()?;
            self.protect(guard, "")?;
        } else {
            let layers = [Layer::ReadOnlyHost, Layer::ProtectedNames];
            let lost = layers
                .iter()
                .filter(|layer| self.policy.protect || **layer != Layer::ProtectedNames);
            let missing = lost.map(|layer| self.support.without_mounts(*layer));
            self.plan.not_enforced.extend(missing);
        }
        if proc {
            self.proc("/proc")?;
        }
        self.network();
        Ok(())
    }

    /// The level with a root of its own.
    fn container(&mut self, guard: Option<&Guard>) -> Result<(), SandboxError> {
        let all = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
        self.plan.flags |= all;
        if self.policy.network != Network::Full {
            self.plan.flags |= libc::CLONE_NEWNET;
        }
        if sys::uid() != 0 {
            self.plan.flags |= libc::CLONE_NEWUSER;
            self.map_self();
        }
        self.stand(Layer::MountNamespace, Op::PrivateMounts);
        self.root(guard)?;
        self.stand(Layer::HostNamespace, Op::HostName(c"toolcrib"));
        self.network();
        Ok(())
    }

    /// In a namespace of our own we are still who we are, and nobody else exists.
    fn map_self(&mut self) {
        let (uid, gid) = (sys::uid(), sys::gid());
        let write = |path: &std::ffi::CStr, text: String| Op::Write {
            path: path.to_owned(),
            text: text.into_bytes(),
        };
        self.push(write(c"/proc/self/setgroups", "deny".to_owned()));
        self.push(write(c"/proc/self/uid_map", format!("{uid} {uid} 1")));
        self.stand(
            Layer::UserNamespace,
            write(c"/proc/self/gid_map", format!("{gid} {gid} 1")),
        );
    }

    fn network(&mut self) {
        if self.plan.flags & libc::CLONE_NEWNET != 0 {
            self.stand(Layer::NetworkNamespace, Op::Loopback);
            if let Network::Proxy(_) = self.policy.network {
                self.stand(Layer::ProxyOnly, Op::Listen);
            }
        }
    }

    /// Mounts the workspace and other writable paths over themselves so that the run's uid owns what their owner does.
    fn show_as_own(&mut self, root: &str) -> Result<(), SandboxError> {
        if self.plan.user.is_none() {
            return Ok(());
        }
        for path in self.writable()? {
            let target = inside(root, &path)?;
            self.push(Op::AttachTree {
                tree: self.plan.mapped.len(),
                target,
            });
            self.plan.mapped.push(path);
        }
        Ok(())
    }

    fn writable(&self) -> Result<Vec<PathBuf>, SandboxError> {
        let mut paths = vec![self.workspace.to_owned()];
        for path in &self.policy.write {
            let path = path
                .canonicalize()
                .map_err(|source| unusable("writable path", path, source))?;
            if !path.starts_with(self.workspace) {
                paths.push(path);
            }
        }
        Ok(paths)
    }

    /// Copies a mount into a slot, to be attached after the place it comes from may have been covered.
    fn copy(&mut self, path: &Path, attributes: u64) -> Result<usize, SandboxError> {
        let metadata =
            fs::symlink_metadata(path).map_err(|source| unusable("path", path, source))?;
        let slot = self.slots;
        self.slots += 1;
        if slot >= SLOTS {
            return Err(SandboxError::Invalid(format!(
                "too many paths for one sandbox: {SLOTS} is the most"
            )));
        }
        let identity = Some((metadata.dev(), metadata.ino()));
        self.push(Op::CopyMount {
            path: c_path(path)?,
            identity,
            slot,
            attributes,
        });
        Ok(slot)
    }

    fn protect(&mut self, guard: Option<&Guard>, root: &str) -> Result<(), SandboxError> {
        let Some(guard) = guard else { return Ok(()) };
        let mut empty: Option<CString> = None;
        for covered in guard.covered() {
            let path = inside(root, &covered.path)?;
            let attributes = match covered.cover {
                Cover::ReadOnly | Cover::Placeholder => RDONLY | NOSUID | NODEV,
                Cover::Pinned => 0,
            };
            if let (Cover::Placeholder, Some(source)) = (covered.cover, &empty) {
                // One read-only empty directory is as good as another, and this is one system call instead of six.
                self.push(Op::Bind {
                    source: source.clone(),
                    target: path,
                });
                continue;
            }
            self.push(Op::CopyMount {
                path: path.clone(),
                identity: None,
                slot: SLOTS - 1,
                attributes,
            });
            self.push(Op::Attach {
                slot: SLOTS - 1,
                target: path.clone(),
            });
            if covered.cover == Cover::Placeholder {
                empty = Some(path);
            }
        }
        if let Some(last) = self.plan.steps.last_mut() {
            last.layer = Some(Layer::ProtectedNames);
        }
        Ok(())
    }

    /// Makes every mount read-only, and puts what may be written, or is shown of the old `/tmp`, back in its place.
    ///
    /// Landlock knows nothing of modes, owners, times and attributes of files; a read-only mount does.
    fn read_only_host(&mut self) -> Result<(), SandboxError> {
        let covered = |path: &Path| path.starts_with("/tmp") || path.starts_with("/dev/shm");
        let mut copies = Vec::new();
        for path in self.writable()? {
            let slot = self.copy(&path, NOSUID | NODEV)?;
            copies.push((path, slot));
        }
        for path in self
            .policy
            .read
            .iter()
            .filter_map(|path| path.canonicalize().ok())
        {
            if covered(&path) && !copies.iter().any(|(above, _)| path.starts_with(above)) {
                let slot = self.copy(&path, RDONLY | NOSUID | NODEV)?;
                copies.push((path, slot));
            }
        }
        let root = c_path(Path::new("/"))?;
        self.stand(
            Layer::ReadOnlyHost,
            Op::Restrict {
                path: root,
                attributes: RDONLY,
                recursive: true,
            },
        );
        self.private_tmp("")?;
        copies.sort_by_key(|(path, _)| path.components().count());
        let mut made = BTreeSet::from(["/tmp", "/dev", "/dev/shm"].map(PathBuf::from));
        for (path, slot) in copies {
            if covered(&path) {
                self.directories_above("", &path, &mut made)?;
                self.mount_point("", &path)?;
            }
            self.push(Op::Attach {
                slot,
                target: c_path(&path)?,
            });
        }
        Ok(())
    }

    /// New `/tmp` and `/dev/shm`, bounded in size.
    fn private_tmp(&mut self, root: &str) -> Result<(), SandboxError> {
        let size = self.policy.limits.temporary;
        let inodes = (size / 4096).clamp(1024, 1 << 20);
        let options = format!("mode=1777,size={size},nr_inodes={inodes}");
        let options = c_path(Path::new(&options))?;
        for place in ["/tmp", "/dev/shm"] {
            if root.is_empty() && !Path::new(place).is_dir() {
                continue;
            }
            let target = inside(root, Path::new(place))?;
            let flags = libc::MS_NOSUID | libc::MS_NODEV;
            self.stand(
                Layer::PrivateTmp,
                Op::Mount {
                    kind: c"tmpfs",
                    target,
                    options: options.clone(),
                    flags,
                },
            );
            self.rules.push(Rule {
                beneath: Beneath::Path(c_path(Path::new(place))?),
                access: landlock::WRITE,
            });
        }
        self.plan.private_tmp = true;
        Ok(())
    }

    fn directories_above(
        &mut self,
        root: &str,
        path: &Path,
        made: &mut BTreeSet<PathBuf>,
    ) -> Result<(), SandboxError> {
        let mut above: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .filter(|above| above.parent().is_some())
            .collect();
        above.reverse();
        for directory in above {
            if made.insert(directory.to_owned()) {
                // Not to be listed: what else lies in a home directory is nobody's business, not even that it is empty.
                self.push(Op::Directory {
                    path: inside(root, directory)?,
                    mode: 0o711,
                });
            }
        }
        Ok(())
    }

    /// Something to mount on: a directory for directories, a file for everything else.
    fn mount_point(&mut self, root: &str, path: &Path) -> Result<(), SandboxError> {
        let target = inside(root, path)?;
        let directory = fs::metadata(path)
            .map_err(|source| unusable("path", path, source))?
            .is_dir();
        self.push(if directory {
            Op::Directory {
                path: target,
                mode: 0o755,
            }
        } else {
            Op::File { path: target }
        });
        Ok(())
    }

    fn proc(&mut self, target: &str) -> Result<(), SandboxError> {
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RDONLY;
        let target = c_path(Path::new(target))?;
        self.stand(
            Layer::PrivateProc,
            Op::Mount {
                kind: c"proc",
                target,
                options: CString::default(),
                flags,
            },
        );
        self.rules.push(Rule {
            beneath: Beneath::Path(c"/proc".to_owned()),
            access: landlock::READ,
        });
        Ok(())
    }

    /// Builds a root on a tmpfs over `/tmp`, with copies of what is shown taken before that covers anything.
    fn root(&mut self, guard: Option<&Guard>) -> Result<(), SandboxError> {
        const ROOT: &str = "/tmp";
        let writable = self.writable()?;
        let mut readable: Vec<PathBuf> = self.policy.read.clone();
        readable.retain(|path| !writable.iter().any(|above| path.starts_with(above)));
        let shown = paths::shown(&readable);
        let mut copies = Vec::new();
        for item in &shown {
            if let Shown::Real(path) = item {
                copies.push((path.clone(), self.copy(path, RDONLY | NOSUID | NODEV)?));
            }
        }
        for device in ["null", "zero", "full", "random", "urandom"] {
            let path = Path::new("/dev").join(device);
            copies.push((path.clone(), self.copy(&path, NOSUID | NOEXEC)?));
        }
        if self.plan.user.is_none() {
            for path in &writable {
                copies.push((path.clone(), self.copy(path, NOSUID | NODEV)?));
            }
        }
        let options = CString::from(c"mode=755,size=1m");
        let flags = libc::MS_NOSUID | libc::MS_NODEV;
        self.push(Op::Mount {
            kind: c"tmpfs",
            target: c_path(Path::new(ROOT))?,
            options,
            flags,
        });
        let mut made = BTreeSet::new();
        for directory in ["/proc", "/tmp", "/dev", "/dev/shm", "/etc"] {
            made.insert(PathBuf::from(directory));
            self.push(Op::Directory {
                path: inside(ROOT, Path::new(directory))?,
                mode: 0o755,
            });
        }
        for (name, to) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
        ] {
            let path = inside(ROOT, &Path::new("/dev").join(name))?;
            self.push(Op::Link {
                path,
                to: c_path(Path::new(to))?,
            });
        }
        self.private_tmp(ROOT)?;
        for item in &shown {
            if let Shown::Link(path, to) = item {
                self.directories_above(ROOT, path, &mut made)?;
                self.push(Op::Link {
                    path: inside(ROOT, path)?,
                    to: c_path(to)?,
                });
            }
        }
        // Shorter paths first: what lies beneath another is mounted on it.
        copies.sort_by_key(|(path, _)| path.components().count());
        for (path, slot) in copies {
            self.directories_above(ROOT, &path, &mut made)?;
            self.mount_point(ROOT, &path)?;
            self.push(Op::Attach {
                slot,
                target: inside(ROOT, &path)?,
            });
        }
        if self.plan.user.is_some() {
            for path in &writable {
                self.directories_above(ROOT, path, &mut made)?;
                self.mount_point(ROOT, path)?;
            }
            self.show_as_own(ROOT)?;
        }
        self.protect(guard, ROOT)?;
        self.proc(&format!("{ROOT}/proc"))?;
        self.push(Op::Restrict {
            path: c_path(Path::new(ROOT))?,
            attributes: RDONLY,
            recursive: false,
        });
        for listed in ["/dev", "/etc"] {
            let beneath = Beneath::Path(c_path(Path::new(listed))?);
            self.rules.push(Rule {
                beneath,
                access: landlock::READ_DIR,
            });
        }
        self.stand(
            Layer::OwnRoot,
            Op::EnterRoot {
                path: c_path(Path::new(ROOT))?,
            },
        );
        Ok(())
    }

    fn limits(&mut self) {
        let limits = self.policy.limits.clone();
        let mut bounds = vec![
            (Layer::ResourceLimits, libc::RLIMIT_CORE, Some(0)),
            (
                Layer::ResourceLimits,
                libc::RLIMIT_NOFILE,
                Some(limits.open_files),
            ),
            (Layer::ResourceLimits, libc::RLIMIT_MEMLOCK, Some(8 << 20)),
            (Layer::ResourceLimits, libc::RLIMIT_FSIZE, limits.file_size),
            (
                Layer::WeakCpuLimit,
                libc::RLIMIT_CPU,
                limits.cpu.map(|cpu| cpu.as_secs_f64().ceil() as u64),
            ),
        ];
        if limits.memory.is_some() && !self.has(Layer::MemoryLimit) {
            bounds.push((Layer::WeakMemoryLimit, libc::RLIMIT_AS, limits.memory));
        }
        if limits.cpu.is_some() {
            self.has(Layer::CpuLimit);
        }
        // Without a cgroup: the kernel counts a uid's processes within its user namespace, and root, whom that count does
        // not bind, has cgroups.
        let own_users = self.plan.flags & libc::CLONE_NEWUSER != 0;
        if let Some(pids) = limits
            .pids
            .filter(|_| self.support.check(Layer::PidsLimit).is_err())
        {
            if own_users {
                bounds.push((
                    Layer::PidsLimit,
                    libc::RLIMIT_NPROC,
                    Some(u64::from(pids) + 1),
                ));
            } else {
                self.has(Layer::PidsLimit);
            }
        }
        for (layer, resource, value) in bounds {
            if let Some(value) = value {
                let value = value.min(hard_limit(resource));
                self.stand(layer, Op::Limit { resource, value });
            }
        }
    }

    /// What is the same at both levels: who the command is, what it may touch, and what it may ask of the kernel.
    fn wall(
        &mut self,
        temporary: Option<&Path>,
        user_namespace: Option<Arc<OwnedFd>>,
    ) -> Result<(), SandboxError> {
        if let Some(namespace) = user_namespace {
            let fd = sys::high(&*namespace)
                .map_err(|source| SandboxError::setup("user namespace", source))?;
            self.stand(Layer::UserNamespace, Op::JoinUser(fd.as_raw_fd()));
            self.plan._held.push(fd);
        }
        if let Some((uid, gid)) = self.plan.user {
            self.stand(Layer::OwnUser, Op::BecomeUser { uid, gid });
        }
        self.stand(Layer::Capabilities, Op::DropCapabilities);
        self.stand(Layer::NoNewPrivileges, Op::NoNewPrivileges);
        self.landlock(temporary)?;
        let own_network = self.plan.flags & libc::CLONE_NEWNET != 0;
        let sockets = if own_network || self.policy.network == Network::Full {
            Sockets::Internet
        } else {
            Sockets::None
        };
        let ipc = if self.plan.flags & libc::CLONE_NEWIPC != 0 {
            Ipc::Own
        } else {
            Ipc::Shared
        };
        let filter: Arc<[libc::sock_filter]> = seccomp::program(sockets, ipc).into();
        self.stand(Layer::Seccomp, Op::Seccomp(filter));
        Ok(())
    }

    fn landlock(&mut self, temporary: Option<&Path>) -> Result<(), SandboxError> {
        let mut readable = self.policy.read.clone();
        let mut allow =
            |path: &Path, access: u64, role: &'static str| -> Result<(), SandboxError> {
                match File::options()
                    .read(true)
                    .custom_flags(libc::O_PATH | libc::O_CLOEXEC)
                    .open(path)
                {
                    Ok(file) => {
                        let fd = sys::high(&file).map_err(|source| unusable(role, path, source))?;
                        self.rules.push(Rule {
                            beneath: Beneath::Open(fd.as_raw_fd()),
                            access,
                        });
                        self.plan._held.push(fd);
                        Ok(())
                    }
                    Err(source) => Err(unusable(role, path, source)),
                }
            };
        for path in &self.policy.read {
            allow(path, landlock::READ, "readable path")?;
        }
        for path in
            std::iter::once(self.workspace).chain(self.policy.write.iter().map(PathBuf::as_path))
        {
            allow(path, landlock::WRITE, "writable path")?;
            readable.push(path.to_owned());
        }
        if let Some(path) = temporary {
            allow(path, landlock::WRITE, "temporary directory")?;
        }
        for device in [
            "/dev/null",
            "/dev/zero",
            "/dev/full",
            "/dev/random",
            "/dev/urandom",
        ] {
            allow(Path::new(device), landlock::DEVICE, "device")?;
        }
        let own_network = self.plan.flags & libc::CLONE_NEWNET != 0;
        let ruleset = landlock::ruleset(
            self.support.landlock_version(),
            own_network || self.policy.network == Network::Full,
        );
        let rules = std::mem::take(&mut self.rules);
        self.stand(Layer::Landlock, Op::Landlock { ruleset, rules });
        self.plan.readable = Some(
            readable
                .iter()
                .filter_map(|path| path.canonicalize().ok())
                .collect(),
        );
        Ok(())
    }
}

/// What we may set at most.
fn hard_limit(resource: u32) -> u64 {
    let mut limit = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is the kernel's and ours to write.
    unsafe {
        libc::syscall(
            libc::SYS_prlimit64,
            0,
            resource,
            std::ptr::null::<u8>(),
            &raw mut limit,
        )
    };
    limit.rlim_max
}

fn inside(root: &str, path: &Path) -> Result<CString, SandboxError> {
    let mut whole = std::ffi::OsString::from(root);
    whole.push::<&OsStr>(path.as_os_str());
    c_path(Path::new(&whole))
}

fn c_path(path: &Path) -> Result<CString, SandboxError> {
    sys::c_path(path).map_err(|source| unusable("path", path, source))
}

fn unusable(role: &'static str, path: &Path, source: io::Error) -> SandboxError {
    SandboxError::Path {
        role,
        path: path.to_owned(),
        source,
    }
}
