//! Goes through a parsed text in the order of running: lists commands, follows directories, remembers certain values.

use std::collections::HashMap;
use std::ops::Range;

use super::facts::Facts;
use super::lex::{Dialect, MAX_DEPTH, Parser};
use super::script::{Directory, Doubt, Redirect, RedirectKind, Script, SimpleCommand, Word};
use super::syntax::{
    Assignment, Command, Document, Item, Kind, Link, List, Operation, Piece, Pipeline, Raw,
    RawKind, RawRedirect, Value,
};
use super::{MAX_TEXT, builtins, runners, variables};

/// The most commands that are listed.
const MAX_COMMANDS: usize = 10_000;
/// The most bytes of texts inside the text (`sh -c`, backticks) that are read, together.
const MAX_INNER: usize = 4 * MAX_TEXT;
/// The most redirections that a command inherits from the groups around it.
const MAX_INHERITED: usize = 64;
/// The most wrappers around a command.
const MAX_WRAPPERS: usize = 12;

/// Reads a text from its beginning.
pub(super) fn read(text: &str) -> Script {
    let mut walker = Walker::default();
    if text.len() > MAX_TEXT {
        let reason = format!("the text is longer than the {MAX_TEXT} bytes that are read");
        walker.doubt(reason, text);
        return walker.script;
    }
    if text.contains('\0') {
        walker.doubt("a null byte, which shells drop or stop at", text);
    }
    walker.text(text, Dialect::Bash, &Context::default());
    walker.script
}

#[derive(Debug, Default)]
pub(super) struct Walker {
    pub(super) script: Script,
    pub(super) facts: Facts,
    /// Values of variables that were set in straight-line code.
    pub(super) known: HashMap<String, String>,
    pub(super) directory: Directory,
    /// Functions, and whether a call may change the directory.
    pub(super) functions: HashMap<String, bool>,
    /// Whether a failing command ends the text.
    pub(super) ends_on_error: bool,
    dialect: Option<Dialect>,
    depth: usize,
    inner_bytes: usize,
    /// Something was run whose effect on variables cannot be told.
    set_anything: bool,
}

/// What is around a command.
#[derive(Debug, Clone, Default)]
pub(super) struct Context<'t> {
    documents: &'t [Document<'t>],
    pub(super) via: Vec<String>,
    pub(super) redirects: Vec<Redirect>,
    pub(super) piped: bool,
    pub(super) input: Input,
    /// Whether this runs exactly once, whenever the text runs: no branch, loop, function or subshell around.
    pub(super) straight: bool,
    /// Where in the outermost text this is, when it is read from inside a word.
    span: Option<Range<usize>>,
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
    Text(Word),
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

    fn after(self) -> Option<Directory> {
        join(self.ok, self.failed)
    }
}

fn join(one: Option<Directory>, other: Option<Directory>) -> Option<Directory> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.or(&other)),
        (one, other) => one.or(other),
    }
}

impl Context<'_> {
    /// The context of what a wrapper runs.
    pub(super) fn inside(&self, wrapper: &str) -> Self {
        let mut inner = self.clone();
        inner.via.push(wrapper.to_owned());
        inner.straight = false;
        inner
    }
}

