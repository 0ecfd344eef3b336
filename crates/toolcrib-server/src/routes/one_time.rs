//! The page behind a one-time link: `GET /answer` shows a question, `POST /answer` decides it.
//!
//! Messengers fetch every link to show a preview, so GET changes nothing, however often it comes. A decision is about what the link was sent
//! for: its signature has the digest of the arguments, and a question that shows something else by now is refused. The page is plain HTML
//! that loads and runs nothing. The link is in the query, which no log has; anyone who has it may answer, so no other page learns it.

use std::fmt::Write as _;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Method, Response, StatusCode, header};
use jiff::Timestamp;
use toolcrib::approval::{AnswerError, ApprovalResponse, Queued, Status};
use toolcrib::model::text;
use toolcrib::notify::{BadLink, Links, OneTime};
use toolcrib::{ErrorCode, ToolError};

use super::blocking;
use super::health::made;
use crate::api::{Answer, Api, ApiRequest, Body, Refusal, Route, Who, param};

/// A page that may load and run nothing, and send its form to this server only.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/// The longest form.
const MAX_FORM: u64 = 16 * 1024;
/// The longest reason, in bytes.
const MAX_REASON: usize = 2000;

const NOT_VALID: &str = "The link is not valid, or has expired.";
const GONE: &str = "The question is gone.";
const OTHER: &str = "Another answer came first, or the question shows something else by now.";
const BROKEN: &str = "Files of the server cannot be read or written.";

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    let link = || param::query_text("link", "The signed part of the link.");
    vec![
        Route::new(Method::GET, "/answer", Who::Anybody, |api, asked| {
            async move { Ok(or_page(show(api, asked).await)) }.boxed()
        })
        .named(
            "showOneTimeLink",
            "approvals",
            "Shows the question of a one-time link, and decides nothing.",
        )
        .about("A page for a person. Links are sent by channels with `oneTimeLinks`; they need no token.")
        .param(link())
        .answers_with(200, "The question, or what became of it.", "text/html")
        .answers_with(403, NOT_VALID, "text/html")
        .refuses(403, NOT_VALID)
        .answers_with(404, GONE, "text/html")
        .answers_with(409, OTHER, "text/html")
        .answers_with(500, BROKEN, "text/html")
        .refuses(500, BROKEN),
        Route::new(Method::POST, "/answer", Who::Anybody, |api, asked| {
            async move { Ok(or_page(decide(api, asked).await)) }.boxed()
        })
        .named(
            "useOneTimeLink",
            "approvals",
            "Approves or denies the question of a one-time link.",
        )
        .about("The form of the page. It counts for the arguments that the question had when the link was sent.")
        .param(link())
        .takes_form(MAX_FORM)
        .answers_with(200, "What was decided.", "text/html")
        .answers_with(400, "The form says neither yes nor no.", "text/html")
        .refuses(400, "The request is not one that this route takes.")
        .answers_with(403, NOT_VALID, "text/html")
        .refuses(403, NOT_VALID)
        .answers_with(404, GONE, "text/html")
        .answers_with(409, OTHER, "text/html")
        .answers_with(410, "No one answered in time.", "text/html")
        .answers_with(500, BROKEN, "text/html")
        .refuses(500, BROKEN),
    ]
}

/// What a link leads to.
struct Linked {
    link: OneTime,
    question: Queued,
}

/// A refusal as a page: it is a person who reads it.
fn or_page(answer: Answer) -> Response<Body> {
    answer.unwrap_or_else(|refusal| {
        let message = refusal.error().message();
        page(
            refusal.status(),
            frame("Not possible", &format!("<p>{}</p>", shown(message))),
        )
    })
}

async fn show(api: Api, asked: ApiRequest) -> Answer {
    let linked = linked(&api, &asked).await?;
    let html = match linked.question.status {
        Status::Pending => question_page(&linked.question),
        Status::Approved
        | Status::Denied
        | Status::Used
        | Status::Expired
        | Status::Withdrawn
        | Status::Replaced => over_page(&linked.question),
    };
    Ok(page(StatusCode::OK, html))
}

