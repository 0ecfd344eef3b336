//! `toolcrib connect`, what `doctor` says of what is connected, and `upstream import`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Ran, Test, golden};
use crate::serving::Serving;

/// The clients, and where their files are below the user's home directory.
const CLIENTS: [(&str, &str); 15] = [
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
    ),
    ("claude-code", ".claude.json"),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", ".config/Code/User/mcp.json"),
    ("lm-studio", ".lmstudio/mcp.json"),
    ("codex", ".codex/config.toml"),
    ("gemini", ".gemini/settings.json"),
    ("zed", ".config/zed/settings.json"),
    ("windsurf", ".codeium/windsurf/mcp_config.json"),
    (
        "cline",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ),
    (
        "roo",
        ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
    ),
    ("opencode", ".config/opencode/opencode.json"),
    ("goose", ".config/goose/config.yaml"),
    ("jetbrains", ".junie/mcp/mcp.json"),
    ("copilot-cli", ".copilot/mcp-config.json"),
];

fn user(test: &Test) -> PathBuf {
    test.home().parent().unwrap().to_owned()
}

fn put(test: &Test, path: &str, text: &str) -> PathBuf {
    let path = user(test).join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// With the paths of this run taken out.
fn general(test: &Test, text: &str) -> String {
    text.replace(env!("CARGO_BIN_EXE_toolcrib"), "/usr/bin/toolcrib")
        .replace(&test.workspace().display().to_string(), "/path/to/project")
        .replace(&test.home().display().to_string(), "/path/to/toolcrib-home")
        .replace(&user(test).display().to_string(), "/home/you")
}

/// The copies beside a file.
fn backups(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|other| {
            let other = other.file_name().unwrap().to_string_lossy().into_owned();
            other.starts_with(&format!("{name}.toolcrib-backup-"))
        })
        .collect()
}

/// Files as people have them: comments, trailing commas, tabs, Windows' line endings, a byte order mark, nothing at all.
fn existing(client: &str) -> Vec<String> {
    let key = match client {
        "vscode" => "servers",
        "zed" => "context_servers",
        "opencode" => "mcp",
        _ => "mcpServers",
    };
    let all = match client {
        "goose" => vec![
            "# mine\nGOOSE_MODEL: gpt # best\nextensions:\n  # the other\n  other:\n    cmd: npx\n    args: ['-y']\n    type: stdio\n    enabled: true\n# end\nother_key: 1\n".to_owned(),
            "a: 1\nextensions: {} # none\n".to_owned(),
            "a: 1".to_owned(),
        ],
        "codex" => vec![
            "# mine\nmodel = \"o\" # best\n\n[mcp_servers.other]\ncommand = 'npx'\nargs = [\n\t\"-y\", # yes\n]\n\n[tui]\ntheme = \"dark\"\n".to_owned(),
            "a = 1".to_owned(),
        ],
        _ => vec![
            format!("// mine\n{{\n    \"z\": 1, // one\n    \"{key}\": {{\n        /* the other */\n        \"other\": {{ \"command\": \"npx\", \"args\": [\"-y\"], }},\n    }},\n    \"a\": [1, 2,],\n}}\n"),
            format!("{{\n\t\"{key}\": {{\n\t\t\"other\": {{\n\t\t\t\"command\": \"npx\"\n\t\t}}\n\t}}\n}}"),
            format!("{{\"{key}\":{{\"other\":{{\"command\":\"npx\"}}}},\"b\":null}}"),
            "{}".to_owned(),
        ],
    };
    let windows = all[0].replace('\n', "\r\n");
    let marked = format!("\u{feff}{}", all[0]);
    let empty = ["", "\n"].map(str::to_owned);
    all.into_iter()
        .chain([windows, marked])
        .chain(empty)
        .collect()
}

