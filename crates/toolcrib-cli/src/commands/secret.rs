//! `toolcrib secret`: keys and passwords for tools, which no tool, model or log gets to see.
//!
//! A value comes from a prompt that does not show it, from standard input or from a variable; never from the command line, where
//! the shell's history and every process of the machine would have it.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Read as _};
use std::process::ExitCode;

use jiff::Timestamp;
use serde_json::json;
use toolcrib::crib::SecretRow;
use toolcrib::model::ids::BundleId;
use toolcrib::model::text;
use toolcrib::secret::{Binding, SecretError, SecretName};
use toolcrib::source::{FileDefinition, ToolFile};
use toolcrib::{Crib, ErrorCode, Secret, Slug, ToolError};

use super::{Done, open};
use crate::args::{Global, SecretCommand, SecretSetArgs};
use crate::duration;
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::{Hidden, Terminal};
use crate::remote;
use crate::remote::Backend;

/// The longest value, with a little more to notice what is longer.
const MAX_INPUT: u64 = 65 * 1024;

pub(super) fn secret(command: &SecretCommand, global: &Global, output: &Output) -> Done {
    match command {
        SecretCommand::List => list(&crate::commands::backend(global, output)?, output)?,
        SecretCommand::Set(args) => {
            remote::refuse(global, "`toolcrib secret`")?;
            set(args, global, output)?;
        }
        SecretCommand::Rm { names } => {
            remote::refuse(global, "`toolcrib secret`")?;
            remove(names, &open(global, output)?, output)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl From<SecretError> for CliError {
    fn from(error: SecretError) -> Self {
        let hint = match &error {
            SecretError::Missing { .. } => "`toolcrib secret list` shows the names",
            SecretError::Invalid(_) | SecretError::NotBound(_) => {
                "`toolcrib secret set --help` says which values are accepted"
            }
            SecretError::Unusable(_) | SecretError::Storage(_) => {
                "`toolcrib doctor` says where the files are"
            }
        };
        CliError::from(ToolError::from(error)).with_hint(hint)
    }
}

fn set(args: &SecretSetArgs, global: &Global, output: &Output) -> Result<(), CliError> {
    if !args.value.is_empty() || args.name.contains('=') {
        // Not a word of it is repeated.
        return Err(CliError::usage(
            "a value on the command line stays in the shell's history, and every process of this machine can read it",
        )
        .with_hint("leave it out: it is asked for, or read from stdin, or from a variable with `--from-env VAR`"));
    }
    let name = SecretName::parse(&args.name).map_err(CliError::usage)?;
    let bundles: Vec<Slug> = args
        .bundles
        .iter()
        .map(|bundle| Slug::parse(bundle))
        .collect::<Result<_, _>>()
        .map_err(|error| CliError::usage(error.to_string()))?;
    // Refused before anybody is asked for a value.
    Binding::new(args.hosts.iter().map(String::as_str), bundles.clone())?;
    let crib = open(global, output)?;
    if let Some(tool) = tool_with_argument(&crib, &name) {
        let message = format!(
            "the HTTP tool `{tool}` has an argument `{name}`; with a secret of that name it could not be used, because an argument can never stand for a secret"
        );
        return Err(CliError::from(ToolError::new(ErrorCode::Conflict, message))
            .with_hint("choose another name, or rename the argument in the tool's file"));
    }
    let value = match &args.from_env {
        Some(variable) => of_variable(variable)?,
        None => given(&name, global, output)?,
    };
    let ids = ids_of(&bundles, &crib);
    let is_new = !crib.secrets().contains(&name)?;
    let binding = crib.secrets().set_with(&name, &value, |before| {
        binding_from(args, bundles, &ids, before)
    })?;
    let entry = crib.secrets().list()?.into_iter().find(|e| e.name == name);
    if output.json() {
        output.document(&entry.as_ref().map(SecretRow::from));
        return Ok(());
    }
    let bytes = value.expose().len();
    let verb = if is_new { "saved" } else { "replaced" };
    output.say(&format!(
        "{verb} secret `{name}` ({bytes} bytes) {}",
        binding_in_words(&binding)
    ));
    Ok(())
}

/// The given options, and the previous ones where none are given: setting a new value must not send it to more hosts.
fn binding_from(
    args: &SecretSetArgs,
    bundles: Vec<Slug>,
    ids: &BTreeMap<Slug, BundleId>,
    before: Option<&Binding>,
) -> Result<Binding, SecretError> {
    let hosts = match before {
        Some(before) if args.hosts.is_empty() && !args.any_host => before.hosts(),
        _ => &args.hosts,
    };
    let (bundles, ids) = match before {
        Some(before) if bundles.is_empty() && !args.any_bundle => {
            (before.bundles().to_vec(), before.ids())
        }
        _ => (bundles, ids),
    };
    let binding = Binding::new(hosts.iter().map(String::as_str), bundles)?;
    Ok(binding.with_ids(ids.clone()))
}

/// The ids of those that are bundles of the store: these ones are meant, not later bundles with their slugs.
fn ids_of(bundles: &[Slug], crib: &Crib) -> BTreeMap<Slug, BundleId> {
    let stored = crib.store().bundles();
    let stored = stored.iter().map(|stored| &stored.bundle);
    let there = stored.filter(|bundle| bundle.soft_deleted_at.is_none());
    there
        .filter(|bundle| bundles.contains(&bundle.slug))
        .map(|bundle| (bundle.slug.clone(), bundle.bundle_id))
        .collect()
}

/// An HTTP tool whose arguments have one of this name.
fn tool_with_argument(crib: &Crib, name: &SecretName) -> Option<String> {
    let report = crib.tool_files();
    let has_argument = |file: &&ToolFile| {
        let definition = file.definition.as_ref().and_then(FileDefinition::http);
        definition.is_some_and(|http| {
            let mut arguments = http.arguments_at.iter();
            arguments.any(|(argument, _)| argument == name.as_str())
        })
    };
    let file = report.files.iter().find(has_argument)?;
    Some(file.name.clone())
}

fn of_variable(variable: &str) -> Result<Secret, CliError> {
    match std::env::var(variable) {
        Ok(value) => Ok(Secret::new(value)),
        Err(std::env::VarError::NotPresent) => Err(CliError::usage(format!(
            "there is no variable `{}` in the environment",
            text::shorten(variable, 64)
        ))
        .with_hint("`--from-env` takes the variable's name, not its value")),
        Err(std::env::VarError::NotUnicode(_)) => Err(CliError::usage(format!(
            "the variable `{}` is not UTF-8 text",
            text::shorten(variable, 64)
        ))),
    }
}

/// The value, typed or piped.
fn given(name: &SecretName, global: &Global, output: &Output) -> Result<Secret, CliError> {
    if std::io::stdin().is_terminal() {
        let terminal = (!global.no_input)
            .then(|| Terminal::find(output.colours_terminal()))
            .flatten();
        let Some(terminal) = terminal else {
            return Err(CliError::usage(
                "there is no value, and no one was asked, because `--no-input` is set",
            )
            .with_hint(FROM_ELSEWHERE));
        };
        return match terminal.ask_hidden(&format!("Value of {name} (not shown): ")) {
            Hidden::Text(value) => Ok(Secret::new(value)),
            Hidden::Shown => Err(CliError::usage(
                "the terminal would show the value while it is typed; nothing was asked",
            )
            .with_hint(FROM_ELSEWHERE)),
            Hidden::Cancelled => {
                Err(ToolError::new(ErrorCode::Cancelled, "nothing was kept").into())
            }
        };
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_INPUT)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::usage(format!("cannot read standard input: {error}")))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| CliError::usage("standard input is not UTF-8 text"))?;
    let value = without_newlines(&text);
    if value.is_empty() {
        return Err(
            CliError::usage("there is no value: standard input is empty").with_hint(FROM_ELSEWHERE),
        );
    }
    Ok(Secret::new(value))
}

/// A value as it was meant: `echo`, editors and scripts end a text with newlines that are not part of it. Of many lines, as of a
/// private key, only the last newline is taken.
fn without_newlines(text: &str) -> &str {
    let line = text.trim_end_matches(['\r', '\n']);
    if !line.contains('\n') {
        return line;
    }
    text.strip_suffix("\r\n")
        .or_else(|| text.strip_suffix('\n'))
        .unwrap_or(text)
}

const FROM_ELSEWHERE: &str = "pipe it in, as in `pass show weather | toolcrib secret set NAME`, or name a variable with `--from-env VAR`";

fn list(backend: &Backend, output: &Output) -> Result<(), CliError> {
    let entries: Vec<SecretRow> = backend.rows("/api/secrets?pageSize=500", "secrets")?;
    if let Some(crib) = backend.crib() {
        for problem in crib.secrets().problems()? {
            output.say(&format!(
                "{} {}",
                output.bold("warning:"),
                text::visible(&output.with_paths(&problem.why))
            ));
        }
    }
    if output.json() {
        output.document(&entries);
        return Ok(());
    }
    if entries.is_empty() && !output.plain() {
        output.say("there are no secrets; `toolcrib secret set NAME` asks for one");
        return Ok(());
    }
    let or_any = |list: Vec<&str>| match list.as_slice() {
        [] => "any".to_owned(),
        list => list.join(", "),
    };
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            vec![
                entry.name.clone(),
                entry.hash.clone(),
                modified(entry, output),
                or_any(entry.bundles.iter().map(Slug::as_str).collect()),
                or_any(entry.hosts.iter().map(String::as_str).collect()),
            ]
        })
        .collect();
    output.table(&["NAME", "HASH", "SET", "BUNDLES", "HOSTS"], &rows);
    Ok(())
}

