//! A spike: what do the parts of the plan cost, as root and as an ordinary user? Prints ratios to a plain posix_spawn.
//!
//! `cargo run --release -p toolcrib-sandbox --example spike [MB resident]`
#![allow(clippy::all, clippy::undocumented_unsafe_blocks, clippy::unwrap_used, unsafe_op_in_unsafe_fn, missing_docs)]

use std::{ffi::CString, mem::zeroed, ptr::null_mut, time::Instant};

static INIT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/init.elf"));

#[derive(Clone, Default)]
struct Plan {
    flags: i32,
    init: bool,
    user: bool,
    binds: usize,
    proc: bool,
    tmpfs: usize,
    root: bool,
    landlock: usize,
    seccomp: bool,
    caps: bool,
    cgroup: Vec<i32>,
    idmap: bool,
}

struct Shared {
    plan: Plan,
    memfd: i32,
    paths: Vec<CString>,
    landlock_fds: Vec<i32>,
    filter: Vec<libc::sock_filter>,
    failed: (i32, i32),
    uid_map: CString,
    gid_map: CString,
}

unsafe fn check(s: *mut Shared, step: i32, answer: i64) {
    if answer < 0 {
        (*s).failed = (step, *libc::__errno_location());
        libc::_exit(1);
    }
}

unsafe fn put(s: *mut Shared, step: i32, path: *const libc::c_char, text: &[u8]) {
    let fd = libc::open(path, libc::O_WRONLY | libc::O_CLOEXEC);
    check(s, step, fd as i64);
    check(s, step, libc::write(fd, text.as_ptr().cast(), text.len()) as i64);
    libc::close(fd);
}

