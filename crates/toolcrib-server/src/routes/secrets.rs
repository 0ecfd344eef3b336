//! Names of secrets: `/api/secrets`. Values come in by `toolcrib secret set` alone, and go out to no one.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::Crib;
use toolcrib::crib::SecretRow;
use toolcrib::model::error::ToolError;

use super::work::blocking;
use crate::api::{Answer, ApiRequest, Paging, Route, Who, json_response, param};

/// Some secrets, without their values.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Secrets {
    /// By name.
    secrets: Vec<SecretRow>,
    /// Where to go on, if that was not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/api/secrets", Who::Operator, |api, asked| {
            blocking(api, asked, list)
        })
        .named(
            "listSecrets",
            "secrets",
            "Lists secrets by name, with the hosts and bundles they may be used for; never a value.",
        )
        .params(param::pages())
        .answers::<Secrets>(200, "A page."),
    ]
}

fn list(crib: &Crib, asked: &ApiRequest) -> Answer {
    let mut entries = crib.secrets().list().map_err(ToolError::from)?;
    entries.sort_by(|one, other| one.name.as_str().cmp(other.name.as_str()));
    let paging = Paging::of(&asked.query)?;
    let (page, next) = paging.cut("secrets", entries, |entry| entry.name.as_str().to_owned())?;
    let secrets = Secrets {
        secrets: page.iter().map(SecretRow::from).collect(),
        next_page_token: next,
    };
    Ok(json_response(StatusCode::OK, &secrets))
}
