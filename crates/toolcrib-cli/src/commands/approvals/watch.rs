//! `toolcrib approvals watch`: requests as they come, put to the person at the terminal or printed.

use std::collections::{HashMap, HashSet};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolcrib::approval::{Queued, Status};
use toolcrib::model::text;
use toolcrib::{Crib, ErrorCode};

use super::{crib_of, in_one_line, line_page, standing};
use crate::args::Global;
use crate::commands::{Done, notifying};
use crate::ids::short;
use crate::output::Output;
use crate::prompt::{Desk, Ended, Questions, Screen, Terminal, Whose, item, settled_in_words};
use crate::remote::Backend;
use crate::remote::ServersQuestions;

/// How often the queue is looked at.
const EVERY: Duration = Duration::from_millis(200);

pub(super) fn watch(backend: Backend, global: &Global, output: &Output) -> Done {
    let _notifier = match backend.crib() {
        Some(crib) => notifying::start(crib, None)?,
        // The server does.
        None => None,
    };
    let asks = !output.json() && !output.plain() && !global.no_input;
    let terminal = asks
        .then(|| Terminal::find(output.colours_terminal()))
        .flatten();
    let mut watch = Watch {
        backend: &backend,
        screen: Arc::new(Screen::new()),
        terminal: terminal.map(Arc::new),
        global,
        output,
        seen: HashMap::new(),
        skipped: HashSet::new(),
        others: Vec::new(),
    };
    let done = watch.follow();
    backend.runtime.shutdown_background();
    done
}

struct Watch<'a> {
    backend: &'a Backend,
    screen: Arc<Screen>,
    terminal: Option<Arc<Terminal>>,
    global: &'a Global,
    output: &'a Output,
    /// How each request stood when it was last looked at.
    seen: HashMap<String, (Status, bool)>,
    skipped: HashSet<String>,
    /// The cribs of other workspaces that requests were about.
    others: Vec<Arc<Crib>>,
}

impl Watch<'_> {
    fn follow(&mut self) -> Done {
        let runtime = &self.backend.runtime;
        let ending = CancellationToken::new();
        let interrupted = runtime.spawn(end_on_interrupt(ending.clone(), Arc::clone(&self.screen)));
        let words = match self.terminal {
            Some(_) => "requests are shown as they arrive; Ctrl-C ends the watch",
            None => "watching; Ctrl-C ends it",
        };
        self.output.say(&self.output.dim(words));
        let mut is_first = true;
        let code = loop {
            let (requests, _) = super::list(None, self.backend)?;
            self.report(&requests, is_first);
            is_first = false;
            if let Some(Ended::Quit) = self.put_next(&requests, &ending) {
                break ExitCode::SUCCESS;
            }
            if ending.is_cancelled() {
                break ExitCode::from(ErrorCode::Cancelled.exit_code());
            }
            if self.output.has_failed() {
                break ExitCode::SUCCESS;
            }
            let pause = async { tokio::time::timeout(EVERY, ending.cancelled()).await };
            if let (Ok(()), Some(terminal)) = (runtime.block_on(pause), &self.terminal) {
                // The cursor is behind a `^C`.
                terminal.say("");
            }
        };
        interrupted.abort();
        Ok(code)
    }

    /// Prints what has changed. What was over when the watch began is not news.
    fn report(&mut self, requests: &[Queued], is_first: bool) {
        for queued in requests {
            let now = (queued.status, queued.waiting);
            let before = self.seen.insert(queued.request.id.clone(), now);
            let is_news = match before {
                None => !is_first || queued.status == Status::Pending,
                Some(before) => before != now,
            };
            if !is_news {
                continue;
            }
            if self.output.json() {
                self.output.ndjson(queued);
            } else if self.terminal.is_none() {
                print_change(queued, self.output);
            }
        }
        let ids: HashSet<&str> = requests
            .iter()
            .map(|queued| queued.request.id.as_str())
            .collect();
        self.seen.retain(|id, _| ids.contains(id.as_str()));
    }

    /// Puts the oldest open request to the person, if there is one of both.
    fn put_next(&mut self, requests: &[Queued], ending: &CancellationToken) -> Option<Ended> {
        let terminal = self.terminal.clone()?;
        let open = requests.iter().find(|queued| {
            queued.status == Status::Pending && !self.skipped.contains(&queued.request.id)
        });
        let queued = open?;
        let desk = Desk {
            questions: self.questions_for(queued),
            screen: Arc::clone(&self.screen),
            terminal,
            whose: Whose::Another,
        };
        let put = desk.put(queued.request.clone(), ending);
        let ended = self.backend.runtime.block_on(put);
        if ended == Ended::Skipped {
            self.skipped.insert(queued.request.id.clone());
        }
        Some(ended)
    }

    /// Judges edits of a request: the server, or the crib of its workspace. Where that cannot be opened, the watch's own crib judges and
    /// says so: a missing workspace must not keep the others from being answered.
    fn questions_for(&mut self, queued: &Queued) -> Arc<dyn Questions> {
        let Some(own) = self.backend.crib() else {
            let (client, runtime) = (&self.backend.client, self.backend.runtime.handle());
            return Arc::new(ServersQuestions::of(client, runtime));
        };
        let workspace = queued
            .request
            .workspace
            .as_deref()
            .map(std::path::Path::new);
        let mut known = self.others.iter();
        if let Some(crib) = known.find(|crib| crib.workspace_path() == workspace) {
            return Arc::clone(crib) as Arc<dyn Questions>;
        }
        match crib_of(&queued.request, own, self.global, self.output) {
            Ok(None) | Err(_) => Arc::clone(own) as Arc<dyn Questions>,
            Ok(Some(other)) => {
                let other = Arc::new(other);
                self.others.push(Arc::clone(&other));
                other
            }
        }
    }
}

/// Prints the present status of a request.
fn print_change(queued: &Queued, output: &Output) {
    let request = &queued.request;
    let effect = in_one_line(&request.effect, output);
    if output.plain() {
        let cells = [&request.id, &standing(queued), &request.tool, &effect];
        let cells = cells.map(|cell| text::visible(cell).replace(['\n', '\t'], " "));
        output.line(&cells.join("\t"));
        return;
    }
    let words = match queued.status {
        Status::Pending => standing(queued),
        Status::Approved
        | Status::Denied
        | Status::Used
        | Status::Expired
        | Status::Withdrawn
        | Status::Replaced => settled_in_words(queued),
    };
    let line = format!(
        "{}  {}  ({words})",
        text::shorten(&request.tool, 60),
        effect.replace(['\n', '\t'], " ")
    );
    let mark = format!("{}  ", short(&request.id));
    for line in item(&mark, &line, line_page(output)) {
        output.line(&line);
    }
}

/// Ctrl-C ends the watch, but not while an editor has the terminal.
async fn end_on_interrupt(ending: CancellationToken, screen: Arc<Screen>) {
    while tokio::signal::ctrl_c().await.is_ok() {
        if !screen.is_editing() {
            ending.cancel();
            return;
        }
    }
}
