//! awk: `system()` and pipes run commands.

use super::lex::Dialect;
use super::options::{self, Spec};
use super::script::{Part, Word};
use super::sed::FROM_OUTSIDE;
use super::walk::{Context, Outcome, Walker};

pub(super) fn run(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let stays = Outcome::stays(&walker.directory);
    let spec = Spec {
        flags: "bcCgGhknNOPrsStVI",
        valued: "FvefEilW",
        optional: "doLpD",
        long_flags: "characters-as-bytes traditional copyright dump-variables debug gen-pot help lint bignum csv \
            use-lc-numeric non-decimal-data pretty-print optimize posix profile re-interval no-optimize sandbox \
            lint-old version",
        long_valued: "field-separator assign source file exec include load",
    };
    let (given, used) = match options::parse(&words[1..], &spec) {
        Ok(parsed) => parsed,
        Err(shown) => {
            walker.doubt("options of `awk` that are not understood", &shown);
            return stays;
        }
    };
    let mut programs: Vec<Word> = Vec::new();
    let mut from_file = false;
    for option in given {
        match option.name.as_str() {
            "e" | "source" => programs.extend(option.value),
            "f" | "file" | "E" | "exec" => {
                from_file = true;
                if let Some(file) = &option.value {
                    walker.note_script(file);
                }
                if option
                    .value
                    .as_ref()
                    .is_some_and(super::shells::is_unclear_input)
                {
                    walker.doubt("a program of `awk` that cannot be told", name);
                }
            }
            "l" | "load" => walker.doubt("`awk` loads a library", name),
            "i" | "include"
                if option.value.as_ref().and_then(Word::as_static) != Some("inplace") =>
            {
                walker.doubt("`awk` includes a program", name);
            }
            "S" | "sandbox" | "version" | "V" | "help" | "h" => return stays,
            _ => {}
        }
    }
    if programs.is_empty() && !from_file {
        programs.extend(words.get(1 + used).cloned());
    }
    let inner = context.inside(name);
    for program in programs {
        let mut text = String::new();
        for part in &program.parts {
            match part {
                Part::Text(part) | Part::Glob(part) => text.push_str(part),
                Part::Variable(_) if !program.splits => text.push(FROM_OUTSIDE),
                _ => {
                    walker.doubt("a program of `awk` that cannot be told", &program.shown());
                    return stays;
                }
            }
        }
        if text.chars().all(|c| c == FROM_OUTSIDE) {
            walker.doubt("a program of `awk` that cannot be told", &program.shown());
        }
        for found in scan(&text) {
            match found {
                Some(command) if !command.contains(FROM_OUTSIDE) => {
                    walker.child_text(&command, Dialect::Sh, &inner);
                }
                _ => walker.doubt(
                    "a program of `awk` that runs something that cannot be told",
                    &text,
                ),
            }
        }
    }
    stays
}

#[derive(Debug, Clone, PartialEq)]
enum Token<'p> {
    Text(String),
    Regex,
    Word(&'p str),
    Sign(char),
}

/// The commands a program runs; `None` for one that cannot be told.
fn scan(program: &str) -> Vec<Option<String>> {
    let Some(tokens) = tokens(program) else {
        return vec![None];
    };
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Word("system") => match tokens.get(at + 1..at + 4) {
                Some([Token::Sign('('), Token::Text(text), Token::Sign(')')]) => {
                    found.push(Some(text.clone()));
                }
                _ => found.push(None),
            },
            Token::Sign('@') => found.push(None),
            Token::Sign('|') => {
                // `||` was taken together as one sign; this is a pipe.
                let reads = tokens.get(at + 1) == Some(&Token::Word("getline"));
                let text = if reads {
                    at.checked_sub(1).and_then(|at| tokens.get(at))
                } else {
                    tokens.get(at + 1)
                };
                let alone = if reads {
                    at.checked_sub(2)
                        .and_then(|at| tokens.get(at))
                        .is_none_or(|before| {
                            matches!(
                                before,
                                Token::Sign('(' | '{' | ';' | '\n' | ',' | '!' | '&' | 'O')
                            )
                        })
                } else {
                    tokens
                        .get(at + 2)
                        .is_none_or(|after| matches!(after, Token::Sign('}' | ';' | '\n')))
                };
                match text {
                    Some(Token::Text(text)) if alone => found.push(Some(text.clone())),
                    _ => found.push(None),
                }
            }
            _ => {}
        }
    }
    found
}

