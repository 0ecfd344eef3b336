//! A terminal for a command, and who answers on it.

use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::task::AbortHandle;

use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::as_millis;
use crate::sandbox::{self, Command, Keyboard};

/// A terminal, and what is typed on it. All output is on stdout then.
///
/// What the command has for its stdin is typed first. The terminal echoes what is typed, as terminals do, unless the program
/// switches that off. A program that has not read the last answer yet is taken to work, not to wait.
pub(crate) struct Dialogue {
    /// How long the program may be silent before the default answer is typed.
    pub(crate) timeout: Duration,
    /// The default answer, without its newline, given up to 100 times; without one, silence for `timeout` ends the run.
    pub(crate) default_response: Option<String>,
    /// What a person types, if one is there.
    pub(crate) typed: Option<Receiver<Vec<u8>>>,
}

/// A dialogue that is going on.
pub(super) struct Talk {
    timeout: Duration,
    has_default: bool,
    typing: Option<AbortHandle>,
}

impl Dialogue {
    /// Puts a command on its terminal, and passes on what is typed until the talk is over.
    pub(super) fn begin(self, command: Command) -> std::io::Result<(Command, Talk)> {
        let keyboard = self.typed.is_some().then(Keyboard::new).transpose()?;
        let typing = self
            .typed
            .zip(keyboard.clone())
            .map(|(typed, keyboard)| tokio::spawn(pass_on(typed, keyboard)).abort_handle());
        let talk = Talk {
            timeout: self.timeout,
            has_default: self.default_response.is_some(),
            typing,
        };
        let command = command.dialogue(sandbox::Dialogue {
            silence: self.timeout,
            answer: self.default_response,
            keyboard,
        });
        Ok((command, talk))
    }
}

async fn pass_on(mut typed: Receiver<Vec<u8>>, keyboard: Keyboard) {
    while let Some(bytes) = typed.recv().await {
        keyboard.press(&bytes);
    }
}

impl Talk {
    /// Why a run was ended whose program waited.
    pub(super) fn waited(&self) -> ToolError {
        let millis = as_millis(self.timeout);
        let message = if self.has_default {
            "the program waits for input again, after it was given its default response 100 times; it cannot be satisfied by it"
                .to_owned()
        } else {
            format!(
                "the program waits for input: for {millis} ms it printed nothing and received no input; give what it asks for \
                 as arguments or input, or give the tool a default response"
            )
        };
        ToolError::new(ErrorCode::Timeout, message)
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        if let Some(typing) = &self.typing {
            typing.abort();
        }
    }
}
