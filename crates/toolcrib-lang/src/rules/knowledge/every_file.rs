//! Commands that remove, empty or overwrite whatever a listing of the whole workspace finds: `find . -type f | xargs rm`,
//! `rm $(git ls-files)`, `find . -exec truncate -s 0 {} +`, `fd -x rm`, `for f in *; do rm "$f"; done`. A listing of a `.git` counts, too,
//! and for `git checkout` and `git restore` one of all changed files.
//!
//! `rm -r`, `find -delete` and `find -exec rm` belong to `recursive-removal`. A listing that selects by name is what people mean, and so is
//! one of a directory inside.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::Find;
use super::before::{Before, kind, prints, substitutions};
use super::listing::{fits_every_line, lists_everything, names_whole_root};
use crate::model::effects::Verdict;
use crate::rules::facts::Facts;
use crate::rules::invocation::{Arg, Flag, Invocation};
use crate::shell::programs::{self, Fact};
use crate::shell::{Part, RedirectKind, Word};

pub(super) fn judge(facts: &Facts<'_>, find: &mut Find<'_>) {
    let commands: Vec<&Invocation<'_>> = facts.commands().collect();
    let variables = Variables::of(facts, &commands);
    let recursive = Flag::parse("-r|--recursive");
    let mut before = Before::of(&commands);
    for (index, command) in commands.iter().enumerate() {
        let is_whole = |word: &Word| !word.is_static() && names_whole_root(command, word);
        let whole = |arg: &&Arg<'_>| is_whole(arg.word) || arg.possible.words.iter().any(is_whole);
        let destroys = match destroys(command.name) {
            "tree" => !command.has_certainly(&recursive),
            "files" | "input" => true,
            "script" => empties(command),
            _ => false,
        };
        if destroys && let Some(arg) = command.operands().find(whole) {
            let reason = format!(
                "every file that `{}` fits would be removed, emptied or overwritten",
                arg.text
            );
            find(Verdict::Ask, reason, command.text());
        }
        if destroys_found(command) {
            // A loop over `*` that moves its files gives them other names.
            if command.name != "mv" && variables.fits_all(command) {
                let reason = "every file that its variables stand for would be removed, emptied or overwritten";
                find(Verdict::Ask, reason.to_owned(), command.text());
            }
            let listing = before
                .listing(command)
                .or_else(|| variables.listing(command));
            if let Some(listing) = listing {
                let reason = format!(
                    "every file that `{}` finds would be removed, emptied or overwritten",
                    listing.text()
                );
                find(Verdict::Ask, reason, command.text());
            }
        }
        before.add(index);
    }
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
        || match destroys(command.name) {
            "tree" | "files" => operands().any(found),
            "input" => !command.has("-a|--append") && operands().any(found),
            "script" => empties(command) && operands().any(found),
            _ => false,
        }
        || match command.name {
            // `mv -t away {}`, `mv {} away`
            "mv" => {
                let to_one_place = command.has("-t|--target-directory")
                    || operands().last().is_some_and(|last| last.word.is_static());
                to_one_place && operands().any(found)
            }
            // `cp /dev/null {}`
            "cp" | "install" => {
                !command.has("-t|--target-directory")
                    && operands().count() > 1
                    && operands().next().is_some_and(|first| !found(first))
                    && operands().last().is_some_and(found)
            }
            "git" => {
                let overwrites = match operands().next().map(|first| first.text.as_ref()) {
                    Some("checkout") => true,
                    Some("restore") => !command.has("-S|--staged") || command.has("-W|--worktree"),
                    Some("rm") => command.has("-f|--force") && !command.has("--cached"),
                    _ => false,
                };
                overwrites && operands().skip(1).any(found)
            }
            _ => false,
        }
}

/// How a program destroys the files it is given; empty if it does not.
fn destroys(name: &str) -> &'static str {
    programs::find(name).map_or("", |program| program.get(Fact::Destroys))
}

/// Whether a word is a path that is known only when it runs, and nothing else.
fn is_found(word: &Word) -> bool {
    match word.parts.as_slice() {
        [Part::Dynamic(_)] => true,
        [Part::Text(text), Part::Dynamic(_)] => text == "./",
        _ => false,
    }
}

/// Variables that have paths of the whole workspace as their values, each looked at once.
#[derive(Default)]
struct Variables<'f> {
    /// The command that lists them, by the variable.
    listed: HashMap<&'f str, &'f Invocation<'f>>,
    /// Patterns without a fixed part, by the variable.
    patterns: Vec<(&'f str, &'f Word)>,
}

/// How often the value of one variable is followed to another.
const MAX_HANDED_ON: usize = 4;
/// The most patterns of loops that are looked at: there are not many without a fixed part.
const MAX_PATTERNS: usize = 32;

