//! `toolcrib list`: what tools there are.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib::Crib;
use toolcrib::crib::{BundleKind, BundleView, Discovery, ToolRow};
use toolcrib::model::text::first_sentence;
use toolcrib::registry::{Availability, Entry, Source};
use toolcrib::source::{Report, Standing, ToolFile};
use toolcrib::store::Damage;
use toolcrib::wire::{estimated_tokens, tokens_of};

use super::{Done, standing, stored, word};
use crate::args::ListArgs;
use crate::failure::CliError;
use crate::output::Output;

/// All that rows are made from.
pub(super) struct Listing<'c> {
    crib: &'c Crib,
    files: Arc<Report>,
}

impl<'c> Listing<'c> {
    pub(super) fn of(crib: &'c Crib) -> Self {
        Listing {
            crib,
            files: crib.tool_files(),
        }
    }

    pub(super) fn row(&self, entry: &Arc<Entry>) -> ToolRow {
        self.crib.tool_row_by(entry, &self.files)
    }

    /// How a tool stands, in one word: `behind` is a version of a tool of which another has the name.
    pub(super) fn state(&self, entry: &Arc<Entry>) -> &'static str {
        let word = state(entry, self.files.file_of(entry));
        match Behind::of(entry, self.crib) {
            Some(behind) if word == "ready" && behind.is_version => "behind",
            Some(_) if word == "ready" => "shadowed",
            _ => word,
        }
    }

    /// A tool's name; of a stored one its reference, where a call by the name reaches another tool: versions are told apart by it. For
    /// people a mark tells of looks that may deceive.
    pub(super) fn called(&self, entry: &Entry, plain: bool) -> String {
        let spec = entry.spec();
        let is_stored = entry.source() == Source::Store;
        let name = match is_stored && self.crib.registry().shadower(entry).is_some() {
            true => spec.reference(),
            false if plain => spec.name.to_string(),
            false => stored::typed_name(spec).to_owned(),
        };
        match plain || spec.warnings().is_empty() {
            true => name,
            false => format!("{name} (!)"),
        }
    }

    /// Says what the mark behind a name means.
    pub(super) fn explain_mark(shown: &[&Arc<Entry>], output: &Output) {
        let marked = shown
            .iter()
            .find(|entry| !entry.spec().warnings().is_empty());
        if let Some(entry) = marked.filter(|_| !output.plain()) {
            let reference = word(&entry.spec().reference());
            output.say(&output.dim(&format!(
                "(!) it may not be what it looks like: toolcrib show {reference}"
            )));
        }
    }
}

/// The tool that has another one's name.
pub(super) struct Behind {
    by: Arc<Entry>,
    /// Whether it is another version of the same tool.
    pub(super) is_version: bool,
}

impl Behind {
    /// What a tool stands behind, if anything: then no call by its name reaches it.
    pub(super) fn of(entry: &Entry, crib: &Crib) -> Option<Self> {
        let by = crib.registry().shadower(entry)?;
        let (one, other) = (entry.spec(), by.spec());
        let is_version = by.source() == entry.source()
            && (&one.bundle, &one.slug) == (&other.bundle, &other.slug)
            && one.version != other.version;
        Some(Behind { by, is_version })
    }

    /// Who has the name, and how the one behind is called.
    pub(super) fn in_words(&self, entry: &Entry) -> String {
        let (spec, holder) = (entry.spec(), self.by.spec());
        let name = &spec.name;
        let other = match self.is_version {
            true => format!("is its version `{}`", holder.version),
            false => format!("is `{}`, which shadows it", holder.reference()),
        };
        // Two files of one name differ in nothing that could be typed.
        let call = match holder.reference() == spec.reference() {
            true => String::new(),
            false => format!("; this one is called as `{}`", spec.reference()),
        };
        format!("`{name}` {other}{call}")
    }
}

/// Says which tools could be called if one that cannot did not have their name.
fn say_whose_name_is_taken(crib: &Crib, output: &Output) {
    const MOST: usize = 5;
    let mut names = BTreeSet::new();
    for (below, by) in crib.registry().shadowed() {
        // Files that lose their names are warned of anyway.
        let is_wanted = below.source() == Source::Store
            && below.availability() == Availability::Ready
            && by.availability() != Availability::Ready
            && names.insert(below.spec().name.clone());
        if is_wanted && names.len() <= MOST {
            let (name, this) = (&by.spec().name, by.spec().reference());
            let yours = below.spec().reference();
            output.say(&format!(
                "`{name}` is `{this}`, which cannot be called now; the next of this name is `{yours}`: toolcrib run {}",
                word(&yours)
            ));
        }
    }
}

