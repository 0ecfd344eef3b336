//! Names that several tools want: who would have them, who has them now, and who had them before.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolcrib::Crib;
use toolcrib::crib::{Candidate, Contest};
use toolcrib::model::ids::BundleId;
use toolcrib::model::names::WireName;
use toolcrib::model::text::visible;
use toolcrib::spec::manifest::{Bundle, ToolManifest};
use toolcrib::store::StoredTool;

use super::trust::labelled;
use crate::output::Output;

/// Who would have the names of tools that are in the store, once their bundle is on.
pub(super) fn of_records<'a>(
    bundle: &Bundle,
    tools: impl IntoIterator<Item = &'a StoredTool>,
    crib: &Crib,
) -> Vec<Contest> {
    let on = tools.into_iter().filter(|tool| tool.head.is_enabled);
    let candidates = on.map(|tool| Candidate {
        slug: tool.key.slug.clone(),
        version: tool.key.version.clone(),
        name: tool.head.name.clone(),
        modified: Some(tool.head.modified_at),
    });
    crib.contests(bundle, candidates)
}

/// The same, for a person who is asked.
pub(super) fn lines(contests: &[Contest]) -> Vec<String> {
    contests.iter().flat_map(line).collect()
}

fn line(contest: &Contest) -> Vec<String> {
    let Contest {
        name, tool, holder, ..
    } = contest;
    match contest.is_taken {
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

/// Who had the names of a bundle's tools, before something was done.
pub(super) struct Before(BTreeMap<WireName, String>);

impl Before {
    /// Who has them now; and who has the names that tools which come want.
    pub(super) fn of<'a>(
        bundle: BundleId,
        coming: impl IntoIterator<Item = &'a ToolManifest>,
        crib: &Crib,
    ) -> Before {
        let mut names = crib.holders(bundle);
        for tool in coming {
            let name = tool.name.clone();
            let name = name.unwrap_or_else(|| WireName::derive(&tool.slug));
            if let Some(holder) = crib.name_holder(&name) {
                names.insert(name, holder);
            }
        }
        Before(names)
    }

    /// The names that another tool has by now, each with who had it and who has it.
    fn moved(&self, crib: &Crib) -> Vec<(&WireName, &str, String)> {
        let moved = self.0.iter().filter_map(|(name, before)| {
            let now = crib.name_holder(name)?;
            // Another version of the same tool is no other tool.
            let tool = |reference: &str| Some(reference.rsplit_once('@')?.0.to_owned());
            (tool(&now) != tool(before)).then_some((name, before.as_str(), now))
        });
        moved.collect()
    }

    /// Says which names are another tool's by now.
    pub(super) fn say(&self, crib: &Crib, output: &Output) {
        for (name, before, now) in self.moved(crib) {
            let line = format!("`{name}` is `{now}` from now on, no longer `{before}`");
            output.say(&format!("{} {}", output.bold("note:"), visible(&line)));
        }
    }

    /// The same, for a program.
    pub(super) fn document(&self, crib: &Crib) -> Vec<Value> {
        let one = |(name, before, now): (&WireName, &str, String)| json!({"name": name, "was": before, "is": now});
        self.moved(crib).into_iter().map(one).collect()
    }
}
