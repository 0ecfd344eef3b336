//! Slugs, versions and texts in other scripts over HTTP (cases UNI-*), and paths that no one should send.

use http::Method;
use serde_json::{Value, json};

use crate::bundles::made;
use crate::harness::Scene;
use crate::tools::weather;

/// A text as a segment of a path.
fn encoded(text: &str) -> String {
    let byte = |byte: &u8| match byte.is_ascii_alphanumeric() {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.as_bytes().iter().map(byte).collect()
}

fn version(bundle: &str, slug: &str, version: &str) -> String {
    format!(
        "{bundle}/tools/{}/version/{}",
        encoded(slug),
        encoded(version)
    )
}

fn message(body: &Value) -> &str {
    body["error"]["message"].as_str().unwrap()
}

#[tokio::test]
async fn letters_and_digits_of_every_script_are_slugs() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let operator = scene.as_operator();
    let long = "\u{1d41a}".repeat(64);
    let slugs = [
        "weather",
        "Weather",
        "read-file",
        "天気",
        "wéather",
        "१",
        "-",
        "ʰ",
        &long,
        "가",
        "i",
        "ı",
        "İ",
        "I",
        "ß",
        "ẞ",
        "ss",
        "apple",
        "аpple",
        "e",
        "µ",
        "ǆ",
        "ﬁ",
    ];
    for slug in slugs {
        let path = version(&bundle, slug, "v1");
        let (status, body) = operator.put(&path, weather()).await;
        assert_eq!(
            (status.as_u16(), &body["slug"]),
            (201, &json!(slug)),
            "{slug}: {body}"
        );
    }
    for slug in slugs {
        let (status, body) = operator.get(&version(&bundle, slug, "v1")).await;
        assert_eq!((status.as_u16(), &body["slug"]), (200, &json!(slug)));
    }
    // No file is named after a slug.
    let directory = scene
        .home()
        .join("bundles")
        .join(bundle.rsplit('/').next().unwrap());
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.is_ascii(), "{name}");
    }
}

#[tokio::test]
async fn other_characters_are_named_and_nothing_is_written() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let operator = scene.as_operator();
    for (slug, named) in [
        ("read_file", "U+005F"),
        ("a/b", "U+002F"),
        ("a\\b", "U+005C"),
        ("🔧", "U+1F527"),
        ("²", "U+00B2"),
        ("\u{feff}a", "U+FEFF"),
        ("a–b", "U+2013"),
        ("a－b", "U+FF0D"),
        ("we\u{301}ather", "U+0301"),
        ("a\u{fe0f}", "U+FE0F"),
        ("हिंदी", "U+093F"),
        ("a\0b", "U+0000"),
        ("a\nb", "U+000A"),
        ("a%2fb", "U+0025"),
        ("a+b", "U+002B"),
        ("a~b", "U+007E"),
        ("a@b", "U+0040"),
        ("a\u{a0}b", "U+00A0"),
        ("a\u{2028}b", "U+2028"),
        ("a b", "U+0020"),
        ("a.b", "U+002E"),
        ("a\u{7f}b", "U+007F"),
        ("a\u{202e}b", "U+202E"),
        ("a\u{e0041}", "U+E0041"),
        ("Ⅷ", "U+2167"),
        ("\u{1100}\u{1161}", "U+1161"),
        ("a\u{3164}", "U+3164"),
        ("\u{115f}b", "U+115F"),
        ("a\u{ffa0}b", "U+FFA0"),
    ] {
        let path = version(&bundle, slug, "v1");
        let (status, body) = operator.put(&path, weather()).await;
        assert_eq!(status, 400, "{slug:?}: {body}");
        assert!(message(&body).contains(named), "{slug:?}: {body}");
        // In the body, too.
        let mut tool = weather();
        tool["slug"] = json!(slug);
        let (status, body) = operator.put(&version(&bundle, "fine", "v1"), tool).await;
        assert_eq!(status, 400, "{slug:?}: {body}");
        assert!(message(&body).contains(named), "{slug:?}: {body}");
        assert_eq!(operator.get(&path).await.0, 400);
    }
    let (_, page) = operator
        .get("/tools?bundleIDs=acme&includeDisabled=true")
        .await;
    assert_eq!(page, json!({"tools": []}));
    for long in ["a".repeat(65), "\u{1d41a}".repeat(65), "天".repeat(1000)] {
        let (status, body) = operator
            .put(&version(&bundle, &long, "v1"), weather())
            .await;
        assert_eq!(status, 400, "{body}");
    }
}

