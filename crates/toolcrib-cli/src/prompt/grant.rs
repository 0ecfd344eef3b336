//! "Don't ask again": which calls, how far, how long, how often; with what it would have allowed in the past.

use std::time::Duration;

use toolcrib::approval::ApprovalResponse;
use toolcrib::approval::grants::{GrantRequest, Scope};
use toolcrib::model::text;

use super::talk::{Next, Talk};
use super::terminal::Line;
use super::who::whoami;
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
            self.say(&self.paint.dim(&why));
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
            let number = self.paint.bold(&(number + 1).to_string());
            self.say(&format!("  {number}  {}", text::shorten(&offer.words, 400)));
        }
        let offer = self.until(
            &format!("Which? (1-{}, Enter: none) ", offers.len()),
            |word| match word {
                "" => Some(None),
                word => {
                    let number: usize = word.parse().ok()?;
                    let offer = offers.get(number.checked_sub(1)?)?;
                    Some(Some(offer))
                }
            },
        )?;
        let offer = offer.ok_or(Stop::Back)?;
        match self.crib.simulate(&self.request.tool, &offer.shape) {
            Ok(simulation) => self.say(&self.paint.doubtful(&format!("  this {simulation}"))),
            Err(error) => {
                let message = format!("  the past calls cannot be read: {}", error.message());
                self.say(&self.paint.dim(&message));
            }
        }
        let scope = self.until(
            "How far? (p this project, s this terminal session, u all projects; Enter: p) ",
            |word| match word {
                "" | "p" | "project" => Some(Scope::Project),
                "s" | "session" => Some(Scope::Session),
                "u" | "user" => Some(Scope::User),
                _ => None,
            },
        )?;
        let usual = scope.default_duration();
        let lasting = self.until(
            &format!(
                "How long? (30m, 8h, 7d; Enter: {}) ",
                duration::in_words(usual)
            ),
            |word| match word {
                "" => Some(usual),
                word => duration::parse(word).ok(),
            },
        )?;
        let uses = self.until(
            "How many calls? (a number; Enter: any number) ",
            |word| match word {
                "" => Some(None),
                word => word.parse::<u64>().ok().filter(|uses| *uses > 0).map(Some),
            },
        )?;
        let mut grant = GrantRequest::of(offer, scope).lasting(lasting);
        if let Some(uses) = uses {
            grant = grant.uses(uses);
        }
        self.say(&format!(
            "{}: {}",
            in_words(scope, lasting, uses),
            text::shorten(&offer.words, 400)
        ));
        let sure = self.until(
            "Approve, and allow that from now on? (y/n) ",
            |word| match word {
                "y" | "yes" => Some(true),
                "n" | "no" => Some(false),
                _ => None,
            },
        )?;
        if sure { Ok(grant) } else { Err(Stop::Back) }
    }

    /// Asks until the answer can be read.
    fn until<T>(&self, question: &str, read: impl Fn(&str) -> Option<T>) -> Step<T> {
        loop {
            match self.terminal.ask(question, self.wake) {
                Line::Woken => return Err(Stop::Woken),
                Line::End => return Err(Stop::Back),
                Line::Text(word) => {
                    if let Some(answer) = read(&word.trim().to_lowercase()) {
                        return Ok(answer);
                    }
                }
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
