//! Results that were too long for a model: what `answer` gives of them, and what is kept for how long.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib::answer::{AnswerOptions, answer};
use toolcrib::config::Surroundings;
use toolcrib::model::secret::{Secret, SecretName};
use toolcrib::secret::Binding;
use toolcrib::wire::tokens_of;
use toolcrib::{CallRequest, Caller, Crib, CribOptions, ErrorCode, Outcome};

struct Scene {
    directory: TempDir,
    crib: Crib,
}

impl Scene {
    fn new(settings: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (work, home) = (directory.path().join("work"), directory.path().join("home"));
        std::fs::create_dir(&work).unwrap();
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join("config.toml"), settings).unwrap();
        let surroundings = Surroundings::new(&work, [("HOME", directory.path().to_str().unwrap())]);
        let crib = CribOptions::default()
            .surroundings(surroundings)
            .home(home)
            .workspace(&work)
            .open()
            .unwrap();
        Scene { directory, crib }
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::write(self.directory.path().join("work").join(name), text).unwrap();
    }

    /// What a model reads of a call of `read_file`.
    async fn answered(&self, path: &str) -> String {
        let reply = json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": path}}]});
        let options = AnswerOptions {
            caller: Caller::Client("model".to_owned()),
            results: Some(Arc::new(self.crib.results().clone())),
            ..AnswerOptions::default()
        };
        let answered = answer(self.crib.registry(), &reply, None, &options).await;
        let messages = answered.unwrap().messages;
        messages[0]["content"][0]["content"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    async fn read(&self, args: Value) -> Outcome {
        let Value::Object(args) = args else { panic!() };
        let request = CallRequest::new("read_result")
            .args(args)
            .caller(Caller::Client("model".to_owned()));
        self.crib.registry().execute(request).await
    }

    fn kept(&self) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(self.directory.path().join("home/results"));
        let entries = entries
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().path());
        let mut kept: Vec<_> = entries
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "json")
            })
            .collect();
        kept.sort();
        kept
    }
}

/// The call that the note behind a result names.
fn call_of(text: &str) -> String {
    let from = text.rfind("\"call\":\"").unwrap() + 8;
    let to = text[from..].find('"').unwrap();
    text[from..from + to].to_owned()
}

fn long(mark: &str) -> String {
    (1..=3000).map(|n| format!("{mark} {n}\n")).collect()
}

#[tokio::test]
async fn an_answer_fits_and_the_rest_is_found_by_a_pattern() {
    let scene = Scene::new("[results]\nmaxTokens = 1000\n");
    scene.file("long.txt", &long("line"));
    let text = scene.answered("long.txt").await;
    assert!(tokens_of("", &text, &json!("")) <= 1020, "{}", text.len());
    assert!(text.contains("[… left out: characters "), "{text}");
    let call = call_of(&text);
    let found = scene
        .read(json!({"call": call, "regex": "^line 15[0-9][05]$"}))
        .await;
    let found = found.value().unwrap().clone();
    assert_eq!(found["part"], json!({"matches": 20}));
    assert!(
        found["text"]
            .as_str()
            .unwrap()
            .starts_with("1500: line 1500\n1505: line 1505\n")
    );
    assert_eq!(
        (&found["lines"], &found["characters"]),
        (&json!(3000), &json!(28893))
    );
    let both = json!({"call": call, "range": [0, 9], "jsonpath": "$"});
    let refused = scene.read(both).await;
    assert_eq!(refused.error().unwrap().code(), ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn a_secret_that_was_set_later_is_masked_and_no_pattern_finds_it() {
    let scene = Scene::new("[results]\nmaxTokens = 1000\n");
    let mut text = long("line");
    text.push_str("key sk-0123456789abcdef\n");
    text.insert_str(0, "key sk-0123456789abcdef\n");
    scene.file("keys.txt", &text);
    let call = call_of(&scene.answered("keys.txt").await);
    let secrets = scene.crib.secrets();
    let name = SecretName::parse("KEY").unwrap();
    let value = Secret::new("sk-0123456789abcdef".to_owned());
    secrets.set(&name, &value, &Binding::default()).unwrap();
    let first = scene.read(json!({"call": call, "lines": [1, 1]})).await;
    assert_eq!(first.value().unwrap()["text"], "key [REDACTED]\n");
    let found = scene.read(json!({"call": call, "regex": "sk-01"})).await;
    assert_eq!(found.value().unwrap()["part"], json!({"matches": 0}));
}

#[tokio::test]
async fn what_is_too_old_is_gone_and_the_oldest_make_room() {
    let scene = Scene::new("[results]\nmaxTokens = 1000\nkeepHours = 1\nmaxBytes = 1048576\n");
    let wide: String = (0..400_000)
        .map(|n| if n % 80 == 79 { '\n' } else { 'w' })
        .collect();
    scene.file("wide.txt", &wide);
    let first = call_of(&scene.answered("wide.txt").await);
    let [file] = &scene.kept()[..] else { panic!() };
    let file = std::fs::File::options().write(true).open(file).unwrap();
    let ago = |minutes: u64| SystemTime::now() - Duration::from_secs(minutes * 60);
    file.set_modified(ago(30)).unwrap();
    assert!(
        scene
            .read(json!({"call": first, "range": [0, 5]}))
            .await
            .is_ok()
    );
    // A second one needs its room.
    let second = call_of(&scene.answered("wide.txt").await);
    assert_eq!(scene.kept().len(), 1);
    let gone = scene.read(json!({"call": first, "range": [0, 5]})).await;
    assert_eq!(gone.error().unwrap().code(), ErrorCode::CallNotFound);
    let [file] = &scene.kept()[..] else { panic!() };
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.set_modified(ago(61)).unwrap();
    let gone = scene.read(json!({"call": second})).await;
    assert_eq!(gone.error().unwrap().code(), ErrorCode::CallNotFound);
    scene.file("long.txt", &long("line"));
    scene.answered("long.txt").await;
    assert_eq!(scene.kept().len(), 1);
}

#[tokio::test]
async fn a_damaged_file_is_an_error_and_a_strange_call_is_not_found() {
    let scene = Scene::new("[results]\nmaxTokens = 1000\n");
    scene.file("long.txt", &long("line"));
    let call = call_of(&scene.answered("long.txt").await);
    std::fs::write(&scene.kept()[0], "{\"call\":").unwrap();
    let damaged = scene.read(json!({"call": call})).await;
    assert_eq!(damaged.error().unwrap().code(), ErrorCode::StorageError);
    for odd in ["", "../../secrets", "a/b", &"x".repeat(500)] {
        let refused = scene.read(json!({"call": odd})).await;
        assert_eq!(
            refused.error().unwrap().code(),
            ErrorCode::CallNotFound,
            "{odd}"
        );
    }
}
