//! Where the paths come from that a command of a text removes, empties or overwrites: a wrapper, a pipeline, a substitution, a file.
//!
//! A text may have ten thousand commands, each with thousands before it. So nothing here looks back: what a command is to the later
//! ones is noted once, when the loop is past it.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use super::listing::{fits_every_line, lists_changes, lists_everything, starts_at_root};
use super::removal::removes;
use super::selection::{FindRemoval, Selection};
use crate::rules::invocation::Invocation;
use crate::shell::programs::{self, Fact};
use crate::shell::{Part, RedirectKind, Word};

/// Where a command is, what runs it, and its name.
type Place<'c> = (usize, usize, &'c [String], &'c str);

/// The commands before one.
pub(super) struct Before<'c, 's> {
    commands: &'c [&'c Invocation<'s>],
    /// The last command at a place.
    last: HashMap<Place<'c>, usize>,
    pipeline: Option<Pipeline>,
    /// The command whose list was written to a file first, by the file's path; and the same where changed files count.
    written: [HashMap<&'c str, usize>; 2],
    facts: Vec<Known>,
    /// The commands that list all files, or all changed ones, one of each kind.
    listings: OnceCell<Vec<usize>>,
    /// What an `xargs` is given by its own words.
    given: RefCell<HashMap<(usize, bool), Option<usize>>>,
}

/// A pipeline, up to its last command so far.
struct Pipeline {
    head: usize,
    /// The commands that run its head, the next one first.
    around: Vec<usize>,
    /// Whether a filter in it selects by name.
    selects: bool,
    /// What it lists; and the same where changed files count.
    lists: [OnceCell<Option<usize>>; 2],
}

/// Facts about a command, kept once they were asked for.
#[derive(Default)]
struct Known {
    lists_everything: OnceCell<bool>,
    lists_changes: OnceCell<bool>,
    runs_for_everything: OnceCell<bool>,
}

impl<'c, 's> Before<'c, 's> {
    pub(super) fn of(commands: &'c [&'c Invocation<'s>]) -> Self {
        Before {
            commands,
            last: HashMap::new(),
            pipeline: None,
            written: Default::default(),
            facts: commands.iter().map(|_| Known::default()).collect(),
            listings: OnceCell::new(),
            given: RefCell::default(),
        }
    }

    /// Notes the next command, after which others come.
    pub(super) fn add(&mut self, index: usize) {
        let command = self.commands[index];
        let writes = command.command.redirects.iter();
        let writes = writes
            .filter(|redirect| redirect.kind == RedirectKind::Write)
            .filter_map(|redirect| redirect.target.as_static());
        for file in writes.map(plain) {
            for for_git in [false, true] {
                if self.written[usize::from(for_git)].contains_key(file) {
                    continue;
                }
                let from = match self.lists(index, for_git) {
                    true => Some(index),
                    false => self.piped(command, for_git),
                };
                if let Some(from) = from {
                    self.written[usize::from(for_git)].insert(file, from);
                }
            }
        }
        match &mut self.pipeline {
            Some(pipeline) if command.command.piped => pipeline.selects |= selects(command),
            _ if command.command.piped => {}
            _ => {
                self.pipeline = Some(Pipeline {
                    head: index,
                    around: self.wrappers(command, |_| true),
                    selects: false,
                    lists: Default::default(),
                });
            }
        }
        self.last.insert(place(command), index);
    }

