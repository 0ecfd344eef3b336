//! Which words of a command are paths, and whether they are read or written.
//!
//! [`habits`](super::habits) asks the table of programs. For a program that is not in it, what can be a path is one, and is read.

use std::path::PathBuf;

use super::destination::Located;
use super::habits::{Habits, Operands, TEXT_OPTIONS, habits};
use super::invocation::{Arg, Invocation, word_text};
use super::links;
use super::name_glob::NameGlob;
use crate::shell::{Directory, Part, RedirectKind, Word};

/// A path that a call names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathWord {
    pub(super) located: Located,
    /// As it was written.
    pub(super) text: String,
    pub(super) access: Access,
}

/// How a path is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// It is read, or looked at.
    Read,
    /// It is made, changed or removed.
    Write,
}

/// The most links of a text that are looked at.
const MAX_MADE_LINKS: usize = 64;

/// The paths that a command names.
pub(super) fn of(command: &Invocation<'_>) -> Vec<PathWord> {
    let mut found = CommandPaths {
        command,
        paths: Vec::new(),
    };
    for redirect in &command.command.redirects {
        let access = match redirect.kind {
            RedirectKind::Read => Access::Read,
            RedirectKind::Write => Access::Write,
        };
        found.add_at(&redirect.target, &redirect.directory, access);
    }
    for (at, possible) in &command.targets {
        let redirect = &command.command.redirects[*at];
        let access = match redirect.kind {
            RedirectKind::Read => Access::Read,
            RedirectKind::Write => Access::Write,
        };
        for word in possible.words.iter().filter(|word| names_something(word)) {
            found.add_at(word, &redirect.directory, access);
        }
    }
    if command.args.is_empty() {
        return found.paths;
    }
    let habits = habits(command);
    let replaced = command.args.iter().any(|arg| {
        arg.is_option()
            && habits
                .unless
                .iter()
                .any(|option| is(option, &arg.text) || ends_with_letter(option, &arg.text))
    });
    let mut text_left = if replaced { 0 } else { habits.text_first };
    let operands = command.args.iter().filter(|arg| !arg.is_option()).count();
    let mut operand = 0;
    let mut next = Next::Anything;
    let mut in_exec = false;
    for arg in &command.args {
        let text = arg.text.as_ref();
        if in_exec {
            in_exec = !matches!(text, ";" | "+" | "\\;");
            continue;
        }
        if command.name == "find" && matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir") {
            in_exec = true;
            continue;
        }
        match std::mem::replace(&mut next, Next::Anything) {
            Next::Anything => {}
            Next::Text => continue,
            Next::Written => {
                found.add(arg.word, Access::Write);
                continue;
            }
            Next::Read => {
                found.add(arg.word, Access::Read);
                continue;
            }
        }
        if arg.is_option() {
            next = found.option(arg, &habits);
            continue;
        }
        operand += 1;
        if text_left > 0 {
            text_left -= 1;
            continue;
        }
        let access = match habits.operands {
            Operands::Text => continue,
            Operands::Read => Access::Read,
            Operands::Write => Access::Write,
            Operands::LastWritten if operand == operands && operands > 1 => Access::Write,
            Operands::LastWritten => Access::Read,
        };
        found.operand(arg.word, &arg.text, access);
        for word in arg
            .possible
            .words
            .iter()
            .filter(|word| names_something(word))
        {
            found.operand(word, &word_text(word), access);
        }
    }
    found.paths
}

/// What the word after an option is.
enum Next {
    Anything,
    Text,
    Read,
    Written,
}

struct CommandPaths<'c, 's> {
    command: &'c Invocation<'s>,
    paths: Vec<PathWord>,
}

