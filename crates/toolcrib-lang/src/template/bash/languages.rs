//! Programs with their own language in one of their words, and programs to which some signs at the beginning of a word mean
//! more than a name.
//!
//! The reader of bash knows the programs that run others. These are about texts that go wrong all the same: a query that a value
//! is pasted into, a name of a file that perl takes for a command.
//!
//! A value that is written to a file is followed as long as the same text names the file as it was written and runs it, sources it,
//! makes it executable or gives it to a program that reads it as code (`sqlite3 db < q.sql`). Files in variables, other spellings of a
//! path, files that another step runs and programs that read files of their own accord (beyond `make`, `npm` and their kin) are left to
//! the judge of the commands.

use super::Bash;
use super::check::{is_substitution, mentioned};
use super::demands::{beginnings_in, names_in};
use crate::shell::programs::{self, Fact};
use crate::shell::shape::{Shape, VariablePosition};
use crate::shell::{Part, RedirectKind, Script, SimpleCommand, Word};
use crate::template::TemplateProblem;
use crate::template::bash::Trust;

/// Options whose value is a text that some shell reads; a value may be a word there, but not a part of a text.
const TEXT_OPTIONS: &[&str] = &[
    "--command",
    "--cmd",
    "--exec",
    "--execute",
    "--eval",
    "--call",
    "--run",
    "--preview",
    "--hook",
    "--script",
    "--shell",
];

/// What comes before code in nearly all programs that take some.
const CODE_OPTIONS: &[&str] = &["-c", "-e", "--eval", "--execute", "-Q", "eval"];

/// Programs without a row in the table to which those letters mean something else.
const OTHER_LETTERS: &[&str] = &[
    "bunzip2",
    "bzip2",
    "cksum",
    "cmp",
    "diff",
    "diff3",
    "hexdump",
    "mosquitto_pub",
    "od",
    "pr",
    "pv",
    "sdiff",
    "strings",
    "sum",
    "unzstd",
    "zstd",
    "zstdcat",
];

/// Refuses values in texts of other languages.
pub(super) fn check(bash: &Bash, script: &Script, shape: &Shape) -> Vec<TemplateProblem> {
    let mut problems: Vec<TemplateProblem> = Vec::new();
    let mut refuse = |index: usize, name: &str| {
        let Some(slot) = bash.slots.get(index) else {
            return;
        };
        if matches!(slot.trust, Trust::Text | Trust::Own)
            && problems.iter().all(|problem| problem.span != slot.span)
        {
            problems.push(slot.refuse(
                "template-code",
                format!(
                    "`{name}` reads the text that `{{{}}}` is part of as code, and the value could change what it does",
                    slot.reference
                ),
                "hand the value over beside the text: `jq --arg x {X} '… $x …'`, a variable of the query, a file",
            ));
        }
    };
    let opened = names_that_run(bash, script, shape);
    for command in &script.commands {
        let Some(name) = command.name() else { continue };
        for (word, partial) in code_words(name, command) {
            let whole = word.parts.len() == 1;
            if partial && whole {
                continue;
            }
            for index in slots(word, shape) {
                refuse(index, name);
            }
        }
        for word in option_texts(command) {
            for index in slots(word, shape) {
                refuse(index, name);
            }
        }
        if let Some((program, code)) = code_behind(command) {
            for index in code.into_iter().flat_map(|word| slots(word, shape)) {
                refuse(index, program);
            }
        }
    }
    for (name, values) in &shape.fed {
        if reads_input(name) || name == "ssh" && starts_shell_elsewhere(script) {
            for holder in values.iter().flat_map(|value| shape.sources(value)) {
                mentioned(&holder).for_each(|index| refuse(index, name));
            }
        }
    }
    for (file, values) in &shape.written {
        let Some(name) = runs_file(script, file) else {
            continue;
        };
        for holder in values.iter().flat_map(|value| shape.sources(value)) {
            mentioned(&holder).for_each(|index| refuse(index, &name));
        }
    }
    for site in &shape.sites {
        let database = site.command.as_deref().filter(|name| reads_input(name));
        let elsewhere = site.command.as_deref().filter(|name| *name == "ssh");
        let elsewhere = elsewhere.filter(|_| starts_shell_elsewhere(script));
        if site.spot == VariablePosition::Input
            && let Some(name) = database.or(elsewhere)
        {
            for index in values_in(&site.variable, shape) {
                refuse(index, name);
            }
        }
    }
    problems.extend(opened);
    problems
}