    /// The command that lists the paths that a command is given.
    pub(super) fn listing(&self, command: &'c Invocation<'s>) -> Option<&'c Invocation<'s>> {
        let by = |names: [&str; 2]| {
            let wrappers = self.wrappers(command, |name| names.contains(&name));
            wrappers.first().copied()
        };
        let at = if let Some(at) = by(["find", "gfind"]) {
            let directly = command
                .command
                .via
                .last()
                .is_some_and(|via| via == self.commands[at].name);
            let runs = || runs_for_everything(self.commands[at]);
            (!(directly && removes(command.name))
                && *self.facts[at].runs_for_everything.get_or_init(runs))
            .then_some(at)
        } else if let Some(at) = by(["fd", "fdfind"]) {
            self.lists(at, false).then_some(at)
        } else {
            let for_git = command.name == "git";
            let redirects = || command.command.redirects.iter();
            let operands = command.operands().map(|operand| operand.word);
            let words = redirects().map(|redirect| &redirect.target).chain(operands);
            let read = redirects()
                .filter(|redirect| redirect.kind == RedirectKind::Read)
                .filter_map(|redirect| redirect.target.as_static());
            self.piped(command, for_git)
                .or_else(|| self.substituted(words, for_git))
                .or_else(|| self.written(read, for_git))
                .or_else(|| {
                    let mut xargs = self.wrappers(command, |name| name == "xargs").into_iter();
                    xargs.find_map(|xargs| self.given(xargs, for_git))
                })
        };
        at.map(|at| self.commands[at])
    }

    /// The commands that run a command, the next one first.
    fn wrappers(&self, command: &'c Invocation<'s>, is: impl Fn(&str) -> bool) -> Vec<usize> {
        let via = &command.command.via;
        let span = &command.command.span;
        let found = (0..via.len()).rev().filter(|at| is(&via[*at]));
        let last = |at| {
            self.last
                .get(&(span.start, span.end, &via[..at], via[at].as_str()))
        };
        let mut found: Vec<usize> = found.filter_map(last).copied().collect();
        found.sort_by(|one, other| other.cmp(one));
        found
    }

    /// Whether a command prints the names of all files that another one could do harm to: `git checkout` overwrites those with changes.
    fn lists(&self, at: usize, for_git: bool) -> bool {
        let (command, known) = (self.commands[at], &self.facts[at]);
        *known
            .lists_everything
            .get_or_init(|| lists_everything(command))
            || for_git && *known.lists_changes.get_or_init(|| lists_changes(command))
    }

    /// The command whose output the end of a pipeline is given, unless a filter between them selects by name.
    fn piped(&self, end: &Invocation<'_>, for_git: bool) -> Option<usize> {
        let pipeline = self.pipeline.as_ref().filter(|_| end.command.piped)?;
        if pipeline.selects {
            return None;
        }
        *pipeline.lists[usize::from(for_git)].get_or_init(|| {
            let head = self.commands[pipeline.head];
            // `cat list | xargs rm`
            if programs::is(head.name, Fact::Output, "lines") && !is_filter(head.name) {
                let read = head.command.redirects.iter();
                let read = read.filter(|redirect| redirect.kind == RedirectKind::Read);
                let read = read.filter_map(|redirect| redirect.target.as_static());
                let operands = head.operands();
                let named = operands.filter_map(|operand| operand.word.as_static());
                return self.written(read.chain(named), for_git);
            }
            let mut candidates = std::iter::once(pipeline.head).chain(pipeline.around.clone());
            candidates.find(|at| self.lists(*at, for_git))
        })
    }

    /// The command whose list is in one of these files: `git ls-files > list; xargs rm < list`.
    fn written<'f>(
        &self,
        mut files: impl Iterator<Item = &'f str>,
        for_git: bool,
    ) -> Option<usize> {
        let written = &self.written[usize::from(for_git)];
        files.find_map(|file| written.get(plain(file)).copied())
    }

