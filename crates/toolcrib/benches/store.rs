//! What stored tools cost: `cargo bench -p toolcrib --bench store`.
//!
//! Opens a crib with 10,000 stored tools in a process of its own (the targets are 300 ms and 80 MB), next to the floor of only reading
//! their files; puts tools durably next to the bare temporary file, fsync, rename and fsync of the directory (the target is 1.5 times
//! that); then what it takes to see what another process changed, and what one change costs among 100,000 registered tools (1 ms).
//! Ratios are of one run, rounds of the same thing alternate, because machines differ and are noisy.

use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib::config::Surroundings;
use toolcrib::registry::Registration;
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::store::{Install, Store, StoreOptions};
use toolcrib::{Bundle, BundleId, Crib, CribOptions, FnTool, Registry, Tool, ToolId, ToolManifest};

const BUNDLES: usize = 20;
/// Says to a process of this program which home to open, and to do nothing else.
const OPEN: &str = "TOOLCRIB_BENCH_OPEN";

fn main() {
    if let Some(scene) = std::env::var_os(OPEN) {
        return open_and_tell(Path::new(&scene));
    }
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !std::env::args().any(|word| word == "--bench");
    let (tools, rounds) = if quick { (40, 1) } else { (10_000, 9) };
    let scene = tempfile::tempdir().expect("a directory");
    std::fs::create_dir_all(scene.path().join("work/.git")).expect("a directory");
    let (store, bundles) = fill(scene.path(), tools);
    opening(scene.path(), tools, rounds);
    let crib = open(scene.path());
    assert_eq!(
        crib.registry().list().len(),
        open(&empty()).registry().list().len() + tools
    );
    putting(scene.path(), &crib, bundles[0], if quick { 2 } else { 100 });
    following(&crib, &store, bundles[1], rounds * 5);
    changing(if quick { 100 } else { 100_000 }, rounds * 20);
}

/// Opens a crib in processes of their own, as commands do.
fn opening(scene: &Path, tools: usize, rounds: usize) {
    let (mut reading, mut opening, mut cpu, mut grown) = (vec![], vec![], vec![], vec![]);
    for _ in 0..rounds {
        reading.push(timed(|| read_all(&scene.join("home/bundles"))).as_micros());
        let program = std::env::current_exe().expect("this program");
        let output = Command::new(program).env(OPEN, scene).output();
        let output = String::from_utf8(output.expect("a process").stdout).expect("numbers");
        let numbers: Vec<u128> = output
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        opening.push(numbers[0]);
        cpu.push(numbers[1]);
        grown.push(numbers[2]);
    }
    let (reading, opening) = (median(reading), median(opening));
    println!("{tools} stored tools in {BUNDLES} bundles\n");
    println!("reading their files (floor)  {:>9.1} ms", ms(reading));
    println!(
        "opening a crib with them     {:>9.1} ms  ({:.1} times the floor; target 300 ms for 10,000)",
        ms(opening),
        opening as f64 / reading as f64
    );
    println!("  of all processors          {:>9.1} ms", ms(median(cpu)));
    println!(
        "resident after opening       {:>9.1} MB  (target 80 MB for 10,000)",
        median(grown) as f64 / 1e6
    );
}

fn open_and_tell(scene: &Path) {
    let time = timed(|| std::mem::forget(black_box(open(scene))));
    println!("{} {} {}", time.as_micros(), cpu().as_micros(), resident());
}

/// Puts tools through a crib and writes files of the same content by hand, in turn and in the same directory.
fn putting(scene: &Path, crib: &Crib, bundle: BundleId, rounds: usize) {
    let dir = scene.join("home/bundles").join(bundle.to_string());
    let (mut bare, mut put) = (Vec::new(), Vec::new());
    let mut bytes = Arc::<[u8]>::from([]);
    for round in 0..rounds {
        let manifest = manifest(bundle, &format!("put-{round}"));
        put.push(
            timed(|| bytes = Arc::clone(&crib.put_tool(manifest).expect("it is stored").bytes))
                .as_micros(),
        );
        bare.push(timed(|| write_durably(&dir, &format!("bare-{round}"), &bytes)).as_micros());
    }
    let (bare, put) = (median(bare), median(put));
    println!("\na bare durable write (floor) {:>9.3} ms", ms(bare));
    println!(
        "putting a tool               {:>9.3} ms  ({:.2} times the floor; target 1.5)",
        ms(put),
        put as f64 / bare as f64
    );
}

fn write_durably(dir: &Path, name: &str, bytes: &[u8]) {
    let temporary = dir.join(format!(".{name}.tmp"));
    let mut file = File::create(&temporary).expect("a file");
    file.write_all(bytes).expect("room");
    file.sync_all().expect("a disk");
    std::fs::rename(&temporary, dir.join(name)).expect("a name");
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .expect("a disk");
}

/// Has another store, as another process has it, change something, and looks until it is seen.
fn following(crib: &Crib, other: &Store, bundle: BundleId, rounds: usize) {
    let (mut seeing, mut nothing) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let name = format!("other-{round}");
        other
            .put_tool(manifest(bundle, &name))
            .expect("it is stored");
        let time = timed(|| while crib.registry().find(&name).is_err() {});
        seeing.push(time.as_micros());
        let time = timed(|| drop(black_box(crib.registry().find(&name))));
        nothing.push(time.as_nanos());
    }
    println!(
        "\nfinding a tool, no change    {:>9.3} ms",
        median(nothing) as f64 / 1e6
    );
    println!(
        "finding another's change     {:>9.3} ms",
        ms(median(seeing))
    );
}

