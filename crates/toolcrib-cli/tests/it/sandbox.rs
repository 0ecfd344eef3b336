//! `toolcrib sandbox`: what comes out, what goes in, and how it ends. What the wall holds is in `attacks.rs`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Test, golden};

const LEVELS: [&str; 3] = ["none", "process", "container"];

/// Words of a command line that runs bash.
fn bash<'a>(flags: &[&'a str], code: &'a str) -> Vec<&'a str> {
    [&["sandbox"], flags, &["--", "bash", "-c", code]].concat()
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

#[test]
fn the_exit_code_is_the_commands() {
    let test = Test::new();
    for level in LEVELS {
        for code in [0, 1, 2, 7, 124, 125, 255] {
            let run = format!("exit {code}");
            test.run(&bash(&["--isolation", level], &run)).exits(code);
        }
    }
}

#[test]
fn a_command_killed_by_a_signal_exits_with_128_and_the_signal() {
    let test = Test::new();
    for level in LEVELS {
        for (signal, code) in [("KILL", 137), ("SEGV", 139), ("TERM", 143), ("INT", 130)] {
            let run = format!("kill -{signal} $$");
            test.run(&bash(&["--isolation", level], &run)).exits(code);
        }
    }
}

#[test]
fn out_of_time_is_124_and_what_was_printed_is_kept() {
    let test = Test::new();
    for level in LEVELS {
        let flags = ["--isolation", level, "--timeout", "500ms"];
        let run = test.run(&bash(&flags, "echo before; exec sleep 30"));
        run.exits(124)
            .prints("before\n")
            .says("sandbox: ended: it took longer than --timeout allows\n");
    }
}

#[test]
fn limits_say_which_of_them_ended_it() {
    let test = Test::new();
    let hog = "head -c 300M /dev/zero | tail | wc -c";
    if is_root() {
        let ran = test.run(&bash(&["--memory", "64MB"], hog));
        assert!(ran.stderr.contains("--memory"), "{ran:?}");
    }
    let fill = "for i in $(seq 200); do head -c 1M /dev/zero > f$i; done; sleep 9";
    test.run(&bash(&["--growth", "16MB"], fill))
        .exits(137)
        .says("it wrote more than --growth allows");
    for _ in 0..6 {
        test.run(&bash(&["--cpu", "1s"], "while :; do :; done"))
            .exits(137)
            .says("it used more CPU time than --cpu allows");
    }
    test.run(&bash(&["--growth", "16MB", "--quiet"], fill))
        .exits(137)
        .says("");
}

#[test]
fn a_sandbox_that_cannot_be_set_up_exits_with_125_and_says_why() {
    let test = Test::new()
        .file("notes.txt", "no program")
        .file("broken", "\u{7f}not a program");
    let broken = test.workspace().join("broken");
    std::fs::set_permissions(broken, std::fs::Permissions::from_mode(0o755)).unwrap();
    let outside = test.workspace().parent().unwrap().join("elsewhere");
    std::fs::create_dir(&outside).unwrap();
    std::fs::copy("/bin/true", outside.join("true")).unwrap();
    let program = outside.join("true").to_str().unwrap().to_owned();
    let cases: &[&[&str]] = &[
        &["sandbox", "--", "no-such-program"],
        &["sandbox", "--", "./no-such-file"],
        &["sandbox", "--", "./notes.txt"],
        &["sandbox", "--", "./broken"],
        &["sandbox", "--", ""],
        &["sandbox", "--", &program],
        &["sandbox", "--read", "missing", "--", "true"],
        &["sandbox", "--write", "missing", "--", "true"],
        &["sandbox", "--write", "/", "--", "true"],
        &["--workspace", "missing", "sandbox", "--", "true"],
        &["--workspace", "notes.txt", "sandbox", "--", "true"],
        &["--workspace", "/", "sandbox", "--", "true"],
        &["sandbox", "--memory", "4KB", "--", "true"],
        &[
            "sandbox",
            "--isolation",
            "none",
            "--proxy",
            "127.0.0.1:9",
            "--",
            "true",
        ],
        &[
            "sandbox",
            "--isolation",
            "none",
            "--privilege",
            "reduced",
            "--",
            "true",
        ],
    ];
    let place = test.workspace().parent().unwrap().canonicalize().unwrap();
    let mut text = String::new();
    for words in cases {
        let ran = test.run(words);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (125, ""),
            "{words:?}: {ran:?}"
        );
        text += &format!("$ toolcrib {}\n{}\n", words.join(" "), ran.stderr);
    }
    let ran = test
        .run(&["--json", "sandbox", "--", "no-such-program"])
        .exits(125);
    text += &format!(
        "$ toolcrib --json sandbox -- no-such-program\n{}",
        ran.stdout
    );
    golden(
        "sandbox_errors.txt",
        &text.replace(place.to_str().unwrap(), "<dir>"),
    );
}

