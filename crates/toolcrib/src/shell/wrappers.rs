//! Programs whose words are, after some options, a command.

use super::lex::Dialect;
use super::options::{self, Given, Spec};
use super::runners::Runner;
use super::script::{Directory, Part, Word};
use super::walk::{Context, Outcome, Walker};
use super::{builtins, shells, variables};

/// A wrapper whose options are known.
struct Wrapper {
    name: &'static str,
    spec: Spec,
    /// How many operands stand before the command.
    operands: usize,
    /// Whether `NAME=value` may stand before the command.
    sets_variables: bool,
}

const NONE: Spec = Spec {
    flags: "",
    valued: "",
    optional: "",
    long_flags: "help version",
    long_valued: "",
};

const fn wrapper(name: &'static str, spec: Spec, operands: usize) -> Wrapper {
    Wrapper {
        name,
        spec,
        operands,
        sets_variables: false,
    }
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "env",
        spec: Spec {
            flags: "i0v",
            valued: "uCS",
            optional: "",
            long_flags: "ignore-environment null debug list-signal-handling block-signal default-signal ignore-signal help \
            version",
            long_valued: "unset chdir split-string argv0",
        },
        operands: 0,
        sets_variables: true,
    },
    Wrapper {
        name: "sudo",
        spec: Spec {
            flags: "AbBEHiKklNnPSsVv",
            valued: "aCcDghpRrTtuU",
            optional: "",
            long_flags: "askpass background bell preserve-env set-home help login remove-timestamp reset-timestamp list \
            non-interactive preserve-groups stdin shell version validate no-update",
            long_valued: "auth-type close-from login-class chdir group host prompt chroot role type command-timeout user \
            other-user",
        },
        operands: 0,
        sets_variables: true,
    },
    wrapper(
        "doas",
        Spec {
            flags: "Lns",
            valued: "uCa",
            ..NONE
        },
        0,
    ),
    wrapper(
        "timeout",
        Spec {
            flags: "vfp",
            valued: "ks",
            long_flags: "foreground preserve-status verbose help version",
            long_valued: "kill-after signal",
            ..NONE
        },
        1,
    ),
    wrapper(
        "gtimeout",
        Spec {
            flags: "v",
            valued: "ks",
            long_flags: "foreground preserve-status verbose help version",
            long_valued: "kill-after signal",
            ..NONE
        },
        1,
    ),
    wrapper(
        "nice",
        Spec {
            flags: "0123456789",
            valued: "n",
            long_valued: "adjustment",
            ..NONE
        },
        0,
    ),
    wrapper(
        "ionice",
        Spec {
            flags: "t",
            valued: "cnpPu",
            long_flags: "ignore help version",
            long_valued: "class classdata pid pgid uid",
            ..NONE
        },
        0,
    ),
    wrapper("nohup", NONE, 0),
    wrapper(
        "setsid",
        Spec {
            flags: "cfwVh",
            long_flags: "ctty fork wait help version",
            ..NONE
        },
        0,
    ),
    wrapper(
        "stdbuf",
        Spec {
            valued: "ioe",
            long_valued: "input output error",
            ..NONE
        },
        0,
    ),
    wrapper(
        "time",
        Spec {
            flags: "apqvV",
            valued: "fo",
            long_flags: "append portability quiet verbose help version",
            long_valued: "format output",
            ..NONE
        },
        0,
    ),
    wrapper(
        "chroot",
        Spec {
            long_flags: "skip-chdir help version",
            long_valued: "groups userspec",
            ..NONE
        },
        1,
    ),
    wrapper(
        "unshare",
        Spec {
            flags: "muinpUCTfrcVh",
            valued: "SGRwl",
            optional: "",
            long_flags: "mount uts ipc net pid user cgroup time fork map-root-user map-current-user map-auto keep-caps \
            kill-child mount-proc mount-binfmt help version",
            long_valued: "propagation setgroups map-user map-group map-users map-groups setuid setgid root wd monotonic \
            boottime load-interp",
        },
        0,
    ),
    wrapper(
        "nsenter",
        Spec {
            flags: "aFZceVh",
            valued: "tSG",
            optional: "muinpUCTrwW",
            long_flags: "all mount uts ipc net pid user cgroup time root wd no-fork preserve-credentials keep-caps \
            follow-context env join-cgroup help version",
            long_valued: "target setuid setgid wdns user-parent net-socket",
        },
        0,
    ),
    wrapper(
        "taskset",
        Spec {
            flags: "apcVh",
            long_flags: "all-tasks pid cpu-list help version",
            ..NONE
        },
        1,
    ),
    wrapper(
        "chrt",
        Spec {
            flags: "abdfiomprRveVh",
            valued: "TPD",
            long_flags: "all-tasks batch deadline fifo idle other max pid rr reset-on-fork verbose ext help version",
            long_valued: "sched-runtime sched-period sched-deadline",
            ..NONE
        },
        1,
    ),
    wrapper(
        "setpriv",
        Spec {
            flags: "dhV",
            long_flags: "dump nnp no-new-privs clear-groups keep-groups init-groups reset-env help version",
            long_valued: "ambient-caps inh-caps bounding-set ruid euid rgid egid reuid regid groups list-caps securebits \
            pdeathsig selinux-label apparmor-profile",
            ..NONE
        },
        0,
    ),
    wrapper(
        "prlimit",
        Spec {
            flags: "hV",
            valued: "po",
            optional: "cdefilmnqrstuvxy",
            long_flags: "help version noheadings raw verbose core data nice fsize sigpending memlock rss nofile msgqueue \
            rtprio stack cpu nproc as locks rttime",
            long_valued: "pid output",
        },
        0,
    ),
    wrapper(
        "fakeroot",
        Spec {
            flags: "uhv",
            valued: "lsib",
            long_flags: "help version unknown-is-real",
            long_valued: "lib faked",
            ..NONE
        },
        0,
    ),
    wrapper(
        "chronic",
        Spec {
            flags: "ve",
            ..NONE
        },
        0,
    ),
    wrapper("catchsegv", NONE, 0),
    wrapper("eatmydata", NONE, 0),
    wrapper("unbuffer", Spec { flags: "p", ..NONE }, 0),
    wrapper(
        "caffeinate",
        Spec {
            flags: "dimsu",
            valued: "tw",
            ..NONE
        },
        0,
    ),
    wrapper(
        "linux32",
        Spec {
            flags: "BFILRSTXZv3",
            ..NONE
        },
        0,
    ),
    wrapper(
        "linux64",
        Spec {
            flags: "BFILRSTXZv3",
            ..NONE
        },
        0,
    ),
    wrapper(
        "runcon",
        Spec {
            flags: "c",
            valued: "turl",
            long_flags: "compute help version",
            long_valued: "type user role range",
            ..NONE
        },
        1,
    ),
    wrapper(
        "pkexec",
        Spec {
            long_flags: "disable-internal-agent keep-cwd help version",
            long_valued: "user",
            ..NONE
        },
        0,
    ),
    wrapper(
        "strace",
        Spec {
            flags: "cCdfDFhiknqrtTvVwxyYzZ",
            valued: "aAbeEIoOpPsSuUX",
            ..NONE
        },
        0,
    ),
    wrapper(
        "ltrace",
        Spec {
            flags: "cCfhiLnrStTV",
            valued: "aAeDFlnopsuwx",
            ..NONE
        },
        0,
    ),
];

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

