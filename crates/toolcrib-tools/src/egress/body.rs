//! Bodies: read to a limit, and unpacked to the same limit.
//!
//! What comes is kept as it came, at most as many bytes as the limit, and unpacked afterwards into a buffer of the same size: a bomb costs
//! no more than a body that is as large as it may be.

use std::io::Read;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use tokio::time::Instant;

use crate::model::exchange::Noted;
use crate::model::text::size;
use crate::target::EgressError;
use crate::target::Target;

/// What we can unpack, for the header `Accept-Encoding`.
pub(super) const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// How many packings of one body are undone.
const MAX_PACKINGS: usize = 2;

/// Packed bodies up to here are unpacked where they arrive, if that gives no more than the second number; others on a thread for such
/// work.
const SHORT: usize = 4 * 1024;
const SHORT_UNPACKED: u64 = 64 * 1024;

/// How much is unpacked between two looks at the clock.
const PIECE: usize = 64 * 1024;

/// A way to pack a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// How a body is packed, in the order it was.
pub(super) fn packings(headers: &HeaderMap) -> Result<Vec<Packing>, EgressError> {
    let mut packings = Vec::new();
    for value in headers.get_all(CONTENT_ENCODING) {
        let unknown = || {
            EgressError::Upstream("the answer is packed in a way that was not asked for".to_owned())
        };
        for word in value.to_str().map_err(|_| unknown())?.split(',') {
            match word.trim().to_ascii_lowercase().as_str() {
                "" | "identity" => {}
                "gzip" | "x-gzip" => packings.push(Packing::Gzip),
                "deflate" => packings.push(Packing::Deflate),
                "br" => packings.push(Packing::Brotli),
                "zstd" => packings.push(Packing::Zstd),
                _ => return Err(unknown()),
            }
        }
    }
    if packings.len() > MAX_PACKINGS {
        return Err(EgressError::Upstream(format!(
            "the answer is packed {} times over; {MAX_PACKINGS} are undone",
            packings.len()
        )));
    }
    Ok(packings)
}

/// Reads a body as it comes, up to `max` bytes.
pub(super) async fn read(
    mut body: Incoming,
    max: u64,
    target: &Target,
    noted: &Noted,
) -> Result<Bytes, EgressError> {
    let announced = body.size_hint().lower();
    if announced > max {
        return Err(too_long(max));
    }
    // Most bodies are one piece, which need not be copied.
    let mut one = Bytes::new();
    let mut many = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| broken(&error, target))?;
        // Trailers are of no use to anybody here.
        let Ok(bytes) = frame.into_data() else {
            continue;
        };
        noted.received(bytes.len() as u64);
        if (one.len() + many.len() + bytes.len()) as u64 > max {
            return Err(too_long(max));
        }
        if one.is_empty() && many.is_empty() {
            one = bytes;
            continue;
        }
        if many.is_empty() {
            many.reserve(usize::try_from(announced).unwrap_or_default());
        }
        many.extend_from_slice(&std::mem::take(&mut one));
        many.extend_from_slice(&bytes);
    }
    Ok(if many.is_empty() { one } else { many.freeze() })
}

/// Undoes the packings of a body.
pub(super) async fn unpack(
    packings: Vec<Packing>,
    body: Bytes,
    max: u64,
    deadline: Instant,
) -> Result<Bytes, EgressError> {
    if packings.is_empty() || body.is_empty() {
        return Ok(body);
    }
    // A window of zstd is large however short its frame is.
    if body.len() <= SHORT && !packings.contains(&Packing::Zstd) {
        match unpack_all(&packings, body.clone(), max.min(SHORT_UNPACKED), deadline) {
            Err(Unfit::TooLong) if max > SHORT_UNPACKED => {}
            unpacked => return unpacked.map_err(|unfit| unfit.said(max)),
        }
    }
    let unpacking = move || unpack_all(&packings, body, max, deadline);
    match tokio::task::spawn_blocking(unpacking).await {
        Ok(unpacked) => unpacked.map_err(|unfit| unfit.said(max)),
        Err(_) => Err(EgressError::Upstream(
            "the answer cannot be unpacked".to_owned(),
        )),
    }
}