/// Whether a program reads its input as queries or commands, and can run programs at that.
fn reads_input(name: &str) -> bool {
    programs::find(name).is_some_and(|program| program.lists(Fact::Evaluates, "input"))
}

/// Whether an `ssh` has no command after its host: a shell there runs what it reads.
fn starts_shell_elsewhere(script: &Script) -> bool {
    let valued = programs::find("ssh").map_or("", |ssh| ssh.get(Fact::Valued));
    script.commands.iter().any(|command| {
        let mut is_value = false;
        let operands = command.words.iter().skip(1).filter(|word| {
            let text = word.literal_prefix();
            if std::mem::take(&mut is_value) {
                return false;
            }
            if text.starts_with('-') {
                is_value = text.len() == 2 && text.ends_with(|c| valued.contains(c));
                return false;
            }
            true
        });
        command.name() == Some("ssh") && operands.count() < 2
    })
}

/// Refuses values that begin a name which is a command to the program when a certain sign comes first.
fn names_that_run(bash: &Bash, script: &Script, shape: &Shape) -> Vec<TemplateProblem> {
    let mut problems = Vec::new();
    for command in &script.commands {
        let name = command.name().unwrap_or_default();
        let sign = programs::find(name).map_or("", |program| program.get(Fact::Opens));
        if sign.is_empty() {
            continue;
        }
        let firsts = command.words[1..]
            .iter()
            .filter_map(|word| match word.parts.first() {
                Some(Part::Dynamic(source)) => Some(source),
                _ => None,
            });
        for index in firsts.flat_map(|source| beginnings_in(bash, source, shape)) {
            let slot = &bash.slots[index];
            if matches!(slot.trust, Trust::Text | Trust::Own) {
                problems.push(slot.refuse(
                    "template-code",
                    format!(
                        "`{name}` runs what follows a `{sign}` at the beginning of a name, and the value of `{{{}}}` could begin with it",
                        slot.reference
                    ),
                    "write `./` before it, which makes it a name: ./{X}",
                ));
            }
        }
    }
    problems
}

/// The command that runs a file of a fixed name, sources it or makes it executable.
fn runs_file(script: &Script, file: &str) -> Option<String> {
    let plain = |path: &str| path.trim_start_matches("./").to_owned();
    let file = plain(file);
    let base = file.rsplit('/').next().unwrap_or(&file);
    for command in &script.commands {
        let Some(first) = command.words.first().and_then(Word::as_static) else {
            continue;
        };
        let name = command.name().unwrap_or(first);
        let program = programs::version(name);
        let reads_code = program.is_some_and(|program| program.has(Fact::Executes));
        let named = || {
            command.words.iter().skip(1).any(|word| {
                let text = word.as_static().map(plain);
                text.is_some_and(|text| text == file)
            })
        };
        let is_fed = || {
            command.redirects.iter().any(|redirect| {
                redirect.kind == RedirectKind::Read
                    && redirect.target.as_static().map(plain).as_ref() == Some(&file)
            })
        };
        let reads_input = reads_input(name);
        // An interpreter reads its program from the input if no word names one.
        let has_operands = || {
            command
                .words
                .iter()
                .skip(1)
                .any(|word| !word.literal_prefix().starts_with('-'))
        };
        let reads_program = reads_code && !reads_input && !has_operands();
        if (reads_input || reads_program)
            && (is_fed() || command.piped && is_printed(script, &file))
            || reads_input && name != "mail" && named()
            || (reads_input || reads_code) && is_mentioned(command, &file)
        {
            return Some(name.to_owned());
        }
        if plain(first) == file && first.contains('/')
            || program.is_some_and(|program| program.lists(Fact::Recipes, base))
            || reads_code && named() && (name != "chmod" || makes_executable(command))
        {
            return Some(name.to_owned());
        }
    }
    None
}

/// Whether a text names a file: the name has no letter, digit, dot, dash or slash of another name around it, unless an option of one
/// letter comes right before it.
fn names(text: &str, file: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    text.match_indices(file).any(|(at, _)| {
        let before = text[..at].trim_end_matches("./");
        let after = &text[at + file.len()..];
        let is_option = before.len() == 2 && before.starts_with('-') && at == before.len();
        (is_option || !before.ends_with(is_name)) && !after.starts_with(is_name)
    })
}

