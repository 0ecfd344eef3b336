//! The few calls into the kernel that more than one module makes, each as small as can be.

use std::{
    ffi::CString,
    io,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

/// Opens a directory to name what is in it; where there is no such way, one that may be read.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) const PLACE: i32 = libc::O_PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) const PLACE: i32 = libc::O_RDONLY;

/// A number from the kernel: itself, or the error it stands for.
pub(crate) fn check(answer: i64) -> io::Result<i64> {
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(answer)
    }
}

/// Takes a descriptor that the kernel has just made.
pub(crate) fn own(answer: i64) -> io::Result<OwnedFd> {
    let fd = check(answer)?;
    // SAFETY: the kernel made it for us just now; no one else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// A path as the kernel takes it.
pub(crate) fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "a path cannot hold a null byte",
        )
    })
}

/// A pipe: the reading end, the writing end. Both close on exec.
#[cfg(wall)]
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: room for two descriptors.
    check(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) }.into())?;
    Ok((own(fds[0].into())?, own(fds[1].into())?))
}

/// The same descriptor at a number out of the way of 0 to 9, which the child fills itself.
pub(crate) fn high(fd: &impl AsRawFd) -> io::Result<OwnedFd> {
    // SAFETY: numbers only.
    own(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 10) }.into())
}

/// Makes reads and writes return at once.
pub(crate) fn nonblocking(fd: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: numbers only.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) }.into()).map(drop)
}

/// Reads once; `Ok(None)` when there is nothing to read yet.
pub(crate) fn read(fd: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        // SAFETY: the buffer is ours and as long as we say.
        let answer =
            unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        match check(answer as i64) {
            Ok(length) => return Ok(Some(length as usize)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes once; `Ok(None)` when nothing can be written yet.
pub(crate) fn write(fd: &impl AsRawFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    loop {
        // SAFETY: the bytes are ours and as many as we say.
        let answer = unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
        match check(answer as i64) {
            Ok(length) => return Ok(Some(length as usize)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// An event that has not happened. Both ends of a wish are this one descriptor.
#[cfg(wall)]
pub(crate) fn event() -> io::Result<OwnedFd> {
    // SAFETY: numbers only.
    own(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) }.into())
}

/// Nothing waits for an event where no command runs.
#[cfg(not(wall))]
pub(crate) fn event() -> io::Result<OwnedFd> {
    let refusal = crate::error::SandboxError::not_here();
    Err(io::Error::new(io::ErrorKind::Unsupported, refusal))
}

/// Lets an event happen.
pub(crate) fn signal(event: &OwnedFd) {
    let _ = write(event, &1u64.to_ne_bytes());
}

/// Waits until one of the descriptors is ready; `timeout` in milliseconds, -1 for ever. Interruptions count as not ready.
pub(crate) fn poll(fds: &mut [libc::pollfd], timeout: i32) {
    // SAFETY: the list is ours and as long as we say.
    if unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout) } < 0 {
        for fd in fds {
            fd.revents = 0;
        }
    }
}

/// An entry for [`poll`].
pub(crate) fn awaits(fd: Option<&impl AsRawFd>, events: i16) -> libc::pollfd {
    libc::pollfd {
        fd: fd.map_or(-1, AsRawFd::as_raw_fd),
        events,
        revents: 0,
    }
}

/// The number of the effective user.
pub(crate) fn uid() -> u32 {
    // SAFETY: cannot fail and touches no memory.
    unsafe { libc::geteuid() }
}

/// The number of the effective group.
pub(crate) fn gid() -> u32 {
    // SAFETY: cannot fail and touches no memory.
    unsafe { libc::getegid() }
}