#[tokio::test]
async fn versions_are_labels_with_dots() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let operator = scene.as_operator();
    let (longest, longer) = ("9".repeat(64), "9".repeat(65));
    for label in ["v2", "1.0.0", "1..0", "...", &longest, "V2", "天.気"] {
        let path = version(&bundle, "weather", label);
        let (status, body) = operator.put(&path, weather()).await;
        assert_eq!(
            (status.as_u16(), &body["version"]),
            (201, &json!(label)),
            "{label}: {body}"
        );
        assert_eq!(operator.get(&path).await.0, 200);
    }
    for label in [
        ".", "..", "v2_1", "v 2", &longer, "", "v\u{301}", "v/2", "v2\0",
    ] {
        let (status, body) = operator
            .put(&version(&bundle, "weather", label), weather())
            .await;
        assert!(matches!(status.as_u16(), 400 | 404), "{label}: {body}");
        let mut tool = weather();
        tool["version"] = json!(label);
        let (status, body) = operator.put(&version(&bundle, "weather", "v9"), tool).await;
        assert_eq!(status, 400, "{label}: {body}");
    }
}

#[tokio::test]
async fn what_may_deceive_is_flagged_wherever_it_is_shown() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let operator = scene.as_operator();
    operator
        .put(&version(&bundle, "apple", "v1"), weather())
        .await;
    let (status, tool) = operator
        .put(&version(&bundle, "аpple", "v1"), weather())
        .await;
    assert_eq!(status, 201);
    assert!(
        tool["warnings"][0]
            .as_str()
            .unwrap()
            .contains("mixes scripts"),
        "{tool}"
    );
    let mut hidden = weather();
    let description = "Weather\u{e0001}\u{e0041}\u{202e}\u{1b}[31m";
    hidden["description"] = json!(description);
    let (status, tool) = operator
        .put(&version(&bundle, "hidden", "v1"), hidden)
        .await;
    assert_eq!(
        (status.as_u16(), &tool["description"]),
        (201, &json!(description))
    );
    assert!(tool["warnings"].to_string().contains("hidden"), "{tool}");
    for (path, rows) in [
        ("/tools?bundleIDs=acme&includeDisabled=true", "tools"),
        ("/tools/search?q=weather&includeDisabled=true", "results"),
    ] {
        let (_, page) = operator.get(path).await;
        for row in page[rows].as_array().unwrap() {
            let flagged = row.get("warnings").is_some();
            assert_eq!(flagged, row["slug"] != "apple", "{row}");
        }
    }
    let mixed = made(&scene, "асme").await;
    assert!(operator.get(&mixed).await.1["warnings"][0].is_string());
}

#[tokio::test]
async fn odd_paths_lead_nowhere() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let operator = scene.as_operator();
    operator.put(&version(&bundle, "x", "v1"), weather()).await;
    let long = "a".repeat(10_000);
    for (path, statuses) in [
        (format!("{bundle}/tools/x/version/..%2f..%2f"), [400, 400]),
        (format!("{bundle}/tools/x/version/%2e%2e"), [400, 400]),
        (format!("{bundle}/tools/x/version/%2E%2e%2f"), [400, 400]),
        (format!("{bundle}/tools/x/version/.."), [400, 400]),
        (format!("{bundle}/tools/x/version/v1%00"), [400, 400]),
        (format!("{bundle}/tools/x/version/%C0%AE%C0%AE"), [400, 400]),
        (format!("{bundle}/tools/x/version/%ED%A0%80"), [400, 400]),
        (format!("{bundle}/tools/x/version/%"), [400, 400]),
        (format!("{bundle}/tools/x/version/%zz"), [400, 400]),
        (format!("{bundle}/tools/x/version/%252e%252e"), [400, 400]),
        (format!("{bundle}/tools/x/version/"), [404, 400]),
        (format!("{bundle}/tools/x/version/v1/"), [404, 400]),
        (format!("{bundle}/tools//version/v1"), [400, 404]),
        (format!("{bundle}/tools/x/version/v1;a=b"), [400, 404]),
        (format!("{bundle}/tools/x/version/{long}"), [400, 414]),
        (format!("{bundle}/tools/{long}/version/v1"), [400, 414]),
        (format!("/tools/bundles/{long}"), [400, 404]),
        ("/tools//bundles/./x/../".to_owned(), [400, 404]),
        ("/tools/./bundles".to_owned(), [400, 404]),
        ("/TOOLS/bundles".to_owned(), [404, 404]),
        ("/tools/bundles/".to_owned(), [404, 400]),
        ("/tools/bundles/%2e".to_owned(), [400, 400]),
        ("/tools/bundles/core%2ftools".to_owned(), [400, 400]),
    ] {
        for method in [Method::GET, Method::DELETE, Method::PUT] {
            let body = (method == Method::PUT).then(|| weather().to_string().into());
            let (status, answer) = operator.send(method.clone(), &path, body).await;
            let is_as_expected = statuses.contains(&status.as_u16())
                // A path that is there for other methods only.
                || status == 405;
            assert!(is_as_expected, "{method} {path}: {status} {answer}");
        }
    }
    assert_eq!(operator.get(&version(&bundle, "x", "v1")).await.0, 200);
    let (status, _) = scene.as_nobody().get("/tools//bundles/./x/../").await;
    assert!(status.is_client_error(), "{status}");
}

