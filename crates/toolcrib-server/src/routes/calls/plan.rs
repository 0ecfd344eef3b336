//! What a call would do, without doing it: `/api/plan`.

use futures_util::FutureExt as _;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use toolcrib::Verdict;

use super::body;
use crate::api::{Answer, Api, ApiRequest, Route, Who, json_response};
use crate::routes::{blocking, read_aside};

/// What a call would do.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Planned {
    /// The tool's name for models.
    tool: String,
    /// Which tool exactly: `bundle/slug@version`.
    reference: String,
    /// The arguments it would receive, with defaults and without secrets.
    parameters: Map<String, Value>,
    /// What it may do to the world.
    effects: Vec<String>,
    /// What it would do, in words.
    effect: String,
    /// Whether it would run at once, ask first, or be refused.
    verdict: Verdict,
    /// The grant that lets it run without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    grant: Option<String>,
    /// Why it would ask or be refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What would change in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// How long it may run, in milliseconds.
    timeout_ms: u64,
    /// How long each text of its output may be.
    max_output_bytes: u64,
}

/// The routes of this topic.
pub(super) fn routes() -> Vec<Route> {
    let plan = Route::new(Method::POST, "/api/plan", Who::Operator, |api, asked| {
        plan(api, asked).boxed()
    });
    vec![
        plan.named(
            "planCall",
            "calls",
            "Says what a call would do, and does nothing.",
        )
        .about("As `toolcrib run --dry-run` says it: no one is asked, and nothing is recorded.")
        .takes::<body::CallBody>(
            "The call.",
            || json!({"tool": "write_file", "args": {"path": "a.txt", "content": "a"}}),
        )
        .answers::<Planned>(200, "What it would do.")
        .refuses(404, "There is no such tool.")
        .refuses(409, "The tool is off or cannot run.")
        .refuses(429, "Too many long requests are read at once."),
    ]
}

async fn plan(api: Api, asked: ApiRequest) -> Answer {
    let (_, wanted) = read_aside(asked, |asked| body::read(asked, None)).await?;
    let plan = blocking(move || api.crib().registry().plan(wanted.request)).await?;
    let planned = Planned {
        tool: plan.tool,
        reference: plan.reference,
        parameters: plan.parameters,
        effects: plan.effects.tags().into_iter().map(str::to_owned).collect(),
        effect: plan.effect,
        verdict: plan.verdict,
        grant: plan.grant,
        reason: plan.reason,
        diff: plan.diff,
        timeout_ms: plan.timeout_ms,
        max_output_bytes: plan.max_output_bytes,
    };
    Ok(json_response(StatusCode::OK, &planned))
}
