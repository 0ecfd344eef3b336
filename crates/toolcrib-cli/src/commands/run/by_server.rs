//! Calls through a server: one that was named, or one that serves this home.

use std::sync::Arc;

use serde_json::json;
use toolcrib::crib::Planned;
use toolcrib::{CallId, CallRequest, Crib, ErrorCode, Outcome, ToolError};
use toolcrib_server::client::{Ask, CallBody, Client, ClientError};

use super::print::{CallSetting, dry_run, print_outcome};
use super::{Asking, How, Job, execute, exit_code, request};
use crate::args::{Global, RunArgs};
use crate::commands::{Answerer, Done, answerer, nobody_to_ask};
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::{self, Questions, Terminal};
use crate::remote::Backend;
use crate::remote::{self, ServersQuestions};

/// A server, and what is asked of it.
pub(super) struct Through {
    pub(super) client: Client,
    pub(super) body: CallBody,
}

/// The server of this home, where a call in it is the call that would be made here.
pub(super) fn server_for(
    args: &RunArgs,
    crib: &Crib,
    global: &Global,
    output: &Output,
) -> Option<Client> {
    // The server waits for people as long as its settings say, and no longer.
    let expires = crib.config().approvals().expires;
    if args.wait_approval.is_some_and(|wait| wait > expires) {
        return None;
    }
    remote::of_home(crib, global, output)
}

/// The call as a server is asked for it. It ends with this process, as a local call would.
pub(super) fn through(
    client: Client,
    request: &CallRequest,
    args: &RunArgs,
    answerer: &Answerer,
) -> Through {
    let approvals = match answerer {
        Answerer::Person(_) | Answerer::Queue => "wait",
        Answerer::Settled if args.yes => "yes",
        Answerer::Settled => "given",
    };
    let wait = args
        .wait_approval
        .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1));
    Through {
        client,
        body: CallBody {
            tool: request.tool.clone(),
            args: request.args.clone(),
            call_id: request.call_id.clone(),
            timeout_ms: request.limits.timeout_ms,
            approval_wait_ms: wait,
            approvals: Some(approvals),
            cancel_on_disconnect: true,
            session: prompt::session(),
        },
    }
}

/// The call was cancelled before it was one.
pub(super) fn cancelled() -> ClientError {
    ClientError::Refused {
        status: 200,
        error: Box::new(ToolError::new(
            ErrorCode::Cancelled,
            "the call was cancelled",
        )),
    }
}

/// What a server that was found leaves to say.
pub(super) fn failed(error: ClientError) -> CliError {
    let is_lost = matches!(error, ClientError::Lost { .. });
    let failed = CliError::from(ToolError::from(error));
    match is_lost {
        true => failed.with_hint("`toolcrib calls list` shows whether it ran"),
        false => failed,
    }
}

/// Where a call was made: it decides what to suggest when no one could be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// In this process, or in a server that was named.
    AsTold,
    /// In the server of this home, although this process could have made it.
    ServerOfHome,
}

/// Says why no one could be asked in the words of this command line: the server only knows that it was not to ask, or that no one was
/// there. It reads `details.reason` and `details.why`, which are for this purpose and are not shown.
pub(super) fn in_own_words(outcome: &mut Outcome, made: Where, global: &Global, output: &Output) {
    let Err(error) = &outcome.result else { return };
    let detail = |key: &str| error.details()?.get(key)?.as_str();
    let (Some(reason), Some(why)) = (detail("reason"), detail("why")) else {
        return;
    };
    let can_ask = || !global.no_input && Terminal::find(output.colours_terminal()).is_some();
    let own = match reason {
        "not-asked" => nobody_to_ask(global),
        "nobody-to-ask" if made == Where::ServerOfHome && can_ask() => {
            "the server that runs for this home cannot ask you: `toolcrib run --no-server …` does"
                .to_owned()
        }
        "nobody-to-ask" => why.to_owned(),
        _ => return,
    };
    let mut reworded = ToolError::new(error.code(), error.message().replacen(why, &own, 1));
    for (key, value) in error.details().into_iter().flatten() {
        if !["reason", "why"].contains(&key.as_str()) {
            reworded = reworded.with_detail(key.clone(), value.clone());
        }
    }
    outcome.result = Err(match error.tool() {
        Some(tool) => reworded.of_tool(tool),
        None => reworded,
    });
}

/// `run` through a server that was named.
pub(super) fn run(args: &RunArgs, server: &Backend, global: &Global, output: &Output) -> Done {
    let tool = match server.wait_raw(remote::look_up_at(&args.tool, &server.client)) {
        Ok(tool) => Some(tool),
        // There is none: the call itself will say so.
        Err(error) if matches!(error.status(), Some(400 | 404 | 409)) => None,
        Err(error) => return Err(server.failed(&error)),
    };
    let spec = tool.as_ref().map(|tool| &tool.spec);
    let request = request(args, global, spec, output)?;
    if args.dry_run {
        let body = CallBody {
            tool: request.tool,
            args: request.args,
            timeout_ms: request.limits.timeout_ms,
            session: prompt::session(),
            ..CallBody::default()
        };
        let plan: Planned = server.ask(Ask::post("/api/plan", &json!(body)))?;
        return dry_run(&plan, output);
    }
    let answerer = answerer(global, args.yes, args.wait_approval, output);
    let mut through = through(server.client.clone(), &request, args, &answerer);
    if !server.client.address().is_this_machine() {
        // A connection that is lost for a moment must not end the call, and its outcome has to be there afterwards.
        through.body.cancel_on_disconnect = false;
        through.body.call_id.get_or_insert_with(CallId::generate);
    }
    let questions = ServersQuestions::of(&server.client, server.runtime.handle());
    let job = Job {
        crib: None,
        questions: Arc::new(questions) as Arc<dyn Questions>,
        through: Some(through),
        request,
    };
    let how = How {
        stream: args.stream,
        person: None,
    };
    let asking = Asking::new(answerer, global);
    let ran = server.runtime.block_on(execute(job, how, asking, output));
    let (mut outcome, shown) = ran.map_err(|error| server.failed(&error))?;
    in_own_words(&mut outcome, Where::AsTold, global, output);
    let known = CallSetting {
        is_stored: tool.is_some_and(|tool| tool.is_stored),
        remember_denial: None,
    };
    print_outcome(args, &outcome, shown, &known, output);
    Ok(exit_code(args, &outcome))
}
