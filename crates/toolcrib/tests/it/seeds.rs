//! What the seeds show of the foundation, as they show it: S1 the Python document, S2 the TypeScript
//! one, S3 the Go reference. (File tools are in `paths.rs`, formats in `wire/`, S4's manifest in
//! `model/manifest.rs`.)

use std::time::Duration;
use toolcrib::RegisterBuiltins as _;
use toolcrib::testing::WithBuiltins as _;

use serde_json::{Value, json};
use toolcrib::approval::{ApprovalRequest, ApprovalResponse};
use toolcrib::rules::{Rule, RuleSet};
use toolcrib::schema::{Property, Schema};
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::testing::TestCrib;
use toolcrib::wire::{DefinitionOptions, Provider, ResultShape, render};
use toolcrib::{CallId, CallRequest, ErrorCode, FnTool, Registry};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
struct MyArgs {
    /// First argument
    arg1: String,
}

fn my_tool() -> FnTool {
    FnTool::new(
        "my_tool",
        "What my tool does",
        |args: MyArgs, _cx| async move { Ok(format!("expected {}", args.arg1)) },
    )
    .unwrap()
}

/// S1 "Testing Tools": id, name and arguments in; success and output out.
#[tokio::test]
async fn s1_a_tool_call_gives_a_tool_result() {
    let test = TestCrib::new();
    test.registry().register(my_tool()).unwrap();
    let call =
        CallRequest::from_json(json!({"name": "my_tool", "arguments": {"arg1": "value"}})).unwrap();
    let outcome = test
        .registry()
        .execute(call.call_id(CallId::parse("test-1").unwrap()))
        .await;
    assert_eq!(
        render(&outcome, ResultShape::Simple),
        json!({"tool_call_id": "test-1", "output": "expected value", "success": true})
    );
    let failed = test
        .registry()
        .execute(CallRequest::new("my_tool").call_id(CallId::parse("call-123").unwrap()))
        .await;
    let failed = render(&failed, ResultShape::Simple);
    assert_eq!(
        (&failed["output"], &failed["success"]),
        (&json!(""), &json!(false))
    );
    assert!(failed["error"].as_str().unwrap().contains("/arg1"));
}

/// S1 "Tool Schema Rules" and S3 "Custom Tool Development": the builder makes what LM Studio and
/// OpenAI expect.
#[test]
fn s1_the_schema_helper_makes_an_object_with_described_properties() {
    let built = Schema::object()
        .required("param1", Property::string("First parameter"))
        .build()
        .unwrap();
    let created = Schema::create(
        json!({"param1": {"type": "string", "description": "First parameter"}}),
        &["param1"],
    )
    .unwrap();
    assert_eq!(built, created);
    assert_eq!(
        *built.as_value(),
        json!({"type": "object", "properties": {"param1": {"type": "string", "description": "First parameter"}}, "required": ["param1"]})
    );
    assert!(
        Schema::authored(json!({"type": "string"}))
            .unwrap_err()
            .to_string()
            .contains("object")
    );
}

/// S1 "Tool Safety": a custom rule.
#[tokio::test]
async fn s1_a_safety_rule_blocks_and_returns_an_error_to_the_model() {
    let rules = RuleSet::default().with(Rule::forbid("no_network_access", ["curl", "wget", "nc"]));
    let test = TestCrib::new().rules(rules);
    test.registry().register(my_tool()).unwrap();
    let outcome = test
        .registry()
        .execute(CallRequest::new("my_tool").arg("arg1", "wget http://x"))
        .await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::BlockedByRule);
}

