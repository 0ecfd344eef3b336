//! `search_code` with `mode: "meaning"`: what is found, that the index follows files, and what is left out.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use toolcrib::builtin::{BuiltinOptions, EmbeddingKind, EmbeddingSettings};
use toolcrib::model::secret::Secret;
use toolcrib::rules::{Rule, RuleSet};
use toolcrib::secret::{Binding, SecretName, SecretStore};
use toolcrib::testing::{Received, Reply, ScriptedServer};
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, ErrorCode, Outcome, RegisterBuiltins as _, Registry};

const RETRY: &str = "/// Sends a request again after it failed, with a pause that doubles.\npub fn send_with_backoff(request: &Request) -> Answer {\n    todo!()\n}\n";
const USER: &str =
    "fn main() {\n    let answer = send_with_backoff(&request);\n    print(answer);\n}\n";

fn registry(root: &Path, rules: RuleSet) -> Registry {
    let workspace = Workspace::open(root).unwrap();
    let registry = Registry::builder()
        .workspace(workspace)
        .rules(rules)
        .build();
    registry.register_builtins().unwrap();
    registry
}

async fn ask(registry: &Registry, arguments: Value) -> Outcome {
    let mut arguments = arguments;
    arguments["mode"] = "meaning".into();
    let call = json!({"name": "search_code", "arguments": arguments});
    registry
        .execute(CallRequest::from_json(call).unwrap())
        .await
}

async fn places(registry: &Registry, question: &str) -> Vec<String> {
    let outcome = ask(registry, json!({"query": question})).await;
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
    let matches = value["matches"].as_array().unwrap();
    matches
        .iter()
        .map(|found| format!("{}:{}", found["path"].as_str().unwrap(), found["line"]))
        .collect()
}

#[tokio::test]
async fn a_question_finds_the_definition_before_its_uses() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a.rs"), USER).unwrap();
    fs::write(root.path().join("z.rs"), RETRY).unwrap();
    let registry = registry(root.path(), RuleSet::default());
    let found = places(&registry, "where are failed requests sent again?").await;
    assert_eq!(found[0], "z.rs:2");
    let found = places(&registry, "sendWithBackoff").await;
    assert_eq!(found[..2], ["z.rs:2", "a.rs:1"]);
    let outcome = ask(&registry, json!({"query": "backoff", "maxResults": 1})).await;
    let value = outcome.value().unwrap();
    assert_eq!(value["matches"][0]["name"], "send_with_backoff");
    assert_eq!(value["truncated"], true);
    let text = outcome.result.as_ref().unwrap().text().into_owned();
    assert!(
        text.starts_with("z.rs:2-4: pub fn send_with_backoff"),
        "{text}"
    );
}

#[tokio::test]
async fn the_index_follows_the_files() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("a.rs");
    fs::write(&file, USER).unwrap();
    let registry = registry(root.path(), RuleSet::default());
    assert_eq!(places(&registry, "pause that doubles").await, [""; 0]);
    fs::write(&file, RETRY).unwrap();
    assert_eq!(places(&registry, "pause that doubles").await, ["a.rs:2"]);
    fs::rename(&file, root.path().join("b.rs")).unwrap();
    assert_eq!(places(&registry, "pause that doubles").await, ["b.rs:2"]);
    fs::remove_file(root.path().join("b.rs")).unwrap();
    assert_eq!(places(&registry, "pause that doubles").await, [""; 0]);
    assert_eq!(
        fs::read_dir(root.path()).unwrap().count(),
        0,
        "nothing is written into the workspace"
    );
}

#[tokio::test]
async fn ignored_files_links_out_and_what_rules_refuse_are_left_out() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("o.rs"), RETRY).unwrap();
    let root = tempfile::tempdir().unwrap();
    for name in ["secret.rs", "ignored.rs", ".hidden.rs", "shown.rs"] {
        fs::write(root.path().join(name), RETRY).unwrap();
    }
    fs::create_dir(root.path().join(".git")).unwrap();
    fs::write(root.path().join(".gitignore"), "ignored.rs\n").unwrap();
    fs::write(root.path().join("binary.rs"), b"fn send_again\0").unwrap();
    std::os::unix::fs::symlink(outside.path().join("o.rs"), root.path().join("link.rs")).unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("out")).unwrap();
    let rules = RuleSet::default().with(Rule::forbid("secrets", ["secret.rs"]));
    let registry = registry(root.path(), rules);
    assert_eq!(
        places(&registry, "send the request again").await,
        ["shown.rs:2"]
    );
}