/// Whether an option of a command (`-fq.sql`, `--file=q.sql`) or a separate statement (`.read q.sql`) names a file. Statements that take
/// a file as data do not count.
fn is_mentioned(command: &SimpleCommand, file: &str) -> bool {
    let is_statement = |text: &str| {
        let text = text.trim_start();
        [".read", "\\i", "source ", "\\. ", "load "]
            .iter()
            .any(|verb| text.starts_with(verb))
    };
    command
        .words
        .iter()
        .skip(1)
        .filter_map(Word::as_static)
        .any(|text| (text.starts_with('-') || is_statement(text)) && names(text, file))
}

/// Whether a command other than its writer has a file to read.
fn is_printed(script: &Script, file: &str) -> bool {
    script.commands.iter().any(|command| {
        let words = command.words.iter().skip(1);
        let read = command
            .redirects
            .iter()
            .filter(|redirect| redirect.kind == RedirectKind::Read)
            .map(|redirect| &redirect.target);
        words
            .chain(read)
            .filter_map(Word::as_static)
            .any(|text| text.trim_start_matches("./") == file)
    })
}

/// Whether a `chmod` lets something be run: all but what certainly does not.
fn makes_executable(command: &SimpleCommand) -> bool {
    let mode = command.words.iter().skip(1).find_map(Word::as_static);
    mode.is_none_or(|mode| mode.contains(['x', 'X', '1', '3', '5', '7', '+', '-']))
}

/// The slots whose values a word may have in it, through variables, too.
fn slots(word: &Word, shape: &Shape) -> Vec<usize> {
    let sources = word.parts.iter().filter_map(|part| match part {
        Part::Dynamic(source) if !is_substitution(source) => Some(source),
        _ => None,
    });
    let through = |source: &String| -> Vec<usize> {
        let variables = names_in(source).flat_map(|name| values_in(name, shape));
        mentioned(source).chain(variables).collect()
    };
    sources.flat_map(through).collect()
}

/// The slots whose values a variable may hold.
fn values_in(variable: &str, shape: &Shape) -> Vec<usize> {
    let holders = shape.sources(variable);
    let own = mentioned(variable);
    own.chain(holders.iter().flat_map(|holder| mentioned(holder)))
        .collect()
}

/// The words of a command that are code, and whether a whole one may be a value.
fn code_words<'c>(name: &str, command: &'c SimpleCommand) -> Vec<(&'c Word, bool)> {
    let words = &command.words[1..];
    let Some(program) = programs::find(name) else {
        return match programs::version(name) {
            Some(_) => Vec::new(),
            None => unknown(name, command),
        };
    };
    if program.lists(Fact::Evaluates, "words") {
        return words.iter().map(|word| (word, false)).collect();
    }
    if program.has(Fact::Filter) {
        let partial = program.get(Fact::Filter) == "yes";
        return filter(words)
            .map(|word| (word, partial))
            .into_iter()
            .collect();
    }
    let options: Vec<&str> = program
        .words(Fact::Evaluates)
        .filter(|option| !matches!(*option, "input" | "operands"))
        .collect();
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let start = word.literal_prefix();
        if options.contains(&start) && word.is_static() && !start.starts_with('-') {
            // A subcommand: its options may come before the code.
            found.extend(words[index + 1..].iter().map(|word| (word, false)));
            break;
        } else if options.contains(&start) && word.is_static() {
            found.extend(words.get(index + 1).map(|word| (word, false)));
        } else if options
            .iter()
            .any(|option| start.starts_with(option) && !word.is_static())
        {
            found.push((word, false));
        }
    }
    if program.lists(Fact::Evaluates, "operands") {
        // The first operand is the database.
        let operands = words
            .iter()
            .filter(|word| !word.literal_prefix().starts_with('-'));
        found.extend(operands.skip(1).map(|word| (word, false)));
    }
    found
}

/// The words of a program that no one here knows which follow what usually comes before code.
fn unknown<'c>(name: &str, command: &'c SimpleCommand) -> Vec<(&'c Word, bool)> {
    // A file of the workspace is the author's own.
    let first = command.words.first().and_then(Word::as_static);
    let own = first.is_some_and(|path| !path.starts_with('/') && path.contains('/'));
    if own || OTHER_LETTERS.contains(&name) {
        return Vec::new();
    }
    let pairs = command.words[1..].windows(2);
    let code = pairs.filter(|pair| {
        let option = pair[0].as_static();
        option.is_some_and(|option| CODE_OPTIONS.contains(&option))
    });
    code.map(|pair| (&pair[1], false)).collect()
}

