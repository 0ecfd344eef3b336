//! `toolcrib trust`: what the tools of a project would run, and the word that they may.
//!
//! Only the shown bytes are trusted: the library pins the bytes of this review, so that a file that changes while its
//! reader thinks stays untrusted.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::Crib;
use toolcrib::exec::http_spec_of;
use toolcrib::model::text;
use toolcrib::source::{FileOutcome, Review, ReviewedFile, Scope, Trust, runs};

use super::confirm::confirmed;
use super::tool_file::{find, no_such};
use super::{Done, opened, options};
use crate::args::{Global, TrustArgs};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn trust(args: &TrustArgs, global: &Global, output: &Output) -> Done {
    let (crib, chosen) = meant(args, global, output)?;
    let Some(workspace) = crib.workspace_path() else {
        let message = "there is no project here whose tools could be trusted";
        return Err(CliError::usage(message).with_hint("name its directory: `toolcrib trust DIR`"));
    };
    let workspace = workspace.display().to_string();
    let review = match &chosen {
        Some(paths) => crib.review().only(|file| paths.contains(&file.path)),
        None => crib.review(),
    };
    let lines = page(&review, &workspace, output);
    if review.is_settled() {
        return settled(&review, &workspace, &lines, output);
    }
    if !output.json() {
        lines.iter().for_each(|line| output.line(line));
    } else if !args.yes {
        // The person who is asked must see what the question is about.
        lines.iter().for_each(|line| output.error_line(line));
    }
    let count = review.open().count();
    let question = match count {
        0 => "forget the deleted files? [y/n] ".to_owned(),
        1 => "trust this tool? [y/n] ".to_owned(),
        count => format!("trust these {count} tools? [y/n] "),
    };
    if !args.yes && !confirmed(&question, global, output)? {
        // The answer was asked for, and "no" is as good a one as "yes".
        match output.json() {
            true => output.document(&document(&review, &workspace, false)),
            false => output.say("nothing was trusted"),
        }
        return Ok(ExitCode::SUCCESS);
    }
    crib.trust(&review)?;
    done(&crib, &review, &workspace, output);
    Ok(ExitCode::SUCCESS)
}

/// The scope of a `trust`: the files of the tools that are named, or all of the project that is.
fn meant(
    args: &TrustArgs,
    global: &Global,
    output: &Output,
) -> Result<(Crib, Option<Vec<PathBuf>>), CliError> {
    let crib = opened(options(global), output)?;
    if args.what.is_empty() {
        return Ok((crib, None));
    }
    let report = crib.tool_files();
    let mut paths = Vec::new();
    for word in &args.what {
        match find(word, &report.files) {
            Some(file) if file.scope == Scope::Local => paths.push(file.path.clone()),
            Some(file) => {
                let message = format!(
                    "`{}` need not be trusted: `{}` is not a file of a project",
                    word, file.shown
                );
                return Err(CliError::usage(message));
            }
            // A directory has no tool's name, or is the only word.
            None if args.what.len() == 1 && Path::new(word).is_dir() => {
                let project = options(global).workspace(project_of(Path::new(word)));
                return Ok((opened(project, output)?, None));
            }
            None if args.what.len() == 1 && word.contains('/') => {
                let message = format!(
                    "there is neither a tool nor a directory `{}`",
                    text::shorten(word, 200)
                );
                return Err(CliError::usage(message));
            }
            None => return Err(no_such("tool with a file", word, &report.files)),
        }
    }
    Ok((crib, Some(paths)))
}

/// People name the directory that the tools are in, too.
fn project_of(directory: &Path) -> PathBuf {
    let mut directory = directory.to_owned();
    for (name, above) in [("tools", true), (".toolcrib", false), (".cycod", false)] {
        let is_brand = |path: &Path| path.ends_with(".toolcrib") || path.ends_with(".cycod");
        let parent = directory.parent().map(Path::to_owned);
        let fits = directory.ends_with(name) && (!above || parent.as_deref().is_some_and(is_brand));
        if let (true, Some(parent)) = (fits, parent) {
            directory = match parent.as_os_str().is_empty() {
                true => PathBuf::from("."),
                false => parent,
            };
        }
    }
    directory
}

fn settled(review: &Review, workspace: &str, lines: &[String], output: &Output) -> Done {
    if output.json() {
        output.document(&document(review, workspace, true));
        return Ok(ExitCode::SUCCESS);
    }
    let trusted = review.files.iter();
    let trusted = trusted.filter(|reviewed| reviewed.file.trust == Trust::Pinned);
    match trusted.count() {
        0 if review.files.is_empty() => output.say(&format!(
            "no tools in `.toolcrib/tools` or `.cycod/tools` of {workspace}"
        )),
        0 => {
            lines.iter().for_each(|line| output.line(line));
            output.say("none of the files is a tool that could be trusted");
        }
        1 => output.say("the tool is trusted already"),
        count => output.say(&format!("all {count} tools are trusted already")),
    }
    Ok(ExitCode::SUCCESS)
}

