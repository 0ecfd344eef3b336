//! The web admin's page and files, and what a build without them shows.

use http::Method;
use http_body_util::BodyExt as _;
use toolcrib_server::web::Web;

use crate::harness::Scene;

async fn get(scene: &Scene, path: &str) -> (u16, http::HeaderMap, String) {
    let response = scene.as_nobody().raw(Method::GET, path, "", None).await;
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (parts.status.as_u16(), parts.headers, text)
}

fn built(directory: &std::path::Path) -> Scene {
    std::fs::create_dir(directory.join("assets")).unwrap();
    std::fs::write(directory.join("secret.txt"), "outside").unwrap();
    std::fs::write(directory.join("assets/index-1a2b.js"), "run()").unwrap();
    let html = "<meta name=\"nonce\" content=\"__NONCE__\">";
    std::fs::write(directory.join("index.html"), html).unwrap();
    let web = Web::Directory(directory.to_owned());
    Scene::with_api(|options| toolcrib_server::ApiOptions { web, ..options })
}

#[tokio::test]
async fn the_page_is_at_every_address_and_is_never_cached() {
    let directory = tempfile::tempdir().unwrap();
    let scene = built(directory.path());
    let mut nonces = Vec::new();
    for path in [
        "/ui/",
        "/ui/tools",
        "/ui/calls?tool=read_file&status=failed",
        "/ui/tools/core/read-file/v1",
    ] {
        let (status, headers, html) = get(&scene, path).await;
        assert_eq!(status, 200, "{path}");
        assert_eq!(headers["cache-control"], "no-store");
        assert_eq!(headers["content-type"], "text/html; charset=utf-8");
        let nonce = html.split('"').nth(3).unwrap().to_owned();
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert_eq!(
            policy,
            format!(
                "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; img-src 'self' data:; \
                 font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; \
                 require-trusted-types-for 'script'; trusted-types 'none'"
            )
        );
        assert_eq!(headers.get_all("content-security-policy").iter().count(), 1);
        nonces.push(nonce);
    }
    nonces.dedup();
    assert_eq!(nonces.len(), 4);
}

#[tokio::test]
async fn files_of_the_page_are_cached_for_good_and_lead_nowhere_else() {
    let directory = tempfile::tempdir().unwrap();
    let scene = built(directory.path());
    let (status, headers, text) = get(&scene, "/ui/assets/index-1a2b.js").await;
    assert_eq!((status, text.as_str()), (200, "run()"));
    assert_eq!(headers["content-type"], "text/javascript; charset=utf-8");
    assert_eq!(
        headers["cache-control"],
        "public, max-age=31536000, immutable"
    );
    for path in [
        "/ui/assets/gone-1a2b.js",
        "/ui/assets/..%2Fsecret.txt",
        "/ui/assets/%2e%2e",
    ] {
        let (status, _, text) = get(&scene, path).await;
        assert!(matches!(status, 401 | 404), "{path}: {status}");
        assert!(!text.contains("outside"));
    }
}

#[tokio::test]
async fn a_build_without_a_web_admin_says_how_to_get_it() {
    let directory = tempfile::tempdir().unwrap();
    let web = Web::Directory(directory.path().to_owned());
    let scene = Scene::with_api(|options| toolcrib_server::ApiOptions { web, ..options });
    let (status, headers, html) = get(&scene, "/ui/").await;
    assert_eq!(status, 200);
    assert!(
        html.contains("TOOLCRIB_WEB=on cargo build --release"),
        "{html}"
    );
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
}

#[tokio::test]
async fn a_browser_is_led_to_the_page() {
    let scene = Scene::new();
    for from in ["/", "/ui", "/?utm=x"] {
        let (status, headers, _) = get(&scene, from).await;
        assert_eq!(
            (status, &headers["location"]),
            (302, &"/ui/".parse().unwrap())
        );
    }
}