    /// The command whose output a word is: `$(find .)`, or `<(find .)`.
    fn substituted<'w>(
        &self,
        words: impl Iterator<Item = &'w Word>,
        for_git: bool,
    ) -> Option<usize> {
        let mut sources = words.flat_map(substitutions).peekable();
        sources.peek()?;
        let listings = self.listings.get_or_init(|| {
            let all = 0..self.commands.len();
            let mut all: Vec<usize> = all.filter(|at| self.lists(*at, true)).collect();
            let kind = |at: &usize| kind(self.commands[*at]);
            all.sort_by(|one, other| kind(one).cmp(&kind(other)));
            all.dedup_by(|one, other| kind(one) == kind(other));
            all
        });
        sources.find_map(|source| {
            let mut listings = listings.iter().copied();
            listings.find(|at| self.lists(*at, for_git) && prints(source, self.commands[*at]))
        })
    }

    /// The command that lists what an `xargs` gets by its own words: `xargs -a <(find .)`, `xargs -a list`, `xargs < list`.
    fn given(&self, xargs: usize, for_git: bool) -> Option<usize> {
        if let Some(known) = self.given.borrow().get(&(xargs, for_git)) {
            return *known;
        }
        let command = self.commands[xargs];
        let texts = command.args.iter().map(|arg| arg.text.as_ref());
        let next = texts.clone().skip(1).map(Some).chain([None]);
        let named = texts.zip(next).filter_map(|(text, next)| match text {
            "-a" | "--arg-file" => next,
            text => text
                .strip_prefix("--arg-file=")
                .or_else(|| text.strip_prefix("-a")),
        });
        let read = command.command.redirects.iter();
        let read = read
            .filter(|redirect| redirect.kind == RedirectKind::Read)
            .filter_map(|redirect| redirect.target.as_static());
        let found = self
            .substituted(command.command.words.iter(), for_git)
            .or_else(|| self.written(read.chain(named), for_git));
        self.given.borrow_mut().insert((xargs, for_git), found);
        found
    }
}

fn place<'c>(command: &'c Invocation<'_>) -> Place<'c> {
    let span = &command.command.span;
    (span.start, span.end, &command.command.via, command.name)
}

fn plain(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

/// Whether a program passes on only the lines that fit.
fn is_filter(name: &str) -> bool {
    programs::is(name, Fact::Selects, "yes")
}

/// Whether a command passes on only some of the names it is given.
fn selects(filter: &Invocation<'_>) -> bool {
    is_filter(filter.name)
        && !filter.has("-v|--invert-match")
        && !filter
            .operands()
            .next()
            .is_some_and(|pattern| fits_every_line(&pattern.text))
}

/// Whether `find` runs something for files of any name beneath the root of the workspace.
fn runs_for_everything(command: &Invocation<'_>) -> bool {
    let removal = FindRemoval::of(command, |_| true);
    let narrow = matches!(removal.selection, None | Some(Selection::Names));
    !narrow && starts_at_root(command, removal.starts)
}

/// The text between the parentheses of the substitutions in a word.
pub(super) fn substitutions(word: &Word) -> impl Iterator<Item = &str> {
    word.parts.iter().filter_map(|part| match part {
        // The last ones begin a list: `f=($(find .))`.
        Part::Dynamic(source) => ["<(", "$(", "`", "($(", "(`"]
            .iter()
            .find_map(|opening| source.strip_prefix(opening)),
        _ => None,
    })
}

/// The program that lists, and of git the subcommand.
pub(super) fn kind<'i>(listing: &'i Invocation<'_>) -> (&'i str, Option<&'i str>) {
    let first = listing.operands().next();
    let subcommand = first.filter(|_| listing.name == "git");
    (listing.name, subcommand.map(|first| first.text.as_ref()))
}

/// Whether a substitution prints what a command lists, without a filter that selects by name.
pub(super) fn prints(source: &str, listing: &Invocation<'_>) -> bool {
    let has = |wanted: &str| {
        let mut words = source.split(|c: char| !(c.is_alphanumeric() || "-_".contains(c)));
        words.any(|word| word == wanted)
    };
    let (name, subcommand) = kind(listing);
    let is_it = has(name) && subcommand.is_none_or(has);
    let is_one_pipeline = !source.contains([';', '&', '\n']) && !source.contains("||");
    let selects = |filter: &str| {
        let mut words = filter.split_whitespace();
        let is_filter = words.next().is_some_and(is_filter);
        let mut words = words.peekable();
        while words
            .next_if(|word| {
                word.starts_with('-') && !word.starts_with("-v") && *word != "--invert-match"
            })
            .is_some()
        {}
        is_filter
            && words.next().is_some_and(|word| {
                let inverts = word.starts_with("-v") || word == "--invert-match";
                !inverts && !fits_every_line(word.trim_matches(['"', '\'', ')', '`']))
            })
    };
    is_it && !(is_one_pipeline && source.split('|').skip(1).any(selects))
}
