//! `toolcrib run`: one call, from words to an exit code.

mod allow_host;
mod by_server;
mod call;
mod console;
mod keyboard;
mod print;

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use jiff::Timestamp;
use rustix::termios::tcgetwinsize;
use serde_json::Value;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;
use toolcrib::approval::ApprovalRequest;
use toolcrib::approval::queue::Subscription;
use toolcrib::model::json::read_strict;
use toolcrib::model::{JsonObject, text};
use toolcrib::registry::Source;
use toolcrib::{CallRequest, Caller, Crib, EventKind, Outcome, OutputStream, ToolSpec};
use toolcrib_server::client::ClientError;

use super::{Answerer, Done, open_to_run, warn_of_shadowed, word};
use crate::args::{Global, RunArgs};
use crate::coerce;
use crate::failure::CliError;
use crate::ids::short;
use crate::local_time;
use crate::output::Output;
use crate::progress;
use crate::prompt::{AtTerminal, Extent, Page, Paint, Prompter, Questions, Screen, Terminal, item};
use crate::remote;
use crate::signals::{Stop, Stops};
use crate::typed_path;
use crate::wrap;
use by_server::Where;
use call::{Call, Hearing};
use keyboard::Keyboard;
use print::{CallSetting, Shown, dry_run, print_outcome};
pub(in crate::commands) use print::{held_note, planted_note};

pub(super) fn run(args: &RunArgs, global: &Global, output: &Output) -> Done {
    if let Some(server) = remote::named(global)? {
        return by_server::run(args, &server, global, output);
    }
    let opened = || open_to_run(global, args.yes, args.wait_approval, output);
    let (crib, answerer) = opened()?;
    let spec = crib.registry().find(&args.tool).ok();
    let spec = spec.as_ref().map(|entry| entry.spec().as_ref());
    let mut request = request(args, global, spec, output)?;
    if let (Some(spec), Some(workspace)) = (spec, crib.workspace_path()) {
        typed_path::from_workspace(&mut request.args, &args.pairs, spec, workspace);
    }
    let request = request;
    let is_allowed =
        !args.dry_run && allow_host::offered(&request, &crib, &answerer, global, output)?;
    let (crib, answerer) = match is_allowed {
        // The settings say something else now.
        true => opened()?,
        false => (crib, answerer),
    };
    let crib = Arc::new(crib);
    warn_of_shadowed(&crib, &args.tool, output);
    let entry = crib.registry().find(&args.tool).ok();
    let spec = entry.as_ref().map(|entry| entry.spec().as_ref());
    if args.dry_run {
        return dry_run(&crib.planned(request)?, output);
    }
    let runtime = remote::runtime()?;
    // A person at the terminal answers what an interactive tool asks; without one it gets its default answer.
    let interactive = spec.is_some_and(|spec| spec.interactive);
    let person = (interactive && !global.no_input && !output.json())
        .then(|| Terminal::find(false))
        .flatten();
    let client = match &person {
        // Input that is typed goes to the program, which has to be here.
        Some(_) => None,
        None => by_server::server_for(args, &crib, global, output),
    };
    let is_through = client.is_some();
    let job = Job {
        crib: Some(Arc::clone(&crib)),
        questions: Arc::clone(&crib) as Arc<dyn Questions>,
        through: client.map(|client| by_server::through(client, &request, args, &answerer)),
        request,
    };
    let ran = runtime.block_on(execute(
        job,
        How {
            stream: args.stream || person.is_some(),
            person,
        },
        Asking::new(answerer, global),
        output,
    ));
    crib.registry().flush();
    // A tool that does not heed its cancellation must not hold the exit up.
    runtime.shutdown_background();
    let (mut outcome, shown) = ran.map_err(by_server::failed)?;
    let made = match is_through {
        true => Where::ServerOfHome,
        false => Where::AsTold,
    };
    by_server::in_own_words(&mut outcome, made, global, output);
    let known = CallSetting {
        is_stored: entry.is_some_and(|entry| entry.source() == Source::Store),
        remember_denial: Some(crib.config().approvals().remember_denial),
    };
    print_outcome(args, &outcome, shown, &known, output);
    let health = crib.call_log_health();
    if let Some(why) = health.last_error.filter(|_| health.dropped > 0) {
        output.say(&output.dim(&format!("the call was not recorded: {why}")));
    }
    Ok(exit_code(args, &outcome))
}

