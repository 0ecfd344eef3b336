//! What a call of a tool of a server comes to.

use std::sync::Arc;

use super::*;
use toolcrib::approval::DenyAll;
use toolcrib::{BoxFuture, Elicitation, Elicitor, ErrorCode, EventKind, NotAnswered};

#[tokio::test]
async fn tools_of_a_server_are_tools_like_others() {
    let scene = Scene::new();
    scene.add("fake", fake("plain", None)).await;
    let echo = scene.call("echo", json!({"text": "hi"})).await;
    assert_eq!(echo.value().unwrap(), "hi", "{echo:#?}");
    assert_eq!(echo.origin.as_ref().unwrap().bundle, slug("fake"));
    let add = scene.call("fake/add", json!({"a": 2, "b": 3})).await;
    assert_eq!(add.value().unwrap(), &json!({"sum": 5}));
    assert_eq!(add.into_result().unwrap().text(), "added");
    let picture = scene
        .call("picture", json!({}))
        .await
        .into_result()
        .unwrap();
    assert_eq!(picture.text(), "here\n[image image/png]");
    assert_eq!(picture.content[1]["mimeType"], "image/png");
    let failed = scene.call("fail", json!({})).await;
    let error = failed.error().unwrap();
    assert_eq!(
        (error.code(), error.message()),
        (ErrorCode::ExecutionError, "it did not work")
    );
    let wrong = scene.call("echo", json!({"txt": 1})).await;
    assert_eq!(wrong.error().unwrap().code(), ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn a_result_that_is_a_list_is_the_value_and_fits_a_schema_of_lists() {
    let scene = Scene::new();
    let more = file(&scene, "more.json");
    let lists = |items: &str| json!({"type": "array", "items": {"type": items}});
    let names = |items: &str| json!([{"name": "names", "description": "Names", "inputSchema": {"type": "object"}, "outputSchema": lists(items)}]);
    std::fs::write(&more, names("string").to_string()).unwrap();
    scene.add("fake", fake("plain", Some(&more))).await;
    let outcome = scene.call("names", json!({})).await;
    assert_eq!(outcome.value().unwrap(), &json!(["a", "b"]));
    std::fs::write(&more, names("integer").to_string()).unwrap();
    let other = Scene::new();
    other.add("fake", fake("plain", Some(&more))).await;
    let outcome = other.call("names", json!({})).await;
    assert!(!outcome.is_ok(), "{outcome:?}");
}

#[tokio::test]
async fn a_pattern_too_large_to_be_checked_is_published_and_the_outcome_says_so() {
    let scene = Scene::new();
    let more = file(&scene, "more.json");
    let text = json!({"type": "string", "pattern": "^(a{999}){999}$"});
    let schema = json!({"type": "object", "properties": {"text": text}});
    let tool = json!([{"name": "echo", "description": "Says it back", "inputSchema": schema}]);
    std::fs::write(&more, tool.to_string()).unwrap();
    scene.add("fake", fake("plain", Some(&more))).await;
    let outcome = scene.call("echo", json!({"text": "b"})).await;
    assert_eq!(outcome.value().unwrap(), "b");
    let warned = outcome.warnings.iter().any(|one| one.contains("`/text`"));
    assert!(warned, "{:?}", outcome.warnings);
}

#[tokio::test]
async fn opening_a_crib_shows_the_tools_and_connects_to_no_one() {
    let scene = Scene::new();
    scene.add_like("fake", fake("hang", None)).await;
    let began = Instant::now();
    let crib = open(scene.home.path());
    assert!(
        crib.registry()
            .list()
            .iter()
            .any(|spec| spec.name.as_str() == "echo")
    );
    assert!(began.elapsed() < Duration::from_secs(1));
    assert_eq!(crib.upstreams()[0].row().state, "idle");
}

#[tokio::test]
async fn calls_ask_until_there_is_a_policy_whatever_the_server_says_of_its_tools() {
    let scene = Scene::new();
    let mut settings = fake("plain", None);
    settings["tools"] = json!({"add": {"approval": "allow"}, "fail": {"approval": "deny"}});
    scene.add("fake", settings).await;
    let deny = Arc::new(DenyAll::default());
    let call = |tool: &'static str, args: Value| {
        let args = args.as_object().unwrap().clone();
        scene
            .crib
            .registry()
            .execute(CallRequest::new(tool).args(args).approver(deny.clone()))
    };
    // `readOnlyHint` is a hint.
    let asked = call("echo", json!({"text": "x"})).await;
    assert!(
        asked
            .error()
            .unwrap()
            .code()
            .as_str()
            .starts_with("APPROVAL"),
        "{asked:#?}"
    );
    assert!(call("add", json!({"a": 1, "b": 1})).await.is_ok());
    let denied = scene.call("fail", json!({})).await;
    assert!(
        denied.error().unwrap().message().contains("config.toml"),
        "{denied:#?}"
    );
}

#[tokio::test]
async fn a_name_that_something_else_has_is_prefixed() {
    let scene = Scene::new();
    let more = file(&scene, "more.json");
    std::fs::write(
        &more,
        json!([{"name": "read_file", "description": "Mine", "inputSchema": {"type": "object"}}])
            .to_string(),
    )
    .unwrap();
    scene.add("my-files", fake("plain", Some(&more))).await;
    scene.add("other", fake("plain", None)).await;
    let read = scene.call("my_files_read_file", json!({})).await;
    assert_eq!(read.value().unwrap(), "called read_file");
    assert_eq!(
        scene
            .call("other_echo", json!({"text": "x"}))
            .await
            .value()
            .unwrap(),
        "x"
    );
    let names: Vec<String> = scene
        .crib
        .registry()
        .list()
        .iter()
        .map(|spec| spec.name.to_string())
        .collect();
    for name in ["read_file", "echo", "other_echo"] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    assert!(scene.crib.registry().shadowed().is_empty());
}

#[tokio::test]
async fn progress_reaches_the_watcher_of_the_call() {
    let scene = Scene::new();
    scene.add("fake", fake("plain", None)).await;
    let handle = scene
        .crib
        .registry()
        .execute_async(CallRequest::new("steps"));
    let mut events = handle.events();
    let mut steps = Vec::new();
    while let Some(event) = events.next().await {
        if let EventKind::Progress {
            progress, total, ..
        } = event.kind
        {
            steps.push((progress, total));
        }
    }
    assert_eq!(steps, [(1.0, Some(2.0)), (2.0, Some(2.0))]);
}

struct Blue;

impl Elicitor for Blue {
    fn elicit(&self, question: Elicitation) -> BoxFuture<'_, Result<Value, NotAnswered>> {
        assert_eq!(
            (question.from.as_str(), question.message()),
            ("fake", "Which colour?")
        );
        Box::pin(async { Ok(json!({"action": "accept", "content": {"colour": "blue"}})) })
    }
}

