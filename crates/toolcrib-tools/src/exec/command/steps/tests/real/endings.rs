//! Cancellation, deadlines, timeouts of steps: what is ended is gone, and what came of it is known.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;

use super::*;
use crate::model::error::ErrorCode;

/// A FIFO that programs hold open: read to its end only when no process has it any more.
struct Held(std::fs::File);

impl Held {
    fn new(test: &Real) -> Self {
        make_fifo(&test.path("held"));
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(nonblocking)
            .open(test.path("held"));
        Held(file.unwrap())
    }

    /// What was written so far; and whether someone still can write.
    fn look(&mut self) -> (String, bool) {
        let mut text = Vec::new();
        let result = self.0.read_to_end(&mut text);
        let is_held = match result {
            Ok(_) => false,
            Err(error) if error.kind() == ErrorKind::WouldBlock => true,
            Err(error) => panic!("{error}"),
        };
        (String::from_utf8(text).unwrap(), is_held)
    }
}

const HOLDS: &str = r#"
  - name: one
    bash: exec 8> held; echo so far; echo up >&8; sleep 100 & wait
  - name: two
    bash: exec 8> held; echo up >&8; trap '' TERM; sleep 100; sleep 100
    parallel: true
  - name: three
    bash: touch three
"#;

#[tokio::test]
async fn a_cancelled_call_leaves_no_process_and_says_what_became_of_its_steps() {
    let test = Real::new().steps("holds", HOLDS);
    let mut held = Held::new(&test);
    let call = test.registry.execute_async(CallRequest::new("holds"));
    let mut ups = String::new();
    until("two steps", || {
        ups.push_str(&held.look().0);
        ups == "up\nup\n"
    })
    .await;
    call.cancel();
    let outcome = call.outcome().await;
    assert!(!held.look().1, "a process is left");
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::Cancelled);
    assert_eq!(
        statuses(&outcome),
        "one=cancelled two=cancelled three=cancelled"
    );
    assert_eq!(fields(&outcome)["steps"]["one"]["stdout"], "so far\n");
    assert!(!test.path("three").exists());
}

#[tokio::test]
async fn a_call_that_is_out_of_time_leaves_no_process_and_says_what_became_of_its_steps() {
    let test = Real::new().steps("holds", &format!("{HOLDS}timeout: 1000\n"));
    let mut held = Held::new(&test);
    let outcome = test.call("holds").await;
    assert!(!held.look().1, "a process is left");
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::Timeout);
    assert_eq!(
        statuses(&outcome),
        "one=timeout two=timeout three=cancelled"
    );
    assert_eq!(fields(&outcome)["steps"]["one"]["stdout"], "so far\n");
}

#[tokio::test]
async fn a_step_that_takes_too_long_is_ended_alone() {
    let test = Real::new().steps(
        "slow",
        r#"
  - name: slow
    bash: exec 8> held; echo so far; sleep 100
    timeout: 1000
    continue-on-error: true
  - name: next
    bash: echo {slow.output}
  - name: slower
    bash: sleep 100
    timeout: 100
  - name: rest
    bash: touch rest
"#,
    );
    let mut held = Held::new(&test);
    let outcome = test.call("slow").await;
    assert!(!held.look().1, "a process is left");
    assert_eq!(
        statuses(&outcome),
        "slow=timeout next=ok slower=timeout rest=skipped"
    );
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::Timeout);
    assert_eq!(
        error.message(),
        "step `slower` took too long: it did not finish within 100 ms"
    );
    let fields = fields(&outcome);
    assert_eq!(fields["steps"]["next"]["stdout"], "so far\n");
    // What the first one kept on its way is not the second one's.
    assert_eq!(fields["stdout"], "");
}

#[tokio::test]
async fn a_failure_says_which_step_and_why() {
    let test = Real::new().steps(
        "fails",
        r#"
  - name: fine
    bash: echo fine
  - name: build
    bash: |
      echo working
      for line in 1 2 3 4 5 6 7; do echo "line $line" >&2; done
      exit 2
  - name: rest
    bash: touch rest
"#,
    );
    let outcome = test.call("fails").await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::ExecutionError);
    assert_eq!(
        error.message(),
        "step `build` failed: exit code 2\n  line 3\n  line 4\n  line 5\n  line 6\n  line 7"
    );
    let fields = fields(&outcome);
    assert_eq!(fields["exitCode"], 2);
    assert_eq!(fields["stdout"], "working\n");
    assert_eq!(statuses(&outcome), "fine=ok build=failed rest=skipped");
    assert!(!test.path("rest").exists());
}
