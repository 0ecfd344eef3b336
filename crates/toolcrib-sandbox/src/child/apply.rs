//! Does one step: mounts, names, network. A handful of raw system calls each; see the invariant in [`super`].

use super::{Done, Op, SLOTS, ok, privileges};
use std::{
    ffi::{CStr, c_char, c_int, c_void},
    os::fd::RawFd,
    ptr::null,
};

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

pub(super) fn apply(op: &Op, slots: &mut [RawFd; SLOTS]) -> Done {
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
            Op::Content { path, bytes, mode } => {
                let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
                let file = ok(libc::open(path.as_ptr(), flags, 0o600))? as c_int;
                let mut written = 0;
                while written < bytes.len() {
                    let rest = &bytes[written..];
                    let count = ok(libc::write(file, rest.as_ptr().cast(), rest.len()) as i64)?;
                    written += count as usize;
                }
                // Whatever the umask of the caller is.
                ok(libc::fchmod(file, *mode))?;
                libc::close(file);
            }
            Op::Unmount { path } => {
                ok(libc::umount2(path.as_ptr(), libc::MNT_DETACH))?;
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
            Op::CheckFolded { path } => {
                // Not the C library's: that may allocate.
                let mut stat: libc::statfs64 = std::mem::zeroed();
                match ok(libc::syscall(
                    libc::SYS_statfs,
                    path.as_ptr(),
                    &raw mut stat,
                )) {
                    Ok(_) if stat.f_flags as u64 & libc::ST_RDONLY == 0 => {
                        return Err(libc::EOPNOTSUPP);
                    }
                    Ok(_) | Err(libc::ENOENT) => {}
                    Err(errno) => return Err(errno),
                }
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
            // These need more than the slots: `live` does them.
            Op::AttachTree { .. } | Op::Listen | Op::Landlock { .. } => return Err(libc::EINVAL),
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
            Op::DropCapabilities => privileges::drop_capabilities()?,
            Op::NoNewPrivileges => {
                ok(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
            }
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

/// One that exists already is fine.
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
pub(super) fn attach(tree: c_int, target: &CStr) -> Done {
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

/// Makes a listening socket in this network and sends it to the parent: a program that connects to it reaches the parent.
pub(super) fn listen(channel: RawFd) -> Done {
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
