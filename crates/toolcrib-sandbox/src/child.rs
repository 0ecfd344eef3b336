//! What the new process does between its birth and its exec: a list of steps, prepared by the parent.
//!
//! The child shares the parent's memory (`CLONE_VM`) while the parent's thread stands still (`CLONE_VFORK`), so starting
//! costs the same from a process of any size. The price is the invariant of this file: **nothing here allocates, locks,
//! panics or calls into the standard library**; every step is a handful of raw system calls on data that is ready.
//!
//! A step that fails ends the child: what a run reports as enforced is what its steps did, not what was planned.

use crate::layer::Layer;
use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    os::fd::RawFd,
    ptr::null,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::SeqCst},
    },
};

/// One step, and the layer that stands once it is done.
#[derive(Debug)]
pub(crate) struct Step {
    /// What is in force after this step; for the report.
    pub(crate) layer: Option<Layer>,
    /// What to do.
    pub(crate) op: Op,
}

/// What a step does. Paths are in the child's own view of the file system at that moment.
#[derive(Debug)]
pub(crate) enum Op {
    /// Writes a file of the kernel's.
    Write { path: CString, text: Vec<u8> },
    /// Keeps changes of mounts from reaching the host.
    PrivateMounts,
    /// Copies what is mounted at `path` into a slot. `identity`: device and inode that must still be there.
    CopyMount {
        path: CString,
        identity: Option<(u64, u64)>,
        slot: usize,
        attributes: u64,
    },
    /// Shows at `target` what is mounted at `source`, with the attributes it has there.
    Bind { source: CString, target: CString },
    /// Mounts what a slot holds.
    Attach { slot: usize, target: CString },
    /// Mounts the detached tree at this place in [`Birth::trees`].
    AttachTree { tree: usize, target: CString },
    /// Mounts a new file system.
    Mount {
        kind: &'static CStr,
        target: CString,
        options: CString,
        flags: u64,
    },
    /// Makes a directory; one that is there is kept.
    Directory { path: CString, mode: u32 },
    /// Makes an empty file to mount on; one that is there is kept.
    File { path: CString },
    /// Makes a symbolic link.
    Link { path: CString, to: CString },
    /// Changes the attributes of the mount at this path, and of all beneath if so wished.
    Restrict {
        path: CString,
        attributes: u64,
        recursive: bool,
    },
    /// Makes this directory the root and lets go of the old one.
    EnterRoot { path: CString },
    /// Sets the host name.
    HostName(&'static CStr),
    /// Brings the loopback up.
    Loopback,
    /// Listens on the loopback and sends the socket through [`Birth::channel`].
    Listen,
    /// Enters a user namespace.
    JoinUser(RawFd),
    /// Gives up the caller's uid, gid and groups.
    BecomeUser { uid: u32, gid: u32 },
    /// Bounds a resource, hard and soft.
    Limit { resource: u32, value: u64 },
    /// Empties every set of capabilities and keeps them empty.
    DropCapabilities,
    /// No exec gives privileges from here on.
    NoNewPrivileges,
    /// Restricts the file system (and TCP, and signals) to the rules.
    Landlock { ruleset: Ruleset, rules: Vec<Rule> },
    /// Loads the filter of system calls.
    Seccomp(Arc<[libc::sock_filter]>),
}

/// What Landlock is to rule over, as the kernel takes it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ruleset {
    pub(crate) files: u64,
    pub(crate) network: u64,
    pub(crate) scoped: u64,
}

/// What is allowed beneath a path.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) beneath: Beneath,
    pub(crate) access: u64,
}

/// Where a rule holds.
#[derive(Debug)]
pub(crate) enum Beneath {
    /// Beneath what the parent has open: the inode counts, wherever it is mounted.
    Open(RawFd),
    /// Beneath what the child finds here, on file systems that are new.
    Path(CString),
}

/// Descriptors of the child, in the order of their numbers there: 0 to 4.
pub(crate) type Descriptors = [RawFd; 5];

/// What parent and child share.
#[derive(Debug)]
pub(crate) struct Birth<'a> {
    /// The `cgroup.procs` of the cgroups to enter.
    pub(crate) cgroups: &'a [RawFd],
    pub(crate) steps: &'a [Step],
    /// Detached mounts that the parent has made for this child.
    pub(crate) trees: &'a [RawFd],
    /// A socket to send a descriptor through; -1 for none.
    pub(crate) channel: RawFd,
    pub(crate) descriptors: Descriptors,
    /// The init program, open.
    pub(crate) init: RawFd,
    /// Whether a pid namespace does the killing; else init does.
    pub(crate) namespace: bool,
    /// The pid of the parent, to notice that it died meanwhile.
    pub(crate) parent: i32,
    /// Stop before the exec: a probe.
    pub(crate) probe: bool,
    /// Out: how far the child got.
    pub(crate) progress: &'a Progress,
    pub(crate) slots: [RawFd; SLOTS],
}

