//! The host behind the fixture: who it is, and which part answers what.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use toolcrib_mcp::protocol::Implementation;
use toolcrib_mcp::rpc::RpcError;
use toolcrib_mcp::server::{
    Ask, CacheScope, Caching, Capabilities, ChangeNotice, Context, Description, Host, Reply, Server,
};

use crate::{content, input, tools};

/// Serves what the scenarios want.
#[derive(Default)]
pub(crate) struct Fixture {
    server: OnceLock<Server>,
    /// What was asked for, by the state that was given out with the question.
    pub(crate) states: Mutex<HashMap<String, Value>>,
}

impl Fixture {
    /// Sets the server that it reports changes to.
    pub(crate) fn served_by(&self, server: Server) {
        let _ = self.server.set(server);
    }

    /// Notifies every client that something changed.
    pub(crate) fn changed(&self, change: ChangeNotice) {
        self.server.get().unwrap().changed(change);
    }
}

/// Lists and resources stay true for five minutes.
fn kept(result: &Value, scope: CacheScope) -> Result<Reply, RpcError> {
    Ok(Reply::of(result)?.cached(Caching {
        ttl_ms: 300_000,
        scope,
    }))
}

impl Host for Fixture {
    fn description(&self) -> Description {
        Description {
            info: Implementation {
                name: "toolcrib-conformance".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                ..Implementation::default()
            },
            capabilities: Capabilities {
                tools: true,
                tools_changed: true,
                prompts: true,
                prompts_changed: true,
                resources: true,
                resources_changed: true,
                resources_subscribe: true,
                completions: true,
                logging: true,
            },
            instructions: None,
        }
    }

    fn answer(
        self: Arc<Self>,
        ask: Ask,
        context: Context,
    ) -> BoxFuture<'static, Result<Reply, RpcError>> {
        async move {
            match ask {
                Ask::ListTools { .. } => kept(&json!({"tools": tools::list()}), CacheScope::Public),
                Ask::CallTool {
                    name,
                    arguments,
                    input,
                } => {
                    let arguments = match &arguments {
                        Some(arguments) => serde_json::from_str(arguments.get())
                            .map_err(|error| RpcError::invalid_params(error.to_string()))?,
                        None => json!({}),
                    };
                    let is_question = name.starts_with("test_input_required_result_");
                    match is_question && context.era.is_modern() {
                        true => input::call(&self, &name, input.unwrap_or_default(), &context),
                        false => tools::call(&self, &name, &arguments, &context).await,
                    }
                }
                Ask::ListPrompts { .. } => {
                    kept(&json!({"prompts": content::prompts()}), CacheScope::Public)
                }
                Ask::GetPrompt {
                    name,
                    arguments,
                    input,
                } => match name == input::PROMPT {
                    true => input::prompt(&input.unwrap_or_default()),
                    false => content::prompt(&name, &arguments),
                },
                Ask::ListResources { .. } => kept(
                    &json!({"resources": content::resources()}),
                    CacheScope::Public,
                ),
                Ask::ListResourceTemplates { .. } => kept(
                    &json!({"resourceTemplates": content::templates()}),
                    CacheScope::Public,
                ),
                Ask::ReadResource { uri, .. } => {
                    kept(&content::resource(&uri, context.era)?, CacheScope::Private)
                }
                Ask::Subscribe { .. } | Ask::Unsubscribe { .. } | Ask::SetLevel { .. } => {
                    Ok(Reply::complete("{}"))
                }
                Ask::Complete { .. } => {
                    Reply::of(&json!({"completion": {"values": [], "total": 0, "hasMore": false}}))
                }
            }
        }
        .boxed()
    }

    fn header_params(&self, tool: &str) -> Vec<(String, Vec<String>)> {
        match tool {
            tools::WITH_HEADERS => vec![
                ("Region".to_owned(), vec!["region".to_owned()]),
                ("Count".to_owned(), vec!["count".to_owned()]),
                ("Urgent".to_owned(), vec!["urgent".to_owned()]),
            ],
            _ => Vec::new(),
        }
    }
}