#[test]
fn settings_that_cannot_be_read_are_a_failure_to_set_up() {
    let ran = Test::new()
        .config("isolation = [")
        .run(&["sandbox", "--", "true"]);
    ran.exits(125).says("config.toml");
}

#[test]
fn the_home_directory_is_a_workspace_only_when_it_is_named() {
    let test = Test::new();
    let home = test.workspace();
    let home = home.to_str().unwrap();
    let run = |words: &[&str]| {
        let output = test.command().env("HOME", home).args(words).output();
        output.unwrap().status.code()
    };
    assert_eq!(run(&["sandbox", "--", "true"]), Some(125));
    assert_eq!(
        run(&["--workspace", home, "sandbox", "--", "true"]),
        Some(0)
    );
}

#[test]
fn only_root_can_reduce_privileges() {
    if is_root() {
        println!("SKIPPED: we are root");
        return;
    }
    let ran = Test::new().run(&["sandbox", "--privilege", "reduced", "--", "true"]);
    ran.exits(125)
        .says("only root can give a command another uid");
}

#[test]
fn a_command_line_that_makes_no_sense_exits_with_2() {
    let test = Test::new();
    let cases: &[&[&str]] = &[
        &["sandbox"],
        &["sandbox", "--"],
        &["sandbox", "--no-such-flag", "--", "true"],
        &["sandbox", "--isolation", "thick", "--", "true"],
        &["sandbox", "--privilege", "elevated", "--", "true"],
        &["sandbox", "--memory", "much", "--", "true"],
        &["sandbox", "--memory", "-1", "--", "true"],
        &["sandbox", "--timeout", "soon", "--", "true"],
        &["sandbox", "--pids", "many", "--", "true"],
        &["sandbox", "--pids", "0", "--", "true"],
        &["sandbox", "--timeout", "0s", "--", "true"],
        &["sandbox", "--cpu", "0s", "--", "true"],
        &["sandbox", "--proxy", "example.org:80", "--", "true"],
        &[
            "sandbox",
            "--proxy",
            "127.0.0.1:9",
            "--network",
            "--",
            "true",
        ],
        &["sandbox", "--env", "=x", "--", "true"],
        &[
            "sandbox",
            "--timeout",
            "1s",
            "--timeout",
            "2s",
            "--",
            "true",
        ],
    ];
    for words in cases {
        let ran = test.run(words);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (2, ""),
            "{words:?}: {ran:?}"
        );
        assert!(ran.stderr.contains("error"), "{words:?}: {ran:?}");
    }
}

