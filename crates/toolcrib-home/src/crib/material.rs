//! Prompts and resources of upstream servers, for a front end that speaks MCP.

use std::sync::Arc;

use super::Crib;
use crate::model::JsonObject;
use crate::model::effects::Verdict;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::storage::Stamp;
use crate::upstream::{Material, Upstream, material};

impl Crib {
    /// When what was accepted of the servers, or what they have besides tools, was last written.
    #[doc(hidden)]
    pub fn upstream_stamp(&self) -> Option<Stamp> {
        self.sources.upstream().upstreams().pins().stamp()
    }

    /// The prompts and resources of all servers, by the names of here, as each server had them last. Only of these bundles, if any is named.
    /// No one is connected for it. Reads files.
    pub fn upstream_material(&self, bundles: &[String]) -> Material {
        self.sources.upstream().refresh(&self.registry);
        let set = self.sources.upstream().upstreams();
        let mut all = Material::default();
        for upstream in set.all().values() {
            let is_meant =
                bundles.is_empty() || bundles.iter().any(|one| one == upstream.name().as_str());
            if !is_meant || !material::is_passed_on(upstream.settings()) {
                continue;
            }
            let Ok(Some(pinned)) = set.pins().read(upstream.name()) else {
                continue;
            };
            let named = pinned.material.named(upstream.name());
            all.prompts.extend(named.prompts);
            all.resources.extend(named.resources);
            all.templates.extend(named.templates);
        }
        all
    }

    /// Gets a prompt of a server, by its name here.
    pub async fn upstream_prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        bundles: &[String],
    ) -> Result<JsonObject, ToolError> {
        let unknown = || unknown("prompt", name);
        let (server, own) = material::own_prompt(name).ok_or_else(unknown)?;
        let upstream = self.passed_on(server, bundles).ok_or_else(unknown)?;
        match self.listed_material(&upstream).has_prompt(own) {
            true => upstream.get_prompt(own, arguments).await,
            false => Err(unknown()),
        }
    }

    /// Reads a resource of a server, by its URI here.
    pub async fn upstream_resource(
        &self,
        uri: &str,
        bundles: &[String],
    ) -> Result<JsonObject, ToolError> {
        let unknown = || unknown("resource", uri);
        let (server, own) = material::own_resource(uri).ok_or_else(unknown)?;
        let upstream = self.passed_on(server, bundles).ok_or_else(unknown)?;
        let settings = upstream.settings();
        if settings.approval != Verdict::Allow && !self.listed_material(&upstream).has_resource(own)
        {
            let message = format!(
                "`{}` is not a resource that `{server}` lists; others are read only if `approval` in `[upstreams.{server}]` is `allow`",
                text::shorten(&text::visible_line(uri), 200)
            );
            return Err(ToolError::new(ErrorCode::PermissionDenied, message));
        }
        upstream.read_resource(own).await
    }

    fn passed_on(&self, server: &str, bundles: &[String]) -> Option<Arc<Upstream>> {
        let is_meant = bundles.is_empty() || bundles.iter().any(|one| one == server);
        let upstream = self.sources.upstream().upstreams().get(server);
        upstream.filter(|upstream| is_meant && material::is_passed_on(upstream.settings()))
    }

    fn listed_material(&self, upstream: &Upstream) -> Material {
        let pinned = self
            .sources
            .upstream()
            .upstreams()
            .pins()
            .read(upstream.name());
        pinned.ok().flatten().unwrap_or_default().material
    }
}

fn unknown(what: &str, name: &str) -> ToolError {
    let name = text::shorten(&text::visible_line(name), 200);
    ToolError::new(ErrorCode::NotFound, format!("there is no {what} `{name}`"))
}
