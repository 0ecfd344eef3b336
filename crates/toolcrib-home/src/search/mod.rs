//! Finding tools by words: [`Index`], in memory, kept up to date change by change.
//!
//! Words are what is between spaces, dashes, underscores and other signs, in Unicode normal form C and with their case folded (`words`). Every word of
//! a query has to match. How well a tool matches is its [`Class`]; within a class the newest comes first, then by slug, bundle and version. The rank is
//! a pure function of a document and a query ([`class_of`], [`TieBreak`]), which the index must agree with for every input: a property test compares the
//! two.
//!
//! What this leaves to others: which tools there are, and which of them someone may see.
//!
//! Why not tantivy: its scores rank by statistics of all documents, while this order is exact and has to be the same on every
//! machine. Its changes become visible with a commit, while a tool that was just added has to be found by the next search.

mod bits;
mod build;
mod classes;
mod dictionary;
mod edit_distance;
mod index;
pub mod intent;
mod merge;
mod position;
mod rank;
mod segment;
mod words;

use jiff::Timestamp;

pub use index::{Index, IndexSize};
pub use position::Position;
pub use rank::{TieBreak, class_of};

/// How well a tool matches a query: S4's `prefix > whole-word > fuzzy`; among equals recency counts ([`TieBreak`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A field (slug, name, alias, title, description, a tag, a keyword) starts with the query.
    Prefix,
    /// Every word of the query is a word of the tool.
    WholeWord,
    /// Every word of the query begins a word of the tool, or is near one: one edit from 4 runes on, two from 8; a swap of neighbours is one edit.
    Fuzzy,
}

impl Class {
    /// All of them, best first.
    pub const ALL: [Class; 3] = [Class::Prefix, Class::WholeWord, Class::Fuzzy];

    /// The word for it, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Prefix => "prefix",
            Class::WholeWord => "whole-word",
            Class::Fuzzy => "fuzzy",
        }
    }
}

/// What a tool can be found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Which one it is; given back in hits.
    pub id: u64,
    /// The name for people and URLs.
    pub slug: String,
    /// The name for models.
    pub name: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// The name for lists.
    pub title: String,
    /// What it does.
    pub description: String,
    /// Categories.
    pub tags: Vec<String>,
    /// More words.
    pub keywords: Vec<String>,
    /// `bundle@version` and anything else that distinguishes documents of one slug and time: it breaks the last ties. It has to be the same
    /// in each process, and no two documents of one slug and time may share it, or a page that ends between them loses one.
    pub tie: String,
    /// Last structural change; tools that have none are the oldest.
    pub modified: Option<Timestamp>,
}

/// A tool that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The document.
    pub id: u64,
    /// How well it matches.
    pub class: Class,
}

/// Some hits, best first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The hits.
    pub hits: Vec<Hit>,
    /// Where to go on; none if that was all.
    pub next: Option<Position>,
}
