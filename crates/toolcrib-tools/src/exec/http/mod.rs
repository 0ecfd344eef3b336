//! HTTP tools (S4) at work: an [`HttpDefinition`] as a [`Tool`].
//!
//! ```text
//! encode    a value as it is written where it is      values    what is in the place of a placeholder
//! build     from a template to a request                  question  what a person is asked; hosts that are not allowed
//! run       requests in order, within limits              auth      credentials of a request
//! retry     when to ask again                             answer    from an answer to a value
//! pick      one value of a long answer
//! ```
//!
//! The invariant: an argument is a value at its position and nothing else, and a secret is seen by no one but the request it is
//! sent with. What can be said against a call without sending anything is said before anybody is asked.

mod answer;
mod auth;
mod build;
mod encode;
mod pick;
mod question;
mod retry;
mod run;
#[cfg(test)]
mod tests;
mod values;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::call::context::CallContext;
use crate::egress::{Egress, MAX_URL};
use crate::manifest::HttpDefinition;
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::{Limits, as_millis};
use crate::model::names::Slug;
use crate::model::outcome::ToolOutput;
use crate::schema::Fault;
use crate::secret::{Asker, SecretStore};
use crate::spec::ToolSpec;
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;
use build::{Draft, too_long};
use retry::Jitter;
use run::{Run, over_max_sent};
use values::{Faults, Values};

/// What all HTTP tools of a registry share.
#[doc(hidden)]
pub struct HttpSettings {
    egress: Egress,
    secrets: Option<SecretStore>,
    tokens: auth::Tokens,
    jitter: Jitter,
}

impl HttpSettings {
    /// The way out, and where secrets are; none in a registry without a home.
    #[doc(hidden)]
    pub fn new(egress: Egress, secrets: Option<SecretStore>) -> Self {
        HttpSettings {
            egress,
            secrets,
            tokens: auth::Tokens::default(),
            jitter: retry::random,
        }
    }

    /// With pauses that are as short as they may be, for tests of tools.
    #[doc(hidden)]
    #[must_use]
    pub fn without_jitter(mut self) -> Self {
        self.jitter = || 0.0;
        self
    }
}

/// The tool of a definition, in the bundle of its scope.
#[doc(hidden)]
pub fn tool(
    definition: Arc<HttpDefinition>,
    bundle: Slug,
    settings: Arc<HttpSettings>,
) -> Result<Arc<dyn Tool>, ToolError> {
    tool_of(definition, Asker::from(&bundle), settings)
}

/// The tool of a definition, in a bundle of the store, say.
#[doc(hidden)]
pub fn tool_of(
    definition: Arc<HttpDefinition>,
    asker: Asker,
    settings: Arc<HttpSettings>,
) -> Result<Arc<dyn Tool>, ToolError> {
    if definition.requests.is_empty() {
        let message = format!("`{}` has no request to send", definition.name);
        return Err(ToolError::new(ErrorCode::ToolUnavailable, message));
    }
    let spec = Arc::new(spec_of(&definition, asker.bundle.clone()));
    Ok(Arc::new(HttpTool {
        definition,
        asker,
        settings,
        spec,
    }))
}

/// What models and people see of an HTTP tool.
pub(crate) fn spec_of(definition: &HttpDefinition, bundle: Slug) -> ToolSpec {
    let mut spec = ToolSpec::new(
        definition.name.clone(),
        definition.description.clone(),
        Arc::clone(&definition.arg_schema),
    );
    spec.slug = definition.slug.clone();
    spec.version = definition.version.clone();
    spec.bundle = bundle;
    spec.title = (!definition.display_name.is_empty()).then(|| definition.display_name.clone());
    spec.output_schema = definition.output_schema.clone();
    spec.effects = definition.effects();
    spec.tags = definition.tags.clone();
    spec.keywords = definition.keywords.clone();
    spec.asks = question::asks(definition);
    spec.looks_first = definition.requires_approval.evaluates();
    spec.urls = question::urls(definition);
    spec.traits.open_world = Some(true);
    spec.content_digest = Some(definition.digest.clone());
    spec.limits = definition.limits;
    spec.limits.timeout_ms = definition
        .limits
        .timeout_ms
        .or_else(|| own_time(definition));
    spec
}

/// How long a call may take if its file does not say: as long as its requests may, where that is more than any call may.
fn own_time(definition: &HttpDefinition) -> Option<u64> {
    let requests = definition.requests.iter();
    let all: Duration = requests
        .map(|request| {
            let attempts = request.retry.max.saturating_add(1);
            request.timeout.saturating_mul(attempts)
        })
        .fold(Duration::ZERO, Duration::saturating_add);
    (all > Limits::default().timeout).then(|| as_millis(all))
}

/// An HTTP tool.
struct HttpTool {
    /// Whose it is, when it wants a secret.
    asker: Asker,
    definition: Arc<HttpDefinition>,
    settings: Arc<HttpSettings>,
    spec: Arc<ToolSpec>,
}

impl Tool for HttpTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn refine(&self, args: JsonObject, _edited: bool) -> Result<JsonObject, Vec<Fault>> {
        match self.faults(&args) {
            faults if faults.is_empty() => Ok(args),
            faults => Err(faults),
        }
    }

    fn look(&self, _args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        question::look(self)
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Run::new(self, &args, &cx).all().await })
    }
}

impl HttpTool {
    /// Everything that is wrong with the arguments where they stand. What secrets and answers add is not known yet; it can only
    /// make a request longer.
    fn faults(&self, args: &JsonObject) -> Vec<Fault> {
        let mut faults = Faults::new(&self.definition, args);
        let mut size = 0;
        for template in &self.definition.requests {
            match Draft::of(template, &mut faults) {
                Ok(draft) => {
                    size += draft.size();
                    if draft.url.len() > MAX_URL {
                        faults.add(String::new(), too_long(draft.url.len()));
                    }
                }
                // Not the arguments' fault: the call itself will say so.
                Err(_) => return faults.into_found(),
            }
        }
        if let Some(max) = self.definition.max_sent
            && size > max
        {
            faults.add(
                String::new(),
                format!("is too much: {}", over_max_sent(size, max)),
            );
        }
        faults.into_found()
    }
}
