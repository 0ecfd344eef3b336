//! I-Regexp (RFC 9485), translated to the `regex` crate, which takes linear time.
//!
//! Linear in the text, that is: how long one character takes depends on the pattern, and `.{1000}` written ten times is a slow
//! one. So a pattern has a weight, what is too heavy is refused, and searching is charged by it.
//!
//! `^` and `$` are anchors, as the RFC's own mappings to other dialects and the compliance suite have them.

use regex::{Regex, RegexBuilder};

use super::syntax::Extent;

/// How many characters, classes counting more than one, a pattern may describe once its repetitions are written out.
const MAX_WEIGHT: u64 = 4000;
const MAX_BYTES: usize = 4096;
const MAX_DEPTH: usize = 32;
/// What the compiled pattern may take in memory.
const MAX_COMPILED: usize = 1 << 20;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    regex: Regex,
    weight: u64,
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not an I-Regexp: the reason.
    Malformed(String),
    /// It takes too much time or memory.
    TooLarge,
}

impl Pattern {
    pub(super) fn compile(text: &str, extent: Extent) -> Result<Self, Fault> {
        if text.len() > MAX_BYTES {
            return Err(Fault::TooLarge);
        }
        let (translated, weight) = translate(text)?;
        let anchored = match extent {
            Extent::Whole => format!("^(?:{translated})$"),
            Extent::Part => translated,
        };
        let regex = RegexBuilder::new(&anchored)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => Fault::TooLarge,
                // What the translation lets through and the crate does not: a range that runs backwards.
                _ => Fault::Malformed("a range in it is empty or runs backwards".to_owned()),
            })?;
        Ok(Pattern { regex, weight })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// How many steps it takes to look through a text.
    pub(super) fn steps(&self, text: &str) -> usize {
        let weight = usize::try_from(self.weight).unwrap_or(usize::MAX);
        text.len().saturating_mul(1 + weight / 16)
    }
}

/// The pattern in the words of the `regex` crate, and its weight.
fn translate(text: &str) -> Result<(String, u64), Fault> {
    let mut translation = Translation {
        rest: text.chars().peekable(),
        out: String::with_capacity(text.len() + 16),
        groups: vec![0],
        last: None,
    };
    while let Some(next) = translation.rest.next() {
        translation.piece(next)?;
    }
    match translation.groups.as_slice() {
        [weight] => Ok((translation.out, *weight)),
        _ => malformed("a `(` is never closed"),
    }
}

struct Translation<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    out: String,
    /// The weight of what was read, for the whole pattern and for every group that is open.
    groups: Vec<u64>,
    /// The weight of the last atom, if a quantifier may follow.
    last: Option<u64>,
}

