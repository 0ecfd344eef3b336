//! Any text as a curl command: what it becomes is a tool that can be read.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(import) = toolcrib_server::curl::import(text, "fuzz", None, &[]) {
        assert!(serde_json::from_str::<serde_json::Value>(&import.text).is_ok());
    }
});
