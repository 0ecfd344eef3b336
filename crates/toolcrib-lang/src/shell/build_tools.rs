//! Build tools and downloaders with an option that names a program to run.

use super::lex::Dialect;
use super::runners::Runner;
use super::script::Word;
use super::tools::{read, stays};
use super::walk::{Context, Outcome, Walker};

pub(super) fn find(name: &str) -> Option<Runner> {
    Some(match name {
        "cargo" | "cargo-watch" => cargo,
        "go" => go,
        "cmake" => cmake,
        "ip" => ip,
        "concurrently" | "pee" => texts,
        _ if OPTIONS.iter().any(|(program, _)| *program == name) => option_that_runs,
        _ => return None,
    })
}

/// Programs, and how their options begin that name a program to run.
const OPTIONS: &[(&str, &[&str])] = &[
    ("gcc", &["-wrapper", "-specs"]),
    ("g++", &["-wrapper", "-specs"]),
    ("cc", &["-wrapper", "-specs"]),
    ("c++", &["-wrapper", "-specs"]),
    ("clang", &["-wrapper"]),
    ("install", &["--strip-program"]),
    ("wget", &["--use-askpass"]),
    ("aria2c", &["--on-"]),
    (
        "yt-dlp",
        &[
            "--exec",
            "--external-downloader",
            "--downloader",
            "--netrc-cmd",
        ],
    ),
    ("youtube-dl", &["--exec", "--external-downloader"]),
];

fn option_that_runs(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    _context: &Context<'_>,
) -> Outcome {
    let options = OPTIONS
        .iter()
        .filter(|(program, _)| *program == name)
        .flat_map(|(_, options)| *options);
    for option in options {
        for word in &words[1..] {
            if word.literal_prefix().starts_with(option) {
                walker.doubt(
                    format!("an option of `{name}` that runs a program"),
                    &word.shown(),
                );
            }
        }
    }
    stays(walker)
}

/// An option's value, attached with `=` or in the next word.
fn value_of(words: &[Word], index: usize, option: &str) -> Option<Option<Word>> {
    let word = &words[index];
    if word.as_static() == Some(option) {
        return Some(words.get(index + 1).cloned());
    }
    word.after(option)
        .and_then(|rest| rest.after("="))
        .map(Some)
}

fn read_value(
    walker: &mut Walker,
    value: Option<Word>,
    option: &str,
    name: &str,
    context: &Context<'_>,
) {
    match value {
        // What it is about comes after it.
        Some(mut text) => {
            text.push_text(" \"$@\"");
            read(walker, &text, &context.inside(name), name);
        }
        None => walker.doubt(format!("an option of `{name}` that runs a program"), option),
    }
}

fn cargo(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let inner = context.inside(name);
    let watches =
        name == "cargo-watch" || words.iter().any(|word| word.as_static() == Some("watch"));
    for index in 1..words.len() {
        if let Some(setting) = value_of(words, index, "--config") {
            // Settings from outside are files or harmless keys; what cannot be told may be anything.
            let unclear = setting.as_ref().is_some_and(|setting| {
                setting.is_dynamic() && !setting.literal_prefix().contains('=')
            });
            let key = setting.map(|setting| setting.shown()).unwrap_or_default();
            let runs = [
                "rustc",
                "rustdoc",
                "runner",
                "linker",
                "credential",
                "alias",
                "include",
            ];
            if unclear || runs.iter().any(|word| key.contains(word)) {
                walker.doubt("a setting of `cargo` that runs a program", &key);
            }
        }
        if !watches {
            continue;
        }
        for option in ["-s", "--shell"] {
            if let Some(text) = value_of(words, index, option) {
                match text {
                    Some(text) => read(walker, &text, &inner, name),
                    None => walker.doubt("an option of `cargo watch` that runs a text", option),
                }
            }
        }
        for option in ["-x", "--exec"] {
            if let Some(Some(text)) = value_of(words, index, option) {
                let mut whole = Word::text("cargo ");
                text.parts.into_iter().for_each(|part| whole.push(part));
                read(walker, &whole, &inner, name);
            }
        }
    }
    stays(walker)
}

fn go(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    for index in 1..words.len() {
        for option in [
            "-exec",
            "-toolexec",
            "-vettool",
            "--exec",
            "--toolexec",
            "--vettool",
        ] {
            if let Some(value) = value_of(words, index, option) {
                read_value(walker, value, option, name, context);
            }
        }
    }
    stays(walker)
}

fn cmake(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
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
        let program = ["LAUNCHER", "_COMPILER", "_LINKER", "EMULATOR", "_PROGRAM"];
        if program.iter().any(|last| key.ends_with(last)) {
            read_value(walker, definition.after(&start[..=end]), key, name, context);
        }
    }
    stays(walker)
}

/// `ip netns exec x ls`
fn ip(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    if let Some(at) = words
        .iter()
        .position(|word| word.as_static() == Some("exec"))
    {
        let rest = words.get(at + 2..).unwrap_or_default().to_vec();
        walker.run_words(rest, &context.inside(name));
    }
    stays(walker)
}

/// Programs whose words are texts for a shell, each.
fn texts(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let inner = context.inside(name);
    for word in &words[1..] {
        let start = word.literal_prefix();
        if start.starts_with('-') || start.starts_with("npm:") {
            continue;
        }
        match word.as_static() {
            Some(text) => walker.child_text(text, Dialect::Sh, &inner),
            None => read(walker, word, &inner, name),
        }
    }
    stays(walker)
}
