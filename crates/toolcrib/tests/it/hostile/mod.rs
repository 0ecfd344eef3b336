//! Every reader that meets text from outside before a person does, fed with texts that double, nest and repeat.
//!
//! Each reader runs in its own process, so that one that takes too much fails its test and nothing else. The limits are those of a
//! release build (`./test.sh hostile`); a debug build, whose readers are optimised less, gets the same memory and steps, and three times the
//! time. `--nocapture` shows what each text cost.

pub(crate) mod corpus;

use std::process::Command;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};
use toolcrib::Schema;
use toolcrib::definition::ParameterKind;
use toolcrib::jsonpath::JsonPath;
use toolcrib::rules::{RuleContext, RuleSet, Rules as _, Whose};
use toolcrib::template::{Code, Form, NamedParameter, Names};

/// What one text may take of the memory, beyond what the process has.
const MEMORY: u64 = 256 * 1024 * 1024;

/// What one text may take of the processor.
const TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 3 } else { 1 });

/// The variable that says which reader a process is for.
const READER: &str = "TOOLCRIB_TEST_HOSTILE_READER";

/// Feeds a reader.
type Feed = fn(&Meter);

/// The readers, and what feeds them.
const READERS: &[(&str, Feed)] = &[
    ("shell", shell),
    ("rules", rules),
    ("rule files", rule_files),
    ("templates", templates),
    ("YAML", yaml),
    ("JSON", json_texts),
    ("schemas", schemas),
    ("JSONPath", json_paths),
    ("HTML", html),
    ("ZIP", archives),
    ("patterns", patterns),
    ("git indexes", indexes),
];

/// Sizes of texts from a few hundred bytes to the largest that a reader takes.
fn sizes(most: usize) -> [usize; 3] {
    [400, 16 * 1024, most]
}

fn shell(meter: &Meter) {
    for size in sizes(toolcrib::shell::MAX_TEXT) {
        for (name, text) in corpus::shell(size) {
            // Three steps a byte, and some for short texts.
            let steps = 48 * 1024 + 3 * text.len() as u64;
            meter.feed(name, &text, steps, || {
                let script = toolcrib::shell::read(&text);
                (script.commands.len(), script.doubts.len())
            });
        }
    }
}

fn rules(meter: &Meter) {
    let rules = RuleSet::default();
    let tool = super::rules::tool("shell");
    for size in sizes(toolcrib::shell::MAX_TEXT) {
        for (name, text) in corpus::shell(size) {
            let steps = 48 * 1024 + 3 * text.len() as u64;
            let args = object(json!({"command": text}));
            let cx = RuleContext {
                workspace: Some("/workspace".as_ref()),
                ..RuleContext::default()
            };
            meter.feed(name, &text, steps, || {
                rules.judge(&tool, &args, &cx).findings.len()
            });
        }
    }
}

fn rule_files(meter: &Meter) {
    for size in sizes(256 * 1024) {
        for (name, text) in corpus::rules(size) {
            // The examples of a file are paid for twice: by the file's budget, and each by its own.
            meter.feed(name, &text, 20 * 1024 * 1024, || {
                toolcrib::rules::Rule::from_toml(&text, "x.toml", Whose::Project).is_ok()
            });
        }
    }
}

fn templates(meter: &Meter) {
    let parameter = |name: &str, kind| NamedParameter {
        name: name.to_owned(),
        kind,
        format: None,
        raw: false,
    };
    let names = Names {
        parameters: vec![
            parameter("P", ParameterKind::String),
            parameter("Q", ParameterKind::String),
            parameter("L", ParameterKind::Array),
        ],
        ..Names::default()
    };
    for size in sizes(100 * 1024) {
        for (name, text) in corpus::templates(size) {
            for form in [Form::Bash, Form::Run, Form::Script("python".to_owned())] {
                meter.feed(name, &text, 8 * 1024 * 1024, || {
                    Code::compile(&form, &text, &names).is_ok()
                });
            }
        }
    }
}

