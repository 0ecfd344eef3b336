//! sed: the `e` command and the `e` flag of `s` run commands, `r` and `w` open files.

use std::collections::HashSet;

use super::lex::Dialect;
use super::options::{self, Spec};
use super::script::{Part, RedirectKind, Word};
use super::shells::is_unclear_input;
use super::walk::{Context, Outcome, Walker};

/// Represents a variable's value from outside the text in a script: some text without signs.
pub(super) const FROM_OUTSIDE: char = '\u{fffc}';

pub(super) fn run(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let stays = Outcome::stays(&walker.directory);
    let spec = Spec {
        flags: "nErsuzab",
        valued: "efl",
        optional: "i",
        long_flags: "quiet silent debug follow-symlinks in-place posix regexp-extended separate sandbox unbuffered \
            null-data zero-terminated binary help version",
        long_valued: "expression file line-length",
    };
    let mut scripts: Vec<Word> = Vec::new();
    let mut operands: Vec<&Word> = Vec::new();
    let mut from_file = false;
    let mut rest = &words[1..];
    let after_options = words
        .iter()
        .rposition(|word| word.literal_prefix().starts_with('-'))
        .map_or(words.len(), |last| words.len() - last - 1);
    // Options may stand between operands.
    loop {
        // Once there is a script, unknown words are taken for file names.
        while scripts.len() + operands.len() > 0
            && let Some((word, after)) = rest.split_first()
            && !word.is_static()
            && word.literal_prefix().is_empty()
        {
            operands.push(word);
            rest = after;
        }
        let (given, used) = match options::parse(rest, &spec) {
            Ok(parsed) => parsed,
            Err(shown) => {
                walker.doubt("options of `sed` that are not understood", &shown);
                return stays;
            }
        };
        let ended = used > 0 && rest[used - 1].as_static() == Some("--");
        for option in given {
            match option.name.as_str() {
                "e" | "expression" => scripts.extend(option.value),
                "f" | "file" => {
                    from_file = true;
                    if let Some(file) = &option.value {
                        walker.note_script(file);
                    }
                    if option.value.as_ref().is_none_or(is_unclear_input) {
                        walker.doubt("a `sed` script that cannot be determined", name);
                    }
                }
                "sandbox" | "help" | "version" => return stays,
                _ => {}
            }
        }
        rest = &rest[used..];
        if ended {
            operands.extend(rest);
            break;
        }
        let Some((operand, after)) = rest.split_first() else {
            break;
        };
        operands.push(operand);
        rest = after;
        // What comes after the script are names of files; those may be anything.
        if scripts.len() + operands.len() > 1 && rest.len() <= after_options {
            break;
        }
    }
    if scripts.is_empty() && !from_file {
        scripts.extend(operands.first().map(|word| (*word).clone()));
    }
    for script in &scripts {
        let mut text = String::new();
        for part in &script.parts {
            match part {
                Part::Text(part) | Part::Glob(part) => text.push_str(part),
                Part::Variable(_) if !script.splits => text.push(FROM_OUTSIDE),
                _ => {
                    walker.doubt("a `sed` script that cannot be determined", &script.shown());
                    return stays;
                }
            }
        }
        if !walker.step(text.len()) {
            return stays;
        }
        let Some(found) = commands(&text) else {
            walker.doubt("a script of `sed` that is not understood", &text);
            continue;
        };
        // Files first: they belong to the command that was listed last.
        for command in &found {
            match command {
                Does::Opens(kind, file) if !file.contains(FROM_OUTSIDE) => {
                    walker.opens_file(*kind, Word::text(file));
                }
                Does::Opens(RedirectKind::Read, file) => {
                    walker.opens_file(RedirectKind::Read, Word::dynamic(file));
                }
                Does::Opens(RedirectKind::Write, _) => walker.doubt(
                    "a sed script writes to a file whose name is known only when it runs",
                    &text,
                ),
                Does::Runs(_) | Does::RunsInput => {}
            }
        }
        let inner = context.inside(name);
        for command in found {
            match command {
                Does::Runs(text) if !text.contains(FROM_OUTSIDE) => {
                    walker.child_text(&text, Dialect::Sh, &inner);
                }
                Does::Runs(_) => {
                    walker.doubt("`sed` runs something that cannot be determined", &text);
                }
                Does::RunsInput => walker.doubt("`sed` runs its input as commands", &text),
                Does::Opens(..) => {}
            }
        }
    }
    stays
}

