//! `.json` tools for their authors: check, trust, show, explain, and what does not apply to them.

use crate::harness::{Test, golden};

const WEATHER: &str = r#"{
  // S4's example, with tags.
  "slug": "weather",
  "version": "v2",
  "description": "Fetch current weather for a city",
  "tags": ["read"],
  "argSchema": {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Name of the city"}},
    "required": ["city"],
  },
  "impl": {
    "urlTemplate": "https://api.weatherapi.com/v1/current.json?q=${city}",
    "headers": {"User-Agent": "MyApp/${version}", "X-Key": "${WEATHER_API_KEY}"},
    "extractExpr": "$.current.condition.text",
  },
}
"#;

const BROKEN: &str = r#"{
  "description": "Asks"
  "tags": ["read"],
  "impl": {"urlTempalte": "https://${host}/", "method": "post"},
}
"#;

fn tools() -> Test {
    Test::new()
        .file(".toolcrib/tools/weather.json", WEATHER)
        .file(".toolcrib/tools/broken.json", BROKEN)
        .file(".toolcrib/tools/odd.jsonc", WEATHER)
}

#[test]
fn a_json_tool_is_checked_trusted_shown_and_explained() {
    let test = tools();
    let mut text = String::new();
    for words in [
        &["check"][..],
        &["check", "--json", ".toolcrib/tools/broken.json"],
        &["check", "--strict", ".toolcrib/tools/weather.json"],
        &["check", ".toolcrib/tools/odd.jsonc"],
        &["trust", "--yes"],
        &["show", "weather"],
        &["explain", "impl.urlTemplate"],
        &["explain", "url-placeholder"],
    ] {
        let ran = test.run(words);
        text.push_str(&format!(
            "$ toolcrib {}\n{}{}exit {}\n\n",
            words.join(" "),
            ran.stdout,
            ran.stderr,
            ran.code
        ));
    }
    let workspace = test.workspace().display().to_string();
    golden("http_files.txt", &text.replace(&workspace, "WORKSPACE"));
    let ran = test.run(&["test", "weather"]).exits(0);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        said.contains("`weather` has no tests (.toolcrib/tools/weather.json)\n0 passed ("),
        "{said}"
    );
}

#[test]
fn what_a_tool_needs_to_be_called_is_explained() {
    let test = tools();
    test.run(&["trust", "--yes"]).exits(0);
    let ran = test.run(&["explain", "weather"]).exits(0);
    assert!(
        ran.stdout
            .contains("toolcrib config set --add allowedHosts api.weatherapi.com"),
        "{ran:?}"
    );
    assert!(
        ran.stdout
            .contains("`toolcrib secret set WEATHER_API_KEY --host api.weatherapi.com`"),
        "{ran:?}"
    );
    let json = test.run(&["explain", "weather", "--json"]).exits(0).json();
    assert_eq!(json["hosts"][0]["entry"], "api.weatherapi.com");
    assert_eq!(json["hosts"][0]["allowed"], false);
    assert_eq!(json["secrets"][0]["kept"], false);
    let listed = test.variable("TOOLCRIB_ALLOWED_HOSTS", "api.weatherapi.com");
    let json = listed
        .run(&["explain", "weather", "--json"])
        .exits(0)
        .json();
    assert_eq!(json["hosts"][0]["allowed"], true, "{json:#}");
}

#[test]
fn misspelt_fields_are_put_right_and_the_rest_is_said() {
    let test = tools();
    let ran = test
        .run(&["check", "--fix", ".toolcrib/tools/broken.json"])
        .exits(4);
    assert!(ran.stdout.contains("url-placeholder"), "{ran:?}");
    let path = test.workspace().join(".toolcrib/tools/broken.json");
    let fixed = std::fs::read_to_string(path).unwrap();
    assert_eq!(
        fixed,
        BROKEN
            .replace("\"Asks\"", "\"Asks\",")
            .replace("urlTempalte", "urlTemplate")
            .replace("post", "POST")
    );
}

#[test]
fn both_formats_have_a_published_schema_and_stdin_is_either() {
    let ran = Test::new().run(&["check", "--schema=http"]).exits(0);
    let published = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../schema/toolcrib-http-tool.schema.json"
    );
    assert_eq!(ran.stdout, std::fs::read_to_string(published).unwrap());
    let test = Test::new();
    test.run_with_input(&["check", "-"], WEATHER).exits(0);
    test.run_with_input(
        &["check", "-"],
        "description: Lists\ntags: [read]\nbash: ls\n",
    )
    .exits(0);
    for provider in ["openai", "anthropic", "mcp"] {
        let test = tools();
        test.run(&["check", ".toolcrib/tools/weather.json", "--for", provider])
            .exits(0);
    }
}
