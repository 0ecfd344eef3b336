//! Whether the server is there and ready: `/api/health`, `/api/ready`.

use futures_util::FutureExt as _;
use http::{Method, StatusCode};
use serde_json::json;

use crate::api::{AnswerDoc, Doc, Payload, Route, Who, json_response};

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    vec![Route {
        method: Method::GET,
        path: "/api/health",
        who: Who::Anybody,
        payload: Payload::None,
        doc: Doc {
            id: "health",
            topic: "server",
            summary: "Says that the server is there.",
            description: "",
            params: Vec::new(),
            body: None,
            answers: vec![AnswerDoc {
                status: 200,
                about: "It is.",
                content: "application/json",
                schema: None,
            }],
        },
        handler: |_api, _asked| {
            async { Ok(json_response(StatusCode::OK, &json!({"status": "ok"}))) }.boxed()
        },
    }]
}
