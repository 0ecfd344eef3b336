//! What a shell may complete: tools, parameters, values, ids, error codes.
//!
//! Runs on every press of Tab: it opens the crib like any command and stays silent when it cannot.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter as _};
use serde_json::Value;
use toolcrib::approval::Status;
use toolcrib::config::SETTINGS;
use toolcrib::crib::{BundleKind, BundleView};
use toolcrib::definition::CODES;
use toolcrib::definition::fields::FIELDS;
use toolcrib::manifest::fields::HTTP_FIELDS;
use toolcrib::model::text;
use toolcrib::registry::Availability;
use toolcrib::{Crib, ErrorCode, ToolSpec};
use toolcrib_server::auth::Clients;

use crate::clients_of_others::OtherClient;
use crate::ids::short;
use crate::typed_path;

/// The tools on offer, by what is known without making them: who presses a key does not wait for that.
fn offered(crib: &Crib) -> Vec<Arc<ToolSpec>> {
    let entries = crib.registry().entries().into_iter();
    entries
        .filter(|entry| entry.availability_at_a_glance() == Availability::Ready)
        .map(|entry| Arc::clone(entry.spec()))
        .collect()
}

/// Tool names.
pub(crate) fn tools(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let Ok(crib) = Crib::open() else {
        return Vec::new();
    };
    let specs = offered(&crib);
    let all = specs.iter().filter_map(|spec| named(spec, current));
    all.collect()
}

/// A tool as someone goes on typing it: behind `+` by its slug, and so where its name would pass for an option.
fn named(spec: &ToolSpec, current: &str) -> Option<CompletionCandidate> {
    let name = spec.name.as_str();
    let word = match current.starts_with('+') || name.starts_with('-') {
        true => format!("+{}", spec.slug),
        false => name.to_owned(),
    };
    let matches = word.starts_with(current);
    matches.then(|| candidate(&word, &spec.description))
}

/// Slugs of bundles, also of those that are off or in the bin.
pub(crate) fn bundles(current: &OsStr) -> Vec<CompletionCandidate> {
    bundles_where(current, |_| true)
}

/// Slugs of bundles that have a switch: all but those in the bin.
pub(crate) fn switchable_bundles(current: &OsStr) -> Vec<CompletionCandidate> {
    bundles_where(current, |view| view.bundle.soft_deleted_at.is_none())
}

/// Slugs of bundles that tools can be put into, and that can be removed and exported.
pub(crate) fn own_bundles(current: &OsStr) -> Vec<CompletionCandidate> {
    bundles_where(current, |view| {
        view.kind == BundleKind::Store && view.bundle.soft_deleted_at.is_none()
    })
}

/// Slugs of bundles in the bin.
pub(crate) fn deleted_bundles(current: &OsStr) -> Vec<CompletionCandidate> {
    bundles_where(current, |view| view.bundle.soft_deleted_at.is_some())
}

fn bundles_where(
    current: &OsStr,
    is_wanted: impl Fn(&BundleView) -> bool,
) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let Ok(crib) = Crib::open() else {
        return Vec::new();
    };
    let views = crib.bundles();
    let wanted = views.iter().filter(|view| is_wanted(view));
    let mut seen = BTreeSet::new();
    wanted
        .map(|view| &view.bundle)
        // One in the bin may have the slug of another; a leading dash would make it an option.
        .filter(|bundle| {
            let slug = bundle.slug.as_str();
            slug.starts_with(current) && !slug.starts_with('-') && seen.insert(slug.to_owned())
        })
        .map(|bundle| candidate(bundle.slug.as_str(), &bundle.description))
        .collect()
}

/// Names of all tools, also of those that are off; behind `bundle/` what is in it, behind `@` the versions.
pub(crate) fn references(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let Ok(crib) = Crib::open() else {
        return Vec::new();
    };
    if current.contains('/') {
        return in_bundle(current, &crib);
    }
    let entries = crib.registry().entries();
    let matching = entries
        .iter()
        .filter_map(|entry| named(entry.spec(), current));
    let mut all: Vec<CompletionCandidate> = matching.collect();
    // Someone who typed a part of one wants to go on with it.
    if !current.is_empty() {
        let slugs = crib.bundles().into_iter().map(|view| view.bundle.slug);
        let matching = slugs.filter(|slug| slug.as_str().starts_with(current));
        all.extend(matching.map(|slug| candidate(&format!("{slug}/"), "a bundle")));
    }
    all
}

