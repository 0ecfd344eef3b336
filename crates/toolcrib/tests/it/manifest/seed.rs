//! S4's examples, as they stand there.

use toolcrib::manifest::{
    ErrorMode, Extract, Part, Placeholder, ResponseEncoding, Retry, Template, read,
};

use super::shown;
use crate::golden;

/// `tool.json (Example schema)`; what S4 leaves out as `{ ... }` is written out by the tests.
const TOOL: &str = r#"  {
    "schemaVersion" : "xyz",
    "bundleID"     : "018faf50-b7b6-7a01-9a05-a22a6e0af101",
    "slug"         : "weather",
    "version"      : "v2",
    "displayName"  : "Weather report",
    "description"  : "Fetch current weather for a city",
    "type"         : "http",          // "go" or "http"
    "isEnabled"    : true,
    "isBuiltIn"    : false,
    "argSchema"    : { ... },         // JSON-Schema
    "outputSchema" : { ... },         // JSON-Schema
    "impl"         : { ... },         // See below
    "createdAt"    : "2024-05-14T13:44:00Z",
    "modifiedAt"   : "2024-06-01T09:17:10Z"
  }
"#;

/// `Implementation block - HTTP`.
const IMPL: &str = r#"{
  "method": "GET",
  "urlTemplate": "https://api.weatherapi.com/v1/current.json?q=${city}&key=${WEATHER_API_KEY}",
  "headers": { "User-Agent": "MyApp/${version}" },
  "bodyTemplate": "",
  "successCodes": [200],
  "timeoutMs": 10000,
  "responseEncoding": "json", // "json" | "text"
  "extractExpr": "$.current.condition.text", // JSONPath or Regex
  "errorMode": "fail" // "fail" | "empty"
}
"#;