#[tokio::test]
async fn models_get_stored_tools_without_hidden_characters() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let operator = scene.as_operator();
    let sly = "Weather\u{e0041}\u{202e} now\u{200b}";
    let mut tool = weather();
    tool["description"] = json!(sly);
    tool["displayName"] = json!(sly);
    tool["argSchema"]["properties"]["city"]["description"] = json!(sly);
    let (status, stored) = operator.put(&version(&bundle, "sly", "v1"), tool).await;
    assert_eq!(status, 201, "{stored}");
    // Data stays what it is.
    let (_, stored) = operator.get(&version(&bundle, "sly", "v1")).await;
    assert_eq!(stored["description"], sly);
    assert!(stored["warnings"][0].as_str().unwrap().contains("hidden"));
    for provider in ["openai", "anthropic", "gemini", "ollama", "mcp"] {
        let path = format!("/api/definitions/{provider}?tools=sly");
        let text = operator.get(&path).await.1["tools"].to_string();
        assert!(!text.contains(toolcrib::model::text::is_hidden), "{text}");
        assert_eq!(
            text.matches("Weather now").count(),
            if provider == "mcp" { 4 } else { 2 },
            "{text}"
        );
    }
}

#[tokio::test]
async fn names_and_values_with_hidden_characters_are_refused() {
    let scene = Scene::new();
    let bundle = made(&scene, "acme").await;
    let operator = scene.as_operator();
    for (property, named) in [
        (
            json!({"city": {"type": "string"}, "to\u{200b}wn": {"type": "string"}}),
            "U+200B",
        ),
        (
            json!({"city": {"type": "string", "enum": ["a", "a\u{2066}"]}}),
            "U+2066",
        ),
        (
            json!({"city": {"type": "string", "default": "\u{e0041}"}}),
            "U+E0041",
        ),
    ] {
        let mut tool = weather();
        tool["argSchema"]["properties"] = property;
        let path = version(&bundle, "sly", "v1");
        let (status, body) = operator.put(&path, tool).await;
        assert_eq!(status, 400, "{body}");
        assert!(message(&body).contains(named), "{body}");
        let problem = &body["error"]["details"]["problems"][0];
        assert_eq!(problem["code"], "hidden-text", "{body}");
        assert_eq!(operator.get(&path).await.0, 404);
    }
}

#[tokio::test]
async fn a_look_alike_of_another_bundles_tool_is_refused() {
    let scene = Scene::new();
    let (acme, other) = (made(&scene, "acme").await, made(&scene, "other").await);
    let operator = scene.as_operator();
    operator
        .put(&version(&acme, "apple", "v1"), weather())
        .await;
    for slug in [
        "аpple",
        "ａｐｐｌｅ",
        "app1e",
        "reаd-file",
        "ｒｅａｄ-ｆｉｌｅ",
        "read-fiIe",
    ] {
        let path = version(&other, slug, "v1");
        let (status, body) = operator.put(&path, weather()).await;
        assert_eq!(status, 400, "{slug}: {body}");
        assert_eq!(
            body["error"]["details"]["problems"][0]["code"], "look-alike",
            "{body}"
        );
        let said = body["error"]["details"]["problems"][0]["message"]
            .as_str()
            .unwrap();
        assert!(said.is_ascii(), "what differs is shown: {body}");
        assert_eq!(operator.get(&path).await.0, 404);
    }
    // The same name, and what looks like nothing here.
    for slug in ["apple", "яблоко", "Apple", "ａｐｒｉｃｏｔ"] {
        let (status, body) = operator.put(&version(&other, slug, "v1"), weather()).await;
        assert_eq!(status, 201, "{slug}: {body}");
    }
    // A look-alike that its own bundle has is flagged, and has versions like others.
    for label in ["v1", "v2"] {
        let (status, body) = operator
            .put(&version(&acme, "аpple", label), weather())
            .await;
        assert_eq!(status, 201, "{body}");
    }
}
