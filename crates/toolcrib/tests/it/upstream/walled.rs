//! Servers behind a wall: what they may read, write and reach, and what is left of them.

use super::*;
use toolcrib::ErrorCode;
use toolcrib::testing::{Reply, ScriptedServer};

/// The settings of the server of the tests behind a wall.
fn walled(sandbox: Value) -> Value {
    let mut settings = fake("walled", None);
    settings["sandbox"] = sandbox;
    settings
}

async fn tried(scene: &Scene, what: &str, of: &str) -> String {
    let outcome = scene.call("try", json!({"what": what, "of": of})).await;
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:#?}"));
    value.as_str().unwrap().to_owned()
}

async fn variable(scene: &Scene, name: &str) -> String {
    let outcome = scene.call("variable", json!({"name": name})).await;
    outcome.value().unwrap().as_str().unwrap().to_owned()
}

#[tokio::test]
async fn it_reads_and_writes_its_own_directory_and_what_the_settings_name() {
    let scene = Scene::new();
    let outside = tempfile::tempdir().unwrap();
    for name in ["read", "write", "secret"] {
        std::fs::create_dir(outside.path().join(name)).unwrap();
        std::fs::write(outside.path().join(name).join("f"), name).unwrap();
    }
    let path = |name: &str| outside.path().join(name).to_str().unwrap().to_owned();
    let sandbox =
        json!({"level": "process", "read": [SERVER, path("read")], "write": [path("write")]});
    scene.add("walled", walled(sandbox)).await;
    assert_eq!(tried(&scene, "read", &path("read/f")).await, "read");
    assert_eq!(tried(&scene, "write", &path("write/new")).await, "written");
    assert_eq!(
        std::fs::read_to_string(path("write/new")).unwrap(),
        "written"
    );
    for (what, of) in [
        ("read", path("secret/f")),
        ("write", path("read/f")),
        ("write", path("secret/f")),
        ("read", file(&scene, "config.toml").display().to_string()),
    ] {
        let said = tried(&scene, what, &of).await;
        assert!(said.starts_with("failed: "), "{what} {of}: {said}");
    }
    let state = file(&scene, "upstream-state/walled");
    assert_eq!(variable(&scene, "HOME").await, state.to_str().unwrap());
    assert_eq!(tried(&scene, "write", "~/kept").await, "written");
    assert_eq!(
        std::fs::read_to_string(state.join("kept")).unwrap(),
        "written"
    );
    scene.crib.remove_upstream("walled").unwrap();
    assert!(!state.exists());
}

#[tokio::test]
async fn paths_in_its_arguments_can_be_read_unless_the_settings_name_others() {
    let scene = Scene::new();
    let outside = tempfile::tempdir().unwrap();
    let note = outside.path().join("note");
    std::fs::write(&note, "milk").unwrap();
    let note = note.to_str().unwrap();
    let mut settings = walled(json!({"level": "process"}));
    settings["args"] = json!([SERVER, "walled", "", note]);
    scene.add("walled", settings.clone()).await;
    assert_eq!(tried(&scene, "read", note).await, "milk");
    assert!(tried(&scene, "write", note).await.starts_with("failed: "));
    settings["sandbox"]["read"] = json!([SERVER]);
    scene.crib.remove_upstream("walled").unwrap();
    scene.add("walled", settings).await;
    assert!(tried(&scene, "read", note).await.starts_with("failed: "));
}

#[tokio::test]
async fn it_gets_a_proxy_its_own_caches_and_only_the_variables_that_were_named() {
    let scene = Scene::new();
    let sandbox = json!({"level": "process", "environment": ["CARGO_PKG_NAME"]});
    scene.add("walled", walled(sandbox)).await;
    for (name, expected) in [
        ("HTTPS_PROXY", "http://127.0.0.1:3128"),
        ("NODE_USE_ENV_PROXY", "1"),
        ("npm_config_offline", "true"),
        ("UV_OFFLINE", "1"),
        ("CARGO_PKG_NAME", env!("CARGO_PKG_NAME")),
        ("CARGO_PKG_VERSION", "(unset)"),
    ] {
        assert_eq!(variable(&scene, name).await, expected, "{name}");
    }
    let state = file(&scene, "upstream-state/walled");
    for name in ["npm_config_cache", "UV_CACHE_DIR", "XDG_CACHE_HOME"] {
        let cache = variable(&scene, name).await;
        assert!(Path::new(&cache).starts_with(&state), "{name}: {cache}");
    }
}

