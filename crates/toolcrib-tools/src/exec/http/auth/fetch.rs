//! One exchange with a token server, and what follows from it: the token is made known to the masker, and a new refresh token is
//! kept.
//!
//! A refresh token that a server replaces is worth more than the call that was given it: without the new one someone has to sign
//! in again. So it is written over the secret of the old one, with its binding, before anybody gets the access token. Where that
//! cannot be (the file has more than `${NAME}`, or the home cannot be written), it is kept in memory, and the call says so.

use std::time::Duration;

use super::answer::{self, Answer};
use super::grant::{Grant, StoredToken};
use crate::egress::{Egress, EgressError, ExchangeLog, Response};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::secret::Secret;
use crate::secret::SecretError;

/// A token that was just given.
#[derive(Debug, Clone)]
pub(super) struct Fetched {
    pub(super) token: Secret,
    pub(super) lasts: Duration,
    /// The refresh tokens that stand for this access token: the one that was used, and the one that came.
    pub(super) refresh_tokens: Vec<Secret>,
    /// The refresh token for next time, if it is only known here.
    pub(super) unkept: Option<Secret>,
    /// What someone should know.
    pub(super) notice: Option<String>,
}

/// Gets a token. `remembered` is a refresh token that came last time and is kept nowhere else; `log` is the record of the call that
/// has it fetched.
pub(super) async fn fetch(
    grant: Grant,
    remembered: Option<Secret>,
    egress: Egress,
    log: ExchangeLog,
) -> Result<Fetched, ToolError> {
    let refresh_token = match &grant.refresh {
        None => None,
        // Someone else may have replaced it since the call looked.
        Some(refresh) => remembered
            .or_else(|| refresh.place.as_ref().and_then(StoredToken::reveal))
            .or_else(|| Some(refresh.token.clone())),
    };
    let (used, response) = exchange(&grant, refresh_token, &egress, log).await?;
    let answer = answer::read(&response).map_err(|refusal| refusal.into_error(&grant))?;
    if let Some(store) = &grant.store {
        store.also_mask(&answer.token);
        if let Some(next) = &answer.refresh_token {
            store.also_mask(next);
        }
    }
    Ok(keep(&grant, used, answer).await)
}

/// Asks, a second time if that may help: because nothing had been sent, or because another process was faster in using a refresh
/// token that is good only once.
async fn exchange(
    grant: &Grant,
    mut refresh_token: Option<Secret>,
    egress: &Egress,
    log: ExchangeLog,
) -> Result<(Option<Secret>, Response), ToolError> {
    let mut first = true;
    loop {
        let mut request = grant.request(refresh_token.as_ref());
        request.log = log.clone();
        let again = std::mem::replace(&mut first, false);
        match egress.send(request).await {
            Err(EgressError::Network { unsent: true, .. }) if again => {}
            Err(error) => return Err(said_of(error, grant)),
            Ok(response) => {
                let refused =
                    answer::read(&response).is_err_and(|refusal| refusal.is_of_refresh_token());
                let place = grant
                    .refresh
                    .as_ref()
                    .and_then(|refresh| refresh.place.as_ref());
                let newer = place.and_then(StoredToken::reveal);
                if !(again && refused && newer.is_some() && newer != refresh_token) {
                    return Ok((refresh_token, response));
                }
                refresh_token = newer;
            }
        }
    }
}

/// Keeps what the server gave for next time.
async fn keep(grant: &Grant, used: Option<Secret>, answer: Answer) -> Fetched {
    let mut fetched = Fetched {
        token: answer.token,
        lasts: answer.lasts,
        refresh_tokens: used.into_iter().collect(),
        unkept: None,
        notice: None,
    };
    let Some(refresh) = &grant.refresh else {
        return fetched;
    };
    let Some(next) = answer.refresh_token else {
        return fetched;
    };
    if fetched.refresh_tokens.contains(&next) {
        return fetched;
    }
    let kept = match &refresh.place {
        Some(place) => place.replace(next.clone()).await,
        None => Err("`auth.refreshToken` is not one secret and nothing else".to_owned()),
    };
    if let Err(why) = kept {
        fetched.notice = Some(format!(
            "the token server `{}` gave a new refresh token, which is kept in memory only: {why}",
            grant.server()
        ));
        // The file goes on naming the first one.
        fetched.refresh_tokens.push(refresh.token.clone());
        fetched.unkept = Some(next.clone());
    }
    fetched.refresh_tokens.push(next);
    fetched
}

impl StoredToken {
    /// The present token.
    fn reveal(&self) -> Option<Secret> {
        self.store
            .reveal(&self.name, &self.asker, &self.target)
            .ok()
    }

    /// Puts another value there, for the same hosts and bundles; the error says why not.
    async fn replace(&self, value: Secret) -> Result<(), String> {
        let place = self.clone();
        let replaced = tokio::task::spawn_blocking(move || {
            let entries = place.store.list()?;
            let entry = entries.into_iter().find(|entry| entry.name == place.name);
            let entry = entry
                .ok_or_else(|| SecretError::missing(place.name.as_str(), Some(&place.target)))?;
            place.store.set(&place.name, &value, &entry.binding)
        });
        match replaced.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("writing it was broken off".to_owned()),
        }
    }
}

/// An error of the way to the token server, which is not the server that the tool is for.
fn said_of(error: EgressError, grant: &Grant) -> ToolError {
    let error = ToolError::from(error);
    let message = format!("no token from `{}`: {}", grant.server(), error.message());
    match error.code() {
        // These name the target themselves, and say what to do.
        ErrorCode::HostNotAllowed => error,
        code => ToolError::new(code, message),
    }
}
