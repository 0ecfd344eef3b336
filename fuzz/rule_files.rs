//! Any text as a file of rules: read or refused; what was read judges a call.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolcrib::rules::{Rule, Whose};

fuzz_target!(|text: &str| {
    for whose in [Whose::Project, Whose::Operator] {
        let _ = Rule::from_toml(text, "fuzz.toml", whose);
    }
});
