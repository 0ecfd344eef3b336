//! Reading an archive: [`Zip`].

use std::collections::HashMap;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::error::ZipError;
use super::name::{EntryName, shown};
use super::{
    CENTRAL, DESCRIPTOR, END, END_BYTES, HAS_DESCRIPTOR, IS_UTF8, LOCAL, MAX_ARCHIVE_BYTES,
    MAX_ENTRIES, MAX_ENTRY_BYTES, MAX_UNPACKED_BYTES, Method, is_bomb,
};

/// An archive with valid headers.
#[derive(Debug)]
pub(in crate::store::archive) struct Zip<'a> {
    bytes: &'a [u8],
    entries: Vec<Entry>,
}

/// One file of an archive.
#[derive(Debug)]
pub(in crate::store::archive) struct Entry {
    /// Its name.
    pub(in crate::store::archive) name: EntryName,
    method: Method,
    crc: u32,
    /// Where its data is.
    start: usize,
    packed: usize,
    unpacked: usize,
}

impl<'a> Zip<'a> {
    /// Looks at all headers of an archive. Nothing is unpacked.
    pub(in crate::store::archive) fn open(bytes: &'a [u8]) -> Result<Self, ZipError> {
        if bytes.len() > MAX_ARCHIVE_BYTES {
            return Err(ZipError::TooLarge);
        }
        let end = End::find(bytes)?;
        let mut directory = Fields(&bytes[end.start..bytes.len() - END_BYTES]);
        let mut entries = Vec::with_capacity(end.entries);
        let mut names: HashMap<String, usize> = HashMap::with_capacity(end.entries);
        let (mut next, mut unpacked) = (0, 0);
        for index in 0..end.entries {
            let header = Header::central(&mut directory)?;
            // A local header, and data, end where the directory begins at the latest.
            let (entry, after) = header.local(&bytes[..end.start], next)?;
            next = after;
            unpacked = usize::saturating_add(unpacked, entry.unpacked);
            if let Some(first) = names.insert(entry.name.folded(), index) {
                let first: &Entry = &entries[first];
                return Err(ZipError::Duplicate {
                    first: first.name.as_str().to_owned(),
                    second: entry.name.as_str().to_owned(),
                });
            }
            entries.push(entry);
        }
        if !directory.0.is_empty() {
            return Err(ZipError::Directory);
        }
        if next != end.start {
            return Err(ZipError::Layout {
                entry: "the directory".to_owned(),
                found: end.start,
                expected: next,
            });
        }
        if unpacked > MAX_UNPACKED_BYTES {
            return Err(ZipError::TotalTooLarge { bytes: unpacked });
        }
        if is_bomb(unpacked, bytes.len()) {
            let what = "the archive".to_owned();
            return Err(ZipError::Bomb { what });
        }
        Ok(Zip { bytes, entries })
    }

    /// Its contents.
    pub(in crate::store::archive) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The content of an entry.
    pub(in crate::store::archive) fn unpack(&self, entry: &Entry) -> Result<Vec<u8>, ZipError> {
        let packed = &self.bytes[entry.start..entry.start + entry.packed];
        let content = match entry.method {
            Method::Stored => packed.to_vec(),
            Method::Deflated => inflate(packed, entry.unpacked).ok_or_else(|| ZipError::Data {
                entry: entry.name.as_str().to_owned(),
                bytes: entry.unpacked,
            })?,
        };
        let mut crc = Crc::new();
        crc.update(&content);
        if crc.sum() != entry.crc {
            let entry = entry.name.as_str().to_owned();
            return Err(ZipError::Crc { entry });
        }
        Ok(content)
    }
}

