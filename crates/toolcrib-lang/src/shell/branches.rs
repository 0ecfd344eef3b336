//! Going through compound commands: where the shell may be after them, and what a function does.

use std::sync::Arc;

use super::programs::{self, Fact};
use super::script::{Directory, SimpleCommand, Word};
use super::syntax::{Command, Kind, List, Piece, Raw};
use super::variables;
use super::walk::{Context, Function, Input, Outcome, Walker, join};

/// The most redirections that a command inherits from the groups around it.
const MAX_INHERITED: usize = 16;

/// What was so before a loop.
pub(super) struct LoopStart {
    moves: bool,
    movements: usize,
    listed: usize,
}

impl Walker {
    pub(super) fn command(&mut self, command: &Command<'_>, context: &Context<'_>) -> Outcome {
        if let Kind::Simple { assignments, words } = &command.kind {
            return self.simple(command, assignments, words, context);
        }
        if !self.step(1) {
            return Outcome::stays(&Directory::Unknown);
        }
        let mut inner = context.clone();
        if !command.redirects.is_empty() {
            let own = self.redirects(&command.redirects, &mut inner);
            if !own.is_empty() {
                // What opens them is the group itself.
                self.list_command(SimpleCommand {
                    redirects: own.clone(),
                    hoped: self.hoped.clone(),
                    span: self.span(command, context),
                    ..SimpleCommand::default()
                });
            }
            let around = Arc::make_mut(&mut inner.redirects);
            around.extend(own);
            if around.len() > MAX_INHERITED {
                around.truncate(MAX_INHERITED);
                self.doubt("too many redirections around a command", "");
            }
            inner.straight = false;
        }
        let before = self.directory.clone();
        let outcome = self.compound(command, context, inner);
        if self.may_fail(&command.redirects) {
            outcome.or_fails_in(before)
        } else {
            outcome
        }
    }

    fn compound(
        &mut self,
        command: &Command<'_>,
        context: &Context<'_>,
        mut inner: Context<'_>,
    ) -> Outcome {
        match &command.kind {
            Kind::Simple { .. } => Outcome::stays(&self.directory),
            Kind::Group(list) => self.list(list, &inner),
            Kind::Subshell(list) => {
                let inner = inner.apart();
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
                let start = self.start_loop(*moves, &mut inner);
                self.list(condition, &inner);
                self.list(body, &inner);
                self.end_loop(start)
            }
            Kind::For {
                name,
                words,
                body,
                moves,
            } => {
                variables::check(self, name, &Word::dynamic("for"), context);
                let mut expanded = Vec::new();
                for word in words {
                    self.pieces(&word.pieces, context);
                    self.arguments(word, &mut expanded);
                }
                // Without words it goes over the positional parameters.
                if words.is_empty() {
                    expanded.push(Word::dynamic("$@"));
                }
                self.note_list(name, expanded);
                let start = self.start_loop(*moves, &mut inner);
                self.list(body, &inner);
                self.end_loop(start)
            }
            Kind::ForArithmetic {
                expression,
                body,
                moves,
            } => {
                self.pieces(expression, context);
                self.check_arithmetic(expression, "for ((…))");
                let start = self.start_loop(*moves, &mut inner);
                self.list(body, &inner);
                self.end_loop(start)
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
            Kind::Function {
                name,
                body,
                moves,
                calls,
            } => {
                let function = Function {
                    moves: *moves,
                    calls: calls.iter().cloned().collect(),
                };
                self.function(name, body, function, context);
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
                self.script.files.in_any_order = true;
                let mut inner = inner.apart();
                inner.input = Input::Unknown;
                inner.piped = true;
                self.apart(|walker| {
                    walker.command(body, &inner);
                });
                Outcome::stays(&self.directory)
            }
        }
    }

    pub(super) fn conditional(
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

    pub(super) fn start_loop(&mut self, moves: bool, inner: &mut Context<'_>) -> LoopStart {
        self.script.files.in_any_order = true;
        inner.straight = false;
        inner.in_loop = true;
        if moves {
            self.directory = Directory::Unknown;
        }
        LoopStart {
            moves,
            movements: self.movements,
            listed: self.script.commands.len(),
        }
    }

    pub(super) fn end_loop(&mut self, start: LoopStart) -> Outcome {
        if start.moves {
            self.directory = Directory::Unknown;
        } else if self.movements > start.movements {
            // It moved after all, and then the next round starts elsewhere.
            self.directory = Directory::Unknown;
            for command in &mut self.script.commands[start.listed..] {
                command.directory = Directory::Unknown;
                for redirect in &mut command.redirects {
                    redirect.directory = Directory::Unknown;
                }
            }
        }
        Outcome::stays(&self.directory)
    }

    pub(super) fn function(
        &mut self,
        name: &str,
        body: &Command<'_>,
        function: Function,
        context: &Context<'_>,
    ) {
        if programs::is(name, Fact::Keyword, "yes") {
            self.doubt("a function takes the place of a command of the shell", name);
        }
        // It may be defined in a branch or a subshell only: what was known of the name before still counts.
        let known = self.functions.entry(name.to_owned()).or_default();
        known.moves |= function.moves;
        self.has_moving_function |= function.moves;
        known.calls.extend(function.calls);
        self.script.fork_bomb |= starts_itself(body, name, false);
        self.script.files.in_any_order = true;
        let inner = Context {
            straight: false,
            in_loop: false,
            in_function: true,
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
    pub(super) fn test(&mut self, words: &[Raw<'_>], context: &Context<'_>) {
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
