//! The few file operations on cgroup directories, with the path in every error.
//!
//! Path-based, so that the logic above can be tested on a directory of ordinary files.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

/// Enough for every file we read whole; in `cpu.stat`, the longest, our line is the first.
const READ_CAP: usize = 512;

/// Writes `value` to the file `name` of a cgroup.
pub(super) fn write(dir: &Path, name: &str, value: &str) -> io::Result<()> {
    let path = dir.join(name);
    // No O_CREAT: a missing control must be an error, not (in a test) a new file.
    let file = OpenOptions::new().write(true).truncate(true).open(&path);
    // One write, unbuffered: the kernel takes each write as a whole value.
    file.and_then(|file| file.write_all_at(value.as_bytes(), 0))
        .map_err(|error| {
            explain(
                &error,
                format_args!("cannot write `{value}` to `{}`", path.display()),
            )
        })
}

/// Reads the file `name` of a cgroup.
pub(super) fn read(dir: &Path, name: &str) -> io::Result<String> {
    let path = dir.join(name);
    fs::read_to_string(&path)
        .map_err(|error| explain(&error, format_args!("cannot read `{}`", path.display())))
}

/// Opens a control to be written later.
pub(super) fn open_write(dir: &Path, name: &str) -> io::Result<File> {
    let path = dir.join(name);
    OpenOptions::new().write(true).open(&path).map_err(|error| {
        explain(
            &error,
            format_args!("cannot open `{}` for writing", path.display()),
        )
    })
}

/// Opens a file to be read many times with [`reread`].
pub(super) fn open_read(dir: &Path, name: &str) -> io::Result<File> {
    let path = dir.join(name);
    File::open(&path)
        .map_err(|error| explain(&error, format_args!("cannot open `{}`", path.display())))
}

/// Reads an open file from its start again and hands its text to `parse`; `None` when either fails.
pub(super) fn reread<T>(file: &File, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let mut buffer = [0; READ_CAP];
    let length = file.read_at(&mut buffer, 0).ok()?;
    parse(std::str::from_utf8(&buffer[..length]).ok()?)
}

/// The names of the cgroups directly below one; none when it cannot be listed.
pub(super) fn children(dir: &Path) -> Vec<OsString> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.file_name())
        .collect()
}

/// Removes a cgroup and those below it. Fails while one has processes; a missing one is fine.
pub(super) fn remove(dir: &Path) -> io::Result<()> {
    // Never remove_dir_all: the files of a cgroup cannot be unlinked, and need not be.
    let removed = match fs::remove_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            for child in children(dir) {
                remove(&dir.join(child))?;
            }
            fs::remove_dir(dir)
        }
        done => done,
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(explain(
            &error,
            format_args!("cannot remove `{}`", dir.display()),
        )),
        _gone => Ok(()),
    }
}

/// Says what was being done, keeping the kind by which callers decide.
pub(super) fn explain(error: &io::Error, doing: std::fmt::Arguments<'_>) -> io::Error {
    io::Error::new(error.kind(), format!("{doing}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_never_makes_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let error = write(dir.path(), "memory.max", "1").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(
            error.to_string().starts_with("cannot write `1` to `/"),
            "{error}"
        );
    }

    #[test]
    fn removing_takes_nested_directories_and_forgives_a_missing_one() {
        let dir = tempfile::tempdir().unwrap();
        let owner = dir.path().join("owner");
        fs::create_dir_all(owner.join("slot-1/inner")).unwrap();
        fs::create_dir(owner.join("slot-2")).unwrap();
        remove(&owner).unwrap();
        assert!(!owner.exists());
        remove(&owner).unwrap();
    }

    #[test]
    fn an_open_file_is_read_from_its_start_each_time() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("pids.current"), "3\n").unwrap();
        let file = open_read(dir.path(), "pids.current").unwrap();
        assert_eq!(reread(&file, |text| text.trim().parse().ok()), Some(3));
        fs::write(dir.path().join("pids.current"), "0\n").unwrap();
        assert_eq!(reread(&file, |text| text.trim().parse().ok()), Some(0));
    }
}
