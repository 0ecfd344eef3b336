//! Names that several tools want: who would have them, who has them now, and who had them before.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolcrib::Crib;
use toolcrib::crib::{NameContest, ToolList, ToolRow};
use toolcrib::model::names::WireName;
use toolcrib::model::text::visible;
use toolcrib::registry::Availability;
use toolcrib::spec::manifest::ToolManifest;

use super::list::tools_at;
use super::reference;
use super::trust::labelled;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

/// How many names are asked about at once.
const AT_ONCE: usize = 100;

/// The tools that would own the names of new tools, for a person who is asked.
pub(super) fn lines(contests: &[NameContest]) -> Vec<String> {
    contests.iter().flat_map(line).collect()
}

fn line(contest: &NameContest) -> Vec<String> {
    let NameContest {
        name, tool, holder, ..
    } = contest;
    match contest.taken {
        true => labelled(
            "takes",
            &format!("the name `{name}` from `{holder}`, once it is on: `{name}` is `{tool}` then"),
        ),
        false => labelled(
            "behind",
            &format!("`{name}` stays `{holder}`; this one is `{tool}`"),
        ),
    }
}

/// The name for models of a tool that comes.
pub(super) fn name_of(tool: &ToolManifest) -> String {
    let name = tool.name.clone();
    name.unwrap_or_else(|| WireName::derive(&tool.slug))
        .to_string()
}

/// Which tools have some names and are on, to say who has them after a change.
pub(super) struct Holders {
    names: Vec<String>,
    held: BTreeMap<String, String>,
}

/// A name that leads to another tool than before.
struct Moved<'h> {
    name: &'h str,
    was: &'h str,
    is: &'h str,
}

impl Moved<'_> {
    /// Whether it is another tool, rather than another version of the same.
    fn is_other_tool(&self) -> bool {
        let tool = |reference: &str| Some(reference.rsplit_once('@')?.0.to_owned());
        tool(self.was) != tool(self.is)
    }
}

impl Holders {
    /// The present owners of these names.
    pub(super) fn of(
        names: impl IntoIterator<Item = String>,
        backend: &Backend,
    ) -> Result<Self, CliError> {
        let names: Vec<String> = names.into_iter().collect();
        let mut held = BTreeMap::new();
        for names in names.chunks(AT_ONCE) {
            let list: ToolList = backend.get_as(&tools_at(&[("names", &names.join(","))]))?;
            let is_on = |row: &ToolRow| !matches!(row.availability, Availability::Disabled { .. });
            let rows = list.tools.into_iter().map(|tool| tool.row);
            held.extend(
                rows.filter(is_on)
                    .map(|row| (row.name.clone(), reference(&row))),
            );
        }
        Ok(Holders { names, held })
    }

    /// The present owners of these names, in a crib of this process.
    pub(super) fn here(names: impl IntoIterator<Item = String>, crib: &Crib) -> Self {
        let names: Vec<String> = names.into_iter().collect();
        let holder = |name: &String| {
            let entry = crib.registry().find(name).ok()?;
            (!entry.is_off()).then(|| (name.clone(), entry.spec().reference()))
        };
        let held = names.iter().filter_map(holder).collect();
        Holders { names, held }
    }

    /// The present owners of the same names.
    pub(super) fn now(&self, backend: &Backend) -> Result<Self, CliError> {
        Holders::of(self.names.clone(), backend)
    }

    fn moved<'h>(&'h self, now: &'h Holders) -> impl Iterator<Item = Moved<'h>> {
        self.held.iter().filter_map(|(name, was)| {
            let is = now.held.get(name)?;
            (was != is).then_some(Moved { name, was, is })
        })
    }

    /// Says which names lead to another tool or version than before.
    pub(super) fn say_changes(&self, now: &Holders, output: &Output) {
        for Moved { name, is, .. } in self.moved(now) {
            let (name, is) = (visible(name), visible(is));
            output.say(&format!("`{name}` is `{is}` from now on"));
        }
    }

    /// Warns of names that are another tool's by now.
    pub(super) fn warn(&self, now: &Holders, output: &Output) {
        for moved in self.moved(now).filter(Moved::is_other_tool) {
            let Moved { name, was, is } = moved;
            let line = format!("`{name}` is `{is}` from now on, no longer `{was}`");
            output.say(&format!("{} {}", output.bold("note:"), visible(&line)));
        }
    }

    /// Names that are another tool's by now, for a program.
    pub(super) fn document(&self, now: &Holders) -> Vec<Value> {
        let moved = self.moved(now).filter(Moved::is_other_tool);
        moved
            .map(|Moved { name, was, is }| json!({"name": name, "was": was, "is": is}))
            .collect()
    }
}
