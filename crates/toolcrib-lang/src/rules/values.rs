//! What words that are known only when a text runs may become, as far as the text itself says: `set -- -rf src; rm "$@"`,
//! `echo --hard | xargs git reset`, `for f in .git/index; do rm "$f"; done`.
//!
//! Nothing here follows the order of running: a variable may be whatever any place of the text gives it. Words that nothing in the
//! text gives (a variable from outside, the lines of a file, the names that `find` prints) are taken to be no options; what a
//! program prints that is not known to print names may be anything. That is a guess in both directions, which is enough for a
//! question. Rules judge text; the sandbox is the wall.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::invocation::{Arg, Invocation, word_text};
use crate::model::budget::Budget;
use crate::shell::programs::{self, Fact};
use crate::shell::{self, Dialect, Part, RedirectKind, SimpleCommand, Word, WordList};

/// What a word may become.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Possible {
    /// Words that the text has for it.
    pub(super) words: Vec<Word>,
    /// Whether it may be something else that cannot be known, options included.
    pub(super) is_open: bool,
}

/// The most words that are kept of one source; of more, only those that begin with a dash are.
const MAX_WORDS: usize = 256;
/// The most options that are kept of one source.
const MAX_OPTIONS: usize = 64;
/// The most words that are kept for all commands of a call.
const MAX_IN_ALL: usize = 4 * 1024;
/// How far a value is followed.
const MAX_DEPTH: usize = 12;

impl Possible {
    fn open() -> Self {
        Possible {
            words: Vec::new(),
            is_open: true,
        }
    }

    fn add(&mut self, word: Word) {
        let is_option = word.literal_prefix().starts_with('-');
        let most = match is_option {
            true => MAX_WORDS + MAX_OPTIONS,
            false => MAX_WORDS,
        };
        if self.words.len() < most {
            if !self.words.contains(&word) {
                self.words.push(word);
            }
        } else {
            self.is_open |= is_option;
        }
    }

    fn add_text(&mut self, text: &str) {
        let text = text.replace("\\n", " ").replace("\\0", " ");
        text.split_whitespace()
            .for_each(|token| self.add(Word::text(token)));
    }

    fn merge(&mut self, other: &Possible) {
        self.is_open |= other.is_open;
        other.words.iter().for_each(|word| self.add(word.clone()));
    }
}

/// The commands of a text, and what they give variables and each other.
pub(super) struct Values<'v, 's> {
    commands: &'v [Invocation<'s>],
    lists: HashMap<&'v str, Vec<&'v WordList>>,
    /// The commands that set a variable, by its name.
    setters: HashMap<&'v str, Vec<usize>>,
    xargs: Vec<usize>,
    /// The commands that write a file, by its path.
    writers: HashMap<&'v str, Vec<usize>>,
    known: RefCell<HashMap<String, Rc<Possible>>>,
    open: RefCell<HashSet<String>>,
    /// What following words, and reading substitutions once more, may cost.
    budget: RefCell<Budget>,
    left: Cell<usize>,
}

