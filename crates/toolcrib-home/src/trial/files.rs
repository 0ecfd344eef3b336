//! The files that a test finds: its `files`, and copies of those in `files-from`.
//!
//! The tool's file need not be trusted, so nothing outside the directory of the tool is read, no link is followed, and all of it is bounded.

use std::fs;
use std::path::Path;

use crate::model::text;
use crate::workspace::Workspace;

/// How many files are copied.
const MAX_FILES: usize = 1000;
/// How much they may have together.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// How deep they may be.
const MAX_DEPTH: usize = 32;

/// Writes a file of `files`, with the directories it is in.
pub(super) fn write(
    workspace: &Workspace,
    root: &Path,
    path: &str,
    text: &str,
) -> Result<(), String> {
    let failed = |why: String| {
        format!(
            "`files`: cannot write `{}`: {why}",
            text::shorten(path, 200)
        )
    };
    // It says why a path cannot be one of the workspace's; the directory is ours alone, and has no links.
    workspace
        .path(path)
        .map_err(|error| failed(error.message().to_owned()))?;
    let place = root.join(path);
    if let Some(directory) = place.parent() {
        fs::create_dir_all(directory).map_err(|error| failed(error.to_string()))?;
    }
    fs::write(&place, text).map_err(|error| failed(error.to_string()))
}

/// Copies everything in `from`, which must be beneath `beside`, into `to`.
pub(super) fn copy(beside: &Path, from: &Path, to: &Path) -> Result<(), String> {
    let real = |path: &Path| {
        let why = |error| format!("`files-from`: cannot open `{}`: {error}", path.display());
        path.canonicalize().map_err(why)
    };
    let (beside, source) = (real(beside)?, real(from)?);
    if !source.starts_with(&beside) || source == beside {
        return Err(format!(
            "`files-from`: `{}` leads out of the directory of the tool",
            from.display()
        ));
    }
    if !source.is_dir() {
        return Err(format!(
            "`files-from`: `{}` is not a directory",
            from.display()
        ));
    }
    let mut left = Left {
        files: MAX_FILES,
        bytes: MAX_BYTES,
    };
    left.copy_in(&source, to, 0)
        .map_err(|why| format!("`files-from`: {why}"))
}

/// What may still be copied.
struct Left {
    files: usize,
    bytes: u64,
}

impl Left {
    fn copy_in(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!(
                "`{}` is more than {MAX_DEPTH} levels deep",
                from.display()
            ));
        }
        let failed = |error: std::io::Error| format!("cannot copy `{}`: {error}", from.display());
        for entry in fs::read_dir(from).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (source, place) = (entry.path(), to.join(entry.file_name()));
            let found = fs::symlink_metadata(&source).map_err(failed)?;
            if found.is_dir() {
                fs::create_dir_all(&place).map_err(failed)?;
                self.copy_in(&source, &place, depth + 1)?;
            } else if found.is_file() {
                self.take(found.len(), &source)?;
                fs::copy(&source, &place).map_err(failed)?;
            } else {
                return Err(format!(
                    "`{}` is neither a file nor a directory",
                    source.display()
                ));
            }
        }
        Ok(())
    }

    fn take(&mut self, bytes: u64, path: &Path) -> Result<(), String> {
        let files = self.files.checked_sub(1);
        let bytes = self.bytes.checked_sub(bytes);
        let (Some(files), Some(bytes)) = (files, bytes) else {
            let most = text::size(MAX_BYTES);
            return Err(format!(
                "from `{}` on it is more than {MAX_FILES} files or {most}",
                path.display()
            ));
        };
        (self.files, self.bytes) = (files, bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beside_the_tool_is_copied_and_nothing_else() {
        let (home, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let beside = home.path().join("tools");
        fs::create_dir_all(beside.join("fixtures/deep")).unwrap();
        fs::write(beside.join("fixtures/deep/a.txt"), "a").unwrap();
        copy(&beside, &beside.join("fixtures"), to.path()).unwrap();
        assert_eq!(
            fs::read_to_string(to.path().join("deep/a.txt")).unwrap(),
            "a"
        );

        std::os::unix::fs::symlink("/etc/hostname", beside.join("fixtures/link")).unwrap();
        let why = copy(&beside, &beside.join("fixtures"), to.path()).unwrap_err();
        assert!(why.contains("neither a file nor a directory"), "{why}");
        std::os::unix::fs::symlink(home.path(), beside.join("out")).unwrap();
        let why = copy(&beside, &beside.join("out"), to.path()).unwrap_err();
        assert!(why.contains("leads out"), "{why}");
        assert!(copy(&beside, &beside.join("nowhere"), to.path()).is_err());
    }

    #[test]
    fn what_is_copied_is_bounded() {
        let (home, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let fixtures = home.path().join("fixtures");
        fs::create_dir(&fixtures).unwrap();
        let large = fs::File::create(fixtures.join("large")).unwrap();
        large.set_len(MAX_BYTES + 1).unwrap();
        let why = copy(home.path(), &fixtures, to.path()).unwrap_err();
        assert!(why.contains("16 MB"), "{why}");
    }
}
