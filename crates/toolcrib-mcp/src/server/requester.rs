//! The asking client, as a request or a session identifies it: [`Asker`].

use std::sync::Arc;

use serde_json::value::RawValue;

use super::context::LogLevels;
use super::level::Level;
use super::params::{Meta, Params, unfit};
use super::refusals::{shortened, unsupported};
use super::session::Session;
use crate::protocol::{ClientCapabilities, Era, Implementation, MODERN, meta as member};
use crate::rpc::{RpcError, code};

/// The most that a client may say of itself, in bytes: it is kept as long as its session or its stream, and read it takes many times
/// as much.
const MAX_SAID: usize = 16 * 1024;

/// The asking client, as far as a single request or a session identifies it.
pub(crate) struct Asker {
    pub(crate) era: Era,
    pub(crate) client: Option<Arc<Implementation>>,
    pub(crate) capabilities: Arc<ClientCapabilities>,
    pub(crate) level: LogLevels,
}

/// The asking client, as the request identifies it. `None` if it names the version that its legacy session has.
pub(crate) fn modern_asker(
    session: &Session,
    params: &Params<'_>,
) -> Result<Option<Asker>, RpcError> {
    let Some(meta) = &params.meta else {
        return Err(RpcError::invalid_params(
            "`_meta` is missing: a request says its protocol version and the client's capabilities there",
        ));
    };
    let version = meta.version()?;
    if version != MODERN {
        if session.agreed().is_some_and(|it| *it.version == *version) {
            return Ok(None);
        }
        return Err(unsupported(&version));
    }
    let capabilities = object(member::CLIENT_CAPABILITIES, meta.capabilities)?;
    let capabilities = session.capabilities(capabilities).map_err(unfit)?;
    let client = match meta.client {
        None => None,
        client => Some(
            session
                .client(object(member::CLIENT_INFO, client)?)
                .map_err(unfit)?,
        ),
    };
    let level = match meta.level()? {
        None => LogLevels::Nothing,
        Some(word) => LogLevels::From(level_of(&word)?),
    };
    Ok(Some(Asker {
        era: Era::Modern,
        client,
        capabilities,
        level,
    }))
}

/// The asking client, as `initialize` identified it.
pub(crate) fn legacy_asker(session: &Session) -> Option<Asker> {
    let agreed = session.agreed()?;
    Some(Asker {
        era: Era::Legacy(agreed.version),
        client: agreed.client.clone(),
        capabilities: Arc::clone(&agreed.capabilities),
        level: LogLevels::AsSession,
    })
}

/// The level that a client names.
pub(crate) fn level_of(word: &str) -> Result<Level, RpcError> {
    Level::of(word).ok_or_else(|| {
        RpcError::invalid_params(format!(
            "`{}` is not a log level: use debug, info, notice, warning, error, critical, alert or emergency",
            shortened(word)
        ))
    })
}

/// The text of a member that must be there, and an object.
pub(crate) fn object<'a>(member: &str, raw: Option<&'a RawValue>) -> Result<&'a str, RpcError> {
    match raw {
        None => Err(RpcError::invalid_params(format!("`{member}` is missing"))),
        Some(raw) if raw.get().len() > MAX_SAID => Err(RpcError::invalid_params(format!(
            "`{member}` is longer than {} KB",
            MAX_SAID / 1024
        ))),
        Some(raw) if raw.get().starts_with('{') => Ok(raw.get()),
        Some(_) => Err(RpcError::invalid_params(format!(
            "`{member}` must be an object"
        ))),
    }
}

/// Refuses a request that says it is of the newer era where something outside of it says that it is not.
pub(crate) fn refuse_modern(params: &Params<'_>) -> Result<(), RpcError> {
    match params.meta.as_ref().map(Meta::version) {
        Some(Ok(version)) if version == MODERN => Err(RpcError::new(
            code::HEADER_MISMATCH,
            "the request says its version is 2026-07-28, and its headers say something else",
        )),
        _ => Ok(()),
    }
}
