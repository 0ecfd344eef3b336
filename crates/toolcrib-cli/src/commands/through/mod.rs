//! Verbs through a server that was named: what REST can do, printed as on this machine.
//!
//! Where a row or a document is the same JSON in both places, the same function prints it. What works on files, settings or
//! programs of a machine is refused with a reason.

mod approvals;
mod bundles;
mod calls;
mod check;
mod clients;
mod compared;
mod grants;
mod policy;
mod tools;
mod upstreams;

use serde_json::Value;

use super::{Done, held};
use crate::args::{Cli, Command, SecretCommand};
use crate::failure::CliError;
use crate::output::Output;
use crate::remote;

/// Carries a command out through the server that was named; `None` if none was, or if the command sees to it itself.
pub(super) fn dispatch(cli: &Cli, output: &Output) -> Option<Done> {
    let global = &cli.global;
    if !remote::is_named(global) {
        return None;
    }
    match &cli.command {
        // They have paths of their own, or nothing to do with any home.
        Command::Run(_) | Command::Stats(_) | Command::Completions(_) | Command::Man(_) => None,
        // What a code means is the same everywhere.
        Command::Explain(args) if super::explain::needs_no_home(&args.topic) => None,
        Command::Check(args) if args.schema.is_some() => None,
        _ => Some(through(cli, output)),
    }
}

fn through(cli: &Cli, output: &Output) -> Done {
    let global = &cli.global;
    let server = || {
        let server = remote::named(global)?;
        server.ok_or_else(|| CliError::usage("no server is named"))
    };
    match &cli.command {
        Command::List(args) => tools::list(args, &server()?, output),
        Command::Show(args) => tools::show(args, &server()?, output),
        Command::Search(args) => tools::search(args, &server()?, output),
        Command::Schema(args) => tools::schema(args, &server()?, output),
        Command::Enable(args) => tools::switch(args, true, &server()?, output),
        Command::Disable(args) => tools::switch(args, false, &server()?, output),
        Command::Rm(args) => tools::rm(args, &server()?, global, output),
        Command::Bundle(command) => bundles::bundle(command, server, global, output),
        Command::Calls(command) => calls::calls(command, &server()?, output),
        Command::Approvals(command) => approvals::approvals(command, server()?, global, output),
        Command::Grants(command) => grants::grants(command, server, global, output),
        Command::Held(command) => {
            let holder = held::Holder::There(Box::new(server()?));
            held::held(command, &holder, global, output)
        }
        Command::Check(args) if check::fits(args) => check::check(args, &server()?, output),
        Command::Clients(command) => clients::clients(command, &server()?, output),
        Command::Upstream(command) => upstreams::upstream(command, &server()?, global, output),
        Command::Rules(command) => policy::rules(command, server, global, output),
        Command::Secret(SecretCommand::List) => policy::secrets(&server()?, output),
        // Whatever comes later works on files until somebody has thought about it.
        other => Err(refused(other, global)),
    }
}

fn refused(command: &Command, global: &crate::args::Global) -> CliError {
    let word = format!("{command:?}");
    let end = word
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(word.len());
    let what = format!("`toolcrib {}`", word[..end].to_ascii_lowercase());
    match remote::refuse(global, &what) {
        Err(error) => error,
        Ok(()) => CliError::usage(format!("{what} does not work through a server")),
    }
}

/// A text of a row; empty if it has none.
fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn flag(row: &Value, key: &str) -> bool {
    row.get(key) == Some(&Value::Bool(true))
}

/// The texts of a list in a row.
fn texts<'a>(row: &'a Value, key: &str) -> Vec<&'a str> {
    let list = row.get(key).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Whether something is on offer, in one word and, if not, why.
fn standing(row: &Value) -> (&str, Option<String>) {
    let Some(availability) = row.get("availability") else {
        return ("ready", None);
    };
    let reason = text(availability, "reason");
    let help = match text(availability, "help") {
        "" => String::new(),
        help => format!("; {help}"),
    };
    match text(availability, "state") {
        "" | "ready" => ("ready", None),
        state => (state, Some(format!("{reason}{help}"))),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
