//! Archives of bundles: what is read, what is refused, and that other programs read the same.

mod contents;
mod made_elsewhere;
mod mutations;
mod refusals;
mod round_trip;
mod zips;

use serde_json::{Value, json};

const BUNDLE_ID: &str = "018faf50-b7b6-7a01-9a05-a22a6e0af101";

/// A `bundle.json`.
fn bundle() -> Value {
    json!({
        "schemaVersion": "1", "bundleID": BUNDLE_ID, "slug": "acme", "displayName": "Acme",
        "description": "Orders", "isEnabled": true, "isBuiltIn": false,
        "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-06-01T09:17:10Z"
    })
}

/// A tool of it that sends a request.
fn tool(slug: &str, version: &str) -> Value {
    json!({
        "schemaVersion": "1", "bundleID": BUNDLE_ID,
        "toolID": toolcrib::model::ids::ToolId::generate().to_string(),
        "slug": slug, "version": version, "displayName": "", "description": "Says how the weather is",
        "type": "http", "isEnabled": true, "isBuiltIn": false,
        "argSchema": {"type": "object", "properties": {"city": {"type": "string", "description": "Where"}}, "required": ["city"]},
        "impl": {"method": "GET", "urlTemplate": "https://api.example.com/v1?q=${city}", "headers": {"X-Key": "${WEATHER_KEY}"}},
        "tags": ["read"],
        "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-06-01T09:17:10Z"
    })
}
