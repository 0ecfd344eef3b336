//! `toolcrib rules` and `toolcrib secret list` through a server.

use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib::ErrorCode;
use toolcrib::model::JsonObject;

use super::super::Done;
use super::super::run::read_json;
use super::{flag, text, texts};
use crate::args::{Global, RulesCommand, RulesTestArgs};
use crate::coerce;
use crate::duration;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::{self, Server, spec_named};

pub(super) fn rules(
    command: &RulesCommand,
    server: impl FnOnce() -> Result<Server, CliError>,
    global: &Global,
    output: &Output,
) -> Done {
    match command {
        RulesCommand::List => {
            let rows = server()?.rows("/api/rules", "rules")?;
            if output.json() {
                output.document(&rows);
                return Ok(ExitCode::SUCCESS);
            }
            let cells: Vec<Vec<String>> = rows.iter().map(rule_cells).collect();
            output.table(&["NAME", "VERDICT", "TOOLS", "FROM", "REASON"], &cells);
        }
        RulesCommand::Test(args) => return test(args, &server()?, global, output),
        RulesCommand::Check { .. } => remote::refuse(global, "`toolcrib rules check`")?,
    }
    Ok(ExitCode::SUCCESS)
}

fn rule_cells(row: &Value) -> Vec<String> {
    let tools = match texts(row, "tools").as_slice() {
        [] => "all".to_owned(),
        tools => tools.join(", "),
    };
    let verdict = match flag(row, "enabled") {
        true => text(row, "verdict"),
        false => "off",
    };
    vec![
        text(row, "name").to_owned(),
        verdict.to_owned(),
        tools,
        text(row, "origin").to_owned(),
        text(row, "reason").to_owned(),
    ]
}

fn test(args: &RulesTestArgs, server: &Server, global: &Global, output: &Output) -> Done {
    let body = match &args.tool {
        None => json!({"command": args.command.as_deref().unwrap_or_default()}),
        Some(tool) => {
            let base = match &args.args {
                Some(word) => read_json(word, global, output)?,
                None => JsonObject::new(),
            };
            let spec = spec_named(tool, server)?;
            let arguments = coerce::arguments(base, &args.pairs, spec.as_ref())
                .map_err(|error| CliError::usage(error.message))?;
            json!({"tool": tool, "args": arguments})
        }
    };
    let tested = server.wait(server.client.post("/api/rules/test", &body))?;
    let verdict = text(&tested, "verdict");
    if output.json() {
        output.document(&json!({"ok": true, "value": tested}));
    } else {
        print(&tested, output);
    }
    Ok(match (args.exit_code, verdict) {
        (true, "deny") => ExitCode::from(ErrorCode::BlockedByRule.exit_code()),
        (true, "ask") => ExitCode::from(ErrorCode::ApprovalUnavailable.exit_code()),
        _ => ExitCode::SUCCESS,
    })
}

fn print(tested: &Value, output: &Output) {
    let visible =
        |row: &Value, key: &str| toolcrib::model::text::visible(text(row, key)).into_owned();
    output.line(&format!("verdict  {}", visible(tested, "verdict")));
    let findings = tested.get("findings").and_then(Value::as_array);
    if findings.is_none_or(Vec::is_empty) {
        output.line("no rule has anything to say");
    }
    for finding in findings.into_iter().flatten() {
        let (verdict, rule) = (visible(finding, "verdict"), visible(finding, "rule"));
        output.line(&format!(
            "{verdict:<7}  {rule}: {}",
            visible(finding, "reason")
        ));
        let about = visible(finding, "about");
        if !about.is_empty() {
            output.line(&output.dim(&format!("         in {about}")));
        }
    }
}

pub(super) fn secrets(server: &Server, output: &Output) -> Done {
    let rows = server.rows("/api/secrets", "secrets")?;
    if output.json() {
        output.document(&rows);
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() && !output.plain() {
        output.say(
            "there are no secrets; `toolcrib secret set NAME` on the server's machine asks for one",
        );
        return Ok(ExitCode::SUCCESS);
    }
    let or_any = |list: Vec<&str>| match list.as_slice() {
        [] => "any".to_owned(),
        list => list.join(", "),
    };
    let set = |row: &Value| {
        let when: Option<Timestamp> = text(row, "modifiedAt").parse().ok();
        match when {
            Some(when) if !output.plain() => {
                let age = Duration::try_from(Timestamp::now().duration_since(when));
                format!("{} ago", duration::in_words(age.unwrap_or_default()))
            }
            _ => text(row, "modifiedAt").to_owned(),
        }
    };
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                text(row, "name").to_owned(),
                text(row, "hash").to_owned(),
                set(row),
                or_any(texts(row, "bundles")),
                or_any(texts(row, "hosts")),
            ]
        })
        .collect();
    output.table(&["NAME", "HASH", "SET", "BUNDLES", "HOSTS"], &cells);
    Ok(ExitCode::SUCCESS)
}
