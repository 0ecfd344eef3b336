//! `upstream add --registry`: a server as its `server.json` describes it.
//!
//! A package is pinned to the version that the file names. Values that are not in the file are asked for; secret ones go into the secrets
//! of Toolcrib, for this server only. Packages that are not supported are left out with a reason.

mod server_json;

use std::io::Read as _;

use serde_json::{Map, Value, json};
use toolcrib::model::names::Slug;
use toolcrib::model::secret::Secret;
use toolcrib::model::text::{shorten, visible_line};
use toolcrib::secret::{Binding, SecretName};
use toolcrib::{Crib, ErrorCode, ToolError};

use self::server_json::{Choice, Input};
use crate::args::{Global, UpstreamAddArgs};
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::{Hidden, Line, Terminal, Wake};
use crate::remote::Backend;

/// The largest file.
const MAX_BYTES: u64 = 1024 * 1024;

/// A value that goes into the secrets.
pub(super) struct NewSecret {
    name: SecretName,
    value: Secret,
    binding: Binding,
}

/// The fields of `[upstreams.NAME]` for a server that a `server.json` describes, and the secrets that they name.
pub(super) fn fields(
    name: &Slug,
    from: &str,
    args: &UpstreamAddArgs,
    backend: &Backend,
    global: &Global,
    output: &Output,
) -> Result<(Map<String, Value>, Vec<NewSecret>), CliError> {
    let crib = backend.crib().ok_or_else(|| {
        CliError::usage("`--registry` reads files and settings of this machine, and the server may be on another")
            .with_hint("leave --server out, or give the program after `--`")
    })?;
    let described = described(from, crib, backend)?;
    let odd = |why: String| {
        let message = format!("`{}`: {why}", shorten(&visible_line(from), 200));
        CliError::from(ToolError::new(ErrorCode::InvalidArguments, message))
    };
    let choice = server_json::choose(&described, args.package.as_deref()).map_err(odd)?;
    output.say(&choice.words());
    let mut asker = Asker {
        name,
        args,
        global,
        output,
        secrets: Vec::new(),
    };
    let fields = match &choice {
        Choice::Program {
            command,
            arguments,
            variables,
            ..
        } => {
            let mut words = arguments.fixed.clone();
            match (args.command.is_empty(), arguments.missing.as_slice()) {
                (true, [missing, ..]) => {
                    let why =
                        format!("it needs an argument ({missing}), which the file does not give");
                    return Err(odd(why).with_hint("write its arguments after `--`"));
                }
                _ => words.extend(args.command.iter().cloned()),
            }
            let mut fields = Map::new();
            fields.insert("command".to_owned(), command.as_str().into());
            fields.insert("args".to_owned(), json!(words));
            let given = asker.values(variables, &args.env, "env", &[])?;
            if !given.is_empty() {
                fields.insert("env".to_owned(), given.into());
            }
            fields
        }
        Choice::Remote { url, headers } => {
            let mut fields = Map::new();
            fields.insert("url".to_owned(), url.as_str().into());
            let host = server_json::host(url).unwrap_or_default();
            let given = asker.values(headers, &args.header, "header", &[host.as_str()])?;
            if !given.is_empty() {
                fields.insert("headers".to_owned(), given.into());
            }
            fields
        }
    };
    Ok((fields, asker.secrets))
}

/// The description of a server: a file, else by its name in the registry.
fn described(from: &str, crib: &Crib, backend: &Backend) -> Result<Value, CliError> {
    let file = match std::fs::File::open(from) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(backend.runtime.block_on(crib.registry_server(from))?);
        }
        Err(error) => return Err(CliError::usage(format!("`--registry`: {error}"))),
    };
    let mut text = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(|error| CliError::usage(format!("`--registry`: {error}")))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(CliError::usage(
            "`--registry`: the file is larger than 1 MB",
        ));
    }
    serde_json::from_slice(&text)
        .map_err(|error| CliError::usage(format!("`--registry`: the file is not JSON: {error}")))
}

/// Finds the values that a server wants.
struct Asker<'a> {
    name: &'a Slug,
    args: &'a UpstreamAddArgs,
    global: &'a Global,
    output: &'a Output,
    secrets: Vec<NewSecret>,
}

