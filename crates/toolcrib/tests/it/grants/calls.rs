//! A grant made with an answer, and the calls after it.

use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib::approval::grants::{GrantRequest, Scope};
use toolcrib::approval::{ApprovalQueue, ApprovalResponse, QueueOptions, Status};
use toolcrib::rules::{Rule, RuleSet};
use toolcrib::{
    Approval, CallRequest, Caller, Effects, ErrorCode, EventKind, FnTool, LimitsPatch, Verdict,
};

use super::{Scene, by, in_docs, is_covered, save, saving};

#[tokio::test]
async fn what_was_granted_is_not_asked_about_again() {
    let scene = Scene::new();
    let registry = scene.registry();
    scene.grant_next(in_docs(), |grant| grant);
    let first = registry.execute(saving("docs/a.md")).await;
    let trail = first.approval.as_ref().unwrap();
    assert_eq!((by(&first), trail.approved), ("Ada", true));
    let id = trail.grant.clone().unwrap();
    assert_eq!(scene.grants().list().unwrap().grants[0].id, id);

    let second = registry.execute(saving("docs/b.md")).await;
    assert!(second.is_ok(), "{second:?}");
    assert_eq!(by(&second), format!("grant {id}"));
    assert_eq!(scene.asked(), 1);
    assert_eq!(scene.grants().find(&id).unwrap().uses, 1);
    let plan = registry.plan(saving("docs/c.md")).unwrap();
    assert_eq!(
        (plan.verdict, plan.grant),
        (Verdict::Allow, Some(id.clone()))
    );

    for other in ["src/a.rs", "docs/x/y.md", "docs/../src/a.rs", "docs/.env"] {
        assert!(!is_covered(&registry, saving(other)).await, "{other}");
    }
    let overwriting = saving("docs/a.md").arg("overwrite", true);
    assert!(
        !is_covered(&registry, overwriting).await,
        "one more argument"
    );
    assert_eq!(registry.plan(saving("x")).unwrap().verdict, Verdict::Ask);

    scene.grants().revoke(&id[id.len() - 8..]).unwrap();
    assert!(!is_covered(&registry, saving("docs/b.md")).await);
    assert_eq!(scene.runs(), 2);
}

#[tokio::test]
async fn a_grant_lifts_ask_and_never_deny() {
    let scene = Scene::new();
    scene.grant_next(in_docs(), |grant| grant);
    assert!(scene.registry().execute(saving("docs/a.md")).await.is_ok());
    let rules = RuleSet::default().with(Rule::forbid("no_b", ["docs/b.md"]));
    let strict = scene.with(scene.builder(scene.workspace.path()).rules(rules));
    let outcome = strict.execute(saving("docs/b.md")).await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::BlockedByRule);
    assert!(is_covered(&strict, saving("docs/c.md")).await);
}

#[tokio::test]
async fn a_grant_is_used_as_often_as_it_says() {
    let scene = Scene::new();
    let registry = scene.registry();
    scene.grant_next(in_docs(), |grant| grant.uses(2));
    assert!(registry.execute(saving("docs/a.md")).await.is_ok());
    let mut covered = 0;
    for _ in 0..5 {
        covered += usize::from(is_covered(&registry, saving("docs/a.md")).await);
    }
    assert_eq!((covered, scene.runs()), (2, 3));
    assert_eq!(scene.grants().list().unwrap().grants, []);
}

