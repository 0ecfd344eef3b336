//! `toolcrib check`: everything that is wrong with the files of tools.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib::definition::{self, MAX_FILE_BYTES, Part, Problem, Severity, render_within};
use toolcrib::exec::{http_spec_of, spec_of};
use toolcrib::manifest;
use toolcrib::model::text;
use toolcrib::registry::Entry;
use toolcrib::source::{self, FileDefinition, FileKind, FileOutcome};
use toolcrib::store::StoredTool;
use toolcrib::wire::{self, DefinitionOptions, Provider};
use toolcrib::{Crib, ErrorCode, ToolError, ToolSpec};
use toolcrib_server::client::Ask;

use super::tool_file::{self, Overwrite};
use super::{Done, stored, word};
use crate::args::{CheckArgs, Global};
use crate::failure::CliError;
use crate::output::Output;
use crate::remote;
use crate::remote::Backend;

pub(super) fn check(args: &CheckArgs, global: &Global, output: &Output) -> Done {
    if let Some(format) = &args.schema {
        let schema = match format.as_str() {
            "http" => manifest::json_schema(),
            _ => definition::json_schema(),
        };
        output.line(&format!("{schema:#}"));
        return Ok(ExitCode::SUCCESS);
    }
    let files = match remote::named(global)? {
        Some(server) => {
            // A server is sent files that are named, and changes nothing in them.
            if args.paths.is_empty() || args.fix || args.provider.is_some() {
                remote::refuse(global, "`toolcrib check`")?;
            }
            let paths = args.paths.iter();
            let sent = paths.map(|path| sent(path, &server));
            sent.collect::<Result<_, _>>()?
        }
        None => of_this_machine(args, global, output)?,
    };
    let counted = |severity| {
        let problems = files.iter().flat_map(|file| &file.problems);
        problems
            .filter(|problem| problem.severity == severity)
            .count()
    };
    let (errors, warnings) = (counted(Severity::Error), counted(Severity::Warning));
    let fails = errors > 0 || (args.strict && warnings > 0);
    if output.json() {
        print_json(&files, errors, warnings, fails, output);
    } else if output.plain() {
        print_rows(&files, output);
    } else {
        print(&files, errors, warnings, output);
    }
    if args.paths.is_empty() {
        say_of_store(global, output);
    }
    Ok(match fails {
        true => ExitCode::from(ErrorCode::InvalidArguments.exit_code()),
        false => ExitCode::SUCCESS,
    })
}

/// Files of this machine, beside its other tools.
fn of_this_machine(
    args: &CheckArgs,
    global: &Global,
    output: &Output,
) -> Result<Vec<Checked>, CliError> {
    let mut files = match args.paths.as_slice() {
        [] => of_scopes(global, output)?,
        paths => named(paths, global, output)?,
    };
    if args.fix {
        for file in &mut files {
            fix(file)?;
        }
    }
    add_links(&mut files, global);
    let provider = args.provider.as_deref();
    if let Some(provider) = provider.and_then(|provider| provider.parse::<Provider>().ok()) {
        add_losses(&mut files, provider, global);
    }
    Ok(files)
}

/// What a server says of a definition.
#[derive(Deserialize)]
struct Answer {
    files: Vec<AnsweredFile>,
}

#[derive(Deserialize)]
struct AnsweredFile {
    tool: Option<String>,
    problems: Vec<AnsweredProblem>,
}

/// A problem of which the code may be one that only a newer server knows.
#[derive(Deserialize)]
struct AnsweredProblem {
    code: String,
    severity: Severity,
    span: std::ops::Range<usize>,
    line: usize,
    column: usize,
    message: String,
    help: Option<String>,
}

