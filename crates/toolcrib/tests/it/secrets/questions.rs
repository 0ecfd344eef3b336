//! What a person is asked has no secret in it; what runs has.

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use toolcrib::approval::ApprovalResponse;
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::testing::TestCrib;
use toolcrib::{CallRequest, Effects, ErrorCode, FnTool};

use super::{SENTINEL, store};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
struct Send {
    /// To whom.
    to: String,
    /// What.
    body: Map<String, Value>,
}

/// A tool that asks, and says whether what it got is what was sent.
fn send() -> FnTool {
    FnTool::new("send", "Sends", |args: Send, _cx| async move {
        let length = Value::Object(args.body).to_string().len();
        Ok(json!({"to": args.to, "length": length}))
    })
    .unwrap()
    .effects(Effects::WRITE)
    .always_ask()
}

fn crib(home: &TempDir, answers: Vec<ApprovalResponse>) -> TestCrib {
    let secrets = store(home);
    let crib = TestCrib::new()
        .with(|builder| builder.secrets(secrets))
        .answers(answers);
    crib.registry().register(send()).unwrap();
    crib
}

fn request() -> CallRequest {
    CallRequest::new("send").arg("to", "ada").arg(
        "body",
        json!({"auth": format!("Bearer {SENTINEL}"), "n": 1}),
    )
}

fn edited(args: Value) -> ApprovalResponse {
    ApprovalResponse {
        modified_args: Some(args.as_object().unwrap().clone()),
        ..ApprovalResponse::approve("ada")
    }
}

fn length(body: &Value) -> Value {
    json!(body.to_string().len())
}

#[tokio::test]
async fn a_question_shows_masks_and_the_call_runs_with_the_secret() {
    let home = TempDir::new().unwrap();
    let crib = crib(&home, vec![ApprovalResponse::approve("ada")]);
    let outcome = crib.registry().execute(request()).await;
    let body = json!({"auth": format!("Bearer {SENTINEL}"), "n": 1});
    assert_eq!(outcome.value().unwrap()["length"], length(&body));
    let asked = &crib.asked()[0];
    assert_eq!(asked.args["body"]["auth"], "Bearer [REDACTED]");
    assert!(asked.offers.is_empty());
    assert_eq!(
        asked.no_grant.as_deref(),
        Some("the arguments have a secret in them")
    );
    let shown = serde_json::to_string(asked).unwrap();
    assert!(!shown.contains("7f3a"), "{shown}");
}

#[tokio::test]
async fn the_digest_is_that_of_the_real_arguments() {
    let home = TempDir::new().unwrap();
    let yes = || ApprovalResponse::approve("ada");
    let crib = crib(&home, vec![yes(), yes()]);
    crib.registry().execute(request()).await;
    let literal = CallRequest::new("send")
        .arg("to", "ada")
        .arg("body", json!({"auth": "Bearer [REDACTED]", "n": 1}));
    crib.registry().execute(literal).await;
    let asked = crib.asked();
    assert_eq!(asked[0].args, asked[1].args);
    assert_ne!(asked[0].args_digest, asked[1].args_digest);
    assert_ne!(asked[0].call_digest, asked[1].call_digest);
}

#[tokio::test]
async fn an_edit_elsewhere_keeps_the_secret_and_an_edit_beside_a_mask_is_refused() {
    let home = TempDir::new().unwrap();
    let crib = crib(
        &home,
        vec![
            edited(json!({"to": "bob", "body": {"auth": "Bearer [REDACTED]", "n": 1}})),
            edited(json!({"to": "ada", "body": {"auth": "Basic [REDACTED]", "n": 1}})),
            edited(json!({"to": "[REDACTED]", "body": {"auth": "Bearer [REDACTED]", "n": 1}})),
        ],
    );
    let outcome = crib.registry().execute(request()).await;
    let body = json!({"auth": format!("Bearer {SENTINEL}"), "n": 1});
    let value = outcome.value().unwrap();
    assert_eq!(
        (&value["to"], &value["length"]),
        (&json!("bob"), &length(&body))
    );
    for _ in 0..2 {
        let outcome = crib.registry().execute(request()).await;
        let error = outcome.error().unwrap();
        assert_eq!(error.code(), ErrorCode::InvalidArguments);
        assert!(
            error.message().contains("cannot be edited in part"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_holds_a_secret_is_refused_before_it_is_kept() {
    let home = TempDir::new().unwrap();
    let crib = crib(&home, vec![ApprovalResponse::deny("ada", "no")]);
    crib.registry().execute(request()).await;
    let asked = &crib.asked()[0];
    let check = |args: Value| crib.registry().check_answer(asked, &edited(args));
    check(json!({"to": "bob", "body": {"auth": "Bearer [REDACTED]", "n": 1}})).unwrap();
    for args in [
        json!({"to": SENTINEL, "body": {}}),
        json!({"to": "ada", "body": {"auth": format!("Basic {SENTINEL}")}}),
        json!({"to": "ada", "body": {"auth": "Basic [REDACTED]"}}),
    ] {
        let error = check(args).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArguments);
        assert!(!error.message().contains("7f3a"), "{error}");
    }
}

#[tokio::test]
async fn a_denial_in_words_is_masked() {
    let home = TempDir::new().unwrap();
    let said = format!("do not send {SENTINEL}");
    let crib = crib(&home, vec![ApprovalResponse::deny("ada", said)]);
    let outcome = crib.registry().execute(request()).await;
    let told = serde_json::to_string(&outcome).unwrap();
    assert!(
        told.contains("do not send [REDACTED]") && !told.contains("7f3a"),
        "{told}"
    );
}
