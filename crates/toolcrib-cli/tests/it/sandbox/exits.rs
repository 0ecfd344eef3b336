//! How a run ends, and what is said when it does not begin.

use std::os::unix::fs::PermissionsExt as _;

use super::{LEVELS, bash, is_root};
use crate::harness::{Test, golden};

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
            "--host",
            "api.github.com",
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
        &["sandbox", "--host", "https://example.org/", "--", "true"],
        &["sandbox", "--host", "*", "--", "true"],
        &["sandbox", "--host", "127.0.0.1", "--", "true"],
        &["sandbox", "--host", "a.test", "--network", "--", "true"],
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
