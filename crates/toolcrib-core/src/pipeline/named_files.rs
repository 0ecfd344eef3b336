//! The other files that the words of a command name.
//!
//! What a program does with them is not known in general: `node -r ./x.js`, `sqlite3 db < x.sql` and `LD_PRELOAD=./x.so tool` run them, and
//! there is no end to such programs. So a file that a word may mean has to stay as it was while the person is asked, unless every
//! command of the text is known to change and run nothing. They are compared by inode, size and times, which costs no reading; what runs
//! is not a copy of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::bind::at_home;
use super::many_files::{Many, Pattern};
use crate::shell::programs::{self, Fact};
use crate::shell::{Directory, Part, RedirectKind, Script, SimpleCommand, Word};
use crate::workspace::{Stamp, Workspace, stamp_of, without_parents};

/// The most places that are looked at for one text. What words beyond it name is not compared.
pub(super) const MAX_LOOKS: usize = 8192;
/// The most directories that words are taken to be relative to.
const MAX_DIRECTORIES: usize = 24;
/// The longest word that is a path.
const MAX_WORD: usize = 1024;
/// The endings that the names of modules lack.
const ENDINGS: [&str; 7] = ["py", "pm", "rb", "js", "mjs", "cjs", "lua"];
/// Where packages of a project have their programs.
const PROGRAMS_OF_PACKAGES: [&str; 2] = ["node_modules/.bin", ".venv/bin"];
/// Commands that list files.
const LISTS: [&str; 6] = ["ls", "dir", "find", "fd", "fdfind", "tree"];
/// Commands whose words are directories that others run in, or that are made.
const GOES: [&str; 4] = ["cd", "pushd", "mkdir", "rmdir"];

/// Files and links by their paths on the host, and what they looked like; none where nothing was.
#[derive(Debug, Clone, Default)]
pub(super) struct Named {
    files: BTreeMap<PathBuf, Option<Stamp>>,
    /// Patterns and directories, and the files that they stood for, with how many places had been looked at before.
    many: BTreeMap<Many, (usize, BTreeSet<PathBuf>)>,
    /// Those that words name where what runs is not clear.
    unclear: BTreeSet<PathBuf>,
}

impl Named {
    /// Takes in what the words of a text may mean, if one of its commands may run or change something. Blocks.
    pub(super) fn add(&mut self, script: &Script, base: &str, workspace: &Workspace) {
        if script.doubts.is_empty() && script.commands.iter().all(only_reads) {
            return;
        }
        // Whether what one command prints, or is given, may be what another runs.
        let is_unclear = !script.doubts.is_empty() || script.commands.iter().any(runs_unnamed);
        let words = words(script, is_unclear);
        let mut looks = 0;
        let directories = directories(script, &words, base, workspace, &mut looks);
        for word in &words {
            for directory in &directories {
                for path in meanings(word, directory) {
                    looks += 1;
                    if looks > MAX_LOOKS {
                        return;
                    }
                    self.note(&path, workspace);
                    if is_unclear && path.is_file() {
                        let goes_up = path.components().any(|part| part == Component::ParentDir);
                        let real = path.canonicalize().ok().filter(|_| goes_up);
                        self.unclear.insert(real.unwrap_or(path));
                    }
                }
            }
        }
        if script.commands.iter().any(runs_files) || !script.doubts.is_empty() {
            self.add_many(script, is_unclear, &directories, workspace, &mut looks);
        }
    }

