//! Many switches at once: `/api/tools/switch`.

use std::collections::HashSet;

use http::{Method, StatusCode};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib::crib::{ListQuery, MAX_PAGE, SearchRequest};
use toolcrib::registry::Availability;
use toolcrib::{Crib, ErrorCode};

use crate::api::{Answer, ApiRequest, Refusal, Route, Who};
use crate::routes::work::{blocking, shown};

/// How many tools one request may switch.
const MAX_TOOLS: usize = 100_000;

/// Which tools to switch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Switches {
    /// The tools, by any reference; `bundle/slug@version` means one version.
    #[serde(default)]
    tools: Option<Vec<String>>,
    /// Instead of tools: all that match.
    #[serde(default)]
    filter: Option<Filter>,
    /// Whether they are on from now on.
    is_enabled: bool,
    /// Only says which tools are meant, and switches none.
    #[serde(default)]
    dry_run: bool,
}

/// Which tools are meant; what is left out matches every tool.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Filter {
    /// Those that `GET /tools/search` finds by these words.
    #[serde(default)]
    q: Option<String>,
    /// Those of this bundle, by its slug.
    #[serde(default)]
    bundle: Option<String>,
    /// Those with this effect: `read`, `write`, `run` …
    #[serde(default)]
    effect: Option<String>,
    /// Those that are `on`, `off`, need `attention`, are `failing` or `untagged`: without effects.
    #[serde(default)]
    state: Option<FilterState>,
}

/// A state that a filter knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum FilterState {
    /// It can be called.
    On,
    /// It cannot be called.
    Off,
    /// Its file or record is broken or not trusted, or it cannot run here.
    Attention,
    /// A call of the last 24 hours failed, and no person or rule had refused it.
    Failing,
    /// It does not say what it does.
    Untagged,
}

/// What came of switching.
#[derive(Debug, Serialize, JsonSchema)]
struct Switched {
    /// The references of the tools whose switch is as it was asked for; with `dryRun`, of those that are meant.
    changed: Vec<String>,
    /// The tools that could not be switched.
    refused: Vec<RefusedSwitch>,
}

/// A tool that could not be switched.
#[derive(Debug, Serialize, JsonSchema)]
struct RefusedSwitch {
    /// Its reference, as it was sent.
    tool: String,
    /// The code of the error.
    code: ErrorCodeWord,
    /// Why.
    message: String,
}

/// The word of an error code.
type ErrorCodeWord = &'static str;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::POST, "/api/tools/switch", Who::Operator, |api, asked| {
            blocking(api, asked, switch)
        })
        .named("switchTools", "tools", "Switches many tools on or off.")
        .about("`filter` means every tool that matches, also those that came since it was looked at. A tool that cannot be switched does not keep the others from it; it is in `refused` with the reason.")
        .takes::<Switches>("The tools and the switch.", || {
            json!({"tools": ["core/shell@v1"], "isEnabled": true})
        })
        .answers::<Switched>(200, "What was switched, and what was not."),
    ]
}

/// The references of the tools that match.
fn matching(crib: &Crib, filter: &Filter) -> Result<Vec<String>, Refusal> {
    let list = crib.tool_list(&ListQuery {
        all: true,
        ..ListQuery::default()
    })?;
    let found = match filter.q.as_deref().filter(|q| !q.trim().is_empty()) {
        Some(q) => Some(found(crib, q)?),
        None => None,
    };
    let failing = match filter.state {
        Some(FilterState::Failing) => failing(crib)?,
        _ => HashSet::new(),
    };
    let mut matching = Vec::new();
    for tool in &list.tools {
        let row = &tool.row;
        let reference = format!("{}/{}@{}", row.bundle, row.slug, row.version);
        let is_ready = row.availability == Availability::Ready;
        let has_effect = |effect: &str| row.effects.tags().contains(&effect);
        let is_meant = filter.bundle.as_deref().is_none_or(|of| row.bundle == of)
            && filter.effect.as_deref().is_none_or(has_effect)
            && filter.state.is_none_or(|state| match state {
                FilterState::On => is_ready,
                FilterState::Off => !is_ready,
                FilterState::Attention => {
                    matches!(&*tool.state, "broken" | "untrusted" | "unavailable")
                }
                FilterState::Failing => {
                    failing.contains(&(row.name.to_string(), row.bundle.to_string()))
                }
                FilterState::Untagged => row.effects.is_unknown(),
            })
            && found
                .as_ref()
                .is_none_or(|found| found.contains(&reference));
        if is_meant {
            matching.push(reference);
        }
    }
    Ok(matching)
}

/// The tools, by name and bundle, of which a call failed in the last 24 hours.
fn failing(crib: &Crib) -> Result<HashSet<(String, String)>, Refusal> {
    let stats = crib.stats(Some(Timestamp::now() - SignedDuration::from_hours(24)))?;
    let failing = stats.tools.into_iter();
    let failing = failing.filter(|tool| tool.calls.failed > tool.calls.refused);
    Ok(failing
        .map(|tool| (tool.tool, tool.bundle.to_string()))
        .collect())
}

/// Everything that a search finds, page by page.
fn found(crib: &Crib, q: &str) -> Result<HashSet<String>, Refusal> {
    let mut found = HashSet::new();
    let mut page_token = None;
    loop {
        let page = crib.search(&SearchRequest {
            query: q.to_owned(),
            include_disabled: true,
            limit: MAX_PAGE,
            page_token,
            ..SearchRequest::default()
        })?;
        found.extend(page.results.iter().map(|hit| hit.entry.spec().reference()));
        page_token = page.next_page_token;
        if page_token.is_none() {
            return Ok(found);
        }
    }
}

fn switch(crib: &Crib, asked: &ApiRequest) -> Answer {
    let Switches {
        tools,
        filter,
        is_enabled,
        dry_run,
    } = asked.json()?;
    let tools = match (tools, filter) {
        (Some(tools), None) => tools,
        (None, Some(filter)) => matching(crib, &filter)?,
        _ => return Err(Refusal::usage("send `tools` or `filter`")),
    };
    if tools.len() > MAX_TOOLS {
        return Err(Refusal::new(
            ErrorCode::Usage,
            format!("`tools` names more than {MAX_TOOLS} tools"),
        ));
    }
    let mut switched = Switched {
        changed: Vec::new(),
        refused: Vec::new(),
    };
    if dry_run {
        switched.changed = tools;
        return Ok(shown(crib, StatusCode::OK, &switched));
    }
    let names: Vec<&str> = tools.iter().map(String::as_str).collect();
    let results = crib.switch_each(&names, is_enabled);
    for (tool, result) in tools.into_iter().zip(results) {
        match result {
            Ok(()) => switched.changed.push(tool),
            Err(error) => switched.refused.push(RefusedSwitch {
                code: error.code().as_str(),
                message: error.message().to_owned(),
                tool,
            }),
        }
    }
    Ok(shown(crib, StatusCode::OK, &switched))
}
