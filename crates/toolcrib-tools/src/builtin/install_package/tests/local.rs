//! Packages of the workspace.

use std::process::Command;

use serde_json::json;

use super::{Bench, CARGO, NPM, error, lacks, serve, value, wheel};
use crate::model::error::ErrorCode;

#[tokio::test]
async fn a_crate_of_the_workspace_is_added_without_network() {
    if lacks("cargo") {
        return;
    }
    let bench = Bench::new()
        .file("app/Cargo.toml", CARGO)
        .file("app/src/lib.rs", "")
        .file("lib/Cargo.toml", CARGO.replace("app", "local-lib"))
        .file("lib/src/lib.rs", "");
    let outcome = bench
        .install(json!({"packages": ["./lib"], "path": "app/src", "dev": true}))
        .await;
    let value = value(&outcome);
    assert_eq!(
        (&value["manager"], &value["project"]),
        (&json!("cargo"), &json!("app"))
    );
    let installed = json!([{"name": "local-lib", "version": "0.1.0", "source": "./lib"}]);
    assert_eq!(value["installed"], installed);
    let changed = &value["changedFiles"];
    assert_eq!(
        (&changed[0]["path"], &changed[1]["path"]),
        (&json!("app/Cargo.toml"), &json!("app/Cargo.lock"))
    );
    assert!(
        changed[0]["diff"].as_str().unwrap().contains("+local-lib"),
        "{changed}"
    );
    assert!(
        changed[1]["summary"].as_str().unwrap().starts_with("new"),
        "{changed}"
    );
    assert!(bench.read("app/Cargo.toml").contains("[dev-dependencies]"));
    let asked = bench.asked();
    assert!(
        asked
            .effect
            .contains("`./lib` (local-lib 0.1.0) for development to `app/Cargo.toml`"),
        "{}",
        asked.effect
    );
    assert!(asked.effect.contains("without network"), "{}", asked.effect);
}

#[tokio::test]
async fn a_package_of_the_workspace_is_added_by_npm_and_its_scripts_do_not_run() {
    if lacks("npm") {
        return;
    }
    let scripts = json!({"postinstall": "touch ../ran", "install": "touch ../ran", "prepare": "touch ../ran"});
    let local = json!({"name": "@own/local", "version": "2.3.4", "scripts": scripts});
    let bench = Bench::new()
        .file("package.json", NPM)
        .file("-local/package.json", local.to_string());
    let outcome = bench.install(json!({"packages": ["./-local"]})).await;
    let value = value(&outcome);
    let installed = json!([{"name": "@own/local", "version": "2.3.4", "source": "./-local"}]);
    assert_eq!(value["installed"], installed);
    assert!(
        bench.read("package.json").contains("file:-local"),
        "{}",
        bench.read("package.json")
    );
    assert!(bench.has("node_modules/@own/local"));
    assert!(!bench.has("ran"));
    assert!(
        bench
            .asked()
            .effect
            .contains("install scripts of the packages do not run")
    );
}

#[tokio::test]
async fn a_wheel_of_the_workspace_goes_into_a_virtual_environment_of_the_project() {
    if lacks("python3") {
        return;
    }
    let bench = Bench::new().file("dist/mine-1.2.3-py3-none-any.whl", wheel("mine"));
    let arguments = json!({"packages": ["dist/mine-1.2.3-py3-none-any.whl"], "manager": "pip"});
    let outcome = bench.install(arguments.clone()).await;
    let told = value(&outcome);
    let installed =
        json!([{"name": "mine", "version": "1.2.3", "source": "dist/mine-1.2.3-py3-none-any.whl"}]);
    assert_eq!(told["installed"], installed);
    assert_eq!(
        told["changedFiles"],
        json!([{"path": ".venv", "summary": "made"}])
    );
    let python = bench.test.path().join(".venv/bin/python");
    let found = Command::new(python)
        .args(["-c", "import mine; print(mine.x)"])
        .output()
        .unwrap();
    assert_eq!(found.stdout, b"1\n");
    let asked = bench.asked();
    assert!(
        asked
            .effect
            .contains("(mine 1.2.3) into `.venv`, which is made first"),
        "{}",
        asked.effect
    );
    // Into the same one when it is there.
    let again = bench.install(arguments).await;
    assert_eq!(value(&again)["changedFiles"], json!([]));
}

