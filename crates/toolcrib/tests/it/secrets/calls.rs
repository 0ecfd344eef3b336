//! A secret comes back from a call in every way there is; what leaves the call has none of it.

use std::sync::Arc;
use std::time::Duration;
use toolcrib::testing::WithBuiltins as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use toolcrib::schemars::JsonSchema;
use toolcrib::secret::SecretStore;
use toolcrib::serde::Deserialize;
use toolcrib::testing::{MemoryRecorder, TestCrib};
use toolcrib::{
    CallContext, CallId, CallRequest, ErrorCode, EventKind, Failure, FnTool, OutputStream,
    Registry, Secret, ToolError, ToolOutput,
};

use super::{SENTINEL, store};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
struct Say {
    /// How to leak.
    how: String,
    /// What.
    #[serde(default)]
    what: Map<String, Value>,
}

/// A tool that gives back what it knows, in the way it is asked to.
async fn leak(args: Say, cx: CallContext) -> Result<ToolOutput, Failure> {
    {
        match args.how.as_str() {
            "value" => Ok(ToolOutput::value(json!({
                "plain": SENTINEL,
                SENTINEL: "a key",
                "list": [format!("Bearer {SENTINEL}"), STANDARD.encode(format!("user:{SENTINEL}"))],
                "nested": json!({ "json": SENTINEL }).to_string(),
            }))),
            "text" => {
                let text = format!("Authorization: Basic {}", STANDARD.encode(SENTINEL));
                Ok(ToolOutput::value(1).with_text(text))
            }
            "error" => Err(ToolError::failed(format!("401 for {SENTINEL}"))
                .with_detail("request", json!({"headers": {"x-key": SENTINEL}}))
                .caused_by(std::io::Error::other(SENTINEL))
                .into()),
            "panic" => panic!("cannot use {SENTINEL}"),
            "events" => {
                let long = format!("{}{SENTINEL}{SENTINEL}!", "x".repeat(8190));
                let bytes: Vec<char> = long.chars().collect();
                for piece in bytes.chunks(8192) {
                    cx.emit_output(OutputStream::Stdout, piece.iter().collect::<String>());
                    cx.emit_output(OutputStream::Stderr, "warning: SENTI");
                }
                for piece in SENTINEL.chars() {
                    cx.emit_output(OutputStream::Stderr, piece);
                }
                cx.emit_progress(0.5, None, Some(format!("sent {SENTINEL}")));
                Ok(ToolOutput::value("done"))
            }
            "partial" => {
                cx.emit_output(OutputStream::Stdout, "half: SENTINEL-7f3a/");
                cx.keep_partial("stdout", format!("so far: {SENTINEL}"));
                cx.cancelled().await;
                std::future::pending().await
            }
            _ => Ok(ToolOutput::value(args.what["in"].clone())),
        }
    }
}

struct Scene {
    _home: TempDir,
    secrets: SecretStore,
    registry: Registry,
    recorder: MemoryRecorder,
}

fn scene() -> Scene {
    let home = TempDir::new().unwrap();
    let secrets = store(&home);
    let recorder = MemoryRecorder::default();
    let registry = Registry::builder()
        .secrets(secrets.clone())
        .recorder(Arc::new(recorder.clone()))
        .build();
    registry
        .register(FnTool::new("leak", "Leaks", leak).unwrap())
        .unwrap();
    Scene {
        _home: home,
        secrets,
        registry,
        recorder,
    }
}

/// Looks for every form of the sentinel.
#[track_caller]
fn assert_clean(what: &str, text: &str) {
    let forms = [
        "SENTINEL-7f3a".to_owned(),
        "SENTINEL-7f3a".replace('-', "%2D"),
        STANDARD.encode("SENTINEL-7f3a"),
        // In the middle of a basic credential.
        "U0VOVElORUwt".to_owned(),
        "NFTlRJTkVMLT".to_owned(),
        "TRU5USU5FTC0".to_owned(),
    ];
    for form in forms {
        assert!(!text.contains(&form), "{form} is in {what}: {text}");
    }
}

async fn call(scene: &Scene, how: &str, what: Value) -> String {
    let request = CallRequest::new("leak")
        .arg("how", how)
        .arg("what", json!({ "in": what }))
        .timeout(Duration::from_millis(300));
    let handle = scene.registry.execute_async(request);
    let mut events = handle.events();
    let mut seen = String::new();
    while let Some(event) = events.next().await {
        seen += &serde_json::to_string(&event).unwrap();
    }
    let outcome = handle.outcome().await;
    assert_clean("the events", &seen);
    assert_clean("the outcome", &serde_json::to_string(&outcome).unwrap());
    assert_clean("a debugger", &format!("{outcome:?}"));
    for record in scene.recorder.records() {
        assert_clean("the record", &serde_json::to_string(&record).unwrap());
    }
    format!("{} {seen}", serde_json::to_string(&outcome).unwrap())
}

#[tokio::test]
async fn no_way_out_of_a_call_has_a_secret_in_it() {
    let scene = scene();
    for how in ["value", "text", "error", "panic", "events", "partial"] {
        let told = call(&scene, how, Value::Null).await;
        assert!(told.contains("[REDACTED]"), "{how}: {told}");
    }
}

