//! [`Talk`]: one question, put and answered.

use std::time::{Duration, Instant};

use toolcrib::ToolError;
use toolcrib::approval::{ApprovalRequest, ApprovalResponse, Queued, Status};
use toolcrib::model::text;

use super::answerer::whoami;
use super::questions::{Questions, Unanswered};
use super::screen::Screen;
use super::terminal::{Line, Terminal, Wake};
use super::words::{Extent, Page, Paint, describe, everything, is_cut_diff, item};
use crate::duration;
use crate::ids::short;
use crate::wrap::width;

/// Whose call a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// One of this process: no one there to answer means no.
    Own,
    /// Someone else's: it can be left for later.
    Another,
}

/// How a dialogue ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It was answered here.
    Answered,
    /// It was answered elsewhere, has expired or was withdrawn.
    Elsewhere,
    /// It was left for later.
    Skipped,
    /// The person wants no more questions.
    Quit,
}

/// What follows an action.
pub(super) enum Next {
    /// The person is asked again.
    Again,
    Over(Ended),
}

pub(crate) struct Talk<'a> {
    pub(super) questions: &'a dyn Questions,
    pub(super) request: &'a ApprovalRequest,
    pub(super) terminal: &'a Terminal,
    pub(super) screen: &'a Screen,
    pub(super) wake: &'a Wake,
    pub(super) paint: Paint,
    whose: Whose,
    ends: Option<Instant>,
    is_awaited: bool,
    is_cut: bool,
    /// What was typed into the editor and not approved yet.
    pub(super) draft: Option<String>,
}

impl<'a> Talk<'a> {
    pub(crate) fn new(
        questions: &'a dyn Questions,
        request: &'a ApprovalRequest,
        terminal: &'a Terminal,
        screen: &'a Screen,
        wake: &'a Wake,
        whose: Whose,
    ) -> Self {
        Talk {
            questions,
            request,
            terminal,
            screen,
            wake,
            paint: Paint(terminal.colour()),
            whose,
            ends: None,
            is_awaited: true,
            is_cut: false,
            draft: None,
        }
    }

    /// Puts the question and stays until it is settled.
    pub(crate) fn hold(mut self) -> Ended {
        match self.questions.show(&self.request.id) {
            // An earlier answer to the same call, for instance, which the call takes up.
            Ok(queued) if queued.status != Status::Pending => return Ended::Elsewhere,
            Ok(queued) => {
                let left = queued.remaining_ms.map(Duration::from_millis);
                self.ends = left.map(|left| Instant::now() + left);
                self.is_awaited = queued.waiting;
            }
            Err(error) => {
                self.fault(&error);
                return Ended::Skipped;
            }
        }
        let _attention = self.terminal.attend();
        self.introduce();
        loop {
            let next = match self.terminal.ask(&self.keys(), self.wake) {
                Line::Woken => Next::Over(self.settled()),
                Line::End => match self.whose {
                    Whose::Own => self.respond(self.no("")),
                    Whose::Another => Next::Over(Ended::Quit),
                },
                Line::Text(word) => self.act(&word.trim().to_lowercase()),
            };
            if let Next::Over(ended) = next {
                return ended;
            }
        }
    }

    fn act(&mut self, word: &str) -> Next {
        match word {
            "y" | "yes" => self.respond(ApprovalResponse::approve(whoami())),
            "n" | "no" => self.deny(),
            "e" | "edit" => self.edit(),
            "g" | "grant" => self.grant(),
            "d" | "diff" => self.show_all(),
            "s" | "skip" if self.whose == Whose::Another => Next::Over(Ended::Skipped),
            "q" | "quit" if self.whose == Whose::Another => Next::Over(Ended::Quit),
            "?" | "h" | "help" => {
                self.help();
                Next::Again
            }
            "" => Next::Again,
            _ => {
                self.say(&self.paint.dim("type one of these letters, then Enter"));
                Next::Again
            }
        }
    }

    pub(super) fn say(&self, line: &str) {
        self.terminal.say(line);
    }

    pub(super) fn say_all(&self, lines: &[String]) {
        lines.iter().for_each(|line| self.say(line));
    }

    /// How much of something is shown, on this terminal.
    pub(super) fn page(&self) -> Page {
        Page {
            extent: Extent::Screen(self.terminal.rows()),
            columns: self.terminal.columns(),
            paint: self.paint,
        }
    }

    pub(super) fn fault(&self, message: &str) {
        let lines = item("error: ", message, self.page());
        let lines = lines.iter().map(|line| match line.strip_prefix("error:") {
            Some(rest) => format!("{}{rest}", self.paint.bad("error:")),
            None => line.clone(),
        });
        self.say_all(&lines.collect::<Vec<_>>());
    }

