//! The table of routes and what is made of it: who may use what, `openapi.json`, the page.

use std::collections::HashSet;
use std::path::PathBuf;

use http::Method;
use serde_json::{Value, json};
use toolcrib_server::api::{ParamIn, Route, Who};
use toolcrib_server::openapi;

use crate::harness::{Asking, Scene};

/// Compares with a file beside the tests; `UPDATE_GOLDEN=1` accepts what is there now.
fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "{} is not what the routes say now; look at the difference and accept it with UPDATE_GOLDEN=1",
        path.display()
    );
}

fn document(scene: &Scene) -> Value {
    openapi::document(scene.api.routes())
}

#[tokio::test]
async fn who_may_use_which_route_is_reviewed() {
    let scene = Scene::new();
    let mut lines: Vec<String> = scene
        .api
        .routes()
        .iter()
        .map(|route| format!("{} {} {:?}\n", route.method, route.path, route.who))
        .collect();
    lines.sort();
    golden("routes.txt", &lines.concat());
}

#[tokio::test]
async fn every_route_is_closed_to_whom_it_is_not_for() {
    let scene = Scene::new();
    let client = scene.as_client("app");
    let wrong = scene.with_token("a-token-of-another-server");
    let nobody = scene.as_nobody();
    // A body would be refused for other reasons; no one gets as far as that.
    let body = || Some(bytes::Bytes::from_static(b"not json"));
    for route in scene.api.routes().iter() {
        let path = route.path.replace(['{', '}'], "");
        let ask = async |asking: &Asking<'_>| {
            let (status, answer) = asking.send(route.method.clone(), &path, body()).await;
            let code = answer["error"]["code"].as_str().unwrap_or_default();
            (status.as_u16(), code.to_owned())
        };
        let row = describe(route);
        if route.who == Who::Anybody {
            continue;
        }
        let unknown = (401, "UNAUTHENTICATED".to_owned());
        assert_eq!(ask(&nobody).await, unknown, "{row}");
        assert_eq!(ask(&wrong).await, unknown, "{row}");
        if route.who == Who::Operator {
            assert_eq!(ask(&client).await, (403, "FORBIDDEN".to_owned()), "{row}");
        }
    }
}

#[tokio::test]
async fn the_description_is_reviewed() {
    let scene = Scene::new();
    let text = serde_json::to_string_pretty(&document(&scene)).unwrap();
    golden("openapi.json", &format!("{text}\n"));
}

