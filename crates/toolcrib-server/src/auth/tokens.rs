//! Bearer tokens: the operator's in the file `token` of the home, callers' as digests in [`Clients`].

use std::path::Path;

use http::HeaderMap;
use toolcrib::ErrorCode;

use super::clients::Clients;
use crate::api::Refusal;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// Nobody in particular: no token was asked for.
    Nobody,
    /// Whoever runs this server.
    Operator,
    /// A client, by its name. It may list, search and call, and never approve.
    Client(String),
}

/// Why there is no token to check by.
#[derive(Debug, thiserror::Error)]
#[error("the token cannot be read or made: {0}")]
pub struct TokenError(pub String);

/// The tokens that open this server.
#[derive(Debug, Clone)]
pub struct Tokens {
    operator: String,
    #[expect(dead_code, reason = "the owner of this file uses it")]
    clients: Clients,
}

impl Tokens {
    /// The operator's token is `given` (`TOOLCRIB_TOKEN`) or the one in the home, made on first use.
    pub fn open(_home: &Path, given: Option<String>, clients: Clients) -> Result<Self, TokenError> {
        let operator = given.ok_or_else(|| TokenError("no token".to_owned()))?;
        Ok(Tokens { operator, clients })
    }

    /// Whose token a request carries.
    pub fn principal(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        let token = headers
            .get(http::header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        match token {
            Some(token) if token == self.operator => Ok(Principal::Operator),
            _ => Err(Refusal::new(
                ErrorCode::Unauthenticated,
                "no token, or not one of this server",
            )),
        }
    }
}
