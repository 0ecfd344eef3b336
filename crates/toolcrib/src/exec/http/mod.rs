//! HTTP tools (S4) at work: an [`HttpDefinition`] as a [`Tool`].

mod auth;
mod values;

use std::sync::Arc;

use crate::egress::Egress;
use crate::manifest::HttpDefinition;
use crate::model::error::ToolError;
use crate::model::names::Slug;
use crate::secret::SecretStore;
use crate::tool::Tool;
use values::Values;

/// What all HTTP tools of a registry share.
pub(crate) struct HttpSettings {
    egress: Egress,
    secrets: Option<SecretStore>,
    tokens: auth::Tokens,
}

impl HttpSettings {
    /// The way out, and where secrets are; none in a registry without a home.
    pub(crate) fn new(egress: Egress, secrets: Option<SecretStore>) -> Self {
        HttpSettings {
            egress,
            secrets,
            tokens: auth::Tokens::default(),
        }
    }
}

/// The tool of a definition, in the bundle of its scope.
pub(crate) fn tool(
    _definition: Arc<HttpDefinition>,
    _bundle: Slug,
    _settings: Arc<HttpSettings>,
) -> Result<Arc<dyn Tool>, ToolError> {
    unimplemented!()
}
