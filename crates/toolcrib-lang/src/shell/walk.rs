//! Goes through a parsed text in the order of running: lists commands, follows directories, remembers certain values.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::facts::Facts;
use super::lex::{Dialect, MAX_DEPTH, Parser};
use super::script::{Directory, Doubt, Redirect, Script, Word, WordList};
use super::simple::{MAX_COMMANDS, MAX_WRAPPERS, weight};
use super::syntax::{Document, Item, Kind, Link, List, Pipeline};
use super::{MAX_TEXT, TOO_MUCH, budget_for};
use crate::model::budget::{Budget, Spent};

/// Reads a text from its beginning, and what is given to it on its input.
pub(super) fn read_given(text: &str, input: Option<&str>) -> Script {
    let mut walker = Walker {
        budget: budget_for(text.len() + input.map_or(0, str::len)),
        ..Walker::default()
    };
    if text.len() > MAX_TEXT {
        let reason = format!("the text is longer than the {MAX_TEXT} bytes that are read");
        walker.script.is_cut = true;
        walker.doubt(reason, text);
        return walker.script;
    }
    if text.contains('\0') {
        walker.doubt("a null byte, which shells drop or stop at", text);
    }
    let context = Context {
        input: input.map_or(Input::Start, |input| {
            Input::Given(Arc::new(Word::text(input)))
        }),
        ..Context::default()
    };
    walker.text(text, Dialect::Bash, &context);
    walker.list_calls();
    walker.script.steps = walker.budget.steps_taken();
    walker.script
}

/// Reads a text in which these variables hold texts that no one knows.
pub(super) fn read_with(
    text: &str,
    dialect: Dialect,
    unknown: &[&str],
    budget: &mut Budget,
) -> (Script, Vec<Doubt>) {
    let mut walker = Walker {
        every_doubt: Some(Vec::new()),
        budget: std::mem::take(budget),
        ..Walker::default()
    };
    for name in unknown {
        walker.facts.assign(name, false);
    }
    walker.text(text, dialect, &Context::default());
    *budget = walker.budget;
    (walker.script, walker.every_doubt.unwrap_or_default())
}

#[derive(Debug, Default)]
pub(super) struct Walker {
    pub(super) script: Script,
    pub(super) facts: Facts,
    /// Values of variables that were set in straight-line code.
    pub(super) known: HashMap<String, Word>,
    pub(super) directory: Directory,
    /// Where the shell is if every `cd` so far succeeded.
    pub(super) hoped: Directory,
    /// The directories that a `cd` may have led to, besides the start.
    pub(super) visited: Vec<Directory>,
    pub(super) functions: HashMap<String, Function>,
    /// Whether a failing command ends the text.
    pub(super) ends_on_error: bool,
    /// Whether that may change at an unknown time: in a function, in a trap.
    pub(super) may_survive_errors: bool,
    /// How many commands so far have changed the directory, or may have.
    pub(super) movements: usize,
    /// Whether the directory may change at any time: a trap does it.
    pub(super) unsteady: bool,
    /// Whether `exec` has given the shell itself another input.
    pub(super) other_input: bool,
    pub(super) dialect: Option<Dialect>,
    pub(super) depth: usize,
    /// What reading the text, and all that is read because of it, may still cost.
    pub(super) budget: Budget,
    /// Whether there is a function that may change the directory.
    pub(super) has_moving_function: bool,
    /// Something was run whose effect on variables is unknown.
    pub(super) set_anything: bool,
    /// All doubts, also those that were there already, when someone wants to count them.
    every_doubt: Option<Vec<Doubt>>,
}

/// A function that was defined.
#[derive(Debug, Default)]
pub(super) struct Function {
    /// Whether a command in it may change the directory.
    pub(super) moves: bool,
    /// The names of the commands in it, which may be functions, too.
    pub(super) calls: HashSet<String>,
}

