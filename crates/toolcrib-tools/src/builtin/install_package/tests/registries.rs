//! Packages of registries, which are servers on loopback.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Bench, CARGO, NPM, error, lacks, serve, value, wheel};
use crate::call::request::CallRequest;
use crate::model::error::ErrorCode;
use crate::testing::ScriptedServer;

/// A package of npm as a tarball.
fn tarball(manifest: &Value) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let package = directory.path().join("package");
    std::fs::create_dir(&package).unwrap();
    std::fs::write(package.join("package.json"), manifest.to_string()).unwrap();
    std::fs::write(package.join("index.js"), "module.exports = 1;\n").unwrap();
    let made = Command::new("tar")
        .args(["-czf", "p.tgz", "package"])
        .current_dir(directory.path())
        .status();
    assert!(made.unwrap().success());
    std::fs::read(directory.path().join("p.tgz")).unwrap()
}

/// A registry of npm with one package.
fn npm_registry(manifest: Value) -> ScriptedServer {
    serve(move |path, host| {
        let (name, version) = (
            manifest["name"].as_str().unwrap(),
            manifest["version"].as_str().unwrap(),
        );
        if path == format!("/{name}") {
            let mut entry = manifest.clone();
            entry["dist"] = json!({"tarball": format!("http://{host}/{name}/-/p.tgz")});
            let all = json!({"name": name, "dist-tags": {"latest": version}, "versions": {version: entry}});
            return Some(all.to_string().into_bytes());
        }
        (path == format!("/{name}/-/p.tgz")).then(|| tarball(&manifest))
    })
}

#[tokio::test]
async fn npm_installs_from_the_registry_of_the_operator_and_reaches_nothing_else() {
    if lacks("npm") {
        return;
    }
    let registry = npm_registry(json!({"name": "tiny", "version": "1.3.0"}));
    let other = npm_registry(json!({"name": "tiny", "version": "9.9.9"}));
    let address = format!(
        "registry=http://{}/\n//{}/:_authToken=SECRET\n",
        registry.host(),
        registry.host()
    );
    let bench =
        Bench::with(&[], &[(".npmrc", address)], &[&registry, &other]).file("package.json", NPM);
    let outcome = bench
        .install(json!({"packages": ["tiny@^1.0.0"], "dev": true}))
        .await;
    let installed = json!([{"name": "tiny", "version": "1.3.0", "source": registry.host()}]);
    assert_eq!(value(&outcome)["installed"], installed);
    assert!(bench.has("node_modules/tiny/index.js"));
    assert!(bench.read("package.json").contains("devDependencies"));
    let asked = bench.asked();
    assert!(
        asked
            .effect
            .contains(&format!("reaches {}", registry.host())),
        "{}",
        asked.effect
    );
    assert!(
        registry
            .received()
            .iter()
            .all(|received| received.header("authorization").is_none())
    );

    // A registry that only the project names is not reached.
    let bench = bench.file(".npmrc", format!("registry=http://{}/\n", other.host()));
    let before = bench.read("package.json");
    let outcome = bench.install(json!({"packages": ["tiny@9.9.9"]})).await;
    let (code, message) = error(&outcome);
    assert_eq!(code, ErrorCode::ExecutionError, "{message}");
    assert!(
        message.contains(&format!(
            "it could reach {} and no other host",
            registry.host()
        )),
        "{message}"
    );
    assert_eq!(other.received().len(), 0);
    assert_eq!(bench.read("package.json"), before);
}

