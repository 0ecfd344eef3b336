//! From a policy to the steps of the child: which layers, in which order.
//!
//! The order matters. Mounts come first, while there is power to make them; then the uid, the capabilities and the right to
//! gain new ones go; Landlock comes after the last mount, since it binds to what is there; limits after the last file was
//! opened; seccomp is last, since it refuses most of what came before.

mod container;
mod exclude;
mod mounts;
mod process;
mod replace;

use crate::{
    child::{Beneath, Op, Rule, Step},
    error::SandboxError,
    landlock,
    layer::{Layer, Missing},
    level::Level,
    policy::{Network, Policy, User},
    protect::Guard,
    seccomp::{self, Ipc, Sockets},
    support::Support,
    sys,
};
use std::{
    ffi::{CString, OsStr},
    fs::File,
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::OpenOptionsExt,
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
    /// Layers that stand by what other steps do.
    pub(crate) also: Vec<Layer>,
    /// Layers that would have been nice to have.
    pub(crate) not_enforced: Vec<Missing>,
    /// Paths whose files are shown as the run's own: a mapped mount for each, in this order.
    pub(crate) mapped: Vec<(PathBuf, (u64, u64))>,
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
    /// Exclusions from the paths that may be read or written.
    excluded: Vec<PathBuf>,
    /// Files with other content: the slot of each, and where it goes.
    replaced: Vec<(usize, PathBuf)>,
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
        also: Vec::new(),
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
        excluded: Vec::new(),
        replaced: Vec::new(),
    };
    planner.choose_user();
    planner.find_excluded()?;
    match policy.level {
        Level::None => {}
        Level::Process => planner.process(guard)?,
        Level::Container => planner.container(guard)?,
    }
    if policy.level > Level::None {
        planner.wall(temporary, user_namespace)?;
    } else {
        planner.limits();
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

    /// Notes a layer that cannot stand because another one cannot.
    fn lost(&mut self, layer: Layer, cause: Layer) {
        let missing = self.support.lost_with(layer, cause);
        self.plan.not_enforced.push(missing);
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

    /// In our own namespace we are still who we are, and no one else exists.
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
            if self.policy.network == Network::Proxy {
                self.stand(Layer::ProxyOnly, Op::Listen);
            }
        }
    }

    fn limits(&mut self) {
        let limits = self.policy.limits.clone();
        // Where all processes are counted together, that limit is to be the one that is noticed.
        let counted = self.support.check(Layer::CpuLimit).is_ok();
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
                limits.cpu.map(|cpu| {
                    (cpu.as_secs_f64().ceil() as u64).saturating_add(u64::from(counted))
                }),
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
                    Some(u64::from(pids.min(4_000_000)) + 1),
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

    /// The part that both levels share: who the command is, what it may touch, and what it may ask of the kernel.
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
        // After the last step that opens files: the caller may have more of them open than the command may.
        self.limits();
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
        let writable = self.writable()?;
        for path in &self.policy.read {
            self.resolved(path, "readable path")?;
        }
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
        for path in &writable {
            let access = match self.policy.read_only && path == self.workspace {
                true => landlock::READ,
                false => landlock::WRITE,
            };
            allow(path, access, "writable path")?;
            readable.push(path.clone());
        }
        if let Some(path) = temporary {
            allow(path, landlock::WRITE, "temporary directory")?;
        }
        for device in self.policy.devices() {
            allow(&Path::new("/dev").join(device), landlock::DEVICE, "device")?;
        }
        if self.policy.terminal {
            // For `/dev/stderr` and the like, which open it again.
            self.rules.push(Rule {
                beneath: Beneath::Terminal,
                access: landlock::DEVICE,
            });
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
