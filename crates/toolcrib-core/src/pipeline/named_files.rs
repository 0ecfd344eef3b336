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
use super::many_files::{Many, pattern};
use crate::shell::programs::{self, Fact};
use crate::shell::{Directory, RedirectKind, Script, SimpleCommand, Word};
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
/// Commands whose words are directories that others run in, or that are made.
const GOES: [&str; 4] = ["cd", "pushd", "mkdir", "rmdir"];

/// Files and links by their paths on the host, and what they looked like; none where nothing was.
#[derive(Debug, Clone, Default)]
pub(super) struct Named {
    files: BTreeMap<PathBuf, Option<Stamp>>,
    /// Patterns and directories, and the files that they stood for.
    many: BTreeMap<Many, BTreeSet<PathBuf>>,
}

impl Named {
    /// Takes in what the words of a text may mean, if one of its commands may run or change something. Blocks.
    pub(super) fn add(&mut self, script: &Script, base: &str, workspace: &Workspace) {
        if script.doubts.is_empty() && script.commands.iter().all(only_reads) {
            return;
        }
        let words = words(script);
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
                }
            }
        }
        if runs_files(script) {
            self.add_many(script, &directories, workspace, &mut looks);
        }
    }

    /// Takes in the files that patterns stand for, and those below directories that are named.
    fn add_many(
        &mut self,
        script: &Script,
        directories: &[PathBuf],
        workspace: &Workspace,
        looks: &mut usize,
    ) {
        let commands = script.commands.iter();
        let commands =
            commands.filter(|command| !command.name().is_some_and(|name| GOES.contains(&name)));
        let words = commands.flat_map(|command| command.words.iter().skip(1));
        let listed = script.lists.iter().flat_map(|list| &list.words);
        let mut named = BTreeSet::new();
        for word in words.chain(listed) {
            for directory in directories {
                let inside = |path: &Path| path.starts_with(workspace.root());
                if let Some(pattern) = pattern(word).filter(|pattern| pattern.len() <= MAX_WORD) {
                    let pattern = at_home(pattern.strip_prefix("./").unwrap_or(&pattern));
                    let (from, rest) = match pattern.strip_prefix(workspace.root()) {
                        Ok(rest) => (workspace.root(), rest),
                        Err(_) => (directory.as_path(), pattern.as_path()),
                    };
                    let rest = rest.to_str().filter(|rest| !rest.starts_with('/'));
                    let rest = rest.filter(|_| inside(from));
                    named.extend(rest.map(|rest| Many::Fitting(from.to_owned(), rest.to_owned())));
                } else if let Some(text) = word.as_static().filter(|text| text.len() <= MAX_WORD) {
                    *looks += 1;
                    let real = directory.join(at_home(text)).canonicalize();
                    let real = real.ok().filter(|real| inside(real) && real.is_dir());
                    named.extend(real.map(Many::Below));
                }
                if *looks > MAX_LOOKS {
                    return;
                }
            }
        }
        for many in named {
            let files = many.files(looks);
            for file in &files {
                *looks += 1;
                if *looks > MAX_LOOKS {
                    return;
                }
                self.note(file, workspace);
            }
            self.many.insert(many, files);
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

    /// The files that patterns stand for, and how many bytes they have.
    pub(super) fn fitting(&self) -> BTreeMap<PathBuf, u64> {
        let patterns = self.many.iter();
        let patterns = patterns.filter(|(many, _)| matches!(many, Many::Fitting(..)));
        let files = patterns.flat_map(|(_, files)| files);
        let sized = |file: &PathBuf| Some((file.clone(), fs::metadata(file).ok()?.len()));
        files.filter_map(sized).collect()
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
        let mut looks = 0;
        let added = self.many.iter().flat_map(move |(many, then)| {
            let now = many.files(&mut looks);
            now.into_iter().filter(|path| !then.contains(path))
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

/// Whether something in a script may run files that no word of it names: an interpreter, a program that no one here knows, or what could not
/// be understood.
fn runs_files(script: &Script) -> bool {
    let runs = |name: &str| {
        programs::version(name).is_none_or(|program| program.has(Fact::Language))
            || programs::is(name, Fact::Reader, "shell")
    };
    !script.doubts.is_empty()
        || script
            .commands
            .iter()
            .any(|command| command.name().is_none_or(runs))
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = path.symlink_metadata().ok()?;
    metadata.is_file().then(|| stamp_of(&metadata))
}

/// Every fixed text of a script, and the pieces of it that a program may take for paths.
fn words(script: &Script) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut add = |word: &Word| {
        let Some(text) = word.as_static().filter(|text| text.len() <= MAX_WORD) else {
            return;
        };
        let ends_piece = |c: char| c.is_whitespace() || "'\"=:,;()<>|&`@".contains(c);
        // `-fx.mk`
        let attached = text.strip_prefix('-').and_then(|rest| rest.get(1..));
        let pieces = text.split(ends_piece).chain(attached);
        for piece in pieces.chain([text]).filter(|piece| !piece.is_empty()) {
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
    words
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
