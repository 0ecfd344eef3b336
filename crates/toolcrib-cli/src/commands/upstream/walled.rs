//! The wall around a server's program, as `upstream add`, `update` and `show` speak of it.

use std::path::Path;

use serde_json::{Map, Value, json};
use toolcrib::model::text::{or_list, shorten, visible_line};
use toolcrib::upstream::{Transport, UpstreamSettings};

use super::super::confirm::{can_ask, confirmed};
use super::line_of;
use crate::args::{Global, UpstreamAddArgs};
use crate::failure::CliError;
use crate::output::Output;

/// The table `sandbox` that someone typed.
pub(super) fn typed(args: &UpstreamAddArgs) -> Result<Value, CliError> {
    let level = args.sandbox.as_deref().unwrap_or("process");
    let mut fields = Map::new();
    fields.insert("level".to_owned(), level.into());
    for (key, given) in [("read", &args.read), ("write", &args.write)] {
        if given.is_empty() {
            continue;
        }
        let whole = given.iter().map(|path| {
            let path = std::path::absolute(path);
            path.map(|path| path.to_string_lossy().into_owned())
        });
        let whole: Result<Vec<String>, _> = whole.collect();
        let whole = whole.map_err(|error| CliError::usage(format!("`--{key}`: {error}")))?;
        fields.insert(key.to_owned(), json!(whole));
    }
    for (key, given) in [("hosts", &args.host), ("environment", &args.pass)] {
        if !given.is_empty() {
            fields.insert(key.to_owned(), json!(given));
        }
    }
    if let Some(memory) = &args.memory {
        fields.insert("memory".to_owned(), memory.as_str().into());
    }
    Ok(Value::Object(fields))
}

/// Asks whether the program may write the directories that its arguments name, where nothing was said of them.
pub(super) fn ask_to_write(
    settings: &mut UpstreamSettings,
    global: &Global,
    output: &Output,
) -> Result<(), CliError> {
    let (Some(sandbox), Transport::Program { args, .. }) =
        (&mut settings.sandbox, &settings.transport)
    else {
        return Ok(());
    };
    let nothing_said = sandbox.read.is_none() && sandbox.write.is_empty();
    if sandbox.level.name() == "none" || !nothing_said || !can_ask(global, output) {
        return Ok(());
    }
    for arg in args {
        let path = Path::new(arg);
        if path.is_absolute() && path.parent().is_some() && path.is_dir() {
            let shown = shorten(&visible_line(arg), 200);
            let question = format!("it may read `{shown}`; may it also write there? [y/n] ");
            if confirmed(&question, global, output)? {
                sandbox.write.push(arg.clone());
            }
        }
    }
    Ok(())
}

/// Says which hosts a program wanted to reach.
pub(super) fn say_network(probe: &Value, output: &Output) {
    for (allowed, what) in [(true, "reached"), (false, "tried to reach, and may not:")] {
        let hosts = hosts(probe, allowed);
        if !hosts.is_empty() {
            output.say(&format!("it {what} {}", hosts.join(", ")));
        }
    }
}

/// Asks whether the program may reach the hosts that it was kept from; whether that changes the settings.
pub(super) fn ask_to_reach(
    probe: &Value,
    settings: &mut UpstreamSettings,
    global: &Global,
    output: &Output,
) -> Result<bool, CliError> {
    let refused = hosts(probe, false);
    let Some(sandbox) = settings.sandbox.as_mut().filter(|_| !refused.is_empty()) else {
        return Ok(false);
    };
    if !can_ask(global, output) {
        return Ok(false);
    }
    let names: Vec<&str> = refused.iter().map(String::as_str).collect();
    let question = format!("may it reach {} from now on? [y/n] ", or_list(&names));
    let is_allowed = confirmed(&question, global, output)?;
    if is_allowed {
        // The usual ports need not be named, and those of an address must be.
        let entry = |host: &String| match host.strip_suffix(":443") {
            Some(name) if name.parse::<std::net::IpAddr>().is_err() => name.to_owned(),
            _ => host.clone(),
        };
        sandbox.hosts.extend(refused.iter().map(entry));
    }
    Ok(is_allowed)
}

fn hosts(probe: &Value, allowed: bool) -> Vec<String> {
    let all = probe["network"].as_array().into_iter().flatten();
    all.filter(|reached| reached["allowed"] == allowed)
        .map(|reached| shorten(&line_of(reached, "host"), 200))
        .collect()
}

/// Prints a wall line by line.
pub(super) fn print_plan(plan: &Value, output: &Output) {
    for line in plan["lines"].as_array().into_iter().flatten() {
        let mark = match line["kept"] == true {
            true => "",
            false => "  (not in full)",
        };
        output.line(&format!(
            "  {:<12} {}{mark}",
            line_of(line, "about"),
            line_of(line, "promise")
        ));
        if line["kept"] != true {
            output.line(&format!("               {}", line_of(line, "backedBy")));
        }
    }
}
