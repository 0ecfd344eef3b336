//! What it means that git failed, or that there is no repository to run it in: what happened, and what to do.
//!
//! Git's own words are kept, without where the workspace is on the host.

use std::path::Path;

use super::invoke::Output;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;

/// How much of git's own words an error repeats, and how much its details have.
const MAX_SAID: usize = 600;
const MAX_DETAIL: usize = 8 * 1024;

pub(super) fn no_repository(path: &str) -> ToolError {
    let path = text::shorten(&text::visible_line(path), 200);
    ToolError::new(
        ErrorCode::FileNotFound,
        format!(
            "`{path}` is in no git repository; name one with `path`, or make one with `git init` in the workspace"
        ),
    )
}

pub(super) fn no_tree(path: &str) -> ToolError {
    let path = text::shorten(&text::visible_line(path), 200);
    ToolError::failed(format!(
        "`{path}` is a bare repository: it has no files to look at or commit; clone it, and name the clone with `path`"
    ))
}

pub(super) fn above_the_workspace() -> ToolError {
    ToolError::new(
        ErrorCode::InvalidPath,
        "the workspace is a part of a repository that begins above it, which tools cannot reach; make the top of that repository the \
         workspace (`--workspace DIR`, or the setting `workspace`)",
    )
}

pub(super) fn outside() -> ToolError {
    ToolError::new(
        ErrorCode::InvalidPath,
        "git keeps this repository's data outside of the workspace (a linked worktree, a submodule of a larger repository, or a `.git` \
         that leads elsewhere), which tools cannot reach; make a directory the workspace that holds both, or work in the main \
         worktree or a clone",
    )
}

pub(super) fn tree_elsewhere() -> ToolError {
    ToolError::new(
        ErrorCode::InvalidPath,
        "the repository's setting `core.worktree` names another directory than the one it is in; take it out with \
         `git config --unset core.worktree`, or name the repository where its files are",
    )
}

pub(super) fn broken() -> ToolError {
    ToolError::failed(
        "there is a `.git` here that is not a repository; see what `git status` says in a terminal",
    )
}

pub(super) fn no_identity() -> ToolError {
    ToolError::failed(
        "git does not know who commits; say it with `git config --global user.name \"NAME\"` and \
         `git config --global user.email ADDRESS`, or with the settings `git.name` and `git.email`",
    )
}

/// What was agreed to is not what is there now.
pub(super) fn changed(what: &str) -> ToolError {
    ToolError::new(
        ErrorCode::Conflict,
        format!(
            "{what} changed since it was asked about, so nothing was done; call again to be asked about how it is now"
        ),
    )
}

/// A question about something that could not be asked about then, and can now.
pub(super) fn not_asked(what: &str) -> ToolError {
    ToolError::new(
        ErrorCode::Conflict,
        format!("{what} was not approved; call again"),
    )
}

/// Why git ended with an exit code that is none of success.
pub(super) fn of(verb: &str, output: &Output, root: &Path) -> ToolError {
    let said = without_root(&output.stderr, root);
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let (code, hint) = if has(&["index.lock': File exists", "Another git process"]) {
        (
            ErrorCode::Conflict,
            "; another git is at work here: try again, or remove the lock file if none is",
        )
    } else if has(&[
        "tell me who you are",
        "empty ident name",
        "no email was given",
        "no name was given",
        "consists only of disallowed characters",
    ]) {
        return no_identity();
    } else if has(&[
        "unknown revision",
        "bad revision",
        "ambiguous argument",
        "invalid reference",
        "not a valid object name",
    ]) {
        (
            ErrorCode::InvalidArguments,
            "; `git_branch` lists branches, `git_log` commits",
        )
    } else if has(&["did not match any file"]) {
        (
            ErrorCode::FileNotFound,
            "; `git_status` shows what has changed",
        )
    } else if has(&["Device or resource busy", "Read-only file system"]) {
        (
            ErrorCode::PermissionDenied,
            "; what other programs run later (`.git/config`, hooks, `.envrc` …) is not changed in the sandbox: do it in a terminal",
        )
    } else if has(&["is not fully merged"]) {
        return ToolError::failed(
            "the branch has commits that neither its upstream nor the current branch has, and they would be hard to find again; \
             `force: true` deletes it all the same",
        );
    } else if has(&["ignored by one of your .gitignore"]) {
        (
            ErrorCode::ExecutionError,
            "; what `.gitignore` names is not added",
        )
    } else if has(&[
        "unable to normalize alternate object path",
        "missing blob",
        "unable to read tree",
    ]) {
        (
            ErrorCode::ExecutionError,
            "; objects that lie outside of the workspace (alternates, partial clones) cannot be read in the sandbox",
        )
    } else {
        (ErrorCode::ExecutionError, "")
    };
    let words = match said.trim() {
        "" => format!("exit code {}", output.exit_code),
        said => text::shorten(&text::visible(said).replace('\n', "; "), MAX_SAID),
    };
    ToolError::new(code, format!("`git {verb}` failed: {words}{hint}"))
        .with_detail("exitCode", output.exit_code)
        .with_detail("stderr", text::shorten(&said, MAX_DETAIL))
}

/// A text without where the workspace is.
pub(super) fn without_root(text: &str, root: &Path) -> String {
    match root.to_str() {
        Some(root) if root.len() > 1 => text.replace(&format!("{root}/"), "").replace(root, "."),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gits_words_stay_and_the_place_of_the_workspace_goes() {
        let output = Output {
            stderr: "fatal: Unable to create '/srv/me/ws/.git/index.lock': File exists.\n\nAnother git process seems to be running"
                .to_owned(),
            exit_code: 128,
            ..Output::default()
        };
        let error = of("add", &output, Path::new("/srv/me/ws"));
        assert_eq!(error.code(), ErrorCode::Conflict);
        assert!(!format!("{error:?}").contains("/srv/me"), "{error:?}");
        assert!(
            error
                .message()
                .contains("`git add` failed: fatal: Unable to create '.git/index.lock'"),
            "{error}"
        );
    }
}