/// Bytes of every value, in an order that no encoding has.
fn bytes() -> Vec<u8> {
    (0..300_000u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect()
}

fn with_input(test: &Test, words: &[&str], input: Vec<u8>) -> Output {
    let mut child = test
        .command()
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that does not read is no reason to fail.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

#[test]
fn input_and_both_outputs_pass_through_byte_for_byte() {
    let test = Test::new();
    for level in LEVELS {
        let run = bash(
            &["--isolation", level],
            "cat > /tmp/tcs; cat /tmp/tcs; cat /tmp/tcs >&2; rm /tmp/tcs",
        );
        let output = with_input(&test, &run, bytes());
        assert_eq!(output.status.code(), Some(0), "{level}");
        assert!(output.stdout == bytes(), "{level}");
        assert!(output.stderr == bytes(), "{level}");
    }
}

#[test]
fn the_standard_streams_can_be_opened_by_name() {
    let test = Test::new();
    for level in LEVELS {
        let code = "cat /dev/stdin > /dev/stdout; echo err > /dev/stderr; echo more > /dev/fd/2";
        let ran = test.run_with_input(&bash(&["--isolation", level], code), "in\n");
        assert_eq!(
            (ran.stdout.as_str(), ran.stderr.as_str()),
            ("in\n", "err\nmore\n"),
            "{level}"
        );
    }
}

#[test]
fn a_file_is_input_like_any_other() {
    let test = Test::new().file("in.txt", "from a file\n");
    let outside = test.workspace().parent().unwrap().join("input");
    std::fs::write(&outside, "from outside\n").unwrap();
    for (path, text) in [
        (test.workspace().join("in.txt"), "from a file\n"),
        (outside, "from outside\n"),
    ] {
        let input = std::fs::File::open(path).unwrap();
        let mut command = test.command();
        let output = command.args(["sandbox", "--", "cat"]).stdin(input).output();
        assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap(), text);
    }
}

#[test]
fn a_command_that_does_not_read_its_input_ends_all_the_same() {
    let output = with_input(
        &Test::new(),
        &["sandbox", "--", "true"],
        vec![b'x'; 4 << 20],
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn an_input_that_stays_open_keeps_nothing_waiting() {
    let test = Test::new();
    let mut child = test
        .command()
        .args(["sandbox", "--", "true"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let _open = child.stdin.take();
    assert_eq!(ends(&mut child), Some(0));
}

#[test]
fn without_input_there_is_none() {
    let test = Test::new();
    let output = with_input(
        &test,
        &["--no-input", "sandbox", "--", "cat"],
        b"secret".to_vec(),
    );
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), &b""[..])
    );
}

#[test]
fn much_output_comes_through_whole() {
    let test = Test::new();
    let output = test
        .command()
        .args(bash(&[], "head -c 100M /dev/zero"))
        .output()
        .unwrap();
    assert_eq!(
        (output.status.code(), output.stdout.len()),
        (Some(0), 100 << 20)
    );
}

#[test]
fn json_is_one_report() {
    let test = Test::new();
    let words = [
        "--json",
        "sandbox",
        "--",
        "bash",
        "-c",
        "echo out; echo err >&2; exit 3",
    ];
    let report = test.run(&words).exits(3).json();
    let keys: Vec<&str> = report
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected = [
        "level",
        "exitCode",
        "status",
        "endedBy",
        "durationMs",
        "userTimeMs",
        "systemTimeMs",
        "maxRssBytes",
        "peakMemoryBytes",
        "pidsRefused",
        "layers",
        "notEnforced",
        "planted",
        "stdoutBytes",
        "stderrBytes",
        "stdout",
        "stderr",
        "truncated",
    ];
    assert_eq!(keys, expected);
    for (key, value) in [
        ("level", json!("process")),
        ("exitCode", json!(3)),
        ("status", json!({"exited": 3})),
        ("endedBy", json!(null)),
        ("planted", json!([])),
        ("stdoutBytes", json!(4)),
        ("stderrBytes", json!(4)),
        ("stdout", json!("out\n")),
        ("stderr", json!("err\n")),
        ("truncated", json!(false)),
    ] {
        assert_eq!(report[key], value, "{key}");
    }
    for layer in ["landlock", "seccomp", "no-capabilities", "environment"] {
        assert!(
            report["layers"].as_array().unwrap().contains(&json!(layer)),
            "{layer}"
        );
    }
    for missing in report["notEnforced"].as_array().unwrap() {
        let keys: Vec<&String> = missing.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["layer", "reason", "fix"]);
    }
}

#[test]
fn json_reports_limits_and_signals() {
    let test = Test::new();
    let run = |flags: &[&str], code: &str| {
        let words = [&["--json"], bash(flags, code).as_slice()].concat();
        let ran = test.run(&words);
        let report = ran.json();
        let part = |key: &str| report[key].clone();
        (
            ran.code,
            part("exitCode"),
            part("status"),
            part("endedBy"),
            part("truncated"),
        )
    };
    assert_eq!(
        run(&["--timeout", "300ms"], "sleep 30"),
        (
            124,
            json!(124),
            json!({"signal": 9}),
            json!("time"),
            json!(false)
        )
    );
    assert_eq!(
        run(&[], "kill -SEGV $$"),
        (
            139,
            json!(139),
            json!({"signal": 11}),
            json!(null),
            json!(false)
        )
    );
    let (code, _, _, by, truncated) = run(&[], "yes | head -c 200M");
    assert_eq!((code, by, truncated), (137, json!("output"), json!(true)));
}

#[test]
fn json_holds_any_output_as_text() {
    let test = Test::new();
    let report = test
        .run(&["--json", "sandbox", "--", "printf", r"\xff\x00\x1b[31m"])
        .exits(0)
        .json();
    assert_eq!(report["stdout"], "\u{fffd}\0\u{1b}[31m");
    assert_eq!(report["stdoutBytes"], 7);
}

#[test]
fn every_level_names_its_layers_when_asked() {
    let test = Test::new();
    let layers = |level| {
        let ran = test
            .run(&["-v", "sandbox", "--isolation", level, "--", "true"])
            .exits(0);
        let line = ran
            .stderr
            .lines()
            .find(|line| line.contains("enforced: "))
            .map(str::to_owned);
        line.unwrap_or_else(|| panic!("{ran:?}"))
    };
    assert!(!layers("none").contains("landlock"));
    assert!(layers("process").contains("landlock, seccomp"));
    assert!(layers("container").contains("own-root"));
}

/// A run that has said `up`, and what is there to end it with.
struct Running {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    mark: String,
}

impl Running {
    /// Starts a command with daemons about it that ignore what they can.
    fn new(test: &Test, level: &str) -> Self {
        let mark = format!(
            "tcs{}_{level}",
            test.workspace().to_str().unwrap().replace('/', "_")
        );
        let code = format!(
            "trap '' INT TERM HUP PIPE; (setsid bash -c 'exec -a {mark} sleep 60' >/dev/null 2>&1 &); echo up; while :; do echo more; sleep 0.05; done"
        );
        let mut child = test
            .command()
            .args(bash(&["--isolation", level], &code))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        let running = Running {
            child,
            stdout,
            mark,
        };
        let began = Instant::now();
        while !running.is_there() {
            assert!(
                began.elapsed() < Duration::from_secs(10),
                "no daemon came up"
            );
        }
        running
    }

    fn is_there(&self) -> bool {
        let found = Command::new("pgrep")
            .args(["-f", &format!("^{}", self.mark)])
            .output();
        found.unwrap().status.success()
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }
}

/// The exit code of a process that must not take long.
fn ends(child: &mut Child) -> Option<i32> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    panic!("it hangs");
}

