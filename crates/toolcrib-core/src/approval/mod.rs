//! Asking a person: who is asked, what they are asked, and what they may answer.
//!
//! An [`Approver`] decides. [`grants`] are answers given ahead ("don't ask again"), and an [`ApprovalMemory`] knows which files were
//! approved before. The default approver reaches no one, so a call that needs approval is refused until a program chooses otherwise.
//!
//! What a decision means for a call is the pipeline's business: it judges edited arguments like fresh ones, and it claims an
//! approval right before the tool runs, so that no approval runs twice.

mod approver;
#[cfg_attr(not(target_os = "linux"), path = "boot_elsewhere.rs")]
mod boot;
mod bound;
mod clock;
pub mod grants;
mod request;

pub use approver::{AllowAll, Approver, DenyAll, NoAnswer};
#[doc(hidden)]
pub use bound::changed_since;
pub use bound::{ApprovalMemory, BoundFile};
pub use clock::{Clock, Moment};
pub use request::{Announce, ApprovalRequest, ApprovalResponse, Hold};

use std::time::Duration;

/// A duration in whole milliseconds.
#[doc(hidden)]
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