/// Why a body cannot be unpacked.
#[derive(Debug)]
enum Unfit {
    TooLong,
    /// It is not what it says.
    Garbage(&'static str),
    /// The time was up; the thread must not go on for a call that is over.
    Late,
}

impl Unfit {
    fn said(self, max: u64) -> EgressError {
        match self {
            Unfit::TooLong => too_long(max),
            Unfit::Garbage(name) => EgressError::Upstream(format!(
                "the answer says it is packed as `{name}` and cannot be unpacked"
            )),
            Unfit::Late => EgressError::Timeout("the answer was not unpacked in time".to_owned()),
        }
    }
}

fn unpack_all(
    packings: &[Packing],
    mut body: Bytes,
    max: u64,
    deadline: Instant,
) -> Result<Bytes, Unfit> {
    for packing in packings.iter().rev() {
        body = unpack_one(*packing, &body, max, deadline)?.into();
    }
    Ok(body)
}

fn unpack_one(
    packing: Packing,
    packed: &[u8],
    max: u64,
    deadline: Instant,
) -> Result<Vec<u8>, Unfit> {
    let mut unpacked = Vec::new();
    let into = &mut unpacked;
    let packed = Watched { packed, deadline };
    let (name, read) = match packing {
        Packing::Gzip => (
            "gzip",
            take(
                flate2::read::MultiGzDecoder::new(packed),
                max,
                deadline,
                into,
            ),
        ),
        Packing::Deflate if is_zlib(packed.packed) => (
            "deflate",
            take(flate2::read::ZlibDecoder::new(packed), max, deadline, into),
        ),
        Packing::Deflate => (
            "deflate",
            take(
                flate2::read::DeflateDecoder::new(packed),
                max,
                deadline,
                into,
            ),
        ),
        Packing::Brotli => (
            "br",
            take(
                brotli_decompressor::Decompressor::new(packed, 16 * 1024),
                max,
                deadline,
                into,
            ),
        ),
        Packing::Zstd => ("zstd", unpack_zstd(packed.packed, max, deadline, into)),
    };
    match read {
        Ok(()) if unpacked.len() as u64 > max => Err(Unfit::TooLong),
        Ok(()) => Ok(unpacked),
        Err(_) if Instant::now() >= deadline => Err(Unfit::Late),
        Err(_) => Err(Unfit::Garbage(name)),
    }
}

/// Decompresses while there is time: much input may yield nothing, and then no one would notice.
struct Watched<'a> {
    packed: &'a [u8],
    deadline: Instant,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        in_time(self.deadline)?;
        self.packed.read(buffer)
    }
}

fn in_time(deadline: Instant) -> std::io::Result<()> {
    match Instant::now() < deadline {
        true => Ok(()),
        false => Err(std::io::ErrorKind::TimedOut.into()),
    }
}

/// Takes one byte more than it may, to know that there is more.
fn take(from: impl Read, max: u64, deadline: Instant, into: &mut Vec<u8>) -> std::io::Result<()> {
    let left = max.saturating_add(1).saturating_sub(into.len() as u64);
    let mut from = from.take(left);
    loop {
        in_time(deadline)?;
        let taken = from.by_ref().take(PIECE as u64).read_to_end(into)?;
        if taken < PIECE {
            return Ok(());
        }
    }
}

/// Whether `deflate` means what the standard says, with its own header; some servers leave that out.
fn is_zlib(packed: &[u8]) -> bool {
    match packed {
        [first, second, ..] => {
            first & 0x0f == 8 && ((u16::from(*first) << 8) | u16::from(*second)) % 31 == 0
        }
        _ => false,
    }
}

/// The largest window of zstd, as RFC 9659 has it: it is allocated at once, whatever comes of it.
const MAX_WINDOW: u64 = 8 * 1024 * 1024;

/// One or more frames, one after the other.
fn unpack_zstd(
    mut packed: &[u8],
    max: u64,
    deadline: Instant,
    unpacked: &mut Vec<u8>,
) -> std::io::Result<()> {
    while !packed.is_empty() && unpacked.len() as u64 <= max {
        in_time(deadline)?;
        if let Some(rest) = after_skippable_frame(packed) {
            packed = rest;
            continue;
        }
        let mut frames = FrameDecoder::new();
        // A frame in one piece has its whole content for a window, and more than `max` is too much anyway.
        frames.set_max_window_size(MAX_WINDOW.max(max));
        let decoder = StreamingDecoder::new_with_decoder(&mut packed, frames)
            .map_err(std::io::Error::other)?;
        take(decoder, max, deadline, unpacked)?;
    }
    Ok(())
}

