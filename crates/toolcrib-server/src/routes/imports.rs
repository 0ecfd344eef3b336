//! A curl command as the definition of an HTTP tool: `/api/curl`. Nothing is run, sent or stored.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib::egress::Target;
use toolcrib::{Crib, ErrorCode, ToolError, WireName};

use super::work::{blocking, refused, shown};
use crate::api::{Answer, ApiRequest, Refusal, Route, Who};
use crate::curl;

/// A command, and what the tool is to be called.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CurlBody {
    /// The command, as a shell reads it: `curl https://…`.
    command: String,
    /// The tool's name.
    name: String,
    /// What it does.
    #[serde(default)]
    description: Option<String>,
    /// What callers give: a query parameter, `body.FIELD`, or `NAME=TEXT` for a text of the path.
    #[serde(default)]
    params: Vec<String>,
}

/// The tool that a command became.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CurlTool {
    /// The text of its file, as JSON.
    content: String,
    /// The method of its request.
    method: String,
    /// The URL, with placeholders.
    url: String,
    /// The host, as `allowedHosts` names it.
    host: String,
    /// Whether calls may reach it.
    host_allowed: bool,
    /// What callers give.
    arguments: Vec<CurlPart>,
    /// Secrets to save with `toolcrib secret set`; no value of one is in the text.
    secrets: Vec<CurlPart>,
    /// What of the command has no place in a tool.
    left_out: Vec<CurlPart>,
    /// What else there is to know.
    notes: Vec<String>,
}

/// A part of a command, and what became of it.
#[derive(Debug, Serialize, JsonSchema)]
struct CurlPart {
    /// Its name.
    name: String,
    /// Where it is, or why it is left out.
    about: String,
}

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::POST, "/api/curl", Who::Operator, |api, asked| {
            blocking(api, asked, import)
        })
        .named("importCurl", "files", "Makes the definition of an HTTP tool from a curl command, and stores nothing.")
        .about("What looks like a credential becomes a secret, and its value is in no answer. `PUT /api/files/{scope}/{file}` saves the text.")
        .takes::<CurlBody>("The command.", || {
            json!({"command": "curl 'https://api.example.com/v1/now?q=Bern'", "name": "weather", "params": ["q"]})
        })
        .answers::<CurlTool>(200, "The tool."),
    ]
}

fn import(crib: &Crib, asked: &ApiRequest) -> Answer {
    let body: CurlBody = asked.json()?;
    let name = WireName::parse(&body.name)
        .map_err(|error| Refusal::usage(format!("`name` is not a tool's name: {error}")))?;
    let description = body.description.as_deref().map(str::trim);
    let description = description.filter(|text| !text.is_empty());
    let made = curl::import(&body.command, name.as_str(), description, &body.params);
    let made = made.map_err(|reasons| refused(crib, unfit(&reasons)))?;
    let host_allowed = Target::parse(&made.origin)
        .is_ok_and(|(_, target)| crib.egress().allowed_hosts().contains(&target));
    let arguments = made.arguments.into_iter();
    let secrets = made.secrets.into_iter();
    let left_out = made.left_out.into_iter();
    let answer = CurlTool {
        content: made.text,
        method: made.method,
        url: made.url,
        host: made.host,
        host_allowed,
        arguments: arguments
            .map(|one| CurlPart {
                name: one.name,
                about: one.place,
            })
            .collect(),
        secrets: secrets
            .map(|one| CurlPart {
                name: one.name,
                about: one.place,
            })
            .collect(),
        left_out: left_out
            .map(|(name, about)| CurlPart { name, about })
            .collect(),
        notes: made.notes,
    };
    Ok(shown(crib, StatusCode::OK, &answer))
}

/// Every reason at once; none of them quotes a value.
fn unfit(reasons: &[(String, String)]) -> ToolError {
    let words: Vec<String> = reasons
        .iter()
        .map(|(what, instead)| format!("{what} ({instead})"))
        .collect();
    let message = format!("the request cannot become a tool: {}", words.join("; "));
    ToolError::new(ErrorCode::InvalidArguments, message)
}
