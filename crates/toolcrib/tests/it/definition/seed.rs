//! S0's examples as they stand.

use std::path::Path;

use toolcrib::definition::read;

use super::shown;

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../toolcrib-cli/tests/seeds/s0")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn complete_examples_load_verbatim() {
    for name in ["simple-tool", "multi-step-tool", "find-files", "alias"] {
        let text = example(&format!("{name}.yaml"));
        let reading = read(text.as_bytes(), name);
        assert!(reading.definition.is_some(), "{name}: {}", shown(&reading));
    }
}