    /// Takes in the files that patterns stand for, and those below directories that are named.
    fn add_many(
        &mut self,
        script: &Script,
        passes_on: bool,
        directories: &[PathBuf],
        workspace: &Workspace,
        looks: &mut usize,
    ) {
        let root = workspace.root();
        // Where no other command does more than read and print, only the words of those that run files count.
        let prints = |command: &SimpleCommand| runs_files(command) || only_prints(command);
        let all_count = passes_on || !script.commands.iter().all(prints);
        let mut patterns = Vec::new();
        let mut fixed = Vec::new();
        for command in &script.commands {
            let goes = command.name().is_some_and(|name| GOES.contains(&name));
            let reads = command.redirects.iter();
            let reads = reads.filter(|redirect| redirect.kind == RedirectKind::Read);
            let words = command.words.iter();
            let words = words.chain(reads.map(|redirect| &redirect.target));
            if all_count || goes || runs_files(command) {
                patterns.extend(words.filter_map(Pattern::of));
            }
            if goes {
                continue;
            }
            if passes_on {
                patterns.extend(given(command).filter_map(Pattern::within));
            }
            let texts = command.words.iter().skip(1).filter_map(Word::as_static);
            for text in texts.filter(|text| text.len() <= MAX_WORD) {
                fixed.push(text);
                if all_count || runs_files(command) {
                    patterns.extend(pieces(text).filter_map(Pattern::within));
                }
            }
        }
        let listed = || script.lists.iter().flat_map(|list| &list.words);
        let assigned = script
            .commands
            .iter()
            .flat_map(|command| &command.assignments);
        let values = listed().chain(assigned.map(|(_, value)| value));
        patterns.extend(values.clone().filter_map(Pattern::of));
        // A value without quotes may become a pattern where it is used: `x='*.sh'; sh $x`.
        let texts = values.filter_map(Word::as_static);
        patterns.extend(texts.filter_map(Pattern::within));
        fixed.extend(listed().filter_map(Word::as_static));
        let mut named = BTreeSet::new();
        // `ls | xargs sh`
        if passes_on && script.commands.iter().any(lists_files) {
            named.extend(directories.first().cloned().map(Many::Below));
        }
        for directory in directories {
            for pattern in &patterns {
                *looks += 1;
                named.insert(pattern.in_directory(directory, root));
            }
            for text in &fixed {
                *looks += 1;
                let real = directory.join(at_home(text)).canonicalize();
                let real = real
                    .ok()
                    .filter(|real| real.starts_with(root) && real.is_dir());
                named.extend(real.map(Many::Below));
            }
            if *looks > MAX_LOOKS {
                return;
            }
        }
        for many in named {
            let before = *looks;
            let files = many.files(root, looks);
            for file in &files {
                *looks += 1;
                if *looks > MAX_LOOKS {
                    return;
                }
                self.note(file, workspace);
            }
            self.many.insert(many, (before, files));
        }
    }

    fn note(&mut self, path: &Path, workspace: &Workspace) {
        match path.canonicalize() {
            Ok(real) if real.starts_with(workspace.root()) => {
                if let Some(stamp) = stamp(&real) {
                    self.files.insert(real, Some(stamp));
                }
                // A link that leads elsewhere by then.
                if let Some(link) = path
                    .symlink_metadata()
                    .ok()
                    .filter(fs::Metadata::is_symlink)
                {
                    self.files.insert(path.to_owned(), Some(stamp_of(&link)));
                }
            }
            // A file that is not there yet, where a path says that it should be.
            Err(_) if path.starts_with(workspace.root()) && path.extension().is_some() => {
                self.files.insert(path.to_owned(), None);
            }
            _ => {}
        }
    }

    /// The files that patterns stand for, and those of words where what runs is not clear; and how many bytes they have.
    pub(super) fn fitting(&self) -> BTreeMap<PathBuf, u64> {
        let patterns = self.many.iter();
        let patterns = patterns.filter(|(many, _)| !matches!(many, Many::Below(..)));
        let files = patterns.flat_map(|(_, (_, files))| files);
        let sized = |file: &PathBuf| Some((file.clone(), fs::metadata(file).ok()?.len()));
        files.chain(&self.unclear).filter_map(sized).collect()
    }

    pub(super) fn forget(&mut self, path: &Path) {
        self.files.remove(path);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.many.is_empty()
    }