impl Asker<'_> {
    /// The values of variables or headers: those that were typed, those of the file, and those that a person types now.
    fn values(
        &mut self,
        inputs: &[Input],
        typed: &[String],
        option: &str,
        hosts: &[&str],
    ) -> Result<Map<String, Value>, CliError> {
        let mut values = Map::new();
        for pair in typed {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| CliError::usage(format!("`--{option}` takes NAME=VALUE")))?;
            values.insert(key.trim().to_owned(), value.trim().into());
        }
        for input in inputs {
            if values.contains_key(&input.name) {
                continue;
            }
            if let Some(value) = &input.value {
                values.insert(input.name.clone(), value.as_str().into());
            } else if input.is_required {
                let value = self.asked(input, option, hosts)?;
                values.insert(input.name.clone(), value.into());
            }
        }
        Ok(values)
    }

    fn asked(&mut self, input: &Input, option: &str, hosts: &[&str]) -> Result<String, CliError> {
        let shown = shorten(&visible_line(&input.name), 80);
        let missing = |why: &str| {
            let value = match input.is_secret {
                true => "secret:SECRET",
                false => "VALUE",
            };
            CliError::usage(format!("it needs `{shown}`, {why}"))
                .with_hint(format!("give it with `--{option} {shown}={value}`"))
        };
        let terminal = (!self.global.no_input && !self.args.yes)
            .then(|| Terminal::find(self.output.colours_terminal()))
            .flatten();
        let Some(terminal) = terminal else {
            return Err(missing("and no one was asked"));
        };
        let about = input.description.as_deref().unwrap_or_default();
        if !about.is_empty() {
            terminal.say(&shorten(&visible_line(about), 400));
        }
        if !input.is_secret {
            let wake = Wake::new().map_err(|error| {
                ToolError::new(ErrorCode::Internal, format!("cannot ask: {error}"))
            })?;
            return match terminal.ask(&format!("{shown}: "), &wake) {
                Line::Text(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
                Line::Text(_) | Line::End | Line::Woken => Err(missing("and nothing was typed")),
            };
        }
        match terminal.ask_hidden(&format!("{shown} (not shown): ")) {
            Hidden::Text(value) if !value.is_empty() => self.kept(input, value, hosts),
            Hidden::Text(_) | Hidden::Cancelled => Err(missing("and nothing was typed")),
            Hidden::Shown => Err(missing("and the terminal would show it while it is typed")),
        }
    }

    /// The value as config.toml has it: the name of the secret that it becomes.
    fn kept(&mut self, input: &Input, value: String, hosts: &[&str]) -> Result<String, CliError> {
        let upper = |c: char| match c.is_ascii_alphanumeric() {
            true => c.to_ascii_uppercase(),
            false => '_',
        };
        let word: String = format!("{}_{}", self.name, input.name)
            .chars()
            .map(upper)
            .collect();
        let word = match word.starts_with(|c: char| c.is_ascii_digit()) {
            true => format!("_{word}"),
            false => word,
        };
        let name = SecretName::parse(&word).map_err(CliError::usage)?;
        let binding = Binding::new(hosts.iter().copied(), [self.name.clone()])
            .map_err(|error| CliError::usage(error.to_string()))?;
        self.secrets.push(NewSecret {
            name: name.clone(),
            value: Secret::new(value),
            binding,
        });
        Ok(format!("{}secret:{name}", input.before))
    }
}

/// Keeps secrets; what had to be kept before is not replaced.
pub(super) fn keep(secrets: &[NewSecret], crib: &Crib) -> Result<(), CliError> {
    let known = crib.secrets().list().map_err(ToolError::from)?;
    for secret in secrets {
        if known.iter().any(|entry| entry.name == secret.name) {
            let name = &secret.name;
            let message = format!("there is a secret `{name}` already");
            return Err(
                CliError::from(ToolError::new(ErrorCode::Conflict, message)).with_hint(format!(
                    "`toolcrib secret rm {name}` removes it, `secret:{name}` in `--env` or `--header` uses it"
                )),
            );
        }
    }
    for secret in secrets {
        let kept = crib.secrets();
        kept.set(&secret.name, &secret.value, &secret.binding)
            .map_err(ToolError::from)?;
    }
    Ok(())
}

/// Removes the secrets of a server that was not added.
pub(super) fn drop_again(secrets: &[NewSecret], crib: &Crib) {
    for secret in secrets {
        let _ = crib.secrets().remove(&secret.name);
    }
}
