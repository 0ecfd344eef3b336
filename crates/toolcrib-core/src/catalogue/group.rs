//! Tools that have something in common, in the order of their rank: [`Group`].

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use rpds::RedBlackTreeSetSync;

use super::Entry;

/// A tool, ordered by who has a name that several want.
#[derive(Clone)]
pub(super) struct Ranked(pub(super) Arc<Entry>);

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.rank(&other.0)
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.0.number() == other.0.number()
    }
}

impl Eq for Ranked {}

/// One tool or more. Nearly always it is one, for which there is no need of a tree.
#[derive(Clone)]
pub(super) enum Group {
    One(Arc<Entry>),
    Many(RedBlackTreeSetSync<Ranked>),
}

impl Group {
    pub(super) fn insert(&mut self, entry: Arc<Entry>) {
        match self {
            Group::One(only) => {
                let mut many = RedBlackTreeSetSync::new_sync();
                many.insert_mut(Ranked(Arc::clone(only)));
                many.insert_mut(Ranked(entry));
                *self = Group::Many(many);
            }
            Group::Many(many) => many.insert_mut(Ranked(entry)),
        }
    }

    /// Takes a tool out; true if that was the last.
    pub(super) fn remove(&mut self, entry: &Arc<Entry>) -> bool {
        match self {
            Group::One(only) => Arc::ptr_eq(only, entry),
            Group::Many(many) => {
                many.remove_mut(&Ranked(Arc::clone(entry)));
                if let (1, Some(Ranked(only))) = (many.size(), many.first()) {
                    *self = Group::One(Arc::clone(only));
                }
                false
            }
        }
    }

    /// The tools, the first in rank first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Entry>> {
        let (one, many) = match self {
            Group::One(only) => (Some(only), None),
            Group::Many(many) => (None, Some(many)),
        };
        let many = many.into_iter().flat_map(RedBlackTreeSetSync::iter);
        one.into_iter().chain(many.map(|Ranked(entry)| entry))
    }

    /// The first that comes after an entry, which need not be in it.
    pub(super) fn after(&self, entry: &Arc<Entry>) -> Option<&Arc<Entry>> {
        match self {
            Group::One(only) => entry.rank(only).is_lt().then_some(only),
            Group::Many(many) => {
                let after = Ranked(Arc::clone(entry));
                let mut rest = many.range::<Ranked, _>((Bound::Excluded(&after), Bound::Unbounded));
                rest.next().map(|Ranked(next)| next)
            }
        }
    }
}
