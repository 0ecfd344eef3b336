//! The tool that a word names, as people and models spell it: `/api/lookup`.

use http::{Method, StatusCode};
use serde_json::{Map, Value, json};
use toolcrib::Crib;
use toolcrib::spec::Role;

use super::version::ToolShape;
use crate::api::{Answer, ApiRequest, Refusal, Route, Who, param};
use crate::routes::work::{blocking, shown};

/// The longest word that is looked up.
const MAX_WORD: usize = 512;

pub(super) fn routes() -> Vec<Route> {
    let route = Route::new(Method::GET, "/api/lookup", Who::Caller, |api, asked| {
        blocking(api, asked, look_up)
    });
    let tool = "Its name, `+slug`, `bundle/slug`, `bundle/slug@version` or id.";
    vec![
        route
            .named(
                "lookUpTool",
                "tools",
                "Shows the tool that a call by this name would get.",
            )
            .about(
                "The same document as that of its version, with `synonyms`, other names that calls may use for parameters, `roles`: \
                 which parameters are `shell` text, a `path` or a `url`, and `shown`: how it is shown to people. A tool that is off is found too.",
            )
            .param(param::query_text("tool", tool))
            .answers::<ToolShape>(200, "The tool.")
            .refuses(404, "No tool answers to this name."),
    ]
}

fn look_up(crib: &Crib, asked: &ApiRequest) -> Answer {
    let word = asked.query.text("tool").unwrap_or_default();
    if word.is_empty() || word.len() > MAX_WORD {
        let message = format!("`tool` is the name of a tool, 1 to {MAX_WORD} bytes");
        return Err(Refusal::usage(message));
    }
    let entry = crib.registry().find(word)?;
    let mut document = crib.tool_document(&entry)?;
    let synonyms: Map<String, Value> = entry
        .spec()
        .synonyms
        .iter()
        .map(|(accepted, published)| (accepted.to_string(), published.to_string().into()))
        .collect();
    if !synonyms.is_empty() {
        document.insert("synonyms".to_owned(), synonyms.into());
    }
    let roles: Map<String, Value> = entry
        .spec()
        .roles
        .iter()
        .filter_map(|(parameter, role)| {
            let word = match role {
                Role::Shell => "shell",
                Role::ReadPath | Role::WritePath => "path",
                Role::Url => "url",
                Role::Code { .. } | Role::Directory => return None,
            };
            Some((parameter.clone(), word.into()))
        })
        .collect();
    if !roles.is_empty() {
        document.insert("roles".to_owned(), roles.into());
    }
    document.insert("shown".to_owned(), json!(crib.tool_shown(&entry)));
    Ok(shown(crib, StatusCode::OK, &document))
}