    /// An error with all its faults.
    pub(super) fn faults(&self, error: &ToolError) {
        let lines = fault_lines(error);
        if let [one] = lines.as_slice() {
            self.fault(one);
            return;
        }
        self.say(&self.paint.bad("error:"));
        for line in lines {
            self.say_all(&item("  ", &line, self.page()));
        }
    }

    fn introduce(&mut self) {
        let request = self.request;
        let mark = self.paint.doubtful("?");
        let tool = self.paint.bold(&text::shorten(&request.tool, 60));
        let id = self.paint.dim(&format!("· {}", short(&request.id)));
        self.say(&format!("{mark} {tool} needs your approval {id}"));
        if let (Whose::Another, Some(workspace)) = (self.whose, &request.workspace) {
            self.say_all(&item("  in ", workspace, self.page()));
        }
        if self.whose == Whose::Another {
            match self.questions.pending().saturating_sub(1) {
                0 => {}
                1 => self.say(&self.paint.dim("  1 other request waits")),
                others => {
                    let others = format!("  {others} other requests wait");
                    self.say(&self.paint.dim(&others));
                }
            }
        }
        if !self.is_awaited {
            let gone = "  its caller is gone; repeating the call uses the answer";
            self.say(&self.paint.dim(gone));
        }
        let shown = describe(request, self.page());
        self.is_cut = shown.is_cut;
        self.say_all(&shown.lines);
        if !shown.lines.last().is_some_and(String::is_empty) {
            self.say("");
        }
    }

    /// The line that is asked again and again.
    fn keys(&self) -> String {
        let mut keys = vec!["y approve", "n deny", "e edit"];
        if !self.request.offers.is_empty() {
            keys.push("g don't ask again");
        }
        match (self.is_cut, &self.request.diff) {
            (true, _) => keys.push("d show all"),
            (false, Some(_)) => keys.push("d diff"),
            (false, None) => {}
        }
        if self.whose == Whose::Another {
            keys.push("s skip");
        }
        keys.push("? help");
        let left = self.ends.map_or(String::new(), |ends| {
            let left = ends.saturating_duration_since(Instant::now());
            format!(" ({} left)", duration::in_words(left))
        });
        let columns = self.terminal.columns();
        let (mut line, mut column) = (String::new(), 0);
        for (index, key) in keys.iter().enumerate() {
            let is_last = index + 1 == keys.len();
            let behind = if is_last { width(&left) + 3 } else { 3 };
            if column + width(key) + behind > columns {
                line.push('\n');
                column = 0;
            }
            match key.split_once(' ') {
                Some((letter, words)) => {
                    line.push_str(&format!("{} {words}", self.paint.bold(letter)));
                }
                None => line.push_str(key),
            }
            if !is_last {
                line.push_str(&self.paint.dim(" · "));
            }
            column += width(key) + 3;
        }
        format!("{line}{} > ", self.paint.dim(&left))
    }

    fn help(&self) {
        let mut lines = vec![
            "y  run it, this once",
            "n  refuse it; you may give the caller a reason",
            "e  change the arguments first: in $VISUAL or $EDITOR, or typed here",
        ];
        lines.push(if self.request.offers.is_empty() {
            "g  is not available: calls like this ask every time"
        } else {
            "g  run it, and do not ask again for calls like it"
        });
        lines.push("d  show everything: all of the arguments and the diff");
        if self.request.diff.as_deref().is_some_and(is_cut_diff) {
            lines.push(
                "   (the diff is kept up to a limit: the new content is among the arguments,",
            );
            lines.push("   what is there now in the file)");
        }
        lines.push("│  marks what the caller wrote; ┊ continues the line above");
        lines.push(match self.whose {
            Whose::Own => "Ctrl-C cancels the call, Ctrl-D refuses it",
            Whose::Another => "s leaves it for later, Ctrl-D or Ctrl-C ends the watch",
        });
        for line in lines {
            self.say(&format!("  {line}"));
        }
        let id = short(&self.request.id);
        let elsewhere = format!("  from another terminal: toolcrib approvals approve {id}");
        self.say(&self.paint.dim(&elsewhere));
    }

    fn deny(&mut self) -> Next {
        match self.terminal.ask("Why? (Enter: no reason) ", self.wake) {
            Line::Woken => Next::Over(self.settled()),
            Line::Text(reason) => self.respond(self.no(reason.trim())),
            Line::End => self.respond(self.no("")),
        }
    }

    fn no(&self, reason: &str) -> ApprovalResponse {
        let mut response = ApprovalResponse::deny(whoami(), reason);
        response.reason = response.reason.filter(|reason| !reason.is_empty());
        response
    }

