//! Python: which programs a piece of code starts. Its strings can be separated from its code exactly, so words in strings are
//! just text.

use super::code::Call;

#[derive(Debug, Clone, PartialEq)]
enum Token<'c> {
    Word(&'c str),
    /// `None` when its value is not fixed.
    Text(Option<String>),
    Sign(char),
}

/// Calls that are given a text for a shell, or a list of words.
const STARTING: &[&str] = &[
    "system",
    "popen",
    "getoutput",
    "getstatusoutput",
    "create_subprocess_shell",
];
/// Those of `subprocess`, whose names are common elsewhere.
const SUBPROCESS: &[&str] = &["run", "call", "Popen", "check_output", "check_call"];
/// Words behind which anything may be.
const UNCLEAR: &[&str] = &[
    "__import__",
    "importlib",
    "getattr",
    "globals",
    "locals",
    "vars",
    "__builtins__",
    "builtins",
    "__dict__",
    "__class__",
    "__subclasses__",
    "__getattribute__",
    "__globals__",
    "ctypes",
    "cffi",
    "runpy",
    "marshal",
    "pickle",
    "operator",
    "modules",
    "attrgetter",
    "methodcaller",
    "posix_spawn",
    "posix_spawnp",
    "startfile",
    "create_subprocess_exec",
    "pty",
    "popen2",
    "popen3",
    "interact",
    "InteractiveInterpreter",
    "posix",
    "_posixsubprocess",
    "fork_exec",
    "codeop",
    "breakpoint",
    "pdb",
    "__loader__",
    "__spec__",
    "multiprocessing",
    "webbrowser",
    "doctest",
    "timeit",
    "cProfile",
    "ProcessPoolExecutor",
];

/// What the code starts.
pub(super) fn calls(code: &str) -> Vec<Call> {
    let Some(tokens) = tokens(code, 0) else {
        return vec![Call::Unclear("a string".to_owned())];
    };
    let has = |word: &str| tokens.contains(&Token::Word(word));
    let (subprocess, shell) = (has("subprocess"), has("shell"));
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(word) = token else { continue };
        let method = at > 0 && tokens[at - 1] == Token::Sign('.');
        let unclear = UNCLEAR.contains(word)
            || word.starts_with("exec") && word.len() > 4 && method
            || word.starts_with("spawn") && method
            || matches!(*word, "eval" | "exec" | "compile") && !method;
        if unclear {
            found.push(Call::Unclear((*word).to_owned()));
        } else if STARTING.contains(word) || subprocess && SUBPROCESS.contains(word) {
            match given(&tokens[at + 1..]) {
                Some(texts) if texts.1 => {
                    if shell && let Some(first) = texts.0.first() {
                        found.push(Call::Text(first.clone()));
                    }
                    found.push(Call::Words(texts.0));
                }
                Some((mut texts, _)) => found.push(Call::Text(texts.swap_remove(0))),
                None => found.push(Call::Unclear((*word).to_owned())),
            }
        }
        if *word == "executable" && subprocess {
            found.push(Call::Unclear((*word).to_owned()));
        }
    }
    found
}

