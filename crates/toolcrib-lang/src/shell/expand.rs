//! From pieces to words: braces, tilde, variables, patterns.

use std::cell::OnceCell;

use super::braces::Token;
use super::facts::bash_sets_text;
use super::script::{Directory, Part, Word};
use super::syntax::{Operation, Parameter, Piece, Raw};
use super::walk::Walker;

/// What bash does with a word.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Use {
    /// A word of a command: patterns, splitting.
    Argument,
    /// A value or a target: neither.
    Value,
}

/// Variables whose value changes without being set, or cannot be set.
const OWN_MIND: &[&str] = &[
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "IFS",
    "PWD",
    "OLDPWD",
    "REPLY",
    "OPTIND",
    "OPTARG",
    "UID",
    "EUID",
    "PPID",
    "_",
    "FUNCNAME",
    "DIRSTACK",
    "PIPESTATUS",
    "HISTCMD",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "GROUPS",
    "MAPFILE",
    "COPROC",
    "COLUMNS",
    "LINES",
    "SHELLOPTS",
    "BASHOPTS",
];

/// What one more word costs, besides its text.
const FIELD: usize = 64;

impl Walker {
    /// The words that a word of a command becomes.
    pub(super) fn arguments(&mut self, raw: &Raw<'_>, into: &mut Vec<Word>) {
        let braces = raw.pieces.iter().any(|piece| match piece {
            Piece::Plain(text) => text.contains('{'),
            _ => false,
        });
        if braces && let Some(alternatives) = self.braces(raw) {
            for pieces in alternatives {
                self.fields(&pieces, into);
            }
            return;
        }
        let pieces: Vec<&Piece<'_>> = raw.pieces.iter().collect();
        let tokens: Vec<Token<'_>> = pieces.into_iter().map(Token::Piece).collect();
        self.fields(&tokens, into);
    }

    /// The one word that a value or a redirection's target becomes.
    pub(super) fn value(&mut self, raw: &Raw<'_>) -> Word {
        let mut words = Vec::with_capacity(1);
        let tokens: Vec<Token<'_>> = raw.pieces.iter().map(Token::Piece).collect();
        self.build(&tokens, Use::Value, &mut words);
        let mut word = words.pop().unwrap_or_default();
        word.splits = false;
        word
    }

