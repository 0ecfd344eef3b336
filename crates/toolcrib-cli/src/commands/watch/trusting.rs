//! What `watch` does about a tool that is not trusted: it says so, and asks or, with `--trust`, trusts the edit.
//!
//! The file is trusted as it was shown: the review that was printed is pinned, even if the file has changed since.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolcrib::model::text;
use toolcrib::source::{Review, Scope, ToolFile, Trust};
use toolcrib::{Crib, ToolError};

use super::head::Head;
use crate::args::Global;
use crate::commands::trust::entry;
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::{Line, Terminal, Wake};

/// Git changes files first and moves HEAD after them: so long an edit waits before it counts as its user's.
const SETTLES: Duration = Duration::from_millis(500);

/// When a file was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    BeforeTheStart,
    Now,
}

pub(super) struct Trusting<'a> {
    crib: &'a Crib,
    output: &'a Output,
    /// The person who can be asked, if there is one.
    terminal: Option<Terminal>,
    /// With `--trust`, where HEAD was when it was looked at last.
    head: Option<RefCell<Head>>,
}

impl<'a> Trusting<'a> {
    pub(super) fn new(
        crib: &'a Crib,
        follows: bool,
        global: &Global,
        output: &'a Output,
    ) -> Result<Self, CliError> {
        let is_for_people = !output.json() && !output.plain();
        let terminal = (!global.no_input && is_for_people)
            .then(|| Terminal::find(output.colours_terminal()))
            .flatten();
        if follows && terminal.is_none() {
            let message = "`--trust` shows every edit on a terminal, and there is none";
            return Err(CliError::usage(message).with_hint(
                "run it in a terminal; `toolcrib trust TOOL --yes` trusts a tool as it is",
            ));
        }
        let trusting = Trusting {
            crib,
            output,
            terminal,
            head: None,
        };
        let head = follows.then(|| RefCell::new(trusting.head_now()));
        Ok(Trusting { head, ..trusting })
    }

    fn head_now(&self) -> Head {
        self.crib.workspace_path().map_or(Head::None, Head::of)
    }

    /// Says that a tool is not trusted, and what changed; trusts it, or asks, where that is wanted.
    pub(super) async fn look(
        &self,
        file: &ToolFile,
        when: When,
        cancel: &CancellationToken,
    ) -> Result<(), ToolError> {
        let went_off = match &file.trust {
            Trust::Changed { .. } => true,
            Trust::New => false,
            Trust::ByPlace | Trust::Pinned | Trust::Unsafe(_) => return Ok(()),
        };
        let is_shown = self.head.is_some() || (went_off && when == When::Now);
        if file.scope != Scope::Local || !is_shown || self.output.json() || self.output.plain() {
            return Ok(());
        }
        let follows = match (&self.head, when) {
            (Some(head), When::Now) => self.is_own_edit(head).await,
            (Some(_), When::BeforeTheStart) | (None, _) => Err(None),
        };
        let path: &Path = &file.path;
        let review = self
            .crib
            .review()
            .only(|known| known.path == path && known.digest == file.digest);
        let Some(reviewed) = review.open().next() else {
            return Ok(());
        };
        for line in entry(reviewed, self.output) {
            self.output.line(&format!("          {line}"));
        }
        let name = text::visible(&file.name);
        match (follows, &self.terminal) {
            (Ok(()), _) => self.trust(&review, &name),
            (Err(why), Some(terminal)) => {
                if let Some(why) = why {
                    self.output.line(&format!("          {why}"));
                }
                let question = format!("`{name}` is off until it is trusted; trust it? [y/n] ");
                match asked(terminal, &question, cancel)? {
                    true => self.trust(&review, &name),
                    false => {
                        let line =
                            format!("`{name}` stays off; `toolcrib trust {name}` asks again");
                        self.output.line(&format!("          {line}"));
                        Ok(())
                    }
                }
            }
            (Err(_), None) => {
                let line = format!("`{name}` is off until it is trusted: `toolcrib trust {name}`");
                self.output.line(&format!("          {line}"));
                Ok(())
            }
        }
    }

    /// Whether a change that was just seen is its user's own, as far as git can say; the error says why not.
    async fn is_own_edit(&self, head: &RefCell<Head>) -> Result<(), Option<&'static str>> {
        tokio::time::sleep(SETTLES).await;
        let now = self.head_now();
        if now == Head::Unknown {
            return Err(Some("git is at work here, so the change may not be yours"));
        }
        if *head.borrow() != now {
            // The next edit is measured by where HEAD is now; the files that moved with it have been asked about by then.
            head.replace(now);
            return Err(Some("git's HEAD has moved, so the change may not be yours"));
        }
        Ok(())
    }

    fn trust(&self, review: &Review, name: &str) -> Result<(), ToolError> {
        self.crib.trust(review)?;
        self.output.line(&format!("          `{name}` is trusted"));
        Ok(())
    }
}

/// Asks, while Ctrl-C still ends everything.
fn asked(
    terminal: &Terminal,
    question: &str,
    cancel: &CancellationToken,
) -> Result<bool, ToolError> {
    let cannot = |error: std::io::Error| ToolError::failed(format!("cannot ask: {error}"));
    let wake = Arc::new(Wake::new().map_err(cannot)?);
    let waker = tokio::spawn({
        let (wake, cancel) = (Arc::clone(&wake), cancel.clone());
        async move {
            cancel.cancelled().await;
            wake.wake();
        }
    });
    let answer = tokio::task::block_in_place(|| {
        let _attention = terminal.attend();
        loop {
            match terminal.ask(question, &wake) {
                Line::Text(word) => match word.trim().to_lowercase().as_str() {
                    "y" | "yes" => return true,
                    "n" | "no" => return false,
                    _ => terminal.say("type y or n"),
                },
                Line::End | Line::Woken => return false,
            }
        }
    });
    waker.abort();
    Ok(answer)
}