    /// Those that are not as they were, relative to the workspace. Blocks.
    pub(super) fn changed(&self, workspace: Option<&Workspace>) -> impl Iterator<Item = String> {
        let root = workspace.map(Workspace::root);
        let changed = self.files.iter().filter(|(path, then)| {
            let now = path.symlink_metadata().ok();
            let now = now.filter(|now| now.is_file() || now.is_symlink());
            now.map(|now| stamp_of(&now)) != **then
        });
        let added = self.many.iter().flat_map(move |(many, (before, then))| {
            let now = root.map(|root| many.files(root, &mut before.clone()));
            let now = now.into_iter().flatten();
            now.filter(|path| !then.contains(path))
        });
        let changed = changed.map(|(path, _)| path.clone());
        changed.chain(added).map(move |path| {
            let path = path.as_path();
            let relative = root.and_then(|root| path.strip_prefix(root).ok());
            relative.unwrap_or(path).to_string_lossy().into_owned()
        })
    }
}

/// Whether a command is known to run nothing that is in the files it reads.
fn only_reads(command: &SimpleCommand) -> bool {
    let runs_nothing =
        |program: &programs::Program| !program.has(Fact::Runs) && !program.has(Fact::Texts);
    command.name().is_some_and(|name| {
        programs::is(name, Fact::Harmless, "yes")
            || programs::is(name, Fact::Reads, "yes")
                && programs::find(name).is_some_and(runs_nothing)
    })
}

/// Whether a command only reads, and writes nothing to a file.
fn only_prints(command: &SimpleCommand) -> bool {
    let mut redirects = command.redirects.iter();
    let writes = redirects.any(|redirect| {
        let target = redirect.target.as_static();
        redirect.kind == RedirectKind::Write && target != Some("/dev/null")
    });
    only_reads(command) && !writes
}

/// Whether a command prints the names of files that no word of it names.
fn lists_files(command: &SimpleCommand) -> bool {
    let names_list = |word: &Word| word.as_static() == Some("ls-files");
    match command.name() {
        Some("git") => command.words.iter().any(names_list),
        Some(name) => LISTS.contains(&name),
        None => false,
    }
}

/// Whether a command may run files that its words stand for: an interpreter, a program that is not known here, or what could not be
/// understood.
fn runs_files(command: &SimpleCommand) -> bool {
    let Some(name) = command.name() else {
        // A lone assignment or redirection is for the others.
        return !command.words.is_empty();
    };
    let Some(program) = programs::version(name) else {
        return true;
    };
    match program.get(Fact::Reader) {
        // Their scripts are words, or files that an option names.
        "sed" | "awk" => command.words.iter().skip(1).any(|word| {
            let text = word.literal_prefix();
            text.starts_with('-') && text.contains(['f', 'i', 'l', 'E'])
        }),
        _ => {
            [Fact::Language, Fact::Executes, Fact::Loads]
                .into_iter()
                .any(|fact| program.has(fact))
                || program.get(Fact::Runs) == "code"
        }
    }
}

/// Whether a command runs what another one names: a shell or the like that reads a pipe, or whose first operand is not known.
fn runs_unnamed(command: &SimpleCommand) -> bool {
    let mut operands = command.words.iter().skip(1);
    let first = operands.find(|word| !word.literal_prefix().starts_with('-'));
    runs_files(command) && (command.piped || first.is_some_and(Word::is_dynamic))
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = path.symlink_metadata().ok()?;
    metadata.is_file().then(|| stamp_of(&metadata))
}

/// Every fixed text of a script, and the pieces of it that a program may take for paths; also those of here-documents and here-strings
/// where they may name what runs.
fn words(script: &Script, with_input: bool) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut add = |word: &Word| {
        let Some(text) = word.as_static().filter(|text| text.len() <= MAX_WORD) else {
            return;
        };
        for piece in pieces(text) {
            if !words.contains(piece) {
                words.insert(piece.to_owned());
            }
        }
    };
    for command in &script.commands {
        command.words.iter().for_each(&mut add);
        command.assignments.iter().for_each(|(_, value)| add(value));
        let reads = command.redirects.iter();
        let reads = reads.filter(|redirect| redirect.kind == RedirectKind::Read);
        reads.for_each(|redirect| add(&redirect.target));
    }
    let lists = script.lists.iter().flat_map(|list| &list.words);
    lists.for_each(&mut add);
    if with_input {
        let given = script.commands.iter().flat_map(given);
        words.extend(given.take(MAX_LOOKS).map(str::to_owned));
    }
    words
}

