//! Steps that use other tools.

use super::*;
use crate::approval::{ApprovalRequest, ApprovalResponse, NoAnswer};
use crate::call::event::EventKind;
use crate::model::error::ErrorCode;

#[tokio::test]
async fn a_step_uses_a_built_in_tool_with_typed_values() {
    let test = Real::new().tool(
        "reads",
        r#"
description: Reads a part of a file
tags: [read]
parameters:
  FILE: {type: string, description: The file}
  FIRST: {type: number, description: The first line}
  LAST: {type: number, description: The last line, required: false}
steps:
  - name: read
    use-tool: read_file
    with: {path: "{FILE}", start_line: "{FIRST}", end_line: "{LAST}"}
  - name: show
    bash: printf '%s' "{read.output}|{read.exit-code}"
"#,
    );
    std::fs::write(test.path("a.txt"), "one\ntwo\nthree\n").unwrap();
    let request = CallRequest::new("reads")
        .arg("FILE", "a.txt")
        .arg("FIRST", 2);
    let outcome = test.registry.execute(request.clone()).await;
    assert_eq!(fields(&outcome)["stdout"], "two\nthree|0", "{outcome:?}");
    let outcome = test.registry.execute(request.arg("LAST", 2)).await;
    assert_eq!(fields(&outcome)["stdout"], "two|0", "{outcome:?}");
}

#[tokio::test]
async fn the_exit_code_of_a_used_program_decides_unless_its_tool_ignores_it() {
    let test = Real::new()
        .tool(
            "shrugs",
            "description: Shrugs\ntags: [run]\nbash: exit 7\nignore-errors: true\n",
        )
        .steps(
            "uses",
            r#"
  - name: shrug
    use-tool: shrugs
  - name: code
    bash: echo {shrug.exit-code}
  - name: shell
    use-tool: shell
    with: {command: "echo out; echo err >&2; exit 3"}
"#,
        );
    let outcome = test.call("uses").await;
    assert_eq!(statuses(&outcome), "shrug=ok code=ok shell=failed");
    let fields = fields(&outcome);
    assert_eq!(fields["steps"]["code"]["stdout"], "7\n");
    assert_eq!(fields["exitCode"], 3);
    assert_eq!(fields["output"], "out\nerr");
    assert_eq!(
        outcome.error().unwrap().message(),
        "step `shell` failed: `shell` ended with exit code 3\n  err"
    );
}

struct No;

impl Approver for No {
    fn decide(
        &self,
        _request: ApprovalRequest,
    ) -> futures_util::future::BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        Box::pin(async { Ok(ApprovalResponse::deny("test", "not today")) })
    }
}

#[tokio::test]
async fn a_used_tool_is_asked_about_by_itself_and_a_denial_is_not_asked_twice() {
    let test = Real::asking(No).steps(
        "removes",
        r#"
  - name: remove
    use-tool: delete_file
    with: {path: a.txt}
    error-handling:
      retry: {attempts: 3, delay: 1}
"#,
    );
    std::fs::write(test.path("a.txt"), "").unwrap();
    let outcome = test.call("removes").await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::ExecutionError);
    assert!(
        error
            .message()
            .starts_with("step `remove` failed: `delete_file`: "),
        "{error}"
    );
    assert!(error.message().ends_with("(APPROVAL_DENIED)"), "{error}");
    let fields = fields(&outcome);
    assert_eq!(fields["steps"]["remove"]["attempts"], 1);
    assert_eq!(
        fields["steps"]["remove"]["error"]["code"],
        "APPROVAL_DENIED"
    );
    assert!(test.path("a.txt").exists());
}

#[tokio::test]
async fn the_output_of_a_used_tool_comes_while_it_runs() {
    let test = Real::new()
        .steps(
            "inner",
            r#"
  - name: waits
    bash: echo one; until [ -e go ]; do sleep 0.02; done; echo two
    output: {stream-callback: function}
"#,
        )
        .steps(
            "outer",
            r#"
  - name: uses
    use-tool: inner
    output: {stream-callback: console}
"#,
        );
    let call = test.registry.execute_async(CallRequest::new("outer"));
    let mut events = call.events();
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        let EventKind::Output {
            chunk,
            step,
            console,
            ..
        } = &event.kind
        else {
            continue;
        };
        assert_eq!((step.as_deref(), *console), (Some("uses"), true));
        seen.push(chunk.clone());
        std::fs::write(test.path("go"), "").unwrap();
    }
    assert_eq!(seen, ["one\n", "two\n"]);
    let outcome = call.outcome().await;
    assert_eq!(fields(&outcome)["output"], "one\ntwo");
}

#[tokio::test]
async fn cancelling_reaches_a_used_tool() {
    let test = Real::new()
        .tool(
            "waits",
            "description: Waits\ntags: [run]\nbash: echo up; touch up; sleep 100\n",
        )
        .steps("outer", "  - name: uses\n    use-tool: waits\n");
    let call = test.registry.execute_async(CallRequest::new("outer"));
    until("start", || test.path("up").exists()).await;
    call.cancel();
    let outcome = call.outcome().await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::Cancelled);
    assert_eq!(statuses(&outcome), "uses=cancelled");
    assert_eq!(fields(&outcome)["steps"]["uses"]["stdout"], "up\n");
}

#[tokio::test]
async fn a_time_limit_of_a_step_holds_for_a_used_tool() {
    let test = Real::new()
        .tool(
            "waits",
            "description: Waits\ntags: [run]\nbash: echo up; sleep 100\n",
        )
        .steps(
            "outer",
            "  - name: uses\n    use-tool: waits\n    timeout: 1000\n",
        );
    let outcome = test.call("outer").await;
    assert_eq!(statuses(&outcome), "uses=timeout");
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::Timeout);
    assert_eq!(fields(&outcome)["stdout"], "up\n");
}