/// How far a child got. Atomic, since two processes have it in memory at once: plain fields would be the child's alone as
/// far as the compiler knows, and a store right before the exec would be left out.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Steps done.
    pub(crate) done: AtomicUsize,
    /// The error that ended the child, if one did.
    pub(crate) errno: AtomicI32,
    /// Everything was done, and the exec comes next.
    pub(crate) ready: AtomicBool,
}

/// Mounts that a child can hold at once.
pub(crate) const SLOTS: usize = 256;

const OPEN_TREE_CLONE: c_int = 1;
const AT_RECURSIVE: c_int = 0x8000;
const MOVE_MOUNT_F_EMPTY_PATH: c_int = 4;
const EMPTY: *const c_char = c"".as_ptr();

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// The way of every error in this file: the errno.
type Done = Result<(), c_int>;

fn errno() -> c_int {
    // SAFETY: the thread's own errno, shared with the parent's thread, which stands still.
    unsafe { *libc::__errno_location() }
}

fn ok(answer: impl Into<i64>) -> Result<i64, c_int> {
    let answer = answer.into();
    if answer < 0 { Err(errno()) } else { Ok(answer) }
}

/// Runs in the child, on a stack of its own.
pub(crate) extern "C" fn born(birth: *mut c_void) -> c_int {
    let birth = birth.cast::<Birth<'_>>();
    // SAFETY: the parent passes its `Birth`, which outlives this call since the parent waits for our exec or exit.
    let birth = unsafe { &mut *birth };
    if let Err(errno) = live(birth) {
        birth.progress.errno.store(errno, SeqCst);
    }
    // SAFETY: leaves without running anything of the parent's.
    unsafe { libc::_exit(125) }
}

fn live(birth: &mut Birth<'_>) -> Done {
    default_signals();
    // SAFETY: numbers and constant strings. The umask is the command's again before the exec.
    let (stat, umask) = unsafe {
        libc::setsid();
        (
            libc::open(
                c"/proc/self/stat".as_ptr(),
                libc::O_RDONLY | libc::O_CLOEXEC,
            ),
            libc::umask(0),
        )
    };
    for procs in birth.cgroups {
        // SAFETY: one byte of a constant. "0" is the writer itself.
        ok(unsafe { libc::write(*procs, c"0".as_ptr().cast(), 1) } as i64)?;
    }
    for step in birth.steps {
        match &step.op {
            Op::AttachTree { tree, target } => {
                attach(*birth.trees.get(*tree).ok_or(libc::ENOSPC)?, target)?
            }
            Op::Listen => listen(birth.channel)?,
            op => apply(op, &mut birth.slots)?,
        }
        birth.progress.done.fetch_add(1, SeqCst);
    }
    die_with_parent(birth, stat)?;
    // SAFETY: number only.
    unsafe { libc::umask(umask) };
    if birth.probe {
        birth.progress.ready.store(true, SeqCst);
        // SAFETY: as in `born`.
        unsafe { libc::_exit(0) }
    }
    for (number, fd) in birth.descriptors.into_iter().enumerate() {
        // SAFETY: numbers only; the sources are all above 9 (`sys::high`), so that none is overwritten.
        ok(unsafe { libc::dup2(fd, number as c_int) })?;
    }
    let first = birth.descriptors.len() as u32;
    let init = birth.init as u32;
    // SAFETY: numbers only. Everything but the five and the init program is closed, also what the caller forgot to mark.
    unsafe {
        ok(libc::syscall(libc::SYS_close_range, first, init - 1, 0))?;
        ok(libc::syscall(libc::SYS_close_range, init + 1, u32::MAX, 0))?;
    }
    let mode = if birth.namespace { c"n" } else { c"t" };
    let arguments = [c"toolcrib-init".as_ptr(), mode.as_ptr(), null()];
    let environment = [null::<c_char>()];
    birth.progress.ready.store(true, SeqCst);
    // SAFETY: the lists end with null; the program is a sealed memory file of ours.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_execveat,
            birth.init,
            EMPTY,
            arguments.as_ptr(),
            environment.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    birth.progress.ready.store(false, SeqCst);
    ok(answer).map(drop)
}