/// The program of `jq`: its first operand.
fn filter(words: &[Word]) -> Option<&Word> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let start = word.literal_prefix();
        at += match start {
            "--arg" | "--argjson" | "--slurpfile" | "--rawfile" | "--argfile" => 3,
            "--indent" | "-L" => 2,
            "-f" | "--from-file" => return None,
            // Subcommands of `yq`.
            "eval" | "eval-all" | "e" | "ea" if word.is_static() => 1,
            _ if start.starts_with('-') && start.len() > 1 => 1,
            _ => return Some(word),
        };
    }
    None
}

/// Texts with values in them that an option hands to a shell: `--command "ls {X}"`. Also what `adb shell` is given.
fn option_texts(command: &SimpleCommand) -> Vec<&Word> {
    let words = &command.words;
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate().skip(1) {
        let start = word.literal_prefix();
        let option = start.split('=').next().unwrap_or(start);
        if !TEXT_OPTIONS.contains(&option) {
            continue;
        }
        if start.len() > option.len() + 1 || start.contains('=') && word.parts.len() > 2 {
            found.push(word);
        } else if word.is_static() && !start.contains('=') {
            found.extend(words.get(index + 1).filter(|text| text.parts.len() > 1));
        }
    }
    if command.name() == Some("adb")
        && let Some(at) = words
            .iter()
            .position(|word| word.as_static() == Some("shell"))
    {
        found.extend(&words[at + 1..]);
    }
    found
}

/// A shell or interpreter among the words of a program that no one here knows (`docker exec c sh -c …`), and the code it is given.
fn code_behind(command: &SimpleCommand) -> Option<(&str, Vec<&Word>)> {
    let words = &command.words;
    for (index, word) in words.iter().enumerate().skip(1) {
        let Some(text) = word.as_static() else {
            continue;
        };
        let name = text.rsplit('/').next().unwrap_or(text);
        let Some(program) = programs::version(name).filter(|program| program.has(Fact::Code))
        else {
            continue;
        };
        let letters: &[char] = match program.lists(Fact::Code, "-c") {
            true => &['c'],
            false => &['e', 'E', 'p', 'r'],
        };
        let rest = &words[index + 1..];
        let mut found: Vec<&Word> = Vec::new();
        let mut takes_code = false;
        for word in rest {
            let start = word.literal_prefix();
            if let Some(long) = start.strip_prefix("--") {
                let long = long.split('=').next().unwrap_or(long);
                takes_code |= matches!(
                    long,
                    "eval" | "print" | "command" | "execute" | "exec" | "run"
                );
                found.extend(takes_code.then_some(word));
            } else if start.starts_with('-') && start.len() > 1 {
                takes_code |= start.contains(letters);
                found.extend(takes_code.then_some(word));
            } else if takes_code {
                // The first word that is not an option is the code.
                found.push(word);
                break;
            }
        }
        if !found.is_empty() {
            return Some((name, found));
        }
    }
    None
}

/// What a value must not be, because the program makes more of it than a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::template) enum Forbidden {
    /// `make` expands `$(…)` in what it is given, and recipes hand it to a shell.
    Recipe,
    /// `perl -n` opens `ls|` as a command.
    Pipe,
    /// ImageMagick runs `|ls` and reads `@file`.
    Image,
    /// `vim +!ls` and `less +!ls` run commands.
    Plus,
    /// `mail '|ls'` and `open('|ls')` of ruby run commands.
    FirstBar,
    /// TeX reads its words as its first line.
    Tex,
    /// `gcc @file` reads options from a file, and some of them run programs.
    Options,
    /// `git clone ext::ls` runs a program, and so does any `name::`.
    Helper,
    /// `deno run data:…` runs the address itself, or what it fetches from it.
    Address,
}

impl Forbidden {
    /// Whether it counts for a value that is not the beginning of its word.
    pub(super) fn is_everywhere(self) -> bool {
        match self {
            Forbidden::Recipe | Forbidden::Pipe | Forbidden::Tex | Forbidden::Address => true,
            Forbidden::Image
            | Forbidden::Plus
            | Forbidden::FirstBar
            | Forbidden::Options
            | Forbidden::Helper => false,
        }
    }

