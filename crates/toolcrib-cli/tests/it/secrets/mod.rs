//! `toolcrib secret`, and secrets in everything else.

mod http;
mod reach;
mod sentinel;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::harness::{Ran, Test};

const VALUE: &str = "SENTINEL-7f3a";

fn keeps(test: &Test, name: &str, value: &str) {
    test.run_with_input(&["secret", "set", name], value)
        .exits(0)
        .says(&format!("`{name}`"));
}

#[test]
fn a_secret_is_set_listed_replaced_and_removed() {
    let test = Test::new();
    test.run(&["secret", "list"]).exits(0).says("no secrets");
    test.run(&["secret", "list", "--json"])
        .exits(0)
        .prints("[]\n");
    test.run_with_input(
        &["secret", "set", "KEY", "--bundle", "weather"],
        "SENTINEL-7f3a\n",
    )
    .exits(0)
    .prints("")
    .says(
        "saved secret `KEY` (13 bytes) for any host of `allowedHosts`, used by tools of weather\n",
    );
    let listed = test.run(&["secret", "list", "--json"]).exits(0).json();
    let first = &listed[0];
    assert_eq!(
        (
            &first["name"],
            &first["hosts"],
            &first["bundles"],
            &first["hash"]
        ),
        // printf %s SENTINEL-7f3a | sha256sum
        (
            &json!("KEY"),
            &json!([]),
            &json!(["weather"]),
            &json!("4969")
        )
    );
    let fields: Vec<&String> = first.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "name",
            "hash",
            "hosts",
            "bundles",
            "createdAt",
            "modifiedAt"
        ]
    );
    let table = test.run(&["secret", "list"]).exits(0).stdout;
    assert!(
        table.contains("KEY") && table.contains("weather") && table.contains(" ago"),
        "{table}"
    );
    test.run_with_input(&["secret", "set", "KEY", "--json"], "another value")
        .exits(0);
    let again = test.run(&["secret", "list", "--json"]).exits(0).json();
    assert_eq!(again.as_array().unwrap().len(), 1);
    assert_ne!(again[0]["hash"], first["hash"]);
    assert_eq!(
        (&again[0]["bundles"], &again[0]["createdAt"]),
        (&json!(["weather"]), &first["createdAt"])
    );
    test.run(&["secret", "rm", "KEY", "OTHER"])
        .exits(3)
        .says("there is no secret `OTHER`");
    test.run(&["secret", "rm", "KEY", "--json"])
        .exits(0)
        .prints("{\"removed\":[\"KEY\"]}\n");
    test.run(&["secret", "rm", "KEY"])
        .exits(3)
        .says("there is no secret `KEY`; nothing was removed")
        .says("there are no secrets");
}

#[test]
fn a_name_that_is_none_is_not_removed_and_near_ones_are_named() {
    let test = Test::new();
    keeps(&test, "WEATHER_KEY", VALUE);
    let ran = test.run(&["secret", "rm", "WEATHER_KYE"]).exits(3);
    let ran = ran.says("did you mean `WEATHER_KEY`?");
    assert!(!ran.stderr.contains("secret set"), "{ran:?}");
    test.run(&["secret", "rm", "QQQQ"])
        .exits(3)
        .says("`toolcrib secret list` lists them");
}

#[test]
fn a_new_value_keeps_hosts_and_bundles_until_others_are_named() {
    let test = Test::new();
    let set = |words: &[&str]| {
        let words = [&["secret", "set", "KEY", "--json"], words].concat();
        let json = test.run_with_input(&words, VALUE).exits(0).json();
        (json["hosts"].clone(), json["bundles"].clone())
    };
    let (host, bundle) = ("api.example.test", "weather");
    let bound = (json!([host]), json!([bundle]));
    assert_eq!(set(&["--host", host, "--bundle", bundle]), bound);
    assert_eq!(set(&[]), bound);
    // Also while the file is open to others, and the secret cannot be used.
    let file = std::fs::read_dir(test.home().join("secrets")).unwrap();
    let is_json = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "json");
    let file = file.map(|entry| entry.unwrap().path()).find(is_json);
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(file.unwrap(), open).unwrap();
    assert_eq!(set(&[]), bound);
    let other = (json!(["other.example.test"]), json!([bundle]));
    assert_eq!(set(&["--host", "other.example.test"]), other);
    assert_eq!(set(&["--any-host"]), (json!([]), json!([bundle])));
    assert_eq!(set(&["--any-bundle"]), (json!([]), json!([])));
    let both = ["secret", "set", "KEY", "--any-host", "--host", host];
    test.run_with_input(&both, VALUE).exits(2);
}

#[test]
fn a_value_on_the_command_line_is_refused_without_repeating_it() {
    let test = Test::new();
    for words in [
        &["secret", "set", "KEY", VALUE][..],
        &["secret", "set", "KEY=SENTINEL-7f3a"],
        &["secret", "set", "KEY", VALUE, "--json"],
    ] {
        let ran = test.run(words).exits(2);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(told.contains("history") && !told.contains(VALUE), "{told}");
    }
    test.run(&["secret", "set", "KEY", "--value", VALUE])
        .exits(2);
    assert!(!test.home().join("secrets").exists());
}

