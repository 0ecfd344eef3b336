//! Goes through a parsed text and notes where variables stand and what they are set to: the work behind [`shape`].

use std::collections::BTreeSet;

use super::lex::{Dialect, Parser};
use super::shape::{INPUT, POSITIONAL, Shape, Site, Spot, is_positional};
use super::syntax::{
    Assignment, Command, Document, Kind, List, Operation, Piece, Raw, RawKind, RawRedirect, Value,
};

/// Finds the variables whose names begin with `prefix`.
pub(crate) fn shape(text: &str, prefix: &str, dialect: Dialect) -> Shape {
    let (parsed, _) = Parser::new(text, dialect, 0).parse();
    let mut walker = Shaper {
        shape: Shape::default(),
        prefix,
        dialect,
        depth: 0,
        calls: Vec::new(),
    };
    let around = Around {
        documents: &parsed.documents,
        flows: false,
    };
    walker.list(&parsed.list, &around);
    // Functions see what they are given; which commands are functions is known at the end.
    for (name, words) in std::mem::take(&mut walker.calls) {
        if name == "set" || walker.shape.functions.contains(&name) {
            walker.holds(POSITIONAL, words);
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
}

impl Shaper<'_> {
    fn holds(&mut self, name: &str, values: BTreeSet<String>) {
        let name = name.split('[').next().unwrap_or(name);
        self.shape
            .holds
            .entry(name.to_owned())
            .or_default()
            .extend(values);
    }

    /// Notes what a variable begins with that is set to these pieces.
    fn begins(&mut self, name: &str, pieces: &[Piece<'_>]) {
        let name = name.split('[').next().unwrap_or(name);
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
            for command in &pipeline.parts {
                self.command(command, &inner);
            }
        }
    }

    fn command(&mut self, command: &Command<'_>, around: &Around<'_>) {
        let name = match &command.kind {
            Kind::Simple { words, .. } => words.first().and_then(Raw::literal),
            _ => None,
        };
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
                    self.word(word, Spot::Loop, None, true, around);
                }
                // Without words it goes over the arguments; `select` reads, too.
                values.extend([POSITIONAL.to_owned(), INPUT.to_owned()]);
                self.holds(name, values);
                self.list(body, around);
            }
            Kind::ForArithmetic {
                expression, body, ..
            } => {
                self.pieces(expression, Spot::Arithmetic, None, true, around);
                self.list(body, around);
            }
            Kind::Case { word, arms } => {
                self.word(word, Spot::Case, None, false, around);
                for (patterns, body) in arms {
                    for pattern in patterns {
                        self.word(pattern, Spot::Case, None, false, around);
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
                    self.word(word, Spot::Test, None, false, around);
                }
            }
            Kind::Arithmetic(pieces) => {
                self.pieces(pieces, Spot::Arithmetic, None, true, around);
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
                self.word(&redirect.target, Spot::Redirect, None, false, around);
            }
            RawKind::HereString => {
                let values = self.mentions(&redirect.target.pieces);
                self.holds(INPUT, values);
                self.word(&redirect.target, Spot::Input, command, true, around);
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
                // Sites before an error count; those after it are missed by whoever counts them.
                let _ = parser.quoted_text(None, &mut pieces);
                let values = self.mentions(&pieces);
                self.holds(INPUT, values);
                let documents = std::mem::take(&mut parser.documents);
                let inner = Around {
                    documents: &documents,
                    ..*around
                };
                self.pieces(&pieces, Spot::Input, command, true, &inner);
            }
        }
    }

    fn simple(&mut self, assignments: &[Assignment<'_>], words: &[Raw<'_>], around: &Around<'_>) {
        for assignment in assignments {
            let mut values = BTreeSet::new();
            if let Some(subscript) = &assignment.subscript {
                self.pieces(subscript, Spot::Arithmetic, None, true, around);
                values.extend(self.mentions(subscript));
            }
            match &assignment.value {
                Value::Word(word) => {
                    values.extend(self.mentions(&word.pieces));
                    self.begins(assignment.name, &word.pieces);
                    self.word(word, Spot::Assignment, None, true, around);
                }
                Value::Array(elements) => {
                    for (subscript, word) in elements {
                        if let Some(subscript) = subscript {
                            self.pieces(subscript, Spot::Arithmetic, None, true, around);
                        }
                        values.extend(self.mentions(&word.pieces));
                        self.begins(assignment.name, &word.pieces);
                        self.word(word, Spot::Element, None, true, around);
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
        let mut all = BTreeSet::new();
        for (index, word) in words.iter().enumerate() {
            let spot = if index == 0 {
                Spot::Command
            } else if declares && assigned_name(word).is_some() {
                Spot::Assignment
            } else {
                Spot::Argument
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
                    let mut values = all.clone();
                    values.extend([INPUT.to_owned(), POSITIONAL.to_owned()]);
                    self.holds(name, values);
                }
            }
            for name in ["REPLY", "MAPFILE", "OPTARG"] {
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
        spot: Spot,
        command: Option<&str>,
        flows: bool,
        around: &Around<'_>,
    ) {
        self.pieces(&word.pieces, spot, command, flows, around);
    }

    fn pieces(
        &mut self,
        pieces: &[Piece<'_>],
        spot: Spot,
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
                        && matches!(
                            spot,
                            Spot::Command | Spot::Argument | Spot::Loop | Spot::Element
                        );
                    if splits {
                        self.shape.split.insert(parameter.name.to_owned());
                    }
                    if matches!(parameter.operation, Operation::Indirect | Operation::Prompt) {
                        self.shape.names_others.insert(parameter.name.to_owned());
                    }
                    if let Some(subscript) = &parameter.subscript {
                        self.pieces(subscript, Spot::Arithmetic, command, true, around);
                    }
                    let rest = match parameter.operation {
                        Operation::Slice => Spot::Arithmetic,
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
                    let inner = Around {
                        flows: true,
                        ..*around
                    };
                    self.list(list, &inner);
                }
                Piece::Backticks { text, .. } => {
                    if self.depth > 8 {
                        continue;
                    }
                    let (parsed, _) = Parser::new(text, self.dialect, self.depth).parse();
                    let inner = Around {
                        documents: &parsed.documents,
                        flows: true,
                    };
                    self.depth += 1;
                    self.list(&parsed.list, &inner);
                    self.depth -= 1;
                }
                Piece::Arithmetic { pieces, .. } => {
                    self.pieces(pieces, Spot::Arithmetic, command, true, around);
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

fn mention_pieces(pieces: &[Piece<'_>], found: &mut BTreeSet<String>) {
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
            // What is printed in a substitution goes where everything goes that is printed for others to read.
            Piece::Substitution { .. } | Piece::Process { .. } | Piece::Backticks { .. } => {
                found.insert(INPUT.to_owned());
            }
            Piece::Arithmetic { pieces, .. } => mention_pieces(pieces, found),
        }
    }
}
