//! `toolcrib run`.

use std::process::Stdio;

use serde_json::{Value, json};
use toolcrib::testing::{Reply, ScriptedServer};

use crate::harness::{Ran, Test, golden};

#[test]
fn a_file_comes_out_exactly_as_it_is() {
    let content = "first\r\nno newline at the end \u{1b}[31m";
    Test::new()
        .file("a.txt", content)
        .run(&["run", "read_file", "path=a.txt"])
        .exits(0)
        .prints(content);
}

#[test]
fn arguments_come_as_words_as_json_from_a_file_and_from_stdin() {
    let test = Test::new()
        .file("a.txt", "1\n2\n3\n")
        .file("args.json", r#"{"path": "a.txt", "start_line": 2}"#);
    let json = r#"{"path": "a.txt", "start_line": 2}"#;
    test.run(&["run", "read_file", "path=a.txt", "start_line=2"])
        .exits(0)
        .prints("2\n3\n");
    test.run(&[
        "run",
        "read_file",
        "path=a.txt",
        "startLine=2",
        "END_LINE=2",
    ])
    .exits(0)
    .prints("2\n");
    test.run(&["run", "read_file", "--args", json])
        .exits(0)
        .prints("2\n3\n");
    test.run(&["run", "read_file", "--args", "@args.json"])
        .exits(0)
        .prints("2\n3\n");
    test.run_with_input(&["run", "read_file", "--args", "-"], json)
        .exits(0)
        .prints("2\n3\n");
    test.run(&["run", "read_file", "--args", json, "start_line=3"])
        .exits(0)
        .prints("3\n");
}

#[test]
fn json_is_one_document_in_the_envelope_of_rest() {
    let test = Test::new().file("a.txt", "A");
    let ok = test
        .run(&["--json", "run", "read_file", "path=a.txt"])
        .exits(0)
        .json();
    assert_eq!(
        (&ok["ok"], &ok["value"]["content"]),
        (&json!(true), &json!("A"))
    );
    assert_eq!(ok["metadata"]["tool"], "read_file");
    assert_eq!(ok["metadata"]["bundle"], "core");
    assert_eq!(
        ok["metadata"]["parameters"],
        json!({"path": "a.txt", "encoding": "utf-8"})
    );
    for (words, code, exit) in [
        (vec!["run", "read_file", "path=b.txt"], "FILE_NOT_FOUND", 1),
        (vec!["run", "read_file", "path=../a"], "INVALID_PATH", 1),
        (vec!["run", "raed_file"], "TOOL_NOT_FOUND", 3),
        (vec!["run", "read_file"], "INVALID_ARGUMENTS", 4),
        (vec!["run", "read_file", "a.txt"], "USAGE", 2),
        (vec!["run", "read_file", "--args", "[]"], "USAGE", 2),
        (vec!["run", "read_file", "--args", "{"], "USAGE", 2),
        (vec!["run", "read_file", "--args", "@none.json"], "USAGE", 2),
        (vec!["run", "read_file", "--timeout", "soon"], "USAGE", 2),
        (vec!["run"], "USAGE", 2),
        (vec!["rnu"], "USAGE", 2),
        (vec!["run", "read_file", "--jsn"], "USAGE", 2),
        (vec!["show", "nothing"], "TOOL_NOT_FOUND", 3),
        (vec!["calls", "show", "nothing"], "CALL_NOT_FOUND", 3),
    ] {
        let words: Vec<&str> = words.into_iter().chain(["--json"]).collect();
        let ran = test.run(&words).exits(exit);
        let failed = ran.json();
        assert_eq!(
            (&failed["ok"], &failed["error"]["code"]),
            (&json!(false), &json!(code)),
            "{words:?}"
        );
        assert!(!failed["error"]["message"].as_str().unwrap().is_empty());
    }
}

#[test]
fn errors_say_what_happened_and_what_to_type_next() {
    let test = Test::new().file("a.txt", "A");
    let mut all = String::new();
    for words in [
        &["run", "raed_file", "path=a.txt"][..],
        &["run", "read_file", "pth=a.txt", "start_line=x"],
        &["run", "read_file", "a.txt"],
        &["run", "read_file", "path=none.txt"],
        &["run", "read_file", "path=/etc/passwd"],
        &["run", "read_file", "path=a.txt", "start_line=9"],
        &["run", "read_file", "--args", "{\"path\": }"],
        &["explain", "TIMEOT"],
        &["calls", "show", "x"],
        &["run", "read_file", "--timeot", "5s"],
        &["lst"],
        &["run", "read_file", "--path", "a.txt"],
        &["run", "read_file", "path"],
        &["run", "read_file", "path=a.txt", "PATH=b.txt"],
        &["run", "path=a.txt"],
        &["read_file", "path=a.txt"],
        &["explain", "nope"],
        &["schema", "--provider", "gemini", "--strict"],
        &["calls", "list", "-n", "0"],
    ] {
        let ran = test.run(words);
        assert_eq!(ran.stdout, "", "words do not go to stdout: {words:?}");
        all.push_str(&format!(
            "$ toolcrib {}\n{}exit {}\n\n",
            words.join(" "),
            ran.stderr,
            ran.code
        ));
    }
    golden("errors.txt", &all);
}

#[test]
fn the_shape_can_be_chosen() {
    let test = Test::new().file("a.txt", "A");
    let shape = |shape: &str| {
        test.run(&["run", "read_file", "path=a.txt", "--shape", shape])
            .exits(0)
            .json()
    };
    assert_eq!(shape("simple")["output"], "A");
    assert_eq!(shape("detailed")["metadata"]["tool_name"], "read_file");
    assert_eq!(shape("mcp")["isError"], false);
    assert_eq!(shape("tagged")["ok"], true);
    test.run(&["run", "read_file", "path=a.txt", "--shape", "sample"])
        .exits(2)
        .says("simple");
}

#[test]
fn a_dry_run_shows_the_plan_and_leaves_no_trace() {
    let test = Test::new().file("a.txt", "A");
    let plan = test
        .run(&[
            "run",
            "read_file",
            "path=a.txt",
            "--dry-run",
            "--json",
            "--timeout",
            "5s",
        ])
        .exits(0)
        .json();
    assert_eq!(plan["value"]["verdict"], "allow");
    assert_eq!(plan["value"]["timeoutMs"], 5000);
    test.run(&["run", "read_file", "--dry-run"]).exits(4);
    assert!(!test.home().exists(), "a dry run writes nothing");
}

#[test]
fn streaming_prints_one_event_a_line_and_then_the_outcome() {
    let test = Test::new().file("a.txt", "A");
    let ran = test
        .run(&["run", "read_file", "path=a.txt", "--stream", "--json"])
        .exits(0);
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let events: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["event"].as_str())
        .collect();
    assert_eq!(events, ["started", "finished"]);
    assert_eq!(lines.last().unwrap()["ok"], true);
    test.run(&["run", "read_file", "path=a.txt", "--stream"])
        .exits(0)
        .prints("A");
}

