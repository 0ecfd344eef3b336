//! Bundles page by page: [`Crib::bundle_page`].

use super::page_size;
use super::token::{RowFilter, Token};
use crate::crib::{BundleKind, BundleView, Crib};
use crate::model::error::ToolError;
use crate::model::ids::BundleId;
use crate::registry::Availability;

/// Which bundles to list.
#[derive(Debug, Clone, Default)]
pub struct BundleQuery {
    /// These, by id or slug; none: all.
    pub bundles: Vec<String>,
    /// Also those that are off, in the bin or damaged.
    pub include_disabled: bool,
    /// The most rows; 0: the default of 50. More than 500 count as 500.
    pub limit: usize,
    /// Where the last page ended.
    pub page_token: Option<String>,
}

/// Some bundles: Toolcrib's own first, then those of the store and of MCP servers by slug.
#[derive(Debug, Default)]
pub struct BundlePage {
    /// The bundles.
    pub bundles: Vec<BundleView>,
    /// Where to go on; none if that was all.
    pub next_page_token: Option<String>,
}

impl Crib {
    /// Lists bundles. A page token that is none, or of another list, is `USAGE`.
    pub fn bundle_page(&self, query: &BundleQuery) -> Result<BundlePage, ToolError> {
        let mut asked = RowFilter {
            tags: Vec::new(),
            bundles: query.bundles.clone(),
            include_disabled: query.include_disabled,
            size: query.limit,
        };
        let mut after = None;
        if let Some(token) = &query.page_token {
            let token = Token::read(token, "bundles", &asked)?;
            after = Some(token.after);
            asked = RowFilter {
                size: match query.limit {
                    0 => token.asked.size,
                    limit => limit,
                },
                ..token.asked
            };
        }
        let size = page_size(asked.size);
        let mut rows: Vec<((String, String), BundleView)> = self
            .bundles()
            .into_iter()
            .filter(|view| is_wanted(view, &asked))
            .map(|view| (order(&view), view))
            .filter(|(order, _)| after.as_ref().is_none_or(|after| order > after))
            .collect();
        rows.sort_by(|(one, _), (other, _)| one.cmp(other));
        let has_more = rows.len() > size;
        rows.truncate(size);
        let last = rows.last().filter(|_| has_more);
        let next = last.map(|(order, _)| Token {
            list: "bundles".to_owned(),
            asked,
            after: order.clone(),
        });
        Ok(BundlePage {
            next_page_token: next.map(|token| token.to_text()),
            bundles: rows.into_iter().map(|(_, view)| view).collect(),
        })
    }
}

fn is_wanted(view: &BundleView, asked: &RowFilter) -> bool {
    let (id, slug) = (view.bundle.bundle_id, view.bundle.slug.as_str());
    let is_named = |wanted: &String| match BundleId::parse(wanted) {
        Ok(wanted) => wanted == id,
        Err(_) => wanted == slug,
    };
    let is_on = || view.availability() == Availability::Ready;
    (asked.bundles.is_empty() || asked.bundles.iter().any(is_named))
        && (asked.include_disabled || is_on())
}

/// Where a bundle is in the list.
fn order(view: &BundleView) -> (String, String) {
    let id = view.bundle.bundle_id.to_string();
    match view.kind {
        // Their ids are sorted; no slug is empty.
        BundleKind::BuiltIn | BundleKind::Files => (String::new(), id),
        BundleKind::Store | BundleKind::Upstream => (view.bundle.slug.to_string(), id),
    }
}
