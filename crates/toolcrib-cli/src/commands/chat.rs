//! `toolcrib chat`: the loop with a model, on a terminal or in a script.

mod show;

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolcrib::answer::AnswerOptions;
use toolcrib::chat::{
    Chat, ChatError, ChatEvent, ChatOptions, Ending, Endpoint, Transcript, TurnReport, Turns,
};
use toolcrib::config::ChatSettings;
use toolcrib::crib::{Offer, OfferBounds};
use toolcrib::registry::Availability;
use toolcrib::secret::SecretName;
use toolcrib::wire::ReplyFormat;
use toolcrib::{CallId, Caller, Crib, ErrorCode, Secret, Slug, ToolError, ToolSpec};

use super::answer::asking;
use super::run::{command, quoted};
use super::{Done, answerer, open_for_model, tell_of_unasked};
use crate::args::{ChatArgs, Global};
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::{AtTerminal, Screen};
use crate::remote;
use crate::signals::{Stop, Stops};
use show::Show;

/// The longest prompt from a pipe.
const MAX_PROMPT: u64 = 16 * 1024 * 1024;

pub(super) fn chat(args: &ChatArgs, global: &Global, output: &Output) -> Done {
    let earlier = args.continue_from.as_deref().map(Turns::read);
    let earlier = earlier.transpose().map_err(unread)?;
    let prompt = first_prompt(args, global)?;
    let (crib, _) = open_for_model(global, args.yes, args.wait_approval, output)?;
    let crib = Arc::new(crib);
    let endpoint = endpoint(args, earlier.as_ref(), &crib, output)?;
    let system = args.system.clone();
    let system = system.or_else(|| earlier.as_ref().and_then(|earlier| earlier.system.clone()));
    let screen = Arc::new(Screen::new());
    let options = ChatOptions {
        system: system.clone(),
        max_steps: args.max_steps.into(),
        max_tokens: args.max_tokens,
        patience: args.timeout,
        calls: AnswerOptions {
            caller: Caller::Cli,
            elicitor: AtTerminal::find(global, output, &screen),
            results: Some(Arc::new(crib.results().clone())),
            ..AnswerOptions::default()
        },
        ..ChatOptions::default()
    };
    let offer = offer(args, &crib, &endpoint, output)?;
    let tools = offer.tools.iter().map(AsRef::as_ref);
    let mut chat = Chat::new(
        crib.registry(),
        crib.egress(),
        endpoint.clone(),
        tools,
        options,
    );
    if offer.to_be_found.is_some() {
        chat = chat.callable(offer.callable);
    }
    for dropped in &chat.definitions().dropped {
        let (tool, reason) = (&dropped.tool, &dropped.reason);
        output.say(&output.dim(&format!("`{tool}` is not offered: {reason}")));
    }
    let transcript = match (&args.continue_from, earlier) {
        (Some(file), Some(earlier)) => {
            chat = chat.resume(earlier.messages);
            Transcript::append_to(file, &endpoint, crib.secrets())
        }
        _ => {
            let file = match &args.transcript {
                Some(file) => file.clone(),
                None => new_file(crib.home())?,
            };
            Transcript::create(&file, &endpoint, system.as_deref(), crib.secrets())
        }
    };
    let transcript = Mutex::new(transcript.map_err(failed)?);
    let mut conversation = Conversation {
        crib: Arc::clone(&crib),
        chat,
        transcript,
        screen,
        model: endpoint.model().to_owned(),
        args,
        global,
        output,
    };
    let runtime = remote::runtime()?;
    let done = runtime.block_on(async {
        match prompt {
            Some(prompt) => conversation.once(&prompt).await,
            None => conversation.on_and_on().await,
        }
    });
    crib.registry().flush();
    runtime.shutdown_background();
    if !output.json() {
        let path = lock(&conversation.transcript).path().display().to_string();
        output.say(&output.dim(&format!("transcript: {path}")));
        if done.is_err() {
            let goes_on = conversation.goes_on();
            output.say(&output.dim(&format!("to go on: {goes_on}")));
        }
    }
    done
}

