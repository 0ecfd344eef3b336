//! What reading a text gives: commands, their words and redirections, and doubts.

use std::ops::Range;
use std::sync::Arc;

use super::facts::prints_number;

/// What a text would do, as far as reading it can tell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    /// Every simple command that may run, in the order of the text: in lists, pipelines, loops, functions, substitutions, and
    /// inside wrappers (`env`, `sudo`, `sh -c`, `find -exec` …), which are listed themselves, too.
    pub commands: Vec<SimpleCommand>,
    /// The undetermined parts.
    pub doubts: Vec<Doubt>,
    /// Whether a function starts itself in a pipeline or in the background, over and over.
    pub fork_bomb: bool,
    /// Whether reading was given up because it costs too much: there may be commands that are not listed. That is a doubt, too.
    pub is_cut: bool,
    /// The files that the commands run, as far as fixed words name them.
    pub files: RunFiles,
    /// Whether they run more files than are listed.
    pub has_more_files: bool,
    /// The words that variables take, in the order of the text: loops, lists, positional parameters.
    pub lists: Vec<WordList>,
    /// How many steps it took to read.
    pub steps: u64,
}

/// Words that a variable takes, one after the other or all at once: `for f in *`, `a=(*)`.
#[derive(Debug, Clone, PartialEq)]
pub struct WordList {
    /// The variable; `@` for the positional parameters, whichever shell or function has them: `set -- *`, `f *`, `sh -c '…' _ *`.
    pub name: String,
    /// The words, after expansion of quotes.
    pub words: Vec<Word>,
}

/// The files that the commands of a text run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunFiles {
    /// Each of them, once.
    pub listed: Vec<RunFile>,
    /// Whether the commands may run in another order than they are listed, or again: there is a loop, a function, a pipeline, or
    /// something in the background.
    pub in_any_order: bool,
}

/// A file that a command runs: its program, if that is named by a path, or the script of a shell or interpreter.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFile {
    /// Its path. Where the reader does not know which word is the script: the words it may be, of which the first that exists is.
    pub names: Vec<String>,
    /// Where relative paths start: one directory, or several if it depends on whether a `cd` succeeds.
    pub directories: Vec<Directory>,
    /// Which of the commands runs it; the last one, if several do.
    pub command: usize,
    /// Whether it is not certain that a word names a file: then one that is not there means nothing.
    pub optional: bool,
}

/// A command with its words.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SimpleCommand {
    /// The words after expansion of quotes; the first is the command's name. Empty for a lone assignment or redirect.
    pub words: Vec<Word>,
    /// Assignments before the name.
    pub assignments: Vec<(String, Word)>,
    /// Its redirections, those of the groups around it included.
    pub redirects: Vec<Redirect>,
    /// The names of the wrappers that run it, outermost first. A variable whose value is run (`PAGER`) counts as one.
    pub via: Vec<String>,
    /// The directory where it runs, as far as earlier `cd`s show it. Options of the command's own (`git -C`, `make -C`) are left to its words.
    pub directory: Directory,
    /// Where it runs if every `cd` before it succeeds. A guess where `directory` is not known, and the same otherwise.
    pub hoped: Directory,
    /// Whether its input comes from another command.
    pub piped: bool,
    /// The text that a here-document or a here-string gives it.
    pub input: Option<Arc<Word>>,
    /// The code that it is given to run, if it is an interpreter of a language other than a shell's.
    pub code: Option<Code>,
    /// Where it is in the text, in bytes. What a wrapper runs is where the wrapper does.
    pub span: Range<usize>,
}

impl SimpleCommand {
    /// The program's name without its directory, when that is certain: `rm` for `/bin/./rm` and for `~/bin/rm`.
    pub fn name(&self) -> Option<&str> {
        let word = self.words.first()?;
        if let Some(text) = word.as_static() {
            return Some(base_name(text));
        }
        match word.parts.last() {
            Some(Part::Text(text)) if !word.splits && text.contains('/') => Some(base_name(text)),
            _ => None,
        }
    }

    /// All words as texts; `None` when one of them is not fixed.
    pub fn argv(&self) -> Option<Vec<&str>> {
        self.words.iter().map(Word::as_static).collect()
    }
}

/// Code that a command line hands to an interpreter: in a word (`-c`, `-e`), in a here-document or here-string, through a pipe.
#[derive(Debug, Clone, PartialEq)]
pub struct Code {
    /// The language: `python`, `node`, `perl`, `ruby`, `php`, `lua` or `r`.
    pub language: &'static str,
    /// Its texts. A text that is not fixed cannot be read before it runs.
    pub texts: Vec<Word>,
}

