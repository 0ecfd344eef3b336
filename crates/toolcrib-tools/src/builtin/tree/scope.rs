//! Which files of the tree are searched, as far as the call and the operator say: globs, types, hidden names, extensions.
//!
//! What ignore files say is in `ignores.rs`. The order is ripgrep's: a glob decides before anything else, then ignore files, then types; a
//! hidden name is left out only if no one named it.

use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};

use super::Verdict;
use crate::builtin::invalid;
use crate::model::error::ToolError;
use crate::model::text;

/// Which files are searched.
pub(in crate::builtin) struct Scope {
    globs: Override,
    types: Option<Types>,
    hidden: bool,
    /// As the operator set them, in lower case; none means all.
    extensions: Arc<[String]>,
}

impl Scope {
    /// Reads globs and types of a call to a tool; globs are relative to `root`.
    pub(in crate::builtin) fn new(
        tool: &str,
        root: &Path,
        globs: &[String],
        types: &[String],
        hidden: bool,
        extensions: Arc<[String]>,
    ) -> Result<Self, ToolError> {
        Ok(Scope {
            globs: overrides(tool, root, globs)?,
            types: match types {
                [] => None,
                types => Some(selected(tool, types)?),
            },
            hidden,
            extensions,
        })
    }

    /// Whether something in a directory is looked at. `path` is absolute; `ignores` is asked only if no glob decides.
    pub(in crate::builtin) fn takes(
        &self,
        path: &Path,
        name: &[u8],
        is_dir: bool,
        ignores: impl FnOnce() -> Verdict,
    ) -> bool {
        match self.globs.matched(path, is_dir) {
            Match::Ignore(_) => return false,
            Match::Whitelist(_) => return is_dir || self.may_be_read(name),
            Match::None => {}
        }
        let mut is_named = match ignores() {
            Verdict::Skip => return false,
            Verdict::Keep => true,
            Verdict::Silent => false,
        };
        if let Some(types) = &self.types {
            match types.matched(path, is_dir) {
                Match::Ignore(_) => return false,
                Match::Whitelist(_) => is_named = true,
                Match::None => {}
            }
        }
        (is_named || self.hidden || !name.starts_with(b".")) && (is_dir || self.may_be_read(name))
    }

    /// Whether the operator lets files of such a name be read.
    fn may_be_read(&self, name: &[u8]) -> bool {
        if self.extensions.is_empty() {
            return true;
        }
        let name = String::from_utf8_lossy(name);
        let extension = Path::new(&*name).extension();
        extension.is_some_and(|extension| {
            let extension = extension.to_string_lossy().to_lowercase();
            self.extensions.contains(&extension)
        })
    }
}

/// Reads globs of a call to a tool, relative to `root`. One that begins with `!` leaves out.
pub(in crate::builtin) fn overrides(
    tool: &str,
    root: &Path,
    globs: &[String],
) -> Result<Override, ToolError> {
    let mut builder = OverrideBuilder::new(root);
    for (index, glob) in globs.iter().enumerate() {
        builder.add(glob).map_err(|error| {
            let why = match &error {
                ignore::Error::Glob { err, .. } => err.clone(),
                other => other.to_string(),
            };
            let message = format!(
                "has a glob that cannot be read, number {} `{}`: {why}; `*.rs`, `src/**` and `!tests/**` are some",
                index + 1,
                text::shorten(glob, 100)
            );
            invalid(tool, "/glob", &message)
        })?;
    }
    builder.build().map_err(|error| {
        invalid(
            tool,
            "/glob",
            &format!("has globs that cannot be used: {error}"),
        )
    })
}

fn selected(tool: &str, types: &[String]) -> Result<Types, ToolError> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    for name in types {
        match name.strip_prefix('!') {
            Some(name) => builder.negate(name),
            None => builder.select(name),
        };
    }
    builder.build().map_err(|error| {
        let message = match &error {
            ignore::Error::UnrecognizedFileType(name) => {
                let definitions = builder.definitions();
                let known = definitions.iter().map(|definition| definition.name());
                let near = match text::nearest(name, known).as_slice() {
                    [] => "names of languages and formats are types, as `rust`, `py` or `md`."
                        .to_owned(),
                    near => format!("did you mean {}?", text::or_list(near)),
                };
                format!(
                    "has no type `{}` that is known: {near} A `glob` can say the same, as `*.rs`",
                    text::shorten(name, 100)
                )
            }
            other => format!("has types that cannot be used: {other}"),
        };
        invalid(tool, "/type", &message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(globs: &[&str], types: &[&str], extensions: &[&str]) -> Result<Scope, ToolError> {
        let owned = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        let extensions = owned(extensions).into();
        Scope::new(
            "search_code",
            Path::new("/ws"),
            &owned(globs),
            &owned(types),
            false,
            extensions,
        )
    }

    fn takes(scope: &Scope, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap();
        let path = Path::new("/ws").join(path);
        scope.takes(&path, name.as_bytes(), false, || Verdict::Silent)
    }

    #[test]
    fn globs_are_relative_to_the_workspace_and_a_mark_leaves_out() {
        let scope = scope(&["*.rs", "!/tests/**"], &[], &[]).unwrap();
        for (path, taken) in [
            ("a.rs", true),
            ("src/b.rs", true),
            ("src/b.txt", false),
            ("tests/c.rs", false),
            ("src/tests/c.rs", true),
        ] {
            assert_eq!(takes(&scope, path), taken, "{path}");
        }
    }

    #[test]
    fn a_glob_that_cannot_be_read_is_named() {
        let error = scope(&["*.rs", "a[z-a]"], &[], &[]).err().unwrap();
        assert!(
            error.message().contains("number 2 `a[z-a]`: invalid range"),
            "{error}"
        );
    }

    #[test]
    fn an_unknown_type_says_which_are_near() {
        let error = scope(&[], &["rsut"], &[]).err().unwrap();
        assert!(error.message().contains("`rust`"), "{error}");
        let error = scope(&[], &["!no-such-type-at-all"], &[]).err().unwrap();
        assert!(error.message().contains("`rust`, `py`"), "{error}");
    }

    #[test]
    fn types_select_and_a_mark_leaves_out() {
        let only = scope(&[], &["rust", "md"], &[]).unwrap();
        assert!(takes(&only, "a.rs") && takes(&only, "README.md") && !takes(&only, "a.py"));
        let without = scope(&[], &["!rust"], &[]).unwrap();
        assert!(!takes(&without, "a.rs") && takes(&without, "a.py"));
    }

    #[test]
    fn what_the_operator_does_not_let_be_read_is_not_searched_whatever_the_call_says() {
        for globs in [&[][..], &["*"], &["*.pem"]] {
            let scope = scope(globs, &[], &["rs", "md"]).unwrap();
            assert!(
                !takes(&scope, "key.pem") && !takes(&scope, "noext"),
                "{globs:?}"
            );
        }
        assert!(takes(&scope(&[], &[], &["rs"]).unwrap(), "src/A.RS"));
    }

    #[test]
    fn hidden_names_are_left_out_unless_named() {
        assert!(!takes(&scope(&[], &[], &[]).unwrap(), ".env"));
        assert!(takes(&scope(&[".env"], &[], &[]).unwrap(), ".env"));
    }
}
