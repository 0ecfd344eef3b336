//! What the guard and the pipeline cost a request: `cargo bench -p toolcrib --bench http`.
//!
//! The same GET from the same server on loopback, through an HTTP tool (lookup, validation, rules, limits, the guard, extraction, record) and with bare
//! `reqwest`, taken in turns in one run; both keep their connections. The ratio is what counts: the server, the kernel and the machine's noise
//! are in both. Then a thousand calls at once, and the most memory the process ever had.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use toolcrib::config::Surroundings;
use toolcrib::{CallRequest, Crib, CribOptions};

/// Of the answer: an ordinary one, not the smallest.
const ITEMS: usize = 20;

fn main() {
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !std::env::args().any(|word| word == "--bench");
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load {}", load.trim());
    runtime.block_on(async {
        let dir = tempfile::tempdir().expect("a directory");
        let default = crib(dir.path(), server.address, None);
        one_after_the_other(&default, &server, if quick { 20 } else { 4_000 }).await;
        let calls = if quick { 50 } else { 1_000 };
        at_once(
            &default,
            &server,
            calls,
            "64 of them running at a time, the default",
        )
        .await;
        let dir = tempfile::tempdir().expect("a directory");
        let open = crib(dir.path(), server.address, Some(calls));
        at_once(&open, &server, calls, "all of them running").await;
        bare_at_once(&server, calls).await;
        println!("peak memory (VmHWM): {:.1} MB", mega(peak()));
    });
}

/// The server: HTTP/1.1 with connections that stay, a thread for each, nothing else.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicU64>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let connections = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&connections);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                // Small stacks: a thousand of them are not what is measured.
                let thread = std::thread::Builder::new().stack_size(64 * 1024);
                let _ = thread.spawn(move || serve(stream));
            }
        });
        Server {
            address,
            connections,
        }
    }

    fn url(&self) -> String {
        format!("http://{}/items?q=paris", self.address)
    }

    fn connections(&self) -> u64 {
        self.connections.swap(0, Ordering::Relaxed)
    }
}

fn serve(stream: TcpStream) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let body = serde_json::json!({
        "items": (0..ITEMS).map(|n| serde_json::json!({"id": n, "name": format!("item {n}")})).collect::<Vec<_>>(),
    })
    .to_string();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut writer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    loop {
        // The head of one request, to its empty line; GET has no body.
        loop {
            line.clear();
            if reader.by_ref().take(8 * 1024).read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line == "\r\n" {
                break;
            }
        }
        writer.write_all(answer.as_bytes()).ok()?;
    }
}

/// A crib with one HTTP tool, trusted, and a home for its record; so many of its calls run at once, or as many as by default.
fn crib(directory: &Path, server: SocketAddr, places: Option<usize>) -> Crib {
    let tool = serde_json::json!({
        "slug": "items",
        "description": "Finds items",
        "type": "http",
        "tags": ["read"],
        "argSchema": {
            "type": "object",
            "properties": {"q": {"type": "string", "description": "What to find"}},
            "required": ["q"],
        },
        "impl": {
            "method": "GET",
            "urlTemplate": format!("http://{server}/items?q=${{q}}"),
            "headers": {"Accept": "application/json"},
            "responseEncoding": "json",
            "extractExpr": "$.items[0].name",
        },
    });
    let workspace = directory.join("work");
    let file = workspace.join(".toolcrib/tools/items.json");
    let text = tool.to_string();
    std::fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
    std::fs::write(&file, &text).expect("a file");
    let home = directory.join("home");
    std::fs::create_dir(&home).expect("a directory");
    let mut settings = format!("allowedHosts = [\"{server}\"]\n");
    if let Some(places) = places {
        settings.push_str(&format!(
            "[limits]\nmaxConcurrent = {places}\nmaxConcurrentTotal = {places}\n"
        ));
    }
    std::fs::write(home.join("config.toml"), settings).expect("a file");
    let surroundings = Surroundings::new(&workspace, [("HOME", directory.to_str().expect("text"))]);
    let crib = CribOptions::default()
        .surroundings(surroundings)
        .home(home)
        .workspace(&workspace)
        .open()
        .expect("a crib");
    crib.pin(&file, text.as_bytes()).expect("a pin");
    crib
}

