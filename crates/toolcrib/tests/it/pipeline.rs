//! How a call goes, from the outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use toolcrib::testing::WithBuiltins as _;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolcrib::approval::{ApprovalRequest, ApprovalResponse, Approver, NoAnswer};
use toolcrib::registry::Registration;
use toolcrib::rules::{Rule, RuleSet};
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::testing::TestCrib;
use toolcrib::{
    Approval, BoxFuture, CallContext, CallId, CallRequest, Effects, ErrorCode, EventKind, FnTool,
    LimitsPatch, Look, OutputStream, Registry, Role, Schema, Tool, ToolError, ToolOutput, ToolSpec,
    Verdict, WireName,
};

use crate::tools::{Echo, args, code, echo, simple, test_with};

#[tokio::test]
async fn a_call_that_goes_well_has_a_value_times_and_a_record() {
    let test = test_with(echo());
    let outcome = test
        .registry()
        .execute(CallRequest::new("echo").arg("text", "hi"))
        .await;
    assert_eq!(outcome.value(), Some(&json!("hi")));
    assert_eq!(outcome.tool, "echo");
    assert_eq!(outcome.parameters, args(json!({"text": "hi"})));
    assert!(outcome.timing.total >= outcome.timing.execution + outcome.timing.queue);
    assert!(outcome.timing.ended_at >= outcome.timing.started_at);
    let records = test.records();
    assert_eq!(records.len(), 1);
    assert_eq!(
        (records[0].ok, records[0].call_id.clone()),
        (true, outcome.call_id)
    );
}

#[tokio::test]
async fn every_reference_to_a_tool_finds_it_and_a_wrong_one_names_the_near() {
    let test = TestCrib::new().file("a.txt", "A").builtins();
    for name in [
        "read_file",
        "read-file",
        "+read-file",
        "+readfile",
        "core/read-file",
        "core/read-file@v1",
    ] {
        let outcome = test
            .registry()
            .execute(CallRequest::new(name).arg("path", "a.txt"))
            .await;
        assert_eq!(outcome.value().unwrap()["content"], "A", "{name}");
        assert_eq!(outcome.tool, "read_file");
    }
    for (name, near) in [
        ("raed_file", "`read_file`"),
        ("core/read-fil", "`read_file`"),
        ("list_file", "`list_directory`"),
    ] {
        let outcome = test.registry().execute(CallRequest::new(name)).await;
        assert_eq!(code(&outcome), ErrorCode::ToolNotFound);
        let message = outcome.error().unwrap().message();
        assert!(
            message.contains("tool not found") && message.contains(near),
            "{message}"
        );
    }
    for name in [
        "",
        "a/b/c",
        "core/read-file@v2",
        "other/read-file",
        "read_file@v1",
        "\u{0}",
        &"x".repeat(10_000),
    ] {
        let outcome = test.registry().execute(CallRequest::new(name)).await;
        assert_eq!(code(&outcome), ErrorCode::ToolNotFound, "{name}");
        assert!(
            outcome
                .error()
                .unwrap()
                .message()
                .contains("tool not found")
        );
    }
}

#[tokio::test]
async fn a_disabled_tool_and_an_unavailable_one_are_refused_with_their_reason() {
    let test = test_with(echo());
    let away = Registration {
        unavailable: Some("the server is away".to_owned()),
        ..Registration::default()
    };
    test.registry()
        .register_with(Arc::new(simple("far", |_| async { Ok(json!(1)) })), away)
        .unwrap();
    test.registry().set_enabled("echo", false).unwrap();
    let outcome = test
        .registry()
        .execute(CallRequest::new("echo").arg("text", "x"))
        .await;
    assert_eq!(code(&outcome), ErrorCode::ToolDisabled);
    let outcome = test.registry().execute(CallRequest::new("far")).await;
    assert_eq!(code(&outcome), ErrorCode::ToolUnavailable);
    assert!(
        outcome
            .error()
            .unwrap()
            .message()
            .contains("the server is away")
    );
    assert!(test.registry().list().is_empty(), "neither is on offer");
    test.registry().set_enabled("echo", true).unwrap();
    assert!(
        test.registry()
            .execute(CallRequest::new("echo").arg("text", "x"))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn every_fault_of_the_arguments_is_named_and_the_tool_is_not_called() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let tool = FnTool::new("t", "x", move |_: Echo, _cx| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Ok(1) }
    });
    let test = test_with(tool.unwrap());
    let outcome = test
        .registry()
        .execute(CallRequest::new("t").arg("text", 1))
        .await;
    assert_eq!(code(&outcome), ErrorCode::InvalidArguments);
    let faults = &outcome.error().unwrap().details().unwrap()["faults"];
    assert_eq!(
        *faults,
        json!([{"pointer": "/text", "message": "must be of type string, not number"}])
    );
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    assert!(!test.records()[0].ok);
}

