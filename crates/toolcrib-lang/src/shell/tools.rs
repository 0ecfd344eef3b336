//! Programs that run others in a way that the table of programs cannot say: `find -exec`, `fd -x`, `tar --checkpoint-action`.

use super::options::long_option;
use super::running_options::{self, read};
use super::script::{Directory, Word};
use super::shells;
use super::simple::weight;
use super::walk::{Context, Outcome, Walker};
use super::wrappers::replaced;

pub(super) fn stays(walker: &Walker) -> Outcome {
    Outcome::stays(&walker.directory)
}

pub(super) fn find_files(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let inner = context.inside(name);
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        match word.as_static() {
            Some(action @ ("-exec" | "-execdir" | "-ok" | "-okdir")) => {
                let start = at;
                let mut end = None;
                for (index, word) in words.iter().enumerate().skip(start) {
                    let batch = word.as_static() == Some("+")
                        && index > start
                        && words[index - 1].as_static() == Some("{}");
                    if word.as_static() == Some(";") || batch {
                        end = Some(index);
                        break;
                    }
                }
                if end.is_none() {
                    walker.doubt("`find -exec` whose end is not found", &word.shown());
                }
                let end = end.unwrap_or(words.len());
                let command: Vec<Word> = words[start..end]
                    .iter()
                    .map(|word| replaced(word, "{}"))
                    .collect();
                let directory = if matches!(action, "-execdir" | "-okdir") {
                    Directory::Unknown
                } else {
                    walker.directory.clone()
                };
                walker.in_directory(directory, |walker| walker.run_words(command, &inner));
                at = end + 1;
            }
            Some(_) => {}
            None => {
                if word.adds_words() {
                    walker.doubt("words of `find` that may hold `-exec`", &word.shown());
                }
            }
        }
    }
    stays(walker)
}

pub(super) fn fd(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let inner = context.inside(name);
    for (index, word) in words.iter().enumerate().skip(1) {
        let start = word.literal_prefix();
        let short =
            start.starts_with('-') && !start.starts_with("--") && start.contains(['x', 'X']);
        let attached = long_option(word, "exec", 4).or_else(|| long_option(word, "exec-batch", 5));
        if !short && attached.is_none() {
            if word.adds_words() {
                walker.doubt("words of `fd` that may hold `-x`", &word.shown());
            }
            continue;
        }
        // Each `-x` takes the rest of the words.
        if !walker.copy(weight(&words[index..])) {
            break;
        }
        let mut command: Vec<Word> = Vec::new();
        if let Some(Some(first)) = attached {
            command.push(first);
        }
        if short && !start.ends_with(['x', 'X']) {
            walker.doubt("an option of `fd` that may run a program", start);
        }
        let rest = words[index + 1..]
            .iter()
            .take_while(|word| word.as_static() != Some(";"));
        for word in rest {
            let mut word = word.clone();
            for marker in ["{}", "{/}", "{//}", "{.}", "{/.}"] {
                word = replaced(&word, marker);
            }
            command.push(word);
        }
        command.push(Word::dynamic("{}"));
        walker.run_words(command, &inner);
    }
    stays(walker)
}

pub(super) fn tar(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let outcome = running_options::run(walker, name, words, context);
    let inner = context.inside(name);
    for (index, word) in words.iter().enumerate().skip(1) {
        let next = || words.get(index + 1).cloned();
        let start = word.literal_prefix();
        if let Some(attached) = long_option(word, "checkpoint-action", 11) {
            match attached.or_else(next) {
                Some(action) => {
                    let text = action.after("exec=").or_else(|| action.after("exec"));
                    match text {
                        Some(text) => read(walker, &text, &inner, name),
                        None if action.is_static() || !action.literal_prefix().is_empty() => {}
                        None => {
                            walker.doubt("an option of `tar` that runs a program", &action.shown());
                        }
                    }
                }
                None => walker.doubt("an option of `tar` that runs a program", start),
            }
        }
        let old = index == 1 && !start.starts_with('-');
        if old && start.contains(['I', 'F']) && start.bytes().all(|byte| byte.is_ascii_alphabetic())
        {
            walker.doubt("an option of `tar` that runs a program", start);
        }
    }
    outcome
}

/// A link to what is piped in would make a script of it.
pub(super) fn link(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    _context: &Context<'_>,
) -> Outcome {
    for word in &words[1..] {
        if word.literal_prefix().starts_with(['/', '.']) && shells::is_unclear_file(word) {
            walker.doubt(
                format!("`{name}` gives another name to something that cannot be determined"),
                &word.shown(),
            );
        }
    }
    stays(walker)
}

/// `ip netns exec x ls`
pub(super) fn ip(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    if let Some(at) = words
        .iter()
        .position(|word| word.as_static() == Some("exec"))
    {
        let rest = words.get(at + 2..).unwrap_or_default().to_vec();
        walker.run_words(rest, &context.inside(name));
    }
    stays(walker)
}