#[tokio::test]
async fn it_reaches_the_hosts_of_its_settings_through_the_guard_and_no_other() {
    let web = ScriptedServer::start(|_| Reply::ok("hello"));
    let host = web.host();
    let home = tempfile::tempdir().unwrap();
    std::fs::write(
        home.path().join("config.toml"),
        format!("allowedHosts = [\"{host}\"]\n"),
    )
    .unwrap();
    let crib = open(home.path());
    let scene = Scene { home, crib };
    let sandbox = json!({"level": "process", "hosts": [host]});
    scene.add("open", walled(sandbox)).await;
    assert_eq!(tried(&scene, "fetch", &web.url("/")).await, "hello");
    // Not even by a way that asks no proxy.
    let dialled = tried(&scene, "dial", &host).await;
    assert!(dialled.starts_with("failed: "), "{dialled}");
    scene.crib.remove_upstream("open").unwrap();
    scene.add("shut", walled(json!({"level": "process"}))).await;
    let said = tried(&scene, "fetch", &web.url("/")).await;
    assert!(said.starts_with("403: toolcrib: "), "{said}");
    let view = scene.crib.upstream("shut").unwrap();
    assert_eq!(view.refused_hosts, std::slice::from_ref(&host));
    assert!(
        view.notes().iter().any(|note| note.contains(&host)),
        "{:?}",
        view.notes()
    );
    assert_eq!(web.received().len(), 1);
}

#[tokio::test]
async fn who_looks_at_it_sees_what_it_wanted_to_reach() {
    let web = ScriptedServer::start(|_| Reply::ok("hello"));
    let scene = Scene::new();
    let mut settings = fake("walled", Some(Path::new(&web.url("/"))));
    settings["sandbox"] = json!({"level": "process"});
    let probe = scene
        .crib
        .probe_candidate(&candidate("curious", settings))
        .await
        .unwrap();
    let [reached] = probe.network.as_slice() else {
        panic!("{:?}", probe.network);
    };
    assert_eq!(
        (reached.host.as_str(), reached.allowed),
        (web.host().as_str(), false)
    );
    assert!(web.received().is_empty());
}

#[tokio::test]
async fn a_wall_cannot_be_opened_to_toolcribs_own_data() {
    let scene = Scene::new();
    let home = scene.home.path().to_str().unwrap();
    for (key, place) in [("read", home), ("write", home)] {
        let mut sandbox = json!({"level": "process"});
        sandbox[key] = json!([place]);
        let candidate = candidate("sly", walled(sandbox));
        let error = scene.crib.probe_candidate(&candidate).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::SandboxUnavailable, "{error}");
        assert!(error.message().contains("Toolcrib's own data"), "{error}");
    }
    let mut named = walled(json!({"level": "process"}));
    named["args"] = json!([SERVER, "walled", "", home]);
    scene.add("named", named).await;
    let config = file(&scene, "config.toml").display().to_string();
    let said = tried(&scene, "read", &config).await;
    assert!(said.starts_with("failed: "), "{said}");
}

#[tokio::test]
async fn a_failure_to_start_says_that_there_is_a_wall() {
    let scene = Scene::new();
    let outside = tempfile::tempdir().unwrap();
    let settings = json!({"command": "python3", "args": ["-c", format!("open({:?})", outside.path().join("x"))],
        "sandbox": {"level": "process"}});
    let failed = scene
        .crib
        .probe_candidate(&candidate("shut", settings))
        .await;
    let error = failed.unwrap_err();
    assert!(
        error
            .message()
            .contains("`upstreams.shut.sandbox` says what it may read"),
        "{error}"
    );
}

#[tokio::test]
async fn nothing_of_it_is_left_when_its_connection_ends() {
    let scene = Scene::new();
    scene
        .add("walled", walled(json!({"level": "process"})))
        .await;
    // A time that no other process of the machine sleeps for.
    let time = format!(
        "{}.{}",
        3000 + std::process::id() % 1000,
        std::process::id()
    );
    assert_eq!(tried(&scene, "leave", &time).await, "left");
    assert_eq!(sleeping(&time), 1);
    scene.crib.remove_upstream("walled").unwrap();
    drop(scene);
    let deadline = Instant::now() + Duration::from_secs(10);
    while sleeping(&time) > 0 {
        assert!(Instant::now() < deadline, "it sleeps on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How many processes sleep for just this time.
fn sleeping(time: &str) -> usize {
    let wanted = format!("sleep\0{time}\0");
    let all = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    all.filter(|entry| {
        std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == wanted.as_bytes())
    })
    .count()
}
