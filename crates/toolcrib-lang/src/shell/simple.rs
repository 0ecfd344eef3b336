//! Simple commands: their assignments, words and redirections, and what is substituted in them.

use std::ops::Range;
use std::sync::Arc;

use super::lex::{Dialect, Parser};
use super::script::{Directory, Part, Redirect, RedirectKind, SimpleCommand, Word};
use super::syntax::{
    Assignment, Command, List, Operation, Piece, Raw, RawKind, RawRedirect, Value,
};
use super::walk::{Context, Input, Outcome, Walker};
use super::{builtins, runners, variables};

/// The most commands that are listed.
pub(super) const MAX_COMMANDS: usize = 10_000;
/// The most wrappers around a command.
pub(super) const MAX_WRAPPERS: usize = 12;
/// The steps that a command costs, besides its words.
const COMMAND: usize = 8;

/// What words cost to copy.
pub(super) fn weight(words: &[Word]) -> usize {
    words.iter().map(Word::weight).sum()
}

/// The text that a here-document or a here-string gives a command.
fn given(context: &Context<'_>) -> Option<Arc<Word>> {
    match &context.input {
        Input::Text(text) => Some(Arc::clone(text)),
        Input::Start | Input::Piped | Input::File | Input::Given(_) | Input::Unknown => None,
    }
}

/// `$(mktemp -d)`: whatever it is, it is a separate directory, and rules about directories want to know.
fn makes_directory(value: &Word) -> bool {
    matches!(value.parts.as_slice(), [Part::Dynamic(source)] if source.starts_with("$(mktemp -d"))
}

impl Walker {
    pub(super) fn span(&self, command: &Command<'_>, context: &Context<'_>) -> Range<usize> {
        context.span.clone().unwrap_or_else(|| command.span.clone())
    }

