//! Credentials through the whole pipeline, against real servers on loopback.

mod headers;
mod oauth;
mod waiting;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::{HttpSettings, tool};
use crate::call::request::CallRequest;
use crate::egress::{AllowedHosts, Egress, EgressOptions};
use crate::manifest;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::Slug;
use crate::model::outcome::Outcome;
use crate::model::secret::Secret;
use crate::registry::{Registration, Registry};
use crate::secret::{Binding, SecretName, SecretStore};
use crate::testing::{Received, Reply, ScriptedServer, TestCrib};

/// A registry with one HTTP tool `t`, which has a home with secrets.
struct Scene {
    crib: TestCrib,
    home: TempDir,
    store: SecretStore,
}

impl Scene {
    fn new() -> Self {
        let home = TempDir::new().unwrap();
        let store = SecretStore::at(home.path().join("secrets"));
        let masking = store.clone();
        Scene {
            crib: TestCrib::new().with(|builder| builder.secrets(masking)),
            home,
            store,
        }
    }

    fn secret(self, name: &str, value: &str) -> Self {
        self.bound(name, value, &[])
    }

    /// A secret for these hosts only.
    fn bound(self, name: &str, value: &str, hosts: &[&str]) -> Self {
        let binding = Binding::new(hosts.iter().copied(), []).unwrap();
        set(&self.store, name, value, &binding);
        self
    }

    /// The store as another process sees it.
    fn other_process(&self) -> SecretStore {
        SecretStore::at(self.home.path().join("secrets"))
    }

    /// The tool, with this `impl`; it may ask these servers.
    fn tool(self, servers: &[&ScriptedServer], request: Value) -> Self {
        let hosts: Vec<String> = servers.iter().map(|server| server.host()).collect();
        let egress = Egress::new(EgressOptions {
            allowed_hosts: AllowedHosts::parse(hosts.iter().map(String::as_str)).unwrap(),
            ..EgressOptions::default()
        })
        .unwrap();
        let file = json!({
            "slug": "t", "type": "http", "description": "Asks a server", "tags": ["write"],
            "argSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
            "impl": request,
        });
        let reading = manifest::read(file.to_string().as_bytes(), "t");
        let definition = reading
            .definition
            .unwrap_or_else(|| panic!("{:#?}", reading.problems));
        let mut settings = HttpSettings::new(egress, Some(self.store.clone()));
        // No one waits in a test.
        settings.jitter = || 0.0;
        let bundle = Slug::parse("local").unwrap();
        let made = tool(Arc::new(definition), bundle, Arc::new(settings)).unwrap();
        self.crib
            .registry()
            .register_with(made, Registration::default())
            .unwrap();
        self
    }

    fn registry(&self) -> &Registry {
        self.crib.registry()
    }

    async fn call(&self) -> Outcome {
        self.registry().execute(CallRequest::new("t")).await
    }

    async fn value(&self) -> Value {
        let outcome = self.call().await;
        let value = outcome.value().cloned();
        value.unwrap_or_else(|| panic!("{outcome:?}"))
    }

    async fn error(&self) -> ToolError {
        let outcome = self.call().await;
        let error = outcome.error().cloned();
        error.unwrap_or_else(|| panic!("{outcome:?}"))
    }
}

fn set(store: &SecretStore, name: &str, value: &str, binding: &Binding) {
    let name = SecretName::parse(name).unwrap();
    store.set(&name, &Secret::new(value), binding).unwrap();
}

/// A server that gives tokens (`POST /token`) and takes them (everything else).
struct Issuer {
    server: ScriptedServer,
    good: Arc<Mutex<Vec<String>>>,
}

impl Issuer {
    /// Gives `token-1`, `token-2`, …, with these fields besides.
    fn giving(fields: Value) -> Self {
        Issuer::answering(move |_, number| {
            let mut answer =
                json!({"access_token": format!("token-{number}"), "token_type": "Bearer"});
            let fields = fields.as_object().unwrap().clone();
            answer.as_object_mut().unwrap().extend(fields);
            Reply::json(&answer)
        })
    }

    /// Answers requests for tokens by this function, which receives the number of the request.
    fn answering(answer: impl Fn(&Received, usize) -> Reply + Send + Sync + 'static) -> Self {
        let count = Mutex::new(0);
        let good = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&good);
        let server = ScriptedServer::start(move |request| {
            if request.target == "/token" {
                let number = {
                    let mut count = count.lock().unwrap();
                    *count += 1;
                    *count
                };
                let reply = answer(request, number);
                taken.lock().unwrap().push(format!("Bearer token-{number}"));
                return reply;
            }
            let sent = request
                .header("authorization")
                .unwrap_or_default()
                .to_owned();
            match taken.lock().unwrap().contains(&sent) {
                true => Reply::json(&json!({"ok": true, "sent": sent})),
                false => Reply::status(401).body(format!("not good: {sent}")),
            }
        });
        Issuer { server, good }
    }

    /// Takes none of the tokens given so far any more.
    fn revoke_all(&self) {
        self.good.lock().unwrap().clear();
    }

    /// The requests for tokens so far.
    fn asked(&self) -> Vec<Received> {
        let mut received = self.server.received();
        received.retain(|request| request.target == "/token");
        received
    }

    /// What was sent as `Authorization` to everything else.
    fn seen(&self) -> Vec<String> {
        let mut received = self.server.received();
        received.retain(|request| request.target != "/token");
        let sent = |request: &Received| request.header("authorization").unwrap_or("").to_owned();
        received.iter().map(sent).collect()
    }

    /// A request with a token of client credentials.
    fn client_credentials(&self) -> Value {
        self.request(json!({"clientId": "${CLIENT_ID}", "clientSecret": "${CLIENT_SECRET}"}))
    }

    /// A request with a token of a refresh token.
    fn refresh_token(&self, template: &str) -> Value {
        self.request(json!({"grant": "refresh_token", "clientId": "app", "refreshToken": template}))
    }

    fn request(&self, auth: Value) -> Value {
        let mut fields = json!({"type": "oauth2", "tokenUrl": self.server.url("/token")});
        let auth = auth.as_object().unwrap().clone();
        fields.as_object_mut().unwrap().extend(auth);
        json!({"urlTemplate": self.server.url("/api"), "auth": fields})
    }

    /// The tool of this request, and a client's secrets.
    fn scene(&self, request: Value) -> Scene {
        Scene::new()
            .secret("CLIENT_ID", "the-client")
            .secret("CLIENT_SECRET", "cl1ent-s3cret")
            .tool(&[&self.server], request)
    }
}

/// A form's fields.
fn form(request: &Received) -> Vec<(String, String)> {
    url::form_urlencoded::parse(&request.body)
        .into_owned()
        .collect()
}

fn pairs(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    fields.iter().map(owned).collect()
}
