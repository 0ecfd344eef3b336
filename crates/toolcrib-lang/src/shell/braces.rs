//! Brace expansion: `a{b,c}`, `{1..5}`.

use super::syntax::{Piece, Raw};
use super::walk::Walker;
use crate::model::budget::Budget;

/// The most words one word may become.
const MAX_WORDS: usize = 256;
/// How deep braces may stand in each other.
const MAX_NESTED: usize = 24;

impl Walker {
    /// Brace expansion. `None` when there is nothing to expand.
    pub(super) fn braces<'w, 'a>(&mut self, raw: &'w Raw<'a>) -> Option<Vec<Vec<Token<'w>>>> {
        if self.budget.is_spent() {
            return None;
        }
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
        let mut left = Left {
            words: MAX_WORDS,
            budget: &mut self.budget,
        };
        let expanded = alternatives(&tokens, &pairs, 0, tokens.len(), &mut left);
        if expanded.is_none() {
            self.script.is_cut |= self.budget.is_spent();
            self.doubt("braces that become too many words", raw.source);
        }
        expanded
    }
}

/// What one word may still become.
struct Left<'b> {
    words: usize,
    budget: &'b mut Budget,
}

/// A piece, or text that brace expansion made.
#[derive(Debug, Clone)]
pub(super) enum Token<'w> {
    Piece(&'w Piece<'w>),
    Text(String),
}

impl Token<'_> {
    /// What it costs to copy, in bytes.
    fn weight(&self) -> usize {
        const TOKEN: usize = 64;
        match self {
            Token::Piece(_) => TOKEN,
            Token::Text(text) => TOKEN + text.len(),
        }
    }
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

/// For every opening brace its partner and whether a comma is between them at its level; and whether any brace is alone.
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
    left: &mut Left<'_>,
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
                        list.extend(alternatives(tokens, pairs, start, position, left)?);
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
                    left.budget.copy(token.weight()).ok()?;
                    push_token(word, token.clone());
                }
            }
            Some(choices) => {
                let count = words.len().checked_mul(choices.len())?;
                left.words = left.words.checked_sub(count)?;
                let mut product = Vec::with_capacity(count);
                for word in &words {
                    for choice in &choices {
                        let weight = word.iter().chain(choice).map(Token::weight).sum();
                        left.budget.copy(weight).ok()?;
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
