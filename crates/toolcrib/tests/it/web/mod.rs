//! `web_fetch` and `web_search`, from a call to a server on loopback and back.

mod approval;
mod fetch;
mod search;

use serde_json::Value;
use tempfile::TempDir;
use toolcrib::RegisterBuiltins as _;
use toolcrib::approval::grants::Grants;
use toolcrib::builtin::BuiltinOptions;
use toolcrib::egress::{AllowedHosts, Egress, EgressOptions};
use toolcrib::testing::{NameTable, RecordingDialler, ScriptedApprover};
use toolcrib::{CallRequest, ErrorCode, Outcome, Registry, RegistryBuilder};

/// A registry with the built-in tools, a person who answers from a script, and a network that is a table.
struct Scene {
    home: TempDir,
    person: ScriptedApprover,
    names: NameTable,
    registry: Registry,
}

impl Scene {
    /// With these hosts listed, and the real way to loopback.
    fn listing(hosts: &[&str]) -> Self {
        Scene::new(hosts, NameTable::new(), None, |builder| builder)
    }

    /// With names and a dialler of the test's own.
    fn new(
        hosts: &[&str],
        names: NameTable,
        dialler: Option<RecordingDialler>,
        change: impl FnOnce(RegistryBuilder) -> RegistryBuilder,
    ) -> Self {
        let egress = Egress::new(EgressOptions {
            allowed_hosts: AllowedHosts::parse(hosts.iter().copied()).unwrap(),
            resolver: Some(std::sync::Arc::new(names.clone())),
            dialler: dialler.map(|dialler| std::sync::Arc::new(dialler) as _),
            ..EgressOptions::default()
        });
        let home = TempDir::new().unwrap();
        let person = ScriptedApprover::default();
        let builder = Registry::builder()
            .approver(person.clone())
            .grants(Grants::at(home.path().join("grants")));
        let registry = change(builder).build();
        registry
            .register_builtins_with(BuiltinOptions {
                egress: Some(egress.unwrap()),
                ..BuiltinOptions::default()
            })
            .unwrap();
        Scene {
            home,
            person,
            names,
            registry,
        }
    }

    async fn fetch(&self, args: Value) -> Outcome {
        call(&self.registry, "web_fetch", args).await
    }
}

async fn call(registry: &Registry, tool: &str, args: Value) -> Outcome {
    let args = crate::tools::args(args);
    registry.execute(CallRequest::new(tool).args(args)).await
}

/// The value of a call that went well.
#[track_caller]
fn value(outcome: &Outcome) -> Value {
    match outcome.error() {
        None => outcome.value().unwrap().clone(),
        Some(error) => panic!("{error:?}"),
    }
}

/// The code and message of one that did not.
#[track_caller]
fn failure(outcome: &Outcome) -> (ErrorCode, String) {
    let error = outcome.error().unwrap_or_else(|| panic!("{outcome:?}"));
    (error.code(), error.message().to_owned())
}
