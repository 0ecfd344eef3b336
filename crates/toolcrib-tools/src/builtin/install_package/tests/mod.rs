//! `install_package` with real package managers: packages of the workspace, and registries on loopback.

mod local;
mod refused;
mod registries;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;

use super::InstallPackage;
use super::registry::Operator;
use crate::approval::{ApprovalRequest, ApprovalResponse};
use crate::builtin::project::is_there;
use crate::call::request::CallRequest;
use crate::egress::{AllowedHosts, Egress, EgressOptions};
use crate::model::error::ErrorCode;
use crate::model::outcome::Outcome;
use crate::process::{Runner, SandboxOptions};
use crate::registry::{Registration, Source};
use crate::testing::{Reply, ScriptedServer, TestCrib};
use crate::tool::Tool;

const CARGO: &str = "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const NPM: &str = "{\n  \"name\": \"app\",\n  \"version\": \"1.0.0\"\n}\n";

/// A workspace with the tool, a home of an operator, and someone who agrees to everything.
struct Bench {
    test: TestCrib,
    home: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Bench::with(&[], &[], &[])
    }

    /// With variables and files of the operator, and servers of this machine that programs may reach as far as `allowedHosts` goes.
    fn with(
        variables: &[(&str, &str)],
        files: &[(&str, String)],
        servers: &[&ScriptedServer],
    ) -> Self {
        let home = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let mut said: BTreeMap<String, String> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        said.entry("PIP_CONFIG_FILE".to_owned())
            .or_insert_with(|| "/nonexistent".to_owned());
        let operator = Operator {
            home: Some(home.path().to_owned()),
            variables: said,
        };
        let tool = tool(operator, servers);
        let test = TestCrib::new().answers((0..9).map(|_| ApprovalResponse::approve("test")));
        let tools = [(tool, Registration::default())];
        test.registry().insert_all(Source::BuiltIn, tools).unwrap();
        Bench { test, home }
    }

    fn file(mut self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.test = self.test.file(path, content);
        self
    }

    async fn install(&self, arguments: Value) -> Outcome {
        let args = arguments.as_object().unwrap().clone();
        let request = CallRequest::new("install_package").args(args);
        self.test.registry().execute(request).await
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.test.path().join(path)).unwrap()
    }

    fn has(&self, path: &str) -> bool {
        self.test.path().join(path).symlink_metadata().is_ok()
    }

    /// The last question.
    fn asked(&self) -> ApprovalRequest {
        self.test.asked().pop().unwrap()
    }
}

/// The tool of an operator who lists these servers in `allowedHosts`.
fn tool(operator: Operator, servers: &[&ScriptedServer]) -> Arc<dyn Tool> {
    let hosts: Vec<String> = servers.iter().map(|server| server.host()).collect();
    let egress = Egress::new(EgressOptions {
        allowed_hosts: AllowedHosts::parse(hosts.iter().map(String::as_str)).unwrap(),
        ..EgressOptions::default()
    })
    .unwrap();
    let runner = Arc::new(Runner::new(SandboxOptions {
        egress: Some(egress),
        ..SandboxOptions::default()
    }));
    Arc::new(InstallPackage::new(runner, move || operator.clone()))
}

/// A workspace with the tool of an operator without settings.
fn plain(test: TestCrib) -> TestCrib {
    let tools = [(tool(Operator::default(), &[]), Registration::default())];
    test.registry().insert_all(Source::BuiltIn, tools).unwrap();
    test
}

fn value(outcome: &Outcome) -> &Value {
    outcome.value().unwrap_or_else(|| panic!("{outcome:?}"))
}

fn error(outcome: &Outcome) -> (ErrorCode, String) {
    let error = outcome
        .error()
        .unwrap_or_else(|| panic!("it went well: {outcome:?}"));
    (error.code(), error.message().to_owned())
}

/// Says that a test cannot run here, and why: in its output, and where `test.sh` reports it at the end.
fn skipped(why: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test"));
    eprint!("SKIPPED {line}");
    if let Some(path) = std::env::var_os("TOOLCRIB_TEST_SKIPPED") {
        use std::io::Write as _;
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        file.unwrap().write_all(line.as_bytes()).unwrap();
    }
}

fn lacks(program: &str) -> bool {
    let is_missing = !is_there(program);
    if is_missing {
        skipped(&format!("there is no {program}"));
    }
    is_missing
}

/// Files that are served by their path.
fn serve(files: impl Fn(&str, &str) -> Option<Vec<u8>> + Send + Sync + 'static) -> ScriptedServer {
    ScriptedServer::start(move |received| {
        let host = received.header("host").unwrap_or_default().to_owned();
        match files(&received.target, &host) {
            Some(body) if received.target.contains("/simple/") => {
                Reply::ok(body).header("content-type", "text/html")
            }
            Some(body) => Reply::ok(body),
            None => Reply::status(404),
        }
    })
}

/// A wheel, by hand.
fn wheel(name: &str) -> Vec<u8> {
    let script = format!(
        "import zipfile, sys, io\nb = io.BytesIO()\nz = zipfile.ZipFile(b, 'w')\nd = '{name}-1.2.3.dist-info/'\n\
         z.writestr('{name}.py', 'x = 1\\n')\n\
         z.writestr(d + 'METADATA', 'Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.2.3\\n')\n\
         z.writestr(d + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
         z.writestr(d + 'RECORD', '{name}.py,,\\n' + d + 'METADATA,,\\n' + d + 'WHEEL,,\\n' + d + 'RECORD,,\\n')\n\
         z.close()\nsys.stdout.buffer.write(b.getvalue())\n"
    );
    let made = Command::new("python3")
        .args(["-c", &script])
        .output()
        .unwrap();
    assert!(made.status.success());
    made.stdout
}