/// `bundle/slug` for what begins so; `bundle/slug@version` where there are several, or where an `@` was typed.
fn in_bundle(current: &str, crib: &Crib) -> Vec<CompletionCandidate> {
    let bundle = current.split('/').next().unwrap_or_default();
    let Ok(view) = crib.bundle(bundle) else {
        return Vec::new();
    };
    let entries = crib.bundle_tools(view.bundle.bundle_id);
    let mut all = Vec::new();
    for entry in &entries {
        let spec = entry.spec();
        let tool = format!("{}/{}", spec.bundle, spec.slug);
        let mut same = entries
            .iter()
            .filter(|other| other.spec().slug == spec.slug);
        let word = match current.contains('@') || same.nth(1).is_some() {
            true => format!("{tool}@{}", spec.version),
            false => tool,
        };
        if word.starts_with(current) {
            all.push(candidate(&word, &spec.description));
        }
    }
    all
}

/// Tools that can be edited and removed: those of files by name, those of the store by reference.
pub(crate) fn own_tools(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut all = file_tools(current);
    let Some(current) = current.to_str() else {
        return all;
    };
    let Ok(crib) = Crib::open() else {
        return all;
    };
    if current.contains('/') {
        return in_bundle(current, &crib);
    }
    let views = crib.bundles();
    let stored = views.iter().filter(|view| view.kind == BundleKind::Store);
    for slug in stored.map(|view| view.bundle.slug.as_str()) {
        if slug.starts_with(current) {
            all.extend(in_bundle(&format!("{slug}/"), &crib));
        }
    }
    all
}

/// Tags of tools.
pub(crate) fn tags(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let Ok(crib) = Crib::open() else {
        return Vec::new();
    };
    let specs = offered(&crib);
    let tags: BTreeSet<&str> = specs
        .iter()
        .flat_map(|spec| spec.tags.iter().map(String::as_str))
        .filter(|tag| tag.starts_with(current))
        .collect();
    tags.into_iter().map(|tag| candidate(tag, "")).collect()
}

/// Names of tools that have files, also of those that cannot be called yet.
pub(crate) fn file_tools(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let Ok(crib) = Crib::open() else {
        return Vec::new();
    };
    let report = crib.tool_files();
    let matching = report
        .files
        .iter()
        .filter(|file| file.name.starts_with(current));
    matching
        .map(|file| {
            let about = file.definition.as_ref();
            let about = about.map_or("its file cannot be loaded", |tool| tool.description());
            candidate(&file.name, about)
        })
        .collect()
}

/// Names of tools that may have tests, and behind `:` those of their tests.
pub(crate) fn trials(current: &OsStr) -> Vec<CompletionCandidate> {
    let word = current.to_str().unwrap_or_default();
    let Some((tool, test)) = word.split_once(':') else {
        return own_tools(current);
    };
    let Ok(crib) = Crib::open() else {
        return Vec::new();
    };
    let report = crib.tool_files();
    let file = report.files.iter().find(|file| file.name == tool);
    let of_file = file.and_then(|file| Some(file.definition.as_ref()?.command()?.clone()));
    let definition = of_file.or_else(|| {
        let entry = crib.registry().find(tool).ok()?;
        crib.command_of(&*crib.record_of(&entry)?)
    });
    let Some(definition) = definition else {
        return Vec::new();
    };
    let tests = &definition.tests;
    tests
        .iter()
        .filter(|known| known.name.starts_with(test))
        .map(|known| {
            let about = known.description.as_deref().unwrap_or_default();
            candidate(&format!("{tool}:{}", known.name), about)
        })
        .collect()
}

/// Keys of settings.
pub(crate) fn settings(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let matching = SETTINGS
        .iter()
        .filter(|setting| setting.key.starts_with(current));
    matching
        .map(|setting| candidate(setting.key, text::first_sentence(setting.effect)))
        .collect()
}

