//! Calls: `/api/calls`, and the places they take.

use toolcrib::Crib;

use crate::api::Route;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    Vec::new()
}

/// Places for calls, shared out fairly among clients.
pub(crate) struct Gate {}

impl Gate {
    pub(crate) fn of(_crib: &Crib) -> Self {
        Gate {}
    }
}
