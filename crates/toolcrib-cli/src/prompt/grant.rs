//! "Don't ask again": which calls, how far, how long, how often; with what it would have allowed in the past.

use std::time::Duration;

use toolcrib::approval::ApprovalResponse;
use toolcrib::approval::grants::{GrantRequest, Scope};
use toolcrib::model::text;

use super::talk::{Next, Talk};
use super::terminal::Line;
use super::who::whoami;
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
                Some(why) => format!("asked about every time: {}", text::shorten(why, 400)),
                None => "calls like this are asked about every time".to_owned(),
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
        let scope = self.until(
            "How far? (p project, s session, u everywhere; Enter: p) ",
            |word| match word {
                "" | "p" | "project" => Ok(Scope::Project),
                "s" | "session" => Ok(Scope::Session),
                "u" | "user" => Ok(Scope::User),
                _ => Err("type p, s or u".to_owned()),
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
        let mut grant = GrantRequest::of(offer, scope).lasting(lasting);
        if let Some(uses) = uses {
            grant = grant.uses(uses);
        }
        let mark = format!("{}: ", in_words(scope, lasting, uses));
        self.say(&mark);
        self.say_all(&item("  ", &offer.words, self.page()));
        let sure = self.until(
            "Approve, and allow that from now on? (y/n) ",
            |word| match word {
                "y" | "yes" => Ok(true),
                "n" | "no" => Ok(false),
                _ => Err("type y or n".to_owned()),
            },
        )?;
        if sure { Ok(grant) } else { Err(Stop::Back) }
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

/// How far, how long and how often.
fn in_words(scope: Scope, lasting: Duration, uses: Option<u64>) -> String {
    let scope = match scope {
        Scope::Call => "Within this call",
        Scope::Session => "In this terminal session",
        Scope::Project => "In this project",
        Scope::User => "In all projects",
    };
    let uses = match uses {
        None => String::new(),
        Some(1) => ", for one call".to_owned(),
        Some(uses) => format!(", for {uses} calls"),
    };
    format!("{scope}, for {}{uses}", duration::in_words(lasting))
}