fn whole() -> String {
    let arguments = r#"{"type": "object", "properties": {"city": {"type": "string", "description": "A city"}}, "required": ["city"]}"#;
    TOOL.replacen("{ ... }", arguments, 1)
        .replacen("{ ... }", r#"{"type": "string"}"#, 1)
        .replacen("{ ... }", IMPL, 1)
}

#[test]
fn s4_the_example_is_read_as_it_is() {
    let reading = read(whole().as_bytes(), "tool");
    let codes: Vec<&str> = reading.problems.iter().map(|one| one.code).collect();
    // S4 puts its key into the URL. It has no tags: its method says what it does.
    assert_eq!(codes, ["secret-in-url"], "{}", shown(&reading));
    let tool = reading.definition.unwrap();
    assert_eq!(tool.name.as_str(), "weather");
    assert_eq!(tool.slug.as_str(), "weather");
    assert_eq!(tool.version.as_str(), "v2");
    assert_eq!(tool.display_name, "Weather report");
    assert!(tool.is_enabled);
    assert_eq!(tool.arguments().collect::<Vec<_>>(), ["city"]);
    assert_eq!(
        tool.output_schema.as_ref().unwrap().as_value()["type"],
        "string"
    );
    let [request] = tool.requests.as_slice() else {
        panic!()
    };
    assert_eq!(request.method, "GET");
    assert_eq!(request.url.origin, "https://api.weatherapi.com");
    assert_eq!(request.url.path, Template::literal("/v1/current.json"));
    let query = request.url.query.as_ref().unwrap();
    let names: Vec<&str> = query.placeholders().map(Placeholder::name).collect();
    assert_eq!(names, ["city", "WEATHER_API_KEY"]);
    assert!(matches!(&query.parts[1], Part::Value(Placeholder::Argument(name)) if name == "city"));
    assert!(matches!(
        &query.parts[3],
        Part::Value(Placeholder::Secret(_))
    ));
    assert_eq!(request.headers[0].0, "user-agent");
    assert!(request.body.is_none() && request.auth.is_none());
    assert_eq!(request.success_codes, [200]);
    assert_eq!(request.timeout.as_millis(), 10_000);
    assert_eq!(request.encoding, ResponseEncoding::Json);
    assert!(matches!(request.extract, Some(Extract::Path(_))));
    assert_eq!(request.error_mode, ErrorMode::Fail);
    assert_eq!(request.retry, Retry::default());
    let secrets: Vec<&str> = tool.secrets().iter().map(|name| name.as_str()).collect();
    assert_eq!(secrets, ["WEATHER_API_KEY"]);
}

#[test]
fn s4_the_bare_impl_block_is_enough_in_a_small_file() {
    let text = format!("{{\"description\": \"Fetch current weather\", \"impl\": {IMPL}}}");
    let reading = read(text.as_bytes(), "weather");
    // Without `argSchema` every name is a secret's.
    let tool = reading.definition.unwrap();
    assert_eq!(tool.secrets().len(), 2);
    assert_eq!(
        (tool.name.as_str(), tool.version.as_str()),
        ("weather", "v1")
    );
    assert_eq!(tool.display_name, "weather");
}

#[test]
fn s4_what_is_left_out_is_pointed_at() {
    let reading = read(TOOL.as_bytes(), "tool");
    assert!(reading.definition.is_none());
    let left_out = reading
        .problems
        .iter()
        .filter(|one| one.code == "json-syntax");
    assert_eq!(left_out.count(), 3, "{}", shown(&reading));
}

#[test]
fn s4_a_go_tool_is_not_a_file() {
    let go = whole().replace("\"http\",   ", "\"go\",   ");
    let reading = read(go.as_bytes(), "tool");
    let codes: Vec<&str> = reading.problems.iter().map(|one| one.code).collect();
    assert!(codes.contains(&"not-http"), "{}", shown(&reading));
}

/// Everything that is wrong is said at once, each at its place, in words that were reviewed.
#[test]
fn a_file_with_many_faults_says_all_of_them() {
    let text = r#"{
  // A tool in a bad state.
  "slug": "weather_report",
  "desciption": "Fetch current weather for a city",
  "isBuiltIn": true,
  "tags": "read",
  "argSchema": {
    "type": "object",
    "properties": {
      "city": {"type": "string", "description": "Name of the city"},
      "version": {"type": "string", "description": "Which one"},
      "units": {"type": "string"},
      "zip": {"$ref": "https://example.com/zip.json"},
    },
    "required": ["city"]
  },
  "impl": [
    {
      "method": "get",
      "urlTemplate": "https://${city}.example.com/v1?key=${API_KEY}",
      "headers": {"Host": "evil.example", "X-City": "${ciy}", "X-Bad Name": "1", "x-city": "2", "X-Line": "a\r\nb"},
      "successCodes": [200, 99, "201"],
      "timeoutMs": 0,
      "extractExpr": "$.a[",
      "retry": {"max": 11}
    },
    {
      "urlTemplate": "http://api.example.com/v1?units=${units}&q=${prev.value}&key=${API_KEY}&x=${",
      "bodyTemplate": "x",
      "responseEncoding": "xml",
      "auth": {"type": "bearer", "token": "${city}", "password": "x"}
    },
    {
      "method": "POST",
      "urlTemplate": "ftp://api.example.com/",
      "headers": {"Content-Type": "application/json"},
      "bodyTemplate": "{\"${city}\": 1}",
      "responseEncoding": "text",
      "extractExpr": "$.a",
      "auth": {"type": "oauth2", "clientId": "me"}
    }
  ],
  "isEnabled": "yes",
}
"#;
    let reading = read(text.as_bytes(), "weather");
    assert!(reading.definition.is_none());
    let rendered: Vec<String> = reading
        .problems
        .iter()
        .map(|problem| {
            toolcrib::definition::render(problem, "weather.json", text.as_bytes(), &|_, words| {
                words.to_owned()
            })
        })
        .collect();
    golden::assert_text("manifest/many-faults.txt", &rendered.join("\n"));
}