/// A file as a server checks it, beside the tools, secrets and functions that it has.
fn sent(path: &Path, server: &Backend) -> Result<Checked, CliError> {
    let shown = text::visible(&path.display().to_string()).into_owned();
    let failed = |why: &str| {
        let shown = text::shorten(&shown, 200);
        CliError::usage(format!("cannot read `{shown}`: {why}"))
            .with_hint("through a server, name `.yaml` or `.json` files")
    };
    let bytes = source::read_file(path)
        .map_err(|why| failed(why.trim_start_matches("it cannot be read: ")))?;
    // Places are those of the text without what is computed.
    let bytes = source::without_computed(&bytes).unwrap_or(bytes);
    let content = String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8"))?;
    let body = json!({"file": name_of(path).unwrap_or("definition"), "content": content});
    let answer: Answer = server.ask(Ask::post("/api/check", &body))?;
    let mut checked = Checked::broken(path.to_owned(), shown, Vec::new());
    checked.bytes = content.into_bytes();
    for file in answer.files {
        checked.answered = file.tool;
        let problems = file.problems.into_iter().map(|problem| {
            let known = definition::code(&problem.code);
            Problem {
                code: known.map_or("unknown-problem", |known| known.name),
                severity: problem.severity,
                span: problem.span,
                line: problem.line,
                column: problem.column,
                message: problem.message,
                help: problem.help,
                fix: None,
            }
        });
        checked.problems.extend(problems);
    }
    Ok(checked)
}

/// Stored tools were checked when they were put, by the same rules: there may be thousands of them.
fn say_of_store(global: &Global, output: &Output) {
    let Ok(crib) = super::options(global).open() else {
        return;
    };
    let bundles = crib.store().bundles();
    let tools: usize = bundles.iter().map(|stored| stored.tools).sum();
    if tools > 0 {
        let line = match tools {
            1 => "1 stored tool was checked when it was put".to_owned(),
            many => format!("{many} stored tools were checked when they were put"),
        };
        output.say(&output.dim(&format!(
            "{line}: `toolcrib check bundle/slug` checks one again"
        )));
    }
}

/// A file and what is wrong with it.
struct Checked {
    /// Where it is; nothing for standard input.
    path: Option<PathBuf>,
    /// What people know it by.
    shown: String,
    stem: String,
    kind: FileKind,
    bytes: Vec<u8>,
    definition: Option<FileDefinition>,
    problems: Vec<Problem>,
    /// The problems that were fixed.
    fixed: Vec<Problem>,
    /// The part that models see, if it is a tool of the store.
    stored: Option<Arc<ToolSpec>>,
    /// The tool's name for models, as a server says it.
    answered: Option<String>,
}

impl Checked {
    fn new(path: Option<PathBuf>, shown: String, stem: String, bytes: Vec<u8>) -> Self {
        let name = path.as_deref().and_then(name_of);
        let odd = name.and_then(FileKind::misnamed).map(|(kind, _)| kind);
        let known = name.and_then(FileKind::of).map(|(kind, _)| kind);
        let kind = known.or(odd).unwrap_or_else(|| looks_like(&bytes));
        let reading = kind.read(&bytes, &stem);
        let mut problems = reading.problems;
        if let Some(kind) = odd {
            problems.insert(0, odd_name(&stem, kind));
        }
        problems.splice(0..0, path.as_deref().and_then(double));
        Checked {
            path,
            shown,
            stem,
            kind,
            bytes,
            definition: reading.definition,
            problems,
            fixed: Vec::new(),
            stored: None,
            answered: None,
        }
    }

    /// A tool of the store, whose text is that of its record.
    fn stored(entry: &Entry, record: &StoredTool, crib: &Crib) -> Result<Self, CliError> {
        let manifest = stored::manifest(record)?;
        let text = serde_json::to_string_pretty(&manifest).unwrap_or_default() + "\n";
        Ok(Checked {
            path: None,
            shown: entry.spec().reference(),
            stem: record.key.slug.to_string(),
            kind: FileKind::Json,
            bytes: text.into_bytes(),
            definition: None,
            problems: crib.check_manifest(&manifest),
            fixed: Vec::new(),
            stored: Some(Arc::clone(entry.spec())),
            answered: None,
        })
    }

