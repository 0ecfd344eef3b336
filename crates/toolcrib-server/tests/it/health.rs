//! Whether the server says that it is there.

use crate::harness::Scene;

#[tokio::test]
async fn health_needs_no_token() {
    let scene = Scene::new();
    let (status, body) = scene.as_nobody().get("/api/health").await;
    assert_eq!(status, 200);
    assert_eq!(body["status"], "ok");
}
