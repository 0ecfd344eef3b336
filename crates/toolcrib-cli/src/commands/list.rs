//! `toolcrib list`: what tools there are.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use toolcrib::model::ids::{BundleId, ToolId};
use toolcrib::model::manifest::ToolKind;
use toolcrib::registry::{Availability, Entry, Source};
use toolcrib::source::{Report, Standing, ToolFile};
use toolcrib::store::StoredTool;
use toolcrib::{Crib, Effects};

use super::{Done, source, standing, stored};
use crate::args::ListArgs;
use crate::failure::CliError;
use crate::output::Output;

/// One tool in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row<'a> {
    name: &'a str,
    slug: &'a str,
    bundle: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    description: &'a str,
    effects: Effects,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [String],
    source: &'static str,
    availability: Availability,
    call_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_called_at: Option<Timestamp>,
    /// Its file, for a tool that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    /// Which tool has its name, if another one has.
    #[serde(skip_serializing_if = "Option::is_none")]
    shadowed_by: Option<String>,
    /// What a person should know before trusting its looks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<&'static str>,
    /// What only tools of the store have.
    #[serde(flatten)]
    stored: Option<Stored>,
}

/// What a list says of a tool of the store besides, in S4's words.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    #[serde(rename = "bundleID")]
    bundle_id: BundleId,
    #[serde(rename = "toolID")]
    tool_id: ToolId,
    display_name: String,
    #[serde(rename = "type")]
    kind: ToolKind,
    is_enabled: bool,
    created_at: Timestamp,
    modified_at: Timestamp,
}

impl Stored {
    fn of(record: &StoredTool) -> Self {
        let head = &record.head;
        Stored {
            bundle_id: record.key.bundle,
            tool_id: head.tool_id,
            display_name: head.display_name.clone(),
            kind: head.kind,
            is_enabled: head.is_enabled,
            created_at: head.created_at,
            modified_at: head.modified_at,
        }
    }
}

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

    pub(super) fn row<'a>(&'a self, entry: &'a Arc<Entry>) -> Row<'a> {
        let spec = entry.spec();
        let file = self.files.file_of(entry);
        let by_file = file.and_then(|file| match &file.standing {
            Standing::Shadowed { by, .. } => Some(by.clone()),
            _ => None,
        });
        let by_name = || Some(self.crib.registry().shadower(entry)?.spec().reference());
        let usage = self.crib.usage(entry);
        Row {
            name: spec.name.as_str(),
            slug: spec.slug.as_str(),
            bundle: spec.bundle.as_str(),
            version: spec.version.as_str(),
            title: spec.title.as_deref(),
            description: &spec.description,
            effects: spec.effects,
            tags: &spec.tags,
            source: source(entry),
            availability: entry.availability(),
            call_count: usage.call_count,
            last_called_at: usage.last_called_at,
            file: file.map(|file| file.shown.as_str()),
            shadowed_by: by_file.or_else(by_name),
            warnings: spec.warnings(),
            stored: stored::record(entry, self.crib).as_deref().map(Stored::of),
        }
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

    /// Whether a call by its name reaches a tool that is no version of it.
    pub(super) fn is_shadowed_by_another(&self, entry: &Entry) -> bool {
        Behind::of(entry, self.crib).is_some_and(|behind| !behind.is_version)
    }

    /// Whether a call by its name reaches another tool.
    fn is_shadowed(&self, entry: &Entry) -> bool {
        self.crib.registry().shadower(entry).is_some()
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
                super::word(&yours)
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
    if output.json() {
        let rows: Vec<Row<'_>> = shown.iter().map(|entry| listing.row(entry)).collect();
        output.document(&rows);
        return Ok(ExitCode::SUCCESS);
    }
    let columns = Columns {
        version: has_versions(&shown),
        state: args.all,
        name: args.bundle.is_none() || args.all,
    };
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|entry| columns.cells(entry, &listing))
        .collect();
    if !rows.is_empty() || output.plain() {
        output.table(&columns.headings(), &rows);
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
        (true, None) if is_filtered => output.say("there is no such tool"),
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
    /// The bare name, also where a call by it reaches another tool.
    name: bool,
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
        headings.push("DESCRIPTION");
        headings
    }

    fn cells(&self, entry: &Arc<Entry>, listing: &Listing<'_>) -> Vec<String> {
        let spec = entry.spec();
        let mark = if spec.warnings().is_empty() {
            ""
        } else {
            " (!)"
        };
        let name = match !self.name && listing.is_shadowed(entry) {
            true => spec.reference(),
            false => spec.name.to_string(),
        };
        let mut cells = vec![format!("{name}{mark}")];
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
        let first = spec.description.lines().next().unwrap_or_default();
        cells.push(first.to_owned());
        cells
    }
}