/// S2 "Tool Registry" and "Approval System".
#[tokio::test]
async fn s2_the_registry_and_the_approval_gate() {
    let test = TestCrib::new().answers([ApprovalResponse::approve_with(
        "user",
        json!({"arg1": "safer"}).as_object().unwrap().clone(),
    )]);
    let registry = test.registry();
    registry
        .register(my_tool().ask_when(|args| args["arg1"] == "overwrite"))
        .unwrap();
    assert!(registry.get("my_tool").is_some() && registry.get("other").is_none());
    assert_eq!(registry.list().len(), 1);
    let functions = registry
        .definitions(Provider::OpenAiFunctions, &DefinitionOptions::default())
        .tools;
    assert_eq!(
        functions,
        [
            json!({"name": "my_tool", "description": "What my tool does", "parameters": {
            "type": "object", "properties": {"arg1": {"type": "string", "description": "First argument"}}, "required": ["arg1"]}})
        ]
    );
    let outcome = registry
        .execute(CallRequest::new("my_tool").arg("arg1", "overwrite"))
        .await;
    assert_eq!(outcome.value().unwrap(), "expected safer");
    // The interface of the document: stepId, tool, args, reason; approved, modifiedArgs.
    let asked: ApprovalRequest = test.asked().remove(0);
    let wire = serde_json::to_value(&asked).unwrap();
    for field in ["stepId", "callId", "tool", "args", "reason"] {
        assert!(wire.get(field).is_some(), "{field}: {wire}");
    }
    let response: ApprovalResponse =
        serde_json::from_value(json!({"approved": true, "modifiedArgs": {"arg1": "x"}})).unwrap();
    assert!(response.approved && response.modified_args.is_some());
    // ToolResult<T>: ok and value, or ok and error with code, message, details.
    let tagged = render(&outcome, ResultShape::Tagged);
    assert_eq!(
        (&tagged["ok"], &tagged["value"]),
        (&json!(true), &json!("expected safer"))
    );
}

/// S3 "Common Error Scenarios", 1 and 2.
#[tokio::test]
async fn s3_error_scenarios() {
    let registry = Registry::new();
    registry.register(my_tool()).unwrap();
    let missing = registry.execute(CallRequest::new("nonexistent")).await;
    assert!(
        missing
            .error()
            .unwrap()
            .to_string()
            .contains("tool not found")
    );
    assert_eq!(render(&missing, ResultShape::Detailed)["success"], false);
    let request = CallRequest::from_json(json!({"name": "my_tool", "parameters": {}})).unwrap();
    let invalid = render(&registry.execute(request).await, ResultShape::Detailed);
    assert_eq!(invalid["success"], false);
    assert!(
        invalid["error"]
            .as_str()
            .unwrap()
            .contains("`/arg1` is required")
    );
}

/// S3 "Asynchronous Execution" and "Execution Timing".
#[tokio::test]
async fn s3_asynchronous_execution_and_its_metadata() {
    let registry = Registry::new();
    registry.register(my_tool()).unwrap();
    let handle = registry.execute_async(CallRequest::new("my_tool").arg("arg1", "x"));
    let outcome = tokio::time::timeout(Duration::from_secs(30), handle.outcome())
        .await
        .unwrap();
    let detailed = render(&outcome, ResultShape::Detailed);
    assert_eq!(
        (&detailed["success"], &detailed["content"]),
        (&json!(true), &json!("expected x"))
    );
    let metadata = &detailed["metadata"];
    assert!(
        metadata["execution_time"].as_u64().is_some(),
        "nanoseconds: {metadata}"
    );
    assert_eq!(metadata["tool_name"], "my_tool");
    // The name that was called, not the one it stands for.
    let by_alias = CallRequest::new("+my-tool").arg("arg1", "x");
    let by_alias = render(&registry.execute(by_alias).await, ResultShape::Detailed);
    assert_eq!(by_alias["metadata"]["tool_name"], "+my-tool");
    assert_eq!(metadata["parameters"], json!({"arg1": "x"}));
    for time in ["start_time", "end_time"] {
        assert!(
            metadata[time]
                .as_str()
                .unwrap()
                .parse::<jiff::Timestamp>()
                .is_ok()
        );
    }
    assert!(matches!(
        detailed.get("data"),
        None | Some(Value::Object(_))
    ));
}

/// S3 "Registry Interface": every method, and no shadowing.
#[test]
fn s3_register_unregister_get_list() {
    let registry = Registry::new();
    registry.register(my_tool()).unwrap();
    assert!(registry.register(my_tool()).is_err());
    registry.register_builtins().unwrap();
    assert!(registry.unregister("my_tool").is_some());
    assert!(registry.unregister("my_tool").is_none());
    assert!(registry.get("my_tool").is_none());
    registry.register(my_tool()).unwrap();
}

#[test]
fn the_tools_in_docs_are_the_tools_there_are() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    let page = toolcrib::crib::tools_reference();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap_or_default(),
        page,
        "UPDATE_GOLDEN=1 writes docs/tools.md"
    );
}

