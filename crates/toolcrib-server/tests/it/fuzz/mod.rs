//! 100,000 requests that strangers might send, made by chance from the documentation and spoilt in every part.
//!
//! Every answer is held against `openapi.json`: no status, content type or body that is not documented there, nothing of 500 and more,
//! no panic, and nothing for someone who may not have it. A failure prints the request as curl. `TOOLCRIB_FUZZ_SEED` sets another
//! seed, `TOOLCRIB_FUZZ_REQUESTS` another number.

mod documented;
mod known_ids;
mod mutate;
mod random;
mod requests;
mod sent;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::Response;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib::crib::Approvals;
use toolcrib_server::api::{Body, Peer};

use self::documented::{Documented, Found};
use self::known_ids::Known;
use self::random::Random;
use self::sent::Sent;
use crate::harness::{OPERATOR, Scene};

const SEED: u64 = 20_261_116;
const REQUESTS: u64 = 100_000;
/// Requests at the same time.
const WORKERS: u64 = 4;
/// After how many requests the state is cleaned up.
const TEND: u64 = 500;
/// How long a stream is read that has nothing to say.
const STREAM: Duration = Duration::from_millis(10);

/// What has come of the requests so far.
#[derive(Default)]
struct Tally {
    by_status: BTreeMap<u16, u64>,
    /// How often each operation was carried out.
    done: BTreeMap<String, u64>,
    /// With which statuses each operation was answered.
    answers: BTreeMap<String, BTreeMap<u16, u64>>,
    unsendable: u64,
    /// The first failure of each kind, by the operation and the beginning of what is wrong.
    failures: BTreeMap<(String, String), String>,
    slowest: (Duration, String),
    time_by_operation: BTreeMap<String, (u64, Duration)>,
}

struct Fuzz {
    scene: Scene,
    documented: Documented,
    known: Mutex<Known>,
    tally: Mutex<Tally>,
    seed: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_thousand_spoilt_requests_are_answered_as_documented() {
    let number = |name: &str, usual: u64| {
        let given = std::env::var(name).ok();
        given.map_or(usual, |given| given.parse().unwrap())
    };
    let requests = number("TOOLCRIB_FUZZ_REQUESTS", REQUESTS);
    let panics = count_panics();
    let fuzz = Arc::new(Fuzz::new(number("TOOLCRIB_FUZZ_SEED", SEED)).await);
    let begun = Instant::now();
    let next = Arc::new(AtomicU64::new(0));
    let workers = (0..WORKERS).map(|_| {
        let (fuzz, next) = (Arc::clone(&fuzz), Arc::clone(&next));
        tokio::spawn(async move {
            loop {
                let request = next.fetch_add(1, Ordering::Relaxed);
                if request >= requests {
                    return;
                }
                fuzz.one(request).await;
            }
        })
    });
    for worker in futures_util::future::join_all(workers).await {
        if let Err(error) = worker {
            std::panic::resume_unwind(error.into_panic());
        }
    }
    fuzz.report(begun.elapsed());
    fuzz.check_failures();
    assert_eq!(*panics.lock().unwrap(), Vec::<String>::new());
    if requests >= REQUESTS {
        fuzz.check_reach();
    }
}

/// Notes every panic of the product; those of tests are failures by themselves.
fn count_panics() -> Arc<Mutex<Vec<String>>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (usual, noted) = (std::panic::take_hook(), Arc::clone(&seen));
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        if !place.contains("tests/it") {
            noted.lock().unwrap().push(format!("{place}: {panic}"));
        }
        usual(panic);
    }));
    seen
}

impl Fuzz {
    async fn new(seed: u64) -> Self {
        // A hundred thousand requests write thousands of times; what a disk is like is for the tests of the store.
        let memory = Path::new("/dev/shm");
        let directory = match memory.is_dir() {
            true => TempDir::new_in(memory),
            false => TempDir::new(),
        };
        let prepare =
            |_: &Path, work: &Path| std::fs::write(work.join("a.txt"), "precious").unwrap();
        let wait = Some(Duration::from_millis(300));
        let scene = Scene::prepared(directory.unwrap(), prepare, |options| {
            options.approvals(Approvals::Queue { wait })
        });
        let operator = scene.as_operator();
        let (status, document) = operator.get("/api/openapi.json").await;
        assert_eq!(status, 200);
        let (status, client) = operator
            .post("/api/clients", json!({"name": "stranger"}))
            .await;
        assert_eq!(status, 201, "{client}");
        let known = Known::new(OPERATOR, client["token"].as_str().unwrap().to_owned());
        Fuzz {
            scene,
            documented: Documented::new(document),
            known: Mutex::new(known),
            tally: Mutex::default(),
            seed,
        }
    }

