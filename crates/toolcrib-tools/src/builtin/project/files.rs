//! Small files of a project, read within bounds. What cannot be read is as good as not there: its own program will say why.

use std::io::Read as _;

use crate::workspace::{EntryKind, RawDir, Workspace};
use rustix::fd::AsFd as _;

/// The largest file that is read to find out about a project.
const MAX_BYTES: u64 = 1024 * 1024;
/// How many names of a directory are looked at.
const MAX_NAMES: usize = 10_000;

/// Whether there is a file at this path, relative to the workspace. A link that leads out of it is none.
pub(in crate::builtin) fn is_file(workspace: &Workspace, path: &str) -> bool {
    let Ok(path) = workspace.path(path) else {
        return false;
    };
    workspace
        .metadata(&path)
        .is_ok_and(|metadata| metadata.kind == EntryKind::File)
}

/// The text of a file, if it is one of at most 1 MB. Blocks.
pub(in crate::builtin) fn read(workspace: &Workspace, path: &str) -> Option<String> {
    let path = workspace.path(path).ok()?;
    let (file, _) = workspace.open_file(&path).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > MAX_BYTES {
        return None;
    }
    String::from_utf8(bytes).ok()
}

/// The names in a directory, of large ones not all, as far as they are UTF-8; in no order. Blocks.
pub(in crate::builtin) fn names_in(workspace: &Workspace, directory: &str) -> Vec<String> {
    let opened = workspace
        .path(directory)
        .and_then(|path| workspace.open_dir(&path));
    let Ok(opened) = opened else {
        return Vec::new();
    };
    let mut buffer = Vec::with_capacity(32 * 1024);
    let mut entries = RawDir::new(opened.as_fd(), buffer.spare_capacity_mut());
    let mut names = Vec::new();
    for _ in 0..MAX_NAMES {
        let Some(Ok(entry)) = entries.next() else {
            break;
        };
        if let Ok(name) = entry.file_name().to_str()
            && !matches!(name, "." | "..")
        {
            names.push(name.to_owned());
        }
    }
    names
}
