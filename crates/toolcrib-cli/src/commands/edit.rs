//! `toolcrib edit`: a copy in the person's editor, which takes the place of the file, or of the record, once it checks.

mod stored;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use toolcrib::definition::Severity;
use toolcrib::source::{FileKind, ToolFile};
use toolcrib::{Crib, ErrorCode, ToolError};

use super::tool_file::{self, Overwrite, find, not_found};
use super::{Done, open};
use crate::args::{EditArgs, Global};
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::{Edited, Line, Terminal, Wake};

pub(super) fn edit(args: &EditArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    if let Ok(entry) = crib.registry().find(&args.tool)
        && let Some(record) = super::stored::record(&entry, &crib)
    {
        return stored::edit(args, &entry, &record, &crib, global, output);
    }
    let report = crib.tool_files();
    let Some(file) = find(&args.tool, &report.files) else {
        return Err(not_a_file(&args.tool, &report.files, &crib));
    };
    if args.as_version.is_some() {
        let message = "`--as-version` is for tools of the store; a file has one version";
        return Err(CliError::usage(message).with_hint(format!(
            "`toolcrib bundle add BUNDLE {}` puts the tool into a bundle",
            file.shown
        )));
    }
    let (before, stem, kind) = (
        tool_file::read(file)?,
        tool_file::stem(file),
        tool_file::kind(file),
    );
    let Some(editor) = editor() else {
        let message = "there is no editor: neither VISUAL nor EDITOR is set";
        return Err(CliError::usage(message).with_hint(format!(
            "`EDITOR=nano toolcrib edit {}`, or change `{}` yourself and `toolcrib trust` it",
            args.tool, file.shown
        )));
    };
    let terminal = (!global.no_input)
        .then(|| Terminal::find(output.colours_terminal()))
        .flatten();
    let desk = Desk::new(editor, terminal)?;
    let copy = Copy::of(&before, &format!("{stem}{}", kind.end()))?;
    let saved = loop {
        if let Err(error) = desk.run_editor(copy.path()) {
            copy.keep_if_changed(&before);
            return Err(error);
        }
        let saved = copy.read()?;
        if saved == before {
            return unchanged(file, output);
        }
        let problems = kind.read(saved.as_bytes(), &stem).problems;
        tool_file::print_problems(&file.shown, &saved, &problems, output);
        let is_wrong = problems
            .iter()
            .any(|problem| problem.severity == Severity::Error);
        if !is_wrong {
            break saved;
        }
        if !desk.edit_on() {
            let kept = copy.keep();
            let message = format!(
                "the saved text has errors; `{}` was not changed",
                file.shown
            );
            let error = ToolError::new(ErrorCode::InvalidArguments, message)
                .with_detail("copy", kept.display().to_string());
            return Err(
                CliError::from(error).with_hint(format!("your text is in {}", kept.display()))
            );
        }
    };
    if !tool_file::still_says(file, &before) {
        let kept = copy.keep();
        let message = format!("`{}` changed while you edited it", file.shown);
        let error = ToolError::new(ErrorCode::Conflict, message)
            .with_detail("copy", kept.display().to_string());
        return Err(CliError::from(error).with_hint(format!("your text is in {}", kept.display())));
    }
    tool_file::write(&file.path, &saved, Overwrite::Yes)?;
    crib.pin(&file.path, saved.as_bytes())?;
    let name = kind
        .read(saved.as_bytes(), &stem)
        .definition
        .map_or(stem, |definition| definition.name().to_string());
    if output.json() {
        output.document(
            &json!({"ok": true, "value": {"tool": name, "file": file.path, "changed": true}}),
        );
    } else {
        output.line(&format!("saved {}", file.shown));
        let (next, why) = match kind {
            FileKind::Yaml => ("test", "run its tests"),
            FileKind::Json => ("explain", "whether it can be called, and what is missing"),
        };
        output.say(&format!("  toolcrib {next} {name}   {}", output.dim(why)));
    }
    Ok(ExitCode::SUCCESS)
}

fn unchanged(file: &ToolFile, output: &Output) -> Done {
    if output.json() {
        let value = json!({"tool": file.name, "file": file.path, "changed": false});
        output.document(&json!({"ok": true, "value": value}));
    } else {
        output.say("nothing was changed");
    }
    Ok(ExitCode::SUCCESS)
}

fn not_a_file(word: &str, files: &[ToolFile], crib: &Crib) -> CliError {
    match crib.registry().find(word) {
        Ok(entry) => {
            let name = &entry.spec().name;
            let message = format!("`{name}` is built in: there is no file of it to edit");
            CliError::from(ToolError::new(ErrorCode::ReadOnly, message)).with_hint(format!(
                "`toolcrib new NAME --kind alias` makes a tool of your own out of it; `toolcrib disable {name}` switches it off"
            ))
        }
        Err(error) => not_found(error, word, files),
    }
}

