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

#[test]
fn a_call_is_found_by_last_and_by_the_end_of_its_id() {
    let test = Test::new().file("a.txt", "A").variable("TZ", "UTC-2");
    test.run(&["calls", "show"])
        .exits(3)
        .says("there is no call on record yet");
    for _ in 0..2 {
        test.run(&["run", "read_file", "path=a.txt"]).exits(0);
    }
    test.run(&["run", "read_file", "path=a.txt", "--call-id", "mine"])
        .exits(0);
    let rows = test.run(&["calls", "list", "--json"]).exits(0).json();
    let id = rows[1]["callId"].as_str().unwrap();
    let short = &id[28..];
    let table = test.run(&["calls", "list"]).exits(0).stdout;
    assert!(table.contains(short) && !table.contains(id), "{table}");
    assert!(table.contains("mine\n"), "{table}");
    let plain = test.run(&["calls", "list", "--plain"]).exits(0).stdout;
    assert!(plain.contains(id), "{plain}");
    for word in [short, id] {
        let shown = test.run(&["calls", "show", word, "--json"]).exits(0).json();
        assert_eq!(shown["callId"], *id);
    }
    for words in [
        &["calls", "show", "--json"][..],
        &["calls", "show", "last", "--json"],
    ] {
        assert_eq!(test.run(words).exits(0).json()["callId"], "mine");
    }
    let started = rows[1]["startTime"].as_str().unwrap();
    let hour: u32 = started[11..13].parse().unwrap();
    let local = format!("{:02}{}", (hour + 2) % 24, &started[13..19]);
    let shown = test.run(&["calls", "show", short]).exits(0).stdout;
    assert!(shown.contains(&format!(" {local}\n")), "{shown}\n{started}");
    test.run(&["calls", "show", "ffffffff"])
        .exits(3)
        .says("no call `ffffffff`");
}
