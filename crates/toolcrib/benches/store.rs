//! What stored tools cost: `cargo bench -p toolcrib --bench store`; with `-- --check` it ends with 1 where a target is missed.
//!
//! Opens a crib with 10,000 stored tools in its own process (the targets are 300 ms and 80 MB), next to the floor of only reading
//! their files; puts tools durably next to the bare temporary file, fsync, rename and fsync of the directory (the target is 1.5 times
//! that); then what it takes to see what another process changed. Among 100,000 stored tools: one change visible in the registry and in search
//! (1 ms), another process's change in a bundle of 5,000, and searches (1 ms at p99). Ratios are of one run, rounds of the same thing alternate, because machines differ
//! and are noisy; the least of the rounds is what the work takes, the median what one gets.

use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib::config::Surroundings;
use toolcrib::crib::SearchRequest;
use toolcrib::store::{Install, Store, StoreOptions};
use toolcrib::{Bundle, BundleId, Crib, CribOptions, ToolId, ToolManifest};

const BUNDLES: usize = 20;
const MAX_TOOLS: usize = 200_000;
/// Says to a process of this program which home to open, and to do nothing else.
const OPEN: &str = "TOOLCRIB_BENCH_OPEN";

/// What was measured against what was aimed at.
#[derive(Default)]
struct Targets(Vec<String>);

impl Targets {
    fn row(&mut self, what: &str, value: f64, unit: &str, target: f64) {
        let verdict = if value <= target { "" } else { "  MISSED" };
        println!("{what:<44}{value:>10.3} {unit:<5} target {target} {unit}{verdict}");
        if value > target {
            self.0
                .push(format!("{what}: {value:.3} {unit}, target {target} {unit}"));
        }
    }
}

fn row(what: &str, value: f64, unit: &str) {
    println!("{what:<44}{value:>10.3} {unit}");
}

