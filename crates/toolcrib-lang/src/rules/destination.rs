//! Where a word of a command leads: in the workspace, in the call's temporary directory, elsewhere, or no one can tell.
//!
//! Everything here is reading: no file is looked at, so links are not followed ([`links`](super::links) does that for fixed paths).
//! The sandbox is what holds when a link leads out.

use std::path::{Component, Path, PathBuf};

use super::name_glob::NameGlob;
use crate::shell::{Directory, Part, Word};

/// The sign for a part of a name that is known only when the command runs.
const UNKNOWN: char = '\u{fffc}';

/// One name of a path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Name {
    /// The name, or the pattern as written.
    pub(super) text: String,
    /// The pattern, when it is one.
    pub(super) glob: Option<NameGlob>,
}

impl Name {
    pub(super) fn fixed(text: &str) -> Self {
        Name {
            text: text.to_owned(),
            glob: None,
        }
    }

    /// A name that no one knows.
    pub(super) fn unknown() -> Self {
        Name::fixed(UNKNOWN.encode_utf8(&mut [0; 4]))
    }

    /// Whether it is known, wildcards included.
    pub(super) fn is_known(&self) -> bool {
        !self.text.contains(UNKNOWN)
    }

    /// Whether the name can be one that a pattern fits.
    pub(super) fn may_be(&self, pattern: &NameGlob) -> bool {
        match &self.glob {
            Some(glob) => pattern.may_match(glob),
            None => pattern.matches(&self.text),
        }
    }
}

/// Where a path starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    /// The workspace.
    Workspace,
    /// `/`; the path is not beneath the workspace.
    FileSystem,
    /// The home directory.
    Home,
    /// The call's own temporary directory.
    Temporary,
    /// No one can tell.
    Unknown,
}

/// A path with `.` and `..` folded.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Located {
    pub(super) root: Root,
    pub(super) names: Vec<Name>,
}

impl Located {
    /// Whether every name is known, wildcards included.
    pub(super) fn is_known(&self) -> bool {
        self.root != Root::Unknown && self.names.iter().all(Name::is_known)
    }

    /// The path as text, for people and for expressions.
    pub(super) fn text(&self) -> String {
        let names: Vec<&str> = self.names.iter().map(|name| name.text.as_str()).collect();
        let names = names.join("/").replace(UNKNOWN, "…");
        match self.root {
            Root::Workspace if names.is_empty() => ".".to_owned(),
            Root::Workspace => names,
            Root::FileSystem => format!("/{names}"),
            Root::Home => format!("~/{names}"),
            Root::Temporary => format!("$TMPDIR/{names}"),
            Root::Unknown => format!("…/{names}"),
        }
    }
}

/// Where a shell text starts, and where the workspace is.
#[derive(Debug, Clone)]
pub(super) struct Where {
    workspace: Vec<Name>,
    /// Directories outside of the workspace that are the call's own.
    own: Vec<Vec<Name>>,
    start: Located,
    /// Whether `$PWD` is where a command runs: nothing else sets it.
    pwd_is_directory: bool,
    /// Whether `${TMPDIR:-/tmp}` is the call's temporary directory: nothing else sets it.
    tmpdir_is_own: bool,
    /// Whether `$(mktemp -d)` makes a directory: no function takes its place.
    mktemp_makes: bool,
}

/// The names of an absolute path.
fn names_of(path: &Path) -> Vec<Name> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(Name::fixed(&name.to_string_lossy())),
            _ => None,
        })
        .collect()
}

impl Where {
    /// A text that starts in `directory`, which is relative to the workspace unless it is absolute. The directories `own` are as
    /// good as the call's temporary one.
    pub(super) fn new(workspace: Option<&Path>, directory: Option<&str>, own: &[PathBuf]) -> Self {
        let workspace = workspace.map_or_else(Vec::new, names_of);
        let root = Located {
            root: Root::Workspace,
            names: Vec::new(),
        };
        let mut place = Where {
            workspace,
            own: own.iter().map(|path| names_of(path)).collect(),
            start: root,
            pwd_is_directory: true,
            tmpdir_is_own: true,
            mktemp_makes: true,
        };
        if let Some(directory) = directory {
            place.start = place.locate_text(directory);
        }
        place
    }

