//! `toolcrib grants`: what is allowed without asking.

use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib::approval::grants::{Grant, GrantRequest, Scope, Shape};
use toolcrib::model::spec::Role;
use toolcrib::model::{JsonObject, text};
use toolcrib::{Caller, Crib, ErrorCode, ToolError, ToolSpec};

use super::run::read_json_of;
use super::{Done, caller_word, open};
use crate::args::{Global, GrantArgs, GrantsCommand};
use crate::coerce;
use crate::duration;
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::{Line, Terminal, Wake, short, whoami};

pub(super) fn grants(command: &GrantsCommand, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    match command {
        GrantsCommand::List => list(&crib, output)?,
        GrantsCommand::Show { id } => {
            let grant = crib.grants().find(id).map_err(ToolError::from)?;
            show(&grant, output);
        }
        GrantsCommand::Revoke { ids } => revoke(ids, &crib, output)?,
        GrantsCommand::Add(args) => return add(args, &crib, global, output),
    }
    Ok(ExitCode::SUCCESS)
}

fn list(crib: &Crib, output: &Output) -> Result<(), CliError> {
    let list = crib.grants().list().map_err(ToolError::from)?;
    for damaged in &list.damaged {
        output.say(&format!(
            "{} `{}` cannot be read and allows nothing: {}",
            output.bold("warning:"),
            text::visible(&damaged.file),
            text::visible(&damaged.problem)
        ));
    }
    if output.json() {
        output.document(&list.grants);
        return Ok(());
    }
    if list.grants.is_empty() && !output.plain() {
        output.say("there are no grants: whatever asks, asks every time");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = list
        .grants
        .iter()
        .map(|grant| {
            let id = match output.plain() {
                true => grant.id.as_str(),
                false => short(&grant.id),
            };
            vec![
                id.to_owned(),
                grant.tool.clone(),
                scope_word(grant.scope).to_owned(),
                expires_in(grant),
                uses(grant),
                grant.shape.to_string(),
            ]
        })
        .collect();
    output.table(
        &["ID", "TOOL", "SCOPE", "EXPIRES IN", "USED", "ALLOWS"],
        &rows,
    );
    Ok(())
}

fn scope_word(scope: Scope) -> &'static str {
    match scope {
        Scope::Call => "call",
        Scope::Session => "session",
        Scope::Project => "project",
        Scope::User => "user",
    }
}

fn expires_in(grant: &Grant) -> String {
    let left = grant.expires_at.duration_since(Timestamp::now());
    duration::in_words(Duration::try_from(left).unwrap_or_default())
}

fn uses(grant: &Grant) -> String {
    match grant.max_uses {
        Some(most) => format!("{} of {most}", grant.uses),
        None => grant.uses.to_string(),
    }
}

fn show(grant: &Grant, output: &Output) {
    if output.json() {
        output.document(grant);
        return;
    }
    let visible = |text: &str| text::visible(text).replace('\n', " ");
    output.line(&output.heading(&visible(&grant.tool)));
    output.line(&format!("  allows   {}", grant.shape));
    let place = match (&grant.workspace, grant.scope) {
        (Some(workspace), _) => format!(" in {}", visible(workspace)),
        (None, _) => String::new(),
    };
    output.line(&format!("  scope    {}{place}", scope_word(grant.scope)));
    output.line(&format!("  caller   {}", caller_word(&grant.caller)));
    output.line(&format!("  expires  in {}", expires_in(grant)));
    output.line(&format!("  used     {}", uses(grant)));
    let reason = grant.reason.as_deref().map_or(String::new(), |reason| {
        format!(": {}", text::shorten(reason, 400))
    });
    output.line(&format!(
        "  made     {} by {}{reason}",
        grant.created_at.strftime("%Y-%m-%d %H:%M:%S UTC"),
        visible(&grant.by)
    ));
    output.line(&format!("  id       {}", grant.id));
    output.line("");
    output.line(&format!("toolcrib grants revoke {}", short(&grant.id)));
}

fn revoke(ids: &[String], crib: &Crib, output: &Output) -> Result<(), CliError> {
    // All or none: a typing error should not leave half of it done.
    let found: Result<Vec<Grant>, _> = ids.iter().map(|id| crib.grants().find(id)).collect();
    let mut found = found.map_err(ToolError::from)?;
    found.dedup_by(|one, other| one.id == other.id);
    for grant in &found {
        crib.grants().revoke(&grant.id).map_err(ToolError::from)?;
        if !output.json() {
            output.line(&format!(
                "revoked {}: {} with {} asks again",
                short(&grant.id),
                text::visible(&grant.tool),
                grant.shape
            ));
        }
    }
    if output.json() {
        output.document(&found);
    }
    Ok(())
}

