//! Servers that want a login: a scripted server that is its own issuer on another port, and a browser that is the test.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

use super::*;
use toolcrib::ErrorCode;
use toolcrib::testing::{Received, Reply, ScriptedServer};

/// How the issuer and the server behave; changed while they run.
#[derive(Debug, Clone)]
struct World {
    /// The tokens that are good now.
    access: String,
    refresh: String,
    /// What tokens are given from now on.
    next: u32,
    expires_in: u64,
    wrong_issuer: Option<String>,
    wrong_resource: Option<String>,
    without_s256: bool,
    /// Which scope calls need.
    needs: Option<String>,
    /// The scope of the last page, and of the token that is good.
    asked: String,
    granted: String,
}

struct Scripted {
    world: Arc<Mutex<World>>,
    issuer: ScriptedServer,
    server: ScriptedServer,
}

fn json_reply(value: &Value) -> Reply {
    Reply::ok(value.to_string()).header("content-type", "application/json")
}

fn pairs(query: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

fn issue(world: &Mutex<World>, request: &Received) -> Reply {
    let mut world = world.lock().unwrap();
    let own = format!("http://{}", request.header("host").unwrap());
    let (path, _) = request
        .target
        .split_once('?')
        .unwrap_or((&request.target, ""));
    match path {
        "/.well-known/oauth-authorization-server" => {
            let mut document = json!({
                "issuer": world.wrong_issuer.clone().unwrap_or(own.clone()),
                "authorization_endpoint": format!("{own}/authorize"),
                "token_endpoint": format!("{own}/token"),
                "registration_endpoint": format!("{own}/register"),
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": true,
            });
            if world.without_s256 {
                document["code_challenge_methods_supported"] = json!(["plain"]);
            }
            json_reply(&document)
        }
        "/register" => json_reply(&json!({"client_id": "client-4711"})),
        "/token" => {
            let form = pairs(&request.text());
            let is_good = match form["grant_type"].as_str() {
                "authorization_code" => form["code"] == "CODE-SENTINEL",
                _ => form["refresh_token"] == world.refresh,
            };
            if !is_good {
                return Reply::status(400)
                    .body(json!({"error": "invalid_grant", "error_description": format!("no {}", form.get("refresh_token").cloned().unwrap_or_default())}).to_string());
            }
            world.next += 1;
            world.access = format!("ACCESS-SENTINEL-{}", world.next);
            world.refresh = format!("REFRESH-SENTINEL-{}", world.next);
            if form["grant_type"] == "authorization_code" {
                world.granted = world.asked.clone();
            }
            json_reply(&json!({
                "access_token": world.access, "refresh_token": world.refresh,
                "token_type": "Bearer", "expires_in": world.expires_in,
            }))
        }
        _ => Reply::status(404),
    }
}

fn serve(world: &Mutex<World>, issuer: &str, request: &Received) -> Reply {
    let world = world.lock().unwrap();
    let own = format!("http://{}", request.header("host").unwrap());
    if request.target == "/.well-known/oauth-protected-resource/mcp" {
        let resource = world.wrong_resource.clone();
        return json_reply(&json!({
            "resource": resource.unwrap_or(format!("{own}/mcp")),
            "authorization_servers": [issuer],
            "scopes_supported": ["read"],
        }));
    }
    let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
        return Reply::status(405);
    };
    let metadata = format!("{own}/.well-known/oauth-protected-resource/mcp");
    let token = format!("Bearer {}", world.access);
    if request.header("authorization") != Some(token.as_str()) {
        return Reply::status(401).header(
            "www-authenticate",
            &format!("Bearer resource_metadata=\"{metadata}\""),
        );
    }
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "web", "version": "2"}})
        }
        "tools/list" => {
            json!({"tools": [{"name": "hello", "description": "Says hello", "inputSchema": {"type": "object"}}]})
        }
        "tools/call" => {
            if let Some(scope) = &world.needs
                && !world.granted.split(' ').any(|granted| granted == scope)
            {
                return Reply::status(403).header(
                    "www-authenticate",
                    &format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\", resource_metadata=\"{metadata}\""),
                );
            }
            json!({"content": [{"type": "text", "text": format!("you are {}", request.header("authorization").unwrap())}]})
        }
        _ if message.get("id").is_none() => return Reply::status(202),
        _ => {
            return json_reply(
                &json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "unknown"}}),
            );
        }
    };
    json_reply(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

impl Scripted {
    fn start() -> Self {
        let world = Arc::new(Mutex::new(World {
            access: "nobody".to_owned(),
            refresh: "nobody".to_owned(),
            next: 0,
            expires_in: 3600,
            wrong_issuer: None,
            wrong_resource: None,
            without_s256: false,
            needs: None,
            asked: String::new(),
            granted: String::new(),
        }));
        let of_issuer = Arc::clone(&world);
        let issuer = ScriptedServer::start(move |request| issue(&of_issuer, request));
        let (of_server, name) = (Arc::clone(&world), format!("http://{}", issuer.host()));
        let server = ScriptedServer::start(move |request| serve(&of_server, &name, request));
        Scripted {
            world,
            issuer,
            server,
        }
    }

    fn change(&self, change: impl FnOnce(&mut World)) {
        change(&mut self.world.lock().unwrap());
    }

    fn settings(&self) -> Value {
        json!({"url": self.server.url("/mcp"), "auth": "oauth"})
    }

    /// How often a token was asked for.
    fn tokens(&self) -> usize {
        let received = self.issuer.received();
        received.iter().filter(|one| one.target == "/token").count()
    }

    /// Logs in with a browser that answers as `answer` makes it of the right answer.
    async fn log_in(
        &self,
        scene: &Scene,
        answer: impl Fn(&mut BTreeMap<String, String>) + Send + Sync + 'static,
    ) -> Result<String, toolcrib::ToolError> {
        let (world, issuer) = (
            Arc::clone(&self.world),
            format!("http://{}", self.issuer.host()),
        );
        let show = move |page: &str| {
            let page = url::Url::parse(page).unwrap();
            let asked = pairs(page.query().unwrap());
            assert_eq!(asked["code_challenge_method"], "S256");
            assert!(asked["resource"].ends_with("/mcp"));
            world.lock().unwrap().asked = asked.get("scope").cloned().unwrap_or_default();
            let mut back = BTreeMap::from([
                ("code".to_owned(), "CODE-SENTINEL".to_owned()),
                ("state".to_owned(), asked["state"].clone()),
                ("iss".to_owned(), issuer.clone()),
            ]);
            answer(&mut back);
            let mut to = url::Url::parse(&asked["redirect_uri"]).unwrap();
            to.query_pairs_mut().extend_pairs(back);
            tokio::spawn(async move { reqwest::get(to).await.unwrap().text().await.unwrap() });
        };
        scene
            .crib
            .log_in_upstream("web", Duration::from_secs(2), show)
            .await
    }

    /// A home in which the server is configured and someone logged in.
    async fn scene(&self) -> Scene {
        let scene = Scene::new();
        scene.add_bare("web", self.settings());
        self.log_in(&scene, |_| {}).await.unwrap();
        let (probe, _) = scene.crib.probe_upstream("web").await.unwrap();
        scene.crib.accept_upstream("web", &probe, None).unwrap();
        scene
    }
}

impl Scene {
    fn add_bare(&self, name: &str, settings: Value) {
        self.crib
            .add_upstream(&candidate(name, settings), None, Replace::Never)
            .unwrap();
    }
}

fn login_file(scene: &Scene) -> PathBuf {
    scene.home.path().join("logins/web/login.json")
}

#[tokio::test]
async fn a_login_lets_calls_in_and_its_tokens_are_no_one_elses() {
    let scripted = Scripted::start();
    let scene = scripted.scene().await;
    let outcome = scene.call("hello", json!({})).await;
    let shown = format!("{:?}", outcome.value().unwrap());
    assert!(
        shown.contains("you are Bearer") && !shown.contains("SENTINEL"),
        "{shown}"
    );
    let mode = std::fs::metadata(login_file(&scene))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // Whatever else is kept in the home has no token in it.
    let mut left = vec![scene.home.path().to_owned()];
    while let Some(place) = left.pop() {
        if place.is_dir() {
            left.extend(
                std::fs::read_dir(place)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if place != login_file(&scene) {
            let bytes = std::fs::read(&place).unwrap();
            assert!(
                !String::from_utf8_lossy(&bytes).contains("SENTINEL"),
                "{place:?}"
            );
        }
    }
    let view = scene.crib.upstream("web").unwrap().shown().to_string();
    assert!(!view.contains("SENTINEL"));
}

#[tokio::test]
async fn without_a_login_a_call_says_what_to_type_and_asks_no_one() {
    let scripted = Scripted::start();
    let scene = scripted.scene().await;
    assert!(scene.crib.log_out_upstream("web").unwrap());
    assert!(!scene.crib.log_out_upstream("web").unwrap());
    let before = scripted.issuer.received().len();
    let outcome = scene.call("hello", json!({})).await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::ToolUnavailable);
    assert!(
        error.message().contains("`toolcrib upstream login web`"),
        "{error}"
    );
    assert_eq!(scripted.issuer.received().len(), before);
}

#[tokio::test]
async fn a_token_that_is_over_is_renewed_once_for_all_and_others_of_the_home_have_it() {
    let scripted = Scripted::start();
    scripted.change(|world| world.expires_in = 1);
    let scene = scripted.scene().await;
    scripted.change(|world| world.expires_in = 3600);
    let other = open(scene.home.path());
    let before = scripted.tokens();
    let call = async |crib: &Crib| {
        let request = CallRequest::new("hello").args(serde_json::Map::new());
        crib.registry().execute(request).await
    };
    let (crib, outcomes) = (&scene.crib, futures_util::future::join_all);
    let outcomes = outcomes([call(crib), call(crib), call(&other)]).await;
    for outcome in outcomes {
        assert!(outcome.value().is_some(), "{outcome:#?}");
    }
    assert_eq!(scripted.tokens(), before + 1);
}

#[tokio::test]
async fn a_server_that_takes_a_token_no_more_gets_another_and_a_revoked_login_is_said() {
    let scripted = Scripted::start();
    let scene = scripted.scene().await;
    scripted.change(|world| world.access = "another".to_owned());
    assert!(scene.call("hello", json!({})).await.value().is_some());
    scripted.change(|world| {
        world.access = "another".to_owned();
        world.refresh = "another".to_owned();
    });
    let outcome = scene.call("hello", json!({})).await;
    let error = outcome.error().unwrap();
    assert!(
        error.message().contains("toolcrib upstream login web"),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("SENTINEL"), "{error:?}");
    // It is over: no one tries the same again.
    let before = scripted.tokens();
    assert!(scene.call("hello", json!({})).await.error().is_some());
    assert_eq!(scripted.tokens(), before);
    scripted.log_in(&scene, |_| {}).await.unwrap();
    assert!(scene.call("hello", json!({})).await.value().is_some());
}

#[tokio::test]
async fn a_call_that_needs_more_says_so_and_the_next_login_asks_for_it() {
    let scripted = Scripted::start();
    let scene = scripted.scene().await;
    scripted.change(|world| world.needs = Some("write".to_owned()));
    let outcome = scene.call("hello", json!({})).await;
    let error = outcome.error().unwrap();
    assert!(
        error.message().contains("toolcrib upstream login web"),
        "{error}"
    );
    scripted.log_in(&scene, |_| {}).await.unwrap();
    assert_eq!(scripted.world.lock().unwrap().asked, "read write");
    assert!(scene.call("hello", json!({})).await.value().is_some());
}

#[tokio::test]
async fn an_answer_from_someone_else_or_to_something_else_is_not_a_login() {
    let scripted = Scripted::start();
    let scene = Scene::new();
    scene.add_bare("web", scripted.settings());
    type Change = fn(&mut BTreeMap<String, String>);
    let cases: [(Change, &str); 5] = [
        (
            |back| drop(back.insert("state".to_owned(), "other".to_owned())),
            "no one logged in",
        ),
        (|back| drop(back.remove("state")), "no one logged in"),
        (
            |back| drop(back.insert("iss".to_owned(), "https://evil.test".to_owned())),
            "evil.test",
        ),
        (|back| drop(back.remove("iss")), "`iss`"),
        (
            |back| drop(back.insert("error".to_owned(), "access_denied".to_owned())),
            "access_denied",
        ),
    ];
    for (change, says) in cases {
        let error = scripted.log_in(&scene, change).await.unwrap_err();
        assert!(error.message().contains(says), "{says}: {error}");
        assert!(!error.message().contains("SENTINEL"), "{error}");
    }
    assert_eq!(scripted.tokens(), 0);
    assert!(!login_file(&scene).exists());
}

#[tokio::test]
async fn who_is_not_who_the_server_names_is_not_logged_in_at() {
    type Change = fn(&mut World);
    let cases: [(Change, &str); 4] = [
        (
            |world| world.wrong_issuer = Some("https://evil.test".to_owned()),
            "calls itself",
        ),
        (
            |world| world.wrong_resource = Some("https://evil.test/mcp".to_owned()),
            "which it is not",
        ),
        (
            |world| world.wrong_resource = Some(String::new()),
            "which it is not",
        ),
        (|world| world.without_s256 = true, "S256"),
    ];
    for (change, says) in cases {
        let scripted = Scripted::start();
        scripted.change(change);
        let scene = Scene::new();
        scene.add_bare("web", scripted.settings());
        let error = scripted.log_in(&scene, |_| {}).await.unwrap_err();
        assert!(error.message().contains(says), "{says}: {error}");
        assert_eq!(scripted.tokens(), 0);
    }
}

#[tokio::test]
async fn a_login_is_for_one_address() {
    let scripted = Scripted::start();
    let scene = scripted.scene().await;
    let other = Scripted::start();
    scene
        .crib
        .add_upstream(&candidate("web", other.settings()), None, Replace::Allowed)
        .unwrap();
    scene.crib.probe_upstream("web").await.unwrap_err();
    for request in other.server.received() {
        assert_eq!(request.header("authorization"), None);
    }
}