    /// The text of a here-document.
    pub(super) fn document_word(&mut self, pieces: &[Piece<'_>]) -> Word {
        let mut words = Vec::with_capacity(1);
        let tokens: Vec<Token<'_>> = pieces.iter().map(Token::Piece).collect();
        self.build(&tokens, Use::Value, &mut words);
        words.pop().unwrap_or_default()
    }

    fn fields(&mut self, tokens: &[Token<'_>], into: &mut Vec<Word>) {
        self.build(tokens, Use::Argument, into);
    }

    fn build(&mut self, tokens: &[Token<'_>], usage: Use, into: &mut Vec<Word>) {
        let mut word = Word::default();
        let mut quoted_nothing = false;
        let last_closing = OnceCell::new();
        for (index, token) in tokens.iter().enumerate() {
            match token {
                Token::Text(text) => {
                    self.plain(text, index, tokens, &last_closing, usage, &mut word);
                }
                Token::Piece(piece) => match piece {
                    Piece::Plain(text) => {
                        self.plain(text, index, tokens, &last_closing, usage, &mut word);
                    }
                    Piece::Text(text) => {
                        quoted_nothing = true;
                        word.push_text(text);
                    }
                    Piece::Parameter(parameter) => {
                        self.parameter(parameter, usage, &mut word, into);
                        quoted_nothing |= parameter.quoted;
                    }
                    Piece::Substitution { quoted, source, .. }
                    | Piece::Backticks { quoted, source, .. }
                    | Piece::Arithmetic { quoted, source, .. } => {
                        quoted_nothing |= *quoted;
                        word.splits |= !quoted && usage == Use::Argument;
                        word.push(Part::Dynamic((*source).to_owned()));
                    }
                    Piece::Process { source, .. } => {
                        word.push(Part::Dynamic((*source).to_owned()));
                    }
                },
            }
        }
        // A known variable without a value, unquoted, gives no word at all.
        if word.parts.is_empty() && !quoted_nothing && usage == Use::Argument {
            return;
        }
        into.push(word);
    }

    /// Unquoted text: a tilde at its beginning, patterns. Which token has the last `]` is found out once for all tokens.
    fn plain(
        &mut self,
        text: &str,
        index: usize,
        tokens: &[Token<'_>],
        last_closing: &OnceCell<usize>,
        usage: Use,
        word: &mut Word,
    ) {
        let mut rest = text;
        if index == 0 {
            rest = self.tilde(rest, tokens.len() == 1, word);
            // `make DESTDIR=~/x`: words that look like assignments, too.
            if usage == Use::Argument
                && let Some(at) = rest.find("=~")
                && rest[..at]
                    .bytes()
                    .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
            {
                word.push_text(&rest[..=at]);
                rest = self.tilde(&rest[at + 1..], tokens.len() == 1, word);
            }
        }
        while let Some(at) = rest.find(":~")
            && (usage == Use::Value || word.literal_prefix().contains('='))
        {
            word.push_text(&rest[..=at]);
            rest = self.tilde(&rest[at + 1..], true, word);
        }
        if usage == Use::Value {
            word.push_text(rest);
            return;
        }
        // A bracket is a pattern only if another closes it.
        let closes = |token: &Token<'_>| match token {
            Token::Text(text) => text.contains(']'),
            Token::Piece(Piece::Plain(text)) => text.contains(']'),
            Token::Piece(_) => false,
        };
        let later =
            || index < *last_closing.get_or_init(|| tokens.iter().rposition(closes).unwrap_or(0));
        let mut last_close = None;
        let special = rest.char_indices().find(|(at, c)| match c {
            '*' | '?' => true,
            '[' => {
                let last = *last_close.get_or_insert_with(|| {
                    if later() {
                        rest.len() + 1
                    } else {
                        rest.rfind(']').unwrap_or(0)
                    }
                });
                *at < last
            }
            _ => false,
        });
        match special {
            None => word.push_text(rest),
            Some((at, _)) => {
                let directory = rest[..at].rfind('/').map_or(0, |slash| slash + 1);
                word.push_text(&rest[..directory]);
                word.push(Part::Glob(rest[directory..].to_owned()));
            }
        }
    }

    /// Takes a tilde off the beginning. What comes after it is left.
    fn tilde<'t>(&mut self, text: &'t str, alone: bool, word: &mut Word) -> &'t str {
        let Some(rest) = text.strip_prefix('~') else {
            return text;
        };
        let end = rest.find(['/', ':']).unwrap_or(rest.len());
        if end == rest.len() && !alone {
            // Quotes right after it switch it off, a variable does not count either: whatever it is, it is not known here.
            word.push(Part::Dynamic("~".to_owned()));
            return rest;
        }
        match &rest[..end] {
            "" => self.variable("HOME", word),
            "+" => self.variable("PWD", word),
            "-" => self.variable("OLDPWD", word),
            user => word.push(Part::Dynamic(format!("~{user}"))),
        }
        &rest[end..]
    }

    /// The value of a variable, without splitting.
    fn variable(&mut self, name: &str, word: &mut Word) {
        if let Some(known) = self.known_copy(name) {
            known.parts.into_iter().for_each(|part| word.push(part));
        } else if self.facts.sets(name) || self.sets_unknown_names() {
            word.push(Part::Dynamic(format!("${name}")));
        } else {
            word.push(Part::Variable(name.to_owned()));
        }
    }

    fn parameter(
        &mut self,
        parameter: &Parameter<'_>,
        usage: Use,
        word: &mut Word,
        into: &mut Vec<Word>,
    ) {
        let named = parameter
            .name
            .starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
        let splits = !parameter.quoted && usage == Use::Argument;
        let simple =
            named && parameter.operation == Operation::None && parameter.subscript.is_none();
        let many = parameter.name == "@"
            || parameter.subscript.as_ref().is_some_and(
                |pieces| matches!(pieces.as_slice(), [Piece::Plain(text)] if text == "@"),
            );
        if !simple {
            word.splits |= splits || many && usage == Use::Argument;
            word.push(Part::Dynamic(parameter.source.to_owned()));
            return;
        }
        let known = self.known_copy(parameter.name);
        if let Some(made) = known.as_ref().filter(|word| !word.is_static()) {
            word.splits |= splits;
            made.parts.iter().cloned().for_each(|part| word.push(part));
            return;
        }
        if parameter.name == "PWD" && self.is_at_plain_place() {
            word.splits |= splits;
            self.variable("PWD", word);
            return;
        }
        match known.as_ref().and_then(Word::as_static) {
            Some(value) if !splits => word.push_text(value),
            Some(value) if !self.facts.sets("IFS") && !value.contains('\\') => {
                self.split(value, word, into);
            }
            _ => {
                word.splits |= splits;
                if self.facts.sets(parameter.name) || OWN_MIND.contains(&parameter.name) {
                    word.push(Part::Dynamic(parameter.source.to_owned()));
                } else {
                    self.variable(parameter.name, word);
                }
            }
        }
    }

    /// Whether `$PWD` is the directory where the text started, or one below it with a plain name.
    fn is_at_plain_place(&self) -> bool {
        match &self.directory {
            Directory::Start => true,
            Directory::Known(path) => path
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte)),
            Directory::Unknown => false,
        }
    }

    /// Splits a known value at blanks, as bash does without quotes.
    fn split(&mut self, value: &str, word: &mut Word, into: &mut Vec<Word>) {
        let blank = |c: char| matches!(c, ' ' | '\t' | '\n');
        let mut first = true;
        let mut fields = value.split(blank).filter(|field| !field.is_empty());
        if !self.copy(FIELD * fields.by_ref().count()) {
            word.splits = true;
            word.push(Part::Dynamic("$…".to_owned()));
            return;
        }
        if value.starts_with(blank) && !word.parts.is_empty() {
            into.push(std::mem::take(word));
        }
        for field in value.split(blank).filter(|field| !field.is_empty()) {
            if !first {
                into.push(std::mem::take(word));
            }
            first = false;
            if field.contains(['*', '?', '[']) {
                word.push(Part::Glob(field.to_owned()));
            } else {
                word.push_text(field);
            }
        }
        if value.ends_with(blank) && !word.parts.is_empty() {
            // Whatever comes after it is another word.
            into.push(std::mem::take(word));
        }
    }

    /// The value of a variable, when it is certain and not too much to be copied once more.
    fn known_copy(&mut self, name: &str) -> Option<Word> {
        let weight = self.known_value(name)?.weight();
        if !self.copy(weight) {
            return None;
        }
        self.known_value(name).cloned()
    }

    /// The value of a variable, when it is certain.
    fn known_value(&self, name: &str) -> Option<&Word> {
        if self.known.is_empty()
            || OWN_MIND.contains(&name)
            || bash_sets_text(name)
            || !self.facts.sets_once(name)
        {
            return None;
        }
        self.known.get(name)
    }
}
