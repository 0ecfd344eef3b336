//! `toolcrib search`: finds tools by words.

use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use toolcrib::crib::{ToolList, ToolRow};
use toolcrib::model::text;
use toolcrib::registry::Availability;
use toolcrib::{ErrorCode, ToolError};
use toolcrib_server::client::Ask;

use super::Done;
use super::list::{called, explain_mark, has_versions, tools_at};
use crate::args::SearchArgs;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

/// A row of `list`, and how well it matches.
#[derive(Serialize, Deserialize)]
struct Match {
    #[serde(flatten)]
    row: ToolRow,
    #[serde(rename = "match")]
    class: String,
    /// Its status; for people.
    #[serde(skip_serializing)]
    state: String,
}

/// Some of what was found.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SearchPage {
    results: Vec<Match>,
    next_page_token: Option<String>,
}

pub(super) fn search(args: &SearchArgs, backend: &Backend, output: &Output) -> Done {
    let page =
        match args.words.iter().all(|word| word.trim().is_empty()) || args.page_token.is_some() {
            // Everything, newest first, page by page.
            true => find(args, args.all, args.limit, backend)?,
            false => meant(args, backend, output)?,
        };
    if output.json() {
        output.document(&page.results);
    } else if !page.results.is_empty() {
        table(&page.results, args.all, output);
    }
    if let Some(token) = &page.next_page_token {
        say_how_to_go_on(token, output);
    } else if page.results.is_empty() && args.page_token.is_none() {
        say_what_to_try(args, backend, output)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How many tools that fit and cannot be called are named.
const MAX_MISSES: usize = 3;

/// The tools that the words may mean, the best first.
fn meant(args: &SearchArgs, backend: &Backend, output: &Output) -> Result<SearchPage, CliError> {
    let list: ToolList = backend.get_as(&tools_at(&[("about", &args.words.join(" "))]))?;
    // How well they match word by word is known of those that do.
    let exact = find(args, true, EXACT, backend)?.results;
    let class_of = |row: &ToolRow| {
        let is_it = |found: &&Match| {
            found.row.name == row.name
                && found.row.bundle == row.bundle
                && found.row.version == row.version
        };
        exact
            .iter()
            .find(is_it)
            .map_or("meaning", |found| found.class.as_str())
            .to_owned()
    };
    let mut results = Vec::new();
    let mut misses = 0;
    for tool in list.tools {
        let reason = match &tool.row.availability {
            Availability::Ready => None,
            Availability::Disabled { reason, .. } | Availability::Unavailable { reason } => {
                Some(reason)
            }
        };
        if let Some(reason) = reason.filter(|_| !args.all) {
            if results.len() < MAX_MISSES && misses < MAX_MISSES {
                output.say(&format!(
                    "`{}` fits but cannot be called: {reason}",
                    tool.row.name
                ));
                misses += 1;
            }
            continue;
        }
        if results.len() == usize::from(args.limit) {
            break;
        }
        results.push(Match {
            class: class_of(&tool.row),
            state: tool.state.into_owned(),
            row: tool.row,
        });
    }
    Ok(SearchPage {
        results,
        next_page_token: None,
    })
}

/// How many tools are looked up word by word.
const EXACT: u16 = 500;

fn find(
    args: &SearchArgs,
    all: bool,
    limit: u16,
    backend: &Backend,
) -> Result<SearchPage, CliError> {
    let words = Ask::encoded(&args.words.join(" "));
    let mut path = format!("/tools/search?q={words}&pageSize={limit}&includeDisabled={all}");
    if let Some(token) = &args.page_token {
        path.push_str(&format!("&pageToken={}", Ask::encoded(token)));
    }
    backend
        .wait_raw(backend.client.get_as(&path))
        .map_err(|error| {
            // A token is an argument here, and part of the request there.
            let is_token = error.code() == Some(ErrorCode::Usage) && args.page_token.is_some();
            match is_token {
                true => ToolError::new(ErrorCode::InvalidArguments, error.to_string()).into(),
                false => backend.failed(&error),
            }
        })
}

fn table(found: &[Match], with_state: bool, output: &Output) {
    let rows = || found.iter().map(|found| &found.row);
    // Programs count columns: with `--plain` they are the same whatever was found.
    let with_version = !output.plain() && has_versions(rows());
    let mut headings = vec!["NAME", "BUNDLE"];
    if with_version {
        headings.push("VERSION");
    }
    if with_state {
        headings.push("STATE");
    }
    headings.push("DESCRIPTION");
    let cells = found.iter().map(|Match { row, state, .. }| {
        let mut cells = vec![called(row, output.plain()), row.bundle.clone()];
        if with_version {
            cells.push(row.version.clone());
        }
        if with_state {
            cells.push(state.clone());
        }
        cells.push(text::first_sentence(&row.description).to_owned());
        cells
    });
    output.table(&headings, &cells.collect::<Vec<_>>());
    explain_mark(rows(), output);
}

/// Says that there is more. To a program as a line of JSON on stderr: what it reads on stdout is the list, and nothing else; and `-q` is about words.
fn say_how_to_go_on(token: &str, output: &Output) {
    if output.json() {
        output.error_line(&serde_json::json!({"nextPageToken": token}).to_string());
    } else {
        let line = format!("there is more: add --page-token {token}");
        output.say(&output.dim(&line));
    }
}

/// Says what could be meant where nothing was found.
fn say_what_to_try(args: &SearchArgs, backend: &Backend, output: &Output) -> Result<(), CliError> {
    let query = args.words.join(" ");
    let words = text::shorten(&query, 80);
    if !args.all {
        let off = find(args, true, 2, backend)?;
        let count = match off.results.as_slice() {
            [] => None,
            [_] => Some("one tool matches, but is off or cannot run here"),
            _ => Some("tools match, but are off or cannot run here"),
        };
        if let Some(count) = count {
            output.say(&format!("{count}: add --all"));
            return Ok(());
        }
    }
    let list: ToolList = backend.get_as(&tools_at(&[]))?;
    let is_off = |row: &ToolRow| matches!(row.availability, Availability::Disabled { .. });
    let rows = list.tools.iter().map(|tool| &tool.row);
    let rows = rows.filter(|row| args.all || !is_off(row));
    let near = text::nearest(&query, rows.map(|row| row.name.as_str()));
    match near.is_empty() {
        true => output.say(&format!(
            "no tool matches `{words}`: try fewer words, or `toolcrib list`"
        )),
        false => output.say(&format!(
            "no tool matches `{words}`: did you mean {}?",
            text::or_list(&near)
        )),
    }
    Ok(())
}
