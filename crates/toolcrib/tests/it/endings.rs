//! How calls end when something is against them: shared tokens, repeated ids, nested calls, hostile
//! tools, floods.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolcrib::approval::ApprovalResponse;
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::testing::TestCrib;
use toolcrib::{CallId, CallRequest, ErrorCode, FnTool, LimitsPatch, ToolError};

use crate::tools::{Echo, code, echo, simple, test_with};

#[tokio::test]
async fn one_call_that_ends_does_not_end_those_that_share_its_token() {
    let test = test_with(echo());
    test.registry()
        .register(simple("slow", |_| async {
            Ok(std::future::pending().await)
        }))
        .unwrap();
    let token = CancellationToken::new();
    let slow = CallRequest::new("slow")
        .timeout(Duration::from_millis(1))
        .cancel_with(token.clone());
    assert_eq!(
        code(&test.registry().execute(slow).await),
        ErrorCode::Timeout
    );
    assert!(!token.is_cancelled());
    let next = CallRequest::new("echo")
        .arg("text", "x")
        .cancel_with(token.clone());
    assert!(test.registry().execute(next).await.is_ok());
    token.cancel();
    let last = CallRequest::new("slow").cancel_with(token);
    assert_eq!(
        code(&test.registry().execute(last).await),
        ErrorCode::Cancelled
    );
}

#[tokio::test]
async fn a_repeated_call_has_an_end_and_leaves_the_first_alone() {
    let (go, wait) = tokio::sync::watch::channel(false);
    let test = test_with(
        FnTool::new("held", "x", move |args: Echo, _cx| {
            let mut wait = wait.clone();
            async move {
                wait.wait_for(|go| *go).await?;
                Ok(args.text)
            }
        })
        .unwrap(),
    );
    let registry = test.registry().clone();
    let id = CallId::parse("mine").unwrap();
    let request = |text: &str| {
        CallRequest::new("held")
            .arg("text", text)
            .call_id(id.clone())
    };
    let first = registry.execute_async(request("a"));
    let mut events = first.events();
    events.next().await.unwrap();
    // A conflict does not take the running call's place, nor its record.
    assert_eq!(
        code(&registry.execute(request("b")).await),
        ErrorCode::Conflict
    );
    assert!(registry.events(&id, 0).is_some());
    go.send(true).unwrap();
    assert!(first.outcome().await.is_ok());
    let again = registry.execute_async(request("a"));
    let mut events = again.events();
    while events.next().await.is_some() {}
    assert!(again.outcome().await.is_ok());
    let recorded: Vec<_> = test
        .records()
        .into_iter()
        .filter(|record| record.call_id == id)
        .collect();
    assert_eq!((recorded.len(), recorded[0].ok), (1, true));
}

#[tokio::test]
async fn a_refusal_is_not_kept_under_a_call_id_and_a_persons_no_is() {
    let test = TestCrib::new().answers([ApprovalResponse::deny("ada", "no")]);
    let registry = test.registry();
    registry.register(echo()).unwrap();
    registry
        .register(simple("ask", |_| async { Ok(json!(1)) }).always_ask())
        .unwrap();
    let request = || {
        CallRequest::new("echo")
            .arg("text", "x")
            .call_id(CallId::parse("one").unwrap())
    };
    registry.set_enabled("echo", false).unwrap();
    assert_eq!(
        code(&registry.execute(request()).await),
        ErrorCode::ToolDisabled
    );
    registry.set_enabled("echo", true).unwrap();
    assert!(registry.execute(request()).await.is_ok());
    let ask = || CallRequest::new("ask").call_id(CallId::parse("two").unwrap());
    assert_eq!(
        code(&registry.execute(ask()).await),
        ErrorCode::ApprovalDenied
    );
    assert_eq!(
        code(&registry.execute(ask()).await),
        ErrorCode::ApprovalDenied
    );
    assert_eq!(test.asked().len(), 1, "no one is asked twice");
}

#[tokio::test]
async fn what_a_tool_starts_ends_with_it() {
    let (send, mut received) = tokio::sync::mpsc::unbounded_channel();
    let test = test_with(simple("parent", move |cx| {
        let send = send.clone();
        async move {
            tokio::spawn(async move {
                cx.cancelled().await;
                let _ = send.send(cx.call(CallRequest::new("echo").arg("text", "late")).await);
            });
            Ok(json!(1))
        }
    }));
    test.registry().register(echo()).unwrap();
    assert!(
        test.registry()
            .execute(CallRequest::new("parent"))
            .await
            .is_ok()
    );
    assert_eq!(code(&received.recv().await.unwrap()), ErrorCode::Cancelled);
}

#[tokio::test]
async fn a_long_error_is_cut_like_an_output() {
    let limits = LimitsPatch {
        max_output_bytes: Some(1024),
        ..LimitsPatch::default()
    };
    let test = test_with(
        simple("loud", |_| async {
            Err(ToolError::failed("x".repeat(50_000)).with_detail("stdout", "y".repeat(50_000)))?
        })
        .limits(limits),
    );
    let outcome = test.registry().execute(CallRequest::new("loud")).await;
    assert!(outcome.truncated);
    assert!(
        serde_json::to_string(outcome.error().unwrap())
            .unwrap()
            .len()
            < 3000
    );
}

