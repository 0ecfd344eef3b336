//! What a verdict costs: `cargo bench -p toolcrib --bench rules`.
//!
//! Judges ordinary commands by the default set and prints percentiles, next to the floor of only reading the shell text. The
//! target is 100 µs at the median; tools without shell text, paths or URLs must pay next to nothing.

use std::hint::black_box;
use std::time::{Duration, Instant};

use toolcrib::expr::Expression;
use toolcrib::model::JsonObject;
use toolcrib::rules::{RuleContext, RuleSet, Rules as _};
use toolcrib::schema::Property;
use toolcrib::serde_json::{Value, json};
use toolcrib::spec::Role;
use toolcrib::{Schema, ToolSpec, WireName};

const COMMANDS: &[&str] = &[
    "ls -la",
    "git status",
    "cargo test -p toolcrib --all-features -- --nocapture",
    "git add -A && git commit -m 'rules: a language of rules'",
    "grep -rn \"rm -rf\" --include='*.md' docs/ src/",
    "mkdir -p build && cd build && cmake .. && make -j4",
    "find . -name '*.pyc' -delete",
    "for f in src/*.c; do gcc -c \"$f\" -o \"build/$(basename \"$f\" .c).o\"; done",
    "sed -i 's/foo/bar/g' src/main.rs src/lib.rs",
    "python3 -m pytest -q tests/ 2>&1 | tail -50 > test.log",
    "curl -fsSL https://example.com/data.json -o data.json",
    "rm -rf build dist node_modules",
    "cat > notes.md <<'EOF'\nA first line.\nA second line about sudo.\nEOF",
    "docker build -t app:dev . && docker run --rm -v ./src:/src app:dev",
];

fn main() {
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !std::env::args().any(|word| word == "--bench");
    let rounds = if quick { 2 } else { 2000 };
    let rules = RuleSet::default();
    let shell = spec("shell", &[("command", Role::Shell)]);
    let calls: Vec<JsonObject> = COMMANDS
        .iter()
        .map(|command| object(json!({"command": command})))
        .collect();
    let reading = times(rounds, COMMANDS.len(), |index| {
        black_box(toolcrib::shell::read(COMMANDS[index]));
    });
    let cx = RuleContext {
        workspace: Some("/home/ada/project".as_ref()),
        ..RuleContext::default()
    };
    let judging = times(rounds, calls.len(), |index| {
        black_box(rules.judge(&shell, &calls[index], &cx));
    });
    let floor = percentile(&reading, 50);
    println!(
        "{} ordinary commands, {} rules\n",
        COMMANDS.len(),
        rules.rules().count()
    );
    row("reading the shell text (floor)", &reading, floor);
    row("reading and judging", &judging, floor);
    let path = spec("read_file", &[("path", Role::ReadPath)]);
    let args = object(json!({"path": "src/rules/mod.rs"}));
    row(
        "a path",
        &times(rounds, 10, |_| {
            drop(black_box(rules.judge(&path, &args, &cx)));
        }),
        floor,
    );
    let plain = spec("noop", &[]);
    let args = object(json!({"text": "hello", "count": 3}));
    row(
        "a tool without roles",
        &times(rounds, 10, |_| {
            drop(black_box(rules.judge(&plain, &args, &cx)));
        }),
        floor,
    );
    let expression =
        Expression::compile("x.length > 3 && x[0] == 'git'", &["x"]).expect("an expression");
    let value = json!(["git", "push", "--force", "origin"]);
    row(
        "an expression",
        &times(rounds, 10, |_| drop(black_box(expression.holds(&[&value])))),
        floor,
    );
    let median = percentile(&judging, 50).as_secs_f64() * 1e6;
    println!(
        "\nverdict on shell text: {median:.1} µs at the median; target 100 µs: {:.2}x",
        median / 100.0
    );
}

fn spec(name: &str, roles: &[(&str, Role)]) -> ToolSpec {
    let schema = roles.iter().fold(Schema::object(), |schema, (name, _)| {
        schema.optional(*name, Property::string(*name))
    });
    let mut spec = ToolSpec::new(WireName::fit(name), "x", schema.build().expect("a schema"));
    spec.roles = roles
        .iter()
        .map(|(name, role)| ((*name).to_owned(), role.clone()))
        .collect();
    spec
}

fn object(value: Value) -> JsonObject {
    value.as_object().cloned().expect("an object")
}

/// How long each single run took.
fn times(rounds: usize, kinds: usize, mut work: impl FnMut(usize)) -> Vec<Duration> {
    let mut times = Vec::with_capacity(rounds * kinds);
    for _ in 0..rounds {
        for kind in 0..kinds {
            let start = Instant::now();
            work(kind);
            times.push(start.elapsed());
        }
    }
    times.sort();
    times
}

fn percentile(times: &[Duration], percent: usize) -> Duration {
    times[(times.len() - 1) * percent / 100]
}

fn row(what: &str, times: &[Duration], floor: Duration) {
    let [p50, p95, p99] = [50, 95, 99].map(|percent| percentile(times, percent));
    println!(
        "{what:<34} p50 {p50:>9.2?}  p95 {p95:>9.2?}  p99 {p99:>9.2?}  {:>6.2}x",
        p50.as_secs_f64() / floor.as_secs_f64().max(1e-9)
    );
}
