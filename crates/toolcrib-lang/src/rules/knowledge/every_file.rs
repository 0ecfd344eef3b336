//! Commands that remove, empty or overwrite whatever a listing of the whole workspace finds: `find . -type f | xargs rm`,
//! `find . -exec truncate -s 0 {} +`, `fd -x rm`, `for f in *; do rm "$f"; done`.
//!
//! `rm -r`, `find -delete` and `find -exec rm` belong to `recursive-removal`. A listing that selects by name is what people mean, and so is
//! one of a directory inside.

use std::collections::HashMap;

use super::Find;
use super::removal::removes;
use super::selection::{FindRemoval, Selection};
use crate::model::effects::Verdict;
use crate::rules::facts::Facts;
use crate::rules::invocation::{Arg, Invocation};
use crate::rules::place::{Name, Root};
use crate::shell::{Part, RedirectKind, Word};

pub(super) fn judge(facts: &Facts<'_>, find: &mut Find<'_>) {
    let commands: Vec<&Invocation<'_>> = facts.commands().collect();
    let loops = Loops::of(facts, &commands);
    for (index, command) in commands.iter().enumerate() {
        let whole = |arg: &&Arg<'_>| !arg.word.is_static() && names_whole_root(command, arg.word);
        let destroys = match command.name {
            "rm" => !command.has("-r|--recursive"),
            "unlink" | "shred" | "truncate" | "tee" => true,
            _ => false,
        };
        if destroys && let Some(arg) = command.operands().find(whole) {
            let reason = format!(
                "every file that `{}` fits would be removed, emptied or overwritten",
                arg.text
            );
            find(Verdict::Ask, reason, command.text());
        }
        if !destroys_found(command) {
            continue;
        }
        if loops.fits_all(command) {
            let reason =
                "every file that the loop goes over would be removed, emptied or overwritten";
            find(Verdict::Ask, reason.to_owned(), command.text());
        }
        let by = |names: &[&str]| {
            let mut before = commands[..index].iter().rev().copied();
            before.find(|other| names.contains(&other.name) && runs(other, command))
        };
        let listing = if let Some(found) = by(&["find", "gfind"]) {
            let directly = command
                .command
                .via
                .last()
                .is_some_and(|via| via == found.name);
            (!(directly && removes(command.name)) && runs_for_everything(found)).then_some(found)
        } else if let Some(found) = by(&["fd", "fdfind"]) {
            lists_everything(found).then_some(found)
        } else {
            piped_from(&commands[..index], command)
                .or_else(|| substituted(&commands, command))
                .or_else(|| loops.listing(command))
        };
        if let Some(listing) = listing {
            let reason = format!(
                "every file that `{}` finds would be removed, emptied or overwritten",
                listing.text()
            );
            find(Verdict::Ask, reason, command.text());
        }
    }
}

/// Whether a command is a wrapper that another one is listed for.
fn runs(wrapper: &Invocation<'_>, command: &Invocation<'_>) -> bool {
    let (outer, inner) = (&wrapper.command.via, &command.command.via);
    wrapper.command.span == command.command.span
        && inner.starts_with(outer)
        && inner
            .get(outer.len())
            .is_some_and(|via| via == wrapper.name)
}

/// Whether a command removes, empties or overwrites a file that something else found.
fn destroys_found(command: &Invocation<'_>) -> bool {
    let writes = command
        .command
        .redirects
        .iter()
        .any(|redirect| redirect.kind == RedirectKind::Write && is_found(&redirect.target));
    let operands = || command.operands();
    let found = |arg: &Arg<'_>| is_found(arg.word);
    writes
        || match command.name {
            "rm" | "unlink" | "shred" | "truncate" | "srm" => operands().any(found),
            "tee" | "sponge" => !command.has("-a|--append") && operands().any(found),
            // `cp /dev/null {}`
            "cp" | "install" => {
                !command.has("-t|--target-directory")
                    && operands().count() > 1
                    && operands().next().is_some_and(|first| !found(first))
                    && operands().last().is_some_and(found)
            }
            _ => false,
        }
}

/// Whether a word is a path that is known only when it runs, and nothing else.
fn is_found(word: &Word) -> bool {
    match word.parts.as_slice() {
        [Part::Dynamic(_)] => true,
        [Part::Text(text), Part::Dynamic(_)] => text == "./",
        _ => false,
    }
}

