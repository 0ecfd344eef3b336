//! How tools of files use each other: which one a name in a file means, and in what order they are made.
//!
//! `base-tool` and `use-tool` name tools the way callers do. An unknown tool or a cycle makes the tools that use it unavailable; the
//! others are not touched. Bases come before what builds on them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::definition::LinkFault;
use crate::model::names::{Slug, WireName};
use crate::model::reference::{BundleRef, ToolRef};
use crate::model::text;
use crate::registry::Entry;

use super::definition::FileDefinition;
use super::scope::Scope;

/// A definition in its scope, in the order of precedence.
pub(super) struct Node<'a> {
    pub(super) scope: Scope,
    pub(super) definition: &'a FileDefinition,
}

/// The owner of a tool that has no file. Those of the program come before those of files, those of the store after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Program,
    Stored,
}

/// What a reference in a file means.
#[derive(Clone)]
pub(super) enum Target {
    /// A tool of the program, or of the store.
    Firm(Arc<Entry>),
    /// The node of this number.
    Node(usize),
    /// A tool whose file has errors; the file.
    Broken(String),
    /// Nothing; these names are near.
    Unknown(Vec<String>),
}

/// What was found out about all nodes.
pub(super) struct Links {
    /// Where each reference of a node leads, by node.
    pub(super) uses: Vec<Vec<(String, Target)>>,
    /// Why a node cannot run, if it cannot.
    pub(super) faults: Vec<Option<LinkFault>>,
    /// All nodes, each after what it uses.
    pub(super) order: Vec<usize>,
}

/// A file with errors, and the name that its tool would have.
pub(super) struct BrokenFile<'a> {
    pub(super) name: &'a WireName,
    pub(super) shown: &'a str,
}

/// Links nodes with each other and with what the program itself and the store have.
pub(super) fn link(
    nodes: &[Node<'_>],
    broken: &[BrokenFile<'_>],
    firm: &dyn Fn(&str, Whose) -> Option<Arc<Entry>>,
) -> Links {
    let names = Names::of(nodes);
    let in_broken_file = |reference: &str| {
        let bare = reference.strip_prefix('+').unwrap_or(reference);
        let of_this_name = |file: &&BrokenFile<'_>| {
            file.name.as_str() == bare || Slug::from_wire(file.name).as_str() == bare
        };
        let file = broken.iter().find(of_this_name)?;
        Some(Target::Broken(file.shown.to_owned()))
    };
    let uses: Vec<Vec<(String, Target)>> = nodes
        .iter()
        .map(|node| {
            let references = node.definition.uses().into_iter();
            references
                .map(|reference| {
                    let target = firm(reference, Whose::Program)
                        .map(Target::Firm)
                        .or_else(|| names.find(reference).map(Target::Node))
                        .or_else(|| firm(reference, Whose::Stored).map(Target::Firm))
                        .or_else(|| in_broken_file(reference))
                        .unwrap_or_else(|| Target::Unknown(names.near(reference, node)));
                    (reference.to_owned(), target)
                })
                .collect()
        })
        .collect();
    let (order, mut faults) = ordered(nodes, &uses);
    for (index, (fault, uses)) in faults.iter_mut().zip(&uses).enumerate() {
        let mut numbered = uses.iter().enumerate();
        let unknown = numbered.find_map(|(number, (reference, target))| match target {
            Target::Unknown(near) => Some((number, unknown_tool(reference, near))),
            Target::Broken(file) => {
                let used = text::shorten(reference, 80);
                let message = format!("it uses `{used}`, whose file `{file}` has errors");
                Some((number, message))
            }
            Target::Firm(_) | Target::Node(_) => None,
        });
        let unknown = unknown.map(|(number, message)| LinkFault {
            code: "unknown-tool",
            span: nodes[index].definition.use_at(number).tool,
            message,
        });
        *fault = fault.take().or(unknown);
    }
    Links {
        uses,
        faults,
        order,
    }
}

fn unknown_tool(reference: &str, near: &[String]) -> String {
    let shown = text::shorten(reference, 80);
    let near: Vec<&str> = near.iter().map(String::as_str).collect();
    match near.as_slice() {
        [] => format!("it uses `{shown}`, and there is no tool of that name"),
        near => format!(
            "it uses `{shown}`, and there is no tool of that name; did you mean {}?",
            text::or_list(near)
        ),
    }
}

/// Which node has which name.
struct Names<'a> {
    nodes: &'a [Node<'a>],
    by_name: HashMap<&'a str, usize>,
    by_slug: HashMap<&'a str, usize>,
}