async fn decide(api: Api, asked: ApiRequest) -> Answer {
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&asked.body)
        .into_owned()
        .collect();
    let field = |name: &str| {
        let mut named = form.iter().filter(|(key, _)| key == name);
        match (named.next(), named.next()) {
            (Some((_, value)), None) => Some(value.as_str()),
            (_, _) => None,
        }
    };
    let approved = match field("decision") {
        Some("approve") => true,
        Some("deny") => false,
        Some(_) | None => {
            return Err(Refusal::usage(
                "the form has to say `approve` or `deny`, once",
            ));
        }
    };
    let linked = linked(&api, &asked).await?;
    let by = format!("one-time link of `{}`", linked.link.channel);
    let reason = field("reason")
        .map(str::trim)
        .filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| text::shorten(reason, MAX_REASON));
    let response = ApprovalResponse {
        approved,
        reason,
        ..ApprovalResponse::approve(by)
    };
    let Linked { link, question } = linked;
    let answered = blocking(move || {
        let digest = question.request.args_digest;
        let answered = api.crib().answer(&link.id, Some(&digest), response);
        api.0.hub.look();
        answered
    });
    match answered.await {
        Ok(queued) => Ok(page(StatusCode::OK, over_page(&queued))),
        Err(error) => Ok(refused_page(&error)),
    }
}

/// The question that a link is good for.
async fn linked(api: &Api, asked: &ApiRequest) -> Result<Linked, Refusal> {
    let given = asked.query.text("link").unwrap_or_default().to_owned();
    let api = api.clone();
    let found = blocking(move || {
        let crib = api.crib();
        // A channel that has no links any more sent these before; the operator has changed their mind.
        let channels = crib
            .config()
            .notify()
            .map_err(|error| Refusal::new(ErrorCode::Forbidden, error.to_string()))?;
        let link = Links::of_home(crib.home()).read(&given, Timestamp::now());
        let link = link.map_err(|error| match error {
            BadLink::Forged | BadLink::Expired => {
                Refusal::new(ErrorCode::Forbidden, error.to_string())
            }
            BadLink::Storage(error) => ToolError::from(error).into(),
        })?;
        let is_on = channels
            .channels()
            .any(|(name, channel)| name == link.channel && channel.one_time);
        if !is_on {
            let message = "one-time links are switched off for the channel that sent this";
            return Err(Refusal::new(ErrorCode::Forbidden, message));
        }
        let question = crib
            .approvals()
            .show(&link.id)
            .map_err(|error| match error {
                AnswerError::NotFound { .. } => Refusal::new(
                    ErrorCode::NotFound,
                    "this question is gone; it was decided or has lapsed",
                ),
                error => Refusal::new(ErrorCode::StorageError, error.to_string()),
            })?;
        if !link.is_about(&question) {
            let message = "the question shows something else than when this link was sent";
            return Err(Refusal::new(ErrorCode::Conflict, message));
        }
        Ok(Linked { link, question })
    });
    found.await
}

fn page(status: StatusCode, html: String) -> Response<Body> {
    let mut response = made(
        Bytes::from(html),
        &[
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            // With `no-referrer` a browser would send `Origin: null` with the form.
            (header::REFERRER_POLICY, "same-origin"),
        ],
    );
    *response.status_mut() = status;
    response
}