fn request(
    args: &RunArgs,
    global: &Global,
    spec: Option<&ToolSpec>,
    output: &Output,
) -> Result<CallRequest, CliError> {
    // An unknown tool is the pipeline's to report; its arguments are read as text meanwhile.
    if args.tool.contains('=') {
        let word = text::shorten(&args.tool, 60);
        return Err(
            CliError::usage(format!("name the tool first: `toolcrib run TOOL {word}`"))
                .with_hint("`toolcrib list` shows the tools"),
        );
    }
    let base = match &args.args {
        Some(word) => read_json(word, global, output)?,
        None => JsonObject::new(),
    };
    let arguments = match (spec, coerce::arguments(base, &args.pairs, spec)) {
        (_, Ok(arguments)) => arguments,
        // Rather than about words, tell about the tool that is not there.
        (None, Err(_)) => JsonObject::new(),
        (Some(_), Err(error)) => {
            let hint = format!("`toolcrib show {}` lists the parameters", word(&args.tool));
            return Err(CliError::usage(error.message).with_hint(hint));
        }
    };
    let mut request = CallRequest::new(&args.tool)
        .args(arguments)
        .caller(Caller::Cli);
    request.call_id = args.call_id.clone();
    if let Some(timeout) = args.timeout {
        request = request.timeout(timeout);
    }
    Ok(request)
}

/// More JSON than this no one types, and no tool takes.
const MAX_JSON: u64 = 64 * 1024 * 1024;

/// Reads the arguments that `--args` is given.
pub(super) fn read_json(
    word: &str,
    global: &Global,
    output: &Output,
) -> Result<JsonObject, CliError> {
    read_json_of("--args", word, global, output)
}

/// Reads the JSON object that a flag is given: as it is, from `@FILE` or from `-`.
pub(super) fn read_json_of(
    flag: &str,
    word: &str,
    global: &Global,
    output: &Output,
) -> Result<JsonObject, CliError> {
    let mut json = Vec::new();
    let source = match word {
        "-" => {
            if global.no_input && std::io::stdin().is_terminal() {
                return Err(CliError::usage(format!(
                    "`{flag} -` would wait for the terminal, which `--no-input` forbids"
                )));
            }
            if std::io::stdin().is_terminal() {
                output.say(&output.dim("type JSON and end with Ctrl-D"));
            }
            read_capped(std::io::stdin().lock(), &mut json).map(|()| "stdin".to_owned())
        }
        _ => match word.strip_prefix('@') {
            Some(path) => std::fs::File::open(path)
                .and_then(|file| read_capped(file, &mut json))
                .map(|()| format!("`{path}`"))
                .map_err(|error| std::io::Error::new(error.kind(), format!("`{path}`: {error}"))),
            None => {
                json.extend_from_slice(word.as_bytes());
                Ok(format!("`{flag}`"))
            }
        },
    };
    let source = source
        .map_err(|error| CliError::usage(format!("cannot read the arguments from {error}")))?;
    let usage = |problem: String| {
        CliError::usage(problem).with_hint(format!(
            "write a JSON object: {flag} '{{\"name\": \"value\"}}', {flag} @FILE or {flag} -"
        ))
    };
    match read_strict(&json) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(usage(format!("{source} is not a JSON object"))),
        Err(error) => Err(usage(format!("{source} is not JSON: {error}"))),
    }
}

fn read_capped(reader: impl std::io::Read, into: &mut Vec<u8>) -> std::io::Result<()> {
    reader.take(MAX_JSON + 1).read_to_end(into)?;
    if into.len() as u64 > MAX_JSON {
        return Err(std::io::Error::other("more than 64 MB"));
    }
    Ok(())
}

/// How questions reach someone.
struct Asking<'a> {
    answerer: Answerer,
    global: &'a Global,
    /// The words in front of a command that answers: another terminal may not know the home.
    command: String,
}

impl<'a> Asking<'a> {
    fn new(answerer: Answerer, global: &'a Global) -> Self {
        Asking {
            answerer,
            global,
            command: command(global),
        }
    }
}

/// This program as another terminal has to call it.
pub(super) fn command(global: &Global) -> String {
    match (&global.server, &global.home) {
        (Some(server), _) => format!("toolcrib --server {}", quoted(server)),
        (None, Some(home)) => format!("toolcrib --home {}", quoted(&home.to_string_lossy())),
        (None, None) => "toolcrib".to_owned(),
    }
}