/// The surroundings of a command.
#[derive(Debug, Clone, Default)]
pub(super) struct Context<'t> {
    pub(super) documents: &'t [Document<'t>],
    pub(super) via: Vec<String>,
    /// Those of the groups around. Shared, since every command has a context.
    pub(super) redirects: Arc<Vec<Redirect>>,
    pub(super) piped: bool,
    pub(super) input: Input,
    /// Whether this runs exactly once, whenever the text runs: no branch, loop, function or subshell around.
    pub(super) straight: bool,
    /// Whether `break` and `continue` find a loop in this shell.
    pub(super) in_loop: bool,
    /// Whether `return` finds a function.
    pub(super) in_function: bool,
    /// Where in the outermost text this is, when it is read from inside a word.
    pub(super) span: Option<Range<usize>>,
}

/// Where a command's input comes from.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Input {
    /// Where the text's own comes from.
    #[default]
    Start,
    /// Another command.
    Piped,
    File,
    /// A here-document or here-string.
    Text(Arc<Word>),
    /// The input of the whole text.
    Given(Arc<Word>),
    Unknown,
}

/// Where the shell is after a command that succeeded, and after one that failed. `None`: it does not get there.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub(super) ok: Option<Directory>,
    pub(super) failed: Option<Directory>,
}

impl Outcome {
    pub(super) fn stays(directory: &Directory) -> Outcome {
        Outcome {
            ok: Some(directory.clone()),
            failed: Some(directory.clone()),
        }
    }

    pub(super) const NEVER: Outcome = Outcome {
        ok: None,
        failed: None,
    };

    pub(super) fn after(self) -> Option<Directory> {
        join(self.ok, self.failed)
    }

    /// This outcome for a command that may also fail before it does anything.
    pub(super) fn or_fails_in(self, directory: Directory) -> Outcome {
        Outcome {
            ok: self.ok,
            failed: join(self.failed, Some(directory)),
        }
    }
}

pub(super) fn join(one: Option<Directory>, other: Option<Directory>) -> Option<Directory> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.or(&other)),
        (one, other) => one.or(other),
    }
}

impl Context<'_> {
    /// The context of what its own shell runs.
    pub(super) fn apart(&self) -> Self {
        Context {
            straight: false,
            in_loop: false,
            ..self.clone()
        }
    }

    /// The context of what a wrapper runs.
    pub(super) fn inside(&self, wrapper: &str) -> Self {
        let mut inner = self.clone();
        inner.via.push(wrapper.to_owned());
        inner.straight = false;
        inner.in_loop &= wrapper == "eval";
        inner.in_function &= wrapper == "eval";
        inner
    }
}

impl Walker {
    pub(super) fn doubt(&mut self, reason: impl Into<String>, text: &str) {
        let doubt = Doubt::new(reason, text);
        if let Some(every) = self
            .every_doubt
            .as_mut()
            .filter(|every| every.len() < super::MAX_DOUBTS)
        {
            every.push(doubt.clone());
        }
        if self.script.doubts.len() < 64 && !self.script.doubts.contains(&doubt) {
            self.script.doubts.push(doubt);
        }
    }

    /// Pays for work. False when the text has cost too much, which is a doubt: then nothing more is read.
    pub(super) fn step(&mut self, steps: usize) -> bool {
        self.paid(|budget| budget.step(steps))
    }

    /// Pays for bytes that are copied or kept, as [`step`](Self::step) does.
    pub(super) fn copy(&mut self, bytes: usize) -> bool {
        self.paid(|budget| budget.copy(bytes))
    }

    fn paid(&mut self, pay: impl FnOnce(&mut Budget) -> Result<(), Spent>) -> bool {
        let gave_up = self.budget.is_spent();
        let paid = pay(&mut self.budget).is_ok();
        if !paid && !gave_up {
            self.script.is_cut = true;
            self.doubt(TOO_MUCH, "");
        }
        paid
    }

    /// Doubts brace expansion where another shell reads the text.
    pub(super) fn brace_dialect(&mut self, source: &str) {
        if self.dialect == Some(Dialect::Sh) {
            self.doubt(
                "braces mean something else to other shells than bash",
                source,
            );
        }
    }

    pub(super) fn sets_unknown_names(&self) -> bool {
        self.set_anything
    }

