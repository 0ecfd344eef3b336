//! Calls in code that start programs, for languages whose strings are not easily told from their code: every mention of a
//! risky word counts, wherever it is.

use super::code::{Call, Language};
use super::programs::{Fact, Program};

/// What code in the language of an interpreter starts.
pub(super) fn calls(program: &Program, language: Language, code: &str) -> Vec<Call> {
    let mut found = Vec::new();
    // Without the module there is nothing to call; `/re/.exec(text)` is everywhere.
    let starts_at_all = language != Language::Node || code.contains("child_process");
    let has_bar = code.contains('|');
    let has_dash = code.contains("-\"");
    let last_shell = code.rfind("shell").map_or(usize::MAX, |at| code.len() - at);
    let mut from = 0;
    for (at, word) in identifiers(code) {
        if at < from {
            continue;
        }
        let rest = &code[at + word.len()..];
        let sigil = at > 0
            && matches!(code.as_bytes()[at - 1], b'$' | b'@' | b'%')
            && matches!(language, Language::Perl | Language::Php);
        if sigil {
            continue;
        }
        if starts_at_all && program.lists(Fact::Starts, word) {
            match arguments(language, rest, last_shell) {
                Some((mut texts, used)) => {
                    from = at + word.len() + used;
                    let list = matches!(
                        word,
                        "spawn" | "spawnSync" | "execFile" | "execFileSync" | "fork"
                    ) && language == Language::Node;
                    found.push(if texts.len() == 1 && !list {
                        Call::Text(texts.remove(0))
                    } else {
                        Call::Words(texts)
                    });
                }
                None => found.push(Call::Unclear(word.to_owned())),
            }
        } else if program.lists(Fact::Evals, word) {
            let harmless = match (language, word) {
                // `do { … }`, `library(dplyr)`
                (Language::Perl, "do") => rest.trim_start().starts_with('{'),
                (Language::Perl, "require") => rest
                    .trim_start()
                    .starts_with(|c: char| c.is_ascii_uppercase()),
                (Language::Perl, "open") => !has_bar && !has_dash,
                (Language::Ruby, "open" | "readlines" | "IO") => !has_bar,
                (Language::R, "do" | "match" | "get" | "library" | "parse" | "source" | "sys") => {
                    !rest.starts_with('(')
                }
                _ => false,
            };
            if !harmless {
                found.push(Call::Unclear(word.to_owned()));
            }
        }
    }
    let odd = program.words(Fact::Odd).filter(|sign| code.contains(*sign));
    found.extend(odd.map(|sign| Call::Unclear(sign.to_owned())));
    if language == Language::Node {
        for (at, _) in code.match_indices("require") {
            let rest = code[at + "require".len()..].trim_start();
            let literal = rest
                .strip_prefix('(')
                .and_then(|inner| literal(language, inner.trim_start()))
                .is_some_and(|(_, used)| {
                    let inner = rest[1..].trim_start();
                    inner[used..].trim_start().starts_with(')')
                });
            if !literal {
                found.push(Call::Unclear("require".to_owned()));
            }
        }
    }
    if language == Language::Php && calls_variable(code) {
        found.push(Call::Unclear("$name(…)".to_owned()));
    }
    if matches!(language, Language::Perl | Language::Ruby | Language::Php) {
        let pieces: Vec<&str> = code.split('`').collect();
        for text in pieces.iter().skip(1).step_by(2) {
            let fixed = pieces.len() % 2 == 1 && !text.contains(['$', '@', '\\', '#', '{']);
            found.push(if fixed {
                Call::Text((*text).to_owned())
            } else {
                Call::Unclear("`…`".to_owned())
            });
        }
    }
    found
}

/// `$f(…)`
fn calls_variable(code: &str) -> bool {
    code.match_indices('$').any(|(at, _)| {
        let rest =
            code[at + 1..].trim_start_matches(|c: char| c == '_' || c.is_ascii_alphanumeric());
        rest.len() < code.len() - at - 1 && rest.trim_start().starts_with('(')
    })
}

fn identifiers(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let bytes = code.as_bytes();
    std::iter::from_fn(move || {
        while at < bytes.len() && !(bytes[at] == b'_' || bytes[at].is_ascii_alphabetic()) {
            at += 1;
        }
        let from = at;
        while at < bytes.len() && (bytes[at] == b'_' || bytes[at].is_ascii_alphanumeric()) {
            at += 1;
        }
        (from < at).then(|| (from, &code[from..at]))
    })
}

