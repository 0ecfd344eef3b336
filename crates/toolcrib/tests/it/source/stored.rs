//! Records of the store as tools: each kind, its availability, and where what is wrong with one ends.

use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use toolcrib::approval::ApprovalResponse;
use toolcrib::model::ids::{BundleId, ToolId};
use toolcrib::registry::Availability;
use toolcrib::serde_json::{self, json};
use toolcrib::store::{BundleDraft, StoredTool};
use toolcrib::testing::{Reply, ScriptedApprover, ScriptedServer};
use toolcrib::{FnTool, Slug, ToolManifest, WireName};

use super::*;

/// A bundle of the store, made now.
pub(super) fn bundle(crib: &Crib, slug: &str) -> BundleId {
    let id = BundleId::generate();
    crib.put_bundle(id, draft(slug)).unwrap();
    id
}

pub(super) fn draft(slug: &str) -> BundleDraft {
    BundleDraft {
        slug: Slug::parse(slug).unwrap(),
        display_name: slug.to_owned(),
        description: String::new(),
        is_enabled: true,
    }
}

/// A definition with these fields, and what every definition has.
pub(super) fn manifest(bundle: BundleId, fields: Value) -> ToolManifest {
    let mut whole = json!({
        "bundleID": bundle, "slug": "hello", "version": "v1", "description": "Says hello",
        "type": "command", "tags": ["read"],
        "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-06-01T09:17:10Z",
    });
    let fields = fields.as_object().unwrap().clone();
    whole.as_object_mut().unwrap().extend(fields);
    ToolManifest::from_json(whole.to_string().as_bytes()).unwrap()
}

/// A command that prints a word.
pub(super) fn saying(bundle: BundleId, slug: &str, version: &str, word: &str) -> ToolManifest {
    let fields =
        json!({"slug": slug, "version": version, "impl": {"bash": format!("echo {word}")}});
    manifest(bundle, fields)
}

pub(super) fn put(crib: &Crib, manifest: ToolManifest) -> Arc<StoredTool> {
    crib.put_tool(manifest).unwrap()
}

pub(super) fn file_of(scene: &Scene, tool: &StoredTool) -> PathBuf {
    let directory = scene.path(&format!("home/bundles/{}", tool.key.bundle));
    let files = std::fs::read_dir(directory).unwrap().flatten();
    let mut files = files.filter(|file| std::fs::read(file.path()).unwrap() == *tool.bytes);
    files.next().unwrap().path()
}

async fn value_of(crib: &Crib, request: CallRequest) -> Value {
    let outcome = crib.registry().execute(request).await;
    match outcome.value() {
        Some(value) => value.clone(),
        None => panic!("{}", outcome.error().unwrap()),
    }
}