fn done(crib: &Crib, review: &Review, workspace: &str, output: &Output) {
    // A file may have become another since it was shown.
    let waits = crib.tool_files().untrusted();
    if output.json() {
        output.document(&document(review, workspace, waits == 0));
        return;
    }
    match review.open().count() {
        1 => output.say("1 tool is trusted"),
        count => output.say(&format!("{count} tools are trusted")),
    }
    if waits > 0 {
        output.say(&format!(
            "{waits} changed meanwhile and stay untrusted: run `toolcrib trust` again"
        ));
    }
}

/// Every file that is not trusted yet, with what it runs and what changed, for a person.
fn page(review: &Review, workspace: &str, output: &Output) -> Vec<String> {
    let mut lines = vec![format!(
        "tools of {}",
        output.bold(&text::visible(workspace))
    )];
    for reviewed in &review.files {
        if reviewed.file.trust != Trust::Pinned {
            lines.push(String::new());
            lines.extend(entry(reviewed, output));
        }
    }
    if !review.gone.is_empty() {
        lines.push(String::new());
        for gone in &review.gone {
            lines.push(format!("gone      {}", text::visible(gone)));
        }
    }
    lines
}

pub(super) fn entry(reviewed: &ReviewedFile, output: &Output) -> Vec<String> {
    let file = &reviewed.file;
    let name = output.heading(&text::visible(&file.name));
    let state = word(reviewed);
    let state = match state {
        "broken" | "refused" => output.bad(state),
        state => output.doubtful(state),
    };
    let mut lines = vec![format!("{name}  {state}")];
    if let Some(definition) = &file.definition {
        let first = definition.description().lines().next().unwrap_or_default();
        lines.push(text::visible(first).into_owned());
    }
    lines.push(format!("file      {}", file.shown));
    if let Some(digest) = &file.digest {
        lines.push(format!("digest    {digest}"));
    }
    if let FileOutcome::Broken { reason } | FileOutcome::Refused { reason } = &file.standing {
        lines.push(format!("problem   {}", text::visible(reason)));
    }
    if let Some(definition) = &file.definition {
        for (what, command) in runs(definition) {
            lines.extend(labelled(&what, &command));
        }
        if let Some(http) = definition.http() {
            let tags = match http.tags.is_empty() {
                true => "none".to_owned(),
                false => http.tags.join(", "),
            };
            lines.extend(labelled("tags", &tags));
            let asks = http_spec_of(http).asks;
            let asks = asks.unwrap_or_else(|| "no, it runs without asking".to_owned());
            lines.extend(labelled("asks", &asks));
        }
    }
    match (&reviewed.diff, &file.trust) {
        (Some(diff), _) => {
            lines.push("changed since it was trusted:".to_owned());
            lines.extend(diff.lines().map(|line| text::visible(line).into_owned()));
        }
        (None, Trust::Changed { .. }) => {
            lines.push("changed since it was trusted; its earlier text was not kept".to_owned());
        }
        (None, _) => {}
    }
    lines
}

/// A text with what it is before its first line.
pub(super) fn labelled(what: &str, content: &str) -> Vec<String> {
    let what = text::visible(what).into_owned();
    let content = text::visible(content.trim_end()).into_owned();
    let mut lines = content.lines();
    match (lines.next(), content.lines().count()) {
        (None, _) => vec![what],
        (Some(only), 1) if what.len() < 10 => vec![format!("{what:<10}{only}")],
        _ => std::iter::once(what)
            .chain(content.lines().map(|line| format!("          {line}")))
            .collect(),
    }
}

/// The status of a file, in a word.
fn word(reviewed: &ReviewedFile) -> &'static str {
    match (&reviewed.file.standing, &reviewed.file.trust) {
        (FileOutcome::Broken { .. }, _) => "broken",
        (FileOutcome::Refused { .. }, _) => "refused",
        (_, Trust::New) => "new",
        (_, Trust::Changed { .. }) => "changed",
        (_, Trust::Pinned | Trust::ByPlace) => "trusted",
        (_, Trust::Unsafe(_)) => "unsafe",
    }
}

fn document(review: &Review, workspace: &str, trusted: bool) -> Value {
    let files: Vec<Value> = review
        .files
        .iter()
        .map(|reviewed| {
            let file = &reviewed.file;
            let runs = file.definition.as_ref().map(runs).unwrap_or_default();
            let runs: Vec<Value> = runs
                .into_iter()
                .map(|(what, text)| json!({"what": what, "text": text}))
                .collect();
            json!({
                "name": file.name, "file": file.shown, "digest": file.digest, "was": word(reviewed),
                "runs": runs, "diff": reviewed.diff,
            })
        })
        .collect();
    json!({"directory": workspace, "trusted": trusted, "files": files, "gone": review.gone})
}