/// Connects and goes back, for each of the texts.
fn round_trips(client: &str, path: &str, texts: &[String]) {
    for before in texts {
        let test = Test::new();
        let file = put(&test, path, before);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let ran = test.run(&["connect", client, "--yes"]).exits(0);
        let after = read(&file);
        assert!(
            after.contains(env!("CARGO_BIN_EXE_toolcrib")),
            "{client}: {ran:?}"
        );
        assert_eq!(after.contains("other"), before.contains("other"), "{after}");
        let windows = before.contains("\r\n");
        assert_eq!(windows, after.contains("\r\n"), "{after:?}");
        assert!(!windows || after.matches('\n').count() == after.matches("\r\n").count());
        assert_eq!(
            before.starts_with('\u{feff}'),
            after.starts_with('\u{feff}')
        );
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o640
        );
        let copies = backups(&file);
        assert_eq!(copies.len(), 1, "{copies:?}");
        assert_eq!(read(&copies[0]), *before);
        assert!(
            ran.stderr.contains(&copies[0].display().to_string()),
            "{ran:?}"
        );
        test.run(&["connect", client, "--undo"])
            .exits(0)
            .says("what it was before");
        assert_eq!(read(&file), *before, "{client}");
    }
}

#[test]
fn yaml_of_every_kind_goes_back_byte_for_byte() {
    round_trips("goose", ".config/goose/config.yaml", &existing("goose"));
}

#[test]
fn other_shapes_of_json_go_back_byte_for_byte() {
    for client in ["zed", "opencode", "copilot-cli"] {
        let path = CLIENTS.iter().find(|(name, _)| *name == client).unwrap().1;
        round_trips(client, path, &existing(client)[..1]);
    }
}

#[test]
fn any_client_is_connected_in_the_file_that_is_named() {
    let test = Test::new();
    let file = put(&test, "some/mcp.json", "{}\n");
    let named = file.to_str().unwrap();
    test.run(&["connect", "generic"])
        .exits(2)
        .says("--file FILE");
    let ran = test
        .run(&["connect", "generic", "--file", named, "--dry-run"])
        .exits(0);
    assert!(ran.stderr.contains("+") && read(&file) == "{}\n", "{ran:?}");
    test.run(&["connect", "generic", "--file", named, "--yes"])
        .exits(0)
        .says(&format!("toolcrib connect generic --file {named} --undo"));
    assert!(read(&file).contains("\"mcpServers\""));
    test.run(&["connect", "generic", "--file", named, "--undo"])
        .exits(0);
    assert_eq!(read(&file), "{}\n");
}

#[test]
fn json_of_every_kind_goes_back_byte_for_byte() {
    round_trips("cursor", ".cursor/mcp.json", &existing("cursor"));
}

#[test]
fn toml_of_every_kind_goes_back_byte_for_byte() {
    round_trips("codex", ".codex/config.toml", &existing("codex"));
}

#[test]
fn every_clients_file_goes_back_byte_for_byte() {
    for (client, path) in CLIENTS {
        round_trips(client, path, &existing(client)[..1]);
    }
}

#[test]
fn connecting_twice_and_undoing_twice_changes_nothing_more() {
    let test = Test::new();
    let file = put(&test, ".cursor/mcp.json", "{}");
    test.run(&["connect", "cursor", "--yes"]).exits(0);
    let after = read(&file);
    test.run(&["connect", "cursor"])
        .exits(0)
        .says("connected already");
    assert_eq!((read(&file), backups(&file).len()), (after, 1));
    test.run(&["connect", "cursor", "--undo"]).exits(0);
    test.run(&["connect", "cursor", "--undo"])
        .exits(0)
        .says("nothing to remove");
    assert_eq!(read(&file), "{}");
}

#[test]
fn a_client_without_a_file_gets_one_and_undo_takes_it_away() {
    for (client, path) in CLIENTS {
        let test = Test::new();
        let file = user(&test).join(path);
        test.run(&["connect", client, "--yes"]).exits(0);
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert!(read(&file).ends_with("\n"));
        test.run(&["connect", client, "--undo"]).exits(0);
        assert!(!file.exists(), "{client}");
    }
}

#[test]
fn what_to_paste_is_as_it_was_reviewed() {
    let mut all = String::new();
    for client in CLIENTS
        .map(|(client, _)| client)
        .into_iter()
        .chain(["generic"])
    {
        for more in [&[][..], &["--http", "http://127.0.0.1:7410"]] {
            let test = Test::new();
            let words = [&["connect", client, "--print"], more].concat();
            // As for most people: the home is where every process finds it.
            let mut command = test.command();
            command.env_remove("TOOLCRIB_HOME").args(&words);
            let ran = Ran::of(command.output().unwrap());
            let said = match ran.code {
                0 => &ran.stdout,
                _ => &ran.stderr,
            };
            all += &format!("$ toolcrib {}\n{}\n", words.join(" "), general(&test, said));
            assert_eq!(
                fs::read_dir(user(&test)).unwrap().count(),
                1,
                "nothing is written"
            );
        }
    }
    golden("connect_print.txt", &all);
}