#[tokio::test]
async fn many_tools_are_switched_at_once_and_the_unknown_are_named() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let tools = serde_json::json!(["core/shell@v1", "core/nothing@v1", "read_file"]);
    let body = serde_json::json!({"tools": tools, "isEnabled": false});
    let (status, done) = operator.post("/api/tools/switch", body).await;
    assert_eq!(status, 200);
    assert_eq!(
        done["changed"],
        serde_json::json!(["core/shell@v1", "read_file"])
    );
    assert_eq!(done["refused"][0]["tool"], "core/nothing@v1");
    assert_eq!(done["refused"][0]["code"], "TOOL_NOT_FOUND");
    let (_, list) = operator
        .get("/api/tools?tools=shell,read_file,list_directory")
        .await;
    let is_on = |name: &str| {
        let rows = list["tools"].as_array().unwrap().iter();
        let mut rows = rows.filter(|row| row["name"] == name);
        rows.next().unwrap()["isEnabled"] == true
    };
    assert!(!is_on("shell") && !is_on("read_file") && is_on("list_directory"));
}

#[tokio::test]
async fn a_tool_in_a_bundle_that_is_off_keeps_no_other_from_being_switched() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let bundle = crate::bundles::made(&scene, "kit").await;
    let path = format!("{bundle}/tools/weather/version/v1");
    assert_eq!(operator.put(&path, crate::tools::weather()).await.0, 201);
    let off = serde_json::json!({"isEnabled": false});
    assert_eq!(operator.patch(&bundle, off).await.0, 200);
    let body = serde_json::json!({"tools": ["kit/weather", "read_file"], "isEnabled": false});
    let (status, done) = operator.post("/api/tools/switch", body).await;
    assert_eq!(
        (status.as_u16(), &done["changed"]),
        (200, &serde_json::json!(["read_file"])),
        "{done}"
    );
    assert_eq!(done["refused"][0]["tool"], "kit/weather");
    assert_eq!(done["refused"][0]["code"], "CONFLICT");
}

#[tokio::test]
async fn a_switch_of_the_failing_counts_failures_not_refusals_and_a_dry_run_switches_none() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let calls = [
        ("read_file", serde_json::json!({"path": "gone.txt"})),
        ("shell", serde_json::json!({"command": "rm -rf /"})),
        ("list_directory", serde_json::json!({"path": "."})),
    ];
    for (tool, args) in calls {
        let call = serde_json::json!({"tool": tool, "args": args});
        operator.post("/api/calls", call).await;
    }
    let failing = serde_json::json!({"state": "failing"});
    let body = |dry| serde_json::json!({"filter": failing, "isEnabled": false, "dryRun": dry});
    let is_on = async || {
        let (_, list) = operator.get("/api/tools?tools=read_file").await;
        list["tools"][0]["isEnabled"] == true
    };
    let meant = serde_json::json!({"changed": ["core/read-file@v1"], "refused": []});
    assert_eq!(
        operator.post("/api/tools/switch", body(true)).await.1,
        meant
    );
    assert!(is_on().await);
    assert_eq!(
        operator.post("/api/tools/switch", body(false)).await.1,
        meant
    );
    assert!(!is_on().await);
    for (status, codes) in [
        (
            "failed",
            serde_json::json!(["BLOCKED_BY_RULE", "FILE_NOT_FOUND"]),
        ),
        ("refused", serde_json::json!(["BLOCKED_BY_RULE"])),
        ("error", serde_json::json!(["FILE_NOT_FOUND"])),
    ] {
        let (_, list) = operator.get(&format!("/api/calls?status={status}")).await;
        let calls = list["calls"].as_array().unwrap().iter();
        let found: Vec<_> = calls.map(|call| call["code"].clone()).collect();
        assert_eq!(serde_json::json!(found), codes, "{status}");
    }
}

#[tokio::test]
async fn a_plan_says_what_a_call_would_do_and_does_nothing() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let call = serde_json::json!({"tool": "write_file", "args": {"path": "a.txt", "content": "a"}});
    let (status, plan) = operator.post("/api/plan", call).await;
    assert_eq!(status, 200, "{plan}");
    assert_eq!(plan["verdict"], "allow");
    assert_eq!(plan["reference"], "core/write-file@v1");
    assert!(!scene.work().join("a.txt").exists());
    let (_, calls) = operator.get("/api/calls").await;
    assert_eq!(calls["calls"], serde_json::json!([]));
    let wrong = serde_json::json!({"tool": "write_file", "args": {}});
    let (status, refused) = operator.post("/api/plan", wrong).await;
    assert_eq!(
        (status.as_u16(), &refused["error"]["code"]),
        (400, &"INVALID_ARGUMENTS".into())
    );
}