/// Whether `find` runs something for files of any name beneath the root of the workspace.
fn runs_for_everything(command: &Invocation<'_>) -> bool {
    let removal = FindRemoval::of(command, |_| true);
    let narrow = matches!(removal.selection, None | Some(Selection::Names));
    !narrow && starts_at_root(command, removal.starts)
}

/// The command whose output a command is given, unless a filter between them selects by name.
fn piped_from<'c, 's>(
    before: &[&'c Invocation<'s>],
    command: &Invocation<'_>,
) -> Option<&'c Invocation<'s>> {
    if !command.command.piped {
        return None;
    }
    let at = before.iter().rposition(|other| !other.command.piped)?;
    let selects = |filter: &&Invocation<'_>| {
        matches!(filter.name, "grep" | "egrep" | "fgrep" | "rg") && !filter.has("-v|--invert-match")
    };
    if before[at + 1..].iter().any(selects) {
        return None;
    }
    let head = before[at];
    let mut candidates = before[..=at].iter().rev().copied();
    candidates
        .find(|other| (std::ptr::eq(*other, head) || runs(other, head)) && lists_everything(other))
}

/// Variables that a loop gives paths of the whole workspace, each looked at once.
#[derive(Default)]
struct Loops<'f> {
    /// The command that lists them, by the variable.
    listed: HashMap<&'f str, &'f Invocation<'f>>,
    /// Patterns without a fixed part, by the variable.
    patterns: Vec<(&'f str, &'f Word)>,
}

/// The most patterns of loops that are looked at: there are not many without a fixed part.
const MAX_PATTERNS: usize = 32;

impl<'f> Loops<'f> {
    fn of(facts: &'f Facts<'f>, commands: &[&'f Invocation<'f>]) -> Self {
        let mut loops = Loops::default();
        let mut listings: Vec<&Invocation<'_>> = Vec::new();
        for over in facts.loops() {
            if listings.is_empty() {
                // One of each name, so that the list stays as short as the list of programs in `lists_everything`.
                listings = commands
                    .iter()
                    .copied()
                    .filter(|command| lists_everything(command))
                    .collect();
                listings.sort_by_key(|command| command.name);
                listings.dedup_by_key(|command| command.name);
            }
            for word in &over.words {
                let is_bare = |part: &Part| {
                    matches!(part, Part::Glob(_)) || *part == Part::Text("./".to_owned())
                };
                let known = (over.name.as_str(), word);
                if !word.is_static() && word.parts.iter().all(is_bare) {
                    if loops.patterns.len() < MAX_PATTERNS && !loops.patterns.contains(&known) {
                        loops.patterns.push(known);
                    }
                } else if let Some(listing) = substitutions(word).find_map(|source| {
                    listings
                        .iter()
                        .find(|listing| source.contains(listing.name))
                }) {
                    loops.listed.entry(&over.name).or_insert(listing);
                }
            }
        }
        loops
    }

    /// The variables that a command is given.
    fn used<'c>(command: &'c Invocation<'_>) -> impl Iterator<Item = &'c str> {
        let targets = command.command.redirects.iter();
        let targets = targets.map(|redirect| &redirect.target);
        let operands = command.operands().map(|operand| operand.word);
        let parts = targets.chain(operands).flat_map(|word| &word.parts);
        parts.filter_map(|part| match part {
            Part::Dynamic(source) => Some(source.trim_matches(['$', '{', '}'])),
            Part::Variable(name) => Some(name.as_str()),
            Part::Text(_) | Part::Glob(_) => None,
        })
    }

    fn listing(&self, command: &Invocation<'_>) -> Option<&'f Invocation<'f>> {
        Self::used(command).find_map(|name| self.listed.get(name).copied())
    }

    /// Whether a pattern that fits every file gives a command its paths.
    fn fits_all(&self, command: &Invocation<'_>) -> bool {
        !self.patterns.is_empty()
            && Self::used(command).any(|used| {
                let mut patterns = self.patterns.iter();
                patterns.any(|(name, word)| *name == used && names_whole_root(command, word))
            })
    }
}