#[test]
fn the_change_is_shown_as_it_was_reviewed() {
    let mut all = String::new();
    for (client, path) in CLIENTS {
        let test = Test::new();
        put(&test, path, &existing(client)[0]);
        let ran = test.run(&["connect", client, "--yes"]).exits(0);
        all += &format!(
            "$ toolcrib connect {client} --yes\n{}\n",
            general(&test, &ran.stderr)
        );
    }
    let test = Test::new();
    put(
        &test,
        ".cursor/mcp.json",
        "{\n  \"mcpServers\": {\n    \"toolcrib\": {\n      \"command\": \"old\"\n    }\n  }\n}\n",
    );
    let ran = test.run(&["connect", "cursor", "--yes"]).exits(0);
    all += &format!(
        "$ toolcrib connect cursor --yes  # another entry of that name\n{}\n",
        general(&test, &ran.stderr)
    );
    let ran = test.run(&["connect", "cursor", "--undo"]).exits(0);
    all += &format!(
        "$ toolcrib connect cursor --undo\n{}\n",
        general(&test, &ran.stderr)
    );
    golden("connect_diffs.txt", &all);
}

#[test]
fn no_one_to_ask_means_nothing_is_written() {
    let test = Test::new();
    let file = put(&test, ".cursor/mcp.json", "{}");
    test.run(&["connect", "cursor"])
        .exits(6)
        .says("--yes")
        .says("+    \"toolcrib\"");
    assert_eq!(read(&file), "{}");
    assert!(backups(&file).is_empty());
}

#[test]
fn the_entry_names_what_the_client_would_not_find() {
    let test = Test::new().file("sub/x", "");
    test.run(&["bundle", "new", "acme"]).exits(0);
    test.run(&["clients", "add", "robot"]).exits(0);
    let entry = |words: &[&str]| {
        let words = [&["connect", "--json", "--print"], words].concat();
        test.run(&words).exits(0).json()["entry"].clone()
    };
    let (home, workspace) = (test.home(), test.workspace());
    let (home, workspace) = (home.to_str().unwrap(), workspace.to_str().unwrap());
    assert_eq!(
        entry(&["claude-desktop"])["args"],
        json!(["mcp", "--home", home, "--workspace", workspace])
    );
    assert_eq!(
        entry(&["claude-code"])["args"],
        json!(["mcp", "--home", home])
    );
    assert_eq!(
        entry(&["claude-code", "--project"])["args"],
        json!(["mcp", "--home", home])
    );
    assert_eq!(
        entry(&[
            "codex",
            "--workspace",
            "sub",
            "--bundle",
            "acme",
            "--bundle",
            "core",
            "--client",
            "robot"
        ])["args"],
        json!([
            "mcp",
            "--home",
            home,
            "--workspace",
            format!("{workspace}/sub"),
            "--bundle",
            "acme",
            "--bundle",
            "core",
            "--client",
            "robot"
        ])
    );
    assert_eq!(
        entry(&["vscode"])["command"],
        env!("CARGO_BIN_EXE_toolcrib")
    );
    test.run(&["connect", "cursor", "--bundle", "nobody", "--yes"])
        .exits(3);
    test.run(&["connect", "cursor", "--client", "nobody", "--yes"])
        .says("clients add");
    test.run(&["connect", "cursor", "--name", "a b", "--yes"])
        .exits(2);
    test.run(&["connect", "cursor", "--http", "ftp://x", "--yes"])
        .exits(2);
    test.run(&["connect", "cursor", "--http", "http://me:pw@host", "--yes"])
        .exits(2)
        .says("TOOLCRIB_TOKEN");
    test.run(&["connect", "lm-studio", "--project"])
        .exits(2)
        .says("no file for a project");
    assert!(!user(&test).join(".cursor").exists());
}

