//! What this kernel and this user can enforce, found by doing it once.
//!
//! Nothing is concluded from version numbers: a process is started with each namespace, makes each kind of mount, and the
//! answer is what the kernel said. Distributions, containers and security modules differ too much for anything else.

use crate::{
    birth::{self, Outline},
    cgroup::Cgroups,
    child::{Op, Step},
    landlock,
    layer::{Layer, Missing},
    level::Level,
    policy::{Network, Policy, User},
    sys, user,
};
use std::{collections::BTreeMap, ffi::CString, fs, io};

/// What can be enforced here.
#[derive(Clone, Debug)]
pub struct Support {
    missing: BTreeMap<Layer, Missing>,
    landlock: i64,
}

impl Support {
    /// Tries everything. Takes a few milliseconds and leaves nothing behind.
    pub(crate) fn probe(cgroups: &Cgroups) -> Self {
        let mut support = Self {
            missing: BTreeMap::new(),
            landlock: 0,
        };
        support.probe_landlock();
        support.probe_seccomp();
        support.probe_namespaces();
        support.probe_cgroups(cgroups);
        if sys::uid() != 0 {
            let fix = "run as root, or leave the privilege at `same-as-user`";
            support.lacks(
                Layer::OwnUser,
                "only root can give a command another uid",
                fix,
            );
        } else if let Err(error) = user::probe() {
            let reason = format!("the kernel refused a user namespace to root ({error})");
            let fix = "give Toolcrib CAP_SYS_ADMIN and CAP_SETUID, or run it as an ordinary user";
            support.lacks(Layer::UserNamespace, reason.clone(), fix);
            support.lacks(Layer::OwnUser, reason, fix);
        }
        support
    }

    /// Whether a layer can be had, and if not, why and what would help.
    pub fn check(&self, layer: Layer) -> Result<(), Missing> {
        let needs = Layer::NetworkNamespace;
        if layer == Layer::ProxyOnly && self.missing.contains_key(&needs) {
            return Err(self.lost_with(layer, needs));
        }
        self.missing
            .get(&layer)
            .map_or(Ok(()), |missing| Err(missing.clone()))
    }

    /// Whether a level can be had: every layer it requires, or the first that is missing.
    pub fn level(&self, level: Level) -> Result<(), Missing> {
        Self::required(level)
            .iter()
            .try_for_each(|layer| self.check(*layer))
    }