/// The tools that were asked for, those that are off or cannot run too.
fn asked_for(args: &ListArgs, crib: &Crib) -> Result<Vec<Arc<Entry>>, CliError> {
    let mut all = match &args.bundle {
        // Whoever names a bundle wants to know what is in it, whoever has the names.
        Some(bundle) => crib.bundle_tools(crib.bundle(bundle)?.bundle.bundle_id),
        None if args.all => crib.registry().all_entries(),
        None => crib.registry().entries(),
    };
    all.retain(|entry| {
        let spec = entry.spec();
        let effects = spec.effects.tags();
        let has = |tag: &String| spec.tags.contains(tag) || effects.contains(&tag.as_str());
        args.tags.iter().all(has)
    });
    Ok(all)
}

pub(super) fn list(args: &ListArgs, crib: &Crib, output: &Output) -> Done {
    let all = asked_for(args, crib)?;
    let listing = Listing::of(crib);
    let shown: Vec<&Arc<Entry>> = all
        .iter()
        .filter(|entry| args.all || entry.availability() == Availability::Ready)
        .collect();
    let damaged = damaged(args, crib);
    if output.json() {
        let rows = shown.iter().map(|entry| {
            let mut row = json!(listing.row(entry));
            if args.tokens {
                row["tokens"] = estimated_tokens(entry.spec()).into();
            }
            row
        });
        let lost = damaged.iter().map(|damage| damaged_json(damage, crib));
        output.document(&rows.chain(lost).collect::<Vec<_>>());
        return Ok(ExitCode::SUCCESS);
    }
    // Programs count columns: with `--plain` they are the same whatever there is. A version that has not the name is told by its
    // reference.
    let columns = Columns {
        version: !output.plain() && has_versions(&shown),
        state: args.all,
        tokens: args.tokens,
        plain: output.plain(),
    };
    let rows = shown.iter().map(|entry| columns.cells(entry, &listing));
    let lost = damaged.iter().map(|damage| columns.damaged(damage, crib));
    let rows: Vec<Vec<String>> = rows.chain(lost).collect();
    if !rows.is_empty() || output.plain() {
        output.table(&columns.headings(), &rows);
        Listing::explain_mark(&shown, output);
    }
    if args.tokens {
        let of_shown = shown.iter().map(|entry| estimated_tokens(entry.spec()));
        let is_all = !args.all && args.bundle.is_none() && args.tags.is_empty();
        let budget = is_all.then(|| crib.config().mcp().token_budget);
        let tokens: u64 = of_shown.sum();
        output.say(&tokens_in_words(tokens, budget));
        if budget.flatten().is_some_and(|budget| tokens > budget) {
            say_what_clients_are_given(crib, &shown, output);
        }
    }
    let files = &listing.files;
    let is_filtered = args.bundle.is_some() || !args.tags.is_empty();
    let untrusted = match args.all || is_filtered {
        true => 0,
        false => files.untrusted(),
    };
    let hidden = (all.len() - shown.len()).saturating_sub(untrusted);
    let reasons: BTreeSet<String> = all.iter().filter_map(|entry| standing(entry).1).collect();
    let shared = if args.all { None } else { shared_lack(&all) };
    if let Some((count, lack)) = shared.filter(|_| !shown.is_empty()) {
        output.say(&format!("{count} tools cannot run here: {lack}"));
    }
    let more = match is_filtered {
        true => "add --all",
        false => "toolcrib list --all",
    };
    match (shown.is_empty(), reasons.first()) {
        (true, None) if is_filtered => {
            output.say(&nothing(args, crib)?);
        }
        (true, Some(reason)) if reasons.len() == 1 => {
            output.say(&format!("no tool can run here: {reason}"));
        }
        _ if hidden == 1 => {
            let line = format!("1 more tool is off or cannot run here: {more}");
            output.say(&output.dim(&line));
        }
        _ if hidden > 1 => {
            output.say(&output.dim(&format!(
                "{hidden} more tools are off or cannot run here: {more}"
            )));
        }
        _ => {}
    }
    if !args.all && !is_filtered {
        say_whose_name_is_taken(crib, output);
    }
    match untrusted {
        0 => {}
        1 => output.say("1 tool of this project is not trusted yet: toolcrib trust"),
        count => output.say(&format!(
            "{count} tools of this project are not trusted yet: toolcrib trust"
        )),
    }
    Ok(ExitCode::SUCCESS)
}