    /// Sees to it that there is something to ask about, and not too much: bundles that are switched on, questions that wait.
    async fn tend(&self, request: u64) {
        let operator = self.scene.as_operator();
        for number in 0..known_ids::BUNDLES {
            let id = Known::bundle_id(number);
            let slug = format!("kit-{number}");
            let _ = operator
                .post_nothing(&format!("/api/bundles/{id}/restore"))
                .await;
            let body = json!({"slug": slug, "displayName": slug, "description": "a kit", "isEnabled": true});
            let _ = operator.put(&format!("/tools/bundles/{id}"), body).await;
            let _ = operator
                .patch(&format!("/tools/bundles/{id}"), json!({"isEnabled": true}))
                .await;
        }
        let (_, page) = operator.get("/api/grants?pageSize=500").await;
        for grant in page["grants"].as_array().into_iter().flatten().skip(20) {
            let id = grant["id"].as_str().unwrap();
            let _ = operator.delete(&format!("/api/grants/{id}")).await;
        }
        std::fs::write(self.scene.work().join("a.txt"), "precious").unwrap();
        let asking = self.scene.as_operator().header("prefer", "respond-async");
        for number in 0..2 {
            let name = format!("{request}-{number}.txt");
            std::fs::write(self.scene.work().join(&name), "x").unwrap();
            let body = json!({"tool": "delete_file", "args": {"path": name}, "callId": format!("call-{}", (request / TEND + number) % 200)});
            let _ = asking.post("/api/calls", body).await;
        }
        let (_, page) = operator.get("/api/approvals?status=pending").await;
        let mut random = Random::of(self.seed, request);
        self.known
            .lock()
            .unwrap()
            .learn("approvals", &page, &mut random);
        // What has just been asked is answered, or cancelled, before it lapses.
        let questions = page["approvals"].as_array().into_iter().flatten();
        for (number, question) in questions.enumerate() {
            let text = |name: &str| question[name].as_str().unwrap().to_owned();
            let answer = json!({"approved": random.once_in(2), "argsDigest": text("argsDigest")});
            let (path, body) = match number % 2 {
                0 => (
                    format!("/api/approvals/{}", text("id")),
                    Some(answer.to_string().into_bytes()),
                ),
                _ => (format!("/api/calls/{}/cancel", text("callId")), None),
            };
            let mut sent = Sent {
                method: "POST".to_owned(),
                path,
                query: None,
                headers: vec![("host".to_owned(), b"localhost".to_vec())],
                body,
            };
            sent.set_header("authorization", format!("Bearer {OPERATOR}"));
            if sent.body.is_some() {
                sent.set_header("content-type", "application/json");
            }
            self.ask(request, sent, &mut random).await;
        }
    }

    async fn one(&self, request: u64) {
        if request.is_multiple_of(TEND) {
            self.tend(request).await;
        }
        let mut random = Random::of(self.seed, request);
        let sent = {
            let known = self.known.lock().unwrap();
            let mut operation = random.pick(&self.documented.operations);
            while runs_programs(operation) || !random.once_in(one_in(operation)) {
                operation = random.pick(&self.documented.operations);
            }
            let mut sent = requests::request(operation, &self.documented, &known, &mut random);
            // A third is left as it is: what is refused at the door tests nothing behind it.
            for _ in 0..[0, 0, 1, 1, 1, 2][random.below(6)] {
                mutate::mutate(&mut sent, &known, &mut random);
            }
            sent
        };
        self.ask(request, sent, &mut random).await;
    }

