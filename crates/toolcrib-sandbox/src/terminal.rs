//! The other side of a command's terminal (`pty.rs`): [`Dialogue`], [`Keyboard`].

use crate::sys;
use std::{
    io,
    os::fd::OwnedFd,
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
}