/// What is between the parentheses of the substitutions in a word.
fn substitutions(word: &Word) -> impl Iterator<Item = &str> {
    word.parts.iter().filter_map(|part| match part {
        Part::Dynamic(source) => ["<(", "$(", "`"]
            .iter()
            .find_map(|opening| source.strip_prefix(opening)),
        _ => None,
    })
}

/// The command whose output is a command's input as `< <(find .)`, or the list of `xargs -a <(find .)`.
fn substituted<'c, 's>(
    commands: &[&'c Invocation<'s>],
    command: &Invocation<'_>,
) -> Option<&'c Invocation<'s>> {
    let list = commands
        .iter()
        .filter(|other| other.name == "xargs" && runs(other, command))
        .flat_map(|xargs| &xargs.command.words);
    let redirects = command.command.redirects.iter();
    let words = redirects.map(|redirect| &redirect.target).chain(list);
    let sources: Vec<&str> = words.flat_map(substitutions).collect();
    if sources.is_empty() {
        return None;
    }
    let printed = |other: &&&Invocation<'_>| {
        lists_everything(other) && sources.iter().any(|source| source.contains(other.name))
    };
    commands.iter().find(printed).copied()
}

/// Whether a command prints the names of all files beneath the root of the workspace.
fn lists_everything(command: &Invocation<'_>) -> bool {
    let operands = || command.operands();
    match command.name {
        "find" | "gfind" => {
            let removal = FindRemoval::of(command, |_| true);
            removal.listed != Selection::Names && starts_at_root(command, removal.starts)
        }
        "fd" | "fdfind" => {
            let narrowing =
                "-e|--extension|-g|--glob|--search-path|--base-directory|-p|--full-path";
            let before_command = command.args.iter().take_while(|arg| {
                !matches!(arg.text.as_ref(), "-x" | "-X" | "--exec" | "--exec-batch")
            });
            let mut words = before_command.filter(|arg| !arg.is_option() && !is_a_type(&arg.text));
            let pattern = words.next();
            let path = words.next();
            !command.has(narrowing)
                && pattern.is_none_or(|pattern| command.is_everything(pattern))
                && path.is_none_or(|path| is_root(command, path.word))
        }
        "ls" | "dir" => {
            operands().next().is_none() && is_root(command, &Word::text("."))
                || operands().any(|operand| is_root(command, operand.word))
        }
        "git" => {
            let mut operands = operands().map(|operand| operand.text.as_ref());
            let most = match operands.next() {
                Some("ls-files") => 0,
                Some("ls-tree") => 1,
                _ => return false,
            };
            is_root(command, &Word::text("."))
                && (operands.count() <= most
                    || command
                        .operands()
                        .skip(1 + most)
                        .any(|operand| command.is_everything(operand)))
        }
        "rg" => {
            command.has("--files")
                && operands().next().is_none()
                && !command.has("-g|--glob|-t|--type")
        }
        "echo" | "printf" => {
            operands().any(|operand| !operand.word.is_static() && is_root(command, operand.word))
        }
        _ => false,
    }
}

/// The value of `fd -t`.
fn is_a_type(text: &str) -> bool {
    matches!(
        text,
        "f" | "d" | "l" | "x" | "e" | "file" | "directory" | "symlink" | "executable" | "empty"
    )
}

fn starts_at_root(command: &Invocation<'_>, starts: &[Arg<'_>]) -> bool {
    starts.is_empty() && is_root(command, &Word::text("."))
        || starts.iter().any(|start| is_root(command, start.word))
}

/// Whether a word is a pattern for all that is in the root of the workspace: `*`, `./*`.
fn names_whole_root(command: &Invocation<'_>, word: &Word) -> bool {
    let located = command.locate(word);
    located.root == Root::Workspace && !located.names.is_empty() && is_root(command, word)
}

/// Whether a path is the workspace, all that is in it, something around it, or cannot be told.
fn is_root(command: &Invocation<'_>, word: &Word) -> bool {
    let located = command.locate(word);
    let whole = |name: &Name| name.glob.as_ref().is_some_and(|glob| glob.fixed() == 0);
    match located.root {
        Root::Workspace => located.names.iter().all(whole),
        Root::FileSystem | Root::Home | Root::Unknown => true,
        Root::Temporary => false,
    }
}
