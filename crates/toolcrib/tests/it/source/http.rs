//! `.json` files beside the `.yaml` ones: the same trust, names, links and switches.

use toolcrib::model::secret::Secret;
use toolcrib::secret::{Binding, SecretName};
use toolcrib::source::{FileDefinition, runs};
use toolcrib::trial::{Consent, TestStatus, Trial};

use super::*;

/// A tool that asks a host which no one has allowed.
fn asks(word: &str) -> String {
    format!(
        r#"{{
  // Says {word}.
  "description": "Asks for {word}",
  "tags": ["read"],
  "argSchema": {{"type": "object", "properties": {{"city": {{"type": "string", "description": "A city"}}}}, "required": ["city"]}},
  "impl": {{"urlTemplate": "https://api.example.com/{word}?q=${{city}}", "headers": {{"X-Key": "${{API_KEY}}"}}}},
}}
"#
    )
}

async fn error_of(crib: &Crib, tool: &str) -> toolcrib::ToolError {
    let args = toolcrib::serde_json::json!({"city": "Paris"});
    let request = CallRequest::new(tool).args(args.as_object().unwrap().clone());
    crib.registry()
        .execute(request)
        .await
        .error()
        .unwrap()
        .clone()
}

#[test]
fn a_secret_of_two_places_is_sent_to_both_hosts() {
    let scene = Scene::new();
    scene.write(
        &format!("{LOCAL}/both.json"),
        r#"{"description": "Asks.", "tags": ["read"],
            "impl": {"urlTemplate": "https://api.example.com/x?key=${CLIENT_SECRET}", "headers": {"X-Id": "${CLIENT_ID}"},
                "auth": {"type": "oauth2", "tokenUrl": "https://login.example.com/token", "clientId": "${CLIENT_ID}", "clientSecret": "${CLIENT_SECRET}"}}}"#,
    );
    let crib = scene.open();
    let review = crib.review();
    let shown = runs(review.files[0].file.definition.as_ref().unwrap());
    let told: Vec<String> = shown
        .into_iter()
        .filter(|(what, _)| what == "secrets")
        .map(|(_, text)| text)
        .collect();
    assert_eq!(
        told,
        [
            "CLIENT_SECRET, CLIENT_ID for api.example.com",
            "CLIENT_ID, CLIENT_SECRET for login.example.com",
        ]
    );
}

#[tokio::test]
async fn a_json_file_is_a_tool_once_it_is_trusted() {
    let scene = Scene::new();
    scene.write(&format!("{LOCAL}/weather.json"), &asks("rain"));
    let crib = scene.open();
    let error = error_of(&crib, "weather").await;
    assert_eq!(error.code(), ErrorCode::ToolDisabled);
    assert!(error.message().contains("`toolcrib trust`"), "{error}");
    let review = crib.review();
    let shown = runs(review.files[0].file.definition.as_ref().unwrap());
    let shown: Vec<String> = shown
        .into_iter()
        .map(|(what, text)| format!("{what}: {text}"))
        .collect();
    assert_eq!(
        shown,
        [
            "sends: GET https://api.example.com/rain?q=${city}",
            "header: x-key: ${API_KEY}",
            "secrets: API_KEY for api.example.com",
        ]
    );
    crib.trust(&review).unwrap();
    // It is a tool now; where it would send to is another question.
    let error = error_of(&crib, "weather").await;
    assert_eq!(error.code(), ErrorCode::HostNotAllowed, "{error}");
    assert!(
        crib.registry()
            .list()
            .iter()
            .any(|spec| spec.name.as_str() == "weather")
    );

    // Other bytes are not trusted, and the difference is shown.
    scene.write(&format!("{LOCAL}/weather.json"), &asks("snow"));
    assert_eq!(
        error_of(&crib, "weather").await.code(),
        ErrorCode::ToolDisabled
    );
    let diff = crib.review().files[0].diff.clone().unwrap();
    assert!(diff.contains("+  // Says snow."), "{diff}");
}

