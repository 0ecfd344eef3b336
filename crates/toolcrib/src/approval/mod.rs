//! Asking a person: who is asked, what they are asked, and what they may answer.
//!
//! [`Approver`] is whoever decides. [`ApprovalQueue`] is the one that reaches people outside this process: questions and
//! answers are files in the home, so that anybody with the same home can answer, and a question outlives whoever asked it.
//! [`grants`] are answers given ahead ("don't ask again"). The default approver can reach nobody, so whatever needs
//! approval is refused until a program chooses otherwise.
//!
//! What a decision means for a call is the pipeline's business: it judges edited arguments like fresh ones, and it claims an
//! approval right before the tool runs, so that no approval runs twice.

mod approved;
mod approver;
mod bound;
mod clock;
pub mod grants;
pub mod queue;
mod request;

pub use approved::ApprovedFiles;
pub use approver::{AllowAll, Approver, DenyAll, NoAnswer};
pub use bound::BoundFile;
pub use clock::{Clock, Moment};
pub use queue::{AnswerError, ApprovalQueue, QueueOptions, Queued, Status};
pub use request::{Announce, ApprovalRequest, ApprovalResponse, Hold};

use std::time::Duration;

/// A duration in whole milliseconds.
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