/// What tools cost a model together. With the budget of MCP clients' lists, if these are all the tools there are: `Some(None)` if there is none.
pub(super) fn tokens_in_words(tokens: u64, budget: Option<Option<u64>>) -> String {
    let about = format!("about {tokens} tokens together, by an estimate");
    match budget {
        None => about,
        Some(None) => {
            format!("{about}; MCP clients are given all of them (`mcp.tokenBudget` is 0)")
        }
        Some(Some(budget)) if tokens <= budget => {
            format!("{about}; MCP clients are given all of them (`mcp.tokenBudget` is {budget})")
        }
        Some(Some(budget)) => format!(
            "{about}: more than `mcp.tokenBudget`, {budget}. MCP clients are given `find_tools` and what `mcp.pinned` names"
        ),
    }
}

/// What MCP clients are given instead of everything, what that costs, and which pins name nothing.
fn say_what_clients_are_given(crib: &Crib, offered: &[&Arc<Entry>], output: &Output) {
    let registry = crib.registry();
    let mut given = BTreeMap::new();
    for pinned in &crib.config().mcp().pinned {
        match registry.find(pinned) {
            Ok(entry) if entry.availability() == Availability::Ready => {
                let spec = entry.spec();
                given.insert(spec.name.to_string(), estimated_tokens(spec));
            }
            Ok(_) => {}
            Err(error) => output.say(&format!(
                "`mcp.pinned` names what is not there: {}",
                error.message()
            )),
        }
    }
    let offered: Vec<Arc<Entry>> = offered.iter().map(|entry| Arc::clone(entry)).collect();
    for entry in Discovery::names().filter_map(|name| registry.find(name).ok()) {
        let spec = entry.spec();
        let name = spec.name.as_str();
        let tokens = match name == Discovery::FIND {
            true => {
                let description = Discovery::description(&offered);
                tokens_of(name, &description, spec.input_schema.as_value())
            }
            false => estimated_tokens(spec),
        };
        given.insert(name.to_owned(), tokens);
    }
    output.say(&format!(
        "that is {} tools, about {} tokens: {}",
        given.len(),
        given.values().sum::<u64>(),
        given.keys().cloned().collect::<Vec<_>>().join(", ")
    ));
}

/// Tools whose files are damaged, where all are asked for. What their tags were nobody knows.
fn damaged(args: &ListArgs, crib: &Crib) -> Vec<Damage> {
    if !args.all || !args.tags.is_empty() {
        return Vec::new();
    }
    let asked = args.bundle.as_ref().map(|bundle| crib.bundle(bundle).ok());
    let mut damage = crib.store().damage();
    damage.retain(|one| {
        let is_tool = one.file.ends_with(".json") && !one.file.ends_with("/bundle.json");
        let is_there = |view: &BundleView| view.bundle.bundle_id == one.bundle;
        is_tool
            && asked
                .as_ref()
                .is_none_or(|view| view.as_ref().is_some_and(is_there))
    });
    damage
}

/// What a damaged file is listed as, and the bundle it is in.
fn damaged_name(damage: &Damage, crib: &Crib) -> (String, String) {
    let bundle = match crib.bundle(&damage.bundle.to_string()) {
        Ok(view) => view.bundle.slug.to_string(),
        Err(_) => damage.bundle.to_string(),
    };
    let name = match &damage.tool {
        Some((slug, version)) => format!("{bundle}/{slug}@{version}"),
        None => damage.file.clone(),
    };
    (name, bundle)
}

fn damaged_json(damage: &Damage, crib: &Crib) -> Value {
    let (name, bundle) = damaged_name(damage, crib);
    let reason = damage.reason.clone();
    let mut row = json!({
        "name": name,
        "bundle": bundle,
        "bundleID": damage.bundle,
        "source": "store",
        "availability": Availability::Unavailable { reason },
        "file": damage.file,
    });
    if let (Some((slug, version)), Value::Object(fields)) = (&damage.tool, &mut row) {
        fields.insert("slug".to_owned(), json!(slug));
        fields.insert("version".to_owned(), json!(version));
    }
    row
}