    /// Layers without which a level is refused.
    pub fn required(level: Level) -> &'static [Layer] {
        Layer::required(level)
    }

    /// The first layer that this policy needs and that is missing.
    pub(crate) fn refuses(&self, policy: &Policy) -> Result<(), Missing> {
        self.level(policy.level)?;
        if policy.network == Network::Proxy {
            self.check(Layer::ProxyOnly)?;
        }
        if policy.user != User::Same {
            self.check(Layer::OwnUser)?;
            self.check(Layer::MountNamespace)?;
        }
        Ok(())
    }

    /// This support without a layer, as on a machine that lacks it. For tests, and for trying how a policy would fare there.
    #[must_use]
    pub fn without(mut self, layer: Layer) -> Self {
        self.lacks(layer, "it is switched off", "switch it on");
        self
    }

    /// The version of Landlock, 0 for none.
    pub fn landlock_version(&self) -> i64 {
        self.landlock
    }

    /// A layer that is missing because another one is.
    pub(crate) fn lost_with(&self, layer: Layer, cause: Layer) -> Missing {
        let why = self.missing.get(&cause);
        Missing {
            layer,
            reason: why.map_or_else(String::new, |missing| {
                format!("it needs {cause}: {}", missing.reason)
            }),
            fix: why.map_or_else(String::new, |missing| missing.fix.clone()),
        }
    }

    fn lacks(&mut self, layer: Layer, reason: impl Into<String>, fix: impl Into<String>) {
        self.missing.insert(
            layer,
            Missing {
                layer,
                reason: reason.into(),
                fix: fix.into(),
            },
        );
    }

    fn probe_landlock(&mut self) {
        match landlock::version() {
            Ok(version) => {
                self.landlock = version;
                if version < landlock::LEAST {
                    let reason = format!(
                        "this kernel's Landlock is version {version}; {} is the least",
                        landlock::LEAST
                    );
                    self.lacks(Layer::Landlock, reason, "use Linux 6.2 or later");
                }
            }
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                let fix = "boot with `lsm=landlock,…` (see /sys/kernel/security/lsm)";
                self.lacks(
                    Layer::Landlock,
                    "Landlock is built in but switched off",
                    fix,
                );
            }
            Err(error) => self.lacks(
                Layer::Landlock,
                format!("this kernel has no Landlock ({error})"),
                "use Linux 6.2 or later",
            ),
        }
    }

    fn probe_seccomp(&mut self) {
        let action: u32 = libc::SECCOMP_RET_KILL_PROCESS;
        // SAFETY: the call reads one number of ours.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_GET_ACTION_AVAIL,
                0,
                &raw const action,
            )
        };
        if let Err(error) = sys::check(answer) {
            let fix = "use a kernel with CONFIG_SECCOMP_FILTER";
            self.lacks(
                Layer::Seccomp,
                format!("this kernel cannot filter system calls ({error})"),
                fix,
            );
        }
    }

    fn probe_cgroups(&mut self, cgroups: &Cgroups) {
        let answers = [
            (Layer::MemoryLimit, cgroups.memory().err()),
            (Layer::PidsLimit, cgroups.pids().err()),
            (Layer::CpuLimit, cgroups.cpu_time().err()),
        ];
        for (layer, missing) in answers {
            if let Some(missing) = missing {
                // Its reasons end with what to do.
                let (reason, fix) = missing
                    .reason
                    .rsplit_once("; ")
                    .unwrap_or((&missing.reason, ""));
                self.lacks(layer, reason, fix);
            }
        }
    }

    fn probe_namespaces(&mut self) {
        let user = sys::uid() != 0;
        let pid = libc::CLONE_NEWPID;
        let mounts = pid | libc::CLONE_NEWNS;
        let tmpfs = || mount(c"tmpfs", "/tmp");
        let everything = [
            (Layer::PidNamespace, pid, vec![]),
            (
                Layer::MountNamespace,
                mounts,
                vec![Op::PrivateMounts, tmpfs()],
            ),
            (
                Layer::PrivateProc,
                mounts,
                vec![Op::PrivateMounts, mount(c"proc", "/proc")],
            ),
            (
                Layer::NetworkNamespace,
                libc::CLONE_NEWNET,
                vec![Op::Loopback],
            ),
            (Layer::IpcNamespace, libc::CLONE_NEWIPC, vec![]),
            (
                Layer::HostNamespace,
                libc::CLONE_NEWUTS,
                vec![Op::HostName(c"toolcrib")],
            ),
        ];
        let all = mounts | libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
        let ops = vec![
            Op::PrivateMounts,
            tmpfs(),
            mount(c"proc", "/proc"),
            Op::Loopback,
            Op::HostName(c"toolcrib"),
        ];
        // Usually everything works: one process shows it. Only otherwise is each asked for itself.
        if attempt(all, ops, user).is_ok() {
            return;
        }
        if user && let Err(error) = attempt(0, vec![], true) {
            let (reason, fix) = no_user_namespace(&error);
            for (layer, ..) in everything {
                self.lacks(layer, reason.clone(), fix.clone());
            }
            return self.lacks(Layer::UserNamespace, reason, fix);
        }
        for (layer, flags, ops) in everything {
            if let Err(error) = attempt(flags, ops, user) {
                let fix = match layer {
                    Layer::PrivateProc => {
                        "in a container, run it with an unmasked /proc (`--security-opt systempaths=unconfined`)"
                    }
                    _ if user => "allow user namespaces with capabilities, or run Toolcrib as root",
                    _ => {
                        "give Toolcrib CAP_SYS_ADMIN, or run it as an ordinary user with user namespaces"
                    }
                };
                self.lacks(layer, format!("the kernel refused it ({error})"), fix);
            }
        }
    }
}

fn mount(kind: &'static std::ffi::CStr, target: &str) -> Op {
    let target = CString::new(target).unwrap_or_default();
    Op::Mount {
        kind,
        target,
        options: CString::default(),
        flags: libc::MS_NOSUID | libc::MS_NODEV,
    }
}

/// Starts a process that does this and ends.
fn attempt(flags: i32, ops: Vec<Op>, user: bool) -> io::Result<()> {
    let mut all = Vec::new();
    if user {
        let (uid, gid) = (sys::uid(), sys::gid());
        let write = |path: &std::ffi::CStr, text: String| Op::Write {
            path: path.to_owned(),
            text: text.into_bytes(),
        };
        all.push(write(c"/proc/self/setgroups", "deny".to_owned()));
        all.push(write(c"/proc/self/uid_map", format!("{uid} {uid} 1")));
        all.push(write(c"/proc/self/gid_map", format!("{gid} {gid} 1")));
    }
    all.extend(ops);
    let steps: Vec<Step> = all.into_iter().map(|op| Step { layer: None, op }).collect();
    let flags = flags | if user { libc::CLONE_NEWUSER } else { 0 };
    birth::probe(&Outline {
        steps: &steps,
        flags,
    })
}

fn no_user_namespace(error: &io::Error) -> (String, String) {
    let setting = |path: &str| {
        fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    };
    let (reason, fix) =
        if setting("/proc/sys/kernel/unprivileged_userns_clone").as_deref() == Some("0") {
            (
                "this system forbids them to ordinary users",
                "set kernel.unprivileged_userns_clone=1",
            )
        } else if setting("/proc/sys/user/max_user_namespaces").as_deref() == Some("0") {
            (
                "this system allows none",
                "set user.max_user_namespaces to a positive number",
            )
        } else if setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").as_deref()
            == Some("1")
        {
            (
                "AppArmor restricts them",
                "add an AppArmor profile for Toolcrib that says `userns,`",
            )
        } else {
            (
                "the kernel refused them",
                "allow user namespaces, or run Toolcrib as root",
            )
        };
    (
        format!("an ordinary user needs user namespaces, and {reason} ({error})"),
        format!("{fix}, or run Toolcrib as root").replace(
            ", or run Toolcrib as root, or run Toolcrib as root",
            ", or run Toolcrib as root",
        ),
    )
}
