//! Who is asked about calls over HTTP: [`Lending`], which lets others have the call's place meanwhile.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use toolcrib::approval::queue::OnlyGiven;
use toolcrib::approval::{AllowAll, ApprovalRequest, ApprovalResponse, Approver, NoAnswer};

use super::body::Approvals;
use super::gate::{Place, TooManyAsk};
use crate::api::Api;

/// Who is asked about a call that has this place.
pub(super) fn approver(api: &Api, wanted: Approvals, place: &Arc<Place>) -> Arc<dyn Approver> {
    match wanted {
        Approvals::Wait => Arc::new(Lending {
            asked: Arc::clone(api.crib().registry().approver()),
            place: Arc::clone(place),
        }),
        Approvals::Given => Arc::new(OnlyGiven::of(
            api.crib().approvals().clone(),
            "the request says `approvals: \"given\"`",
        )),
        Approvals::Yes => Arc::new(AllowAll::by("--yes")),
    }
}

/// Asks somebody else, and lends the call's place to others until there is an answer.
struct Lending {
    asked: Arc<dyn Approver>,
    place: Arc<Place>,
}

impl Approver for Lending {
    fn decide(
        &self,
        request: ApprovalRequest,
    ) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        Box::pin(async move {
            let _lent = self.place.lend().map_err(|too_many| match too_many {
                TooManyAsk::Own(pending) => NoAnswer::TooManyOfOne { pending },
                TooManyAsk::All(pending) => NoAnswer::TooMany { pending },
            })?;
            self.asked.decide(request).await
        })
    }

    fn claim(&self, id: &str) -> BoxFuture<'_, Result<(), NoAnswer>> {
        self.asked.claim(id)
    }

    fn announces(&self) -> bool {
        self.asked.announces()
    }
}