fn names(path: &Path) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(path).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

#[test]
fn a_signal_to_the_runner_ends_the_whole_tree_and_leaves_nothing() {
    for level in LEVELS {
        for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
            let test = Test::new();
            let mut running = Running::new(&test, level);
            running.signal(signal);
            assert_eq!(ends(&mut running.child), Some(code), "{level}, {signal}");
            assert!(!running.is_there(), "{level}, {signal}");
            assert_eq!(names(&test.workspace()), [""; 0], "{level}, {signal}");
        }
    }
}

#[test]
fn whoever_stops_reading_ends_the_run() {
    for level in LEVELS {
        let test = Test::new();
        let Running {
            mut child,
            stdout,
            mark,
        } = Running::new(&test, level);
        drop(stdout);
        assert_eq!(ends(&mut child), Some(141), "{level}");
        let mut said = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert_eq!(said, "", "{level}");
        let found = Command::new("pgrep")
            .args(["-f", &format!("^{mark}")])
            .output()
            .unwrap();
        assert!(!found.status.success(), "{level}");
        assert_eq!(names(&test.workspace()), [""; 0], "{level}");
    }
}

#[test]
fn a_killed_runner_takes_its_tree_along_and_the_next_run_tidies_up() {
    for level in ["process", "container"] {
        let test = Test::new();
        let mut running = Running::new(&test, level);
        running.child.kill().unwrap();
        running.child.wait().unwrap();
        let began = Instant::now();
        while running.is_there() {
            assert!(
                began.elapsed() < Duration::from_secs(1),
                "{level}: a process survived"
            );
        }
        test.run(&["sandbox", "--", "true"]).exits(0);
        assert_eq!(names(&test.workspace()), [""; 0], "{level}");
    }
}

