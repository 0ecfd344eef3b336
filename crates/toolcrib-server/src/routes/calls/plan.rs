//! What a call would do, without doing it: `/api/plan`.

use futures_util::FutureExt as _;
use http::{Method, StatusCode};
use serde_json::json;
use toolcrib::crib::Planned;

use super::body;
use crate::api::{Answer, Api, ApiRequest, Route, Who, json_response};
use crate::routes::{blocking, read_aside};

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
    let planned = blocking(move || api.crib().planned(wanted.request)).await?;
    Ok(json_response(StatusCode::OK, &planned))
}