    /// Reads a text that is part of the text, in this very shell: the text itself, `eval`.
    pub(super) fn text(&mut self, text: &str, dialect: Dialect, context: &Context<'_>) -> Outcome {
        if self.depth >= MAX_DEPTH || context.via.len() > MAX_WRAPPERS {
            self.doubt("texts inside texts, too many to read", text);
            return Outcome::stays(&Directory::Unknown);
        }
        if !self.step(text.len()) {
            return Outcome::stays(&Directory::Unknown);
        }
        let (parsed, doubts) = Parser::new(text, dialect, self.depth).parse();
        for doubt in doubts {
            self.doubt(doubt.reason, &doubt.text);
        }
        self.facts.merge(&parsed.facts);
        let context = Context {
            documents: &parsed.documents,
            straight: self.depth == 0,
            ..context.clone()
        };
        let outer = self.dialect.replace(dialect);
        self.depth += 1;
        let outcome = self.list(&parsed.list, &context);
        self.depth -= 1;
        self.dialect = outer;
        outcome
    }

    /// Reads a text that another shell runs.
    pub(super) fn child_text(&mut self, text: &str, dialect: Dialect, context: &Context<'_>) {
        if !self.step(self.facts.size()) {
            return;
        }
        let facts = self.facts.clone();
        let known = std::mem::take(&mut self.known);
        self.apart(|walker| {
            walker.text(text, dialect, context);
        });
        self.facts = facts;
        self.known = known;
    }

    /// Does something whose effects end with it: a subshell.
    pub(super) fn apart(&mut self, work: impl FnOnce(&mut Self)) {
        let directory = self.directory.clone();
        let hoped = self.hoped.clone();
        let ends_on_error = self.ends_on_error;
        let movements = self.movements;
        work(self);
        self.hoped = hoped;
        self.movements = movements;
        self.directory = if self.unsteady {
            Directory::Unknown
        } else {
            directory
        };
        self.ends_on_error = ends_on_error;
    }

    pub(super) fn list(&mut self, list: &List<'_>, context: &Context<'_>) -> Outcome {
        let mut last = Outcome::stays(&self.directory);
        let mut reached = true;
        let mut gives_up = false;
        for item in list {
            if self.script.commands.len() >= MAX_COMMANDS {
                self.script.is_cut = true;
                self.doubt("more commands than are listed", "");
                return Outcome::stays(&Directory::Unknown);
            }
            if self.budget.is_spent() {
                return Outcome::stays(&Directory::Unknown);
            }
            let before = self.directory.clone();
            // An error in arithmetic gives up the line, even one that would have ended the text, and goes on with the next.
            gives_up = item.calculates || gives_up && !item.starts_line;
            last = self.item(item, context);
            let checks = self.ends_on_error
                && !self.may_survive_errors
                && context.straight
                && is_plain(item);
            let mut after = if checks {
                last.ok.clone()
            } else {
                last.clone().after()
            };
            if gives_up && after.as_ref() != Some(&before) {
                after = Some(Directory::Unknown);
                last = Outcome::stays(&Directory::Unknown);
            }
            reached &= after.is_some();
            self.directory = after.unwrap_or(Directory::Unknown);
        }
        if reached { last } else { Outcome::NEVER }
    }

    pub(super) fn item(&mut self, item: &Item<'_>, context: &Context<'_>) -> Outcome {
        if item.background {
            self.script.files.in_any_order = true;
            let inner = context.apart();
            self.apart(|walker| {
                walker.chain(&item.chain, &inner);
            });
            return Outcome::stays(&self.directory);
        }
        self.chain(&item.chain, context)
    }