    /// Sends a request and holds the answer against the documentation.
    async fn ask(&self, request: u64, sent: Sent, random: &mut Random) {
        let Some(asked) = sent.request() else {
            self.tally.lock().unwrap().unsendable += 1;
            return;
        };
        let begun = Instant::now();
        let answer = self.scene.api.answer(asked, Peer::Local);
        let answer = tokio::time::timeout(Duration::from_secs(60), answer).await;
        let Ok(answer) = answer else {
            panic!(
                "{}",
                self.failure(request, &sent, "no answer within a minute")
            );
        };
        let took = begun.elapsed();
        let found = self.documented.find(&sent.method, &sent.path);
        let name = match found {
            Found::Operation(number) => self.documented.operations[number].name(),
            Found::OtherMethod | Found::Nothing => "nothing".to_owned(),
        };
        let checked = self.check(&sent, found, answer, random).await;
        let mut tally = self.tally.lock().unwrap();
        if took > tally.slowest.0 {
            tally.slowest = (took, sent.as_curl());
        }
        let time = tally.time_by_operation.entry(name.clone()).or_default();
        *time = (time.0 + 1, time.1 + took);
        match checked {
            Ok(status) => {
                *tally.by_status.entry(status).or_default() += 1;
                let answers = tally.answers.entry(name.clone()).or_default();
                *answers.entry(status).or_default() += 1;
                if status < 400 {
                    *tally.done.entry(name).or_default() += 1;
                }
            }
            Err(problem) => {
                let kind: String = problem.chars().take(60).collect();
                let failure = self.failure(request, &sent, &problem);
                tally.failures.entry((name, kind)).or_insert(failure);
            }
        }
    }

    fn failure(&self, request: u64, sent: &Sent, problem: &str) -> String {
        format!(
            "request {request} of the seed {}: {problem}\n{}",
            self.seed,
            sent.as_curl()
        )
    }

    /// Holds an answer against the documentation.
    async fn check(
        &self,
        sent: &Sent,
        found: Found,
        answer: Response<Body>,
        random: &mut Random,
    ) -> Result<u16, String> {
        let (parts, body) = answer.into_parts();
        let status = parts.status.as_u16();
        let header = |name: &str| {
            let value = parts.headers.get(name)?;
            Some(value.to_str().unwrap_or("not text").to_owned())
        };
        let content = header("content-type");
        let body = read(body).await;
        if status >= 500 {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&body)));
        }
        for name in ["x-request-id", "x-content-type-options", "cache-control"] {
            if header(name).is_none() {
                return Err(format!("a {status} without `{name}`"));
            }
        }
        if let Some(session) = header("mcp-session-id") {
            self.known.lock().unwrap().begun(&session, random);
        }
        let shown = || String::from_utf8_lossy(&body[..body.len().min(600)]).into_owned();
        let Found::Operation(number) = found else {
            let allowed: &[u16] = match found {
                Found::OtherMethod => &[400, 401, 403, 405],
                // Pages, and what leads to them, are for browsers and not described.
                Found::Nothing if is_for_browsers(&sent.path) => match (status, content.as_deref())
                {
                    (200, Some(content)) if content.starts_with("text/html") => return Ok(status),
                    _ => &[400, 401, 403, 404, 405],
                },
                Found::Nothing | Found::Operation(_) => &[400, 401, 403, 404],
            };
            // A browser that asks beforehand, and the way in for people.
            let is_other = (sent.method == "OPTIONS" && status == 204) || status == 302;
            return match allowed.contains(&status) {
                _ if is_other => Ok(status),
                true if sent.method == "HEAD" => Ok(status),
                true => Documented::check_error(&body, status).map(|()| status),
                false => Err(format!("{status} where there is nothing: {}", shown())),
            };
        };
        let operation = &self.documented.operations[number];
        let is_open = operation.doc.get("security") == Some(&json!([]));
        self.check_permission(sent, operation, is_open, status)?;
        if sent.method == "HEAD" {
            return match body.is_empty() {
                true => Ok(status),
                false => Err("a body for HEAD".to_owned()),
            };
        }
        let answer = (number, status, content.as_deref(), body.as_slice());
        if !self.documented.is_new(&answer) {
            return Ok(status);
        }
        self.documented
            .check(number, status, content.as_deref(), &body)
            .map_err(|problem| format!("{status}: {problem}: {}", shown()))?;
        self.documented.is_sound(&answer);
        if status < 300
            && let Ok(value) = serde_json::from_slice::<Value>(&body)
        {
            let topic = operation.doc["tags"][0].as_str().unwrap_or_default();
            self.known.lock().unwrap().learn(topic, &value, random);
        }
        if status == 200 && content.as_deref() == Some("application/zip") {
            let mut known = self.known.lock().unwrap();
            if known.archives.len() < 8 {
                known.archives.push(body);
            }
        }
        Ok(status)
    }

    /// No one gets what only others may have, whatever else the request says.
    fn check_permission(
        &self,
        sent: &Sent,
        operation: &documented::Operation,
        is_open: bool,
        status: u16,
    ) -> Result<(), String> {
        if is_open {
            return Ok(());
        }
        let tokens: Vec<&[u8]> = sent
            .headers
            .iter()
            .filter(|(name, _)| name == "authorization")
            .map(|(_, value)| value.as_slice())
            .collect();
        let (operator, client) = {
            let known = self.known.lock().unwrap();
            (known.operator.clone(), known.client.clone())
        };
        let bearer = |header: &[u8]| {
            let (scheme, token) = std::str::from_utf8(header).ok()?.split_once(' ')?;
            let is_bearer = scheme.eq_ignore_ascii_case("bearer");
            is_bearer.then(|| token.trim().to_owned())
        };
        let may = match tokens.as_slice() {
            [one] => match bearer(one) {
                Some(token) if token == operator => true,
                Some(token) if token == client => operation.doc["x-who"] == "caller",
                Some(_) | None => false,
            },
            _ => false,
        };
        match may || matches!(status, 400 | 401 | 403) {
            true => Ok(()),
            false => Err(format!("{status} without the right to it")),
        }
    }

    fn report(&self, took: Duration) {
        let tally = self.tally.lock().unwrap();
        println!(
            "{took:?}; by status: {:?}; {} could not be sent",
            tally.by_status, tally.unsendable
        );
        let mut times: Vec<_> = tally.time_by_operation.iter().collect();
        times.sort_by_key(|(_, (_, time))| std::cmp::Reverse(*time));
        for (name, (count, time)) in times {
            let each = *time / u32::try_from(*count).unwrap();
            println!("{each:>12?} each: {name} {:?}", tally.answers.get(name));
        }
        println!(
            "the slowest took {:?}: {}",
            tally.slowest.0, tally.slowest.1
        );
    }

    fn check_failures(&self) {
        let tally = self.tally.lock().unwrap();
        let all: Vec<&str> = tally.failures.values().map(String::as_str).collect();
        assert!(
            all.is_empty(),
            "{} kinds of failure\n\n{}",
            all.len(),
            all.join("\n\n")
        );
    }

    /// Every operation must have been carried out, too: what is always refused is not tested.
    fn check_reach(&self) {
        let tally = self.tally.lock().unwrap();
        let names = self
            .documented
            .operations
            .iter()
            .map(|operation| operation.name());
        let never: Vec<String> = names
            // There is no server to be shown or removed where none is added, tests run programs, nothing is held where no program runs, a browser signs in
            // with a code from a header, a one-time link is sealed, and a debug build carries no page.
            .filter(|name| {
                ![
                    "/api/upstreams",
                    "/api/tests",
                    "/api/held/",
                    "POST /api/browsers",
                    "/api/browsers/{id}",
                    "/ui/assets/",
                    "GET /answer",
                    "POST /answer",
                ]
                .iter()
                .any(|topic| name.contains(topic))
            })
            .filter(|name| !tally.done.contains_key(name))
            .collect();
        assert_eq!(never, Vec::<String>::new(), "never carried out");
    }
}

