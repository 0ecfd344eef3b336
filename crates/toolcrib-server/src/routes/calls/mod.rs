//! Calls: `/api/calls`, and the places they take.

mod gate;

pub(crate) use gate::{Fullness, Gate};

use crate::api::Route;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    Vec::new()
}