#[tokio::test]
async fn options_of_a_search_for_text_are_refused() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a.rs"), RETRY).unwrap();
    let registry = registry(root.path(), RuleSet::default());
    for (name, value) in [
        ("regex", json!(true)),
        ("caseSensitive", json!(false)),
        ("wholeWord", json!(true)),
        ("multiline", json!(true)),
        ("context", json!(2)),
    ] {
        let mut arguments = json!({"query": "send"});
        arguments[name] = value;
        let outcome = ask(&registry, arguments).await;
        let error = outcome.error().unwrap();
        assert_eq!(error.code(), ErrorCode::InvalidArguments);
        assert!(
            error.message().contains("only for `mode` `text`"),
            "{error}"
        );
    }
    let file = ask(&registry, json!({"query": "send", "path": "a.rs"})).await;
    assert_eq!(file.error().unwrap().code(), ErrorCode::InvalidArguments);
    let signs = ask(&registry, json!({"query": "?!"})).await;
    assert_eq!(signs.error().unwrap().code(), ErrorCode::InvalidArguments);
}

/// A home with a registry whose searches by meaning an endpoint sorts.
struct Embedded {
    server: ScriptedServer,
    root: tempfile::TempDir,
    registry: Registry,
    _home: tempfile::TempDir,
}

const SECRET: &str = "hunter2-hunter2-hunter2";

impl Embedded {
    fn new(
        kind: EmbeddingKind,
        rules: RuleSet,
        answer: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let server = ScriptedServer::start(answer);
        let home = tempfile::tempdir().unwrap();
        let secrets = SecretStore::at(home.path().join("secrets"));
        let name = SecretName::parse("EMBEDDING_KEY").unwrap();
        secrets
            .set(&name, &Secret::new(SECRET), &Binding::default())
            .unwrap();
        let root = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(root.path()).unwrap();
        let registry = Registry::builder()
            .workspace(workspace)
            .rules(rules)
            .build();
        let options = BuiltinOptions {
            embeddings: Some(EmbeddingSettings {
                kind,
                url: server.url("/"),
                model: Some("tiny".to_owned()),
                key: Some("EMBEDDING_KEY".to_owned()),
            }),
            secrets: Some(secrets),
            ..BuiltinOptions::default()
        };
        registry.register_builtins_with(options).unwrap();
        Embedded {
            server,
            root,
            registry,
            _home: home,
        }
    }

    fn file(self, name: &str, text: &str) -> Self {
        fs::write(self.root.path().join(name), text).unwrap();
        self
    }

    /// Every text that was sent, in order.
    fn sent(&self) -> Vec<String> {
        let received = self.server.received();
        received.iter().flat_map(inputs).collect()
    }
}

fn inputs(received: &Received) -> Vec<String> {
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(body["model"], "tiny");
    serde_json::from_value(body["input"].clone()).unwrap()
}

/// Texts about pages point one way, as questions do; all others another way.
fn about_pages(received: &Received) -> Vec<[f64; 2]> {
    let texts = inputs(received);
    let vector = |text: &String| match text.contains("page") || text.ends_with('?') {
        true => [2.0, 0.1],
        false => [0.1, 2.0],
    };
    texts.iter().map(vector).collect()
}

fn as_openai(received: &Received) -> Reply {
    let vectors = about_pages(received).into_iter().enumerate();
    let rows = vectors.map(|(index, vector)| json!({"index": index, "embedding": vector}));
    Reply::json(&json!({"data": rows.collect::<Vec<Value>>()}))
}

fn as_ollama(received: &Received) -> Reply {
    Reply::json(&json!({"embeddings": about_pages(received)}))
}

const WORDS: &str = "/// Splits a result into result parts.\nfn split_result(result: &str) -> Result {\n    result.parts()\n}\n";
const PAGES: &str =
    "/// Gives one page after the other.\nfn next(at: Token) -> Answer {\n    at.result()\n}\n";
const QUESTION: &str = "how are results split?";