#[test]
fn a_grandchild_that_holds_the_output_does_not_delay_the_end() {
    let test = Test::new();
    for level in LEVELS {
        let began = Instant::now();
        test.run(&bash(
            &["--isolation", level],
            "(setsid sleep 20 &); echo done",
        ))
        .exits(0)
        .prints("done\n");
        assert!(began.elapsed() < Duration::from_secs(5), "{level}");
    }
}

#[test]
fn more_can_be_made_readable_and_writable() {
    let test = Test::new();
    let place = test.workspace().parent().unwrap().to_owned();
    for name in ["shown", "given"] {
        std::fs::create_dir(place.join(name)).unwrap();
    }
    std::fs::write(place.join("shown/a.txt"), "A\n").unwrap();
    std::fs::write(place.join("b.txt"), "B\n").unwrap();
    let code = "cat ../shown/a.txt ../b.txt; echo C > ../given/c.txt; echo no > ../shown/d.txt";
    for (level, from) in [
        ("process", ".."),
        ("process", place.to_str().unwrap()),
        ("container", place.to_str().unwrap()),
        ("container", ".."),
    ] {
        let path = |name: &str| format!("{from}/{name}");
        let (shown, b, given) = (path("shown"), path("b.txt"), path("given"));
        let made = place.join("given/c.txt");
        let _ = std::fs::remove_file(&made);
        test.run(&bash(&["--isolation", level], code))
            .exits(1)
            .prints("");
        assert!(!made.exists(), "{level}");
        // Relative paths are relative to where the command line was typed, as everybody's are.
        let allowed = ["--read", &shown, "--read", &b, "--write", &given];
        let flags = [&["--isolation", level], &allowed[..]].concat();
        let ran = test.run(&bash(&flags, code));
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (1, "A\nB\n"),
            "{level} from {from}: {ran:?}"
        );
        assert_eq!(std::fs::read_to_string(&made).unwrap(), "C\n", "{level}");
        let owner = std::fs::metadata(&made).unwrap().uid();
        assert_eq!(
            owner,
            rustix::process::getuid().as_raw(),
            "{level}: it is the caller's"
        );
        assert!(!place.join("shown/d.txt").exists(), "{level}");
    }
}

#[test]
fn settings_name_what_else_is_readable() {
    let test = Test::new();
    let place = test.workspace().parent().unwrap().join("shown");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("a.txt"), "A\n").unwrap();
    let run = |test: &Test, level| test.run(&bash(&["--isolation", level], "cat ../shown/a.txt"));
    for level in ["process", "container"] {
        run(&test, level).exits(1);
    }
    let test = test.config(&format!("readable = [{place:?}]"));
    for level in ["process", "container"] {
        run(&test, level).exits(0).prints("A\n");
    }
}

