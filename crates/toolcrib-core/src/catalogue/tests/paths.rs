//! Every way to a call sees the made tool: a tool made at first use is announced, allowed and refused exactly like one made from the start.

use std::sync::Mutex;

use serde_json::json;

use super::*;
use crate::approval::Clock;
use crate::approval::grants::{Grant, GrantRequest, GrantStore, Scope, Shape, Subject};
use crate::approval::{ApprovalRequest, ApprovalResponse};
use crate::call::request::CallRequest;
use crate::function::FnTool;
use crate::model::caller::Caller;
use crate::model::effects::Approval;
use crate::model::error::ErrorCode;
use crate::spec::Role;
use crate::testing::ScriptedApprover;
use crate::tool::Look;
use crate::workspace::Workspace;

/// What the tool is once it is made: rules read its argument as shell text, it asks, and its limits are tight.
fn whole() -> ToolSpec {
    let mut spec = head();
    spec.effects = Effects::RUN;
    spec.roles = vec![("command".to_owned(), Role::Shell)];
    spec.urls = vec!["https://api.example.com".to_owned()];
    spec.asks = Some("always".to_owned());
    spec.content_digest = Some("its file".to_owned());
    spec.limits.max_output_bytes = Some(77);
    spec
}

/// What lists know of it. Judged by this, everything would be allowed.
fn head() -> ToolSpec {
    let mut sketch = sketch("a", "runs", "v1");
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    sketch.spec.input_schema = Arc::new(Schema::stored(schema).unwrap());
    sketch.spec
}

/// The made tool, which asks every time it may.
struct Asking(Arc<ToolSpec>);

impl Tool for Asking {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.0)
    }

    fn look(&self, _: &JsonObject, _: Option<&Workspace>) -> Look {
        Approval::ask("it runs something").into()
    }

    fn call(&self, _: JsonObject, _: CallContext) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::value("done")) })
    }
}

/// Grants that are never used up, in memory.
#[derive(Default)]
struct MemoryGrants(Mutex<Vec<Grant>>);

impl GrantStore for MemoryGrants {
    fn covering(&self, subject: &Subject<'_>) -> Result<Option<Grant>, ToolError> {
        let grants = self.0.lock().unwrap();
        Ok(grants.iter().find(|grant| grant.covers(subject)).cloned())
    }

    fn make(
        &self,
        _question: &str,
        request: &GrantRequest,
        subject: &Subject<'_>,
        by: &str,
    ) -> Result<Grant, ToolError> {
        self.keep(request, subject, by)
    }

    fn keep(
        &self,
        request: &GrantRequest,
        subject: &Subject<'_>,
        by: &str,
    ) -> Result<Grant, ToolError> {
        let grant = Grant::draft(request, subject, by, &Clock::default());
        self.0.lock().unwrap().push(grant.clone());
        Ok(grant)
    }

    fn spend(&self, _id: &str) -> Result<bool, ToolError> {
        Ok(true)
    }
}

struct Scene {
    registry: Registry,
    person: ScriptedApprover,
    made: Arc<AtomicUsize>,
}

impl Scene {
    fn new(is_lazy: bool) -> Self {
        let person = ScriptedApprover::default();
        let registry = Registry::builder()
            .approver(person.clone())
            .grants(MemoryGrants::default())
            .session("session")
            .build();
        let made = Arc::new(AtomicUsize::new(0));
        let tool: Arc<dyn Tool> = Arc::new(Asking(Arc::new(whole())));
        let registration = Registration::default();
        let entry = match is_lazy {
            false => registry.entry(tool, Source::Store, registration),
            true => {
                let counter = Arc::clone(&made);
                let make = move || {
                    counter.fetch_add(1, Ordering::SeqCst);
                    Ok(MadeTool::from(Arc::clone(&tool)))
                };
                let store = StoreSwitches::default();
                registry.entry_lazily(Arc::new(head()), Source::Store, registration, store, make)
            }
        };
        registry.apply(&[], vec![entry]);
        Scene {
            registry,
            person,
            made,
        }
    }
}

/// What both kinds of tool make of something.
async fn both<T>(ask: impl AsyncFn(&Scene) -> T) -> [T; 2] {
    let (eager, lazy) = (Scene::new(false), Scene::new(true));
    let answers = [ask(&eager).await, ask(&lazy).await];
    assert_eq!(lazy.made.load(Ordering::SeqCst), 1, "made once");
    answers
}

fn call(command: &str) -> CallRequest {
    CallRequest::new("runs").arg("command", command)
}

