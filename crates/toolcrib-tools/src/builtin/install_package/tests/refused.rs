//! Refusals and questions.

use serde_json::json;

use super::{Bench, CARGO, NPM, error, plain};
use crate::approval::{ApprovalRequest, ApprovalResponse};
use crate::call::request::CallRequest;
use crate::model::error::ErrorCode;
use crate::testing::TestCrib;

#[tokio::test]
async fn input_that_is_not_a_package_is_refused_before_anybody_is_asked() {
    let bench = Bench::new()
        .file("package.json", NPM)
        .file("lib/readme", "");
    std::os::unix::fs::symlink("/usr", bench.test.path().join("out")).unwrap();
    for (package, code) in [
        ("--global", ErrorCode::InvalidArguments),
        ("-e .", ErrorCode::InvalidArguments),
        ("git+ssh://git@host/x", ErrorCode::InvalidArguments),
        ("https://host/x.tgz", ErrorCode::InvalidArguments),
        ("foo;rm -rf", ErrorCode::InvalidArguments),
        ("l\u{435}ft-pad", ErrorCode::InvalidArguments),
        ("./lib", ErrorCode::InvalidArguments),
        ("../outside", ErrorCode::InvalidPath),
        ("/etc", ErrorCode::InvalidPath),
        ("out/lib", ErrorCode::InvalidPath),
        ("./missing", ErrorCode::FileNotFound),
    ] {
        let outcome = bench.install(json!({"packages": [package]})).await;
        let (found, message) = error(&outcome);
        assert_eq!(found, code, "{package}: {message}");
    }
    for (arguments, what) in [
        (
            json!({"packages": ["x", "./lib"], "manager": "pip"}),
            "is neither a directory with",
        ),
        (
            json!({"packages": ["x"], "manager": "pip", "dev": true}),
            "/dev",
        ),
        (
            json!({"packages": ["x"], "manager": "cargo"}),
            "no `Cargo.toml`",
        ),
        (
            json!({"packages": ["x"], "path": ".."}),
            "outside the workspace",
        ),
    ] {
        let outcome = bench.install(arguments).await;
        let (_, message) = error(&outcome);
        assert!(message.contains(what), "{message}");
    }
    assert_eq!(bench.test.asked().len(), 0);
    assert_eq!(bench.read("package.json"), NPM);
}

#[tokio::test]
async fn a_project_that_is_not_its_own_is_refused() {
    let bench = Bench::new().file("real.json", NPM);
    let path = |name: &str| bench.test.path().join(name);
    std::fs::write(bench.home.path().join("package.json"), NPM).unwrap();
    // One that leads out is not even a project; one that leads elsewhere is not changed.
    std::os::unix::fs::symlink(bench.home.path().join("package.json"), path("package.json"))
        .unwrap();
    let outcome = bench
        .install(json!({"packages": ["x"], "manager": "npm"}))
        .await;
    assert_eq!(error(&outcome).0, ErrorCode::FileNotFound);
    std::fs::remove_file(path("package.json")).unwrap();
    std::os::unix::fs::symlink("real.json", path("package.json")).unwrap();
    let outcome = bench
        .install(json!({"packages": ["x"], "manager": "npm"}))
        .await;
    assert!(error(&outcome).1.contains("symbolic link"), "{outcome:?}");
    // Nor is the Python of the system a virtual environment.
    std::os::unix::fs::symlink("/usr", path(".venv")).unwrap();
    let outcome = bench
        .install(json!({"packages": ["x"], "manager": "pip"}))
        .await;
    let (code, message) = error(&outcome);
    assert_eq!(code, ErrorCode::InvalidPath, "{message}");
    assert!(message.contains("not a virtual environment"), "{message}");
}

#[tokio::test]
async fn several_managers_or_one_of_another_kind_have_to_be_said() {
    let bench = Bench::new()
        .file("package.json", NPM)
        .file("Cargo.toml", CARGO)
        .file("web/package.json", NPM)
        .file("web/yarn.lock", "");
    let outcome = bench.install(json!({"packages": ["x"]})).await;
    assert!(
        error(&outcome).1.contains("a project of cargo and npm"),
        "{outcome:?}"
    );
    let outcome = bench
        .install(json!({"packages": ["x"], "path": "web"}))
        .await;
    assert!(
        error(&outcome).1.contains("yarn looks after it"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn without_a_yes_nothing_happens() {
    let denied = TestCrib::new().answers([ApprovalResponse::deny("test", "no")]);
    let denied = plain(denied).file("package.json", NPM);
    let request = CallRequest::new("install_package").args(
        json!({"packages": ["left-pad"]})
            .as_object()
            .unwrap()
            .clone(),
    );
    let outcome = denied.registry().execute(request).await;
    assert_eq!(error(&outcome).0, ErrorCode::ApprovalDenied);
    let asked = denied.asked().pop().unwrap();
    assert!(
        asked
            .effect
            .contains("add `left-pad` to `package.json`; npm runs in the sandbox and reaches"),
        "{}",
        asked.effect
    );
    assert_eq!(
        std::fs::read_to_string(denied.path().join("package.json")).unwrap(),
        NPM
    );
}

#[tokio::test]
async fn a_project_that_changed_since_the_answer_is_not_touched() {
    use crate::approval::{Approver, NoAnswer};
    /// Agrees, and meanwhile a project comes up nearer by.
    struct Meddler(std::path::PathBuf);
    impl Approver for Meddler {
        fn decide(
            &self,
            _request: ApprovalRequest,
        ) -> futures_util::future::BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
            std::fs::write(self.0.join("sub/package.json"), NPM).unwrap();
            Box::pin(std::future::ready(Ok(ApprovalResponse::approve("test"))))
        }
    }
    let test = TestCrib::new().file("package.json", NPM).file("sub/x", "");
    let meddler = Meddler(test.path().to_owned());
    let test = plain(test.with(|builder| builder.approver(meddler)));
    let request = CallRequest::new("install_package").args(
        json!({"packages": ["left-pad"], "path": "sub"})
            .as_object()
            .unwrap()
            .clone(),
    );
    let outcome = test.registry().execute(request).await;
    assert_eq!(error(&outcome).0, ErrorCode::Conflict, "{outcome:?}");
}
