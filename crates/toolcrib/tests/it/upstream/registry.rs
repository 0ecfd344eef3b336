//! Servers that a registry describes.

use super::*;
use toolcrib::ErrorCode;
use toolcrib::testing::{Reply, ScriptedServer};

#[tokio::test]
async fn the_latest_version_of_a_server_comes_from_the_configured_registry() {
    let registry = ScriptedServer::start(|request| match request.target.as_str() {
        "/api/v0.1/servers/io.test%2Fweather/versions/latest" => {
            Reply::json(&json!({"server": {"name": "io.test/weather"}, "_meta": {}}))
        }
        _ => Reply::status(404),
    });
    let home = tempfile::tempdir().unwrap();
    let settings = format!("[mcp]\nregistry = \"{}\"\n", registry.url("/api"));
    std::fs::write(home.path().join("config.toml"), settings).unwrap();
    let crib = open(home.path());
    let found = crib.registry_server("io.test/weather").await.unwrap();
    assert_eq!(found, json!({"name": "io.test/weather"}));
    let error = crib.registry_server("io.test/nothing").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound, "{error}");
    let without = Scene::new();
    let error = without
        .crib
        .registry_server("io.test/weather")
        .await
        .unwrap_err();
    assert!(error.message().contains("mcp.registry"), "{error}");
}
