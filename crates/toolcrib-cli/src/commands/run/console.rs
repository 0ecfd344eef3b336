//! What a tool wants on the terminal while it runs (S0: `stream-callback: console`).
//!
//! Where stdout is a terminal, each stream goes where the program meant it to go, and what has been shown is not shown again as the
//! result. Elsewhere (`run TOOL | …`, `--json`) stdout has the result and nothing else, so that all of it goes to stderr.

use std::collections::HashSet;

use serde_json::Value;
use toolcrib::model::JsonObject;
use toolcrib::{EventKind, Outcome, OutputStream};
use toolcrib_server::client::ClientError;

use super::call::Call;
use super::print::Shown;
use crate::output::Output;
use crate::prompt::Screen;

/// Shows what is meant for the terminal until the call is over.
pub(super) async fn watch(
    mut call: Call,
    screen: &Screen,
    output: &Output,
) -> Result<(Outcome, Shown), ClientError> {
    let mut events = call.events();
    let mut steps = HashSet::new();
    let mut is_mid_line = false;
    while let Some(event) = events.next().await {
        let EventKind::Output {
            stream,
            chunk,
            step,
            console: true,
        } = &event.kind
        else {
            continue;
        };
        if output.quiet() {
            continue;
        }
        // What others write while a question is on the screen waits until it is answered.
        screen.free().await;
        screen.clear();
        match stream {
            OutputStream::Stdout if output.shows_results_live() => output.chunk(chunk),
            OutputStream::Stdout | OutputStream::Stderr => output.error_chunk(chunk),
        }
        is_mid_line = !chunk.ends_with('\n');
        steps.extend(step.clone());
    }
    if is_mid_line {
        output.error_chunk("\n");
    }
    let outcome = call.outcome().await?;
    let fields = match &outcome.result {
        Ok(result) => result.value.as_object(),
        Err(error) => error.details(),
    };
    let shown = match fields.is_some_and(|fields| is_of_one(fields, &steps)) {
        false => Shown::Nothing,
        true if output.shows_results_live() => Shown::Everything,
        true => Shown::Stderr,
    };
    Ok((outcome, shown))
}

/// Whether a result is what one of these steps printed.
fn is_of_one(fields: &JsonObject, steps: &HashSet<String>) -> bool {
    let Some(all) = fields.get("steps").and_then(Value::as_object) else {
        return false;
    };
    all.iter().any(|(name, step)| {
        let same = |key: &str| step.get(key).is_some() && step.get(key) == fields.get(key);
        steps.contains(name) && same("stdout") && same("stderr")
    })
}
