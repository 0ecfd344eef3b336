//! Killed at any system call between putting a question and running the call, a caller leaves a question that can be answered, an
//! approval that can be used, or one that is used; never damage, and never a call that ran without having used its approval.

use std::path::{Path, PathBuf};

use toolcrib::approval::queue::Look;
use toolcrib::approval::{
    ApprovalQueue, ApprovalRequest, ApprovalResponse, Approver, Hold, NoAnswer, QueueOptions,
    Status,
};
use toolcrib::{BoxFuture, CallRequest, Registry};

use super::processes::{registry, runs};
use super::{all, no_check};
use crate::syscalls::{Followed, Stand, between_stops, test_in_child};

/// The queue, step by step on the thread that calls, so that every system call of it can be followed; and a person who says
/// yes at once.
struct OnThisThread(ApprovalQueue);

impl Approver for OnThisThread {
    fn decide(
        &self,
        request: ApprovalRequest,
    ) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        Box::pin(async move {
            let ticket = self.0.put(request)?;
            if ticket.look()? == Look::Pending {
                let approve = ApprovalResponse::approve("Ada");
                let answered = self.0.answer(ticket.id(), None, approve, no_check);
                answered.map_err(|error| NoAnswer::Storage(error.to_string()))?;
            }
            let Look::Answered(mut response) = ticket.look()? else {
                return Err(NoAnswer::Expired);
            };
            response.hold = Hold::of(ticket.id().to_owned(), ticket);
            Ok(response)
        })
    }

    fn claim(&self, id: &str) -> BoxFuture<'_, Result<(), NoAnswer>> {
        let claimed = self.0.claim_now(id);
        Box::pin(async move { claimed })
    }
}

fn queue(home: &Path) -> ApprovalQueue {
    ApprovalQueue::at(home.join("approvals"), QueueOptions::default())
}

fn call(registry: &Registry) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let noting = CallRequest::new("note").arg("text", "hello");
    runtime.block_on(registry.execute(noting)).is_ok()
}

/// The side that is killed. On its own it does nothing.
#[test]
fn child() {
    let Some(home) = std::env::var_os("TOOLCRIB_TEST_APPROVAL_CRASH").map(PathBuf::from) else {
        return;
    };
    let registry = registry(&home, OnThisThread(queue(&home)));
    assert!(between_stops(|| call(&registry)));
}

#[test]
fn a_caller_killed_at_any_call_neither_loses_nor_repeats() {
    let mut seen = Vec::new();
    for stop in 1.. {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let mut command = test_in_child("approvals::crash::child");
        command.env("TOOLCRIB_TEST_APPROVAL_CRASH", home);
        let Some(mut child) = Followed::start(&mut command) else {
            return;
        };
        let is_done = (0..stop).any(|_| child.next() == Stand::Done);
        if is_done {
            assert_eq!(child.finish(), 0);
        } else {
            child.kill();
        }
        let context = format!("killed at call {stop}");
        let ran = runs(home);
        let queue = queue(home);
        let left = all(&queue);
        let status = match &left[..] {
            [] => None,
            [one] => {
                assert!(!one.waiting, "{context}");
                Some(one.status)
            }
            several => panic!("{context}: {several:?}"),
        };
        match status {
            None | Some(Status::Pending | Status::Approved) => assert_eq!(ran, 0, "{context}"),
            Some(Status::Used) => assert!(ran <= 1, "{context}"),
            Some(other) => panic!("{context}: {other:?}"),
        }
        if seen.last() != Some(&status) {
            seen.push(status);
        }

        // The next caller takes up what was left, or asks anew where the approval is used.
        let registry = registry(home, OnThisThread(queue.clone()));
        assert!(call(&registry), "{context}");
        assert_eq!(runs(home), ran + 1, "{context}");
        let now = all(&queue);
        let expected = if status == Some(Status::Used) { 2 } else { 1 };
        assert_eq!(now.len(), expected, "{context}: {now:?}");
        assert!(
            now.iter().all(|queued| queued.status == Status::Used),
            "{context}: {now:?}"
        );
        if is_done {
            assert!(stop > 60, "followed only {stop} calls: that cannot be all");
            assert_eq!(ran, 1);
            break;
        }
    }
    assert_eq!(
        seen,
        [
            None,
            Some(Status::Pending),
            Some(Status::Approved),
            Some(Status::Used)
        ]
    );
}
