//! Figures: `/api/stats`, `/api/metrics`.

use crate::api::Route;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    Vec::new()
}