fn frame(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"robots\" content=\"noindex\">\
         <title>{title} · Toolcrib</title><style>{STYLE}</style></head><body><main><h1>{title}</h1>\n{body}</main></body></html>\n"
    )
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;margin:0;padding:1rem;color:#1b1d1f;background:#f6f6f4}\
main{max-width:46rem;margin:0 auto}h1{font-size:1.3rem}h2{font-size:1rem;margin:1.2rem 0 .3rem}\
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#fff;border:1px solid #d5d6d2;border-radius:6px;padding:.7rem;font-size:.85rem}\
dt{color:#5b5f63}dd{margin:0 0 .4rem;overflow-wrap:anywhere}\
button{font:inherit;padding:.6rem 1.4rem;border-radius:6px;border:1px solid #8b8f93;background:#fff;margin:0 .6rem .6rem 0}\
button.yes{background:#1f6f43;border-color:#1f6f43;color:#fff}input{font:inherit;width:100%;box-sizing:border-box;padding:.5rem;margin-bottom:.8rem}\
@media(prefers-color-scheme:dark){body{background:#161819;color:#e7e8e6}pre,button,input{background:#1f2224;color:inherit;border-color:#45494c}dt{color:#9ca0a4}}";

/// All that a person needs to decide.
fn question_page(question: &Queued) -> String {
    let request = &question.request;
    let mut body = String::new();
    let _ = write!(body, "<p><b>{}</b></p><dl>", shown(&request.effect));
    let bundle = format!("{} ({} {})", request.tool, request.bundle, request.version);
    let caller = request.caller.to_string();
    let expires = request.expires_at.map(|at| format!("{at:.0}"));
    for (name, value) in [
        ("Tool", Some(bundle.as_str())),
        ("Caller", Some(caller.as_str())),
        ("Called by the tool", request.called_by.as_deref()),
        ("Asked because", Some(request.reason.as_str())),
        ("Workspace", request.workspace.as_deref()),
        ("Lapses", expires.as_deref()),
        ("Question", Some(request.id.as_str())),
    ] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let _ = write!(body, "<dt>{name}</dt><dd>{}</dd>", shown(value));
        }
    }
    body.push_str("</dl>");
    let args = serde_json::to_string_pretty(&request.args).unwrap_or_default();
    let _ = write!(body, "<h2>Arguments</h2><pre>{}</pre>", shown(&args));
    if let Some(diff) = &request.diff {
        let _ = write!(body, "<h2>Change</h2><pre>{}</pre>", shown(diff));
    }
    if !request.bound.is_empty() {
        let files: Vec<String> = request.bound.iter().map(|file| file.in_words()).collect();
        let _ = write!(
            body,
            "<h2>Files that it runs</h2><pre>{}</pre>",
            shown(&files.join("\n"))
        );
    }
    // To the same address, with the link in its query.
    body.push_str(
        "<form method=\"post\"><label for=\"reason\">Reason (the caller sees it)</label><input id=\"reason\" name=\"reason\" maxlength=\"500\">\
         <button class=\"yes\" name=\"decision\" value=\"approve\">Approve once</button><button name=\"decision\" value=\"deny\">Deny</button></form>",
    );
    frame(
        &format!(
            "{} waits for approval",
            shown(&text::shorten(&request.tool, 80))
        ),
        &body,
    )
}

/// What became of a question.
fn over_page(question: &Queued) -> String {
    let title = match question.status {
        Status::Pending => "It waits",
        Status::Approved | Status::Used => "Approved",
        Status::Denied => "Denied",
        Status::Expired => "No one answered in time",
        Status::Withdrawn => "The caller gave up",
        Status::Replaced => "A file changed: the call was asked about again",
    };
    let mut body = format!("<p>{}</p>", shown(&question.request.effect));
    if let Some(answer) = &question.answer {
        let _ = write!(body, "<p>By {}, {:.0}.</p>", shown(&answer.by), answer.at);
    }
    frame(title, &body)
}

fn refused_page(error: &AnswerError) -> Response<Body> {
    let status = StatusCode::from_u16(error.http_status()).unwrap_or(StatusCode::CONFLICT);
    let body = format!("<p>{}</p>", shown(&error.to_string()));
    page(status, frame("Not decided", &body))
}

/// Text for a page: nothing in it is markup, and nothing is hidden.
fn shown(given: &str) -> String {
    let mut out = String::with_capacity(given.len());
    for c in text::visible(given).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