struct Conversation<'a> {
    crib: Arc<Crib>,
    chat: Chat,
    transcript: Mutex<Transcript>,
    screen: Arc<Screen>,
    model: String,
    args: &'a ChatArgs,
    global: &'a Global,
    output: &'a Output,
}

impl Conversation<'_> {
    /// One prompt, and its end as the end of the command.
    async fn once(&mut self, prompt: &str) -> Done {
        let (report, text) = self.turn(prompt).await?;
        if self.output.json() {
            self.output.document(&json!({
                "ending": word(&report.ending),
                "steps": report.steps,
                "text": text,
                "calls": report.calls,
                "transcript": lock(&self.transcript).path().display().to_string(),
            }));
        }
        self.tell(&report, &format!("`{}` goes on", self.goes_on()));
        tell_of_unasked(&report.calls, self.global, self.output);
        Ok(exit_code(&report))
    }

    /// Prompts from a terminal, until there are no more. What goes wrong ends one turn.
    async fn on_and_on(&mut self) -> Done {
        let hint = "Ctrl-D ends the chat, Ctrl-C what the model is doing";
        self.output.say(&self.output.dim(hint));
        loop {
            let Some(prompt) = ask_for_prompt().await else {
                return Ok(ExitCode::SUCCESS);
            };
            if prompt.trim().is_empty() {
                continue;
            }
            match self.turn(&prompt).await {
                Ok((report, _)) => self.tell(&report, "the next prompt goes on"),
                Err(error) => drop(error.report(self.output)),
            }
        }
    }

    async fn turn(&mut self, prompt: &str) -> Result<(TurnReport, String), CliError> {
        let cancel = CancellationToken::new();
        let screen = Arc::clone(&self.screen);
        let answerer = answerer(
            self.global,
            self.args.yes,
            self.args.wait_approval,
            self.output,
        );
        let (show, printer) = Show::start(&screen, &self.model, self.output);
        let transcript = &self.transcript;
        let unwritten: Mutex<Option<CliError>> = Mutex::new(None);
        let on = |event: ChatEvent<'_>| {
            if let ChatEvent::Message(message) = event {
                if let Err(error) = lock(transcript).message(message) {
                    lock(&unwritten).get_or_insert(failed(error));
                }
                return;
            }
            show.event(&event);
        };
        let chat = &mut self.chat;
        let work = async {
            let turned = chat.turn(prompt, &cancel, &on).await;
            show.end();
            turned
        };
        let asked = asking(
            &self.crib,
            answerer,
            &screen,
            self.global,
            self.output,
            &cancel,
            work,
        );
        let (turned, text) = tokio::join!(asked, printer);
        let noted = match &turned {
            Ok(report) => lock(&self.transcript).ending(word(&report.ending), None),
            Err(error) => lock(&self.transcript).ending("error", Some(&error.to_string())),
        };
        let unwritten = unwritten
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = unwritten.or_else(|| noted.err().map(failed)) {
            return Err(error);
        }
        match turned {
            Ok(report) => Ok((report, text)),
            Err(error) => Err(why(error)),
        }
    }

    /// The command that goes on with this conversation.
    fn goes_on(&self) -> String {
        let path = lock(&self.transcript).path().display().to_string();
        let mut words = vec![
            command(self.global),
            format!("chat --continue {}", quoted(&path)),
        ];
        // Where it is served and whose key that takes are permissions: no transcript gives them.
        if let Some(url) = &self.args.base_url {
            words.push(format!("--base-url {}", quoted(url)));
        }
        if let Some(key) = &self.args.key {
            words.push(format!("--key {}", quoted(key)));
        }
        if let Some(bundle) = &self.args.bundle {
            words.push(format!("--bundle {}", quoted(bundle)));
        }
        if !self.args.tools.is_empty() {
            words.push(format!("--tools {}", quoted(&self.args.tools.join(","))));
        }
        if self.args.no_tools {
            words.push("--no-tools".to_owned());
        }
        words.push("'Go on'".to_owned());
        words.join(" ")
    }

    /// Says how a turn ended, where it is not the usual way, and what goes on from there.
    fn tell(&self, report: &TurnReport, goes_on: &str) {
        let words = match &report.ending {
            Ending::Done => return,
            Ending::StepsUsedUp => format!(
                "stopped after {} steps with calls left to make, which were not made; `--max-steps` allows more, {goes_on}",
                report.steps
            ),
            Ending::CutShort(reason) => {
                let reason = toolcrib::model::text::shorten(reason, 60);
                format!("the model stopped before its end: {reason}; `--max-tokens` may allow more")
            }
            Ending::Cancelled => format!("cancelled; {goes_on}"),
        };
        let bold = self.output.bold("note:");
        self.output.say(&format!("{bold} {words}"));
    }
}