#[tokio::test]
async fn calls_that_share_an_answer_share_its_grant() {
    let scene = Scene::new();
    let queue = ApprovalQueue::at(scene.home.path().join("approvals"), QueueOptions::default());
    let registry = scene.with(
        scene
            .builder(scene.workspace.path())
            .approver(queue.clone()),
    );
    let calls: Vec<_> = (0..4)
        .map(|_| registry.execute_async(saving("docs/a.md")))
        .collect();
    // All of them wait for the one question.
    for call in &calls {
        let mut events = call.events();
        while let Some(event) = events.next().await {
            if matches!(&event.kind, EventKind::Approval { status, .. } if status == "pending") {
                break;
            }
        }
    }
    let pending = || queue.list(Some(Status::Pending)).unwrap().requests;
    let first = pending().remove(0).request.id;
    let shape = serde_json::from_value(in_docs()).unwrap();
    let grant = GrantRequest::new(shape, Scope::Project).uses(1);
    let approve = ApprovalResponse::approve("Ada").with_grant(grant);
    queue.answer(&first, None, approve, |_, _| Ok(())).unwrap();

    // One runs by the approval, one by the grant; the others are asked about again.
    let again = queue.clone();
    let person = tokio::spawn(async move {
        loop {
            for asked in again.list(Some(Status::Pending)).unwrap().requests {
                let deny = ApprovalResponse::deny("Ada", "that was enough");
                let _ = again.answer(&asked.request.id, None, deny, |_, _| Ok(()));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let mut allowed = 0;
    for call in calls {
        allowed += usize::from(call.outcome().await.is_ok());
    }
    person.abort();
    assert_eq!((allowed, scene.runs()), (2, 2));
}

#[tokio::test]
async fn a_call_that_gets_no_place_uses_nothing() {
    let scene = Scene::new();
    let builder = scene.builder(scene.workspace.path());
    let registry = builder.build();
    let limits = LimitsPatch {
        max_calls_per_minute: Some(1),
        ..LimitsPatch::default()
    };
    registry.register(save(&scene.runs).limits(limits)).unwrap();
    scene.grant_next(in_docs(), |grant| grant.uses(1));
    assert!(registry.execute(saving("docs/a.md")).await.is_ok());
    let outcome = registry.execute(saving("docs/b.md")).await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::RateLimited);
    assert_eq!(scene.grants().list().unwrap().grants[0].uses, 0);
}

#[tokio::test]
async fn a_grant_that_cannot_be_kept_costs_the_call_nothing() {
    let scene = Scene::new();
    std::fs::write(scene.home.path().join("grants"), "not a directory").unwrap();
    let registry = scene.registry();
    scene.grant_next(in_docs(), |grant| grant);
    let outcome = registry.execute(saving("docs/a.md")).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    let made = outcome.approval.unwrap().grant.unwrap();
    assert!(made.starts_with("not made: cannot open `grants`"), "{made}");
}

#[tokio::test]
async fn a_grant_covers_the_call_it_was_made_for_or_is_not_made() {
    for (shape, why) in [
        (
            json!({"path": {"path": "src/*"}, "content": "any"}),
            "cover this call",
        ),
        (
            json!({"path": "any", "content": "any"}),
            "a pattern of paths",
        ),
        (
            json!({"path": {"argv": ["docs/a.md"]}, "content": "any"}),
            "not shell text",
        ),
        (
            json!({"path": {"path": "docs/*"}, "content": {"path": "**"}}),
            "not a path",
        ),
    ] {
        let scene = Scene::new();
        scene.grant_next(shape.clone(), |grant| grant);
        let outcome = scene.registry().execute(saving("docs/a.md")).await;
        assert!(outcome.is_ok(), "{outcome:?}");
        let made = outcome.approval.unwrap().grant.unwrap();
        assert!(
            made.starts_with("not made: ") && made.contains(why),
            "{shape}: {made}"
        );
        assert_eq!(scene.grants().list().unwrap().grants, []);
    }
}

#[tokio::test]
async fn with_edited_arguments_it_is_these_that_count() {
    let scene = Scene::new();
    let registry = scene.registry();
    let edited = json!({"path": "docs/a.md", "content": "x"});
    let shape = serde_json::from_value(in_docs()).unwrap();
    let wanted = GrantRequest::new(shape, Scope::Project);
    scene.person.then(Ok(ApprovalResponse::approve_with(
        "Ada",
        edited.as_object().unwrap().clone(),
    )
    .with_grant(wanted)));
    let outcome = registry.execute(saving("src/a.rs")).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert!(!outcome.approval.unwrap().grant.unwrap().starts_with("not"));
    assert!(is_covered(&registry, saving("docs/b.md")).await);
    assert!(!is_covered(&registry, saving("src/a.rs")).await);
}

#[tokio::test]
async fn what_is_asked_about_every_time_cannot_be_granted() {
    let scene = Scene::new();
    let registry = scene.builder(scene.workspace.path()).build();
    let tool = |name| FnTool::new(name, "x", |(), _cx| async { Ok(()) }).unwrap();
    let write = |name| tool(name).effects(Effects::WRITE).always_ask();
    registry.register(write("delete_file")).unwrap();
    registry.register(tool("untagged").always_ask()).unwrap();
    registry
        .register(write("elevated").approve_by(|_, _| Approval::ask("it is elevated").every_time()))
        .unwrap();
    for (name, why) in [
        ("delete_file", "takes something away"),
        ("untagged", "does not say whether"),
        ("elevated", "every time"),
    ] {
        scene.grant_next(json!({}), |grant| grant);
        let outcome = registry.execute(CallRequest::new(name)).await;
        assert!(outcome.is_ok(), "{outcome:?}");
        let made = outcome.approval.unwrap().grant.unwrap();
        assert_eq!(made, "not made: calls like this ask every time", "{name}");
        let asked = scene.person.asked().pop().unwrap();
        assert!(asked.offers.is_empty(), "{name}");
        let said = asked.no_grant.clone().unwrap();
        assert!(said.contains(why), "{name}: {said}");
        let wanted = GrantRequest::new(Default::default(), Scope::Project);
        let answer = ApprovalResponse::approve("Ada").with_grant(wanted);
        let error = registry.check_answer(&asked, &answer).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArguments, "{name}");
        assert!(!is_covered(&registry, CallRequest::new(name)).await);
    }
}

#[tokio::test]
async fn a_grant_of_a_session_is_for_the_calls_that_say_they_belong_to_it() {
    let scene = Scene::new();
    let registry = scene.registry();
    scene.grant_next(in_docs(), |grant| GrantRequest {
        scope: Scope::Session,
        ..grant
    });
    let in_session = |session: &str| saving("docs/a.md").session(session);
    assert!(registry.execute(in_session("a")).await.is_ok());
    assert!(is_covered(&registry, in_session("a")).await);
    assert!(!is_covered(&registry, in_session("b")).await);
    assert!(
        !is_covered(&registry, saving("docs/a.md")).await,
        "the registry's own is another"
    );
    let around = FnTool::new("around", "Calls another", |(): (), cx| async move {
        // A tool cannot choose.
        let outcome = cx.call(saving("docs/a.md").session("a")).await;
        Ok(outcome.result.map(|output| output.value)?)
    });
    registry.register(around.unwrap()).unwrap();
    scene.grant_next(in_docs(), |grant| GrantRequest {
        scope: Scope::Session,
        ..grant
    });
    let around = |session: &str| CallRequest::new("around").session(session);
    assert!(registry.execute(around("c")).await.is_ok());
    let asked = scene.asked();
    assert!(registry.execute(around("c")).await.is_ok());
    assert_eq!(scene.asked(), asked);
    assert!(!registry.execute(around("d")).await.is_ok());
}

/// Equal calls that a tool makes for different callers: no answer and no grant for one of them is another's.
#[tokio::test]
async fn what_a_tool_calls_is_asked_and_granted_for_the_caller_of_the_tool() {
    let scene = Scene::new();
    let queue = ApprovalQueue::at(scene.home.path().join("approvals"), QueueOptions::default());
    let builder = scene.builder(scene.workspace.path());
    let registry = scene.with(builder.approver(queue.clone()));
    let around = |name: &str, inner: &'static str| {
        let tool = FnTool::new(name, "Calls another", move |(): (), cx| async move {
            // A tool cannot choose for whom.
            let request = match inner {
                "save" => saving("docs/a.md"),
                inner => CallRequest::new(inner),
            };
            let outcome = cx.call(request.caller(Caller::Operator)).await;
            Ok(outcome.result.map(|output| output.value)?)
        });
        tool.unwrap()
    };
    registry.register(around("around", "save")).unwrap();
    registry.register(around("far_around", "around")).unwrap();
    let client = |name: &str| Caller::Client(name.to_owned());
    let callers = [client("alice"), client("bob"), Caller::Operator];
    let calling = |caller: &Caller| CallRequest::new("far_around").caller(caller.clone());
    let calls = callers
        .each_ref()
        .map(|caller| registry.execute_async(calling(caller)));
    let pending = || queue.list(Some(Status::Pending)).unwrap().requests;
    let deadline = Instant::now() + Duration::from_secs(20);
    while pending().len() < callers.len() {
        assert!(Instant::now() < deadline, "{:?}", pending());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut asked: Vec<_> = pending()
        .iter()
        .map(|asked| asked.request.caller.to_string())
        .collect();
    asked.sort();
    assert_eq!(
        asked,
        ["tool:client:alice", "tool:client:bob", "tool:operator"]
    );

    // Alice's question is answered, with a grant; the others are refused.
    for asked in pending() {
        let answer = match *asked.request.caller.outermost() == callers[0] {
            true => ApprovalResponse::approve("Ada").with_grant(GrantRequest::new(
                serde_json::from_value(in_docs()).unwrap(),
                Scope::User,
            )),
            false => ApprovalResponse::deny("Ada", "not you"),
        };
        queue
            .answer(&asked.request.id, None, answer, |_, _| Ok(()))
            .unwrap();
    }
    let mut ran = Vec::new();
    for call in calls {
        ran.push(call.outcome().await.is_ok());
    }
    assert_eq!((ran, scene.runs()), (vec![true, false, false], 1));
    let grant = scene.grants().list().unwrap().grants.remove(0);
    assert_eq!(grant.caller, callers[0].nested());

    // The grant is for what tools call for her, and nothing else.
    let strict = scene.registry();
    strict.register(around("around", "save")).unwrap();
    strict.register(around("far_around", "around")).unwrap();
    let mut ran = Vec::new();
    for caller in callers.iter().chain([&Caller::Cli, &Caller::Library]) {
        ran.push(strict.execute(calling(caller)).await.is_ok());
    }
    assert_eq!(ran, [true, false, false, false, false]);
    for caller in &callers {
        let direct = saving("docs/a.md").caller(caller.clone());
        assert!(!is_covered(&strict, direct).await, "{caller}");
    }
}

/// What an earlier Toolcrib wrote does not say for whom: it covers no one's calls.
#[tokio::test]
async fn a_grant_for_tools_whomever_they_are_for_covers_nothing() {
    let scene = Scene::new();
    let registry = scene.registry();
    scene.grant_next(in_docs(), |grant| grant);
    let around = FnTool::new("around", "Calls another", |(): (), cx| async move {
        let outcome = cx.call(saving("docs/a.md")).await;
        Ok(outcome.result.map(|output| output.value)?)
    });
    registry.register(around.unwrap()).unwrap();
    assert!(registry.execute(CallRequest::new("around")).await.is_ok());
    assert!(registry.execute(CallRequest::new("around")).await.is_ok());
    let grant = scene.grants().list().unwrap().grants.remove(0);
    let file = scene
        .home
        .path()
        .join("grants")
        .join(format!("{}.json", grant.id));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"tool:library\""), "{text}");
    std::fs::write(&file, text.replace("\"tool:library\"", "\"tool\"")).unwrap();
    let kept = scene.grants().list().unwrap().grants.remove(0);
    assert_eq!(kept.caller, Caller::Tool);
    assert!(!registry.execute(CallRequest::new("around")).await.is_ok());
}