#[tokio::test]
async fn files_of_both_kinds_stand_beside_each_other() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/weather.json"), &asks("rain"));
    scene.write(&format!("{USER}/greet.yaml"), &says("hello"));
    scene.write(&format!("{GLOBAL}/weather.yaml"), &says("other"));
    for odd in ["a.jsonc", "b.JSON", "c.YML"] {
        scene.write(&format!("{USER}/{odd}"), "{}");
    }
    let crib = scene.open();
    assert_eq!(said(&crib, "greet").await, "hello");
    assert_eq!(
        error_of(&crib, "weather").await.code(),
        ErrorCode::HostNotAllowed
    );
    assert_eq!(
        said(&crib, "global/weather").await,
        "other",
        "it is shadowed, not gone"
    );
    let warnings = crib.tool_files().problems().join("\n");
    for (odd, right) in [
        ("a.jsonc", "a.json"),
        ("b.JSON", "b.json"),
        ("c.YML", "c.yaml"),
    ] {
        assert!(
            warnings.contains(&format!("/{odd}`"))
                && warnings.contains(&format!("rename it to `{right}`")),
            "{warnings}"
        );
    }
    let report = crib.tool_files();
    let kinds: Vec<bool> = report
        .files
        .iter()
        .map(|file| matches!(file.definition, Some(FileDefinition::Http(_))))
        .collect();
    assert_eq!(kinds, [false, true, false]);
}

#[tokio::test]
async fn a_broken_json_file_keeps_its_name_and_says_why() {
    let scene = Scene::new();
    scene.write(
        &format!("{USER}/weather.json"),
        "{\"description\": \"x\", \"impl\": {\"urlTemplate\": \"ftp://x\"}}",
    );
    scene.write(&format!("{USER}/greet.yaml"), &says("hello"));
    let crib = scene.open();
    let error = error_of(&crib, "weather").await;
    assert_eq!(error.code(), ErrorCode::ToolUnavailable);
    assert!(
        error.message().contains("must start with `http://`"),
        "{error}"
    );
    assert_eq!(said(&crib, "greet").await, "hello");
    scene.write(&format!("{USER}/weather.json"), &asks("rain"));
    assert_eq!(
        error_of(&crib, "weather").await.code(),
        ErrorCode::HostNotAllowed,
        "it is followed"
    );
}

#[tokio::test]
async fn a_tool_that_its_file_switches_off_says_so() {
    let scene = Scene::new();
    let off = asks("rain").replacen('{', "{\"isEnabled\": false,", 1);
    scene.write(&format!("{USER}/weather.json"), &off);
    let crib = scene.open();
    let error = error_of(&crib, "weather").await;
    assert_eq!(error.code(), ErrorCode::ToolDisabled);
    assert!(error.message().contains("isEnabled"), "{error}");
    scene.write(&format!("{USER}/weather.json"), &asks("rain"));
    assert_eq!(
        error_of(&crib, "weather").await.code(),
        ErrorCode::HostNotAllowed
    );
    crib.set_enabled(&["weather"], false).unwrap();
    assert_eq!(
        error_of(&crib, "weather").await.code(),
        ErrorCode::ToolDisabled
    );
}

/// TPL-009
#[tokio::test]
async fn an_argument_with_the_name_of_a_secret_makes_a_tool_unavailable() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/weather.json"), &asks("rain"));
    let crib = scene.open();
    assert_eq!(
        error_of(&crib, "weather").await.code(),
        ErrorCode::HostNotAllowed
    );
    let name = SecretName::parse("city").unwrap();
    crib.secrets()
        .set(
            &name,
            &Secret::new("s3cr3t-value".to_owned()),
            &Binding::default(),
        )
        .unwrap();
    let error = error_of(&crib, "weather").await;
    assert_eq!(error.code(), ErrorCode::ToolUnavailable, "{error}");
    assert!(error.message().contains("`city`"), "{error}");
    assert_eq!(
        crib.tool_files().files[0].link_faults[0].code,
        "argument-is-secret"
    );
    crib.secrets().remove(&name).unwrap();
    assert_eq!(
        error_of(&crib, "weather").await.code(),
        ErrorCode::HostNotAllowed
    );
}

#[tokio::test]
async fn yaml_tools_can_use_http_tools() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/weather.json"), &asks("rain"));
    scene.write(
        &format!("{USER}/paris.yaml"),
        "type: alias\nbase-tool: weather\ndefault-parameters:\n  city: Paris\n",
    );
    scene.write(
        &format!("{USER}/steps.yaml"),
        "description: Asks\ntags: [read]\nsteps:\n  - name: ask\n    use-tool: weather\n    with:\n      town: Paris\n",
    );
    let crib = scene.open();
    let outcome = call(&crib, "paris").await;
    assert_eq!(
        outcome.error().unwrap().code(),
        ErrorCode::HostNotAllowed,
        "{outcome:?}"
    );
    // What it takes is known: `town` is none of it.
    let report = crib.tool_files();
    let steps = report
        .files
        .iter()
        .find(|file| file.name == "steps")
        .unwrap();
    assert_eq!(steps.link_faults[0].code, "bad-argument");
}

