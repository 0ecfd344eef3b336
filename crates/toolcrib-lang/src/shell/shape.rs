//! Where certain variables stand in a text, and where their values go: [`shape`].
//!
//! For those who write a text around values: every place of a variable with a given prefix, and which other variables may come to
//! hold its value. The order of running is not looked at: a variable that is ever set from a value holds it everywhere.

use std::collections::{BTreeMap, BTreeSet};

use super::cuts::{self, Cut};
use super::lex::{Dialect, Parser};
use super::syntax::{
    Assignment, Command, Document, Kind, List, Operation, Piece, Raw, RawKind, RawRedirect, Value,
};
use crate::model::budget::Budget;

/// The kind of place where a variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariablePosition {
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
    pub(crate) spot: VariablePosition,
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
    holds: BTreeMap<String, BTreeSet<String>>,
    /// Which variable may begin with which others' values.
    begins: BTreeMap<String, BTreeSet<String>>,
    /// Names whose value is used as a name or expanded once more: `${!x}`, `${x@P}`, `declare -n`.
    pub(crate) names_others: BTreeSet<String>,
    /// Variables that become several words where they stand without quotes.
    pub(crate) split: BTreeSet<String>,
    /// Which variable may begin with the inside of which others' values.
    cuts: BTreeMap<String, BTreeSet<(String, Cut)>>,
    /// Variables whose values a command prints where its output becomes several words.
    pub(crate) split_outputs: BTreeSet<String>,
    /// Variables whose values `xargs` makes words of, one each.
    pub(crate) words_of_xargs: BTreeSet<String>,
    /// Files of fixed names and the variables whose values are written to them.
    pub(crate) written: Vec<(String, BTreeSet<String>)>,
    /// Commands of fixed names and the variables whose values they read by `<<<`, `<<` or `< <(…)`.
    pub(crate) fed: Vec<(String, BTreeSet<String>)>,
    /// The names of functions.
    pub(crate) functions: BTreeSet<String>,
}

/// What stands for everything that commands read: pipes, files, here-documents.
pub(super) const INPUT: &str = "<";
/// What stands for the arguments of functions and of the text.
const POSITIONAL: &str = "@";

impl Shape {
    /// The variables whose values may be in another one.
    pub(crate) fn sources(&self, name: &str) -> BTreeSet<String> {
        reach(&self.holds, name, "")
    }

    /// Like [`sources`](Self::sources), but without values that came from a command's output.
    pub(crate) fn copies(&self, name: &str) -> BTreeSet<String> {
        reach(&self.holds, name, INPUT)
    }

