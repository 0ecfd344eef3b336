//! How a request says who it is from: bearer, basic, HMAC, OAuth2.
//!
//! The seam with the rest of `exec::http`: [`apply`] is called once for every attempt, on a request that is complete but for its
//! credentials (so that signatures are of what is sent, and timestamps of when); [`refused`] when a server answered 401.

use super::Values;
use crate::egress::{Egress, Request};
use crate::manifest::Auth;
use crate::model::context::CallContext;
use crate::model::error::ToolError;

/// Tokens of token servers, shared by all tools of a registry.
#[derive(Debug, Default)]
pub(crate) struct Tokens {}

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

/// Adds credentials to a request; every header of them is marked sensitive.
pub(super) async fn apply(
    auth: &Auth,
    _request: &mut Request,
    _cx: &AuthContext<'_>,
) -> Result<(), ToolError> {
    match auth {
        Auth::Bearer { .. } | Auth::Basic { .. } | Auth::Hmac { .. } | Auth::Oauth2 { .. } => {
            unimplemented!()
        }
    }
}

/// Takes note that the server refused what `apply` added to this request; whether applying again would add something else.
pub(super) fn refused(_auth: &Auth, _request: &Request, _cx: &AuthContext<'_>) -> bool {
    false
}
