//! Archives byte by byte, so that every field can be a lie.

use std::io::Write as _;

use flate2::Crc;
use flate2::write::DeflateEncoder;

/// A header of an entry, in front of its data or in the directory.
#[derive(Clone)]
pub(super) struct Header {
    pub(super) name: Vec<u8>,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) packed: u32,
    pub(super) unpacked: u32,
    pub(super) extra: Vec<u8>,
}

/// An entry.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) local: Header,
    pub(super) central: Header,
    /// Bytes between the header and the data that belong to nothing.
    pub(super) before: Vec<u8>,
    pub(super) data: Vec<u8>,
    /// Bytes after the data.
    pub(super) after: Vec<u8>,
    pub(super) comment: Vec<u8>,
    pub(super) disk: u16,
    pub(super) attributes: u32,
    /// Where the directory says it is, if not where it is.
    pub(super) offset: Option<u32>,
}

/// An archive.
#[derive(Clone, Default)]
pub(super) struct Zip {
    pub(super) prefix: Vec<u8>,
    pub(super) entries: Vec<Entry>,
    /// The directory's order of the entries, if not theirs.
    pub(super) order: Option<Vec<usize>>,
    /// Bytes between the entries and the directory.
    pub(super) gap: Vec<u8>,
    /// Disk numbers and counts of entries of the end record, if not the right ones.
    pub(super) end: Option<[u16; 4]>,
    pub(super) comment: Vec<u8>,
    pub(super) trailing: Vec<u8>,
}

pub(super) fn crc(content: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(content);
    crc.sum()
}

pub(super) fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

impl Entry {
    /// A file that is not packed.
    pub(super) fn stored(name: &str, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        Entry::of(name, 0, content.to_vec(), content)
    }

    /// A file that is packed.
    pub(super) fn packed(name: &str, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        Entry::of(name, 8, deflated(content), content)
    }

    fn of(name: &str, method: u16, data: Vec<u8>, content: &[u8]) -> Self {
        let header = Header {
            name: name.as_bytes().to_vec(),
            flags: 0,
            method,
            crc: crc(content),
            packed: data.len() as u32,
            unpacked: content.len() as u32,
            extra: Vec::new(),
        };
        Entry {
            local: header.clone(),
            central: header,
            before: Vec::new(),
            data,
            after: Vec::new(),
            comment: Vec::new(),
            disk: 0,
            attributes: 0o100_644 << 16,
            offset: None,
        }
    }

    /// Changes the header in both places.
    pub(super) fn with(mut self, change: impl Fn(&mut Header)) -> Self {
        change(&mut self.local);
        change(&mut self.central);
        self
    }

    /// Changes only the header before its data.
    pub(super) fn lying(mut self, change: impl Fn(&mut Header)) -> Self {
        change(&mut self.local);
        self
    }

    /// Changes anything else.
    pub(super) fn but(mut self, change: impl Fn(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Zip {
    /// A bundle's archive with these entries besides `bundle.json`.
    pub(super) fn with(entries: impl IntoIterator<Item = Entry>) -> Self {
        let bundle = Entry::packed("bundle.json", super::bundle().to_string());
        Zip {
            entries: std::iter::once(bundle).chain(entries).collect(),
            ..Zip::default()
        }
    }

    /// Changes anything else.
    pub(super) fn but(mut self, change: impl Fn(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = self.prefix.clone();
        let mut offsets = Vec::new();
        for entry in &self.entries {
            offsets.push(out.len() as u32);
            let header = &entry.local;
            out.extend(0x0403_4b50_u32.to_le_bytes());
            out.extend(common(header));
            out.extend(&header.name);
            out.extend(&header.extra);
            out.extend(&entry.before);
            out.extend(&entry.data);
            out.extend(&entry.after);
        }
        out.extend(&self.gap);
        let start = out.len() as u32;
        let order: Vec<usize> = match &self.order {
            Some(order) => order.clone(),
            None => (0..self.entries.len()).collect(),
        };
        for index in &order {
            let entry = &self.entries[*index];
            let header = &entry.central;
            out.extend(0x0201_4b50_u32.to_le_bytes());
            out.extend((3_u16 << 8 | 20).to_le_bytes());
            out.extend(common(header));
            out.extend((entry.comment.len() as u16).to_le_bytes());
            out.extend(entry.disk.to_le_bytes());
            out.extend([0, 0]);
            out.extend(entry.attributes.to_le_bytes());
            out.extend(entry.offset.unwrap_or(offsets[*index]).to_le_bytes());
            out.extend(&header.name);
            out.extend(&header.extra);
            out.extend(&entry.comment);
        }
        let size = out.len() as u32 - start;
        let count = order.len() as u16;
        out.extend(0x0605_4b50_u32.to_le_bytes());
        for number in self.end.unwrap_or([0, 0, count, count]) {
            out.extend(number.to_le_bytes());
        }
        out.extend(size.to_le_bytes());
        out.extend(start.to_le_bytes());
        out.extend((self.comment.len() as u16).to_le_bytes());
        out.extend(&self.comment);
        out.extend(&self.trailing);
        out
    }
}

fn common(header: &Header) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(20_u16.to_le_bytes());
    out.extend(header.flags.to_le_bytes());
    out.extend(header.method.to_le_bytes());
    out.extend([0, 0, 33, 0]);
    out.extend(header.crc.to_le_bytes());
    out.extend(header.packed.to_le_bytes());
    out.extend(header.unpacked.to_le_bytes());
    out.extend((header.name.len() as u16).to_le_bytes());
    out.extend((header.extra.len() as u16).to_le_bytes());
    out
}