impl<'v, 's> Values<'v, 's> {
    pub(super) fn of(
        commands: &'v [Invocation<'s>],
        lists: impl Iterator<Item = &'v WordList>,
        budget: Budget,
    ) -> Self {
        let mut values = Values {
            commands,
            lists: HashMap::new(),
            setters: HashMap::new(),
            xargs: Vec::new(),
            writers: HashMap::new(),
            known: RefCell::default(),
            open: RefCell::default(),
            budget: RefCell::new(budget),
            left: Cell::new(MAX_IN_ALL),
        };
        for list in lists {
            let name = list.name.as_str();
            values.lists.entry(name).or_default().push(list);
        }
        for (index, invocation) in commands.iter().enumerate() {
            let mut sets = |name: &'v str| {
                let setters = values.setters.entry(name).or_default();
                if setters.last() != Some(&index) {
                    setters.push(index);
                }
            };
            for (name, _) in &invocation.command.assignments {
                sets(name);
            }
            for redirect in &invocation.command.redirects {
                if let (RedirectKind::Write, Some(file)) = (redirect.kind, plain(&redirect.target))
                {
                    values.writers.entry(file).or_default().push(index);
                }
            }
            let words = || invocation.command.words.iter().skip(1);
            match invocation.name {
                "read" | "mapfile" | "readarray" | "printf" => {
                    words().filter_map(Word::as_static).for_each(&mut sets);
                    sets("REPLY");
                    sets("MAPFILE");
                }
                "export" | "declare" | "typeset" | "readonly" | "local" => {
                    let names = words().filter_map(|word| word.literal_prefix().split_once('='));
                    names.for_each(|(name, _)| sets(name));
                }
                "xargs" => values.xargs.push(index),
                _ => {}
            }
        }
        values
    }

    /// What a word of a command may become, one word for each; nothing for a fixed one.
    pub(super) fn of_word(&self, word: &Word, command: usize) -> Possible {
        if word.is_static() || !word.parts.iter().any(|part| self.is_followed(part)) {
            return Possible::default();
        }
        if !self.pay(1) {
            return Possible::open();
        }
        let mut possible = self.expand(word, Some(command), MAX_DEPTH);
        let left = self.left.get();
        if possible.words.len() > left {
            possible.words.truncate(left);
            possible.is_open = true;
        }
        self.left.set(left - possible.words.len());
        possible
    }

    /// Pays for work; false when there was too much of it.
    fn pay(&self, steps: usize) -> bool {
        self.budget.borrow_mut().step(steps).is_ok()
    }

    /// Pays for a copy of words, as [`pay`](Self::pay) does for work.
    fn copy(&self, words: &[&Word]) -> bool {
        const WORD: usize = 64;
        let part = |part: &Part| match part {
            Part::Text(text) | Part::Glob(text) | Part::Dynamic(text) | Part::Variable(text) => {
                WORD + text.len()
            }
        };
        let word = |word: &&Word| WORD + word.parts.iter().map(part).sum::<usize>();
        let bytes = words.iter().map(word).sum();
        self.budget.borrow_mut().copy(bytes).is_ok()
    }

    fn is_followed(&self, part: &Part) -> bool {
        match part {
            Part::Dynamic(_) => true,
            Part::Variable(name) => self.is_set(name),
            Part::Text(_) | Part::Glob(_) => false,
        }
    }

    fn is_set(&self, name: &str) -> bool {
        self.lists.contains_key(name) || self.setters.contains_key(name)
    }

    /// Puts what its first part that is not fixed may be in its place.
    fn expand(&self, word: &Word, command: Option<usize>, depth: usize) -> Possible {
        let at = word.parts.iter().position(|part| self.is_followed(part));
        let Some(at) = at else {
            let mut possible = Possible::default();
            match self.copy(&[word]) {
                true => possible.add(word.clone()),
                false => possible.is_open = true,
            }
            return possible;
        };
        let inner = match &word.parts[at] {
            Part::Dynamic(source) => self.of_source(source, command, depth),
            Part::Variable(name) => self.of_variable(name, false, depth),
            Part::Text(_) | Part::Glob(_) => Rc::default(),
        };
        if !self.pay(1 + inner.words.len()) {
            return Possible::open();
        }
        let mut possible = Possible {
            words: Vec::new(),
            // With something before it, it cannot be an option.
            is_open: inner.is_open && at == 0,
        };
        let alone = word.parts.len() == 1;
        for value in &inner.words {
            if !self.copy(&[word, value]) {
                possible.is_open = true;
                break;
            }
            match value.as_static().filter(|_| word.splits) {
                Some(text) if alone => possible.add_text(text),
                _ => {
                    let mut spliced = Word {
                        parts: Vec::with_capacity(word.parts.len()),
                        splits: false,
                    };
                    let parts = word.parts[..at].iter().chain(&value.parts);
                    for part in parts.chain(&word.parts[at + 1..]) {
                        spliced = joined(spliced, part);
                    }
                    possible.add(spliced);
                }
            }
        }
        // The question says that the answer is git's own directory.
        if matches!(&word.parts[at], Part::Dynamic(source) if super::destination::git_path(source).is_some())
        {
            possible.add(word.clone());
        }
        possible
    }

    /// What an expansion may become, as it is written.
    fn of_source(&self, source: &str, command: Option<usize>, depth: usize) -> Rc<Possible> {
        if depth == 0 {
            return Rc::new(Possible::open());
        }
        if source == "xargs" || !source.starts_with(['$', '`', '<', '(', '"', '~']) {
            return Rc::new(self.of_xargs(command, depth - 1));
        }
        if source.starts_with("$((") || source.starts_with("$[") {
            return Rc::default();
        }
        let substitution = source
            .strip_prefix("$(")
            .and_then(|rest| rest.strip_suffix(')'))
            .or_else(|| source.strip_prefix('`')?.strip_suffix('`'));
        if let Some(text) = substitution {
            return self.of_text(text, depth);
        }
        let Some(rest) = source.strip_prefix('$') else {
            return Rc::default();
        };
        let rest = rest
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or(rest);
        let end = rest
            .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let name = match (name, rest.as_bytes().first()) {
            ("", Some(b'@' | b'*')) => "@",
            ("", Some(b'!')) if rest.len() > 1 => return Rc::new(Possible::open()),
            ("", Some(_)) => return Rc::default(),
            ("", None) => return Rc::new(Possible::open()),
            ("0" | "_", _) => return Rc::default(),
            (name, _) if name.bytes().all(|byte| byte.is_ascii_digit()) => "@",
            (name, _) => name,
        };
        let is_list = name == "@" || rest.starts_with("[@]") || rest.starts_with("[*]");
        let known = self.of_variable(name, is_list, depth);
        // `${x:-words}`
        let default = [":-", "-", ":=", "=", ":+", "+"];
        let default = default.iter().find_map(|sign| rest.strip_prefix(sign));
        let Some(default) = default.filter(|text| !text.is_empty()) else {
            return known;
        };
        let mut possible = Possible::clone(&known);
        let default = default.trim_matches('"');
        match default.starts_with(['$', '`']) {
            true => possible.merge(&self.of_source(default, command, depth - 1)),
            false => possible.add_text(default),
        }
        Rc::new(possible)
    }

    /// What a variable may be.
    fn of_variable(&self, name: &str, is_list: bool, depth: usize) -> Rc<Possible> {
        if let Some(known) = self.known.borrow().get(name) {
            return Rc::clone(known);
        }
        // What it is made of itself adds nothing.
        if depth == 0 || !self.open.borrow_mut().insert(name.to_owned()) {
            return Rc::default();
        }
        let mut possible = Possible::default();
        let lists = self.lists.get(name).into_iter().flatten();
        for word in lists.flat_map(|list| &list.words) {
            if !self.pay(1) {
                possible.is_open = true;
                break;
            }
            possible.merge(&self.expand(word, None, depth - 1));
        }
        for index in self.setters.get(name).into_iter().flatten() {
            possible.merge(&self.set_by(*index, name, depth - 1));
        }
        // Nothing in the text says what it is, and what comes of it may be many words.
        possible.is_open |= is_list && !self.is_set(name);
        self.open.borrow_mut().remove(name);
        let possible = Rc::new(possible);
        // Only what was followed from its beginning is whole.
        if self.open.borrow().is_empty() {
            let known = Rc::clone(&possible);
            self.known.borrow_mut().insert(name.to_owned(), known);
        }
        possible
    }

    /// What a command gives a variable.
    fn set_by(&self, index: usize, name: &str, depth: usize) -> Possible {
        let invocation = &self.commands[index];
        let command = invocation.command;
        if !self.pay(command.words.len() + command.assignments.len()) {
            return Possible::open();
        }
        let mut possible = Possible::default();
        for (assigned, value) in &invocation.command.assignments {
            let is_list =
                matches!(value.parts.as_slice(), [Part::Dynamic(text)] if text.starts_with('('));
            if assigned == name && !is_list {
                possible.merge(&self.expand(value, Some(index), depth));
            }
        }
        match invocation.name {
            "read" | "mapfile" | "readarray" => possible.merge(&self.input(index, depth)),
            "printf" if invocation.args.first().is_some_and(is_variable_option) => {
                possible.merge(&self.printed_by(invocation.command, Some(index), depth));
            }
            "export" | "declare" | "typeset" | "readonly" | "local" => {
                for word in &invocation.command.words[1..] {
                    let value = word.after(&format!("{name}="));
                    if let Some(value) = value {
                        possible.merge(&self.expand(&value, Some(index), depth));
                    }
                }
            }
            _ => {}
        }
        possible
    }

    /// What `xargs` adds to the words of a command; of any of them, if it is not known which one it is.
    fn of_xargs(&self, command: Option<usize>, depth: usize) -> Possible {
        let via = command.map(|index| &self.commands[index].command.via);
        if via.is_some_and(|via| via.iter().any(|via| matches!(via.as_str(), "find" | "fd"))) {
            return Possible::default();
        }
        let own = command.and_then(|index| {
            let before = self.xargs.partition_point(|xargs| *xargs < index);
            let mut before = self.xargs[..before].iter().rev().copied();
            before.find(|xargs| runs(&self.commands[*xargs], &self.commands[index]))
        });
        let mut possible = Possible::default();
        match own {
            Some(xargs) => possible.merge(&self.input(xargs, depth)),
            None => {
                for xargs in &self.xargs {
                    if possible.is_open {
                        break;
                    }
                    possible.merge(&self.input(*xargs, depth));
                }
            }
        }
        possible
    }

    /// The words that a command reads on its input, or `xargs` in the file of its option.
    fn input(&self, index: usize, depth: usize) -> Possible {
        if depth == 0 {
            return Possible::open();
        }
        let invocation = &self.commands[index];
        let command = invocation.command;
        let file = (invocation.name == "xargs")
            .then(|| argument_file(invocation))
            .flatten();
        let mut redirects = command.redirects.iter().rev();
        let redirect = redirects.find(|redirect| redirect.kind == RedirectKind::Read);
        if let Some(file) = file.or(redirect.map(|redirect| &redirect.target)) {
            return self.in_file(file, index, depth);
        }
        if let Some(text) = &command.input {
            return self.in_input(text, depth);
        }
        if !command.piped {
            return Possible::open();
        }
        let head = self.commands[..index]
            .iter()
            .rposition(|other| !other.command.piped);
        let mut possible = Possible::default();
        match head {
            Some(head) => {
                for stage in head..index {
                    if possible.is_open || !self.pay(1) {
                        return Possible::open();
                    }
                    let command = self.commands[stage].command;
                    possible.merge(&self.printed_by(command, Some(stage), depth - 1));
                }
            }
            None => possible.is_open = true,
        }
        possible
    }

    /// The words of a here-document or here-string.
    fn in_input(&self, text: &Word, depth: usize) -> Possible {
        let mut possible = Possible::default();
        for part in &text.parts {
            match part {
                Part::Text(text) if self.pay(text.len()) => possible.add_text(text),
                Part::Text(_) => possible.is_open = true,
                part => {
                    let word = Word {
                        parts: vec![part.clone()],
                        splits: true,
                    };
                    possible.merge(&self.expand(&word, None, depth - 1));
                }
            }
        }
        possible
    }

    /// The words in a file, or in `<(…)`: the lines of a file that the text does not write are names.
    fn in_file(&self, file: &Word, before: usize, depth: usize) -> Possible {
        if let [Part::Dynamic(source)] = file.parts.as_slice()
            && let Some(text) = source
                .strip_prefix("<(")
                .and_then(|text| text.strip_suffix(')'))
        {
            return Possible::clone(&self.of_text(text, depth));
        }
        let mut possible = Possible::default();
        let writers = plain(file).and_then(|file| self.writers.get(file));
        for index in writers
            .into_iter()
            .flatten()
            .filter(|index| **index < before)
        {
            if depth == 0 || !self.pay(1) {
                return Possible::open();
            }
            let writer = &self.commands[*index];
            possible.merge(&self.printed_by(writer.command, Some(*index), depth - 1));
        }
        possible
    }

    /// What the commands of a substitution print.
    fn of_text(&self, text: &str, depth: usize) -> Rc<Possible> {
        let key = format!("$({text})");
        if let Some(known) = self.known.borrow().get(&key) {
            return Rc::clone(known);
        }
        let mut budget = self.budget.borrow_mut();
        if depth == 0 || budget.is_spent() {
            return Rc::new(Possible::open());
        }
        let (script, _) = shell::read_with(text, Dialect::Bash, &[], &mut budget);
        drop(budget);
        let mut possible = Possible::default();
        for command in &script.commands {
            possible.merge(&self.printed_by(command, None, depth - 1));
        }
        possible.is_open |= !script.doubts.is_empty();
        let possible = Rc::new(possible);
        if self.open.borrow().is_empty() {
            let known = Rc::clone(&possible);
            self.known.borrow_mut().insert(key, known);
        }
        possible
    }

    /// What a command prints: nothing that could be an option, words of the text, or whatever it likes.
    fn printed_by(&self, command: &SimpleCommand, index: Option<usize>, depth: usize) -> Possible {
        let mut possible = Possible::default();
        if command.words.is_empty() {
            return possible;
        }
        let words = || command.words.iter().skip(1);
        let Some(name) = command.name() else {
            return Possible::open();
        };
        if depth == 0 || !self.pay(command.words.len()) {
            return Possible::open();
        }
        if programs::is(name, Fact::Runs, "others") {
            // What they run is listed, too.
            return possible;
        }
        match programs::find(name).map_or("", |program| program.get(Fact::Output)) {
            "paths" if name == "git" => {
                let verb = words()
                    .filter_map(Word::as_static)
                    .find(|word| !word.starts_with('-'));
                // A format may say anything.
                let says = |word: &Word| {
                    let text = word.literal_prefix();
                    text.starts_with("--format") || text.starts_with("--pretty")
                };
                if matches!(verb, Some("config" | "var")) {
                    possible.is_open = true;
                }
                for word in words().filter(|word| says(word)) {
                    possible.add_text(&word_text(word).replace(['=', ':'], " "));
                }
            }
            "paths" => {}
            "words" => {
                for word in words() {
                    match word.as_static() {
                        Some(text) => possible.add_text(text),
                        None => possible.merge(&self.expand(word, index, depth - 1)),
                    }
                }
            }
            "lines" => {
                if let Some(text) = &command.input {
                    possible.merge(&self.in_input(text, depth - 1));
                }
                let before = index.unwrap_or(self.commands.len());
                for word in words().filter(|word| !word.literal_prefix().starts_with('-')) {
                    possible.merge(&self.in_file(word, before, depth - 1));
                }
            }
            // A script that writes options has them in it.
            "edits" => {
                if let Some(text) = &command.input {
                    possible.merge(&self.in_input(text, depth - 1));
                }
                let script = words().filter(|word| !word.literal_prefix().starts_with('-'));
                for word in script {
                    let text = word_text(word);
                    let ends = |c: char| !c.is_ascii_alphanumeric() && !"-._=".contains(c);
                    let mut tokens = text.split(ends);
                    possible.is_open |= tokens
                        .any(|token| token.starts_with('-') && (name != "tr" || token.len() == 1));
                }
            }
            _ => possible.is_open = true,
        }
        possible
    }
}

