//! Tools: S4's routes for versions, the list and the search.

mod listing;
mod lookup;
mod switches;
mod version;

use crate::api::Route;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    let mut routes = version::routes();
    routes.extend(listing::routes());
    routes.extend(lookup::routes());
    routes.extend(switches::routes());
    routes
}
