//! What is allowed without asking: `/api/grants`.
//!
//! The operator alone makes and takes back grants; they are bound to a tool, to patterns of its arguments and to whoever calls. What
//! takes something away, and what does not say what it does, is asked about every time: there is no grant for it.

use futures_util::FutureExt as _;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib::approval::grants::{Grant, GrantError, GrantRequest, Scope, Shape, Simulation, fit};
use toolcrib::approval::queue::Damaged;
use toolcrib::model::text;
use toolcrib::{Caller, ErrorCode, ToolError};

use super::approvals::{blocking, read, refused, who_answers};
use super::paging::{Cursor, page_params};
use crate::api::{
    Answer, AnswerDoc, Api, Asked, BodyDoc, Doc, ParamDoc, Payload, Place, Refusal, Route, Who,
    json_response,
};

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    vec![list_route(), make_route(), show_route(), revoke_route()]
}

/// A page of grants.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GrantPage {
    /// The grants, oldest first.
    grants: Vec<Grant>,
    /// Files that cannot be read; they allow nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Damaged>,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

/// A grant that somebody wants.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GrantBody {
    /// The tool, in any spelling.
    tool: String,
    /// Which arguments: a pattern for every parameter. What has a default and is not named may be that default alone.
    #[serde(default)]
    shape: Shape,
    /// How far: `session`, `project` or `user`. One for a single call is made along with the answer to its question.
    scope: Scope,
    /// How long, in milliseconds; as long as is usual for its scope when nobody says, a year at most.
    #[serde(default)]
    expires_in_ms: Option<u64>,
    /// How many calls; any number when nobody says.
    #[serde(default)]
    max_uses: Option<u64>,
    /// Why.
    #[serde(default)]
    reason: Option<String>,
    /// Who may call: `operator` (when nothing is said), `cli`, `library` or `client:NAME`.
    #[serde(default)]
    caller: Option<String>,
    /// The session, for the scope `session`: what calls give as theirs. The server's own when nothing is said.
    #[serde(default)]
    session: Option<String>,
    /// Who makes it, for the record; `operator` when nobody says.
    #[serde(default)]
    by: Option<String>,
}

/// What a grant would have allowed among the past calls of its tool.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Simulated {
    /// The tool: `bundle/slug@version`.
    tool: String,
    /// Which arguments, with the defaults.
    shape: Shape,
    /// The counts.
    #[serde(flatten)]
    simulation: Simulation,
    /// The same in words.
    words: String,
}

fn list_route() -> Route {
    let mut params = vec![ParamDoc {
        name: "all",
        place: Place::Query,
        required: false,
        about: "Also those that are over, as far as they are kept.",
        schema: |generator| generator.subschema_for::<bool>(),
    }];
    params.extend(page_params());
    Route {
        method: Method::GET,
        path: "/api/grants",
        who: Who::Operator,
        payload: Payload::None,
        doc: Doc {
            id: "listGrants",
            topic: "grants",
            summary: "Lists what is allowed without asking, oldest first.",
            description: "",
            params,
            body: None,
            answers: vec![AnswerDoc {
                status: 200,
                about: "A page of grants.",
                content: "application/json",
                schema: Some(|generator| generator.subschema_for::<GrantPage>()),
            }],
        },
        handler: |api, asked| list(api, asked).boxed(),
    }
}

async fn list(api: Api, asked: Asked) -> Answer {
    let all = asked.query.flag("all")?;
    let cursor = Cursor::of(&asked.query, "grants")?;
    let list = blocking(move || match all {
        true => api.crib().grants().list_all(),
        false => api.crib().grants().list(),
    });
    let mut list = list.await.map_err(ToolError::from)?;
    list.grants.sort_by(|one, other| one.id.cmp(&other.id));
    let (grants, next_page_token) = cursor.cut(list.grants, |grant| &grant.id);
    let page = GrantPage {
        grants,
        damaged: list.damaged,
        next_page_token,
    };
    Ok(json_response(StatusCode::OK, &page))
}

fn make_route() -> Route {
    Route {
        method: Method::POST,
        path: "/api/grants",
        who: Who::Operator,
        payload: Payload::Json,
        doc: Doc {
            id: "makeGrant",
            topic: "grants",
            summary: "Allows calls of a tool without asking, or says what that would have allowed.",
            description: "Patterns: `\"any\"`, `{\"exact\": VALUE}`, `{\"argv\": [\"git\", \"log\", \"**\"]}` for shell text, \
                `{\"path\": \"docs/**\"}` for paths, `{\"origin\": \"https://docs.rs\"}` for URLs. With `?simulate=true` nothing is made.",
            params: vec![ParamDoc {
                name: "simulate",
                place: Place::Query,
                required: false,
                about: "Makes nothing, and says which past calls the grant would have allowed.",
                schema: |generator| generator.subschema_for::<bool>(),
            }],
            body: Some(BodyDoc {
                about: "The grant.",
                schema: |generator| generator.subschema_for::<GrantBody>(),
                example: || {
                    json!({
                        "tool": "write_file",
                        "shape": {"path": {"path": "docs/*"}, "content": "any"},
                        "scope": "project",
                        "expiresInMs": 3_600_000,
                        "maxUses": 20,
                    })
                },
            }),
            answers: vec![
                AnswerDoc {
                    status: 201,
                    about: "The grant.",
                    content: "application/json",
                    schema: Some(|generator| generator.subschema_for::<Grant>()),
                },
                AnswerDoc {
                    status: 200,
                    about: "What it would have allowed, with `?simulate=true`.",
                    content: "application/json",
                    schema: Some(|generator| generator.subschema_for::<Simulated>()),
                },
                refused(404, "There is no such tool."),
                refused(409, "The tool cannot be used."),
            ],
        },
        handler: |api, asked| make(api, asked).boxed(),
    }
}