    pub(super) fn simple(
        &mut self,
        command: &Command<'_>,
        assignments: &[Assignment<'_>],
        raw: &[Raw<'_>],
        context: &Context<'_>,
    ) -> Outcome {
        let span = self.span(command, context);
        if !self.step(COMMAND) {
            return Outcome::stays(&Directory::Unknown);
        }
        let mut set = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            set.push(self.assignment(assignment, context));
        }
        let mut words = Vec::with_capacity(raw.len());
        for word in raw {
            self.pieces(&word.pieces, context);
            self.arguments(word, &mut words);
        }
        self.check_lists(raw);
        let inner_context;
        let mut context = context;
        if !command.redirects.is_empty() {
            let mut inner = context.clone();
            let own = self.redirects(&command.redirects, &mut inner);
            Arc::make_mut(&mut inner.redirects).extend(own);
            inner_context = inner;
            context = &inner_context;
        }
        if words.is_empty() {
            if !raw.is_empty() {
                self.doubt("a command that comes from variables", raw[0].source);
            } else if context.straight && command.redirects.is_empty() {
                for (assignment, (name, value)) in assignments.iter().zip(&set) {
                    let plain = assignment.subscript.is_none() && !assignment.appends;
                    if plain
                        && matches!(assignment.value, Value::Word(_))
                        && (value.is_static() || makes_directory(value))
                    {
                        self.known.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        let hidden = words.first().and_then(Word::as_static).is_some_and(|name| {
            builtins::is_known(name) && raw[0].literal().is_none_or(|written| written != name)
        });
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
            redirects: context.redirects.to_vec(),
            via: context.via.clone(),
            directory: self.directory.clone(),
            hoped: self.hoped.clone(),
            piped: context.piped,
            input: given(context),
            code: None,
            span,
        };
        let context = Context {
            span: Some(listed.span.clone()),
            ..context.clone()
        };
        let before = self.directory.clone();
        let may_fail = self.may_fail(&command.redirects) || !assignments.is_empty();
        let outcome = self.run(listed, &context);
        if may_fail {
            outcome.or_fails_in(before)
        } else {
            outcome
        }
    }

    /// Whether one of the redirections may fail, and the command with it before it does anything.
    pub(super) fn may_fail(&self, redirects: &[RawRedirect<'_>]) -> bool {
        redirects.iter().any(|redirect| {
            let target = redirect.target.literal();
            match redirect.kind {
                RawKind::Document(_) | RawKind::HereString => false,
                RawKind::Read | RawKind::Write => target.is_none_or(|file| file != "/dev/null"),
                RawKind::Duplicate => {
                    target.is_none_or(|number| !matches!(number.as_ref(), "0" | "1" | "2" | "-"))
                }
            }
        })
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
            self.list_command(command);
            return Outcome::stays(&self.directory);
        };
        self.note_program(&command);
        let Some(name) = command.name() else {
            self.doubt(
                "which command runs is known only when it runs",
                &first.shown(),
            );
            self.set_anything = true;
            self.movements += 1;
            let outcome = Outcome::stays(&Directory::Unknown);
            self.list_command(command);
            return outcome;
        };
        let moves = self.function_moves(name)
            || first
                .as_static()
                .is_some_and(|whole| whole != name && self.function_moves(whole));
        if moves {
            self.list_command(command);
            self.movements += 1;
            return Outcome::stays(&Directory::Unknown);
        }
        if !runners::knows(name) {
            self.list_command(command);
            return Outcome::stays(&self.directory);
        }
        let name = name.to_owned();
        if !self.copy(weight(&command.words)) {
            self.list_command(command);
            return Outcome::stays(&Directory::Unknown);
        }
        let words = command.words.clone();
        self.list_command(command);
        // With a slash it is a program, which changes nothing here.
        if builtins::is_known(&name) && words[0].as_static() != Some(name.as_str()) {
            self.apart(|walker| {
                runners::run(walker, &name, &words, context);
            });
            return Outcome::stays(&self.directory);
        }
        runners::run(self, &name, &words, context)
    }

    /// Lists a command made of words that a wrapper runs, and what that runs in turn.
    pub(super) fn run_words(&mut self, words: Vec<Word>, context: &Context<'_>) {
        if words.is_empty() || self.budget.is_spent() {
            return;
        }
        let command = SimpleCommand {
            words,
            assignments: Vec::new(),
            redirects: context.redirects.to_vec(),
            via: context.via.clone(),
            directory: self.directory.clone(),
            hoped: self.hoped.clone(),
            piped: context.piped,
            input: given(context),
            code: None,
            span: context.span.clone().unwrap_or_default(),
        };
        let facts_anything = self.facts.anything;
        self.apart(|walker| {
            walker.run(command, context);
        });
        self.facts.anything = facts_anything;
    }

    pub(super) fn list_command(&mut self, command: SimpleCommand) {
        if self.script.commands.len() >= MAX_COMMANDS {
            self.script.is_cut = true;
            self.doubt("more commands than are listed", "");
            return;
        }
        let around = command.via.iter().map(String::len).sum::<usize>()
            + command.directory.len()
            + command.hoped.len()
            + command
                .redirects
                .iter()
                .map(|redirect| redirect.target.weight())
                .sum::<usize>();
        // It is listed in any case: a caller that gets here had not given up.
        self.copy(weight(&command.words) + around);
        self.script.commands.push(command);
    }

    /// Notes a file that the command listed last opens by itself, by what its program says: `print > "out"` of awk.
    pub(super) fn opens_file(&mut self, kind: RedirectKind, target: Word) {
        if !self.copy(target.weight() + self.directory.len()) {
            return;
        }
        let directory = self.directory.clone();
        if let Some(command) = self.script.commands.last_mut() {
            command.redirects.push(Redirect {
                kind,
                target,
                directory,
            });
        }
    }

    pub(super) fn assignment(
        &mut self,
        assignment: &Assignment<'_>,
        context: &Context<'_>,
    ) -> (String, Word) {
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
                let mut words = Vec::with_capacity(elements.len());
                for (subscript, word) in elements {
                    if let Some(subscript) = subscript {
                        self.pieces(subscript, context);
                        self.check_arithmetic(subscript, assignment.name);
                    }
                    self.pieces(&word.pieces, context);
                    self.arguments(word, &mut words);
                    if shown.len() > 1 {
                        shown.push(' ');
                    }
                    shown.push_str(word.source);
                }
                shown.push(')');
                self.note_list(assignment.name, words);
                let mut word = Word::dynamic(&shown);
                word.splits = false;
                word
            }
        };
        (assignment.name.to_owned(), value)
    }

    pub(super) fn redirects(
        &mut self,
        raw: &[RawRedirect<'_>],
        context: &mut Context<'_>,
    ) -> Vec<Redirect> {
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
                    self.check_duplicate(&redirect.target);
                    RedirectKind::Write
                }
                RawKind::Document(index) => {
                    let text = self.document(index, &around);
                    if redirect.is_input {
                        context.input = Input::Text(Arc::new(text));
                        context.piped = false;
                    }
                    continue;
                }
                RawKind::HereString => {
                    self.pieces(&redirect.target.pieces, &around);
                    let mut text = self.value(&redirect.target);
                    text.push_text("\n");
                    if redirect.is_input {
                        context.input = Input::Text(Arc::new(text));
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

    /// Doubts `>&` with a value: bash expands the name of the file once more, and a value may hold `$(…)`.
    fn check_duplicate(&mut self, target: &Raw<'_>) {
        let number = |piece: &Piece<'_>| match piece {
            Piece::Plain(_) | Piece::Text(_) => true,
            Piece::Parameter(parameter) => {
                parameter.name == "COPROC"
                    || parameter.operation == Operation::None
                        && self.facts.is_numeric(parameter.name)
                        && !parameter.name.bytes().all(|byte| byte.is_ascii_digit())
            }
            Piece::Arithmetic { .. } => true,
            Piece::Substitution { .. } | Piece::Backticks { .. } | Piece::Process { .. } => false,
        };
        if !target.pieces.iter().all(number) {
            self.doubt(
                "the file after `>&` is expanded twice, and a value that cannot be determined may run commands",
                target.source,
            );
        }
    }

    /// Doubts `declare -a x=$y`: bash reads `([…]=…)` in the value as a list, subscripts and all.
    fn check_lists(&mut self, raw: &[Raw<'_>]) {
        // `\declare`, `builtin declare` and `command -p declare` are the same.
        let before = |word: &&Raw<'_>| {
            word.literal().is_some_and(|word| {
                matches!(word.as_ref(), "command" | "builtin") || word.starts_with('-')
            })
        };
        let skipped = raw.iter().take_while(before).count();
        let Some((command, words)) = raw[skipped..].split_first() else {
            return;
        };
        let Some(command) = command.literal() else {
            return;
        };
        if !matches!(
            command.as_ref(),
            "declare" | "typeset" | "local" | "readonly" | "export"
        ) {
            return;
        }
        let makes_lists = words.iter().any(|word| match word.literal() {
            Some(option) => option.starts_with('-') && option.contains(['a', 'A']),
            // An unknown word may be an option.
            None => !word.source.contains('='),
        });
        // Only these look at what a variable is already.
        let redeclares = matches!(command.as_ref(), "declare" | "typeset");
        for word in words {
            let Some((written, value)) = word.source.split_once('=') else {
                continue;
            };
            let name = written
                .trim_matches(['"', '\'', '\\'])
                .trim_end_matches('+');
            let is_list = redeclares && (self.facts.anything || self.facts.is_list(name));
            if value.starts_with('(') && written.trim_end_matches('+') == name
                || word.literal().is_some()
                || !(makes_lists || is_list)
                || !name
                    .bytes()
                    .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
            {
                continue;
            }
            let harmless = word.pieces.iter().all(|piece| match piece {
                Piece::Plain(_) | Piece::Text(_) | Piece::Arithmetic { .. } => true,
                Piece::Parameter(parameter) => {
                    parameter.operation == Operation::Length
                        || parameter.operation == Operation::None
                            && self.facts.is_numeric(parameter.name)
                            && !parameter.name.bytes().all(|byte| byte.is_ascii_digit())
                }
                Piece::Substitution { .. } | Piece::Backticks { .. } | Piece::Process { .. } => {
                    false
                }
            });
            if !harmless {
                self.doubt(
                    "a list is made from a value that cannot be determined, and subscripts in it may run commands",
                    word.source,
                );
            }
        }
    }

    pub(super) fn document(&mut self, index: usize, context: &Context<'_>) -> Word {
        let Some(document) = context.documents.get(index) else {
            return Word::dynamic("<<");
        };
        if !self.step(document.body.len()) {
            return Word::dynamic("<<");
        }
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
    pub(super) fn pieces(&mut self, pieces: &[Piece<'_>], context: &Context<'_>) {
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
                    self.script.files.in_any_order = true;
                    self.substitution(list, context, source.starts_with('>'));
                }
                Piece::Backticks { text, .. } => {
                    let inner = Context {
                        span: Some(context.span.clone().unwrap_or_default()),
                        ..context.clone()
                    };
                    if !self.step(self.facts.size()) {
                        return;
                    }
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

    pub(super) fn substitution(&mut self, list: &List<'_>, context: &Context<'_>, fed: bool) {
        let mut inner = context.apart();
        if fed {
            inner.piped = true;
            inner.input = Input::Piped;
        }
        self.apart(|walker| {
            walker.list(list, &inner);
        });
    }
}
