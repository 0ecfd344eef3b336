//! The table of routes, one file per topic.

pub mod approvals;
pub mod archive;
pub mod bundles;
pub mod calls;
pub mod catalogue;
pub mod clients;
pub mod events;
pub mod grants;
pub mod health;
pub mod invoke;
mod paging;
pub mod rules;
pub mod secrets;
pub mod stats;
pub mod tools;
mod work;

use http::Method;

use crate::api::{Found, PathTree, Refusal, Route};

/// Every route.
pub struct Routes {
    table: Vec<Route>,
    tree: PathTree,
}

impl Routes {
    /// The whole table.
    pub(crate) fn all() -> Self {
        let parts = [
            bundles::routes(),
            tools::routes(),
            invoke::routes(),
            archive::routes(),
            calls::routes(),
            events::routes(),
            approvals::routes(),
            grants::routes(),
            rules::routes(),
            catalogue::routes(),
            secrets::routes(),
            clients::routes(),
            stats::routes(),
            health::routes(),
        ];
        Routes::of(parts.into_iter().flatten().collect())
    }

    pub(crate) fn of(table: Vec<Route>) -> Self {
        let tree = PathTree::of(&table);
        Routes { table, tree }
    }

    /// Every route, in the order of the documentation.
    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        self.table.iter()
    }

    /// The route at a position of the table.
    pub(crate) fn at(&self, position: usize) -> &Route {
        &self.table[position]
    }

    /// What a path leads to; a path that is no path is refused.
    pub(crate) fn find(&self, method: &Method, path: &str) -> Result<Found, Refusal> {
        self.tree.find(method, path)
    }
}