impl<'f> Variables<'f> {
    fn of(facts: &'f Facts<'f>, commands: &[&'f Invocation<'f>]) -> Self {
        let mut variables = Variables::default();
        let listings: OnceCell<Vec<&'f Invocation<'f>>> = OnceCell::new();
        // One of each kind, so that the list stays as short as the list of programs in `lists_everything`.
        let all = || {
            let everything = |command: &&Invocation<'_>| lists_everything(command);
            let mut all: Vec<_> = commands.iter().copied().filter(everything).collect();
            all.sort_by(|one, other| kind(one).cmp(&kind(other)));
            all.dedup_by(|one, other| kind(one) == kind(other));
            all
        };
        let listing = |word: &Word| {
            let mut sources = substitutions(word);
            sources.find_map(|source| {
                let mut listings = listings.get_or_init(all).iter().copied();
                listings.find(|listing| prints(source, listing))
            })
        };
        for command in commands {
            for (name, value) in &command.command.assignments {
                if let Some(listing) = listing(value) {
                    variables.listed.entry(name).or_insert(listing);
                }
            }
            if matches!(command.name, "mapfile" | "readarray") {
                let redirects = command.command.redirects.iter();
                let listing = redirects
                    .filter(|redirect| redirect.kind == RedirectKind::Read)
                    .find_map(|redirect| listing(&redirect.target));
                let name = command.args.last().and_then(|arg| arg.word.as_static());
                let name = name.filter(|name| !name.starts_with('-'));
                if let Some(listing) = listing {
                    let name = name.unwrap_or("MAPFILE");
                    variables.listed.entry(name).or_insert(listing);
                }
            }
        }
        for over in facts.lists() {
            for word in &over.words {
                let is_bare = |part: &Part| {
                    matches!(part, Part::Glob(_)) || *part == Part::Text("./".to_owned())
                };
                let known = (over.name.as_str(), word);
                if !word.is_static() && word.parts.iter().all(is_bare) {
                    if variables.patterns.len() < MAX_PATTERNS
                        && !variables.patterns.contains(&known)
                    {
                        variables.patterns.push(known);
                    }
                } else if let Some(listing) = listing(word) {
                    variables.listed.entry(&over.name).or_insert(listing);
                }
            }
        }
        // `x=$(git ls-files); for f in $x`: as many times as a value is handed on in one text.
        for _ in 0..MAX_HANDED_ON {
            let before = variables.listed.len();
            if before == 0 {
                break;
            }
            for over in facts.lists() {
                let names = over.words.iter().flat_map(|word| &word.parts);
                let listing = names
                    .filter_map(variable)
                    .find_map(|name| variables.listed.get(name).copied());
                if let Some(listing) = listing {
                    variables.listed.entry(&over.name).or_insert(listing);
                }
            }
            if variables.listed.len() == before {
                break;
            }
        }
        variables
    }

    /// The variables that a command is given.
    fn used<'c>(command: &'c Invocation<'_>) -> impl Iterator<Item = &'c str> {
        let targets = command.command.redirects.iter();
        let targets = targets.map(|redirect| &redirect.target);
        let operands = command.operands().map(|operand| operand.word);
        let parts = targets.chain(operands).flat_map(|word| &word.parts);
        parts.filter_map(variable)
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

/// The variable that a part of a word is; `@` for the positional parameters.
fn variable(part: &Part) -> Option<&str> {
    match part {
        Part::Dynamic(source) => {
            let name = source.trim_matches(['$', '{', '}']);
            let name = name.trim_end_matches("[@]").trim_end_matches("[*]");
            let is_position = name == "*" || name.bytes().all(|byte| byte.is_ascii_digit());
            Some(if is_position { "@" } else { name })
        }
        Part::Variable(name) => Some(name.as_str()),
        Part::Text(_) | Part::Glob(_) => None,
    }
}

/// Whether a `sed` leaves nothing of the files that it changes: `sed -i d`.
fn empties(command: &Invocation<'_>) -> bool {
    if !command.has("-i|--in-place") {
        return false;
    }
    let script = match command
        .args
        .iter()
        .position(|arg| matches!(arg.text.as_ref(), "-e" | "--expression"))
    {
        Some(at) => command.args.get(at + 1),
        None => command.operands().next(),
    };
    let Some(script) = script.and_then(|script| script.word.as_static()) else {
        return false;
    };
    let all = ["", "1,$", "0,$", "1,", "$!", "1~1"];
    script.split([';', '\n']).map(str::trim).any(|one| {
        let pattern = one.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'));
        let (address, verb) = match pattern {
            Some((pattern, verb)) if fits_every_line(pattern) => ("", verb.trim()),
            Some(_) => return false,
            None => one.split_at(one.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0)),
        };
        let replaces = verb.strip_prefix('s').and_then(|rest| {
            let sign = rest.chars().next()?;
            rest[sign.len_utf8()..].split(sign).next()
        });
        all.contains(&address.trim())
            && (matches!(verb, "d" | "D" | "Q" | "q")
                || verb.starts_with('c')
                || replaces
                    .is_some_and(|pattern| pattern.contains(".*") && fits_every_line(pattern)))
    })
}
