//! Which paths a grant covers: [`PathPattern`].
//!
//! Paths are compared as text, relative to the workspace, without `.` and without `..`. A path that leads through a symbolic
//! link is covered by nothing: what it means can change while its text stays.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A pattern on paths of the workspace: one path, `dir/*` (what is in it) or `dir/**` (what is below it).
///
/// The wildcards cover no name that begins with a dot; nothing covers a protected name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PathPattern {
    /// Without slashes around it; empty for the workspace itself.
    path: String,
    reach: PatternDepth,
}

/// How far a pattern reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternDepth {
    Itself,
    In,
    Below,
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a pattern of paths: {0}")]
pub struct PathPatternError(&'static str);

impl PathPattern {
    /// One path. `None` where it cannot be covered.
    pub(super) fn exactly(text: &str, root: Option<&Path>) -> Option<Self> {
        let path = normal(text, root)?;
        // `x/*` as a name would read as a pattern.
        let readable = !matches!(last(&path), "*" | "**");
        (readable && !is_protected(&path)).then_some(PathPattern {
            path,
            reach: PatternDepth::Itself,
        })
    }

    /// Everything in the directory of this path and below it.
    pub(super) fn around(&self) -> [PathPattern; 2] {
        let parent = self.path.rsplit_once('/').map_or("", |(parent, _)| parent);
        [PatternDepth::In, PatternDepth::Below].map(|reach| PathPattern {
            path: parent.to_owned(),
            reach,
        })
    }

    /// The directory that the wildcard is in, if there is one.
    pub(super) fn directory(&self) -> Option<&str> {
        (self.reach != PatternDepth::Itself).then_some(&self.path)
    }

    /// Whether the pattern covers a path argument. `root` is where the workspace is.
    pub fn covers(&self, text: &str, root: Option<&Path>) -> bool {
        normal(text, root).is_some_and(|path| self.covers_text(&path) && !has_link(&path, root))
    }

    /// As [`covers`](Self::covers), by the text alone: for calls that are over.
    pub(super) fn would_cover(&self, text: &str, root: Option<&Path>) -> bool {
        normal(text, root).is_some_and(|path| self.covers_text(&path))
    }

    fn covers_text(&self, path: &str) -> bool {
        if is_protected(path) {
            return false;
        }
        if self.reach == PatternDepth::Itself {
            return path == self.path;
        }
        let below = match self.path.as_str() {
            "" => Some(path),
            parent => path
                .strip_prefix(parent)
                .and_then(|rest| rest.strip_prefix('/')),
        };
        below.is_some_and(|below| {
            let mut names = below.split('/');
            let all_shown = names.clone().all(|name| !name.starts_with('.'));
            all_shown && (self.reach == PatternDepth::Below || names.nth(1).is_none())
        })
    }
}

/// A path relative to the workspace in one spelling; `None` for what leads out of it, is the workspace itself, or is not a path.
fn normal(text: &str, root: Option<&Path>) -> Option<String> {
    if text.contains('\0') || text.ends_with('/') {
        return None;
    }
    let relative = match text.strip_prefix('/') {
        None => text,
        Some(_) => text.strip_prefix(root?.to_str()?)?.strip_prefix('/')?,
    };
    let mut names = Vec::new();
    for name in relative.split('/') {
        match name {
            "" | "." => {}
            ".." => return None,
            name => names.push(name),
        }
    }
    (!names.is_empty()).then(|| names.join("/"))
}

/// Whether a part of the path has a protected name, wherever it is.
fn is_protected(path: &str) -> bool {
    path.split('/')
        .any(|name| toolcrib_sandbox::is_protected_name(name.as_ref()))
}

/// Whether a part of the path is a symbolic link now.
fn has_link(path: &str, root: Option<&Path>) -> bool {
    let Some(root) = root else { return false };
    let mut at = root.to_owned();
    path.split('/').any(|name| {
        at.push(name);
        std::fs::symlink_metadata(&at).is_ok_and(|found| found.is_symlink())
    })
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl TryFrom<String> for PathPattern {
    type Error = PathPatternError;

    fn try_from(text: String) -> Result<Self, PathPatternError> {
        let (path, reach) = match text.rsplit_once('/') {
            Some((path, "*")) => (path, PatternDepth::In),
            Some((path, "**")) => (path, PatternDepth::Below),
            Some(_) => (text.as_str(), PatternDepth::Itself),
            None if text == "*" => ("", PatternDepth::In),
            None if text == "**" => ("", PatternDepth::Below),
            None => (text.as_str(), PatternDepth::Itself),
        };
        let is_root = path.is_empty() && reach != PatternDepth::Itself;
        let normal = normal(path, None);
        if !is_root && normal.as_deref() != Some(path) {
            return Err(PathPatternError(
                "it is relative to the workspace, without `.`, `..` and empty parts",
            ));
        }
        if path.split('/').any(|name| matches!(name, "*" | "**")) {
            return Err(PathPatternError("`*` and `**` stand at the end only"));
        }
        if is_protected(path) {
            return Err(PathPatternError("the name is protected"));
        }
        Ok(PathPattern {
            path: path.to_owned(),
            reach,
        })
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.path.is_empty() { "" } else { "/" };
        match self.reach {
            PatternDepth::Itself => f.write_str(&self.path),
            PatternDepth::In => write!(f, "{}{slash}*", self.path),
            PatternDepth::Below => write!(f, "{}{slash}**", self.path),
        }
    }
}

impl From<PathPattern> for String {
    fn from(pattern: PathPattern) -> Self {
        pattern.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> PathPattern {
        PathPattern::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn a_pattern_covers_one_path_one_directory_or_all_below_it() {
        let covers = |text: &str, path: &str| pattern(text).covers(path, None);
        for (text, path) in [
            ("docs/a.md", "docs/a.md"),
            ("docs/a.md", "./docs//a.md"),
            ("docs/*", "docs/b.md"),
            ("docs/**", "docs/b.md"),
            ("docs/**", "docs/x/y.md"),
            ("*", "a"),
            ("**", "a/b/c"),
            (".github/*", ".github/ci.yml"),
        ] {
            assert!(covers(text, path), "{text} {path}");
        }
        for (text, path) in [
            ("docs/a.md", "docs/a.mdx"),
            ("docs/a.md", "docs"),
            ("docs/*", "docs"),
            ("docs/*", "docs/"),
            ("docs/*", "docs/x/y.md"),
            ("docs/*", "docsx/a"),
            ("docs/*", "docs/../src/a"),
            ("docs/**", "docs/x/../../src/a"),
            ("docs/**", "/etc/passwd"),
            ("docs/**", "docs/.env"),
            ("docs/**", "docs/.hidden/a"),
            ("**", ".git/config"),
            ("**", "a/.GIT/config"),
            ("*", ".bashrc"),
            ("**", "a\0b"),
            ("**", ""),
            ("**", "."),
        ] {
            assert!(!covers(text, path), "{text} {path}");
        }
    }

    #[test]
    fn an_absolute_path_is_covered_beneath_the_workspace_only() {
        let root = Some(Path::new("/srv/project"));
        assert!(pattern("docs/*").covers("/srv/project/docs/a", root));
        assert!(!pattern("docs/*").covers("/srv/project2/docs/a", root));
        assert!(!pattern("**").covers("/srv/project", root));
        assert!(!pattern("**").covers("/srv/project/../x", root));
    }

    #[test]
    fn a_path_through_a_link_is_not_covered() {
        let workspace = tempfile::tempdir().unwrap();
        let root = workspace.path();
        std::fs::create_dir(root.join("src")).unwrap();
        std::fs::create_dir(root.join("docs")).unwrap();
        std::os::unix::fs::symlink("../src", root.join("docs/link")).unwrap();
        std::os::unix::fs::symlink("../src/main.rs", root.join("docs/main")).unwrap();
        let docs = pattern("docs/**");
        assert!(docs.covers("docs/new/file", Some(root)));
        assert!(!docs.covers("docs/link/main.rs", Some(root)));
        assert!(!docs.covers("docs/main", Some(root)));
    }

    #[test]
    fn input_that_is_not_a_pattern_is_refused() {
        for bad in [
            "",
            "/",
            "/etc/*",
            "../*",
            "a/../b",
            "./a",
            "a//b",
            "a/",
            "*/a",
            "**/x",
            "a/*/b",
            ".git/*",
            ".git/config",
            "a/.toolcrib/*",
            "a/.gi\u{206f}t",
            ".ba\u{17f}hrc",
            "a\0",
        ] {
            assert!(PathPattern::try_from(bad.to_owned()).is_err(), "{bad:?}");
        }
        for good in ["a", "a/b", "*", "**", "a/*", "a/b/**", "a b/ü*"] {
            assert_eq!(pattern(good).to_string(), good);
        }
    }
}
