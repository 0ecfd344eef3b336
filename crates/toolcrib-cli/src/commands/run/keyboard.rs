//! What a person types for an interactive tool: from the terminal to the call, while the tool runs.
//!
//! Keys are passed on as they are pressed; what they do is up to the program, whose own terminal echoes them. Ctrl-C stays what it
//! is for every call: it cancels. While a question is on the screen, what is typed is its answer.

use std::sync::Arc;

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::prompt::{Screen, Terminal, Wake};

/// The keyboard of an interactive call.
pub(super) struct Keyboard {
    terminal: Arc<Terminal>,
    screen: Arc<Screen>,
    keys: Sender<Vec<u8>>,
    passing: Option<(JoinHandle<()>, CancellationToken)>,
}

impl Keyboard {
    /// The keyboard, and where its keys come out.
    pub(super) fn new(terminal: Terminal, screen: &Arc<Screen>) -> (Self, Receiver<Vec<u8>>) {
        let (keys, typed) = channel(64);
        let keyboard = Keyboard {
            terminal: Arc::new(terminal),
            screen: Arc::clone(screen),
            keys,
            passing: None,
        };
        (keyboard, typed)
    }

    /// Begins to pass keys on. Within a runtime.
    pub(super) fn begin(&mut self) {
        if self.passing.is_some() {
            return;
        }
        let ending = CancellationToken::new();
        let passing = pass_on(
            Arc::clone(&self.terminal),
            Arc::clone(&self.screen),
            self.keys.clone(),
            ending.clone(),
        );
        self.passing = Some((tokio::spawn(passing), ending));
    }

    /// Gives the terminal back as it was.
    pub(super) async fn finish(mut self) {
        if let Some((task, ending)) = self.passing.take() {
            ending.cancel();
            let _ = task.await;
        }
    }
}

async fn pass_on(
    terminal: Arc<Terminal>,
    screen: Arc<Screen>,
    keys: Sender<Vec<u8>>,
    ending: CancellationToken,
) {
    while ending.run_until_cancelled(screen.free()).await.is_some() {
        let Ok(wake) = Wake::new().map(Arc::new) else {
            return;
        };
        let reading = {
            let (terminal, wake, keys) = (Arc::clone(&terminal), Arc::clone(&wake), keys.clone());
            // A program that does not read must not hold the keyboard up for good: what it has no room for is lost, as on any
            // terminal.
            tokio::task::spawn_blocking(move || {
                terminal.pass_keys(&wake, |bytes| {
                    let _ = keys.try_send(bytes);
                    !keys.is_closed()
                })
            })
        };
        let woken = {
            let wake = Arc::clone(&wake);
            let (screen, ending) = (Arc::clone(&screen), ending.clone());
            tokio::spawn(async move {
                ending.run_until_cancelled(screen.taken()).await;
                wake.wake();
            })
        };
        let goes_on = reading.await.unwrap_or(false);
        woken.abort();
        if !goes_on {
            return;
        }
    }
}