#[test]
fn the_usual_home_is_not_named_and_a_directory_that_is_not_a_project_is_refused() {
    let test = Test::new();
    let mut command = test.command();
    command
        .env_remove("TOOLCRIB_HOME")
        .args(["connect", "gemini", "--print", "--json"]);
    let ran = Ran::of(command.output().unwrap()).exits(0);
    assert_eq!(ran.json()["entry"]["args"], json!(["mcp"]));
    let mut command = test.command();
    command
        .current_dir(user(&test))
        .args(["connect", "claude-desktop", "--yes"]);
    Ran::of(command.output().unwrap())
        .exits(2)
        .says("--workspace DIR");
    assert!(!user(&test).join(".config").exists());
}

/// Others have the file of a project, too.
#[test]
fn a_projects_entry_names_no_place_of_this_machine_and_says_where_it_has_to() {
    let test = Test::new();
    let bin = Path::new(env!("CARGO_BIN_EXE_toolcrib")).parent().unwrap();
    let entry = |client: &str, found: bool| {
        let mut command = test.command();
        command.env_remove("TOOLCRIB_HOME").args([
            "connect",
            client,
            "--project",
            "--print",
            "--json",
        ]);
        if found {
            command.env("PATH", bin);
        }
        let ran = Ran::of(command.output().unwrap()).exits(0);
        (ran.json()["entry"].clone(), ran.stderr)
    };
    for (client, args) in [
        ("claude-code", json!(["mcp"])),
        ("gemini", json!(["mcp"])),
        (
            "cursor",
            json!(["mcp", "--workspace", "${workspaceFolder}"]),
        ),
        (
            "vscode",
            json!(["mcp", "--workspace", "${workspaceFolder}"]),
        ),
    ] {
        let (written, said) = entry(client, true);
        assert_eq!(written["command"], "toolcrib", "{client}");
        assert_eq!(written["args"], args, "{client}");
        assert_eq!(said, "", "{client}");
        let (written, said) = entry(client, false);
        assert_eq!(written["command"], env!("CARGO_BIN_EXE_toolcrib"));
        assert!(said.contains("others who use this file"), "{said}");
    }
}

#[test]
fn project_files_are_beside_the_project() {
    for (client, path) in [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
        ("roo", ".roo/mcp.json"),
        ("opencode", "opencode.json"),
        ("jetbrains", ".junie/mcp/mcp.json"),
    ] {
        let test = Test::new();
        test.run(&["connect", client, "--project", "--yes"])
            .exits(0);
        assert!(
            read(&test.workspace().join(path)).contains("\"mcp\""),
            "{client}"
        );
        let list = test.run(&["connect", "--json"]).exits(0).json();
        let row = list
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["scope"] == "project")
            .unwrap();
        assert_eq!(
            (&row["client"], &row["connected"]),
            (&json!(client), &json!(true))
        );
    }
}

#[test]
fn a_projects_file_is_never_written_through_a_link() {
    let ours = "{\"mcpServers\": {\"toolcrib\": {\"command\": \"theirs\"}}}";
    for (client, path) in [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
    ] {
        let levels = path.match_indices('/').map(|(end, _)| &path[..end]);
        for level in levels.chain([path]) {
            for is_dangling in [false, true] {
                let test = Test::new();
                let outside = user(&test).join("outside");
                let target = match level == path {
                    true => outside.join("settings"),
                    false => outside.clone(),
                };
                if !is_dangling {
                    fs::create_dir(&outside).unwrap();
                    let name = Path::new(path).file_name().unwrap();
                    fs::write(outside.join(name), ours).unwrap();
                    fs::write(outside.join("settings"), ours).unwrap();
                }
                let link = test.workspace().join(level);
                fs::create_dir_all(link.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(&target, &link).unwrap();
                for more in [None, Some("--undo")] {
                    let words = ["connect", client, "--project", "--yes"];
                    let words: Vec<&str> = words.into_iter().chain(more).collect();
                    let ran = test.run(&words).exits(9).says("is a link to");
                    let named = format!("{level}`: it is a link to `{}`", target.display());
                    assert!(ran.stderr.contains(&named), "{ran:?}");
                    assert!(ran.stderr.contains("nothing was written"), "{ran:?}");
                }
                assert_eq!(outside.exists(), !is_dangling);
                if !is_dangling {
                    assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);
                    assert_eq!(read(&outside.join("settings")), ours);
                }
            }
        }
    }
}