fn yaml(meter: &Meter) {
    for size in sizes(toolcrib::definition::MAX_FILE_BYTES) {
        for (name, text) in corpus::yaml(size) {
            // The templates, and the values of the file.
            meter.feed(name, &text, 8 * 1024 * 1024 + 20_000, || {
                toolcrib::definition::read(text.as_bytes(), "x")
                    .problems
                    .len()
            });
        }
    }
}

fn json_texts(meter: &Meter) {
    for size in sizes(4 * 1024 * 1024) {
        for (name, text) in corpus::json(size) {
            let steps = 1024 + 16 * text.len() as u64;
            meter.feed(name, &text, steps, || {
                toolcrib::model::json::read_strict(text.as_bytes()).is_ok()
            });
        }
    }
}

fn schemas(meter: &Meter) {
    for size in sizes(512 * 1024) {
        let arguments: Vec<_> = [400, 4 * 1024, 1024 * 1024]
            .into_iter()
            .flat_map(corpus::arguments)
            .collect();
        for (name, text) in corpus::schemas(size) {
            let Ok(value) = serde_json::from_str::<Value>(&text) else {
                continue;
            };
            let mut schema = None;
            meter.feed(name, &text, 4 * 1024 * 1024, || {
                schema = Schema::stored(value)
                    .ok()
                    .filter(|schema| schema.compile().is_ok());
                schema.is_some()
            });
            let Some(schema) = schema else { continue };
            for (given, text) in &arguments {
                let Ok(Value::Object(args)) = serde_json::from_str::<Value>(text) else {
                    continue;
                };
                meter.feed(
                    &format!("{name} given {given}"),
                    text,
                    // Counted once before they are checked, and once more before their faults are named.
                    2 * 20_000_000,
                    || schema.check_arguments(args, &[]).is_ok(),
                );
            }
        }
    }
}

fn json_paths(meter: &Meter) {
    let documents: Vec<(_, Value)> = corpus::documents(256 * 1024)
        .into_iter()
        .map(|(name, text)| (name, serde_json::from_str(&text).unwrap()))
        .collect();
    for size in [40, 400, toolcrib::jsonpath::MAX_CHARACTERS] {
        for (name, text) in corpus::json_paths(size) {
            let Ok(path) = JsonPath::parse(&text) else {
                continue;
            };
            for (document, value) in &documents {
                let name = format!("{name} of {document}");
                meter.feed(&name, &text, toolcrib::jsonpath::MAX_STEPS, || {
                    path.query(value).map(|nodes| nodes.len()).ok()
                });
            }
        }
    }
}

fn html(meter: &Meter) {
    for size in sizes(5 * 1024 * 1024) {
        for (name, text) in corpus::html(size) {
            // Once for the page, and once more for its plain text if that was too much.
            meter.feed(name, &text, 2 * 16 * 1024 * 1024, || {
                toolcrib::testing::page_as_markdown(&text).len()
            });
        }
    }
}

fn archives(meter: &Meter) {
    for size in sizes(64 * 1024 * 1024) {
        for (name, bytes) in corpus::archives(size) {
            meter.feed(name, &bytes, 64 * 1024 * 1024, || {
                toolcrib::store::archive::Archive::read(&bytes).is_ok()
            });
        }
    }
}

fn patterns(meter: &Meter) {
    for size in [40, 400, 4096] {
        for (name, text) in corpus::patterns(size) {
            meter.feed(name, &text, 0, || toolcrib::testing::searches_for(&text));
        }
    }
}

fn indexes(meter: &Meter) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("index");
    // A fourth of the longest that is read, which takes a fourth of the time and the memory.
    for size in sizes(64 * 1024 * 1024) {
        for (name, bytes) in corpus::indexes(size) {
            std::fs::write(&file, &bytes).unwrap();
            meter.feed(name, &bytes, 0, || {
                toolcrib::sandbox::submodules_of_index(&file)
            });
        }
    }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Measures what texts cost.
struct Meter;

