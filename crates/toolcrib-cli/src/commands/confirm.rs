//! A question that is answered with yes or no.

use toolcrib::{ErrorCode, ToolError};

use crate::args::Global;
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::{Line, Terminal, Wake};

/// What a "no" comes to. A user who set it needs no advice about it.
pub(super) fn declined(message: &str) -> CliError {
    CliError::from(ToolError::new(ErrorCode::ApprovalDenied, message)).with_hint("you said no")
}

/// Whether someone can be asked on a terminal.
pub(super) fn can_ask(global: &Global, output: &Output) -> bool {
    !global.no_input && Terminal::find(output.colours_terminal()).is_some()
}

/// Asks on the terminal; without one it is refused (exit 6), naming `--yes`.
pub(super) fn confirmed(
    question: &str,
    global: &Global,
    output: &Output,
) -> Result<bool, CliError> {
    let terminal = (!global.no_input)
        .then(|| Terminal::find(output.colours_terminal()))
        .flatten();
    let Some(terminal) = terminal else {
        let message = "no one can be asked to confirm it";
        return Err(
            CliError::from(ToolError::new(ErrorCode::ApprovalUnavailable, message))
                .with_hint("pass `--yes` to do it without asking"),
        );
    };
    let wake = Wake::new()
        .map_err(|error| ToolError::new(ErrorCode::Internal, format!("cannot ask: {error}")))?;
    let _attention = terminal.attend();
    loop {
        match terminal.ask(question, &wake) {
            Line::Text(word) => match word.trim().to_lowercase().as_str() {
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => terminal.say("type y or n"),
            },
            Line::End | Line::Woken => return Ok(false),
        }
    }
}
