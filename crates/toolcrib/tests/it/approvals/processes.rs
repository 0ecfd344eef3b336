//! Callers that are killed: what they asked is neither lost nor done twice.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use toolcrib::approval::{ApprovalQueue, ApprovalResponse, QueueOptions, Queued, Status};
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::{CallRequest, Caller, Effects, FnTool, Registry};

use super::{all, no_check, statuses};
use crate::syscalls::test_in_child;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
struct Write {
    /// What to note.
    text: String,
}

/// A registry whose tool adds a line to `runs`, and asks first.
pub(super) fn registry(home: &Path, queue: impl toolcrib::approval::Approver) -> Registry {
    let registry = Registry::builder().approver(queue).build();
    let runs = home.join("runs");
    let tool = FnTool::new("note", "Notes something down", move |args: Write, _cx| {
        let runs = runs.clone();
        async move {
            let mut file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(runs)?;
            file.write_all(format!("{}\n", args.text).as_bytes())?;
            Ok(())
        }
    });
    registry
        .register(tool.unwrap().effects(Effects::WRITE).always_ask())
        .unwrap();
    registry
}

pub(super) fn runs(home: &Path) -> usize {
    std::fs::read_to_string(home.join("runs"))
        .unwrap_or_default()
        .lines()
        .count()
}

/// The other side of these tests: makes the call that the environment names. On its own it does nothing.
#[test]
fn child() {
    let Some(home) = std::env::var_os("TOOLCRIB_TEST_APPROVALS").map(PathBuf::from) else {
        return;
    };
    let caller = match std::env::var("TOOLCRIB_TEST_CALLER").as_deref() {
        Ok("cli") => Caller::Cli,
        _ => Caller::Library,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let registry = registry(&home, queue(&home));
    runtime.block_on(async {
        let call = CallRequest::new("note").arg("text", "hello").caller(caller);
        registry.execute(call).await;
    });
}

fn queue(home: &Path) -> ApprovalQueue {
    ApprovalQueue::at(home.join("approvals"), QueueOptions::default())
}

/// A process that makes the call. Killed when dropped.
struct Process(Child);

impl Process {
    fn call(home: &Path) -> Self {
        Process(Self::command(home).spawn().unwrap())
    }

    fn command(home: &Path) -> Command {
        let mut command = test_in_child("approvals::processes::child");
        command.env("TOOLCRIB_TEST_APPROVALS", home);
        command
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn finish(mut self) {
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for the one question that is pending and awaited.
fn awaited(queue: &ApprovalQueue) -> Queued {
    until("a question with a waiting caller", || {
        let mut found = queue.list(Some(Status::Pending)).unwrap().requests;
        assert!(found.len() < 2, "{found:?}");
        found.pop().filter(|queued| queued.waiting)
    })
}

fn approve(queue: &ApprovalQueue, queued: &Queued) {
    let digest = Some(queued.request.args_digest.as_str());
    queue
        .answer(
            &queued.request.id,
            digest,
            ApprovalResponse::approve("Ada"),
            no_check,
        )
        .unwrap();
}

#[test]
fn a_killed_callers_question_is_taken_up_by_the_next_one() {
    let home = tempfile::tempdir().unwrap();
    let queue = queue(home.path());
    let first = Process::call(home.path());
    let asked = awaited(&queue);
    first.kill();
    let orphan = &all(&queue)[0];
    assert_eq!((orphan.status, orphan.waiting), (Status::Pending, false));

    let second = Process::call(home.path());
    let joined = awaited(&queue);
    assert_eq!(joined.request.id, asked.request.id, "no second question");
    approve(&queue, &joined);
    second.finish();
    assert_eq!(runs(home.path()), 1);
    assert_eq!(statuses(&queue), [Status::Used]);
}

#[test]
fn an_approval_of_a_killed_caller_runs_once_for_the_next_caller() {
    let home = tempfile::tempdir().unwrap();
    let queue = queue(home.path());
    let first = Process::call(home.path());
    let asked = awaited(&queue);
    first.kill();
    approve(&queue, &asked);
    assert_eq!(statuses(&queue), [Status::Approved]);
    assert_eq!(runs(home.path()), 0);

    // Another kind of caller gets nothing of it.
    let mut stranger = Process::command(home.path());
    let stranger = Process(stranger.env("TOOLCRIB_TEST_CALLER", "cli").spawn().unwrap());
    assert_ne!(awaited(&queue).request.id, asked.request.id);
    stranger.kill();

    // Of six who come at once one runs by it; the others ask, together.
    let heirs: Vec<Process> = (0..6).map(|_| Process::call(home.path())).collect();
    until("the approval is used", || {
        let used = queue.show(&asked.request.id).unwrap().status == Status::Used;
        (used && runs(home.path()) == 1).then_some(())
    });
    let again = until("the others ask", || {
        let pending = queue.list(Some(Status::Pending)).unwrap().requests;
        pending.into_iter().find(|queued| queued.waiting)
    });
    assert_ne!(again.request.id, asked.request.id);
    let deny = ApprovalResponse::deny("Ada", "once is enough");
    queue
        .answer(&again.request.id, None, deny, no_check)
        .unwrap();
    heirs.into_iter().for_each(Process::finish);
    assert_eq!(runs(home.path()), 1);
}

#[test]
fn a_used_approval_is_never_used_again_whatever_became_of_the_call() {
    let home = tempfile::tempdir().unwrap();
    let queue = queue(home.path());
    let first = Process::call(home.path());
    let asked = awaited(&queue);
    approve(&queue, &asked);
    first.finish();
    assert_eq!(runs(home.path()), 1);
    let second = Process::call(home.path());
    let anew = awaited(&queue);
    assert_ne!(anew.request.id, asked.request.id);
    second.kill();
    assert_eq!(runs(home.path()), 1);
    assert_eq!(
        queue.claim_now(&asked.request.id),
        Err(toolcrib::approval::NoAnswer::Taken)
    );
}
