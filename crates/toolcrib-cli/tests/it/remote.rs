//! Calls through a server: the same words, results and exit codes as without one.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{Ran, Test};

/// A server of a test's home, until it is dropped.
pub(crate) struct Serving {
    child: Child,
    pub(crate) at: String,
}

impl Serving {
    pub(crate) fn start(test: &Test, words: &[&str]) -> Self {
        Serving::started(test.command(), words)
    }

    fn started(mut command: std::process::Command, words: &[&str]) -> Self {
        let mut child = command
            .arg("serve")
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let at = loop {
            let line = lines
                .next()
                .expect("the server says where it listens")
                .unwrap();
            if let Some(at) = line.strip_prefix("listening on ") {
                break at.to_owned();
            }
        };
        // What it says later must not hold it up.
        std::thread::spawn(move || lines.for_each(drop));
        Serving { child, at }
    }

    /// On a port that is free.
    pub(crate) fn on_loopback(test: &Test) -> Self {
        Serving::start(test, &["--addr", "127.0.0.1:0"])
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a run came to, without what differs from call to call.
pub(crate) fn comparable(ran: Ran) -> (i32, String, String) {
    // A call that the server refuses before it begins has no stream that could tell how it was asked.
    let words: Vec<&str> = ran.stderr.split_inclusive('\n').collect();
    let words = words
        .into_iter()
        .filter(|line| !line.starts_with("approval "));
    let words: String = words.collect();
    (ran.code, steady(&ran.stdout), steady(&words))
}

/// A text without ids, times and durations.
fn steady(text: &str) -> String {
    let lines: Vec<String> = text
        .split_inclusive('\n')
        .map(|line| match serde_json::from_str::<Value>(line) {
            Ok(mut value) if value.is_object() => {
                blank(&mut value);
                format!("{value}\n")
            }
            _ => words_without_ids(line),
        })
        .collect();
    lines.concat()
}

fn words_without_ids(line: &str) -> String {
    let mut out = String::new();
    for word in line.split_inclusive([' ', '`', '\n']) {
        let is_id = word.len() > 30 && word.matches('-').count() == 4;
        let is_time = word.contains("ms") || word.contains("µs") || word.contains(":");
        out.push_str(if is_id || is_time { "… " } else { word });
    }
    out
}

fn blank(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                match key.as_str() {
                    "callId" | "tool_call_id" | "time" | "startTime" | "endTime" | "start_time"
                    | "end_time" | "execution_time" | "queueTimeMs" | "executionTimeMs"
                    | "durationMs" | "duration" | "modified" | "id" => *value = "…".into(),
                    _ => blank(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(blank),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn scene() -> Test {
    Test::new()
        .file("a.txt", "first\nsecond\nthird\n")
        .file(
            ".toolcrib/tools/told.yaml",
            "name: told\ndescription: Says something while it runs.\ntags: [run]\nsteps:\n  - name: one\n    bash: echo one; echo oops >&2\n    output: {mode: stream, stream-callback: console}\n  - name: two\n    bash: echo two\n",
        )
        .file(
            ".toolcrib/tools/asks.yaml",
            "name: asks\ndescription: Is asked about.\nbash: echo {WORD}\nparameters:\n  WORD: {type: string, description: What to say.}\n",
        )
}

/// Runs commands without a server, through the one of the home and through one that is named, and compares what comes of them. Each is
/// a process or three, so that it takes its time.
fn all_are_the_same(commands: &[&[&str]]) {
    let test = scene();
    test.run(&["trust", "--yes"]).exits(0);
    let serving = Serving::on_loopback(&test);
    let mut differences = Vec::new();
    for command in commands {
        let with = |words: &[&str]| comparable(test.run(&[words, command].concat()));
        let expected = with(&["run", "--no-server"]);
        for words in [&["run"][..], &["--server", &serving.at, "run"]] {
            let got = with(words);
            if got != expected {
                differences.push(format!(
                    "{words:?} {command:?}\n  here  {expected:?}\n  there {got:?}"
                ));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn files_and_faults_are_the_same_with_and_without_a_server() {
    all_are_the_same(&[
        &["read_file", "path=a.txt"],
        &["read_file", "path=a.txt", "startLine=2", "end_line=2"],
        &["read_file", "path=a.txt", "--json"],
        &["read_file", "path=a.txt", "-q"],
        &["list_directory", "path=.", "recursive=true"],
        &["list_files", "path=.", "--json"],
        &["+read-file", "path=a.txt"],
        &["core/read-file", "path=a.txt"],
        &["read_file", "path=missing.txt"],
        &["read_file", "path=missing.txt", "--json"],
        &["read_file", "path=../outside"],
        &["reed_file", "path=a.txt"],
        &["reed_file", "path=a.txt", "--json"],
        &["read_file"],
        &["read_file", "path=a.txt", "start_line=soon"],
        &["read_file", "path=a.txt", "colour=red", "size=9"],
        &["read_file", "a.txt"],
        &["path=a.txt"],
        &["read_file", "--args", "{\"path\": 7}", "--json"],
        &["read_file", "--args", "[]"],
    ]);
}

#[test]
fn programs_streams_and_time_are_the_same_with_and_without_a_server() {
    all_are_the_same(&[
        &["shell", "command=echo out; echo err >&2"],
        &["shell", "command=echo out; echo err >&2", "--stream"],
        &["shell", "command=echo out", "--stream", "--json"],
        &["shell", "command=exit 3"],
        &["shell", "command=exit 3", "--exit-code"],
        &["shell", "command=exit 3", "--json"],
        &["shell", "command=sudo rm -rf /"],
        &["shell", "command=sudo rm -rf /", "--yes", "--json"],
        &["shell", "command=echo early; sleep 9", "--timeout", "300ms"],
        &["shell", "command=kill -9 $$"],
    ]);
}

#[test]
fn approvals_steps_and_shapes_are_the_same_with_and_without_a_server() {
    all_are_the_same(&[
        &["delete_file", "path=a.txt"],
        &["delete_file", "path=a.txt", "--no-input"],
        &["delete_file", "path=a.txt", "--no-input", "--json"],
        &["delete_file", "path=a.txt", "--no-input", "--stream"],
        &["asks", "WORD=hi"],
        &["asks", "WORD=hi", "--yes"],
        &["asks", "WORD=hi", "--yes", "--json"],
        &["asks", "WORD=hi", "--yes", "--stream"],
        &["asks", "WORD=hi", "--wait-approval", "300ms", "-q"],
        &["told"],
        &["told", "--json"],
        &["told", "--stream"],
        &["told", "-q"],
        &["read_file", "path=a.txt", "--shape", "simple"],
        &["read_file", "path=a.txt", "--shape", "detailed"],
        &["read_file", "path=a.txt", "--shape", "mcp"],
        &["read_file", "path=a.txt", "--shape", "tagged"],
        &["read_file", "path=missing.txt", "--shape", "detailed"],
        &["web_search", "query=x"],
        &["web_fetch", "url=http://169.254.169.254/"],
    ]);
}

#[test]
fn a_call_goes_through_the_server_of_the_home_and_is_recorded_once() {
    let test = scene();
    let serving = Serving::on_loopback(&test);
    test.run(&["run", "read_file", "path=a.txt", "-v"])
        .exits(0)
        .says(&format!("through the server at {}", serving.at));
    let calls = test.run(&["calls", "list", "--json"]).exits(0).json();
    assert_eq!(calls.as_array().unwrap().len(), 1, "{calls}");
    assert_eq!(calls[0]["caller"], "cli", "{calls}");
    let here = test
        .run(&["run", "read_file", "path=a.txt", "-v", "--no-server"])
        .exits(0);
    assert!(!here.stderr.contains("server"), "{here:?}");
}

#[test]
fn other_settings_another_workspace_and_a_dead_server_are_passed_over() {
    let test = scene();
    let mut serving = Serving::on_loopback(&test);
    let silent = |ran: Ran| {
        assert!(!ran.stderr.contains("through the server"), "{ran:?}");
        ran.exits(0).prints("first\nsecond\nthird\n");
    };
    let mut other = test.command();
    other
        .args(["run", "read_file", "path=a.txt", "-v"])
        .env("TOOLCRIB_LIMITS_TIMEOUT_MS", "9000");
    silent(Ran::of(other.output().unwrap()));
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("a.txt"), "first\nsecond\nthird\n").unwrap();
    let mut other = test.command();
    other
        .args(["run", "read_file", "path=a.txt", "-v"])
        .current_dir(elsewhere.path());
    silent(Ran::of(other.output().unwrap()));
    let mut other = test.command();
    other
        .args(["run", "read_file", "path=a.txt", "-v"])
        .env("TOOLCRIB_TOKEN", "not-the-token-of-this-server");
    silent(Ran::of(other.output().unwrap()));
    serving.kill();
    silent(test.run(&["run", "read_file", "path=a.txt", "-v"]));
}

#[test]
fn a_server_that_was_named_is_not_passed_over() {
    let test = scene();
    let mut serving = Serving::on_loopback(&test);
    let words = [
        "--server",
        &serving.at.clone(),
        "run",
        "read_file",
        "path=a.txt",
    ];
    let mut other = test.command();
    other
        .args(words)
        .env("TOOLCRIB_TOKEN", "not-the-token-of-this-server");
    Ran::of(other.output().unwrap())
        .exits(5)
        .says("UNAUTHENTICATED: TOOLCRIB_TOKEN is not this server's");
    test.run(&[
        "--server",
        words[1],
        "run",
        "read_file",
        "path=a.txt",
        "--dry-run",
    ])
    .exits(0)
    .shows("would    ")
    .says("nothing was done");
    serving.kill();
    test.run(&words)
        .exits(8)
        .says("no server answers at")
        .says("toolcrib serve");
    let mut other = test.command();
    other
        .args(["run", "read_file", "path=a.txt"])
        .env("TOOLCRIB_SERVER", words[1]);
    Ran::of(other.output().unwrap()).exits(8);
    let mut other = test.command();
    other
        .args(["run", "read_file", "path=a.txt", "--no-server"])
        .env("TOOLCRIB_SERVER", words[1]);
    Ran::of(other.output().unwrap()).exits(0);
    test.run(&["--server", "127.0.0.1:1", "run", "x"])
        .exits(2)
        .says("write http://127.0.0.1:7410");
    test.run(&["--server", "http://tools.example", "run", "x"])
        .exits(8);
    let mut other = test.command();
    other
        .args(["--server", "http://tools.example", "run", "x"])
        .env("TOOLCRIB_TOKEN", "a-token-of-some-length");
    Ran::of(other.output().unwrap())
        .exits(2)
        .says("in plain text");
    test.run(&["--server", words[1], "--workspace", ".", "run", "read_file"])
        .exits(2)
        .says("the workspace is the server's");
}

#[test]
fn a_socket_serves_too_and_the_homes_token_opens_it() {
    let test = scene();
    let socket = test.home().parent().unwrap().join("crib.sock");
    let serving = Serving::start(&test, &["--socket", socket.to_str().unwrap()]);
    assert_eq!(serving.at, format!("unix:{}", socket.display()));
    test.run(&["run", "read_file", "path=a.txt", "-v"])
        .exits(0)
        .says("through the server at unix:");
    test.run(&["--server", &serving.at, "run", "read_file", "path=a.txt"])
        .exits(0)
        .prints("first\nsecond\nthird\n");
}

#[test]
fn a_call_id_means_the_same_call_with_and_without_a_server() {
    let test = scene();
    let serving = Serving::on_loopback(&test);
    let words = ["run", "shell", "command=date +%N", "--call-id", "same"];
    let first = test.run(&words).exits(0).stdout;
    let here: Vec<&str> = words.into_iter().chain(["--no-server"]).collect();
    test.run(&here).exits(0).prints(&first);
    let there: Vec<&str> = ["--server", &serving.at].into_iter().chain(words).collect();
    test.run(&there).exits(0).prints(&first);
    test.run(&["run", "shell", "command=date", "--call-id", "same"])
        .exits(9)
        .says("choose another id");
}

#[test]
fn an_interrupt_cancels_the_call_of_the_server() {
    let test = scene();
    let serving = Serving::on_loopback(&test);
    for named in [false, true] {
        let mut command = test.command();
        if named {
            command.args(["--server", &serving.at]);
        }
        let mark = format!("begun-{named}");
        let script = format!("command=echo x > {mark}; sleep 30; echo y > survived");
        let child = command
            .args(["run", "shell", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        while !test.workspace().join(&mark).exists() {
            assert!(Instant::now() < until, "the call does not begin");
            std::thread::sleep(Duration::from_millis(5));
        }
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let ran = Ran::of(child.wait_with_output().unwrap()).exits(130);
        assert!(ran.stderr.contains("CANCELLED"), "{ran:?}");
    }
    let calls = test.run(&["calls", "list", "--json"]).json();
    assert_eq!(calls[0]["code"], "CANCELLED", "{calls}");
    assert_eq!(calls[1]["code"], "CANCELLED", "{calls}");
    assert!(!test.workspace().join("survived").exists());
}

#[test]
fn a_command_that_dies_takes_its_call_with_it() {
    let test = scene();
    let _serving = Serving::on_loopback(&test);
    let mut child = test
        .command()
        .args(["run", "shell", "command=echo x > begun; sleep 30"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    let wait_for = |what: &str, is_there: &dyn Fn() -> bool| {
        while !is_there() {
            assert!(Instant::now() < until, "{what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    wait_for("the call does not begin", &|| {
        test.workspace().join("begun").exists()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the call goes on", &|| {
        let calls = test.run(&["calls", "list", "--json"]).json();
        calls[0]["code"] == "CANCELLED"
    });
}

/// A tool that calls one that asks.
const NESTED: &str = "name: outer\ndescription: Calls another.\ntags: [run]\nsteps:\n  - name: one\n    use-tool: asks\n    with: {WORD: \"{INNER}\"}\nparameters:\n  INNER: {type: string, description: What to say.}\n";

#[test]
fn a_person_at_the_terminal_is_asked_about_calls_of_the_server() {
    let test = scene().file(".toolcrib/tools/outer.yaml", NESTED);
    test.run(&["trust", "--yes"]).exits(0);
    let serving = Serving::on_loopback(&test);
    for (round, words) in [&[][..], &["--server", &serving.at]]
        .into_iter()
        .enumerate()
    {
        // Other words in each round: what was denied just now is denied again without asking.
        let (direct, nested) = (format!("WORD=hi-{round}"), format!("INNER=inner-{round}"));
        for (tool, is_nested) in [
            (&["run", "asks", &direct][..], false),
            (&["run", "outer", &nested], true),
        ] {
            let mut terminal = test.on_terminal(&[words, tool].concat());
            if is_nested {
                terminal.sees("outer needs your approval");
                terminal.sees("> ");
                terminal.types("y");
            }
            terminal.sees("asks needs your approval");
            terminal.sees("> ");
            terminal.types("n");
            terminal.sees("Why?");
            terminal.types("not now");
            let (code, shown) = terminal.ends();
            assert!(matches!(code, 1 | 5), "{code}: {shown}");
            assert!(shown.contains("not now"), "{shown}");
        }
        let mut terminal = test.on_terminal(&[words, &["run", "asks", "WORD=yes-please"]].concat());
        terminal.sees("> ");
        terminal.types("y");
        let (code, shown) = terminal.ends();
        assert_eq!(code, 0, "{shown}");
        assert!(shown.contains("yes-please"), "{shown}");
    }
}

/// A server of the home with its own certificate, as `openssl req -x509` makes it.
fn encrypted(test: &Test) -> (Serving, String) {
    let mut params = rcgen::CertificateParams::new(["crib.test".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let home = test.home();
    let place = home.parent().unwrap();
    let (certificate_file, key_file) = (place.join("cert.pem"), place.join("key.pem"));
    std::fs::write(&certificate_file, params.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(&key_file, key.serialize_pem()).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&key_file, private).unwrap();
    let settings = format!(
        "[server]\ncertificate = {certificate_file:?}\nkey = {key_file:?}\nhosts = [\"crib.test\"]\n"
    );
    std::fs::create_dir_all(test.home()).unwrap();
    std::fs::write(test.home().join("config.toml"), settings).unwrap();
    let serving = Serving::on_loopback(test);
    (serving, certificate_file.to_str().unwrap().to_owned())
}

#[test]
fn an_encrypted_server_of_the_home_is_trusted_by_what_the_home_says() {
    let test = scene();
    let (serving, certificate) = encrypted(&test);
    assert!(serving.at.starts_with("https://"), "{}", serving.at);
    test.run(&["run", "read_file", "path=a.txt", "-v"])
        .exits(0)
        .says(&format!("through the server at {}", serving.at));
    test.run(&["--server", &serving.at, "list"]).exits(0);
    test.run(&["doctor"]).exits(0);
    let doctor = test.run(&["doctor", "--json"]);
    assert!(doctor.stdout.contains(&serving.at), "{doctor:?}");
    // Another home knows nothing of it, and the name is not the certificate's.
    let stranger = Test::new();
    let refused = stranger
        .run(&["--server", &serving.at, "list"])
        .exits(8)
        .says("there is no speaking to the server");
    assert!(!refused.stderr.contains("CaUsed"), "{refused:?}");
    stranger
        .run(&["--server", &serving.at, "--server-ca", &certificate, "list"])
        .exits(8)
        .says("its certificate is not for `127.0.0.1`");
    let plain = serving.at.replace("https:", "http:");
    stranger
        .run(&["--server", &plain, "list"])
        .exits(8)
        .says("is it https://");
}

#[test]
fn a_server_of_the_home_that_cannot_be_asked_is_named() {
    let test = scene();
    let mut command = test.command();
    command.env("TOOLCRIB_TOKEN", "a-token-that-the-home-does-not-know");
    let serving = Serving::started(command, &["--addr", "127.0.0.1:0"]);
    test.run(&["run", "read_file", "path=a.txt", "-v"])
        .exits(0)
        .says("set TOOLCRIB_TOKEN");
    test.run(&["calls", "list"])
        .exits(0)
        .says(&format!("the server at {} could not be asked", serving.at));
    test.run(&["calls", "cancel", "nobody"])
        .exits(3)
        .says("could not be asked");
}
