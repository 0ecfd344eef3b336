//! The approver of calls over HTTP: [`Lending`], which lends the call's place to others in the meantime.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use toolcrib::Crib;
use toolcrib::approval::queue::OnlyGiven;
use toolcrib::approval::{AllowAll, ApprovalRequest, ApprovalResponse, Approver, NoAnswer};

use super::body::Approvals;
use super::gate::{CallSlot, TooManyAsk};
use crate::api::Api;

/// The approver of a call that has this place.
pub(super) fn approver(api: &Api, wanted: Approvals, place: &Arc<CallSlot>) -> Arc<dyn Approver> {
    match wanted {
        Approvals::Wait => lending(api.crib(), place, api.stopping()),
        Approvals::Given => Arc::new(OnlyGiven::as_asked(
            api.crib().approvals().clone(),
            "the request says `approvals: \"given\"`",
        )),
        Approvals::Yes => Arc::new(AllowAll::by("--yes")),
    }
}

/// The crib's own approver, for a call that has this place.
pub(crate) fn lending(
    crib: &Crib,
    place: &Arc<CallSlot>,
    stopping: &CancellationToken,
) -> Arc<dyn Approver> {
    Arc::new(Lending {
        asked: Arc::clone(crib.registry().approver()),
        place: Arc::downgrade(place),
        stopping: stopping.clone(),
    })
}

/// Asks someone else, and lends the call's place to others until there is an answer.
struct Lending {
    asked: Arc<dyn Approver>,
    /// The call's, which is over when it is gone: an observer may keep this for longer.
    place: Weak<CallSlot>,
    stopping: CancellationToken,
}

impl Approver for Lending {
    fn decide(
        &self,
        request: ApprovalRequest,
    ) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        Box::pin(async move {
            let place = self.place.upgrade();
            let lent = place.as_ref().map(|place| place.lend()).transpose();
            let _lent = lent.map_err(|too_many| match too_many {
                TooManyAsk::Own(pending) => NoAnswer::TooManyOfOne { pending },
                TooManyAsk::All(pending) => NoAnswer::TooMany { pending },
            })?;
            // No one answers in the little time that a server has to stop.
            match self
                .stopping
                .run_until_cancelled(self.asked.decide(request))
                .await
            {
                Some(answer) => answer,
                None => Err(NoAnswer::Unavailable(
                    "the server stops; call again when it is back".into(),
                )),
            }
        })
    }

    fn claim(&self, id: &str) -> BoxFuture<'_, Result<(), NoAnswer>> {
        self.asked.claim(id)
    }

    fn announces(&self) -> bool {
        self.asked.announces()
    }
}
