//! Bundles as ZIP files: `/api/bundles/{id}/export|restore`, `/api/bundles/import`.

use crate::api::Route;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    Vec::new()
}
