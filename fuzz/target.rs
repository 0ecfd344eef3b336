//! Whatever a URL is, it is read once: what comes of it is read the same way again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolcrib::egress::Target;

fuzz_target!(|url: &str| {
    if let Ok((read, target)) = Target::parse(url) {
        let (again, same) = Target::parse(read.as_str()).expect("what was read can be read");
        assert_eq!((again.as_str(), same), (read.as_str(), target));
    }
});
