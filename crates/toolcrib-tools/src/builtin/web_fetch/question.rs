//! Whether a request may go, whether a person is asked, and what is said to them.
//!
//! No name is looked up here: a lookup is itself a message. What was agreed to is kept as the decision's basis, and only that host is
//! reached besides those of the setting.

use serde_json::{Value, json};

use super::arguments::{Args, Verb};
use crate::approval::grants::Origin;
use crate::egress::{Egress, EgressError, ExchangeLog, HostVerdict, Reach, Target};
use crate::model::JsonObject;
use crate::model::effects::Approval;
use crate::model::error::ToolError;
use crate::model::text;
use crate::tool::Look;

/// How much of a path and of a query is shown.
const MAX_SHOWN: usize = 300;

/// Whether a request can ever go, and whether a person is asked.
pub(super) fn look(egress: &Egress, args: &JsonObject) -> Look {
    // What makes no sense is refused; should it come further all the same, no one can agree to it.
    let senseless = || Look::from(Approval::deny("the URL is none that can be asked"));
    let Some(url) = args.get("url").and_then(Value::as_str) else {
        return senseless();
    };
    let (url, target) = match Target::parse(url) {
        Ok(parsed) => parsed,
        Err(error) => return senseless().with_refusal(ToolError::from(error)),
    };
    let standing = egress.standing(&target);
    if let HostVerdict::Refused(refusal) = standing {
        let denied = Look::from(Approval::deny(refusal.message.clone()));
        return denied.with_refusal(ToolError::from(EgressError::Refused(refusal)));
    }
    let Ok(args) = Args::read(args) else {
        return senseless();
    };
    let approval = match standing {
        HostVerdict::Unlisted => Approval::ask(format!(
            "`{}` is not one of `allowedHosts`",
            text::shorten(&Origin::from(&target).authority(), 300)
        ))
        .with_basis(json!({"origin": Origin::from(&target)})),
        HostVerdict::Listed | HostVerdict::Refused(_) => Approval::allow(),
    };
    approval.with_effect(effect(&args, &url, &target)).into()
}

/// Which targets the request may go to: those of the setting, and the one that was agreed to.
pub(super) fn reach(basis: Option<&Value>, target: &Target) -> Reach {
    let agreed = basis.and_then(|basis| basis["origin"].as_str());
    if agreed == Some(Origin::from(target).to_string().as_str()) {
        Reach::ListedOr(target.clone())
    } else {
        Reach::Listed
    }
}

/// An error with what to do about it: a redirection to another host can be asked for by itself.
pub(super) fn explained(error: EgressError, left: &ExchangeLog) -> ToolError {
    // A first hop that was answered, and a refusal after it.
    let was_redirected = left
        .exchanges()
        .iter()
        .any(|exchange| exchange.status.is_some());
    match error {
        EgressError::Refused(refusal) if was_redirected => {
            let message = format!(
                "{}; a redirection led there, and `web_fetch` with that URL asks for it",
                refusal.message
            );
            EgressError::Refused(message.into()).into()
        }
        error => error.into(),
    }
}

/// The request in words: method, host, path, and what goes along.
fn effect(args: &Args, url: &url::Url, target: &Target) -> String {
    let verb = match args.method {
        Verb::Get => "fetch (GET)",
        Verb::Head => "ask about (HEAD)",
        Verb::Post => "send (POST) to",
    };
    let mut words = format!(
        "{verb} `{}://{}{}`",
        url.scheme(),
        Origin::from(target).authority(),
        text::shorten(url.path(), MAX_SHOWN)
    );
    if let Some(query) = url.query() {
        // Data can leave in a query as well as in a body.
        words.push_str(&format!(
            " with the query `{}`, {}",
            text::shorten(query, MAX_SHOWN),
            text::size(query.len() as u64)
        ));
    }
    if let Some(body) = &args.body {
        words.push_str(&format!(
            ", body of {}: `{}`",
            text::size(body.len() as u64),
            text::shorten(body, MAX_SHOWN)
        ));
    }
    if !args.headers.is_empty() {
        let names: Vec<String> = args
            .headers
            .keys()
            .take(20)
            .map(|name| format!("`{}`", text::shorten(name, 60)))
            .collect();
        let more = args.headers.len().saturating_sub(names.len());
        words.push_str(&format!(", headers {}", names.join(", ")));
        if more > 0 {
            words.push_str(&format!(" and {more} more"));
        }
    }
    words
}