#[tokio::test]
async fn scripts_run_only_when_asked_for_and_only_in_the_sandbox() {
    if lacks("npm") {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let canary = outside.path().join("canary");
    let elsewhere = serve(|_, _| Some(b"x".to_vec()));
    let script = format!(
        "touch ran; echo x > '{}'; node -e \"require('http').get('http://{}/').on('error', () => 0)\"; curl -s --max-time 5 http://{}/ ; curl -s --noproxy '*' --max-time 5 http://{}/; true",
        canary.display(),
        elsewhere.host(),
        elsewhere.host(),
        elsewhere.host()
    );
    let registry = npm_registry(
        json!({"name": "tiny", "version": "1.3.0", "hasInstallScript": true, "scripts": {"postinstall": script}}),
    );
    let address = format!("registry=http://{}/\n", registry.host());
    let bench = Bench::with(&[], &[(".npmrc", address)], &[&registry, &elsewhere])
        .file("package.json", NPM)
        .file(".npmrc", "ignore-scripts=false\n");
    let outcome = bench.install(json!({"packages": ["tiny"]})).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert!(bench.has("node_modules/tiny") && !bench.has("node_modules/tiny/ran"));

    std::fs::remove_dir_all(bench.test.path().join("node_modules")).unwrap();
    let outcome = bench
        .install(json!({"packages": ["tiny"], "scripts": true}))
        .await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert!(bench.has("node_modules/tiny/ran"));
    assert!(!canary.exists());
    assert_eq!(elsewhere.received().len(), 0);
    let asked = bench.asked();
    assert!(
        asked.effect.contains("INSTALL SCRIPTS") && asked.offers.is_empty(),
        "{asked:?}"
    );
}

#[tokio::test]
async fn pip_installs_from_an_index_and_builds_nothing_unless_asked_to() {
    if lacks("python3") {
        return;
    }
    let index = serve(|path, _| match path {
        "/simple/mine/" => Some(
            b"<a href=\"/files/mine-1.2.3-py3-none-any.whl\">mine-1.2.3-py3-none-any.whl</a>"
                .to_vec(),
        ),
        "/simple/sourceonly/" => {
            Some(b"<a href=\"/files/sourceonly-1.0.tar.gz\">sourceonly-1.0.tar.gz</a>".to_vec())
        }
        "/files/mine-1.2.3-py3-none-any.whl" => Some(wheel("mine")),
        _ => None,
    });
    let url = index.url("/simple");
    let bench =
        Bench::with(&[("PIP_INDEX_URL", &url)], &[], &[&index]).file("requirements.txt", "");
    let outcome = bench.install(json!({"packages": ["mine==1.2.3"]})).await;
    let installed = json!([{"name": "mine", "version": "1.2.3", "source": "127.0.0.1"}]);
    assert_eq!(value(&outcome)["installed"], installed);

    let outcome = bench.install(json!({"packages": ["sourceonly"]})).await;
    assert_eq!(error(&outcome).0, ErrorCode::ExecutionError);
    assert!(
        index
            .received()
            .iter()
            .all(|received| received.target != "/files/sourceonly-1.0.tar.gz")
    );
    // The environment was there before.
    assert!(bench.has(".venv/pyvenv.cfg"));
}

#[tokio::test]
async fn cargo_adds_from_the_registry_that_the_operator_put_in_place_of_crates_io() {
    if lacks("cargo") {
        return;
    }
    let registry = serve(|path, host| {
        match path {
        "/config.json" => Some(json!({"dl": format!("http://{host}/dl")}).to_string().into_bytes()),
        "/ti/ny/tinycrate" => Some(
            json!({"name": "tinycrate", "vers": "0.4.2", "deps": [], "cksum": "0".repeat(64), "features": {}, "yanked": false})
                .to_string()
                .into_bytes(),
        ),
        _ => None,
    }
    });
    let settings = format!(
        "[source.crates-io]\nreplace-with = \"mirror\"\n[source.mirror]\nregistry = \"sparse+http://{}/\"\n",
        registry.host()
    );
    let bench = Bench::with(&[], &[(".cargo/config.toml", settings)], &[&registry])
        .file("Cargo.toml", CARGO)
        .file("src/lib.rs", "");
    let outcome = bench.install(json!({"packages": ["tinycrate@0.4"]})).await;
    let installed = json!([{"name": "tinycrate", "version": "0.4.2", "source": registry.host()}]);
    assert_eq!(value(&outcome)["installed"], installed);
    assert!(bench.read("Cargo.toml").contains("tinycrate = \"0.4\""));

    let before = (bench.read("Cargo.toml"), bench.read("Cargo.lock"));
    let outcome = bench.install(json!({"packages": ["nosuchcrate"]})).await;
    assert_eq!(error(&outcome).0, ErrorCode::ExecutionError);
    assert_eq!((bench.read("Cargo.toml"), bench.read("Cargo.lock")), before);
}

#[tokio::test]
async fn an_installation_that_takes_too_long_is_undone_as_well() {
    if lacks("npm") {
        return;
    }
    let script = "echo broken > ../../package.json; echo broken > ../../package-lock.json; touch ../../ran; sleep 60";
    let registry = npm_registry(
        json!({"name": "tiny", "version": "1.3.0", "hasInstallScript": true, "scripts": {"preinstall": script}}),
    );
    let address = format!("registry=http://{}/\n", registry.host());
    let bench = Bench::with(&[], &[(".npmrc", address)], &[&registry]).file("package.json", NPM);
    let arguments = json!({"packages": ["tiny"], "scripts": true});
    let request = CallRequest::new("install_package")
        .args(arguments.as_object().unwrap().clone())
        .timeout(Duration::from_secs(12));
    let outcome = bench.test.registry().execute(request).await;
    assert_eq!(error(&outcome).0, ErrorCode::Timeout);
    assert!(
        bench.has("ran"),
        "the script did not come to write: {outcome:?}"
    );
    assert_eq!(bench.read("package.json"), NPM);
    assert!(!bench.has("package-lock.json"));
}

#[tokio::test]
async fn go_gets_a_module_from_its_proxy() {
    if lacks("go") {
        return;
    }
    let proxy = serve(|path, _| match path {
        "/a.test/b/@v/list" => Some(b"v1.0.0\n".to_vec()),
        "/a.test/b/@v/v1.0.0.info" => Some(br#"{"Version":"v1.0.0"}"#.to_vec()),
        "/a.test/b/@v/v1.0.0.mod" => Some(b"module a.test/b\n".to_vec()),
        _ => None,
    });
    let url = proxy.url("");
    let bench = Bench::with(&[("GOPROXY", &url), ("GOSUMDB", "off")], &[], &[&proxy])
        .file("go.mod", "module app\n\ngo 1.20\n");
    let outcome = bench
        .install(json!({"packages": ["a.test/b@v1.0.0"]}))
        .await;
    // There is no zip: what is recorded without it is undone.
    if outcome.is_ok() {
        assert!(bench.read("go.mod").contains("a.test/b v1.0.0"));
    } else {
        assert_eq!(bench.read("go.mod"), "module app\n\ngo 1.20\n");
    }
}

#[tokio::test]
async fn a_registry_on_this_machine_has_to_be_among_the_allowed_hosts() {
    let registry = npm_registry(json!({"name": "tiny", "version": "1.3.0"}));
    let address = format!("registry=http://{}/\n", registry.host());
    let bench = Bench::with(&[], &[(".npmrc", address)], &[]).file("package.json", NPM);
    let outcome = bench.install(json!({"packages": ["tiny"]})).await;
    let (code, message) = error(&outcome);
    assert_eq!(code, ErrorCode::HostNotAllowed, "{message}");
    assert!(message.contains("allowedHosts"), "{message}");
    assert_eq!(
        (bench.test.asked().len(), registry.received().len()),
        (0, 0)
    );
}
