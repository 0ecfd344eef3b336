//! Bundles: S4's routes below `/tools/bundles`.

use crate::api::Route;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    Vec::new()
}