impl Meter {
    /// Has a text read within the limits.
    fn feed<T: std::fmt::Debug>(
        &self,
        name: &str,
        input: impl AsRef<[u8]>,
        most_steps: u64,
        read: impl FnOnce() -> T,
    ) {
        let bytes = input.as_ref().len();
        println!("{name}, {bytes} bytes");
        let before = Memory::now();
        // Resets the peak.
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        set_memory(Some(before.size + MEMORY));
        toolcrib::testing::work_taken();
        let begun = clock_gettime(ClockId::ThreadCPUTime);
        let made = format!("{:?}", read());
        let took = clock_gettime(ClockId::ThreadCPUTime) - begun;
        set_memory(None);
        let (steps, kept) = toolcrib::testing::work_taken();
        let peak = Memory::now().peak.saturating_sub(before.resident);
        let took = Duration::new(
            took.tv_sec.try_into().unwrap(),
            took.tv_nsec.try_into().unwrap(),
        );
        println!(
            "    {took:?}, {} KB, {steps} steps, {kept} bytes: {made}",
            peak / 1024
        );
        assert!(took < TIME, "`{name}` of {bytes} bytes took {took:?}");
        assert!(
            steps <= most_steps,
            "`{name}` of {bytes} bytes took {steps} steps"
        );
    }
}

/// The memory of this process, in bytes.
struct Memory {
    size: u64,
    resident: u64,
    peak: u64,
}

impl Memory {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.unwrap().split_whitespace().next().unwrap();
            number.parse::<u64>().unwrap() * 1024
        };
        Memory {
            size: field("VmSize:"),
            resident: field("VmRSS:"),
            peak: field("VmHWM:"),
        }
    }
}

/// Limits the memory of this process; none is as much as it may have at all.
fn set_memory(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::As).maximum;
    let current = match (bytes, maximum) {
        (Some(bytes), Some(most)) => Some(bytes.min(most)),
        (bytes, most) => bytes.or(most),
    };
    setrlimit(Resource::As, Rlimit { current, maximum }).unwrap();
}

/// Feeds a reader in its own process.
fn in_its_own_process(reader: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hostile::the_process_of_a_reader", "--nocapture"])
        .env(READER, reader)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "the reader of {reader} ended with {}: {complained}\nthe last texts:\n{}",
        output.status,
        said.lines().rev().take(5).collect::<Vec<_>>().join("\n")
    );
}

/// Not a test by itself: what the others start. Does nothing unless one of them did.
#[test]
fn the_process_of_a_reader() {
    if let Ok(wanted) = std::env::var(READER) {
        let (_, feed) = READERS.iter().find(|(name, _)| *name == wanted).unwrap();
        feed(&Meter);
    }
}

#[test]
fn a_shell_text_costs_no_more_than_its_budget() {
    in_its_own_process("shell");
}

#[test]
fn judging_a_shell_text_by_rules_is_bounded() {
    in_its_own_process("rules");
}

#[test]
fn a_file_of_rules_is_bounded() {
    in_its_own_process("rule files");
}

#[test]
fn a_template_costs_no_more_than_its_budget() {
    in_its_own_process("templates");
}

#[test]
fn a_tool_in_yaml_is_bounded() {
    in_its_own_process("YAML");
}

#[test]
fn a_json_text_is_bounded() {
    in_its_own_process("JSON");
}

#[test]
fn a_schema_and_its_patterns_are_bounded() {
    in_its_own_process("schemas");
}

#[test]
fn a_json_path_costs_no_more_than_its_budget() {
    in_its_own_process("JSONPath");
}

#[test]
fn a_web_page_is_bounded() {
    in_its_own_process("HTML");
}

#[test]
fn an_archive_is_bounded() {
    in_its_own_process("ZIP");
}

#[test]
fn an_expression_to_search_for_is_bounded() {
    in_its_own_process("patterns");
}

#[test]
fn an_index_of_git_is_bounded() {
    in_its_own_process("git indexes");
}
