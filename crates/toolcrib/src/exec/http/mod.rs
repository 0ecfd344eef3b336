//! HTTP tools (S4) at work: an [`HttpDefinition`] as a [`Tool`].

use std::sync::Arc;

use crate::egress::Egress;
use crate::manifest::HttpDefinition;
use crate::model::error::ToolError;
use crate::model::names::Slug;
use crate::secret::SecretStore;
use crate::tool::Tool;

/// What all HTTP tools of a registry share.
pub(crate) struct HttpSettings {
    /// The way out.
    pub(crate) egress: Egress,
    /// Where secrets are; none in a registry without a home.
    pub(crate) secrets: Option<SecretStore>,
}

/// The tool of a definition, in the bundle of its scope.
pub(crate) fn tool(
    _definition: Arc<HttpDefinition>,
    _bundle: Slug,
    _settings: Arc<HttpSettings>,
) -> Result<Arc<dyn Tool>, ToolError> {
    unimplemented!()
}