    /// Where the parameter is declared that a message is about; the whole file if it is about none.
    fn place(&self, message: &str) -> (std::ops::Range<usize>, usize, usize) {
        let text = std::str::from_utf8(&self.bytes).unwrap_or_default();
        let name = message
            .split_once("/properties/")
            .map(|(_, rest)| rest.split(['/', '`']).next().unwrap_or_default())
            .filter(|name| !name.is_empty());
        if let Some(FileDefinition::Http(definition)) = &self.definition {
            let mut arguments = definition.arguments_at.iter();
            let at = arguments.find(|(argument, _)| Some(argument.as_str()) == name);
            return at.map_or((0..0, 1, 1), |(_, span)| {
                let before = text.get(..span.start).unwrap_or_default();
                let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
                let line = before.matches('\n').count() + 1;
                let column = before[line_start..].chars().count() + 1;
                (span.clone(), line, column)
            });
        }
        let mut start = 0;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let key = line.trim_start();
            let indent = line.len() - key.len();
            if let Some(name) = name
                && indent > 0
                && key
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with(':'))
            {
                let at = start + indent;
                return (at..at + name.len(), index + 1, indent + 1);
            }
            start += line.len();
        }
        (0..0, 1, 1)
    }

    /// The tool's name for models.
    fn tool(&self) -> Option<&str> {
        match (&self.definition, &self.stored) {
            (Some(definition), _) => Some(definition.name().as_str()),
            (None, Some(spec)) => Some(spec.name.as_str()),
            (None, None) => self.answered.as_deref(),
        }
    }

    /// A file of which nothing is known but what is wrong.
    fn broken(path: PathBuf, shown: String, problems: Vec<Problem>) -> Self {
        Checked {
            path: Some(path),
            shown,
            stem: String::new(),
            kind: FileKind::Yaml,
            bytes: Vec::new(),
            definition: None,
            problems,
            fixed: Vec::new(),
            stored: None,
            answered: None,
        }
    }
}

/// A problem with a file as a whole.
fn whole(code: &'static str, severity: Severity, message: String, help: Option<String>) -> Problem {
    Problem {
        code,
        severity,
        span: 0..0,
        line: 1,
        column: 1,
        message,
        help,
        fix: None,
    }
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name().and_then(|name| name.to_str())
}

/// What a text without a name is: JSON begins with a brace or a comment.
fn looks_like(bytes: &[u8]) -> FileKind {
    match bytes.trim_ascii_start().first() {
        Some(b'{' | b'/') => FileKind::Json,
        _ => FileKind::Yaml,
    }
}

/// A file that would be a tool under another name.
fn odd_name(stem: &str, kind: FileKind) -> Problem {
    let end = kind.end();
    let help = format!("rename it to `{}{end}`", text::shorten(stem, 100));
    let message = format!("the file is not loaded: tools are `{end}` files");
    let code = match kind {
        FileKind::Yaml => "yml-extension",
        FileKind::Json => "json-extension",
    };
    whole(code, Severity::Warning, message, Some(help))
}

/// A `.yml` file beside one of the same name in `.yaml`: no one can say which of them is the tool.
fn double(path: &Path) -> Option<Problem> {
    let yaml = name_of(path).and_then(source::yaml_of)?;
    let beside = path.with_file_name(&yaml);
    beside.symlink_metadata().ok()?;
    let message = format!(
        "the file is not loaded: `{}` is beside it",
        text::shorten(&yaml, 100)
    );
    let help = "remove or rename one of them".to_owned();
    Some(whole("yml-extension", Severity::Error, message, Some(help)))
}

/// The files of every scope, with what is wrong between them.
fn of_scopes(global: &Global, output: &Output) -> Result<Vec<Checked>, CliError> {
    let crib = open_quietly(global, output)?;
    let report = crib.tool_files();
    let mut files = Vec::new();
    let mut directories: Vec<PathBuf> = Vec::new();
    for file in &report.files {
        let directory = file.path.parent().map(Path::to_owned).unwrap_or_default();
        if !directories.contains(&directory) {
            directories.push(directory);
        }
        let mut checked = match read(&file.path) {
            Ok(bytes) => {
                let stem = tool_file::stem(file);
                Checked::new(Some(file.path.clone()), file.shown.clone(), stem, bytes)
            }
            Err(problem) => Checked::broken(file.path.clone(), file.shown.clone(), vec![*problem]),
        };
        // What only shows beside the others: circles, names that are taken.
        let own_error = |problem: &Problem| problem.severity == Severity::Error;
        match &file.standing {
            FileOutcome::Broken { reason } | FileOutcome::Refused { reason }
                if !checked.problems.iter().any(own_error) && file.link_faults.is_empty() =>
            {
                let problem = whole("not-loaded", Severity::Error, reason.clone(), None);
                checked.problems.insert(0, problem);
            }
            FileOutcome::Shadowed { by, by_file } => {
                let (holder, help) = match file.own_reference() {
                    Some(own) => (by, format!("call this one as `{own}`, or rename it")),
                    None => (
                        by_file.as_ref().unwrap_or(by),
                        "give one of them another `name`".to_owned(),
                    ),
                };
                let message = format!("another tool has the name `{}`: `{holder}`", file.name);
                let problem = whole("shadowed", Severity::Warning, message, Some(help));
                checked.problems.insert(0, problem);
            }
            FileOutcome::Broken { .. }
            | FileOutcome::Refused { .. }
            | FileOutcome::Loaded
            | FileOutcome::Unavailable { .. } => {}
        }
        files.push(checked);
    }
    for directory in tool_directories(&crib) {
        for path in names(&directory).unwrap_or_default() {
            let odd = name_of(&path).and_then(FileKind::misnamed);
            let odd = odd.map(|(kind, _)| odd_name(&stem(&path), kind));
            if let Some(problem) = odd.or_else(|| double(&path)) {
                let shown = tool_file::shown(&path, &crib);
                files.push(Checked::broken(path, shown, vec![problem]));
            }
        }
    }
    Ok(files)
}