fn add(args: &GrantArgs, crib: &Crib, global: &Global, output: &Output) -> Done {
    let entry = crib.registry().find(&args.tool)?;
    let spec = entry.spec();
    let wire = match &args.shape {
        Some(word) => read_json_of("--shape", word, global, output)?,
        None => shape_of(&args.pairs, spec)?,
    };
    let shape: Shape = serde_json::from_value(Value::Object(wire)).map_err(|error| {
        CliError::usage(format!("this is no shape of a grant: {error}"))
            .with_hint("`toolcrib grants add --help` shows how patterns are written")
    })?;
    shape
        .check(spec)
        .map_err(|error| ToolError::new(ErrorCode::InvalidArguments, error.to_string()))?;
    let scope = match args.scope.as_str() {
        "session" => Scope::Session,
        "user" => Scope::User,
        _ => Scope::Project,
    };
    let mut wanted = GrantRequest::new(shape, scope);
    wanted.max_uses = args.uses;
    wanted.reason = args.reason.clone().filter(|reason| !reason.is_empty());
    let lasting = args.expires.unwrap_or(scope.default_duration());
    wanted = wanted.lasting(lasting);
    let simulation = crib.simulate(&args.tool, &wanted.shape)?;
    let reach = match scope {
        Scope::Call | Scope::Session => "in this terminal session",
        Scope::Project => "in this workspace",
        Scope::User => "in all workspaces",
    };
    let calls = match args.uses {
        None => String::new(),
        Some(1) => ", one call".to_owned(),
        Some(uses) => format!(", {uses} calls"),
    };
    let lasting = duration::in_words(lasting);
    output.say(&format!(
        "{} without asking",
        output.bold(spec.name.as_str())
    ));
    output.say(&format!("  with  {}", wanted.shape));
    output.say(&format!("  for   {lasting} {reach}{calls}"));
    output.say(&format!("  this  {simulation}"));
    if !args.yes && !confirmed(global, output)? {
        output.say("no grant was made");
        return Ok(ExitCode::from(ErrorCode::ApprovalDenied.exit_code()));
    }
    let grant = crib.grant(&args.tool, &wanted, &Caller::Cli, &whoami())?;
    if output.json() {
        output.document(&grant);
    } else {
        output.line(&format!(
            "granted {}: take it back with `toolcrib grants revoke {}`",
            short(&grant.id),
            short(&grant.id)
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn confirmed(global: &Global, output: &Output) -> Result<bool, CliError> {
    let terminal = (!global.no_input)
        .then(|| Terminal::find(output.colours_terminal()))
        .flatten();
    let Some(terminal) = terminal else {
        let message = "there is nobody to confirm the grant";
        return Err(
            CliError::from(ToolError::new(ErrorCode::ApprovalUnavailable, message))
                .with_hint("pass `--yes` to make it without asking"),
        );
    };
    let wake = Wake::new()
        .map_err(|error| ToolError::new(ErrorCode::Internal, format!("cannot ask: {error}")))?;
    let _attention = terminal.attend();
    loop {
        match terminal.ask("Make this grant? (y/n) ", &wake) {
            Line::Text(word) => match word.trim().to_lowercase().as_str() {
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => {}
            },
            Line::End | Line::Woken => return Ok(false),
        }
    }
}

/// Patterns from words: by the role of each parameter, and the defaults of those that are not named.
fn shape_of(pairs: &[String], spec: &ToolSpec) -> Result<JsonObject, CliError> {
    let values = coerce::arguments(JsonObject::new(), pairs, Some(spec)).map_err(|error| {
        let hint = format!("`toolcrib show {}` lists the parameters", spec.name);
        CliError::usage(error.message).with_hint(hint)
    })?;
    let mut shape = JsonObject::new();
    for (name, value) in values {
        let role = spec.roles.iter().find(|(parameter, _)| *parameter == name);
        let pattern = match (role.map(|(_, role)| role), value) {
            (Some(Role::Shell), Value::String(command)) => json!({"argv": argv(&command)?}),
            (Some(Role::ReadPath | Role::WritePath), Value::String(path)) => json!({"path": path}),
            (None, Value::String(word)) if word == "*" => json!("any"),
            (_, value) => json!({"exact": value}),
        };
        shape.insert(name, pattern);
    }
    for (name, property) in spec.input_schema.properties() {
        if let Some(default) = property
            .get("default")
            .filter(|_| !shape.contains_key(name))
        {
            shape.insert(name.to_owned(), json!({"exact": default}));
        }
    }
    Ok(shape)
}

/// The words of a command's pattern. Quotes and the like would need a shell to be read; they are left to `--shape`.
fn argv(command: &str) -> Result<Vec<&str>, CliError> {
    const SPECIAL: &str = "'\"\\$`;|&<>()#~{}[]!?";
    if command.contains(|c: char| SPECIAL.contains(c)) {
        let command = text::shorten(command, 100);
        let message = format!("`{command}` is more than plain words, `*` and `**`");
        return Err(CliError::usage(message).with_hint(
            "write the words one by one: --shape '{\"command\": {\"argv\": [\"echo\", \"two words\"]}}'",
        ));
    }
    Ok(command.split_whitespace().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_plain_words_or_an_error_that_says_how() {
        assert_eq!(argv("git  log **").unwrap(), ["git", "log", "**"]);
        assert!(argv("echo 'two words'").is_err());
        assert!(argv("a; b").is_err());
    }
}