fn word(ending: &Ending) -> &'static str {
    match ending {
        Ending::Done => "done",
        Ending::StepsUsedUp => "steps-used-up",
        Ending::CutShort(_) => "cut-short",
        Ending::Cancelled => "cancelled",
    }
}

fn exit_code(report: &TurnReport) -> ExitCode {
    ExitCode::from(match report.ending {
        Ending::Done => 0,
        Ending::StepsUsedUp | Ending::CutShort(_) => 1,
        Ending::Cancelled => ErrorCode::Cancelled.exit_code(),
    })
}

/// The prompt that the command has, if it is not a terminal's turn.
fn first_prompt(args: &ChatArgs, global: &Global) -> Result<Option<String>, CliError> {
    if let Some(prompt) = &args.prompt
        && prompt != "-"
    {
        return match prompt.trim().is_empty() {
            true => Err(CliError::usage("the prompt is empty")),
            false => Ok(Some(prompt.clone())),
        };
    }
    if std::io::stdin().is_terminal() {
        if global.no_input {
            let problem = "no one was asked for a prompt, because `--no-input` is set; give one as an argument";
            return Err(CliError::usage(problem));
        }
        if global.json {
            let problem = "with `--json` the prompt is an argument, or comes by a pipe";
            return Err(CliError::usage(problem));
        }
        return Ok(None);
    }
    let mut prompt = String::new();
    let stdin = std::io::stdin().lock();
    stdin
        .take(MAX_PROMPT + 1)
        .read_to_string(&mut prompt)
        .map_err(|error| CliError::usage(format!("cannot read the prompt from stdin: {error}")))?;
    if prompt.len() as u64 > MAX_PROMPT {
        return Err(CliError::usage("the prompt is longer than 16 MB"));
    }
    match prompt.trim().is_empty() {
        true => Err(CliError::usage(
            "there is no prompt: give one as an argument, or by a pipe",
        )),
        false => Ok(Some(prompt)),
    }
}

/// Asks the person for the next prompt; nothing at the end, or when asked to stop.
async fn ask_for_prompt() -> Option<String> {
    let mut stops = Stops::listen();
    let typed = tokio::task::spawn_blocking(|| {
        let mut stderr = std::io::stderr();
        let _ = stderr.write_all(b"> ");
        let _ = stderr.flush();
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        read.is_ok_and(|bytes| bytes > 0).then_some(line)
    });
    tokio::select! {
        typed = typed => typed.ok().flatten(),
        stop = stops.next() => {
            if stop == Stop::Interrupt {
                let _ = std::io::stderr().write_all(b"\n");
            }
            None
        }
    }
}