#[tokio::test]
async fn the_operators_limits_are_the_widest_a_tool_can_have() {
    let limits = |millis| LimitsPatch {
        timeout_ms: Some(millis),
        ..LimitsPatch::default()
    };
    for (operator, own, effective) in [(100, 1000, 100), (1000, 100, 100)] {
        let test = TestCrib::new().with(|builder| builder.limits(&limits(operator)));
        test.registry()
            .register(echo().limits(limits(own)))
            .unwrap();
        assert_eq!(
            test.registry().find("echo").unwrap().limits().timeout,
            Duration::from_millis(effective)
        );
    }
}

#[tokio::test]
async fn parents_and_children_of_one_tool_never_wait_for_each_other() {
    let one = LimitsPatch {
        max_concurrent: Some(1),
        timeout_ms: Some(5000),
        ..LimitsPatch::default()
    };
    let tool = FnTool::new("down", "x", |args: Echo, cx| async move {
        let rest = args.text.strip_suffix('x').map(str::to_owned);
        match rest {
            Some(rest) => Ok(cx
                .call(CallRequest::new("down").arg("text", rest))
                .await
                .into_result()?
                .value),
            None => Ok(json!("bottom")),
        }
    });
    let test = test_with(tool.unwrap().limits(one));
    let outcome = test
        .registry()
        .execute(CallRequest::new("down").arg("text", "xxx"))
        .await;
    assert_eq!(outcome.value(), Some(&json!("bottom")), "{outcome:?}");
}

#[tokio::test]
async fn a_recorder_that_panics_does_not_reach_the_caller() {
    struct Clumsy;
    impl toolcrib::record::Recorder for Clumsy {
        fn record(&self, _: toolcrib::record::CallRecord) {
            panic!("dropped it");
        }
    }
    let test = TestCrib::new().with(|builder| builder.recorder(Arc::new(Clumsy)));
    test.registry().register(echo()).unwrap();
    let handle = test
        .registry()
        .execute_async(CallRequest::new("echo").arg("text", "x"));
    let mut events = handle.events();
    while events.next().await.is_some() {}
    assert!(handle.outcome().await.is_ok());
}

#[tokio::test]
async fn error_details_are_bounded_in_total_and_in_depth() {
    let limits = LimitsPatch {
        max_output_bytes: Some(1024),
        ..LimitsPatch::default()
    };
    let many = simple("many", |_| async {
        Err((0..200).fold(ToolError::failed("x"), |error, n| {
            error.with_detail(n.to_string(), "y".repeat(1000))
        }))?
    });
    let deep = simple("deep", |_| async {
        Err(ToolError::failed("x")
            .with_detail("d", (0..300).fold(json!(1), |inner, _| json!([inner]))))?
    });
    let test = test_with(many.limits(limits));
    test.registry().register(deep).unwrap();
    for name in ["many", "deep"] {
        let id = CallId::parse(name).unwrap();
        let outcome = test
            .registry()
            .execute(CallRequest::new(name).call_id(id))
            .await;
        assert!(
            outcome.truncated
                && outcome
                    .error()
                    .unwrap()
                    .details()
                    .unwrap()
                    .contains_key("leftOut"),
            "{name}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_call_with_the_same_id_obeys_the_timeout() {
    let test = test_with(simple("slow", |_| async {
        Ok(std::future::pending().await)
    }));
    let request = || CallRequest::new("slow").call_id(CallId::parse("one").unwrap());
    let running = test.registry().execute_async(request());
    running.events().next().await.unwrap();
    let joiner = test
        .registry()
        .execute(request().timeout(Duration::from_millis(200)))
        .await;
    assert_eq!(code(&joiner), ErrorCode::Timeout);
    running.cancel();
    assert_eq!(code(&running.outcome().await), ErrorCode::Cancelled);
}

#[tokio::test]
async fn a_flood_of_spellings_is_answered_at_once_with_few_faults() {
    let test = test_with(echo());
    let mut request = CallRequest::new("echo").arg("text", "x");
    for n in 0..50_000_u32 {
        let spelling: String = (0..17)
            .map(|bit| if n >> bit & 1 == 1 { '-' } else { '_' })
            .collect();
        request = request.arg(format!("{spelling}text"), n);
    }
    let outcome = test.registry().execute(request).await;
    let faults = outcome.error().unwrap().details().unwrap()["faults"]
        .as_array()
        .unwrap()
        .len();
    assert!(faults <= 50, "{faults}");
}

#[tokio::test]
async fn an_approver_sees_secrets_masked_and_a_mask_that_comes_back_is_the_secret() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(crate = "toolcrib::serde")]
    #[schemars(crate = "toolcrib::schemars")]
    struct Login {
        /// Who.
        user: String,
        /// The password.
        #[schemars(extend("writeOnly" = true))]
        password: String,
    }
    let edited = json!({"user": "bob", "password": "***"})
        .as_object()
        .unwrap()
        .clone();
    let test = TestCrib::new().answers([ApprovalResponse::approve_with("ada", edited)]);
    let login = FnTool::new("login", "x", |args: Login, _cx| async move {
        Ok(format!("{}:{}", args.user, args.password.len()))
    });
    test.registry()
        .register(login.unwrap().always_ask())
        .unwrap();
    let request = CallRequest::new("login")
        .arg("user", "eve")
        .arg("password", "SENTINEL");
    let outcome = test.registry().execute(request).await;
    assert_eq!(outcome.value(), Some(&json!("bob:8")));
    assert!(!format!("{:?}", test.asked()).contains("SENTINEL"));
}