/// S1 "Built-in Tools": every example, as it is there.
#[tokio::test]
async fn s1_the_examples_of_the_built_in_tools() {
    let test = TestCrib::new().file("README.md", "# Read me\n").builtins();
    for (call, expected) in [
        (
            json!({"name": "list_files", "arguments": {"path": "."}}),
            "README.md",
        ),
        (
            json!({"name": "read_file", "arguments": {"path": "README.md"}}),
            "# Read me\n",
        ),
        (
            json!({"name": "write_file", "arguments": {"path": "output.txt", "content": "Hello, world!"}}),
            "13 bytes",
        ),
        (
            json!({"name": "shell", "arguments": {"command": "ls -la"}}),
            "output.txt",
        ),
    ] {
        let outcome = test
            .registry()
            .execute(CallRequest::from_json(call.clone()).unwrap())
            .await;
        let result = render(&outcome, ResultShape::Simple);
        assert_eq!(result["success"], true, "{call}: {result}");
        let output = result["output"].as_str().unwrap();
        assert!(output.contains(expected), "{call}: {output}");
    }
}

/// S1 "Tool Safety": the default rules, and one of one's own.
#[tokio::test]
async fn s1_dangerous_commands_and_sensitive_files_are_blocked_and_rules_can_be_added() {
    let rules = RuleSet::default().with(Rule::forbid("no_network_access", ["curl", "wget", "nc"]));
    let test = TestCrib::new().rules(rules).builtins();
    let refused = |command: &str| {
        let request = CallRequest::new("shell").arg("command", command);
        let registry = test.registry().clone();
        async move { registry.execute(request).await }
    };
    for (command, rule) in [
        ("rm -rf /", "recursive-removal"),
        ("dd if=/dev/zero of=/dev/sda", "disks"),
        ("mkfs.ext4 /dev/sda1", "disks"),
        ("cat /etc/passwd", "system-accounts"),
        ("cat ~/.ssh/id_rsa", "ssh-keys"),
        ("curl https://example.com", "no_network_access"),
        ("echo x | nc localhost 80", "no_network_access"),
    ] {
        let outcome = refused(command).await;
        let error = outcome.error().unwrap_or_else(|| panic!("{command}"));
        assert_eq!(error.code(), ErrorCode::BlockedByRule, "{command}: {error}");
        assert!(error.message().contains(rule), "{command}: {error}");
    }
    assert!(refused("echo curl wget nc").await.is_ok());
}

/// S3 "BashTool" and "Security Violations".
#[tokio::test]
async fn s3_bash_runs_what_is_harmless_and_says_what_is_not() {
    let test = TestCrib::new().builtins();
    let call = |command: &str| {
        let request = json!({"name": "execute_bash", "parameters": {"command": command}});
        let request = CallRequest::from_json(request).unwrap();
        let registry = test.registry().clone();
        async move { render(&registry.execute(request).await, ResultShape::Detailed) }
    };
    let result = call("echo 'Hello World'").await;
    assert_eq!(
        (&result["success"], &result["content"]),
        (&json!(true), &json!("Hello World\n"))
    );
    assert_eq!(result["data"]["exitCode"], 0);
    let result = call("sudo rm -rf /").await;
    assert_eq!(result["success"], false);
    let error = result["error"].as_str().unwrap();
    assert!(
        error.contains("refused") && error.contains("rule `privileges`"),
        "{error}"
    );
}

/// S2 "Approval": what each of its tools says about being asked.
#[tokio::test]
async fn s2_who_is_asked_before_which_tool() {
    let test = TestCrib::new()
        .file("old.txt", "old\n")
        .file("other.txt", "other\n")
        .builtins();
    for (tool, args, asks) in [
        ("list_directory", json!({"path": "."}), false),
        ("read_file", json!({"path": "old.txt"}), false),
        (
            "write_file",
            json!({"path": "new.txt", "content": "x"}),
            false,
        ),
        (
            "write_file",
            json!({"path": "old.txt", "content": "x"}),
            true,
        ),
        ("delete_file", json!({"path": "old.txt"}), true),
        (
            "move_file",
            json!({"from": "old.txt", "to": "moved.txt"}),
            false,
        ),
        (
            "move_file",
            json!({"from": "old.txt", "to": "other.txt", "overwrite": true}),
            true,
        ),
        (
            "run_code",
            json!({"language": "python", "code": "print(1)"}),
            false,
        ),
    ] {
        let request = CallRequest::new(tool).args(crate::tools::args(args.clone()));
        let plan = test.registry().plan(request).unwrap();
        assert_eq!(
            plan.verdict == toolcrib::Verdict::Ask,
            asks,
            "{tool} {args}"
        );
    }
}
