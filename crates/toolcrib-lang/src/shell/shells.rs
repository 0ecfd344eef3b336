//! Shells: texts given with `-c`, on their input, or in files.

use super::lex::Dialect;
use super::programs::{self, Fact};
use super::script::{Part, Word};
use super::walk::{Context, Input, Outcome, Walker};

pub(crate) fn is_shell(name: &str) -> bool {
    programs::is(name, Fact::Reader, "shell")
}

/// The dialect of a shell's texts.
pub(super) fn dialect(shell: &str) -> Dialect {
    match shell {
        "bash" | "rbash" => Dialect::Bash,
        _ => Dialect::Sh,
    }
}

pub(super) fn run(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let stays = Outcome::stays(&walker.directory);
    let inner = context.inside(name);
    let mut at = 1;
    let mut text_follows = false;
    let mut reads_input = false;
    while let Some(word) = words.get(at) {
        let Some(option) = word.as_static() else {
            // The last word may be a script's name whatever it is; with words after it, it may be `-c`.
            let script = !text_follows
                && !word.splits
                && !is_unclear_file(word)
                && (at + 1 == words.len()
                    || !word.literal_prefix().is_empty()
                    || !word.is_dynamic());
            if text_follows && !word.splits {
                break;
            }
            if !script {
                walker.doubt(
                    format!("it cannot be determined what `{name}` runs"),
                    &word.shown(),
                );
            }
            if text_follows {
                break;
            }
            walker.note_script(word);
            return stays;
        };
        if option == "--" || option == "-" {
            at += 1;
            break;
        }
        if let Some(long) = option.strip_prefix("--") {
            at += 1;
            match long {
                "norc" | "noprofile" | "posix" | "login" | "verbose" | "noediting"
                | "restricted" | "no-rcs" | "dump-strings" | "dump-po-strings" => {}
                "help" | "version" => return stays,
                "command" => text_follows = true,
                _ => walker.doubt(format!("an option of `{name}` that is not known"), option),
            }
            continue;
        }
        if !option.starts_with(['-', '+']) || option.len() < 2 {
            break;
        }
        at += 1;
        for letter in option[1..].chars() {
            match letter {
                'c' if option.starts_with('-') => text_follows = true,
                's' => reads_input = true,
                'o' | 'O' => {
                    let value = words.get(at).and_then(Word::as_static);
                    at += 1;
                    let harmless = matches!(
                        value,
                        Some(
                            "errexit"
                                | "nounset"
                                | "pipefail"
                                | "xtrace"
                                | "verbose"
                                | "noglob"
                                | "noclobber"
                                | "globstar"
                                | "nullglob"
                                | "dotglob"
                                | "inherit_errexit"
                        )
                    );
                    if !harmless {
                        walker.doubt(
                            "an option of the shell that changes how the text is read",
                            value.unwrap_or(option),
                        );
                    }
                }
                'e' | 'u' | 'x' | 'v' | 'f' | 'l' | 'a' | 'n' | 'h' | 'm' | 'b' | 'C' | 'E'
                | 'T' | 'B' => {}
                // Interactive shells read more files and expand aliases.
                _ => walker.doubt(format!("an option of `{name}` that is not known"), option),
            }
        }
    }
    if text_follows {
        match words.get(at) {
            Some(text) => {
                walker.note_list("@", words.get(at + 2..).unwrap_or_default().to_vec());
                if !matches!(name, "sh" | "bash" | "dash" | "ash" | "rbash") {
                    other_shell(walker, name, text);
                }
                read_word(
                    walker,
                    text,
                    dialect(name),
                    &inner,
                    &format!("`{name} -c` runs a text that cannot be determined"),
                );
            }
            None => walker.doubt(format!("`{name} -c` without a text"), name),
        }
        return stays;
    }
    if reads_input {
        walker.note_list("@", words.get(at..).unwrap_or_default().to_vec());
    }
    match words.get(at) {
        Some(file) if !reads_input => {
            walker.note_script(file);
            if is_unclear_file(file) {
                walker.doubt(
                    format!("`{name}` runs commands from something that cannot be determined"),
                    &file.shown(),
                );
                // What it may be is its input, as `/dev/stdin`.
                if let Input::Text(text) = walker.input(context) {
                    let reason = format!("`{name}` may run its input, which cannot be determined");
                    read_word(walker, &text, dialect(name), &inner, &reason);
                }
            }
        }
        _ => match walker.input(context) {
            Input::Text(text) => {
                read_word(
                    walker,
                    &text,
                    dialect(name),
                    &inner,
                    &format!("`{name}` runs its input, which cannot be determined"),
                );
            }
            Input::Start | Input::Piped | Input::File | Input::Unknown | Input::Given(_) => {
                walker.doubt(
                    format!("`{name}` runs its input, which cannot be determined"),
                    name,
                );
            }
        },
    }
    stays
}