extern "C" fn child(arg: *mut libc::c_void) -> i32 {
    unsafe {
        let s = arg.cast::<Shared>();
        let plan = &(*s).plan;
        for fd in &plan.cgroup {
            check(s, 1, libc::write(*fd, c"0".as_ptr().cast(), 1) as i64);
        }
        if plan.user {
            put(s, 2, c"/proc/self/setgroups".as_ptr(), b"deny");
            put(s, 3, c"/proc/self/uid_map".as_ptr(), (*s).uid_map.as_bytes());
            put(s, 4, c"/proc/self/gid_map".as_ptr(), (*s).gid_map.as_bytes());
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if plan.flags & libc::CLONE_NEWNS != 0 {
            check(s, 5, libc::mount(null_mut(), c"/".as_ptr(), null_mut(), libc::MS_REC | libc::MS_PRIVATE, null_mut()) as i64);
        }
        for path in (*s).paths.iter().take(plan.binds) {
            let fd = libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), 1 | libc::O_CLOEXEC as u32);
            check(s, 6, fd);
            let attr: [u64; 4] = [1, 0, 0, 0];
            check(s, 7, libc::syscall(libc::SYS_mount_setattr, fd, c"".as_ptr(), 0x1000, attr.as_ptr(), 32));
            check(s, 8, libc::syscall(libc::SYS_move_mount, fd, c"".as_ptr(), libc::AT_FDCWD, path.as_ptr(), 4));
            libc::close(fd as i32);
        }
        for _ in 0..plan.tmpfs {
            check(s, 9, libc::mount(c"tmpfs".as_ptr(), c"/tmp/spike/tmp".as_ptr(), c"tmpfs".as_ptr(), libc::MS_NOSUID | libc::MS_NODEV, c"size=64m".as_ptr().cast()) as i64);
        }
        if plan.root {
            let r = c"/tmp/spike/root".as_ptr();
            check(s, 20, libc::mount(c"tmpfs".as_ptr(), r, c"tmpfs".as_ptr(), libc::MS_NOSUID | libc::MS_NODEV, c"size=64m".as_ptr().cast()) as i64);
            check(s, 21, libc::chdir(r) as i64);
            for d in [c"usr", c"etc", c"proc", c"dev", c"tmp", c"work", c"old"] {
                check(s, 22, libc::mkdir(d.as_ptr(), 0o755) as i64);
            }
            for l in [c"bin", c"lib", c"lib64", c"sbin"] {
                let mut t = [0i8; 32];
                libc::snprintf(t.as_mut_ptr(), 32, c"usr/%s".as_ptr(), l.as_ptr());
                check(s, 23, libc::symlink(t.as_ptr(), l.as_ptr()) as i64);
            }
            for (a, b) in [(c"/usr", c"usr"), (c"/tmp/spike/ws", c"work")] {
                check(s, 24, libc::mount(a.as_ptr(), b.as_ptr(), null_mut(), libc::MS_BIND | libc::MS_REC, null_mut()) as i64);
            }
            for d in [c"null", c"zero", c"full", c"random", c"urandom"] {
                let mut a = [0i8; 32];
                let mut b = [0i8; 32];
                libc::snprintf(a.as_mut_ptr(), 32, c"/dev/%s".as_ptr(), d.as_ptr());
                libc::snprintf(b.as_mut_ptr(), 32, c"dev/%s".as_ptr(), d.as_ptr());
                libc::close(libc::open(b.as_ptr(), libc::O_CREAT | libc::O_WRONLY, 0o644));
                check(s, 25, libc::mount(a.as_ptr(), b.as_ptr(), null_mut(), libc::MS_BIND, null_mut()) as i64);
            }
            for d in [c"passwd", c"group", c"ld.so.cache", c"nsswitch.conf", c"hosts", c"resolv.conf"] {
                let mut a = [0i8; 32];
                let mut b = [0i8; 32];
                libc::snprintf(a.as_mut_ptr(), 32, c"/etc/%s".as_ptr(), d.as_ptr());
                libc::snprintf(b.as_mut_ptr(), 32, c"etc/%s".as_ptr(), d.as_ptr());
                libc::close(libc::open(b.as_ptr(), libc::O_CREAT | libc::O_WRONLY, 0o644));
                check(s, 26, libc::mount(a.as_ptr(), b.as_ptr(), null_mut(), libc::MS_BIND, null_mut()) as i64);
            }
            check(s, 27, libc::mount(c"proc".as_ptr(), c"proc".as_ptr(), c"proc".as_ptr(), libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC, null_mut()) as i64);
            check(s, 28, libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c"old".as_ptr()));
            check(s, 29, libc::umount2(c"old".as_ptr(), libc::MNT_DETACH) as i64);
        } else if plan.proc {
            check(s, 10, libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC, null_mut()) as i64);
        }
        if plan.caps {
            for cap in 0..=40 {
                libc::prctl(libc::PR_CAPBSET_DROP, cap, 0, 0, 0);
            }
            let header: [u32; 2] = [0x20080522, 0];
            let data = [0u32; 6];
            check(s, 11, libc::syscall(libc::SYS_capset, header.as_ptr(), data.as_ptr()));
        }
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if plan.landlock > 0 {
            let attr: [u64; 3] = [(1 << 16) - 1, 0, 0];
            let ruleset = libc::syscall(libc::SYS_landlock_create_ruleset, attr.as_ptr(), 24, 0);
            check(s, 12, ruleset);
            for fd in (*s).landlock_fds.iter().take(plan.landlock) {
                #[repr(C, packed)]
                struct Beneath(u64, i32);
                let rule = Beneath((1 << 16) - 1, *fd);
                check(s, 13, libc::syscall(libc::SYS_landlock_add_rule, ruleset, 1, &raw const rule, 0));
            }
            check(s, 14, libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0));
        }
        if plan.seccomp {
            let prog = libc::sock_fprog { len: (*s).filter.len() as u16, filter: (*s).filter.as_ptr().cast_mut() };
            check(s, 15, libc::syscall(libc::SYS_seccomp, 1, 0, &raw const prog));
        }
        let env = [null_mut::<libc::c_char>()];
        if plan.init {
            libc::dup2((*s).memfd, 200);
            libc::syscall(libc::SYS_close_range, 4, 199, 0);
            libc::fcntl(200, libc::F_SETFD, libc::FD_CLOEXEC);
            let argv = [c"n".as_ptr(), c"/bin/true".as_ptr(), c"/bin/true".as_ptr(), null_mut()];
            libc::syscall(libc::SYS_execveat, 200, c"".as_ptr(), argv.as_ptr(), env.as_ptr(), 0x1000);
        } else {
            let argv = [c"/bin/true".as_ptr(), null_mut()];
            libc::execve(argv[0], argv.as_ptr(), env.as_ptr().cast());
        }
        check(s, 99, -1);
        1
    }
}