/// How a call is followed.
struct How {
    /// Whether what happens is shown while it happens.
    stream: bool,
    /// Answers the questions of an interactive tool.
    person: Option<Terminal>,
}

/// A call to make, and where.
struct Job {
    /// The crib on this machine; none where a server was named.
    crib: Option<Arc<Crib>>,
    questions: Arc<dyn Questions>,
    /// The server to make it through, if there is one.
    through: Option<by_server::Through>,
    request: CallRequest,
}

/// Makes the call, here or through a server, and shows it.
async fn execute(
    job: Job,
    how: How,
    asking: Asking<'_>,
    output: &Output,
) -> Result<(Outcome, Shown), ClientError> {
    let cancel = CancellationToken::new();
    let mut request = job.request.cancel_with(cancel.clone());
    let screen = Arc::new(Screen::new());
    let keyboard = how.person.map(|person| {
        let (keyboard, typed) = Keyboard::new(person, &screen);
        request = std::mem::take(&mut request).typed(typed);
        keyboard
    });
    if let Some(person) = AtTerminal::find(asking.global, output, &screen) {
        request = request.elicitor(person);
    }
    let interrupted = tokio::spawn(cancel_on_interrupt(cancel.clone(), Arc::clone(&screen)));
    // A call on a server reports its questions by events, one in this process by the queue.
    let (mut prompter, mut subscription, mut told) = (None, None, None);
    match asking.answerer {
        Answerer::Person(terminal) => {
            let questions = Arc::clone(&job.questions);
            let started = Prompter::start(questions, &screen, terminal, &cancel);
            subscription = job.crib.as_ref().map(|crib| started.hear(crib));
            told = Some(started.desk());
            prompter = Some(started);
        }
        Answerer::Queue if !output.quiet() => {
            let announcement = Arc::new(Announcement {
                screen: Arc::clone(&screen),
                command: asking.command,
            });
            let (sender, mut asked) = unbounded_channel();
            let announced = Arc::clone(&announcement);
            tokio::spawn(async move {
                while let Some(request) = asked.recv().await {
                    announced.print(&request);
                }
            });
            told = Some(sender);
            subscription = job.crib.as_ref().map(|crib| {
                crib.approvals()
                    .on_request(move |request| announcement.print(request))
            });
        }
        Answerer::Queue | Answerer::Settled => {}
    }
    let hearing = told.map(|told| Hearing {
        questions: job.questions,
        told,
    });
    let tool = text::shorten(&request.tool, 40);
    let call = async {
        let call = start(job.crib, job.through, request, hearing, &cancel, output).await?;
        match how.stream {
            true => follow(call, keyboard, &screen, output).await,
            false => console::watch(call, &screen, output).await,
        }
    };
    let ran = match how.stream {
        true => call.await,
        false => progress::show(output, &screen, &tool, call).await,
    };
    if let Some(prompter) = prompter {
        prompter.finish().await;
    }
    screen.dismiss();
    drop(screen.turn().await);
    drop(subscription);
    interrupted.abort();
    match ran {
        // It was being asked for when someone thought better of it.
        Err(_) if cancel.is_cancelled() => Err(by_server::cancelled()),
        ran => ran,
    }
}

/// Begins the call. A server that was only found, and does not take it, is passed over.
async fn start(
    crib: Option<Arc<Crib>>,
    through: Option<by_server::Through>,
    request: CallRequest,
    hearing: Option<Hearing>,
    cancel: &CancellationToken,
    output: &Output,
) -> Result<Call, ClientError> {
    let not_taken = match &through {
        None => None,
        Some(there) => match Call::through(&there.client, &there.body, hearing, cancel).await {
            Ok(call) => {
                if output.verbose() && crib.is_some() {
                    let server = there.client.address();
                    output.say(&output.dim(&format!("through the server at {server}")));
                }
                return Ok(call);
            }
            Err(error @ (ClientError::Lost { .. } | ClientError::Strange { .. })) => {
                return Err(error);
            }
            Err(error) => Some(error),
        },
    };
    match (crib, not_taken) {
        (Some(crib), not_taken) => {
            if let Some(why) = not_taken.filter(|_| output.verbose()) {
                output.say(&output.dim(&format!("in this process: {why}")));
            }
            Ok(Call::Here(crib.registry().execute_async(request)))
        }
        (None, Some(error)) => Err(error),
        (None, None) => Err(ClientError::Usage("there is no server to call".to_owned())),
    }
}