impl<'a> Names<'a> {
    fn of(nodes: &'a [Node<'a>]) -> Self {
        let mut by_name = HashMap::new();
        let mut by_slug = HashMap::new();
        for (index, node) in nodes.iter().enumerate() {
            by_name
                .entry(node.definition.name().as_str())
                .or_insert(index);
            by_slug
                .entry(node.definition.slug().as_str())
                .or_insert(index);
        }
        Names {
            nodes,
            by_name,
            by_slug,
        }
    }

    fn find(&self, reference: &str) -> Option<usize> {
        match reference.parse().ok()? {
            ToolRef::Name(name) => self
                .by_name
                .get(name.as_str())
                .or_else(|| self.by_slug.get(name.as_str()))
                .copied(),
            ToolRef::Slug(slug) => self.by_slug.get(slug.as_str()).copied().or_else(|| {
                let folded = text::fold(slug.as_str());
                let mut same = self
                    .by_slug
                    .iter()
                    .filter(|(slug, _)| text::fold(slug) == folded);
                match (same.next(), same.next()) {
                    (Some((_, index)), None) => Some(*index),
                    _ => None,
                }
            }),
            ToolRef::InBundle {
                bundle: BundleRef::Slug(bundle),
                slug,
                version,
            } => self.nodes.iter().position(|node| {
                node.scope.as_str() == bundle.as_str()
                    && *node.definition.slug() == slug
                    && version
                        .as_ref()
                        .is_none_or(|version| node.definition.version() == version)
            }),
            ToolRef::InBundle {
                bundle: BundleRef::Id(_),
                ..
            }
            | ToolRef::Id(_) => None,
        }
    }

    /// The names that are near, but for that of the tool itself.
    fn near(&self, reference: &str, user: &Node<'_>) -> Vec<String> {
        let own = user.definition.name().as_str();
        let others = self.by_name.keys().copied().filter(|name| *name != own);
        let near = text::nearest(reference, others);
        near.into_iter().map(str::to_owned).collect()
    }
}

/// How far a node is.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    /// On the way from the root to where the walk is.
    OnPath,
    Done,
}

/// An order in which what is used comes first, and which nodes are part of a circle.
fn ordered(
    nodes: &[Node<'_>],
    uses: &[Vec<(String, Target)>],
) -> (Vec<usize>, Vec<Option<LinkFault>>) {
    let targets = |node: usize| {
        uses[node].iter().filter_map(|(_, target)| match target {
            Target::Node(used) => Some(*used),
            Target::Firm(_) | Target::Broken(_) | Target::Unknown(_) => None,
        })
    };
    let mut marks = vec![Mark::New; nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    let mut faults: Vec<Option<LinkFault>> = vec![None; nodes.len()];
    for root in 0..nodes.len() {
        if marks[root] != Mark::New {
            continue;
        }
        // A chain of aliases may be as long as there are files: no recursion.
        let mut path: Vec<(usize, Vec<usize>)> = vec![(root, targets(root).collect())];
        marks[root] = Mark::OnPath;
        while let Some((node, left)) = path.last_mut() {
            let node = *node;
            match left.pop() {
                None => {
                    marks[node] = Mark::Done;
                    order.push(node);
                    path.pop();
                }
                Some(used) => match marks[used] {
                    Mark::Done => {}
                    Mark::New => {
                        marks[used] = Mark::OnPath;
                        path.push((used, targets(used).collect()));
                    }
                    Mark::OnPath => {
                        let start = path.iter().position(|(on_path, _)| *on_path == used);
                        let circle: Vec<usize> = path[start.unwrap_or(0)..]
                            .iter()
                            .map(|(node, _)| *node)
                            .collect();
                        blame(&circle, nodes, uses, &mut faults);
                    }
                },
            }
        }
    }
    (order, faults)
}

/// Says of every node of a circle how it comes back to itself.
fn blame(
    circle: &[usize],
    nodes: &[Node<'_>],
    uses: &[Vec<(String, Target)>],
    faults: &mut [Option<LinkFault>],
) {
    for (at, node) in circle.iter().enumerate() {
        if faults[*node].is_some() {
            continue;
        }
        let round = circle[at..].iter().chain(&circle[..at]);
        let mut names: Vec<&str> = round
            .map(|node| nodes[*node].definition.name().as_str())
            .collect();
        names.push(nodes[*node].definition.name().as_str());
        let next = circle[(at + 1) % circle.len()];
        let leads_on =
            |(_, target): &(String, Target)| matches!(target, Target::Node(used) if *used == next);
        let number = uses[*node].iter().position(leads_on);
        faults[*node] = Some(LinkFault {
            code: "tool-circle",
            span: nodes[*node].definition.use_at(number.unwrap_or(0)).tool,
            message: format!("it would call itself without end: {}", names.join(" → ")),
        });
    }
}