impl CommandPaths<'_, '_> {
    fn option(&mut self, arg: &Arg<'_>, habits: &Habits) -> Next {
        let text = arg.text.as_ref();
        let among = |options: &[&str]| options.iter().any(|option| is(option, text));
        if let Some((_, value)) = text.split_once('=').filter(|_| text.starts_with("--")) {
            if among(&habits.text) || among(TEXT_OPTIONS) {
                return Next::Anything;
            }
            let access = if among(&habits.writes) {
                Access::Write
            } else {
                Access::Read
            };
            self.add(&without(arg.word, text.len() - value.len()), access);
            return Next::Anything;
        }
        if among(&habits.text) || among(TEXT_OPTIONS) {
            return Next::Text;
        }
        if among(&habits.writes) {
            return Next::Written;
        }
        if self.command.name == "git" && matches!(text, "-C" | "--git-dir" | "--work-tree") {
            return Next::Read;
        }
        if text.starts_with("--") {
            return Next::Anything;
        }
        // `git commit -am text`, `tar czf file`: the last letter of a cluster takes the next word.
        if habits
            .text
            .iter()
            .any(|option| ends_with_letter(option, text))
        {
            return Next::Text;
        }
        if habits
            .writes
            .iter()
            .any(|option| ends_with_letter(option, text))
        {
            return Next::Written;
        }
        // `-ofile`, `-I/usr/include`
        let glued = |options: &[&str]| {
            options
                .iter()
                .any(|option| option.len() == 2 && text.starts_with(option))
        };
        if glued(&habits.text) {
            return Next::Anything;
        }
        let value = text.get(2..).unwrap_or_default();
        if glued(&habits.writes) {
            self.add(&without(arg.word, 2), Access::Write);
        } else if value.starts_with(['/', '~'])
            || value.starts_with("./")
            || value.starts_with("../")
        {
            self.add(&without(arg.word, 2), Access::Read);
        }
        Next::Anything
    }

    fn operand(&mut self, word: &Word, text: &str, access: Access) {
        if let Some((key, value)) = text.split_once('=')
            && !key.is_empty()
            && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            let access = if self.command.name == "dd" && key == "of" {
                Access::Write
            } else {
                access
            };
            self.add(&without(word, text.len() - value.len()), access);
            return;
        }
        // `-v ~/.ssh:/root/.ssh`, `host:path`
        if text.contains(':') && !text.contains("://") {
            for piece in pieces(word) {
                let text = word_text(&piece);
                if text.contains('/') || text.starts_with('~') {
                    self.add(&piece, access);
                }
            }
            return;
        }
        self.add(word, access);
    }

    fn add(&mut self, word: &Word, access: Access) {
        self.add_at(word, &self.command.command.directory, access);
    }

    fn add_at(&mut self, word: &Word, directory: &Directory, access: Access) {
        let text = word_text(word);
        // `curl -d @file`
        if let Some(rest) = text.strip_prefix('@')
            && !rest.is_empty()
        {
            return self.add_at(&without(word, 1), directory, Access::Read);
        }
        if let Some(rest) = text.strip_prefix("file://") {
            return self.add_at(&Word::text(rest), directory, access);
        }
        if !can_be_a_path(&text) {
            return;
        }
        let located = self.command.place.locate(word, directory);
        // A `cd` that may fail: where it leads if it does not.
        let hoped = &self.command.command.hoped;
        if *directory == Directory::Unknown && *hoped != Directory::Unknown {
            let guess = self.command.place.locate(word, hoped);
            if guess != located {
                self.push(guess, &text, access);
            }
        }
        self.push(located, &text, access);
        if self.command.follows_links {
            self.follow(word, directory, access);
        }
    }

    /// Adds a path, and where it leads by a link that the text makes.
    fn push(&mut self, located: Located, text: &str, access: Access) {
        for (link, target) in self.command.links.iter().take(MAX_MADE_LINKS) {
            // These are about the link itself.
            let itself = located.names.len() == link.names.len()
                && matches!(self.command.name, "ln" | "rm" | "unlink" | "mv");
            if located.root == link.root
                && !link.names.is_empty()
                && !itself
                && located.names.starts_with(&link.names)
            {
                let mut led = target.clone();
                led.names
                    .extend_from_slice(&located.names[link.names.len()..]);
                self.paths.push(PathWord {
                    located: led,
                    text: text.to_owned(),
                    access,
                });
            }
        }
        self.paths.push(PathWord {
            located,
            text: text.to_owned(),
            access,
        });
    }

    /// Adds where a path leads by a link: a fixed one, and one whose last name is a pattern.
    fn follow(&mut self, word: &Word, directory: &Directory, access: Access) {
        let place = self.command.place;
        let led: Vec<PathBuf> = match word.parts.as_slice() {
            [Part::Text(path)] => {
                let path = place.real_path(path, directory);
                path.and_then(|path| links::leads(&path))
                    .into_iter()
                    .collect()
            }
            [Part::Glob(pattern)] | [Part::Text(_), Part::Glob(pattern)]
                if !pattern.contains('/') =>
            {
                let within = match word.parts.as_slice() {
                    [Part::Text(within), _] => within,
                    _ => ".",
                };
                let path = place.real_path(within, directory);
                let path = path.map(|path| links::leads(&path).unwrap_or(path));
                let pattern = NameGlob::parse(pattern);
                let fitting = path.map(|path| links::fitting(&path, &pattern));
                let fitting = fitting.unwrap_or_default();
                fitting
                    .iter()
                    .filter_map(|link| links::leads(link))
                    .collect()
            }
            _ => return,
        };
        for path in led {
            let located = place.locate_text(&path.to_string_lossy());
            self.paths.push(PathWord {
                text: located.text(),
                located,
                access,
            });
        }
    }
}

