//! Reads the report that a run left in the temporary directory. Tests could have put anything in its place: a link to a file that they
//! cannot read themselves, a pipe that no one writes to, something without end.

use std::io::Read as _;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

/// The largest report that is read.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The text of a report, if it is a plain file and not too large. Blocks.
pub(super) fn read(directory: &Path, name: &str) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(CWD, directory, flags, Mode::empty()).ok()?;
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(&directory, name, flags, Mode::empty()).ok()?;
    let stat = fstat(&file).ok()?;
    // A second name would make it someone else's file, too.
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_nlink != 1 {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::from(file)
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    if bytes.len() as u64 > MAX_BYTES {
        return None;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_plain_file_is_a_report() {
        let directory = tempfile::tempdir().unwrap();
        let secret = || {
            let file = tempfile::NamedTempFile::new_in(directory.path().parent().unwrap());
            let file = file.unwrap();
            std::fs::write(file.path(), "SECRET").unwrap();
            file
        };
        // One each: a file with two names is refused for that.
        let (linked, hard) = (secret(), secret());
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("report"), "text").unwrap();
        assert_eq!(read(directory.path(), "report").as_deref(), Some("text"));
        std::os::unix::fs::symlink(linked.path(), at("link")).unwrap();
        std::fs::hard_link(hard.path(), at("hard")).unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        rustix::fs::mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        std::fs::File::create(at("huge"))
            .unwrap()
            .set_len(MAX_BYTES + 1)
            .unwrap();
        for name in ["missing", "link", "hard", "directory", "fifo", "huge"] {
            assert_eq!(read(directory.path(), name), None, "{name}");
        }
    }
}
