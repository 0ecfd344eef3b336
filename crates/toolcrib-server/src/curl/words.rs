//! The words of one plain command, as bash would make them, without running or looking up anything.
//!
//! What would need a shell (pipes, substitutions, several commands) is refused by name. A variable stays in its word as a
//! [`Mark`], since only its reader knows whether it is a credential or an argument.

use super::placeholder;
use super::refusal::Why;

/// Commands that browsers copy carry whole bodies; more than this is not a request that a tool would send.
const MAX_BYTES: usize = 256 * 1024;

/// The words of the command.
pub(super) fn split(text: &str) -> Result<Vec<String>, Why> {
    if text.len() > MAX_BYTES {
        return Err(Why::new(
            "the command is longer than 256 KB",
            "make a tool of a shorter one and fill in the body by hand",
        ));
    }
    if text.contains('\0') || placeholder::is_in(text) {
        return Err(Why::new(
            "the command has characters that no request can have (NUL, or U+FDD0 to U+FDD3)",
            "remove them",
        ));
    }
    if text.contains("^\n") || text.contains("^\r") {
        return Err(Why::new(
            "the command is written for Windows' `cmd`: its lines end with `^`",
            "copy it for bash: browsers offer \"Copy as cURL (bash)\"",
        ));
    }
    Reader::new(text).words()
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    /// Whether the command's line has ended.
    ended: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Reader {
            rest: text.trim().chars().peekable(),
            ended: false,
        }
    }

    fn words(mut self) -> Result<Vec<String>, Why> {
        let mut words = Vec::new();
        while let Some(word) = self.word()? {
            words.push(word);
        }
        Ok(words)
    }

    /// The next word, if there is one.
    fn word(&mut self) -> Result<Option<String>, Why> {
        self.skip_blanks();
        let Some(first) = self.rest.peek().copied() else {
            return Ok(None);
        };
        if self.ended {
            return Err(Why::new(
                "there is more than one command",
                "keep the line with `curl`; a line that goes on ends with `\\`",
            ));
        }
        if first == '#' {
            while self.rest.next_if(|char| *char != '\n').is_some() {}
            return self.word();
        }
        let mut word = String::new();
        while let Some(char) = self.rest.next_if(|char| !is_blank(*char)) {
            match char {
                '\\' => self.escaped(&mut word)?,
                '\'' => self.single(&mut word)?,
                '"' => self.double(&mut word)?,
                '$' => self.dollar(&mut word, Quotes::None)?,
                '`' => return Err(substitution("`…`")),
                '&' => return Err(background()),
                '|' | ';' | '<' | '>' | '(' | ')' => return Err(operator(char)),
                '{' => self.brace(&mut word)?,
                other => word.push(other),
            }
        }
        Ok(Some(word))
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.rest.peek() {
                Some('\n') => self.ended = true,
                Some(char) if is_blank(*char) => {}
                // A backslash at the end of a line joins it with the next.
                Some('\\') => {
                    let mut ahead = self.rest.clone();
                    ahead.next();
                    ahead.next_if_eq(&'\r');
                    if ahead.next_if_eq(&'\n').is_none() {
                        return;
                    }
                    self.rest = ahead;
                    continue;
                }
                Some(_) | None => return,
            }
            self.rest.next();
        }
    }

    /// What follows a backslash outside of quotes.
    fn escaped(&mut self, word: &mut String) -> Result<(), Why> {
        self.rest.next_if_eq(&'\r');
        match self.rest.next() {
            Some('\n') | None => {}
            Some(char) => word.push(char),
        }
        Ok(())
    }

    fn single(&mut self, word: &mut String) -> Result<(), Why> {
        loop {
            match self.rest.next() {
                Some('\'') => return Ok(()),
                Some(char) => word.push(char),
                None => return Err(unclosed('\'')),
            }
        }
    }

    fn double(&mut self, word: &mut String) -> Result<(), Why> {
        loop {
            match self.rest.next() {
                Some('"') => return Ok(()),
                Some('\\') => match self.rest.next() {
                    Some(char @ ('$' | '`' | '"' | '\\')) => word.push(char),
                    Some('\n') => {}
                    Some(char) => word.extend(['\\', char]),
                    None => return Err(unclosed('"')),
                },
                Some('$') => self.dollar(word, Quotes::Double)?,
                Some('`') => return Err(substitution("`…`")),
                Some(char) => word.push(char),
                None => return Err(unclosed('"')),
            }
        }
    }

    fn dollar(&mut self, word: &mut String, quotes: Quotes) -> Result<(), Why> {
        match (self.rest.peek().copied(), quotes) {
            (Some('\''), Quotes::None) => {
                self.rest.next();
                self.ansi(word)
            }
            (Some('"'), Quotes::None) => {
                self.rest.next();
                self.double(word)
            }
            (Some('('), _) => Err(substitution("$(…)")),
            (Some('['), _) => Err(substitution("$[…]")),
            (Some('{'), _) => {
                self.rest.next();
                let name = self.name();
                if name.is_empty() || self.rest.next_if_eq(&'}').is_none() {
                    return Err(Why::new(
                        "the command has a shell expansion `${…}` that is more than a variable's name",
                        "write `${NAME}` for an argument or a secret, or put the value there",
                    ));
                }
                placeholder::push(word, &name);
                Ok(())
            }
            (Some(char), _) if char == '_' || char.is_ascii_alphabetic() => {
                let name = self.name();
                placeholder::push(word, &name);
                Ok(())
            }
            (Some(char), _) if char.is_ascii_digit() || "?@*#!$-".contains(char) => Err(Why::new(
                format!("the command has the shell's own variable `${char}`"),
                "replace it by the value, or quote it with '…' if it is meant literally",
            )),
            _ => {
                word.push('$');
                Ok(())
            }
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        let is_part = |char: &char| *char == '_' || char.is_ascii_alphanumeric();
        while let Some(char) = self.rest.next_if(is_part) {
            name.push(char);
        }
        name
    }

    /// `{a,b}` and `{1..3}` would become several words; anything else in braces is itself.
    fn brace(&mut self, word: &mut String) -> Result<(), Why> {
        // To the next brace only: that one is looked at by itself, and nothing twice.
        let mut ahead = self.rest.clone();
        let mut inside = String::new();
        while let Some(char) = ahead.next_if(|char| !"{}".contains(*char) && !is_blank(*char)) {
            inside.push(char);
        }
        let closed = ahead.next() == Some('}');
        let expands = inside.contains(',') || inside.contains("..");
        if closed && expands && !inside.contains(['\'', '"', '\\']) {
            return Err(Why::new(
                "the command has a brace expansion `{…}`, which a shell makes several words of",
                "put the word in quotes if it is meant literally",
            ));
        }
        word.push('{');
        Ok(())
    }

    /// `$'…'`: the escapes of C.
    fn ansi(&mut self, word: &mut String) -> Result<(), Why> {
        // Bytes, since `\xc3\xa9` is one character of two escapes.
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            match self.rest.next() {
                Some('\'') => break,
                Some('\\') => self.ansi_escape(&mut bytes)?,
                Some(char) => push_char(&mut bytes, char),
                None => return Err(unclosed('\'')),
            }
        }
        let text = String::from_utf8(bytes).ok().filter(|text| {
            // What an escape made is held to what the text itself is held to.
            !text.contains('\0') && !placeholder::is_in(text)
        });
        let text = text.ok_or_else(|| {
            Why::new(
                "a text in $'…' has bytes that are not UTF-8, or NUL",
                "tools send texts: remove them",
            )
        })?;
        word.push_str(&text);
        Ok(())
    }

    fn ansi_escape(&mut self, bytes: &mut Vec<u8>) -> Result<(), Why> {
        let Some(char) = self.rest.next() else {
            return Err(unclosed('\''));
        };
        match char {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'e' | 'E' => bytes.push(27),
            'f' => bytes.push(12),
            'v' => bytes.push(11),
            '\\' | '\'' | '"' | '?' => push_char(bytes, char),
            'x' => match self.digits(16, 2) {
                Some(code) => bytes.push(code as u8),
                None => bytes.extend(b"\\x"),
            },
            'u' | 'U' => {
                let most = if char == 'u' { 4 } else { 8 };
                let decoded = self.digits(16, most).and_then(char::from_u32);
                push_char(bytes, decoded.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            '0'..='7' => {
                let mut code = char as u32 - '0' as u32;
                for _ in 0..2 {
                    let Some(digit) = self.rest.next_if(|char| char.is_digit(8)) else {
                        break;
                    };
                    code = code * 8 + digit as u32 - '0' as u32;
                }
                bytes.push(code as u8);
            }
            'c' => match self.rest.next() {
                Some(control) => bytes.push(control.to_ascii_uppercase() as u8 & 0x1f),
                None => return Err(unclosed('\'')),
            },
            other => {
                bytes.push(b'\\');
                push_char(bytes, other);
            }
        }
        Ok(())
    }

    fn digits(&mut self, radix: u32, most: usize) -> Option<u32> {
        let mut digits = String::new();
        while digits.len() < most {
            let Some(digit) = self.rest.next_if(|char| char.is_digit(radix)) else {
                break;
            };
            digits.push(digit);
        }
        u32::from_str_radix(&digits, radix).ok()
    }
}

#[derive(Clone, Copy)]
enum Quotes {
    None,
    Double,
}

fn is_blank(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | '\r')
}

