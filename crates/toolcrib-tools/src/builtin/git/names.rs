//! Names that callers give, read before git sees them: none can be an option, a path or a pattern.

use super::super::invalid;
use crate::model::error::ToolError;
use crate::model::text;

/// The longest name of a branch, revision or remote.
const MAX_NAME: usize = 200;

/// Whether a text can be the name of a branch, by the rules of `git check-ref-format`, and by ours: no hidden characters, and
/// none of the names that mean something else.
pub(super) fn check_branch(tool: &str, pointer: &str, name: &str) -> Result<(), ToolError> {
    let wrong = |why: &str| Err(invalid(tool, pointer, why));
    check_start(tool, pointer, name)?;
    if name.contains(|c: char| c.is_control() || " ~^:?*[\\".contains(c))
        || name.contains(text::is_hidden)
    {
        return wrong("has a character that no name of a branch can have");
    }
    if name.contains("..") || name.contains("@{") || name.contains("//") {
        return wrong("has `..`, `@{` or `//` in it, which no name of a branch can have");
    }
    if name.starts_with('/') || name.ends_with(['/', '.']) {
        return wrong("starts with `/`, or ends with `/` or `.`, which no name of a branch can");
    }
    let is_bad = |part: &str| part.starts_with('.') || part.ends_with(".lock");
    if name.split('/').any(is_bad) {
        return wrong("has a part that starts with `.` or ends with `.lock`");
    }
    if name == "@" || name == "HEAD" || name.starts_with("refs/") {
        return wrong("is not a plain branch name, such as `feature/login`");
    }
    Ok(())
}

/// Whether a text can stand for one commit: `main`, `v1.2`, `HEAD~3`, `a1b2c3d`, `main@{upstream}`. No ranges, no paths in
/// commits, no searches.
pub(super) fn check_revision(tool: &str, pointer: &str, name: &str) -> Result<(), ToolError> {
    let wrong = |why: &str| Err(invalid(tool, pointer, why));
    check_start(tool, pointer, name)?;
    if name.contains("..") {
        return wrong("is a range; give its two ends by themselves");
    }
    if name.starts_with('^')
        || name.contains(|c: char| c.is_control() || c.is_whitespace() || ":?*[\\".contains(c))
        || name.contains(text::is_hidden)
    {
        return wrong(
            "is not the name of one commit, such as `main`, `v1.2`, `HEAD~3` or `a1b2c3d`",
        );
    }
    Ok(())
}

/// Whether a text can be the name of a remote; never an address.
pub(super) fn check_remote(tool: &str, pointer: &str, name: &str) -> Result<(), ToolError> {
    check_start(tool, pointer, name)?;
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    if !name.chars().all(is_fine)
        || name.contains("..")
        || name.starts_with(['.', '/'])
        || name.ends_with(['.', '/'])
    {
        return Err(invalid(
            tool,
            pointer,
            "is not the name of a remote, such as `origin`; addresses are not taken, `git remote add NAME ADDRESS` gives one a name",
        ));
    }
    Ok(())
}

/// Whether a text is one line, for an option that it is glued to.
pub(super) fn check_line(tool: &str, pointer: &str, line: &str) -> Result<(), ToolError> {
    match line.contains(char::is_control) {
        true => Err(invalid(tool, pointer, "has a control character in it")),
        false => Ok(()),
    }
}

fn check_start(tool: &str, pointer: &str, name: &str) -> Result<(), ToolError> {
    let why = match name {
        "" => "is empty",
        name if name.len() > MAX_NAME => "is longer than 200 bytes",
        name if name.starts_with('-') => "starts with `-`, as options do",
        _ => return Ok(()),
    };
    Err(invalid(tool, pointer, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &[&str] = &[
        "",
        "-c",
        "--output=/tmp/x",
        "--upload-pack=touch /tmp/x",
        "a\nb",
        "a\0b",
        "a b",
        "main..other",
        "main:secret.txt",
        ":/search",
        ":(exclude)x",
        "a*",
        "a\\b",
        "a\u{202e}b",
        "a\u{200b}b",
    ];

    #[test]
    fn hostile_names_are_not_names() {
        for name in HOSTILE {
            assert!(
                check_branch("git_branch", "/name", name).is_err(),
                "{name:?}"
            );
            assert!(check_revision("git_log", "/ref", name).is_err(), "{name:?}");
            assert!(
                check_remote("git_push", "/remote", name).is_err(),
                "{name:?}"
            );
        }
        for name in [
            "@{-1}",
            "HEAD",
            "@",
            "a.lock",
            "x/.y",
            "a//b",
            "a/",
            "refs/heads/a",
            "a~1",
        ] {
            assert!(
                check_branch("git_branch", "/name", name).is_err(),
                "{name:?}"
            );
        }
        for name in [
            "https://example.com/x",
            "ext::sh -c x",
            "/tmp/x",
            "../x",
            "git@host:x",
        ] {
            assert!(
                check_remote("git_push", "/remote", name).is_err(),
                "{name:?}"
            );
        }
    }

    #[test]
    fn usual_names_are_names() {
        for name in ["main", "feature/login", "été", "a-b_c.d", "v1@2"] {
            check_branch("git_branch", "/name", name).unwrap();
        }
        for name in [
            "main",
            "HEAD~3",
            "v1.0^{commit}",
            "main@{upstream}",
            "@{-1}",
            "@",
            "a1b2c3d",
        ] {
            check_revision("git_log", "/ref", name).unwrap();
        }
        for name in ["origin", "up-stream", "team/fork"] {
            check_remote("git_push", "/remote", name).unwrap();
        }
        assert!(check_line("git_log", "/since", "2 weeks ago").is_ok());
        assert!(check_line("git_log", "/since", "a\nb").is_err());
    }
}