/// Whether a script's name is something other than a file that lies there.
pub(super) fn is_unclear_file(file: &Word) -> bool {
    let substitution = file.parts.iter().any(|part| matches!(part, Part::Dynamic(source) if source.starts_with("<(") || source.starts_with(">(") || source.starts_with("$(") || source.starts_with('`')));
    substitution || may_be_stream(file) || file.splits && file.is_dynamic()
}

/// Whether a path may lead to what is piped in: `/dev/stdin`, `//dev/fd/0`, `../../dev/stdin`, `stdin` after `cd /dev`.
fn may_be_stream(file: &Word) -> bool {
    let shown = file.shown();
    let absolute = file.literal_prefix().starts_with('/');
    let mut names: Vec<&str> = Vec::new();
    let mut climbs = false;
    for name in shown.split('/') {
        match name {
            "" | "." => {}
            ".." if names.pop().is_some() => {}
            ".." => climbs |= !absolute,
            name => names.push(name),
        }
    }
    let is_number = |name: &&str| name.bytes().all(|byte| byte.is_ascii_digit());
    let pattern = file
        .parts
        .iter()
        .any(|part| matches!(part, Part::Glob(pattern) if pattern.contains('/') || absolute));
    let first = names.first().copied().unwrap_or_default();
    pattern
        || absolute && matches!(first, "dev" | "proc")
        || climbs && names.iter().any(|name| matches!(*name, "dev" | "proc"))
        || names.iter().any(|name| matches!(*name, "stdin" | "fd"))
        || names.last().is_some_and(is_number)
}

/// Like [`is_unclear_file`], but for a program that reads its input when the file is `-`.
pub(super) fn is_unclear_input(file: &Word) -> bool {
    file.as_static() == Some("-") || is_unclear_file(file)
}

/// Doubts texts for shells whose grammar differs, unless they are very plain.
fn other_shell(walker: &mut Walker, name: &str, text: &Word) {
    let plain = text.as_static().is_some_and(|text| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b" ./_-+,:@%'\";&|\n".contains(&byte))
    });
    if !plain {
        walker.doubt(
            format!("a text for `{name}`, whose grammar is another"),
            &text.shown(),
        );
    }
}

/// Reads a word as a text for its own shell.
pub(super) fn read_word(
    walker: &mut Walker,
    word: &Word,
    dialect: Dialect,
    context: &Context<'_>,
    reason: &str,
) {
    match word.as_static() {
        Some(text) => walker.child_text(text, dialect, context),
        None => read_unclear(walker, std::slice::from_ref(word), dialect, context, reason),
    }
}

/// Reads a text of which only parts are known: a doubt, but what can be seen is listed.
pub(super) fn read_unclear(
    walker: &mut Walker,
    words: &[Word],
    dialect: Dialect,
    context: &Context<'_>,
    reason: &str,
) {
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        for part in &word.parts {
            match part {
                Part::Text(part) | Part::Glob(part) => text.push_str(part),
                Part::Variable(name) => {
                    text.push_str("${");
                    text.push_str(name);
                    text.push('}');
                }
                Part::Dynamic(_) => text.push_str("$_"),
            }
        }
    }
    walker.doubt(reason, &text);
    walker.child_text(&text, dialect, context);
}