#[test]
fn files_that_cannot_be_changed_are_left_alone_with_a_reason() {
    let test = Test::new();
    for (text, why) in [
        ("{\"mcpServers\": ", "not JSON"),
        ("{\"mcpServers\": [1]}", "not a table"),
        ("{\"mcpServers\": {}, \"mcpServers\": {}}", "twice"),
        ("[]", "not an object"),
    ] {
        let file = put(&test, ".cursor/mcp.json", text);
        test.run(&["connect", "cursor", "--yes"])
            .exits(9)
            .says(why)
            .says("nothing was written");
        assert_eq!(read(&file), text);
        assert!(backups(&file).is_empty());
    }
    put(&test, ".codex/config.toml", "a = = 1");
    test.run(&["connect", "codex", "--yes"])
        .exits(9)
        .says("not TOML: line 1");
    let file = put(&test, ".cursor/mcp.json", "{}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    test.run(&["connect", "cursor", "--yes"])
        .exits(9)
        .says("read-only");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    test.run(&["connect", "cursor", "--yes"])
        .exits(9)
        .says("directory");
    fs::remove_dir(&file).unwrap();
    fs::File::create(&file).unwrap().set_len(50 << 20).unwrap();
    test.run(&["connect", "cursor", "--yes"])
        .exits(9)
        .says("50 MB");
    let list = test.run(&["connect"]).exits(0).says("50 MB");
    assert!(list.stdout.contains("cannot be read"), "{list:?}");
}

#[test]
fn undo_keeps_what_was_changed_elsewhere_and_asks_for_what_was_changed_in_it() {
    let test = Test::new();
    let before =
        "{\n  // mine\n  \"mcpServers\": {\n    \"other\": {\"command\": \"npx\"}\n  }\n}\n";
    let file = put(&test, ".cursor/mcp.json", before);
    test.run(&["connect", "cursor", "--yes"]).exits(0);
    let edited = read(&file).replace("// mine", "// mine, and later");
    fs::write(&file, &edited).unwrap();
    test.run(&["connect", "cursor", "--undo"]).exits(0);
    assert_eq!(read(&file), before.replace("// mine", "// mine, and later"));
    // An entry that someone changed.
    test.run(&["connect", "cursor", "--yes"]).exits(0);
    let edited = read(&file).replace("\"mcp\"", "\"mcp\", \"--verbose\"");
    fs::write(&file, &edited).unwrap();
    test.run(&["connect", "cursor", "--undo"])
        .exits(6)
        .says("it was changed");
    assert_eq!(read(&file), edited);
    test.run(&["connect", "cursor", "--undo", "--yes"]).exits(0);
    assert!(!read(&file).contains("toolcrib\""));
    assert!(backups(&file).iter().any(|copy| read(copy) == edited));
}

#[test]
fn connecting_again_with_other_flags_replaces_and_undo_goes_back_to_the_beginning() {
    let test = Test::new();
    let before = "{\"mcpServers\": {\"toolcrib\": {\"command\": \"mine\"}}}";
    let file = put(&test, ".cursor/mcp.json", before);
    test.run(&["connect", "cursor", "--yes"]).exits(0).says("-");
    test.run(&["connect", "cursor", "--bundle", "core", "--yes"])
        .exits(0);
    assert!(read(&file).contains("--bundle"));
    test.run(&["connect", "cursor", "--undo"]).exits(0);
    assert_eq!(read(&file), before);
}

fn finding(findings: &Value, check: &str) -> Value {
    let all = findings.as_array().unwrap();
    let found = all.iter().find(|finding| finding["check"] == check);
    found
        .unwrap_or_else(|| panic!("no {check} in {findings:#}"))
        .clone()
}

#[test]
fn doctor_starts_what_is_configured_and_says_what_came_of_it() {
    let test = Test::new();
    test.run(&["connect", "claude-desktop", "--yes"]).exits(0);
    test.run(&["connect", "codex", "--yes"]).exits(0);
    test.run(&["connect", "cursor", "--project", "--yes"])
        .exits(0);
    let works = test.run(&["doctor", "--json"]).exits(0).json();
    for client in ["claude-desktop", "codex", "cursor"] {
        let finding = finding(&works, client);
        assert_eq!(finding["status"], "ok", "{finding}");
        assert!(
            finding["message"].as_str().unwrap().contains(" tools in "),
            "{finding}"
        );
    }
}

#[test]
fn doctor_says_what_is_wrong_with_an_entry_and_what_to_type() {
    let binary = env!("CARGO_BIN_EXE_toolcrib");
    for (entry, status, why) in [
        (
            json!({"command": "/nowhere/toolcrib", "args": ["mcp"]}),
            "broken",
            "is not there",
        ),
        (
            json!({"command": "bin/toolcrib", "args": ["mcp"]}),
            "broken",
            "not there",
        ),
        (
            json!({"command": binary, "args": ["mcp", "--workspace", "/nowhere/at/all"]}),
            "broken",
            "`/nowhere/at/all` is gone",
        ),
        (
            json!({"command": binary, "args": ["mcp", "--nonsense"]}),
            "broken",
            "--nonsense",
        ),
        (
            json!({"command": binary, "args": ["mcp"], "disabled": true}),
            "warning",
            "switched off",
        ),
        (
            json!({"url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": "Bearer ${env:TOOLCRIB_TOKEN}"}}),
            "warning",
            "`TOOLCRIB_TOKEN` is not set",
        ),
        (
            json!({"url": "http://127.0.0.1:1/mcp"}),
            "broken",
            "cannot be reached",
        ),
    ] {
        let test = Test::new();
        put(
            &test,
            ".cursor/mcp.json",
            &json!({"mcpServers": {"toolcrib": entry}}).to_string(),
        );
        let ran = test.run(&["doctor", "--json"]);
        let finding = finding(&ran.json(), "cursor");
        assert_eq!(finding["status"], status, "{finding}");
        assert!(
            finding["message"].as_str().unwrap().contains(why),
            "{why}: {finding}"
        );
        assert!(!finding["fix"].as_str().unwrap().is_empty());
        assert_eq!(ran.code, i32::from(status == "broken"), "{finding}");
    }
}