pub(super) fn find(name: &str) -> Option<Runner> {
    Some(match name {
        "xargs" => xargs,
        "busybox" | "toybox" => applet,
        "flock" => flock,
        "watch" => watch,
        "ssh" => ssh,
        "su" => su,
        "script" => script,
        "uv" | "poetry" | "pipenv" | "pdm" | "rye" | "hatch" | "bundle" | "mise" | "direnv"
        | "conda" | "nix" | "nix-shell" | "npx" | "bunx" | "pnpm" | "yarn" | "uvx" => {
            run_in_project
        }
        _ if UNCLEAR.contains(&name) => unclear,
        _ if WRAPPERS.iter().any(|wrapper| wrapper.name == name) => wrapped,
        _ => return None,
    })
}

fn stays(walker: &Walker) -> Outcome {
    Outcome::stays(&walker.directory)
}

fn not_understood(walker: &mut Walker, name: &str, shown: &str) -> Outcome {
    walker.doubt(
        format!("options of `{name}` that are not understood: what it runs cannot be told"),
        shown,
    );
    stays(walker)
}

fn value<'g>(given: &'g [Given], names: &[&str]) -> Option<&'g Word> {
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
        "env" => {
            if let Some(text) = value(&given, &["S", "split-string"]) {
                return split_string(walker, text, &words[1 + used..], context);
            }
        }
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
    if let Some(target) =
        value(&given, &["C", "chdir", "D"]).filter(|_| matches!(name, "env" | "sudo"))
        && !(name == "sudo" && value(&given, &["D", "chdir"]).is_none())
    {
        directory = match target.as_static() {
            Some(path) => directory.join(path),
            None => Directory::Unknown,
        };
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
fn split_string(walker: &mut Walker, text: &Word, rest: &[Word], context: &Context<'_>) -> Outcome {
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
                None => return not_understood(walker, "env", text),
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
    stays(walker)
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

fn flock(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let spec = Spec {
        flags: "seoxnuFvhV",
        valued: "wE",
        optional: "",
        long_flags: "shared exclusive unlock nonblock nb close no-fork verbose help version",
        long_valued: "timeout wait conflict-exit-code",
    };
    let (_, used) = match options::parse(&words[1..], &spec) {
        Ok(parsed) => parsed,
        Err(shown) => return not_understood(walker, name, &shown),
    };
    let rest = words.get(2 + used..).unwrap_or_default();
    let inner = context.inside(name);
    match rest.first().map(|word| word.as_static()) {
        Some(Some("-c" | "--command")) => match rest.get(1) {
            Some(text) => shells::read_word(
                walker,
                text,
                Dialect::Sh,
                &inner,
                "`flock -c` runs a text that cannot be told",
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

fn watch(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let spec = Spec {
        flags: "bcegprtwxCfhv",
        valued: "nqs",
        optional: "d",
        long_flags: "beep color no-color differences errexit chgexit precise no-rerun no-title no-wrap exec follow help \
            version",
        long_valued: "interval equexit shotsdir",
    };
    let (given, used) = match options::parse(&words[1..], &spec) {
        Ok(parsed) => parsed,
        Err(shown) => return not_understood(walker, name, &shown),
    };
    let rest = &words[1 + used..];
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
            "`watch` runs a text that cannot be told",
        );
    }
    stays(walker)
}

/// Reads words that a program joins to a text for a shell.
fn read_joined(walker: &mut Walker, words: &[Word], inner: &Context<'_>, reason: &str) {
    match builtins::joined(words) {
        Some(text) => walker.child_text(&text, Dialect::Sh, inner),
        None => shells::read_unclear(walker, words, Dialect::Sh, inner, reason),
    }
}

fn ssh(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let spec = Spec {
        flags: "46AaCfGgKkMNnqsTtVvXxYy",
        valued: "BbcDEeFIiJLlmOoPpQRSWw",
        ..Spec::default()
    };
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
            let runs = [
                "proxycommand",
                "localcommand",
                "permitlocalcommand",
                "knownhostscommand",
                "match",
                "include",
                "pkcs11provider",
                "securitykeyprovider",
            ];
            if option.name == "o"
                && (!value.is_static() && value.literal_prefix().is_empty()
                    || runs.iter().any(|key| lower.trim_start().starts_with(key)))
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
    if !words.is_empty() {
        walker.in_directory(Directory::Unknown, |walker| {
            read_joined(
                walker,
                words,
                &inner,
                "`ssh` runs a text that cannot be told",
            );
        });
    }
    stays(walker)
}

fn su(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
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
                    "`su -c` runs a text that cannot be told",
                );
            });
        }
    }
    if !found {
        walker.doubt("`su` starts a shell", name);
    }
    stays(walker)
}

