//! What holds the programs of a tool back: `/api/sandbox-plan`, the plan of `toolcrib explain`.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::Crib;
use toolcrib::model::JsonObject;
use toolcrib::registry::Availability;

use super::work::{blocking, shown};
use crate::api::{Answer, ApiRequest, Route, Who, param};

/// The wall around a tool's programs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Wall {
    /// The tool as `bundle/slug@version`.
    reference: String,
    /// Why it cannot be called now; each obstacle once.
    reasons: Vec<String>,
    /// Line by line what holds its programs back; empty for a tool that starts none.
    lines: Vec<WallLine>,
    /// Why calls are refused on this machine, if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// How long a call may take, in milliseconds.
    timeout_ms: u64,
    /// How large a text of its result may be.
    max_output_bytes: u64,
    /// How many calls of it may run at once.
    max_concurrent: u32,
}

/// One line of the wall.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WallLine {
    /// What it is about: `isolation`, `network`, `memory` …
    about: String,
    /// The promise.
    promise: String,
    /// What keeps the promise on this machine, or what is missing.
    backed_by: String,
    /// Whether the promise is kept in full.
    kept: bool,
}

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/api/sandbox-plan", Who::Operator, |api, asked| {
            blocking(api, asked, plan)
        })
        .named("sandboxPlan", "tools", "Says what holds the programs of a tool back, and what keeps each promise on this machine.")
        .about("The plan of a call with no arguments, as `toolcrib explain` prints it.")
        .param(param::query_text("tool", "Its name or any other reference."))
        .answers::<Wall>(200, "The plan.")
        .refuses(404, "There is no such tool."),
    ]
}

fn plan(crib: &Crib, asked: &ApiRequest) -> Answer {
    let entry = crib
        .registry()
        .find(asked.query.text("tool").unwrap_or_default())?;
    let workspace = crib.registry().workspace().map(AsRef::as_ref);
    let plan = entry.tool().sandbox_plan(&JsonObject::new(), workspace);
    let (lines, refused) = plan.map_or((Vec::new(), None), |plan| (plan.lines, plan.refused));
    let reason = |obstacle: &Availability| match obstacle {
        Availability::Ready => None,
        Availability::Disabled { reason, .. } | Availability::Unavailable { reason } => {
            Some(reason.clone())
        }
    };
    let limits = entry.limits();
    let wall = Wall {
        reference: entry.spec().reference(),
        reasons: entry.obstacles().iter().filter_map(reason).collect(),
        lines: lines
            .into_iter()
            .map(|line| WallLine {
                about: line.about,
                promise: line.promise,
                backed_by: line.backed_by,
                kept: line.kept,
            })
            .collect(),
        refused,
        timeout_ms: u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX),
        max_output_bytes: limits.max_output_bytes,
        max_concurrent: limits.max_concurrent,
    };
    Ok(shown(crib, StatusCode::OK, &wall))
}