#[test]
fn doctor_goes_to_the_server_of_a_client_that_is_connected_by_http() {
    let test = Test::new();
    let server = Serving::start(&test);
    let token = test.run(&["clients", "add", "robot"]).exits(0).stdout;
    test.run(&["connect", "claude-code", "--http", "--yes"])
        .exits(0)
        .says("clients add");
    test.run(&["connect", "codex", "--http", "--yes"]).exits(0);
    let file = read(&user(&test).join(".claude.json"));
    assert!(
        file.contains(&format!("http://{}/mcp", server.address)),
        "{file}"
    );
    assert!(!file.contains(token.trim()), "{file}");
    let test = test.variable("TOOLCRIB_TOKEN", token.trim());
    let findings = test.run(&["doctor", "--json"]).json();
    for client in ["claude-code", "codex"] {
        let finding = finding(&findings, client);
        assert_eq!(finding["status"], "ok", "{finding}");
    }
    let test = test.variable("TOOLCRIB_TOKEN", "tc_wrong");
    let findings = test.run(&["doctor", "--json"]).json();
    let codex = finding(&findings, "codex");
    assert_eq!(codex["status"], "broken");
    let fix = codex["fix"].as_str().unwrap();
    assert!(fix.contains("`toolcrib clients add NAME`"), "{fix}");
    assert!(fix.contains("set TOOLCRIB_TOKEN"), "{fix}");
    drop(server);
    let findings = test.run(&["doctor", "--json"]).json();
    let fix = finding(&findings, "claude-code")["fix"].to_string();
    assert!(fix.contains("start it with `toolcrib serve`"), "{fix}");
    assert!(
        fix.contains("`toolcrib connect claude-code --http`"),
        "{fix}"
    );
}

