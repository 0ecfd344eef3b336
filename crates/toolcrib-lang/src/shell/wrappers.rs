//! Programs whose words are, after some options, a command.

use super::lex::Dialect;
use super::options::{self, Given, Spec};
use super::programs::{self, Fact, Program};
use super::script::{Directory, Part, Word};
use super::walk::{Context, Input, Outcome, Walker};
use super::{shells, variables};

pub(super) fn stays(walker: &Walker) -> Outcome {
    Outcome::stays(&walker.directory)
}

pub(super) fn not_understood(walker: &mut Walker, name: &str, shown: &str) -> Outcome {
    walker.doubt(
        format!(
            "options of `{name}` that are not understood: it cannot be determined what it runs"
        ),
        shown,
    );
    stays(walker)
}

pub(super) fn value<'g>(given: &'g [Given], names: &[&str]) -> Option<&'g Word> {
    given
        .iter()
        .rev()
        .find(|option| names.contains(&option.name.as_str()))
        .and_then(|option| option.value.as_ref())
}

/// Reads the options of a program as the table of programs lists them: what was given, and the words after them. `None` if they are
/// not understood, which is a doubt then.
pub(super) fn parse<'w>(
    walker: &mut Walker,
    program: &Program,
    name: &str,
    words: &'w [Word],
) -> Option<(Vec<Given>, &'w [Word])> {
    match options::parse(&words[1..], &Spec::of(program)) {
        Ok((given, used)) => Some((given, &words[1 + used..])),
        Err(shown) => {
            not_understood(walker, name, &shown);
            None
        }
    }
}

pub(super) fn wrapped(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let Some(program) = programs::find(name) else {
        return stays(walker);
    };
    let Some((given, mut rest)) = parse(walker, program, name, words) else {
        return stays(walker);
    };
    let says = |fact: Fact| {
        program.get(fact) == "any" || given.iter().any(|option| program.lists(fact, &option.name))
    };
    let mut directory = walker.directory.clone();
    if says(Fact::Elsewhere) {
        directory = Directory::Unknown;
    }
    let runs_output = |option: &Given| {
        let value = option.value.as_ref().filter(|_| option.name == "o");
        value.is_some_and(|value| {
            !value.is_static() || value.literal_prefix().starts_with(['|', '!'])
        })
    };
    if name == "strace" && given.iter().any(runs_output) {
        walker.doubt("`strace -o` may run a program", name);
    }
    let moves: Vec<&str> = program.words(Fact::Moves).collect();
    if let Some(target) = value(&given, &moves) {
        directory = match target.as_static() {
            Some(path) => directory.join(path),
            None => Directory::Unknown,
        };
    }
    if name == "env"
        && let Some(text) = value(&given, &["S", "split-string"])
    {
        walker.in_directory(directory, |walker| {
            split_string(walker, text, rest, context);
        });
        return stays(walker);
    }
    if program.has(Fact::Sets) {
        rest = assignments(walker, rest, context);
    }
    // `env -` is `env -i`.
    if name == "env" && rest.first().and_then(Word::as_static) == Some("-") {
        rest = assignments(walker, &rest[1..], context);
    }
    let before = program.get(Fact::Before).parse().unwrap_or(0);
    for operand in rest.iter().take(before) {
        if operand.splits {
            return not_understood(walker, name, &operand.shown());
        }
    }
    let rest = rest.get(before..).unwrap_or_default();
    if rest.is_empty() {
        if says(Fact::StartsShell) {
            walker.doubt(format!("`{name}` without a command starts a shell"), name);
        }
        return stays(walker);
    }
    let inner = context.inside(name);
    let rest = rest.to_vec();
    walker.in_directory(directory, |walker| walker.run_words(rest, &inner));
    stays(walker)
}

/// Takes `NAME=value` words off the beginning.
fn assignments<'w>(
    walker: &mut Walker,
    mut words: &'w [Word],
    context: &Context<'_>,
) -> &'w [Word] {
    while let Some(word) = words.first() {
        let start = word.literal_prefix();
        if word.splits && word.is_dynamic() {
            walker.doubt(
                "a word that may be a variable to set or the command",
                &word.shown(),
            );
        }
        let Some(end) = start.find('=') else { break };
        if let Some(value) = word.after(&start[..=end]) {
            variables::check(walker, &start[..end], &value, context);
        }
        words = &words[1..];
    }
    words
}

