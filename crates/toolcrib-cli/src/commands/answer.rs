//! `toolcrib answer`: a model's reply in, the messages that answer it out.

use std::future::Future;
use std::io::{IsTerminal as _, Read as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolcrib::answer::{AnswerOptions, answer as answer_reply};
use toolcrib::model::json::read_strict;
use toolcrib::model::text;
use toolcrib::wire::{ReplyError, ReplyFormat};
use toolcrib::{Caller, Crib, ErrorCode, ToolError};

use super::run::{announce, cancel_on_interrupt};
use super::{Answerer, Done, open_for_model, tell_of_unasked};
use crate::args::{AnswerArgs, Global};
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::{AtTerminal, Prompter, Questions, Screen};
use crate::remote;

/// The longest reply: no provider sends half as much.
const MAX_REPLY: u64 = 64 * 1024 * 1024;

pub(super) fn answer(args: &AnswerArgs, global: &Global, output: &Output) -> Done {
    let format = ReplyFormat::parse_or_auto(&args.from)
        .map_err(|error| CliError::usage(error.to_string()))?;
    let reply = read(args.file.as_deref(), global, output)?;
    let (crib, answerer) = open_for_model(global, args.yes, args.wait_approval, output)?;
    let crib = Arc::new(crib);
    let runtime = remote::runtime()?;
    let cancel = CancellationToken::new();
    let screen = Arc::new(Screen::new());
    let options = AnswerOptions {
        caller: Caller::Cli,
        cancel: Some(cancel.clone()),
        elicitor: AtTerminal::find(global, output, &screen),
        results: Some(Arc::new(crib.results().clone())),
        ..AnswerOptions::default()
    };
    let work = answer_reply(crib.registry(), &reply, format, &options);
    let answered = runtime.block_on(asking(
        &crib, answerer, &screen, global, output, &cancel, work,
    ));
    crib.registry().flush();
    runtime.shutdown_background();
    let answered = answered.map_err(|error| {
        let hint = match &error {
            ReplyError::TooLong { .. } => "give it the reply of one turn",
            ReplyError::Refused(_) => "there is no reply to answer: ask the model again",
            ReplyError::Mismatch { .. } | ReplyError::Ambiguous(_) | ReplyError::Unknown { .. } => {
                "`toolcrib answer --from PROVIDER` takes that provider's answer as it came"
            }
        };
        CliError::from(ToolError::from(error)).with_hint(hint)
    })?;
    if answered.calls.is_empty() {
        output.say(&output.dim("the reply calls no tools: there is nothing to answer"));
    }
    for call in answered.calls.iter().filter(|call| !call.ok) {
        let code = call.code.as_deref().unwrap_or("failed");
        let tool = match call.tool.as_str() {
            "" => "a call without a name".to_owned(),
            tool => format!("`{}`", text::visible_line(&text::shorten(tool, 60))),
        };
        output.say(&output.dim(&format!("{tool} failed ({code}); the answer reports that")));
    }
    tell_of_unasked(&answered.calls, global, output);
    match output.json() {
        true => output.document(&answered),
        false => output.document(&answered.messages),
    }
    Ok(match cancel.is_cancelled() {
        true => ExitCode::from(ErrorCode::Cancelled.exit_code()),
        false => ExitCode::SUCCESS,
    })
}

/// Does work whose calls may ask, with an approver; being asked to stop cancels it.
pub(super) async fn asking<T>(
    crib: &Arc<Crib>,
    answerer: Answerer,
    screen: &Arc<Screen>,
    global: &Global,
    output: &Output,
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> T {
    let interrupted = tokio::spawn(cancel_on_interrupt(cancel.clone(), Arc::clone(screen)));
    let (mut prompter, mut subscription) = (None, None);
    match answerer {
        Answerer::Person(terminal) => {
            let questions = Arc::clone(crib) as Arc<dyn Questions>;
            let started = Prompter::start(questions, screen, terminal, cancel);
            subscription = Some(started.hear(crib));
            prompter = Some(started);
        }
        Answerer::Queue if !output.quiet() => {
            subscription = Some(announce(crib, screen, global));
        }
        Answerer::Queue | Answerer::Settled => {}
    }
    let done = work.await;
    if let Some(prompter) = prompter {
        prompter.finish().await;
    }
    screen.dismiss();
    drop(screen.turn().await);
    drop(subscription);
    interrupted.abort();
    done
}

/// Reads a reply as strictly as the server does.
fn read(file: Option<&Path>, global: &Global, output: &Output) -> Result<Value, CliError> {
    let mut bytes = Vec::new();
    let mut take = |from: &mut dyn std::io::Read| from.take(MAX_REPLY + 1).read_to_end(&mut bytes);
    let (taken, source) = match file.filter(|file| *file != Path::new("-")) {
        Some(file) => {
            let taken = std::fs::File::open(file).and_then(|mut file| take(&mut file));
            (taken, format!("`{}`", file.display()))
        }
        None => {
            let stdin = std::io::stdin();
            if stdin.is_terminal() && global.no_input {
                let problem = "the reply would be read from the terminal, which `--no-input` forbids; name a file";
                return Err(CliError::usage(problem));
            }
            if stdin.is_terminal() {
                output.say(&output.dim("paste the model's reply and end with Ctrl-D"));
            }
            (take(&mut stdin.lock()), "stdin".to_owned())
        }
    };
    taken.map_err(|error| CliError::usage(format!("cannot read {source}: {error}")))?;
    if bytes.len() as u64 > MAX_REPLY {
        return Err(CliError::usage(format!("{source} is more than 64 MB")));
    }
    if bytes.trim_ascii().is_empty() {
        return Err(
            CliError::usage(format!("there is no reply: {source} is empty"))
                .with_hint("name its file, or send it by a pipe: `curl … | toolcrib answer`"),
        );
    }
    read_strict(&bytes).map_err(|error| {
        CliError::usage(format!("{source} is not valid JSON: {error}")).with_hint(
            "send the provider's answer as it came; the pieces of a stream are merged first",
        )
    })
}
