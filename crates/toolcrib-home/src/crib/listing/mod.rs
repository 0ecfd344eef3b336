//! Tools and bundles page by page, for front ends that cannot show all at once.
//!
//! The order is one that does not change while things are switched, called or made again, and a token says after what a page begins, not
//! how many came before: what comes or goes between two pages makes no one else appear twice or not at all.
//!
//! A token carries what was asked for, so that it can be sent alone; with other words than its own it is refused.

mod bundles;
mod token;
mod tools;

pub use bundles::{BundlePage, BundleQuery};
pub(super) use tools::{Order, has_tags};
pub use tools::{ToolPage, ToolQuery};

/// How many rows there are on a page when no one says.
pub const DEFAULT_PAGE: usize = 50;
/// How many rows there are on a page at most.
pub const MAX_PAGE: usize = 500;

/// How many rows to show, where 0 is the default.
fn page_size(wanted: usize) -> usize {
    match wanted {
        0 => DEFAULT_PAGE,
        wanted => wanted.min(MAX_PAGE),
    }
}