fn script(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let inner = context.inside(name);
    let spec = Spec {
        flags: "aefqhV",
        valued: "BcEImoOT",
        optional: "t",
        long_flags: "append return flush force quiet timing help version",
        long_valued: "log-io command echo log-in logging-format output-limit log-out log-timing",
    };
    let (given, used) = match options::parse(&words[1..], &spec) {
        Ok(parsed) => parsed,
        Err(shown) => return not_understood(walker, name, &shown),
    };
    let mut rest = &words[1 + used..];
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
            "`script -c` runs a text that cannot be told",
        );
    }
    stays(walker)
}

/// Programs that run a command in a project's environment: `uv run pytest`. What could be the command is listed.
fn run_in_project(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let verbs: &[&str] = match name {
        "npx" | "bunx" | "uvx" | "nix-shell" => &[],
        "bundle" | "mise" | "direnv" | "pnpm" | "yarn" => &["exec", "x", "dlx"],
        "nix" => &["develop", "shell", "run"],
        _ => &["run"],
    };
    let inner = context.inside(name);
    let mut rest = &words[1..];
    if !verbs.is_empty() {
        let Some(at) = words
            .iter()
            .position(|word| word.as_static().is_some_and(|text| verbs.contains(&text)))
        else {
            return stays(walker);
        };
        rest = &words[at + 1..];
    }
    for (index, word) in rest.iter().enumerate() {
        if matches!(
            word.as_static(),
            Some("-c" | "--call" | "--run" | "--command")
        ) && let Some(text) = rest.get(index + 1)
        {
            let text = text.clone();
            if name == "nix" {
                walker.run_words(rest[index + 1..].to_vec(), &inner);
            } else {
                shells::read_word(
                    walker,
                    &text,
                    Dialect::Sh,
                    &inner,
                    "a text that cannot be told is run",
                );
            }
            return stays(walker);
        }
    }
    let mut listed = 0;
    for (index, word) in rest.iter().enumerate() {
        if word.literal_prefix().starts_with('-') {
            continue;
        }
        let after_option = index > 0
            && rest[index - 1].literal_prefix().starts_with('-')
            && rest[index - 1].as_static() != Some("--");
        walker.run_words(rest[index..].to_vec(), &inner);
        listed += 1;
        // A word after an option may be that option's value.
        if listed > 3 || !(after_option || name == "direnv" && index == 0) {
            break;
        }
    }
    stays(walker)
}

fn unclear(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let asks = words.len() == 2
        && matches!(
            words[1].as_static(),
            Some("--version" | "--help" | "-V" | "-h" | "-l" | "ls" | "list-sessions")
        );
    if words.len() < 2 || asks {
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
