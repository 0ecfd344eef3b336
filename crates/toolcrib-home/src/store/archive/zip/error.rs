//! Why an archive is refused: [`ZipError`].

use super::{MAX_ARCHIVE_BYTES, MAX_ENTRIES, MAX_ENTRY_BYTES, MAX_RATIO, MAX_UNPACKED_BYTES};
use crate::model::text::size;

/// Why an archive is not read. Names of entries in it are made safe to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ZipError {
    /// Not an archive at all, or not all of it.
    #[error("it is not a ZIP archive, or only a part of one")]
    NotZip,
    /// The file is too large.
    #[error("it is larger than {}", size(MAX_ARCHIVE_BYTES as u64))]
    TooLarge,
    /// Something is behind the end.
    #[error("it has a comment, or bytes behind its end, which belong to nothing")]
    Trailing,
    /// Parts of an archive in several files.
    #[error("it is a part of an archive in several files")]
    ManyDisks,
    /// The large variant of the format.
    #[error("it is of the kind ZIP64, which no archive of at most {} needs", size(MAX_ARCHIVE_BYTES as u64))]
    Zip64,
    /// Too many entries.
    #[error("it has {found} or more entries; at most {MAX_ENTRIES} are read")]
    TooMany {
        /// How many it says it has.
        found: usize,
    },
    /// The directory cannot be read.
    #[error("its directory is damaged")]
    Directory,
    /// Bytes that no entry has.
    #[error(
        "it has bytes between, before or behind its entries, or entries that overlap or stand in another order than its directory says: `{entry}` begins at byte {found}, not {expected}"
    )]
    Layout {
        /// The first entry that is not where it has to be; `the directory` for the directory.
        entry: String,
        /// Where it is.
        found: usize,
        /// Where it has to be.
        expected: usize,
    },
    /// A name that is not allowed.
    #[error("the name `{name}` {fault}")]
    Name {
        /// The name.
        name: String,
        /// The problem.
        fault: NameFault,
    },
    /// Two entries of one name.
    #[error("`{first}` and `{second}` are one name, or are taken for one by some file systems")]
    Duplicate {
        /// The first.
        first: String,
        /// The second.
        second: String,
    },
    /// A link, a directory, a device or the like.
    #[error("`{entry}` is {what}, not a file")]
    Special {
        /// The entry.
        entry: String,
        /// What it is.
        what: &'static str,
    },
    /// Encrypted.
    #[error("`{entry}` is encrypted")]
    Encrypted {
        /// The entry.
        entry: String,
    },
    /// A way of packing or a flag that is not known.
    #[error("`{entry}` is packed in a way that is not read ({what}); only stored and deflate are")]
    Unsupported {
        /// The entry.
        entry: String,
        /// The unknown part.
        what: String,
    },
    /// An extra field that could give an entry another meaning.
    #[error("`{entry}` has the extra field {id:#06x} or a broken one; `zip -X -D` leaves them out")]
    Extra {
        /// The entry.
        entry: String,
        /// Its id.
        id: u16,
    },
    /// An entry has a comment.
    #[error("`{entry}` has a comment")]
    Comment {
        /// The entry.
        entry: String,
    },
    /// The entry's header and the directory do not agree.
    #[error("`{entry}` says another {what} in its own header than in the directory")]
    Mismatch {
        /// The entry.
        entry: String,
        /// What they do not agree on.
        what: &'static str,
    },
    /// An entry is too large.
    #[error("`{entry}` unpacks to {bytes} bytes; at most {MAX_ENTRY_BYTES} are read")]
    EntryTooLarge {
        /// The entry.
        entry: String,
        /// How many bytes it says it has.
        bytes: usize,
    },
    /// All together is too large.
    #[error("it unpacks to {bytes} bytes; at most {MAX_UNPACKED_BYTES} are read")]
    TotalTooLarge {
        /// How many bytes it says it has.
        bytes: usize,
    },
    /// Packed more tightly than any definition.
    #[error("{what} unpacks to more than {MAX_RATIO} times its size, as bombs do")]
    Bomb {
        /// The entry, or all of it.
        what: String,
    },
    /// The data cannot be unpacked, or to another size than was said.
    #[error("`{entry}` does not unpack to the {bytes} bytes that it says it has")]
    Data {
        /// The entry.
        entry: String,
        /// How many bytes it says it has.
        bytes: usize,
    },
    /// The data is not what was packed.
    #[error("`{entry}` is damaged: its CRC does not match")]
    Crc {
        /// The entry.
        entry: String,
    },
}

/// The problem of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// Empty.
    #[error("is empty")]
    Empty,
    /// Over 255 bytes.
    #[error("has more than 255 bytes")]
    TooLong,
    /// Not UTF-8, or not marked as such.
    #[error("is not UTF-8, or is not marked as UTF-8")]
    NotUtf8,
    /// With control or invisible characters.
    #[error("has control or invisible characters")]
    Control,
    /// Begins with `/`.
    #[error("is absolute")]
    Absolute,
    /// With `\`.
    #[error("has a backslash")]
    Backslash,
    /// With `:`, as in `C:`.
    #[error("has a colon, as names of drives have")]
    Drive,
    /// With `..`.
    #[error("leads out of the archive by `..`")]
    Parent,
    /// Ends with `/`.
    #[error("is that of a directory; only files are read, and `zip -D` packs nothing else")]
    Directory,
    /// None of the names there are.
    #[error("is none of a bundle's: there are `bundle.json` and `tools/*.json`")]
    Stranger,
}