#[tokio::test]
async fn a_failed_installation_takes_the_environment_it_made_with_it() {
    if lacks("python3") {
        return;
    }
    let bench = Bench::new().file("broken-1.0-py3-none-any.whl", "no zip");
    let outcome = bench
        .install(json!({"packages": ["broken-1.0-py3-none-any.whl"], "manager": "pip"}))
        .await;
    assert_eq!(error(&outcome).0, ErrorCode::ExecutionError);
    assert!(!bench.has(".venv"));
}

#[tokio::test]
async fn code_that_builds_a_package_of_the_workspace_cannot_get_out() {
    if lacks("python3") {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let canary = outside.path().join("canary");
    let elsewhere = serve(|_, _| Some(b"x".to_vec()));
    let backend = format!(
        "import socket, pathlib\npathlib.Path('../ran').touch()\n\
         try:\n    open({canary:?}, 'w')\nexcept OSError: pass\n\
         try:\n    socket.create_connection(('127.0.0.1', {}), 2).send(b'GET / HTTP/1.0\\r\\n\\r\\n')\nexcept OSError: pass\n\
         def build_wheel(d, *a, **k):\n    raise SystemExit('not today')\n",
        elsewhere.port()
    );
    let bench = Bench::new()
        .file("pkg/pyproject.toml", "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n[project]\nname = \"evil\"\nversion = \"1\"\n")
        .file("pkg/backend.py", backend);
    let outcome = bench
        .install(json!({"packages": ["./pkg"], "manager": "pip"}))
        .await;
    assert_eq!(error(&outcome).0, ErrorCode::ExecutionError);
    assert!(bench.has("ran"), "{outcome:?}");
    assert!(!canary.exists());
    assert_eq!(elsewhere.connections(), 0);
    assert!(
        bench
            .asked()
            .effect
            .contains("a directory is BUILT, which runs its code")
    );
    assert_eq!(
        bench.asked().offers,
        [],
        "what is in the directory may change"
    );
}

/// Any writer of the workspace can put another Python there.
#[tokio::test]
async fn a_venv_that_is_there_already_is_asked_about_every_time() {
    let bench = Bench::new().file(".venv/pyvenv.cfg", "home = /usr/bin\n");
    let _ = bench
        .install(json!({"packages": ["sample"], "manager": "pip"}))
        .await;
    let asked = bench.asked();
    assert!(asked.reason.contains("the project's `.venv`"), "{asked:?}");
    assert_eq!(asked.offers, []);
}

#[tokio::test]
async fn an_installation_that_fails_halfway_leaves_manifest_and_lock_as_they_were() {
    if lacks("cargo") {
        return;
    }
    // The first is added when the second turns out to be broken.
    let bench = Bench::new()
        .file("app/Cargo.toml", CARGO)
        .file("app/src/lib.rs", "")
        .file("good/Cargo.toml", CARGO.replace("app", "good"))
        .file("good/src/lib.rs", "")
        .file("bad/Cargo.toml", "[package\n");
    let outcome = bench
        .install(json!({"packages": ["./good", "./bad"], "path": "app"}))
        .await;
    let (code, message) = error(&outcome);
    assert_eq!(code, ErrorCode::ExecutionError);
    assert!(
        message.contains("manifest and lock are as they were"),
        "{message}"
    );
    assert!(
        outcome.error().unwrap().details().unwrap()["output"]
            .as_str()
            .unwrap()
            .contains("Adding good")
    );
    assert_eq!(bench.read("app/Cargo.toml"), CARGO);
    assert!(!bench.has("app/Cargo.lock"));
}
