//! `toolcrib calls`.

use serde_json::json;

use crate::harness::Test;

#[test]
fn calls_are_listed_newest_first_and_shown_one_by_one() {
    let test = Test::new().file("a.txt", "A");
    test.run(&["calls", "list", "--json"])
        .exits(0)
        .prints("[]\n");
    test.run(&["calls", "list"])
        .exits(0)
        .says("no calls on record yet");
    test.run(&["run", "read_file", "path=a.txt"]).exits(0);
    test.run(&["run", "list_directory", "path=."]).exits(0);
    test.run(&["run", "read_file", "path=none"]).exits(1);

    let all = test.run(&["calls", "list", "--json"]).exits(0).json();
    let seen: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|call| (&call["tool"], &call["ok"]))
        .collect();
    let (read, list) = (json!("read_file"), json!("list_directory"));
    assert_eq!(
        seen,
        [
            (&read, &json!(false)),
            (&list, &json!(true)),
            (&read, &json!(true))
        ]
    );
    let failed = test
        .run(&[
            "calls",
            "list",
            "--failed",
            "--tool",
            "+read-file",
            "--json",
        ])
        .json();
    assert_eq!(
        (failed.as_array().unwrap().len(), &failed[0]["code"]),
        (1, &json!("FILE_NOT_FOUND"))
    );
    assert_eq!(
        test.run(&["calls", "list", "-n", "1", "--plain"])
            .exits(0)
            .stdout
            .lines()
            .count(),
        1
    );

    let id = failed[0]["callId"].as_str().unwrap();
    let shown = test.run(&["calls", "show", id, "--json"]).exits(0).json();
    assert_eq!(shown, failed[0]);
    assert!(
        test.run(&["calls", "show", id])
            .exits(0)
            .stdout
            .contains("FILE_NOT_FOUND")
    );
}

#[test]
fn the_log_and_its_directory_are_the_users_alone() {
    use std::os::unix::fs::MetadataExt as _;
    let test = Test::new().file("a.txt", "A");
    test.run(&["run", "read_file", "path=a.txt"]).exits(0);
    let calls = test.home().join("calls");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&test.home()), mode(&calls)), (0o700, 0o700));
    for entry in std::fs::read_dir(&calls)
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_file())
    {
        assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.path());
    }
}
