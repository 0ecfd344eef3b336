//! `toolcrib check FILE…` through a server: beside the tools, secrets and functions that it has.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::model::text::{shorten, visible};
use toolcrib::source;
use toolcrib::{ErrorCode, ToolError};

use super::super::Done;
use super::text;
use crate::args::CheckArgs;
use crate::backend::Backend as Server;
use crate::failure::CliError;
use crate::output::Output;

/// Whether a server can do it: files that are named, and nothing changed in them.
pub(in crate::commands) fn fits(args: &CheckArgs) -> bool {
    !args.paths.is_empty() && !args.fix && args.provider.is_none()
}

pub(in crate::commands) fn check(args: &CheckArgs, server: &Server, output: &Output) -> Done {
    let mut files = Vec::new();
    let (mut errors, mut warnings) = (0, 0);
    for path in &args.paths {
        let shown = visible(&path.display().to_string()).into_owned();
        let content = read(path, &shown)?;
        let name = path.file_name().and_then(|name| name.to_str());
        let body = json!({"file": name.unwrap_or("definition"), "content": content});
        let mut answer = server.wait(server.client.post("/api/check", &body))?;
        let count = |key: &str| answer.get(key).and_then(Value::as_u64).unwrap_or_default();
        errors += count("errors");
        warnings += count("warnings");
        if let Some(Value::Array(checked)) = answer.get_mut("files").map(Value::take) {
            files.extend(checked.into_iter().map(|mut file| {
                file["file"] = shown.clone().into();
                file
            }));
        }
    }
    let fails = errors > 0 || (args.strict && warnings > 0);
    if output.json() {
        output.document(&document(&files, errors, warnings, fails));
    } else {
        files.iter().for_each(|file| print(file, output));
        output.say(&match (errors, warnings) {
            (0, 0) => match files.len() {
                1 => "the file is in order".to_owned(),
                count => format!("{count} files are in order"),
            },
            (errors, warnings) => format!(
                "{}, {}",
                counted(errors, "error"),
                counted(warnings, "warning")
            ),
        });
    }
    Ok(match fails {
        true => ExitCode::from(ErrorCode::InvalidArguments.exit_code()),
        false => ExitCode::SUCCESS,
    })
}

/// The same document as without a server.
fn document(files: &[Value], errors: u64, warnings: u64, fails: bool) -> Value {
    if !fails {
        let value = json!({"files": files, "errors": errors, "warnings": warnings});
        return json!({"ok": true, "value": value});
    }
    let message = format!(
        "{} and {} in the files of tools",
        counted(errors, "error"),
        counted(warnings, "warning")
    );
    let error = ToolError::new(ErrorCode::InvalidArguments, message)
        .with_detail("files", files.to_vec())
        .with_detail("errors", errors)
        .with_detail("warnings", warnings);
    json!({"ok": false, "error": error})
}

fn read(path: &Path, shown: &str) -> Result<String, CliError> {
    let failed = |why: &str| {
        let shown = shorten(shown, 200);
        CliError::usage(format!("cannot read `{shown}`: {why}"))
            .with_hint("through a server, name `.yaml` or `.json` files")
    };
    let bytes = source::read_file(path)
        .map_err(|why| failed(why.trim_start_matches("it cannot be read: ")))?;
    String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8"))
}

fn print(file: &Value, output: &Output) {
    let problems = file.get("problems").and_then(Value::as_array);
    for problem in problems.into_iter().flatten() {
        let number = |key: &str| problem.get(key).and_then(Value::as_u64).unwrap_or(1);
        let severity = text(problem, "severity");
        let painted = match severity {
            "error" => output.bad(severity),
            other => output.doubtful(&visible(other)),
        };
        output.line(&format!(
            "{}:{}:{}: {painted}: {} [{}]",
            text(file, "file"),
            number("line"),
            number("column"),
            visible(text(problem, "message")).replace('\n', " "),
            visible(text(problem, "code")),
        ));
        if !text(problem, "help").is_empty() {
            let help = visible(text(problem, "help")).replace('\n', " ");
            output.line(&format!("  {}", output.dim(&help)));
        }
    }
}

fn counted(count: u64, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    }
}
