//! A terminal for a command: a pseudo-terminal whose other end is ours.
//!
//! The command gets it as its three descriptors and as its controlling terminal; there is no device inside the sandbox by
//! which it could make another. It echoes and edits lines as terminals do, has 24 lines of 80 columns, and leaves newlines as
//! they are. Typing into it from inside (`TIOCSTI`) is refused by seccomp like everywhere.

use crate::sys;
use std::{
    fs, io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::OpenOptionsExt,
    },
};

/// A new terminal.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// Our end: what is written to it is typed.
    pub(crate) ours: OwnedFd,
    /// The command's end.
    pub(crate) theirs: OwnedFd,
}

impl Terminal {
    pub(crate) fn open() -> io::Result<Self> {
        let ours = fs::File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK)
            .open("/dev/ptmx")?;
        let fd = ours.as_raw_fd();
        let unlocked: libc::c_int = 0;
        // SAFETY: the first takes a pointer to a number, which is ours; the second takes flags. The other end is opened by
        // our own, not by a path, which may lead elsewhere in another mount namespace.
        let theirs = unsafe {
            sys::check(libc::ioctl(fd, libc::TIOCSPTLCK as _, &raw const unlocked).into())?;
            let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
            sys::own(libc::ioctl(fd, libc::TIOCGPTPEER as _, flags).into())?
        };
        let terminal = Self {
            ours: ours.into(),
            theirs,
        };
        terminal.set_up()?;
        Ok(terminal)
    }

    fn set_up(&self) -> io::Result<()> {
        let fd = self.theirs.as_raw_fd();
        let size = libc::winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // SAFETY: the structures are what the calls take, and ours.
        unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            sys::check(libc::tcgetattr(fd, &mut settings).into())?;
            settings.c_oflag &= !(libc::OPOST | libc::ONLCR);
            settings.c_iflag |= libc::IUTF8;
            sys::check(libc::tcsetattr(fd, libc::TCSANOW, &settings).into())?;
            sys::check(libc::ioctl(fd, libc::TIOCSWINSZ as _, &raw const size).into())?;
        }
        Ok(())
    }
}

/// Bytes that were typed and that no one has read yet. `theirs`: the command's end of a terminal.
pub(crate) fn unread(theirs: &OwnedFd) -> usize {
    let mut bytes: libc::c_int = 0;
    // SAFETY: takes a pointer to a number, which is ours.
    let answer = unsafe { libc::ioctl(theirs.as_raw_fd(), libc::FIONREAD as _, &raw mut bytes) };
    if answer < 0 {
        0
    } else {
        usize::try_from(bytes).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn what_no_one_has_read_is_counted() {
        let terminal = Terminal::open().unwrap();
        assert_eq!(unread(&terminal.theirs), 0);
        sys::write(&terminal.ours, b"yes\nno\n").unwrap();
        // Typed is not yet arrived: the kernel moves it in its own time.
        let until = Instant::now() + Duration::from_secs(5);
        while unread(&terminal.theirs) < 7 && Instant::now() < until {
            std::thread::yield_now();
        }
        assert_eq!(unread(&terminal.theirs), 7);
        assert_eq!(
            sys::read(&terminal.theirs, &mut [0; 16]).unwrap(),
            Some(4),
            "a line at a time"
        );
        assert_eq!(unread(&terminal.theirs), 3);
    }
}