/// Tool names, error codes, settings, problems and fields of files.
pub(crate) fn topics(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut all = tools(current);
    let Some(current) = current.to_str() else {
        return all;
    };
    let codes = ErrorCode::ALL
        .iter()
        .filter(|code| code.as_str().starts_with(&current.to_ascii_uppercase()));
    all.extend(codes.map(|code| candidate(code.as_str(), code.meaning())));
    all.extend(settings(OsStr::new(current)));
    let problems = CODES.iter().filter(|code| code.name.starts_with(current));
    all.extend(problems.map(|code| candidate(code.name, code.meaning)));
    let fields = FIELDS
        .iter()
        .chain(HTTP_FIELDS.iter())
        .filter(|field| field.path.starts_with(current));
    all.extend(fields.map(|field| candidate(field.path, field.meaning)));
    all
}

/// `name=` for each parameter of the tool on the line; after `name=` the values of its enum.
pub(crate) fn parameters(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let words: Vec<String> = std::env::args()
        .skip_while(|word| word != "run" && word != "add")
        .skip(1)
        .collect();
    let Ok(crib) = Crib::open() else {
        return Vec::new();
    };
    let Some(spec) = words
        .iter()
        .filter(|word| !word.starts_with('-'))
        .find_map(|word| Some(crib.registry().find(word).ok()?.spec().clone()))
    else {
        return Vec::new();
    };
    match current.split_once('=') {
        None => names(&spec, current, &words),
        Some((name, value)) if typed_path::is_path(&spec, name) => match crib.workspace_path() {
            Some(workspace) => paths(workspace, name, value),
            None => Vec::new(),
        },
        Some((name, value)) => {
            let mut all = values(&spec, name, value);
            if all.is_empty() && !has_known_values(&spec, name) {
                // The script of bash leaves the words of calls to this program.
                let here = std::env::current_dir().unwrap_or_default();
                all = entries(&here, name, "", value);
            }
            all
        }
    }
}

/// Whether there is nothing but certain values to complete.
fn has_known_values(spec: &ToolSpec, name: &str) -> bool {
    let mut properties = spec.input_schema.properties();
    properties.any(|(known, schema)| {
        let is_text = schema.get("type").is_none_or(|kind| kind == "string");
        known == name && (schema.get("enum").is_some() || !is_text)
    })
}

fn names(spec: &ToolSpec, current: &str, words: &[String]) -> Vec<CompletionCandidate> {
    let given = |name: &str| {
        words
            .iter()
            .any(|word| word.split_once('=').is_some_and(|(known, _)| known == name))
    };
    spec.input_schema
        .properties()
        .filter(|(name, _)| name.starts_with(current) && !given(name))
        .map(|(name, schema)| {
            let about = schema
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default();
            candidate(&format!("{name}="), about)
        })
        .collect()
}

fn values(spec: &ToolSpec, name: &str, current: &str) -> Vec<CompletionCandidate> {
    let Some((_, schema)) = spec
        .input_schema
        .properties()
        .find(|(known, _)| *known == name)
    else {
        return Vec::new();
    };
    let mut values: Vec<String> = match schema.get("enum") {
        Some(Value::Array(values)) => values
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    };
    if schema.get("type").is_some_and(|kind| kind == "boolean") {
        values = vec!["true".into(), "false".into()];
    }
    let matching = values
        .into_iter()
        .filter(|value| value.starts_with(current));
    matching
        .map(|value| CompletionCandidate::new(format!("{name}={value}")))
        .collect()
}

/// How many entries of a directory are looked at.
const MAX_ENTRIES: usize = 10_000;

/// Paths as the command line reads them: of the workspace; behind `./` and `../` from the current directory. Below the workspace both are
/// offered: what is in the current directory is what a person sees.
fn paths(workspace: &Path, name: &str, current: &str) -> Vec<CompletionCandidate> {
    if current.starts_with('/') {
        return Vec::new();
    }
    let here = std::env::current_dir().unwrap_or_default();
    if current.contains('/') && typed_path::counts_from_here(current) {
        return entries(&here, name, "", current);
    }
    let mut all = entries(workspace, name, "", current);
    let is_below =
        typed_path::current_below(workspace).is_some_and(|below| !below.as_os_str().is_empty());
    if is_below {
        all.extend(entries(&here, name, "./", current));
    }
    all
}

