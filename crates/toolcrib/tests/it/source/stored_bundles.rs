//! Bundles through a crib: lists, switches, the bin, and what putting a tool refuses.

use toolcrib::crib::{BundleKind, BundleView};
use toolcrib::definition::Severity;
use toolcrib::model::ids::BundleId;
use toolcrib::model::secret::Secret;
use toolcrib::registry::Availability;
use toolcrib::secret::{Binding, SecretName};
use toolcrib::serde_json::{self, json};
use toolcrib::{Slug, ToolError};

use super::stored::{bundle, draft, file_of, manifest, put, saying};
use super::*;

fn slugs(views: &[BundleView]) -> Vec<&str> {
    views.iter().map(|view| view.bundle.slug.as_str()).collect()
}

#[test]
fn own_bundles_come_first_and_count_their_tools() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/greet.yaml"), &says("hello"));
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    bundle(&crib, "Zebra");
    put(&crib, saying(acme, "hello", "v1", "one"));
    put(&crib, saying(acme, "hello", "v2", "two"));
    let views = crib.bundles();
    assert_eq!(
        slugs(&views),
        ["core", "local", "user", "global", "Zebra", "acme"]
    );
    assert_eq!(views[0].kind, BundleKind::BuiltIn);
    assert!(views[0].bundle.is_built_in && views[0].tools > 5);
    assert_eq!((views[2].kind, views[2].tools), (BundleKind::Files, 1));
    assert_eq!((views[5].kind, views[5].tools), (BundleKind::Store, 2));
    assert_eq!(crib.bundle_tools(acme).len(), 2);
    assert_eq!(crib.bundle_tools(BundleId::USER).len(), 1);
    // By slug or id.
    let by_id = crib.bundle(&acme.to_string()).unwrap();
    assert_eq!(by_id, crib.bundle("acme").unwrap());
    let core = crib.bundle(&BundleId::CORE.to_string()).unwrap();
    assert_eq!(core.bundle.slug.as_str(), "core");
}

#[test]
fn an_unknown_bundle_is_answered_with_near_names() {
    let scene = Scene::new();
    let crib = scene.open();
    bundle(&crib, "weather");
    let error = crib.bundle("wether").unwrap_err();
    assert_eq!(error.code(), ErrorCode::BundleNotFound);
    assert!(error.message().contains("`weather`"), "{error}");
    let error = crib.bundle(&BundleId::generate().to_string()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::BundleNotFound);
}

#[tokio::test]
async fn what_a_bundle_that_is_off_has_says_what_to_type() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    put(&crib, saying(acme, "hello", "v1", "hello"));
    let view = crib.set_bundle_enabled("acme", false).unwrap();
    assert!(!view.bundle.is_enabled);
    let error = call(&crib, "hello").await.error().unwrap().clone();
    assert_eq!(error.code(), ErrorCode::ToolDisabled);
    assert!(
        error.message().contains("`toolcrib bundle enable acme`"),
        "{error}"
    );
    let listed = crib.registry().list();
    assert!(listed.iter().all(|spec| spec.name.as_str() != "hello"));
    // Nothing in it can be changed.
    let error = crib.put_tool(saying(acme, "other", "v1", "x")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict);
    let error = crib.set_enabled(&["acme/hello"], false).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict);
    crib.set_bundle_enabled("acme", true).unwrap();
    assert_eq!(said(&crib, "hello").await, "hello");
}

#[tokio::test]
async fn the_bin_takes_a_bundle_and_gives_it_back() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    put(&crib, saying(acme, "hello", "v1", "hello"));
    let binned = crib.delete_bundle("acme").unwrap();
    assert!(binned.soft_deleted_at.is_some());
    // Once more changes nothing.
    let again = crib.delete_bundle(&acme.to_string()).unwrap();
    assert_eq!(again.soft_deleted_at, binned.soft_deleted_at);
    let error = call(&crib, "hello").await.error().unwrap().clone();
    assert_eq!(error.code(), ErrorCode::ToolDisabled);
    assert!(
        error.message().contains("`toolcrib bundle restore acme`"),
        "{error}"
    );
    let error = crib.put_tool(saying(acme, "other", "v1", "x")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict);

    // Another one of its name is found first; restoring is about the one in the bin.
    let other = bundle(&crib, "acme");
    assert_eq!(crib.bundle("acme").unwrap().bundle.bundle_id, other);
    let error = crib.restore_bundle("acme").unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict, "{error}");
    crib.delete_bundle("acme").unwrap();
    let restored = crib.restore_bundle(&acme.to_string()).unwrap();
    assert_eq!(restored.bundle_id, acme);
    assert_eq!(said(&crib, "hello").await, "hello");
    let error = crib.restore_bundle(&acme.to_string()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict);
}