/// Whether an operation starts programs that its body names, or dials addresses: nothing for random bodies.
fn runs_programs(operation: &documented::Operation) -> bool {
    let name = operation.name();
    name.starts_with("POST /api/upstreams") || name == "POST /api/tests"
}

/// How seldom an operation is chosen: long answers that are always the same tell nothing new, and some read all calls there ever were.
fn one_in(operation: &documented::Operation) -> usize {
    match operation.name().as_str() {
        "GET /api/openapi.json" | "GET /api/docs" | "GET /api/metrics" | "GET /api/rules" => 20,
        "GET /api/calls" | "GET /api/stats" | "POST /api/bundles/{bundleID}/diff" => 4,
        "DELETE /tools/bundles/{bundleID}" => 3,
        _ => 1,
    }
}

/// A body; of a stream, what it says at once.
async fn read(mut body: Body) -> Vec<u8> {
    let is_stream = matches!(body, Body::Stream(_));
    let mut bytes = Vec::new();
    for _ in 0..100 {
        let frame = match is_stream {
            false => body.frame().await,
            true => match tokio::time::timeout(STREAM, body.frame()).await {
                Ok(frame) => frame,
                Err(_) => break,
            },
        };
        let Some(Ok(frame)) = frame else { break };
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    bytes
}

fn is_for_browsers(path: &str) -> bool {
    path.starts_with("/ui") || ["/", "/health", "/docs", "/openapi.json"].contains(&path)
}
