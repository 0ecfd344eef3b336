//! `toolcrib doctor`.

use serde_json::Value;

use crate::harness::Test;

fn status(findings: &Value, check: &str) -> String {
    let found = findings
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["check"] == check)
        .unwrap();
    found["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_fresh_machine_is_ok() {
    let test = Test::new();
    let findings = test.run(&["doctor", "--json"]).exits(0).json();
    for check in [
        "version",
        "settings",
        "home",
        "call log",
        "workspace",
        "paths",
        "tools",
    ] {
        assert_eq!(status(&findings, check), "ok", "{findings:#}");
    }
    assert!(test.run(&["doctor"]).exits(0).stdout.contains("openat2"));
}

#[test]
fn what_is_broken_fails_and_says_how_to_mend_it() {
    let broken = Test::new()
        .config("nonsense = 1")
        .run(&["doctor", "--json"])
        .exits(1)
        .json();
    assert_eq!(status(&broken, "settings"), "broken");
    let test = Test::new().file("blocked", "");
    let home = test.workspace().join("blocked");
    let ran = test
        .command()
        .args(["doctor", "--home"])
        .arg(home)
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&ran.stdout).contains("not a directory"),
        "{ran:?}"
    );
}

#[test]
fn a_home_others_can_read_is_a_warning() {
    use std::os::unix::fs::PermissionsExt as _;
    let test = Test::new().config("");
    std::fs::set_permissions(test.home(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let findings = test.run(&["doctor", "--json"]).exits(0).json();
    assert_eq!(status(&findings, "home"), "warning");
}

#[test]
fn the_levels_of_isolation_are_tried_and_reported() {
    let ran = Test::new().run(&["--json", "doctor"]).exits(0).json();
    for level in ["process", "container"] {
        let finding = ran
            .as_array()
            .unwrap()
            .iter()
            .find(|finding| finding["check"] == level)
            .unwrap_or_else(|| panic!("nothing about {level}: {ran}"));
        let told = finding["message"].as_str().unwrap();
        assert!(told.contains(&format!("isolation `{level}`")), "{finding}");
        // Each missing part comes with the command that installs it.
        assert!(
            finding["status"] == "ok" || !finding["fix"].as_str().unwrap().is_empty(),
            "{finding}"
        );
    }
}

const HELLO: &str = "name: hello\ndescription: Says hello\nbash: echo hello\ntags: [read]\n";

/// A home with a bundle `acme` that has one tool, and where its files are.
fn with_a_bundle() -> (Test, std::path::PathBuf, std::path::PathBuf) {
    let test = Test::new().file("hello.yaml", HELLO);
    test.run(&["bundle", "new", "acme"]).exits(0);
    test.run(&["bundle", "add", "acme", "hello.yaml"]).exits(0);
    let mut directories = std::fs::read_dir(test.home().join("bundles")).unwrap();
    let directory = directories
        .find_map(|entry| Some(entry.unwrap().path()).filter(|path| path.is_dir()))
        .unwrap();
    let mut files = std::fs::read_dir(&directory).unwrap();
    let tool = files
        .find_map(|entry| Some(entry.unwrap().path()).filter(|path| !path.ends_with("bundle.json")))
        .unwrap();
    (test, directory, tool)
}

fn messages(findings: &Value, check: &str) -> Vec<String> {
    let findings = findings.as_array().unwrap().iter();
    findings
        .filter(|finding| finding["check"] == check)
        .map(|finding| finding["message"].as_str().unwrap().to_owned())
        .collect()
}

fn set_aside(test: &Test) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(test.home().join("damaged")) else {
        return Vec::new();
    };
    entries
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
        .collect()
}

#[test]
fn a_damaged_tool_is_reported_and_set_aside_once() {
    let (test, _, tool) = with_a_bundle();
    std::fs::write(&tool, "{\"slug\": \"hello\", bro").unwrap();
    let broken = test.run(&["doctor", "--json"]).exits(1).json();
    assert_eq!(status(&broken, "files"), "broken");
    assert!(
        messages(&broken, "files")[0].contains("(in `acme`)"),
        "{broken:#}"
    );
    assert!(set_aside(&test).is_empty(), "looking moves nothing");

    let fixed = test.run(&["doctor", "--fix", "--json"]).exits(0).json();
    assert!(
        messages(&fixed, "fixed")[0].contains("moved to"),
        "{fixed:#}"
    );
    assert_eq!(set_aside(&test), [b"{\"slug\": \"hello\", bro"]);
    let again = test.run(&["doctor", "--fix", "--json"]).exits(0).json();
    assert!(messages(&again, "fixed").is_empty(), "{again:#}");
    // The name is free again.
    test.run(&["bundle", "add", "acme", "hello.yaml"]).exits(0);
    test.run(&["run", "acme/hello"]).exits(0).prints("hello\n");
}

#[test]
fn a_bundle_that_lost_its_file_comes_back_switched_off_and_asks_as_an_imported_one() {
    let (test, directory, _) = with_a_bundle();
    let file = directory.join("bundle.json");
    std::fs::write(&file, "{\"slug\": \"acme\", \"isEnabled\": tr").unwrap();
    test.run(&["doctor"]).exits(1);
    let fixed = test.run(&["doctor", "--fix", "--json"]).exits(0).json();
    let told = &messages(&fixed, "fixed")[0];
    assert!(
        told.contains("created again as `acme`, switched off"),
        "{told}"
    );
    let made: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(
        (&made["slug"], &made["isEnabled"]),
        (&"acme".into(), &false.into())
    );
    assert!(made["importedAt"].is_string(), "{made}");
    test.run(&["run", "acme/hello"])
        .exits(3)
        .says("toolcrib bundle enable acme");
    test.run(&["bundle", "enable", "acme", "--yes"]).exits(0);
    // No one knows any more whether it was imported, so it asks; no one is there to say yes.
    test.run(&["run", "acme/hello"]).exits(6);
    test.run(&["run", "acme/hello", "--yes"]).exits(0);
}

#[test]
fn a_file_of_a_bundle_that_is_gone_is_made_again() {
    let (test, directory, _) = with_a_bundle();
    std::fs::remove_file(directory.join("bundle.json")).unwrap();
    test.run(&["doctor"]).exits(1);
    let fixed = test.run(&["doctor", "--fix", "--json"]).exits(0).json();
    let told = &messages(&fixed, "fixed")[0];
    assert!(told.contains("created again as `recovered-"), "{told}");
    test.run(&["doctor"]).exits(0);
}

#[test]
fn damaged_state_is_set_aside_and_says_what_that_means() {
    let (test, _, _) = with_a_bundle();
    let state = test.home().join("state");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(state.join("flags.json"), "no").unwrap();
    std::fs::write(state.join("usage.json"), "no").unwrap();
    let broken = test.run(&["doctor", "--json"]).exits(1).json();
    assert_eq!(
        messages(&broken, "files").len(),
        3,
        "and a mode: {broken:#}"
    );
    test.run(&["run", "hello"])
        .exits(3)
        .says("toolcrib doctor --fix");
    let fixed = test.run(&["doctor", "--fix", "--json"]).exits(0).json();
    let told = messages(&fixed, "fixed").join("\n");
    assert!(
        told.contains("`toolcrib disable` those that are to be off"),
        "{told}"
    );
    assert_eq!(set_aside(&test), [b"no", b"no"]);
    test.run(&["run", "hello"]).exits(0);
}

#[test]
fn leftovers_and_modes_are_warnings_that_fix_puts_right() {
    use std::os::unix::fs::PermissionsExt as _;
    let (test, directory, tool) = with_a_bundle();
    let left = directory.join(".0123456789abcdef0123456789abcdef.toolcrib-tmp");
    let file = std::fs::File::create(&left).unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    file.set_modified(long_ago).unwrap();
    for path in [&test.home(), &tool] {
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(path, open).unwrap();
    }
    let warned = test.run(&["doctor", "--json"]).exits(0).json();
    assert_eq!(messages(&warned, "files").len(), 2, "{warned:#}");
    assert_eq!(status(&warned, "home"), "warning");
    test.run(&["doctor", "--fix"]).exits(0);
    assert!(!left.exists());
    for path in [&test.home(), &tool] {
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", path.display());
    }
    let quiet = test.run(&["doctor", "--json"]).exits(0).json();
    assert!(messages(&quiet, "files").is_empty(), "{quiet:#}");
}

#[test]
fn the_bin_and_tools_that_lack_their_function_are_reported() {
    let function = r#"{"slug":"fun","version":"v1","description":"d","type":"rust","impl":{"function":"nope"}}"#;
    let (test, _, _) = with_a_bundle();
    let test = test.file("fun.json", function);
    test.run(&["bundle", "add", "acme", "fun.json"]).exits(0);
    test.run(&["bundle", "new", "empty"]).exits(0);
    test.run(&["bundle", "rm", "empty", "--yes"]).exits(0);
    let findings = test.run(&["doctor", "--json"]).exits(0).json();
    assert_eq!(messages(&findings, "store"), ["2 bundles with 2 tools"]);
    assert!(
        messages(&findings, "bin")[0].contains("gone for good after"),
        "{findings:#}"
    );
    assert_eq!(status(&findings, "stored"), "warning");
    assert!(
        messages(&findings, "stored")[0].contains("`nope`"),
        "{findings:#}"
    );
}

/// The one problem with files that is broken.
fn broken(test: &Test) -> String {
    let findings = test.run(&["doctor", "--json"]).exits(1).json();
    let is_broken = |finding: &&Value| finding["status"] == "broken";
    let broken: Vec<&Value> = findings
        .as_array()
        .unwrap()
        .iter()
        .filter(is_broken)
        .collect();
    assert_eq!(broken.len(), 1, "{findings:#}");
    broken[0]["message"].as_str().unwrap().to_owned()
}

fn mkfifo(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

#[test]
fn a_pipe_in_the_place_of_any_file_stops_no_one() {
    let (test, directory, tool) = with_a_bundle();
    for file in [tool, directory.join("bundle.json")] {
        std::fs::remove_file(&file).unwrap();
        mkfifo(&file);
        test.run(&["list"]).exits(0);
        assert!(broken(&test).contains("it is a pipe"));
        let fixed = test.run(&["doctor", "--fix"]).exits(0);
        assert!(fixed.stdout.contains("moved to"), "{fixed:?}");
        test.run(&["doctor"]).exits(0);
    }
}

#[test]
fn a_store_that_is_not_a_directory_or_has_no_lock_is_said_wherever_bundles_are_listed() {
    let (test, _, _) = with_a_bundle();
    let bundles = test.home().join("bundles");
    let lock = bundles.join(".lock");
    std::fs::remove_file(&lock).unwrap();
    mkfifo(&lock);
    for verb in [&["list"][..], &["bundle", "list"]] {
        test.run(verb).exits(0).says("`bundles/.lock` is a pipe");
    }
    assert!(broken(&test).starts_with("bundles/.lock: it is a pipe"));
    test.run(&["doctor", "--fix"]).exits(0);
    test.run(&["bundle", "new", "one"]).exits(0);

    std::fs::rename(&bundles, test.home().join("elsewhere")).unwrap();
    std::fs::write(&bundles, "x").unwrap();
    for verb in [&["list"][..], &["bundle", "list"]] {
        test.run(verb).exits(0).says("are not loaded");
    }
    assert!(broken(&test).starts_with("bundles: it is a file, not a directory"));
    test.run(&["doctor", "--fix"]).exits(0);
    test.run(&["bundle", "new", "two"]).exits(0);
    let names = std::fs::read_dir(test.home().join("damaged")).unwrap();
    let mut names = names.map(|entry| entry.unwrap().path());
    let file = names.find(|path| path.to_string_lossy().ends_with("-bundles"));
    assert_eq!(std::fs::read(file.unwrap()).unwrap(), b"x");
}

#[test]
fn with_state_that_is_not_a_directory_nothing_runs() {
    let test = Test::new();
    test.run(&["disable", "shell"]).exits(0);
    std::fs::rename(test.home().join("state"), test.home().join("elsewhere")).unwrap();
    std::fs::write(test.home().join("state"), "x").unwrap();
    test.run(&["run", "shell", "command=true"]).exits(3);
    test.run(&["run", "list_directory", "path=."]).exits(3);
    assert!(broken(&test).starts_with("state: it is a file"));
    let fixed = test.run(&["doctor", "--fix"]).exits(0);
    assert!(fixed.stdout.contains("on again"), "{fixed:?}");
    test.run(&["run", "list_directory", "path=."]).exits(0);
}

#[test]
fn damaged_flags_are_said_once_and_with_one_remedy() {
    let test = Test::new();
    test.run(&["disable", "shell"]).exits(0);
    std::fs::write(test.home().join("state/flags.json"), "{").unwrap();
    let listed = test.run(&["bundle", "list"]).exits(0);
    let said = listed
        .stderr
        .matches("which bundles are switched off")
        .count();
    assert_eq!(said, 1, "{listed:?}");
    assert!(listed.stderr.contains("doctor --fix"), "{listed:?}");
    let refused = test.run(&["disable", "read_file"]);
    assert!(refused.stderr.contains("doctor --fix"), "{refused:?}");
}

#[test]
fn what_is_not_the_stores_is_named_and_left_alone() {
    let (test, _, tool) = with_a_bundle();
    std::fs::write(tool.with_file_name("notes.txt"), "mine").unwrap();
    std::fs::create_dir(test.home().join("bundles/not-a-uuid")).unwrap();
    for args in [&["doctor", "--fix"][..], &["doctor"]] {
        let ran = test.run(args).exits(0);
        let line = ran.stdout.lines().find(|line| line.contains("not touched"));
        let line = line.unwrap_or_else(|| panic!("{ran:?}"));
        assert!(
            line.starts_with("ok") && line.contains("notes.txt"),
            "{line}"
        );
        assert!(line.contains("`bundles/not-a-uuid`"), "{line}");
    }
    assert!(tool.with_file_name("notes.txt").exists());
}

#[test]
fn a_bundle_in_the_bin_whose_slug_is_taken_is_not_said_to_be_restorable() {
    let (test, _, _) = with_a_bundle();
    let slug = "acme";
    test.run(&["bundle", "rm", slug, "--yes"]).exits(0);
    let restore = format!("`toolcrib bundle restore {slug}` takes it out");
    test.run(&["bundle", "new", "other"]).exits(0);
    assert!(test.run(&["doctor"]).stdout.contains(&restore));
    test.run(&["bundle", "new", slug]).exits(0);
    let ran = test.run(&["doctor"]).exits(0);
    assert!(!ran.stdout.contains(&restore), "{ran:?}");
    assert!(ran.stdout.contains("remove that one before"), "{ran:?}");
}
