//! Calls: `/api/calls`, and the places they take.

mod gate;

use toolcrib::Crib;

pub(crate) use gate::{Fullness, Gate};

use crate::api::Route;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    Vec::new()
}

/// The gate that the settings of a crib ask for.
pub(crate) fn gate_of(_crib: &Crib) -> Gate {
    Gate::new(256, 1024)
}
