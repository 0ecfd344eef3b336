//! Patterns for paths, and whether a word of a command, which may itself be a pattern, can mean a path they name.
//!
//! Paths are compared name by name: `*`, `?` and `[…]` stay within a name, `**` is any number of names. A pattern that fits a
//! directory fits what is in it.

use super::destination::{Located, Name, Root};
use super::name_glob::NameGlob;

/// A pattern for paths.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathGlob {
    from: From,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum From {
    /// `/…`
    FileSystem,
    /// `~/…`
    Home,
    /// `dir/…`
    Workspace,
    /// `**/…`, or a name without a slash.
    Anywhere,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Name(NameGlob),
    /// `**`
    Any,
}

/// How many patterns a list in braces may stand for.
const MAX_BRACES: usize = 64;

impl PathGlob {
    /// Reads a pattern; `{a,b}` makes it several.
    pub(super) fn parse(text: &str) -> Result<Vec<PathGlob>, String> {
        let mut texts = vec![text.to_owned()];
        while let Some(at) = texts.iter().position(|text| text.contains('{')) {
            let text = texts.swap_remove(at);
            let (before, rest) = text.split_once('{').unwrap_or_default();
            let Some((list, after)) = rest.split_once('}') else {
                return Err(format!("`{text}` opens a `{{` that nothing closes"));
            };
            if list.contains('{') {
                return Err(format!("`{text}` has braces inside braces"));
            }
            texts.extend(list.split(',').map(|one| format!("{before}{one}{after}")));
            if texts.len() > MAX_BRACES {
                return Err(format!(
                    "its braces stand for more than {MAX_BRACES} patterns"
                ));
            }
        }
        texts.iter().map(|text| PathGlob::one(text)).collect()
    }

    fn one(text: &str) -> Result<PathGlob, String> {
        let (from, rest) = if let Some(rest) = text.strip_prefix('/') {
            (From::FileSystem, rest)
        } else if text == "~" {
            (From::Home, "")
        } else if let Some(rest) = text.strip_prefix("~/") {
            (From::Home, rest)
        } else if text.starts_with("**/") || !text.trim_end_matches('/').contains('/') {
            (From::Anywhere, text)
        } else {
            (From::Workspace, text)
        };
        let mut steps = Vec::new();
        if from == From::Anywhere {
            steps.push(Step::Any);
        }
        for name in rest.split('/') {
            match name {
                "" | "." => {}
                ".." => return Err(format!("`{text}` has `..` in it; write where it leads")),
                "**" if steps.last() == Some(&Step::Any) => {}
                "**" => steps.push(Step::Any),
                name => steps.push(Step::Name(NameGlob::parse(name))),
            }
        }
        if text.is_empty() || (steps == [Step::Any] && from == From::Anywhere) {
            return Err("it fits every path".to_owned());
        }
        // What fits a directory fits what is in it.
        if steps.last() != Some(&Step::Any) {
            steps.push(Step::Any);
        }
        Ok(PathGlob { from, steps })
    }

    /// Whether a path, which may itself have wildcards, can be one that this names.
    pub(super) fn matches(&self, path: &Located, workspace: &[Name]) -> bool {
        let names = path.names.as_slice();
        match (self.from, path.root) {
            // Anything anywhere fits `*`, and `ls *` names nothing in particular. `ls .git/*` does.
            (From::Anywhere, _) => fits_if(&self.steps, &[names], |name, follows| {
                follows || name.glob.as_ref().is_none_or(|glob| glob.fixed() > 1)
            }),
            (From::FileSystem, Root::FileSystem)
            | (From::Home, Root::Home)
            | (From::Workspace, Root::Workspace) => fits(&self.steps, &[names]),
            // A pattern that covers the whole workspace is about what is around it.
            (From::FileSystem, Root::Workspace) => {
                !workspace.is_empty() && self.reaches_into(workspace, names)
            }
            (From::FileSystem, Root::Home) => fits(
                &self.steps,
                &[&[Name::fixed("home"), Name::unknown()], names],
            ),
            (From::Home, Root::FileSystem) => {
                beneath_a_home(names).is_some_and(|below| fits(&self.steps, &[below]))
            }
            (From::Home, Root::Workspace) => {
                beneath_a_home(workspace).is_some_and(|below| self.reaches_into(below, names))
            }
            (From::Workspace, _) | (_, Root::Temporary | Root::Unknown) => false,
        }
    }
}

impl PathGlob {
    fn reaches_into(&self, workspace: &[Name], names: &[Name]) -> bool {
        fits(&self.steps, &[workspace, names]) && !fits(&self.steps, &[workspace])
    }
}

/// The rest of an absolute path that leads through someone's home directory.
fn beneath_a_home(names: &[Name]) -> Option<&[Name]> {
    match names {
        [root, rest @ ..] if root.text == "root" => Some(rest),
        [homes, _, rest @ ..] if matches!(homes.text.as_str(), "home" | "Users") => Some(rest),
        _ => None,
    }
}

/// Whether a path, given in pieces, fits: a walk along both that goes back to the last `**` when it is stuck.
fn fits(steps: &[Step], pieces: &[&[Name]]) -> bool {
    fits_if(steps, pieces, |_, _| true)
}

