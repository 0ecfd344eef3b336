//! The beginning: which era a server speaks, and what it is.
//!
//! A server that is not known is asked `server/discover` first. Modern ones must answer it. Legacy ones answer with some error, not at
//! all, or with something that is not a discovery; then it is `initialize`. Which error a legacy server has for it says nothing, except for
//! the few codes that only modern servers know. A slow server need not lose its chance: a discovery that comes while `initialize` is
//! waited for still counts.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::error::ClientError;
use super::request_table::{Ask, GivingUp, Talk, Wait, Wire, cut};
use super::server_message::ServerSide;
use super::streams;
use crate::protocol::{Era, Implementation, LEGACY, MODERN, VERSIONS, meta};
use crate::rpc::code;

/// How long a discovery is waited for before `initialize` is tried besides.
const PIPES_GRACE: Duration = Duration::from_millis(1500);
const HTTP_GRACE: Duration = Duration::from_secs(5);
/// The longest instructions that are kept.
const MAX_INSTRUCTIONS: usize = 64 * 1024;
/// The longest name or title of a server that is kept.
const MAX_NAME: usize = 256;

/// What a discovery came to.
enum Discovered {
    Modern(ServerSide),
    /// With the version to begin with, and how discovery failed.
    Legacy(&'static str, ClientError),
}

/// Begins the talk: afterwards it has an era and a server.
pub(super) async fn begin(talk: &Arc<Talk>) -> Result<(), ClientError> {
    let limit = talk.options.connect_timeout;
    let begun = Box::pin(async {
        match talk.options.era {
            Some(Era::Legacy(version)) => initialize(talk, version).await,
            Some(Era::Modern) => match discover(talk).await? {
                Discovered::Modern(server) => {
                    talk.agree(Era::Modern, server);
                    Ok(())
                }
                Discovered::Legacy(_, error) => Err(error),
            },
            None => find_out(talk).await,
        }
    });
    match tokio::time::timeout(limit, begun).await {
        Ok(begun) => begun?,
        Err(_) => {
            return Err(match talk.odd_line() {
                Some(line) => ClientError::protocol(format!(
                    "it wrote what is not MCP, and no answer; the first such line begins `{line}`"
                )),
                None => ClientError::TimedOut(limit),
            });
        }
    }
    streams::begin(talk).await;
    Ok(())
}

async fn find_out(talk: &Arc<Talk>) -> Result<(), ClientError> {
    let grace = match talk.wire {
        Wire::Pipes(_) => PIPES_GRACE,
        Wire::Http(_) => HTTP_GRACE,
    };
    let discovery = discover(talk);
    tokio::pin!(discovery);
    let in_time = tokio::time::timeout(grace.min(talk.options.connect_timeout / 4), &mut discovery);
    let found = match in_time.await {
        Ok(found) => found?,
        Err(_) => {
            let initialized = initialize(talk, LEGACY);
            tokio::pin!(initialized);
            tokio::select! {
                begun = &mut initialized => match begun {
                    Ok(()) => return Ok(()),
                    // A modern server knows no `initialize`; what it is asked first it may still answer.
                    Err(error) => match discovery.await? {
                        Discovered::Modern(server) => Discovered::Modern(server),
                        Discovered::Legacy(_, _) => return Err(error),
                    },
                },
                found = &mut discovery => match found? {
                    Discovered::Modern(server) => Discovered::Modern(server),
                    Discovered::Legacy(_, _) => return initialized.await,
                },
            }
        }
    };
    match found {
        Discovered::Modern(server) => {
            talk.agree(Era::Modern, server);
            Ok(())
        }
        Discovered::Legacy(version, probed) => match initialize(talk, version).await {
            // Neither is known: a modern server without the discovery that it should have.
            Err(error)
                if error.code() == Some(code::METHOD_NOT_FOUND)
                    && probed.code() == Some(code::METHOD_NOT_FOUND) =>
            {
                talk.agree(Era::Modern, ServerSide::default());
                Ok(())
            }
            begun => begun,
        },
    }
}

async fn discover(talk: &Arc<Talk>) -> Result<Discovered, ClientError> {
    let mut has_retried = false;
    loop {
        let wait = Wait::within(talk.options.connect_timeout, GivingUp::Silent);
        let params = talk.with_modern_meta(Map::new());
        let answer = talk.ask(Ask::new("server/discover", params, wait)).await;
        let error = match answer {
            Ok(result) => match discovered(&result) {
                Ok(found) => return Ok(found),
                Err(error) => error,
            },
            Err(error) => error,
        };
        match error {
            ClientError::Rpc(error) if error.code == code::UNSUPPORTED_VERSION => {
                let supported = versions(error.data.as_ref().map(|data| &data["supported"]));
                match choose(&supported) {
                    Some(MODERN) if !has_retried => has_retried = true,
                    Some(version) if version != MODERN => {
                        return Ok(Discovered::Legacy(version, ClientError::Rpc(error)));
                    }
                    _ => return Err(no_common_version(&supported)),
                }
            }
            ClientError::Rpc(error)
                if matches!(error.code, code::HEADER_MISMATCH | code::MISSING_CAPABILITY) =>
            {
                return Err(ClientError::Rpc(error));
            }
            ClientError::Gone(why) => match talk.wire {
                Wire::Pipes(_) => return Err(ClientError::GoneAtProbe(why)),
                // The next question shows whether the server is there.
                Wire::Http(_) => return Ok(Discovered::Legacy(LEGACY, ClientError::Gone(why))),
            },
            ClientError::Unauthorized(_) | ClientError::Cancelled | ClientError::GoneAtProbe(_) => {
                return Err(error);
            }
            // Whatever status it was: the next question shows whether it belongs to MCP.
            ClientError::Rpc(_)
            | ClientError::TimedOut(_)
            | ClientError::Protocol(_)
            | ClientError::Refused { .. } => {
                return Ok(Discovered::Legacy(LEGACY, error));
            }
        }
    }
}

fn discovered(result: &RawValue) -> Result<Discovered, ClientError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovery {
        supported_versions: Value,
        #[serde(default)]
        capabilities: Value,
        #[serde(default)]
        instructions: Option<Value>,
        #[serde(default, rename = "_meta")]
        meta: Value,
        #[serde(default)]
        server_info: Value,
    }
    let discovery: Discovery = serde_json::from_str(result.get())
        .map_err(|_| ClientError::protocol("its answer to `server/discover` is not a discovery"))?;
    let supported = versions(Some(&discovery.supported_versions));
    match choose(&supported) {
        Some(MODERN) => {
            let info = match &discovery.meta[meta::SERVER_INFO] {
                Value::Null => discovery.server_info,
                info => info.clone(),
            };
            let server = server_side(info, discovery.capabilities, discovery.instructions);
            Ok(Discovered::Modern(server))
        }
        Some(version) => Ok(Discovered::Legacy(
            version,
            ClientError::protocol(format!("it does not speak {MODERN}")),
        )),
        None => Err(no_common_version(&supported)),
    }
}