/// Being asked to stop cancels the call; Ctrl-C does not while an editor has the terminal.
pub(super) async fn cancel_on_interrupt(cancel: CancellationToken, screen: Arc<Screen>) {
    let mut stops = Stops::listen();
    while stops.next().await == Stop::Interrupt && screen.is_editing() {}
    cancel.cancel();
    screen.dismiss();
}

/// Says on stderr how a question can be answered, as soon as there is one.
struct Announcement {
    screen: Arc<Screen>,
    command: String,
}

/// Says of the questions of this process's calls how they can be answered, for as long as the subscription is kept.
pub(super) fn announce(crib: &Crib, screen: &Arc<Screen>, global: &Global) -> Subscription {
    let announcement = Announcement {
        screen: Arc::clone(screen),
        command: command(global),
    };
    crib.approvals()
        .on_request(move |request| announcement.print(request))
}

impl Announcement {
    fn print(&self, request: &ApprovalRequest) {
        let command = &self.command;
        let _taken = self.screen.take();
        let id = short(&request.id);
        let until = request.expires_at.map_or(String::new(), |until| {
            format!(" until {}", local_time::moment(until, Timestamp::now()))
        });
        let page = Page {
            extent: Extent::Whole,
            columns: wrap::usable(tcgetwinsize(std::io::stderr()).map_or(0, |size| size.ws_col)),
            paint: Paint(false),
        };
        let effect = text::shorten(&request.effect, 400);
        let mut lines = vec![format!("{} waits for approval{until}", request.tool)];
        lines.extend(item("  ", &effect, page));
        lines.push(format!("  {command} approvals show {id}"));
        lines.push(format!("  {command} approvals approve {id}\n"));
        let _ = std::io::stderr().write_all(lines.join("\n").as_bytes());
    }
}

/// A word that a shell reads as it is.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Prints what happens while it happens; says too whether the tool's output was part of it.
async fn follow(
    mut call: Call,
    mut keyboard: Option<Keyboard>,
    screen: &Screen,
    output: &Output,
) -> Result<(Outcome, Shown), ClientError> {
    let mut events = call.events();
    let mut shown = Shown::Nothing;
    while let Some(event) = events.next().await {
        if output.has_failed() {
            // No one reads any more. The outcome is still awaited, and recorded.
            call.cancel();
        }
        if output.json() {
            output.ndjson(&*event);
            continue;
        }
        // What others write while a question is on the screen waits until it is answered.
        screen.free().await;
        match &event.kind {
            EventKind::Output {
                stream: OutputStream::Stdout,
                chunk,
                ..
            } => {
                shown = Shown::Everything;
                output.chunk(chunk);
            }
            EventKind::Output {
                stream: OutputStream::Stderr,
                chunk,
                ..
            } => {
                shown = Shown::Everything;
                output.error_chunk(chunk);
            }
            EventKind::Step { name, status } => {
                output.say(&output.dim(&format!("step {}: {status}", text::visible(name))));
            }
            EventKind::Progress {
                progress,
                total,
                message,
            } => {
                let total = total.map_or(String::new(), |total| format!(" of {total}"));
                let message = message.as_deref().unwrap_or_default();
                output.say(&output.dim(&format!("{progress}{total} {}", text::visible(message))));
            }
            // A user who was asked here knows.
            EventKind::Approval { .. } if screen.was_taken() => {}
            EventKind::Approval { status, .. } => {
                output.say(&output.dim(&format!("approval {status}")));
            }
            EventKind::Started { .. } => {
                if let Some(keyboard) = &mut keyboard {
                    keyboard.begin();
                }
            }
            EventKind::Finished { .. } => {}
        }
    }
    if let Some(keyboard) = keyboard {
        keyboard.finish().await;
    }
    Ok((call.outcome().await?, shown))
}

fn exit_code(args: &RunArgs, outcome: &Outcome) -> ExitCode {
    let program = outcome
        .value()
        .and_then(|value| value.get("exitCode"))
        .and_then(Value::as_i64);
    match (&outcome.result, program) {
        (Err(error), _) => ExitCode::from(error.code().exit_code()),
        (Ok(_), Some(code)) if args.exit_code => {
            ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1))
        }
        (Ok(_), _) => ExitCode::SUCCESS,
    }
}
