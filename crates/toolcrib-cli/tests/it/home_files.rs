//! Messages about a file of Toolcrib's home give its path.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::harness::Test;
use crate::serving::Serving;
use crate::upstream::server;

/// The path of a file of the home, as messages have it.
fn path(test: &Test, name: &str) -> String {
    format!("`{}`", test.home().join(name).display())
}

fn set_mode(file: &Path, mode: u32) {
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_damaged_file_of_clients_is_named_by_its_path_and_by_its_name_through_a_server() {
    let test = Test::new();
    test.run(&["clients", "add", "ci"]).exits(0);
    let file = test.home().join("clients.json");
    std::fs::write(&file, "{").unwrap();
    let ran = test.run(&["clients", "list"]);
    assert_ne!(ran.code, 0);
    ran.says(&path(&test, "clients.json"));
    std::fs::remove_file(&file).unwrap();
    let serving = Serving::start(&test);
    std::fs::write(&file, "{").unwrap();
    let (_, body) = serving.get("/api/clients");
    let home = test.home().display().to_string();
    assert!(!body.to_string().contains(&home), "{body}");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let home = format!("Toolcrib's home ({})", path(&test, "").replace("/`", "`"));
    test.run(&["clients", "list"]).says(&home);
}

#[test]
fn a_secret_that_others_may_read_or_that_is_damaged_is_named_by_its_path() {
    let test = Test::new().variable("KEY", "hunter2-hunter2");
    test.run(&["secret", "set", "A_KEY", "--from-env", "KEY"])
        .exits(0);
    let directory = test.home().join("secrets");
    let mut files = std::fs::read_dir(&directory).unwrap();
    let file = files
        .find_map(|entry| {
            let path = entry.unwrap().path();
            path.extension()
                .is_some_and(|end| end == "json")
                .then_some(path)
        })
        .unwrap();
    let shown = format!("`{}`", file.display());
    set_mode(&file, 0o644);
    test.run(&["secret", "list"]).says(&shown);
    std::fs::write(&file, "{").unwrap();
    set_mode(&file, 0o600);
    test.run(&["secret", "list"]).says(&shown);
    std::fs::remove_file(&file).unwrap();
    test.run(&["secret", "set", "A_KEY", "--from-env", "KEY"])
        .exits(0);
    set_mode(&directory, 0o755);
    test.run(&["secret", "list"]).says(&path(&test, "secrets"));
}

#[test]
fn settings_that_refuse_something_are_named_by_their_path() {
    let test = Test::new();
    test.run(&[
        "upstream",
        "add",
        "fake",
        "--yes",
        "--",
        "python3",
        server(),
        "plain",
    ])
    .exits(0);
    let config = test.home().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let denied = format!("{text}\n[upstreams.fake.tools.echo]\napproval = \"deny\"\n");
    std::fs::write(&config, denied).unwrap();
    let settings = path(&test, "config.toml");
    test.run(&["run", "echo", "text=x"])
        .exits(5)
        .says(&settings);
    for table in [
        "[upstreams.x]\ncommand = \"x\"\n",
        "[databases.x]\nurl = \"sqlite:x\"\n",
    ] {
        let test = Test::new().file(".toolcrib/config.toml", table);
        test.run(&["list"])
            .exits(2)
            .says(&path(&test, "config.toml"));
    }
}

#[test]
fn a_chat_that_is_not_there_says_where_chats_are() {
    let test = Test::new();
    test.run(&["chat", "--continue", "no-such.jsonl", "hi"])
        .says(&path(&test, "chats"));
}
