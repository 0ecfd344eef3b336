//! Calls that are allowed without asking: `/api/grants`.
//!
//! The operator alone makes and takes back grants; they are bound to a tool, to patterns of its arguments and to the caller. What
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

use super::approvals::who_answers;
use super::blocking;

use crate::api::{
    Answer, Api, ApiRequest, Paging, Refusal, Route, Who, json_response, located, no_content, param,
};

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    let by_id = "Its id, or a beginning or end of it, four characters or more, that no other has.";
    vec![
        Route::new(Method::GET, "/api/grants", Who::Operator, |api, asked| {
            list(api, asked).boxed()
        })
        .named(
            "listGrants",
            "grants",
            "Lists what is allowed without asking, oldest first.",
        )
        .param(param::query_flag(
            "all",
            "Also those that are over, as far as they are kept.",
        ))
        .params(param::pages())
        .answers::<GrantPage>(200, "A page of grants."),
        Route::new(Method::POST, "/api/grants", Who::Operator, |api, asked| {
            make(api, asked).boxed()
        })
        .named(
            "makeGrant",
            "grants",
            "Allows calls of a tool without asking, or says what that would have allowed.",
        )
        .about(
            "Patterns: `\"any\"`, `{\"exact\": VALUE}`, `{\"argv\": [\"git\", \"log\", \"**\"]}` for shell text, \
            `{\"path\": \"docs/**\"}` for paths, `{\"origin\": \"https://docs.rs\"}` for URLs. Calls that remove something, and calls \
            of tools that do not declare their effects, ask every time.",
        )
        .param(param::query_flag(
            "simulate",
            "Makes nothing, and says which past calls the grant would have allowed.",
        ))
        .param(param::header(
            "Toolcrib-Caller",
            "`cli`: for calls of the command line, if the body names no caller.",
        ))
        .takes::<GrantBody>("The grant.", || {
            json!({
                "tool": "write_file",
                "shape": {"path": {"path": "docs/*"}, "content": "any"},
                "scope": "project",
                "expiresInMs": 3_600_000,
                "maxUses": 20,
            })
        })
        .answers::<Grant>(201, "The grant.")
        .answers::<Simulated>(200, "What it would have allowed, with `?simulate=true`.")
        .refuses(404, "There is no such tool.")
        .refuses(409, "The tool cannot be used now."),
        Route::new(Method::GET, "/api/grants/{id}", Who::Operator, |api, asked| {
            show(api, asked).boxed()
        })
        .named("getGrant", "grants", "Shows a grant. It may be over.")
        .param(param::path("id", by_id))
        .answers::<Grant>(200, "The grant.")
        .refuses(404, "There is no such grant."),
        Route::new(Method::DELETE, "/api/grants/{id}", Who::Operator, |api, asked| {
            revoke(api, asked).boxed()
        })
        .named(
            "revokeGrant",
            "grants",
            "Takes a grant back: calls like these are asked about again.",
        )
        .param(param::path("id", by_id))
        .answers_with(204, "It is taken back.", "")
        .refuses(404, "There is no such grant, or not any more."),
    ]
}

/// A page of grants.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GrantPage {
    /// The grants, oldest first.
    grants: Vec<Grant>,
    /// Files that cannot be read; they allow nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Damaged>,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

/// A grant that someone wants.
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
    /// How long, in milliseconds; as long as is usual for its scope when no one says, a year at most.
    #[serde(default)]
    expires_in_ms: Option<u64>,
    /// How many calls; any number when no one says.
    #[serde(default)]
    max_uses: Option<u64>,
    /// Why.
    #[serde(default)]
    reason: Option<String>,
    /// For whose calls: `operator`, `cli`, `library`, `mcp` or `client:NAME`. The asking caller's by default.
    #[serde(default)]
    caller: Option<String>,
    /// The session, for the scope `session`: what calls give as theirs. The server's own when nothing is said.
    #[serde(default)]
    session: Option<String>,
    /// The name of the person who makes it, for the record; `operator` by default.
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
    /// The counts in words.
    words: String,
}

async fn list(api: Api, asked: ApiRequest) -> Answer {
    let all = asked.query.flag("all")?;
    let paging = Paging::of(&asked.query)?;
    let list = blocking(move || match all {
        true => api.crib().grants().list_all(),
        false => api.crib().grants().list(),
    });
    let mut list = list.await.map_err(ToolError::from)?;
    list.grants.sort_by(|one, other| one.id.cmp(&other.id));
    let (grants, next_page_token) = paging.cut("grants", list.grants, |grant| grant.id.clone())?;
    let page = GrantPage {
        grants,
        damaged: list.damaged,
        next_page_token,
    };
    Ok(json_response(StatusCode::OK, &page))
}

async fn make(api: Api, asked: ApiRequest) -> Answer {
    let simulate = asked.query.flag("simulate")?;
    let body: GrantBody = asked.json()?;
    if body.session.is_some() && body.scope != Scope::Session {
        return Err(Refusal::usage("`session` is for the scope `session` alone"));
    }
    blocking(move || {
        let caller = caller_of(&body, &asked, &api)?;
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
        let path = format!("/api/grants/{}", grant.id);
        Ok(located(json_response(StatusCode::CREATED, &grant), &path))
    })
    .await
}

/// For whose calls a grant is meant.
fn caller_of(body: &GrantBody, asked: &ApiRequest, api: &Api) -> Result<Caller, Refusal> {
    let Some(word) = &body.caller else {
        return asked.caller();
    };
    match word.parse::<Caller>() {
        Ok(Caller::ToolFor(_) | Caller::Tool) => Err(Refusal::usage(
            "calls that a tool makes are granted along with the question about one of them",
        )),
        // A grant for a name that is free would be found there by the next client of that name.
        Ok(Caller::Client(name)) => match api.tokens().clients().caller(&name) {
            Ok(Some(caller)) => Ok(Caller::Client(caller)),
            Ok(None) | Err(_) => Err(Refusal::usage(format!(
                "there is no client `{}`; `GET /api/clients` lists them",
                text::shorten(&name, 64)
            ))),
        },
        Ok(caller) => Ok(caller),
        Err(_) => Err(Refusal::usage(format!(
            "`{}` is not a caller; there are `operator`, `cli`, `library`, `mcp` and `client:NAME`",
            text::shorten(word, 80)
        ))),
    }
}

async fn show(api: Api, asked: ApiRequest) -> Answer {
    let id = asked.path.get("id").to_owned();
    let grant = blocking(move || api.crib().grants().find(&id)).await;
    Ok(json_response(StatusCode::OK, &grant.map_err(refusal)?))
}

async fn revoke(api: Api, asked: ApiRequest) -> Answer {
    let id = asked.path.get("id").to_owned();
    blocking(move || api.crib().grants().revoke(&id))
        .await
        .map_err(refusal)?;
    Ok(no_content())
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