#[tokio::test]
async fn what_a_server_wants_to_know_is_asked_of_the_caller() {
    let scene = Scene::new();
    scene.add("fake", fake("plain", None)).await;
    let request = CallRequest::new("ask").elicitor(Arc::new(Blue));
    let answered = scene.crib.registry().execute(request).await;
    assert!(
        answered
            .value()
            .unwrap()
            .as_str()
            .unwrap()
            .contains("\"blue\""),
        "{answered:#?}"
    );
    let nobody = scene.call("ask", json!({})).await;
    let error = nobody.error().unwrap();
    assert_eq!(error.code(), ErrorCode::UpstreamError);
    assert!(
        error
            .message()
            .contains("no one can be asked here; it asks: Which colour?"),
        "{error}"
    );
}

/// Says the same to everything, and counts.
struct Patient(&'static str, std::sync::atomic::AtomicUsize);

impl Elicitor for Patient {
    fn elicit(&self, _question: Elicitation) -> BoxFuture<'_, Result<Value, NotAnswered>> {
        self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let answer = json!({"action": self.0, "content": {"sure": true}});
        Box::pin(async move { Ok(answer) })
    }
}

#[tokio::test]
async fn no_one_is_worn_down_by_questions() {
    let scene = Scene::new();
    scene.add("fake", fake("nagging", None)).await;
    for (answer, most) in [("accept", 16), ("decline", 2), ("cancel", 2)] {
        let patient = Arc::new(Patient(answer, Default::default()));
        let request = CallRequest::new("ask").elicitor(Arc::clone(&patient) as Arc<dyn Elicitor>);
        let outcome = scene.crib.registry().execute(request).await;
        let error = outcome.error().unwrap_or_else(|| panic!("{outcome:#?}"));
        assert_eq!(error.code(), ErrorCode::UpstreamError, "{answer}: {error}");
        let asked = patient.1.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(asked, most, "{answer}: {error}");
    }
}

