//! Killed at any system call that has to do with files between putting a question and running the call, a caller leaves a question that can be answered, an
//! approval that can be used, or one that is used; never damage, and never a call that ran without having used its approval.

use std::path::{Path, PathBuf};
use std::process::Command;

use toolcrib::approval::queue::Look;
use toolcrib::approval::{
    ApprovalQueue, ApprovalRequest, ApprovalResponse, Approver, Hold, NoAnswer, QueueOptions,
    Status,
};
use toolcrib::{BoxFuture, CallRequest, Registry};

use super::processes::{registry, runs};
use super::{all, no_check, request};
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
            Ok(*response)
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
    let is_ok = runtime.block_on(registry.execute(noting)).is_ok();
    // While a child is followed only one thread of it runs: nothing must wait for another.
    runtime.shutdown_background();
    is_ok
}

/// The side that is killed. On its own it does nothing.
#[test]
fn child() {
    let Some(home) = std::env::var_os("TOOLCRIB_TEST_APPROVAL_CRASH").map(PathBuf::from) else {
        return;
    };
    let registry = registry(&home, OnThisThread(queue(&home)));
    match std::env::var("TOOLCRIB_TEST_OPERATION").as_deref() {
        Ok("withdraw") => {
            let queue = queue(&home);
            let ticket = between_stops(|| queue.put(request("a")).map(drop));
            assert_eq!(ticket, Ok(()));
        }
        Ok("may fail") => {
            between_stops(|| call(&registry));
        }
        _ => assert!(between_stops(|| call(&registry))),
    }
}

fn child_in(home: &Path, operation: &str) -> Command {
    let mut command = test_in_child("approvals::crash::child");
    command.env("TOOLCRIB_TEST_APPROVAL_CRASH", home);
    command.env("TOOLCRIB_TEST_OPERATION", operation);
    command
}

#[test]
fn a_caller_killed_at_any_call_neither_loses_nor_repeats() {
    let mut seen = Vec::new();
    for stop in 1.. {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let Some(mut child) = Followed::start(&mut child_in(home, "call")) else {
            return;
        };
        let is_done = !child.gets_to(stop);
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

        // The next caller takes up what was left, or asks again where the approval is used.
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
            assert!(stop > 40, "followed only {stop} calls: that cannot be all");
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

#[test]
fn a_withdrawal_killed_at_any_call_leaves_a_question_open_or_withdrawn() {
    let mut seen = Vec::new();
    for stop in 1.. {
        let home = tempfile::tempdir().unwrap();
        let Some(mut child) = Followed::start(&mut child_in(home.path(), "withdraw")) else {
            return;
        };
        let is_done = !child.gets_to(stop);
        if is_done {
            assert_eq!(child.finish(), 0);
        } else {
            child.kill();
        }
        let queue = queue(home.path());
        let status = all(&queue).first().map(|one| one.status);
        if seen.last() != Some(&status) {
            seen.push(status);
        }
        let ticket = queue.put(request("a")).unwrap();
        assert_eq!(ticket.look(), Ok(Look::Pending), "killed at call {stop}");
        let joined = status == Some(Status::Pending);
        assert_eq!(all(&queue).len() == 1, status.is_none() || joined);
        if is_done {
            break;
        }
    }
    assert_eq!(seen, [None, Some(Status::Pending), Some(Status::Withdrawn)]);
}

/// Which call fails can be chosen only where we know the registers.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_caller_refused_by_the_disk_at_any_call_runs_only_by_an_approval_it_used() {
    let mut refused = 0;
    for stop in 1.. {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let Some(mut child) = Followed::start(&mut child_in(home, "may fail")) else {
            return;
        };
        if !child.gets_to(stop) {
            child.finish();
            break;
        }
        child.fail_call(nix::errno::Errno::ENOSPC);
        while child.next() != Stand::Done {}
        assert_eq!(child.finish(), 0, "at call {stop}");
        let queue = queue(home);
        let used = all(&queue)
            .iter()
            .filter(|queued| queued.status == Status::Used)
            .count();
        assert!(runs(home) <= used, "at call {stop}: {:?}", all(&queue));
        refused += usize::from(runs(home) == 0);
        let registry = registry(home, OnThisThread(queue.clone()));
        assert!(call(&registry), "at call {stop}");
    }
    assert!(refused > 10, "{refused}");
}
