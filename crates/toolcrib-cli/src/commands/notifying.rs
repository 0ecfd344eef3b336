//! Messages about questions that wait (`[notify.NAME]`): begun by the commands that live long enough, and tried by `approvals notify`.

use std::io::Write as _;
use std::process::ExitCode;

use toolcrib::approval::Queued;
use toolcrib::config::ConfigError;
use toolcrib::crib::OpenError;
use toolcrib::model::text;
use toolcrib::notify::{Notifier, NotifierOptions};
use toolcrib::{Crib, ErrorCode, ToolError};

use super::Done;
use crate::failure::CliError;
use crate::local_time;
use crate::output::Output;
use crate::remote::Backend;

/// Takes each question that is seen.
pub(super) type Seen = Box<dyn FnMut(&Queued) + Send>;

/// Begins to look at the queue, if there is a channel or a person who watches it.
pub(super) fn start(crib: &Crib, seen: Option<Seen>) -> Result<Option<Notifier>, CliError> {
    let options = options(crib)?;
    if options.channels.is_empty() && seen.is_none() {
        return Ok(None);
    }
    let seen = seen.unwrap_or_else(|| Box::new(|_| ()));
    let report = |problem: String| {
        let _ = writeln!(
            std::io::stderr().lock(),
            "toolcrib: {}",
            text::visible_line(&problem)
        );
    };
    let started = Notifier::start(options, seen, report);
    let started = started.map_err(|error| {
        ToolError::new(
            ErrorCode::Internal,
            format!("cannot start the notifier: {error}"),
        )
    })?;
    Ok(Some(started))
}

fn options(crib: &Crib) -> Result<NotifierOptions, CliError> {
    let options = crib.notifier(local_time::zone().clone());
    options.map_err(|error: ConfigError| OpenError::Config(error).into())
}

/// `approvals notify`: sends a message that tries channels.
pub(super) fn try_channels(only: Option<&str>, backend: &Backend, output: &Output) -> Done {
    let Some(crib) = backend.crib() else {
        let problem = "`approvals notify` works with the channels of this machine's settings";
        return Err(CliError::usage(problem).with_hint("leave --server out"));
    };
    let options = options(crib)?;
    let tried = backend.runtime.block_on(options.try_channels(only))?;
    if tried.is_empty() && !output.json() {
        output.say(
            "there are no channels; `[notify.NAME]` in config.toml makes one (docs/approvals.md)",
        );
    }
    if output.json() {
        let rows: Vec<serde_json::Value> = tried
            .iter()
            .map(|(name, sent)| match sent {
                Ok(()) => serde_json::json!({"channel": name, "sent": true}),
                Err(error) => serde_json::json!({"channel": name, "sent": false, "error": error}),
            })
            .collect();
        output.document(&rows);
    }
    let mut code = ExitCode::SUCCESS;
    for (name, sent) in &tried {
        match sent {
            Ok(()) if !output.json() => output.line(&format!("`{name}`: sent")),
            Ok(()) => {}
            Err(error) => {
                code = ExitCode::from(error.code().exit_code());
                if !output.json() {
                    output.line(&format!(
                        "`{name}`: {}",
                        text::visible_line(error.message())
                    ));
                }
            }
        }
    }
    Ok(code)
}