/// `initialize` and what follows it, with the version that is liked best.
pub(super) async fn initialize(talk: &Arc<Talk>, version: &'static str) -> Result<(), ClientError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized {
        protocol_version: String,
        #[serde(default)]
        capabilities: Value,
        #[serde(default)]
        server_info: Value,
        #[serde(default)]
        instructions: Option<Value>,
    }
    let mut params = Map::new();
    params.insert("protocolVersion".to_owned(), json!(version));
    params.insert("capabilities".to_owned(), json!(talk.options.capabilities));
    params.insert("clientInfo".to_owned(), json!(talk.options.info));
    let wait = Wait::within(talk.options.connect_timeout, GivingUp::Silent);
    let result = talk.ask(Ask::new("initialize", params, wait)).await?;
    let answer: Initialized = serde_json::from_str(result.get())
        .map_err(|_| ClientError::protocol("its answer to `initialize` has the wrong shape"))?;
    let spoken = VERSIONS
        .into_iter()
        .find(|spoken| *spoken == answer.protocol_version && *spoken != MODERN);
    let Some(spoken) = spoken else {
        return Err(no_common_version(&[answer.protocol_version]));
    };
    let server = server_side(answer.server_info, answer.capabilities, answer.instructions);
    talk.agree(Era::Legacy(spoken), server);
    talk.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
        .await;
    Ok(())
}

/// The versions that a list has, as far as they are texts of a sensible length and number.
fn versions(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    let texts = list.filter_map(Value::as_str);
    texts
        .filter(|text| text.len() <= 32)
        .take(32)
        .map(str::to_owned)
        .collect()
}

/// The newest version that both speak.
fn choose(supported: &[String]) -> Option<&'static str> {
    VERSIONS
        .into_iter()
        .find(|version| supported.iter().any(|other| other == version))
}

fn no_common_version(supported: &[String]) -> ClientError {
    let theirs = cut(supported.join(", "), 200);
    ClientError::protocol(format!(
        "it speaks `{theirs}`; this program speaks {}",
        VERSIONS.join(", ")
    ))
}

fn server_side(info: Value, capabilities: Value, instructions: Option<Value>) -> ServerSide {
    let info = serde_json::from_value::<Implementation>(info).ok();
    ServerSide {
        info: info.map(|mut info| {
            info.name = cut(info.name, MAX_NAME);
            info.title = info.title.map(|title| cut(title, MAX_NAME));
            info.version = cut(info.version, MAX_NAME);
            info
        }),
        capabilities,
        instructions: match instructions {
            Some(Value::String(text)) => Some(cut(text, MAX_INSTRUCTIONS)),
            _ => None,
        },
    }
}
