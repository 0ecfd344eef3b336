//! What the record of a call says about what left, and the settings behind it.

use super::*;
use sha2::{Digest as _, Sha256};
use toolcrib::config::{Config, Surroundings};
use toolcrib::testing::{Reply, TestCrib};
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, CribOptions, FnTool, LimitsPatch};

/// A tool that fetches a URL that is decided by its maker.
fn fetching(egress: Egress, url: String) -> FnTool {
    FnTool::new("fetching", "Fetches", move |(), cx| {
        let (egress, mut request) = (egress.clone(), get(&url));
        async move {
            request.log = cx.exchanges();
            let response = egress
                .send(request)
                .await
                .map_err(toolcrib::ToolError::from)?;
            Ok(String::from_utf8_lossy(&response.body).into_owned())
        }
    })
    .unwrap()
}

async fn record(url: &str, egress: Egress) -> serde_json::Value {
    let test = TestCrib::new().with(|builder| {
        builder.limits(&LimitsPatch {
            timeout_ms: Some(400),
            ..LimitsPatch::default()
        })
    });
    test.registry()
        .register(fetching(egress, url.to_owned()))
        .unwrap();
    test.registry().execute(CallRequest::new("fetching")).await;
    serde_json::to_value(&test.records()[0]).unwrap()
}

#[tokio::test]
async fn a_record_has_every_hop_by_length_and_digest_and_never_the_url() {
    let server = ScriptedServer::start(|request| match request.target.as_str() {
        "/done" => Reply::ok("12345"),
        _ => Reply::redirect(302, "/done"),
    });
    let url = server.url("/?d=SENTINEL");
    let record = record(&url, to(&server)).await;
    let done = server.url("/done");
    let digest = |url: &str| {
        let digest = Sha256::digest(url);
        digest
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let hop = |url: &str, status: u16, received: u64| {
        serde_json::json!({
            "method": "GET", "host": server.host(), "urlBytes": url.len(), "urlDigest": digest(url),
            "status": status, "sent": 0, "received": received,
        })
    };
    assert_eq!(
        record["network"],
        serde_json::json!([hop(&url, 302, 0), hop(&done, 200, 5)])
    );
    assert!(!record.to_string().contains("SENTINEL"), "{record}");
}

#[tokio::test]
async fn a_record_also_says_what_left_when_nothing_came_back() {
    let server = ScriptedServer::start(|request| match request.target.as_str() {
        "/slow" => Reply::ok(vec![b'x'; 1000]).slowly(1, Duration::from_millis(10)),
        _ => Reply::raw("garbage\r\n\r\n"),
    });
    let stopped = record(&server.url("/slow"), to(&server)).await;
    assert_eq!(stopped["code"], "TIMEOUT");
    assert_eq!(stopped["network"][0]["status"], 200);
    assert!(stopped["network"][0]["received"].as_u64().unwrap() > 0);
    let failed = record(&server.url("/garbage"), to(&server)).await;
    assert_eq!(failed["code"], "UPSTREAM_ERROR");
    assert_eq!(failed["network"].as_array().unwrap().len(), 1);
    let refused = record(&server.url("/refused"), egress(&[])).await;
    assert_eq!(refused["code"], "HOST_NOT_ALLOWED");
    assert_eq!(refused.get("network"), None, "nothing left");
}

fn crib(config: &str) -> Result<(tempfile::TempDir, toolcrib::Crib), String> {
    let dir = tempfile::tempdir().unwrap();
    let (home, workspace) = (dir.path().join("home"), dir.path().join("workspace"));
    std::fs::create_dir_all(&home).unwrap();
    std::fs::create_dir_all(&workspace).unwrap();
    std::fs::write(home.join("config.toml"), config).unwrap();
    let options = CribOptions::default()
        .surroundings(Surroundings::new(&workspace, []))
        .home(&home)
        .workspace(&workspace);
    match options.open() {
        Ok(crib) => Ok((dir, crib)),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn a_crib_reaches_what_its_settings_name() {
    let server = ScriptedServer::start(|_| Reply::ok("hello"));
    let (_dir, listed) = crib(&format!("allowedHosts = [\"{}\"]", server.host())).unwrap();
    assert!(fetch(listed.egress(), &server.url("/")).await.is_ok());
    let (_dir, unlisted) = crib("").unwrap();
    assert!(is_refused(
        &fetch(unlisted.egress(), &server.url("/")).await
    ));
}

#[test]
fn a_wrong_setting_is_named_with_what_to_write() {
    for (config, expected) in [
        (
            "allowedHosts = \"x\"",
            "`allowedHosts`: must be a list of hosts",
        ),
        ("allowedHosts = [1]", "must be a list of hosts"),
        (
            "allowedHosts = [\"https://x.test\"]",
            "`https://x.test` is not a host; write `api.example.com`",
        ),
        (
            "[network]\nprivateHosts = [\"10.0.0.1:80\"]",
            "belongs into `allowedHosts`",
        ),
        (
            "[network]\nproxy = \"socks5://x\"",
            "`network.proxy`: `socks5:` is not a way out",
        ),
        ("[network]\nproxy = 3", "must be a proxy like"),
        (
            "[network]\ncertificates = \"/nonexistent.pem\"",
            "cannot read /nonexistent.pem (`network.certificates`)",
        ),
        (
            "[network]\ncertificates = \"relative.pem\"",
            "must be an absolute path",
        ),
        ("allowedHost = []", "did you mean `allowedHosts`?"),
    ] {
        let error = crib(config).map(|_| ()).unwrap_err();
        assert!(error.contains(expected), "{config}: {error}");
    }
}

#[test]
fn an_entry_that_opens_nothing_is_a_warning() {
    let (_dir, crib) = crib("allowedHosts = [\"localhost\", \"api.example.test\"]").unwrap();
    let warnings = crib.setting_warnings();
    assert_eq!(
        warnings,
        [
            "`allowedHosts`: `localhost` opens nothing: an address that is not public needs its port, as in `localhost:8080`"
        ]
    );
}

#[test]
fn a_project_keeps_of_the_hosts_what_both_have_and_adds_none() {
    let kept = |home: &str, project: &str| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".toolcrib")).unwrap();
        std::fs::write(dir.path().join("config.toml"), home).unwrap();
        std::fs::write(dir.path().join(".toolcrib/config.toml"), project).unwrap();
        let mut config = Config::load(dir.path(), &Surroundings::new(dir.path(), [])).unwrap();
        config
            .tighten_by_project(&Workspace::open(dir.path()).unwrap())
            .unwrap();
        config
            .egress()
            .unwrap()
            .allowed_hosts
            .entries()
            .collect::<Vec<_>>()
    };
    let home = "allowedHosts = [\"a.test\", \"*.b.test\"]";
    assert_eq!(kept(home, ""), ["a.test", "*.b.test"]);
    assert_eq!(kept(home, "allowedHosts = []"), Vec::<String>::new());
    assert_eq!(
        kept(
            home,
            "allowedHosts = [\"x.b.test\", \"evil.test\", \"127.0.0.1:80\"]"
        ),
        ["x.b.test"]
    );
    assert_eq!(
        kept("", "allowedHosts = [\"evil.test\"]"),
        Vec::<String>::new()
    );
    assert_eq!(kept(home, "allowedHosts = [\"A.TEST\"]"), ["a.test"]);
}