    /// The same workspace, starting at its root.
    pub(super) fn at_root(&self) -> Where {
        Where {
            workspace: self.workspace.clone(),
            own: self.own.clone(),
            start: Located {
                root: Root::Workspace,
                names: Vec::new(),
            },
            pwd_is_directory: self.pwd_is_directory,
            tmpdir_is_own: self.tmpdir_is_own,
            mktemp_makes: self.mktemp_makes,
        }
    }

    /// Takes into account that a text may do more with `PWD`, `TMPDIR` and `mktemp` than to use them.
    pub(super) fn distrust(&mut self, text: &str) {
        let count = |what: &str| text.matches(what).count();
        self.mktemp_makes &= super::knowledge::makes_directories(text);
        if count("TMPDIR") != count("$TMPDIR") + count("${TMPDIR}") + count("${TMPDIR:-") {
            self.tmpdir_is_own = false;
        }
        if count("PWD") != count("$PWD") + count("${PWD}") {
            self.pwd_is_directory = false;
        }
    }

    /// The path on this machine that a word means for a command that runs in `directory`, `..` left in it; `None` unless it is fixed
    /// and starts from the workspace.
    pub(super) fn real_path(&self, text: &str, directory: &Directory) -> Option<PathBuf> {
        let base = match text.starts_with('/') {
            true => self.locate_text(text),
            false => self.directory(directory),
        };
        let fixed = |name: &Name| name.is_known() && name.glob.is_none();
        if base.root != Root::Workspace
            || self.workspace.is_empty()
            || !base.names.iter().all(fixed)
        {
            return None;
        }
        let mut path = PathBuf::from("/");
        if !text.starts_with('/') {
            let names = self.workspace.iter().chain(&base.names);
            path.extend(names.map(|name| name.text.as_str()));
        }
        path.push(text);
        Some(path)
    }

    /// The names that lead to the workspace; none when it is not known.
    pub(super) fn workspace(&self) -> &[Name] {
        &self.workspace
    }

    /// Where a path leads that is plain text, relative to the start.
    pub(super) fn locate_text(&self, text: &str) -> Located {
        self.fold(
            &self.start,
            text.starts_with('/'),
            text.split('/').map(Name::fixed),
        )
    }

    /// Where a word leads for a command that runs in `directory`.
    pub(super) fn locate(&self, word: &Word, directory: &Directory) -> Located {
        let mut names = vec![Building::default()];
        let mut root = None;
        let mut made = false;
        let mut here = false;
        for (index, part) in word.parts.iter().enumerate() {
            let first = index == 0;
            match part {
                Part::Text(text) => {
                    let mut text = text.as_str();
                    // Tools take `~` as a name, shells as the home directory; rules take the worse of both.
                    if first && (text == "~" || text.starts_with("~/")) {
                        root = Some(Root::Home);
                        text = &text[1..];
                    }
                    let mut pieces = text.split('/');
                    if let Some(piece) = pieces.next() {
                        names
                            .last_mut()
                            .into_iter()
                            .for_each(|name| name.text(piece));
                    }
                    for piece in pieces {
                        names.push(Building::default());
                        names
                            .last_mut()
                            .into_iter()
                            .for_each(|name| name.text(piece));
                    }
                }
                // A pattern may go on over several names: `*/../x`.
                Part::Glob(pattern) => {
                    for (index, piece) in pattern.split('/').enumerate() {
                        if index > 0 {
                            names.push(Building::default());
                        }
                        let name = names.last_mut().into_iter();
                        if piece.contains(['*', '?', '[', '(']) {
                            name.for_each(|name| name.glob(piece));
                        } else {
                            name.for_each(|name| name.text(piece));
                        }
                    }
                }
                Part::Variable(variable) if first && variable == "HOME" => root = Some(Root::Home),
                Part::Variable(variable) if first && variable == "TMPDIR" => {
                    root = Some(Root::Temporary);
                }
                Part::Variable(variable) if first && variable == "PWD" => here = true,
                Part::Dynamic(text)
                    if first
                        && self.pwd_is_directory
                        && matches!(text.as_str(), "$PWD" | "${PWD}") =>
                {
                    here = true;
                }
                Part::Dynamic(text)
                    if first
                        && self.tmpdir_is_own
                        && text.trim_matches('"') == "${TMPDIR:-/tmp}" =>
                {
                    root = Some(Root::Temporary);
                }
                // A directory in the temporary one, under a name that no one else has.
                Part::Dynamic(text)
                    if first && self.mktemp_makes && super::knowledge::is_new_directory(text) =>
                {
                    root = Some(Root::Temporary);
                    made = true;
                }
                // Wherever it is, it is a `.git`.
                Part::Dynamic(text) if first && git_path(text).is_some() => {
                    root = Some(Root::Unknown);
                    let path = git_path(text).unwrap_or_default();
                    for (index, name) in path.split('/').enumerate() {
                        if index > 0 {
                            names.push(Building::default());
                        }
                        names.last_mut().into_iter().for_each(|own| own.text(name));
                    }
                }
                Part::Variable(_) | Part::Dynamic(_) => {
                    if first {
                        root = Some(Root::Unknown);
                    }
                    names
                        .last_mut()
                        .into_iter()
                        .for_each(|name| name.text(UNKNOWN.encode_utf8(&mut [0; 4])));
                }
            }
        }
        // `$HOMEx` is another variable, but `"$HOME"x` is a sibling of the home directory.
        if (root.is_some() || here) && names.first().is_some_and(|first| !first.text.is_empty()) {
            root = Some(Root::Unknown);
        }
        // Above a directory that was made is whatever is there.
        if made && names.iter().any(|name| name.text == "..") {
            root = Some(Root::Unknown);
        }
        let absolute = word_is_absolute(word);
        let names = names.into_iter().map(Building::done);
        let base = match root {
            Some(root) => Located {
                root,
                names: match root {
                    Root::Temporary if made => vec![Name::fixed("tmp.XXXXXXXXXX")],
                    _ => Vec::new(),
                },
            },
            None if absolute => self.start.clone(),
            None => self.directory(directory),
        };
        self.fold(&base, absolute, names)
    }

