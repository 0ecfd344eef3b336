//! What a call costs and what ten thousand tools weigh: `cargo bench -p toolcrib --bench calls`.
//!
//! Prints ratios against floors measured in the same run, because machines differ and are noisy.
//! Everything runs on one core, the call log's writer included. Not a criterion or divan bench:
//! neither measures memory, and neither prints one measurement as a multiple of another.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib::record::call_log::CallLog;
use toolcrib::record::{NoRecord, Recorder};
use toolcrib::registry::Registration;
use toolcrib::schema::SchemaPool;
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::{CallRequest, FnTool, Registry, Slug, ToolManifest};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
struct Args {
    /// Some text.
    text: String,
    /// Some number.
    count: Option<u32>,
}

fn main() {
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !std::env::args().any(|word| word == "--bench");
    pin_to_one_core();
    println!("one core; medians of interleaved rounds\n");
    calls(if quick { (2, 200) } else { (9, 50_000) });
    load(if quick { 200 } else { 10_000 });
}

fn pin_to_one_core() {
    let mut cores = rustix::thread::CpuSet::new();
    cores.set(0);
    if let Err(error) = rustix::thread::sched_setaffinity(None, &cores) {
        println!("not pinned to one core ({error}): figures include the writer's own core");
    }
}

fn registry(recorder: Arc<dyn Recorder>) -> Registry {
    let registry = Registry::builder().recorder(recorder).build();
    let tool = FnTool::new("noop", "Does nothing", |args: Args, _cx| async move {
        black_box(args.text.len() + args.count.unwrap_or_default() as usize);
        Ok(true)
    });
    registry
        .register(tool.expect("a valid tool"))
        .expect("an empty registry");
    registry
}

fn request() -> CallRequest {
    CallRequest::new("noop")
        .arg("text", "hello")
        .arg("count", 3)
}

fn calls((rounds, calls): (usize, u32)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let dir = tempfile::tempdir().expect("a directory");
    let log = Arc::new(CallLog::new(dir.path().join("calls")));
    let recorded = registry(Arc::clone(&log) as _);
    let unrecorded = registry(Arc::new(NoRecord));
    let (mut floor, mut bare, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        // The floor: build the request, read the arguments, write the result. Nothing else.
        floor.push(timed(calls, || {
            let args = Value::Object(request().args);
            let args: Args = serde_json::from_value(args).expect("they fit");
            black_box(json!(
                args.text.len() + args.count.unwrap_or_default() as usize > 0
            ));
        }));
        bare.push(timed_async(&runtime, calls, &unrecorded));
        let start = Instant::now();
        timed_async(&runtime, calls, &recorded);
        // Recorded means written: the log's share of the time counts.
        log.flush();
        whole.push(start.elapsed() / calls);
    }
    let (floor, bare, whole) = (median(floor), median(bare), median(whole));
    row("request and arguments alone (floor)", floor, floor);
    row("whole pipeline, not recorded", bare, floor);
    row("whole pipeline, recorded and flushed", whole, floor);
    let per_second = 1.0 / whole.as_secs_f64();
    println!(
        "\n{per_second:.0} recorded calls/s on one core; target 150000: {:.2}x\n",
        per_second / 150_000.0
    );
}

fn timed(calls: u32, mut work: impl FnMut()) -> Duration {
    let start = Instant::now();
    (0..calls).for_each(|_| work());
    start.elapsed() / calls
}

fn timed_async(runtime: &tokio::runtime::Runtime, calls: u32, registry: &Registry) -> Duration {
    runtime.block_on(async {
        let start = Instant::now();
        for _ in 0..calls {
            let outcome = registry.execute(request()).await;
            assert!(outcome.is_ok(), "{outcome:?}");
        }
        start.elapsed() / calls
    })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn row(what: &str, time: Duration, floor: Duration) {
    println!(
        "{what:<40} {time:>10.2?}  {:>6.2}x",
        time.as_secs_f64() / floor.as_secs_f64()
    );
}

/// Tools as they come from disk: JSON text in, registered tool out. Names, descriptions and half
/// of the schemas differ; validators are compiled when first called.
fn load(count: usize) {
    let texts: Vec<String> = (0..count).map(manifest).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let before = resident();
    let start = Instant::now();
    let registry = Registry::new();
    let bundle = Slug::parse("many").expect("a slug");
    let mut pool = SchemaPool::default();
    let tools = texts.iter().map(|text| {
        let manifest = ToolManifest::from_json(text.as_bytes()).expect("a manifest");
        let spec = manifest
            .into_spec(bundle.clone(), &mut pool)
            .expect("a usable schema");
        (
            Arc::new(Stored(Arc::new(spec))) as Arc<dyn toolcrib::Tool>,
            Registration::default(),
        )
    });
    registry.register_all(tools).expect("their own names");
    let took = start.elapsed();
    let grown = resident().saturating_sub(before) as f64 / 1e6;
    let parse = timed(1, || {
        for text in &texts {
            black_box(serde_json::from_str::<Value>(text).expect("JSON"));
        }
    });
    println!("{count} tools of {} bytes each", bytes / count);
    row("  parsing their JSON (floor)", parse, parse);
    row("  load and register", took, parse);
    println!(
        "  {grown:.1} MB resident; target 60 MB: {:.2}x",
        grown / 60.0
    );
    println!(
        "  {:.0} ms; target 150 ms: {:.2}x",
        took.as_secs_f64() * 1e3,
        took.as_secs_f64() / 0.150
    );
    black_box(registry);
}

fn manifest(n: usize) -> String {
    let extra = if n.is_multiple_of(2) {
        format!("option-{n}")
    } else {
        "option".to_owned()
    };
    json!({
        "bundleID": "018faf50-b7b6-7a01-9a05-a22a6e0af101",
        "slug": format!("tool-{n}"), "version": "v1", "displayName": format!("Tool number {n}"),
        "description": format!("Looks up the record number {n} in the catalogue and returns its fields"),
        "type": "http", "impl": {"method": "GET", "urlTemplate": "https://api.example.test/${id}"},
        "tags": ["read", "catalogue"],
        "argSchema": {"type": "object", "required": ["id"], "additionalProperties": false, "properties": {
            "id": {"type": "string", "description": "The record", "pattern": "^[a-z0-9]+$"},
            "fields": {"type": "array", "description": "Fields to return", "items": {"type": "string"}},
            "limit": {"type": "integer", "description": "At most so many", "minimum": 1, "default": 10},
            extra: {"type": "boolean", "description": "One more switch"}}},
        "createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z"
    })
    .to_string()
}

struct Stored(Arc<toolcrib::ToolSpec>);

impl toolcrib::Tool for Stored {
    fn spec(&self) -> Arc<toolcrib::ToolSpec> {
        Arc::clone(&self.0)
    }

    fn call(
        &self,
        _: toolcrib::model::JsonObject,
        _: toolcrib::CallContext,
    ) -> futures_util::future::BoxFuture<'_, Result<toolcrib::ToolOutput, toolcrib::ToolError>>
    {
        Box::pin(async { Ok(toolcrib::ToolOutput::value(true)) })
    }
}

/// Resident memory in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .unwrap_or_default();
    pages * rustix::param::page_size() as u64
}
