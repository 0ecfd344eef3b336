//! Calling a tool of a bundle: S4's `…/invoke`, whole or as a stream.

use crate::api::Route;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    Vec::new()
}