/// What follows a frame that carries nothing, if this is one: a magic number, a length, and as many bytes.
fn after_skippable_frame(packed: &[u8]) -> Option<&[u8]> {
    let (head, rest) = packed.split_first_chunk::<8>()?;
    let [a, b, c, d, length @ ..] = *head;
    if u32::from_le_bytes([a, b, c, d]) & 0xffff_fff0 != 0x184d_2a50 {
        return None;
    }
    let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
    Some(rest.get(length..).unwrap_or_default())
}

pub(super) fn too_long(max: u64) -> EgressError {
    EgressError::TooLong { max }
}

/// What a broken connection or a wrong answer is called.
pub(super) fn broken(error: &hyper::Error, target: &Target) -> EgressError {
    // Servers are distinguished by a special method.
    if error.is_parse() && error.to_string().contains("too large") {
        return EgressError::Upstream(format!(
            "`{target}` answered with headers over the limit of {} or {} headers",
            size(super::client::MAX_HEAD as u64),
            super::client::MAX_HEADERS,
        ));
    }
    if error.is_parse() {
        return EgressError::Upstream(format!("`{target}` did not answer in HTTP/1.1"));
    }
    let cause = std::error::Error::source(error);
    let is_cut_off = cause
        .and_then(|cause| cause.downcast_ref::<std::io::Error>())
        .is_some_and(|cause| cause.kind() == std::io::ErrorKind::UnexpectedEof);
    let message = match cause {
        _ if is_cut_off || error.is_incomplete_message() => {
            format!("`{target}` closed the connection before its answer was whole")
        }
        Some(cause) => format!("the connection to `{target}` broke: {cause}"),
        None => format!("the connection to `{target}` broke: {error}"),
    };
    EgressError::Network {
        message,
        unsent: false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const MAX: u64 = 1 << 20;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        writer.write_all(content).unwrap();
        writer.finish().unwrap()
    }

    fn zlib(content: &[u8]) -> Vec<u8> {
        let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        writer.write_all(content).unwrap();
        writer.finish().unwrap()
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.chars().map(|c| c.to_digit(16).unwrap() as u8).collect();
        digits
            .chunks(2)
            .map(|pair| (pair[0] << 4) | pair[1])
            .collect()
    }

    /// 64 MB of zeros, by the reference encoder.
    const BROTLI_BOMB: &str = "cbffff3ff82700e2b14020f7fe8fffff7ff04f00c4611180eefd1fffffffe09f0088c30200ddfb3ffeffffc13f0110870500baf77ffcffff837f02200e0b0074effff8ffff07ff04401c1600e8defff1ffff0ffe0980382c00d0bdffcbffff3ffc1300715800a07bff07";

    /// One block of one byte, repeated: 4 bytes for up to 128 KB.
    fn zstd_bomb(blocks: usize) -> Vec<u8> {
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
        for at in 0..blocks {
            let last = u32::from(at + 1 == blocks);
            let header = ((128 * 1024) << 3) | (1 << 1) | last;
            frame.extend_from_slice(&header.to_le_bytes()[..3]);
            frame.push(b'x');
        }
        frame
    }

    fn undo(packings: &[Packing], body: Vec<u8>) -> Result<Vec<u8>, String> {
        let deadline = Instant::now() + std::time::Duration::from_secs(600);
        unpack_all(packings, body.into(), MAX, deadline)
            .map(|body| body.to_vec())
            .map_err(|unfit| unfit.said(MAX).to_string())
    }

    #[test]
    fn packed_bodies_are_unpacked_also_twice() {
        let content = b"hello hello hello hello".to_vec();
        let raw = zlib(&content)[2..].to_vec();
        assert_eq!(undo(&[Packing::Gzip], gzip(&content)).unwrap(), content);
        assert_eq!(undo(&[Packing::Deflate], zlib(&content)).unwrap(), content);
        assert_eq!(undo(&[Packing::Deflate], raw).unwrap(), content);
        assert_eq!(
            undo(&[Packing::Deflate, Packing::Gzip], gzip(&zlib(&content))).unwrap(),
            content
        );
        // By the reference encoders; there are none here.
        let brotli = bytes("1b1600f88d946ede445586966c206f214f1ce038");
        assert_eq!(undo(&[Packing::Brotli], brotli).unwrap(), content);
        let zstd = bytes("28b52ffd04686500003068656c6c6f200100994b11175eae0d");
        assert_eq!(undo(&[Packing::Zstd], zstd).unwrap(), content);
        let two_frames = [
            zstd_bomb(1),
            vec![0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9],
            zstd_bomb(2),
        ]
        .concat();
        assert_eq!(
            undo(&[Packing::Zstd], two_frames).unwrap().len(),
            3 * 128 * 1024
        );
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit() {
        let too_long = format!("the answer is over the limit of {MAX} bytes");
        let bomb = gzip(&vec![0; 8 << 20]);
        assert!(bomb.len() < 100_000);
        assert_eq!(undo(&[Packing::Gzip], bomb.clone()).unwrap_err(), too_long);
        assert_eq!(
            undo(&[Packing::Zstd], zstd_bomb(10_000)).unwrap_err(),
            too_long
        );
        assert_eq!(
            undo(&[Packing::Brotli], bytes(BROTLI_BOMB)).unwrap_err(),
            too_long
        );
        // What lies between two packings counts as well.
        assert_eq!(
            undo(&[Packing::Zstd, Packing::Gzip], bomb).unwrap_err(),
            too_long
        );
    }

    #[test]
    fn unpacking_ends_with_the_time_also_where_nothing_comes_of_it() {
        let nothing = gzip(b"").repeat(100_000);
        for (packing, body) in [
            (Packing::Gzip, nothing),
            (Packing::Zstd, zstd_bomb(1).repeat(10)),
            (Packing::Brotli, bytes(BROTLI_BOMB)),
        ] {
            let start = Instant::now();
            let unpacked = unpack_all(&[packing], body.into(), u64::MAX, start);
            assert!(matches!(unpacked, Err(Unfit::Late)), "{packing:?}");
        }
        // Not only at the beginning.
        let mut watched = Watched {
            packed: b"packed",
            deadline: Instant::now() + std::time::Duration::from_secs(600),
        };
        let mut one = [0];
        assert_eq!(watched.read(&mut one).unwrap(), 1);
        watched.deadline = Instant::now();
        assert!(watched.read(&mut one).is_err());
    }

    #[tokio::test]
    async fn a_short_body_may_be_long_once_it_is_unpacked() {
        let deadline = Instant::now() + std::time::Duration::from_secs(600);
        let long = vec![0; 500_000];
        let packed = gzip(&long);
        assert!(packed.len() <= SHORT);
        let unpacked = unpack(vec![Packing::Gzip], packed.clone().into(), MAX, deadline).await;
        assert_eq!(unpacked.unwrap().len(), long.len());
        let unpacked = unpack(vec![Packing::Gzip], packed.into(), 400_000, deadline).await;
        let error = unpacked.unwrap_err().to_string();
        assert_eq!(error, "the answer is over the limit of 400000 bytes");
    }

    #[test]
    fn garbage_and_cut_bodies_are_errors() {
        let cut = |mut body: Vec<u8>| {
            body.truncate(body.len() - 5);
            body
        };
        for (packing, body) in [
            (Packing::Gzip, b"not gzip at all".to_vec()),
            (Packing::Deflate, b"not deflate either".to_vec()),
            (Packing::Brotli, vec![0xff; 40]),
            (Packing::Zstd, b"nor zstd".to_vec()),
            (Packing::Gzip, cut(gzip(b"hello"))),
            (Packing::Zstd, cut(zstd_bomb(2))),
            // A window of 3 TB.
            (
                Packing::Zstd,
                vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 1, 0, 0],
            ),
        ] {
            let error = undo(&[packing], body).unwrap_err();
            assert!(error.contains("cannot be unpacked"), "{packing:?}: {error}");
        }
    }

    #[test]
    fn packings_are_read_from_all_headers() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_ENCODING, value.parse().unwrap());
            }
            packings(&headers).ok()
        };
        assert_eq!(
            read(&["GZIP , br"]),
            Some(vec![Packing::Gzip, Packing::Brotli])
        );
        assert_eq!(
            read(&["gzip", "identity", "zstd"]),
            Some(vec![Packing::Gzip, Packing::Zstd])
        );
        assert_eq!(read(&["gzip, gzip, gzip"]), None);
        assert_eq!(read(&["compress"]), None);
        assert_eq!(read(&[]), Some(vec![]));
    }
}
