//! Any text read as bash: never a panic, few commands and doubts, spans within the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolcrib::shell::{Directory, read};

fuzz_target!(|text: &str| {
    let script = read(text);
    assert!(script.commands.len() <= 10_000 && script.doubts.len() <= 64);
    for command in &script.commands {
        assert!(text.get(command.span.clone()).is_some(), "{:?} in {text:?}", command.span);
        let _ = (command.name(), command.argv());
        for word in &command.words {
            assert_eq!(word.is_static(), word.as_static().is_some());
            let _ = word.literal_prefix();
        }
        if let Directory::Known(path) = &command.directory {
            assert!(!path.is_empty());
        }
    }
});
