//! Where tools come from as files: [`Scope`], and the directories of each.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::model::names::Slug;
use crate::registry::Source;
use crate::workspace::Workspace;

/// Whose tools they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The workspace's: `.toolcrib/tools` in it. No one may call them until they are trusted.
    Local,
    /// The user's: `~/.toolcrib/tools`.
    User,
    /// The machine's: `/etc/toolcrib/tools`.
    Global,
}

impl Scope {
    /// All scopes; what is first has a name before the others.
    pub const ALL: [Scope; 3] = [Scope::Local, Scope::User, Scope::Global];

    /// Its name, which is also that of its bundle.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Local => "local",
            Scope::User => "user",
            Scope::Global => "global",
        }
    }

    /// The bundle of its tools.
    pub fn bundle(self) -> Slug {
        Slug::parse(self.as_str()).expect("a valid slug")
    }

    pub(super) fn source(self) -> Source {
        match self {
            Scope::Local => Source::Local,
            Scope::User => Source::User,
            Scope::Global => Source::Global,
        }
    }
}

/// The sources that files are behind.
pub(super) const FILE_SOURCES: [Source; 3] = [Source::Local, Source::User, Source::Global];

/// A directory that may hold tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScopeDir {
    pub(super) scope: Scope,
    /// Where it is on the host.
    pub(super) path: PathBuf,
    /// What people read: relative to the workspace, to `~`, or where the machine's tools always are.
    pub(super) shown: String,
    /// The directory that the two last names of the path are in.
    pub(super) base: PathBuf,
}

impl ScopeDir {
    fn of(scope: Scope, base: &Path, brand: &str, shown_base: &str) -> Self {
        ScopeDir {
            scope,
            path: base.join(brand).join("tools"),
            shown: format!("{shown_base}{brand}/tools"),
            base: base.to_owned(),
        }
    }

    /// Whether not even the directory around it is there.
    pub(super) fn is_nowhere(&self) -> bool {
        let around = self.path.parent().map(rustix::fs::lstat);
        matches!(around, Some(Err(rustix::io::Errno::NOENT)))
    }

    /// A file in it, as people read it.
    pub(super) fn shown_file(&self, name: &str) -> String {
        let shown = format!("{}/{name}", self.shown);
        crate::model::text::shorten(&shown, 300)
    }
}

/// The places of all scopes, the one whose tools have their names first coming first.
pub(super) fn places(
    workspace: Option<&Arc<Workspace>>,
    user: Option<&Path>,
    global: &Path,
) -> Vec<ScopeDir> {
    let mut places = Vec::new();
    // `.cycod` is where S0 has them.
    let workspace = workspace.map(|workspace| workspace.root());
    if let Some(root) = workspace.filter(|root| !is_same(root, user)) {
        for brand in [".toolcrib", ".cycod"] {
            places.push(ScopeDir::of(Scope::Local, root, brand, ""));
        }
    }
    if let Some(home) = user {
        for brand in [".toolcrib", ".cycod"] {
            places.push(ScopeDir::of(Scope::User, home, brand, "~/"));
        }
    }
    for brand in ["toolcrib", "cycod"] {
        let shown_base = if global == Path::new("/etc") {
            "/etc/"
        } else {
            ""
        };
        places.push(ScopeDir::of(Scope::Global, global, brand, shown_base));
    }
    places
}

/// A workspace that is the home directory has no tools but the user's.
fn is_same(root: &Path, user: Option<&Path>) -> bool {
    user.is_some_and(|user| user.canonicalize().is_ok_and(|user| user == root))
}
