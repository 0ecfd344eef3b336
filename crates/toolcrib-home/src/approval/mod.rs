//! Approvals and grants as files of a home, so that anyone with the same home can answer, and a question outlives the process that
//! asked it.

mod approved;
#[doc(hidden)]
pub mod grants;
pub mod queue;

pub use approved::ApprovedFiles;
pub use grants::{GrantError, GrantList, Grants};
pub use queue::{AnswerError, ApprovalQueue, QueueOptions, Queued, Status};