    pub(super) fn chain(
        &mut self,
        chain: &[(Link, Pipeline<'_>)],
        context: &Context<'_>,
    ) -> Outcome {
        let Some(((_, first), rest)) = chain.split_first() else {
            return Outcome::stays(&self.directory);
        };
        let mut outcome = self.pipeline(first, context);
        if rest.is_empty() {
            return outcome;
        }
        let inner = Context {
            straight: false,
            ..context.clone()
        };
        for (link, pipeline) in rest {
            let start = match link {
                Link::Or => outcome.failed.clone(),
                Link::And | Link::First => outcome.ok.clone(),
            };
            self.directory = start.clone().unwrap_or(Directory::Unknown);
            let mut next = self.pipeline(pipeline, &inner);
            if start.is_none() {
                next = Outcome::NEVER;
            }
            outcome = match link {
                Link::Or => Outcome {
                    ok: join(outcome.ok, next.ok),
                    failed: next.failed,
                },
                Link::And | Link::First => Outcome {
                    ok: next.ok,
                    failed: join(outcome.failed, next.failed),
                },
            };
        }
        outcome
    }

    pub(super) fn pipeline(&mut self, pipeline: &Pipeline<'_>, context: &Context<'_>) -> Outcome {
        let mut outcome = match pipeline.parts.as_slice() {
            [] => Outcome::stays(&self.directory),
            [command] => self.command(command, context),
            parts => {
                self.script.files.in_any_order = true;
                for (index, command) in parts.iter().enumerate() {
                    let mut inner = context.apart();
                    if index > 0 {
                        inner.piped = true;
                        inner.input = Input::Piped;
                    }
                    self.apart(|walker| {
                        walker.command(command, &inner);
                    });
                }
                Outcome::stays(&self.directory)
            }
        };
        if pipeline.negated {
            std::mem::swap(&mut outcome.ok, &mut outcome.failed);
        }
        outcome
    }

    /// Where a command's input comes from, given that `exec` may have changed the shell's own.
    pub(super) fn input(&self, context: &Context<'_>) -> Input {
        match &context.input {
            Input::Start | Input::Given(_) if self.other_input => Input::Unknown,
            Input::Given(text) => Input::Text(Arc::clone(text)),
            input => input.clone(),
        }
    }

    /// What a wrapper runs starts in this directory.
    pub(super) fn in_directory(&mut self, directory: Directory, work: impl FnOnce(&mut Self)) {
        let hoped = std::mem::replace(&mut self.hoped, directory.clone());
        let outer = std::mem::replace(&mut self.directory, directory);
        work(self);
        self.directory = outer;
        self.hoped = hoped;
    }

    /// Notes words that a variable takes.
    pub(super) fn note_list(&mut self, name: &str, words: Vec<Word>) {
        if self.copy(name.len() + weight(&words)) {
            let name = name.to_owned();
            self.script.lists.push(WordList { name, words });
        }
    }

    /// Notes the words that functions of the text are called with. A function may be called above the place that defines it, in
    /// another one, so this comes last.
    fn list_calls(&mut self) {
        if self.functions.is_empty() {
            return;
        }
        let calls = self.script.commands.iter().filter(|command| {
            let name = command.words.first().and_then(Word::as_static);
            name.is_some_and(|name| self.functions.contains_key(name))
        });
        let calls: Vec<Vec<Word>> = calls.map(|call| call.words[1..].to_vec()).collect();
        for words in calls {
            self.note_list("@", words);
        }
    }

    /// Whether calling a function may change the directory.
    pub(super) fn function_moves(&self, name: &str) -> bool {
        const MANY: usize = 500;
        if !self.has_moving_function || !self.functions.contains_key(name) {
            return false;
        }
        let mut seen = HashSet::from([name]);
        let mut open = vec![name];
        while let Some(function) = open.pop().and_then(|name| self.functions.get(name)) {
            if function.moves || seen.len() > MANY {
                return true;
            }
            for call in &function.calls {
                if self.functions.contains_key(call) && seen.insert(call) {
                    open.push(call);
                }
            }
        }
        false
    }

    /// Something ran whose effects on variables and functions are unknown.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.set_anything = true;
    }
}

/// Whether an item is one command, whose failure `set -e` sees.
fn is_plain(item: &Item<'_>) -> bool {
    !item.background
        && matches!(item.chain.as_slice(), [(_, pipeline)] if !pipeline.negated
            && matches!(pipeline.parts.as_slice(), [command] if matches!(command.kind, Kind::Simple { .. })))
}