/// Warnings about files are what this command prints itself.
fn open_quietly(global: &Global, output: &Output) -> Result<Crib, CliError> {
    let crib = super::options(global).open()?;
    for warning in crib.setting_warnings() {
        output.say(&format!("{} {warning}", output.bold("warning:")));
    }
    Ok(crib)
}

/// Where the tools of this workspace and of its user are.
fn tool_directories(crib: &Crib) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let workspace = crib.workspace_path().map(Path::to_owned);
    let mut directories = Vec::new();
    for base in workspace.into_iter().chain(home) {
        for brand in [".toolcrib/tools", ".cycod/tools"] {
            let directory = base.join(brand);
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
    }
    directories
}

/// The files that were named, those in the directories that were, and tools of the store.
fn named(paths: &[PathBuf], global: &Global, output: &Output) -> Result<Vec<Checked>, CliError> {
    let mut files = Vec::new();
    let mut crib = None;
    for path in paths {
        let shown = path.display().to_string();
        if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            let limit = MAX_FILE_BYTES as u64 + 1;
            std::io::stdin()
                .lock()
                .take(limit)
                .read_to_end(&mut bytes)
                .map_err(|error| CliError::usage(format!("cannot read stdin: {error}")))?;
            files.push(Checked::new(
                None,
                "stdin".to_owned(),
                "stdin".to_owned(),
                bytes,
            ));
        } else if path.is_dir() {
            let inside = names(path).map_err(|error| {
                let message = format!("cannot read `{}`: {error}", text::visible(&shown));
                CliError::from(ToolError::new(ErrorCode::StorageError, message))
            })?;
            for path in inside {
                files.push(one(path));
            }
        } else if path.exists() {
            files.push(one(path.clone()));
        } else {
            if crib.is_none() {
                crib = Some(open_quietly(global, output)?);
            }
            let found = crib.as_ref().and_then(|crib| {
                let entry = crib.registry().find(&shown).ok()?;
                let record = stored::record(&entry, crib)?;
                Some(Checked::stored(&entry, &record, crib))
            });
            files.push(found.unwrap_or_else(|| Err(no_file(&shown)))?);
        }
    }
    Ok(files)
}

fn no_file(shown: &str) -> CliError {
    let shown = text::shorten(shown, 200);
    let message = match shown.contains('/') && !shown.contains('.') {
        true => format!("there is neither a file nor a stored tool `{shown}`"),
        false => format!("there is no file `{shown}`"),
    };
    CliError::usage(message).with_hint(
        "name a `.yaml` or `.json` file, a directory of them, `-`, or a stored tool as `bundle/slug`",
    )
}

fn one(path: PathBuf) -> Checked {
    let shown = path.display().to_string();
    match read(&path) {
        Ok(bytes) => {
            let stem = stem(&path);
            Checked::new(Some(path), shown, stem, bytes)
        }
        Err(problem) => Checked::broken(path, shown, vec![*problem]),
    }
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// The files of a directory that are tools, or would be under another name.
fn names(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        let shown = name.to_string_lossy();
        let is_tool = FileKind::of(&shown).is_some() || FileKind::misnamed(&shown).is_some();
        // Hidden files are what editors keep beside a file.
        if is_tool && !shown.starts_with('.') {
            paths.push(directory.join(name));
        }
    }
    paths.sort();
    Ok(paths)
}

/// A file's bytes, read the way the loader reads them.
fn read(path: &Path) -> Result<Vec<u8>, Box<Problem>> {
    source::read_file(path).map_err(|why| {
        let message = format!("the file is not loaded: {why}");
        Box::new(whole("unreadable", Severity::Error, message, None))
    })
}