/// Something that a script does besides editing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Does {
    Runs(String),
    /// Runs the lines it reads.
    RunsInput,
    Opens(RedirectKind, String),
}

/// Whether a delimiter between brackets ends a pattern. Programs called sed differ in that.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Brackets {
    Hold,
    Ignored,
}

/// What a script does; `None` when it is not understood.
fn commands(script: &str) -> Option<Vec<Does>> {
    let mut found = read(script, Brackets::Hold)?;
    // A reading that is not a script is none that runs.
    found.extend(read(script, Brackets::Ignored).unwrap_or_default());
    let mut seen = HashSet::new();
    found.retain(|does| seen.insert(does.clone()));
    Some(found)
}

fn read(script: &str, brackets: Brackets) -> Option<Vec<Does>> {
    let mut found = Vec::new();
    let mut rest = script.trim_start_matches([' ', '\t', '\n', ';']);
    // `#n` and comments end with their line.
    while !rest.is_empty() {
        rest = addresses(rest, brackets)?;
        let command = rest.chars().next()?;
        rest = &rest[command.len_utf8()..];
        let line_end = || rest.find('\n').unwrap_or(rest.len());
        match command {
            '{' => {}
            '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z'
            | 'F' => {
                rest = rest.trim_start_matches([' ', '\t']);
                if !(rest.is_empty() || rest.starts_with([';', '\n', '}', '#'])) {
                    return None;
                }
            }
            'q' | 'Q' | 'l' | 'L' => {
                rest = rest
                    .trim_start_matches([' ', '\t'])
                    .trim_start_matches(|c: char| c.is_ascii_digit());
                rest = rest.trim_start_matches([' ', '\t']);
                if !(rest.is_empty() || rest.starts_with([';', '\n', '}', '#'])) {
                    return None;
                }
            }
            '#' => rest = &rest[line_end()..],
            // Texts and names of files go to the end of the line; a text goes on after a backslash.
            'r' | 'R' | 'w' | 'W' => {
                let kind = match command {
                    'r' | 'R' => RedirectKind::Read,
                    _ => RedirectKind::Write,
                };
                let line_end = line_end();
                found.push(Does::Opens(kind, rest[..line_end].trim().to_owned()));
                rest = &rest[line_end..];
            }
            'a' | 'i' | 'c' => {
                let mut end = line_end();
                while rest[..end].ends_with('\\') && end < rest.len() {
                    end = rest[end + 1..]
                        .find('\n')
                        .map_or(rest.len(), |next| end + 1 + next);
                }
                rest = &rest[end..];
            }
            'b' | 't' | 'T' | ':' | 'v' => {
                let end = rest.find(['\n', ';', '}']).unwrap_or(rest.len());
                rest = &rest[end..];
            }
            'e' => {
                let line_end = line_end();
                let text = rest[..line_end].trim();
                found.push(if text.is_empty() {
                    Does::RunsInput
                } else {
                    Does::Runs(text.to_owned())
                });
                rest = &rest[line_end..];
            }
            's' | 'y' => {
                let delimiter = rest.chars().next().filter(|c| !matches!(c, '\n' | '\\'))?;
                let pattern = match command {
                    's' => brackets,
                    _ => Brackets::Ignored,
                };
                rest = delimited(&rest[delimiter.len_utf8()..], delimiter, pattern)?;
                rest = delimited(rest, delimiter, Brackets::Ignored)?;
                if command == 's' {
                    let end = rest
                        .find(|c: char| {
                            !(c.is_ascii_digit()
                                || matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M' | 'e'))
                        })
                        .unwrap_or(rest.len());
                    if rest[..end].contains('e') {
                        found.push(Does::RunsInput);
                    }
                    rest = &rest[end..];
                    if let Some(file) = rest.strip_prefix('w') {
                        let end = file.find('\n').unwrap_or(file.len());
                        let name = file[..end].trim().to_owned();
                        found.push(Does::Opens(RedirectKind::Write, name));
                        rest = &file[end..];
                    }
                }
                rest = rest.trim_start_matches([' ', '\t']);
                if !(rest.is_empty() || rest.starts_with([';', '\n', '}', '#'])) {
                    return None;
                }
            }
            _ => return None,
        }
        rest = rest.trim_start_matches([' ', '\t', '\n', ';']);
    }
    Some(found)
}

/// Skips up to and including an unescaped delimiter.
fn delimited(text: &str, delimiter: char, brackets: Brackets) -> Option<&str> {
    let mut chars = text.char_indices().peekable();
    let mut in_brackets = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if !in_brackets => {
                chars.next();
            }
            c if c == delimiter && !in_brackets => return Some(&text[at + c.len_utf8()..]),
            '[' if brackets == Brackets::Hold && !in_brackets => {
                in_brackets = true;
                if chars.peek().is_some_and(|(_, c)| *c == '^') {
                    chars.next();
                }
                if chars.peek().is_some_and(|(_, c)| *c == ']') {
                    chars.next();
                }
            }
            '[' if in_brackets && matches!(chars.peek(), Some((_, ':' | '.' | '='))) => {
                // `[[:alpha:]]`
                let (_, kind) = chars.next()?;
                let mut last = ' ';
                for (_, c) in chars.by_ref() {
                    if last == kind && c == ']' {
                        break;
                    }
                    last = c;
                }
            }
            ']' => in_brackets = false,
            _ => {}
        }
    }
    None
}