#[test]
fn a_call_id_gives_the_stored_outcome_also_to_another_process() {
    let test = Test::new().file("a.txt", "before");
    let run = |path: &str| {
        test.run(&[
            "run",
            "read_file",
            &format!("path={path}"),
            "--call-id",
            "my-1",
            "--json",
        ])
    };
    let first = run("a.txt").exits(0);
    std::fs::write(test.workspace().join("a.txt"), "after").unwrap();
    let second = run("a.txt").exits(0);
    assert_eq!(second.json()["value"]["content"], "before");
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(run("b.txt").exits(9).json()["error"]["code"], "CONFLICT");
    test.run(&["run", "read_file", "path=a.txt", "--call-id", "no good"])
        .exits(2)
        .says("visible ASCII");
}

#[test]
fn a_repeated_call_id_can_be_streamed_and_its_conflict_does_not_hide_it() {
    let test = Test::new().file("a.txt", "A");
    let run = |path: &str| test.run(&["run", "read_file", path, "--call-id", "q", "--stream"]);
    run("path=a.txt").exits(0).prints("A");
    run("path=a.txt").exits(0).prints("A");
    run("path=b.txt").exits(9).says("CONFLICT");
    assert_eq!(
        test.run(&["calls", "show", "q", "--json"]).exits(0).json()["ok"],
        true
    );
}

