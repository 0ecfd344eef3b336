//! Prompts and resources of upstream servers, passed on to MCP clients.
//!
//! Lists are what each server had last, on one page: a crib has 200 servers at most, and of each a bounded list. What a client asks for is
//! asked of the server then.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use toolcrib::upstream::Material;
use toolcrib::{ErrorCode, ToolError};
use toolcrib_mcp::rpc::{RpcError, code};
use toolcrib_mcp::server::{CacheScope, Caching, Reply};

use super::CribHost;

/// As long as the list of tools.
const CACHING: Caching = Caching {
    ttl_ms: 1000,
    scope: CacheScope::Private,
};
/// Prompts and contents are asked for each time.
const FRESH: Caching = Caching {
    ttl_ms: 0,
    scope: CacheScope::Private,
};

/// A list that a client asks for.
#[derive(Debug, Clone, Copy)]
pub(super) enum List {
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
}

/// Answers a list.
pub(super) fn list(
    host: Arc<CribHost>,
    list: List,
    cursor: Option<String>,
) -> BoxFuture<'static, Result<Reply, RpcError>> {
    Box::pin(async move {
        if cursor.is_some() {
            return Err(RpcError::invalid_params(
                "the cursor is none of this server's; leave it out for the first page",
            ));
        }
        let material = host.material().await?;
        let body = match list {
            List::Prompts => json!({"prompts": material.prompts}),
            List::Resources => json!({"resources": material.resources}),
            List::Templates => json!({"resourceTemplates": material.templates}),
        };
        Ok(Reply::of(&body)?.cached(CACHING))
    })
}

/// Answers `prompts/get`.
pub(super) async fn prompt(
    host: Arc<CribHost>,
    name: String,
    arguments: Map<String, Value>,
) -> Result<Reply, RpcError> {
    let bundles = &host.options.bundles;
    let got = host.crib.upstream_prompt(&name, arguments, bundles).await;
    Reply::of(&got.map_err(|error| refused(&error))?)
}

/// Answers `resources/read`.
pub(super) async fn resource(host: Arc<CribHost>, uri: String) -> Result<Reply, RpcError> {
    let read = host
        .crib
        .upstream_resource(&uri, &host.options.bundles)
        .await;
    let read = read.map_err(|error| match error.code() {
        ErrorCode::NotFound => refused(&error).with_data(json!({"uri": uri})),
        _ => refused(&error),
    })?;
    Ok(Reply::of(&read)?.cached(FRESH))
}

fn refused(error: &ToolError) -> RpcError {
    let code = match error.code() {
        ErrorCode::NotFound | ErrorCode::PermissionDenied => code::INVALID_PARAMS,
        _ => code::INTERNAL_ERROR,
    };
    RpcError::new(code, error.message())
}

impl CribHost {
    /// What all servers have besides tools.
    pub(super) async fn material(self: &Arc<Self>) -> Result<Material, RpcError> {
        let host = Arc::clone(self);
        let read =
            tokio::task::spawn_blocking(move || host.crib.upstream_material(&host.options.bundles));
        read.await
            .map_err(|_| RpcError::new(code::INTERNAL_ERROR, "the server stops"))
    }
}