#[tokio::test]
async fn a_command_runs_with_its_arguments_in_the_workspace() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let greet = manifest(
        acme,
        json!({
            "slug": "greet", "tags": ["write"],
            "impl": {"bash": "echo hello {WHO} > {WORKSPACE}/said; cat said", "parameters": {"WHO": {"type": "string", "description": "Who"}}},
        }),
    );
    let stored = put(&crib, greet);
    assert_eq!(
        stored.manifest().unwrap().arg_schema["properties"]["WHO"]["type"],
        "string"
    );
    let value = value_of(&crib, CallRequest::new("greet").arg("WHO", "Ada; id")).await;
    assert_eq!(value["output"], "hello Ada; id");
    let value = value_of(&crib, CallRequest::new("acme/greet@v1").arg("WHO", "you")).await;
    assert_eq!(value["output"], "hello you");
    assert_eq!(
        std::fs::read_to_string(scene.path("work/said")).unwrap(),
        "hello you\n"
    );
    let (code, _) = refused(&crib, "greet").await;
    assert_eq!(code, ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn an_http_tool_sends_what_its_record_says() {
    let server = ScriptedServer::start(|_| Reply::json(&json!({"current": {"text": "Sunny"}})));
    let scene = Scene::new();
    scene.write(
        "home/config.toml",
        &format!("allowedHosts = [\"{}\"]\n", server.host()),
    );
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    put(
        &crib,
        manifest(
            acme,
            json!({
                "slug": "weather", "version": "v2", "type": "http",
                "argSchema": {"type": "object", "properties": {"city": {"type": "string", "description": "City"}}, "required": ["city"]},
                "outputSchema": {"type": "string"},
                "impl": {"urlTemplate": server.url("/now?q=${city}"), "extractExpr": "$.current.text", "headers": {"User-Agent": "MyApp/${version}"}},
            }),
        ),
    );
    let value = value_of(&crib, CallRequest::new("weather").arg("city", "Köln")).await;
    assert_eq!(value, "Sunny");
    let received = server.received();
    assert_eq!(received[0].header("user-agent"), Some("MyApp/v2"));
    assert_eq!(received.len(), 1);
}

#[tokio::test]
async fn a_rule_about_hosts_holds_for_stored_tools() {
    let server = ScriptedServer::start(|_| Reply::ok("hi"));
    let scene = Scene::new();
    scene.write(
        "home/config.toml",
        &format!(
            "allowedHosts = [\"{}\"]\n[[rules]]\nname = \"not-there\"\nhost = \"127.0.0.1\"\nverdict = \"deny\"\nreason = \"no\"\n",
            server.host()
        ),
    );
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let implementation = json!({"urlTemplate": server.url("/"), "responseEncoding": "text"});
    let fields = json!({"slug": "ask", "type": "http", "impl": implementation});
    put(&crib, manifest(acme, fields));
    let (code, why) = refused(&crib, "ask").await;
    assert_eq!(code, ErrorCode::BlockedByRule, "{why}");
    assert!(server.received().is_empty());
}

/// A function that adds one, as a program would register it.
fn add_one() -> Arc<dyn toolcrib::Tool> {
    let tool = FnTool::new(
        "whatever",
        "Adds one",
        |args: serde_json::Map<String, Value>, _cx| async move {
            Ok(args["n"].as_i64().unwrap_or_default() + 1)
        },
    );
    Arc::new(tool.unwrap())
}

fn adding(bundle: BundleId) -> ToolManifest {
    manifest(
        bundle,
        json!({
            "slug": "add", "type": "go", "impl": {"goFunc": "github.com/acme/agent/tools.Add"},
            "argSchema": {"type": "object", "properties": {"n": {"type": "integer", "description": "A number"}}, "required": ["n"]},
            "outputSchema": {"type": "integer", "maximum": 10},
        }),
    )
}

#[tokio::test]
async fn a_function_runs_by_the_schemas_of_the_definition() {
    let scene = Scene::new();
    let options = scene.options();
    let crib = options
        .function("github.com/acme/agent/tools.Add", add_one())
        .open()
        .unwrap();
    let acme = bundle(&crib, "acme");
    let stored = put(&crib, adding(acme));
    assert_eq!(stored.manifest().unwrap().kind, toolcrib::ToolKind::Go);
    let value = value_of(&crib, CallRequest::new("add").arg("n", 4)).await;
    assert_eq!(value, 5);
    let outcome = crib
        .registry()
        .execute(CallRequest::new("add").arg("n", "four"))
        .await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::InvalidArguments);
    let outcome = crib
        .registry()
        .execute(CallRequest::new("add").arg("n", 10))
        .await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::InvalidOutput);
}

/// STO-018: what calls count is kept elsewhere.
#[tokio::test]
async fn calls_leave_the_record_as_it_is() {
    let scene = Scene::new();
    let options = scene.options();
    let crib = options
        .function("github.com/acme/agent/tools.Add", add_one())
        .open()
        .unwrap();
    let acme = bundle(&crib, "acme");
    let stored = put(&crib, adding(acme));
    let file = file_of(&scene, &stored);
    let bundle_file = file.with_file_name("bundle.json");
    let look = || {
        [&file, &bundle_file].map(|file| {
            let metadata = std::fs::metadata(file).unwrap();
            let times = (metadata.modified().unwrap(), metadata.ctime_nsec());
            (std::fs::read(file).unwrap(), metadata.ino(), times)
        })
    };
    let before = look();
    for n in 0..3 {
        let value = value_of(&crib, CallRequest::new("add").arg("n", n)).await;
        assert_eq!(value, n + 1);
    }
    // One that fails is a call, too.
    let outcome = crib
        .registry()
        .execute(CallRequest::new("add").arg("n", 10));
    let outcome = outcome.await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::InvalidOutput);
    crib.registry().flush();
    crib.reload();
    let entry = crib.registry().find("add").unwrap();
    assert_eq!(crib.usage(&entry).call_count, 4);
    assert_eq!(look(), before);
    let now = crib.record_of(&entry).unwrap();
    assert_eq!(now.head, stored.head, "`modifiedAt` among others");
}

