//! Grants: what a person does not want to be asked about again. A [`GrantStore`] keeps them.
//!
//! A grant lifts *ask*, never *deny*. It is bound to the exact tool (its digest), the caller, a [`Shape`] of the arguments, a
//! scope, a time and a number of uses. A use is counted before the call runs: of any number of processes no more than `max_uses` get
//! through, and a call that dies after it was counted has used it.

mod argv;
mod fit;
mod grant;
mod offer;
mod origin;
mod path;
mod shape;
mod simulate;
mod store;

pub(crate) use argv::parts;
pub use argv::{Argv, ArgvError, ArgvWord};
pub use fit::{fit, grantable};
#[doc(hidden)]
pub use grant::place;
pub use grant::{Grant, GrantRequest, MAX_DURATION, Scope, Subject};
#[doc(hidden)]
pub use offer::no_grant;
pub use offer::{Offer, is_delete, offers};
pub use origin::{Origin, OriginError};
pub use path::{PathPattern, PathPatternError};
pub use shape::{Pattern, Shape, ShapeError};
pub use simulate::{PastCall, Simulation, simulate};
pub use store::{GrantRefusal, GrantStore, check};