fn run(s: &mut Shared, stack: &mut [u8]) -> Result<(), (i32, i32)> {
    s.failed = (0, 0);
    unsafe {
        let top = stack.as_mut_ptr().add(stack.len()).cast();
        let pid = libc::clone(child, top, s.plan.flags | libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD, (&raw mut *s).cast());
        if pid < 0 {
            return Err((0, *libc::__errno_location()));
        }
        let mut status = 0;
        libc::waitpid(pid, &mut status, 0);
        if s.failed.0 != 0 { Err(s.failed) } else if status != 0 { Err((100, status)) } else { Ok(()) }
    }
}

fn plain() {
    unsafe {
        let mut pid = 0;
        let argv = [c"/bin/true".as_ptr().cast_mut(), null_mut()];
        let env = [null_mut()];
        assert_eq!(0, libc::posix_spawn(&mut pid, argv[0], null_mut(), null_mut(), argv.as_ptr(), env.as_ptr()));
        libc::waitpid(pid, null_mut(), 0);
    }
}

fn time(mut f: impl FnMut()) -> f64 {
    let t = Instant::now();
    f();
    t.elapsed().as_secs_f64() * 1e6
}

fn main() {
    let mb: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(0);
    let ballast = vec![1u8; mb << 20];
    let (uid, gid) = unsafe { (libc::getuid(), libc::getgid()) };
    let root = uid == 0;
    for d in ["/tmp/spike/tmp", "/tmp/spike/root", "/tmp/spike/ws"] {
        std::fs::create_dir_all(d).unwrap();
    }
    let names: Vec<CString> = (0..40).map(|n| {
        let p = format!("/tmp/spike/ws/name{n}");
        std::fs::write(&p, "").ok();
        CString::new(p).unwrap()
    }).collect();
    let memfd = unsafe { libc::memfd_create(c"init".as_ptr(), libc::MFD_CLOEXEC) };
    unsafe { libc::write(memfd, INIT.as_ptr().cast(), INIT.len()) };
    let memfd = unsafe { libc::open(format!("/proc/self/fd/{memfd}\0").as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC) };
    let landlock_fds = ["/usr", "/etc", "/lib", "/bin", "/tmp/spike", "/dev", "/proc"].iter().cycle().take(24)
        .map(|p| unsafe { libc::open(CString::new(*p).unwrap().as_ptr(), libc::O_PATH | libc::O_CLOEXEC) }).collect();
    let mut filter = vec![];
    for nr in 0..60u32 {
        filter.push(libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 });
        filter.push(libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: 1000 + nr });
        filter.push(libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x50001 });
    }
    filter.push(libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x7fff0000 });
    let mut cgroup = vec![];
    if root {
        for c in ["memory", "pids", "cpuacct"] {
            let own = std::fs::read_to_string("/proc/self/cgroup").unwrap().lines().find_map(|l| l.split_once(&format!(":{c}:")).map(|x| x.1.to_string())).unwrap();
            let d = format!("/sys/fs/cgroup/{c}{own}/spike");
            std::fs::create_dir_all(&d).ok();
            let fd = unsafe { libc::open(format!("{d}/cgroup.procs\0").as_ptr().cast(), libc::O_WRONLY | libc::O_CLOEXEC) };
            if fd >= 0 { cgroup.push(fd); }
        }
    }
    let ns = libc::CLONE_NEWNS | libc::CLONE_NEWPID | if root { 0 } else { libc::CLONE_NEWUSER };
    let all = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWUSER | libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
    let u = !root;
    let b = Plan::default();
    let variants: Vec<(&str, Plan)> = vec![
        ("vfork clone", b.clone()),
        ("pid ns, command is pid 1", Plan { flags: ns & !libc::CLONE_NEWNS, user: u, ..b.clone() }),
        ("no ns + init", Plan { init: true, ..b.clone() }),
        ("pid ns + init", Plan { flags: ns & !libc::CLONE_NEWNS, user: u, init: true, ..b.clone() }),
        ("pid+mnt ns + init", Plan { flags: ns, user: u, init: true, ..b.clone() }),
        (" + proc", Plan { flags: ns, user: u, init: true, proc: true, ..b.clone() }),
        (" + proc + tmpfs", Plan { flags: ns, user: u, init: true, proc: true, tmpfs: 1, ..b.clone() }),
        (" 8 binds, no proc", Plan { flags: ns, user: u, init: true, binds: 8, ..b.clone() }),
        (" 32 binds, no proc", Plan { flags: ns, user: u, init: true, binds: 32, ..b.clone() }),
        ("landlock 24 rules", Plan { landlock: 24, ..b.clone() }),
        ("seccomp 181 linear", Plan { seccomp: true, ..b.clone() }),
        ("capabilities", Plan { caps: true, ..b.clone() }),
        ("pooled cgroups", Plan { cgroup: cgroup.clone(), ..b.clone() }),
        ("process: all, 8 binds", Plan { flags: ns, user: u, init: true, proc: true, tmpfs: 1, binds: 8, landlock: 24, seccomp: true, caps: true, cgroup: cgroup.clone(), ..b.clone() }),
        ("process: all, 32 binds", Plan { flags: ns, user: u, init: true, proc: true, tmpfs: 1, binds: 32, landlock: 24, seccomp: true, caps: true, cgroup: cgroup.clone(), ..b.clone() }),
        ("net ns alone", Plan { flags: libc::CLONE_NEWNET | if root { 0 } else { libc::CLONE_NEWUSER }, user: u, ..b.clone() }),
        ("container: all ns, root", Plan { flags: all, user: true, init: true, binds: 8, root: true, landlock: 24, seccomp: true, caps: true, cgroup: cgroup.clone(), ..b.clone() }),
    ];
    let mut shared = Shared { plan: b, memfd, paths: names, landlock_fds, filter, failed: (0, 0),
        uid_map: CString::new(format!("{uid} {uid} 1")).unwrap(), gid_map: CString::new(format!("{gid} {gid} 1")).unwrap() };
    let mut stack = vec![0u8; 256 << 10];
    let rounds = 300;
    let mut times = vec![vec![]; variants.len() + 1];
    let mut errors = vec![None; variants.len()];
    for _ in 0..rounds {
        times[0].push(time(plain));
        for (n, (_, plan)) in variants.iter().enumerate() {
            shared.plan = plan.clone();
            let t = time(|| if let Err(e) = run(&mut shared, &mut stack) { errors[n] = Some(e); });
            times[n + 1].push(t);
        }
    }
    for t in &mut times { t.sort_by(f64::total_cmp); }
    let (base_min, base_p50) = (times[0][0], times[0][rounds / 2]);
    println!("uid {uid}, {mb} MB resident; posix_spawn of /bin/true: min {base_min:.0} us, p50 {base_p50:.0} us");
    for (n, (name, _)) in variants.iter().enumerate() {
        println!("{name:28} min {:5.2}x  p50 {:5.2}x  {}", times[n + 1][0] / base_min, times[n + 1][rounds / 2] / base_p50,
            errors[n].map_or(String::new(), |e: (i32, i32)| format!("FAILED step {} errno {}", e.0, e.1)));
    }
    let _: libc::stat = unsafe { zeroed() };
    drop(ballast);
}
