//! `toolcrib explain`: why a tool is or is not on offer, and what an error code means.

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib::config::{Origin, SETTINGS, Setting};
use toolcrib::crib::SecretNeeded;
use toolcrib::model::{JsonObject, text};
use toolcrib::registry::{Entry, Source};
use toolcrib::wire::{Dropped, mcp_tool};
use toolcrib::{Crib, ErrorCode, McpForm, ToolError};

use super::outbound::hosts;
use super::{Done, concurrent_in_words, format, in_words, open_to_look, reason_of};
use crate::args::{ExplainArgs, Global};
use crate::failure::CliError;
use crate::local_time;
use crate::output::Output;

pub(super) fn explain(args: &ExplainArgs, global: &Global, output: &Output) -> Done {
    if let Some(code) = ErrorCode::from_wire(&args.topic.to_ascii_uppercase()) {
        explain_code(code, output);
        // `timeout` is a code and a field; a document says one thing.
        if !output.json() {
            format::explain_also(&args.topic, output);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(code) = exit_code(&args.topic) {
        explain_exit_code(code, output);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(setting) = setting(&args.topic) {
        let is_tool = || {
            let crib = super::options(global).open();
            crib.is_ok_and(|crib| crib.registry().find(&args.topic).is_ok())
        };
        if !is_tool() {
            explain_setting(setting, global, output);
            if !output.json() {
                format::explain_also(&args.topic, output);
            }
            return Ok(ExitCode::SUCCESS);
        }
    }
    if format::explain(&args.topic, global, output) {
        return Ok(ExitCode::SUCCESS);
    }
    let crib = open_to_look(global, output)?;
    match crib.registry().find(&args.topic) {
        Ok(entry) => explain_tool(&entry, &crib, output),
        Err(error) => return Err(neither(&args.topic, error)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a topic is a code, which no home has to be opened for.
pub(super) fn needs_no_home(topic: &str) -> bool {
    ErrorCode::from_wire(&topic.to_ascii_uppercase()).is_some() || exit_code(topic).is_some()
}

/// A number that a command may exit with.
fn exit_code(topic: &str) -> Option<u8> {
    let is_number = !topic.is_empty() && topic.chars().all(|c| c.is_ascii_digit());
    is_number.then(|| topic.parse().ok()).flatten()
}

/// A setting by its key, or by its variable.
fn setting(topic: &str) -> Option<&'static Setting> {
    Setting::find(topic).or_else(|| SETTINGS.iter().find(|setting| setting.variable() == topic))
}

fn explain_exit_code(exit: u8, output: &Output) {
    let codes: Vec<ErrorCode> = ErrorCode::ALL
        .iter()
        .copied()
        .filter(|code| code.exit_code() == exit)
        .collect();
    let meaning = match (exit, codes.is_empty()) {
        (0, _) => "The command did what it was asked to do.",
        (141, _) => "The reader of the output went away, as in `toolcrib list | head -1`.",
        (_, false) => "One of these errors; the last line of the message names it.",
        (_, true) => {
            "Toolcrib itself does not exit with this. With `run --exit-code`, and from `toolcrib sandbox`, it is the exit code of the program that ran."
        }
    };
    if output.json() {
        output.document(&json!({"exitCode": exit, "meaning": meaning, "codes": codes}));
        return;
    }
    output.line(&output.heading(&format!("exit code {exit}")));
    output.line(meaning);
    if codes.is_empty() {
        return;
    }
    output.line("");
    let rows: Vec<Vec<String>> = codes
        .iter()
        .map(|code| vec![code.to_string(), code.meaning().to_owned()])
        .collect();
    output.table(&["CODE", "MEANING"], &rows);
}

fn explain_setting(setting: &Setting, global: &Global, output: &Output) {
    // Broken settings cannot be shown; what they mean can be.
    let crib = super::options(global).open().ok();
    let current = crib.as_ref().and_then(|crib| {
        let mut entries = crib.config().entries();
        let found = entries.find(|(known, _, _)| known.key == setting.key);
        found.map(|(_, value, origin)| (value.clone(), origin))
    });
    let file = crib.as_ref().map(|crib| crib.home().join("config.toml"));
    if output.json() {
        output.document(&json!({
            "setting": setting.key, "effect": setting.effect, "holds": setting.kind_in_words(),
            "default": setting.default, "variable": setting.variable(), "project": setting.project_in_words(),
            "value": current.as_ref().map(|(value, _)| value), "origin": current.as_ref().map(|(_, origin)| origin),
            "file": file,
        }));
        return;
    }
    let shown = |value: &Value| match value {
        Value::Null => "unset".to_owned(),
        value => value.to_string(),
    };
    output.line(&output.heading(setting.key));
    output.line("a setting of config.toml");
    output.line(setting.effect);
    output.line("");
    output.line(&format!("holds     {}", setting.kind_in_words()));
    output.line(&format!("default   {}", shown(&setting.default)));
    if let Some((value, origin)) = &current {
        let from = match origin {
            Origin::Default => String::new(),
            Origin::Environment => format!(" ({})", setting.variable()),
            origin => format!(" ({origin})"),
        };
        output.line(&format!("now       {}{from}", text::visible(&shown(value))));
    }
    output.line(&format!("variable  {}", setting.variable()));
    output.line(&format!("projects  may {}", setting.project_in_words()));
    if let Some(file) = &file {
        output.line(&format!("file      {}", file.display()));
    }
    output.line("");
    output.line(&match setting.is_list() {
        true => format!("toolcrib config set {} --add VALUE", setting.key),
        false => format!("toolcrib config set {} VALUE", setting.key),
    });
}

fn neither(topic: &str, error: ToolError) -> CliError {
    // Someone knows why it is not there.
    if error
        .details()
        .is_some_and(|details| details.contains_key("reason"))
    {
        return error.into();
    }
    let codes = text::nearest(topic, ErrorCode::ALL.iter().map(|code| code.as_str()));
    let tools = error
        .details()
        .and_then(|details| details.get("near")?.as_array().cloned())
        .unwrap_or_default();
    let near: Vec<&str> = tools
        .iter()
        .filter_map(Value::as_str)
        .chain(codes)
        .chain(text::nearest(
            topic,
            SETTINGS.iter().map(|setting| setting.key),
        ))
        .chain(format::near(topic))
        .take(3)
        .collect();
    let topic = text::shorten(topic, 60);
    let hint = if near.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", text::or_list(&near))
    };
    let message =
        format!("`{topic}` is not a tool, an error code, a setting, a problem or a field{hint}");
    ToolError::new(error.code(), message).into()
}

fn explain_code(code: ErrorCode, output: &Output) {
    let mcp = match code.mcp_form() {
        McpForm::Protocol => "protocol error",
        McpForm::ToolResult => "tool result with isError",
    };
    if output.json() {
        output.document(&json!({
            "code": code, "meaning": code.meaning(), "remedy": code.remedy(),
            "httpStatus": code.http_status(), "exitCode": code.exit_code(), "mcp": mcp,
        }));
        return;
    }
    output.line(&output.heading(code.as_str()));
    output.line(code.meaning());
    output.line(code.remedy());
    output.line("");
    output.line(&format!("exit code    {}", code.exit_code()));
    output.line(&format!("HTTP status  {}", code.http_status()));
    output.line(&format!("MCP          {mcp}"));
}

fn explain_tool(entry: &Arc<Entry>, crib: &Crib, output: &Output) {
    let spec = entry.spec();
    let files = crib.tool_files();
    let file = files.file_of(entry);
    let behind = crib.behind(entry);
    let reason = reason_of(&entry.availability()).or_else(|| behind.clone());
    let mut obstacles: Vec<String> = entry.obstacles().iter().filter_map(reason_of).collect();
    obstacles.extend(behind.clone());
    let usage = crib.usage(entry);
    let state = crib.tool_state(entry, &files);
    let workspace = crib.registry().workspace().map(AsRef::as_ref);
    let plan = entry.tool().sandbox_plan(&JsonObject::new(), workspace);
    let name = behind.clone().unwrap_or_else(|| names(entry, crib));
    let approval = match &spec.asks {
        Some(asks) => format!("asks {}", text::visible(asks)),
        None if spec.effects.is_unknown() => {
            "asks before every call: the tool does not say whether it reads, writes or runs something".to_owned()
        }
        None if spec.effects.is_read_only() => "runs without asking: it only reads".to_owned(),
        None => "runs without asking unless the tool or a rule says otherwise".to_owned(),
    };
    let limits = entry.limits();
    let http = file.and_then(|file| file.definition.as_ref()?.http());
    let hosts = http.map(|http| hosts(http, crib)).unwrap_or_default();
    let secrets = http
        .map(|http| crib.secrets_needed(http, &spec.bundle))
        .unwrap_or_default();
    let not_for_mcp = mcp_tool(spec, None).err().map(Dropped::from);
    let not_for_mcp = not_for_mcp.map(|dropped| dropped.reason);
    if output.json() {
        let secrets = secrets.into_iter().map(SecretNeeded::without_host);
        let mut document = json!({
            "tool": spec.name, "hosts": hosts, "secrets": secrets.collect::<Vec<_>>(), "reference": spec.reference(), "source": entry.source(),
            "offered": reason.is_none(), "state": state, "reason": reason, "reasons": obstacles,
            "approval": approval, "effects": spec.effects,
            "timeoutMs": u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX),
            "maxOutputBytes": limits.max_output_bytes, "digest": entry.digest(),
            "file": file.map(|file| &file.shown), "fileDigest": file.map(|file| &file.digest),
            "name": name, "sandbox": plan, "callCount": usage.call_count, "lastCalledAt": usage.last_called_at,
        });
        if let Some(why) = not_for_mcp {
            document["notForMcp"] = why.into();
        }
        output.document(&document);
        return;
    }
    let offered = match reason {
        None => output.good("on offer"),
        Some(reason) => output.doubtful(&format!("not available: {}", text::visible(&reason))),
    };
    output.line(&format!(
        "{}  {offered}",
        output.heading(spec.name.as_str())
    ));
    let others = obstacles.iter().skip(1);
    for also in others.filter(|also| Some(*also) != behind.as_ref()) {
        output.line(&format!("also      {}", text::visible(also)));
    }
    // What the headline says is not said again.
    let name = match behind {
        Some(_) if obstacles.len() == 1 => String::new(),
        _ => format!("; {name}"),
    };
    output.line(&format!(
        "from      {} ({}){name}",
        spec.reference(),
        entry.source().as_str()
    ));
    if let Some(file) = file {
        output.line(&format!("file      {}", file.shown));
    }
    if let Some(why) = &not_for_mcp {
        output.line(&format!(
            "mcp       not listed for clients: {}",
            text::visible(why)
        ));
    }
    output.line(&format!("approval  {approval}"));
    let words = in_words(limits.timeout, limits.max_output_bytes);
    output.line(&format!(
        "limits    {words}, {}",
        concurrent_in_words(limits.max_concurrent)
    ));
    if let Some(last) = usage.last_called_at {
        let times = match usage.call_count {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        output.line(&format!(
            "called    {times}, last at {}",
            local_time::second(last)
        ));
    }
    output.line(&format!("digest    {}", entry.digest()));
    for host in &hosts {
        output.line(&format!("host      {}", text::visible(&host.in_words())));
    }
    for secret in &secrets {
        output.line(&format!("secret    {}", text::visible(&secret.in_words())));
    }
    if let Some(plan) = plan {
        output.line("");
        output.line(&output.bold("its programs"));
        for line in plan.to_string().lines() {
            output.line(&text::visible(line));
        }
    }
}

/// Other tools that want the name of a tool that has it.
fn names(entry: &Arc<Entry>, crib: &Crib) -> String {
    let registry = crib.registry();
    let behind = |pairs: Vec<(Arc<Entry>, Arc<Entry>)>| -> Vec<String> {
        let behind = pairs.into_iter().filter(|(_, by)| Arc::ptr_eq(by, entry));
        behind.map(|(below, _)| below.spec().reference()).collect()
    };
    let (below, versions) = (
        behind(registry.shadowed()),
        behind(registry.other_versions()),
    );
    let shadows = (!below.is_empty()).then(|| format!("it shadows {}", below.join(", ")));
    let first = (!versions.is_empty())
        .then(|| format!("it comes before its version {}", versions.join(", ")));
    match (shadows, first, entry.source()) {
        (None, None, Source::BuiltIn | Source::App) => "nothing can take its name".to_owned(),
        (None, None, _) => "nothing else has its name".to_owned(),
        (shadows, first, _) => {
            let both: Vec<String> = first.into_iter().chain(shadows).collect();
            both.join("; ")
        }
    }
}