/// Whether an option is this one, in full, or shortened if it is a long one, or with a value.
fn is(option: &str, given: &str) -> bool {
    let given = given.split('=').next().unwrap_or_default();
    given == option || (option.starts_with("--") && given.len() > 4 && option.starts_with(given))
}

/// Whether a cluster of short options, `-am`, ends with a short option, `-m`.
fn ends_with_letter(option: &str, cluster: &str) -> bool {
    option.len() == 2
        && !cluster.starts_with("--")
        && cluster.len() > 2
        && cluster[1..].chars().all(|c| c.is_ascii_alphabetic())
        && cluster.ends_with(&option[1..])
}

/// Whether a word that another may become names a path: options do not, and a pattern alone names nothing in particular.
fn names_something(word: &Word) -> bool {
    !matches!(word.parts.first(), None | Some(Part::Glob(_)))
        && !word.literal_prefix().starts_with('-')
}

fn can_be_a_path(text: &str) -> bool {
    if text.is_empty() || text == "-" || text.contains("://") || text.contains('\n') {
        return false;
    }
    let rooted =
        text.starts_with(['/', '~', '$']) || text.starts_with("./") || text.starts_with("../");
    rooted || !text.contains(char::is_whitespace)
}

/// The words between the colons of a word.
fn pieces(word: &Word) -> Vec<Word> {
    let mut pieces = vec![Word::default()];
    for part in &word.parts {
        let Part::Text(text) = part else {
            pieces
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|piece| piece.parts.push(part.clone()));
            continue;
        };
        for (index, piece) in text.split(':').enumerate() {
            if index > 0 {
                pieces.push(Word::default());
            }
            if let Some(last) = pieces.last_mut().filter(|_| !piece.is_empty()) {
                last.parts.push(Part::Text(piece.to_owned()));
            }
        }
    }
    pieces
}

/// A word without its first bytes, which are fixed text.
fn without(word: &Word, bytes: usize) -> Word {
    let mut parts = word.parts.clone();
    match parts.first_mut() {
        Some(Part::Text(text)) if text.len() > bytes => {
            text.drain(..text.ceil_char_boundary(bytes));
        }
        Some(Part::Text(text)) if text.len() == bytes => {
            parts.remove(0);
        }
        _ => {}
    }
    Word {
        parts,
        splits: word.splits,
    }
}
