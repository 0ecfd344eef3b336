//! Examples: calls that a rule must match, and calls it must not. A rule whose examples fail is not loaded.

use std::sync::LazyLock;

use serde_json::json;

use super::RuleContext;
use super::facts::{Facts, Texts};
use super::paths::Access;
use super::rule::{Rule, Stated};
use crate::model::JsonObject;
use crate::model::budget::Budget;
use crate::model::names::WireName;
use crate::model::text;
use crate::schema::{Property, Schema};
use crate::spec::{Role, ToolSpec};

/// Where the workspace of every example is.
const WORKSPACE: &str = "/workspace";

/// A call that a rule must match, or must not.
pub(super) struct Example {
    shown: String,
    matches: bool,
    spec: Spec,
    args: JsonObject,
}

/// The tool that an example calls.
enum Spec {
    Made(&'static ToolSpec),
    Named(Box<ToolSpec>),
}

impl Spec {
    fn tool(&self) -> &ToolSpec {
        match self {
            Spec::Made(spec) => spec,
            Spec::Named(spec) => spec,
        }
    }
}

/// One tool for each role that examples are about.
static TOOLS: LazyLock<[ToolSpec; 4]> = LazyLock::new(|| {
    [
        tool("shell", "command", Role::Shell),
        tool("read_file", "path", Role::ReadPath),
        tool("write_file", "path", Role::WritePath),
        tool("web_fetch", "url", Role::Url),
    ]
});

fn tool(name: &str, parameter: &str, role: Role) -> ToolSpec {
    let mut spec = bare(name);
    spec.roles = vec![(parameter.to_owned(), role)];
    spec
}

fn bare(name: &str) -> ToolSpec {
    let schema = ["command", "path", "url"]
        .into_iter()
        .fold(Schema::object(), |schema, name| {
            schema.optional(name, Property::string(name))
        });
    let schema = schema.build().expect("an object of texts is a schema");
    ToolSpec::new(WireName::fit(name), "an example", schema)
}

impl Example {
    /// Reads an example. A text with a space in it is shell text; one without is what the rule is about.
    pub(super) fn parse(
        value: &toml::Value,
        matches: bool,
        stated: &Stated,
    ) -> Result<Self, String> {
        let [shell, read, write, fetch] = &*TOOLS;
        let made = |tool: &'static ToolSpec, parameter: &str, value: &str| Example {
            shown: value.to_owned(),
            matches,
            spec: Spec::Made(tool),
            args: [(parameter.to_owned(), json!(value))].into_iter().collect(),
        };
        let table = match value {
            toml::Value::String(text) => {
                let word = !text.contains(char::is_whitespace) && stated.commands.is_empty();
                return Ok(match &stated.paths {
                    Some(paths) if word && paths.access == Some(Access::Write) => {
                        made(write, "path", text)
                    }
                    Some(_) if word => made(read, "path", text),
                    None if word && !stated.hosts.is_empty() => {
                        let url = if text.contains("://") {
                            text.clone()
                        } else {
                            format!("https://{text}/")
                        };
                        made(fetch, "url", &url)
                    }
                    _ => made(shell, "command", text),
                });
            }
            toml::Value::Table(table) => table,
            _ => return Err("an example is a text or a table".to_owned()),
        };
        let known = ["command", "read", "write", "url", "tool", "args"];
        if let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(format!(
                "unknown key `{key}`; an example has {}",
                text::or_list(&known)
            ));
        }
        let text = |key: &str| table.get(key).and_then(toml::Value::as_str);
        let one = [
            ("command", shell, "command"),
            ("read", read, "path"),
            ("write", write, "path"),
            ("url", fetch, "url"),
        ]
        .into_iter()
        .find_map(|(key, tool, parameter)| Some(made(tool, parameter, text(key)?)));
        if let Some(example) = one {
            return Ok(example);
        }
        let args = table.get("args").map(serde_json::to_value);
        match (text("tool"), args) {
            (Some(name), Some(Ok(serde_json::Value::Object(args)))) => Ok(Example {
                shown: format!("{name} {}", serde_json::Value::Object(args.clone())),
                matches,
                spec: Spec::Named(Box::new(like(name))),
                args,
            }),
            _ => Err("write { command = \"…\" }, { read = \"…\" }, { write = \"…\" }, { url = \"…\" } or { tool = \"…\", args = {…} }".to_owned()),
        }
    }
}

/// A tool of this name, with the roles of the one that examples know by it.
fn like(name: &str) -> ToolSpec {
    let known = TOOLS.iter().find(|tool| tool.name.as_str() == name);
    known.cloned().unwrap_or_else(|| bare(name))
}

/// Problems of the examples of a rule. Reading them is paid for from the budget of the file.
pub(super) fn check(rule: &Rule, examples: &[Example], budget: &mut Budget) -> Vec<String> {
    let mut problems = Vec::new();
    for example in examples {
        let tool = example.spec.tool();
        let named = matches!(example.spec, Spec::Named(_));
        let cx = RuleContext {
            workspace: Some(WORKSPACE.as_ref()),
            ..RuleContext::default()
        };
        let texts = Texts::read(tool, &example.args, &cx);
        if budget.step(texts.steps()).is_err() {
            problems.push("the examples of the file take too many steps to read".to_owned());
            break;
        }
        let facts = Facts::of(tool, &example.args, &texts);
        let shown = text::shorten(&example.shown, 120);
        let mut findings = Vec::new();
        if (!named || rule.concerns(tool))
            && let Err(error) = rule.try_judge(&facts, &mut findings)
        {
            problems.push(format!("the example `{shown}`: `expr`: {error}"));
            continue;
        }
        match (example.matches, findings.first()) {
            (true, None) => {
                problems.push(format!("the example `{shown}` must match, and does not"));
            }
            (false, Some(finding)) => {
                let about = finding.about.as_deref().unwrap_or("it");
                problems.push(format!(
                    "the example `{shown}` must pass, but `{about}` matches"
                ));
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
    problems
}