fn main() -> ExitCode {
    if let Some(scene) = std::env::var_os(OPEN) {
        open_and_tell(Path::new(&scene));
        return ExitCode::SUCCESS;
    }
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let is_given = |flag: &str| std::env::args().any(|word| word == flag);
    let quick = !is_given("--bench");
    let (few, many, rounds) = if quick {
        (40, 200, 1)
    } else {
        (10_000, 100_000, 9)
    };
    let mut targets = Targets::default();
    {
        let scene = scene();
        let (store, bundles) = fill(scene.path(), few);
        opening(scene.path(), few, rounds, &mut targets);
        let crib = open(scene.path());
        assert_eq!(
            crib.bundles()
                .iter()
                .map(|bundle| bundle.tools)
                .sum::<usize>(),
            few + own_tools()
        );
        putting(
            scene.path(),
            &crib,
            bundles[0],
            if quick { 2 } else { 200 },
            &mut targets,
        );
        println!();
        following(&crib, &store, bundles[1], rounds * 5);
    }
    {
        let scene = scene();
        let (store, bundles) = fill(scene.path(), many);
        let crib = open(scene.path());
        println!("\n{many} stored tools in {BUNDLES} bundles\n");
        searching(&crib, many, rounds * 200, &mut targets);
        changing(&crib, bundles[0], rounds * 20, &mut targets);
        following(&crib, &store, bundles[1], rounds * 5);
    }
    if !targets.0.is_empty() {
        eprintln!("\ntargets that were missed:\n  {}", targets.0.join("\n  "));
        if is_given("--check") {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Opens a crib in separate processes, as commands do.
fn opening(scene: &Path, tools: usize, rounds: usize, targets: &mut Targets) {
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
    println!("{tools} stored tools in {BUNDLES} bundles\n");
    row(
        "reading their files (floor), median",
        ms(median(&mut reading)),
        "ms",
    );
    targets.row(
        "opening a crib with them, median",
        ms(median(&mut opening)),
        "ms",
        300.0,
    );
    row("opening a crib with them, least", ms(opening[0]), "ms");
    row("  of all processors, median", ms(median(&mut cpu)), "ms");
    targets.row(
        "resident after opening",
        median(&mut grown) as f64 / 1e6,
        "MB",
        80.0,
    );
}

fn open_and_tell(scene: &Path) {
    let time = timed(|| std::mem::forget(black_box(open(scene))));
    println!("{} {} {}", time.as_micros(), cpu().as_micros(), resident());
}

/// Puts tools through a crib and writes files of the same content by hand, in turn and in the same directory.
fn putting(scene: &Path, crib: &Crib, bundle: BundleId, rounds: usize, targets: &mut Targets) {
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
    let (bare_median, put_median) = (median(&mut bare), median(&mut put));
    println!();
    row("a bare durable write (floor), least", ms(bare[0]), "ms");
    row(
        "a bare durable write (floor), median",
        ms(bare_median),
        "ms",
    );
    row("putting a tool, least", ms(put[0]), "ms");
    row("putting a tool, median", ms(put_median), "ms");
    row(
        "  of the floor, least",
        put[0] as f64 / bare[0] as f64,
        "times",
    );
    targets.row(
        "  of the floor, median",
        put_median as f64 / bare_median as f64,
        "times",
        1.5,
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
        seeing.push(time.as_nanos() / 1000);
        let time = timed(|| drop(black_box(crib.registry().find(&name))));
        nothing.push(time.as_nanos() / 1000);
    }
    row(
        "finding a tool, no change, median",
        ms(median(&mut nothing)),
        "ms",
    );
    row(
        "finding another process's change, median",
        ms(median(&mut seeing)),
        "ms",
    );
    row(
        "finding another process's change, least",
        ms(seeing[0]),
        "ms",
    );
}

/// Searches of each kind, each for other words.
fn searching(crib: &Crib, tools: usize, rounds: usize, targets: &mut Targets) {
    let search = |query: &str| {
        let request = SearchRequest {
            query: query.to_owned(),
            ..SearchRequest::default()
        };
        crib.search(&request).expect("a page").results.len()
    };
    row(
        "the first search, which makes the index",
        ms(timed(|| {
            black_box(search("x"));
        })
        .as_micros()),
        "ms",
    );
    type Kind = (&'static str, fn(usize) -> String);
    let kinds: [Kind; 5] = [
        ("a name", |n| name(n).replace('-', "_")),
        ("a prefix", |n| name(n)[..7].to_owned()),
        ("two words, most tools", |n| {
            format!("{} catalogue", NOUNS[n % NOUNS.len()])
        }),
        ("a word in most tools", |n| {
            ["catalogue", "price", "shop", "item"][n % 4].to_owned()
        }),
        ("a misspelt name", |n| {
            let mut letters: Vec<char> = name(n).chars().collect();
            // In the noun: words of three letters have to be right.
            let noun = letters.iter().position(|c| *c == '-').unwrap_or_default();
            letters.swap(noun + 2, noun + 3);
            letters.into_iter().collect()
        }),
    ];
    let mut all = Vec::new();
    for (kind, query) in kinds {
        let mut times = Vec::new();
        for round in 0..rounds {
            let query = query(round * 7919 % tools);
            let start = thread_time();
            let found = black_box(search(&query));
            times.push((thread_time() - start).as_micros());
            assert!(found > 0, "`{query}` finds nothing");
        }
        let median = median(&mut times);
        row(&format!("searching by {kind}, median"), ms(median), "ms");
        row(
            &format!("searching by {kind}, p99"),
            ms(times[times.len() * 99 / 100]),
            "ms",
        );
        all.extend(times);
    }
    all.sort_unstable();
    targets.row(
        "all searches, p99",
        ms(all[all.len() * 99 / 100]),
        "ms",
        1.0,
    );
}

/// Stores a tool, and sees when it can be found by its name and by its words. What the disk takes is measured elsewhere.
fn changing(crib: &Crib, bundle: BundleId, rounds: usize, targets: &mut Targets) {
    let (mut finding, mut searching) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let slug = format!("one-more-{round}");
        let store = crib.store();
        store
            .put_tool(manifest(bundle, &slug))
            .expect("it is stored");
        let name = slug.clone();
        let start = Instant::now();
        crib.registry().find(&name).expect("it is there");
        finding.push(start.elapsed().as_micros());
        let request = SearchRequest {
            query: slug,
            limit: 1,
            ..SearchRequest::default()
        };
        let page = crib.search(&request).expect("a page");
        searching.push(start.elapsed().as_micros());
        assert_eq!(page.results[0].entry.spec().name.as_str(), name);
    }
    row(
        "one change, found by name, median",
        ms(median(&mut finding)),
        "ms",
    );
    targets.row(
        "one change, found by name and search, median",
        ms(median(&mut searching)),
        "ms",
        1.0,
    );
    row(
        "one change, found by name and search, least",
        ms(searching[0]),
        "ms",
    );
}

const VERBS: [&str; 8] = [
    "get", "list", "create", "update", "delete", "find", "send", "convert",
];
const NOUNS: [&str; 16] = [
    "invoice", "customer", "weather", "message", "branch", "document", "calendar", "order",
    "ticket", "payment", "device", "report", "account", "contract", "picture", "journey",
];

/// The slug of a tool.
fn name(number: usize) -> String {
    let (verb, noun) = (
        VERBS[number % VERBS.len()],
        NOUNS[number / VERBS.len() % NOUNS.len()],
    );
    format!("{verb}-{noun}-{number}")
}

fn scene() -> tempfile::TempDir {
    let scene = tempfile::tempdir().expect("a directory");
    std::fs::create_dir_all(scene.path().join("work/.git")).expect("a directory");
    scene
}

/// How many tools there are without any stored one.
fn own_tools() -> usize {
    let scene = scene();
    let crib = open(scene.path());
    crib.bundles().iter().map(|bundle| bundle.tools).sum()
}

/// A store of bundles with as many tools in all.
fn fill(scene: &Path, tools: usize) -> (Store, Vec<BundleId>) {
    let options = StoreOptions {
        max_tools: MAX_TOOLS,
        ..StoreOptions::default()
    };
    let store = Store::at(scene.join("home"), options);
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
            (0..tools / BUNDLES).map(|tool| manifest(id, &name(tool * BUNDLES + number)));
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
            "method": "GET",
            "urlTemplate": "https://shop.example.com/v1/items/${item}?currency=${currency}&detail=${detail}",
            "headers": {"Accept": "application/json", "User-Agent": "Shop/${version}"},
            "timeoutMs": 10000, "successCodes": [200], "responseEncoding": "json", "extractExpr": "$.item",
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
        ("TOOLCRIB_LIMITS_MAX_TOOLS", "200000"),
    ];
    let surroundings = Surroundings::new(&scene.join("work"), variables);
    let options = CribOptions::default().surroundings(surroundings);
    options.open().expect("a crib")
}

/// The time that this process has had of all processors: what counts on a machine that is busy.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.try_into().unwrap_or_default()
}

/// The time that this thread has had.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
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

/// The median; they are sorted then.
fn median(values: &mut [u128]) -> u128 {
    values.sort_unstable();
    values[values.len() / 2]
}

fn ms(micros: u128) -> f64 {
    micros as f64 / 1e3
}
