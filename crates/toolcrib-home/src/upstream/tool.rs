//! A tool of a server: [`UpstreamTool`], made from its pin.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::definition::Definition;
use super::result;
use super::server::Upstream;
use super::settings::Transport;
use crate::call::context::CallContext;
use crate::egress::Target;
use crate::model::JsonObject;
use crate::model::effects::{Approval, Effects, Verdict};
use crate::model::error::ToolError;
use crate::model::limits::as_millis;
use crate::model::names::{Slug, WireName};
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::spec::ToolSpec;
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;

/// A tool of an upstream server.
pub(crate) struct UpstreamTool {
    spec: Arc<ToolSpec>,
    upstream: Arc<Upstream>,
    /// As the server names it.
    tool: String,
    digest: String,
}

/// The face of a tool as it was accepted; the error says why there is none.
pub(crate) fn spec(
    upstream: &Upstream,
    pinned: &Definition,
    name: WireName,
    slug: Slug,
) -> Result<ToolSpec, String> {
    let settings = upstream.settings();
    if let Some(why) = pinned.uncallable() {
        return Err(why);
    }
    let input = pinned.input_schema()?;
    let description = match pinned.description().trim() {
        "" => format!(
            "The tool `{}` of the MCP server `{}`.",
            text::visible_line(&pinned.name),
            upstream.name()
        ),
        description => description.to_owned(),
    };
    let mut spec = ToolSpec::new(name, description, input);
    spec.slug = slug;
    spec.bundle = upstream.name().clone();
    spec.title = pinned.title().map(|title| title.replace(['\n', '\t'], " "));
    // What its server says about its effects is a hint, and decides nothing.
    spec.effects = Effects::UNKNOWN;
    spec.output_schema = pinned.output_schema()?.map(Arc::new);
    if let Transport::Http { url, .. } = &settings.transport
        && let Ok((_, target)) = Target::parse(url)
    {
        let scheme = if target.https { "https" } else { "http" };
        spec.urls = vec![format!("{scheme}://{}", target.authority())];
    }
    spec.asks = match settings.approval_of(&pinned.name) {
        Verdict::Ask => Some(format!(
            "before every call that no grant covers: {}",
            why_asked(upstream.name())
        )),
        Verdict::Allow | Verdict::Deny => None,
    };
    spec.limits.timeout_ms = settings.timeout.map(as_millis);
    spec.pinned = true;
    spec.content_digest = Some(format!("{} {}", settings.identity(), pinned.digest()));
    Ok(spec)
}

fn why_asked(upstream: &Slug) -> String {
    format!("what a tool of the MCP server `{upstream}` does is not known")
}

impl UpstreamTool {
    pub(crate) fn new(spec: ToolSpec, upstream: Arc<Upstream>, pinned: &Definition) -> Self {
        UpstreamTool {
            spec: Arc::new(spec),
            upstream,
            tool: pinned.name.clone(),
            digest: pinned.digest(),
        }
    }
}

impl Tool for UpstreamTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn look(&self, _args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        let name = self.upstream.name();
        let approval = match self.upstream.settings().approval_of(&self.tool) {
            Verdict::Allow => Approval::allow(),
            Verdict::Ask => Approval::ask(why_asked(name)),
            Verdict::Deny => Approval::deny(format!(
                "`upstreams.{name}` of `config.toml` in Toolcrib's home says that it is denied"
            )),
        };
        let shown = text::shorten(&text::visible_line(&self.tool), 80);
        let effect = format!("call `{shown}` of the MCP server `{name}`");
        approval.with_effect(effect).into()
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let result = self
                .upstream
                .call(&self.tool, &self.digest, args, &cx)
                .await?;
            let has_schema = self.spec.output_schema.is_some();
            result::output(self.upstream.name().as_str(), result, has_schema)
        })
    }
}