#[test]
fn a_reader_that_leaves_a_stream_does_not_lose_the_call() {
    let test = Test::new().file("a.txt", "x".repeat(1_000_000));
    let mut child = test
        .command()
        .args([
            "run",
            "read_file",
            "path=a.txt",
            "--stream",
            "--json",
            "--call-id",
            "left",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(141));
    test.run(&["calls", "show", "left"]).exits(0);
}

#[test]
fn the_workspace_is_named_found_or_refused() {
    let test = Test::new()
        .file("project/.git/HEAD", "")
        .file("project/src/a.txt", "A")
        .file("b.txt", "B");
    let inside = test.workspace().join("project/src");
    let ran = test
        .command()
        .current_dir(&inside)
        .args(["run", "read_file", "path=src/a.txt"])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&ran.stdout),
        "A",
        "the nearest parent with .git is the workspace"
    );
    test.run(&[
        "--workspace",
        "project",
        "run",
        "read_file",
        "path=src/a.txt",
    ])
    .exits(0)
    .prints("A");
    test.run(&["--workspace", "nowhere", "list"])
        .exits(2)
        .says("does not exist");
    // The user's own directory is a workspace only when named.
    let home = test.workspace();
    let ran = test
        .command()
        .env("HOME", &home)
        .args(["run", "read_file", "path=b.txt"])
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(3));
    assert!(
        String::from_utf8_lossy(&ran.stderr).contains("--workspace"),
        "{ran:?}"
    );
    let ran = test
        .command()
        .env("HOME", &home)
        .args(["--workspace", ".", "run", "read_file", "path=b.txt"])
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(0));
}