impl Translation<'_> {
    fn piece(&mut self, next: char) -> Result<(), Fault> {
        match next {
            '(' => {
                if self.groups.len() > MAX_DEPTH {
                    return Err(Fault::TooLarge);
                }
                self.groups.push(0);
                self.out.push_str("(?:");
                self.last = None;
            }
            ')' => {
                let (Some(weight), false) = (self.groups.pop(), self.groups.is_empty()) else {
                    return malformed("a `)` closes nothing");
                };
                self.out.push(')');
                self.atom(weight.max(1))?;
            }
            '|' => {
                self.out.push('|');
                self.last = None;
            }
            '*' | '+' | '?' => {
                let weight = self.quantified(next)?;
                self.add(weight)?;
                self.out.push(next);
            }
            '{' => self.repetition()?,
            '.' => {
                self.out.push_str(r"[^\n\r]");
                self.atom(4)?;
            }
            '[' => self.class()?,
            '\\' => {
                let weight = self.escape()?;
                self.atom(weight)?;
            }
            ']' | '}' => return malformed(&format!("`{next}` must be written `\\{next}`")),
            '^' | '$' => {
                self.out.push(next);
                self.atom(1)?;
            }
            _ => {
                push_escaped(&mut self.out, next);
                self.atom(1)?;
            }
        }
        Ok(())
    }

    fn atom(&mut self, weight: u64) -> Result<(), Fault> {
        self.add(weight)?;
        self.last = Some(weight);
        Ok(())
    }

    fn add(&mut self, weight: u64) -> Result<(), Fault> {
        if let Some(group) = self.groups.last_mut() {
            *group = group.saturating_add(weight);
        }
        if self.groups.iter().any(|group| *group > MAX_WEIGHT) {
            return Err(Fault::TooLarge);
        }
        Ok(())
    }

    /// The weight of the atom that a quantifier is for.
    fn quantified(&mut self, quantifier: char) -> Result<u64, Fault> {
        match self.last.take() {
            Some(weight) => Ok(weight),
            None => malformed(&format!(
                "`{quantifier}` has nothing in front of it to repeat"
            )),
        }
    }

    /// `{2}`, `{2,}`, `{2,5}`
    fn repetition(&mut self) -> Result<(), Fault> {
        let weight = self.quantified('{')?;
        let least = self.number()?;
        self.out.push_str(&format!("{{{least}"));
        let mut most = least;
        if self.rest.next_if_eq(&',').is_some() {
            self.out.push(',');
            if self.rest.peek().is_some_and(char::is_ascii_digit) {
                most = self.number()?;
                self.out.push_str(&most.to_string());
            }
        }
        if self.rest.next() != Some('}') {
            return malformed(
                "a `{` is never closed; a repetition is written `{2}`, `{2,}` or `{2,5}`",
            );
        }
        self.out.push('}');
        if most < least {
            return malformed("a repetition runs backwards");
        }
        self.add(weight.saturating_mul(most.max(1)))
    }

    fn number(&mut self) -> Result<u64, Fault> {
        let mut digits = 0;
        let mut number: u64 = 0;
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
            digits += 1;
            number = number
                .saturating_mul(10)
                .saturating_add(u64::from(digit) - u64::from('0'));
        }
        match digits {
            0 => malformed("a repetition is written `{2}`, `{2,}` or `{2,5}`"),
            _ if number > MAX_WEIGHT => Err(Fault::TooLarge),
            _ => Ok(number),
        }
    }

    /// The escape after a backslash, outside of classes and inside of them; returns its weight.
    fn escape(&mut self) -> Result<u64, Fault> {
        match self.rest.next() {
            Some(property @ ('p' | 'P')) => {
                self.property(property)?;
                Ok(32)
            }
            Some(character) => match escaped(character) {
                Some(character) => {
                    push_escaped(&mut self.out, character);
                    Ok(1)
                }
                None => malformed(&unknown_escape(character)),
            },
            None => malformed("it ends with a backslash"),
        }
    }

    /// `\p{Lu}`: general categories only.
    fn property(&mut self, property: char) -> Result<(), Fault> {
        let mut name = String::new();
        if self.rest.next_if_eq(&'{').is_some() {
            while let Some(letter) = self.rest.next_if(char::is_ascii_alphabetic) {
                name.push(letter);
            }
        }
        let letters = match name.chars().next() {
            Some('L') => "lmotu",
            Some('M') => "cen",
            Some('N') => "dlo",
            Some('P') => "cdefios",
            Some('Z') => "lps",
            Some('S') => "ckmo",
            Some('C') => "cfno",
            _ => "",
        };
        let known = !letters.is_empty()
            && match name.len() {
                1 => true,
                2 => letters.contains(&name[1..]),
                _ => false,
            };
        if !known || self.rest.next() != Some('}') {
            return malformed(r"`\p` takes a general category of Unicode, such as `\p{Lu}`");
        }
        self.out.push_str(&format!("\\{property}{{{name}}}"));
        Ok(())
    }

    /// `[a-z]`, behind the bracket.
    fn class(&mut self) -> Result<(), Fault> {
        const OPEN: &str = "a `[` is never closed";
        self.out.push('[');
        let mut weight = 4;
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        if self.rest.next_if_eq(&'-').is_some() {
            self.out.push_str(r"\-");
        } else if self.rest.peek() == Some(&']') {
            return malformed("`[]` describes nothing");
        }
        loop {
            match self.rest.next() {
                None => return malformed(OPEN),
                Some(']') => break,
                Some('-') => {
                    // The last one stands for itself.
                    if self.rest.next() != Some(']') {
                        return malformed(
                            r"`-` in `[…]` must be between two characters, first or last; otherwise write `\-`",
                        );
                    }
                    self.out.push_str(r"\-");
                    break;
                }
                Some('[') => return malformed(r"`[` in `[…]` must be written `\[`"),
                Some('\\') if matches!(self.rest.peek(), Some('p' | 'P')) => {
                    weight += self.escape()?;
                }
                Some(first) => {
                    self.class_character(first)?;
                    let mut ahead = self.rest.clone();
                    if ahead.next() == Some('-') && ahead.peek() != Some(&']') {
                        self.rest.next();
                        self.out.push('-');
                        match self.rest.next() {
                            None => return malformed(OPEN),
                            Some('-' | '[') => return malformed("a range has no end"),
                            Some(last) => self.class_character(last)?,
                        }
                    }
                    weight += 1;
                }
            }
        }
        self.out.push(']');
        self.atom(weight)
    }

    fn class_character(&mut self, character: char) -> Result<(), Fault> {
        let character = match character {
            '\\' => match self.rest.next() {
                Some(next) => match escaped(next) {
                    Some(character) => character,
                    None => return malformed(&unknown_escape(next)),
                },
                None => return malformed("it ends with a backslash"),
            },
            _ => character,
        };
        push_escaped(&mut self.out, character);
        Ok(())
    }
}