#[tokio::test]
async fn own_bundles_can_be_switched_and_nothing_else() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/greet.yaml"), &says("hello"));
    let crib = scene.open();
    for own in ["core", "local", "user", "global"] {
        let id = crib.bundle(own).unwrap().bundle.bundle_id;
        let refused: [Result<(), ToolError>; 4] = [
            crib.put_bundle(id, draft("x")).map(drop),
            crib.delete_bundle(own).map(drop),
            crib.restore_bundle(own).map(drop),
            // Before anything is said about the definition.
            crib.put_tool(manifest(id, json!({"impl": {}}))).map(drop),
        ];
        for refused in refused {
            assert_eq!(refused.unwrap_err().code(), ErrorCode::ReadOnly, "{own}");
        }
        assert!(crib.put_bundle(BundleId::generate(), draft(own)).is_err());
    }
    let error = crib.delete_tool("core/read-file").unwrap_err();
    assert_eq!(error.code(), ErrorCode::ReadOnly);
    let error = crib.delete_tool("read_file").unwrap_err();
    assert_eq!(error.code(), ErrorCode::ReadOnly);

    crib.set_bundle_enabled("user", false).unwrap();
    let error = call(&crib, "greet").await.error().unwrap().clone();
    assert_eq!(error.code(), ErrorCode::ToolDisabled);
    assert!(
        error.message().contains("`toolcrib bundle enable user`"),
        "{error}"
    );
    crib.set_bundle_enabled("core", false).unwrap();
    let (code, _) = refused(&crib, "read_file").await;
    assert_eq!(code, ErrorCode::ToolDisabled);
    // For every process of the home.
    let other = scene.open();
    assert!(!other.bundle("core").unwrap().bundle.is_enabled);
    other.set_bundle_enabled("user", true).unwrap();
    other.set_bundle_enabled("core", true).unwrap();
    assert_eq!(said(&crib, "greet").await, "hello");
}

#[test]
fn the_local_bundle_is_switched_for_one_workspace() {
    let scene = Scene::new();
    let crib = scene.open();
    crib.set_bundle_enabled("local", false).unwrap();
    assert!(!crib.bundle("local").unwrap().bundle.is_enabled);
    let elsewhere = scene.path("elsewhere");
    std::fs::create_dir_all(elsewhere.join(".git")).unwrap();
    let other = scene.options().workspace(&elsewhere).open().unwrap();
    assert!(other.bundle("local").unwrap().bundle.is_enabled);
    // What older versions wrote is read, and kept.
    let flags = scene.path("home/state/flags.json");
    let mut text: Value = serde_json::from_slice(&std::fs::read(&flags).unwrap()).unwrap();
    text["later"] = json!(1);
    text["disabled"] = json!(["core/shell"]);
    std::fs::write(&flags, text.to_string()).unwrap();
    crib.set_bundle_enabled("local", true).unwrap();
    let text: Value = serde_json::from_slice(&std::fs::read(&flags).unwrap()).unwrap();
    assert_eq!(
        text,
        json!({"disabled": ["core/shell"], "workspaces": {}, "later": 1})
    );
}

