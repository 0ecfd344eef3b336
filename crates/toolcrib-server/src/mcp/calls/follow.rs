//! Waiting for a call on behalf of a client: [`follow`].

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use tokio::time::Instant;
use toolcrib::approval::{AnswerError, ApprovalRequest, ApprovalResponse};
use toolcrib_mcp::server::Context;

use super::client_approver::{Asking, Question};
use super::form::{self, Said};
use super::progress::Telling;
use crate::mcp::CribHost;

/// How often a person is asked again when the answer cannot be used.
const MAX_ASKED: usize = 3;

/// How soon no person answers a question.
const HASTY: Duration = Duration::from_millis(200);

/// How far a call has come that someone waits for.
pub(super) enum Step<T> {
    /// It is over.
    Done(T),
    /// These questions are to be put to the client, as the answer to its request.
    Ask(Vec<Question>),
    /// It waits for an answer to these longer than the client should.
    Waits(Vec<Arc<ApprovalRequest>>),
    /// The client took its request back, and the call has not begun or is not its alone to end.
    TakenBack,
}

/// How the person at a client is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskBy {
    /// By a request to the client, up to 2025-11-25.
    Request,
    /// By the answer to its own request, since 2026-07-28.
    Answer,
    /// Not at all.
    Nobody,
}

impl AskBy {
    pub(super) fn of(host: &CribHost, context: &Context) -> Self {
        let is_offered =
            context.capabilities.asks_with_forms() && host.takes_answers_of(&context.principal);
        match (is_offered, context.era.is_modern()) {
            (false, _) => AskBy::Nobody,
            (true, false) => AskBy::Request,
            (true, true) => AskBy::Answer,
        }
    }
}

impl CribHost {
    /// Whether the person at a client is heard that comes as this principal. A token may belong to an unattended program, which would
    /// approve its own calls; so the operator must have declared that its client asks a person.
    pub(super) fn takes_answers_of(&self, principal: &str) -> bool {
        let is_vouched_for = match (&self.options.tokens_of, principal.strip_prefix("client:")) {
            (Some(clients), Some(caller)) => clients.is_asked(caller),
            (_, _) => true,
        };
        self.calls.settings.elicitation && is_vouched_for
    }
}

/// Someone who waits for a call on behalf of a client.
#[derive(Clone, Copy)]
pub(super) struct Follower<'a> {
    pub(super) host: &'a CribHost,
    pub(super) asking: &'a Asking,
    pub(super) context: &'a Context,
    /// Questions that are as good as gone.
    pub(super) answered: &'a [String],
    /// When the request came that is waited for.
    pub(super) arrived: Instant,
    /// Whether the call is this request's alone: then it ends if that is taken back.
    pub(super) is_alone: bool,
}

impl Follower<'_> {
    /// Waits for a call until it is over, or its client must get a message.
    pub(super) async fn follow<T>(self, mut call: impl Future<Output = T> + Unpin) -> Step<T> {
        // It may have waited for a place until its client had enough.
        if self.context.cancelled.is_cancelled() {
            return Step::TakenBack;
        }
        // The usual call is over before anybody has to wait for anything.
        let first = std::future::poll_fn(|cx| Poll::Ready(call.poll_unpin(cx))).await;
        let mut telling = Telling::of(self.asking.events(), self.context);
        let step = match first {
            Poll::Ready(outcome) => Step::Done(outcome),
            // On the heap: the usual call has no need to carry it around.
            Poll::Pending => Box::pin(self.wait(call, telling.as_mut())).await,
        };
        if let Some(telling) = telling {
            telling.end(self.context);
        }
        step
    }

    async fn wait<T>(
        self,
        mut call: impl Future<Output = T> + Unpin,
        mut telling: Option<&mut Telling>,
    ) -> Step<T> {
        let Follower {
            host,
            asking,
            context,
            answered,
            ..
        } = self;
        let ask_by = AskBy::of(host, context);
        let patience = host.calls.settings.approval_wait;
        let mut asked: HashSet<String> = answered.iter().cloned().collect();
        let mut put: Option<(Question, BoxFuture<'_, ()>)> = None;
        // One for all questions of a request, however many there are: clients count from when they asked.
        let mut until: Option<Instant> = None;
        let mut is_cancelled = false;
        loop {
            let mut changed = pin!(asking.changed());
            changed.as_mut().enable();
            let mut open = asking.open();
            open.retain(|question| !answered.iter().any(|id| id == question.id()));
            // Someone else was faster: dropping the question takes it back.
            put = put.filter(|(put, _)| open.iter().any(|question| question.id() == put.id()));
            if ask_by == AskBy::Answer && !is_cancelled {
                let askable = open.iter().filter(is_askable);
                let askable = askable.filter(|question| !asking.is_dismissed(question.id()));
                let askable: Vec<Question> = askable.cloned().collect();
                if !askable.is_empty() {
                    return Step::Ask(askable);
                }
            }
            // Others may answer what is in the queue; what a tool wants to know is the client's alone to say.
            let waits = !is_cancelled && open.iter().any(|question| question.approval().is_some());
            if waits {
                until.get_or_insert_with(|| self.until(patience));
            }
            let mut askable = open.iter().filter(is_askable);
            let next = askable.find(|question| {
                !asked.contains(question.id()) && !asking.is_dismissed(question.id())
            });
            if let (AskBy::Request, None, Some(question)) = (ask_by, &put, next) {
                asked.insert(question.id().to_owned());
                let left = match (question.approval(), until) {
                    (Some(_), Some(until)) => until.saturating_duration_since(Instant::now()),
                    (_, _) => patience,
                };
                if !left.is_zero() {
                    let putting = ask(self, question.clone(), left);
                    put = Some((question.clone(), putting.boxed()));
                }
            }
            tokio::select! {
                biased;
                outcome = &mut call => return Step::Done(outcome),
                () = context.cancelled.cancelled(), if !is_cancelled => {
                    // Others may wait for it, too: whether it ends is decided where they are counted.
                    if !self.is_alone {
                        return Step::TakenBack;
                    }
                    is_cancelled = true;
                    if let Some(id) = asking.call_id() {
                        host.crib.registry().cancel(id);
                    }
                }
                () = changed => {}
                () = tell(telling.as_deref_mut(), context) => {}
                () = answer_of(put.as_mut()) => {
                    let was = put.take();
                    let is_dismissed = was.is_some_and(|(put, _)| asking.is_dismissed(put.id()));
                    // It closed its input while it was asked, or dismissed the question: it gets its answer now.
                    if waits && (context.is_input_over() || is_dismissed) {
                        let open = open.iter().filter_map(Question::approval);
                        return Step::Waits(open.cloned().collect());
                    }
                }
                () = sleep_until(until.filter(|_| waits)) => {
                    let open = open.iter().filter_map(Question::approval);
                    return Step::Waits(open.cloned().collect());
                }
            }
        }
    }

    /// Until when answers to questions are waited for. A client that is still there after its time is over has more of it than most.
    fn until(&self, patience: Duration) -> Instant {
        let now = Instant::now();
        let until = self.arrived + patience;
        if until > now { until } else { now + patience }
    }
}

