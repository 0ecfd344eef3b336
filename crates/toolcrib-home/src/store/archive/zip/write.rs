//! Writing an archive: [`Packer`]. The same entries give the same bytes, whenever and wherever they are packed.

use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use super::error::ZipError;
use super::name::EntryName;
use super::{
    CENTRAL, END, LOCAL, MAX_ARCHIVE_BYTES, MAX_ENTRIES, MAX_ENTRY_BYTES, MAX_RATIO,
    MAX_UNPACKED_BYTES, Method,
};

/// 1980-01-01, the first day there is: a real one would make two exports of one bundle differ.
const DATE: u16 = 1 << 5 | 1;
/// Unix and version 2.0 of the format, which has deflate.
const MADE_BY: u16 = 3 << 8 | 20;
const NEEDS: u16 = 20;
/// A plain file, readable by its owner.
const ATTRIBUTES: u32 = 0o100_600 << 16;

/// Writes an archive that [`Zip`](super::Zip) reads.
#[derive(Default)]
pub(in crate::store::archive) struct Packer {
    archive: Vec<u8>,
    directory: Vec<u8>,
    entries: u16,
    unpacked: usize,
}

impl Packer {
    /// Adds a file. What could not be read again is refused.
    pub(in crate::store::archive) fn add(
        &mut self,
        name: &EntryName,
        content: &[u8],
    ) -> Result<(), ZipError> {
        if content.len() > MAX_ENTRY_BYTES {
            return Err(ZipError::EntryTooLarge {
                entry: name.as_str().to_owned(),
                bytes: content.len(),
            });
        }
        self.unpacked += content.len();
        if self.unpacked > MAX_UNPACKED_BYTES {
            let bytes = self.unpacked;
            return Err(ZipError::TotalTooLarge { bytes });
        }
        if usize::from(self.entries) == MAX_ENTRIES {
            let found = MAX_ENTRIES + 1;
            return Err(ZipError::TooMany { found });
        }
        let deflated = deflated(content);
        // Not where it gains nothing, nor so tightly that it would be taken for a bomb.
        let is_worth_it =
            deflated.len() < content.len() && content.len() / MAX_RATIO < deflated.len();
        let (method, data) = match is_worth_it {
            true => (Method::Deflated, deflated.as_slice()),
            false => (Method::Stored, content),
        };
        let mut crc = Crc::new();
        crc.update(content);
        let (offset, raw) = (wire(self.archive.len()), name.as_str().as_bytes());
        let mut common = Vec::with_capacity(26);
        put16(&mut common, &[NEEDS, 0, method.number(), 0, DATE]);
        put32(
            &mut common,
            &[crc.sum(), wire(data.len()), wire(content.len())],
        );
        put16(&mut common, &[short(raw.len()), 0]);

        put32(&mut self.archive, &[LOCAL]);
        self.archive.extend_from_slice(&common);
        self.archive.extend_from_slice(raw);
        self.archive.extend_from_slice(data);

        put32(&mut self.directory, &[CENTRAL]);
        put16(&mut self.directory, &[MADE_BY]);
        self.directory.extend_from_slice(&common);
        // No comment, disk 0, not said whether it is text.
        put16(&mut self.directory, &[0, 0, 0]);
        put32(&mut self.directory, &[ATTRIBUTES, offset]);
        self.directory.extend_from_slice(raw);
        self.entries += 1;
        Ok(())
    }

    /// The archive.
    pub(in crate::store::archive) fn finish(mut self) -> Result<Vec<u8>, ZipError> {
        let (start, size) = (wire(self.archive.len()), wire(self.directory.len()));
        self.archive.append(&mut self.directory);
        put32(&mut self.archive, &[END]);
        put16(&mut self.archive, &[0, 0, self.entries, self.entries]);
        put32(&mut self.archive, &[size, start]);
        put16(&mut self.archive, &[0]);
        match self.archive.len() > MAX_ARCHIVE_BYTES {
            true => Err(ZipError::TooLarge),
            false => Ok(self.archive),
        }
    }
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
    let done = encoder.write_all(content).and_then(|()| encoder.finish());
    done.expect("writing to memory does not fail")
}

fn put16(into: &mut Vec<u8>, numbers: &[u16]) {
    into.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn put32(into: &mut Vec<u8>, numbers: &[u32]) {
    into.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// Names are ASCII and ours: `bundle.json`, `tools/<32 digits>.json`.
fn short(length: usize) -> u16 {
    u16::try_from(length).expect("names are short")
}

/// Everything is far below the 4 GB of the format: the limits above see to it.
fn wire(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