fn endpoint(
    args: &ChatArgs,
    earlier: Option<&Turns>,
    crib: &Crib,
    output: &Output,
) -> Result<Endpoint, CliError> {
    let given: Option<ReplyFormat> = args.provider.as_deref().and_then(|word| word.parse().ok());
    // A conversation that goes on stays where it was.
    let settings = match earlier {
        Some(_) => ChatSettings::default(),
        None => crib.config().chat(),
    };
    let format = given.or(settings.provider);
    // The settings belong to the provider that is set.
    let settings = match settings.provider == format {
        true => settings,
        false => ChatSettings::default(),
    };
    let format = match (format, earlier) {
        (Some(format), Some(earlier)) if format != earlier.format => {
            return Err(CliError::usage(format!(
                "the transcript is a conversation with `{}`, whose messages `{format}` does not take",
                earlier.format
            )));
        }
        (Some(format), _) => format,
        (None, Some(earlier)) => earlier.format,
        (None, None) => {
            return Err(CliError::usage(
                "no provider is named",
            ).with_hint(
                "name one with --provider, or once for all: `toolcrib config set chat.provider anthropic`",
            ));
        }
    };
    let model = args.model.clone();
    let model = model.or_else(|| earlier.map(|earlier| earlier.model.clone()));
    let Some(model) = model.or(settings.model) else {
        return Err(CliError::usage("no model: which one?").with_hint(
            "name one with --model, or once for all: `toolcrib config set chat.model NAME`",
        ));
    };
    // Only what is typed is a permission: a transcript may be anybody's.
    let base = args.base_url.as_deref().or(settings.base_url.as_deref());
    if let (None, Some(before)) = (
        base,
        earlier.and_then(|earlier| earlier.base_url.as_deref()),
    ) && before != Endpoint::default_url(format)
        && before.trim_end_matches('/') != Endpoint::default_url(format)
    {
        return Err(CliError::usage(format!(
            "the conversation was with a model at `{}`; name it by `--base-url` to go on there",
            toolcrib::model::text::visible(before)
        ))
        .with_hint(
            "a transcript may come from anyone: only a URL that you type is permission to connect",
        ));
    }
    let made = |key| {
        let model = model.clone();
        Endpoint::new(format, base, model, key).map_err(|error| CliError::usage(error.to_string()))
    };
    let unlocked = made(None)?;
    let key_at = args.key.as_deref().or(settings.key.as_deref());
    match key(key_at, format, &unlocked, crib, output)? {
        Some(key) => {
            // Nothing that a tool, the model or the server repeats of it is shown or written.
            crib.secrets().always_mask(&key);
            made(Some(key))
        }
        None => Ok(unlocked),
    }
}

fn key(
    word: Option<&str>,
    format: ReplyFormat,
    endpoint: &Endpoint,
    crib: &Crib,
    output: &Output,
) -> Result<Option<Secret>, CliError> {
    let variable = |name: &str| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        value.map(|value| Secret::new(value.trim()))
    };
    let Some(word) = word else {
        let Some(name) = Endpoint::key_variable(format) else {
            return Ok(None);
        };
        let key = variable(name);
        // It is the provider's: no one else gets it unasked.
        if key.is_some() && !endpoint.is_providers_own() {
            output.say(&output.dim(&format!(
                "`{name}` is not sent to {}, which is not the provider's own; `--key env:{name}` sends it",
                endpoint.target()
            )));
            return Ok(None);
        }
        if key.is_none() && endpoint.is_providers_own() {
            let error = CliError::usage(format!("no key: the variable `{name}` is not set"));
            let host = endpoint.target().entry();
            return Err(error.with_hint(format!(
                "set it; or keep the key with `toolcrib secret set {name} --host {host}` and pass `--key secret:{name}`"
            )));
        }
        return Ok(key);
    };
    if let Some(name) = word.strip_prefix("env:") {
        return match variable(name) {
            Some(key) => Ok(Some(key)),
            None => Err(CliError::usage(format!("the variable `{name}` is not set"))),
        };
    }
    let Some(name) = word.strip_prefix("secret:") else {
        // Not repeated: it may be the key itself.
        let problem = "`--key` names where the key is: `secret:NAME` or `env:VARIABLE`";
        return Err(CliError::usage(problem)
            .with_hint("keep the key with `toolcrib secret set NAME`; on a command line everybody on this machine can read it"));
    };
    let name = SecretName::parse(name).map_err(CliError::usage)?;
    let chat = Slug::parse("chat").map_err(|error| CliError::usage(error.to_string()))?;
    let revealed = crib.secrets().reveal(&name, &chat, endpoint.target());
    Ok(Some(revealed.map_err(ToolError::from)?))
}