    /// The variables whose insides a piece of a word may begin with.
    pub(crate) fn insides(&self, source: &str, dialect: Dialect) -> BTreeSet<(String, Cut)> {
        let (parsed, _) = Parser::new(source, dialect, 0).parse();
        let mut direct: Vec<(String, Cut)> = Vec::new();
        let mut plain = BTreeSet::new();
        let commands = parsed.list.iter().flat_map(|item| &item.chain);
        for command in commands.flat_map(|(_, pipeline)| &pipeline.parts) {
            let Kind::Simple { words, .. } = &command.kind else {
                continue;
            };
            for word in words {
                direct.extend(cuts::starts(&word.pieces, dialect));
                mention_pieces(&word.pieces, &mut plain);
            }
        }
        for name in plain.iter().filter(|name| *name != INPUT) {
            for holder in self.beginnings(name) {
                direct.extend(self.cuts.get(&holder).into_iter().flatten().cloned());
            }
        }
        let mut found = BTreeSet::new();
        for (name, cut) in direct {
            found.extend(self.sources(&name).into_iter().map(|holder| (holder, cut)));
        }
        found
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

fn is_positional(name: &str) -> bool {
    matches!(name, "@" | "*") || name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Finds the variables whose names begin with `prefix`.
pub(crate) fn shape(text: &str, prefix: &str, dialect: Dialect, budget: &mut Budget) -> Shape {
    // The parser looks at every byte once.
    let _ = budget.step(text.len());
    let (parsed, _) = Parser::new(text, dialect, 0).parse();
    let mut walker = Shaper {
        shape: Shape::default(),
        prefix,
        dialect,
        depth: 0,
        calls: Vec::new(),
        separates: false,
        transforms: false,
        budget,
    };
    let around = Around {
        documents: &parsed.documents,
        flows: false,
    };
    walker.list(&parsed.list, &around);
    // Functions see what they are given; which commands are functions is known at the end.
    for (name, words) in std::mem::take(&mut walker.calls) {
        if name == "set" || walker.shape.functions.contains(&name) {
            let positional = walker.shape.cuts.entry(POSITIONAL.to_owned());
            positional
                .or_default()
                .extend(words.iter().map(|word| (word.clone(), Cut::Start)));
            walker.holds(POSITIONAL, words);
        }
    }
    if walker.separates || walker.transforms {
        for cuts in walker.shape.cuts.values_mut() {
            let read = (INPUT.to_owned(), Cut::Blank);
            if cuts.remove(&read) {
                cuts.insert((INPUT.to_owned(), Cut::Anywhere));
            }
        }
    }
    walker.shape
}

#[derive(Clone, Copy)]
struct Around<'t> {
    documents: &'t [Document<'t>],
    /// Whether what is printed here is read elsewhere.
    flows: bool,
}

struct Shaper<'p> {
    shape: Shape,
    prefix: &'p str,
    dialect: Dialect,
    depth: usize,
    /// Commands and the variables in their words.
    calls: Vec<(String, BTreeSet<String>)>,
    /// Whether `read` may take lines apart elsewhere than at blanks.
    separates: bool,
    /// Whether what is read may have been made by a program that takes texts apart.
    transforms: bool,
    budget: &'p mut Budget,
}

/// What it costs that a variable may hold the value of another: each is followed once for each of the others.
const EDGE: usize = 1024;

