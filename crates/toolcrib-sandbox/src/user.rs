//! Another uid for a run: the user namespace it lives in, and mounts that show the workspace's files as its own.
//!
//! Only root can do this, and only root needs it: an ordinary user has nothing more dangerous than itself to give up.
//! Files that the run makes are stored as the workspace owner's; on disk the other uid never appears.

use crate::sys;
use std::{
    collections::HashMap,
    fs, io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::Path,
    ptr::null,
    sync::{Arc, Mutex, PoisonError},
};

const OPEN_TREE_CLONE: i32 = 1;
const MOUNT_ATTR_IDMAP: u64 = 0x0010_0000;
const NOSUID_NODEV: u64 = 2 | 4;

/// User namespaces by their maps; each costs a process to make, once.
#[derive(Debug, Default)]
pub(crate) struct Namespaces {
    made: Mutex<HashMap<(String, String), Arc<OwnedFd>>>,
}

impl Namespaces {
    /// The namespace for a run: it knows this uid and gid and no other.
    pub(crate) fn of(&self, uid: u32, gid: u32) -> io::Result<Arc<OwnedFd>> {
        self.mapped(format!("{uid} {uid} 1\n"), format!("{gid} {gid} 1\n"))
    }

    /// A detached mount of `path` in which its owner's files belong to `uid` and `gid`; only if it still is what it was.
    pub(crate) fn mount(
        &self,
        path: &Path,
        identity: (u64, u64),
        uid: u32,
        gid: u32,
    ) -> io::Result<OwnedFd> {
        let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let found = fs::File::options()
            .read(true)
            .custom_flags(flags)
            .open(path)?;
        let owner = found.metadata()?;
        if (owner.dev(), owner.ino()) != identity {
            return Err(io::Error::from_raw_os_error(libc::ESTALE));
        }
        let namespace = self.mapped(swap(owner.uid(), uid), swap(owner.gid(), gid))?;
        let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC | libc::AT_EMPTY_PATH;
        // SAFETY: a descriptor of ours and an empty name.
        let tree = sys::own(unsafe {
            libc::syscall(libc::SYS_open_tree, found.as_raw_fd(), c"".as_ptr(), flags)
        })?;
        let attributes: [u64; 4] = [
            MOUNT_ATTR_IDMAP | NOSUID_NODEV,
            0,
            0,
            namespace.as_raw_fd() as u64,
        ];
        // SAFETY: the structure `mount_attr` is four numbers.
        sys::check(unsafe {
            libc::syscall(
                libc::SYS_mount_setattr,
                tree.as_raw_fd(),
                c"".as_ptr(),
                libc::AT_EMPTY_PATH,
                attributes.as_ptr(),
                size_of_val(&attributes),
            )
        })?;
        sys::high(&tree)
    }

    fn mapped(&self, uids: String, gids: String) -> io::Result<Arc<OwnedFd>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (uids, gids);
        if let Some(namespace) = made.get(&key) {
            return Ok(Arc::clone(namespace));
        }
        let namespace = Arc::new(make(&key.0, &key.1)?);
        made.insert(key, Arc::clone(&namespace));
        Ok(namespace)
    }
}

/// Whether root can make such namespaces here.
pub(crate) fn probe() -> io::Result<()> {
    let crate::User::Reduced { uid, gid } = crate::User::REDUCED else {
        return Ok(());
    };
    Namespaces::default().of(uid, gid).map(drop)
}

/// A map in which two numbers change places and all others stay.
fn swap(one: u32, other: u32) -> String {
    let (low, high) = (one.min(other), one.max(other));
    if low == high {
        return format!("0 0 {}\n", u32::MAX);
    }
    let mut map = format!("{low} {high} 1\n{high} {low} 1\n");
    for (from, to) in [(0, low), (low + 1, high), (high + 1, u32::MAX)] {
        if to > from {
            map.push_str(&format!("{from} {from} {}\n", to - from));
        }
    }
    map
}

/// Starts a process that does nothing in a new namespace, writes its maps, keeps the namespace and lets the process go.
fn make(uids: &str, gids: &str) -> io::Result<OwnedFd> {
    let nothing = null::<u8>();
    // A plain fork, with its own copy of our memory: it lives beside us for a moment. Slow for a large process, and done once.
    // SAFETY: numbers and nulls. The child makes nothing but system calls.
    let pid = sys::check(unsafe {
        libc::syscall(
            libc::SYS_clone,
            libc::CLONE_NEWUSER,
            nothing,
            nothing,
            nothing,
            nothing,
        )
    })? as i32;
    if pid == 0 {
        loop {
            // SAFETY: in the child; both touch no memory of ours. It waits to be killed, by us or by our death.
            unsafe {
                libc::syscall(
                    libc::SYS_prctl,
                    libc::PR_SET_PDEATHSIG,
                    libc::SIGKILL,
                    0,
                    0,
                    0,
                );
                libc::syscall(libc::SYS_ppoll, nothing, 0, nothing, nothing, 8);
            }
        }
    }
    let namespace = (|| {
        fs::write(format!("/proc/{pid}/uid_map"), uids)?;
        fs::write(format!("/proc/{pid}/gid_map"), gids)?;
        sys::high(&fs::File::open(format!("/proc/{pid}/ns/user"))?)
    })();
    // SAFETY: our own child, not yet reaped, so the number is still its.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        while libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL) < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
    namespace
}

#[cfg(test)]
mod tests {
    use super::swap;

    #[test]
    fn a_map_swaps_two_numbers_and_keeps_the_rest() {
        assert_eq!(
            swap(0, 60_999),
            "0 60999 1\n60999 0 1\n1 1 60998\n61000 61000 4294906295\n"
        );
        assert_eq!(
            swap(1000, 1001),
            "1000 1001 1\n1001 1000 1\n0 0 1000\n1002 1002 4294966293\n"
        );
        assert_eq!(swap(7, 7), "0 0 4294967295\n");
    }
}