#[test]
fn the_environment_is_a_short_list() {
    let test = Test::new()
        .variable("PATH", "/usr/bin:/bin")
        .variable("LANG", "C.UTF-8")
        .variable("LC_ALL", "C")
        .variable("TZ", "UTC")
        .variable("TERM", "dumb")
        .variable("SECRET", "1")
        .variable("EDITOR", "vi");
    for level in ["process", "container"] {
        let ran = test
            .run(&["sandbox", "--isolation", level, "--", "env"])
            .exits(0);
        let mut names: Vec<&str> = ran
            .stdout
            .lines()
            .filter_map(|line| line.split('=').next())
            .collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["HOME", "LANG", "LC_ALL", "PATH", "TERM", "TMPDIR", "TZ"],
            "{level}"
        );
    }
}

#[test]
fn variables_are_passed_on_and_set() {
    let test = Test::new()
        .variable("GIVEN", "from outside")
        .variable("HELD", "back");
    let code = r#"echo "$GIVEN|$SET|$EMPTY|${HELD-unset}|${ABSENT-unset}|$EQUALS""#;
    let flags = [
        "--env",
        "GIVEN",
        "--env",
        "SET=here",
        "--env",
        "EMPTY=",
        "--env",
        "ABSENT",
        "--env",
        "EQUALS=a=b",
    ];
    test.run(&bash(&flags, code))
        .exits(0)
        .prints("from outside|here||unset|unset|a=b\n");
}

#[test]
fn the_command_starts_where_we_are_if_that_is_in_the_workspace() {
    let test = Test::new().file("sub/dir/x", "");
    let place = test.workspace().canonicalize().unwrap();
    let pwd = |at: &Path, words: &[&str]| {
        let output = test.command().current_dir(at).args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout)
            .unwrap()
            .trim_end()
            .to_owned()
    };
    let workspace = place.to_str().unwrap();
    let named = ["--workspace", workspace, "sandbox", "--", "pwd"];
    assert_eq!(pwd(&place, &["sandbox", "--", "pwd"]), workspace);
    assert_eq!(
        pwd(&place.join("sub/dir"), &named),
        format!("{workspace}/sub/dir")
    );
    assert_eq!(pwd(place.parent().unwrap(), &named), workspace);
    assert_eq!(
        pwd(&place, &["--workspace", "sub", "sandbox", "--", "pwd"]),
        format!("{workspace}/sub")
    );
    let container = [
        "--workspace",
        workspace,
        "sandbox",
        "--isolation",
        "container",
        "--",
        "pwd",
    ];
    assert_eq!(
        pwd(&place.join("sub/dir"), &container),
        format!("{workspace}/sub/dir")
    );
}

#[test]
fn a_program_of_the_workspace_can_be_run_by_its_path() {
    let test = Test::new().file("tool", "#!/bin/sh\necho \"ran $1\"\n");
    let tool = test.workspace().join("tool");
    std::fs::set_permissions(tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    for level in LEVELS {
        test.run(&["sandbox", "--isolation", level, "--", "./tool", "it"])
            .exits(0)
            .prints("ran it\n");
    }
}

#[test]
fn words_after_the_dashes_are_the_commands_own() {
    Test::new()
        .run(&[
            "sandbox", "--", "printf", "%s|", "--json", "--", "", "a b", "$HOME",
        ])
        .exits(0)
        .prints("--json|--||a b|$HOME|");
}

#[test]
fn root_can_have_its_privileges_reduced() {
    if !is_root() {
        println!("SKIPPED: only root has privileges to reduce");
        return;
    }
    for level in ["process", "container"] {
        let test = Test::new().file("mine", "x");
        let flags = ["--isolation", level, "--privilege", "reduced"];
        let ran = test.run(&bash(
            &flags,
            "id -u; cat mine; echo y > made; head -c1 /etc/shadow",
        ));
        assert_eq!(ran.stdout, "60999\nx", "{level}: {ran:?}");
        let made = std::fs::metadata(test.workspace().join("made")).unwrap();
        assert_eq!((made.uid(), made.gid()), (0, 0), "{level}");
    }
}

const CONNECT: &str = "exec 3<>/dev/tcp/127.0.0.1/$PORT && cat <&3";

/// A server on this machine that says hello to everybody.
fn greeter() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(b"hello\n");
        }
    });
    port
}