/// Signals do again what they do by default, and are let in. Handlers are forgotten already (`CLONE_CLEAR_SIGHAND`), but what
/// the parent ignores (SIGPIPE, in every Rust program) would stay ignored. Init blocks them again.
fn default_signals() {
    let default = [0u64; 4];
    let none = 0u64;
    let size = size_of_val(&none);
    // SAFETY: the kernel's action is four words, all zero for the default; its set of signals is eight bytes.
    unsafe {
        for signal in 1..=31 {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                &raw const default,
                null::<c_void>(),
                size,
            );
        }
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const none,
            null::<c_void>(),
            size,
        );
    }
}

/// Asks for a signal at the parent's death, then makes sure that it has not died before.
///
/// Last of all, since a change of uid clears it. `stat` is the host's view of us: a parent outside of our pid namespace has
/// no number in it. Setting first and looking afterwards leaves no gap: the kernel changes our parent before it looks for
/// the wish.
fn die_with_parent(birth: &Birth<'_>, stat: c_int) -> Done {
    let signal = if birth.namespace {
        libc::SIGKILL
    } else {
        libc::SIGTERM
    };
    let mut text = [0u8; 512];
    // SAFETY: numbers; a buffer with its length. Without a pid namespace init collects orphans.
    let length = unsafe {
        ok(libc::prctl(libc::PR_SET_PDEATHSIG, signal, 0, 0, 0))?;
        if !birth.namespace {
            ok(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))?;
        }
        if stat < 0 {
            return Ok(());
        }
        ok(libc::read(stat, text.as_mut_ptr().cast(), text.len()) as i64)?
    };
    let text = text.get(..length as usize).unwrap_or(&[]);
    // "pid (name) state ppid …": the name may hold anything, so count from the last parenthesis.
    let after = text
        .iter()
        .rposition(|&byte| byte == b')')
        .map_or(0, |at| at + 4);
    let mut parent = 0i32;
    for byte in text.get(after..).unwrap_or(&[]) {
        if !byte.is_ascii_digit() {
            break;
        }
        parent = parent.wrapping_mul(10).wrapping_add(i32::from(byte - b'0'));
    }
    if parent == birth.parent {
        Ok(())
    } else {
        Err(libc::ESRCH)
    }
}

