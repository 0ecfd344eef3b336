//! Questions to people: `/api/approvals`.
//!
//! The operator alone sees and answers them: a caller with a client's token can never approve its own call. An answer names
//! the digest of what was shown; the queue of the library decides who was first.

use futures_util::FutureExt as _;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib::approval::grants::{GrantRequest, Scope, Shape};
use toolcrib::approval::queue::Damaged;
use toolcrib::approval::{AnswerError, ApprovalResponse, Queued, Status};
use toolcrib::model::{JsonObject, text};
use toolcrib::{ErrorCode, ToolError};

use super::blocking;

use crate::api::{Answer, Api, ApiRequest, Paging, Refusal, Route, Who, json_response, param};

/// The name that answers when none is given.
const OPERATOR: &str = "operator";

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    let by_id = "Its id, or a beginning or end of it, four characters or more, that no other has.";
    vec![
        Route::new(Method::GET, "/api/approvals", Who::Operator, |api, asked| {
            list(api, asked).boxed()
        })
        .named(
            "listApprovals",
            "approvals",
            "Lists the questions to people, oldest first.",
        )
        .about("Decided and expired questions are kept for a day.")
        .param(param::query(
            "status",
            "Only those that stand here; all of them when nothing is said.",
            param::schema::<Status>,
        ))
        .params(param::pages())
        .answers::<ApprovalPage>(200, "A page of questions."),
        Route::new(Method::GET, "/api/approvals/{id}", Who::Operator, |api, asked| {
            show(api, asked).boxed()
        })
        .named(
            "getApproval",
            "approvals",
            "Shows a question and its status.",
        )
        .param(param::path("id", by_id))
        .answers::<Queued>(200, "The question.")
        .refuses(404, "There is no such question."),
        Route::new(Method::POST, "/api/approvals/{id}", Who::Operator, |api, asked| {
            answer(api, asked).boxed()
        })
        .named(
            "answerApproval",
            "approvals",
            "Approves or denies the call that a question is about.",
        )
        .about(
            "The first answer wins. Edited arguments (`modifiedArgs`) go through schema, rules and the tool's own checks like those of \
            a fresh call, here and again right before the call runs; a bad edit leaves the question open. A `grant` is made together \
            with the approval.",
        )
        .param(param::path("id", by_id))
        .takes::<AnswerBody>("The answer.", || {
            json!({
                "approved": true,
                "argsDigest": "the question's argsDigest",
                "reason": "it is an old copy",
            })
        })
        .answers::<Queued>(
            200,
            "The question, answered. It may be `used` already: the call does not wait until the answer to this request arrives.",
        )
        .refuses(404, "There is no such question.")
        .refuses(
            409,
            "Another answer came first, the caller gave up, the digest is that of other arguments, or a file that the call runs has \
            changed (`details.changed`): then a new question takes the place of this one.",
        )
        .refuses(410, "No one answered in time.")
        .refuses(
            422,
            "The edited arguments, or the grant, cannot be used: `details.cause` says why, with its code and details. The question stays open.",
        ),
    ]
}

/// A page of questions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ApprovalPage {
    /// The questions, oldest first.
    approvals: Vec<Queued>,
    /// Files that cannot be read; the others are not concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Damaged>,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

/// An answer to a question (S2's `ApprovalResponse`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AnswerBody {
    /// Yes or no.
    approved: bool,
    /// The `argsDigest` of the question as it was shown: the answer is to that and nothing else.
    args_digest: String,
    /// Other arguments to run with. They are validated and judged like those of a fresh call. Only with an approval.
    #[serde(default)]
    modified_args: Option<JsonObject>,
    /// Why.
    #[serde(default)]
    reason: Option<String>,
    /// What to allow from now on without asking, too. Only with an approval.
    #[serde(default)]
    grant: Option<GrantWish>,
    /// The name of the answering person, for the record; `operator` by default.
    #[serde(default)]
    by: Option<String>,
}

/// A grant for later calls that comes with the answer: usually one of the question's `offers`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GrantWish {
    /// Which arguments: a pattern for every parameter.
    shape: Shape,
    /// How far.
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
}

impl From<GrantWish> for GrantRequest {
    fn from(wish: GrantWish) -> Self {
        GrantRequest {
            expires_in_ms: wish.expires_in_ms,
            max_uses: wish.max_uses,
            reason: wish.reason,
            ..GrantRequest::new(wish.shape, wish.scope)
        }
    }
}