#[test]
fn a_value_comes_from_a_variable_or_from_standard_input_and_nothing_is_not_a_value() {
    let test = Test::new().variable("FROM", VALUE).variable("SHORT", "abc");
    test.run(&["secret", "set", "A", "--from-env", "FROM"])
        .exits(0);
    keeps(&test, "B", "SENTINEL-7f3a\r\n");
    keeps(&test, "C", "SENTINEL-7f3a");
    let listed = test.run(&["secret", "list", "--json"]).exits(0).json();
    let hashes: Vec<&serde_json::Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["hash"])
        .collect();
    assert_eq!(hashes, ["4969"; 3]);
    test.run(&["secret", "set", "D", "--from-env", "NONE"])
        .exits(2)
        .says("no variable `NONE`");
    test.run(&["secret", "set", "D", "--from-env", "SHORT"])
        .exits(2)
        .says("fewer than 4 bytes");
    for words in [
        &["secret", "set", "D"][..],
        &["secret", "set", "D", "--no-input"],
    ] {
        test.run(words).exits(2).says("standard input is empty");
    }
    test.run_with_input(&["secret", "set", "version"], VALUE)
        .exits(2)
        .says("built-in variable");
    test.run_with_input(&["secret", "set", "a-b"], VALUE)
        .exits(2)
        .says("WEATHER_API_KEY");
}

#[test]
fn a_terminal_asks_without_showing_what_is_typed() {
    let test = Test::new();
    let mut session = test.on_terminal(&["secret", "set", "KEY"]);
    session.sees("Value of KEY (not shown): ");
    session.presses("oops\u{15}SENTINEL-7f3b\u{7f}a\r");
    session.sees("13 bytes");
    let (code, shown) = session.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("SENTINEL"), "{shown}");
    assert_eq!(
        test.run(&["secret", "list", "--json"]).json()[0]["hash"],
        "4969"
    );
    let mut session = test.on_terminal(&["secret", "set", "OTHER"]);
    session.sees("(not shown): ");
    session.presses("half\u{3}");
    let (code, shown) = session.ends();
    assert_eq!(code, 130, "{shown}");
    let session = test.on_terminal(&["secret", "set", "OTHER", "--no-input"]);
    let (code, shown) = session.ends();
    assert_eq!(code, 2, "{shown}");
    assert!(shown.contains("--from-env"), "{shown}");
}

#[test]
fn names_are_completed() {
    let test = Test::new();
    keeps(&test, "WEATHER_API_KEY", VALUE);
    let ran = test
        .command()
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", "3")
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true")
        .env("_CLAP_IFS", "\n")
        .args(["--", "toolcrib", "secret", "rm", "WEA"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(ran.stdout).unwrap(), "WEATHER_API_KEY");
}

#[test]
fn a_file_that_others_may_read_or_that_is_damaged_is_reported() {
    let test = Test::new();
    keeps(&test, "KEY", VALUE);
    test.run(&["doctor"]).exits(0);
    let file = std::fs::read_dir(test.home().join("secrets"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "json"))
        .unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let ran = test.run(&["doctor"]).exits(1);
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(
        ran.stdout.contains("mode 0644")
            && ran.stdout.contains(name)
            && !ran.stdout.contains(VALUE),
        "{ran:?}"
    );
    test.run(&["secret", "list"]).exits(0).says("mode 0644");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&file, "{\"value\": \"SENTINEL-7f3a\"").unwrap();
    let ran = test.run(&["doctor"]).exits(1);
    assert!(
        ran.stdout.contains("damaged") && !ran.stdout.contains(VALUE),
        "{ran:?}"
    );
    test.run(&["secret", "rm", "KEY"]).exits(0);
    test.run(&["doctor"]).exits(0);
}

fn modes(directory: &Path, found: &mut Vec<(String, u32)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        found.push((
            path.display().to_string(),
            metadata.permissions().mode() & 0o7777,
        ));
        if metadata.is_dir() {
            modes(&path, found);
        }
    }
}

/// SEC-005.
#[test]
fn files_are_for_their_owner_whatever_the_umask() {
    for umask in ["000", "022", "777"] {
        let test = Test::new().file("a.txt", "a\n");
        let run = |words: &str, input: &str| {
            let binary = test.command();
            let script = format!("umask {umask}; printf %s '{input}' | exec \"$0\" {words}");
            let mut command = Command::new("sh");
            command
                .args(["-c", &script])
                .arg(binary.get_program())
                .current_dir(test.workspace())
                .env_clear()
                .env("PATH", "/usr/bin:/bin");
            for (name, value) in binary.get_envs() {
                command.env(name, value.unwrap_or_default());
            }
            Ran::of(command.output().unwrap()).exits(0)
        };
        run("secret set KEY", VALUE);
        run("run read_file path=a.txt --call-id mine", "");
        let mut found = vec![(
            "home".to_owned(),
            std::fs::metadata(test.home()).unwrap().permissions().mode() & 0o7777,
        )];
        modes(&test.home(), &mut found);
        assert!(found.len() > 4, "{found:?}");
        for (path, mode) in found {
            assert!(
                mode == 0o600 || mode == 0o700,
                "{umask}: {path} has {mode:o}"
            );
        }
    }
}