impl Walker {
    pub(super) fn doubt(&mut self, reason: impl Into<String>, text: &str) {
        let doubt = Doubt::new(reason, text);
        if self.script.doubts.len() < 64 && !self.script.doubts.contains(&doubt) {
            self.script.doubts.push(doubt);
        }
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
        self.inner_bytes += text.len();
        if self.depth >= MAX_DEPTH
            || self.inner_bytes > MAX_INNER
            || context.via.len() > MAX_WRAPPERS
        {
            self.doubt("texts inside texts, too many to read", text);
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
        let facts = self.facts.clone();
        let known = std::mem::take(&mut self.known);
        self.apart(|walker| {
            walker.text(text, dialect, context);
        });
        self.facts = facts;
        self.known = known;
    }

    /// Does something whose effects end with it: a subshell.
    fn apart(&mut self, work: impl FnOnce(&mut Self)) {
        let directory = self.directory.clone();
        let ends_on_error = self.ends_on_error;
        work(self);
        self.directory = directory;
        self.ends_on_error = ends_on_error;
    }

    fn list(&mut self, list: &List<'_>, context: &Context<'_>) -> Outcome {
        let mut last = Outcome::stays(&self.directory);
        let mut reached = true;
        for item in list {
            last = self.item(item, context);
            let checks = self.ends_on_error && context.straight && is_plain(item);
            let after = if checks {
                last.ok.clone()
            } else {
                last.clone().after()
            };
            reached &= after.is_some();
            self.directory = after.unwrap_or(Directory::Unknown);
        }
        if reached { last } else { Outcome::NEVER }
    }

    fn item(&mut self, item: &Item<'_>, context: &Context<'_>) -> Outcome {
        if item.background {
            let inner = Context {
                straight: false,
                input: if context.input == Input::Start {
                    Input::Start
                } else {
                    context.input.clone()
                },
                ..context.clone()
            };
            self.apart(|walker| {
                walker.chain(&item.chain, &inner);
            });
            return Outcome::stays(&self.directory);
        }
        self.chain(&item.chain, context)
    }

    fn chain(&mut self, chain: &[(Link, Pipeline<'_>)], context: &Context<'_>) -> Outcome {
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

    fn pipeline(&mut self, pipeline: &Pipeline<'_>, context: &Context<'_>) -> Outcome {
        let mut outcome = match pipeline.parts.as_slice() {
            [] => Outcome::stays(&self.directory),
            [command] => self.command(command, context),
            parts => {
                for (index, command) in parts.iter().enumerate() {
                    let mut inner = Context {
                        straight: false,
                        ..context.clone()
                    };
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

    fn command(&mut self, command: &Command<'_>, context: &Context<'_>) -> Outcome {
        if let Kind::Simple { assignments, words } = &command.kind {
            return self.simple(command, assignments, words, context);
        }
        let mut inner = context.clone();
        if !command.redirects.is_empty() {
            let own = self.redirects(&command.redirects, &mut inner);
            if !own.is_empty() {
                // What opens them is the group itself.
                self.list_command(
                    SimpleCommand {
                        redirects: own.clone(),
                        span: self.span(command, context),
                        ..SimpleCommand::default()
                    },
                    context,
                );
            }
            inner.redirects.extend(own);
            if inner.redirects.len() > MAX_INHERITED {
                self.doubt("too many redirections around a command", "");
                inner.redirects.truncate(MAX_INHERITED);
            }
            inner.straight = false;
        }
        match &command.kind {
            Kind::Simple { .. } => Outcome::stays(&self.directory),
            Kind::Group(list) => self.list(list, &inner),
            Kind::Subshell(list) => {
                inner.straight = false;
                self.apart(|walker| {
                    walker.list(list, &inner);
                });
                Outcome::stays(&self.directory)
            }
            Kind::If { arms, otherwise } => self.conditional(arms, otherwise.as_ref(), &mut inner),
            Kind::Loop {
                condition,
                body,
                moves,
            } => {
                self.start_loop(*moves, &mut inner);
                self.list(condition, &inner);
                self.list(body, &inner);
                self.end_loop(*moves)
            }
            Kind::For { words, body, moves } => {
                for word in words {
                    self.pieces(&word.pieces, context);
                    // For the doubts that expansion raises.
                    self.arguments(word, &mut Vec::new());
                }
                self.start_loop(*moves, &mut inner);
                self.list(body, &inner);
                self.end_loop(*moves)
            }
            Kind::ForArithmetic {
                expression,
                body,
                moves,
            } => {
                self.pieces(expression, context);
                self.check_arithmetic(expression, "for ((…))");
                self.start_loop(*moves, &mut inner);
                self.list(body, &inner);
                self.end_loop(*moves)
            }
            Kind::Case { word, arms } => {
                self.pieces(&word.pieces, context);
                inner.straight = false;
                let before = self.directory.clone();
                let mut after = Some(before.clone());
                let mut moved = false;
                for (patterns, body) in arms {
                    for pattern in patterns {
                        self.pieces(&pattern.pieces, context);
                    }
                    // Through `;&` an arm may go on where another one was.
                    self.directory = if moved {
                        Directory::Unknown
                    } else {
                        before.clone()
                    };
                    let end = self.list(body, &inner).after();
                    moved |= end.as_ref().is_some_and(|end| *end != before);
                    after = join(after, end);
                }
                let directory = after.unwrap_or(Directory::Unknown);
                Outcome::stays(&directory)
            }
            Kind::Function { name, body, moves } => {
                self.function(name, body, *moves, context);
                Outcome::stays(&self.directory)
            }
            Kind::Test(words) => {
                self.test(words, context);
                Outcome::stays(&self.directory)
            }
            Kind::Arithmetic(pieces) => {
                self.pieces(pieces, context);
                self.check_arithmetic(pieces, "((…))");
                Outcome::stays(&self.directory)
            }
            Kind::Coprocess(body) => {
                inner.straight = false;
                inner.input = Input::Unknown;
                inner.piped = true;
                self.apart(|walker| {
                    walker.command(body, &inner);
                });
                Outcome::stays(&self.directory)
            }
        }
    }

    fn conditional(
        &mut self,
        arms: &[(List<'_>, List<'_>)],
        otherwise: Option<&List<'_>>,
        inner: &mut Context<'_>,
    ) -> Outcome {
        inner.straight = false;
        let mut after: Option<Directory> = None;
        for (condition, body) in arms {
            let outcome = self.list(condition, inner);
            self.directory = outcome.ok.unwrap_or(Directory::Unknown);
            after = join(after, self.list(body, inner).after());
            self.directory = outcome.failed.unwrap_or(Directory::Unknown);
        }
        let last = match otherwise {
            Some(body) => self.list(body, inner).after(),
            None => Some(self.directory.clone()),
        };
        match join(after, last) {
            Some(directory) => Outcome::stays(&directory),
            None => Outcome::NEVER,
        }
    }

    fn start_loop(&mut self, moves: bool, inner: &mut Context<'_>) {
        inner.straight = false;
        if moves {
            self.directory = Directory::Unknown;
        }
    }

    fn end_loop(&mut self, moves: bool) -> Outcome {
        if moves {
            self.directory = Directory::Unknown;
        }
        Outcome::stays(&self.directory)
    }

    fn function(&mut self, name: &str, body: &Command<'_>, moves: bool, context: &Context<'_>) {
        if runners::SHELL_WORDS.contains(&name) {
            self.doubt("a function takes the place of a command of the shell", name);
        }
        self.functions.insert(name.to_owned(), moves);
        self.script.fork_bomb |= starts_itself(body, name, false);
        let inner = Context {
            straight: false,
            input: Input::Unknown,
            ..context.clone()
        };
        let ends_on_error = self.ends_on_error;
        self.apart(|walker| {
            walker.directory = Directory::Unknown;
            walker.ends_on_error = false;
            walker.command(body, &inner);
        });
        self.ends_on_error = ends_on_error;
    }

    /// `[[ … ]]`: its words may be arithmetic.
    fn test(&mut self, words: &[Raw<'_>], context: &Context<'_>) {
        for (index, word) in words.iter().enumerate() {
            self.pieces(&word.pieces, context);
            match word.plain() {
                Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") => {
                    for operand in [index.wrapping_sub(1), index + 1] {
                        if let Some(operand) = words.get(operand) {
                            self.check_arithmetic(&operand.pieces, operand.source);
                        }
                    }
                }
                Some("-v" | "-R") => {
                    if let Some(operand) = words.get(index + 1) {
                        let value = self.value(operand);
                        self.check_name(&value);
                    }
                }
                _ => {}
            }
        }
    }

    /// Doubts a variable's name that may have a subscript: subscripts are arithmetic.
    pub(super) fn check_name(&mut self, name: &Word) {
        let fine = name.as_static().is_some_and(|name| {
            name.find('[').is_none_or(|at| {
                let inner = name[at + 1..].trim_end_matches(']');
                matches!(inner, "@" | "*") || self.is_harmless_expression(inner)
            })
        });
        if !fine {
            self.doubt(
                "a variable's name that may have a subscript, which may run commands",
                &name.shown(),
            );
        }
    }

    fn span(&self, command: &Command<'_>, context: &Context<'_>) -> Range<usize> {
        context.span.clone().unwrap_or_else(|| command.span.clone())
    }

    fn simple(
        &mut self,
        command: &Command<'_>,
        assignments: &[Assignment<'_>],
        raw: &[Raw<'_>],
        context: &Context<'_>,
    ) -> Outcome {
        let span = self.span(command, context);
        let mut set = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            set.push(self.assignment(assignment, context));
        }
        let mut words = Vec::with_capacity(raw.len());
        for word in raw {
            self.pieces(&word.pieces, context);
            self.arguments(word, &mut words);
        }
        let inner_context;
        let mut context = context;
        let mut redirects = context.redirects.clone();
        if !command.redirects.is_empty() {
            let mut inner = context.clone();
            let own = self.redirects(&command.redirects, &mut inner);
            inner.redirects.extend(own.iter().cloned());
            redirects.extend(own);
            inner_context = inner;
            context = &inner_context;
        }
        if words.is_empty() {
            if !raw.is_empty() {
                self.doubt("a command that comes from variables", raw[0].source);
            } else if context.straight && command.redirects.is_empty() {
                for (assignment, (name, value)) in assignments.iter().zip(&set) {
                    let plain = assignment.subscript.is_none() && !assignment.appends;
                    if let (true, Some(value)) = (
                        plain && matches!(assignment.value, Value::Word(_)),
                        value.as_static(),
                    ) {
                        self.known.insert(name.clone(), value.to_owned());
                    }
                }
            }
        }
        let hidden = raw.first().is_some_and(|word| word.literal().is_none())
            && words
                .first()
                .and_then(Word::as_static)
                .is_some_and(builtins::is_known);
        if hidden {
            self.doubt(
                "a command of the shell whose name comes from a variable",
                raw[0].source,
            );
            self.forget();
        }
        let listed = SimpleCommand {
            words,
            assignments: set,
            redirects,
            via: context.via.clone(),
            directory: self.directory.clone(),
            piped: context.piped,
            span,
        };
        let context = Context {
            span: Some(listed.span.clone()),
            ..context.clone()
        };
        self.run(listed, &context)
    }

    /// Lists a command and what it runs in turn.
    pub(super) fn run(&mut self, command: SimpleCommand, context: &Context<'_>) -> Outcome {
        if context.via.len() > MAX_WRAPPERS {
            self.doubt("wrappers inside wrappers, too many to read", "");
            return Outcome::stays(&Directory::Unknown);
        }
        for (name, value) in &command.assignments {
            variables::check(self, name, value, context);
        }
        let Some(first) = command.words.first() else {
            self.list_command(command, context);
            return Outcome::stays(&self.directory);
        };
        let Some(name) = command.name() else {
            self.doubt(
                "which command runs is known only when it runs",
                &first.shown(),
            );
            self.set_anything = true;
            let outcome = Outcome::stays(&Directory::Unknown);
            self.list_command(command, context);
            return outcome;
        };
        if self.functions.get(name).is_some_and(|moves| *moves) {
            self.list_command(command, context);
            return Outcome::stays(&Directory::Unknown);
        }
        if !runners::knows(name) {
            self.list_command(command, context);
            return Outcome::stays(&self.directory);
        }
        let name = name.to_owned();
        let words = command.words.clone();
        self.list_command(command, context);
        runners::run(self, &name, &words, context)
    }

    /// Lists a command made of words that a wrapper runs, and what that runs in turn.
    pub(super) fn run_words(&mut self, words: Vec<Word>, context: &Context<'_>) {
        if words.is_empty() {
            return;
        }
        let command = SimpleCommand {
            words,
            assignments: Vec::new(),
            redirects: context.redirects.clone(),
            via: context.via.clone(),
            directory: self.directory.clone(),
            piped: context.piped,
            span: context.span.clone().unwrap_or_default(),
        };
        let facts_anything = self.facts.anything;
        self.apart(|walker| {
            walker.run(command, context);
        });
        self.facts.anything = facts_anything;
    }

    fn list_command(&mut self, command: SimpleCommand, _context: &Context<'_>) {
        if self.script.commands.len() >= MAX_COMMANDS {
            self.doubt("more commands than are listed", "");
            return;
        }
        self.script.commands.push(command);
    }

    /// What a wrapper runs starts in this directory.
    pub(super) fn in_directory(&mut self, directory: Directory, work: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.directory, directory);
        work(self);
        self.directory = outer;
    }

    /// Something ran whose effects on variables and functions cannot be told.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.set_anything = true;
    }

    fn assignment(&mut self, assignment: &Assignment<'_>, context: &Context<'_>) -> (String, Word) {
        if let Some(subscript) = &assignment.subscript {
            self.pieces(subscript, context);
            self.check_arithmetic(subscript, assignment.name);
        }
        let value = match &assignment.value {
            Value::Word(word) => {
                self.pieces(&word.pieces, context);
                self.value(word)
            }
            Value::Array(elements) => {
                let mut shown = String::from("(");
                for (subscript, word) in elements {
                    if let Some(subscript) = subscript {
                        self.pieces(subscript, context);
                        self.check_arithmetic(subscript, assignment.name);
                    }
                    self.pieces(&word.pieces, context);
                    self.arguments(word, &mut Vec::new());
                    if shown.len() > 1 {
                        shown.push(' ');
                    }
                    shown.push_str(word.source);
                }
                shown.push(')');
                let mut word = Word::dynamic(&shown);
                word.splits = false;
                word
            }
        };
        (assignment.name.to_owned(), value)
    }

    fn redirects(&mut self, raw: &[RawRedirect<'_>], context: &mut Context<'_>) -> Vec<Redirect> {
        let mut redirects = Vec::with_capacity(raw.len());
        for redirect in raw {
            let around = context.clone();
            let kind = match redirect.kind {
                RawKind::Read => RedirectKind::Read,
                RawKind::Write => RedirectKind::Write,
                RawKind::Duplicate => {
                    if redirect.is_input {
                        context.input = Input::Unknown;
                    }
                    let number = redirect.target.literal().is_some_and(|text| {
                        let digits = text.strip_suffix('-').unwrap_or(&text);
                        digits.bytes().all(|byte| byte.is_ascii_digit())
                    });
                    if number {
                        continue;
                    }
                    RedirectKind::Write
                }
                RawKind::Document(index) => {
                    let text = self.document(index, &around);
                    if redirect.is_input {
                        context.input = Input::Text(text);
                        context.piped = false;
                    }
                    continue;
                }
                RawKind::HereString => {
                    self.pieces(&redirect.target.pieces, &around);
                    let mut text = self.value(&redirect.target);
                    text.push_text("\n");
                    if redirect.is_input {
                        context.input = Input::Text(text);
                        context.piped = false;
                    }
                    continue;
                }
            };
            self.pieces(&redirect.target.pieces, &around);
            if redirect.is_input {
                context.input = Input::File;
                context.piped = false;
            }
            let mut targets = Vec::with_capacity(1);
            self.arguments(&redirect.target, &mut targets);
            for target in targets {
                redirects.push(Redirect {
                    kind,
                    target,
                    directory: self.directory.clone(),
                });
            }
        }
        redirects
    }

    fn document(&mut self, index: usize, context: &Context<'_>) -> Word {
        let Some(document) = context.documents.get(index) else {
            return Word::dynamic("<<");
        };
        if document.quoted {
            return Word::text(document.body.as_ref());
        }
        let mut parser = Parser::new(
            &document.body,
            self.dialect.unwrap_or(Dialect::Bash),
            self.depth,
        );
        let mut pieces = Vec::new();
        let done = parser.quoted_text(None, &mut pieces);
        for doubt in std::mem::take(&mut parser.doubts) {
            self.doubt(doubt.reason, &doubt.text);
        }
        self.facts.merge(&parser.facts);
        let inner = Context {
            documents: &parser.documents,
            span: Some(context.span.clone().unwrap_or_default()),
            ..context.clone()
        };
        self.depth += 1;
        self.pieces(&pieces, &inner);
        self.depth -= 1;
        if done.is_err() {
            return Word::dynamic("<<");
        }
        self.document_word(&pieces)
    }

    /// Goes through the substitutions in a word.
    fn pieces(&mut self, pieces: &[Piece<'_>], context: &Context<'_>) {
        for piece in pieces {
            match piece {
                Piece::Plain(_) | Piece::Text(_) => {}
                Piece::Parameter(parameter) => {
                    if let Some(subscript) = &parameter.subscript {
                        self.pieces(subscript, context);
                        let whole = matches!(subscript.as_slice(), [Piece::Plain(text)] if text == "@" || text == "*");
                        if !whole {
                            self.check_arithmetic(subscript, parameter.source);
                        }
                    }
                    self.pieces(&parameter.rest, context);
                    match parameter.operation {
                        Operation::Slice => {
                            self.check_arithmetic(&parameter.rest, parameter.source);
                        }
                        Operation::Assign => {
                            let value = Word::dynamic(parameter.source);
                            variables::check(self, parameter.name, &value, context);
                        }
                        _ => {}
                    }
                }
                Piece::Substitution { list, .. } => self.substitution(list, context, false),
                Piece::Process { list, source } => {
                    self.substitution(list, context, source.starts_with('>'));
                }
                Piece::Backticks { text, .. } => {
                    let inner = Context {
                        span: Some(context.span.clone().unwrap_or_default()),
                        ..context.clone()
                    };
                    let facts = self.facts.clone();
                    let dialect = self.dialect.unwrap_or(Dialect::Bash);
                    self.apart(|walker| {
                        walker.text(text, dialect, &inner);
                    });
                    self.facts = facts;
                }
                Piece::Arithmetic { pieces, source, .. } => {
                    self.pieces(pieces, context);
                    self.check_arithmetic(pieces, source);
                }
            }
        }
    }

    fn substitution(&mut self, list: &List<'_>, context: &Context<'_>, fed: bool) {
        let mut inner = Context {
            straight: false,
            ..context.clone()
        };
        if fed {
            inner.piped = true;
            inner.input = Input::Piped;
        }
        self.apart(|walker| {
            walker.list(list, &inner);
        });
    }
}

/// Whether an item is one command, whose failure `set -e` sees.
fn is_plain(item: &Item<'_>) -> bool {
    !item.background
        && matches!(item.chain.as_slice(), [(_, pipeline)] if !pipeline.negated
            && matches!(pipeline.parts.as_slice(), [command] if matches!(command.kind, Kind::Simple { .. })))
}

/// Whether a function calls itself in a pipeline or in the background.
fn starts_itself(command: &Command<'_>, name: &str, beside: bool) -> bool {
    let list = |list: &List<'_>| {
        list.iter().any(|item| {
            item.chain.iter().any(|(_, pipeline)| {
                let beside = beside || item.background || pipeline.parts.len() > 1;
                pipeline
                    .parts
                    .iter()
                    .any(|command| starts_itself(command, name, beside))
            })
        })
    };
    match &command.kind {
        Kind::Simple { words, .. } => {
            let calls = beside
                && words
                    .first()
                    .and_then(Raw::literal)
                    .is_some_and(|word| word == name);
            calls
                || words
                    .iter()
                    .flat_map(|word| &word.pieces)
                    .any(|piece| match piece {
                        Piece::Substitution { list: inner, .. }
                        | Piece::Process { list: inner, .. } => list(inner),
                        _ => false,
                    })
        }
        Kind::Group(body) | Kind::Subshell(body) => list(body),
        Kind::Loop {
            condition, body, ..
        } => list(condition) || list(body),
        Kind::For { body, .. } | Kind::ForArithmetic { body, .. } => list(body),
        Kind::If { arms, otherwise } => {
            arms.iter()
                .any(|(condition, body)| list(condition) || list(body))
                || otherwise.as_ref().is_some_and(list)
        }
        Kind::Case { arms, .. } => arms.iter().any(|(_, body)| list(body)),
        Kind::Coprocess(body) => starts_itself(body, name, true),
        Kind::Function { body, .. } => starts_itself(body, name, beside),
        Kind::Test(_) | Kind::Arithmetic(_) => false,
    }
}