/// One tool more and one tool less among many.
fn changing(tools: usize, rounds: usize) {
    let registry = Registry::new();
    let tool = |name: &str| -> Arc<dyn Tool> {
        let tool = FnTool::new(name, "Does nothing", |_: Nothing, _| async { Ok(()) });
        Arc::new(tool.expect("a tool"))
    };
    let all = (0..tools).map(|number| (tool(&format!("tool_{number}")), Registration::default()));
    let all: Vec<_> = all.collect();
    let filling = timed(|| registry.register_all(all).expect("free names"));
    let mut changes = Vec::new();
    for round in 0..rounds {
        let name = format!("one_more_{round}");
        let more = tool(&name);
        let change = || {
            let registration = Registration::default();
            registry
                .register_with(more, registration)
                .expect("a free name");
            registry.unregister(&name).expect("it is there");
        };
        changes.push(timed(change).as_nanos());
    }
    println!(
        "\nregistering {tools} tools     {:>9.1} ms",
        filling.as_secs_f64() * 1e3
    );
    println!(
        "one change among them        {:>9.4} ms  (target 1 ms)",
        median(changes) as f64 / 2e6
    );
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
struct Nothing {}

/// A store of bundles with as many tools in all.
fn fill(scene: &Path, tools: usize) -> (Store, Vec<BundleId>) {
    let store = Store::at(scene.join("home"), StoreOptions::default());
    let mut ids = Vec::new();
    for number in 0..BUNDLES {
        let id = BundleId::generate();
        let bundle = json!({
            "bundleID": id, "slug": format!("bundle-{number}"), "displayName": format!("Bundle {number}"),
            "description": "Tools of a service", "isEnabled": true,
            "createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z",
        });
        let bundle: Bundle = serde_json::from_value(bundle).expect("a bundle");
        let of_bundle =
            (0..tools / BUNDLES).map(|tool| manifest(id, &format!("get-item-{number}-{tool}")));
        store
            .install(bundle, of_bundle.collect(), Install::New)
            .expect("it is installed");
        ids.push(id);
    }
    (store, ids)
}

/// A tool of the kind people keep: an HTTP request with a few parameters.
fn manifest(bundle: BundleId, slug: &str) -> ToolManifest {
    let manifest = json!({
        "bundleID": bundle, "toolID": ToolId::generate(), "slug": slug, "version": "v1",
        "displayName": format!("Get item by {slug}"),
        "description": "Looks an item up in the catalogue of the shop and returns its name, its price and how many are left",
        "isEnabled": true, "isBuiltIn": false, "tags": ["read", "shop", "catalogue"], "type": "http",
        "createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z",
        "argSchema": {
            "type": "object", "additionalProperties": false, "required": ["item"],
            "properties": {
                "item": {"type": "string", "description": "The number of the item, as printed on its label"},
                "currency": {"type": "string", "enum": ["EUR", "USD", "GBP"], "default": "EUR", "description": "What prices are in"},
                "detail": {"type": "boolean", "description": "Whether to return everything that is known"},
            },
        },
        "outputSchema": {"type": "object"},
        "impl": {
            "request": {
                "method": "GET",
                "urlTemplate": "https://shop.example.com/v1/items/${item}",
                "query": {"currency": "${currency}", "detail": "${detail}"},
                "headers": {"Accept": "application/json"},
                "timeoutMs": 10000,
            },
            "response": {"successCodes": [200], "encoding": "json"},
        },
    });
    serde_json::from_value(manifest).expect("a manifest")
}

fn read_all(dir: &Path) {
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => read_all(&entry.path()),
            false => drop(black_box(std::fs::read(entry.path()))),
        }
    }
}

fn open(scene: &Path) -> Crib {
    let text = |path: &str| scene.join(path).to_string_lossy().into_owned();
    let (home, user, etc) = (text("home"), text("user"), text("etc"));
    let variables = [
        ("TOOLCRIB_HOME", home.as_str()),
        ("HOME", user.as_str()),
        ("TOOLCRIB_TOOLS_GLOBAL_DIRECTORY", etc.as_str()),
    ];
    let surroundings = Surroundings::new(&scene.join("work"), variables);
    let options = CribOptions::default().surroundings(surroundings);
    options.open().expect("a crib")
}

/// A scene without any stored tool.
fn empty() -> PathBuf {
    let scene = tempfile::tempdir().expect("a directory").keep();
    std::fs::create_dir_all(scene.join("work/.git")).expect("a directory");
    scene
}

/// The time that this process has had of all processors: what counts on a machine that is busy.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.try_into().unwrap_or_default()
}

/// Resident memory in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1);
    let pages = pages.and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * rustix::param::page_size() as u64
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut values: Vec<u128>) -> u128 {
    values.sort_unstable();
    values[values.len() / 2]
}

fn ms(micros: u128) -> f64 {
    micros as f64 / 1e3
}
