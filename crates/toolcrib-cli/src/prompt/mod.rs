//! Questions on the terminal.
//!
//! A call that asks puts its question into the queue of the home, and the [`Prompter`] answers it there like anybody else
//! could: from another terminal, the web, a program. The first answer decides; the prompt ends by itself when another one came first.
//! The dialogue runs on its own thread, so that nothing else waits for a person.

mod answerer;
mod edit;
mod form;
mod grant;
mod questions;
mod screen;
mod talk;
mod terminal;
#[cfg_attr(target_os = "macos", path = "waking_macos.rs")]
mod waking;
mod words;

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolcrib::Crib;
use toolcrib::approval::ApprovalRequest;
use toolcrib::approval::queue::Subscription;

pub(crate) use answerer::{session, whoami};
pub(crate) use form::AtTerminal;
pub(crate) use questions::{Preview, Questions, Unanswered};
pub(crate) use screen::Screen;
pub(crate) use talk::{Ended, Talk, Whose, settled_in_words};
pub(crate) use terminal::{Edited, Hidden, Line, Terminal, Wake};
pub(crate) use words::{Extent, Page, Paint, arguments, describe_under, facts, item};

/// Puts the questions of calls to the person at the terminal, one after the other.
pub(crate) struct Prompter {
    sender: UnboundedSender<ApprovalRequest>,
    ending: CancellationToken,
    task: JoinHandle<()>,
}

impl Prompter {
    /// Begins to put questions, until `cancel` or [`finish`](Self::finish) ends it. Within a runtime.
    pub(crate) fn start(
        questions: Arc<dyn Questions>,
        screen: &Arc<Screen>,
        terminal: Terminal,
        cancel: &CancellationToken,
    ) -> Self {
        let (sender, asked) = unbounded_channel();
        let ending = cancel.child_token();
        let desk = Desk {
            questions,
            screen: Arc::clone(screen),
            terminal: Arc::new(terminal),
            whose: Whose::Own,
        };
        let task = tokio::spawn(desk.serve(asked, ending.clone()));
        Prompter {
            sender,
            ending,
            task,
        }
    }

    /// Hears of the questions of this process's calls, for as long as the subscription is kept.
    pub(crate) fn hear(&self, crib: &Crib) -> Subscription {
        let sender = self.sender.clone();
        crib.approvals().on_request(move |request| {
            // No one listens any more: the process is about to end.
            let _ = sender.send(request.clone());
        })
    }

    /// Where questions that came another way are handed in.
    pub(crate) fn desk(&self) -> UnboundedSender<ApprovalRequest> {
        self.sender.clone()
    }

    /// Ends the question on the screen, if one is left, and gives the terminal back.
    pub(crate) async fn finish(self) {
        self.ending.cancel();
        let _ = self.task.await;
    }
}

/// Where questions are put: a terminal, and what is needed to answer.
pub(crate) struct Desk {
    pub(crate) questions: Arc<dyn Questions>,
    pub(crate) screen: Arc<Screen>,
    pub(crate) terminal: Arc<Terminal>,
    pub(crate) whose: Whose,
}

impl Desk {
    async fn serve(self, mut asked: UnboundedReceiver<ApprovalRequest>, ending: CancellationToken) {
        while let Some(Some(request)) = ending.run_until_cancelled(asked.recv()).await {
            self.put(request, &ending).await;
        }
    }

    /// Puts one question; returns when it is settled, here or elsewhere, or when there is no more time for it.
    pub(crate) async fn put(&self, request: ApprovalRequest, ending: &CancellationToken) -> Ended {
        let Ok(wake) = Wake::new().map(Arc::new) else {
            return Ended::Skipped;
        };
        let id = request.id.clone();
        // A question that was settled in the meantime is not asked any more: the dialogue looks first.
        let turn = self.screen.turn().await;
        let mut dialogue = {
            let (questions, screen) = (Arc::clone(&self.questions), Arc::clone(&self.screen));
            let (terminal, wake) = (Arc::clone(&self.terminal), Arc::clone(&wake));
            let whose = self.whose;
            tokio::task::spawn_blocking(move || {
                let _turn = turn;
                let _taken = screen.take();
                Talk::new(&*questions, &request, &terminal, &screen, &wake, whose).hold()
            })
        };
        let settled = ending.run_until_cancelled(self.questions.settled(&id));
        if let Either::Left((ended, _)) = select(&mut dialogue, pin!(settled)).await {
            return ended.unwrap_or(Ended::Skipped);
        }
        wake.wake();
        dialogue.await.unwrap_or(Ended::Skipped)
    }
}
