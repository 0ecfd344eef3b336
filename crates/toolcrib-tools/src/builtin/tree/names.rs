//! Names of a directory, many of them in little memory: the bytes of all names lie behind each other.

use std::sync::Arc;

use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::Errno;

use super::ignores::Marks;
use crate::workspace::RawDir;

/// The most names of one directory that are looked at.
const MAX_NAMES: usize = 1 << 20;

/// Some names of a directory, in order.
#[derive(Debug, Clone, Default)]
pub(in crate::builtin) struct Names {
    bytes: Arc<Vec<u8>>,
    places: Vec<(u32, u16)>,
}

impl Names {
    pub(in crate::builtin) fn len(&self) -> usize {
        self.places.len()
    }

    pub(in crate::builtin) fn get(&self, index: usize) -> Option<&[u8]> {
        let (start, len) = *self.places.get(index)?;
        self.bytes
            .get(start as usize..start as usize + usize::from(len))
    }
}

/// The contents of a directory, as far as it can be searched: files and directories, no links, nothing else.
#[derive(Debug, Default)]
pub(in crate::builtin) struct Content {
    pub(in crate::builtin) files: Names,
    pub(in crate::builtin) directories: Names,
    /// Names of ignore files and repositories.
    pub(in crate::builtin) marks: Marks,
    /// Whether there are more names than are looked at.
    pub(in crate::builtin) is_cut: bool,
}

/// Reads a directory, up to where the search stops.
pub(in crate::builtin) fn read(
    directory: BorrowedFd<'_>,
    buffer: &mut Vec<u8>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Content, Errno> {
    let mut bytes = Vec::new();
    let (mut files, mut directories) = (Vec::new(), Vec::new());
    let mut content = Content::default();
    let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
    let mut seen = 0_usize;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        seen += 1;
        if seen > MAX_NAMES {
            content.is_cut = true;
            break;
        }
        if seen.is_multiple_of(4096) && is_stopped() {
            break;
        }
        if name.starts_with(b".") {
            content.marks.see(name);
        }
        let kind = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => {
                match statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(_) => continue,
                }
            }
            kind => kind,
        };
        let list = match kind {
            FileType::RegularFile => &mut files,
            FileType::Directory => &mut directories,
            FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => continue,
        };
        // Names have 255 bytes at most, so that a million of them are within 32 bits.
        if let (Ok(start), Ok(len)) = (u32::try_from(bytes.len()), u16::try_from(name.len())) {
            list.push((start, len));
            bytes.extend_from_slice(name);
        }
    }
    let at = |(start, len): &(u32, u16)| *start as usize..*start as usize + usize::from(*len);
    let order = |a: &(u32, u16), b: &(u32, u16)| bytes[at(a)].cmp(&bytes[at(b)]);
    files.sort_unstable_by(order);
    directories.sort_unstable_by(order);
    let bytes = Arc::new(bytes);
    content.files = Names {
        bytes: Arc::clone(&bytes),
        places: files,
    };
    content.directories = Names {
        bytes,
        places: directories,
    };
    Ok(content)
}

impl Names {
    /// Keeps the names that are wanted.
    pub(in crate::builtin) fn retain(&mut self, mut is_wanted: impl FnMut(&[u8]) -> bool) {
        let bytes = &self.bytes;
        self.places.retain(|(start, len)| {
            is_wanted(&bytes[*start as usize..*start as usize + usize::from(*len)])
        });
    }
}