#[tokio::test]
async fn an_answer_that_is_not_text_ends_its_call() {
    let scene = Scene::new();
    scene.add("fake", fake("bytes", None)).await;
    let outcome = scene.call("echo", json!({"text": "x"})).await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::UpstreamError);
    assert!(error.message().contains("not UTF-8"), "{error}");
}

/// Takes longer to answer than the call may take.
struct Slow;

/// What a call may take.
const SHORT: Duration = Duration::from_millis(1500);

impl Elicitor for Slow {
    fn elicit(&self, question: Elicitation) -> BoxFuture<'_, Result<Value, NotAnswered>> {
        Box::pin(async move {
            tokio::time::sleep(2 * SHORT).await;
            Blue.elicit(question).await
        })
    }
}

#[tokio::test]
async fn the_time_a_person_takes_to_answer_is_not_the_calls() {
    for era in ["plain", "modern"] {
        let scene = Scene::new();
        scene.add("fake", fake(era, None)).await;
        let request = CallRequest::new("ask")
            .timeout(SHORT)
            .elicitor(Arc::new(Slow));
        let answered = scene.crib.registry().execute(request).await;
        assert!(answered.is_ok(), "{era}: {answered:#?}");
        assert!(answered.timing.execution > 2 * SHORT, "{era}");
    }
}

#[tokio::test]
async fn questions_of_a_newer_server_are_asked_and_its_state_goes_back_to_it() {
    let scene = Scene::new();
    scene.add("fake", fake("modern", None)).await;
    let request = CallRequest::new("ask").elicitor(Arc::new(Blue));
    let answered = scene.crib.registry().execute(request).await;
    let said: Value = serde_json::from_str(answered.value().unwrap().as_str().unwrap()).unwrap();
    assert_eq!(
        said,
        json!([{"action": "accept", "content": {"colour": "blue"}}, "half way"])
    );
    let nobody = scene.call("ask", json!({})).await;
    let error = nobody.error().unwrap();
    assert!(
        error.message().contains("it asks: Which colour?"),
        "{error}"
    );
}