/// What a directory has for a word, each with this before it.
fn entries(base: &Path, name: &str, before: &str, word: &str) -> Vec<CompletionCandidate> {
    let (directory, start) = match word.rsplit_once('/') {
        Some((directory, start)) => (format!("{directory}/"), start),
        None => (String::new(), word),
    };
    let Ok(entries) = std::fs::read_dir(base.join(&directory)) else {
        return Vec::new();
    };
    let mut found: Vec<String> = entries
        .take(MAX_ENTRIES)
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let file = entry.file_name().into_string().ok()?;
            let is_hidden = file.starts_with('.') && !start.starts_with('.');
            let end = if entry.path().is_dir() { "/" } else { "" };
            (file.starts_with(start) && !is_hidden)
                .then(|| format!("{name}={before}{directory}{file}{end}"))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().map(CompletionCandidate::new).collect()
}

/// Requests of any standing.
pub(crate) fn requests(current: &OsStr) -> Vec<CompletionCandidate> {
    ids_of_requests(current, None)
}

/// Requests that can be answered.
pub(crate) fn pending(current: &OsStr) -> Vec<CompletionCandidate> {
    ids_of_requests(current, Some(Status::Pending))
}

fn ids_of_requests(current: &OsStr, only: Option<Status>) -> Vec<CompletionCandidate> {
    let Ok(crib) = Crib::open() else {
        return Vec::new();
    };
    let Ok(listing) = crib.approvals().list(only) else {
        return Vec::new();
    };
    // The newest is what someone means.
    let requests = listing.requests.iter().rev();
    let all = requests.map(|queued| {
        let request = &queued.request;
        let about = format!("{}: {}", request.tool, text::shorten(&request.effect, 80));
        (request.id.clone(), about)
    });
    ids(current, all)
}

/// Grants in force.
pub(crate) fn grants(current: &OsStr) -> Vec<CompletionCandidate> {
    let Ok(crib) = Crib::open() else {
        return Vec::new();
    };
    let Ok(list) = crib.grants().list() else {
        return Vec::new();
    };
    let grants = list.grants.into_iter().rev();
    ids(current, grants.map(|grant| (grant.id, grant.tool)))
}

/// Ids of what is held.
pub(crate) fn held(current: &OsStr) -> Vec<CompletionCandidate> {
    let Ok(Ok(items)) = Crib::open().map(|crib| crib.held().list()) else {
        return Vec::new();
    };
    ids(
        current,
        items.into_iter().rev().map(|item| (item.id, item.path)),
    )
}

/// Names of secrets.
pub(crate) fn secrets(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let Ok(Ok(entries)) = Crib::open().map(|crib| crib.secrets().list()) else {
        return Vec::new();
    };
    let matching = entries
        .iter()
        .filter(|entry| entry.name.as_str().starts_with(current));
    matching
        .map(|entry| candidate(entry.name.as_str(), &entry.binding.hosts().join(", ")))
        .collect()
}

/// Names of clients.
pub(crate) fn clients(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let Ok(Ok(clients)) = Crib::open().map(|crib| Clients::of_home(crib.home()).list()) else {
        return Vec::new();
    };
    let matching = clients
        .iter()
        .filter(|client| client.name.starts_with(current) && !client.name.starts_with('-'));
    matching.map(|client| candidate(&client.name, "")).collect()
}

/// Programs whose files are known, and files.
pub(crate) fn other_clients(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(word) = current.to_str() else {
        return Vec::new();
    };
    let matching = OtherClient::ALL
        .into_iter()
        .filter(|client| client.word().starts_with(word));
    let mut all: Vec<CompletionCandidate> = matching
        .map(|client| candidate(client.word(), client.title()))
        .collect();
    all.extend(PathCompleter::file().complete(current));
    all
}

/// Short ids, and whole ones for who began to type one.
fn ids(current: &OsStr, all: impl Iterator<Item = (String, String)>) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let mut candidates = Vec::new();
    for (id, about) in all {
        if short(&id).starts_with(current) {
            candidates.push(candidate(short(&id), &about));
        } else if id.starts_with(current) {
            candidates.push(candidate(&id, &about));
        }
    }
    candidates
}

fn candidate(word: &str, about: &str) -> CompletionCandidate {
    let first = about.lines().next().unwrap_or_default();
    CompletionCandidate::new(word.to_owned()).help(Some(first.to_owned().into()))
}