/// Skips the addresses before a command.
fn addresses(mut text: &str, brackets: Brackets) -> Option<&str> {
    loop {
        text = text.trim_start_matches([' ', '\t']);
        let first = text.chars().next()?;
        match first {
            '0'..='9' | '$' | '~' | '+' | ',' | '!' => text = &text[1..],
            '/' => text = delimited(&text[1..], '/', brackets)?.trim_start_matches(['I', 'M']),
            '\\' => {
                let delimiter = text[1..].chars().next()?;
                text = delimited(&text[1 + delimiter.len_utf8()..], delimiter, brackets)?
                    .trim_start_matches(['I', 'M']);
            }
            _ => return Some(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Does, RedirectKind, commands};

    #[test]
    fn only_what_runs_is_found() {
        for harmless in [
            "s/a/b/g",
            "s|/x|/y|;p",
            "/foo/d",
            "1,5p",
            "$!N;s/\\n/ /",
            "s/[/]/x/",
            "/^#/!s/e/e/",
            "a e rm",
            "y/abc/def/",
            "/x/{s/a/b/;p}",
            ":a;N;$!ba",
            "s/[^/]*$//",
            "/[/]/d",
        ] {
            assert_eq!(commands(harmless), Some(vec![]), "{harmless}");
        }
        assert_eq!(
            commands("1e rm -rf x"),
            Some(vec![Does::Runs("rm -rf x".into())])
        );
        assert_eq!(commands("s/a/b/ge"), Some(vec![Does::RunsInput]));
        assert_eq!(commands("/x/e"), Some(vec![Does::RunsInput]));
        assert_eq!(commands("p;e"), Some(vec![Does::RunsInput]));
        assert_eq!(commands("{p\ne ls\n}"), Some(vec![Does::Runs("ls".into())]));
        // An older sed ends the pattern at the slash between the brackets.
        assert_eq!(commands("s/[/x/e;s/]/y/"), Some(vec![Does::RunsInput]));
        assert_eq!(
            commands("s/a[/]b/c/;1e ls"),
            Some(vec![Does::Runs("ls".into())])
        );
    }

    #[test]
    fn files_that_scripts_open_are_found() {
        let opens = |kind, file: &str| Some(vec![Does::Opens(kind, file.to_owned())]);
        assert_eq!(commands("w out"), opens(RedirectKind::Write, "out"));
        assert_eq!(commands("/x/w out"), opens(RedirectKind::Write, "out"));
        assert_eq!(commands("s/a/b/w out"), opens(RedirectKind::Write, "out"));
        assert_eq!(commands("s/a/b/gpw out"), opens(RedirectKind::Write, "out"));
        assert_eq!(commands("$r in"), opens(RedirectKind::Read, "in"));
    }
}