impl Shaper<'_> {
    fn holds(&mut self, name: &str, values: BTreeSet<String>) {
        let name = name.split('[').next().unwrap_or(name);
        let held = self.shape.holds.entry(name.to_owned()).or_default();
        for value in values {
            if held.insert(value) && self.budget.step(EDGE).is_err() {
                return;
            }
        }
    }

    /// Notes what a variable begins with that is set to these pieces.
    fn begins(&mut self, name: &str, pieces: &[Piece<'_>]) {
        let name = name.split('[').next().unwrap_or(name);
        let cuts = cuts::starts(pieces, self.dialect);
        self.shape
            .cuts
            .entry(name.to_owned())
            .or_default()
            .extend(cuts);
        let begins = self.shape.begins.entry(name.to_owned()).or_default();
        for piece in pieces {
            match piece {
                Piece::Plain(text) | Piece::Text(text) if text.is_empty() => {}
                Piece::Plain(_) | Piece::Text(_) => return,
                Piece::Parameter(parameter) => {
                    let mut found = BTreeSet::new();
                    mention_pieces(std::slice::from_ref(piece), &mut found);
                    found.insert(parameter.name.to_owned());
                    begins.extend(found);
                }
                // What commands print is their own.
                Piece::Substitution { .. }
                | Piece::Backticks { .. }
                | Piece::Process { .. }
                | Piece::Arithmetic { .. } => {}
            }
        }
    }

    fn list(&mut self, list: &List<'_>, around: &Around<'_>) {
        for (_, pipeline) in list.iter().flat_map(|item| &item.chain) {
            let inner = Around {
                flows: around.flows || pipeline.parts.len() > 1,
                ..*around
            };
            for (index, command) in pipeline.parts.iter().enumerate() {
                if self.budget.step(1).is_err() {
                    return;
                }
                self.xargs(command, &pipeline.parts[..index]);
                self.command(command, &inner);
            }
        }
    }

    /// Notes whose values `xargs` makes words of.
    fn xargs(&mut self, command: &Command<'_>, before: &[Command<'_>]) {
        let Kind::Simple { words, .. } = &command.kind else {
            return;
        };
        if words.first().and_then(Raw::literal).as_deref() != Some("xargs") {
            return;
        }
        if self.budget.step(64 * before.len()).is_err() {
            return;
        }
        let mut values: BTreeSet<String> = cuts::printed(before, self.dialect)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        for redirect in &command.redirects {
            match redirect.kind {
                RawKind::HereString => mention_pieces(&redirect.target.pieces, &mut values),
                RawKind::Document(_) => {
                    values.insert(INPUT.to_owned());
                }
                _ => {}
            }
        }
        let options: Vec<_> = words.iter().filter_map(Raw::literal).collect();
        let one_each = options.iter().any(|option| {
            matches!(option.as_ref(), "-0" | "--null" | "-r0" | "-0r")
                || option.starts_with("-d")
                || option.starts_with("--delimiter")
                || option.starts_with("-0")
        });
        match one_each {
            true if options.last().is_some_and(|last| last == "--") => {}
            true => self.shape.words_of_xargs.extend(values),
            false => self.shape.split_outputs.extend(values),
        }
    }

    /// Notes the values that a command writes to a file of a fixed name.
    fn writes(&mut self, command: &Command<'_>) {
        let mut files: Vec<String> = Vec::new();
        let mut values = BTreeSet::new();
        if let Kind::Simple { words, .. } = &command.kind {
            for word in words {
                mention_pieces(&word.pieces, &mut values);
            }
            if words.first().and_then(Raw::literal).as_deref() == Some("tee") {
                let named = words.iter().skip(1).filter_map(Raw::literal);
                files.extend(named.map(|file| file.into_owned()));
                values.insert(INPUT.to_owned());
            }
        }
        for redirect in &command.redirects {
            match redirect.kind {
                RawKind::Write => files.extend(redirect.target.literal().map(|f| f.into_owned())),
                RawKind::HereString => mention_pieces(&redirect.target.pieces, &mut values),
                RawKind::Document(_) | RawKind::Read => {
                    values.insert(INPUT.to_owned());
                }
                RawKind::Duplicate => {}
            }
        }
        if !matches!(command.kind, Kind::Simple { .. }) {
            values.insert(INPUT.to_owned());
        }
        for file in files {
            self.shape.written.push((file, values.clone()));
        }
    }

    fn command(&mut self, command: &Command<'_>, around: &Around<'_>) {
        let name = match &command.kind {
            Kind::Simple { words, .. } => words.first().and_then(Raw::literal),
            _ => None,
        };
        self.writes(command);
        for redirect in &command.redirects {
            self.redirect(redirect, name.as_deref(), around);
        }
        // What goes to a file can be read from it.
        let writes = command.redirects.iter().any(|redirect| {
            redirect.kind == RawKind::Write
                && redirect
                    .target
                    .literal()
                    .is_none_or(|file| file != "/dev/null")
        });
        let inner = Around {
            flows: around.flows || writes,
            ..*around
        };
        let around = &inner;
        match &command.kind {
            Kind::Simple { assignments, words } => self.simple(assignments, words, around),
            Kind::Group(list) | Kind::Subshell(list) => self.list(list, around),
            Kind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.list(condition, around);
                    self.list(body, around);
                }
                if let Some(body) = otherwise {
                    self.list(body, around);
                }
            }
            Kind::Loop {
                condition, body, ..
            } => {
                self.list(condition, around);
                self.list(body, around);
            }
            Kind::For {
                name, words, body, ..
            } => {
                let mut values = BTreeSet::new();
                for word in words {
                    values.extend(self.mentions(&word.pieces));
                    self.begins(name, &word.pieces);
                    self.word(word, VariablePosition::Loop, None, true, around);
                }
                // Without words it goes over the arguments; `select` reads, too.
                values.extend([POSITIONAL.to_owned(), INPUT.to_owned()]);
                self.holds(name, values);
                self.list(body, around);
            }
            Kind::ForArithmetic {
                expression, body, ..
            } => {
                self.pieces(expression, VariablePosition::Arithmetic, None, true, around);
                self.list(body, around);
            }
            Kind::Case { word, arms } => {
                self.word(word, VariablePosition::Case, None, false, around);
                for (patterns, body) in arms {
                    for pattern in patterns {
                        self.word(pattern, VariablePosition::Case, None, false, around);
                    }
                    self.list(body, around);
                }
            }
            Kind::Function { name, body, .. } => {
                self.shape.functions.insert(name.clone());
                self.command(body, around);
            }
            Kind::Test(words) => {
                for word in words {
                    self.word(word, VariablePosition::Test, None, false, around);
                }
            }
            Kind::Arithmetic(pieces) => {
                self.pieces(pieces, VariablePosition::Arithmetic, None, true, around);
            }
            Kind::Coprocess(body) => {
                let inner = Around {
                    flows: true,
                    ..*around
                };
                self.command(body, &inner);
            }
        }
    }

    fn redirect(&mut self, redirect: &RawRedirect<'_>, command: Option<&str>, around: &Around<'_>) {
        match redirect.kind {
            RawKind::Read | RawKind::Write | RawKind::Duplicate => {
                let processes = redirect
                    .target
                    .pieces
                    .iter()
                    .filter_map(|piece| match piece {
                        Piece::Process { list, .. } => Some(list),
                        _ => None,
                    });
                for list in processes.filter(|_| redirect.kind == RawKind::Read) {
                    let printed = cuts::list_printed(list, self.dialect);
                    let values: BTreeSet<String> = printed.into_iter().map(|(v, _)| v).collect();
                    self.feed(command, &values);
                }
                self.word(
                    &redirect.target,
                    VariablePosition::Redirect,
                    None,
                    false,
                    around,
                );
            }
            RawKind::HereString => {
                let values = self.mentions(&redirect.target.pieces);
                self.feed(command, &values);
                self.holds(INPUT, values);
                self.word(
                    &redirect.target,
                    VariablePosition::Input,
                    command,
                    true,
                    around,
                );
            }
            RawKind::Document(index) => {
                let Some(document) = around.documents.get(index) else {
                    return;
                };
                if document.quoted {
                    return;
                }
                let mut parser = Parser::new(&document.body, self.dialect, self.depth);
                let mut pieces = Vec::new();
                // Sites before an error count; those after it are not counted.
                let _ = parser.quoted_text(None, &mut pieces);
                let values = self.mentions(&pieces);
                self.feed(command, &values);
                self.holds(INPUT, values);
                let documents = std::mem::take(&mut parser.documents);
                let inner = Around {
                    documents: &documents,
                    ..*around
                };
                self.pieces(&pieces, VariablePosition::Input, command, true, &inner);
            }
        }
    }

    /// Notes that a program finds the values of these variables on its standard input.
    fn feed(&mut self, command: Option<&str>, values: &BTreeSet<String>) {
        if let Some(command) = command {
            let fed = (command.to_owned(), values.clone());
            self.shape.fed.push(fed);
        }
    }

    fn simple(&mut self, assignments: &[Assignment<'_>], words: &[Raw<'_>], around: &Around<'_>) {
        for assignment in assignments {
            let mut values = BTreeSet::new();
            if let Some(subscript) = &assignment.subscript {
                self.pieces(subscript, VariablePosition::Arithmetic, None, true, around);
                values.extend(self.mentions(subscript));
            }
            match &assignment.value {
                Value::Word(word) => {
                    values.extend(self.mentions(&word.pieces));
                    self.begins(assignment.name, &word.pieces);
                    self.word(word, VariablePosition::Assignment, None, true, around);
                }
                Value::Array(elements) => {
                    for (subscript, word) in elements {
                        if let Some(subscript) = subscript {
                            self.pieces(
                                subscript,
                                VariablePosition::Arithmetic,
                                None,
                                true,
                                around,
                            );
                        }
                        values.extend(self.mentions(&word.pieces));
                        self.begins(assignment.name, &word.pieces);
                        self.word(word, VariablePosition::Element, None, true, around);
                    }
                }
            }
            self.holds(assignment.name, values);
        }
        let name = words
            .first()
            .and_then(Raw::literal)
            .map(|name| name.into_owned());
        let sets = name.as_deref().is_none_or(sets_variables);
        let declares = name.as_deref().is_some_and(|name| {
            matches!(
                name,
                "declare" | "typeset" | "local" | "export" | "readonly" | "command" | "builtin"
            )
        });
        self.separates |= assignments.iter().any(|assignment| {
            assignment.name == "IFS"
                && !matches!(&assignment.value, Value::Word(word) if word.literal().is_some_and(|text| text.trim().is_empty()))
        }) || name.as_deref().is_some_and(|name| matches!(name, "read" | "mapfile" | "readarray"))
            && words.iter().skip(1).filter_map(Raw::literal).any(|option| {
                option.starts_with('-') && option.contains(['d', 'n', 'N', 's'])
            });
        self.transforms |= around.flows && name.as_deref().is_some_and(cuts::transforms);
        let mut all = BTreeSet::new();
        for (index, word) in words.iter().enumerate() {
            let spot = if index == 0 {
                VariablePosition::Command
            } else if declares && assigned_name(word).is_some() {
                VariablePosition::Assignment
            } else {
                VariablePosition::Argument
            };
            all.extend(self.mentions(&word.pieces));
            self.word(word, spot, name.as_deref(), around.flows || sets, around);
        }
        if let Some(name) = &name {
            self.calls.push((name.clone(), all.clone()));
        }
        // What it prints may be read.
        if around.flows {
            self.holds(INPUT, all.clone());
        }
        if sets {
            for word in words.iter().skip(1) {
                if let Some(name) = assigned_name(word)
                    && let Some(Piece::Plain(text)) = word.pieces.first()
                    && text.ends_with('=')
                {
                    self.begins(name, &word.pieces[1..]);
                }
                if let Some(name) = assigned_name(word).or_else(|| plain_name(word)) {
                    if self.budget.step(8 * all.len()).is_err() {
                        return;
                    }
                    if assigned_name(word).is_none() {
                        let read = (INPUT.to_owned(), Cut::Blank);
                        let given = all.iter().map(|value| (value.clone(), Cut::Blank));
                        let cuts = self.shape.cuts.entry(name.to_owned()).or_default();
                        cuts.extend(given.chain([read]));
                    }
                    let mut values = all.clone();
                    values.extend([INPUT.to_owned(), POSITIONAL.to_owned()]);
                    self.holds(name, values);
                }
            }
            for name in ["REPLY", "MAPFILE", "OPTARG"] {
                let cuts = self.shape.cuts.entry(name.to_owned()).or_default();
                cuts.insert((INPUT.to_owned(), Cut::Blank));
                self.holds(
                    name,
                    BTreeSet::from([INPUT.to_owned(), POSITIONAL.to_owned()]),
                );
            }
        }
        let reference = declares
            && words.iter().skip(1).any(|word| {
                word.plain()
                    .is_some_and(|option| option.starts_with('-') && option.contains('n'))
            })
            && name.as_deref() != Some("export");
        if reference {
            self.shape.names_others.extend(all);
            self.shape.names_others.insert(POSITIONAL.to_owned());
        }
    }

    fn word(
        &mut self,
        word: &Raw<'_>,
        spot: VariablePosition,
        command: Option<&str>,
        flows: bool,
        around: &Around<'_>,
    ) {
        self.pieces(&word.pieces, spot, command, flows, around);
    }

    fn pieces(
        &mut self,
        pieces: &[Piece<'_>],
        spot: VariablePosition,
        command: Option<&str>,
        flows: bool,
        around: &Around<'_>,
    ) {
        for piece in pieces {
            match piece {
                Piece::Plain(_) | Piece::Text(_) => {}
                Piece::Parameter(parameter) => {
                    let whole_array = parameter.subscript.as_ref().is_none_or(
                        |pieces| matches!(pieces.as_slice(), [Piece::Plain(text)] if text == "@"),
                    );
                    if parameter.name.starts_with(self.prefix)
                        && parameter.operation == Operation::None
                        && whole_array
                    {
                        self.shape.sites.push(Site {
                            variable: parameter.name.to_owned(),
                            spot,
                            quoted: parameter.quoted,
                            command: command.map(str::to_owned),
                            flows: flows || around.flows,
                        });
                    }
                    let splits = !parameter.quoted
                        && parameter.operation != Operation::Length
                        && becomes_words(spot);
                    if splits {
                        self.shape.split.insert(parameter.name.to_owned());
                    }
                    if matches!(parameter.operation, Operation::Indirect | Operation::Prompt) {
                        self.shape.names_others.insert(parameter.name.to_owned());
                    }
                    if let Some(subscript) = &parameter.subscript {
                        self.pieces(
                            subscript,
                            VariablePosition::Arithmetic,
                            command,
                            true,
                            around,
                        );
                    }
                    let rest = match parameter.operation {
                        Operation::Slice => VariablePosition::Arithmetic,
                        _ => spot,
                    };
                    if parameter.operation == Operation::Assign {
                        let values = self.mentions(&parameter.rest);
                        self.holds(parameter.name, values);
                        self.begins(parameter.name, &parameter.rest);
                    }
                    self.pieces(&parameter.rest, rest, command, true, around);
                }
                Piece::Substitution { list, .. } | Piece::Process { list, .. } => {
                    if matches!(piece, Piece::Substitution { quoted: false, .. })
                        && becomes_words(spot)
                    {
                        let printed = cuts::list_printed(list, self.dialect);
                        let names = printed.into_iter().map(|(name, _)| name);
                        self.shape.split_outputs.extend(names);
                    }
                    let inner = Around {
                        flows: true,
                        ..*around
                    };
                    self.list(list, &inner);
                }
                Piece::Backticks { text, quoted, .. } => {
                    if self.depth > 8 {
                        continue;
                    }
                    let (parsed, _) = Parser::new(text, self.dialect, self.depth).parse();
                    if !quoted && becomes_words(spot) {
                        let printed = cuts::list_printed(&parsed.list, self.dialect);
                        let names = printed.into_iter().map(|(name, _)| name);
                        self.shape.split_outputs.extend(names);
                    }
                    let inner = Around {
                        documents: &parsed.documents,
                        flows: true,
                    };
                    self.depth += 1;
                    self.list(&parsed.list, &inner);
                    self.depth -= 1;
                }
                Piece::Arithmetic { pieces, .. } => {
                    self.pieces(pieces, VariablePosition::Arithmetic, command, true, around);
                }
            }
        }
    }

    /// All variables that are mentioned in pieces, however deep.
    fn mentions(&self, pieces: &[Piece<'_>]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        mention_pieces(pieces, &mut found);
        found
    }
}

/// Whether what is there without quotes is taken apart at blanks.
fn becomes_words(spot: VariablePosition) -> bool {
    matches!(
        spot,
        VariablePosition::Command
            | VariablePosition::Argument
            | VariablePosition::Loop
            | VariablePosition::Element
    )
}

fn sets_variables(name: &str) -> bool {
    matches!(
        name,
        "read"
            | "mapfile"
            | "readarray"
            | "getopts"
            | "printf"
            | "declare"
            | "typeset"
            | "local"
            | "export"
            | "readonly"
            | "let"
            | "set"
            | "eval"
            | "."
            | "source"
            | "command"
            | "builtin"
            | "trap"
            | "wait"
            | "unset"
    )
}

/// The name in a word `name=…`.
fn assigned_name<'w>(word: &'w Raw<'_>) -> Option<&'w str> {
    let Some(Piece::Plain(text)) = word.pieces.first() else {
        return None;
    };
    let (name, _) = text.split_once('=')?;
    let name = name.trim_end_matches('+');
    is_name(name).then_some(name)
}

fn plain_name<'w>(word: &'w Raw<'_>) -> Option<&'w str> {
    word.plain().filter(|name| is_name(name))
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

pub(super) fn mention_pieces(pieces: &[Piece<'_>], found: &mut BTreeSet<String>) {
    for piece in pieces {
        match piece {
            Piece::Plain(_) | Piece::Text(_) => {}
            Piece::Parameter(parameter) => {
                let name = if is_positional(parameter.name) {
                    POSITIONAL
                } else {
                    parameter.name
                };
                found.insert(name.to_owned());
                mention_pieces(&parameter.rest, found);
                mention_pieces(parameter.subscript.as_deref().unwrap_or_default(), found);
            }
            // Output in a substitution goes where all output for others to read goes.
            Piece::Substitution { .. } | Piece::Process { .. } | Piece::Backticks { .. } => {
                found.insert(INPUT.to_owned());
            }
            Piece::Arithmetic { pieces, .. } => mention_pieces(pieces, found),
        }
    }
}
