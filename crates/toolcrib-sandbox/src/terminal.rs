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
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How many times a default answer is given to one command: one that goes on asking will not be satisfied by it.
const MAX_ANSWERS: u32 = 100;

/// How much may be typed ahead of a command that does not read; the rest is lost, as on any terminal.
const TYPED_AHEAD: usize = 64 << 10;

/// Answers the questions of a command on a terminal; see [`crate::Policy::terminal`].
#[derive(Clone, Debug)]
pub struct Dialogue {
    /// How long the command may neither print nor be given anything before it is taken to wait.
    pub silence: Duration,
    /// The text that is typed then, without its newline, up to 100 times; without it the run is ended.
    pub answer: Option<String>,
    /// What a person types, if one is there.
    pub keyboard: Option<Keyboard>,
}

/// Types on the terminal of a run from elsewhere. Clones type on the same terminal.
#[derive(Clone, Debug)]
pub struct Keyboard {
    shared: Arc<Keys>,
}

#[derive(Debug)]
struct Keys {
    event: OwnedFd,
    typed: Mutex<Vec<u8>>,
}

impl Keyboard {
    /// A keyboard no one has typed on.
    pub fn new() -> io::Result<Self> {
        let keys = Keys {
            event: sys::event()?,
            typed: Mutex::default(),
        };
        Ok(Self {
            shared: Arc::new(keys),
        })
    }

    /// Types these bytes; a newline is the return key. What a command leaves unread beyond 64 KB is lost.
    pub fn press(&self, bytes: &[u8]) {
        let mut typed = self.typed();
        let room = TYPED_AHEAD.saturating_sub(typed.len()).min(bytes.len());
        typed.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        sys::signal(&self.shared.event);
    }

    /// Readable when something was typed.
    pub(crate) fn pressed(&self) -> &OwnedFd {
        &self.shared.event
    }

    /// Takes what was typed.
    pub(crate) fn take(&self) -> Vec<u8> {
        // The event first: later output is reported again.
        let _ = sys::read(&self.shared.event, &mut [0; 8]);
        std::mem::take(&mut *self.typed())
    }

    fn typed(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.shared
            .typed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

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

/// Notices that a command waits for an answer.
#[derive(Debug)]
pub(crate) struct Silence {
    /// When it has lasted long enough.
    pub(crate) until: Instant,
    patience: Duration,
    answer: Option<Vec<u8>>,
    answers_left: u32,
}

impl Silence {
    pub(crate) fn of(dialogue: &Dialogue) -> Self {
        let answer = dialogue
            .answer
            .as_ref()
            .map(|answer| format!("{answer}\n").into_bytes());
        let mut silence = Self {
            until: Instant::now(),
            patience: dialogue.silence,
            answer,
            answers_left: MAX_ANSWERS,
        };
        silence.broken();
        silence
    }

    /// Something was printed or typed.
    pub(crate) fn broken(&mut self) {
        // A time too far off to be counted is as good as none.
        const FOREVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);
        self.until = Instant::now() + self.patience.min(FOREVER);
    }

    /// The default answer, if there is one to give.
    pub(crate) fn answer(&mut self) -> Option<&[u8]> {
        self.answers_left = self.answers_left.checked_sub(1)?;
        self.answer.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_ahead_is_bounded_and_taken_once() {
        let keyboard = Keyboard::new().unwrap();
        let pressed = || {
            let mut ready = [sys::awaits(Some(keyboard.pressed()), libc::POLLIN)];
            sys::poll(&mut ready, 0);
            ready[0].revents != 0
        };
        assert!(!pressed());
        keyboard.clone().press(b"ab");
        keyboard.press(b"c");
        assert!(pressed());
        assert_eq!(keyboard.take(), b"abc");
        assert!(!pressed() && keyboard.take().is_empty());
        keyboard.press(&vec![b'x'; TYPED_AHEAD + 10]);
        keyboard.press(b"y");
        assert_eq!(keyboard.take().len(), TYPED_AHEAD);
    }

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