#[tokio::test]
async fn a_function_that_is_missing_leaves_the_file_as_it_is() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let stored = put(&crib, adding(acme));
    let file = file_of(&scene, &stored);
    let before = (
        std::fs::read(&file).unwrap(),
        std::fs::metadata(&file).unwrap().modified().unwrap(),
    );
    let (code, why) = refused(&crib, "add").await;
    assert_eq!(code, ErrorCode::ToolUnavailable);
    assert!(
        why.contains("github.com/acme/agent/tools.Add"),
        "the reason names it: {why}"
    );
    let entry = crib.registry().find("add").unwrap();
    assert!(matches!(
        entry.availability(),
        Availability::Unavailable { .. }
    ));
    let after = (
        std::fs::read(&file).unwrap(),
        std::fs::metadata(&file).unwrap().modified().unwrap(),
    );
    assert_eq!(before, after);
    drop(crib);

    let options = scene.options();
    let crib = options
        .function("github.com/acme/agent/tools.Add", add_one())
        .open()
        .unwrap();
    assert_eq!(
        value_of(&crib, CallRequest::new("add").arg("n", 1)).await,
        2
    );
}

#[tokio::test]
async fn a_function_without_a_security_tag_asks() {
    let scene = Scene::new();
    let options = scene.options();
    let crib = options
        .function("github.com/acme/agent/tools.Add", add_one())
        .open()
        .unwrap();
    let acme = bundle(&crib, "acme");
    let mut untagged = adding(acme);
    untagged.tags.clear();
    put(&crib, untagged);
    let outcome = crib
        .registry()
        .execute(CallRequest::new("add").arg("n", 1))
        .await;
    assert_eq!(
        outcome.error().unwrap().code(),
        ErrorCode::ApprovalUnavailable
    );
}

#[tokio::test]
async fn a_function_requires_approval_as_its_record_says() {
    let scene = Scene::new();
    let options = scene.options();
    let crib = options
        .function("github.com/acme/agent/tools.Add", add_one())
        .open()
        .unwrap();
    let acme = bundle(&crib, "acme");
    let put_with = |slug: &str, tags: Value, requires: Value| {
        let mut record = serde_json::to_value(adding(acme)).unwrap();
        record["slug"] = json!(slug);
        record["tags"] = tags;
        record["requiresApproval"] = requires;
        let record = ToolManifest::from_json(record.to_string().as_bytes()).unwrap();
        put(&crib, record);
    };
    put_with("always", json!(["read"]), json!(true));
    put_with("over-three", json!(["read"]), json!("{n} > 3"));
    put_with("untagged", json!([]), json!(false));
    let verdict = |tool: &str, n: u32| {
        let plan = crib.registry().plan(CallRequest::new(tool).arg("n", n));
        plan.unwrap().verdict
    };
    use toolcrib::Verdict::{Allow, Ask};
    assert_eq!(verdict("always", 1), Ask);
    assert_eq!(
        (verdict("over-three", 3), verdict("over-three", 4)),
        (Allow, Ask)
    );
    assert_eq!(verdict("untagged", 1), Allow);
}

#[tokio::test]
async fn stored_tools_that_lead_to_each_other_name_the_whole_cycle() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let alias = |slug: &str, base: &str| {
        let implementation = json!({"base-tool": base});
        manifest(
            acme,
            json!({"slug": slug, "type": "alias", "description": "", "tags": [], "impl": implementation}),
        )
    };
    let first = put(&crib, alias("first", "read_file"));
    put(&crib, alias("second", "acme/first"));
    put(&crib, alias("third", "acme/second"));
    crib.replace_tool(alias("first", "acme/third"), &first.digest())
        .unwrap();
    drop(crib);
    let crib = scene.open();
    for (name, round) in [
        ("acme/first", ["first", "third", "second", "first"]),
        ("acme/second", ["second", "first", "third", "second"]),
    ] {
        let (code, why) = refused(&crib, name).await;
        assert_eq!(code, ErrorCode::ToolUnavailable);
        let round = round.map(|slug| format!("acme/{slug}@v1")).join(" → ");
        assert!(
            why.contains(&format!("without end: {round}")),
            "{name}: {why}"
        );
    }
}

#[tokio::test]
async fn a_tool_of_an_upstream_server_is_kept_and_cannot_run() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let fields = json!({"slug": "far", "type": "mcp", "impl": {"server": "files", "tool": "read"}});
    put(&crib, manifest(acme, fields));
    let (code, why) = refused(&crib, "far").await;
    assert_eq!(code, ErrorCode::ToolUnavailable);
    assert!(why.contains("`files`"), "{why}");
}

