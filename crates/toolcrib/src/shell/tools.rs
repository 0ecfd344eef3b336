//! Programs with an option that runs another program.

use super::lex::Dialect;
use super::options::long_option;
use super::runners::Runner;
use super::script::{Directory, Word};
use super::walk::{Context, Input, Outcome, Walker};
use super::wrappers::replaced;
use super::{awk, sed, shells, variables};

pub(super) fn find(name: &str) -> Option<Runner> {
    Some(match name {
        "find" | "gfind" => find_files,
        "fd" | "fdfind" => fd,
        "tar" | "gtar" | "bsdtar" => tar,
        "rg" => ripgrep,
        "sort" | "gsort" => sort,
        "make" | "gmake" => make,
        "rsync" | "scp" | "sftp" => remote_copy,
        "vi" | "vim" | "nvim" | "view" | "ex" | "ed" | "less" | "more" | "man" => editor,
        "zip" => zip,
        "sqlite3" | "psql" | "mysql" | "mariadb" | "gnuplot" | "m4" | "ftp" | "mail" | "mailx"
        | "dc" => escapes_to_shell,
        "sed" | "gsed" => sed::run,
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => awk::run,
        "split" => split,
        _ => return None,
    })
}

fn stays(walker: &Walker) -> Outcome {
    Outcome::stays(&walker.directory)
}

fn read(walker: &mut Walker, text: &Word, context: &Context<'_>, name: &str) {
    shells::read_word(
        walker,
        text,
        Dialect::Sh,
        context,
        &format!("`{name}` runs a program that cannot be told"),
    );
}

fn find_files(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
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
                if word.splits && word.is_dynamic() {
                    walker.doubt("words of `find` that may hold `-exec`", &word.shown());
                }
            }
        }
    }
    stays(walker)
}

fn fd(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let inner = context.inside(name);
    for (index, word) in words.iter().enumerate().skip(1) {
        let start = word.literal_prefix();
        let short =
            start.starts_with('-') && !start.starts_with("--") && start.contains(['x', 'X']);
        let attached = long_option(word, "exec", 4).or_else(|| long_option(word, "exec-batch", 5));
        if !short && attached.is_none() {
            if word.splits && word.is_dynamic() {
                walker.doubt("words of `fd` that may hold `-x`", &word.shown());
            }
            continue;
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

fn tar(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let inner = context.inside(name);
    for (index, word) in words.iter().enumerate().skip(1) {
        let next = || words.get(index + 1).cloned();
        let start = word.literal_prefix();
        for (option, least) in [
            ("to-command", 4),
            ("use-compress-program", 3),
            ("info-script", 3),
            ("new-volume-script", 5),
            ("rsh-command", 3),
            ("rmt-command", 3),
        ] {
            if let Some(attached) = long_option(word, option, least) {
                match attached.or_else(next) {
                    Some(text) => read(walker, &text, &inner, name),
                    None => walker.doubt("an option of `tar` that runs a program", start),
                }
            }
        }
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
        let cluster = start.starts_with('-') && !start.starts_with("--");
        let old = index == 1 && !start.starts_with('-') && start.len() < 12;
        if cluster && let Some(at) = start.find(['I', 'F']) {
            let attached = word
                .after(&start[..=at])
                .filter(|rest| !rest.parts.is_empty());
            // What follows an `f` is the archive's name.
            if !start[..at].contains(['f', 'C', 'T', 'X', 'b', 'g', 'K', 'L', 'N', 'V', 'H']) {
                match attached.or_else(next) {
                    Some(text) => read(walker, &text, &inner, name),
                    None => walker.doubt("an option of `tar` that runs a program", start),
                }
            }
        }
        if old && start.contains(['I', 'F']) && start.bytes().all(|byte| byte.is_ascii_alphabetic())
        {
            walker.doubt("an option of `tar` that runs a program", start);
        }
        if word.splits && word.is_dynamic() && word.literal_prefix().is_empty() {
            walker.doubt(
                "words of `tar` that may be options that run a program",
                &word.shown(),
            );
        }
    }
    stays(walker)
}

fn ripgrep(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let inner = context.inside(name);
    for (index, word) in words.iter().enumerate().skip(1) {
        if word.as_static() == Some("--") {
            break;
        }
        for option in ["pre", "hostname-bin"] {
            let Some(attached) = long_option(word, option, option.len()) else {
                continue;
            };
            match attached.or_else(|| words.get(index + 1).cloned()) {
                Some(program) => walker.run_words(vec![program, Word::dynamic("file")], &inner),
                None => walker.doubt("an option of `rg` that runs a program", &word.shown()),
            }
        }
        if word.splits && word.is_dynamic() {
            walker.doubt(
                "words of `rg` that may be options that run a program",
                &word.shown(),
            );
        }
    }
    stays(walker)
}

fn sort(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let inner = context.inside(name);
    for (index, word) in words.iter().enumerate().skip(1) {
        if let Some(attached) = long_option(word, "compress-program", 2) {
            match attached.or_else(|| words.get(index + 1).cloned()) {
                Some(program) => walker.run_words(vec![program], &inner),
                None => walker.doubt("an option of `sort` that runs a program", &word.shown()),
            }
        }
        if word.splits && word.is_dynamic() {
            walker.doubt(
                "words of `sort` that may be options that run a program",
                &word.shown(),
            );
        }
    }
    stays(walker)
}

fn split(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
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

fn make(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    for (index, word) in words.iter().enumerate().skip(1) {
        let start = word.literal_prefix();
        if long_option(word, "eval", 2).is_some() || start.starts_with("-E") {
            walker.doubt("a text for `make`, which may run anything", &word.shown());
        }
        let file = long_option(word, "file", 1)
            .or_else(|| long_option(word, "makefile", 3))
            .map(|attached| attached.or_else(|| words.get(index + 1).cloned()));
        let file = file.or_else(|| (start == "-f").then(|| words.get(index + 1).cloned()));
        if let Some(Some(file)) = file
            && (file.as_static() == Some("-") || shells::is_unclear_file(&file))
        {
            walker.doubt("a makefile that cannot be told", &file.shown());
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

fn remote_copy(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
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
            (cluster && start.starts_with("-S"))
                .then(|| word.after("-S").filter(|rest| !rest.parts.is_empty()))
        };
        if let Some(attached) = program {
            match attached.or_else(next) {
                Some(text) => read(walker, &text, &inner, name),
                None => walker.doubt(format!("an option of `{name}` that runs a program"), start),
            }
        }
        let lower = word.shown().to_ascii_lowercase();
        if name != "rsync" && (lower.contains("proxycommand") || lower.contains("localcommand")) {
            walker.doubt(format!("an option of `{name}` that runs a program"), start);
        }
    }
    stays(walker)
}

fn editor(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
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
    let unclear = match &context.input {
        Input::Start => false,
        Input::Text(text) => text.as_static().is_none_or(runs),
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

fn zip(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
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
fn escapes_to_shell(
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
    if let Input::Text(text) = &context.input {
        texts.push(text);
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
