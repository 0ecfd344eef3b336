//! `toolcrib new NAME --http` and `--from-curl`: HTTP tools, as files that check.

use std::io::{IsTerminal as _, Read as _};
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use toolcrib::definition::Severity;
use toolcrib::egress::Target;
use toolcrib::model::text;
use toolcrib::source::FileKind;
use toolcrib::{Crib, ErrorCode, ToolError, WireName, manifest};

use super::{NewFile, next, place, write_and_pin};
use crate::args::{Global, NewArgs};
use crate::commands::outbound::Missing;
use crate::commands::{Done, open, tool_file, word};
use crate::failure::CliError;
use crate::output::Output;
use toolcrib_server::curl::{self, Argument, Import};

const TEMPLATE: &str = include_str!("http.json");
const EXAMPLE_URL: &str = "https://api.example.com/v1/current.json?q=${city}";

/// No command that a person copies is longer; `curl::import` says more about one that is.
const MAX_COMMAND: u64 = 1024 * 1024;

/// `--from-curl`: a tool that sends what the command would.
pub(super) fn from_curl(
    word: &str,
    args: &NewArgs,
    name: &WireName,
    global: &Global,
    output: &Output,
) -> Done {
    let command = read_command(word, global, output)?;
    let description = super::description(args)?;
    let import = curl::import(
        &command,
        name.as_str(),
        description.as_deref(),
        &args.params,
    );
    let mut import = import.map_err(refused)?;
    if import.has_typed_credentials && word != "-" && !word.starts_with('@') {
        import.notes.push(
            "the credential that you typed may be in your shell's history; `--from-curl -` reads from stdin"
                .to_owned(),
        );
    }
    finish(&import, &import.text, args, name, global, output)
}

/// `--http`: a file with every common field and what it is for.
pub(super) fn template(args: &NewArgs, name: &WireName, global: &Global, output: &Output) -> Done {
    let description = super::description(args)?;
    let url = args.url.as_deref().unwrap_or(EXAMPLE_URL);
    let method = args.method.as_deref().unwrap_or("GET");
    // The same reading as of a command: a credential in the URL is none that gets into a file.
    let request = curl::request(url, method, name.as_str(), description.as_deref());
    let mut request = request.map_err(refused)?;
    if has_body(&request.method) {
        let text = Argument::new("text", "string", "What to send");
        let arguments = &mut request.arguments;
        if arguments.iter().all(|argument| argument.name != text.name) {
            arguments.push(text);
        }
    }
    let description = match (description, &args.url) {
        (Some(description), _) => description,
        (None, Some(_)) => curl::plain_description(&request),
        (None, None) => "Fetch current weather for a city".to_owned(),
    };
    let text = fill(&request, name, &description);
    finish(&request, &text, args, name, global, output)
}

