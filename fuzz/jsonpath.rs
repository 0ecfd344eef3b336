//! No expression brings the reader of JSONPath down, and none makes it work without end on the document behind it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolcrib::jsonpath::JsonPath;

fuzz_target!(|text: &str| {
    let (expression, document) = text.split_once('\0').unwrap_or((text, "[1,{\"a\":[2]}]"));
    let Ok(path) = JsonPath::parse(expression) else {
        return;
    };
    assert_eq!(path.as_str(), expression);
    if let Ok(document) = toolcrib::serde_json::from_str(document) {
        let _ = path.query(&document);
    }
});
