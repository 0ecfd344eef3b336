//! What a call costs in a crib as a server opens it: `cargo bench -p toolcrib --bench crib_calls`.
//!
//! `calls` measures a bare registry; here everything is behind the call that a user's crib has: the built-in rules, the secret
//! store, the approval queue, the call log on disk and its counts. Wall time is noise on a machine that does other things too, so
//! processor time of the whole process is printed, the log's writer included. For profilers one part runs alone and as often
//! as is wanted: `crib_calls --bench --only sequential 100000`; the cost of a call is the difference of two runs by the
//! difference of their numbers.

use std::hint::black_box;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use toolcrib::approval::Approver;
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::{Approvals, CallRequest, Crib, CribOptions, FnTool, Schema};

/// How many calls are under way at once in the part `in-flight`.
const IN_FLIGHT: usize = 32;

/// A part by its name, for so many calls.
type Part = (&'static str, fn(u32) -> Spent);

const PARTS: [Part; 3] = [
    ("floor", floor),
    ("sequential", sequential),
    ("in-flight", in_flight),
];

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
struct Args {
    /// Some text.
    text: String,
}

/// What a part took.
struct Spent {
    wall: Duration,
    cpu: Duration,
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !words.iter().any(|word| word == "--bench");
    let only = words.iter().position(|word| word == "--only");
    let only = only.and_then(|at| Some((words.get(at + 1)?, words.get(at + 2)?.parse().ok()?)));
    let calls = only.map_or(if quick { 200 } else { 50_000 }, |(_, calls)| calls);
    for (name, part) in PARTS {
        if only.is_some_and(|(wanted, _)| wanted != name) {
            continue;
        }
        let spent = part(calls);
        println!(
            "{name:<12} {calls} calls  {:>9.0} calls/s  {:>8.2?} of wall, {:>8.2?} of processor time a call",
            f64::from(calls) / spent.wall.as_secs_f64(),
            spent.wall / calls,
            spent.cpu / calls,
        );
    }
}

/// By hand: read the arguments, check them by their schema, make the answer, write a line about it.
fn floor(calls: u32) -> Spent {
    let schema = json!({"type": "object", "required": ["text"], "additionalProperties": false,
                        "properties": {"text": {"type": "string", "description": "Some text"}}});
    let schema = Schema::stored(schema).expect("a schema");
    let file = tempfile::tempfile().expect("a file");
    let mut file = std::io::BufWriter::with_capacity(1 << 20, file);
    measured(|| {
        for _ in 0..calls {
            let args = schema.check_arguments(request().args, &[]).expect("valid");
            let line = json!({"tool": "echo", "parameters": args});
            serde_json::to_writer(&mut file, &line).expect("a line");
            file.write_all(b"\n").expect("a line");
            let args: Args = serde_json::from_value(Value::Object(args)).expect("they fit");
            black_box(Value::String(args.text));
        }
        file.flush().expect("written");
    })
}

/// One call after the other.
fn sequential(calls: u32) -> Spent {
    with_crib(calls, 1)
}

/// Many at once, on one thread.
fn in_flight(calls: u32) -> Spent {
    with_crib(calls, IN_FLIGHT)
}

fn with_crib(calls: u32, at_once: usize) -> Spent {
    let home = tempfile::tempdir().expect("a directory");
    let workspace = tempfile::tempdir().expect("a directory");
    let crib = CribOptions::default()
        .home(home.path())
        .workspace(workspace.path())
        .approvals(Approvals::Queue { wait: None })
        .look_every(Duration::from_millis(2))
        .open()
        .expect("a crib");
    let echo = FnTool::new("echo", "Returns its input", |args: Args, _cx| async move {
        Ok(args.text)
    });
    crib.registry()
        .register(echo.expect("a valid tool"))
        .expect("a free name");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    println!("a call that runs takes {} bytes", size_of_val(&call(&crib)));
    runtime.block_on(call(&crib));
    crib.registry().flush();
    measured(|| {
        runtime.block_on(async {
            let all = futures_util::stream::iter(0..calls).map(|_| call(&crib));
            all.buffer_unordered(at_once).for_each(async |()| {}).await;
        });
        // Recorded means written: the log's share counts.
        crib.registry().flush();
    })
}

async fn call(crib: &Crib) {
    let approver = Arc::clone(crib.registry().approver()) as Arc<dyn Approver>;
    let outcome = crib.registry().execute(request().approver(approver)).await;
    assert!(outcome.is_ok(), "{outcome:?}");
}

fn request() -> CallRequest {
    CallRequest::new("echo").arg("text", "hello, who is there?")
}

fn measured(work: impl FnOnce()) -> Spent {
    let (wall, cpu) = (Instant::now(), processor_time());
    work();
    Spent {
        wall: wall.elapsed(),
        cpu: processor_time() - cpu,
    }
}

/// Of all threads of this process, those included that have ended.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_secs(ticks)
        / u32::try_from(rustix::param::clock_ticks_per_second()).unwrap_or(100)
}