async fn make(api: Api, asked: Asked) -> Answer {
    let simulate = asked.query.flag("simulate")?;
    let body: GrantBody = read(&asked.body)?;
    let caller = caller_of(&body)?;
    if body.session.is_some() && body.scope != Scope::Session {
        return Err(Refusal::usage("`session` is for the scope `session` alone"));
    }
    blocking(move || {
        let crib = api.crib();
        let entry = crib.registry().find(&body.tool)?;
        let spec = entry.spec();
        let shape = fit(body.shape, spec).map_err(ToolError::from)?;
        if simulate {
            let simulation = crib.simulate(&body.tool, &shape)?;
            let simulated = Simulated {
                tool: spec.reference(),
                shape,
                simulation,
                words: simulation.to_string(),
            };
            return Ok(json_response(StatusCode::OK, &simulated));
        }
        let wanted = GrantRequest {
            expires_in_ms: body.expires_in_ms,
            max_uses: body.max_uses,
            reason: body.reason.filter(|reason| !reason.is_empty()),
            session: body.session,
            ..GrantRequest::new(shape, body.scope)
        };
        let grant = crib.grant(&body.tool, &wanted, &caller, &who_answers(body.by))?;
        Ok(json_response(StatusCode::CREATED, &grant))
    })
    .await
}

/// For whose calls a grant is meant.
fn caller_of(body: &GrantBody) -> Result<Caller, Refusal> {
    let Some(word) = &body.caller else {
        return Ok(Caller::Operator);
    };
    match word.parse::<Caller>() {
        Ok(Caller::Tool) => Err(Refusal::usage(
            "calls that a tool makes are granted along with the question about one of them",
        )),
        Ok(caller) => Ok(caller),
        Err(_) => Err(Refusal::usage(format!(
            "`{}` is no caller; there are `operator`, `cli`, `library` and `client:NAME`",
            text::shorten(word, 80)
        ))),
    }
}

fn show_route() -> Route {
    Route {
        method: Method::GET,
        path: "/api/grants/{id}",
        who: Who::Operator,
        payload: Payload::None,
        doc: Doc {
            id: "getGrant",
            topic: "grants",
            summary: "Shows a grant.",
            description: "It may be over.",
            params: vec![id_param()],
            body: None,
            answers: vec![
                AnswerDoc {
                    status: 200,
                    about: "The grant.",
                    content: "application/json",
                    schema: Some(|generator| generator.subschema_for::<Grant>()),
                },
                refused(404, "There is no such grant."),
            ],
        },
        handler: |api, asked| show(api, asked).boxed(),
    }
}

async fn show(api: Api, asked: Asked) -> Answer {
    let id = asked.path.get("id").to_owned();
    let grant = blocking(move || api.crib().grants().find(&id)).await;
    Ok(json_response(StatusCode::OK, &grant.map_err(refusal)?))
}

fn revoke_route() -> Route {
    Route {
        method: Method::DELETE,
        path: "/api/grants/{id}",
        who: Who::Operator,
        payload: Payload::None,
        doc: Doc {
            id: "revokeGrant",
            topic: "grants",
            summary: "Takes a grant back: calls like these are asked about again.",
            description: "",
            params: vec![id_param()],
            body: None,
            answers: vec![
                AnswerDoc {
                    status: 204,
                    about: "It is taken back.",
                    content: "",
                    schema: None,
                },
                refused(404, "There is no such grant, or not any more."),
            ],
        },
        handler: |api, asked| revoke(api, asked).boxed(),
    }
}

async fn revoke(api: Api, asked: Asked) -> Answer {
    let id = asked.path.get("id").to_owned();
    blocking(move || api.crib().grants().revoke(&id))
        .await
        .map_err(refusal)?;
    let mut response = http::Response::new(crate::api::Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

/// Why a grant is not shown or taken back.
fn refusal(error: GrantError) -> Refusal {
    match error {
        GrantError::NotFound { id } => Refusal::new(
            ErrorCode::NotFound,
            format!(
                "there is no grant `{}`; `GET /api/grants?all=true` lists them",
                text::shorten(&id, 64)
            ),
        ),
        other => ToolError::from(other).into(),
    }
}

fn id_param() -> ParamDoc {
    ParamDoc {
        name: "id",
        place: Place::Path,
        required: true,
        about: "Its id, or a beginning or end of four characters and more that no other has.",
        schema: |generator| generator.subschema_for::<String>(),
    }
}