    /// Everything, a screen at a time.
    fn show_all(&mut self) -> Next {
        let all = everything(self.request, self.page());
        let page = self.terminal.rows().saturating_sub(2).max(5);
        let mut left = all.as_slice();
        loop {
            let (now, later) = left.split_at(page.min(left.len()));
            for line in now {
                self.say(line);
            }
            left = later;
            if left.is_empty() {
                self.say("");
                return Next::Again;
            }
            let lines = if left.len() == 1 { "line" } else { "lines" };
            let question = format!(
                "-- {} more {lines}: Enter continues, q stops -- ",
                left.len()
            );
            match self.terminal.ask(&self.paint.dim(&question), self.wake) {
                Line::Woken => return Next::Over(self.settled()),
                Line::Text(word) if word.trim().is_empty() => {}
                Line::Text(word) => {
                    self.say("");
                    if !matches!(word.trim(), "q" | "Q" | "quit") {
                        let what = "stopped here; the question is still open";
                        self.say(&self.paint.dim(what));
                    }
                    return Next::Again;
                }
                Line::End => return Next::Again,
            }
        }
    }

    /// Answers, unless someone was faster.
    pub(super) fn respond(&mut self, response: ApprovalResponse) -> Next {
        let approved = response.approved;
        let (is_edited, is_grant) = (response.modified_args.is_some(), response.grant.is_some());
        match self.questions.answer(self.request, response) {
            Ok(()) => {
                let words = match (approved, is_edited) {
                    (true, true) => self.paint.good("approved, as edited"),
                    (true, false) => self.paint.good("approved"),
                    (false, _) => self.paint.bad("denied"),
                };
                self.say(&words);
                if is_grant {
                    let hint = "`toolcrib grants list` shows what is allowed, `grants revoke` takes it back";
                    self.say(&self.paint.dim(hint));
                }
                Next::Over(Ended::Answered)
            }
            Err(Unanswered::BadEdit(error)) => {
                self.faults(&error);
                Next::Again
            }
            Err(Unanswered::Settled) => Next::Over(self.settled()),
            Err(Unanswered::Failed(why)) => {
                self.fault(&why);
                Next::Again
            }
        }
    }

    /// The question is no more: says why.
    pub(super) fn settled(&self) -> Ended {
        if let Ok(queued) = self.questions.show(&self.request.id) {
            let words = match (queued.status, self.whose) {
                // Ended by Ctrl-C, which the caller learns anyway.
                (Status::Withdrawn, Whose::Own) | (Status::Pending, _) => None,
                _ => Some(settled_in_words(&queued)),
            };
            if let Some(words) = words {
                self.say(&self.paint.bold(&words));
            }
        }
        Ended::Elsewhere
    }
}

/// How a question was settled.
pub(crate) fn settled_in_words(queued: &Queued) -> String {
    let word = match (queued.status, &queued.answer) {
        (Status::Pending, _) => return "waits for an answer".to_owned(),
        (Status::Withdrawn, _) => return "withdrawn: the call was cancelled".to_owned(),
        (Status::Replaced, _) => {
            return "replaced: a file that it runs changed, so the call is asked about again"
                .to_owned();
        }
        (Status::Expired, None) => return "expired: no one answered in time".to_owned(),
        (Status::Expired, Some(_)) => {
            return "expired: it was approved, but the call was not made in time".to_owned();
        }
        (Status::Denied, _) => "denied",
        (Status::Approved | Status::Used, _) => "approved",
    };
    let Some(answer) = &queued.answer else {
        return word.to_owned();
    };
    let by = match answer.by.as_str() {
        "" => "another person".to_owned(),
        by => text::shorten(by, 100),
    };
    let edited = match answer.modified_args {
        Some(_) => ", with other arguments",
        None => "",
    };
    let reason = answer.reason.as_deref().filter(|reason| !reason.is_empty());
    let reason = reason.map_or(String::new(), |reason| {
        format!(": {}", text::shorten(reason, 400))
    });
    format!("{word} by {by}{edited}{reason}")
}

/// What an error says, a line for each fault.
pub(super) fn fault_lines(error: &ToolError) -> Vec<String> {
    let faults = error.details().and_then(|details| details.get("faults"));
    let faults = faults.and_then(|faults| faults.as_array());
    let visible = |text: &str| text::visible(text).replace('\n', " ");
    match faults {
        Some(faults) if faults.len() > 1 => faults
            .iter()
            .map(|fault| {
                let part = |key: &str| {
                    let part = fault.get(key).and_then(|part| part.as_str());
                    visible(part.unwrap_or_default())
                };
                format!("{} {}", part("pointer"), part("message"))
            })
            .collect(),
        _ => vec![visible(error.message())],
    }
}