/// Exactly `length` bytes out of all of `packed`; none if it is not so.
fn inflate(packed: &[u8], length: usize) -> Option<Vec<u8>> {
    // One more: it shows that there is more.
    let mut content = vec![0; length + 1];
    let mut stream = Decompress::new(false);
    loop {
        let (taken, made) = (progress(stream.total_in()), progress(stream.total_out()));
        let finish = FlushDecompress::Finish;
        let status = stream.decompress(&packed[taken..], &mut content[made..], finish);
        let made_now = progress(stream.total_out());
        match status.ok()? {
            Status::StreamEnd => break,
            // No end in sight, and no room or nothing left: too much, or too little.
            _ if made_now > length => return None,
            _ if (taken, made) == (progress(stream.total_in()), made_now) => return None,
            Status::Ok | Status::BufError => {}
        }
    }
    let whole = progress(stream.total_in()) == packed.len();
    content.truncate(length);
    (whole && progress(stream.total_out()) == length).then_some(content)
}

fn progress(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// The end record, which says where the directory is.
struct End {
    entries: usize,
    start: usize,
}

impl End {
    fn find(bytes: &[u8]) -> Result<End, ZipError> {
        let at = bytes.len().checked_sub(END_BYTES).ok_or(ZipError::NotZip)?;
        let mut fields = Fields(&bytes[at..]);
        if fields.u32() != Some(END) {
            // Comments are at most 65,535 bytes long.
            let tail = &bytes[at.saturating_sub(usize::from(u16::MAX))..];
            let has_end = tail.windows(4).any(|word| word == END.to_le_bytes());
            return Err(match has_end {
                true => ZipError::Trailing,
                false => ZipError::NotZip,
            });
        }
        let mut all = || {
            let disks = (fields.u16()?, fields.u16()?);
            let entries = (fields.u16()?, fields.u16()?);
            Some((disks, entries, fields.u32()?, fields.u32()?, fields.u16()?))
        };
        let (disks, entries, size, start, comment) = all().ok_or(ZipError::NotZip)?;
        let found = usize::from(entries.1);
        if found > MAX_ENTRIES {
            return Err(ZipError::TooMany { found });
        }
        if size == u32::MAX || start == u32::MAX {
            return Err(ZipError::Zip64);
        }
        if disks != (0, 0) || entries.0 != entries.1 {
            return Err(ZipError::ManyDisks);
        }
        if comment != 0 {
            return Err(ZipError::Trailing);
        }
        let (size, start) = (length(size), length(start));
        if start.checked_add(size) != Some(at) {
            return Err(ZipError::Layout {
                entry: "the directory".to_owned(),
                found: start,
                expected: at.saturating_sub(size),
            });
        }
        // A directory has at least 46 bytes an entry: what is reserved for them is in proportion to the file.
        if size < found * 46 {
            return Err(ZipError::Directory);
        }
        Ok(End {
            entries: found,
            start,
        })
    }
}

/// What the directory says about an entry.
struct Header<'a> {
    raw_name: &'a [u8],
    name: EntryName,
    flags: u16,
    method: Method,
    crc: u32,
    packed: usize,
    unpacked: usize,
    offset: usize,
}

/// The fields of both headers that have to be the same.
#[derive(PartialEq)]
struct Sizes {
    crc: u32,
    packed: u32,
    unpacked: u32,
}

impl Sizes {
    fn read(fields: &mut Fields<'_>) -> Option<Sizes> {
        Some(Sizes {
            crc: fields.u32()?,
            packed: fields.u32()?,
            unpacked: fields.u32()?,
        })
    }
}

