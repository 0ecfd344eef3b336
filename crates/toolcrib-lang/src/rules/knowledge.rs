//! What the default set knows beyond patterns: where the targets of a command are.

mod before;
mod every_file;
mod listing;
mod outside;
mod permissions;
mod removal;
mod selection;
mod temporary;

pub(super) use temporary::{is_new_directory, makes_directories};

use super::Finding;
use super::destination::{Located, Root};
use super::facts::Facts;
use super::rule::{Condition, Rule, RuleOrigin};
use crate::model::effects::Verdict;
use crate::model::text;

/// What one rule finds beyond this adds nothing to the verdict but words. The severest may come late, so a denial always counts.
const MAX_FINDINGS: usize = 20;

/// A rule that is code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// Shell text with parts whose meaning no one can tell.
    NotUnderstood,
    /// A function that starts itself without end.
    ForkBomb,
    /// `rm -r` and its relatives.
    RecursiveRemoval,
    /// `find . -type f | xargs rm` and its relatives.
    EveryFile,
    /// `chmod -R` and its relatives.
    RecursivePermissions,
    /// Writing outside the workspace.
    OutsideWorkspace,
}

impl Knowledge {
    pub(super) const ALL: [Knowledge; 6] = [
        Knowledge::NotUnderstood,
        Knowledge::ForkBomb,
        Knowledge::RecursiveRemoval,
        Knowledge::EveryFile,
        Knowledge::RecursivePermissions,
        Knowledge::OutsideWorkspace,
    ];

    fn name(self) -> &'static str {
        match self {
            Knowledge::NotUnderstood => "not-understood",
            Knowledge::ForkBomb => "fork-bomb",
            Knowledge::RecursiveRemoval => "recursive-removal",
            Knowledge::EveryFile => "every-file",
            Knowledge::RecursivePermissions => "recursive-permissions",
            Knowledge::OutsideWorkspace => "outside-the-workspace",
        }
    }

    /// As a rule among others.
    pub(super) fn rule(self) -> Rule {
        let (verdict, reason) = match self {
            Knowledge::NotUnderstood => (
                Verdict::Ask,
                "it cannot be determined what the shell text does before it runs",
            ),
            Knowledge::ForkBomb => (
                Verdict::Deny,
                "a function that starts itself again and again fills the machine with processes",
            ),
            Knowledge::RecursiveRemoval => (
                Verdict::Deny,
                "a recursive removal must name its targets, each strictly inside the workspace or the call's temporary directory",
            ),
            Knowledge::EveryFile => (
                Verdict::Ask,
                "every file of the workspace would be removed, emptied or overwritten",
            ),
            Knowledge::RecursivePermissions => (
                Verdict::Deny,
                "permissions and owners are changed recursively only inside the workspace",
            ),
            Knowledge::OutsideWorkspace => (Verdict::Ask, "a command writes outside the workspace"),
        };
        Rule {
            name: self.name().to_owned(),
            tools: Vec::new(),
            verdict,
            reason: reason.to_owned(),
            origin: RuleOrigin::Default,
            condition: Condition::Known(self),
        }
    }

    pub(super) fn judge(self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        let mut find = |verdict: Verdict, reason: String, about: String| {
            let mut own = findings
                .iter()
                .filter(|finding| finding.rule == self.name());
            // One command may be wrong in one way many times, and a long text in many ways.
            let said = |finding: &&Finding| {
                finding.reason == reason && finding.about.as_ref() == Some(&about)
            };
            let room = own.clone().count() < MAX_FINDINGS
                || (verdict == Verdict::Deny
                    && !own.clone().any(|finding| finding.verdict == Verdict::Deny));
            if room && own.find(said).is_none() {
                findings.push(Finding {
                    rule: self.name().to_owned(),
                    verdict,
                    reason,
                    about: Some(about),
                });
            }
        };
        match self {
            Knowledge::NotUnderstood => {
                let asked = facts.shells().filter(|shell| shell.has_to_be_understood());
                for doubt in asked.flat_map(|shell| &shell.script.doubts) {
                    find(Verdict::Ask, doubt.reason.clone(), doubt.text.clone());
                }
            }
            Knowledge::ForkBomb => {
                for shell in facts.shells().filter(|shell| shell.script.fork_bomb) {
                    let reason = "a function starts itself again and again";
                    find(
                        Verdict::Deny,
                        reason.to_owned(),
                        text::shorten(shell.text, 80),
                    );
                }
            }
            Knowledge::RecursiveRemoval => removal::judge(facts, &mut find),
            Knowledge::EveryFile => every_file::judge(facts, &mut find),
            Knowledge::RecursivePermissions => permissions::judge(facts, &mut find),
            Knowledge::OutsideWorkspace => outside::judge(facts, &mut find),
        }
    }
}

/// Takes a verdict, a reason and what it is about.
type Find<'f> = dyn FnMut(Verdict, String, String) + 'f;

/// Whether a path is, or is in, a directory for scratch files that programs share: `/tmp`, unless the workspace is there too.
fn is_scratch(path: &Located, facts: &Facts<'_>) -> bool {
    let shared = |names: &[super::destination::Name]| {
        let mut names = names.iter().map(|name| name.text.as_str());
        match names.next() {
            Some("tmp") => true,
            Some("var") => names.next() == Some("tmp"),
            _ => false,
        }
    };
    path.root == Root::FileSystem && shared(&path.names) && !shared(facts.place().workspace())
}