/// The first argument of a call: one text, or a list of texts.
fn given(tokens: &[Token<'_>]) -> Option<(Vec<String>, bool)> {
    let [Token::Sign('('), rest @ ..] = tokens else {
        return None;
    };
    match rest {
        [Token::Text(Some(text)), Token::Sign(')' | ','), ..] => Some((vec![text.clone()], false)),
        [Token::Sign('[' | '('), rest @ ..] => {
            let mut texts = Vec::new();
            let mut rest = rest;
            loop {
                match rest {
                    [Token::Text(Some(text)), Token::Sign(','), after @ ..] => {
                        texts.push(text.clone());
                        rest = after;
                    }
                    [
                        Token::Text(Some(text)),
                        Token::Sign(']' | ')'),
                        Token::Sign(')' | ','),
                        ..,
                    ] => {
                        texts.push(text.clone());
                        return Some((texts, true));
                    }
                    [Token::Sign(']' | ')'), Token::Sign(')' | ','), ..] if !texts.is_empty() => {
                        return Some((texts, true));
                    }
                    _ => return None,
                }
            }
        }
        _ => None,
    }
}

/// The tokens of the code; `None` when a string is never closed or strings nest too deep.
fn tokens(code: &str, depth: usize) -> Option<Vec<Token<'_>>> {
    if depth > 4 {
        return None;
    }
    let bytes = code.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte == b'#' {
            while at < bytes.len() && bytes[at] != b'\n' {
                at += 1;
            }
        } else if byte == b'_' || byte.is_ascii_alphabetic() || byte >= 0x80 {
            let from = at;
            while at < bytes.len()
                && (bytes[at] == b'_' || bytes[at].is_ascii_alphanumeric() || bytes[at] >= 0x80)
            {
                at += 1;
            }
            let word = &code[from..at];
            // Other scripts' letters count as their plain likenesses.
            if !word.is_ascii() {
                tokens.push(Token::Word("__import__"));
            }
            let prefix = word.len() <= 2 && word.bytes().all(|byte| b"rRbBfFuU".contains(&byte));
            if prefix && matches!(bytes.get(at), Some(b'\'' | b'"')) {
                let lower = word.to_ascii_lowercase();
                at = string(
                    code,
                    at,
                    lower.contains('r'),
                    lower.contains('f'),
                    depth,
                    &mut tokens,
                )?;
            } else {
                tokens.push(Token::Word(word));
            }
        } else if matches!(byte, b'\'' | b'"') {
            at = string(code, at, false, false, depth, &mut tokens)?;
        } else {
            if !byte.is_ascii_whitespace() && byte != b'\\' {
                tokens.push(Token::Sign(char::from(byte)));
            }
            at += 1;
        }
    }
    Some(tokens)
}

/// Reads a string from its opening quote; gives where it ends.
fn string<'c>(
    code: &'c str,
    start: usize,
    raw: bool,
    formats: bool,
    depth: usize,
    into: &mut Vec<Token<'c>>,
) -> Option<usize> {
    let bytes = code.as_bytes();
    let quote = bytes[start];
    let triple = bytes.get(start + 1) == Some(&quote) && bytes.get(start + 2) == Some(&quote);
    let width = if triple { 3 } else { 1 };
    let mut at = start + width;
    let mut escaped = false;
    loop {
        let byte = *bytes.get(at)?;
        if byte == b'\\' {
            escaped = true;
            at += 2;
        } else if byte == b'\n' && !triple {
            return None;
        } else if byte == quote
            && (!triple || bytes.get(at + 1) == Some(&quote) && bytes.get(at + 2) == Some(&quote))
        {
            break;
        } else {
            at += 1;
        }
    }
    let body = &code[start + width..at];
    let value = if escaped && !raw {
        // Only the plainest escapes are taken off.
        let plain = body
            .replace("\\'", "'")
            .replace("\\\"", "\"")
            .replace("\\n", "\n");
        (!plain.contains('\\')).then_some(plain)
    } else {
        Some(body.to_owned())
    };
    if formats && body.contains('{') {
        into.push(Token::Text(None));
        // The text in braces is code; the text around it does no harm as code.
        for part in body.split('{').skip(1) {
            let end = part.find('}').unwrap_or(part.len());
            into.extend(tokens(&part[..end], depth + 1)?);
            into.push(Token::Sign('}'));
        }
    } else {
        into.push(Token::Text(value));
    }
    Some(at + width)
}

#[cfg(test)]
mod tests {
    use super::calls;
    use crate::shell::code::Call;

    #[test]
    fn strings_are_text_and_calls_count() {
        assert_eq!(calls("print('rm -rf /')"), vec![]);
        assert_eq!(
            calls("print('os.system(x)', \"\"\"eval(1)\"\"\") # system('x')"),
            vec![]
        );
        assert_eq!(
            calls("import os; os.system('rm -rf x')"),
            vec![Call::Text("rm -rf x".into())]
        );
        assert_eq!(
            calls("import os; os.system('rm' + x)"),
            vec![Call::Unclear("system".into())]
        );
        assert_eq!(
            calls("import subprocess; subprocess.run(['rm', '-rf', 'x'], check=True)"),
            vec![Call::Words(vec!["rm".into(), "-rf".into(), "x".into()])]
        );
        assert_eq!(calls("f\"{__import__('os').system('x')}\"").len(), 2);
        assert_eq!(
            calls("import re; re.compile('x'); asyncio.run(main())"),
            vec![]
        );
        assert_eq!(
            calls("from os import system as s; s('x')"),
            vec![Call::Unclear("system".into())]
        );
        assert_eq!(calls("exec('x')"), vec![Call::Unclear("exec".into())]);
    }
}