async fn through_the_tool(crib: &Crib) {
    let request = CallRequest::new("items").arg("q", "paris");
    let outcome = crib.registry().execute(request).await;
    assert_eq!(outcome.value(), Some(&"item 0".into()), "{outcome:?}");
}

async fn bare(client: &reqwest::Client, url: &str) {
    let request = client.get(url).header("Accept", "application/json");
    let answer = request.send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    let body = answer.bytes().await.expect("a body");
    // What a program would do with it.
    let value: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(value["items"][0]["name"], "item 0");
}

fn client() -> reqwest::Client {
    let builder = reqwest::Client::builder().no_proxy().tcp_nodelay(true);
    builder.build().expect("a client")
}

async fn one_after_the_other(crib: &Crib, server: &Server, rounds: usize) {
    let (client, url) = (client(), server.url());
    for _ in 0..rounds.div_ceil(10) {
        bare(&client, &url).await;
        through_the_tool(crib).await;
    }
    server.connections();
    let (mut floors, mut tools) = (Vec::new(), Vec::new());
    // In turns, and one of each: whatever the machine does meanwhile, it does to both.
    for round in 0..rounds {
        for first in [round % 2 == 0, round % 2 != 0] {
            let start = Instant::now();
            match first {
                true => bare(&client, &url).await,
                false => through_the_tool(crib).await,
            }
            let took = start.elapsed();
            match first {
                true => floors.push(took),
                false => tools.push(took),
            }
        }
    }
    floors.sort();
    tools.sort();
    println!(
        "{rounds} GETs of each, in turns; connections opened meanwhile: {}",
        server.connections()
    );
    println!("{:<28} {:>10} {:>10} {:>10}", "", "least", "median", "p99");
    let row = |what: &str, times: &[Duration]| {
        let at = |part: usize| times[(times.len() - 1) * part / 100];
        println!(
            "{what:<28} {:>10.1?} {:>10.1?} {:>10.1?}",
            times[0],
            at(50),
            at(99)
        );
    };
    row("bare reqwest (floor)", &floors);
    row("HTTP tool, whole pipeline", &tools);
    let ratio = |at: usize| tools[at].as_secs_f64() / floors[at].as_secs_f64();
    println!(
        "{:<28} {:>9.2}x {:>9.2}x   target 1.30x\n",
        "ratio",
        ratio(0),
        ratio(tools.len() / 2)
    );
}

async fn at_once(crib: &Crib, server: &Server, calls: usize, how: &str) {
    let before = peak();
    let start = Instant::now();
    let tools = (0..calls).map(|_| through_the_tool(crib));
    futures_util::future::join_all(tools).await;
    let took = start.elapsed();
    let (grown, opened) = (peak() - before, server.connections());
    println!(
        "{calls} calls of the tool at once, {how}: {took:.1?}, {opened} connections, peak memory grew by {:.1} MB",
        mega(grown)
    );
}

async fn bare_at_once(server: &Server, calls: usize) {
    let (client, url) = (client(), server.url());
    let before = peak();
    let start = Instant::now();
    let floor = (0..calls).map(|_| bare(&client, &url));
    futures_util::future::join_all(floor).await;
    let took = start.elapsed();
    let (grown, opened) = (peak() - before, server.connections());
    println!(
        "{calls} GETs with bare reqwest at once: {took:.1?}, {opened} connections, peak memory grew by {:.1} MB",
        mega(grown)
    );
}

fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// The most memory that the process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB"));
    kilobytes
        .and_then(|text| text.trim().parse::<u64>().ok())
        .unwrap_or_default()
        * 1024
}
