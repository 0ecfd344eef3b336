//! `openapi.json` (OpenAPI 3.1) and its page, both made from the table of routes.
//!
//! What the kernel refuses by itself is added to every route where it can happen, so that rows of the table only say what is theirs.

mod operation;
mod page;
mod schema_words;
mod shapes;
mod topics;

use serde_json::{Map, Value, json};
use toolcrib::ErrorCode;

use crate::api::Route;
use crate::routes::Routes;

pub use page::page;
use shapes::Shapes;

/// The description of every route.
pub fn document(routes: &Routes) -> Value {
    let mut shapes = Shapes::new();
    let mut paths = Map::new();
    for route in described(routes) {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation::describe(route, &mut shapes);
    }
    let mut schemas = shapes.into_definitions();
    schemas.insert(ERROR.to_owned(), error_schema());
    schemas.sort_keys();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Toolcrib",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "tags": tags(routes),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The operator's token (the file `token` of Toolcrib's home directory, or `TOOLCRIB_TOKEN`), or a client's (`toolcrib clients add NAME`).",
                },
            },
        },
    })
}

const ABOUT: &str = "Define a tool once; run it safely from a shell, a program, or any model that can call tools. Every request carries \
`Authorization: Bearer TOKEN`, but for those to `/api/health`, `/api/ready`, `/api/docs`, `/` and `/ui/`. Bodies are JSON in UTF-8 without duplicate keys; parameters that a route does not list are refused. Errors \
are `{\"ok\": false, \"error\": {\"code\", \"message\", \"details\"?}}` with the status that belongs to the code. `HEAD` is answered like \
`GET`.";

/// The name of the schema of errors.
const ERROR: &str = "Error";

/// A reference to the schema of errors.
pub(crate) fn error_reference() -> Value {
    json!({"$ref": format!("#/components/schemas/{ERROR}")})
}

fn error_schema() -> Value {
    let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    json!({
        "type": "object",
        "description": "Why a request was not carried out.",
        "required": ["ok", "error"],
        "properties": {
            "ok": {"const": false},
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {
                    "code": {"type": "string", "enum": codes},
                    "message": {"type": "string", "description": "For people: what happened, and what to do."},
                    "details": {"type": "object", "additionalProperties": true, "description": "What else there is to know, by the code."},
                },
            },
            "metadata": {"type": "object", "additionalProperties": true, "description": "Of the call, where there was one."},
        },
    })
}

fn tags(routes: &Routes) -> Vec<Value> {
    let tag = |topic| json!({"name": topic, "description": topics::about(topic)});
    topics(routes).into_iter().map(tag).collect()
}

/// The routes of the API: pages, and what leads to them, are for browsers.
fn described(routes: &Routes) -> impl Iterator<Item = &Route> {
    routes.iter().filter(|route| !route.is_page)
}

/// The parts of the documentation, in the order of the table.
fn topics(routes: &Routes) -> Vec<&'static str> {
    let mut topics = Vec::new();
    for route in described(routes) {
        if !topics.contains(&route.doc.topic) {
            topics.push(route.doc.topic);
        }
    }
    topics
}

/// The values of a route's path, in order.
pub(crate) fn path_names(route: &Route) -> impl Iterator<Item = &'static str> {
    route.path.split('/').filter_map(crate::api::value_name)
}