/// Whether a client can be asked this: a person sees all of it there.
fn is_askable(question: &&Question) -> bool {
    question
        .approval()
        .is_none_or(|asked| form::shows_all(asked))
}

async fn tell(telling: Option<&mut Telling>, context: &Context) {
    match telling {
        Some(telling) => telling.tell(context).await,
        None => std::future::pending().await,
    }
}

async fn answer_of(put: Option<&mut (Question, BoxFuture<'_, ()>)>) {
    match put {
        Some((_, asking)) => asking.await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// Puts a question to the client, and its answer where it belongs.
async fn ask(follower: Follower<'_>, question: Question, patience: Duration) {
    match question {
        Question::Approval(question) => ask_whether(follower, &question, patience).await,
        Question::Tool(question) => {
            let params = form::passed_on(&question.asked);
            let context = follower.context;
            let answer = context.ask("elicitation/create", params, patience).await;
            question.answer(answer.ok());
        }
    }
}

/// Asks whether a call may run; the answer goes into the queue. A client that says nothing decides nothing: the question waits on.
async fn ask_whether(follower: Follower<'_>, question: &ApprovalRequest, patience: Duration) {
    let Follower { host, context, .. } = follower;
    let until = Instant::now() + patience;
    let mut problem: Option<String> = None;
    for _ in 0..MAX_ASKED {
        let params = form::params(question, problem.as_deref(), context.era);
        let put = Instant::now();
        let left = until.saturating_duration_since(put);
        let Ok(result) = context.ask("elicitation/create", params, left).await else {
            return;
        };
        let client = context.client.as_ref().map_or("", |client| &*client.name);
        let hasty = host.options.hasty.unwrap_or(HASTY);
        if result["action"] == "decline" && is_unattended(client, put.elapsed(), hasty) {
            return follower.asking.dismiss(&question.id);
        }
        let response = match form::answer(&result, question) {
            Ok(Said::Answer(response)) => response,
            Ok(Said::Nothing) => return follower.asking.dismiss(&question.id),
            Err(why) => {
                problem = Some(why);
                continue;
            }
        };
        match answer(host, &question.id, &question.args_digest, response).await {
            Err(AnswerError::BadEdit(error)) => problem = Some(error.message().to_owned()),
            // Answered; or someone else was faster, and what they said counts.
            Ok(()) | Err(_) => return,
        }
    }
    // A client that sends three unusable answers is not waited for any more.
    let why = problem.unwrap_or_default();
    let no = ApprovalResponse::deny(form::BY, format!("the answer cannot be used: {why}"));
    let _ = answer(host, &question.id, &question.args_digest, no).await;
}

/// Whether a client declines without a person: `codex exec` does, at once, as other programs cancel.
fn is_unattended(client: &str, after: Duration, hasty: Duration) -> bool {
    let name = client.to_ascii_lowercase();
    (name == "codex" || name.starts_with("codex-") || name.starts_with("codex_")) && after < hasty
}

/// Answers a question in the queue.
pub(super) async fn answer(
    host: &CribHost,
    id: &str,
    digest: &str,
    response: ApprovalResponse,
) -> Result<(), AnswerError> {
    let crib = host.crib.clone();
    let (id, digest) = (id.to_owned(), digest.to_owned());
    let answering =
        tokio::task::spawn_blocking(move || crib.answer(&id, Some(&digest), response).map(drop));
    match answering.await {
        Ok(answered) => answered,
        Err(error) => Err(AnswerError::Damaged(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_codex_declines_without_a_person_and_only_at_once() {
        let (at_once, later) = (Duration::from_millis(4), Duration::from_millis(200));
        for name in ["codex", "codex-mcp-client", "Codex_CLI"] {
            assert!(is_unattended(name, at_once, HASTY), "{name}");
            assert!(!is_unattended(name, later, HASTY), "{name}");
        }
        for name in ["claude-code", "codexter", ""] {
            assert!(!is_unattended(name, at_once, HASTY), "{name}");
        }
    }
}