#[tokio::test]
async fn arguments_run_as_they_are_and_are_shown_masked() {
    let scene = scene();
    let told = call(&scene, "echo", json!([SENTINEL])).await;
    assert!(told.contains("[REDACTED]"), "{told}");
    let record = scene.recorder.records().remove(0);
    assert_eq!(record.parameters["what"], json!({"in": ["[REDACTED]"]}));
    // One that does not fit the schema is on record, too.
    let request = CallRequest::new("leak").arg("how", json!([SENTINEL]));
    let outcome = scene.registry.execute(request).await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::InvalidArguments);
    assert_clean("the outcome", &serde_json::to_string(&outcome).unwrap());
    // And a tool that there is not.
    let outcome = scene
        .registry
        .execute(CallRequest::new("SENTINEL-7f3a/\"é\"+x"))
        .await;
    assert_clean("the outcome", &serde_json::to_string(&outcome).unwrap());
    let records = format!("{:?}", scene.recorder.records());
    assert_clean("the records", &records);
}

#[tokio::test]
async fn output_is_returned_whole_but_for_the_secret() {
    let scene = scene();
    let request = CallRequest::new("leak").arg("how", "events");
    let handle = scene.registry.execute_async(request);
    let mut events = handle.events();
    let (mut stdout, mut stderr) = (String::new(), String::new());
    while let Some(event) = events.next().await {
        match &event.kind {
            EventKind::Output {
                stream: OutputStream::Stdout,
                chunk,
                ..
            } => stdout += chunk,
            EventKind::Output { chunk, .. } => stderr += chunk,
            _ => {}
        }
    }
    assert_eq!(stdout, format!("{}[REDACTED][REDACTED]!", "x".repeat(8190)));
    assert_eq!(stderr, "warning: SENTIwarning: SENTI[REDACTED]");
}

#[tokio::test]
async fn a_token_that_the_call_itself_learned_is_masked_in_its_outcome() {
    let scene = scene();
    let secrets = scene.secrets.clone();
    let tool = FnTool::new("login", "Logs in", move |(), cx: CallContext| {
        let secrets = secrets.clone();
        async move {
            secrets.also_mask(&Secret::new("token-0123456789"));
            cx.emit_output(OutputStream::Stdout, "got token-0123456789\n");
            Ok("token-0123456789")
        }
    });
    scene.registry.register(tool.unwrap()).unwrap();
    let handle = scene.registry.execute_async(CallRequest::new("login"));
    let mut events = handle.events();
    let mut seen = String::new();
    while let Some(event) = events.next().await {
        seen += &serde_json::to_string(&event).unwrap();
    }
    assert!(
        !seen.contains("0123456789") && seen.contains("got [REDACTED]"),
        "{seen}"
    );
    let outcome = handle.outcome().await;
    assert_eq!(outcome.value().unwrap(), "[REDACTED]");
}

#[tokio::test]
async fn a_stored_outcome_is_masked_when_it_is_kept_and_when_it_is_returned() {
    let scene = scene();
    let request = || {
        CallRequest::new("leak")
            .arg("how", "echo")
            .arg(
                "what",
                json!({"in": format!("{SENTINEL} and hunter2-later")}),
            )
            .call_id(CallId::parse("mine").unwrap())
    };
    let first = scene.registry.execute(request()).await;
    assert_eq!(
        first.value().unwrap()["value"],
        "[REDACTED] and hunter2-later"
    );
    scene.secrets.also_mask(&Secret::new("hunter2-later"));
    let again = scene.registry.execute(request()).await;
    assert_eq!(again.value().unwrap()["value"], "[REDACTED] and [REDACTED]");
}

#[tokio::test]
async fn any_tool_s_output_is_masked_and_what_it_does_is_not() {
    let home = TempDir::new().unwrap();
    let secrets = store(&home);
    let crib = TestCrib::new()
        .with(|builder| builder.secrets(secrets))
        .file("notes.txt", format!("key = {SENTINEL}\n"))
        .builtins();
    let read = CallRequest::new("read_file").arg("path", "notes.txt");
    let outcome = crib.registry().execute(read).await;
    assert_clean("the outcome", &serde_json::to_string(&outcome).unwrap());
    let write = CallRequest::new("write_file")
        .arg("path", "new.txt")
        .arg("content", SENTINEL);
    let outcome = crib.registry().execute(write).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_clean("the outcome", &serde_json::to_string(&outcome).unwrap());
    let written = std::fs::read_to_string(crib.path().join("new.txt")).unwrap();
    assert_eq!(written, SENTINEL);
    let plan = CallRequest::new("write_file")
        .arg("path", "notes.txt")
        .arg("content", SENTINEL);
    let plan = crib.registry().plan(plan).unwrap();
    assert_clean("the plan", &serde_json::to_string(&plan).unwrap());
}

#[tokio::test]
async fn without_secrets_nothing_is_changed() {
    let registry = Registry::new();
    registry
        .register(FnTool::new("leak", "Leaks", leak).unwrap())
        .unwrap();
    let request = CallRequest::new("leak")
        .arg("how", "echo")
        .arg("what", json!({ "in": SENTINEL }));
    let outcome = registry.execute(request).await;
    assert_eq!(outcome.value().unwrap()["value"], SENTINEL);
}
