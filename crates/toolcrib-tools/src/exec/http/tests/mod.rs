//! HTTP tools: what becomes of values, and calls through the whole pipeline against real servers on loopback.

mod answers;
mod building;
mod cases;
mod load;
mod questions;
mod sending;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{HttpSettings, tool};
use crate::approval::ApprovalResponse;
use crate::call::request::CallRequest;
use crate::egress::{AllowedHosts, Egress, EgressOptions};
use crate::manifest;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::Slug;
use crate::model::outcome::Outcome;
use crate::model::secret::Secret;
use crate::registry::{Registration, Registry};
use crate::secret::{Binding, SecretName, SecretStore};
use crate::testing::{NameTable, RecordingDialler, ScriptedServer, TestCrib};

/// A registry with HTTP tools, and who they may ask.
struct Scene {
    crib: TestCrib,
    home: TempDir,
    options: EgressOptions,
    jitter: super::Jitter,
}

impl Scene {
    /// Tools may ask these hosts.
    fn listing(hosts: &[&str]) -> Self {
        let home = TempDir::new().unwrap();
        let secrets = SecretStore::at(home.path().join("secrets"));
        Scene {
            crib: TestCrib::new().with(|builder| builder.secrets(secrets)),
            home,
            options: EgressOptions {
                allowed_hosts: AllowedHosts::parse(hosts.iter().copied()).unwrap(),
                ..EgressOptions::default()
            },
            // No one waits in a test.
            jitter: || 0.0,
        }
    }

    /// Tools may ask this server.
    fn with(server: &ScriptedServer) -> Self {
        Scene::listing(&[&server.host()])
    }

    /// `api.example.test` and `other.example.test` are listed, and both lead to this server.
    fn named(server: &ScriptedServer) -> Self {
        let mut scene = Scene::listing(&["api.example.test", "other.example.test"]);
        let names = NameTable::new()
            .name("api.example.test", &["93.184.216.34"])
            .name("other.example.test", &["93.184.216.35"]);
        scene.options.resolver = Some(Arc::new(names));
        scene.options.dialler = Some(Arc::new(RecordingDialler::to(server.address())));
        scene
    }

    /// Someone says yes to everything asked.
    fn approved(mut self) -> Self {
        let yes = || ApprovalResponse::approve("test");
        self.crib = self.crib.answers([yes(), yes(), yes(), yes()]);
        self
    }

    fn secrets(&self) -> SecretStore {
        SecretStore::at(self.home.path().join("secrets"))
    }

    fn secret(self, name: &str, value: &str) -> Self {
        let name = SecretName::parse(name).unwrap();
        self.secrets()
            .set(&name, &Secret::new(value), &Binding::default())
            .unwrap();
        self
    }

    /// A tool named `t`: S4's fields, `impl` from `request`, every placeholder in small letters an argument of any type.
    fn request(self, request: Value) -> Self {
        self.tool(json!({"impl": request, "tags": ["write"]}))
    }

    /// A tool named `t`.
    fn tool(self, mut file: Value) -> Self {
        let text = file["impl"].to_string();
        let fields = file.as_object_mut().unwrap();
        fields.entry("slug").or_insert("t".into());
        fields.entry("type").or_insert("http".into());
        fields
            .entry("description")
            .or_insert("Asks a server".into());
        fields
            .entry("argSchema")
            .or_insert_with(|| arg_schema(&text));
        let text = file.to_string();
        let reading = manifest::read(text.as_bytes(), "t");
        let definition = reading
            .definition
            .unwrap_or_else(|| panic!("{:#?}", reading.problems));
        let egress = Egress::new(self.options.clone()).unwrap();
        let mut settings = HttpSettings::new(egress, Some(self.secrets()));
        settings.jitter = self.jitter;
        let bundle = Slug::parse("local").unwrap();
        let made = tool(Arc::new(definition), bundle, Arc::new(settings)).unwrap();
        self.registry()
            .register_with(made, Registration::default())
            .unwrap();
        self
    }

    fn registry(&self) -> &Registry {
        self.crib.registry()
    }

    async fn call(&self, args: Value) -> Outcome {
        self.registry().execute(call(args)).await
    }
}

fn call(args: Value) -> CallRequest {
    CallRequest::new("t").args(args.as_object().cloned().unwrap_or_default())
}

/// The schema of the arguments that a text names in small letters; all optional, of any type.
fn arg_schema(text: &str) -> Value {
    let mut properties = serde_json::Map::new();
    for piece in text.split("${").skip(1) {
        let name = piece.split('}').next().unwrap_or_default();
        let is_argument = name.chars().all(|c| c.is_ascii_lowercase());
        if is_argument && !matches!(name, "version" | "slug") {
            properties.insert(name.to_owned(), json!({"description": "A value"}));
        }
    }
    json!({"type": "object", "properties": properties})
}

/// The value of a call that went well.
fn value(outcome: &Outcome) -> &Value {
    outcome.value().unwrap_or_else(|| panic!("{outcome:#?}"))
}

/// The error of a call that did not.
fn error(outcome: &Outcome) -> &ToolError {
    outcome.error().unwrap_or_else(|| panic!("{outcome:#?}"))
}

fn code(outcome: &Outcome) -> ErrorCode {
    error(outcome).code()
}

/// Longer than a busy machine needs for anything that happens at all.
const AGES: Duration = Duration::from_secs(30);
