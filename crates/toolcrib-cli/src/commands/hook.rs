//! `toolcrib hook`: judges a call that another program is about to make with its own tool, and notes how it ended.
//!
//! Whatever goes wrong here exits with 2, which programs take for *no*: a call that was not judged is not made. Only what comes after a
//! call fails without harm. The process ends without tidying up, since a program waits for it.

use std::io::{Read as _, Write as _};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value;
use toolcrib::config::Surroundings;
use toolcrib::crib::Approvals;
use toolcrib::model::digest::Digester;
use toolcrib::model::text::visible;
use toolcrib::pipeline::{ElsewhereCall, ElsewhereEnd, Ruling};
use toolcrib::record::HookAnswer;
use toolcrib::record::call_log::CallLogReader;
use toolcrib::{CallId, Caller, Crib, CribOptions};
use toolcrib_server::auth::Clients;

use super::mcp;
use crate::args::{Global, HookArgs};
use crate::failure::CliError;
use crate::hooks::{Answer, Event, HookClient, Phase, Place, Use, answer, uses, wrapped};
use crate::output::Output;
use crate::remote;

/// The exit code that programs take for *no*.
const BLOCK: u8 = 2;
/// How much of the record is searched for the beginning of a call that ended.
const LOOK_BACK: usize = 8 * 1024 * 1024;
/// The session of `toolcrib doctor`, which has everything opened that a call needs, and judges nothing.
pub(super) const DOCTOR: &str = "toolcrib-doctor";

/// Why there is no answer, or why nothing was noted.
struct Problem {
    why: String,
    code: u8,
}

impl Problem {
    fn block(why: impl ToString) -> Self {
        Problem {
            why: why.to_string(),
            code: BLOCK,
        }
    }
}

impl From<CliError> for Problem {
    fn from(error: CliError) -> Self {
        Problem::block(error.message())
    }
}

pub(super) fn hook(args: &HookArgs, global: &Global, output: &Output) -> ExitCode {
    let hooked = std::panic::catch_unwind(AssertUnwindSafe(|| answered(args, global, output)));
    let done = hooked.unwrap_or_else(|panic| {
        let why = CliError::bug(&*panic);
        Err(Problem::from(why))
    });
    let problem = match done.and_then(|answer| print(&answer)) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(problem) => problem,
    };
    let why = visible(&problem.why).into_owned();
    output.error_line(&format!("toolcrib: {why}"));
    if problem.code == BLOCK && args.target == HookClient::Copilot {
        // It reads the answer rather than the exit code in some versions.
        let refusal = serde_json::json!({
            "permissionDecision": "deny", "permissionDecisionReason": format!("toolcrib: {why}"),
        });
        let _ = print(&refusal);
    }
    ExitCode::from(problem.code)
}

/// An answer that does not reach the program is none.
fn print(answer: &Value) -> Result<(), Problem> {
    let mut stdout = std::io::stdout().lock();
    let written = writeln!(stdout, "{answer}").and_then(|()| stdout.flush());
    written.map_err(|error| Problem::block(format!("cannot write the answer: {error}")))
}

fn answered(args: &HookArgs, global: &Global, output: &Output) -> Result<Value, Problem> {
    let client = args.target;
    remote::refuse(global, "`toolcrib hook`")?;
    let event = Event::read(client, &input()?).map_err(Problem::block)?;
    let nothing = || answer(client, &event, &Answer::nothing());
    match &event.phase {
        Phase::Other if event.session == DOCTOR => {
            opened(args, global, &event, output)?;
            Ok(nothing())
        }
        Phase::Other => Ok(nothing()),
        Phase::After { error, took } => {
            let end = ElsewhereEnd {
                error: error.clone(),
                took: *took,
            };
            // The call was made: no answer takes it back.
            note_end(args, global, &event, end, output)
                .map_err(|problem| Problem { code: 1, ..problem })?;
            Ok(nothing())
        }
        Phase::Before => {
            // What means nothing here needs no home.
            if uses(client, &event, &Place::default()).is_ok_and(|uses| uses.is_empty()) {
                return Ok(nothing());
            }
            let (crib, caller) = opened(args, global, &event, output)?;
            let judged = judge(args, &crib, &caller, &event)?;
            super::writes::stamp(crib.home());
            // Everything that has to be on the disk is.
            std::mem::forget(crib);
            Ok(answer(client, &event, &judged))
        }
    }
}

fn input() -> Result<Vec<u8>, Problem> {
    let mut text = Vec::new();
    let most = crate::hooks::MAX_BYTES + 1;
    let read = std::io::stdin().lock().take(most).read_to_end(&mut text);
    read.map_err(|error| Problem::block(format!("cannot read the event: {error}")))?;
    Ok(text)
}