/// A program's name without its directory.
pub(super) fn base_name(path: &str) -> &str {
    match path.rfind('/') {
        Some(at) => &path[at + 1..],
        None => path,
    }
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Word {
    /// What it is made of, in order. Neighbouring texts are one part; no parts are the empty word.
    pub parts: Vec<Part>,
    /// Whether it may become several words or none: an unquoted variable, `"$@"`.
    pub splits: bool,
}

impl Word {
    /// A word of fixed text.
    pub fn text(text: impl Into<String>) -> Word {
        let text = text.into();
        let parts = if text.is_empty() {
            Vec::new()
        } else {
            vec![Part::Text(text)]
        };
        Word {
            parts,
            splits: false,
        }
    }

    /// A word known only when it runs; `source` is how it is written.
    pub(super) fn dynamic(source: &str) -> Word {
        Word {
            parts: vec![Part::Dynamic(source.to_owned())],
            splits: true,
        }
    }

    /// The whole word, when it is fixed text.
    pub fn as_static(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] if !self.splits => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether the word is fixed text.
    pub fn is_static(&self) -> bool {
        self.as_static().is_some()
    }

    /// The fixed text it begins with; empty when it begins with something else.
    pub fn literal_prefix(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// Whether a part is known only when it runs. Variables from outside and file names are not meant.
    pub fn is_dynamic(&self) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, Part::Dynamic(_)))
    }

    /// Whether it may result in unknown words. Numbers do no harm.
    pub(super) fn adds_words(&self) -> bool {
        let unclear = |part: &Part| matches!(part, Part::Dynamic(source) if !prints_number(source));
        self.splits && self.parts.iter().any(unclear)
    }

    /// Adds fixed text at the end.
    pub(super) fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(Part::Text(last)) = self.parts.last_mut() {
            last.push_str(text);
        } else {
            self.parts.push(Part::Text(text.to_owned()));
        }
    }

    /// Adds a part at the end.
    pub(super) fn push(&mut self, part: Part) {
        match part {
            Part::Text(text) => self.push_text(&text),
            other => self.parts.push(other),
        }
    }

    /// What it costs to copy, in bytes: its texts and what holds them.
    pub(super) fn weight(&self) -> usize {
        const WORD: usize = 32;
        let part = |part: &Part| match part {
            Part::Text(text) | Part::Glob(text) | Part::Dynamic(text) | Part::Variable(text) => {
                WORD + text.len()
            }
        };
        WORD + self.parts.iter().map(part).sum::<usize>()
    }

    /// The word as a person would recognise it.
    pub(super) fn shown(&self) -> String {
        let mut shown = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) | Part::Glob(text) | Part::Dynamic(text) => shown.push_str(text),
                Part::Variable(name) => {
                    shown.push('$');
                    shown.push_str(name);
                }
            }
        }
        shown
    }

    /// The rest of the word after some fixed text it begins with.
    #[doc(hidden)]
    pub fn after(&self, prefix: &str) -> Option<Word> {
        let rest = self.literal_prefix().strip_prefix(prefix)?;
        let mut word = Word {
            parts: Vec::with_capacity(self.parts.len()),
            splits: self.splits,
        };
        word.push_text(rest);
        word.parts.extend(self.parts.iter().skip(1).cloned());
        Some(word)
    }
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Fixed text, quotes taken off.
    Text(String),
    /// The value of a variable that the text itself does not set, as `$HOME`.
    Variable(String),
    /// A pattern that file names take the place of: `*`, `?`, `[…]`.
    Glob(String),
    /// Something known only when it runs, as written.
    Dynamic(String),
}

/// Where input comes from or output goes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Redirect {
    /// What happens to the target.
    pub kind: RedirectKind,
    /// The file.
    pub target: Word,
    /// Where the target is looked up; not always where the command runs: `{ cd x; ls; } > list`.
    pub directory: Directory,
}

/// What a redirection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RedirectKind {
    /// Reads the target.
    Read,
    /// Writes the target, in whichever way.
    Write,
}

/// Where a command runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Directory {
    /// Where the text started.
    #[default]
    Start,
    /// Here: absolute, below the home directory (`~`, `~/…`), or relative to where the text started.
    Known(String),
    /// Somewhere.
    Unknown,
}

/// The longest path that a kernel takes.
const MAX_PATH: usize = 4096;

impl Directory {
    /// How long its path is.
    pub(super) fn len(&self) -> usize {
        match self {
            Directory::Known(path) => path.len(),
            Directory::Start | Directory::Unknown => 0,
        }
    }

    /// The directory that `path` names from here, `.` and `..` taken off as `cd` does it.
    pub(super) fn join(&self, path: &str) -> Directory {
        let base = match self {
            _ if path.starts_with('/') => "",
            Directory::Start => "",
            Directory::Known(base) => base.as_str(),
            Directory::Unknown => return Directory::Unknown,
        };
        let absolute = path.starts_with('/') || base.starts_with('/');
        let mut names: Vec<&str> = Vec::new();
        for name in base.split('/').chain(path.split('/')) {
            match name {
                "" | "." => {}
                ".." => match names.last() {
                    Some(&last) if last != ".." => {
                        names.pop();
                    }
                    _ if absolute => {}
                    _ => names.push(".."),
                },
                name => names.push(name),
            }
        }
        let joined = names.join("/");
        if joined.len() > MAX_PATH {
            return Directory::Unknown;
        }
        // A tilde stands for the home directory, which nothing may have gone up from or be called itself.
        let from_home = !path.starts_with('/') && (base == "~" || base.starts_with("~/"));
        if from_home != (names.first() == Some(&"~") && !absolute) {
            return Directory::Unknown;
        }
        match (absolute, joined.is_empty()) {
            (true, _) => Directory::Known(format!("/{joined}")),
            (false, true) => Directory::Start,
            (false, false) => Directory::Known(joined),
        }
    }

    /// The home directory, or what is below it.
    pub(super) fn home(below: &str) -> Directory {
        Directory::Known("~".to_owned()).join(below.trim_start_matches('/'))
    }

    /// The facts that hold in either case.
    pub(super) fn or(self, other: &Directory) -> Directory {
        if self == *other {
            self
        } else {
            Directory::Unknown
        }
    }
}

/// Something that the text does not determine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// In words: what cannot be determined and why that matters.
    pub reason: String,
    /// The part of the text, shortened.
    pub text: String,
}

impl Doubt {
    /// A doubt about a part of a text.
    pub(super) fn new(reason: impl Into<String>, text: &str) -> Doubt {
        const SHOWN: usize = 80;
        let mut shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        Doubt {
            reason: reason.into(),
            text: shown,
        }
    }
}
