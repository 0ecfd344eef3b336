//! Patterns for a name or a word, and whether two of them can mean the same.

/// A pattern for one name, or for one word.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NameGlob {
    tokens: Vec<Token>,
    /// The whole, when nothing in it is a wildcard: comparing is then enough.
    literal: Option<String>,
    /// The texts between the stars, when there are no other wildcards: searching is then enough, however long the text.
    between: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Char(char),
    One,
    Many,
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl NameGlob {
    /// Reads a pattern; a backslash takes the next character's meaning away.
    pub(super) fn parse(text: &str) -> Self {
        let mut tokens = Vec::with_capacity(text.len());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            tokens.push(match c {
                '*' => {
                    if tokens.last() == Some(&Token::Many) {
                        continue;
                    }
                    Token::Many
                }
                '?' => Token::One,
                '[' => match class(&mut chars) {
                    Some(class) => class,
                    None => Token::Char('['),
                },
                '\\' => Token::Char(chars.next().unwrap_or('\\')),
                c => Token::Char(c),
            });
        }
        NameGlob::of(tokens)
    }

    /// The pattern that fits exactly this text.
    pub(super) fn exactly(text: &str) -> Self {
        NameGlob::of(text.chars().map(Token::Char).collect())
    }

    fn of(tokens: Vec<Token>) -> Self {
        let mut between = Some(vec![String::new()]);
        for token in &tokens {
            match (token, &mut between) {
                (Token::Char(c), Some(texts)) => {
                    texts.last_mut().into_iter().for_each(|text| text.push(*c));
                }
                (Token::Many, Some(texts)) => texts.push(String::new()),
                (Token::One | Token::Class { .. }, _) => between = None,
                (_, None) => {}
            }
        }
        let literal = match between.as_deref() {
            Some([whole]) => Some(whole.clone()),
            _ => None,
        };
        NameGlob {
            tokens,
            literal,
            between,
        }
    }

    /// This pattern followed by another.
    pub(super) fn then(mut self, other: NameGlob) -> Self {
        self.tokens.extend(other.tokens);
        NameGlob::of(self.tokens)
    }

    /// How many characters it fixes.
    pub(super) fn fixed(&self) -> usize {
        let fixed = |token: &&Token| matches!(token, Token::Char(c) if *c != '.');
        self.tokens.iter().filter(fixed).count()
    }

    /// Whether the text fits.
    pub(super) fn matches(&self, text: &str) -> bool {
        match (&self.literal, self.between.as_deref()) {
            (Some(literal), _) => literal == text,
            (None, Some([first, middle @ .., last])) => {
                let Some(mut rest) = text.strip_prefix(first.as_str()) else {
                    return false;
                };
                for piece in middle {
                    match rest.split_once(piece.as_str()) {
                        Some((_, after)) => rest = after,
                        None => return false,
                    }
                }
                rest.ends_with(last.as_str())
            }
            (None, _) => fits(&self.tokens, text),
        }
    }

    /// Whether some text fits both this and a pattern of a shell, which by itself fits no leading dot.
    pub(super) fn may_match(&self, shell: &NameGlob) -> bool {
        let hidden = self.tokens.first() == Some(&Token::Char('.'));
        let wild = !matches!(shell.tokens.first(), Some(Token::Char(_)) | None);
        !(hidden && wild) && overlap(&self.tokens, &shell.tokens)
    }
}

fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<Token> {
    let mut ahead = chars.clone();
    let negated = matches!(ahead.peek(), Some('!' | '^'));
    if negated {
        ahead.next();
    }
    let mut ranges = Vec::new();
    loop {
        let low = match ahead.next()? {
            ']' if !ranges.is_empty() => break,
            '\\' => ahead.next()?,
            c => c,
        };
        let high = match ahead.peek() {
            Some('-') => {
                let mut after = ahead.clone();
                after.next();
                match after.next()? {
                    ']' => low,
                    high => {
                        ahead = after;
                        high
                    }
                }
            }
            _ => low,
        };
        ranges.push((low, high));
    }
    *chars = ahead;
    Some(Token::Class { negated, ranges })
}

/// Whether a text fits: a walk along both that goes back to the last star when it is stuck.
fn fits(tokens: &[Token], text: &str) -> bool {
    let (mut token, mut rest) = (0, text.chars());
    let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        let mut after = rest.clone();
        match (tokens.get(token), after.next()) {
            (Some(Token::Many), _) => {
                if token + 1 == tokens.len() {
                    return true;
                }
                retry = Some((token, rest.clone()));
                token += 1;
                continue;
            }
            (Some(known), Some(c)) if meet(known, &Token::Char(c)) => {
                token += 1;
                rest = after;
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        let Some((star, from)) = &mut retry else {
            return false;
        };
        if from.next().is_none() {
            return false;
        }
        token = *star + 1;
        rest = from.clone();
    }
}

/// Whether some text fits both.
fn overlap(a: &[Token], b: &[Token]) -> bool {
    // `row[j]`: the tokens of `a` read so far and the first j of `b` have a common text.
    let mut row = vec![false; b.len() + 1];
    row[0] = true;
    for (j, token) in b.iter().enumerate() {
        row[j + 1] = row[j] && *token == Token::Many;
    }
    for left in a {
        let mut next = vec![false; b.len() + 1];
        next[0] = row[0] && *left == Token::Many;
        for (j, right) in b.iter().enumerate() {
            next[j + 1] = match (left, right) {
                (Token::Many, _) => row[j + 1] || next[j] || (row[j] && *right == Token::Many),
                (_, Token::Many) => next[j] || row[j + 1],
                _ => row[j] && meet(left, right),
            };
        }
        row = next;
    }
    row[b.len()]
}

fn meet(a: &Token, b: &Token) -> bool {
    match (a, b) {
        (Token::Char(a), Token::Char(b)) => a == b,
        (Token::Class { negated, ranges }, Token::Char(c))
        | (Token::Char(c), Token::Class { negated, ranges }) => {
            ranges.iter().any(|(low, high)| (low..=high).contains(&c)) != *negated
        }
        // Two classes may have a character in common; which one does not matter.
        (Token::Class { .. }, Token::Class { .. }) => true,
        (Token::One | Token::Many, _) | (_, Token::One | Token::Many) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stay_within_a_name() {
        for (pattern, text, expected) in [
            ("mkfs*", "mkfs.ext4", true),
            ("mkfs*", "mkfs", true),
            ("id_?sa", "id_rsa", true),
            ("id_[a-s]sa", "id_rsa", true),
            ("id_[!a-s]sa", "id_rsa", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("[", "[", true),
            ("[]]", "]", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("", "", true),
            ("*", "", true),
            ("?*", "", false),
            ("?*", "a", true),
            ("*?", "ab", true),
            ("*[a-c]?x*", "zzbbxz", true),
            ("*[a-c]?x*", "zzzbx", false),
            ("a*?b*c?", "aabxcbcd", true),
            ("a*?b*c?", "abcd", false),
        ] {
            assert_eq!(
                NameGlob::parse(pattern).matches(text),
                expected,
                "{pattern} {text}"
            );
        }
    }
}
