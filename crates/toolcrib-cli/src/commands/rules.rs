//! `toolcrib rules`: which rules there are, whether they are in order, and what they make of a call.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::model::spec::Role;
use toolcrib::model::{JsonObject, text};
use toolcrib::rules::{Judgement, Rule, RuleContext, RuleProblem, Rules as _, RulesError, Whose};
use toolcrib::schema::{Property, Rejected, Schema};
use toolcrib::shell::{Directory, Part, SimpleCommand, Word};
use toolcrib::tool::ShellText;
use toolcrib::{Crib, ErrorCode, ToolError, ToolSpec, Verdict, WireName};

use super::run::read_json;
use super::{Done, open};
use crate::args::{Global, RulesCommand, RulesTestArgs};
use crate::coerce;
use crate::failure::CliError;
use crate::output::Output;

/// More than this is no file of rules.
const MAX_BYTES: u64 = 1024 * 1024;

pub(super) fn rules(command: &RulesCommand, global: &Global, output: &Output) -> Done {
    match command {
        RulesCommand::List => list(&open(global, output)?, output),
        RulesCommand::Check { files } if files.is_empty() => {
            checked(open(global, output)?.rules().rules().count(), output);
        }
        RulesCommand::Check { files } => checked(check(files)?, output),
        RulesCommand::Test(args) => return test(args, global, output),
    }
    Ok(ExitCode::SUCCESS)
}

fn list(crib: &Crib, output: &Output) {
    let all: Vec<(&Rule, bool)> = crib
        .rules()
        .rules()
        .map(|rule| (rule, true))
        .chain(crib.rules().disabled().map(|rule| (rule, false)))
        .collect();
    if output.json() {
        let rows: Vec<Value> = all
            .iter()
            .map(|(rule, enabled)| {
                json!({"name": rule.name(), "verdict": rule.verdict(), "tools": rule.tools(),
                       "origin": rule.origin().to_string(), "reason": rule.reason(), "enabled": enabled})
            })
            .collect();
        return output.document(&rows);
    }
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|(rule, enabled)| {
            let tools = match rule.tools() {
                [] => "all".to_owned(),
                tools => tools.join(", "),
            };
            let verdict = if *enabled {
                rule.verdict().as_str()
            } else {
                "off"
            };
            vec![
                rule.name().to_owned(),
                verdict.to_owned(),
                tools,
                rule.origin().to_string(),
                rule.reason().to_owned(),
            ]
        })
        .collect();
    output.table(&["NAME", "VERDICT", "TOOLS", "FROM", "REASON"], &rows);
}

fn check(files: &[PathBuf]) -> Result<usize, CliError> {
    let mut problems = Vec::new();
    let mut names: Vec<(String, String)> = Vec::new();
    for file in files {
        let shown = file.display().to_string();
        let read = read(file).map_err(|error| RulesError {
            problems: vec![RuleProblem {
                file: shown.clone(),
                rule: None,
                message: format!("cannot be read: {error}"),
            }],
        });
        match read.and_then(|text| Rule::from_toml(&text, &shown, Whose::Operator)) {
            Err(error) => problems.extend(error.problems),
            Ok(rules) => {
                for rule in rules {
                    if let Some((_, other)) = names.iter().find(|(name, _)| name == rule.name()) {
                        problems.push(RuleProblem {
                            file: shown.clone(),
                            rule: Some(format!("`{}`", rule.name())),
                            message: format!("a rule of this name is in {other}; names are unique"),
                        });
                    }
                    names.push((rule.name().to_owned(), shown.clone()));
                }
            }
        }
    }
    if problems.is_empty() {
        return Ok(names.len());
    }
    let faults: Vec<Value> = problems
        .iter()
        .map(|problem| {
            let place = match &problem.rule {
                Some(rule) => format!("{}: rule {rule}:", problem.file),
                None => format!("{}:", problem.file),
            };
            json!({"pointer": place, "message": problem.message})
        })
        .collect();
    let error = ToolError::new(ErrorCode::Usage, RulesError { problems }.to_string())
        .with_detail("faults", Value::Array(faults));
    Err(CliError::from(error).with_hint("docs/rules.md has the language of rules"))
}

fn read(file: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    std::fs::File::open(file)?
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(std::io::Error::other("the file is over 1 MB"));
    }
    Ok(text)
}

fn checked(rules: usize, output: &Output) {
    if output.json() {
        output.document(&json!({"ok": true, "value": {"rules": rules}}));
    } else {
        output.line(&format!(
            "{rules} rules are in order, and so are their examples"
        ));
    }
}

fn test(args: &RulesTestArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let (spec, arguments, texts) = call(args, &crib, global, output)?;
    let cx = RuleContext {
        workspace: crib.workspace_path(),
        commands: &texts,
    };
    let judgement = crib.rules().judge(&spec, &arguments, &cx);
    let commands = commands(&spec, &arguments, &texts);
    if output.json() {
        let commands: Vec<Value> = commands.iter().map(as_json).collect();
        output.document(&json!({"ok": true, "value": {
            "tool": spec.name.as_str(), "verdict": judgement.verdict, "findings": judgement.findings, "commands": commands}}));
    } else {
        print(&judgement, &commands, output);
    }
    Ok(match (args.exit_code, judgement.verdict) {
        (false, _) | (true, Verdict::Allow) => ExitCode::SUCCESS,
        (true, Verdict::Deny) => ExitCode::from(ErrorCode::BlockedByRule.exit_code()),
        (true, Verdict::Ask) => ExitCode::from(ErrorCode::ApprovalUnavailable.exit_code()),
    })
}