async fn list(api: Api, asked: ApiRequest) -> Answer {
    let only = match asked.query.text("status") {
        None => None,
        Some(word) => Some(status_named(word)?),
    };
    let paging = Paging::of(&asked.query)?;
    let listing = blocking(move || api.crib().approvals().list(only)).await;
    let listing = listing.map_err(ToolError::from)?;
    let (approvals, next_page_token) = paging.cut("approvals", listing.requests, |queued| {
        queued.request.id.clone()
    })?;
    let page = ApprovalPage {
        approvals,
        damaged: listing.damaged,
        next_page_token,
    };
    Ok(json_response(StatusCode::OK, &page))
}

fn status_named(word: &str) -> Result<Status, Refusal> {
    let found = Status::ALL.into_iter().find(|known| known.as_str() == word);
    found.ok_or_else(|| {
        let known = Status::ALL.map(Status::as_str);
        Refusal::usage(format!("`status` is {}", text::or_list(&known)))
    })
}

async fn show(api: Api, asked: ApiRequest) -> Answer {
    let id = asked.path.get("id").to_owned();
    let queued = blocking(move || api.crib().approvals().show(&id)).await;
    Ok(json_response(StatusCode::OK, &queued.map_err(refusal)?))
}

async fn answer(api: Api, asked: ApiRequest) -> Answer {
    let body: AnswerBody = asked.json()?;
    if !body.approved && (body.modified_args.is_some() || body.grant.is_some()) {
        return Err(Refusal::usage(
            "a denial has neither `modifiedArgs` nor a `grant`: nothing would run by them",
        ));
    }
    let response = ApprovalResponse {
        approved: body.approved,
        modified_args: body.modified_args,
        reason: body.reason.filter(|reason| !reason.is_empty()),
        grant: body.grant.map(GrantRequest::from),
        ..ApprovalResponse::approve(who_answers(body.by))
    };
    let (id, digest) = (asked.path.get("id").to_owned(), body.args_digest);
    let answered = blocking(move || {
        let answered = api.crib().answer(&id, Some(&digest), response);
        api.0.hub.look();
        answered
    });
    let answered = answered.await;
    Ok(json_response(StatusCode::OK, &answered.map_err(refusal)?))
}

/// In whose name something is decided.
pub(super) fn who_answers(by: Option<String>) -> String {
    by.filter(|by| !by.trim().is_empty())
        .unwrap_or_else(|| OPERATOR.to_owned())
}

/// Why a question is not shown or answered. The status is the library's; the code says the same.
fn refusal(error: AnswerError) -> Refusal {
    let code = match error.http_status() {
        404 => ErrorCode::NotFound,
        409 => ErrorCode::Conflict,
        410 => ErrorCode::Gone,
        422 => ErrorCode::Unprocessable,
        400 => ErrorCode::Usage,
        _ => ErrorCode::StorageError,
    };
    let refused = match error {
        AnswerError::NotFound { id } => ToolError::new(
            code,
            format!(
                "there is no approval request `{}`; `GET /api/approvals` lists them",
                text::shorten(&id, 64)
            ),
        ),
        AnswerError::Decided {
            ref by,
            approved,
            ref reason,
        } => {
            let refused = ToolError::new(code, error.to_string())
                .with_detail("by", by.as_str())
                .with_detail("approved", approved);
            match reason {
                Some(reason) => refused.with_detail("reason", reason.as_str()),
                None => refused,
            }
        }
        AnswerError::Changed { ref files } => {
            ToolError::new(code, error.to_string()).with_detail("changed", files.clone())
        }
        AnswerError::BadEdit(cause) => {
            let refused = ToolError::new(code, cause.message());
            refused.with_detail("cause", json!(cause))
        }
        AnswerError::Storage(error) => error.into(),
        AnswerError::WrongDigest => {
            ToolError::new(code, error.to_string()).with_detail("reason", "wrong-digest")
        }
        AnswerError::Ambiguous { .. }
        | AnswerError::Withdrawn
        | AnswerError::Expired
        | AnswerError::Damaged(_) => ToolError::new(code, error.to_string()),
    };
    refused.into()
}
