//! Files of tools, for an editor: `/api/files`.
//!
//! For the operator alone: what is saved here is trusted and runs on the machine of the server.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toolcrib::crib::{SavedTool, ToolText};
use toolcrib::{Crib, ErrorCode, definition, manifest};

use super::work::{blocking, refused, shown};
use crate::api::{Answer, ApiRequest, Refusal, Route, Who, located, no_content, param};

/// Every file.
#[derive(Debug, Serialize, JsonSchema)]
struct Files {
    /// The files, those of the workspace first.
    files: Vec<ToolText>,
}

/// A text to save.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SaveFile {
    /// The whole text.
    content: String,
    /// The digest of the text that it replaces; left out for a new file.
    #[serde(default)]
    digest: Option<String>,
}

/// The JSON Schema of a format.
#[derive(JsonSchema)]
#[schemars(transparent)]
#[expect(dead_code, reason = "the shape of a document that is open")]
struct FormatSchema(Map<String, Value>);

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    const ONE: &str = "/api/files/{scope}/{file}";
    let one = |method, handler| {
        Route::new(method, ONE, Who::Operator, handler).params([
            param::path(
                "scope",
                "`local` for the workspace's, `user` for the user's.",
            ),
            param::path("file", "Its name, as `greet.yaml` or `weather.json`."),
        ])
    };
    vec![
        Route::new(Method::GET, "/api/files", Who::Operator, |api, asked| {
            blocking(api, asked, list)
        })
        .named("listFiles", "files", "Lists the files of tools with their text, those that cannot be loaded too.")
        .answers::<Files>(200, "The files."),
        one(Method::GET, |api, asked| blocking(api, asked, show))
            .named("getFile", "files", "Shows the text of a tool's file.")
            .answers::<ToolText>(200, "The file.")
            .refuses(404, "There is no such file."),
        one(Method::PUT, |api, asked| blocking(api, asked, save))
            .named("saveFile", "files", "Saves a text as the file of a tool, and trusts it.")
            .about("A text with an error is not saved; `details.problems` has every one. Comments and layout are kept: the text is written as it is.")
            .takes::<SaveFile>("The text.", || {
                json!({"content": "description: Says hello\ntags: [read]\nbash: echo hello\n"})
            })
            .answers::<SavedTool>(200, "The file replaced the one that was seen.")
            .answers::<SavedTool>(201, "The file is new.")
            .refuses(404, "There is no such scope.")
            .refuses(409, "There is such a file already, it was changed meanwhile, or its name is a built-in tool's."),
        one(Method::DELETE, |api, asked| blocking(api, asked, remove))
            .named("deleteFile", "files", "Deletes the file of a tool, for good.")
            .param(param::query_text("digest", "The digest of the text that is deleted."))
            .answers_with(204, "It is gone.", "")
            .refuses(404, "There is no such file.")
            .refuses(409, "It was changed meanwhile."),
        Route::new(Method::GET, "/api/formats/{format}", Who::Caller, |api, asked| {
            blocking(api, asked, format)
        })
        .named("getFormat", "files", "Gives the JSON Schema of a format of tools, with a description of every field.")
        .param(param::path("format", "`yaml` for command tools, `http` for HTTP tools."))
        .answers::<FormatSchema>(200, "The schema, for editors.")
        .refuses(404, "There is no such format."),
    ]
}

fn list(crib: &Crib, _: &ApiRequest) -> Answer {
    let files = Files {
        files: crib.tool_texts(),
    };
    Ok(shown(crib, StatusCode::OK, &files))
}

fn show(crib: &Crib, asked: &ApiRequest) -> Answer {
    let file = crib.tool_text(asked.path.get("scope"), asked.path.get("file"))?;
    Ok(shown(crib, StatusCode::OK, &file))
}

fn save(crib: &Crib, asked: &ApiRequest) -> Answer {
    let SaveFile { content, digest } = asked.json()?;
    let (scope, file) = (asked.path.get("scope"), asked.path.get("file"));
    let saved = crib
        .save_tool(scope, file, &content, digest.as_deref())
        .map_err(|error| refused(crib, error))?;
    let status = match saved.created {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    let answer = shown(crib, status, &saved);
    Ok(located(answer, &format!("/api/files/{scope}/{file}")))
}

fn remove(crib: &Crib, asked: &ApiRequest) -> Answer {
    let Some(digest) = asked.query.text("digest") else {
        return Err(Refusal::usage(
            "`digest` says which text is deleted; `GET` shows it",
        ));
    };
    crib.remove_tool_file(asked.path.get("scope"), asked.path.get("file"), digest)?;
    Ok(no_content())
}

fn format(crib: &Crib, asked: &ApiRequest) -> Answer {
    let schema = match asked.path.get("format") {
        "yaml" => definition::json_schema(),
        "http" => manifest::json_schema(),
        _ => {
            return Err(Refusal::new(
                ErrorCode::NotFound,
                "the formats are `yaml` and `http`",
            ));
        }
    };
    Ok(shown(crib, StatusCode::OK, &schema))
}
