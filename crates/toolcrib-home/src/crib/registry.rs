//! Servers that a registry of MCP servers describes (`mcp.registry`): its `server.json`, fetched over the guarded client.

use serde_json::Value;
use url::Url;

use super::Crib;
use crate::egress::{Reach, Request, Target};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;

/// The longest description of a server.
const MAX_BYTES: u64 = 1024 * 1024;

impl Crib {
    /// The `server.json` of the latest version of a server, by its name in the registry (`io.github.someone/weather`).
    pub async fn registry_server(&self, name: &str) -> Result<Value, ToolError> {
        let shown = text::shorten(&text::visible_line(name), 200);
        let Some(registry) = self.config().mcp_registry() else {
            let message = format!(
                "`{shown}` is not a file, and no registry is set: `toolcrib config set mcp.registry URL` sets one"
            );
            return Err(ToolError::new(ErrorCode::FileNotFound, message));
        };
        let (url, target) = Target::parse(&registry)?;
        let url = latest(url, name);
        let mut request = Request::get(url);
        request.reach = Reach::Configured(target);
        request.max_redirects = 0;
        request.max_received = MAX_BYTES;
        let answer = self.egress().send(request).await?;
        let failed = |why: String| {
            let message =
                format!("the registry of MCP servers has no answer about `{shown}`: {why}");
            ToolError::new(ErrorCode::UpstreamError, message)
        };
        match answer.status.as_u16() {
            200 => {}
            404 => {
                let message = format!("the registry of MCP servers has no server `{shown}`");
                return Err(ToolError::new(ErrorCode::NotFound, message));
            }
            status => return Err(failed(format!("it answered with status {status}"))),
        }
        let mut document: Value =
            serde_json::from_slice(&answer.body).map_err(|error| failed(error.to_string()))?;
        // The registry adds to what was published.
        Ok(match document.get_mut("server") {
            Some(server) => server.take(),
            None => document,
        })
    }
}

/// Where the latest version of a server is described.
fn latest(mut registry: Url, name: &str) -> Url {
    if let Ok(mut path) = registry.path_segments_mut() {
        path.pop_if_empty()
            .extend(["v0.1", "servers", name, "versions", "latest"]);
    }
    registry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_slash_is_one_part_of_the_address() {
        let url = Url::parse("https://registry.test/api/").unwrap();
        assert_eq!(
            latest(url, "io.test/weather").as_str(),
            "https://registry.test/api/v0.1/servers/io.test%2Fweather/versions/latest"
        );
    }
}
