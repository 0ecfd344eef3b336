//! What a command can be given besides: paths, variables, a network.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::{LEVELS, bash, is_root};
use crate::harness::Test;

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
        crate::skipped(format_args!("only root has privileges to reduce"));
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

/// A web server on this machine that says hello to everybody.
fn web_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n");
        }
    });
    host
}

#[test]
fn chosen_hosts_are_all_that_can_be_reached() {
    let (chosen, also, other) = (web_server(), web_server(), web_server());
    let test = Test::new().config(&format!("allowedHosts = [{chosen:?}, {also:?}, {other:?}]"));
    let get = |host: &str| format!("curl -sS -m 5 http://{host}/");
    for level in ["process", "container"] {
        let flags = ["--isolation", level, "--host", &chosen, "--host", &also];
        test.run(&bash(&flags, &get(&chosen)))
            .exits(0)
            .prints("hello\n");
        let tunnel = format!("curl -sS -m 5 --proxytunnel http://{also}/");
        test.run(&bash(&flags, &tunnel)).exits(0).prints("hello\n");
        let ran = test.run(&bash(&flags, &get(&other))).exits(0);
        assert!(ran.stdout.contains("is not among the hosts"), "{ran:?}");
        let around = format!("curl -s -m 5 --noproxy '*' http://{chosen}/");
        test.run(&bash(&flags, &around)).exits(7).prints("");
    }
}

#[test]
fn an_address_of_this_machine_needs_the_setting_besides() {
    let host = web_server();
    let test = Test::new();
    let get = format!("curl -sS -m 5 http://{host}/");
    let ran = test.run(&bash(&["--host", &host], &get)).exits(0);
    let remedy = format!("`toolcrib config set --add allowedHosts {host}`");
    assert!(ran.stdout.contains(&remedy), "{ran:?}");
}