/// `$VISUAL`, else `$EDITOR`.
pub(super) fn editor() -> Option<String> {
    ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|editor| !editor.trim().is_empty())
}

/// The copy that is edited, in its own directory: editors put files beside it.
pub(super) struct Copy {
    directory: tempfile::TempDir,
    path: PathBuf,
}

impl Copy {
    pub(super) fn of(text: &str, name: &str) -> Result<Self, CliError> {
        let failed = |error: std::io::Error| {
            let message = format!("cannot make a copy to edit: {error}");
            CliError::from(ToolError::new(ErrorCode::StorageError, message))
        };
        let directory = tempfile::Builder::new()
            .prefix("toolcrib-edit-")
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir()
            .map_err(failed)?;
        let path = directory.path().join(name);
        std::fs::write(&path, text).map_err(failed)?;
        Ok(Copy { directory, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn read(&self) -> Result<String, CliError> {
        let bytes = std::fs::read(&self.path).map_err(|error| {
            let message = format!("cannot read what was saved: {error}");
            CliError::from(ToolError::new(ErrorCode::StorageError, message))
        })?;
        // A file that is not text is reported like any other problem.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Leaves the copy where it is.
    pub(super) fn keep(self) -> PathBuf {
        let Copy { directory, path } = self;
        let _ = directory.keep();
        path
    }

    pub(super) fn keep_if_changed(self, before: &str) {
        if std::fs::read(&self.path).is_ok_and(|bytes| bytes != before.as_bytes()) {
            let _ = self.keep();
        }
    }
}

/// The editor, and the person at the terminal if there is one.
pub(super) struct Desk {
    editor: String,
    terminal: Option<Terminal>,
    wake: Arc<Wake>,
    editing: Arc<AtomicBool>,
}

impl Desk {
    pub(super) fn new(editor: String, terminal: Option<Terminal>) -> Result<Self, CliError> {
        let wake = Wake::new().map(Arc::new);
        let wake = wake
            .map_err(|error| ToolError::new(ErrorCode::Internal, format!("cannot ask: {error}")))?;
        let editing = Arc::new(AtomicBool::new(false));
        if terminal.is_some() {
            // A Ctrl-C in the editor is the editor's; elsewhere it is a "no".
            let (wake, editing) = (Arc::clone(&wake), Arc::clone(&editing));
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                let Ok(runtime) = runtime else { return };
                runtime.block_on(async {
                    while tokio::signal::ctrl_c().await.is_ok() {
                        if !editing.load(Ordering::Relaxed) {
                            wake.wake();
                        }
                    }
                });
            });
        }
        Ok(Desk {
            editor,
            terminal,
            wake,
            editing,
        })
    }

    pub(super) fn run_editor(&self, path: &Path) -> Result<(), CliError> {
        let failed = |why: &str| {
            let message = format!("`{}` failed ({why}); nothing was changed", self.editor);
            CliError::from(ToolError::failed(message))
                .with_hint("set VISUAL or EDITOR to an editor")
        };
        self.editing.store(true, Ordering::Relaxed);
        let ended = match &self.terminal {
            Some(terminal) => terminal.edit(&self.editor, path, &self.wake),
            None => without_terminal(&self.editor, path),
        };
        self.editing.store(false, Ordering::Relaxed);
        match ended {
            Ok(Edited::Saved) => Ok(()),
            Ok(Edited::Failed(status)) => Err(failed(&status)),
            Ok(Edited::Woken) => Err(failed("ended")),
            Err(error) => Err(failed(&error.to_string())),
        }
    }

    /// Whether the person wants to fix the errors.
    pub(super) fn edit_on(&self) -> bool {
        let Some(terminal) = &self.terminal else {
            return false;
        };
        let _attention = terminal.attend();
        loop {
            match terminal.ask("Edit on? (y/n) ", &self.wake) {
                Line::Text(word) => match word.trim().to_lowercase().as_str() {
                    "" | "y" | "yes" => return true,
                    "n" | "no" => return false,
                    _ => terminal.say("type y or n"),
                },
                Line::End | Line::Woken => return false,
            }
        }
    }
}

/// An editor that needs no person: its words go to stderr, where ours go.
fn without_terminal(editor: &str, path: &Path) -> std::io::Result<Edited> {
    let status = Command::new("sh")
        .args(["-c", &format!("exec {editor} \"$@\" >&2"), "editor"])
        .arg(path)
        .status()?;
    Ok(match status.success() {
        true => Edited::Saved,
        false => Edited::Failed(status.to_string()),
    })
}