/// Like [`fits`], for names that are `enough`, given whether a name of the pattern comes right before.
fn fits_if(steps: &[Step], pieces: &[&[Name]], enough: impl Fn(&Name, bool) -> bool) -> bool {
    let length: usize = pieces.iter().map(|piece| piece.len()).sum();
    let name = |mut index: usize| {
        for piece in pieces {
            match piece.get(index) {
                Some(name) => return Some(name),
                None => index -= piece.len(),
            }
        }
        None
    };
    let is_name =
        |step: Option<usize>| matches!(step.and_then(|step| steps.get(step)), Some(Step::Name(_)));
    let (mut step, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (steps.get(step), name(at)) {
            (Some(Step::Any), _) => {
                if step + 1 == steps.len() {
                    return true;
                }
                retry = Some((step, at));
                step += 1;
                continue;
            }
            (Some(Step::Name(glob)), Some(name))
                if enough(name, is_name(step.checked_sub(1))) && name.may_be(glob) =>
            {
                step += 1;
                at += 1;
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        match retry {
            Some((any, from)) if from < length => {
                retry = Some((any, from + 1));
                step = any + 1;
                at = from + 1;
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::destination::Where;
    use super::*;
    use crate::shell::{Part, Word};

    fn matches(pattern: &str, word: Word) -> bool {
        let place = Where::new(Some("/home/ada/project".as_ref()), None, &[]);
        let located = place.locate(&word, &Default::default());
        PathGlob::parse(pattern)
            .unwrap()
            .iter()
            .any(|glob| glob.matches(&located, place.workspace()))
    }

    fn text(text: &str) -> Word {
        Word::text(text)
    }

    #[test]
    fn a_path_is_compared_name_by_name_from_where_the_pattern_starts() {
        for (pattern, path, expected) in [
            ("/etc/passwd", "/etc/passwd", true),
            ("/etc/passwd", "/etc//./x/../passwd", true),
            ("/etc/passwd", "../../../etc/passwd", true),
            ("/etc/passwd", "etc/passwd", false),
            ("/etc/passwd", "/etc/passwd-", false),
            ("**/.ssh/**", ".ssh", true),
            ("**/.ssh/**", "a/b/.ssh/id_rsa", true),
            ("**/.ssh/**", "a/b.ssh", false),
            (".ssh", "/x/.ssh/id", true),
            ("*.pem", "keys/a.pem", true),
            ("*.pem", "keys/a.pem.txt", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/b/a.rs", false),
            ("src/**/*.rs", "src/b/c/a.rs", true),
            ("src/**", "/home/ada/project/src/x", true),
            ("src/**", "/home/ada/other/src/x", false),
            ("/home/ada/project/x", "x", true),
            ("/home/ada/**", "x", false),
            ("/home/ada/**", "../x", true),
            ("~/.aws/**", "/home/bob/.aws/credentials", true),
            ("~/.aws/**", "/root/.aws", true),
            ("~/.aws/**", "/srv/.aws", false),
            ("~/project/x", "x", true),
            ("/etc/{shadow,gshadow}", "/etc/gshadow", true),
            ("a/**/b/**/c/d", "a/b/c/b/c/c/d", true),
            ("/", "/anything", true),
        ] {
            assert_eq!(matches(pattern, text(path)), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_wildcard_in_the_command_can_mean_what_the_pattern_names() {
        let word = |parts: &[Part]| Word {
            parts: parts.to_vec(),
            splits: false,
        };
        let (t, g) = (
            |s: &str| Part::Text(s.to_owned()),
            |s: &str| Part::Glob(s.to_owned()),
        );
        assert!(matches("/etc/passwd", word(&[t("/etc/pass"), g("*")])));
        assert!(matches(
            "/etc/passwd",
            word(&[t("/e"), g("?"), t("c/passwd")])
        ));
        assert!(!matches("/etc/passwd", word(&[t("/etc/host"), g("*")])));
        // A shell's wildcard fits no leading dot.
        assert!(!matches("**/.ssh/**", word(&[t("a/"), g("*")])));
        assert!(matches("**/.ssh/**", word(&[t("a/.ss"), g("*")])));
        assert!(
            !matches("**/id_rsa", word(&[g("*")])),
            "it names nothing in particular"
        );
        let home = Part::Variable("HOME".to_owned());
        assert!(matches(
            "~/.aws/**",
            word(&[home.clone(), t("/.aws/credentials")])
        ));
        assert!(matches(
            "/home/*/.aws",
            word(&[home, t("/.aws/credentials")])
        ));
        // A part that is known only at run time fits no fixed name, but the text after it can be seen.
        let dynamic = Part::Dynamic("$(f)".to_owned());
        assert!(!matches(
            "/etc/passwd",
            word(&[t("/etc/"), dynamic.clone()])
        ));
        assert!(matches("**/.ssh/**", word(&[dynamic, t("/.ssh/id")])));
    }

    #[test]
    fn patterns_that_mean_nothing_or_everything_are_refused() {
        for pattern in ["", "**", "**/**", "a/../b", "{a", "{a,{b}}"] {
            assert!(PathGlob::parse(pattern).is_err(), "{pattern}");
        }
    }
}