/// A tool that posts twice: for a token of the day, then what was asked, with a secret.
const TESTED: &str = r#"{
  "description": "Translates", "tags": ["read"],
  "argSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
  "impl": [
    {"urlTemplate": "https://api.example.com/day?q=${text}", "extractExpr": "$.day", "headers": {"X-Key": "${API_KEY}"}, "retry": {"max": 1}},
    {"method": "POST", "urlTemplate": "https://api.example.com/say", "headers": {"Content-Type": "application/json"},
      "bodyTemplate": "{\"text\": \"${text}\", \"day\": \"${prev.value}\"}", "extractExpr": "$.said"}
  ],
  "tests": [TESTS]
}
"#;

const GOOD: &str = r#"
    {"name": "both", "parameters": {"text": "a b"},
      "respond": [{"body": {"day": "Monday"}}, {"status": 201, "headers": {"X-Any": "1"}, "body": "{\"said\": {\"de\": \"ab\", \"more\": 1}}"}],
      "expected": {
        "request": [
          {"method": "GET", "url": "https://api.example.com/day?q=a%20b", "headers": {"x-key": "${API_KEY}"}},
          {"method": "POST", "body": {"day": "Monday"}}
        ],
        "value": {"de": "ab"}
      }},
    {"name": "again", "parameters": {"text": "x"},
      "respond": [{"status": 503}, {"body": {"day": "Monday"}}, {"body": {"said": "y"}}], "expected": {"value": "y", "outputContains": "y"}},
    {"name": "refused", "parameters": {"text": "x"}, "respond": {"status": 404, "body": "no such day"}, "expected": {"error": "UPSTREAM_ERROR"}},
    {"name": "invalid", "parameters": {}, "expected": {"error": "INVALID_ARGUMENTS"}}"#;

/// What a tool's tests come to, with what did not come as expected.
async fn tested(tests: &str) -> Vec<(TestStatus, Vec<String>)> {
    let scene = Scene::new();
    scene.write(
        &format!("{LOCAL}/say.json"),
        &TESTED.replace("TESTS", tests),
    );
    // Neither trusted nor with an allowed host, nor is there a secret.
    let crib = scene.open();
    let report = crib.tool_files();
    let files = &report.files;
    let definition = files[0].definition.as_ref();
    let definition = definition.unwrap_or_else(|| panic!("{:#?}", files[0].problems));
    let bench = crib.bench(Consent::Sandboxed);
    let mut found = Vec::new();
    for trial in Trial::all(definition) {
        let report = bench.run(&trial, &toolcrib::CancellationToken::new()).await;
        let why = report.mismatches.iter();
        let why = why.map(|one| format!("{}: {}", one.field, one.message));
        found.push((report.status, why.collect()));
    }
    found
}

#[tokio::test]
async fn an_http_tool_is_tested_with_scripted_answers() {
    for (status, why) in tested(GOOD).await {
        assert_eq!(status, TestStatus::Passed, "{why:#?}");
    }
}

#[tokio::test]
async fn a_request_or_a_value_that_is_another_fails_the_test() {
    for (old, new, expected) in [
        ("q=a%20b", "q=b", "request: the URL of request 1 differs"),
        (
            "\"x-key\": \"${API_KEY}\"",
            "\"x-key\": \"other\"",
            "request: the header `x-key` of request 1",
        ),
        (
            "{\"day\": \"Monday\"}}\n",
            "{\"day\": \"Friday\"}}\n",
            "request: the body of request 2",
        ),
        (
            "\"method\": \"POST\"",
            "\"method\": \"PUT\"",
            "request: the method of request 2",
        ),
        (
            "\"value\": {\"de\": \"ab\"}",
            "\"value\": {\"de\": \"ba\"}",
            "value: `/de` of the value differs",
        ),
        (
            "[{\"body\": {\"day\": \"Monday\"}}, {\"status\": 201",
            "[{\"body\": {}}, {\"body\": {\"day\": \"Monday\"}}, {\"status\": 201",
            "call: the call failed",
        ),
        (
            "{\"body\": {\"day\": \"Monday\"}}, {\"status\": 201",
            "{\"body\": {\"day\": \"Monday\"}}, {\"body\": {\"said\": {\"de\": \"ab\"}}}, {\"status\": 201",
            "request: `respond` has 3 answers, and 2 requests were sent",
        ),
    ] {
        let text = GOOD.replacen(old, new, 1);
        assert_ne!(text, GOOD, "{old}");
        let (status, why) = tested(&text).await.swap_remove(0);
        assert_eq!(status, TestStatus::Failed, "{new}");
        assert!(
            why.iter().any(|one| one.starts_with(expected)),
            "{new}: {why:#?}"
        );
    }
}
