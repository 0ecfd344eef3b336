//! ZIP, as little of it as a bundle needs: [`Zip`] reads, [`Packer`] writes.
//!
//! Reading is strict, so that there is one way to understand an archive and every other program understands it the same way:
//!
//! - every byte belongs to something: entries stand one after the other from the first byte, in the order of the directory, the directory
//!   follows them, its end record is the end of the file; nothing overlaps, there are no gaps and no comments;
//! - an entry's own header and the directory agree;
//! - methods stored and deflate; no encryption, no parts, no ZIP64 (nothing that is small enough needs it), no links;
//! - names are `bundle.json` and `tools/*.json`, nothing else, and never two that some file system takes for one.
//!
//! [`Zip::open`] looks at headers only; [`Zip::unpack`] gives one entry and never makes more bytes than the entry said it has, which is
//! bounded. There is no recursion: an archive in an archive is a name that is refused.

mod error;
mod name;
mod read;
mod write;

pub use error::{NameFault, ZipError};
pub(super) use name::{BUNDLE, EntryName};
pub(super) use read::Zip;
pub(super) use write::Packer;

/// The largest archive.
pub const MAX_ARCHIVE_BYTES: usize = 64 * MB;
/// The largest entry, unpacked.
pub const MAX_ENTRY_BYTES: usize = 4 * MB;
/// All entries together, unpacked.
pub const MAX_UNPACKED_BYTES: usize = 64 * MB;
/// The most entries: a bundle and ten thousand tools.
pub const MAX_ENTRIES: usize = 10_001;
/// How much smaller than its content an entry may be, if that is more than [`SMALL`]. Real definitions are packed to a tenth.
const MAX_RATIO: usize = 200;
/// What may be packed as tightly as it can be.
const SMALL: usize = MB;

const MB: usize = 1024 * 1024;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
const END_BYTES: usize = 22;

/// Flag: sizes and CRC stand behind the data.
const HAS_DESCRIPTOR: u16 = 1 << 3;
/// Flag: the name is UTF-8.
const IS_UTF8: u16 = 1 << 11;

/// How an entry is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Stored,
    Deflated,
}

impl Method {
    fn number(self) -> u16 {
        match self {
            Method::Stored => 0,
            Method::Deflated => 8,
        }
    }
}

/// Whether so many bytes in so few are more likely an attack than a definition.
fn is_bomb(unpacked: usize, packed: usize) -> bool {
    unpacked > SMALL && unpacked / MAX_RATIO > packed
}