fn modified(entry: &SecretRow, output: &Output) -> String {
    if output.plain() {
        return entry.modified_at.to_string();
    }
    let age = Timestamp::now().duration_since(entry.modified_at);
    let age = std::time::Duration::try_from(age).unwrap_or_default();
    format!("{} ago", duration::in_words(age))
}

fn remove(names: &[String], crib: &Crib, output: &Output) -> Result<(), CliError> {
    let names: Vec<SecretName> = names
        .iter()
        .map(|name| SecretName::parse(name))
        .collect::<Result<_, _>>()
        .map_err(CliError::usage)?;
    // All or none: half a command is hard to repeat.
    for name in &names {
        if !crib.secrets().contains(name)? {
            return Err(no_such(name, crib));
        }
    }
    for name in &names {
        crib.secrets().remove(name)?;
    }
    if output.json() {
        let removed: Vec<&str> = names.iter().map(SecretName::as_str).collect();
        output.document(&json!({ "removed": removed }));
        return Ok(());
    }
    for name in &names {
        output.say(&format!("removed `{name}`"));
    }
    Ok(())
}

/// The message for a name that is to be removed and does not exist.
fn no_such(name: &SecretName, crib: &Crib) -> CliError {
    let entries = crib.secrets().list().unwrap_or_default();
    let names = || entries.iter().map(|entry| entry.name.as_str());
    let near = text::nearest(name.as_str(), names());
    let hint = match near.as_slice() {
        [] if entries.is_empty() => "there are no secrets".to_owned(),
        [] => "`toolcrib secret list` lists them".to_owned(),
        near => format!("did you mean `{}`?", near.join("`, `")),
    };
    let message = format!("there is no secret `{name}`; nothing was removed");
    CliError::from(ToolError::new(ErrorCode::ToolUnavailable, message)).with_hint(hint)
}

fn binding_in_words(binding: &Binding) -> String {
    let hosts = match binding.hosts() {
        [] => "any host of `allowedHosts`".to_owned(),
        hosts => hosts.join(", "),
    };
    let bundles: Vec<&str> = binding.bundles().iter().map(Slug::as_str).collect();
    match bundles.as_slice() {
        [] => format!("for {hosts}"),
        bundles => format!("for {hosts}, used by tools of {}", bundles.join(", ")),
    }
}