    fn directory(&self, directory: &Directory) -> Located {
        match directory {
            Directory::Start => self.start.clone(),
            Directory::Known(text) => {
                let word = Word {
                    parts: home_first(text),
                    splits: false,
                };
                self.locate(&word, &Directory::Start)
            }
            Directory::Unknown => Located {
                root: Root::Unknown,
                names: Vec::new(),
            },
        }
    }

    /// Walks from a base along names.
    fn fold(&self, base: &Located, absolute: bool, names: impl Iterator<Item = Name>) -> Located {
        let mut at = if absolute {
            Located {
                root: Root::FileSystem,
                names: Vec::new(),
            }
        } else {
            base.clone()
        };
        for name in names {
            match name.text.as_str() {
                "" | "." => {}
                ".." => self.up(&mut at),
                _ => at.names.push(name),
            }
        }
        // Absolute paths beneath the workspace are paths of the workspace.
        if at.root == Root::FileSystem
            && !self.workspace.is_empty()
            && at.names.len() >= self.workspace.len()
            && at.names.iter().zip(&self.workspace).all(|(a, b)| a == b)
        {
            at.names.drain(..self.workspace.len());
            at.root = Root::Workspace;
        }
        // What the call owns is its temporary directory by another name.
        let beneath = |own: &&Vec<Name>| {
            !own.is_empty() && at.names.len() >= own.len() && at.names.starts_with(own)
        };
        if at.root == Root::FileSystem
            && let Some(own) = self.own.iter().find(beneath)
        {
            at.names.drain(..own.len());
            at.root = Root::Temporary;
        }
        at
    }

    fn up(&self, at: &mut Located) {
        match at.names.pop() {
            // The parent of a directory with an unknown name is known only if the directory is not a link.
            Some(name) if name.is_known() && name.glob.is_none() => {}
            Some(_) => at.root = Root::Unknown,
            None => match at.root {
                Root::Workspace if !self.workspace.is_empty() => {
                    at.root = Root::FileSystem;
                    at.names = self.workspace[..self.workspace.len() - 1].to_vec();
                }
                Root::FileSystem => {}
                Root::Workspace | Root::Home | Root::Temporary | Root::Unknown => {
                    at.root = Root::Unknown;
                }
            },
        }
    }
}