impl<'a> Header<'a> {
    /// Reads the next entry of the directory.
    fn central(fields: &mut Fields<'a>) -> Result<Self, ZipError> {
        let mut all = || {
            if fields.u32()? != CENTRAL {
                return None;
            }
            // Its maker and the version needed to read it: method, flags and extra fields show that.
            fields.take(4)?;
            let (flags, method) = (fields.u16()?, fields.u16()?);
            fields.take(4)?; // time
            let sizes = Sizes::read(fields)?;
            let lengths = (fields.u16()?, fields.u16()?, fields.u16()?);
            let disk = fields.u16()?;
            fields.take(2)?; // whether it is text
            let (attributes, offset) = (fields.u32()?, fields.u32()?);
            let name = fields.take(lengths.0.into())?;
            let extra = fields.take(lengths.1.into())?;
            fields.take(lengths.2.into())?;
            let has_comment = lengths.2 != 0;
            Some((
                flags,
                method,
                sizes,
                disk,
                attributes,
                offset,
                name,
                extra,
                has_comment,
            ))
        };
        let (flags, method, sizes, disk, attributes, offset, raw_name, extra, has_comment) =
            all().ok_or(ZipError::Directory)?;
        let entry = || shown(raw_name);
        let name =
            EntryName::parse(raw_name, flags & IS_UTF8 != 0).map_err(|fault| ZipError::Name {
                name: entry(),
                fault,
            })?;
        if let Some(what) = special(attributes) {
            let entry = entry();
            return Err(ZipError::Special { entry, what });
        }
        let method = check_packing(flags, method, entry)?;
        check_extra(extra, entry)?;
        if has_comment {
            return Err(ZipError::Comment { entry: entry() });
        }
        if disk != 0 {
            return Err(ZipError::ManyDisks);
        }
        if [sizes.packed, sizes.unpacked, offset].contains(&u32::MAX) {
            return Err(ZipError::Zip64);
        }
        let (packed, unpacked) = (length(sizes.packed), length(sizes.unpacked));
        if unpacked > MAX_ENTRY_BYTES {
            return Err(ZipError::EntryTooLarge {
                entry: entry(),
                bytes: unpacked,
            });
        }
        if is_bomb(unpacked, packed) {
            let what = format!("`{}`", entry());
            return Err(ZipError::Bomb { what });
        }
        if method == Method::Stored && packed != unpacked {
            return Err(ZipError::Data {
                entry: entry(),
                bytes: unpacked,
            });
        }
        Ok(Header {
            raw_name,
            name,
            flags,
            method,
            crc: sizes.crc,
            packed,
            unpacked,
            offset: length(offset),
        })
    }

    /// Compares it with the entry's own header, which has to be at `expected`. Returns where the next one has to be.
    fn local(self, bytes: &[u8], expected: usize) -> Result<(Entry, usize), ZipError> {
        let entry = || shown(self.raw_name);
        if self.offset != expected {
            return Err(ZipError::Layout {
                entry: entry(),
                found: self.offset,
                expected,
            });
        }
        let mut fields = Fields(bytes.get(expected..).unwrap_or_default());
        let mut all = || {
            if fields.u32()? != LOCAL {
                return None;
            }
            fields.take(2)?;
            let (flags, method) = (fields.u16()?, fields.u16()?);
            fields.take(4)?;
            let sizes = Sizes::read(&mut fields)?;
            let lengths = (fields.u16()?, fields.u16()?);
            let name = fields.take(lengths.0.into())?;
            let extra = fields.take(lengths.1.into())?;
            let start = bytes.len() - fields.0.len();
            // The data.
            fields.take(self.packed)?;
            Some((flags, method, sizes, name, extra, start))
        };
        let (flags, method, sizes, name, extra, start) =
            all().ok_or_else(|| ZipError::Mismatch {
                entry: entry(),
                what: "place or size",
            })?;
        let own = Sizes {
            crc: self.crc,
            packed: wire(self.packed),
            unpacked: wire(self.unpacked),
        };
        let has_descriptor = flags & HAS_DESCRIPTOR != 0;
        let later = Sizes {
            crc: 0,
            packed: 0,
            unpacked: 0,
        };
        let agree = [
            (name == self.raw_name, "name"),
            (flags == self.flags, "set of flags"),
            (method == self.method.number(), "method"),
            (
                sizes == own || (has_descriptor && sizes == later),
                "size or CRC",
            ),
        ];
        if let Some((_, what)) = agree.iter().find(|(agree, _)| !agree) {
            return Err(ZipError::Mismatch {
                entry: entry(),
                what,
            });
        }
        check_extra(extra, entry)?;
        if has_descriptor {
            check_descriptor(&mut fields, &own).ok_or_else(|| ZipError::Mismatch {
                entry: entry(),
                what: "size or CRC behind its data",
            })?;
        }
        let after = bytes.len() - fields.0.len();
        let entry = Entry {
            name: self.name,
            method: self.method,
            crc: self.crc,
            start,
            packed: self.packed,
            unpacked: self.unpacked,
        };
        Ok((entry, after))
    }
}

