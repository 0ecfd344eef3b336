//! Where certain variables stand in a text, and where their values go: [`shape`].
//!
//! For those who write a text around values: every place of a variable with a given prefix, and which other variables may come to
//! hold its value. The order of running is not looked at: a variable that is ever set from a value holds it everywhere.

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use super::shaper::shape;

/// The kind of place where a variable stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    /// The first word of a command.
    Command,
    /// Another word of a command.
    Argument,
    /// What a variable is set to.
    Assignment,
    /// An element of an array.
    Element,
    /// A word that a loop goes over.
    Loop,
    /// The word of `case`, or a pattern of it.
    Case,
    /// The file of a redirection.
    Redirect,
    /// A here-string or here-document.
    Input,
    /// A word of `[[ … ]]`.
    Test,
    /// An arithmetic expression or a subscript.
    Arithmetic,
}

/// A variable in a text.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) variable: String,
    pub(crate) spot: Spot,
    pub(crate) quoted: bool,
    /// The command it is a word of, if that is fixed.
    pub(crate) command: Option<String>,
    /// Whether its value can get anywhere else than into this one command's words: pipes, substitutions, variables.
    pub(crate) flows: bool,
}

/// The variables of a prefix in a text.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    pub(crate) sites: Vec<Site>,
    /// Which variable may hold which others' values.
    pub(super) holds: BTreeMap<String, BTreeSet<String>>,
    /// Which variable may begin with which others' values.
    pub(super) begins: BTreeMap<String, BTreeSet<String>>,
    /// Names whose value is used as a name or expanded once more: `${!x}`, `${x@P}`, `declare -n`.
    pub(crate) names_others: BTreeSet<String>,
    /// Variables that become several words where they stand without quotes.
    pub(crate) split: BTreeSet<String>,
    /// The names of functions.
    pub(crate) functions: BTreeSet<String>,
}

/// What stands for everything that commands read: pipes, files, here-documents.
pub(super) const INPUT: &str = "<";
/// What stands for the arguments of functions and of the text.
pub(super) const POSITIONAL: &str = "@";

impl Shape {
    /// The variables whose values may be in another one.
    pub(crate) fn sources(&self, name: &str) -> BTreeSet<String> {
        reach(&self.holds, name, "")
    }

    /// The same without what came by way of a command's output.
    pub(crate) fn copies(&self, name: &str) -> BTreeSet<String> {
        reach(&self.holds, name, INPUT)
    }

    /// The variables that another one may begin with the values of.
    pub(crate) fn beginnings(&self, name: &str) -> BTreeSet<String> {
        reach(&self.begins, name, "")
    }
}

/// Everything that leads to a variable, but not through `closed`.
fn reach(edges: &BTreeMap<String, BTreeSet<String>>, name: &str, closed: &str) -> BTreeSet<String> {
    let name = if is_positional(name) {
        POSITIONAL
    } else {
        name
    };
    let mut seen = BTreeSet::from([name.to_owned()]);
    let mut open = vec![name.to_owned()];
    while let Some(name) = open.pop() {
        for other in edges.get(&name).into_iter().flatten() {
            if seen.insert(other.clone()) && other != closed {
                open.push(other.clone());
            }
        }
    }
    seen
}

pub(super) fn is_positional(name: &str) -> bool {
    matches!(name, "@" | "*") || name.bytes().all(|byte| byte.is_ascii_digit())
}
