//! git: configuration given on the command line, and subcommands that run programs.

use super::lex::Dialect;
use super::options::{is_value, long_option};
use super::programs::{self, Fact};
use super::running_options::{follow, letter_value};
use super::script::{Directory, Word};
use super::shells;
use super::walk::{Context, Outcome, Walker};

pub(super) fn run(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let stays = Outcome::stays(&walker.directory);
    let inner = context.inside(name);
    let mut directory = walker.directory.clone();
    let mut at = 1;
    let mut has_alias = false;
    while let Some(word) = words.get(at) {
        let Some(option) = word.as_static() else {
            let start = word.literal_prefix();
            if start.starts_with("--exec-path") || start.starts_with("--config-env") {
                walker.doubt(
                    "an option of `git` that makes it run other programs",
                    &word.shown(),
                );
            }
            if !word.literal_prefix().starts_with("--") || word.splits {
                let reason = "a `git` option or subcommand that cannot be determined";
                if word.is_dynamic() || word.splits {
                    walker.doubt(reason, &word.shown());
                }
                if !word.literal_prefix().starts_with('-') {
                    break;
                }
            }
            at += 1;
            continue;
        };
        match option {
            "-c" => {
                if let Some(setting) = words.get(at + 1) {
                    let key = setting.literal_prefix().to_ascii_lowercase();
                    has_alias |= key.starts_with("alias.");
                    walker.in_directory(directory.clone(), |walker| {
                        setting_word(walker, setting, &inner);
                    });
                }
                at += 2;
            }
            "-C" => {
                directory = match words.get(at + 1).and_then(Word::as_static) {
                    Some(path) => directory.join(path),
                    None => Directory::Unknown,
                };
                at += 2;
            }
            "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix" | "--attr-source" => {
                at += 2;
            }
            "--config-env" => {
                walker.doubt("configuration of `git` from a variable", option);
                at += 2;
            }
            _ if option.starts_with("--config-env=") || option.starts_with("--exec-path=") => {
                walker.doubt(
                    "an option of `git` that makes it run other programs",
                    option,
                );
                at += 1;
            }
            _ if option.starts_with('-') => at += 1,
            _ => break,
        }
    }
    let rest = words.get(at..).unwrap_or_default();
    // An alias gets what comes after its name.
    if has_alias && rest.len() > 1 {
        walker.note_list("@", rest[1..].to_vec());
    }
    walker.in_directory(directory, |walker| subcommand(walker, rest, &inner));
    stays
}

/// `git-reset --hard`, by whatever path: git's programs under their own names.
pub(super) fn dashed(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let verb = name.strip_prefix("git-").unwrap_or(name);
    let mut whole = vec![Word::text("git"), Word::text(verb)];
    whole.extend_from_slice(&words[1..]);
    walker.run_words(whole, &context.inside(name));
    Outcome::stays(&walker.directory)
}

/// `name=value` after `-c`.
fn setting_word(walker: &mut Walker, setting: &Word, context: &Context<'_>) {
    let start = setting.literal_prefix();
    match start.find('=') {
        Some(end) => {
            let value = setting.after(&start[..=end]).unwrap_or_default();
            check_setting(walker, &start[..end], &value, context);
        }
        None if setting.is_static() => {}
        None => walker.doubt(
            "`git` configuration that cannot be determined",
            &setting.shown(),
        ),
    }
}

/// Whether a setting is among those of a fact: `credential.*helper` is all that begin and end like that.
fn is_among(fact: Fact, key: &str) -> bool {
    let fits = |setting: &str| match setting.split_once('*') {
        Some((first, last)) => {
            key.len() >= first.len() + last.len() && key.starts_with(first) && key.ends_with(last)
        }
        None => key == setting,
    };
    programs::find("git").is_some_and(|git| git.words(fact).any(fits))
}

/// Reads a text that git runs with more words after it.
fn with_words(walker: &mut Walker, text: &str, context: &Context<'_>) {
    walker.child_text(&format!("{text} \"$@\""), Dialect::Sh, context);
}

/// What git runs starts at the top of the repository, wherever that is.
fn at_top(walker: &mut Walker, work: impl FnOnce(&mut Walker)) {
    walker.in_directory(Directory::Unknown, work);
}