/// The sizes behind the data, with or without a signature. Which of the two it is follows from what has to stand there: the sizes are known. A
/// CRC that is the signature by chance fits either way of reading at most once, since the next thing has to begin right behind it.
fn check_descriptor(fields: &mut Fields<'_>, own: &Sizes) -> Option<()> {
    let mut signed = *fields;
    if signed.u32()? == DESCRIPTOR && Sizes::read(&mut signed).as_ref() == Some(own) {
        *fields = signed;
        return Some(());
    }
    (Sizes::read(fields)? == *own).then_some(())
}

/// The method, if an entry is packed in a way that is read.
fn check_packing(flags: u16, method: u16, entry: impl Fn() -> String) -> Result<Method, ZipError> {
    const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
    /// How hard someone tried to pack it.
    const EFFORT: u16 = 1 << 1 | 1 << 2;
    if flags & ENCRYPTED != 0 {
        return Err(ZipError::Encrypted { entry: entry() });
    }
    let unknown = flags & !(EFFORT | HAS_DESCRIPTOR | IS_UTF8);
    if unknown != 0 {
        return Err(ZipError::Unsupported {
            entry: entry(),
            what: format!("flags {unknown:#06x}"),
        });
    }
    match method {
        0 => Ok(Method::Stored),
        8 => Ok(Method::Deflated),
        other => Err(ZipError::Unsupported {
            entry: entry(),
            what: format!("method {other}"),
        }),
    }
}

/// Refuses extra fields but those that only say when and whose a file was. Others give it another name, size or kind.
fn check_extra(extra: &[u8], entry: impl Fn() -> String) -> Result<(), ZipError> {
    /// Times and owners: NTFS, and three generations of Info-ZIP.
    const HARMLESS: [u16; 5] = [0x000a, 0x5455, 0x5855, 0x7855, 0x7875];
    let mut fields = Fields(extra);
    while !fields.0.is_empty() {
        let id = fields.u16().unwrap_or_default();
        let content = fields.u16().and_then(|size| fields.take(size.into()));
        if id == 0x0001 {
            return Err(ZipError::Zip64);
        }
        if content.is_none() || !HARMLESS.contains(&id) {
            let entry = entry();
            return Err(ZipError::Extra { entry, id });
        }
    }
    Ok(())
}

/// What an entry is, if it is not a file. The maker of the archive does not matter: programs disagree on whether to look.
fn special(attributes: u32) -> Option<&'static str> {
    const DOS_VOLUME: u32 = 0x08;
    const DOS_DIRECTORY: u32 = 0x10;
    let mode = attributes >> 16;
    match mode & 0o170_000 {
        0 | 0o100_000 if mode & 0o7_000 != 0 => Some("a program with the rights of its owner"),
        0 | 0o100_000 if attributes & DOS_DIRECTORY != 0 => Some("a directory"),
        0 | 0o100_000 if attributes & DOS_VOLUME != 0 => Some("the name of a disk"),
        0 | 0o100_000 => None,
        0o120_000 => Some("a symbolic link"),
        0o040_000 => Some("a directory"),
        _ => Some("a device, pipe or socket"),
    }
}

/// Little-endian numbers, one after the other.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        let bytes = self.take(2)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        let bytes = self.take(4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// A length that the format has; saturated where addresses are short, which is refused by its size.
fn length(wire: u32) -> usize {
    usize::try_from(wire).unwrap_or(usize::MAX)
}

/// The other way, for lengths that came from there.
fn wire(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
