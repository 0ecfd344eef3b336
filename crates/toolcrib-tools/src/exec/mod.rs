//! How definitions become tools.

#[doc(hidden)]
pub mod command;
mod function_ref;
#[doc(hidden)]
pub mod http;

use crate::manifest::HttpDefinition;
use crate::spec::ToolSpec;

pub use command::spec_of;
pub use function_ref::FunctionRef;

/// What models and people see of an HTTP tool that is in no bundle yet.
pub fn http_spec_of(definition: &HttpDefinition) -> ToolSpec {
    http::spec_of(definition, definition.slug.clone())
}