#[test]
fn the_network_is_there_when_it_is_allowed() {
    let test = Test::new();
    let port = format!("PORT={}", greeter());
    for level in ["process", "container"] {
        let flags = ["--isolation", level, "--env", &port];
        let ran = test.run(&bash(&flags, CONNECT));
        assert!(ran.code != 0 && ran.stdout.is_empty(), "{level}: {ran:?}");
        let flags = [&flags[..], &["--network"]].concat();
        test.run(&bash(&flags, CONNECT)).exits(0).prints("hello\n");
    }
}

#[test]
fn a_proxy_is_all_that_can_be_reached() {
    let test = Test::new();
    let (proxy, other) = (greeter(), greeter());
    let (proxy, other) = (format!("127.0.0.1:{proxy}"), format!("PORT={other}"));
    let through = "[ -n \"$http_proxy\" ] && [ \"$http_proxy\" = \"$https_proxy\" ] || exit 9; a=${http_proxy#http://}; a=${a%/}; exec 3<>/dev/tcp/${a%:*}/${a##*:} && cat <&3";
    for level in ["process", "container"] {
        let flags = ["--isolation", level, "--proxy", &proxy, "--env", &other];
        test.run(&bash(&flags, through)).exits(0).prints("hello\n");
        let ran = test.run(&bash(&flags, CONNECT));
        assert!(ran.code != 0 && ran.stdout.is_empty(), "{level}: {ran:?}");
    }
}

#[test]
fn the_workspace_is_as_it_was_but_for_what_the_command_did() {
    for level in LEVELS {
        let test = Test::new()
            .file(".vscode/settings.json", "{}")
            .file("a", "1");
        let before = names(&test.workspace()).len();
        test.run(&bash(
            &["--isolation", level],
            "echo 2 > b; rm a; mkdir -p c/d",
        ))
        .exits(0);
        let mut left = names(&test.workspace());
        left.sort();
        assert_eq!(left, [".vscode", "b", "c"], "{level}");
        assert_eq!(before, 2);
        assert_eq!(
            names(&test.workspace().join(".vscode")),
            ["settings.json"],
            "{level}"
        );
    }
}

#[test]
fn two_runs_at_once_leave_nothing_either() {
    let test = Test::new();
    let mut children: Vec<Child> = (0..4)
        .map(|at| {
            let time = format!("0.{}", 3 + at);
            test.command()
                .args(["sandbox", "--", "sleep", &time])
                .spawn()
                .unwrap()
        })
        .collect();
    for child in &mut children {
        assert_eq!(ends(child), Some(0));
    }
    assert_eq!(names(&test.workspace()), [""; 0]);
}

#[test]
fn git_works_inside() {
    for level in ["process", "container"] {
        let test = Test::new().file("a.txt", "1\n");
        let made = Command::new("git")
            .args(["init", "-q", "-b", "main"])
            .current_dir(test.workspace())
            .status();
        assert!(made.unwrap().success());
        let code = "git add -A && git -c user.name=a -c user.email=a@b commit -q -m first && git checkout -q -b next && git status --porcelain && git log --oneline | wc -l";
        test.run(&bash(&["--isolation", level], code))
            .exits(0)
            .prints("1\n");
        let clean = Command::new("git")
            .args(["status", "--porcelain"])
            .current_dir(test.workspace())
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&clean.stdout),
            "",
            "{level}: {clean:?}"
        );
        assert!(clean.status.success(), "{level}: {clean:?}");
    }
}

#[test]
fn what_was_planted_is_named_and_cannot_paint_the_terminal() {
    let test = Test::new();
    let ran = test
        .run(&bash(
            &[],
            r"mkdir -p $'a\e[31m\nsandbox: all is well/.git/hooks'",
        ))
        .exits(0);
    assert!(
        ran.stderr.contains("before another program runs it"),
        "{ran:?}"
    );
    assert!(
        !ran.stderr.contains('\u{1b}') && ran.stderr.lines().count() == 1,
        "{ran:?}"
    );
}