fn push_char(bytes: &mut Vec<u8>, char: char) {
    bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}

fn unclosed(quote: char) -> Why {
    Why::new(
        format!("a quote {quote} is not closed"),
        "copy the whole command",
    )
}

fn substitution(which: &str) -> Why {
    Why::new(
        format!("the command has a substitution {which}, which would run another command"),
        "nothing is run here: put the value there, or write `${NAME}` for a secret",
    )
}

fn background() -> Why {
    Why::new(
        "there is an `&` outside of quotes, which ends the command in a shell",
        "put the URL in quotes: 'https://…?a=1&b=2'",
    )
}

fn operator(char: char) -> Why {
    let what = match char {
        '|' => "a pipe `|`: its other end is another command",
        '<' | '>' => "a redirection",
        ';' => "a `;`: there is more than one command",
        _ => "parentheses outside of quotes",
    };
    Why::new(
        format!("the command has {what}"),
        "keep the plain `curl …` only; `extractExpr` picks from the answer",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let shown = |word: String| placeholder::shown(&word);
        split(text).unwrap().into_iter().map(shown).collect()
    }

    fn refusal(text: &str) -> String {
        split(text).unwrap_err().what
    }

    #[test]
    fn words_are_those_of_bash() {
        for (text, expected) in [
            ("curl a  b\tc", vec!["curl", "a", "b", "c"]),
            ("curl 'a b' \"c d\"", vec!["curl", "a b", "c d"]),
            (r#"curl "a\"b\\c\d\$e""#, vec!["curl", r#"a"b\c\d$e"#]),
            (r"curl a\ b \'", vec!["curl", "a b", "'"]),
            ("curl \\\n  -X \\\r\n POST", vec!["curl", "-X", "POST"]),
            ("curl 'it'\\''s'", vec!["curl", "it's"]),
            (
                r"curl $'a\n\x41\u00e9\'\101\xc3\xa9'",
                vec!["curl", "a\nAé'Aé"],
            ),
            (
                "curl \"$A\" ${B}x $'$C' '$D' \"${E}\"",
                vec!["curl", "${A}", "${B}x", "$C", "$D", "${E}"],
            ),
            ("curl '' \"\"", vec!["curl", "", ""]),
            ("curl a#b # a comment", vec!["curl", "a#b"]),
            (
                "curl {id} a{b}c '{a,b}'",
                vec!["curl", "{id}", "a{b}c", "{a,b}"],
            ),
            ("curl $ a$", vec!["curl", "$", "a$"]),
            ("\n curl a\n\n", vec!["curl", "a"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn what_needs_a_shell_is_refused_by_name() {
        for (text, what) in [
            ("curl a | sh", "pipe"),
            ("curl a; rm -rf /", "more than one command"),
            ("curl a\nrm -rf /", "more than one command"),
            ("curl a && b", "`&`"),
            ("curl http://x?a=1&b=2", "`&`"),
            ("curl $(id)", "substitution"),
            ("curl \"`id`\"", "substitution"),
            ("curl `id`", "substitution"),
            ("curl \"$(id)\"", "substitution"),
            ("curl a > /etc/passwd", "redirection"),
            ("curl <(id)", "redirection"),
            ("curl ${A:-b}", "expansion"),
            ("curl ${!A}", "expansion"),
            ("curl $1", "`$1`"),
            ("curl {a,b}", "brace"),
            ("curl 'a", "not closed"),
            ("curl \"a", "not closed"),
            ("curl a ^\n b", "Windows"),
            ("curl $'\\0'", "NUL"),
            ("curl \u{fdd0}", "characters"),
        ] {
            assert!(refusal(text).contains(what), "{text}: {}", refusal(text));
        }
    }
}