fn malformed<T>(reason: &str) -> Result<T, Fault> {
    Err(Fault::Malformed(reason.to_owned()))
}

fn unknown_escape(character: char) -> String {
    let instead = match character {
        'd' => "`[0-9]`",
        'w' => "`[A-Za-z0-9_]`",
        's' => r"`[ \t\n\r]`",
        _ => "the character itself",
    };
    format!(
        "`\\{}` is not an escape in I-Regexp (RFC 9485); write {instead}",
        character.escape_debug()
    )
}

/// What a single escaped character stands for.
fn escaped(character: char) -> Option<char> {
    match character {
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        '(' | ')' | '*' | '+' | '-' | '.' | '?' | '[' | '\\' | ']' | '^' | '{' | '|' | '}' => {
            Some(character)
        }
        // Not in the RFC's list, and yet the only way to say it where `$` is an anchor.
        '$' => Some('$'),
        _ => None,
    }
}

/// A character that stands for itself, wherever it is.
fn push_escaped(out: &mut String, character: char) {
    if character.is_alphanumeric() {
        out.push(character);
    } else {
        out.push_str(&format!("\\x{{{:x}}}", u32::from(character)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::compile(pattern, Extent::Whole)
            .unwrap()
            .is_match(text)
    }

    #[test]
    fn patterns_mean_what_the_rfc_says() {
        for (pattern, text, expected) in [
            ("a|bc", "bc", true),
            ("a|bc", "ac", false),
            ("[0-9]{2,3}", "12", true),
            ("[0-9]{2,3}", "1234", false),
            ("[0-9]{2,}", "123456", true),
            ("[^a-c]", "b", false),
            ("[-a]", "-", true),
            ("[a-]", "-", true),
            ("[ab-]", "-", true),
            (r"[\-\]\\]+", r"-]\", true),
            ("[&&a~~]", "&", true),
            ("(ab)+", "abab", true),
            (r"\p{Lu}\p{Ll}+", "Ärger", true),
            (r"[\p{N}x]*", "1x2", true),
            (r"\P{L}", "a", false),
            ("", "", true),
            ("a||b", "", true),
            ("()", "", true),
            (r"\(\)\*\+\.\?\[\]\{\}\|", "()*+.?[]{}|", true),
            (r"\n\r\t", "\n\r\t", true),
            ("#  x", "#  x", true),
            ("a.c", "a\nc", false),
            ("a.c", "a😀c", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn input_that_is_not_an_i_regexp_is_refused_and_says_why() {
        for pattern in [
            "(",
            ")",
            "a)",
            "*",
            "a**",
            "a{",
            "a{x}",
            "a{3,2}",
            "[",
            "[]",
            "[a",
            "[^]",
            "]",
            "}",
            r"\d",
            r"\w",
            r"\b",
            r"\1",
            "(?i)a",
            "(?:a)",
            "a+?",
            r"\p{Greek}",
            r"\p{Cs}",
            r"\pL",
            r"[z-a]",
            r"[a-\p{L}]",
            r"\",
            "[a-c-e]",
            "[[:alpha:]]",
            "[a[b]]",
        ] {
            let fault = Pattern::compile(pattern, Extent::Part);
            assert!(
                matches!(fault, Err(Fault::Malformed(_))),
                "{pattern}: {fault:?}"
            );
        }
    }

    #[test]
    fn what_takes_too_long_is_refused() {
        for pattern in [
            "a{5000}".to_owned(),
            "((((a{50}){50}){50}){50}){50}".to_owned(),
            r"\p{L}{1000}".to_owned(),
            "(".repeat(40),
            "a".repeat(5000),
            "a{99999999999999999999999999}".to_owned(),
        ] {
            let fault = Pattern::compile(&pattern, Extent::Part);
            assert!(
                matches!(fault, Err(Fault::TooLarge)),
                "{pattern}: {fault:?}"
            );
        }
    }
}