/// The tools that are on offer: all, found rather than given where they are too many; or those that were named, whatever they cost.
fn offer(
    args: &ChatArgs,
    crib: &Crib,
    endpoint: &Endpoint,
    output: &Output,
) -> Result<Offer, CliError> {
    let settings = crib.config().mcp();
    let bounds = OfferBounds {
        tokens: settings.token_budget,
        tools: endpoint.most_tools(),
        pinned: &settings.pinned,
    };
    let Some(tools) = named(args, crib)? else {
        let offer = Offer::of(crib.registry(), &bounds);
        if let Some(all) = offer.to_be_found {
            let given = offer.tools.len();
            output.say(&output.dim(&format!(
                "{all} tools are more than the model is given at once (`mcp.tokenBudget`): it has {given}, with which it finds and calls \
                 the others; `mcp.pinned`, `--tools` or `--bundle` choose"
            )));
        }
        return Ok(offer);
    };
    let (count, specs) = (tools.len(), tools.iter().map(AsRef::as_ref));
    let is_too_many = bounds.tools.is_some_and(|most| count > most);
    if is_too_many || !bounds.are_enough_for(specs) {
        let why = match is_too_many {
            true => "more than the provider takes".to_owned(),
            false => format!(
                "more than {} tokens of every request",
                bounds.tokens.unwrap_or_default()
            ),
        };
        output.say(&output.dim(&format!("{count} tools are {why}; `--tools` offers fewer")));
    }
    Ok(Offer {
        tools: Offer::with_read_result(crib.registry(), tools),
        to_be_found: None,
        callable: Vec::new(),
    })
}

/// The tools that the command names, if it does.
fn named(args: &ChatArgs, crib: &Crib) -> Result<Option<Vec<Arc<ToolSpec>>>, CliError> {
    let registry = crib.registry();
    if args.no_tools {
        return Ok(Some(Vec::new()));
    }
    if let Some(bundle) = &args.bundle {
        let id = crib.bundle(bundle)?.bundle.bundle_id;
        let entries = registry.entries().into_iter();
        let ready = entries
            .filter(|entry| entry.bundle_id() == Some(id))
            .filter(|entry| entry.availability() == Availability::Ready);
        return Ok(Some(ready.map(|entry| Arc::clone(entry.spec())).collect()));
    }
    match args.tools.as_slice() {
        [] => Ok(None),
        tools => tools
            .iter()
            .map(|tool| Ok(Arc::clone(registry.find(tool)?.spec())))
            .collect::<Result<_, CliError>>()
            .map(Some),
    }
}

/// A new name in the home.
fn new_file(home: &Path) -> Result<PathBuf, CliError> {
    let directory = home.join("chats");
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .recursive(true)
        .create(&directory)
        .map_err(|error| {
            let message = format!("cannot make `{}`: {error}", directory.display());
            CliError::from(ToolError::new(ErrorCode::StorageError, message))
        })?;
    let time = Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
    let id = CallId::generate().to_string();
    let tail: String = id.chars().rev().take(6).collect();
    Ok(directory.join(format!("{time}-{tail}.jsonl")))
}

fn failed(error: toolcrib::chat::TranscriptError) -> CliError {
    use toolcrib::chat::TranscriptError;
    let code = match &error {
        TranscriptError::Exists(_) | TranscriptError::Strange { .. } => ErrorCode::Usage,
        TranscriptError::Io { cause, .. } if cause.kind() == std::io::ErrorKind::NotFound => {
            ErrorCode::Usage
        }
        TranscriptError::Io { .. } => ErrorCode::StorageError,
    };
    ToolError::new(code, error.to_string()).into()
}

/// A transcript to go on with cannot be read.
fn unread(error: toolcrib::chat::TranscriptError) -> CliError {
    failed(error).with_hint(
        "`--continue` takes the file that a chat names at its end; they are in `chats` in Toolcrib's home directory",
    )
}

/// Why the model did not answer. The message says what is wrong; the code's own advice is about other servers.
fn why(error: ChatError) -> CliError {
    let hint = match &error {
        ChatError::Refused {
            status: 401 | 403, ..
        } => Some("`toolcrib secret set NAME` keeps a key, `--key secret:NAME` sends it"),
        ChatError::Refused { status: 404, .. } => {
            Some("`--model` names the model, `--base-url` says where it is served")
        }
        ChatError::Refused { .. } | ChatError::Provider(_) | ChatError::Strange(_) => Some(
            "`--provider`, `--base-url`, `--model` and `--key` choose the provider, its address, the model and the key",
        ),
        ChatError::Network { .. } | ChatError::Cancelled => None,
    };
    let failed = CliError::from(ToolError::from(error));
    match hint {
        Some(hint) => failed.with_hint(hint),
        None => failed,
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