fn apply(op: &Op, slots: &mut [RawFd; SLOTS]) -> Done {
    // SAFETY: in every arm: strings end with null, structures are what the call expects and live during it.
    unsafe {
        match op {
            Op::Write { path, text } => {
                let file =
                    ok(libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC))? as c_int;
                ok(libc::write(file, text.as_ptr().cast(), text.len()) as i64)?;
                libc::close(file);
            }
            Op::PrivateMounts => {
                ok(libc::mount(
                    null(),
                    c"/".as_ptr(),
                    null(),
                    libc::MS_REC | libc::MS_PRIVATE,
                    null(),
                ))?;
            }
            Op::CopyMount {
                path,
                identity,
                slot,
                attributes,
            } => {
                let found = ok(libc::open(
                    path.as_ptr(),
                    libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC,
                ))? as c_int;
                if let Some(identity) = identity {
                    let mut stat: libc::stat = std::mem::zeroed();
                    ok(libc::fstat(found, &mut stat))?;
                    if (stat.st_dev, stat.st_ino) != *identity {
                        return Err(libc::ESTALE);
                    }
                }
                let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC | AT_RECURSIVE | libc::AT_EMPTY_PATH;
                let tree = ok(libc::syscall(libc::SYS_open_tree, found, EMPTY, flags))? as c_int;
                if *attributes != 0 {
                    restrict(tree, EMPTY, libc::AT_EMPTY_PATH | AT_RECURSIVE, *attributes)?;
                }
                libc::close(found);
                *slots.get_mut(*slot).ok_or(libc::ENOSPC)? = tree;
            }
            Op::Bind { source, target } => {
                ok(libc::mount(
                    source.as_ptr(),
                    target.as_ptr(),
                    null(),
                    libc::MS_BIND,
                    null(),
                ))?;
            }
            Op::Attach { slot, target } => {
                let tree = *slots.get(*slot).ok_or(libc::ENOSPC)?;
                attach(tree, target)?;
                libc::close(tree);
            }
            Op::Mount {
                kind,
                target,
                options,
                flags,
            } => {
                let flags = *flags as libc::c_ulong;
                ok(libc::mount(
                    kind.as_ptr(),
                    target.as_ptr(),
                    kind.as_ptr(),
                    flags,
                    options.as_ptr().cast(),
                ))?;
            }
            Op::Directory { path, mode } => existing(libc::mkdir(path.as_ptr(), *mode))?,
            Op::File { path } => {
                let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
                let file = libc::open(path.as_ptr(), flags, 0o444);
                existing(file)?;
                libc::close(file);
            }
            Op::Link { path, to } => existing(libc::symlink(to.as_ptr(), path.as_ptr()))?,
            Op::Restrict {
                path,
                attributes,
                recursive,
            } => {
                let flags = if *recursive { AT_RECURSIVE } else { 0 };
                restrict(libc::AT_FDCWD, path.as_ptr(), flags, *attributes)?;
            }
            Op::EnterRoot { path } => {
                ok(libc::chdir(path.as_ptr()))?;
                // The old root ends up on top of the new one, at the same place, and is taken away from there.
                ok(libc::syscall(
                    libc::SYS_pivot_root,
                    c".".as_ptr(),
                    c".".as_ptr(),
                ))?;
                ok(libc::umount2(c".".as_ptr(), libc::MNT_DETACH))?;
                ok(libc::chdir(c"/".as_ptr()))?;
            }
            Op::HostName(name) => {
                ok(libc::sethostname(name.as_ptr(), name.count_bytes()))?;
            }
            Op::Loopback => loopback()?,
            // These two need more than the slots: `live` does them.
            Op::AttachTree { .. } | Op::Listen => return Err(libc::EINVAL),
            Op::JoinUser(namespace) => {
                ok(libc::setns(*namespace, libc::CLONE_NEWUSER))?;
            }
            Op::BecomeUser { uid, gid } => {
                // By number: the C library's own would tell the parent's other threads, which are not ours.
                ok(libc::syscall(libc::SYS_setgroups, 0, null::<u32>()))?;
                ok(libc::syscall(libc::SYS_setresgid, *gid, *gid, *gid))?;
                ok(libc::syscall(libc::SYS_setresuid, *uid, *uid, *uid))?;
            }
            Op::Limit { resource, value } => {
                let limit = libc::rlimit64 {
                    rlim_cur: *value,
                    rlim_max: *value,
                };
                ok(libc::syscall(
                    libc::SYS_prlimit64,
                    0,
                    *resource,
                    &raw const limit,
                    null::<c_void>(),
                ))?;
            }
            Op::DropCapabilities => drop_capabilities()?,
            Op::NoNewPrivileges => {
                ok(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
            }
            Op::Landlock { ruleset, rules } => landlock(ruleset, rules)?,
            Op::Seccomp(filter) => {
                let program = libc::sock_fprog {
                    len: filter.len() as u16,
                    filter: filter.as_ptr().cast_mut(),
                };
                ok(libc::syscall(
                    libc::SYS_seccomp,
                    libc::SECCOMP_SET_MODE_FILTER,
                    0,
                    &raw const program,
                ))?;
            }
        }
    }
    Ok(())
}

