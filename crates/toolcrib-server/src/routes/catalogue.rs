//! What models and authors ask: `/api/definitions/{provider}`, `/api/check`.

use crate::api::Route;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    Vec::new()
}
