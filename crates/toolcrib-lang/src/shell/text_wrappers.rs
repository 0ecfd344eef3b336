//! Programs that hand a text to a shell, here or elsewhere, after their own options.

use super::lex::Dialect;
use super::options::{self, Spec};
use super::programs::{self, Fact};
use super::script::{Directory, Word};
use super::walk::{Context, Input, Outcome, Walker};
use super::wrappers::{not_understood, parse, stays, value};
use super::{builtins, running_options, shells};

pub(super) fn flock(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let parsed = programs::find(name).and_then(|program| parse(walker, program, name, words));
    let Some((_, rest)) = parsed else {
        return stays(walker);
    };
    // The first is the file.
    let rest = rest.get(1..).unwrap_or_default();
    let inner = context.inside(name);
    match rest.first().map(|word| word.as_static()) {
        Some(Some("-c" | "--command")) => match rest.get(1) {
            Some(text) => shells::read_word(
                walker,
                text,
                Dialect::Sh,
                &inner,
                "`flock -c` runs a text that cannot be determined",
            ),
            None => return not_understood(walker, name, "-c"),
        },
        Some(Some(option)) if option.starts_with('-') => {
            return not_understood(walker, name, option);
        }
        _ => walker.run_words(rest.to_vec(), &inner),
    }
    stays(walker)
}

pub(super) fn watch(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let parsed = programs::find(name).and_then(|program| parse(walker, program, name, words));
    let Some((given, rest)) = parsed else {
        return stays(walker);
    };
    let inner = context.inside(name);
    if given
        .iter()
        .any(|option| matches!(option.name.as_str(), "x" | "exec"))
    {
        walker.run_words(rest.to_vec(), &inner);
    } else if !rest.is_empty() {
        read_joined(
            walker,
            rest,
            &inner,
            "`watch` runs a text that cannot be determined",
        );
    }
    stays(walker)
}

/// Reads words that a program joins to a text for a shell.
pub(super) fn read_joined(walker: &mut Walker, words: &[Word], inner: &Context<'_>, reason: &str) {
    match builtins::joined(words) {
        Some(text) => walker.child_text(&text, Dialect::Sh, inner),
        None => shells::read_unclear(walker, words, Dialect::Sh, inner, reason),
    }
}

pub(super) fn ssh(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let Some(program) = programs::find(name) else {
        return stays(walker);
    };
    let spec = Spec::of(program);
    let mut words = &words[1..];
    let mut host = false;
    let inner = context.inside(name);
    loop {
        let (given, used) = match options::parse(words, &spec) {
            Ok(parsed) => parsed,
            Err(shown) => return not_understood(walker, name, &shown),
        };
        for option in &given {
            let Some(value) = option
                .value
                .as_ref()
                .filter(|_| matches!(option.name.as_str(), "o" | "F"))
            else {
                continue;
            };
            let lower = value.shown().to_ascii_lowercase();
            if option.name == "F" && shells::is_unclear_file(value)
                || option.name == "o"
                    && (!value.is_static() && value.literal_prefix().is_empty()
                        || program
                            .words(Fact::Settings)
                            .any(|key| lower.trim_start().starts_with(key)))
            {
                walker.doubt(
                    "an option of `ssh` that runs a program here",
                    &value.shown(),
                );
            }
        }
        words = &words[used..];
        if host || words.is_empty() {
            break;
        }
        // Options may stand after the host, too.
        host = true;
        words = &words[1..];
        if !words
            .first()
            .is_some_and(|word| word.literal_prefix().starts_with('-'))
        {
            break;
        }
    }
    if words.is_empty() && host && !matches!(walker.input(context), Input::Start) {
        walker.doubt(
            "`ssh` without a command runs its input there, which is not known",
            name,
        );
    }
    if !words.is_empty() {
        walker.in_directory(Directory::Unknown, |walker| {
            read_joined(
                walker,
                words,
                &inner,
                "`ssh` runs a text that cannot be determined",
            );
        });
    }
    stays(walker)
}

pub(super) fn su(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let inner = context.inside(name);
    let mut found = false;
    for (index, word) in words.iter().enumerate().skip(1) {
        let start = word.literal_prefix();
        let attached = options::long_option(word, "command", 1)
            .or_else(|| options::long_option(word, "session-command", 2));
        let text = match attached {
            Some(Some(text)) => Some(text),
            Some(None) => words.get(index + 1).cloned(),
            None if start.starts_with('-') && !start.starts_with("--") && start.ends_with('c') => {
                words.get(index + 1).cloned()
            }
            None if start.starts_with("-c") => word.after("-c"),
            None => None,
        };
        if let Some(text) = text {
            found = true;
            walker.in_directory(Directory::Unknown, |walker| {
                shells::read_word(
                    walker,
                    &text,
                    Dialect::Sh,
                    &inner,
                    "`su -c` runs a text that cannot be determined",
                );
            });
        }
    }
    if !found {
        walker.doubt("`su` starts a shell", name);
    }
    stays(walker)
}

