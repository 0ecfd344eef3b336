//! How definitions become tools.

pub(crate) mod command;
mod function_ref;
pub(crate) mod http;

use crate::manifest::HttpDefinition;
use crate::spec::ToolSpec;

pub use command::spec_of;
pub(crate) use function_ref::FunctionRef;

/// What models and people see of an HTTP tool that is in no bundle yet.
pub fn http_spec_of(definition: &HttpDefinition) -> ToolSpec {
    http::spec_of(definition, definition.slug.clone())
}
