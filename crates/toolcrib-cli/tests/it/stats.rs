//! `toolcrib stats`, with and without a server.

use serde_json::json;

use crate::harness::Test;
use crate::serving::Serving;

/// Two calls that went well, and one each that failed and that found nothing.
fn used() -> Test {
    let test = Test::new().file("a.txt", "A");
    test.run(&["run", "read_file", "path=a.txt"]).exits(0);
    test.run(&["run", "read_file", "path=none"]).exits(1);
    test.run(&["run", "list_directory", "path=."]).exits(0);
    test.run(&["run", "nothing_like_it"]).exits(3);
    test
}

#[test]
fn nothing_on_record_is_said_and_is_still_a_document() {
    let test = Test::new();
    test.run(&["stats"]).exits(0).says("no calls on record yet");
    let stats = test.run(&["stats", "--json"]).exits(0).json();
    assert_eq!(stats["total"]["calls"], 0);
    assert_eq!(stats["tools"], json!([]));
    assert_eq!(stats.get("server"), None);
}

#[test]
fn calls_are_added_up_by_tool() {
    let test = used();
    let stats = test.run(&["stats", "--json"]).exits(0).json();
    assert_eq!(stats["total"]["calls"], 4);
    assert_eq!(stats["other"]["codes"], json!({"TOOL_NOT_FOUND": 1}));
    let read = &stats["tools"][0];
    assert_eq!(
        (&read["tool"], &read["calls"]),
        (&json!("read_file"), &json!(2))
    );
    assert_eq!(read["codes"], json!({"FILE_NOT_FOUND": 1}));
    let plain = test.run(&["stats", "--plain"]).exits(0).stdout;
    let cells: Vec<Vec<&str>> = plain
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    let heads: Vec<&[&str]> = cells.iter().map(|row| &row[..3]).collect();
    assert_eq!(
        heads,
        [
            ["read_file", "2", "1"],
            ["list_directory", "1", "1"],
            ["(not found)", "1", "0"],
            ["(all)", "4", "2"]
        ]
    );
    assert_eq!(cells[0].last(), Some(&"FILE_NOT_FOUND 1"));
}

#[test]
fn one_tool_and_a_time_narrow_them() {
    let test = used();
    let one = test
        .run(&["stats", "--tool", "+read-file", "--since", "1h", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&one["total"]["calls"], &one["tools"][0]["ok"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(one["tools"].as_array().unwrap().len(), 1);
    test.run(&["stats", "--tool", "gone"])
        .exits(0)
        .says("no such calls on record");
    test.run(&["stats", "--since", "yesterday"]).exits(2);
}

#[test]
fn a_server_of_the_home_adds_how_it_is_and_a_named_one_says_everything() {
    let test = used();
    let serving = Serving::start(&test);
    let found = test.run(&["stats", "--json"]).exits(0).json();
    assert_eq!(found["total"]["calls"], 4);
    assert!(
        found["server"]["connections"].as_u64().unwrap() >= 1,
        "{found}"
    );
    let without = test
        .run(&["stats", "--no-server", "--json"])
        .exits(0)
        .json();
    assert_eq!(without.get("server"), None);
    let url = format!("http://{}", serving.address);
    let named = test.run(&["--server", &url, "stats", "--tool", "read_file", "--json"]);
    let named = named.exits(0).json();
    assert_eq!(named["total"]["calls"], 2);
    assert!(named["server"]["uptimeMs"].is_u64(), "{named}");
}