/// `env -S`: splits a text into words, with its own quotes.
fn split_string(walker: &mut Walker, text: &Word, rest: &[Word], context: &Context<'_>) {
    let inner = context.inside("env");
    match text.as_static() {
        // Escapes and `${…}` have their own rules there; without them the words are those of the shell.
        Some(text)
            if !text.contains([
                '\\', '$', '`', '*', '?', '[', '{', '~', ';', '&', '|', '<', '>', '(', ')', '#',
                '\n',
            ]) =>
        {
            let mut words = vec![Word::text("env")];
            match split_plain(text) {
                Some(split) => words.extend(split),
                None => {
                    not_understood(walker, "env", text);
                    return;
                }
            }
            words.extend(rest.iter().cloned());
            walker.run_words(words, &inner);
        }
        _ => {
            walker.doubt(
                "`env -S` with signs whose meaning is not clear",
                &text.shown(),
            );
            shells::read_unclear(
                walker,
                std::slice::from_ref(text),
                Dialect::Sh,
                &inner,
                "`env -S` with signs whose meaning is not clear",
            );
        }
    }
}

/// Splits at blanks, with quotes.
pub(super) fn split_plain(text: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut current: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => current.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                current.get_or_insert_default();
            }
            (None, c) if c.is_ascii_whitespace() => words.extend(current.take().map(Word::text)),
            (None, c) => current.get_or_insert_default().push(c),
        }
    }
    words.extend(current.take().map(Word::text));
    quote.is_none().then_some(words)
}

/// The word with every occurrence of `marker` replaced by something known only when it runs.
pub(super) fn replaced(word: &Word, marker: &str) -> Word {
    let mut result = Word {
        parts: Vec::with_capacity(word.parts.len()),
        splits: word.splits,
    };
    for part in &word.parts {
        match part {
            Part::Text(text) if !marker.is_empty() => {
                for (index, piece) in text.split(marker).enumerate() {
                    if index > 0 {
                        result.push(Part::Dynamic(marker.to_owned()));
                    }
                    result.push_text(piece);
                }
            }
            part => result.push(part.clone()),
        }
    }
    result
}

pub(super) fn xargs(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let parsed = programs::find(name).and_then(|program| parse(walker, program, name, words));
    let Some((given, rest)) = parsed else {
        return stays(walker);
    };
    if rest.is_empty() {
        // It runs `echo`.
        return stays(walker);
    }
    let replaces = given
        .iter()
        .rev()
        .find(|option| matches!(option.name.as_str(), "I" | "i" | "replace" | "J"));
    let marker = replaces.map(|option| option.value.as_ref().map_or(Some("{}"), Word::as_static));
    let inner = context.inside(name);
    match marker {
        Some(None) => {
            walker.doubt("it cannot be determined what `xargs` replaces", name);
            walker.run_words(rest.to_vec(), &inner);
        }
        Some(Some(marker)) => {
            let words: Vec<Word> = rest.iter().map(|word| replaced(word, marker)).collect();
            walker.run_words(words, &inner);
        }
        None => {
            let mut words = rest.to_vec();
            words.push(Word::dynamic("xargs"));
            walker.run_words(words, &inner);
        }
    }
    stays(walker)
}

pub(super) fn applet(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    match words.get(1).map(|word| word.as_static()) {
        None => {}
        Some(Some(option)) if option.starts_with('-') => {
            if !matches!(option, "--list" | "--list-full" | "--help" | "-h") {
                return not_understood(walker, name, option);
            }
        }
        _ => walker.run_words(words[1..].to_vec(), &context.inside(name)),
    }
    stays(walker)
}

pub(super) fn interpreter(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let script = words
        .iter()
        .skip(1)
        .find(|word| !word.literal_prefix().starts_with('-'));
    let inline = words.iter().skip(1).find(|word| {
        matches!(
            word.literal_prefix(),
            "-e" | "-E"
                | "-c"
                | "-x"
                | "-g"
                | "-run"
                | "-eval"
                | "--eval"
                | "--command"
                | "--rpc-eval"
                | "-"
        ) || word.literal_prefix().starts_with("--eval=")
            || word.literal_prefix().starts_with("-e")
            || word.adds_words()
    });
    let inline = inline.or_else(|| script.filter(|word| shells::is_unclear_file(word)));
    let reads = script.is_none() && walker.input(context) != Input::Start;
    if reads || inline.is_some() {
        walker.doubt(
            format!("code for `{name}` that may run programs"),
            &inline.map(Word::shown).unwrap_or_default(),
        );
    }
    stays(walker)
}

pub(super) fn unclear(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let asks = words.len() == 2
        && matches!(
            words[1].as_static(),
            Some("--version" | "--help" | "-V" | "-h" | "-l" | "ls" | "list-sessions")
        );
    // Most of them read commands from their input when they are given none.
    let reads = words.len() < 2 && walker.input(context) != Input::Start;
    if words.len() < 2 && !reads || asks {
        return stays(walker);
    }
    walker.doubt(
        format!("`{name}` runs commands from its words that cannot be determined"),
        &words[1..]
            .iter()
            .map(Word::shown)
            .collect::<Vec<_>>()
            .join(" "),
    );
    let start = words
        .iter()
        .skip(1)
        .position(|word| !word.literal_prefix().starts_with('-'));
    if let Some(start) = start {
        walker.run_words(words[1 + start..].to_vec(), &context.inside(name));
    }
    stays(walker)
}
