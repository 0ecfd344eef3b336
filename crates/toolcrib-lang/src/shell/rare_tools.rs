//! More programs with an option or a language of their own that runs another program.

use super::options::long_option;
use super::script::Word;
use super::tools::{read, stays};
use super::walk::{Context, Input, Outcome, Walker};
use super::{shells, variables};

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
                walker.doubt("a makefile that cannot be told", &file.shown());
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

pub(super) fn remote_copy(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let inner = context.inside(name);
    for (index, word) in words.iter().enumerate().skip(1) {
        let next = || words.get(index + 1).cloned();
        let start = word.literal_prefix();
        let cluster = start.starts_with('-') && !start.starts_with("--");
        let program = if name == "rsync" {
            long_option(word, "rsh", 3)
                .or_else(|| long_option(word, "rsync-path", 6))
                .or_else(|| {
                    (cluster && start.contains('e')).then(|| {
                        let at = start.find('e').unwrap_or(0);
                        word.after(&start[..=at])
                            .filter(|rest| !rest.parts.is_empty())
                    })
                })
        } else {
            // The letters before it have no value.
            start
                .find(['S', 'D'])
                .filter(|at| {
                    cluster
                        && start[1..*at]
                            .bytes()
                            .all(|byte| b"346ABCOpqRrsTvaNf".contains(&byte))
                })
                .map(|at| {
                    word.after(&start[..=at])
                        .filter(|rest| !rest.parts.is_empty())
                })
        };
        if let Some(attached) = program {
            match attached.or_else(next) {
                Some(text) => read(walker, &text, &inner, name),
                None => walker.doubt(format!("an option of `{name}` that runs a program"), start),
            }
        }
        if word.adds_words() && word.literal_prefix().is_empty() {
            walker.doubt(
                format!("words of `{name}` that may be options that run a program"),
                &word.shown(),
            );
        }
        let lower = word.shown().to_ascii_lowercase();
        if name != "rsync" && (lower.contains("proxycommand") || lower.contains("localcommand")) {
            walker.doubt(format!("an option of `{name}` that runs a program"), start);
        }
    }
    // `!` in its commands runs a shell here.
    let commands = match walker.input(context) {
        Input::Start => false,
        Input::Text(text) | Input::Given(text) => {
            text.as_static().is_none_or(|text| text.contains('!'))
        }
        Input::Piped | Input::File | Input::Unknown => true,
    };
    if name == "sftp" && commands {
        walker.doubt("`sftp` reads commands, which may run programs", name);
    }
    stays(walker)
}

pub(super) fn editor(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let runs = |text: &str| {
        let words = [
            "!", "system", "exec", "term", "job", "py", "lua", "perl", "ruby", "tcl", "source",
            "so ", "make", "grep", "call", "eval", "normal",
        ];
        words.iter().any(|word| text.contains(word))
    };
    for (index, word) in words.iter().enumerate().skip(1) {
        let start = word.literal_prefix();
        let text = match name {
            "man" => match start {
                "-P" | "--pager" | "-H" | "--html" => words.get(index + 1).cloned(),
                _ => word
                    .after("-P")
                    .or_else(|| word.after("--pager="))
                    .or_else(|| word.after("-H"))
                    .or_else(|| word.after("--html=")),
            },
            _ => None,
        };
        if let Some(text) = text {
            read(walker, &text, &context.inside(name), name);
        }
        let commands = match start {
            "-c" | "--cmd" | "-S" | "-s" | "-u" | "-W" if name != "man" => {
                words.get(index + 1).cloned()
            }
            _ if name != "man"
                && start.starts_with('-')
                && !start.starts_with("--")
                && start.ends_with('c') =>
            {
                words.get(index + 1).cloned()
            }
            _ if name != "man" && start.starts_with('+') => word.after("+"),
            _ if name != "man" && start.starts_with("-c") => word.after("-c"),
            _ => None,
        };
        if let Some(commands) = commands {
            let script = matches!(start, "-S" | "-s" | "-u");
            if !commands.is_static()
                || !script && runs(&commands.shown())
                || script && shells::is_unclear_file(&commands)
            {
                walker.doubt(
                    format!("commands of `{name}` that may run a program"),
                    &commands.shown(),
                );
            }
        }
    }
    let reads_input = match name {
        "ed" | "ex" => true,
        "vi" | "vim" | "nvim" => words
            .iter()
            .any(|word| matches!(word.as_static(), Some("-es" | "-Es" | "-s" | "-e"))),
        _ => false,
    };
    let unclear = match walker.input(context) {
        Input::Start => false,
        Input::Text(text) | Input::Given(text) => text.as_static().is_none_or(runs),
        Input::Piped | Input::File | Input::Unknown => true,
    };
    if reads_input && unclear {
        walker.doubt(
            format!("`{name}` reads commands from its input, which may run programs"),
            name,
        );
    }
    stays(walker)
}

pub(super) fn zip(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    for (index, word) in words.iter().enumerate().skip(1) {
        let start = word.literal_prefix();
        if start.starts_with("-TT") || long_option(word, "unzip-command", 3).is_some() {
            let text = word
                .after("-TT")
                .filter(|rest| !rest.parts.is_empty())
                .or_else(|| long_option(word, "unzip-command", 3).flatten())
                .or_else(|| words.get(index + 1).cloned());
            match text {
                Some(text) => read(walker, &text, &context.inside(name), name),
                None => walker.doubt("an option of `zip` that runs a program", start),
            }
        }
    }
    stays(walker)
}

/// Programs with a language of their own in which some word runs a shell.
pub(super) fn escapes_to_shell(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let signs: &[&str] = match name {
        "sqlite3" => &[
            ".shell",
            ".system",
            ".sh",
            ".sy",
            "|",
            "load_extension",
            "edit(",
            ".load",
            ".import",
            ".once",
            ".excel",
            "readfile",
            "fts3_tokenizer",
        ],
        "psql" => &[
            "\\!", "\\copy", "\\o", "\\g", "program", "PROGRAM", "\\i", "\\setenv", "\\e", "`",
        ],
        "mysql" | "mariadb" => &["\\!", "system", "SYSTEM", "\\P", "pager", "\\e", "source"],
        "gnuplot" => &["system", "!", "`", "popen", "|", "<"],
        "m4" => &["syscmd", "esyscmd"],
        _ => &["!"],
    };
    let mut texts: Vec<&Word> = words[1..].iter().collect();
    let input = walker.input(context);
    if let Input::Text(text) = &input {
        texts.push(text.as_ref());
    }
    // A file is like a script that lies there; what another command writes is not.
    if matches!(input, Input::Piped | Input::Unknown) {
        walker.doubt(
            format!("`{name}` reads commands from its input, which may run programs"),
            name,
        );
    }
    let found = texts.iter().any(|word| {
        let shown = word.shown();
        signs.iter().any(|sign| shown.contains(sign))
    });
    if found {
        walker.doubt(
            format!("a text for `{name}` that may run a program"),
            &words[1..]
                .iter()
                .map(Word::shown)
                .collect::<Vec<_>>()
                .join(" "),
        );
    }
    stays(walker)
}

pub(super) fn split(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    for (index, word) in words.iter().enumerate().skip(1) {
        if let Some(attached) = long_option(word, "filter", 1) {
            match attached.or_else(|| words.get(index + 1).cloned()) {
                Some(text) => read(walker, &text, &context.inside(name), name),
                None => walker.doubt("an option of `split` that runs a program", &word.shown()),
            }
        }
    }
    stays(walker)
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
                format!("`{name}` gives another name to something that cannot be told"),
                &word.shown(),
            );
        }
    }
    stays(walker)
}