#[tokio::test]
async fn a_stored_tool_runs_that_of_a_server_and_says_no_more_of_its_effects() {
    let scene = Scene::new();
    let mut settings = fake("plain", None);
    settings["tools"] = json!({"echo": {"approval": "allow"}});
    scene.add("fake", settings).await;
    let mine = toolcrib::model::ids::BundleId::generate();
    let draft = toolcrib::store::BundleDraft {
        slug: slug("mine"),
        display_name: "Mine".to_owned(),
        description: String::new(),
        is_enabled: true,
    };
    scene.crib.put_bundle(mine, draft).unwrap();
    let record = json!({
        "bundleID": mine, "slug": "say", "version": "v1", "description": "Says it back, they say", "tags": ["read"],
        "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-06-01T09:17:10Z",
        "type": "mcp", "impl": {"server": "fake", "tool": "echo"},
        "argSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    });
    let record = toolcrib::ToolManifest::from_json(record.to_string().as_bytes()).unwrap();
    scene.crib.put_tool(record).unwrap();
    let said = scene.call("mine/say", json!({"text": "hi"})).await;
    assert_eq!(said.value().unwrap(), "hi", "{said:#?}");
    // And in a process that reads all of it from the home.
    let fresh = open(scene.home.path());
    let request = CallRequest::new("mine/say").arg("text", "again");
    let said = fresh.registry().execute(request).await;
    assert_eq!(said.value().unwrap(), "again", "{said:#?}");
    // Whatever its tags say: no one knows what it does.
    let entry = scene.crib.registry().find("mine/say").unwrap();
    assert!(
        entry.spec().effects.tags().is_empty(),
        "{:?}",
        entry.spec().effects
    );
}

#[tokio::test]
async fn a_stored_tool_of_a_server_requires_approval_beside_the_servers_policy() {
    let scene = Scene::new();
    let mut settings = fake("plain", None);
    settings["tools"] = json!({"echo": {"approval": "allow"}});
    scene.add("fake", settings).await;
    // The one that asks by the user's policy, which no record lifts.
    scene.add("strict", fake("plain", None)).await;
    let mine = toolcrib::model::ids::BundleId::generate();
    let draft = toolcrib::store::BundleDraft {
        slug: slug("mine"),
        display_name: "Mine".to_owned(),
        description: String::new(),
        is_enabled: true,
    };
    scene.crib.put_bundle(mine, draft).unwrap();
    for (slug, server, requires) in [
        ("always", "fake", json!(true)),
        ("hi-asks", "fake", json!("{text} == 'hi'")),
        ("free", "fake", json!(false)),
        ("strict", "strict", json!(false)),
    ] {
        let record = json!({
            "bundleID": mine, "slug": slug, "version": "v1", "description": "Says it back", "tags": ["read"],
            "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-06-01T09:17:10Z",
            "type": "mcp", "impl": {"server": server, "tool": "echo"}, "requiresApproval": requires,
            "argSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        });
        let record = toolcrib::ToolManifest::from_json(record.to_string().as_bytes()).unwrap();
        scene.crib.put_tool(record).unwrap();
    }
    let verdict = |tool: &str, text: &str| {
        let request = CallRequest::new(format!("mine/{tool}")).arg("text", text);
        scene.crib.registry().plan(request).unwrap().verdict
    };
    use toolcrib::Verdict::{Allow, Ask};
    assert_eq!(verdict("always", "x"), Ask);
    assert_eq!(
        (verdict("hi-asks", "hi"), verdict("hi-asks", "x")),
        (Ask, Allow)
    );
    assert_eq!(verdict("free", "x"), Allow);
    assert_eq!(verdict("strict", "x"), Ask);
}

#[tokio::test]
async fn the_server_accepted_first_keeps_its_names() {
    let scene = Scene::new();
    scene.add("sums", fake("plain", None)).await;
    // Before it in the alphabet.
    scene.add("more", fake("plain", None)).await;
    let bundle_of = |name: &str| {
        let entry = scene.crib.registry().find(name).unwrap();
        entry.spec().bundle.to_string()
    };
    assert_eq!(
        (bundle_of("echo"), bundle_of("more_echo")),
        ("sums".into(), "more".into())
    );
    // And with another of its tools whose name the other has already.
    let tools = file(&scene, "more.json");
    let late = json!([{"name": "late", "inputSchema": {"type": "object"}}]).to_string();
    std::fs::write(&tools, late).unwrap();
    scene.add("third", fake("plain", Some(&tools))).await;
    let (probe, _) = scene.crib.probe_upstream("sums").await.unwrap();
    let mut probe = probe;
    probe.tools.push(
        scene
            .crib
            .upstream("third")
            .unwrap()
            .pinned
            .unwrap()
            .tool("late")
            .unwrap()
            .definition
            .clone(),
    );
    scene.crib.accept_upstream("sums", &probe, None).unwrap();
    assert_eq!(
        (bundle_of("late"), bundle_of("sums_late")),
        ("third".into(), "sums".into())
    );
}

#[tokio::test]
async fn secrets_reach_the_program_and_no_one_else() {
    use toolcrib::secret::{Binding, SecretName};
    let scene = Scene::new();
    let name = SecretName::parse("TOKEN").unwrap();
    let set = |hosts: &[&str]| {
        let binding = Binding::new(hosts.iter().copied(), []).unwrap();
        let value = toolcrib::Secret::new("SENTINEL-4711-value");
        scene.crib.secrets().set(&name, &value, &binding).unwrap();
    };
    set(&[]);
    let mut settings = fake("plain", None);
    settings["env"] = json!({"THE_TOKEN": "secret:TOKEN", "PLAIN": "p"});
    scene.add("fake", settings).await;
    assert_eq!(
        scene
            .call("variable", json!({"name": "PLAIN"}))
            .await
            .value()
            .unwrap(),
        "p"
    );
    assert_eq!(
        scene
            .call("variable", json!({"name": "TOOLCRIB_HOME"}))
            .await
            .value()
            .unwrap(),
        "(unset)"
    );
    let told = scene.call("variable", json!({"name": "THE_TOKEN"})).await;
    let told = told.value().unwrap().as_str().unwrap();
    assert!(!told.contains("SENTINEL") && told != "(unset)", "{told}");
    for file in ["config.toml", "upstreams/fake.json"] {
        let text = std::fs::read_to_string(scene.home.path().join(file)).unwrap();
        assert!(!text.contains("SENTINEL"), "{file}");
    }
    // Nor what the server says of itself and its tools.
    let leaky = file(&scene, "leaky.json");
    let tell = json!([
        {"name": "tell", "description": "The key is SENTINEL-4711-value", "inputSchema": {"type": "object", "description": "SENTINEL-4711-value"}},
        {"name": "SENTINEL-4711-value", "inputSchema": {"type": "object"}},
    ]);
    std::fs::write(&leaky, tell.to_string()).unwrap();
    scene.add("leaky", fake("plain", Some(&leaky))).await;
    let shown = scene.crib.upstream("leaky").unwrap().shown().to_string();
    let spec = scene.crib.registry().find("tell").unwrap();
    let spec = format!("{:?}", spec.spec());
    let pins = std::fs::read_to_string(file(&scene, "upstreams/leaky.json")).unwrap();
    for text in [shown, spec, pins] {
        assert!(!text.contains("SENTINEL"), "{text}");
    }
    assert!(scene.call("tell", json!({})).await.is_ok());
    // A program may tell it anybody: what is for one host only is not for programs.
    set(&["api.example.com"]);
    let error = scene.crib.probe_upstream("fake").await.unwrap_err();
    assert!(
        error.message().contains("is for some hosts only"),
        "{error}"
    );
}

#[tokio::test]
async fn tools_of_a_server_are_switched_like_others() {
    let scene = Scene::new();
    scene.add("fake", fake("plain", None)).await;
    scene.crib.set_enabled(&["echo"], false).unwrap();
    let off = scene.call("echo", json!({"text": "x"})).await;
    assert_eq!(off.error().unwrap().code(), ErrorCode::ToolDisabled);
    assert!(
        open(scene.home.path())
            .registry()
            .find("echo")
            .unwrap()
            .is_off()
    );
    scene.crib.set_enabled(&["echo"], true).unwrap();
    assert!(scene.call("echo", json!({"text": "x"})).await.is_ok());
}

#[tokio::test]
async fn a_secret_that_a_server_repeats_is_stored_shown_and_asked_nowhere() {
    use toolcrib::secret::{Binding, SecretName};
    let scene = Scene::new();
    let name = SecretName::parse("KEY").unwrap();
    let (secret, binding) = (
        toolcrib::Secret::new("SENTINEL-4711-value"),
        Binding::new([], []).unwrap(),
    );
    scene.crib.secrets().set(&name, &secret, &binding).unwrap();
    let mut settings = fake("leaky", None);
    settings["env"] = json!({"KEY": "secret:KEY"});
    scene.add("fake", settings).await;
    let (probe, changes) = scene.crib.probe_upstream("fake").await.unwrap();
    assert!(changes.is_empty(), "{changes:?}");
    assert_eq!(probe.rejected.len(), 1, "{:?}", probe.rejected);
    let entry = scene.crib.registry().find("leak").unwrap();
    let spec = entry.spec();
    assert!(spec.description.contains("key=[REDACTED]"), "{spec:?}");
    let pinned = std::fs::read_to_string(scene.home.path().join("upstreams/fake.json")).unwrap();
    let shown = scene.crib.upstream("fake").unwrap().shown().to_string();
    for text in [pinned, shown, format!("{spec:?}"), format!("{probe:?}")] {
        assert!(!text.contains("SENTINEL"), "{text}");
    }
    let request = CallRequest::new("ask").elicitor(Arc::new(Curious));
    let answered = scene.crib.registry().execute(request).await;
    assert!(answered.is_ok(), "{answered:#?}");
}

struct Curious;

impl Elicitor for Curious {
    fn elicit(&self, question: Elicitation) -> BoxFuture<'_, Result<Value, NotAnswered>> {
        assert_eq!(question.message(), "Which colour?[REDACTED]");
        Box::pin(async { Ok(json!({"action": "decline"})) })
    }
}