#[tokio::test]
async fn versions_stand_side_by_side_and_the_newest_that_is_on_has_the_name() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    put(&crib, saying(acme, "hello", "v1", "one"));
    put(&crib, saying(acme, "hello", "v2", "two"));
    assert_eq!(said(&crib, "hello").await, "two");
    assert_eq!(said(&crib, "acme/hello@v1").await, "one");
    let before = crib
        .record_of(&crib.registry().find("acme/hello@v2").unwrap())
        .unwrap();
    crib.set_enabled(&["acme/hello@v2"], false).unwrap();
    let after = crib
        .record_of(&crib.registry().find("acme/hello@v2").unwrap())
        .unwrap();
    assert_eq!(before.head.modified_at, after.head.modified_at);
    assert!(!after.head.is_enabled);
    assert_eq!(said(&crib, "hello").await, "one");
    assert_eq!(said(&crib, "acme/hello").await, "one");
    let (code, _) = refused(&crib, "acme/hello@v2").await;
    assert_eq!(code, ErrorCode::ToolDisabled);
    crib.set_enabled(&["acme/hello@v2"], true).unwrap();
    assert_eq!(said(&crib, "hello").await, "two");
    // Which of them is to go has to be said.
    let error = crib.delete_tool("acme/hello").unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArguments);
    assert!(
        error.message().contains("acme/hello@v1") && error.message().contains("acme/hello@v2"),
        "{error}"
    );
    crib.delete_tool("acme/hello@v2").unwrap();
    assert_eq!(said(&crib, "hello").await, "one");
    crib.delete_tool("hello").unwrap();
    let (code, _) = refused(&crib, "hello").await;
    assert_eq!(code, ErrorCode::ToolNotFound);
    let error = crib.delete_tool("acme/hello").unwrap_err();
    assert_eq!(error.code(), ErrorCode::ToolNotFound);
}

#[tokio::test]
async fn the_same_version_again_is_a_conflict_and_changes_nothing() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let stored = put(&crib, saying(acme, "hello", "v1", "one"));
    let file = file_of(&scene, &stored);
    let error = crib
        .put_tool(saying(acme, "hello", "v1", "two"))
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict);
    assert_eq!(std::fs::read(file).unwrap(), *stored.bytes);
    let error = crib
        .put_tool(saying(BundleId::generate(), "hello", "v1", "x"))
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::BundleNotFound);
    // Replacing it is something else, and needs to know what is replaced.
    let error = crib
        .replace_tool(saying(acme, "hello", "v1", "two"), "0000")
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict);
    let replaced = crib
        .replace_tool(saying(acme, "hello", "v1", "two"), &stored.digest())
        .unwrap();
    assert_eq!(replaced.head.created_at, stored.head.created_at);
    assert_eq!(said(&crib, "hello").await, "two");
}

#[test]
fn a_definition_that_is_wrong_is_refused_with_every_fault_and_its_place() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let wrong = manifest(
        acme,
        json!({
            "slug": "weather", "type": "http", "tags": ["Read"],
            "impl": {"urlTempalte": "https://example.com/", "timeoutMs": "soon"},
        }),
    );
    let error = crib.put_tool(wrong.clone()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArguments);
    let problems = error.details().unwrap()["problems"].as_array().unwrap();
    let codes: Vec<&str> = problems
        .iter()
        .map(|problem| problem["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"unknown-key"), "{codes:?}");
    assert!(codes.contains(&"wrong-type"), "{codes:?}");
    // Only the check reports warnings.
    let all = crib.check_manifest(&wrong);
    assert!(all.len() > problems.len());
    let text = serde_json::to_string_pretty(&wrong).unwrap();
    for problem in &all {
        let line = text.lines().nth(problem.line - 1).unwrap();
        match problem.code {
            "unknown-key" => assert!(line.contains("urlTempalte"), "{line}"),
            "wrong-type" => assert!(line.contains("timeoutMs"), "{line}"),
            _ => {}
        }
    }
    assert!(crib.bundle_tools(acme).is_empty());
}

#[test]
fn faults_of_a_command_are_placed_in_its_record() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let wrong = manifest(
        acme,
        json!({
            "slug": "greet", "tags": ["Read"],
            "impl": {"bash": "echo {WHO}", "securty": {"isolation": "none"}, "parameters": {"WHO": {"type": "strng", "description": "Who"}}},
        }),
    );
    let text = serde_json::to_string_pretty(&wrong).unwrap();
    let mut seen = Vec::new();
    for problem in crib.check_manifest(&wrong) {
        let line = text.lines().nth(problem.line - 1).unwrap();
        let at: String = line.chars().skip(problem.column - 1).collect();
        seen.push((problem.code, problem.severity, at));
        assert_eq!(problem.fix, None);
    }
    let has = |code: &str, start: &str| {
        seen.iter()
            .any(|(found, _, at)| *found == code && at.starts_with(start))
    };
    assert!(has("unknown-key", "\"securty\""), "{seen:?}");
    assert!(has("unknown-value", "\"strng\""), "{seen:?}");
    assert!(has("no-security-tag", "\"tags\""), "{seen:?}");
}

