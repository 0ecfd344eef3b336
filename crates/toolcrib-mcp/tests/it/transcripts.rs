//! Golden files: whole conversations as they are on the wire, in `tests/golden`.
//!
//! Lines that begin with `> ` go to the server; each is followed by what it answers. `UPDATE_GOLDEN=1` rewrites the answers.

use std::fmt::Write as _;
use std::path::Path;

use crate::stage::{Client, EVERYTHING};

async fn play(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    let expected = std::fs::read_to_string(&path).unwrap();
    let mut client = Client::new(EVERYTHING);
    let mut actual = String::new();
    for line in expected.lines() {
        if line.starts_with('#') {
            writeln!(actual, "{line}").unwrap();
        }
        let Some(sent) = line.strip_prefix("> ") else {
            continue;
        };
        writeln!(actual, "> {sent}").unwrap();
        client.send_raw(format!("{sent}\n").as_bytes()).await;
        if !sent.contains("\"id\"") {
            continue;
        }
        loop {
            let answer = client.next_line().await.unwrap();
            writeln!(actual, "< {answer}").unwrap();
            if answer.contains("\"id\":") || answer.contains("acknowledged") {
                break;
            }
        }
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&path, actual).unwrap();
        return;
    }
    assert_eq!(
        expected, actual,
        "`{name}` differs; UPDATE_GOLDEN=1 accepts it"
    );
}

#[tokio::test]
async fn a_legacy_conversation() {
    play("legacy.txt").await;
}

#[tokio::test]
async fn a_modern_conversation() {
    play("modern.txt").await;
}
