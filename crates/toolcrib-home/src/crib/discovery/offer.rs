//! What a model is given where it is given tools by hand: all, or few and those that find and call the others: [`Offer`].

use std::sync::Arc;

use super::Discovery;
use crate::registry::{Availability, Entry, Registry};
use crate::results::READ_RESULT;
use crate::spec::ToolSpec;
use crate::wire::estimated_tokens;

/// Up to how many tools are made to learn whether they can run; of more, a call says so.
const MAX_MADE: usize = 1000;

/// How many tools a model may be given.
#[derive(Debug, Clone, Copy, Default)]
pub struct OfferBounds<'a> {
    /// The most tokens that all of them cost it, as `mcp.tokenBudget` says.
    pub tokens: Option<u64>,
    /// The most tools that its provider takes.
    pub tools: Option<usize>,
    /// The tools that are given anyway, as `mcp.pinned` says.
    pub pinned: &'a [String],
}

/// The tools that a model is given.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Those that it is given.
    pub tools: Vec<Arc<ToolSpec>>,
    /// How many can be found and called by these, where there are too many; `None` if all are given.
    pub to_be_found: Option<usize>,
    /// The names of all that it may call, given or found.
    pub callable: Vec<String>,
}

impl Offer {
    /// Offers all tools of a registry that can be called. Where these are too many, the pinned ones and those that find and call the
    /// others are given; unless `find_tools` is off, since the others would be out of reach.
    pub fn of(registry: &Registry, bounds: &OfferBounds<'_>) -> Self {
        let mut entries = registry.entries();
        let is_made = entries.len() <= MAX_MADE;
        entries.retain(|entry| {
            !entry.is_off()
                && match is_made {
                    true => is_ready(entry),
                    false => entry.availability_at_a_glance() == Availability::Ready,
                }
        });
        let few = match bounds.are_kept_by(&entries) {
            true => None,
            false => few(registry, &entries, bounds.pinned),
        };
        let mut callable: Vec<String> = entries
            .iter()
            .map(|entry| entry.head().name.to_string())
            .collect();
        match few {
            Some(tools) => {
                callable.extend(tools.iter().map(|spec| spec.name.to_string()));
                Offer {
                    tools,
                    to_be_found: Some(entries.len()),
                    callable,
                }
            }
            None => Offer {
                tools: entries
                    .iter()
                    .map(|entry| Arc::clone(entry.spec()))
                    .collect(),
                to_be_found: None,
                callable,
            },
        }
    }
}

impl Offer {
    /// Adds `read_result` to tools that were chosen by hand: a result may be too long whatever tool it is of.
    pub fn with_read_result(
        registry: &Registry,
        mut tools: Vec<Arc<ToolSpec>>,
    ) -> Vec<Arc<ToolSpec>> {
        let is_there = tools.iter().any(|spec| spec.name.as_str() == READ_RESULT);
        let found = registry.find(READ_RESULT).ok().filter(is_ready);
        if let (false, Some(entry)) = (is_there, found) {
            tools.push(Arc::clone(entry.spec()));
        }
        tools
    }
}

impl OfferBounds<'_> {
    fn are_kept_by(&self, entries: &[Arc<Entry>]) -> bool {
        let specs = entries.iter().map(|entry| &**entry.spec());
        self.tools.is_none_or(|most| entries.len() <= most) && self.are_enough_for(specs)
    }

    /// Whether these tools cost no more tokens than this.
    pub fn are_enough_for<'s>(&self, specs: impl IntoIterator<Item = &'s ToolSpec>) -> bool {
        let Some(budget) = self.tokens else {
            return true;
        };
        let mut tokens = 0_u64;
        specs.into_iter().all(|spec| {
            tokens = tokens.saturating_add(estimated_tokens(spec));
            tokens <= budget
        })
    }
}

fn is_ready(entry: &Arc<Entry>) -> bool {
    entry.availability() == Availability::Ready
}

fn few(
    registry: &Registry,
    offered: &[Arc<Entry>],
    pinned: &[String],
) -> Option<Vec<Arc<ToolSpec>>> {
    let ready = |name: &str| registry.find(name).ok().filter(is_ready);
    let find = ready(Discovery::FIND)?;
    let mut few: Vec<Arc<ToolSpec>> = Vec::new();
    for entry in pinned.iter().filter_map(|reference| ready(reference)) {
        let is_offered = offered.iter().any(|one| Arc::ptr_eq(one, &entry));
        if is_offered && few.iter().all(|spec| spec.name != entry.spec().name) {
            few.push(Arc::clone(entry.spec()));
        }
    }
    let mut finds = ToolSpec::clone(find.spec());
    finds.description = Discovery::description(offered);
    few.push(Arc::new(finds));
    let calls = Discovery::names().filter(|name| *name != Discovery::FIND);
    let reads = few
        .iter()
        .all(|spec| spec.name.as_str() != READ_RESULT)
        .then_some(READ_RESULT);
    let always = calls.chain(reads);
    few.extend(always.filter_map(|name| Some(Arc::clone(ready(name)?.spec()))));
    Some(few)
}
