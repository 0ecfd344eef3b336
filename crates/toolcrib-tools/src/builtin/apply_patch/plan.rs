//! What a patch would do to the workspace as it is now.

use serde_json::{Value, json};

use super::parse::{Fault, FilePatch, Patch};
use super::{Applied, File, Kind, Moved, hunks};
use crate::builtin::edit_file::content;
use crate::builtin::read_file::check_extension;
use crate::builtin::typed_output;
use crate::model::diff::unified;
use crate::model::effects::Approval;
use crate::model::error::ToolError;
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::workspace::{FileChange, MissingDirs, Old, Replaces, Workspace, WorkspacePath};

/// How much of the differences a person is shown.
const MAX_DIFF: usize = 128 * 1024;

/// How many paths are named in a sentence.
const MAX_NAMED: usize = 8;

/// The changes, file by file.
pub(super) struct Plan {
    files: Vec<Planned>,
    added: usize,
    removed: usize,
}

struct Planned {
    change: FileChange,
    kind: Kind,
    path: WorkspacePath,
    from: Option<WorkspacePath>,
    moved: Vec<Moved>,
    diff: String,
    /// What the approval is bound to.
    basis: Value,
    /// Whether a person has to agree.
    asks: bool,
}

impl Plan {
    /// Compares a patch with the files it names, and applies it in memory. Blocks.
    pub(super) fn new(
        patch: &Patch,
        workspace: &Workspace,
        extensions: &[String],
    ) -> Result<Self, ToolError> {
        let mut seen: Vec<&str> = Vec::new();
        for file in &patch.files {
            let new = file
                .new
                .iter()
                .filter(|new| Some(*new) != file.old.as_ref());
            for path in file.old.iter().chain(new) {
                if seen.contains(&path.as_str()) {
                    let message = format!(
                        "`{}` is in the patch twice; put all its changes in one place",
                        text::shorten(path, 200)
                    );
                    return Err(fault(file, message).into_error());
                }
                seen.push(path);
            }
        }
        let hunks = || patch.files.iter().flat_map(|file| &file.hunks);
        let files = patch.files.iter();
        Ok(Plan {
            files: files
                .map(|file| planned(file, workspace, extensions))
                .collect::<Result<_, _>>()?,
            added: hunks().map(|hunk| hunk.added).sum(),
            removed: hunks().map(|hunk| hunk.removed).sum(),
        })
    }

    /// What an approval is bound to: each file as it was.
    pub(super) fn basis(&self) -> Value {
        self.files.iter().map(|file| file.basis.clone()).collect()
    }

    pub(super) fn approval(&self) -> Approval {
        let asking = self.files.iter().filter(|file| file.asks);
        let deletes = self.files.iter().any(|file| file.kind == Kind::Deleted);
        let approval = match asking.count() {
            0 => Approval::allow(),
            _ if deletes => Approval::ask("it deletes what cannot be brought back").every_time(),
            _ => Approval::ask("it overwrites files"),
        };
        approval
            .with_effect(self.effect())
            .with_basis(self.basis())
            .with_diff(self.diff())
    }

    fn effect(&self) -> String {
        let kinds = [
            (Kind::Changed, "change"),
            (Kind::Created, "create"),
            (Kind::Deleted, "delete"),
            (Kind::Renamed, "rename"),
        ];
        let parts = kinds.into_iter().filter_map(|(kind, verb)| {
            let of_kind: Vec<&Planned> =
                self.files.iter().filter(|file| file.kind == kind).collect();
            let named: Vec<String> = of_kind
                .iter()
                .take(MAX_NAMED)
                .map(|file| match &file.from {
                    Some(from) => format!("`{from}` to `{}`", file.path),
                    None => format!("`{}`", file.path),
                })
                .collect();
            let more = match of_kind.len().checked_sub(MAX_NAMED) {
                None | Some(0) => String::new(),
                Some(more) => format!(" and {more} more"),
            };
            (!of_kind.is_empty()).then(|| format!("{verb} {}{more}", named.join(", ")))
        });
        parts.collect::<Vec<_>>().join("; ")
    }

    fn diff(&self) -> String {
        let mut diff = String::new();
        for (index, file) in self.files.iter().enumerate() {
            if diff.len() + file.diff.len() > MAX_DIFF {
                let more = self.files.len() - index;
                diff.push_str(&format!("… {more} more files\n"));
                break;
            }
            diff.push_str(&file.diff);
        }
        diff
    }