/// The crib of the place where the program works.
fn opened(
    args: &HookArgs,
    global: &Global,
    event: &Event,
    output: &Output,
) -> Result<(Crib, Caller), Problem> {
    let process = Surroundings::of_process();
    let home = match &global.home {
        Some(home) => process.resolve(home),
        None => process.home().map_err(Problem::block)?,
    };
    let wait = {
        // The project may not set it, so the home's settings are enough.
        let config = toolcrib::config::Config::load(&home, &process);
        config.map_err(Problem::block)?.hooks().wait
    };
    let mut options = CribOptions::default()
        .home(&home)
        .surroundings(process.starting_in(directory(args.target, event)))
        .approvals(Approvals::Queue { wait: Some(wait) });
    if !event.session.is_empty() {
        options = options.session(&event.session);
    }
    if let Some(workspace) = &global.workspace {
        options = options.workspace(workspace);
    }
    let crib = options.open().map_err(CliError::from)?;
    output.keep_out(crib.secrets());
    let caller = mcp::caller(args.client.as_deref(), &Clients::of_home(crib.home()))?;
    Ok((crib, caller))
}

/// Where the program works: the project it has open, or else where the call is made.
fn directory(client: HookClient, event: &Event) -> Option<PathBuf> {
    let variable = client.project_variable();
    let project = variable
        .and_then(std::env::var_os)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute() && path.is_dir());
    let named = |path: &Option<PathBuf>| path.clone().filter(|path| path.is_absolute());
    project
        .or_else(|| named(&event.root))
        .or_else(|| named(&event.cwd))
        .map(|path| path.canonicalize().unwrap_or(path))
}

/// The calls of ours that an event is about, each with its id.
fn calls(client: HookClient, event: &Event, crib: &Crib) -> Result<Vec<(CallId, Use)>, Problem> {
    let place = Place {
        root: crib.workspace_path().map(Path::to_owned),
        cwd: event.cwd.clone().or_else(|| event.root.clone()),
    };
    let uses = uses(client, event, &place)
        .map_err(|why| Problem::block(format!("the call cannot be judged: {why}")))?;
    let calls = uses.into_iter().enumerate().map(|(number, one)| {
        let digest = Digester::default()
            .text(client.word())
            .text(&event.session)
            .text(event.id.as_deref().unwrap_or_default());
        let digest = match event.id {
            Some(_) => digest.text(&number.to_string()),
            // The program has no ids: what is called is all that is the same before and after.
            None => digest.text(&one.tool).object(&one.args),
        };
        let digest = digest.finish();
        let id = format!("hook-{}", &digest[..24]);
        let id = CallId::parse(&id).map_err(Problem::block)?;
        Ok((id, one))
    });
    calls.collect()
}

/// Judges every part of a call; the severest answer is the answer.
fn judge(args: &HookArgs, crib: &Crib, caller: &Caller, event: &Event) -> Result<Answer, Problem> {
    let client = args.target;
    let settings = crib.config().hooks();
    let asks_itself = client.asks(event) && !args.queue;
    let calls = calls(client, event, crib)?;
    let runtime = remote::runtime().map_err(Problem::from)?;
    let registry = crib.registry();
    let mut judged = Vec::new();
    let mut edited = None;
    for (id, one) in calls {
        let call = ElsewhereCall {
            tool: one.tool.clone(),
            args: one.args.clone(),
            caller: caller.clone(),
            grants_of: (*caller == Caller::Mcp).then_some(Caller::Cli),
            call_id: id.clone(),
            client: client.word().to_owned(),
            client_tool: toolcrib::model::text::shorten(&event.tool, 100),
            effect: one.effect,
            ask_here: (!asks_itself).then_some(settings.wait),
        };
        let ruling = runtime.block_on(registry.judge_elsewhere(call));
        let answer = match ruling {
            Ruling::Allow { by, edited: None } => Answer {
                decision: HookAnswer::Allow,
                reason: format!("toolcrib: allowed by {by}"),
                ..Answer::nothing()
            },
            Ruling::Allow {
                by,
                edited: Some(args),
            } => match changed(client, event, &one.args, &args) {
                Some(input) => {
                    edited = Some(input);
                    Answer {
                        decision: HookAnswer::Allow,
                        reason: format!("toolcrib: {by} approved it with another command"),
                        ..Answer::nothing()
                    }
                }
                None => Answer::deny(format!(
                    "toolcrib: {by} approved it with other arguments; call it with {}",
                    Value::Object(args)
                )),
            },
            Ruling::Ask { reason } => Answer {
                decision: HookAnswer::Ask,
                reason: format!("toolcrib: {reason}"),
                ..Answer::nothing()
            },
            Ruling::Deny(error) => {
                Answer::deny(format!("toolcrib: {} ({})", error.message(), error.code()))
            }
            Ruling::Nothing => Answer::nothing(),
        };
        let is_over = answer.decision == HookAnswer::Deny;
        judged.push(Answer {
            call: Some(id.to_string()),
            ..answer
        });
        // Nothing that comes after it makes it good.
        if is_over {
            break;
        }
    }
    runtime.block_on(registry.recorded());
    runtime.shutdown_background();
    let severity = |answer: &Answer| match answer.decision {
        HookAnswer::Deny => 3,
        HookAnswer::Ask => 2,
        HookAnswer::None => 1,
        HookAnswer::Allow => 0,
    };
    let worst = judged.into_iter().max_by_key(severity);
    let mut answer = worst.unwrap_or_else(Answer::nothing);
    if answer.decision != HookAnswer::Deny {
        let input = edited.unwrap_or_else(|| event.input.clone());
        let is_edited = input != event.input;
        answer.input = match settings.sandbox {
            true => behind_the_wall(client, event, &input, crib).or(is_edited.then_some(input)),
            false => is_edited.then_some(input),
        };
    }
    Ok(answer)
}

