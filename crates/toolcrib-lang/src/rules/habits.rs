//! How the programs that everybody uses read their words: which are text, and which files they write.
//!
//! Without this, every word may be a path, and `echo` of a sentence about `/etc/passwd` would look like reading it.

use super::invocation::Invocation;

/// How a program reads its words.
pub(super) struct Habits {
    /// What its operands are.
    pub(super) operands: Operands,
    /// How many operands at the front are text: a pattern, a script, a mode.
    pub(super) text_first: usize,
    /// Options that take the place of the text at the front.
    pub(super) unless: &'static [&'static str],
    /// Options whose value is text.
    pub(super) text: &'static [&'static str],
    /// Options whose value is a file that is written.
    pub(super) writes: &'static [&'static str],
}

/// What the operands of a program are.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Operands {
    /// Text.
    Text,
    /// Files that are read.
    Read,
    /// Files that are written.
    Write,
    /// The last is written, the others are read.
    LastWritten,
}

/// Options that take text wherever they exist.
pub(super) const TEXT_OPTIONS: &[&str] = &[
    "--message",
    "--title",
    "--body",
    "--comment",
    "--description",
    "--grep",
    "--pattern",
    "--regex",
    "--regexp",
    "--query",
    "--format",
    "--header",
    "--author",
    "--subject",
    "--label",
];

const READS: Habits = Habits {
    operands: Operands::Read,
    text_first: 0,
    unless: &[],
    text: &[],
    writes: &[],
};

const TEXT: Habits = Habits {
    operands: Operands::Text,
    ..READS
};

const WRITES: Habits = Habits {
    operands: Operands::Write,
    ..READS
};

