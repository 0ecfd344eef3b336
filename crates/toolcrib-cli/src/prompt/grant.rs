//! "Don't ask again": which calls, with what it would have allowed in the past; then the terms, which can be changed.

use std::time::Duration;

use toolcrib::approval::ApprovalResponse;
use toolcrib::approval::grants::{GrantRequest, MAX_DURATION, Scope};
use toolcrib::model::text;

use super::answerer::whoami;
use super::talk::{Next, Talk};
use super::terminal::Line;
use super::words::item;
use crate::duration;

/// What a step of the dialogue gives, or why there is no next one.
type Step<T> = Result<T, Stop>;

enum Stop {
    /// Back to the question.
    Back,
    /// The question is no more.
    Woken,
}

impl Talk<'_> {
    pub(super) fn grant(&mut self) -> Next {
        if self.request.offers.is_empty() {
            let why = match &self.request.no_grant {
                Some(why) => format!("asks every time: {}", text::shorten(why, 400)),
                None => "calls like this ask every time".to_owned(),
            };
            self.say_all(&item("", &why, self.page()));
            return Next::Again;
        }
        match self.grant_request() {
            Ok(grant) => {
                let response = ApprovalResponse::approve(whoami()).with_grant(grant);
                self.respond(response)
            }
            Err(Stop::Back) => {
                self.say(&self.paint.dim("no grant was made"));
                Next::Again
            }
            Err(Stop::Woken) => Next::Over(self.settled()),
        }
    }

    fn grant_request(&self) -> Step<GrantRequest> {
        let offers = &self.request.offers;
        self.say("Do not ask again for");
        for (number, offer) in offers.iter().enumerate() {
            let mark = format!("  {}  ", number + 1);
            self.say_all(&item(&mark, &offer.words, self.page()));
        }
        let offer = self.until(
            &format!("Which? (1-{}, Enter: none) ", offers.len()),
            |word| match word {
                "" => Ok(None),
                word => {
                    let number: Option<usize> = word.parse().ok();
                    let offer = number.and_then(|number| offers.get(number.checked_sub(1)?));
                    let wrong = || match offers.len() {
                        1 => "type 1, or Enter for none".to_owned(),
                        most => format!("type a number from 1 to {most}, or Enter for none"),
                    };
                    offer.map(Some).ok_or_else(wrong)
                }
            },
        )?;
        let offer = offer.ok_or(Stop::Back)?;
        match self.questions.simulate(&self.request.tool, &offer.shape) {
            Ok(Some(words)) => self.say(&self.paint.doubtful(&format!("  this {words}"))),
            Ok(None) => {}
            Err(why) => {
                let message = format!("  the past calls cannot be read: {why}");
                self.say(&self.paint.dim(&message));
            }
        }
        let mut terms = Terms::usual(offer.whole_tool);
        loop {
            let question = format!("{}? (y, n, or c to change) ", terms.in_words());
            let answer = self.until(&question, |word| match word {
                "y" | "yes" => Ok(Answer::Yes),
                "n" | "no" => Ok(Answer::No),
                "c" | "change" => Ok(Answer::Change),
                _ => Err("type y, n or c".to_owned()),
            })?;
            match answer {
                Answer::Yes => break,
                Answer::No => return Err(Stop::Back),
                Answer::Change => terms = self.terms()?,
            }
        }
        let mut grant = GrantRequest::of(offer, terms.scope).lasting(terms.lasting);
        if let Some(uses) = terms.uses {
            grant = grant.uses(uses);
        }
        Ok(grant)
    }

    /// Other terms than the usual ones.
    fn terms(&self) -> Step<Terms> {
        let scope = self.until(
            "Where? (p this project, s this session, e everywhere; Enter: p) ",
            |word| match word {
                "" | "p" | "project" => Ok(Scope::Project),
                "s" | "session" => Ok(Scope::Session),
                "e" | "everywhere" | "u" | "user" => Ok(Scope::User),
                _ => Err("type p, s or e".to_owned()),
            },
        )?;
        let usual = scope.default_duration();
        let lasting = self.until(
            &format!(
                "How long? (30m, 8h, 7d; Enter: {}) ",
                duration::in_words(usual)
            ),
            |word| match word {
                "" => Ok(usual),
                word => duration::of_grant(word),
            },
        )?;
        let uses = self.until(
            "How many calls? (a number; Enter: any number) ",
            |word| match word {
                "" => Ok(None),
                word => match word.parse::<u64>() {
                    Ok(uses @ 1..) => Ok(Some(uses)),
                    _ => Err("type a number from 1 up, or Enter for any number".to_owned()),
                },
            },
        )?;
        Ok(Terms {
            scope,
            lasting,
            uses,
        })
    }

    /// Asks until the answer can be read, saying what was wrong with those that could not.
    fn until<T>(&self, question: &str, read: impl Fn(&str) -> Result<T, String>) -> Step<T> {
        loop {
            match self.terminal.ask(question, self.wake) {
                Line::Woken => return Err(Stop::Woken),
                Line::End => return Err(Stop::Back),
                Line::Text(word) => match read(&word.trim().to_lowercase()) {
                    Ok(answer) => return Ok(answer),
                    Err(wrong) => self.fault(&wrong),
                },
            }
        }
    }
}

/// Where, how long and how often a grant holds.
#[derive(Debug, Clone, Copy)]
struct Terms {
    scope: Scope,
    lasting: Duration,
    uses: Option<u64>,
}

enum Answer {
    Yes,
    No,
    Change,
}

impl Terms {
    /// Those that fit most: a second answer is enough then.
    fn usual(whole_tool: bool) -> Self {
        Terms {
            scope: Scope::Project,
            // A whole tool is granted until its definition changes.
            lasting: match whole_tool {
                true => MAX_DURATION,
                false => Scope::Project.default_duration(),
            },
            uses: None,
        }
    }

    fn in_words(self) -> String {
        let scope = match self.scope {
            Scope::Call => "Within this call",
            Scope::Session => "In this terminal session",
            Scope::Project => "In this project",
            Scope::User => "In all projects",
        };
        let uses = match self.uses {
            None => "any number of calls".to_owned(),
            Some(1) => "one call".to_owned(),
            Some(uses) => format!("{uses} calls"),
        };
        format!("{scope} for {}, {uses}", long(self.lasting))
    }
}

/// A time with its unit written out, where one unit is enough: `30 days`.
fn long(time: Duration) -> String {
    let seconds = time.as_secs();
    for (unit, word) in [(86_400, "day"), (3600, "hour"), (60, "minute")] {
        if seconds >= unit && seconds.is_multiple_of(unit) {
            let count = seconds / unit;
            let plural = if count == 1 { "" } else { "s" };
            return format!("{count} {word}{plural}");
        }
    }
    duration::in_words(time)
}
