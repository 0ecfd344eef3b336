//! Questions to people: `/api/approvals`.

use crate::api::Route;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    Vec::new()
}
