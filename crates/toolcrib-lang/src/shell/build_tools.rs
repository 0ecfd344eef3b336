//! Build tools whose settings and variables name programs to run.

use super::options::long_option;
use super::programs::{self, Fact};
use super::running_options::{read, value};
use super::script::Word;
use super::tools::stays;
use super::walk::{Context, Outcome, Walker};
use super::{shells, variables};

/// Whether one of the settings of a program that name another fits.
fn names_program(name: &str, fits: impl Fn(&str) -> bool) -> bool {
    programs::find(name).is_some_and(|program| program.words(Fact::Settings).any(fits))
}

pub(super) fn make(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    for (index, word) in words.iter().enumerate().skip(1) {
        let start = word.literal_prefix();
        if word.adds_words() {
            walker.doubt(
                "words of `make` that may set how it runs commands",
                &word.shown(),
            );
        }
        // Letters with a value take the rest of the word.
        let cluster = start
            .strip_prefix('-')
            .filter(|rest| !rest.starts_with('-'));
        let letter = cluster.and_then(|letters| {
            letters
                .find(['f', 'C', 'I', 'j', 'l', 'o', 'W', 'E'])
                .map(|at| (letters.as_bytes()[at], at + 2))
        });
        if long_option(word, "eval", 2).is_some() || matches!(letter, Some((b'E', _))) {
            walker.doubt("a text for `make`, which may run anything", &word.shown());
        }
        let file = long_option(word, "file", 1)
            .or_else(|| long_option(word, "makefile", 3))
            .map(|attached| attached.or_else(|| words.get(index + 1).cloned()));
        let file = file.or_else(|| match letter {
            Some((b'f', end)) => Some(
                word.after(&start[..end])
                    .filter(|rest| !rest.parts.is_empty())
                    .or_else(|| words.get(index + 1).cloned()),
            ),
            _ => None,
        });
        if let Some(Some(file)) = file {
            walker.note_script(&file);
            if shells::is_unclear_input(&file) {
                walker.doubt("a makefile that cannot be determined", &file.shown());
            }
        }
        if let Some(end) = start.find('=').filter(|_| !start.starts_with('-')) {
            let variable = start[..end].trim_end_matches([':', '!', '+', '?']);
            let value = word.after(&start[..=end]).unwrap_or_default();
            if start[..end].ends_with('!') || variable == ".SHELLFLAGS" {
                walker.doubt("a variable of `make` that runs its value", &word.shown());
            }
            if value.shown().contains("$(") || value.shown().contains("${") {
                walker.doubt("a variable of `make` that may run something", &word.shown());
            }
            variables::check(walker, variable, &value, &context.inside(name));
        }
    }
    stays(walker)
}

pub(super) fn cargo(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let inner = context.inside(name);
    let watches =
        name == "cargo-watch" || words.iter().any(|word| word.as_static() == Some("watch"));
    for index in 1..words.len() {
        if let Some(setting) = value(words, index, "--config", "") {
            // Settings from outside are files or harmless keys; an unknown one may be anything.
            let unclear = setting.as_ref().is_some_and(|setting| {
                setting.is_dynamic() && !setting.literal_prefix().contains('=')
            });
            let key = setting.map(|setting| setting.shown()).unwrap_or_default();
            if unclear || names_program("cargo", |word| key.contains(word)) {
                walker.doubt("a setting of `cargo` that runs a program", &key);
            }
        }
        if !watches {
            continue;
        }
        let valued = programs::find("cargo-watch").map_or("", |watch| watch.get(Fact::Valued));
        for option in ["-s", "--shell"] {
            if let Some(text) = value(words, index, option, valued) {
                match text {
                    Some(text) => read(walker, &text, &inner, name),
                    None => walker.doubt("an option of `cargo watch` that runs a text", option),
                }
            }
        }
        for option in ["-x", "--exec"] {
            if let Some(Some(text)) = value(words, index, option, valued) {
                let mut whole = Word::text("cargo ");
                text.parts.into_iter().for_each(|part| whole.push(part));
                read(walker, &whole, &inner, name);
            }
        }
    }
    stays(walker)
}

pub(super) fn cmake(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let inner = context.inside(name);
    if words.get(1).and_then(Word::as_static) == Some("-E") {
        let rest = words.get(3..).unwrap_or_default();
        match words.get(2).and_then(Word::as_static) {
            Some("env") => {
                let mut command = vec![Word::text("env")];
                command.extend(
                    rest.iter()
                        .filter(|word| word.as_static() != Some("--modify"))
                        .cloned(),
                );
                walker.run_words(command, &inner);
            }
            Some("time") => walker.run_words(rest.to_vec(), &inner),
            Some("chdir") => {
                let rest = rest.get(1..).unwrap_or_default().to_vec();
                walker.in_directory(super::script::Directory::Unknown, |walker| {
                    walker.run_words(rest, &inner);
                });
            }
            _ => {}
        }
        return stays(walker);
    }
    for (index, word) in words.iter().enumerate().skip(1) {
        let definition = match word.as_static() {
            Some("-D") => words.get(index + 1).cloned(),
            _ => word.after("-D"),
        };
        let Some(definition) = definition else {
            continue;
        };
        let start = definition.literal_prefix();
        let Some(end) = start.find('=') else {
            if definition.is_dynamic() {
                walker.doubt(
                    "a definition for `cmake` that may name a program to run",
                    &definition.shown(),
                );
            }
            continue;
        };
        let key = start[..end].split(':').next().unwrap_or_default();
        if names_program(name, |last| key.ends_with(last))
            && let Some(mut text) = definition.after(&start[..=end])
        {
            // What it is about comes after it.
            text.push_text(" \"$@\"");
            read(walker, &text, &inner, name);
        }
    }
    stays(walker)
}