#[tokio::test]
async fn arguments_over_the_limit_or_nested_too_deep_are_refused() {
    let limits = LimitsPatch {
        max_input_bytes: Some(100),
        ..LimitsPatch::default()
    };
    let test = test_with(echo().limits(limits));
    let long = CallRequest::new("echo").arg("text", "x".repeat(101));
    assert_eq!(
        code(&test.registry().execute(long).await),
        ErrorCode::InvalidArguments
    );
    let mut deep = json!(1);
    for _ in 0..200 {
        deep = json!([deep]);
    }
    let outcome = test
        .registry()
        .execute(CallRequest::new("echo").arg("text", deep))
        .await;
    assert!(
        outcome.error().unwrap().message().contains("nested"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_rule_refuses_before_anything_runs_and_says_its_name() {
    let rules = RuleSet::default().with(Rule::forbid("no_network_access", ["curl", "wget", "nc"]));
    let test = TestCrib::new().rules(rules);
    test.registry().register(echo()).unwrap();
    let outcome = test
        .registry()
        .execute(CallRequest::new("echo").arg("text", "curl http://x"))
        .await;
    assert_eq!(code(&outcome), ErrorCode::BlockedByRule);
    assert!(
        outcome
            .error()
            .unwrap()
            .message()
            .contains("no_network_access")
    );
    assert!(
        test.registry()
            .execute(CallRequest::new("echo").arg("text", "hello"))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn what_needs_approval_asks_and_obeys_the_answer() {
    let test = TestCrib::new().answers([
        ApprovalResponse::approve("ada"),
        ApprovalResponse::deny("ada", "not today"),
    ]);
    test.registry().register(echo().always_ask()).unwrap();
    let request = || CallRequest::new("echo").arg("text", "x");
    let approved = test.registry().execute(request()).await;
    assert!(approved.is_ok());
    assert_eq!(approved.approval.unwrap().by, "ada");
    let denied = test.registry().execute(request()).await;
    assert_eq!(code(&denied), ErrorCode::ApprovalDenied);
    assert!(denied.error().unwrap().message().contains("not today"));
    // The script is over: no one can be asked.
    assert_eq!(
        code(&test.registry().execute(request()).await),
        ErrorCode::ApprovalUnavailable
    );
    let asked = test.asked();
    assert_eq!(asked[0].args, args(json!({"text": "x"})));
    assert_eq!(asked[0].args_digest, asked[1].args_digest);
    assert_ne!(asked[0].id, asked[1].id);
}

#[tokio::test]
async fn an_expired_question_is_its_own_error() {
    let approver = toolcrib::testing::ScriptedApprover::default();
    approver.then(Err(NoAnswer::Expired));
    let test = TestCrib::new().with(|builder| builder.approver(approver));
    test.registry().register(echo().always_ask()).unwrap();
    let outcome = test
        .registry()
        .execute(CallRequest::new("echo").arg("text", "x"))
        .await;
    assert_eq!(code(&outcome), ErrorCode::ApprovalExpired);
}

#[tokio::test]
async fn dynamic_approval_goes_by_the_arguments() {
    let tool = echo().ask_when(|args| args["text"] == "danger");
    let test = test_with(tool);
    assert!(
        test.registry()
            .execute(CallRequest::new("echo").arg("text", "safe"))
            .await
            .is_ok()
    );
    let outcome = test
        .registry()
        .execute(CallRequest::new("echo").arg("text", "danger"))
        .await;
    assert_eq!(code(&outcome), ErrorCode::ApprovalUnavailable);
}

#[tokio::test]
async fn edited_arguments_are_validated_and_judged_again() {
    let edit = |value: Value| ApprovalResponse::approve_with("ada", args(value));
    let test = TestCrib::new()
        .rules(RuleSet::default().with(Rule::forbid("no_evil", ["evil"])))
        .answers([
            edit(json!({"text": "better"})),
            edit(json!({"text": 1})),
            edit(json!({"text": "evil"})),
        ]);
    test.registry().register(echo().always_ask()).unwrap();
    let run = || {
        test.registry()
            .execute(CallRequest::new("echo").arg("text", "x"))
    };
    let edited = run().await;
    assert_eq!(edited.value(), Some(&json!("better")));
    assert_eq!(edited.parameters, args(json!({"text": "better"})));
    assert!(edited.approval.unwrap().modified);
    assert_eq!(code(&run().await), ErrorCode::InvalidArguments);
    assert_eq!(code(&run().await), ErrorCode::BlockedByRule);
}

/// A tool written against the trait: asks by its effects, and carries a basis into execution.
struct Careful(Arc<ToolSpec>);

impl Careful {
    fn new(effects: Effects) -> Self {
        let mut spec = ToolSpec::new(
            WireName::parse("careful").unwrap(),
            "x",
            Schema::object().build().unwrap(),
        );
        spec.effects = effects;
        Careful(Arc::new(spec))
    }
}

impl Tool for Careful {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.0)
    }

    fn look(
        &self,
        _: &toolcrib::model::JsonObject,
        _: Option<&toolcrib::workspace::Workspace>,
    ) -> Look {
        Approval::ask("it is new")
            .with_effect("create x")
            .with_basis(json!({"mode": "new"}))
            .into()
    }

    fn call(
        &self,
        _: toolcrib::model::JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Ok(ToolOutput::value(cx.basis().cloned().unwrap_or_default())) })
    }
}

#[tokio::test]
async fn what_the_approval_rested_on_travels_into_execution() {
    let test = TestCrib::new().answers([ApprovalResponse::approve("ada")]);
    test.registry()
        .register(Careful::new(Effects::WRITE))
        .unwrap();
    let outcome = test.registry().execute(CallRequest::new("careful")).await;
    assert_eq!(outcome.value(), Some(&json!({"mode": "new"})));
    assert_eq!(test.asked()[0].effect, "create x");
}

#[tokio::test(start_paused = true)]
async fn a_call_over_its_time_is_stopped_and_keeps_what_it_had() {
    let tool = simple("slow", |cx| async move {
        cx.keep_partial("stdout", "half of it");
        std::future::pending::<()>().await;
        Ok(json!(1))
    });
    let test = test_with(tool);
    let outcome = test
        .registry()
        .execute(CallRequest::new("slow").timeout(Duration::from_millis(50)))
        .await;
    assert_eq!(code(&outcome), ErrorCode::Timeout);
    assert_eq!(
        outcome.error().unwrap().details().unwrap()["stdout"],
        "half of it"
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_cannot_have_more_time_than_the_tool() {
    let limits = LimitsPatch {
        timeout_ms: Some(50),
        ..LimitsPatch::default()
    };
    let tool = simple("slow", |_| async { Ok(std::future::pending().await) }).limits(limits);
    let test = test_with(tool);
    let before = tokio::time::Instant::now();
    let outcome = test
        .registry()
        .execute(CallRequest::new("slow").timeout(Duration::from_secs(3600)))
        .await;
    assert_eq!(code(&outcome), ErrorCode::Timeout);
    assert!(before.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn what_an_error_says_itself_counts_more_than_what_was_kept_on_the_way() {
    let tool = simple("late", |cx| async move {
        cx.keep_partial("stdout", "of an earlier attempt");
        cx.keep_partial("stderr", "kept");
        let error = ToolError::new(ErrorCode::Timeout, "a part of it took too long");
        Err(error.with_detail("stdout", "its own"))?;
        Ok(json!(1))
    });
    let test = test_with(tool);
    let outcome = test.registry().execute(CallRequest::new("late")).await;
    let details = outcome.error().unwrap().details().unwrap();
    assert_eq!(details["stdout"], "its own");
    assert_eq!(details["stderr"], "kept");
}

#[tokio::test]
async fn a_call_can_be_cancelled_by_token_by_id_and_by_handle() {
    let test = test_with(simple("wait", |cx| async move {
        cx.cancelled().await;
        Ok(std::future::pending().await)
    }));
    let registry = test.registry().clone();

    let token = CancellationToken::new();
    token.cancel();
    let outcome = registry
        .execute(CallRequest::new("wait").cancel_with(token))
        .await;
    assert_eq!(code(&outcome), ErrorCode::Cancelled);

    let handle = registry.execute_async(CallRequest::new("wait"));
    let mut events = handle.events();
    while !matches!(events.next().await.unwrap().kind, EventKind::Started { .. }) {}
    assert!(registry.cancel(handle.id()));
    let id = handle.id().clone();
    assert_eq!(code(&handle.outcome().await), ErrorCode::Cancelled);
    assert!(!registry.cancel(&id), "it is over");

    let handle = registry.execute_async(CallRequest::new("wait"));
    handle.cancel();
    assert_eq!(code(&handle.outcome().await), ErrorCode::Cancelled);
}

#[tokio::test]
async fn a_call_whose_caller_goes_away_is_cancelled_and_recorded() {
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    let tell = std::sync::Mutex::new(Some(tell));
    let test = test_with(simple("wait", move |cx| {
        let tell = tell.lock().unwrap().take();
        async move {
            tokio::spawn(async move {
                cx.cancelled().await;
                drop(tell);
            });
            Ok(std::future::pending().await)
        }
    }));
    let registry = test.registry().clone();
    let mut call = Box::pin(registry.execute(CallRequest::new("wait")));
    assert!(futures_util::poll!(&mut call).is_pending());
    drop(call);
    // What the tool left running in the background learns of it.
    assert!(told.await.is_err());
    let records = test.records();
    assert_eq!(
        (records.len(), records[0].code),
        (1, Some(ErrorCode::Cancelled))
    );
}

#[tokio::test]
async fn a_panic_is_an_outcome_wherever_the_tool_panics() {
    let test = test_with(simple("later", |_| async { panic!("on the way") }));
    test.registry()
        .register(simple("at_once", |_| -> std::future::Ready<_> {
            panic!("at once")
        }))
        .unwrap();
    test.registry()
        .register(echo().ask_when(|_| panic!("when asked")))
        .unwrap();
    for (request, expected) in [
        (CallRequest::new("later"), "on the way"),
        (CallRequest::new("at_once"), "at once"),
        (CallRequest::new("echo").arg("text", "x"), "when asked"),
    ] {
        let outcome = test.registry().execute(request).await;
        assert_eq!(code(&outcome), ErrorCode::ExecutionError);
        assert_eq!(
            outcome.error().unwrap().message(),
            format!("the tool panicked: {expected}")
        );
    }
    assert_eq!(test.records().len(), 3);
}

#[tokio::test]
async fn a_long_output_is_cut_and_a_wrong_one_refused() {
    #[derive(JsonSchema)]
    #[schemars(crate = "toolcrib::schemars")]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Promise {
        n: u32,
    }
    let limits = LimitsPatch {
        max_output_bytes: Some(1000),
        ..LimitsPatch::default()
    };
    let test = test_with(
        simple("long", |_| async { Ok(json!({"text": "x".repeat(5000)})) }).limits(limits),
    );
    let wide = simple("wide", |_| async {
        Ok(Value::from(vec!["x".repeat(900); 100]))
    })
    .limits(limits);
    test.registry().register(wide).unwrap();
    let liar = simple("liar", |_| async { Ok(json!({"n": "many"})) })
        .returns::<Promise>()
        .unwrap();
    test.registry().register(liar).unwrap();

    let long = test.registry().execute(CallRequest::new("long")).await;
    assert!(long.truncated);
    let text = long.value().unwrap()["text"].as_str().unwrap();
    assert!(
        text.len() < 1200 && text.contains("bytes left out"),
        "{text}"
    );
    assert_eq!(
        code(&test.registry().execute(CallRequest::new("wide")).await),
        ErrorCode::InvalidOutput
    );
    let liar = test.registry().execute(CallRequest::new("liar")).await;
    assert_eq!(code(&liar), ErrorCode::InvalidOutput);
    assert!(liar.error().unwrap().message().contains("`/n`"));
}

#[tokio::test]
async fn rate_and_concurrency_limits_hold() {
    let rate = LimitsPatch {
        max_calls_per_minute: Some(2),
        ..LimitsPatch::default()
    };
    let test = test_with(echo().limits(rate));
    let call = || {
        test.registry()
            .execute(CallRequest::new("echo").arg("text", "x"))
    };
    assert!(call().await.is_ok() && call().await.is_ok());
    let refused = call().await;
    assert_eq!(code(&refused), ErrorCode::RateLimited);
    assert!(
        refused.error().unwrap().details().unwrap()["retryAfterMs"]
            .as_u64()
            .unwrap()
            > 1000
    );

    let at_once = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (now, peak) = (Arc::clone(&at_once), Arc::clone(&most));
    let tool = simple("busy", move |_| {
        let (now, peak) = (Arc::clone(&now), Arc::clone(&peak));
        async move {
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(json!(1))
        }
    });
    let two = LimitsPatch {
        max_concurrent: Some(2),
        ..LimitsPatch::default()
    };
    test.registry().register(tool.limits(two)).unwrap();
    let handles: Vec<_> = (0..20)
        .map(|_| test.registry().execute_async(CallRequest::new("busy")))
        .collect();
    for handle in handles {
        assert!(handle.outcome().await.is_ok());
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn nested_calls_go_through_the_pipeline_and_have_an_end() {
    let test = test_with(simple("again", |cx| async move {
        let inner = cx.call(CallRequest::new("again")).await;
        Ok(json!(inner.into_result()?.value))
    }));
    let outcome = test.registry().execute(CallRequest::new("again")).await;
    assert!(
        outcome.error().unwrap().message().contains("levels deep"),
        "{outcome:?}"
    );
    let records = test.records();
    assert_eq!(
        records.len(),
        10,
        "eight levels, the one above them and the one refused"
    );
    assert!(records.last().unwrap().parent.is_none() && records[0].parent.is_some());
}

#[tokio::test]
async fn nested_calls_do_not_inherit_approval() {
    let outer = simple("outer", |cx| async move {
        let inner = cx.call(CallRequest::new("echo").arg("text", "x")).await;
        Ok(json!(inner.into_result()?.value))
    });
    let test = TestCrib::new().answers([ApprovalResponse::approve("ada")]);
    test.registry().register(outer.always_ask()).unwrap();
    test.registry().register(echo().always_ask()).unwrap();
    let outcome = test.registry().execute(CallRequest::new("outer")).await;
    assert_eq!(code(&outcome), ErrorCode::ApprovalUnavailable);
    assert_eq!(test.asked().len(), 2);
}

/// Takes longer to answer than the call around may take.
struct Thoughtful;

/// What the call around may take.
const SHORT: Duration = Duration::from_millis(400);

impl Approver for Thoughtful {
    fn decide(
        &self,
        _request: ApprovalRequest,
    ) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        Box::pin(async {
            tokio::time::sleep(2 * SHORT).await;
            Ok(ApprovalResponse::approve("ada"))
        })
    }
}

#[tokio::test]
async fn the_time_of_a_call_stops_while_a_person_is_asked_about_one_in_it() {
    let outer = simple("outer", |cx| async move {
        let inner = cx.call(CallRequest::new("echo").arg("text", "x")).await;
        Ok(json!(inner.into_result()?.value))
    });
    let registry = Registry::builder().approver(Thoughtful).build();
    registry.register(outer).unwrap();
    registry.register(echo().always_ask()).unwrap();
    let outcome = registry
        .execute(CallRequest::new("outer").timeout(SHORT))
        .await;
    assert!(outcome.is_ok(), "{outcome:?}");
    // And then it goes on.
    let slow = simple("slow", |cx| async move {
        cx.call(CallRequest::new("echo").arg("text", "x")).await;
        std::future::pending().await
    });
    registry.register(slow).unwrap();
    let outcome = registry
        .execute(CallRequest::new("slow").timeout(SHORT))
        .await;
    assert_eq!(code(&outcome), ErrorCode::Timeout);
}

#[tokio::test]
async fn all_that_happens_is_one_stream_of_events() {
    let tool = simple("talk", |cx| async move {
        cx.emit_output(OutputStream::Stdout, "one");
        cx.emit_progress(1.0, Some(2.0), None);
        Ok(json!(1))
    });
    let test = TestCrib::new().answers([ApprovalResponse::approve("ada")]);
    test.registry().register(tool.always_ask()).unwrap();
    let handle = test.registry().execute_async(CallRequest::new("talk"));
    let mut events = handle.events();
    let mut kinds = Vec::new();
    while let Some(event) = events.next().await {
        kinds.push(
            serde_json::to_value(&event.kind).unwrap()["event"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    assert_eq!(
        kinds,
        [
            "approval", "approval", "started", "output", "progress", "finished"
        ]
    );
}

#[tokio::test]
async fn the_same_call_id_runs_once_and_another_call_under_it_is_a_conflict() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let tool = FnTool::new("count", "x", move |args: Echo, _cx| {
        let n = counted.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::task::yield_now().await;
            Ok(format!("{}{n}", args.text))
        }
    });
    let test = test_with(tool.unwrap());
    let request = |text: &str| {
        CallRequest::new("count")
            .arg("text", text)
            .call_id(CallId::parse("call-1").unwrap())
    };
    let handles: Vec<_> = (0..10)
        .map(|_| test.registry().execute_async(request("a")))
        .collect();
    let mut outcomes = Vec::new();
    for handle in handles {
        outcomes.push(handle.outcome().await);
    }
    outcomes.push(test.registry().execute(request("a")).await);
    assert!(
        outcomes.iter().all(|outcome| *outcome == outcomes[0]),
        "all get the one outcome"
    );
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert_eq!(
        code(&test.registry().execute(request("b")).await),
        ErrorCode::Conflict
    );
}

#[tokio::test]
async fn a_plan_says_what_would_happen_and_does_nothing() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let tool = FnTool::new("t", "x", move |_: Echo, _cx| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(1) }
    });
    let test = test_with(tool.unwrap().always_ask());
    let plan = test
        .registry()
        .plan(
            CallRequest::new("t")
                .arg("TEXT", "x")
                .timeout(Duration::from_secs(1)),
        )
        .unwrap();
    assert_eq!((plan.verdict, plan.timeout_ms), (Verdict::Ask, 1000));
    assert_eq!(plan.parameters, args(json!({"text": "x"})));
    assert_eq!(
        test.registry()
            .plan(CallRequest::new("t"))
            .unwrap_err()
            .code(),
        ErrorCode::InvalidArguments
    );
    assert_eq!(
        (
            calls.load(Ordering::SeqCst),
            test.asked().len(),
            test.records().len()
        ),
        (0, 0, 0)
    );
}

#[tokio::test]
async fn secret_arguments_reach_the_tool_and_nothing_else() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(crate = "toolcrib::serde")]
    #[schemars(crate = "toolcrib::schemars")]
    struct Login {
        /// The password.
        #[schemars(extend("writeOnly" = true))]
        password: String,
    }
    let tool = FnTool::new("login", "x", |args: Login, _cx| async move {
        Ok(args.password.len())
    });
    let test = test_with(tool.unwrap());
    let outcome = test
        .registry()
        .execute(CallRequest::new("login").arg("password", "SENTINEL-7f3a"))
        .await;
    assert_eq!(outcome.value(), Some(&json!(13)));
    let wrong = test
        .registry()
        .execute(
            CallRequest::new("login")
                .arg("Password", "SENTINEL-7f3a")
                .arg("password", 1),
        )
        .await;
    let shown = format!(
        "{outcome:?} {wrong:?} {:?} {:?}",
        test.records(),
        serde_json::to_string(&test.records())
    );
    assert!(!shown.contains("SENTINEL"), "{shown}");
}

#[test]
fn registering_and_removing_tools_while_others_call_and_list() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let test = test_with(echo());
    let registry = test.registry().clone();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let registry = registry.clone();
            scope.spawn(move || {
                for n in 0..300 {
                    let name = format!("tool-{thread}-{n}");
                    registry
                        .register(simple(&name, |_| async { Ok(json!(1)) }))
                        .unwrap();
                    assert!(registry.get(&name).is_some());
                    assert!(registry.unregister(&name).is_some());
                    assert!(registry.get(&name).is_none());
                }
            });
        }
        for _ in 0..300 {
            let outcome =
                runtime.block_on(registry.execute(CallRequest::new("echo").arg("text", "x")));
            assert!(outcome.is_ok());
            assert!(
                registry
                    .list()
                    .iter()
                    .any(|spec| spec.name.as_str() == "echo")
            );
        }
    });
    assert_eq!(registry.list().len(), 1);
}

#[test]
fn a_taken_name_is_refused_also_as_an_alias() {
    let test = TestCrib::new().builtins();
    for name in ["read_file", "list_files", "read-file"] {
        let tool = simple(name, |_| async { Ok(json!(1)) });
        let error = test.registry().register(tool).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("a tool named `{name}` is registered already")
        );
    }
}

#[tokio::test]
async fn a_tool_that_looks_at_files_for_long_holds_up_no_one() {
    let (go, wait) = std::sync::mpsc::channel();
    let wait = std::sync::Mutex::new(wait);
    let tool = echo()
        .role("text", Role::WritePath)
        .approve_by(move |_, _| {
            // A slow disk; it ends only if something else gets on meanwhile.
            match wait.lock().unwrap().recv_timeout(Duration::from_secs(10)) {
                Ok(()) => Approval::allow(),
                Err(_) => Approval::deny("no one else got on"),
            }
        });
    let test = test_with(tool);
    let call = test
        .registry()
        .execute(CallRequest::new("echo").arg("text", "a"));
    let (outcome, ()) = tokio::join!(call, async { go.send(()).unwrap() });
    assert!(outcome.is_ok(), "{outcome:?}");
}