#[test]
fn doctor_starts_nothing_that_came_with_a_project() {
    let test = Test::new().file("toolcrib", "#!/bin/sh\necho started > ../started\n");
    let program = test.workspace().join("toolcrib");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let entry = json!({"mcpServers": {"toolcrib": {"command": program, "args": ["mcp"]}}});
    let test = test.file(".mcp.json", entry.to_string());
    let finding = finding(
        &test.run(&["doctor", "--json"]).exits(0).json(),
        "claude-code",
    );
    assert_eq!(finding["status"], "warning", "{finding}");
    assert!(!user(&test).join("started").exists());
}

#[test]
fn servers_of_other_programs_are_imported_and_their_keys_go_into_the_secrets() {
    let test = Test::new();
    put(
        &test,
        ".config/Claude/claude_desktop_config.json",
        r#"{"mcpServers": { // mine
          "GitHub": {"command": "npx", "args": ["-y", "x"], "env": {"GITHUB_TOKEN": "ghp_1234567890abcdefgh", "LOG": "debug"}},
          "toolcrib": {"command": "/usr/bin/toolcrib", "args": ["mcp"]},
          "asks": {"command": "npx", "env": {"KEY": "${input:key}"}},
        }}"#,
    );
    put(
        &test,
        ".codex/config.toml",
        "[mcp_servers.tracker]\nurl = \"https://tracker.example.com/mcp\"\nbearer_token_env_var = \"TRACKER\"\n",
    );
    test.run(&["upstream", "import", "claude-desktop"])
        .exits(6)
        .says("npx -y x")
        .says("goes into the secrets");
    assert_eq!(
        test.run(&["upstream", "list", "--json"]).exits(0).json(),
        json!([])
    );
    assert_eq!(
        test.run(&["secret", "list", "--json"]).exits(0).json(),
        json!([])
    );
    let test = test.variable("TRACKER", "trk-secret-value-1");
    let done = test
        .run(&["upstream", "import", "--yes", "--json"])
        .exits(0);
    assert!(
        !done.stdout.contains("ghp_") && !done.stderr.contains("ghp_"),
        "{done:?}"
    );
    let done = done.json();
    let names: Vec<&str> = done["imported"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["github", "tracker"], "{done}");
    assert_eq!(done["skipped"][0]["name"], "asks");
    assert!(
        done["skipped"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("asks its user"),
        "{done}"
    );
    let config = read(&test.home().join("config.toml"));
    assert!(
        config.contains("secret:GITHUB_GITHUB_TOKEN")
            && config.contains("Bearer secret:TRACKER_AUTHORIZATION"),
        "{config}"
    );
    assert!(
        !config.contains("ghp_") && !config.contains("trk-"),
        "{config}"
    );
    let secrets = test.run(&["secret", "list", "--json"]).exits(0).stdout;
    assert!(
        secrets.contains("GITHUB_GITHUB_TOKEN") && secrets.contains("tracker.example.com"),
        "{secrets}"
    );
    // Once is enough.
    let again = test
        .run(&[
            "upstream",
            "import",
            "claude-desktop",
            "--only",
            "GitHub",
            "--yes",
        ])
        .exits(0);
    again.says("already").says("nothing was added");
    test.run(&["upstream", "import", "cursor"])
        .exits(1)
        .says("there is no file");
    test.run(&["upstream", "import", "codex", "--only", "nobody"])
        .says("there are tracker");
}

#[test]
fn an_imported_program_gets_its_key() {
    let binary = env!("CARGO_BIN_EXE_toolcrib");
    let test = Test::new();
    let other = user(&test).join("other-home");
    // Our own binary under another name is as good a server as any.
    let program = user(&test).join("some-server");
    fs::copy(binary, &program).unwrap();
    let workspace = test.workspace();
    let entry = json!({"servers": {"mine": {"type": "stdio", "command": program, "args": ["mcp", "--workspace", workspace], "env": {"TOOLCRIB_HOME": other, "SOME_TOKEN": "abcdefgh-12345"}}}});
    let test = test.file("mcp.json", entry.to_string());
    test.run(&["upstream", "import", "mcp.json", "--yes"])
        .exits(0)
        .says("upstream accept mine");
    let ran = test
        .run(&["upstream", "test", "mine", "--json"])
        .exits(0)
        .json();
    assert!(ran[0]["tools"].as_array().unwrap().len() > 3, "{ran}");
}