/// Why there is nothing to list where somebody asked for a bundle or for tags.
fn nothing(args: &ListArgs, crib: &Crib) -> Result<String, CliError> {
    let Some(bundle) = &args.bundle else {
        return Ok("no tool has these tags".to_owned());
    };
    let view = crib.bundle(bundle)?;
    let slug = word(view.bundle.slug.as_str());
    Ok(match (view.tools, view.kind) {
        (0, BundleKind::Store) => {
            format!("there is no tool in it: `toolcrib bundle add {slug} FILE` puts one there")
        }
        (0, BundleKind::Upstream) => format!(
            "nothing of it was accepted yet: `toolcrib upstream accept {slug}` shows its tools and asks"
        ),
        (0, _) => "there is no tool in it".to_owned(),
        _ => "none of its tools has these tags".to_owned(),
    })
}

/// What most of the tools that cannot run lack, as a workspace, and how many they are; `None` if no two of them lack the same.
fn shared_lack(all: &[Arc<Entry>]) -> Option<(usize, String)> {
    let mut lacks: BTreeMap<String, usize> = BTreeMap::new();
    for entry in all {
        if let Availability::Unavailable { reason } = entry.availability() {
            *lacks.entry(reason).or_default() += 1;
        }
    }
    let (lack, count) = lacks.into_iter().max_by_key(|(_, count)| *count)?;
    (count > 1).then_some((count, lack))
}

/// How a tool stands, in one word.
pub(super) fn state(entry: &Entry, file: Option<&ToolFile>) -> &'static str {
    match file.map(|file| &file.standing) {
        Some(Standing::Shadowed { .. }) => "shadowed",
        Some(Standing::Broken { .. }) => "broken",
        _ => match entry.availability() {
            Availability::Disabled { reason, .. } if reason == "untrusted" => "untrusted",
            _ => standing(entry).0,
        },
    }
}

/// Whether a tool is listed in more than one version.
pub(super) fn has_versions(shown: &[&Arc<Entry>]) -> bool {
    let mut seen = BTreeSet::new();
    let mut tools = shown.iter().map(|entry| {
        let spec = entry.spec();
        (spec.bundle.as_str(), spec.slug.as_str())
    });
    tools.any(|tool| !seen.insert(tool))
}

/// Which columns a table has besides those of every one.
struct Columns {
    /// The version, where a tool has several.
    version: bool,
    /// How it stands.
    state: bool,
    /// What it costs a model.
    tokens: bool,
    /// For programs: nothing but the name stands in its column.
    plain: bool,
}

impl Columns {
    fn headings(&self) -> Vec<&'static str> {
        let mut headings = vec!["NAME"];
        if self.version {
            headings.push("VERSION");
        }
        headings.extend(["EFFECTS", "FROM"]);
        if self.state {
            headings.push("STATE");
        }
        if self.tokens {
            headings.push("TOKENS");
        }
        headings.push("DESCRIPTION");
        headings
    }

    fn damaged(&self, damage: &Damage, crib: &Crib) -> Vec<String> {
        let (name, bundle) = damaged_name(damage, crib);
        let mut cells = vec![name];
        if self.version {
            let version = damage.tool.as_ref().map(|(_, version)| version.to_string());
            cells.push(version.unwrap_or_else(|| "-".to_owned()));
        }
        cells.extend(["unknown".to_owned(), bundle]);
        if self.state {
            cells.push("damaged".to_owned());
        }
        if self.tokens {
            cells.push("-".to_owned());
        }
        cells.push(damage.reason.clone());
        cells
    }

    fn cells(&self, entry: &Arc<Entry>, listing: &Listing<'_>) -> Vec<String> {
        let spec = entry.spec();
        let mut cells = vec![listing.called(entry, self.plain)];
        if self.version {
            cells.push(spec.version.to_string());
        }
        cells.push(match spec.effects.tags().as_slice() {
            [] => "unknown".to_owned(),
            tags => tags.join(","),
        });
        cells.push(spec.bundle.to_string());
        if self.state {
            cells.push(listing.state(entry).to_owned());
        }
        if self.tokens {
            cells.push(estimated_tokens(spec).to_string());
        }
        cells.push(first_sentence(&spec.description).to_owned());
        cells
    }
}