    /// Makes all changes, or none.
    pub(super) fn carry_out(
        self,
        workspace: &Workspace,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<ToolOutput, ToolError> {
        let effect = self.effect();
        let mut changes = Vec::new();
        let mut files = Vec::new();
        for file in self.files {
            changes.push(file.change);
            files.push(File {
                path: file.path.as_str().to_owned(),
                change: file.kind,
                from: file.from.map(|from| from.as_str().to_owned()),
                moved: file.moved,
            });
        }
        workspace.change_all(&changes, is_stopped)?;
        let (added, removed) = (self.added, self.removed);
        let elsewhere = files.iter().flat_map(|file| {
            let path = &file.path;
            let moved = file.moved.iter();
            moved.map(move |moved| {
                format!(
                    "{path}: the hunk for line {} was applied at line {}\n",
                    moved.line, moved.found
                )
            })
        });
        let elsewhere: String = elsewhere.collect();
        let text = format!("applied, +{added} -{removed} lines: {effect}\n{elsewhere}");
        let applied = Applied {
            files,
            added,
            removed,
        };
        typed_output(&applied, text)
    }
}

fn fault(file: &FilePatch, message: String) -> Fault {
    Fault {
        line: file.line,
        message,
    }
}

fn planned(
    file: &FilePatch,
    workspace: &Workspace,
    extensions: &[String],
) -> Result<Planned, ToolError> {
    let at = |error: ToolError| error.preceded_by(&format!("line {} of the patch: ", file.line));
    let path_of = |text: &str| {
        let path = workspace.path(text)?;
        check_extension(&path, extensions)?;
        Ok(path)
    };
    match (&file.old, &file.new) {
        (None, Some(new)) => created(file, path_of(new).map_err(at)?, workspace).map_err(at),
        (Some(old), None) => deleted(file, path_of(old).map_err(at)?, workspace),
        (Some(old), Some(new)) if old == new => changed(file, path_of(old).map_err(at)?, workspace),
        (Some(old), Some(new)) => {
            let paths = (path_of(old).map_err(at)?, path_of(new).map_err(at)?);
            renamed(file, paths, workspace)
        }
        (None, None) => Err(fault(file, "both names are `/dev/null`".to_owned()).into_error()),
    }
}

fn created(
    file: &FilePatch,
    path: WorkspacePath,
    workspace: &Workspace,
) -> Result<Planned, ToolError> {
    workspace.check_is_free(&path)?;
    let (text, _) = applied("", file, &path)?;
    let diff = unified(&path.to_string(), "", &text);
    Ok(Planned {
        change: FileChange::Write {
            path: path.clone(),
            bytes: text.into_bytes(),
            replaces: Replaces::Nothing,
            executable: file.executable,
        },
        kind: Kind::Created,
        path,
        from: None,
        moved: Vec::new(),
        diff,
        basis: json!({"new": true}),
        asks: file.executable == Some(true),
    })
}

fn deleted(
    file: &FilePatch,
    path: WorkspacePath,
    workspace: &Workspace,
) -> Result<Planned, ToolError> {
    let old = workspace.file_to_move(&path)?;
    let text = content(&path, &old)?;
    let (rest, _) = applied(text, file, &path)?;
    if !rest.is_empty() {
        let message = format!(
            "the patch deletes `{path}` and leaves lines of it; a deletion removes all lines"
        );
        return Err(fault(file, message).into_error());
    }
    Ok(Planned {
        diff: unified(&path.to_string(), text, ""),
        basis: identity(&old),
        change: FileChange::Remove {
            path: path.clone(),
            was: old.identity,
        },
        kind: Kind::Deleted,
        path,
        from: None,
        moved: Vec::new(),
        asks: true,
    })
}

fn changed(
    file: &FilePatch,
    path: WorkspacePath,
    workspace: &Workspace,
) -> Result<Planned, ToolError> {
    let old = workspace
        .file_to_replace(&path, MissingDirs::Refuse)?
        .ok_or_else(|| path.fault("patch", rustix::io::Errno::NOENT))?;
    let text = content(&path, &old)?;
    let (new, moved) = applied(text, file, &path)?;
    if new == text && file.executable.is_none() {
        return Err(fault(file, format!("it changes nothing in `{path}`")).into_error());
    }
    let mut diff = unified(&path.to_string(), text, &new);
    if let Some(executable) = file.executable {
        let what = if executable {
            "becomes"
        } else {
            "is no longer"
        };
        diff.insert_str(0, &format!("{path}: {what} executable\n"));
    }
    Ok(Planned {
        diff,
        basis: identity(&old),
        change: FileChange::Write {
            path: path.clone(),
            bytes: new.into_bytes(),
            replaces: Replaces::Just(old.identity),
            executable: file.executable,
        },
        kind: Kind::Changed,
        path,
        from: None,
        moved,
        asks: true,
    })
}

fn renamed(
    file: &FilePatch,
    (from, to): (WorkspacePath, WorkspacePath),
    workspace: &Workspace,
) -> Result<Planned, ToolError> {
    let old = workspace.file_to_move(&from)?;
    workspace.check_is_free(&to)?;
    let is_plain = file.hunks.is_empty() && file.executable.is_none();
    let mut diff = format!("rename from {from}\nrename to {to}\n");
    let (mut bytes, mut moved) = (None, Vec::new());
    if !is_plain {
        let text = content(&from, &old)?;
        let (new, elsewhere) = applied(text, file, &from)?;
        diff.push_str(&unified(&to.to_string(), text, &new));
        (bytes, moved) = (Some(new.into_bytes()), elsewhere);
    }
    Ok(Planned {
        diff,
        basis: identity(&old),
        change: FileChange::Move {
            from: from.clone(),
            to: to.clone(),
            was: old.identity,
            bytes,
            executable: file.executable,
        },
        kind: Kind::Renamed,
        path: to,
        from: Some(from),
        moved,
        asks: !is_plain,
    })
}

fn applied(
    text: &str,
    file: &FilePatch,
    path: &WorkspacePath,
) -> Result<(String, Vec<Moved>), ToolError> {
    hunks::apply(text, &file.hunks, path.as_str()).map_err(Fault::into_error)
}

fn identity(old: &Old) -> Value {
    serde_json::to_value(&old.identity).unwrap_or_default()
}
