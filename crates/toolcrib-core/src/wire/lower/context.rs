//! What one lowering works with: [`Context`].

use std::collections::HashSet;

use super::node::{ANNOTATIONS, MAX_NODES, Node};
use super::refs::Definitions;
use super::{Dialect, Trouble};
use crate::model::text;

/// The definitions, the losses so far, and how much is left to spend.
pub(super) struct Context {
    pub(super) dialect: Dialect,
    pub(super) definitions: Definitions,
    losses: Vec<(String, String)>,
    budget: usize,
}

impl Context {
    pub(super) fn new(definitions: Definitions, dialect: Dialect) -> Self {
        Context {
            dialect,
            definitions,
            losses: Vec::new(),
            budget: MAX_NODES,
        }
    }

    /// Reports a loss.
    pub(super) fn lose(&mut self, at: &str, reason: impl Into<String>) {
        self.losses.push((at.to_owned(), reason.into()));
    }

    /// How many losses there are; see [`forget_since`](Context::forget_since).
    pub(super) fn mark(&self) -> usize {
        self.losses.len()
    }

    /// Takes back the losses since a mark, for a part that is left out altogether.
    pub(super) fn forget_since(&mut self, mark: usize) -> Vec<(String, String)> {
        self.losses.split_off(mark)
    }

    /// Reports that a keyword is left out, and what becomes of what it said.
    pub(super) fn lose_constraint(&mut self, at: &str, keyword: &str, why: &str) {
        let keyword = text::shorten(keyword, 64);
        let consolation = match keyword.as_str() {
            "default" => "; Toolcrib still fills it in when the argument is left out",
            keyword if ANNOTATIONS.contains(&keyword) => "",
            _ => "; Toolcrib still enforces it when the tool is called",
        };
        self.lose(at, format!("`{keyword}` is left out: {why}{consolation}"));
    }

    /// Takes the keywords out of a schema that the provider does not take, and reports each.
    pub(super) fn keep_only(&mut self, node: &mut Node, allowed: &[&str]) {
        for entry in node.take_words() {
            if allowed.contains(&entry.keyword.as_str()) {
                node.adopt(entry);
            } else if entry.keyword != "title" {
                let why = format!("{} does not take it", self.dialect.label());
                self.lose_constraint(&entry.place(), &entry.keyword, &why);
            }
        }
    }

    /// A copy of the definition a reference names.
    pub(super) fn expand(&mut self, reference: &str) -> Result<Node, Trouble> {
        let Some(node) = self.definitions.get(reference) else {
            return Err(Trouble::whole(
                "",
                format!("`{reference}` is not a definition"),
            ));
        };
        let (node, size) = (node.clone(), node.size());
        self.spend(size)?;
        Ok(node)
    }

    /// Counts schemas made; definitions that multiply each other stop here.
    pub(super) fn spend(&mut self, nodes: usize) -> Result<(), Trouble> {
        match self.budget.checked_sub(nodes) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => {
                let reason =
                    format!("its references, written out, make more than {MAX_NODES} schemas");
                Err(Trouble::whole("", reason))
            }
        }
    }

    /// The losses, each once: a definition written out twice loses the same twice.
    pub(super) fn losses(&self) -> Vec<(String, String)> {
        let mut seen = HashSet::new();
        self.losses
            .iter()
            .filter(|loss| seen.insert(*loss))
            .cloned()
            .collect()
    }
}