#[test]
fn a_directory_above_the_home_directory_is_a_workspace_only_when_named() {
    let test = Test::new().file("b.txt", "B").file("people/me/.keep", "");
    // A project above it counts as little.
    std::fs::create_dir(test.workspace().join(".git")).unwrap();
    let home = test.workspace().join("people/me");
    let run = |words: &[&str]| {
        let ran = test.command().env("HOME", &home).args(words).output();
        let ran = ran.unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        (ran.status.code(), said)
    };
    let (code, said) = run(&["run", "read_file", "path=b.txt"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("contains your home directory") && said.contains("--workspace ."),
        "{said}"
    );
    let (code, said) = run(&["init"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--workspace DIR"), "{said}");
    assert!(!test.workspace().join(".toolcrib").exists());
    assert_eq!(
        run(&["--workspace", ".", "run", "read_file", "path=b.txt"]).0,
        Some(0)
    );
    let named = test
        .command()
        .env("HOME", &home)
        .env("TOOLCRIB_WORKSPACE", ".")
        .args(["run", "read_file", "path=b.txt"])
        .output();
    assert_eq!(named.unwrap().status.code(), Some(0));
}

#[test]
fn a_reader_that_leaves_early_is_not_an_error_and_a_full_disk_is_one() {
    let test = Test::new().file("a.txt", "x".repeat(1_000_000));
    let mut child = test
        .command()
        .args(["run", "read_file", "path=a.txt"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran = child.wait_with_output().unwrap();
    assert_eq!(
        (ran.status.code(), ran.stderr.len()),
        (Some(141), 0),
        "{ran:?}"
    );
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let ran = test
        .command()
        .args(["run", "read_file", "path=a.txt"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("cannot write the output"));
}

#[test]
fn a_home_that_cannot_be_written_does_not_stop_a_call() {
    let test = Test::new()
        .file("a.txt", "A")
        .file("blocked", "a file where the home should be");
    let home = test.workspace().join("blocked");
    let ran = test
        .command()
        .env("TOOLCRIB_HOME", home)
        .args(["run", "read_file", "path=a.txt"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "A", "{ran:?}");
    assert!(
        String::from_utf8_lossy(&ran.stderr).contains("not recorded"),
        "{ran:?}"
    );
}

#[test]
fn a_path_that_begins_with_a_dot_counts_from_the_current_directory() {
    let test = Test::new()
        .file(".toolcrib/keep", "")
        .file("a.txt", "root")
        .file("sub/a.txt", "sub");
    let read = |path: &str| {
        let mut command = test.command();
        command.current_dir(test.workspace().join("sub"));
        command.args(["run", "read_file", &format!("path={path}")]);
        Ran::of(command.output().unwrap()).exits(0).stdout
    };
    assert_eq!(read("a.txt"), "root");
    assert_eq!(read("./a.txt"), "sub");
    assert_eq!(read("../a.txt"), "root");
    let mut command = test.command();
    command.current_dir(test.workspace().join("sub"));
    command.args(["run", "read_file", "--args", "{\"path\": \"./a.txt\"}"]);
    let ran = Ran::of(command.output().unwrap()).exits(0);
    assert_eq!(
        ran.stdout, "root",
        "arguments as JSON are as every caller gives them"
    );
}

#[test]
fn a_command_that_fails_without_network_says_how_to_allow_a_host() {
    let test = Test::new();
    let command = "command=echo 'curl: (6) Could not resolve host: api.example.com' >&2; exit 6";
    let said = "toolcrib config set --add allowedHosts api.example.com";
    test.run(&["run", "shell", command]).exits(0).says(said);
    let outcome = test
        .run(&["run", "shell", command, "--json"])
        .exits(0)
        .json();
    assert!(
        outcome["value"]["note"].as_str().unwrap().contains(said),
        "{outcome}"
    );
    let other = test.run(&["run", "shell", "command=echo no >&2; exit 6", "--json"]);
    assert!(other.json()["value"].get("note").is_none());
}

#[test]
fn the_first_call_to_an_unlisted_host_offers_to_allow_it() {
    let tool = r#"{"name": "weather", "description": "The weather", "tags": ["read"],
        "impl": {"urlTemplate": "https://api.example.com/v1?key=${SOME_KEY}"}}"#;
    let test = Test::new().file(".toolcrib/tools/weather.json", tool);
    test.run(&["trust", "--yes"]).exits(0);
    let call = ["run", "weather"];
    test.run(&call)
        .exits(8)
        .says("toolcrib config set --add allowedHosts api.example.com");
    let mut terminal = test.on_terminal(&call);
    terminal.sees("allow api.example.com from now on, in ");
    terminal.types("n");
    assert_eq!(terminal.ends().0, 8);
    assert!(!test.home().join("config.toml").exists());
    let mut terminal = test.on_terminal(&call);
    terminal.sees("allow api.example.com from now on, in ");
    terminal.types("y");
    let (_, shown) = terminal.ends();
    assert!(shown.contains("no secret `SOME_KEY`"), "{shown}");
    let text = std::fs::read_to_string(test.home().join("config.toml")).unwrap();
    assert_eq!(text, "allowedHosts = [\"api.example.com\"]\n");
}

#[test]
fn the_first_call_to_a_server_of_this_machine_offers_to_allow_its_address() {
    let server = ScriptedServer::start(|_| Reply::ok("\"sunny\""));
    let tool = json!({
        "name": "weather", "description": "The weather", "tags": ["read"],
        "impl": {"urlTemplate": server.url("/v1"), "responseEncoding": "json"},
    });
    let test = Test::new().file(".toolcrib/tools/weather.json", tool.to_string());
    test.run(&["trust", "--yes"]).exits(0);
    let call = ["run", "weather"];
    let host = server.host();
    test.run(&call)
        .exits(8)
        .says(&format!("toolcrib config set --add allowedHosts {host}"));
    let mut terminal = test.on_terminal(&call);
    terminal.sees("an address of this machine");
    terminal.sees(&format!("allow {host} from now on, in "));
    terminal.types("y");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("sunny"), "{shown}");
    let text = std::fs::read_to_string(test.home().join("config.toml")).unwrap();
    assert_eq!(text, format!("allowedHosts = [\"{host}\"]\n"));
    // The metadata service of a cloud is never offered.
    let tool = tool.to_string().replace(&server.host(), "169.254.169.254");
    let test = Test::new().file(".toolcrib/tools/weather.json", tool);
    test.run(&["trust", "--yes"]).exits(0);
    let (code, shown) = test.on_terminal(&call).ends();
    assert_eq!(code, 8, "{shown}");
    assert!(!shown.contains("from now on"), "{shown}");
}

#[test]
fn arguments_are_read_within_a_bound_of_memory() {
    let test = Test::new();
    // Four bytes of text, 400 bytes of memory: 8 MB would be 800.
    let lists = format!(r#"{{"path":[{}]}}"#, vec!["[1]"; 2_000_000].join(","));
    std::fs::write(test.workspace().join("lists.json"), lists).unwrap();
    let toolcrib = test.command();
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "ulimit -d 400000; exec \"$0\" \"$@\""])
        .arg(toolcrib.get_program())
        .args(["run", "read_file", "--args", "@lists.json"])
        .current_dir(test.workspace())
        .env_clear();
    for (name, value) in toolcrib.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let ran = Ran::of(command.output().unwrap()).exits(2);
    assert!(
        ran.stderr.contains("more than 64 MB of memory"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_key_twice_in_arguments_is_refused() {
    let test = Test::new().file("a.txt", "A").file("b.txt", "B");
    let twice = r#"{"path": "a.txt", "path": "b.txt"}"#;
    let ran = test.run(&["run", "read_file", "--args", twice]).exits(2);
    assert!(ran.stderr.contains("a key twice"), "{}", ran.stderr);
}