/// Checks and writes the file, and says what to do next.
fn finish(
    import: &Import,
    text: &str,
    args: &NewArgs,
    name: &WireName,
    global: &Global,
    output: &Output,
) -> Done {
    checked(text, name.as_str())?;
    let crib = open(global, output)?;
    if let Some(bundle) = &args.bundle {
        let reference = super::bundle::put(bundle, FileKind::Json, text, args, &crib)?;
        let missing = missing(import, &crib);
        match output.json() {
            true => {
                let mut value = document(import, None, missing);
                value["tool"] = json!(reference);
                output.document(&json!({"ok": true, "value": value}));
            }
            false => {
                output.line(&format!("put {}", text::visible(&reference)));
                report(import, &word(&reference), missing, output);
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let place = place(args, name, "json", &crib)?;
    write_and_pin(&place, text, &crib)?;
    let missing = missing(import, &crib);
    match output.json() {
        true => {
            let value = document(import, Some(&place), missing);
            output.document(&json!({"ok": true, "value": value}));
        }
        false => {
            output.line(&format!("wrote {}", tool_file::shown(&place.path, &crib)));
            report(import, &place.name, missing, output);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read_command(word: &str, global: &Global, output: &Output) -> Result<String, CliError> {
    let read = |reader: &mut dyn std::io::Read| {
        let mut text = String::new();
        reader.take(MAX_COMMAND).read_to_string(&mut text)?;
        Ok(text)
    };
    let text: std::io::Result<String> = match word.strip_prefix('@') {
        None if word == "-" => {
            if std::io::stdin().is_terminal() {
                if global.no_input {
                    return Err(CliError::usage(
                        "`--from-curl -` would wait for the terminal, which `--no-input` forbids",
                    ));
                }
                output.say(&output.dim("paste the command and end with Ctrl-D"));
            }
            read(&mut std::io::stdin().lock())
        }
        None => Ok(word.to_owned()),
        Some(path) => std::fs::File::open(path)
            .and_then(|mut file| read(&mut file))
            .map_err(|error| std::io::Error::new(error.kind(), format!("`{path}`: {error}"))),
    };
    let text =
        text.map_err(|error| CliError::usage(format!("cannot read the command from {error}")))?;
    if text.trim().is_empty() {
        return Err(CliError::usage("there is no command to make a tool from")
            .with_hint("pass it in quotes, as in --from-curl 'curl https://…', or @FILE, or - and send it by stdin"));
    }
    if text.trim() == "curl" {
        return Err(
            CliError::usage("`--from-curl` got the word `curl` and nothing else")
                .with_hint("quote the whole command: --from-curl 'curl https://…'"),
        );
    }
    Ok(text)
}

/// Every reason at once; none of them quotes a value.
fn refused(reasons: Vec<(String, String)>) -> CliError {
    let refusal = "the request cannot become a tool";
    if let [(what, instead)] = reasons.as_slice() {
        return CliError::usage(format!("{refusal}: {what}")).with_hint(instead.clone());
    }
    let message: Vec<&str> = reasons.iter().map(|(what, _)| what.as_str()).collect();
    let faults: Vec<Value> = reasons
        .iter()
        .map(|(what, instead)| json!({"pointer": what, "message": format!("({instead})")}))
        .collect();
    let message = format!("{refusal}: {}", message.join("; "));
    let error = ToolError::new(ErrorCode::Usage, message).with_detail("faults", faults);
    CliError::from(error).with_hint("docs/http-tools.md says what becomes what")
}

/// The written file works: a problem here is one of the input, or ours.
fn checked(text: &str, name: &str) -> Result<(), CliError> {
    let reading = manifest::read(text.as_bytes(), name);
    let is_wrong = |problem: &&toolcrib::definition::Problem| problem.severity == Severity::Error;
    match reading.problems.iter().find(is_wrong) {
        None => Ok(()),
        Some(problem) => {
            let error = CliError::usage(format!(
                "the request cannot become a tool: {}",
                problem.message
            ));
            Err(match &problem.help {
                Some(help) => error.with_hint(help.clone()),
                None => error,
            })
        }
    }
}

fn has_body(method: &str) -> bool {
    ["POST", "PUT", "PATCH"].contains(&method)
}

/// The template with what was given in it.
fn fill(request: &Import, name: &WireName, description: &str) -> String {
    let has_body = has_body(&request.method);
    let mut headers = Map::new();
    headers.insert("Accept".to_owned(), json!("application/json"));
    if has_body {
        headers.insert("Content-Type".to_owned(), json!("application/json"));
    }
    let body = match has_body {
        true => r#"{"text": "${text}"}"#,
        false => "",
    };
    let is_head = request.method == "HEAD";
    // One pass from the front: what a value holds is never taken for a field.
    let values = [
        ("{{slug}}", json!(name.as_str().replace('_', "-"))),
        ("{{title}}", json!(curl::title(name.as_str()))),
        ("{{description}}", json!(description)),
        ("{{tags}}", json!(curl::tags(&request.method))),
        ("{{requiresApproval}}", json!(!curl::reads(&request.method))),
        ("{{argSchema}}", curl::arg_schema(&request.arguments)),
        ("{{method}}", json!(request.method)),
        ("{{url}}", json!(request.url)),
        ("{{headers}}", Value::Object(headers)),
        ("{{body}}", json!(body)),
        (
            "[{{code}}]",
            json!(if has_body { vec![200, 201] } else { vec![200] }),
        ),
        ("{{encoding}}", json!(if is_head { "text" } else { "json" })),
        ("{{extract}}", json!(if is_head { "/(?s).*/" } else { "$" })),
    ];
    let mut text = String::new();
    let mut rest = TEMPLATE;
    for (field, value) in values {
        let Some((before, after)) = rest.split_once(field) else {
            continue;
        };
        text.push_str(before);
        text.push_str(&indented(&value));
        rest = after;
    }
    text + rest
}

/// JSON that is two columns in.
fn indented(value: &Value) -> String {
    match value {
        Value::Object(fields) if fields.contains_key("properties") => {
            let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
            pretty.replace('\n', "\n  ")
        }
        other => other.to_string(),
    }
}

/// What the setting `allowedHosts` must be for the tool to work; none where the host is listed already.
fn missing(import: &Import, crib: &Crib) -> Option<Missing> {
    let (_, target) = Target::parse(&import.origin).ok()?;
    let is_listed = crib.egress().allowed_hosts().contains(&target);
    (!is_listed).then(|| Missing::of(&import.host, crib))
}

/// What was made, as a program reads it. A tool of a bundle has no file.
fn document(import: &Import, place: Option<&NewFile>, missing: Option<Missing>) -> Value {
    let left_out = import.left_out.iter();
    let left_out: Vec<Value> = left_out
        .map(|(what, why)| json!({"what": what, "why": why}))
        .collect();
    let secrets = import.secrets.iter();
    let secrets: Vec<Value> = secrets
        .map(|secret| json!({"name": secret.name, "host": import.host, "place": secret.place}))
        .collect();
    let arguments = import.arguments.iter();
    let arguments: Vec<Value> = arguments
        .map(|argument| json!({"name": argument.name, "type": argument.kind, "place": argument.place}))
        .collect();
    let mut document = json!({
        "tool": place.map(|place| &place.name),
        "file": place.map(|place| &place.path),
        "created": true,
        "method": import.method,
        "url": import.url,
        "arguments": arguments,
        "secrets": secrets,
        "leftOut": left_out,
        "notes": import.notes,
        "allowedHosts": missing.map(|missing| missing.hosts),
    });
    if let (Value::Object(fields), None) = (&mut document, place) {
        fields.shift_remove("file");
    }
    document
}

fn report(import: &Import, name: &str, missing: Option<Missing>, output: &Output) {
    output.say(&format!("  {} {}", import.method, import.url));
    let mut rows: Vec<(&str, String)> = Vec::new();
    for argument in &import.arguments {
        rows.push(("argument", format!("{}: {}", argument.name, argument.place)));
    }
    for secret in &import.secrets {
        let place = &secret.place;
        rows.push((
            "secret",
            format!("{}: {place}; its value is not in the file", secret.name),
        ));
    }
    for (whats, why) in grouped(&import.left_out) {
        rows.push(("left out", format!("{whats}: {why}")));
    }
    for note in &import.notes {
        rows.push(("note", note.clone()));
    }
    for (kind, words) in rows {
        output.say(&format!("  {}  {words}", output.dim(&format!("{kind:8}"))));
    }
    if let Some(missing) = missing {
        output.say(&format!(
            "the host is not allowed yet; {}",
            missing.in_words()
        ));
    }
    let mut commands: Vec<(String, &str)> = Vec::new();
    for secret in &import.secrets {
        let set = format!("toolcrib secret set {} --host {}", secret.name, import.host);
        commands.push((set, "keep its value"));
    }
    commands.push((format!("toolcrib edit {name}"), "make it yours"));
    commands.push((
        format!("toolcrib run {name}{}", example(&import.arguments)),
        "call it",
    ));
    let commands: Vec<(&str, &str)> = commands
        .iter()
        .map(|(command, what)| (command.as_str(), *what))
        .collect();
    next(&commands, output);
}

/// What has the same reason is said together.
fn grouped(left_out: &[(String, String)]) -> Vec<(String, &str)> {
    let mut groups: Vec<(String, &str)> = Vec::new();
    for (what, why) in left_out {
        match groups.iter_mut().find(|(_, other)| other == why) {
            Some((whats, _)) => {
                whats.push_str(", ");
                // `header A, B`: the word once.
                whats.push_str(what.strip_prefix("header ").unwrap_or(what));
            }
            None => groups.push((what.clone(), why)),
        }
    }
    groups
}

/// The arguments of a call, with what stood there.
fn example(arguments: &[Argument]) -> String {
    let word = |argument: &Argument| {
        let value = match &argument.example {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "…".to_owned(),
        };
        let is_plain = |char: char| char.is_alphanumeric() || "…_-./:@".contains(char);
        match value.chars().all(is_plain) {
            true => format!(" {}={value}", argument.name),
            false => format!(" {}='{}'", argument.name, value.replace('\'', r"'\''")),
        }
    };
    arguments.iter().map(word).collect()
}