/// The path in git's own directory that `$(git rev-parse --git-dir)` and its like print.
pub(super) fn git_path(source: &str) -> Option<String> {
    let text = source.trim_matches('"');
    let text = match text.strip_prefix('`') {
        Some(rest) => rest.strip_suffix('`')?,
        None => text.strip_prefix("$(")?.strip_suffix(')')?,
    };
    let mut words = text.split_whitespace();
    if words.next() != Some("git") || !words.any(|word| word == "rev-parse") {
        return None;
    }
    while let Some(word) = words.next() {
        match word {
            "--git-dir" | "--absolute-git-dir" | "--git-common-dir" => {
                return Some(".git".to_owned());
            }
            "--git-path" => {
                let path = words.next()?.trim_matches(['"', '\'']);
                return Some(format!(".git/{path}"));
            }
            _ => {}
        }
    }
    None
}

/// A directory as the reader of shell text reports it, which may start in the home directory.
fn home_first(text: &str) -> Vec<Part> {
    for prefix in ["$HOME", "${HOME}", "~"] {
        if let Some(rest) = text.strip_prefix(prefix)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return vec![
                Part::Variable("HOME".to_owned()),
                Part::Text(rest.to_owned()),
            ];
        }
    }
    for prefix in ["$TMPDIR", "${TMPDIR}"] {
        if let Some(rest) = text.strip_prefix(prefix)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return vec![
                Part::Variable("TMPDIR".to_owned()),
                Part::Text(rest.to_owned()),
            ];
        }
    }
    vec![Part::Text(text.to_owned())]
}

fn word_is_absolute(word: &Word) -> bool {
    matches!(word.parts.first(), Some(Part::Text(text)) if text.starts_with('/'))
}

/// A name in the making.
#[derive(Default)]
struct Building {
    text: String,
    glob: Option<NameGlob>,
}

impl Building {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
        if let Some(glob) = self.glob.take() {
            self.glob = Some(glob.then(NameGlob::exactly(text)));
        }
    }

    fn glob(&mut self, pattern: &str) {
        let before = match self.glob.take() {
            Some(glob) => glob,
            None => NameGlob::exactly(&self.text),
        };
        self.glob = Some(before.then(NameGlob::parse(pattern)));
        self.text.push_str(pattern);
    }

    fn done(self) -> Name {
        Name {
            text: self.text,
            glob: self.glob,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locate(directory: Directory, parts: &[Part]) -> String {
        let place = Where::new(Some("/home/ada/project".as_ref()), Some("sub"), &[]);
        let word = Word {
            parts: parts.to_vec(),
            splits: false,
        };
        let located = place.locate(&word, &directory);
        format!("{:?} {}", located.root, located.text())
    }

    #[test]
    fn words_lead_where_the_shell_would_go() {
        let t = |text: &str| Part::Text(text.to_owned());
        let v = |text: &str| Part::Variable(text.to_owned());
        let start = || Directory::Start;
        let known = |text: &str| Directory::Known(text.to_owned());
        for (directory, parts, expected) in [
            (start(), vec![t("a/./b//c")], "Workspace sub/a/b/c"),
            (start(), vec![t("../x")], "Workspace x"),
            (start(), vec![t("../..")], "FileSystem /home/ada"),
            (start(), vec![t("../../../../../..")], "FileSystem /"),
            (start(), vec![t("/home/ada/project/x")], "Workspace x"),
            (
                start(),
                vec![t("/home/ada/projects")],
                "FileSystem /home/ada/projects",
            ),
            (known("/etc"), vec![t("passwd")], "FileSystem /etc/passwd"),
            (known("deep"), vec![t("x")], "Workspace sub/deep/x"),
            (known("~/.ssh"), vec![t("id_rsa")], "Home ~/.ssh/id_rsa"),
            (known(".."), vec![t("..")], "FileSystem /home/ada"),
            (Directory::Unknown, vec![t("x")], "Unknown …/x"),
            (Directory::Unknown, vec![t("/x")], "FileSystem /x"),
            (start(), vec![v("HOME"), t("/.aws")], "Home ~/.aws"),
            (start(), vec![v("HOME"), t("x/.aws")], "Unknown …/x/.aws"),
            (start(), vec![v("HOME"), t("/..")], "Unknown …/"),
            (start(), vec![v("TMPDIR"), t("/x")], "Temporary $TMPDIR/x"),
            (start(), vec![v("PWD"), t("/x")], "Workspace sub/x"),
            (start(), vec![v("X"), t("/x")], "Unknown …/…/x"),
            (
                start(),
                vec![t("a/"), v("X"), t("/../b")],
                "Unknown …/sub/a/b",
            ),
        ] {
            assert_eq!(locate(directory, &parts), expected, "{parts:?}");
        }
    }
}
