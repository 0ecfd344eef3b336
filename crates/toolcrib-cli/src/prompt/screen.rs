//! [`Screen`]: who may write on the terminal. While a question is on it, nothing else moves there.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedMutexGuard, watch};

/// The terminal as something that several want to write to.
#[derive(Debug)]
pub(crate) struct Screen {
    taken: watch::Sender<bool>,
    /// Held while a question is on the screen: one at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// How often questions of tools were taken from it.
    dismissals: watch::Sender<u64>,
    /// Held while a line is drawn, so that nothing is drawn over the first line of a question.
    drawing: Mutex<()>,
    has_line: AtomicBool,
    was_taken: AtomicBool,
    editing: AtomicBool,
}

impl Screen {
    pub(crate) fn new() -> Self {
        Screen {
            taken: watch::Sender::new(false),
            turn: Arc::default(),
            dismissals: watch::Sender::new(0),
            drawing: Mutex::new(()),
            has_line: AtomicBool::new(false),
            was_taken: AtomicBool::new(false),
            editing: AtomicBool::new(false),
        }
    }

    /// Waits for a turn to ask. It lasts as long as the guard, which goes where the dialogue goes: once there is another turn, the
    /// terminal is as it was.
    pub(crate) async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// Takes back what tools ask: their call is over, though the asking thread may not know.
    pub(crate) fn dismiss(&self) {
        self.dismissals.send_modify(|count| *count += 1);
    }

    /// Changes when questions of tools are taken back, from now on.
    pub(crate) fn dismissals(&self) -> watch::Receiver<u64> {
        self.dismissals.subscribe()
    }

    /// Takes the screen for a question, until the guard is dropped.
    pub(crate) fn take(&self) -> Taken<'_> {
        let _drawing = self.drawing.lock().unwrap_or_else(PoisonError::into_inner);
        self.taken.send_replace(true);
        self.was_taken.store(true, Ordering::Relaxed);
        self.clear();
        Taken(self)
    }

    /// Whether there has been a question.
    pub(crate) fn was_taken(&self) -> bool {
        self.was_taken.load(Ordering::Relaxed)
    }

    /// Draws a line over the last one, unless the screen is taken; whether it was drawn.
    pub(crate) fn draw(&self, line: &str) -> bool {
        let _drawing = self.drawing.lock().unwrap_or_else(PoisonError::into_inner);
        let free = !*self.taken.borrow();
        if free {
            let _ = write!(std::io::stderr(), "\r{line}\x1b[K");
            self.has_line.store(true, Ordering::Relaxed);
        }
        free
    }

    /// Removes the line that was drawn.
    pub(crate) fn clear(&self) {
        if self.has_line.swap(false, Ordering::Relaxed) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }

    /// Waits until no question is on it.
    pub(crate) async fn free(&self) {
        let mut taken = self.taken.subscribe();
        // The sender lives in `self`.
        let _ = taken.wait_for(|taken| !taken).await;
    }

    /// Waits until a question is on it.
    pub(crate) async fn taken(&self) {
        let mut taken = self.taken.subscribe();
        let _ = taken.wait_for(|taken| *taken).await;
    }

    /// Notes that an editor has the terminal: a Ctrl-C there is the editor's.
    pub(crate) fn set_editing(&self, editing: bool) {
        self.editing.store(editing, Ordering::Relaxed);
    }

    pub(crate) fn is_editing(&self) -> bool {
        self.editing.load(Ordering::Relaxed)
    }
}

/// The screen is taken for as long as this is kept.
#[derive(Debug)]
pub(crate) struct Taken<'a>(&'a Screen);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.taken.send_replace(false);
    }
}