/// The tool, the arguments and the tool's own shell text as the pipeline would hand them to the rules.
fn call(
    args: &RulesTestArgs,
    crib: &Crib,
    global: &Global,
    output: &Output,
) -> Result<(ToolSpec, JsonObject, Vec<ShellText>), CliError> {
    let Some(tool) = &args.tool else {
        let text = args.command.clone().unwrap_or_default();
        let arguments = [("command".to_owned(), json!(text))].into_iter().collect();
        return Ok((any_shell()?, arguments, Vec::new()));
    };
    let entry = crib.registry().find(tool)?;
    let spec = entry.spec();
    let base = match &args.args {
        Some(word) => read_json(word, global, output)?,
        None => JsonObject::new(),
    };
    let hint = || format!("`toolcrib show {}` lists the parameters", spec.name);
    let arguments = coerce::arguments(base, &args.pairs, Some(spec))
        .map_err(|error| CliError::usage(error.message).with_hint(hint()))?;
    let tool = entry.tool();
    let checked = spec.input_schema.check_arguments(arguments, &spec.synonyms);
    let refined = checked.and_then(|arguments| {
        let refined = tool.refine(arguments.clone(), false);
        refined.map_err(|faults| Rejected::Arguments {
            args: arguments,
            faults,
        })
    });
    match refined {
        Ok(arguments) => {
            let workspace = crib.registry().workspace().map(AsRef::as_ref);
            let texts = tool.commands(&arguments, workspace);
            Ok((ToolSpec::clone(spec), arguments, texts))
        }
        Err(Rejected::Arguments { faults, .. }) => {
            let all: Vec<String> = faults
                .iter()
                .map(|fault| format!("`{}` {}", fault.pointer, fault.message))
                .collect();
            let message = format!("invalid arguments for `{}`: {}", spec.name, all.join("; "));
            Err(
                CliError::from(ToolError::new(ErrorCode::InvalidArguments, message))
                    .with_hint(hint()),
            )
        }
        Err(Rejected::Schema(error)) => {
            let message = format!("`{}` has a schema that cannot be used: {error}", spec.name);
            Err(ToolError::new(ErrorCode::ToolUnavailable, message).into())
        }
    }
}

/// A tool that takes shell text, whether one is registered or not.
fn any_shell() -> Result<ToolSpec, CliError> {
    let schema = Schema::object()
        .required("command", Property::string("The text"))
        .build()
        .map_err(|error| ToolError::new(ErrorCode::Internal, error.to_string()))?;
    let mut spec = ToolSpec::new(WireName::fit("shell"), "Runs a command", schema);
    spec.aliases = vec![WireName::fit("execute_bash")];
    spec.roles = vec![("command".to_owned(), Role::Shell)];
    Ok(spec)
}

/// The commands of the shell texts among the arguments, and of those the tool makes of them.
fn commands(spec: &ToolSpec, args: &JsonObject, texts: &[ShellText]) -> Vec<SimpleCommand> {
    let text = |name: &str| args.get(name).and_then(Value::as_str);
    let shells = spec.roles.iter().filter(|(_, role)| match role {
        Role::Shell => true,
        Role::Code { language } => matches!(text(language), Some("bash" | "sh")),
        Role::Directory | Role::ReadPath | Role::WritePath | Role::Url => false,
    });
    shells
        .filter_map(|(name, _)| text(name))
        .chain(texts.iter().map(|made| made.text.as_str()))
        .flat_map(|text| toolcrib::shell::read(text).commands)
        .collect()
}

fn print(judgement: &Judgement, commands: &[SimpleCommand], output: &Output) {
    output.line(&format!("verdict  {}", judgement.verdict.as_str()));
    if judgement.findings.is_empty() {
        output.line("no rule has anything to say");
    }
    for finding in &judgement.findings {
        output.line(&format!(
            "{:<7}  {}: {}",
            finding.verdict.as_str(),
            finding.rule,
            text::visible(&finding.reason)
        ));
        if let Some(about) = &finding.about {
            output.line(&output.dim(&format!("         in {}", text::visible(about))));
        }
    }
    if output.verbose() {
        for command in commands {
            let words: Vec<String> = command.words.iter().map(shown).collect();
            let via = match command.via.as_slice() {
                [] => String::new(),
                via => format!(" (by {})", via.join(", ")),
            };
            let place = match &command.directory {
                Directory::Start => String::new(),
                Directory::Known(path) => format!(" (in {path})"),
                Directory::Unknown => " (somewhere)".to_owned(),
            };
            let line = format!("runs     {}{via}{place}", words.join(" "));
            output.line(&text::visible(&line));
        }
    }
}

fn as_json(command: &SimpleCommand) -> Value {
    let directory = match &command.directory {
        Directory::Start => json!("."),
        Directory::Known(path) => json!(path),
        Directory::Unknown => Value::Null,
    };
    let words: Vec<String> = command.words.iter().map(shown).collect();
    json!({"words": words, "via": command.via, "directory": directory})
}

fn shown(word: &Word) -> String {
    let part = |part: &Part| match part {
        Part::Text(text) | Part::Glob(text) | Part::Dynamic(text) => text.clone(),
        Part::Variable(name) => format!("${name}"),
    };
    word.parts.iter().map(part).collect()
}
