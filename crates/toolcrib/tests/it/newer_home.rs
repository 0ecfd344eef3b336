//! The library and a home that a newer version has changed.

use serde_json::json;
use tempfile::TempDir;
use toolcrib::config::Surroundings;
use toolcrib::crib::{NewerHome, OpenError};
use toolcrib::{Crib, CribOptions, ErrorCode, ToolError};

const NEWER: &str = r#"{"format":2,"writtenBy":"toolcrib 9.1.0"}"#;

fn open(home: &TempDir, newer_home: NewerHome) -> Result<Crib, OpenError> {
    CribOptions::default()
        .surroundings(Surroundings::new(home.path(), []))
        .home(home.path())
        .newer_home(newer_home)
        .open()
}

#[test]
fn the_library_does_not_open_a_newer_home_unless_it_only_reads() {
    let home = TempDir::new().unwrap();
    std::fs::write(home.path().join("format.json"), NEWER).unwrap();
    let Err(OpenError::Format(refused)) = open(&home, NewerHome::Refuse) else {
        panic!("it was opened");
    };
    let refused = ToolError::from(refused);
    assert_eq!(refused.code(), ErrorCode::StorageError);
    assert_eq!(
        json!(refused.details()),
        json!({"reason": "newer-home", "format": 2, "writtenBy": "toolcrib 9.1.0", "known": 1})
    );
    open(&home, NewerHome::Read).unwrap();
    let files: Vec<_> = std::fs::read_dir(home.path()).unwrap().collect();
    assert_eq!(files.len(), 1, "{files:?}");
}
