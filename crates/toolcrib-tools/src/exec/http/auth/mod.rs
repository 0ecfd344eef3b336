//! How a request says who it is from: bearer, basic, HMAC, OAuth2.
//!
//! ```text
//! header     bearer and basic, and what a header can carry     signature  HMAC-SHA256 over what is sent
//! tokens     tokens that are still good; one fetch for many     grant      what is asked of a token server
//! answer     what a token server said                           fetch      one exchange with it, and what follows
//! ```
//!
//! The seam with the rest of `exec::http`: [`apply`] is called once for every attempt, on a request that is complete but for its
//! credentials (so that signatures are of what is sent, and timestamps of when); [`refused`] when a server answered 401.
//!
//! The invariant: a credential is in a header that is marked sensitive, so that it does not follow a redirection to another
//! origin. What could be used again is known to the masker before it is sent: tokens, passwords and keys, from secrets, from the
//! tool's file or from a token server. Values that are valid for one request and a moment (signatures, timestamps) are not masked, nor are
//! plain identifiers (user names, key ids, client ids) that are not secrets.

mod answer;
mod fetch;
mod grant;
mod header;
mod signature;
#[cfg(test)]
mod tests;
mod tokens;

use http::header::AUTHORIZATION;

use super::Values;
use crate::call::context::CallContext;
use crate::egress::{Egress, Request};
use crate::manifest::{Auth, Template};
use crate::model::error::ToolError;
use crate::model::secret::Secret;
use grant::Grant;
pub(crate) use tokens::Tokens;

/// What there is to work with.
pub(super) struct AuthContext<'a> {
    /// Fills templates: [`Values::credential`].
    pub(super) values: &'a Values<'a>,
    /// The way to a token server.
    pub(super) egress: &'a Egress,
    /// Tokens that are still good.
    pub(super) tokens: &'a Tokens,
    /// The call, for its deadline and its record.
    pub(super) call: &'a CallContext,
}

impl AuthContext<'_> {
    /// A text of `auth`, for the server that the request itself is for.
    fn credential(&self, template: &Template) -> Result<Secret, ToolError> {
        let secret = self.values.credential(template, self.values.target)?;
        if template.as_literal().is_some() {
            self.also_mask(&secret);
        }
        Ok(secret)
    }

    /// Keeps a credential out of everything that is shown, although no file of the home holds it.
    fn also_mask(&self, secret: &Secret) {
        if let Some(store) = self.values.secrets {
            store.also_mask(secret);
        }
    }
}

/// Adds credentials to a request; every header of them is marked sensitive.
pub(super) async fn apply(
    auth: &Auth,
    request: &mut Request,
    cx: &AuthContext<'_>,
) -> Result<(), ToolError> {
    match auth {
        Auth::Bearer { token } => {
            let value = header::bearer(&cx.credential(token)?)?;
            request.headers.insert(AUTHORIZATION, value);
        }
        Auth::Basic { username, password } => {
            // The name is as good as public, and often a word that would be masked everywhere.
            let username = cx.values.credential(username, cx.values.target)?;
            let value = header::basic(&username, &cx.credential(password)?)?;
            request.headers.insert(AUTHORIZATION, value);
        }
        Auth::Hmac {
            key,
            key_id,
            signature_header,
            timestamp_header,
        } => {
            let key = cx.credential(key)?;
            if let Some((name, id)) = key_id {
                let id = cx.values.credential(id, cx.values.target)?;
                let value = header::sensitive(&id, "`auth.keyId`")?;
                request.headers.insert(name.clone(), value);
            }
            let now = jiff::Timestamp::now().as_second();
            let signature = signature::of(request, &key, now)?;
            request.headers.insert(
                timestamp_header.clone(),
                header::sensitive(&Secret::new(now.to_string()), "the timestamp")?,
            );
            request.headers.insert(
                signature_header.clone(),
                header::sensitive(&signature, "the signature")?,
            );
        }
        Auth::Oauth2 { .. } => {
            let Some(grant) = Grant::of(auth, cx)? else {
                return Ok(());
            };
            let token = cx.tokens.token(grant, request.timeout, cx).await?;
            let value = header::bearer(&token)?;
            request.headers.insert(AUTHORIZATION, value);
        }
    }
    Ok(())
}

/// Whether everything is there that [`apply`] needs, without asking a token server.
pub(super) async fn rehearse(
    auth: &Auth,
    request: &mut Request,
    cx: &AuthContext<'_>,
) -> Result<(), ToolError> {
    match auth {
        Auth::Oauth2 { .. } => Grant::of(auth, cx).map(drop),
        Auth::Bearer { .. } | Auth::Basic { .. } | Auth::Hmac { .. } => {
            apply(auth, request, cx).await
        }
    }
}

/// Takes note that the server refused what `apply` added to this request; whether applying again would add something else.
///
/// Only a token that was kept from before can have become stale; one that was got for this very call is as fresh as the next. A
/// request of any method may be repeated then: 401 says that it was not carried out (RFC 9110, 15.5.2).
pub(super) fn refused(auth: &Auth, request: &Request, cx: &AuthContext<'_>) -> bool {
    let Ok(Some(grant)) = Grant::of(auth, cx) else {
        return false;
    };
    let Some(sent) = request.headers.get(AUTHORIZATION) else {
        return false;
    };
    cx.tokens.drop_refused(&grant, sent, cx.call.call_id())
}