/// The fixed texts that a call is given, and how many bytes they take. `None` when one of them is not fixed. The last `shell` in the
/// code is so many bytes before its end.
fn arguments(language: Language, code: &str, last_shell: usize) -> Option<(Vec<String>, usize)> {
    let mut rest = code.trim_start_matches([' ', '\t']);
    let parenthesis = rest.starts_with('(');
    if parenthesis {
        rest = &rest[1..];
    } else if language != Language::Perl && language != Language::Ruby {
        return None;
    }
    let mut texts = Vec::new();
    let mut open = 0;
    loop {
        rest = rest.trim_start();
        if let Some(inner) = rest.strip_prefix('[') {
            open += 1;
            rest = inner;
            continue;
        }
        if texts.len() > 64 {
            return None;
        }
        if rest.starts_with(']') && open > 0 {
            open -= 1;
            rest = rest[1..].trim_start();
        } else {
            let (text, used) = match literal(language, rest) {
                Some(literal) => literal,
                // Options after the words.
                None if !texts.is_empty()
                    && language == Language::Node
                    && rest.starts_with('{')
                    && rest.len() < last_shell =>
                {
                    return Some((texts, code.len() - rest.len()));
                }
                None => return None,
            };
            texts.push(text);
            rest = rest[used..].trim_start();
        }
        while open > 0 && rest.starts_with(']') {
            open -= 1;
            rest = rest[1..].trim_start();
        }
        match rest.chars().next() {
            Some(',') => rest = &rest[1..],
            Some(')') if parenthesis && open == 0 => {
                return Some((texts, code.len() - rest.len() + 1));
            }
            None | Some(';' | '}' | '\n') if !parenthesis && open == 0 => {
                return Some((texts, code.len() - rest.len()));
            }
            _ => return None,
        }
    }
}

/// A fixed text in quotes, and how many bytes it takes.
fn literal(language: Language, code: &str) -> Option<(String, usize)> {
    let quote = code.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let end = code[1..].find(quote)? + 1;
    let text = &code[1..end];
    let interpolates = quote == '"'
        && matches!(language, Language::Perl | Language::Php | Language::Ruby)
        && text.contains(['$', '@', '#']);
    (!text.contains('\\') && !interpolates).then(|| (text.to_owned(), end + 1))
}

#[cfg(test)]
mod tests {
    use crate::shell::code::{Call, Language};
    use crate::shell::programs;

    fn calls(name: &str, code: &str) -> Vec<Call> {
        let program = programs::find(name).unwrap();
        super::calls(program, Language::of(program).unwrap(), code)
    }

    #[test]
    fn fixed_texts_are_read_and_others_are_unclear() {
        assert_eq!(
            calls("perl", "system(\"rm -rf x\")"),
            vec![Call::Text("rm -rf x".into())]
        );
        assert_eq!(
            calls("perl", "system 'rm', '-rf', 'x';"),
            vec![Call::Words(vec!["rm".into(), "-rf".into(), "x".into()])]
        );
        assert_eq!(calls("perl", "s/foo/bar/g; print $exec"), vec![]);
        assert_eq!(
            calls("perl", "system($x)"),
            vec![Call::Unclear("system".into())]
        );
        assert_eq!(calls("node", "console.log(/a/.exec('b'))"), vec![]);
        assert_eq!(
            calls("node", "require('child_process').execSync('rm -rf x')"),
            vec![Call::Text("rm -rf x".into())]
        );
        assert_eq!(
            calls("node", "require('child_process').spawn('rm', ['-rf', 'x'])"),
            vec![Call::Words(vec!["rm".into(), "-rf".into(), "x".into()])]
        );
        assert_eq!(
            calls("node", "require('child_'+'process')"),
            vec![Call::Unclear("require".into())]
        );
        assert_eq!(calls("ruby", "puts `ls`"), vec![Call::Text("ls".into())]);
        assert_eq!(
            calls("php", "echo shell_exec('rm x');"),
            vec![Call::Text("rm x".into())]
        );
        assert_eq!(calls("php", "$f='system'; $f('rm');").len(), 2);
    }
}
