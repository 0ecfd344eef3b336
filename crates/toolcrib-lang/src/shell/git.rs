//! git: configuration given on the command line, and subcommands that run programs.

use super::lex::Dialect;
use super::options;
use super::runners::Runner;
use super::script::{Directory, Word};
use super::shells;
use super::walk::{Context, Outcome, Walker};

pub(super) fn find(name: &str) -> Option<Runner> {
    (name == "git").then_some(run as Runner)
}

fn run(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let stays = Outcome::stays(&walker.directory);
    let inner = context.inside(name);
    let mut directory = walker.directory.clone();
    let mut at = 1;
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
                let reason = "an option or subcommand of `git` that cannot be told";
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
    walker.in_directory(directory, |walker| subcommand(walker, rest, &inner));
    stays
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
            "configuration of `git` that cannot be told",
            &setting.shown(),
        ),
    }
}

/// Settings whose value is a command line.
fn runs_value(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or(key);
    let whole = [
        "core.pager",
        "core.editor",
        "core.sshcommand",
        "core.askpass",
        "core.gitproxy",
        "core.alternaterefscommand",
        "sequence.editor",
        "diff.external",
        "gpg.program",
        "interactive.difffilter",
        "uploadpack.packobjectshook",
        "web.browser",
        "core.fsmonitor",
    ];
    whole.contains(&key)
        || key.starts_with("pager.")
        || key.starts_with("credential.") && last == "helper"
        || key.starts_with("gpg.") && matches!(last, "program" | "defaultkeycommand")
        || key.starts_with("diff.") && matches!(last, "command" | "textconv")
        || key.starts_with("filter.") && matches!(last, "clean" | "smudge" | "process")
        || key.starts_with("merge.") && last == "driver"
        || matches!(
            last,
            "cmd"
                | "command"
                | "uploadpack"
                | "receivepack"
                | "sendmailcmd"
                | "tocmd"
                | "cccmd"
                | "headercmd"
                | "smtpserver"
                | "proxycommand"
        )
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
            walker.doubt("an alias of `git` that cannot be told", &value.shown());
            return;
        };
        match text.strip_prefix('!') {
            Some(text) => at_top(walker, |walker| with_words(walker, text, context)),
            None => with_words(walker, &format!("git {text}"), context),
        }
        return;
    }
    if runs_value(&key) {
        match value.as_static() {
            Some("true" | "false" | "0" | "1" | "") => {}
            Some(text) => {
                // Helpers without a path are subcommands of git; `!` marks a text for a shell.
                let text = text.strip_prefix('!').unwrap_or(text);
                at_top(walker, |walker| with_words(walker, text, context));
            }
            None => walker.doubt(
                "configuration of `git` names a program, and which one cannot be told",
                &value.shown(),
            ),
        }
        return;
    }
    let loads = matches!(
        key.as_str(),
        "core.hookspath"
            | "include.path"
            | "init.templatedir"
            | "core.attributesfile"
            | "core.worktree"
            | "submodule.recurse"
    ) || key.starts_with("includeif.")
        || key.starts_with("protocol.") && key.ends_with(".allow")
        || key.starts_with("remote.") && key.ends_with(".vcs")
        || key.starts_with("submodule.") && key.ends_with(".update")
        || key.starts_with("url.");
    if loads
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
                "`git` runs a text that cannot be told",
            );
        });
    };
    let may_run = matches!(
        verb,
        "clone"
            | "fetch"
            | "pull"
            | "ls-remote"
            | "push"
            | "archive"
            | "rebase"
            | "difftool"
            | "grep"
            | "submodule"
            | "config"
            | "bisect"
    );
    for word in rest {
        // A value of a template is no option, but it may be a setting or a command.
        let is_option = !options::is_value(word)
            || matches!(verb, "config" | "submodule" | "bisect" | "difftool");
        if may_run && is_option && word.literal_prefix().is_empty() && word.is_dynamic() {
            walker.doubt(
                "a word of `git` that may be an option that runs a program",
                &word.shown(),
            );
        }
        let runs = [
            "ext::",
            "--upload-archive",
            "--browser",
            "--access-hook",
            "--authors-prog",
        ];
        if runs
            .iter()
            .any(|start| word.literal_prefix().starts_with(start))
        {
            walker.doubt("an address of `git` that runs a program", &word.shown());
        }
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
                        walker.doubt("configuration of `git` that cannot be told", &key.shown());
                    }
                }
            }
        }
        _ => {}
    }
    for (index, word) in rest.iter().enumerate() {
        let next = || rest.get(index + 1).cloned();
        let start = word.literal_prefix();
        if word.as_static() == Some("--") {
            break;
        }
        let long = |name: &str, least: usize| {
            options::long_option(word, name, least).map(|attached| attached.or_else(next))
        };
        // A letter in a cluster; those before it may take the rest of the word.
        let attached = |letter: char, with_value: &str| {
            let letters = start
                .strip_prefix('-')
                .filter(|rest| !rest.starts_with('-'))?;
            let at = letters.find(|c| c == letter || with_value.contains(c))?;
            letters[at..].starts_with(letter).then(|| {
                word.after(&start[..at + 2])
                    .filter(|rest| !rest.parts.is_empty())
            })
        };
        let short = |letter: char, with_value: &str| {
            attached(letter, with_value).map(|rest| rest.or_else(next))
        };
        let text = match verb {
            "rebase" => long("exec", 2).or_else(|| short('x', "XCsS")),
            "difftool" => long("extcmd", 2).or_else(|| short('x', "t")),
            "grep" => options::long_option(word, "open-files-in-pager", 3)
                .or_else(|| attached('O', "efABCm"))
                .map(|attached| {
                    attached
                        .filter(|word| !word.parts.is_empty())
                        .or_else(|| Some(Word::text("less")))
                }),
            "clone" | "fetch" | "pull" | "ls-remote" | "fetch-pack" | "push" | "send-pack"
            | "archive" => long("upload-pack", 3)
                .or_else(|| long("receive-pack", 3))
                .or_else(|| long("exec", 3))
                .or_else(|| match verb {
                    "clone" => short('u', "bocj"),
                    _ => None,
                }),
            "filter-branch" if start.ends_with("-filter") || start == "--setup" => Some(next()),
            "send-email" => long("sendmail-cmd", 3)
                .or_else(|| long("smtp-server", 8))
                .or_else(|| long("to-cmd", 4))
                .or_else(|| long("cc-cmd", 4)),
            _ => None,
        };
        if let Some(text) = text {
            match text {
                Some(text) if matches!(verb, "rebase" | "filter-branch") => read(walker, &text),
                // Names of files, addresses and the like come after it.
                Some(mut text) => {
                    text.push_text(" \"$@\"");
                    read(walker, &text);
                }
                None => walker.doubt("an option of `git` that runs a program", &word.shown()),
            }
        }
        if matches!(verb, "clone" | "init") {
            let template = long("template", 4).is_some();
            let setting =
                long("config", 4).or_else(|| (verb == "clone" && start == "-c").then(next));
            if template {
                walker.doubt("a template of `git`, which may hold hooks", &word.shown());
            }
            if let Some(Some(setting)) = setting {
                setting_word(walker, &setting, context);
            }
        }
    }
}
