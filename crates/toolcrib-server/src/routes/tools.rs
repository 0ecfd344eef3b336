//! Tools: S4's routes for versions, the list and the search.

use crate::api::Route;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    Vec::new()
}