/// What is there already is as good as made.
fn existing(answer: c_int) -> Done {
    match ok(answer) {
        Ok(_) | Err(libc::EEXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// # Safety
/// `path` must end with null.
unsafe fn restrict(at: c_int, path: *const c_char, flags: c_int, attributes: u64) -> Done {
    let attributes = MountAttributes {
        set: attributes,
        clear: 0,
        propagation: 0,
        user_namespace: 0,
    };
    let size = size_of::<MountAttributes>();
    // SAFETY: the structure is what the kernel expects, and the caller answers for the path.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at,
            path,
            flags,
            &raw const attributes,
            size,
        )
    };
    ok(answer).map(drop)
}

/// Mounts a detached tree. A link at the target is not followed: it could have been put there to lead us astray.
fn attach(tree: c_int, target: &CStr) -> Done {
    // SAFETY: strings end with null.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree,
            EMPTY,
            libc::AT_FDCWD,
            target.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    ok(answer).map(drop)
}

fn loopback() -> Done {
    // SAFETY: the request is zeroed and has room for the name; the kernel reads its flags.
    unsafe {
        let socket = ok(libc::socket(
            libc::AF_INET,
            libc::SOCK_DGRAM | libc::SOCK_CLOEXEC,
            0,
        ))? as c_int;
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as c_char;
        request.ifr_name[1] = b'o' as c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
        ok(libc::ioctl(
            socket,
            libc::SIOCSIFFLAGS as _,
            &raw const request,
        ))?;
        libc::close(socket);
    }
    Ok(())
}

/// Makes a listening socket in this network and sends it to the parent: whoever connects to it reaches the parent.
fn listen(channel: RawFd) -> Done {
    // SAFETY: addresses and messages are zeroed, of the right kind, and as long as we say; the control buffer has room for
    // one descriptor and is aligned.
    unsafe {
        let socket = ok(libc::socket(
            libc::AF_INET,
            libc::SOCK_STREAM | libc::SOCK_CLOEXEC,
            0,
        ))? as c_int;
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        address.sin_family = libc::AF_INET as u16;
        address.sin_port = crate::proxy::PORT.to_be();
        address.sin_addr.s_addr = u32::from_be_bytes([127, 0, 0, 1]).to_be();
        let length = size_of::<libc::sockaddr_in>() as u32;
        ok(libc::bind(socket, (&raw const address).cast(), length))?;
        ok(libc::listen(socket, 64))?;
        let mut control = [0u64; 4];
        let mut byte = 0u8;
        let mut part = libc::iovec {
            iov_base: (&raw mut byte).cast(),
            iov_len: 1,
        };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<c_int>() as u32) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<c_int>() as u32) as _;
        libc::CMSG_DATA(header)
            .cast::<c_int>()
            .write_unaligned(socket);
        ok(libc::sendmsg(channel, &raw const message, 0) as i64)?;
        libc::close(socket);
    }
    Ok(())
}

/// `SECBIT_NOROOT`, `NO_SETUID_FIXUP`, `NO_CAP_AMBIENT_RAISE`, each with its lock: being uid 0 means nothing any more.
const ROOT_IS_NOBODY: c_int = 0b1100_1111;

fn drop_capabilities() -> Done {
    let header: [u32; 2] = [0x2008_0522, 0];
    let none = [0u32; 6];
    // SAFETY: version 3 of the header goes with two triples of words.
    unsafe {
        // Without the capability to set them (an ordinary user without a namespace) there is no root to tame either.
        libc::prctl(libc::PR_SET_SECUREBITS, ROOT_IS_NOBODY, 0, 0, 0);
        let mut capability = 0;
        while libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) == 0 {
            capability += 1;
        }
        ok(libc::syscall(
            libc::SYS_capset,
            header.as_ptr(),
            none.as_ptr(),
        ))
        .map(drop)
    }
}

const RULE_PATH_BENEATH: c_int = 1;

#[repr(C, packed)]
struct PathBeneath {
    access: u64,
    fd: i32,
}

/// What may be allowed for a file; the rest has a meaning for directories only and would be refused.
const FILE_ACCESS: u64 = crate::landlock::EXECUTE
    | crate::landlock::READ_FILE
    | crate::landlock::WRITE_FILE
    | crate::landlock::TRUNCATE
    | crate::landlock::IOCTL_DEV;

fn landlock(ruleset: &Ruleset, rules: &[Rule]) -> Done {
    // SAFETY: the structures are what the kernel expects; an older kernel takes a shorter one only, hence the length.
    unsafe {
        let size = match ruleset {
            Ruleset {
                network: 0,
                scoped: 0,
                ..
            } => 8,
            Ruleset { scoped: 0, .. } => 16,
            Ruleset { .. } => 24,
        };
        let made = ok(libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const *ruleset,
            size,
            0,
        ))? as c_int;
        for rule in rules {
            let (fd, opened) = match &rule.beneath {
                Beneath::Open(fd) => (*fd, false),
                Beneath::Path(path) => {
                    match ok(libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC)) {
                        Ok(fd) => (fd as c_int, true),
                        Err(libc::ENOENT) => continue,
                        Err(errno) => return Err(errno),
                    }
                }
            };
            let mut stat: libc::stat = std::mem::zeroed();
            ok(libc::fstat(fd, &mut stat))?;
            let directory = stat.st_mode & libc::S_IFMT == libc::S_IFDIR;
            let access =
                rule.access & ruleset.files & if directory { u64::MAX } else { FILE_ACCESS };
            let beneath = PathBeneath { access, fd };
            ok(libc::syscall(
                libc::SYS_landlock_add_rule,
                made,
                RULE_PATH_BENEATH,
                &raw const beneath,
                0,
            ))?;
            if opened {
                libc::close(fd);
            }
        }
        ok(libc::syscall(libc::SYS_landlock_restrict_self, made, 0))?;
        libc::close(made);
    }
    Ok(())
}
