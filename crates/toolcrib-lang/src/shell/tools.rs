//! Programs with an option that runs another program.

use super::lex::Dialect;
use super::options::long_option;
use super::runners::Runner;
use super::script::{Directory, Word};
use super::simple::weight;
use super::walk::{Context, Outcome, Walker};
use super::wrappers::replaced;
use super::{awk, rare_tools, sed, shells};

pub(super) fn find(name: &str) -> Option<Runner> {
    Some(match name {
        "find" | "gfind" => find_files,
        "fd" | "fdfind" => fd,
        "tar" | "gtar" | "bsdtar" => tar,
        "rg" => ripgrep,
        "sort" | "gsort" => sort,
        "make" | "gmake" => rare_tools::make,
        "rsync" | "scp" | "sftp" => rare_tools::remote_copy,
        "vi" | "vim" | "nvim" | "view" | "ex" | "ed" | "less" | "more" | "man" => {
            rare_tools::editor
        }
        "zip" => rare_tools::zip,
        "sqlite3" | "psql" | "mysql" | "mariadb" | "gnuplot" | "m4" | "ftp" | "mail" | "mailx"
        | "dc" => rare_tools::escapes_to_shell,
        "sed" | "gsed" => sed::run,
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => awk::run,
        "split" => rare_tools::split,
        "ln" => rare_tools::link,
        _ => return None,
    })
}

pub(super) fn stays(walker: &Walker) -> Outcome {
    Outcome::stays(&walker.directory)
}

pub(super) fn read(walker: &mut Walker, text: &Word, context: &Context<'_>, name: &str) {
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
                if word.adds_words() {
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
        let old = index == 1 && !start.starts_with('-');
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
        if word.adds_words() && word.literal_prefix().is_empty() {
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
        if word.adds_words() {
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
        if word.adds_words() {
            walker.doubt(
                "words of `sort` that may be options that run a program",
                &word.shown(),
            );
        }
    }
    stays(walker)
}