#[tokio::test]
async fn an_alias_may_stand_for_a_built_in_a_file_and_a_stored_tool() {
    let scene = Scene::new();
    scene.write("work/note.txt", "words");
    scene.write(&format!("{USER}/greet.yaml"), &says("hello"));
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let alias = |slug: &str, base: &str, presets: Value| {
        let implementation = json!({"base-tool": base, "default-parameters": presets});
        manifest(
            acme,
            json!({"slug": slug, "type": "alias", "description": "", "tags": [], "impl": implementation}),
        )
    };
    put(
        &crib,
        alias("note", "read_file", json!({"path": "note.txt"})),
    );
    put(&crib, alias("hi", "greet", json!({})));
    put(&crib, alias("hi-again", "acme/hi", json!({})));
    let value = value_of(&crib, CallRequest::new("note")).await;
    assert_eq!(value["content"], "words");
    assert_eq!(said(&crib, "hi").await, "hello");
    assert_eq!(said(&crib, "hi-again").await, "hello");

    // The file says something else now, and then it is gone.
    scene.write(&format!("{USER}/greet.yaml"), &says("goodbye"));
    assert_eq!(said(&crib, "hi-again").await, "goodbye");
    std::fs::remove_file(scene.path(&format!("{USER}/greet.yaml"))).unwrap();
    let (code, why) = refused(&crib, "hi").await;
    assert_eq!(code, ErrorCode::ToolUnavailable);
    assert!(why.contains("`greet`"), "{why}");
}

#[tokio::test]
async fn a_file_may_use_a_stored_tool() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    scene.write(
        &format!("{USER}/twice.yaml"),
        "description: Twice\ntags: [read]\nsteps:\n  - name: one\n    use-tool: acme/hello\n  - name: two\n    use-tool: hello\n",
    );
    let (code, why) = refused(&crib, "twice").await;
    assert_eq!(code, ErrorCode::ToolUnavailable);
    assert!(why.contains("acme/hello"), "{why}");
    put(&crib, saying(acme, "hello", "v1", "hello"));
    let outcome = call(&crib, "twice").await;
    let value = outcome.value().expect("it runs");
    assert_eq!(value["steps"]["two"]["output"], "hello");
}

#[tokio::test]
async fn two_tools_that_stand_for_each_other_end() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    put(&crib, saying(acme, "one", "v1", "one"));
    let alias = |slug: &str, base: &str| {
        let implementation = json!({"base-tool": base});
        let fields = json!({"slug": slug, "type": "alias", "description": "", "tags": [], "impl": implementation});
        manifest(acme, fields)
    };
    put(&crib, alias("two", "one"));
    crib.delete_tool("acme/one").unwrap();
    put(&crib, alias("one", "two"));
    for tool in ["one", "two"] {
        let (code, why) = refused(&crib, tool).await;
        assert!(
            matches!(code, ErrorCode::ToolUnavailable | ErrorCode::ExecutionError),
            "{code}: {why}"
        );
    }
}

#[tokio::test]
async fn tools_of_an_imported_bundle_ask_before_every_call() {
    let scene = Scene::new();
    let script = ScriptedApprover::new([
        ApprovalResponse::approve("test"),
        ApprovalResponse::deny("test", "not twice"),
    ]);
    let crib = scene.options().approver(script.clone()).open().unwrap();
    let acme = bundle(&crib, "acme");
    put(&crib, saying(acme, "hello", "v1", "hello"));
    assert_eq!(said(&crib, "hello").await, "hello");
    assert!(script.asked().is_empty());
    // What an import writes.
    let path = scene.path(&format!("home/bundles/{acme}/bundle.json"));
    let mut bundle: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    bundle["importedAt"] = json!("2026-01-01T00:00:00Z");
    std::fs::write(&path, bundle.to_string()).unwrap();
    crib.reload();
    assert_eq!(said(&crib, "hello").await, "hello");
    let (code, _) = refused(&crib, "hello").await;
    assert_eq!(code, ErrorCode::ApprovalDenied);
    let asked = script.asked();
    assert_eq!(asked.len(), 2);
    assert!(
        asked[0]
            .reason
            .contains("its bundle was imported from an archive"),
        "{}",
        asked[0].reason
    );
}

