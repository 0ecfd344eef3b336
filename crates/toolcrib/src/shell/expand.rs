//! From pieces to words: braces, tilde, variables, patterns.

use super::script::{Part, Word};
use super::syntax::{Operation, Parameter, Piece, Raw};
use super::walk::Walker;

/// The most words one word may become.
const MAX_WORDS: usize = 256;

/// How deep braces may stand in each other.
const MAX_NESTED: usize = 24;

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
        for (index, token) in tokens.iter().enumerate() {
            match token {
                Token::Text(text) => self.plain(text, index, tokens, usage, &mut word),
                Token::Piece(piece) => match piece {
                    Piece::Plain(text) => self.plain(text, index, tokens, usage, &mut word),
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
        // A known variable without a value, unquoted, is no word at all.
        if word.parts.is_empty() && !quoted_nothing && usage == Use::Argument {
            return;
        }
        into.push(word);
    }

    /// Unquoted text: a tilde at its beginning, patterns.
    fn plain(
        &mut self,
        text: &str,
        index: usize,
        tokens: &[Token<'_>],
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
        while usage == Use::Value || word.literal_prefix().contains('=') {
            let Some(at) = rest.find(":~") else { break };
            word.push_text(&rest[..=at]);
            rest = self.tilde(&rest[at + 1..], true, word);
        }
        if usage == Use::Value {
            word.push_text(rest);
            return;
        }
        let closes = |from: &str| {
            from.contains(']')
                || tokens[index + 1..].iter().any(|token| match token {
                    Token::Text(text) => text.contains(']'),
                    Token::Piece(Piece::Plain(text)) => text.contains(']'),
                    Token::Piece(_) => false,
                })
        };
        let special = rest
            .char_indices()
            .find(|(at, c)| matches!(c, '*' | '?') || *c == '[' && closes(&rest[at + 1..]));
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
            // Quotes right after it switch it off, a variable does not count either: whatever it is, it is not told here.
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
        if let Some(value) = self.known_value(name) {
            word.push_text(value);
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
        let value = self.known_value(parameter.name).map(str::to_owned);
        match value {
            Some(value) if !splits => word.push_text(&value),
            Some(value) if !self.facts.sets("IFS") && !value.contains('\\') => {
                self.split(&value, word, into);
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

    /// Splits a known value at blanks, as bash does without quotes.
    fn split(&mut self, value: &str, word: &mut Word, into: &mut Vec<Word>) {
        let blank = |c: char| matches!(c, ' ' | '\t' | '\n');
        let mut first = true;
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

    /// The value of a variable, when it is certain.
    fn known_value(&self, name: &str) -> Option<&str> {
        if self.known.is_empty() || OWN_MIND.contains(&name) || !self.facts.sets_once(name) {
            return None;
        }
        self.known.get(name).map(String::as_str)
    }

    /// Brace expansion. `None` when there is nothing to expand.
    fn braces<'w, 'a>(&mut self, raw: &'w Raw<'a>) -> Option<Vec<Vec<Token<'w>>>> {
        let tokens = tokens(raw);
        let (pairs, odd) = pairs(&tokens);
        let expandable = tokens.iter().enumerate().any(|(at, token)| {
            matches!(token, Brace::Open)
                && pairs[at]
                    .is_some_and(|(end, commas)| commas || sequence(&tokens[at + 1..end]).is_some())
        });
        if !expandable {
            return None;
        }
        let murky = odd
            || tokens.windows(2).any(|two| {
                // `$a{b,c}` is `$ab $ac`.
                matches!(two, [Brace::Token(Token::Piece(Piece::Parameter(parameter))), Brace::Open] if !parameter.braced)
            });
        if murky {
            self.doubt("braces whose expansion is not clear", raw.source);
            return None;
        }
        self.brace_dialect(raw.source);
        let mut budget = MAX_WORDS;
        let expanded = alternatives(&tokens, &pairs, 0, tokens.len(), &mut budget);
        if expanded.is_none() {
            self.doubt("braces that become too many words", raw.source);
        }
        expanded
    }
}

/// A piece, or text that brace expansion made.
#[derive(Debug, Clone)]
pub(super) enum Token<'w> {
    Piece(&'w Piece<'w>),
    Text(String),
}

#[derive(Debug, Clone)]
enum Brace<'w> {
    Open,
    Close,
    Comma,
    Token(Token<'w>),
}

fn tokens<'w>(raw: &'w Raw<'_>) -> Vec<Brace<'w>> {
    let mut tokens = Vec::new();
    for piece in &raw.pieces {
        let Piece::Plain(text) = piece else {
            tokens.push(Brace::Token(Token::Piece(piece)));
            continue;
        };
        let mut from = 0;
        for (at, c) in text.char_indices() {
            let sign = match c {
                '{' => Brace::Open,
                '}' => Brace::Close,
                ',' => Brace::Comma,
                _ => continue,
            };
            if at > from {
                tokens.push(Brace::Token(Token::Text(text[from..at].to_owned())));
            }
            tokens.push(sign);
            from = at + 1;
        }
        if from < text.len() {
            tokens.push(Brace::Token(Token::Text(text[from..].to_owned())));
        }
    }
    tokens
}

/// For every opening brace its partner and whether a comma stands between them at its level; and whether any brace is alone.
fn pairs(tokens: &[Brace<'_>]) -> (Vec<Option<(usize, bool)>>, bool) {
    let mut pairs = vec![None; tokens.len()];
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut odd = false;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Brace::Open => {
                open.push((at, false));
                odd |= open.len() > MAX_NESTED;
            }
            Brace::Comma => {
                if let Some((_, commas)) = open.last_mut() {
                    *commas = true;
                }
            }
            Brace::Close => match open.pop() {
                Some((from, commas)) => pairs[from] = Some((at, commas)),
                None => odd = true,
            },
            Brace::Token(_) => {}
        }
    }
    (pairs, odd || !open.is_empty())
}

/// The texts of `1..5` and `a..e`.
fn sequence(inner: &[Brace<'_>]) -> Option<Vec<String>> {
    let [Brace::Token(Token::Text(text))] = inner else {
        return None;
    };
    let fields: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match fields.as_slice() {
        [first, last] => (*first, *last, 1),
        [first, last, step] => (
            *first,
            *last,
            step.parse::<i64>().ok()?.checked_abs()?.max(1),
        ),
        _ => return None,
    };
    let letter = |text: &str| {
        let mut bytes = text.bytes();
        let byte = bytes.next()?;
        (byte.is_ascii_alphabetic() && bytes.next().is_none()).then_some(i64::from(byte))
    };
    let (from, to, letters) = match (letter(first), letter(last)) {
        (Some(from), Some(to)) => (from, to, true),
        _ => (first.parse::<i64>().ok()?, last.parse::<i64>().ok()?, false),
    };
    let count = from.checked_sub(to)?.checked_abs()? / step + 1;
    let mut texts = Vec::new();
    // One more than allowed, so that too many are noticed.
    for index in 0..count.min(MAX_WORDS as i64 + 1) {
        let value = if from <= to {
            from + index * step
        } else {
            from - index * step
        };
        texts.push(if letters {
            char::from(u8::try_from(value).ok()?).to_string()
        } else {
            value.to_string()
        });
    }
    let padded = |text: &str| {
        text.trim_start_matches('-').starts_with('0') && text.trim_start_matches('-').len() > 1
    };
    if !letters && (padded(first) || padded(last)) {
        let width = first.len().max(last.len());
        for text in &mut texts {
            let (sign, digits) = text
                .strip_prefix('-')
                .map_or(("", text.as_str()), |digits| ("-", digits));
            *text = format!("{sign}{digits:0>width$}", width = width - sign.len());
        }
    }
    Some(texts)
}

/// All words that `tokens[from..to]` become; `None` when there are too many.
fn alternatives<'w>(
    tokens: &[Brace<'w>],
    pairs: &[Option<(usize, bool)>],
    from: usize,
    to: usize,
    budget: &mut usize,
) -> Option<Vec<Vec<Token<'w>>>> {
    let mut words: Vec<Vec<Token<'w>>> = vec![Vec::new()];
    let mut at = from;
    while at < to {
        let mut choices: Option<Vec<Vec<Token<'w>>>> = None;
        let mut next = at + 1;
        if let (Brace::Open, Some((end, commas))) = (&tokens[at], pairs[at]) {
            if commas {
                let mut list = Vec::new();
                let mut start = at + 1;
                let mut position = at + 1;
                while position <= end {
                    let inner = pairs[position].filter(|_| matches!(tokens[position], Brace::Open));
                    if let Some((skip, _)) = inner {
                        position = skip + 1;
                        continue;
                    }
                    if position == end || matches!(tokens[position], Brace::Comma) {
                        list.extend(alternatives(tokens, pairs, start, position, budget)?);
                        start = position + 1;
                    }
                    position += 1;
                }
                choices = Some(list);
                next = end + 1;
            } else if let Some(texts) = sequence(&tokens[at + 1..end]) {
                choices = Some(
                    texts
                        .into_iter()
                        .map(|text| vec![Token::Text(text)])
                        .collect(),
                );
                next = end + 1;
            }
        }
        match choices {
            None => {
                let token = match &tokens[at] {
                    Brace::Open => Token::Text("{".to_owned()),
                    Brace::Close => Token::Text("}".to_owned()),
                    Brace::Comma => Token::Text(",".to_owned()),
                    Brace::Token(token) => token.clone(),
                };
                for word in &mut words {
                    push_token(word, token.clone());
                }
            }
            Some(choices) => {
                let count = words.len().checked_mul(choices.len())?;
                *budget = budget.checked_sub(count)?;
                let mut product = Vec::with_capacity(count);
                for word in &words {
                    for choice in &choices {
                        let mut longer = word.clone();
                        for token in choice {
                            push_token(&mut longer, token.clone());
                        }
                        product.push(longer);
                    }
                }
                words = product;
            }
        }
        at = next;
    }
    Some(words)
}

fn push_token<'w>(word: &mut Vec<Token<'w>>, token: Token<'w>) {
    if let (Some(Token::Text(last)), Token::Text(text)) = (word.last_mut(), &token) {
        last.push_str(text);
        return;
    }
    word.push(token);
}
