//! All tools: the list and the search, each under S4's two paths.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::crib::{ListQuery, SearchRequest, ToolList, ToolQuery, ToolRow};
use toolcrib::model::error::ToolError;
use toolcrib::{Crib, ErrorCode};

use crate::api::{Answer, ApiRequest, Paging, Refusal, Route, Who, param};
use crate::auth::Principal;
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
    /// Its status, as in `/api/tools`.
    state: &'static str,
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
            "Only tools of these bundles, by id or slug, separated by commas; an unknown bundle is not an error.",
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
            "Every word must match a name, title, tag, keyword or the description: at its beginning, as a whole, or nearly. No character \
             has a special meaning. Without words everything is found, the newest first.",
        )
        .param(param::query_text("q", "The words."))
        .param(param::include_disabled())
        .params(param::pages())
        .answers::<Results>(200, "A page.")
    };
    vec![
        people(),
        list("/tools", "listTools"),
        list("/tools/tools", "listToolsS4"),
        search("/tools/search", "searchTools"),
        search("/tools/tools/search", "searchToolsS4"),
    ]
}

/// All at once and in the order in which names are given, for people: `toolcrib list`.
fn people() -> Route {
    Route::new(Method::GET, "/api/tools", Who::Caller, |api, asked| {
        blocking(api, asked, list_for_people)
    })
    .named("listToolsForPeople", "tools", "Lists tools as `toolcrib list` shows them, all at once.")
    .about(
        "By name, and of one name in the order in which they would have it; tools that are off or cannot run are among them. `/tools` \
         lists them page by page.",
    )
    .param(param::query_text(
        "bundle",
        "Every tool of this bundle, by id or slug, even if its name belongs to another tool; sorted by slug.",
    ))
    .param(param::query_text("tool", "This tool, by name or any other reference."))
    .param(param::query_list(
        "tools",
        "These tools, by name or any other reference, separated by commas.",
    ))
    .param(param::query_list(
        "names",
        "The tools that have these names, separated by commas; a name that no tool has is skipped.",
    ))
    .param(param::query_text(
        "about",
        "The tools that these words may mean, the best first: any word counts, in any form. `/tools/search` is stricter.",
    ))
    .param(param::query_list(
        "tags",
        "Only tools with all of these tags or effects, separated by commas.",
    ))
    .param(param::query_flag(
        "all",
        "Also tools whose name another one has; and, for the operator, those whose files are damaged.",
    ))
    .param(param::query_flag("tokens", "Whether to estimate what each costs a model."))
    .answers::<ToolList>(200, "The tools.")
    .refuses(404, "There is no such bundle or tool.")
}

fn list_for_people(crib: &Crib, asked: &ApiRequest) -> Answer {
    let words = |name| asked.query.list(name).into_iter().map(str::to_owned);
    let mut list = crib.tool_list(&ListQuery {
        bundle: asked.query.text("bundle").map(str::to_owned),
        tools: match asked.query.text("tool") {
            Some(tool) => vec![tool.to_owned()],
            None => words("tools").collect(),
        },
        names: words("names").collect(),
        about: asked.query.text("about").map(str::to_owned),
        tags: words("tags").collect(),
        all: asked.query.flag("all")?,
        tokens: asked.query.flag("tokens")?,
    })?;
    if asked.principal != Principal::Operator {
        list.damaged.clear();
    }
    Ok(shown(crib, StatusCode::OK, &list))
}

fn list(crib: &Crib, asked: &ApiRequest) -> Answer {
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

fn search(crib: &Crib, asked: &ApiRequest) -> Answer {
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
        row: crib.tool_row_by(&found.entry, &files),
        class: found.class.as_str(),
        state: crib.tool_state(&found.entry, &files),
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