pub(super) fn script(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let inner = context.inside(name);
    let parsed = programs::find(name).and_then(|program| parse(walker, program, name, words));
    let Some((given, mut rest)) = parsed else {
        return stays(walker);
    };
    let mut texts: Vec<Word> = value(&given, &["c", "command"])
        .cloned()
        .into_iter()
        .collect();
    // `script -q out -c 'text'`
    if let [_, option, text, ..] = rest
        && option.literal_prefix().starts_with('-')
        && option.literal_prefix().ends_with('c')
    {
        texts.push(text.clone());
        rest = &[];
    }
    if texts.is_empty()
        && !given
            .iter()
            .any(|option| matches!(option.name.as_str(), "help" | "version" | "V" | "h"))
    {
        if rest.len() < 2 {
            walker.doubt("`script` starts a shell", name);
        } else {
            walker.doubt("words of `script` that are a command on some systems", name);
            walker.run_words(
                rest[1..]
                    .iter()
                    .filter(|word| word.as_static() != Some("--"))
                    .cloned()
                    .collect(),
                &inner,
            );
        }
    }
    for text in texts {
        shells::read_word(
            walker,
            &text,
            Dialect::Sh,
            &inner,
            "`script -c` runs a text that cannot be determined",
        );
    }
    stays(walker)
}

/// `npm exec`, and settings that name a program. What else it runs is in the project's files.
pub(super) fn npm(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let names_program = |text: &str| {
        let key = text.split('=').next().unwrap_or(text);
        programs::find(name).is_some_and(|program| program.lists(Fact::Settings, key))
    };
    let mut verb = None;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let start = word.literal_prefix();
        if let Some(option) = start.strip_prefix("--")
            && names_program(option)
        {
            walker.doubt("a setting of `npm` that names a program", &word.shown());
        }
        at += match start {
            "--prefix" | "-C" | "-w" | "--workspace" | "--loglevel" | "--cache" => 2,
            _ => 1,
        };
        if !start.starts_with('-') && verb.is_none() {
            verb = Some(at);
        }
    }
    let Some(after) = verb else {
        return stays(walker);
    };
    match words[after - 1].as_static() {
        Some("exec" | "x") => run_command(walker, name, &words[after..], context),
        Some("config" | "c" | "set") => {
            let setting = words[after..]
                .iter()
                .find(|word| names_program(word.literal_prefix()));
            if let Some(setting) = setting {
                walker.doubt("a setting of `npm` that names a program", &setting.shown());
            }
        }
        _ => {}
    }
    stays(walker)
}

/// Programs that run a command in a project's environment: `uv run pytest`. What could be the command is listed.
pub(super) fn run_in_project(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let Some(program) = programs::find(name) else {
        return stays(walker);
    };
    let mut rest = &words[1..];
    if program.has(Fact::Verbs) {
        let is_verb = |word: &Word| {
            let text = word.as_static();
            text.is_some_and(|text| program.lists(Fact::Verbs, text))
        };
        let Some(at) = words.iter().position(is_verb) else {
            return stays(walker);
        };
        rest = &words[at + 1..];
    }
    run_command(walker, name, rest, context);
    stays(walker)
}

/// Lists what could be the command among the words after the verb.
fn run_command(walker: &mut Walker, name: &str, rest: &[Word], context: &Context<'_>) {
    let inner = context.inside(name);
    for (index, word) in rest.iter().enumerate() {
        let start = word.literal_prefix();
        let attached = ["--call=", "--run=", "--command="]
            .iter()
            .find_map(|option| word.after(option));
        let text = match start {
            "-c" | "--call" | "--run" | "--command" => rest.get(index + 1).cloned(),
            _ => attached,
        };
        if let Some(text) = text {
            if name == "nix" && matches!(start, "-c" | "--command") {
                walker.run_words(rest[index + 1..].to_vec(), &inner);
            } else {
                shells::read_word(
                    walker,
                    &text,
                    Dialect::Sh,
                    &inner,
                    "it runs a text that cannot be determined",
                );
            }
            return;
        }
    }
    // `bun exec` takes a text, `pnpm --shell-mode exec` too.
    if let [text] = rest
        && text.literal_prefix().contains(' ')
    {
        shells::read_word(
            walker,
            text,
            Dialect::Sh,
            &inner,
            "it runs a text that cannot be determined",
        );
        return;
    }
    // The first word is a version, a place or a profile.
    let first_is_other = programs::is(name, Fact::Skips, "yes");
    let mut listed = 0;
    for (index, word) in rest.iter().enumerate() {
        // `uv run -` runs its input.
        if name == "uv" && word.as_static() == Some("-") {
            walker.run_words(vec![Word::text("python"), word.clone()], &inner);
            return;
        }
        if word.literal_prefix().starts_with('-') {
            continue;
        }
        let after_option = index > 0
            && rest[index - 1].literal_prefix().starts_with('-')
            && rest[index - 1].as_static() != Some("--");
        walker.run_words(rest[index..].to_vec(), &inner);
        listed += 1;
        // A word after an option may be that option's value.
        if listed > 3 || !(after_option || first_is_other && index == 0) {
            break;
        }
    }
}

/// Programs whose words are texts for a shell, each.
pub(super) fn texts(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let inner = context.inside(name);
    for word in &words[1..] {
        let start = word.literal_prefix();
        if start.starts_with('-') || start.starts_with("npm:") {
            continue;
        }
        match word.as_static() {
            Some(text) => walker.child_text(text, Dialect::Sh, &inner),
            None => running_options::read(walker, word, &inner, name),
        }
    }
    stays(walker)
}
