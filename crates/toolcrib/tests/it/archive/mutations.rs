//! Whatever happens to an archive on its way: it is read as it was, or refused. Never a panic, never another content.

use proptest::prelude::*;
use toolcrib::store::archive::Archive;

use super::tool;
use super::zips::{Entry, Zip};

fn archive() -> Vec<u8> {
    let streamed = Entry::packed("tools/c.json", tool("c", "v1").to_string());
    Zip::with([
        Entry::packed("tools/a.json", tool("a", "v1").to_string()),
        Entry::stored("tools/b.json", tool("b", "v1").to_string()),
        streamed,
    ])
    .bytes()
}

#[derive(Debug, Clone)]
enum Change {
    Flip(usize, u8),
    Word(usize, u32),
    Cut(usize),
    Remove(usize, usize),
    Repeat(usize, usize),
    Insert(usize, Vec<u8>),
}

fn change() -> impl Strategy<Value = Change> {
    let at = || any::<prop::sample::Index>().prop_map(|index| index.index(1 << 20));
    prop_oneof![
        (at(), 1..=255_u8).prop_map(|(at, bits)| Change::Flip(at, bits)),
        (
            at(),
            prop_oneof![Just(0), Just(u32::MAX), Just(0x0403_4b50), any::<u32>()]
        )
            .prop_map(|(at, word)| Change::Word(at, word)),
        at().prop_map(Change::Cut),
        (at(), 1..200_usize).prop_map(|(at, length)| Change::Remove(at, length)),
        (at(), 1..200_usize).prop_map(|(at, length)| Change::Repeat(at, length)),
        (at(), prop::collection::vec(any::<u8>(), 1..60))
            .prop_map(|(at, new)| Change::Insert(at, new)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    if bytes.is_empty() {
        return;
    }
    let place = |at: usize| at % bytes.len();
    match change {
        Change::Flip(at, bits) => {
            let at = place(*at);
            bytes[at] ^= bits;
        }
        Change::Word(at, word) => {
            let at = place(*at);
            for (byte, new) in bytes[at..].iter_mut().zip(word.to_le_bytes()) {
                *byte = new;
            }
        }
        Change::Cut(at) => bytes.truncate(place(*at)),
        Change::Remove(at, length) => {
            let at = place(*at);
            let end = (at + length).min(bytes.len());
            bytes.drain(at..end);
        }
        Change::Repeat(at, length) => {
            let at = place(*at);
            let end = (at + length).min(bytes.len());
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        Change::Insert(at, new) => {
            let at = place(*at);
            bytes.splice(at..at, new.iter().copied());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_changed_archive_is_refused_or_is_what_it_was(changes in prop::collection::vec(change(), 1..4)) {
        let whole = archive();
        let mut bytes = whole.clone();
        for change in &changes {
            apply(&mut bytes, change);
        }
        if let Ok(read) = Archive::read(&bytes) {
            // Times, attributes and versions are not looked at; the content has a CRC.
            let was = Archive::read(&whole).unwrap();
            prop_assert_eq!(read.contents.tools, was.contents.tools);
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Archive::read(&bytes).is_err());
    }
}

#[test]
fn a_part_of_an_archive_is_refused() {
    let whole = archive();
    for length in 0..whole.len() {
        assert!(Archive::read(&whole[..length]).is_err(), "{length}");
    }
}