/// How this command's program reads its words.
pub(super) fn habits(command: &Invocation<'_>) -> Habits {
    match command.name {
        // Words, numbers, names of other things.
        "echo" | "printf" | ":" | "true" | "false" | "kill" | "sleep" | "seq" | "date" | "expr"
        | "let" | "basename" | "dirname" | "type" | "which" | "man" | "tr" | "trap" | "alias"
        | "set" | "shift" | "read" | "logger" | "ssh" | "ping" | "nc" | "ncat" | "telnet"
        | "eval" | "export" | "declare" | "local" | "readonly" | "unset" | "yes" => TEXT,
        // What a wrapper runs is a command of its own.
        "env" | "sudo" | "doas" | "timeout" | "nice" | "nohup" | "xargs" | "time" | "stdbuf"
        | "setsid" | "exec" | "command" | "builtin" | "watch" | "parallel" | "busybox"
        | "ionice" | "chrt" => TEXT,
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" => Habits {
            text_first: 1,
            unless: &["-e", "-f", "--regexp", "--file", "--files"],
            text: &[
                "-e",
                "-A",
                "-B",
                "-C",
                "-m",
                "--include",
                "--exclude",
                "--exclude-dir",
                "-g",
                "--glob",
                "--iglob",
                "-t",
                "--type",
                "-T",
                "--type-not",
                "--replace",
                "--color",
                "--max-count",
            ],
            ..READS
        },
        "sed" | "gsed" => Habits {
            operands: if command.has("-i|--in-place") {
                Operands::Write
            } else {
                Operands::Read
            },
            text_first: 1,
            unless: &["-e", "-f", "--expression", "--file"],
            text: &["-e", "--expression"],
            writes: &[],
        },
        "awk" | "gawk" | "mawk" | "nawk" => Habits {
            text_first: 1,
            unless: &["-f", "--file"],
            text: &["-v", "-F"],
            ..READS
        },
        "jq" | "yq" => Habits {
            text_first: 1,
            unless: &["-f", "--from-file"],
            text: &["--arg", "--argjson"],
            ..READS
        },
        "git" => Habits {
            text_first: if command
                .operands()
                .next()
                .is_some_and(|operand| operand.text == "grep")
            {
                2
            } else {
                1
            },
            text: &[
                "-m", "-S", "-G", "-c", "--pretty", "--date", "--since", "--until",
            ],
            ..READS
        },
        "find" | "fd" => Habits {
            text: &[
                "-name",
                "-iname",
                "-path",
                "-ipath",
                "-wholename",
                "-regex",
                "-iregex",
                "-type",
                "-maxdepth",
                "-mindepth",
                "-mtime",
                "-mmin",
                "-size",
                "-perm",
                "-user",
                "-group",
                "-newermt",
                "-printf",
            ],
            writes: &["-fprint", "-fprintf", "-fls", "-fprint0"],
            ..READS
        },
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "fish" => Habits {
            text: &["-c"],
            ..READS
        },
        "python" | "python2" | "python3" => Habits {
            text: &["-c", "-m", "-W", "-X"],
            ..READS
        },
        "perl" | "ruby" => Habits {
            operands: if command.has("-i") {
                Operands::Write
            } else {
                Operands::Read
            },
            text: &["-e", "-E", "-M"],
            ..READS
        },
        "node" | "deno" | "bun" => Habits {
            text: &["-e", "--eval", "-p", "--print"],
            ..READS
        },
        "php" => Habits {
            text: &["-r"],
            ..READS
        },
        "lua" => Habits {
            text: &["-e"],
            ..READS
        },
        "tee" | "mkdir" | "rmdir" | "rm" | "unlink" | "mkfifo" | "mv" | "install" => Habits {
            text: &["-m", "--mode", "-o", "-g"],
            writes: &["-t", "--target-directory"],
            ..WRITES
        },
        "touch" => Habits {
            text: &["-d", "-t", "--date"],
            ..WRITES
        },
        "truncate" => Habits {
            text: &["-s", "--size"],
            ..WRITES
        },
        "shred" => Habits {
            text: &["-n", "-s"],
            ..WRITES
        },
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" => Habits {
            text_first: 1,
            unless: &["--reference"],
            ..WRITES
        },
        "cp" | "ln" | "rsync" | "scp" | "link" => Habits {
            operands: Operands::LastWritten,
            text: &["--exclude", "--include", "-e", "--rsh"],
            writes: &["-t", "--target-directory"],
            ..READS
        },
        "sort" => Habits {
            text: &["-t", "-k", "-S"],
            writes: &["-o", "--output"],
            ..READS
        },
        "tar" | "bsdtar" => Habits {
            text: &["--exclude", "--transform"],
            writes: if makes_an_archive(command) {
                &["-f", "--file"]
            } else {
                &["-C", "--directory"]
            },
            ..READS
        },
        "unzip" => Habits {
            writes: &["-d"],
            ..READS
        },
        "curl" | "http" | "https" => Habits {
            text: &[
                "-H",
                "-X",
                "-A",
                "-u",
                "-e",
                "-w",
                "--data-raw",
                "--url",
                "--request",
                "--user",
                "--user-agent",
            ],
            writes: &[
                "-o",
                "--output",
                "--output-dir",
                "-c",
                "--cookie-jar",
                "-D",
                "--dump-header",
            ],
            ..READS
        },
        "wget" => Habits {
            text: &["-U", "--user-agent", "--post-data"],
            writes: &[
                "-O",
                "--output-document",
                "-P",
                "--directory-prefix",
                "-o",
                "--output-file",
            ],
            ..READS
        },
        "gh" | "glab" => Habits {
            text: &["-t", "-b", "-q", "-f", "--jq", "--field"],
            operands: Operands::Text,
            ..READS
        },
        "make" | "gmake" => Habits {
            text: &["-j"],
            ..READS
        },
        _ => READS,
    }
}

fn makes_an_archive(command: &Invocation<'_>) -> bool {
    let first = command
        .args
        .first()
        .map(|arg| arg.text.as_ref())
        .unwrap_or_default();
    command.has("--create|--append|--update")
        || (!first.starts_with("--") && first.trim_start_matches('-').contains(['c', 'r', 'u']))
}