#[tokio::test]
async fn an_embedding_endpoint_puts_the_places_in_the_order_of_their_meaning() {
    for (kind, path) in [
        (EmbeddingKind::OpenAi, "/v1/embeddings"),
        (EmbeddingKind::Ollama, "/api/embed"),
    ] {
        let answer = match kind {
            EmbeddingKind::OpenAi => as_openai,
            EmbeddingKind::Ollama => as_ollama,
        };
        let scene = Embedded::new(kind, RuleSet::default(), answer)
            .file("a.rs", WORDS)
            .file("b.rs", PAGES);
        let by_words = registry(scene.root.path(), RuleSet::default());
        assert_eq!(places(&by_words, QUESTION).await, ["a.rs:2", "b.rs:2"]);
        let outcome = ask(&scene.registry, json!({"query": QUESTION})).await;
        assert_eq!(outcome.warnings, [""; 0]);
        assert_eq!(
            places(&scene.registry, QUESTION).await,
            ["b.rs:2", "a.rs:2"]
        );
        let received = scene.server.received();
        // The second search knows every text.
        assert_eq!(received.len(), 1);
        assert_eq!(
            (received[0].method.as_str(), received[0].target.as_str()),
            ("POST", path)
        );
        let authorization = received[0].header("authorization").unwrap();
        assert_eq!(authorization, format!("Bearer {SECRET}"));
        let sent = scene.sent();
        assert_eq!(sent[0], QUESTION);
        assert!(
            sent[1..].contains(&format!("b.rs\n{}", PAGES.trim_end())),
            "{sent:?}"
        );
    }
}

#[tokio::test]
async fn an_endpoint_that_fails_leaves_the_order_of_the_words_and_the_outcome_says_so() {
    let too_few = |_: &Received| Reply::json(&json!({"data": []}));
    let answers: [fn(&Received) -> Reply; 4] = [
        |_| Reply::status(500),
        too_few,
        |_| Reply::ok("not JSON"),
        |_| Reply::redirect(307, "/elsewhere"),
    ];
    for answer in answers {
        let scene = Embedded::new(EmbeddingKind::OpenAi, RuleSet::default(), answer)
            .file("a.rs", WORDS)
            .file("b.rs", PAGES);
        let outcome = ask(&scene.registry, json!({"query": QUESTION})).await;
        let found = &outcome.value().unwrap()["matches"];
        assert_eq!(
            (&found[0]["path"], &found[1]["path"]),
            (&json!("a.rs"), &json!("b.rs"))
        );
        let warned = |warning: &String| warning.contains("the order of their words alone");
        assert!(outcome.warnings.iter().any(warned), "{outcome:?}");
        assert!(!format!("{outcome:?}").contains(SECRET));
        assert_eq!(scene.server.received().len(), 1);
    }
}

#[tokio::test]
async fn what_rules_refuse_and_secrets_are_not_sent_to_an_endpoint() {
    let rules = RuleSet::default().with(Rule::forbid("secrets", ["secret.rs"]));
    let known = format!("/// A result split in two: {SECRET}\nfn split_key() {{}}\n");
    let scene = Embedded::new(EmbeddingKind::OpenAi, rules, as_openai)
        .file(
            "secret.rs",
            "/// A result that is split in private.\nfn private() {}\n",
        )
        .file("key.rs", &known)
        .file("other.txt", "nothing that the question is about\n")
        .file("a.rs", WORDS);
    std::os::unix::fs::symlink("secret.rs", scene.root.path().join("link.rs")).unwrap();
    let found = places(&scene.registry, QUESTION).await;
    assert_eq!(found.len(), 2, "{found:?}");
    let sent = scene.sent().join("\n---\n");
    assert!(
        sent.contains("split_key") && sent.contains("split_result"),
        "{sent}"
    );
    for never in ["private", SECRET, "nothing that the question"] {
        assert!(!sent.contains(never), "{never}: {sent}");
    }
}

#[tokio::test]
async fn a_search_for_text_sends_nothing_to_an_endpoint() {
    let scene =
        Embedded::new(EmbeddingKind::OpenAi, RuleSet::default(), as_openai).file("a.rs", WORDS);
    let call = json!({"name": "search_code", "arguments": {"query": "split"}});
    let outcome = scene
        .registry
        .execute(CallRequest::from_json(call).unwrap())
        .await;
    assert!(outcome.is_ok(), "{outcome:?}");
    let none = ask(&scene.registry, json!({"query": "xyzzy"})).await;
    assert!(none.is_ok(), "{none:?}");
    assert_eq!(scene.server.received().len(), 0);
}