#[tokio::test]
async fn a_call_is_judged_by_the_rules_for_the_made_tool() {
    let [eager, lazy] = both(async |scene| {
        let outcome = scene.registry.execute(call("rm -rf /")).await;
        outcome.error().expect("refused").clone()
    })
    .await;
    assert_eq!(eager.code(), ErrorCode::BlockedByRule);
    assert_eq!(lazy, eager);
}

#[tokio::test]
async fn a_call_asks_as_the_made_tool_does_and_is_bound_to_it() {
    let [eager, lazy] = both(async |scene| {
        scene.person.then(Ok(ApprovalResponse::deny("Ada", "no")));
        let request = call("ls").call_id(crate::model::ids::CallId::parse("one").unwrap());
        scene.registry.execute(request).await;
        let asked = scene.person.asked();
        let ApprovalRequest {
            tool_digest,
            reason,
            offers,
            ..
        } = asked.first().expect("it asks").clone();
        (tool_digest, reason, offers)
    })
    .await;
    assert_eq!(lazy, eager);
}

#[tokio::test]
async fn a_plan_is_the_made_tools() {
    let [eager, lazy] = both(async |scene| scene.registry.plan(call("ls")).unwrap()).await;
    assert_eq!(lazy, eager);
    assert_eq!(lazy.effects, Effects::RUN);
    assert_eq!(lazy.max_output_bytes, 77);
    let [eager, lazy] =
        both(async |scene| scene.registry.plan(call("rm -rf /")).unwrap_err()).await;
    assert_eq!(lazy, eager);
}

#[tokio::test]
async fn offers_are_the_made_tools() {
    let [eager, lazy] = both(async |scene| {
        let offers = scene.registry.offers(call("ls -l"));
        offers.map_err(|error| error.message().to_owned())
    })
    .await;
    assert!(eager.is_ok());
    assert_eq!(lazy, eager);
}

#[tokio::test]
async fn a_grant_is_bound_to_the_made_tool_and_of_its_shapes() {
    let [eager, lazy] = both(async |scene| {
        let shape = |value| serde_json::from_value::<Shape>(value).unwrap();
        let grant = |value| {
            let wanted = GrantRequest::new(shape(value), Scope::Session);
            let caller = Caller::default();
            scene.registry.grant("runs", &wanted, &caller, "Ada")
        };
        // A pattern of words is for shell text alone.
        let text = grant(json!({"command": {"argv": ["ls", "*"]}}));
        let path = grant(json!({"command": {"path": "docs/*"}}));
        let digest = text.as_ref().map(|grant| grant.tool_digest.clone());
        (
            digest.map_err(|error| error.message().to_owned()),
            path.err().map(|error| error.message().to_owned()),
        )
    })
    .await;
    assert_eq!(lazy, eager);
}

#[tokio::test]
async fn a_nested_call_is_judged_by_the_made_tool() {
    let [eager, lazy] = both(async |scene| {
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        struct Nothing {}
        let outer = FnTool::new("outer", "Calls", |_: Nothing, cx| async move {
            let outcome = cx.call(call("rm -rf /")).await;
            Ok(outcome.error().map(|error| error.message().to_owned()))
        });
        let outer = outer.unwrap().effects(Effects::READ);
        scene.registry.register(outer).unwrap();
        let outcome = scene.registry.execute(CallRequest::new("outer")).await;
        outcome.value().expect("it ran").clone()
    })
    .await;
    assert!(eager.is_string(), "{eager}");
    assert_eq!(lazy, eager);
}

#[tokio::test]
async fn an_answer_is_checked_by_the_made_tool() {
    // Someone else's process asked.
    let asking = Scene::new(false);
    asking.person.then(Ok(ApprovalResponse::deny("Ada", "no")));
    asking.registry.execute(call("ls")).await;
    let asked = asking.person.asked().remove(0);
    let [eager, lazy] = both(async |scene| {
        let edited = call("rm -rf /").args;
        let response = ApprovalResponse::approve_with("Ada", edited);
        let checked = scene.registry.check_answer(&asked, &response);
        checked.expect_err("the rules refuse it")
    })
    .await;
    assert_eq!(eager.code(), ErrorCode::BlockedByRule);
    assert_eq!(lazy, eager);
}

#[test]
fn what_holds_programs_back_is_asked_of_the_made_tool() {
    let scene = Scene::new(true);
    let entry = scene.registry.entries().remove(0);
    assert_eq!(scene.made.load(Ordering::SeqCst), 0);
    let _ = scene.registry.sandbox_plan(&entry, &JsonObject::new());
    assert_eq!(scene.made.load(Ordering::SeqCst), 1);
    assert_eq!(entry.spec().effects, Effects::RUN);
}