fn is_variable_option(arg: &Arg<'_>) -> bool {
    arg.text.starts_with("-v")
}

/// A fixed path, as it is compared.
fn plain(word: &Word) -> Option<&str> {
    let text = word.as_static()?;
    Some(text.strip_prefix("./").unwrap_or(text))
}

/// A word with one more part at its end.
fn joined(mut word: Word, part: &Part) -> Word {
    match (part, word.parts.last_mut()) {
        (Part::Text(text), Some(Part::Text(last))) => last.push_str(text),
        _ => word.parts.push(part.clone()),
    }
    word
}

/// The file that `xargs` takes its words from.
fn argument_file<'i>(xargs: &'i Invocation<'_>) -> Option<&'i Word> {
    let words = &xargs.command.words;
    let at = words
        .iter()
        .position(|word| matches!(word.as_static(), Some("-a" | "--arg-file")))?;
    words.get(at + 1)
}

/// Whether a command is a wrapper that another one is listed for.
fn runs(wrapper: &Invocation<'_>, command: &Invocation<'_>) -> bool {
    let (outer, inner) = (&wrapper.command.via, &command.command.via);
    wrapper.command.span == command.command.span
        && inner.starts_with(outer)
        && inner
            .get(outer.len())
            .is_some_and(|via| via == wrapper.name)
}