    /// The problem of a word.
    pub(super) fn fault(self, word: &str) -> Option<String> {
        let (wrong, message) = match self {
            Forbidden::Recipe => (
                !word
                    .chars()
                    .all(|c| c.is_alphanumeric() || "_./@:+,%-".contains(c)),
                "has signs in it that `make` or the shell of a recipe would read as code; letters, digits and `_./@:+,%-` \
                 are fine",
            ),
            Forbidden::Pipe => (
                word.contains(['|', '<', '>']),
                "contains `|`, `<` or `>`, and perl opens such names as commands or for writing",
            ),
            Forbidden::Image => (
                word.contains('|') || word.starts_with('@'),
                "contains `|` or starts with `@`, and ImageMagick runs such names or reads lists from them",
            ),
            Forbidden::Plus => (
                word.starts_with('+'),
                "starts with `+` and would be taken for a command",
            ),
            Forbidden::FirstBar => (
                word.starts_with('|'),
                "starts with `|` and would be run as a command",
            ),
            Forbidden::Tex => (
                word.contains(['\\', '|', '&', '{', '}', '%', '#', '^', '~', '"', '$']),
                "contains signs that TeX reads as commands; letters, digits, blanks and `_./@:+,=-` are fine",
            ),
            Forbidden::Options => (
                word.starts_with('@'),
                "starts with `@`, and options would be read from that file",
            ),
            Forbidden::Helper => (
                word.split_once("::").is_some_and(|(name, _)| {
                    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
                }),
                "names a helper before `::`, and git would run it",
            ),
            Forbidden::Address => (
                word.contains(':'),
                "contains `:`, and an address there is code to run",
            ),
        };
        wrong.then(|| message.to_owned())
    }
}

/// What the words of a command must not be.
pub(super) fn forbidden(command: &SimpleCommand) -> Option<Forbidden> {
    let name = command.name()?;
    Some(match programs::find(name)?.get(Fact::Forbids) {
        "recipe" => Forbidden::Recipe,
        "pipe" => Forbidden::Pipe,
        "image" => Forbidden::Image,
        "plus" => Forbidden::Plus,
        "first-bar" => Forbidden::FirstBar,
        "tex" => Forbidden::Tex,
        "options" => Forbidden::Options,
        "address" => Forbidden::Address,
        _ if name == "git" && speaks_to_others(command) => Forbidden::Helper,
        _ => return None,
    })
}

/// Whether a command of git takes an address.
fn speaks_to_others(command: &SimpleCommand) -> bool {
    let mut words = command.words.iter().skip(1).filter_map(Word::as_static);
    words.any(|word| programs::is(&format!("git-{word}"), Fact::Forbids, "helper"))
}

#[cfg(test)]
mod tests {
    use crate::definition::ParameterKind;
    use crate::template::{Code, Form, NamedParameter, Names};

    fn is_refused(text: &str) -> bool {
        let names = Names {
            parameters: vec![NamedParameter {
                name: "P".to_owned(),
                kind: ParameterKind::String,
                format: None,
                raw: false,
            }],
            ..Names::default()
        };
        Code::compile(&Form::Bash, text, &names).is_err()
    }

    #[test]
    fn a_value_in_a_file_that_the_same_text_reads_as_code_is_refused() {
        for text in [
            "printf %s {P} > q.sql; sqlite3 db < q.sql",
            "printf %s {P} > ./q.sql && sqlite3 db '.read q.sql'",
            "printf %s {P} > q.sql; cat q.sql | sqlite3 db",
            "echo {P} | tee q.sql; psql -f q.sql",
            "echo {P} > q.sql; psql -fq.sql",
            "echo {P} > sub/q.sql; psql --file=./sub/q.sql",
            "echo {P} > q.sql; mysql db < q.sql",
            "echo {P} > x.py; python3 < x.py",
        ] {
            assert!(is_refused(text), "{text}");
        }
        for text in [
            "echo {P} > x.csv; python3 load.py < x.csv",
            "echo {P} > x.txt; wc -l x.txt; sqlite3 db 'select 1'",
            "echo {P} > q.sql; sqlite3 db < other-q.sql",
        ] {
            assert!(!is_refused(text), "{text}");
        }
    }
}