/// The tokens of a program; `None` when it is not understood. `O` stands for `||`.
fn tokens(program: &str) -> Option<Vec<Token<'_>>> {
    let bytes = program.as_bytes();
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        match byte {
            b' ' | b'\t' | b'\r' => at += 1,
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => at += 2,
            b'#' => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
            }
            b'"' => {
                let mut text = String::new();
                at += 1;
                let mut from = at;
                loop {
                    match bytes.get(at)? {
                        b'"' => break,
                        b'\n' => return None,
                        b'\\' => {
                            text.push_str(&program[from..at]);
                            match bytes.get(at + 1)? {
                                b'"' => text.push('"'),
                                b'\\' => text.push('\\'),
                                b'/' => text.push('/'),
                                b'n' => text.push('\n'),
                                b't' => text.push('\t'),
                                // Other escapes could spell anything.
                                _ => text.push_str("$_"),
                            }
                            at += 2;
                            while !program.is_char_boundary(at) {
                                at += 1;
                            }
                            from = at;
                        }
                        _ => at += 1,
                    }
                }
                text.push_str(&program[from..at]);
                at += 1;
                tokens.push(Token::Text(text));
            }
            b'/' if starts_regex(tokens.last()) => {
                at += 1;
                let from = at;
                let counts = matches!(
                    tokens.as_slice(),
                    [.., Token::Sign('+'), Token::Sign('+')]
                        | [.., Token::Sign('-'), Token::Sign('-')]
                );
                let mut brackets = false;
                loop {
                    match bytes.get(at)? {
                        b'\\' => at += 2,
                        b'\n' => return None,
                        b'[' => {
                            brackets = true;
                            at += 1;
                            if bytes.get(at) == Some(&b'^') {
                                at += 1;
                            }
                            if bytes.get(at) == Some(&b']') {
                                at += 1;
                            }
                        }
                        b']' => {
                            brackets = false;
                            at += 1;
                        }
                        // Not all programs let a bracket hold a slash.
                        b'/' if brackets => return None,
                        b'/' => break,
                        _ => at += 1,
                    }
                }
                // `i++ / 2` divides, and then what is taken for a pattern is code.
                if counts && program[from..at].contains(['"', '(', '|']) {
                    return None;
                }
                at += 1;
                tokens.push(Token::Regex);
            }
            // After a parenthesis it divides, unless that belongs to `if` or `while`.
            b'/' if tokens.last() == Some(&Token::Sign(')'))
                && program[at + 1..]
                    .split_once('/')
                    .is_some_and(|(between, _)| between.contains('"')) =>
            {
                return None;
            }
            b'|' if bytes.get(at + 1) == Some(&b'|') => {
                tokens.push(Token::Sign('O'));
                at += 2;
            }
            b'|' => {
                at += 1;
                if bytes.get(at) == Some(&b'&') {
                    at += 1;
                }
                tokens.push(Token::Sign('|'));
            }
            _ if byte == b'_' || byte.is_ascii_alphanumeric() => {
                let from = at;
                while at < bytes.len() && (bytes[at] == b'_' || bytes[at].is_ascii_alphanumeric()) {
                    at += 1;
                }
                tokens.push(Token::Word(&program[from..at]));
            }
            _ if byte.is_ascii() => {
                tokens.push(Token::Sign(char::from(byte)));
                at += 1;
            }
            _ => at += 1,
        }
    }
    Some(tokens)
}

/// Whether a slash after this token begins a pattern rather than divides.
fn starts_regex(before: Option<&Token<'_>>) -> bool {
    match before {
        None => true,
        Some(Token::Sign(sign)) => !matches!(sign, ')' | ']'),
        Some(Token::Word(word)) => matches!(
            *word,
            "return" | "in" | "case" | "print" | "printf" | "do" | "else"
        ),
        Some(Token::Text(_) | Token::Regex) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::scan;

    #[test]
    fn commands_in_programs_are_found() {
        assert_eq!(scan("/foo|bar/ {print $1}"), vec![]);
        assert_eq!(scan("{ print \"a|b\", $1/$2/2 || x }"), vec![]);
        assert_eq!(
            scan("BEGIN{system(\"rm -rf x\")}"),
            vec![Some("rm -rf x".to_owned())]
        );
        assert_eq!(scan("BEGIN{system(\"rm\" x)}"), vec![None]);
        assert_eq!(scan("{ print | \"sh\" }"), vec![Some("sh".to_owned())]);
        assert_eq!(scan("{ print | cmd }"), vec![None]);
        assert_eq!(
            scan("BEGIN { \"date\" | getline d }"),
            vec![Some("date".to_owned())]
        );
        assert_eq!(scan("BEGIN { c = \"rm x\"; c | getline }"), vec![None]);
    }
}