#[test]
fn what_impl_repeats_must_be_what_the_record_says() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let with = |implementation: Value| manifest(acme, json!({"impl": implementation}));
    put(
        &crib,
        with(json!({"name": "hello", "description": "Says hello", "bash": "echo hello"})),
    );
    crib.delete_tool("acme/hello").unwrap();
    for other in [
        json!({"name": "other", "bash": "echo"}),
        json!({"description": "Something else", "bash": "echo"}),
        json!({"version": "v9", "bash": "echo"}),
        json!({"tags": ["write"], "bash": "echo"}),
        json!({"base-tool": "read_file"}),
    ] {
        let error = crib.put_tool(with(other.clone())).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArguments, "{other}");
        let problems = &error.details().unwrap()["problems"];
        assert_eq!(problems[0]["code"], "said-twice", "{other}: {error}");
    }
    // The schema is made of the parameters.
    let mut schema = with(json!({"bash": "echo hello"}));
    schema.arg_schema =
        json!({"type": "object", "properties": {"a": {"type": "string", "description": "A"}}});
    let error = crib.put_tool(schema).unwrap_err();
    assert_eq!(
        error.details().unwrap()["problems"][0]["code"],
        "said-twice"
    );
}

#[test]
fn what_cannot_be_enforced_is_refused() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let refused = [
        json!({"isBuiltIn": true, "impl": {"bash": "echo"}}),
        json!({"isBuiltIn": true, "type": "http", "impl": {"urlTemplate": "https://example.com/"}}),
        json!({"impl": "echo"}),
        json!({"impl": {}}),
        json!({"type": "go", "impl": {}}),
        json!({"type": "rust", "impl": {"goFunc": "a", "function": "b"}}),
        json!({"type": "go", "impl": {"goFunc": "a"}, "description": " "}),
        json!({"type": "go", "impl": {"goFunc": "a"}, "argSchema": {"type": "string"}}),
        json!({"type": "go", "impl": {"goFunc": "a"}, "outputSchema": {"$ref": "https://example.com/x"}}),
        json!({"type": "go", "impl": {"goFunc": "a"}, "limits": {"maxSentBytes": 5}}),
        json!({"type": "mcp", "impl": {"server": "x"}}),
        json!({"type": "alias", "impl": {"base-tool": "no_such_tool"}}),
        json!({"impl": {"steps": [{"name": "a", "use-tool": "no_such_tool"}]}}),
    ];
    for fields in refused {
        let error = crib.put_tool(manifest(acme, fields.clone())).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArguments, "{fields}");
        let problems = error.details().unwrap()["problems"].as_array().unwrap();
        assert!(!problems.is_empty(), "{fields}");
    }
    assert!(crib.bundle_tools(acme).is_empty());
    // A field from the future is kept, and said to do nothing.
    let later = manifest(acme, json!({"later": {"a": 1}, "impl": {"bash": "echo"}}));
    let problems = crib.check_manifest(&later);
    assert_eq!(
        problems
            .iter()
            .map(|problem| (problem.code, problem.severity))
            .collect::<Vec<_>>(),
        [("without-effect", Severity::Warning)]
    );
    let stored = put(&crib, later);
    assert_eq!(stored.manifest().unwrap().extra["later"], json!({"a": 1}));
}