/// What the program's tool is to be given where a person has changed the command; `None` where it cannot be given that.
fn changed(
    client: HookClient,
    event: &Event,
    given: &toolcrib::model::JsonObject,
    edited: &toolcrib::model::JsonObject,
) -> Option<serde_json::Map<String, Value>> {
    let command = edited.get("command")?.as_str()?;
    let others = |args: &toolcrib::model::JsonObject| {
        let mut args = args.clone();
        args.remove("command");
        args
    };
    let is_possible = takes_input(client, event) && others(given) == others(edited);
    is_possible.then(|| with_command(event, &event.input, command))
}

/// Whether a program takes another input for its tool from the answer to this event.
fn takes_input(client: HookClient, event: &Event) -> bool {
    client != HookClient::Cursor || event.name == "preToolUse"
}

fn with_command(
    event: &Event,
    input: &serde_json::Map<String, Value>,
    command: &str,
) -> serde_json::Map<String, Value> {
    debug_assert_eq!(event.phase, Phase::Before, "only then is there an answer");
    let mut input = input.clone();
    input.insert("command".to_owned(), command.into());
    input
}

/// The input with the command behind the sandbox, if there is a command and the program takes another one.
fn behind_the_wall(
    client: HookClient,
    event: &Event,
    input: &serde_json::Map<String, Value>,
    crib: &Crib,
) -> Option<serde_json::Map<String, Value>> {
    let place = Place {
        root: crib.workspace_path().map(Path::to_owned),
        cwd: None,
    };
    let with_input = Event {
        input: input.clone(),
        ..event.clone()
    };
    let found = uses(client, &with_input, &place).ok()?;
    let [one] = found.as_slice() else {
        return None;
    };
    if one.tool != "shell" || !takes_input(client, event) {
        return None;
    }
    let program = std::env::current_exe().ok()?;
    let mut words = vec![program.to_str()?.to_owned()];
    words.extend(["--home".to_owned(), crib.home().to_str()?.to_owned()]);
    let workspace = crib.workspace_path()?.to_str()?;
    words.extend(["--workspace".to_owned(), workspace.to_owned()]);
    let command = wrapped(&words, one.args.get("command")?.as_str()?);
    Some(with_command(event, input, &command))
}

/// Completes the records of a call that has ended.
fn note_end(
    args: &HookArgs,
    global: &Global,
    event: &Event,
    end: ElsewhereEnd,
    output: &Output,
) -> Result<(), Problem> {
    let is_judged = uses(args.target, event, &Place::default());
    if is_judged.is_ok_and(|uses| uses.is_empty()) {
        return Ok(());
    }
    let (crib, _) = opened(args, global, event, output)?;
    let log = CallLogReader::new(crib.call_log_path());
    for (id, _) in calls(args.target, event, &crib)? {
        let found = log.find_lately(id.as_str(), LOOK_BACK);
        let record = found.map_err(Problem::block)?;
        let is_open = |note: &toolcrib::record::HookNote| !note.over;
        if let Some(record) = record.filter(|record| record.hook.as_ref().is_some_and(is_open)) {
            crib.registry().over_elsewhere(record, end.clone());
        }
    }
    let runtime = remote::runtime().map_err(Problem::from)?;
    runtime.block_on(crib.registry().recorded());
    std::mem::forget(crib);
    Ok(())
}
