//! Any text as a web page, which is made into Markdown.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = toolcrib::testing::page_as_markdown(text);
});
