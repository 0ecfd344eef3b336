//! The shape of a text once it is parsed. Nothing is expanded here yet.

use std::borrow::Cow;
use std::ops::Range;

/// Commands one after the other.
pub(super) type List<'a> = Vec<Item<'a>>;

/// Pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) chain: Vec<(Link, Pipeline<'a>)>,
    pub(super) background: bool,
    /// Whether a line begins with it.
    pub(super) starts_line: bool,
    /// Whether arithmetic is in it: an error there makes bash give up the whole line.
    pub(super) calculates: bool,
}

/// When a pipeline of a chain runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Link {
    First,
    And,
    Or,
}

#[derive(Debug)]
pub(super) struct Pipeline<'a> {
    pub(super) negated: bool,
    pub(super) parts: Vec<Command<'a>>,
}

#[derive(Debug)]
pub(super) struct Command<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) redirects: Vec<RawRedirect<'a>>,
    pub(super) span: Range<usize>,
}

#[derive(Debug)]
pub(super) enum Kind<'a> {
    Simple {
        assignments: Vec<Assignment<'a>>,
        words: Vec<Raw<'a>>,
    },
    Group(List<'a>),
    Subshell(List<'a>),
    If {
        arms: Vec<(List<'a>, List<'a>)>,
        otherwise: Option<List<'a>>,
    },
    /// `while` and `until`; `moves` when something in it may change the directory.
    Loop {
        condition: List<'a>,
        body: List<'a>,
        moves: bool,
    },
    /// `for` over words, and `select`.
    For {
        name: &'a str,
        words: Vec<Raw<'a>>,
        body: List<'a>,
        moves: bool,
    },
    ForArithmetic {
        expression: Vec<Piece<'a>>,
        body: List<'a>,
        moves: bool,
    },
    Case {
        word: Raw<'a>,
        arms: Vec<(Vec<Raw<'a>>, List<'a>)>,
    },
    Function {
        name: String,
        body: Box<Command<'a>>,
        moves: bool,
        /// The names of the commands in it.
        calls: Vec<String>,
    },
    /// `[[ … ]]`: its words, operators among them.
    Test(Vec<Raw<'a>>),
    Arithmetic(Vec<Piece<'a>>),
    Coprocess(Box<Command<'a>>),
}

/// `name=value`, `name[subscript]+=value`, `name=(words)`.
#[derive(Debug)]
pub(super) struct Assignment<'a> {
    pub(super) name: &'a str,
    pub(super) subscript: Option<Vec<Piece<'a>>>,
    pub(super) appends: bool,
    pub(super) value: Value<'a>,
}

#[derive(Debug)]
pub(super) enum Value<'a> {
    Word(Raw<'a>),
    /// Elements, each with its subscript if it has one.
    Array(Vec<(Option<Vec<Piece<'a>>>, Raw<'a>)>),
}

#[derive(Debug)]
pub(super) struct RawRedirect<'a> {
    pub(super) kind: RawKind,
    pub(super) target: Raw<'a>,
    /// Whether it is about the input: no number or number 0 before `<`.
    pub(super) is_input: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RawKind {
    Read,
    Write,
    /// `>&` and `<&`: another descriptor, or with `>&` a file.
    Duplicate,
    /// The index into [`Parsed::documents`].
    Document(usize),
    HereString,
}

/// The body of a here-document.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) body: Cow<'a, str>,
    /// Whether nothing in it is expanded.
    pub(super) quoted: bool,
}

/// A word before expansion.
#[derive(Debug, Default)]
pub(super) struct Raw<'a> {
    pub(super) pieces: Vec<Piece<'a>>,
    pub(super) source: &'a str,
}

impl<'a> Raw<'a> {
    /// The word when it is plain text without any quotes, as reserved words must be.
    pub(super) fn plain(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Plain(text)] => Some(text),
            _ => None,
        }
    }

    /// The word when it is plain and quoted text only; brace expansion and patterns are not looked at.
    pub(super) fn literal(&self) -> Option<Cow<'_, str>> {
        match self.pieces.as_slice() {
            [Piece::Plain(text) | Piece::Text(text)] => Some(Cow::Borrowed(text)),
            pieces => {
                let mut whole = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Plain(text) | Piece::Text(text) => whole.push_str(text),
                        _ => return None,
                    }
                }
                Some(Cow::Owned(whole))
            }
        }
    }
}

/// A piece of a word.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    /// Unquoted text: braces, tilde and patterns count in it.
    Plain(Cow<'a, str>),
    /// Quoted text.
    Text(Cow<'a, str>),
    Parameter(Box<Parameter<'a>>),
    /// `$(…)`
    Substitution {
        list: List<'a>,
        quoted: bool,
        source: &'a str,
    },
    /// `` `…` ``: its text with one level of backslashes taken off; read when walked.
    Backticks {
        text: String,
        quoted: bool,
        source: &'a str,
    },
    /// `<(…)`, `>(…)`
    Process {
        list: List<'a>,
        source: &'a str,
    },
    /// `$((…))`, `$[…]`
    Arithmetic {
        pieces: Vec<Piece<'a>>,
        quoted: bool,
        source: &'a str,
    },
}

/// `$name`, `${name…}`.
#[derive(Debug)]
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    pub(super) braced: bool,
    pub(super) quoted: bool,
    pub(super) source: &'a str,
    pub(super) subscript: Option<Vec<Piece<'a>>>,
    pub(super) operation: Operation,
    /// The words of the operation.
    pub(super) rest: Vec<Piece<'a>>,
}

/// What `${…}` does with the value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Operation {
    None,
    Length,
    /// `${!x}`: the value names another variable.
    Indirect,
    /// `${x:-…}` and its kin, patterns, case.
    Edit,
    /// `${x:=…}`
    Assign,
    /// `${x:offset:length}`
    Slice,
    /// `${x@P}`: the value is expanded once more.
    Prompt,
}

/// A parsed text.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    pub(super) list: List<'a>,
    pub(super) documents: Vec<Document<'a>>,
    pub(super) facts: super::facts::Facts,
}