/// The pieces of the text that a here-document or a here-string gives a command.
fn given(command: &SimpleCommand) -> impl Iterator<Item = &str> {
    let parts = command.input.iter().flat_map(|input| &input.parts);
    let texts = parts.filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Variable(_) | Part::Glob(_) | Part::Dynamic(_) => None,
    });
    texts
        .flat_map(pieces)
        .filter(|piece| piece.len() <= MAX_WORD)
}

/// A text, and the pieces of it that a program may take for paths.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let ends_piece = |c: char| c.is_whitespace() || "'\"=:,;()<>|&`@".contains(c);
    // `-fx.mk`
    let attached = text.strip_prefix('-').and_then(|rest| rest.get(1..));
    let pieces = text.split(ends_piece).chain(attached).chain([text]);
    pieces.filter(|piece| !piece.is_empty())
}

/// The directories that words may be relative to: those that commands run in, and those that words name (`cd`, `-C`, `CDPATH`).
fn directories(
    script: &Script,
    words: &BTreeSet<String>,
    base: &str,
    workspace: &Workspace,
    looks: &mut usize,
) -> Vec<PathBuf> {
    let start = workspace.root().join(base);
    let mut directories = vec![start.clone()];
    let known = script
        .commands
        .iter()
        .filter_map(|command| match &command.directory {
            Directory::Known(path) => Some(start.join(at_home(path))),
            Directory::Start | Directory::Unknown => None,
        });
    directories.extend(known.take(MAX_DIRECTORIES));
    directories.dedup();
    let mut next = 0;
    while let Some(directory) = directories.get(next).cloned() {
        next += 1;
        for word in words.iter().filter(|word| !word.starts_with('-')) {
            *looks += 1;
            if directories.len() >= MAX_DIRECTORIES || *looks > MAX_LOOKS / 2 {
                return directories;
            }
            // Where links lead, and where the text does.
            let path = directory.join(at_home(word));
            let real = path.canonicalize().ok().filter(|real| real.is_dir());
            for path in real
                .into_iter()
                .flat_map(|real| [real, without_parents(&path)])
            {
                if path.starts_with(workspace.root()) && !directories.contains(&path) {
                    directories.push(path);
                }
            }
        }
    }
    directories
}

/// The paths that a word may mean in a directory.
fn meanings(word: &str, directory: &Path) -> Vec<PathBuf> {
    let word = at_home(word);
    let mut paths = vec![directory.join(&word)];
    // `/proc/self/cwd/x.sh` is `x.sh`.
    if word.starts_with("/proc") || word.starts_with("/dev") {
        let names: Vec<Component<'_>> = word.components().collect();
        let rests = (3..names.len()).map(|at| names[at..].iter().collect::<PathBuf>());
        paths.extend(rests.map(|rest| directory.join(rest)));
    }
    let is_module = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
    if let Some(text) = word
        .to_str()
        .filter(|text| text.chars().all(is_module) && !text.starts_with(['-', '.', '/']))
    {
        let module = text.replace('.', "/");
        let named = ENDINGS.map(|ending| format!("{text}.{ending}"));
        let dotted = [
            format!("{module}.py"),
            format!("{module}/__init__.py"),
            format!("{module}/__main__.py"),
        ];
        // `npx NAME`, `uv run NAME`
        let packages = PROGRAMS_OF_PACKAGES.map(|place| format!("{place}/{text}"));
        let modules = named
            .into_iter()
            .chain(dotted)
            .chain(packages)
            .map(|name| directory.join(name));
        // One that is not there is one of many names that are tried.
        paths.extend(modules.filter(|path| path.is_file()));
    }
    paths
}
