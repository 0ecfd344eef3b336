//! Programs whose words are, after some options, a command.

use super::lex::Dialect;
use super::options::{self, Given, Spec};
use super::runners::Runner;
use super::script::{Directory, Part, Word};
use super::walk::{Context, Input, Outcome, Walker};
use super::wrapper_table::WRAPPERS;
use super::{shells, text_wrappers, variables};

/// Programs that run their words, but whose options are not known well enough.
const UNCLEAR: &[&str] = &[
    "parallel",
    "systemd-run",
    "firejail",
    "bwrap",
    "proxychains",
    "proxychains4",
    "tsocks",
    "torsocks",
    "faketime",
    "dbus-run-session",
    "dbus-launch",
    "xvfb-run",
    "rlwrap",
    "expect",
    "ssh-agent",
    "sg",
    "sem",
    "proot",
    "chokidar",
    "onchange",
    "arch",
    "newgrp",
    "machinectl",
    "systemd-nspawn",
    "numactl",
    "chpst",
    "softlimit",
    "start-stop-daemon",
    "at",
    "batch",
    "crontab",
    "entr",
    "hyperfine",
    "perf",
    "cpulimit",
    "cgexec",
    "choom",
    "setarch",
    "valgrind",
    "gdb",
    "lldb",
    "runuser",
    "capsh",
    "tmux",
    "screen",
    "daemonize",
    "pssh",
    "clush",
    "watchexec",
    "nodemon",
    "pwsh",
    "powershell",
    "osascript",
    "tclsh",
    "guile",
    "emacs",
    "ghci",
    "julia",
    "busybox-static",
];

/// Interpreters whose inline code nobody here can read; a script's name is fine.
const INTERPRETERS: &[&str] = &[
    "elixir", "iex", "erl", "racket", "sbcl", "ocaml", "scala", "groovy", "jshell", "octave",
    "raku", "janet", "irb", "pry", "clojure", "clj", "swipl", "ghc", "runghc", "just", "tcc",
    "ts-node", "tsx",
];

pub(super) fn find(name: &str) -> Option<Runner> {
    Some(match name {
        "xargs" => xargs,
        "busybox" | "toybox" => applet,
        "flock" => text_wrappers::flock,
        "watch" => text_wrappers::watch,
        "ssh" => text_wrappers::ssh,
        "su" => text_wrappers::su,
        "script" => text_wrappers::script,
        "uv" | "poetry" | "pipenv" | "pdm" | "rye" | "hatch" | "bundle" | "mise" | "direnv"
        | "conda" | "mamba" | "micromamba" | "nix" | "nix-shell" | "npx" | "bunx" | "pnpm"
        | "yarn" | "uvx" | "pipx" | "rbenv" | "pyenv" | "asdf" | "fnm" | "nvm" | "volta"
        | "rustup" | "aws-vault" | "chamber" | "op" | "foreman" | "honcho" | "dotenv"
        | "dotenvx" | "env-cmd" => text_wrappers::run_in_project,
        "npm" => text_wrappers::npm,
        _ if UNCLEAR.contains(&name) => unclear,
        _ if INTERPRETERS.contains(&name) => interpreter,
        _ if WRAPPERS.iter().any(|wrapper| wrapper.name == name) => wrapped,
        _ => return None,
    })
}

pub(super) fn stays(walker: &Walker) -> Outcome {
    Outcome::stays(&walker.directory)
}

pub(super) fn not_understood(walker: &mut Walker, name: &str, shown: &str) -> Outcome {
    walker.doubt(
        format!("options of `{name}` that are not understood: what it runs cannot be told"),
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

fn wrapped(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) else {
        return stays(walker);
    };
    // `nice -5` and `nice --5`
    let (given, used) = match options::parse(&words[1..], &wrapper.spec) {
        Ok(parsed) => parsed,
        Err(shown) => return not_understood(walker, name, &shown),
    };
    let mut directory = walker.directory.clone();
    match name {
        "chroot" | "unshare" | "nsenter" => directory = Directory::Unknown,
        "sudo"
            if given
                .iter()
                .any(|option| matches!(option.name.as_str(), "i" | "login" | "R" | "chroot")) =>
        {
            directory = Directory::Unknown;
        }
        "strace"
            if given.iter().any(|option| {
                option.name == "o"
                    && option.value.as_ref().is_some_and(|value| {
                        !value.is_static() || value.literal_prefix().starts_with(['|', '!'])
                    })
            }) =>
        {
            walker.doubt("`strace -o` may run a program", name);
        }
        _ => {}
    }
    let moves: &[&str] = match name {
        "env" => &["C", "chdir"],
        "sudo" => &["D", "chdir"],
        _ => &[],
    };
    if let Some(target) = value(&given, moves) {
        directory = match target.as_static() {
            Some(path) => directory.join(path),
            None => Directory::Unknown,
        };
    }
    if name == "env"
        && let Some(text) = value(&given, &["S", "split-string"])
    {
        walker.in_directory(directory, |walker| {
            split_string(walker, text, &words[1 + used..], context);
        });
        return stays(walker);
    }
    let mut rest = &words[1 + used..];
    if wrapper.sets_variables {
        rest = assignments(walker, rest, context);
    }
    // `env -` is `env -i`.
    if name == "env" && rest.first().and_then(Word::as_static) == Some("-") {
        rest = assignments(walker, &rest[1..], context);
    }
    for operand in rest.iter().take(wrapper.operands) {
        if operand.splits {
            return not_understood(walker, name, &operand.shown());
        }
    }
    let rest = rest.get(wrapper.operands..).unwrap_or_default();
    if rest.is_empty() {
        if matches!(name, "chroot" | "unshare" | "nsenter")
            || name == "sudo"
                && given
                    .iter()
                    .any(|option| matches!(option.name.as_str(), "i" | "s" | "login" | "shell"))
        {
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

/// `env -S`: splits a text into words, with quotes of its own.
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

fn xargs(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let spec = Spec {
        flags: "0rtpxo",
        valued: "aEILnPsdJRS",
        optional: "eil",
        long_flags: "null no-run-if-empty verbose interactive exit open-tty show-limits eof replace max-lines help \
            version",
        long_valued: "arg-file delimiter max-args max-procs max-chars process-slot-var",
    };
    let (given, used) = match options::parse(&words[1..], &spec) {
        Ok(parsed) => parsed,
        Err(shown) => return not_understood(walker, name, &shown),
    };
    let rest = &words[1 + used..];
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
            walker.doubt("what `xargs` replaces cannot be told", name);
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

fn applet(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
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

fn interpreter(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
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

fn unclear(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
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
        format!("`{name}` runs commands from its words, and which cannot be told"),
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
