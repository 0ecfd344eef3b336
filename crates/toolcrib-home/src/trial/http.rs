//! Tests of HTTP tools: scripted answers in the place of the network, and what the requests were.
//!
//! Nothing leaves the machine, so that no host has to be allowed and no one is asked. Secrets are not the user's: the value of each is
//! its placeholder, `${NAME}`, so that a test runs alike everywhere and says where a secret goes.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::judge::differences;
use super::scratch::Scratch;
use super::{Bench, Mismatch, TestReport, blocking, cannot_start};
use crate::call::request::CallRequest;
use crate::egress::{Answerer, Egress, EgressOptions, Request, ScriptedAnswer};
use crate::exec::http::{HttpSettings, tool};
use crate::manifest::{ExpectedRequest, HttpDefinition, HttpTest};
use crate::model::caller::Caller;
use crate::model::error::ToolError;
use crate::model::names::Slug;
use crate::model::outcome::Outcome;
use crate::model::secret::Secret;
use crate::registry::{Registration, Registry};
use crate::secret::{Binding, SecretStore};
use toolcrib_core::approval::AllowAll;

/// What a script has seen and has left.
#[derive(Default)]
struct Script {
    left: Vec<ScriptedAnswer>,
    sent: Vec<Sent>,
}

/// A request that would have been sent.
struct Sent {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: String,
}

struct Scripted(Arc<Mutex<Script>>);

impl Answerer for Scripted {
    fn answer(&self, request: &Request) -> Option<ScriptedAnswer> {
        let mut script = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let headers = request.headers.iter();
        let headers = headers.map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        });
        script.sent.push(Sent {
            method: request.method.to_string(),
            url: request.url.to_string(),
            headers: headers.collect(),
            body: String::from_utf8_lossy(&request.body).into_owned(),
        });
        let is_left = !script.left.is_empty();
        is_left.then(|| script.left.remove(0))
    }
}

impl Bench {
    pub(super) async fn run_http(
        &self,
        tool: &Arc<HttpDefinition>,
        test: &HttpTest,
        cancel: &CancellationToken,
        report: &mut TestReport,
    ) {
        let scratch = match blocking(Scratch::new).await {
            Ok(Ok(scratch)) => scratch,
            Ok(Err(error)) => return cannot_start(report, &error.to_string()),
            Err(error) => return cannot_start(report, error.message()),
        };
        let answers = test.respond.iter().map(|respond| ScriptedAnswer {
            status: respond.status,
            headers: respond.headers.clone(),
            body: respond.body.clone(),
        });
        let script = Arc::new(Mutex::new(Script {
            left: answers.collect(),
            sent: Vec::new(),
        }));
        match self.answered(&scratch, (tool, test), &script, cancel).await {
            Ok(outcome) => {
                self.compare(&test.case, &outcome, &scratch, report);
                let script = script.lock().unwrap_or_else(PoisonError::into_inner);
                let found = mismatches(test, &script);
                report.fail_by(found);
            }
            Err(error) => cannot_start(report, error.message()),
        }
        self.remove(scratch, report).await;
    }

    async fn answered(
        &self,
        scratch: &Scratch,
        (definition, test): (&Arc<HttpDefinition>, &HttpTest),
        script: &Arc<Mutex<Script>>,
        cancel: &CancellationToken,
    ) -> Result<Outcome, ToolError> {
        let secrets = SecretStore::at(scratch.beside("secrets"));
        for name in definition.secrets() {
            let value = Secret::new(format!("${{{name}}}"));
            secrets.set(name, &value, &Binding::default())?;
        }
        let egress = Egress::new(EgressOptions {
            answerer: Some(Arc::new(Scripted(Arc::clone(script)))),
            ..EgressOptions::default()
        })?;
        let registry = Registry::builder()
            .rules(self.materials.rules.clone())
            .shared_approver(Arc::new(AllowAll::by("toolcrib test")))
            .limits(&self.materials.limits)
            .build();
        let settings = HttpSettings::new(egress, Some(secrets)).without_jitter();
        let bundle = Slug::parse("local").map_err(|error| ToolError::failed(error.to_string()))?;
        let tool = tool(Arc::clone(definition), bundle, Arc::new(settings))?;
        registry
            .register_with(tool, Registration::default())
            .map_err(|error| ToolError::failed(error.to_string()))?;
        let request = CallRequest::new(definition.name.as_str())
            .args(test.case.parameters.iter().cloned().collect())
            .cancel_with(cancel.clone());
        Ok(registry.execute(request.caller(Caller::Cli)).await)
    }
}

/// What the requests were against what they had to be.
fn mismatches(test: &HttpTest, script: &Script) -> Vec<Mismatch> {
    let mut found = Vec::new();
    let (sent, scripted) = (script.sent.len(), test.respond.len());
    let mut push = |expected: Value, actual: Value, message: String| {
        found.push(Mismatch {
            field: "request",
            expected,
            actual,
            message,
            diff: None,
        });
    };
    if sent > scripted {
        let message = format!("{sent} requests were sent, and `respond` has {scripted} answers");
        push(json!(scripted), json!(sent), message);
    } else if !script.left.is_empty() {
        let message = format!("`respond` has {scripted} answers, and {sent} requests were sent");
        push(json!(scripted), json!(sent), message);
    }
    if test.requests.len() > sent {
        let wanted = test.requests.len();
        let message = format!("{wanted} requests were expected, and {sent} were sent");
        push(json!(wanted), json!(sent), message);
    }
    for (index, (wanted, sent)) in test.requests.iter().zip(&script.sent).enumerate() {
        for (what, expected, actual) in compare(wanted, sent) {
            let message = format!(
                "{what} of request {} differs: expected {expected}, actual {actual}",
                index + 1
            );
            push(expected, actual, message);
        }
    }
    found
}

/// What differs: its name, what was expected, and what was sent.
fn compare(wanted: &ExpectedRequest, sent: &Sent) -> Vec<(String, Value, Value)> {
    let mut found = Vec::new();
    let texts = [
        ("the method", &wanted.method, &sent.method),
        ("the URL", &wanted.url, &sent.url),
    ];
    for (what, expected, actual) in texts {
        if let Some(expected) = expected.as_ref().filter(|expected| *expected != actual) {
            found.push((what.to_owned(), json!(expected), json!(actual)));
        }
    }
    for (name, expected) in &wanted.headers {
        let named = sent.headers.iter();
        let mut values = named.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        if !values.clone().any(|(_, value)| value == expected) {
            let actual = values.next().map_or(Value::Null, |(_, value)| json!(value));
            found.push((format!("the header `{name}`"), json!(expected), actual));
        }
    }
    match &wanted.body {
        Some(Value::String(expected)) if *expected != sent.body => {
            found.push(("the body".to_owned(), json!(expected), json!(sent.body)));
        }
        Some(Value::String(_)) | None => {}
        Some(expected) => {
            let actual = serde_json::from_str::<Value>(&sent.body);
            let actual = actual.unwrap_or_else(|_| json!(sent.body));
            let mut differing = Vec::new();
            differences(expected, &actual, "", &mut differing);
            if !differing.is_empty() {
                found.push(("the body".to_owned(), expected.clone(), actual));
            }
        }
    }
    found
}