fn check_setting(walker: &mut Walker, name: &str, value: &Word, context: &Context<'_>) {
    let key = name.to_ascii_lowercase();
    if key.starts_with("alias.") {
        let Some(text) = value.as_static() else {
            walker.doubt("a `git` alias that cannot be determined", &value.shown());
            return;
        };
        match text.strip_prefix('!') {
            Some(text) => at_top(walker, |walker| with_words(walker, text, context)),
            None => with_words(walker, &format!("git {text}"), context),
        }
        return;
    }
    if is_among(Fact::Settings, &key) {
        match value.as_static() {
            Some("true" | "false" | "0" | "1" | "") => {}
            Some(text) => {
                // Helpers without a path are subcommands of git; `!` marks a text for a shell.
                let text = text.strip_prefix('!').unwrap_or(text);
                at_top(walker, |walker| with_words(walker, text, context));
            }
            None => walker.doubt(
                "`git` configuration names a program that cannot be determined",
                &value.shown(),
            ),
        }
        return;
    }
    if is_among(Fact::LoadsSettings, &key)
        && !matches!(
            value.as_static(),
            Some("/dev/null" | "" | "false" | "true" | "never" | "user")
        )
    {
        walker.doubt(
            "configuration of `git` that makes it run other programs",
            &format!("{name}={}", value.shown()),
        );
    }
}

fn subcommand(walker: &mut Walker, words: &[Word], context: &Context<'_>) {
    let Some(verb) = words.first().and_then(Word::as_static) else {
        return;
    };
    let rest = &words[1..];
    let read = |walker: &mut Walker, text: &Word| {
        at_top(walker, |walker| {
            shells::read_word(
                walker,
                text,
                Dialect::Sh,
                context,
                "`git` runs a text that cannot be determined",
            );
        });
    };
    let program = programs::find(&format!("git-{verb}"));
    let unclear = program.map_or("", |program| program.get(Fact::Unclear));
    for word in rest {
        // A value of a template is not an option, but it may be a setting or a command.
        let is_option = !is_value(word) || unclear == "value";
        if !unclear.is_empty() && is_option && word.literal_prefix().is_empty() && word.is_dynamic()
        {
            walker.doubt(
                "a word of `git` that may be an option that runs a program",
                &word.shown(),
            );
        }
    }
    let of_all = programs::find("git");
    for program in of_all.into_iter().chain(program) {
        at_top(walker, |walker| {
            follow(walker, program, "git", rest, context);
        });
    }
    match verb {
        "bisect" if rest.first().and_then(Word::as_static) == Some("run") => {
            at_top(walker, |walker| {
                walker.run_words(rest[1..].to_vec(), context);
            });
        }
        "submodule" => {
            if let Some(at) = rest
                .iter()
                .position(|word| word.as_static() == Some("foreach"))
            {
                let command: Vec<Word> = rest[at + 1..]
                    .iter()
                    .skip_while(|word| word.literal_prefix().starts_with('-'))
                    .cloned()
                    .collect();
                if let [text] = command.as_slice() {
                    read(walker, text);
                } else {
                    at_top(walker, |walker| walker.run_words(command, context));
                }
            }
        }
        "config" => {
            let mut is_value = false;
            let operands: Vec<&Word> = rest
                .iter()
                .filter(|word| {
                    let text = word.literal_prefix();
                    let operand = !std::mem::take(&mut is_value)
                        && !text.starts_with('-')
                        && word.as_static() != Some("set");
                    is_value = matches!(
                        text,
                        "-f" | "--file"
                            | "--blob"
                            | "-t"
                            | "--type"
                            | "--default"
                            | "--comment"
                            | "--value"
                            | "--url"
                    );
                    operand
                })
                .collect();
            if let [key, value, ..] = operands.as_slice() {
                match key.as_static() {
                    Some(key) => check_setting(walker, key, value, context),
                    None => {
                        walker.doubt(
                            "`git` configuration that cannot be determined",
                            &key.shown(),
                        );
                    }
                }
            }
        }
        _ => {}
    }
    for (index, word) in rest.iter().enumerate() {
        let next = || rest.get(index + 1).cloned();
        if word.as_static() == Some("--") {
            break;
        }
        if verb == "grep" {
            let valued = program.map_or("", |program| program.get(Fact::Valued));
            let pager = long_option(word, "open-files-in-pager", 3);
            if let Some(pager) = pager.or_else(|| letter_value(word, 'O', valued)) {
                let pager = pager.filter(|word| !word.parts.is_empty());
                let mut text = pager.unwrap_or_else(|| Word::text("less"));
                // The names of files come after it.
                text.push_text(" \"$@\"");
                read(walker, &text);
            }
        }
        if matches!(verb, "clone" | "init") {
            let setting = long_option(word, "config", 4).map(|attached| attached.or_else(next));
            let setting =
                setting.or_else(|| (verb == "clone" && word.literal_prefix() == "-c").then(next));
            if long_option(word, "template", 4).is_some() {
                walker.doubt("a template of `git`, which may hold hooks", &word.shown());
            }
            if let Some(Some(setting)) = setting {
                setting_word(walker, &setting, context);
            }
        }
    }
}
