//! Any bytes as an archive of a bundle: refused, or read to what is the same as itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolcrib::store::archive::{Archive, compare};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(archive) = Archive::read(bytes) {
        let comparison = compare(Some(&archive.contents), &archive.contents, |_| Vec::new());
        assert!(comparison.is_same());
    }
});
