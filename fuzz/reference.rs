//! Any text as a tool reference, slug, version, wire name or call id: parsed or refused, and what
//! was parsed is written back as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolcrib::{CallId, Slug, ToolRef, Version, WireName};

fuzz_target!(|text: &str| {
    if let Ok(reference) = text.parse::<ToolRef>() {
        let written = reference.to_string();
        assert_eq!(written.parse::<ToolRef>().as_ref(), Ok(&reference), "{text:?} became {written:?}");
    }
    if let Ok(slug) = Slug::parse(text) {
        assert_eq!(slug.as_str(), text);
        assert!(WireName::parse(WireName::derive(&slug).as_str()).is_ok());
    }
    if let Ok(version) = Version::parse(text) {
        assert_eq!(version.as_str(), text);
    }
    assert!(WireName::parse(WireName::fit(text).as_str()).is_ok());
    let _ = CallId::parse(text).map(|id| id.to_string());
    let _ = toolcrib::model::text::visible(text);
    let _ = toolcrib::model::text::nearest(text, ["read_file", "list_directory"]);
});