/// Fixes what can be fixed safely, and writes the file if that made it better.
fn fix(file: &mut Checked) -> Result<(), CliError> {
    let Some(path) = &file.path else {
        let what = match &file.stored {
            Some(_) => format!("`{}` is kept in the store", text::visible(&file.shown)),
            None => "standard input is not a file".to_owned(),
        };
        let error = CliError::usage(format!("`--fix` changes files, and {what}"));
        return Err(match &file.stored {
            Some(_) => error.with_hint(format!("`toolcrib edit {}` changes it", word(&file.shown))),
            None => error,
        });
    };
    if !file.problems.iter().any(|problem| problem.fix.is_some()) {
        return Ok(());
    }
    // Writing would put a file in the place of the link; the file it leads to is another of this directory.
    if path.is_symlink() {
        return Ok(());
    }
    let fixed = file.kind.fix(&file.bytes, &file.stem);
    if fixed.done.is_empty() {
        return Ok(());
    }
    let Ok(text) = std::str::from_utf8(&fixed.bytes) else {
        return Ok(());
    };
    tool_file::write(path, text, Overwrite::Yes)?;
    // Problems of the file as a whole remain.
    let mut problems: Vec<Problem> = file.problems.drain(..).filter(is_whole).collect();
    problems.extend(fixed.reading.problems);
    file.problems = problems;
    file.definition = fixed.reading.definition;
    file.fixed = fixed.done;
    file.bytes = fixed.bytes;
    Ok(())
}

/// Adds what is wrong between files: only those where tools are looked for are beside others.
fn add_links(files: &mut [Checked], global: &Global) {
    if files.iter().all(|file| file.definition.is_none()) {
        return;
    }
    // After a fix the files say something else. Without a crib nothing is beside them.
    let Ok(crib) = super::options(global).open() else {
        return;
    };
    let report = crib.tool_files();
    let secrets = crib.secrets().list().unwrap_or_default();
    for file in files.iter_mut().filter(|file| file.definition.is_some()) {
        if let Some(FileDefinition::Http(definition)) = &file.definition {
            let faults = source::named_like_secrets(definition, &secrets);
            let problems = faults.iter().map(|fault| fault.problem(&file.bytes));
            file.problems.extend(problems);
        }
        if let Some(FileDefinition::Command(definition)) = &file.definition {
            let doubts = crib.doubts(definition, &file.bytes);
            file.problems.extend(doubts);
        }
        let Some(path) = file.path.as_ref().and_then(|path| path.canonicalize().ok()) else {
            continue;
        };
        let same = |known: &&source::ToolFile| {
            !known.link_faults.is_empty()
                && known.path.canonicalize().is_ok_and(|known| known == path)
        };
        let Some(known) = report.files.iter().find(same) else {
            continue;
        };
        for problem in known
            .link_faults
            .iter()
            .map(|fault| fault.problem(&file.bytes))
        {
            if !file.problems.contains(&problem) {
                file.problems.push(problem);
            }
        }
    }
}

/// Adds what a provider's format cannot say about the tools.
fn add_losses(files: &mut [Checked], provider: Provider, global: &Global) {
    // Aliases are published with what their base takes. Without a crib, only they are not known.
    let crib = super::options(global).open().ok();
    let lookup = |name: &str| {
        let entry = crib.as_ref()?.registry().find(name).ok()?;
        Some(Arc::clone(entry.spec()))
    };
    let name = provider.as_str();
    for file in files {
        let made = match (&file.definition, &file.stored) {
            (Some(FileDefinition::Command(definition)), _) => spec_of(definition, &lookup),
            (Some(FileDefinition::Http(definition)), _) => Ok(http_spec_of(definition)),
            (None, Some(spec)) => Ok(spec.as_ref().clone()),
            (None, None) => continue,
        };
        let made =
            made.map(|spec| wire::definition(&spec, provider, &DefinitionOptions::default()));
        let (code, severity, said) = match made {
            Err(error) => (
                "not-expressible",
                Severity::Error,
                vec![error.message().to_owned()],
            ),
            Ok(Err(error)) => ("not-expressible", Severity::Error, vec![error.to_string()]),
            Ok(Ok(made)) => {
                // That nothing else may be given is said of every tool, and not by its author.
                let losses = made
                    .losses
                    .into_iter()
                    .filter(|loss| loss.pointer != "/additionalProperties");
                let losses = losses.map(|loss| match loss.pointer.as_str() {
                    "" => format!("{name} is not sent: {}", loss.reason),
                    pointer => format!("{name} is not sent, at `{pointer}`: {}", loss.reason),
                });
                ("provider-loss", Severity::Warning, losses.collect())
            }
        };
        for message in said {
            let place = file.place(&message);
            file.problems.push(Problem {
                span: place.0,
                line: place.1,
                column: place.2,
                ..whole(code, severity, message, None)
            });
        }
    }
}

