//! Every reader that meets text from outside before a person does, fed with texts that double, nest and repeat.
//!
//! Each reader runs in its own process, so that one that takes too much fails its test and nothing else. The limits are those of a
//! release build (`./test.sh hostile`); a debug build, whose readers are optimised less, gets the same memory and steps, and three times the
//! time. `--nocapture` shows what each text cost.

#[expect(dead_code, reason = "curl commands are for the reader of the server")]
pub(crate) mod corpus;
mod meter;

use serde_json::{Map, Value, json};
use toolcrib::Schema;
use toolcrib::definition::ParameterKind;
use toolcrib::jsonpath::JsonPath;
use toolcrib::rules::{RuleContext, RuleSet, Rules as _, Whose};
use toolcrib::template::{Code, Form, NamedParameter, Names};

use meter::{Feed, Meter, in_its_own_process};

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
    ("MCP messages", mcp_messages),
    ("JSON tools", tool_files),
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
            // Once to make the matcher, and once more for its groups.
            let steps = 2 * text.len() as u64;
            meter.feed(name, &text, steps, || {
                toolcrib::testing::searches_for(&text)
            });
        }
    }
}

fn indexes(_: &Meter) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("index");
    // A fourth of the longest that is read, with a fourth of the time and the memory.
    let meter = Meter::of_a_part(4);
    for size in sizes(64 * 1024 * 1024) {
        for (name, bytes) in corpus::indexes(size) {
            std::fs::write(&file, &bytes).unwrap();
            let mut steps = 0;
            meter.feed(name, &bytes, 0, || {
                let (found, taken) = toolcrib::sandbox::submodules_of_index(&file);
                steps = taken;
                found
            });
            // Each byte is read once; names of links are copied, 32 MB at most.
            let most = bytes.len() as u64 + (32 << 20);
            assert!(steps <= most, "`{name}` took {steps} steps");
        }
    }
}

/// Messages of MCP: what a client or another server sends.
fn mcp_messages(meter: &Meter) {
    for size in sizes(16 * 1024 * 1024) {
        for (name, text) in corpus::json(size) {
            for message in [
                text.clone(),
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{text}}}"
                ),
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{text},\"result\":{{}}}}"),
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":1,\"message\":\"\",\"data\":{text}}}}}"
                ),
            ] {
                // Nothing is expanded: values stay as they are written until their weight is known.
                meter.feed(name, &message, 0, || {
                    toolcrib_mcp::rpc::read(message.as_bytes()).is_ok()
                });
            }
        }
    }
}

/// Tools in JSON.
fn tool_files(meter: &Meter) {
    for size in sizes(512 * 1024) {
        let schemas = corpus::schemas(size);
        let schemas = schemas.iter().filter_map(|(name, text)| {
            let schema = serde_json::from_str(text).ok()?;
            Some((*name, corpus::tool("t", 1, &schema, "x").to_string()))
        });
        let urls = corpus::templates(size).into_iter().map(|(name, text)| {
            let mut tool = corpus::tool("t", 1, &json!({"type": "object"}), "x");
            tool["impl"]["urlTemplate"] = format!("https://api.example.com/{text}").into();
            tool["impl"]["headers"] = json!({"x": text});
            (name, tool.to_string())
        });
        for (name, text) in corpus::json(size).into_iter().chain(schemas).chain(urls) {
            meter.feed(name, &text, 8 * 1024 * 1024, || {
                toolcrib::manifest::read(text.as_bytes(), "x")
                    .problems
                    .len()
            });
        }
    }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Not a test by itself: what the others start. Does nothing unless one of them did.
#[test]
fn the_process_of_a_reader() {
    meter::feed_the_one_asked_for(READERS);
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

#[test]
fn a_message_of_mcp_is_bounded() {
    in_its_own_process("MCP messages");
}

#[test]
fn a_tool_in_json_is_bounded() {
    in_its_own_process("JSON tools");
}
