//! Everything that happens, as a stream that can be resumed: `/api/events`.

use std::sync::Arc;

use toolcrib::Crib;

use crate::api::Route;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    Vec::new()
}

/// What happens in this server, in order, as far back as memory allows.
pub(crate) struct Hub {}

impl Hub {
    pub(crate) fn of(_crib: &Arc<Crib>) -> Self {
        Hub {}
    }
}