#[tokio::test]
async fn an_argument_cannot_have_the_name_of_a_secret() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let with = |argument: &str| {
        manifest(
            acme,
            json!({
                "slug": "ask", "type": "http",
                "argSchema": {"type": "object", "properties": {argument: {"type": "string", "description": "X"}}},
                "impl": {"urlTemplate": format!("https://example.com/?q=${{{argument}}}")},
            }),
        )
    };
    let name = SecretName::parse("API_KEY").unwrap();
    let secret = Secret::new("0123456789abcdef");
    crib.secrets()
        .set(&name, &secret, &Binding::default())
        .unwrap();
    let error = crib.put_tool(with("API_KEY")).unwrap_err();
    assert_eq!(
        error.details().unwrap()["problems"][0]["code"],
        "argument-is-secret"
    );
    // A secret that comes later makes the tool unavailable.
    put(&crib, with("OTHER"));
    let request = || CallRequest::new("ask").arg("OTHER", "x");
    let outcome = crib.registry().execute(request()).await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::HostNotAllowed);
    let name = SecretName::parse("OTHER").unwrap();
    crib.secrets()
        .set(&name, &secret, &Binding::default())
        .unwrap();
    let outcome = crib.registry().execute(request()).await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::ToolUnavailable);
}

#[test]
fn a_definition_with_the_value_of_a_secret_in_it_is_refused_by_the_name_of_the_secret() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let name = SecretName::parse("API_KEY").unwrap();
    let value = "supersecretvalue1";
    crib.secrets()
        .set(&name, &Secret::new(value), &Binding::default())
        .unwrap();
    let asking = |url: &str, later: &str| {
        let implementation = json!({"urlTemplate": url});
        let fields = json!({"slug": "ask", "type": "http", "impl": implementation, "later": later});
        manifest(acme, fields)
    };
    let leaking = format!("https://x.test/?k={value}");
    for leak in [asking(&leaking, ""), asking("https://x.test/", value)] {
        let error = crib.put_tool(leak).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArguments);
        assert!(error.message().contains("`API_KEY`"), "{error}");
        assert!(!error.to_string().contains(value), "{error}");
    }
    let stored = put(&crib, asking("https://x.test/?k=${API_KEY}", ""));
    let error = crib
        .replace_tool(asking(&leaking, ""), &stored.digest())
        .unwrap_err();
    assert!(error.message().contains("${API_KEY}"), "{error}");
}

#[test]
fn a_store_holds_no_more_tools_than_the_setting_says() {
    let scene = Scene::new();
    scene.write("home/config.toml", "[limits]\nmaxTools = 2\n");
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    put(&crib, saying(acme, "one", "v1", "x"));
    put(&crib, saying(acme, "two", "v1", "x"));
    let error = crib.put_tool(saying(acme, "three", "v1", "x")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict);
    assert!(error.message().contains("limits.maxTools"), "{error}");
    // Those that are there stay, as far as the setting allows.
    scene.write("home/config.toml", "[limits]\nmaxTools = 1\n");
    let narrow = scene.open();
    assert_eq!(narrow.bundle_tools(acme).len(), 1);
    let warnings = narrow.warnings();
    assert!(
        warnings.iter().any(|one| one.contains("limits.maxTools")),
        "{warnings:?}"
    );
    narrow.delete_tool("acme/one").unwrap();
    assert_eq!(
        narrow.bundle_tools(acme)[0].spec().slug,
        Slug::parse("two").unwrap()
    );
}

#[test]
fn the_setting_disabled_tools_names_stored_tools_too() {
    let scene = Scene::new();
    scene.write(
        "home/config.toml",
        "disabledTools = [\"acme/hello@v1\", \"other\"]\n",
    );
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    for (slug, version) in [
        ("hello", "v1"),
        ("hello", "v2"),
        ("other", "v1"),
        ("other", "v2"),
    ] {
        put(&crib, saying(acme, slug, version, "x"));
    }
    let off: Vec<String> = crib
        .bundle_tools(acme)
        .iter()
        .filter(|entry| matches!(entry.availability(), Availability::Disabled { .. }))
        .map(|entry| entry.spec().reference())
        .collect();
    let mut off: Vec<&str> = off.iter().map(String::as_str).collect();
    off.sort_unstable();
    assert_eq!(off, ["acme/hello@v1", "acme/other@v1", "acme/other@v2"]);
    let other = scene.open();
    assert_eq!(other.setting_warnings(), Vec::<String>::new());
}