#[tokio::test]
async fn the_tool_of_the_seed_can_be_put_as_it_is_and_called() {
    // S4's tool.json; `{ ... }` is the least that stands for it.
    let seed = r#"{
    "schemaVersion" : "xyz",
    "bundleID"     : "018faf50-b7b6-7a01-9a05-a22a6e0af101",
    "slug"         : "weather",
    "version"      : "v2",
    "displayName"  : "Weather report",
    "description"  : "Fetch current weather for a city",
    "type"         : "http",
    "isEnabled"    : true,
    "isBuiltIn"    : false,
    "argSchema"    : {"type": "object", "properties": {"city": {"type": "string"}}},
    "outputSchema" : {},
    "impl"         : {
  "method": "GET",
  "urlTemplate": "https://api.weatherapi.com/v1/current.json?q=${city}&key=${WEATHER_API_KEY}",
  "headers": { "User-Agent": "MyApp/${version}" },
  "bodyTemplate": "",
  "successCodes": [200],
  "timeoutMs": 10000,
  "responseEncoding": "json",
  "extractExpr": "$.current.condition.text",
  "errorMode": "fail"
},
    "createdAt"    : "2024-05-14T13:44:00Z",
    "modifiedAt"   : "2024-06-01T09:17:10Z"
  }"#;
    let scene = Scene::new();
    let approver = ScriptedApprover::new([ApprovalResponse::approve("test")]);
    let crib = scene.options().approver(approver).open().unwrap();
    let id = BundleId::parse("018faf50-b7b6-7a01-9a05-a22a6e0af101").unwrap();
    crib.put_bundle(id, draft("weather-tools")).unwrap();
    let stored = put(&crib, ToolManifest::from_json(seed.as_bytes()).unwrap());
    assert_eq!(stored.manifest().unwrap().schema_version, "xyz");
    let request = CallRequest::new("weather").arg("city", "Paris");
    let outcome = crib.registry().execute(request).await;
    // No one has allowed the host.
    assert_eq!(
        outcome.error().unwrap().code(),
        ErrorCode::HostNotAllowed,
        "{}",
        outcome.error().unwrap()
    );
}

#[test]
fn slugs_that_look_alike_are_two_tools_and_flagged() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    put(&crib, saying(acme, "apple", "v1", "latin"));
    put(&crib, saying(acme, "\u{430}pple", "v1", "cyrillic"));
    let entries = crib.bundle_tools(acme);
    let warned: Vec<bool> = entries
        .iter()
        .map(|entry| !entry.spec().warnings().is_empty())
        .collect();
    assert_eq!(warned, [false, true]);
    let names: Vec<&WireName> = entries.iter().map(|entry| &entry.spec().name).collect();
    assert_ne!(names[0], names[1]);
}

#[tokio::test]
async fn a_tool_is_found_by_its_id_and_by_that_of_its_bundle() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let stored = put(&crib, saying(acme, "hello", "v1", "hello"));
    let id: ToolId = stored.head.tool_id;
    assert_eq!(said(&crib, &id.to_string()).await, "hello");
    assert_eq!(said(&crib, &format!("{acme}/hello")).await, "hello");
    let entry = crib.registry().find("hello").unwrap();
    assert_eq!(entry.bundle_id(), Some(acme));
    assert_eq!(
        crib.record_of(&entry).unwrap().head.tool_id,
        stored.head.tool_id
    );
    let built_in = crib.registry().find("read_file").unwrap();
    assert!(crib.record_of(&built_in).is_none());
}

#[tokio::test]
async fn odd_characters_in_words_are_kept_and_flagged() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    let odd = "Says \u{e0041}\u{202e}\u{1b}[31m\u{2028}\u{85}\u{7f} hello";
    let kinds = [
        json!({"slug": "one", "description": odd, "impl": {"bash": "echo hello"}}),
        json!({"slug": "two", "description": odd, "type": "http", "impl": {"urlTemplate": "https://example.com/"}}),
        json!({"slug": "three", "description": odd, "type": "go", "impl": {"goFunc": "nowhere"}}),
    ];
    for fields in kinds {
        let stored = put(&crib, manifest(acme, fields.clone()));
        assert_eq!(stored.manifest().unwrap().description, odd);
        let name = fields["slug"].as_str().unwrap();
        let entry = crib.registry().find(name).unwrap();
        assert!(!entry.spec().warnings().is_empty(), "{name}");
        assert_eq!(entry.spec().description, odd, "{name}");
    }
    assert_eq!(said(&crib, "one").await, "hello");
}
