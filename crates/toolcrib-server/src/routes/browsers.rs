//! Signing browsers in to the web admin and out of it: `/api/browsers`.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{HeaderValue, Method, StatusCode, header};
use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::ErrorCode;

use super::blocking;
use crate::api::{
    Answer, Api, ApiRequest, Refusal, Route, Who, json_response, list_response, no_content, param,
};
use crate::auth::{BadCode, Browser, Browsers, CODE_LASTS, SignedIn, prove_origin};

/// The header that carries a code: a page elsewhere cannot send it without being asked first.
const CODE: &str = "Toolcrib-Code";

/// A code that signs one browser in.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NewCode {
    /// The code.
    code: String,
    /// What follows the server's address in a link: `/ui/#code=…`.
    path: String,
    /// How long it is valid, in seconds.
    lasts_seconds: u64,
}

/// A browser that signed in.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NewBrowser {
    /// Its id.
    id: String,
    /// What it sends as `Toolcrib-Key` with every request, beside the cookie.
    key: String,
    /// When it is signed out by itself.
    #[schemars(extend("format" = "date-time"))]
    expires_at: String,
}

/// The browsers that are signed in.
#[derive(Serialize, JsonSchema)]
struct BrowserList {
    /// The last one first.
    browsers: Vec<Browser>,
}

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::POST, "/api/browser-codes", Who::Operator, issue)
            .named("issueBrowserCode", "browsers", "Issues a code that signs one browser in.")
            .about("The code is valid once and for ten minutes. It belongs into the fragment of the link, which browsers never send.")
            .answers::<NewCode>(201, "The code and its link."),
        Route::new(Method::POST, "/api/browsers", Who::Anybody, sign_in)
            .named("signInBrowser", "browsers", "Exchanges a code for the secrets of a browser.")
            .about(
                "Only for the web admin's own page: the request states its origin. The answer sets a cookie that scripts cannot read and \
                 has a key; each is of use only with the other.",
            )
            .param(param::header(CODE, "The code."))
            .answers::<NewBrowser>(201, "The browser is signed in for 30 days.")
            .refuses(401, "The code is not one of this server.")
            .refuses(410, "The code was used already, or is older than ten minutes."),
        Route::new(Method::GET, "/api/browsers", Who::Operator, list)
            .named("listBrowsers", "browsers", "Lists the browsers that are signed in.")
            .answers::<BrowserList>(200, "The last one first."),
        Route::new(Method::DELETE, "/api/browsers/{id}", Who::Operator, sign_out)
            .named("signOutBrowser", "browsers", "Signs a browser out.")
            .param(param::path("id", "Its id."))
            .answers_with(204, "Its next request is refused.", "")
            .refuses(404, "There is no such browser."),
    ]
}

/// The browsers of this server. The process that asks itself has none.
fn browsers(api: &Api) -> Result<Browsers, Refusal> {
    api.tokens().browsers().cloned().ok_or_else(|| {
        Refusal::new(
            ErrorCode::NotFound,
            "only a server has browsers; start one with `toolcrib serve`",
        )
    })
}

fn issue(api: Api, _: ApiRequest) -> BoxFuture<'static, Answer> {
    let issued = browsers(&api).and_then(|browsers| {
        let code = browsers
            .issue_code()
            .map_err(|error| Refusal::new(ErrorCode::Internal, error))?;
        let code = NewCode {
            path: format!("/ui/#code={code}"),
            code,
            lasts_seconds: CODE_LASTS.as_secs(),
        };
        Ok(json_response(StatusCode::CREATED, &code))
    });
    std::future::ready(issued).boxed()
}

fn sign_in(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        prove_origin(&Method::POST, &asked.headers)?;
        let browsers = browsers(&api)?;
        let code = asked.headers.get(CODE).and_then(|code| code.to_str().ok());
        let code = code.ok_or_else(|| Refusal::usage(format!("the header `{CODE}` is missing")))?;
        let again = "`toolcrib ui` opens a new link, `toolcrib ui --print` prints one";
        browsers.use_code(code).map_err(|bad| match bad {
            BadCode::Unknown => Refusal::new(
                ErrorCode::Unauthenticated,
                format!("this link is not one of this server, or of its last start; {again}"),
            ),
            BadCode::Used => Refusal::new(
                ErrorCode::Gone,
                format!("this link was used already; {again}"),
            ),
            BadCode::Expired => Refusal::new(
                ErrorCode::Gone,
                format!("this link is older than ten minutes; {again}"),
            ),
        })?;
        let name = browsers.cookie_name();
        let signed_in = blocking(move || browsers.sign_in()).await?;
        let SignedIn {
            id,
            cookie,
            key,
            expires_at,
        } = signed_in;
        let config = api.crib().config().server();
        let secure = match config.is_ok_and(|server| server.certificate.is_some()) {
            true => "; Secure",
            false => "",
        };
        let cookie =
            format!("{name}={cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000{secure}");
        let browser = NewBrowser {
            id,
            key,
            expires_at: expires_at.to_string(),
        };
        let mut response = json_response(StatusCode::CREATED, &browser);
        let cookie = HeaderValue::try_from(cookie)
            .map_err(|error| Refusal::new(ErrorCode::Internal, error.to_string()))?;
        response.headers_mut().insert(header::SET_COOKIE, cookie);
        Ok(response)
    }
    .boxed()
}

fn list(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        let browsers = browsers(&api)?;
        let list = blocking(move || browsers.list(&asked.headers)).await;
        Ok(list_response("browsers", &list, None))
    }
    .boxed()
}

fn sign_out(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        let browsers = browsers(&api)?;
        let is_there = blocking(move || browsers.sign_out(asked.path.get("id"))).await?;
        match is_there {
            true => Ok(no_content()),
            false => Err(Refusal::new(
                ErrorCode::NotFound,
                "no browser has this id; `GET /api/browsers` lists them",
            )),
        }
    }
    .boxed()
}
