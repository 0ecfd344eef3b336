//! What stands in the place of a placeholder.

use crate::egress::Target;
use crate::manifest::Template;
use crate::model::error::ToolError;
use crate::model::secret::Secret;

/// The values of one call: arguments, secrets, what the request before gave.
pub(super) struct Values<'a> {
    _call: std::marker::PhantomData<&'a ()>,
}

impl Values<'_> {
    /// A template of `auth` as text, secrets and all, for a request to this target.
    pub(super) fn credential(
        &self,
        _template: &Template,
        _target: &Target,
    ) -> Result<Secret, ToolError> {
        unimplemented!()
    }
}
