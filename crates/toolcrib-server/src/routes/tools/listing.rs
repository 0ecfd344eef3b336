//! All tools: the list and the search, each under S4's two paths.

use std::sync::Arc;

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::crib::{SearchRequest, ToolQuery, ToolRow};
use toolcrib::model::error::ToolError;
use toolcrib::{Crib, ErrorCode};

use crate::api::{Answer, Asked, Paging, Refusal, Route, Who, param};
use crate::routes::work::{blocking, bundles_of, shown};

/// Some tools.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Tools {
    /// By name, then by bundle and version.
    tools: Vec<ToolRow>,
    /// Where to go on, if that was not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

/// Some of what was found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Results {
    /// The best first.
    results: Vec<Match>,
    /// Where to go on, if that was not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

/// A tool that was found.
#[derive(Debug, Serialize, JsonSchema)]
struct Match {
    #[serde(flatten)]
    row: ToolRow,
    /// How well it matches.
    #[serde(rename = "match")]
    class: &'static str,
}

pub(super) fn routes() -> Vec<Route> {
    let list = |path, id| {
        Route::new(Method::GET, path, Who::Caller, |api, asked| {
            blocking(api, asked, list)
        })
        .named(id, "tools", "Lists tools, page by page: each version of each tool is a row.")
        .about(
            "Tools that are off or cannot run are listed with `includeDisabled`. The order does not depend on their state, and a \
             page begins after the last row of the page before: nothing is skipped or doubled when tools come or go. A `pageToken` \
             carries what was asked for and can be sent alone; a page may be shorter than asked for and still not be the last.",
        )
        .param(param::query_list(
            "tags",
            "Only tools with all of these tags or effects, separated by commas.",
        ))
        .param(param::query_list(
            "bundleIDs",
            "Only tools of these bundles, by id or slug, separated by commas; one that nobody has is no error.",
        ))
        .param(param::include_disabled())
        .params(param::pages())
        .answers::<Tools>(200, "A page.")
    };
    let search = |path, id| {
        Route::new(Method::GET, path, Who::Caller, |api, asked| {
            blocking(api, asked, search)
        })
        .named(id, "tools", "Finds tools by words, the best first.")
        .about(
            "Every word must match a name, title, tag, keyword or the description: at its beginning, as a whole, or nearly. No \
             character has a meaning of its own. Without words everything is found, the newest first.",
        )
        .param(param::query_text("q", "The words."))
        .param(param::include_disabled())
        .params(param::pages())
        .answers::<Results>(200, "A page.")
    };
    vec![
        list("/tools", "listTools"),
        list("/tools/tools", "listToolsS4"),
        search("/tools/search", "searchTools"),
        search("/tools/tools/search", "searchToolsS4"),
    ]
}

fn list(crib: &Crib, asked: &Asked) -> Answer {
    let tags = asked.query.list("tags").into_iter();
    let paging = Paging::of(&asked.query)?;
    let page = crib.tool_page(&ToolQuery {
        tags: tags.map(str::to_owned).collect(),
        bundles: bundles_of(asked)?,
        include_disabled: asked.query.flag("includeDisabled")?,
        limit: paging.limit(),
        page_token: paging.token,
    })?;
    let files = crib.tool_files();
    let rows = page.tools.iter();
    let rows = Tools {
        tools: rows.map(|entry| crib.tool_row_by(entry, &files)).collect(),
        next_page_token: page.next_page_token,
    };
    Ok(shown(crib, StatusCode::OK, &rows))
}

fn search(crib: &Crib, asked: &Asked) -> Answer {
    let paging = Paging::of(&asked.query)?;
    let request = SearchRequest {
        query: asked.query.text("q").unwrap_or_default().to_owned(),
        include_disabled: asked.query.flag("includeDisabled")?,
        limit: paging.limit(),
        page_token: paging.token,
        ..SearchRequest::default()
    };
    let page = crib.search(&request).map_err(bad_token)?;
    let files = crib.tool_files();
    let matches = page.results.iter().map(|found| Match {
        row: crib.tool_row_by(&Arc::clone(&found.entry), &files),
        class: found.class.as_str(),
    });
    let results = Results {
        results: matches.collect(),
        next_page_token: page.next_page_token,
    };
    Ok(shown(crib, StatusCode::OK, &results))
}

/// A token is part of the request, not an argument of a tool.
fn bad_token(error: ToolError) -> Refusal {
    match error.code() {
        ErrorCode::InvalidArguments => Refusal::usage(error.message()),
        _ => error.into(),
    }
}
