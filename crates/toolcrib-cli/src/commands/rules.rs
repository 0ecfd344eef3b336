//! `toolcrib rules`: lists the rules, checks them, and shows their verdict on a call.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::crib::{RuleRow, RulesTest};
use toolcrib::model::{JsonObject, text};
use toolcrib::rules::{Rule, RuleProblem, RulesError, Whose};
use toolcrib::{ErrorCode, ToolError, Verdict};
use toolcrib_server::client::Ask;

use super::run::read_json;
use super::{Done, open};
use crate::args::{Global, RulesCommand, RulesTestArgs};
use crate::coerce;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote;
use crate::remote::Backend;

/// More than this is not a file of rules.
const MAX_BYTES: u64 = 1024 * 1024;

pub(super) fn rules(command: &RulesCommand, global: &Global, output: &Output) -> Done {
    match command {
        RulesCommand::List => list(&crate::commands::backend(global, output)?, output)?,
        RulesCommand::Check { files } => {
            remote::refuse(global, "`toolcrib rules check`")?;
            let rules = match files.as_slice() {
                [] => open(global, output)?.rules().rules().count(),
                files => check(files)?,
            };
            checked(rules, output);
        }
        RulesCommand::Test(args) => return test(args, global, output),
    }
    Ok(ExitCode::SUCCESS)
}

fn list(backend: &Backend, output: &Output) -> Result<(), CliError> {
    let all: Vec<RuleRow> = backend.rows("/api/rules", "rules")?;
    if output.json() {
        output.document(&all);
        return Ok(());
    }
    let rows: Vec<Vec<String>> = all
        .into_iter()
        .map(|rule| {
            let tools = match rule.tools.as_slice() {
                [] => "all".to_owned(),
                tools => tools.join(", "),
            };
            let verdict = match rule.enabled {
                true => rule.verdict.as_str(),
                false => "off",
            };
            vec![
                rule.name,
                verdict.to_owned(),
                tools,
                rule.origin,
                rule.reason,
            ]
        })
        .collect();
    output.table(&["NAME", "VERDICT", "TOOLS", "FROM", "REASON"], &rows);
    Ok(())
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
            "{rules} rules are valid, and so are their examples"
        ));
    }
}

fn test(args: &RulesTestArgs, global: &Global, output: &Output) -> Done {
    let backend = crate::commands::backend(global, output)?;
    let tested = call(args, &backend, global, output)?;
    if output.json() {
        output.document(&json!({"ok": true, "value": tested}));
    } else {
        print(&tested, output);
    }
    Ok(match (args.exit_code, tested.verdict) {
        (false, _) | (true, Verdict::Allow) => ExitCode::SUCCESS,
        (true, Verdict::Deny) => ExitCode::from(ErrorCode::BlockedByRule.exit_code()),
        (true, Verdict::Ask) => ExitCode::from(ErrorCode::ApprovalUnavailable.exit_code()),
    })
}

/// What the rules make of the call that was named.
fn call(
    args: &RulesTestArgs,
    backend: &Backend,
    global: &Global,
    output: &Output,
) -> Result<RulesTest, CliError> {
    let ask = |body: Value| Ask::post("/api/rules/test", &body);
    let Some(tool) = &args.tool else {
        let text = args.command.as_deref().unwrap_or_default();
        return backend.ask(ask(json!({"command": text})));
    };
    let spec = remote::look_up(tool, backend)?.spec;
    let base = match &args.args {
        Some(word) => read_json(word, global, output)?,
        None => JsonObject::new(),
    };
    let hint = || format!("`toolcrib show {}` lists the parameters", spec.name);
    let arguments = coerce::arguments(base, &args.pairs, Some(&spec))
        .map_err(|error| CliError::usage(error.message).with_hint(hint()))?;
    let tested = backend
        .client
        .json_as(ask(json!({"tool": tool, "args": arguments})));
    backend.wait_raw(tested).map_err(|error| {
        let is_argument = error.code() == Some(ErrorCode::InvalidArguments);
        let error = backend.failed(&error);
        match is_argument {
            true => error.with_hint(hint()),
            false => error,
        }
    })
}

fn print(judgement: &RulesTest, output: &Output) {
    output.line(&format!("verdict  {}", judgement.verdict.as_str()));
    if judgement.findings.is_empty() {
        output.line("no rule applies");
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
        for command in &judgement.commands {
            let words = &command.words;
            let via = match command.via.as_slice() {
                [] => String::new(),
                via => format!(" (by {})", via.join(", ")),
            };
            let place = match command.directory.as_deref() {
                Some(".") => String::new(),
                Some(path) => format!(" (in {path})"),
                None => " (somewhere)".to_owned(),
            };
            let line = format!("runs     {}{via}{place}", words.join(" "));
            output.line(&text::visible(&line));
        }
    }
}
