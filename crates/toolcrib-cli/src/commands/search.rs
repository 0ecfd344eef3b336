//! `toolcrib search`: finds tools by words.

use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;
use toolcrib::Crib;
use toolcrib::crib::{Found, SearchRequest, ToolRow};
use toolcrib::model::text;
use toolcrib::registry::Entry;

use super::list::{Listing, has_versions};
use super::{Done, open_to_look};
use crate::args::{Global, SearchArgs};
use crate::failure::CliError;
use crate::output::Output;

/// A row of `list`, and how well it matches.
#[derive(Serialize)]
struct Match {
    #[serde(flatten)]
    row: ToolRow,
    #[serde(rename = "match")]
    class: &'static str,
}

pub(super) fn search(args: &SearchArgs, global: &Global, output: &Output) -> Done {
    let crib = open_to_look(global, output)?;
    let request = SearchRequest {
        query: args.words.join(" "),
        include_disabled: args.all,
        limit: usize::from(args.limit),
        page_token: args.page_token.clone(),
        ..SearchRequest::default()
    };
    let page = crib.search(&request)?;
    let listing = Listing::of(&crib);
    if output.json() {
        let matches: Vec<Match> = page
            .results
            .iter()
            .map(|found| Match {
                row: listing.row(&found.entry),
                class: found.class.as_str(),
            })
            .collect();
        output.document(&matches);
    } else if !page.results.is_empty() {
        table(&page.results, &listing, args.all, output);
    }
    if let Some(token) = &page.next_page_token {
        say_how_to_go_on(token, output);
    } else if page.results.is_empty() && args.page_token.is_none() {
        say_what_to_try(&crib, &request, output)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn table(found: &[Found], listing: &Listing<'_>, with_state: bool, output: &Output) {
    let entries: Vec<&Arc<Entry>> = found.iter().map(|found| &found.entry).collect();
    // Programs count columns: with `--plain` they are the same whatever was found.
    let with_version = !output.plain() && has_versions(&entries);
    let mut headings = vec!["NAME", "BUNDLE"];
    if with_version {
        headings.push("VERSION");
    }
    if with_state {
        headings.push("STATE");
    }
    headings.push("DESCRIPTION");
    let rows = entries.iter().map(|entry| {
        let spec = entry.spec();
        let mut cells = vec![
            listing.called(entry, output.plain()),
            spec.bundle.to_string(),
        ];
        if with_version {
            cells.push(spec.version.to_string());
        }
        if with_state {
            cells.push(listing.state(entry).to_owned());
        }
        cells.push(text::first_sentence(&spec.description).to_owned());
        cells
    });
    output.table(&headings, &rows.collect::<Vec<_>>());
    Listing::explain_mark(&entries, output);
}

/// Says that there is more. To a program as a line of JSON on stderr: what it reads on stdout is the list, and nothing else; and `-q` is about words.
pub(super) fn say_how_to_go_on(token: &str, output: &Output) {
    if output.json() {
        output.error_line(&serde_json::json!({"nextPageToken": token}).to_string());
    } else {
        let line = format!("there is more: add --page-token {token}");
        output.say(&output.dim(&line));
    }
}

/// Says what could be meant where nothing was found.
fn say_what_to_try(crib: &Crib, request: &SearchRequest, output: &Output) -> Result<(), CliError> {
    let words = text::shorten(&request.query, 80);
    if !request.include_disabled {
        let with_all = SearchRequest {
            include_disabled: true,
            limit: 2,
            ..request.clone()
        };
        let off = crib.search(&with_all)?;
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
    let entries = crib.registry().entries();
    let mut names: Vec<&str> = Vec::new();
    for entry in &entries {
        if request.include_disabled || !entry.is_off() {
            names.push(entry.spec().name.as_str());
        }
    }
    let near = text::nearest(&request.query, names);
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
