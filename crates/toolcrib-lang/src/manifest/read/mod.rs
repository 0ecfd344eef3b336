//! From a tree to an [`HttpDefinition`]: every field is read into its type, every template compiled, and what does not go together
//! is said.
//!
//! The shape check has seen keys and types; what it reported is nothing here. The reader goes on after a problem, so that all of them
//! are said at once, and gives a definition only when none is an error.

mod auth;
mod body;
mod doubts;
mod general;
mod headers;
mod names;
mod request;
mod scan;
mod schemas;
mod tests;
mod url;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::fields::FORMAT;
use super::{HttpDefinition, json, reads};
use crate::definition::problem::{Findings, SpannedProblem};
use crate::definition::yaml::Node;
use crate::definition::{At, RequiresApproval};
use crate::model::budget::Budget;
use crate::model::secret::SecretName;
use crate::model::text::shorten;

/// The steps for hints about names that are nearly right.
const MAX_HINTS: u64 = 4_000_000;

/// A property of `argSchema`.
struct Argument {
    name: String,
    /// Where it is declared.
    span: Range<usize>,
    is_required: bool,
    has_default: bool,
    is_described: bool,
    is_used: bool,
}

/// State while a file is read.
struct Reader<'f, 'a> {
    found: &'f mut Findings<'a>,
    arguments: Vec<Argument>,
    /// Where each is in the list, by its name.
    arguments_by_name: HashMap<String, usize>,
    /// The secrets that were named.
    secrets: HashSet<SecretName>,
    /// What may be spent on looking for names that were meant.
    hints: Budget,
    /// Up to where a text was followed in the file, since the next place of interest is mostly behind it.
    followed: Cell<json::Followed>,
    /// Whether schemas are compiled, too.
    is_thorough: bool,
}

/// Reads a file's tree, which has the right shape as far as nothing was found.
pub(super) fn definition(
    root: &Node<'_>,
    stem: &str,
    digest: String,
    is_thorough: bool,
    found: &mut Findings<'_>,
) -> Option<HttpDefinition> {
    let root = At::new(root, &FORMAT);
    let mut reader = Reader {
        found,
        arguments: Vec::new(),
        arguments_by_name: HashMap::new(),
        secrets: HashSet::new(),
        hints: Budget::new(MAX_HINTS, 0),
        followed: Cell::default(),
        is_thorough,
    };
    reader.kind(root);
    let names = reader.names(root, stem);
    let version = reader.version(root);
    let description = reader.description(root);
    let arg_schema = reader.arg_schema(root);
    let output_schema = reader.output_schema(root);
    let requests = reader.requests(root);
    let requires_approval = reader.requires_approval(root);
    if requests.is_some() {
        reader.unused_arguments();
    }
    let only_reads = requests.as_ref().is_none_or(|requests| {
        let mut methods = requests.iter().map(|request| &request.method);
        methods.all(reads)
    });
    let decides = !matches!(requires_approval, Some(RequiresApproval::Unsaid));
    let tags = reader.tags(root, only_reads, decides);
    let limits = general::limits(root);
    let tests = reader.tests(root);
    let arguments = reader.arguments;
    let ((name, slug), version) = (names?, version?);
    let (arg_schema, output_schema, requests) = (arg_schema?, output_schema?, requests?);
    if found.errors() > 0 {
        return None;
    }
    let display_name = root
        .text_of("displayName")
        .filter(|text| !text.trim().is_empty());
    Some(HttpDefinition {
        display_name: display_name.unwrap_or(slug.as_str()).to_owned(),
        name,
        slug,
        version,
        description,
        is_enabled: root.boolean("isEnabled").unwrap_or(true),
        arg_schema,
        output_schema,
        tags,
        requires_approval: requires_approval?,
        keywords: root.texts("keywords"),
        requests,
        limits: limits.call,
        max_sent: limits.max_sent,
        max_received: limits.max_received,
        tests,
        digest,
        meaning: crate::definition::Meaning::default(),
        arguments_at: arguments
            .into_iter()
            .map(|argument| (argument.name, argument.span))
            .collect(),
    })
}

impl Reader<'_, '_> {
    /// Arguments that nothing is made of.
    fn unused_arguments(&mut self) {
        for argument in self.arguments.iter().filter(|argument| !argument.is_used) {
            let name = shorten(&argument.name, 60);
            let message =
                format!("the argument `{name}` is not used: no template has `${{{name}}}`");
            self.found.push(
                SpannedProblem::warning("unused-parameter", argument.span.clone(), message)
                    .help("use it, or remove it"),
            );
        }
    }
}
