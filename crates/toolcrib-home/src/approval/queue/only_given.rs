//! [`OnlyGiven`]: approvals that are there already, for calls about which no one can be asked.

use futures_util::future::BoxFuture;

use super::ticket::Look;
use super::{ApprovalQueue, blocking};
use toolcrib_core::approval::{ApprovalRequest, ApprovalResponse, Hold};
use toolcrib_core::approval::{Approver, NoAnswer};

/// Asks no one. A call runs by the approval that an identical call was given and died before it could use, and is refused
/// where there is none.
#[derive(Debug, Clone)]
pub struct OnlyGiven {
    queue: ApprovalQueue,
    none: NoAnswer,
}

impl OnlyGiven {
    /// Looks for approvals in this queue; `why` says why no one can be asked.
    pub fn of(queue: ApprovalQueue, why: impl Into<String>) -> Self {
        let none = NoAnswer::Unavailable(why.into());
        OnlyGiven { queue, none }
    }

    /// Looks for approvals in this queue, for a caller that wants no one to be asked; `why` says so.
    pub fn as_asked(queue: ApprovalQueue, why: impl Into<String>) -> Self {
        let none = NoAnswer::NotAsked(why.into());
        OnlyGiven { queue, none }
    }
}

impl Approver for OnlyGiven {
    fn decide(
        &self,
        request: ApprovalRequest,
    ) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        let queue = self.queue.clone();
        Box::pin(async move {
            let taken = blocking(move || {
                let Some(ticket) = queue.take_up(&request)? else {
                    return Ok::<_, NoAnswer>(None);
                };
                Ok(match ticket.look()? {
                    Look::Answered(response) => Some((response, ticket)),
                    Look::Pending | Look::Changed(_) | Look::Gone => None,
                })
            });
            match taken.await.map_err(NoAnswer::Storage)?? {
                Some((mut response, ticket)) => {
                    response.hold = Hold::of(ticket.id().to_owned(), ticket);
                    Ok(*response)
                }
                None => Err(self.none.clone()),
            }
        })
    }

    fn claim(&self, id: &str) -> BoxFuture<'_, Result<(), NoAnswer>> {
        self.queue.claim(id)
    }
}
