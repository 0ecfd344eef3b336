//! A crib as an MCP server: [`CribHost`].
//!
//! ```text
//! catalogue  the list of tools, as pages of bytes            cursor     where a page ended
//! follow     reporting that the list has changed             icons      small pictures for clients
//! admission  which calls a host of some bundles accepts      calls      one call: progress, questions, result
//! endpoint   `/mcp` of the server                      material   prompts and resources of upstream servers
//! ```
//!
//! The protocol itself is `toolcrib-mcp`. A tool is described as `toolcrib schema --provider mcp` prints it. Hints come from its
//! effects and traits, and no call is judged by them. Approvals are routes and files, never tools.

mod admission;
mod calls;
mod catalogue;
mod cursor;
mod endpoint;
mod follow;
mod icons;
mod material;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use endpoint::exchange;
pub(crate) use endpoint::{Mcp, routes};

use futures_util::future::BoxFuture;
use toolcrib::Crib;
use toolcrib::wire::Dropped;
use toolcrib_mcp::rpc::RpcError;
use toolcrib_mcp::server::{Ask, Context, Description, Host, Reply};

use crate::auth::Clients;
use calls::Arrival;
use catalogue::Catalogue;

/// What of a crib is served, and how.
#[derive(Debug, Clone, Default)]
pub struct HostOptions {
    /// Only tools of these bundles; all if none is named.
    pub bundles: Vec<String>,
    /// Where clients come with tokens, whose these are: the person at a client is asked by elicitation only if the operator vouched for it
    /// ([`Client::elicitation`](crate::auth::Client::elicitation)). `None` where the user who starts the client starts this, too.
    pub tokens_of: Option<Clients>,
    /// Up to how long after a question a "no" of Codex counts as none; 200 ms if it is not set. `codex exec` declines at once whatever it
    /// is asked.
    pub hasty: Option<Duration>,
}

/// Serves a crib's tools to MCP clients. It holds no policy: every call goes through the crib's pipeline.
pub struct CribHost {
    crib: Arc<Crib>,
    options: HostOptions,
    /// What was listed last.
    listed: Mutex<Option<Arc<Catalogue>>>,
    calls: calls::Calls,
}

impl CribHost {
    /// A host of this crib.
    pub fn new(crib: Arc<Crib>, options: HostOptions) -> Arc<Self> {
        let calls = calls::Calls::of(&crib);
        Arc::new(CribHost {
            crib,
            options,
            calls,
            listed: Mutex::default(),
        })
    }

    /// The tools that are not listed although they could be called, with the reason: MCP cannot express them.
    pub fn left_out(&self) -> Vec<Dropped> {
        self.catalogue().left_out.clone()
    }

    /// The list of tools as they are now.
    fn catalogue(&self) -> Arc<Catalogue> {
        let state = self.crib.registry().state();
        // Held while it is made: a concurrent request would make the same.
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        match &*listed {
            Some(known) if known.state == state => Arc::clone(known),
            _ => {
                let made = Arc::new(Catalogue::of(&self.crib, &self.options));
                *listed = Some(Arc::clone(&made));
                made
            }
        }
    }
}

impl Host for CribHost {
    fn description(&self) -> Description {
        catalogue::description()
    }

    fn answer(
        self: Arc<Self>,
        ask: Ask,
        context: Context,
    ) -> BoxFuture<'static, Result<Reply, RpcError>> {
        self.answer_arrived(ask, context, Arrival::now())
    }
}

impl CribHost {
    fn answer_arrived(
        self: Arc<Self>,
        ask: Ask,
        context: Context,
        arrival: Arrival,
    ) -> BoxFuture<'static, Result<Reply, RpcError>> {
        match ask {
            Ask::ListTools { cursor } => Box::pin(async move { catalogue::list(&self, cursor) }),
            Ask::CallTool {
                name,
                arguments,
                input,
            } => match self.admitted(name, arguments) {
                Ok((name, arguments)) => {
                    Box::pin(calls::call(self, name, arguments, input, context, arrival))
                }
                Err(refused) => Box::pin(async move { calls::result::refusal(&refused) }),
            },
            Ask::ListPrompts { cursor } => material::list(self, material::List::Prompts, cursor),
            Ask::ListResources { cursor } => {
                material::list(self, material::List::Resources, cursor)
            }
            Ask::ListResourceTemplates { cursor } => {
                material::list(self, material::List::Templates, cursor)
            }
            Ask::GetPrompt {
                name, arguments, ..
            } => Box::pin(material::prompt(self, name, arguments)),
            Ask::ReadResource { uri, .. } => Box::pin(material::resource(self, uri)),
            // Not declared, so never asked.
            _ => Box::pin(async {
                Err(RpcError::new(
                    toolcrib_mcp::rpc::code::METHOD_NOT_FOUND,
                    "this server has tools, prompts and resources only",
                ))
            }),
        }
    }
}