/// Whether a problem is of the file rather than in it.
fn is_whole(problem: &Problem) -> bool {
    matches!(
        problem.code,
        "yml-extension" | "json-extension" | "not-loaded" | "shadowed" | "unreadable"
    )
}

fn print(files: &[Checked], errors: usize, warnings: usize, output: &Output) {
    let paint = |part: Part, words: &str| match part {
        Part::Error => output.bad(words),
        Part::Warning => output.doubtful(words),
        Part::Message => output.heading(words),
        Part::Frame | Part::Help => words.to_owned(),
    };
    let mut fixable = 0;
    for file in files {
        for problem in &file.fixed {
            let what = text::visible(&problem.message).into_owned();
            output.line(&format!(
                "{} {}:{}:{}: {what}",
                output.good("fixed"),
                text::visible(&file.shown),
                problem.line,
                problem.column
            ));
        }
        for problem in &file.problems {
            fixable += usize::from(problem.fix.is_some());
            let columns = output.columns();
            output.line(&render_within(
                problem,
                &file.shown,
                &file.bytes,
                columns,
                &paint,
            ));
        }
    }
    let in_store = files.iter().filter(|file| file.stored.is_some()).count();
    let tools = match (files.len() - in_store, in_store) {
        (0, 0) => {
            "no files of tools here: `toolcrib init` makes a directory for them with one that works"
                .to_owned()
        }
        (files, 0) => count(files, "file"),
        (0, stored) => count(stored, "stored tool"),
        (files, stored) => format!("{}, {}", count(files, "file"), count(stored, "stored tool")),
    };
    output.line(&match (files.len(), errors, warnings) {
        (0, ..) => tools,
        (_, 0, 0) => format!("{tools}: {}", output.good("OK")),
        (_, errors, warnings) => format!(
            "{tools}: {}, {}",
            count(errors, "error"),
            count(warnings, "warning")
        ),
    });
    if files.iter().any(|file| !file.fixed.is_empty()) {
        output.say(&output.dim("changed files must be trusted again: `toolcrib trust`"));
    }
    if fixable > 0 {
        output.say(&output.dim("`toolcrib check --fix` fixes what can be fixed safely"));
    }
    if errors + warnings > 0 {
        output.say(&output.dim("`toolcrib explain CODE` says more about a problem"));
    }
}

fn count(number: usize, word: &str) -> String {
    match number {
        1 => format!("1 {word}"),
        many => format!("{many} {word}s"),
    }
}

fn print_rows(files: &[Checked], output: &Output) {
    for file in files {
        for problem in &file.problems {
            let row = [
                text::visible(&file.shown).into_owned(),
                problem.line.to_string(),
                problem.column.to_string(),
                problem.severity.as_str().to_owned(),
                problem.code.to_owned(),
                text::visible(&problem.message).replace(['\n', '\t'], " "),
            ];
            output.line(&row.join("\t"));
        }
    }
}

fn print_json(files: &[Checked], errors: usize, warnings: usize, fails: bool, output: &Output) {
    let all: Vec<Value> = files
        .iter()
        .map(|file| {
            let fixed: Vec<&str> = file.fixed.iter().map(|problem| problem.code).collect();
            json!({
                "file": file.shown,
                "tool": file.tool(),
                "problems": file.problems,
                "fixed": fixed,
            })
        })
        .collect();
    if fails {
        let message = format!(
            "{} and {} in the files of tools",
            count(errors, "error"),
            count(warnings, "warning")
        );
        let error = ToolError::new(ErrorCode::InvalidArguments, message)
            .with_detail("files", all)
            .with_detail("errors", errors)
            .with_detail("warnings", warnings);
        output.document(&json!({"ok": false, "error": error}));
    } else {
        let value = json!({"files": all, "errors": errors, "warnings": warnings});
        output.document(&json!({"ok": true, "value": value}));
    }
}
