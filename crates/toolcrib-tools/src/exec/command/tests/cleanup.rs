//! Cleanup at the end, however a call ends.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Scene, error, value};
use crate::call::request::CallRequest;
use crate::model::error::ErrorCode;
use crate::model::outcome::Outcome;

fn tool(command: &str) -> String {
    format!(
        "
name: a
description: d
tags: [write]
bash: |
  echo {{TEMP_DIR}} > where
  touch {{TEMP_DIR}}/file begun
  {command}
file-paths: {{temp-directory: '{{TEMP}}/cycod-tools/{{TOOL_NAME}}'}}
resources:
  cleanup:
    - delete-temp-files: true
    - final-command: 'ls {{TEMP_DIR}} > cleaned; rm -rf {{TEMP_DIR}}'
"
    )
}

/// Waits until a file is there.
async fn there(path: &Path) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !path.exists() {
        assert!(
            Instant::now() < deadline,
            "{} does not come",
            path.display()
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The final command saw the temporary files, and they are gone.
fn is_clean(scene: &Scene) {
    let read = |name: &str| std::fs::read_to_string(scene.path().join(name)).unwrap();
    assert_eq!(read("cleaned"), "file\n");
    let directory = read("where");
    assert!(directory.ends_with("/cycod-tools/a\n"), "{directory}");
    let temp = Path::new(directory.trim()).ancestors().nth(2).unwrap();
    assert!(!temp.exists(), "{}", temp.display());
}

#[tokio::test]
async fn it_runs_after_success_and_failure() {
    for (command, code) in [("true", 0), ("exit 3", 3)] {
        let scene = Scene::new().tool(&tool(command));
        let outcome = scene.call("a", json!({})).await;
        match code {
            0 => assert_eq!(value(&outcome).get("cleanup"), None),
            _ => assert_eq!(error(&outcome).details().unwrap()["exitCode"], code),
        }
        is_clean(&scene);
    }
}

#[tokio::test]
async fn it_runs_after_a_timeout_and_the_outcome_waits_for_it() {
    let scene = Scene::new().tool(&tool("sleep 60"));
    let request = CallRequest::new("a").timeout(Duration::from_millis(1500));
    let outcome = scene.registry().execute(request).await;
    assert_eq!(error(&outcome).code(), ErrorCode::Timeout);
    is_clean(&scene);
}

#[tokio::test]
async fn it_runs_after_a_cancellation() {
    let scene = Scene::new().tool(&tool("sleep 60"));
    let outcome = cancelled_when_begun(&scene, "a").await;
    assert_eq!(error(&outcome).code(), ErrorCode::Cancelled);
    is_clean(&scene);
}

/// Calls a tool and cancels the call as soon as its command runs.
async fn cancelled_when_begun(scene: &Scene, tool: &str) -> Outcome {
    let cancel = CancellationToken::new();
    let request = CallRequest::new(tool).cancel_with(cancel.clone());
    let call = scene.registry().execute(request);
    let begun = scene.path().join("begun");
    let (outcome, ()) = tokio::join!(call, async {
        there(&begun).await;
        cancel.cancel();
    });
    outcome
}

#[tokio::test]
async fn it_runs_when_no_one_waits_any_more() {
    let scene = Scene::new().tool(&tool("sleep 60"));
    let begun = scene.path().join("begun");
    {
        let call = scene.registry().execute(CallRequest::new("a"));
        tokio::select! {
            outcome = call => panic!("{outcome:?}"),
            () = there(&begun) => {}
        }
    }
    let cleaned = scene.path().join("cleaned");
    there(&cleaned).await;
    let directory = std::fs::read_to_string(scene.path().join("where")).unwrap();
    let temp = Path::new(directory.trim()).ancestors().nth(2).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while temp.exists() {
        assert!(Instant::now() < deadline, "{} stays", temp.display());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    is_clean(&scene);
}

/// Takes two seconds each time: longer than outcomes wait for processes to end.
#[tokio::test]
async fn it_runs_in_a_call_that_is_ended_with_the_one_around_it() {
    let slow = tool("sleep 60").replace("ls {TEMP_DIR}", "sleep 1.8; ls {TEMP_DIR}");
    let scene = Scene::new()
        .tool(&slow)
        .tool("{name: around, description: d, type: alias, base-tool: a}")
        .tool("{name: steps, description: d, tags: [write], steps: [{name: one, use-tool: a}]}");
    for around in ["around", "steps"] {
        let outcome = cancelled_when_begun(&scene, around).await;
        assert_eq!(error(&outcome).code(), ErrorCode::Cancelled);
        is_clean(&scene);
        for made in ["begun", "cleaned"] {
            std::fs::remove_file(scene.path().join(made)).unwrap();
        }
    }
}

#[tokio::test]
async fn what_goes_wrong_with_it_is_part_of_the_outcome() {
    let scene = Scene::new()
        .tool("{name: a, description: d, tags: [write], bash: 'echo hi', resources: {cleanup: [{final-command: 'echo why >&2; exit 4'}, {final-command: 'touch second'}]}}")
        .tool("{name: b, description: d, tags: [read], bash: 'exit 1', resources: {cleanup: [{final-command: 'exit 4'}]}}");
    let outcome = scene.call("a", json!({})).await;
    let value = value(&outcome);
    assert_eq!(value["output"], "hi");
    assert_eq!(
        value["cleanup"],
        json!(["`echo why >&2; exit 4` ended with exit code 4: why"])
    );
    assert!(scene.path().join("second").exists());
    let outcome = scene.call("b", json!({})).await;
    let details = error(&outcome).details().unwrap();
    assert_eq!(details["exitCode"], 1);
    assert_eq!(details["cleanup"][0], "`exit 4` ended with exit code 4");
}

#[tokio::test]
async fn temporary_files_stay_where_the_file_says_so() {
    let scene = Scene::new().tool(
        "{name: a, description: d, tags: [write], bash: 'echo kept > {TEMP}/file', resources: {cleanup: [{delete-temp-files: false}]}}",
    );
    let outcome = scene.call("a", json!({})).await;
    let said = value(&outcome)["cleanup"][0].as_str().unwrap().to_owned();
    let path = said.split('`').nth(1).unwrap();
    assert_eq!(
        std::fs::read_to_string(Path::new(path).join("file")).unwrap(),
        "kept\n"
    );
    std::fs::remove_dir_all(path).unwrap();
}

#[tokio::test]
async fn every_call_has_its_own_temporary_directory() {
    let scene = Scene::new().tool(
        "{name: a, description: d, tags: [write], bash: 'echo {TEMP}; [ {TEMP} = {TEMP_DIR} ]; touch {TEMP}/x; ls {TEMP}'}",
    );
    let mut seen = Vec::new();
    for _ in 0..2 {
        let outcome = scene.call("a", json!({})).await;
        let output = value(&outcome)["output"].as_str().unwrap().to_owned();
        let (temp, files) = output.split_once('\n').unwrap();
        assert_eq!(files, "x");
        assert!(!Path::new(temp).exists());
        seen.push(temp.to_owned());
    }
    assert_ne!(seen[0], seen[1]);
}

#[tokio::test]
async fn a_temporary_directory_cannot_be_led_elsewhere() {
    let scene = Scene::new().tool(
        "{name: a, description: d, tags: [write], bash: 'true', parameters: {X: {type: string, description: x}}, file-paths: {temp-directory: '{TEMP}/{X}'}}",
    );
    for (place, works) in [
        ("a b/c", true),
        ("../../etc", false),
        ("..", false),
        (".", true),
    ] {
        let outcome = scene.call("a", json!({"X": place})).await;
        assert_eq!(outcome.is_ok(), works, "{place}: {outcome:?}");
    }
}

#[tokio::test]
async fn it_is_done_after_a_panic() {
    struct Panics(std::path::PathBuf);
    impl crate::tool::Tool for Panics {
        fn spec(&self) -> std::sync::Arc<crate::spec::ToolSpec> {
            let schema = crate::schema::Schema::object().build().unwrap();
            let name = crate::model::names::WireName::parse("panics").unwrap();
            let mut spec = crate::spec::ToolSpec::new(name, "d", schema);
            spec.effects = crate::model::effects::Effects::READ;
            std::sync::Arc::new(spec)
        }

        fn call(
            &self,
            _args: crate::model::JsonObject,
            cx: crate::call::context::CallContext,
        ) -> futures_util::future::BoxFuture<
            '_,
            Result<crate::model::outcome::ToolOutput, crate::model::error::ToolError>,
        > {
            let (path, own) = (self.0.clone(), cx.clone());
            cx.afterwards(async move {
                std::fs::write(path, "").unwrap();
                own.note_cleanup("noted");
            });
            panic!("on purpose")
        }
    }
    let scene = Scene::new();
    let path = scene.path().join("done");
    scene.registry().register(Panics(path.clone())).unwrap();
    let outcome = scene.call("panics", json!({})).await;
    assert!(path.exists());
    assert_eq!(
        error(&outcome).details().unwrap()["cleanup"],
        json!(["noted"])
    );
}