fn describe(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

#[tokio::test]
async fn every_row_is_complete() {
    let scene = Scene::new();
    let (mut ids, mut places) = (HashSet::new(), HashSet::new());
    for route in scene.api.routes().iter() {
        let (doc, row) = (&route.doc, describe(route));
        assert!(!doc.id.is_empty() && !doc.topic.is_empty(), "{row}");
        assert!(doc.summary.ends_with('.'), "{row}: {}", doc.summary);
        assert!(ids.insert(doc.id), "{row}: `{}` twice", doc.id);
        assert!(places.insert(row.clone()), "{row} twice");
        assert!(
            doc.answers.iter().any(|answer| answer.status < 400),
            "{row} has no answer"
        );
        let mut names = HashSet::new();
        for param in &doc.params {
            assert!(
                names.insert((param.name, param.place as u8)),
                "{row}: {}",
                param.name
            );
            assert!(!param.about.is_empty(), "{row}: {}", param.name);
            if param.place == ParamIn::Path {
                let placeholder = format!("{{{}}}", param.name);
                assert!(route.path.contains(&placeholder), "{row}: no {placeholder}");
            }
        }
    }
}

#[tokio::test]
async fn every_parameter_of_a_path_is_described() {
    let scene = Scene::new();
    let document = document(&scene);
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let described: HashSet<&str> = operation["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|param| param["in"] == "path")
                .map(|param| {
                    assert_ne!(param["description"], "", "{method} {path} {param}");
                    param["name"].as_str().unwrap()
                })
                .collect();
            let placeholders: HashSet<&str> = path
                .split('/')
                .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
                .collect();
            assert_eq!(described, placeholders, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn the_description_leaves_out_pages_and_says_what_generators_need() {
    /// Schemas in which everything is an object, and every array and object says what is in it.
    fn check(schema: &Value, at: &str) {
        let Some(words) = schema.as_object() else {
            panic!("{at}: {schema}");
        };
        let is = |kind: &str| words.get("type").is_some_and(|of| of == kind);
        assert!(!is("array") || words.contains_key("items"), "{at}");
        let says = ["properties", "additionalProperties", "patternProperties"];
        assert!(
            !is("object") || says.iter().any(|word| words.contains_key(*word)),
            "{at}"
        );
        for (word, below) in words {
            let at = format!("{at}/{word}");
            match (word.as_str(), below) {
                ("properties", Value::Object(all)) => {
                    for (name, one) in all {
                        check(one, &format!("{at}/{name}"));
                    }
                }
                ("anyOf" | "oneOf" | "allOf", Value::Array(all)) => {
                    all.iter().for_each(|one| check(one, &at));
                }
                ("items" | "not", below) => check(below, &at),
                ("additionalProperties", below) if !below.is_boolean() => check(below, &at),
                _ => {}
            }
        }
    }
    let scene = Scene::new();
    let document = document(&scene);
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        check(schema, name);
    }
    for tag in document["tags"].as_array().unwrap() {
        assert_ne!(tag["description"], "", "{tag}");
    }
    for (path, methods) in document["paths"].as_object().unwrap() {
        assert!(path.starts_with("/api/") || !path.ends_with('/'), "{path}");
        for (method, operation) in methods.as_object().unwrap() {
            let at = format!("{method} {path}");
            assert!(operation["description"].is_string(), "{at}");
            let answers = operation["responses"].as_object().unwrap();
            assert!(answers.keys().any(|status| status.starts_with('2')), "{at}");
            for answer in answers.values() {
                for media in answer["content"].as_object().into_iter().flatten() {
                    check(&media.1["schema"], &at);
                }
            }
        }
    }
}

#[tokio::test]
async fn bodies_have_optional_properties_and_open_arguments() {
    let scene = Scene::new();
    let document = document(&scene);
    let schemas = &document["components"]["schemas"];
    for name in ["Call", "Invoke"] {
        let properties = &schemas[name]["properties"];
        assert_eq!(properties["args"]["additionalProperties"], true, "{name}");
        for property in ["approvals", "cancelOnDisconnect"] {
            assert_eq!(properties[property].get("default"), None, "{name}");
        }
    }
    let http = &schemas["HttpRequest"]["properties"];
    assert!(http["urlTemplate"]["description"].is_string(), "{http}");
    assert!(schemas["ArgumentsSchema"]["properties"]["required"].is_object());
}

#[tokio::test]
async fn a_call_names_one_tool_and_each_part_once() {
    let scene = Scene::new();
    let mut schema = document(&scene)["components"]["schemas"]["Call"].clone();
    let validator = jsonschema::draft202012::new(&schema.take()).unwrap();
    for (call, is_valid) in [
        (json!({"tool": "a"}), true),
        (json!({"name": "a", "arguments": {}, "id": "x"}), true),
        (json!({}), false),
        (json!({"tool": "a", "name": "a"}), false),
        (json!({"tool": "a", "args": {}, "arguments": {}}), false),
        (json!({"tool": "a", "id": "x", "callId": "x"}), false),
    ] {
        assert_eq!(validator.is_valid(&call), is_valid, "{call}");
    }
}

#[tokio::test]
async fn addresses_without_api_lead_to_those_with_it() {
    let scene = Scene::new();
    for name in ["health", "docs", "openapi.json"] {
        let path = format!("/{name}");
        let response = scene.as_nobody().raw(Method::GET, &path, "", None).await;
        assert_eq!(response.status(), 302, "{path}");
        let to = response.headers()["location"].to_str().unwrap();
        assert_eq!(to, format!("/api/{name}"));
    }
}

#[tokio::test]
async fn every_reference_leads_somewhere() {
    fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                    found.push(reference);
                }
                fields.values().for_each(|field| references(field, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }
    let scene = Scene::new();
    let document = document(&scene);
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(!found.is_empty());
    for reference in found {
        let pointer = reference
            .strip_prefix('#')
            .unwrap_or_else(|| panic!("{reference}"));
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn every_example_fits_its_schema() {
    let scene = Scene::new();
    let document = document(&scene);
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let media = &operation["requestBody"]["content"]["application/json"];
            if media.is_null() {
                continue;
            }
            let mut schema = media["schema"].clone();
            if let Some(fields) = schema.as_object_mut() {
                fields.insert("components".to_owned(), document["components"].clone());
            }
            let validator = jsonschema::draft202012::new(&schema)
                .unwrap_or_else(|error| panic!("{method} {path}: {error}"));
            if let Err(error) = validator.validate(&media["example"]) {
                panic!("{method} {path}: {error}: {}", media["example"]);
            }
        }
    }
}

#[tokio::test]
async fn the_served_description_is_this_one() {
    let scene = Scene::new();
    let (status, served) = scene.as_client("app").get("/api/openapi.json").await;
    assert_eq!(status, 200);
    assert_eq!(served, document(&scene));
    assert_eq!(served["openapi"], "3.1.0");
    assert_eq!(scene.as_nobody().get("/api/openapi.json").await.0, 401);
}

#[tokio::test]
async fn the_page_names_every_route_of_the_api_and_loads_nothing() {
    let scene = Scene::new();
    let page = openapi::page(scene.api.routes(), "http://localhost");
    for route in scene.api.routes().iter().filter(|route| !route.is_page) {
        assert!(
            page.contains(&format!("id=\"op-{}\"", route.doc.id)),
            "{}",
            describe(route)
        );
    }
    for loads in [
        "<script",
        "<link",
        "<img",
        "<iframe",
        "src=",
        "url(",
        "@import",
        "http-equiv",
        "onclick",
    ] {
        assert!(!page.contains(loads), "{loads}");
    }
    // Every link stays on the page.
    for link in page.split("href=\"").skip(1) {
        assert!(link.starts_with('#'), "{}", &link[..link.len().min(40)]);
        let id = link[1..].split('"').next().unwrap();
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
}
