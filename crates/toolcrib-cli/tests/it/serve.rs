//! `toolcrib serve` as a newcomer meets it: what it says, what it refuses, how it ends.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;

use rustix::process::Signal;
use serde_json::json;

use crate::harness::Test;
use crate::serving::{Serving, eventually};

#[test]
fn it_says_where_it_listens_and_what_to_do_next_and_ends_when_asked() {
    let test = Test::new();
    let mut server = Serving::start(&test);
    let (status, body) = server.get("/api/health");
    assert_eq!((status, &body["status"]), (200, &json!("ok")));
    let token = test.home().join("token");
    let mode = std::fs::metadata(&token).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let servers = test.home().join("state/servers");
    let files = || std::fs::read_dir(&servers).unwrap().count();
    assert_eq!(files(), 1);
    server.signal(Signal::TERM);
    assert!(server.ended().success());
    assert_eq!(files(), 0);
    let said = server.said();
    for part in [
        "Authorization: Bearer",
        &format!("http://{}/api/docs", server.address),
        token.to_str().unwrap(),
        test.workspace().to_str().unwrap(),
        "Ctrl-C",
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    assert!(!said.contains(&server.token), "{said}");
}

#[test]
fn the_access_log_has_local_times_for_people_and_utc_for_programs() {
    for (kind, local) in [("text", true), ("json", false)] {
        let test = Test::new()
            .config(&format!("server.accessLog = \"{kind}\"\n"))
            .variable("TZ", "JST-9");
        let server = Serving::start(&test);
        assert_eq!(server.get("/api/tools").0, 200);
        let mut said = String::new();
        let is_it = |line: &&str| line.contains("/api/tools") && line.contains("200");
        eventually("the request is logged", || {
            said.push_str(&server.said());
            said.push('\n');
            said.lines().any(|line| is_it(&line))
        });
        let line = said.lines().find(is_it).unwrap();
        if !local {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(line["time"].as_str().unwrap().ends_with('Z'), "{line}");
            continue;
        }
        let (time, rest) = line.split_at(19);
        let time: jiff::civil::DateTime = time.parse().unwrap();
        let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
        let ahead = time.duration_since(now.datetime());
        let hours = (ahead.as_secs_f64() / 3600.0).round();
        assert!(hours == 9.0 && rest.starts_with(" 200 GET "), "{line}");
    }
}

#[test]
fn what_it_says_to_do_next_works_when_pasted() {
    let test = Test::new();
    let server = Serving::start(&test);
    let mut said = String::new();
    eventually("it says how to ask", || {
        said.push_str(&server.said());
        said.contains("/tools")
    });
    let line = said.lines().find(|line| line.contains("curl")).unwrap();
    let command = &line[line.find("curl").unwrap()..];
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("{} -sS", command)])
        .output()
        .unwrap();
    let tools: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert!(tools["tools"].is_array(), "{tools}");
}

#[test]
fn ui_prints_a_link_that_the_running_server_takes() {
    let test = Test::new();
    let server = Serving::start(&test);
    let link = test.run(&["ui", "--print"]).exits(0).stdout;
    let before = format!("http://{}/ui/#code=", server.address);
    let code = link.trim().strip_prefix(&before).expect("a link");
    assert_eq!(code.len(), 43);
    let again = test.run(&["ui", "--print", "--json"]).exits(0).stdout;
    assert!(again.contains("\"ui\":\"http://"), "{again}");
    assert!(!again.contains(code), "each link has another code");
    assert_eq!(sign_in(&link), "HTTP/1.1 201 Created");
}

/// An `xdg-open` that writes what it is given to a file; first on the path.
fn with_an_opener(test: Test) -> (Test, std::path::PathBuf) {
    let directory = test.home().with_file_name("openers");
    std::fs::create_dir(&directory).unwrap();
    let (opener, opened) = (directory.join("xdg-open"), directory.join("opened"));
    // Whole at once, so that no one reads half a line.
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > '{0}.new' && mv '{0}.new' '{0}'\n",
        opened.display()
    );
    std::fs::write(&opener, script).unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", directory.display());
    (test.variable("PATH", &path), opened)
}

/// Signs in with a link; the status line that answers.
fn sign_in(link: &str) -> String {
    let (address, code) = link
        .trim()
        .strip_prefix("http://")
        .and_then(|link| link.split_once("/ui/#code="))
        .expect("a link that signs in");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let request = format!(
        "POST /api/browsers HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nToolcrib-Code: {code}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
#[cfg(not(target_os = "macos"))]
fn ui_opens_the_browser_on_the_server_that_runs() {
    let (test, opened) = with_an_opener(Test::new());
    let server = Serving::start(&test);
    test.run(&["ui"]).exits(0);
    let link = std::fs::read_to_string(&opened).unwrap();
    let before = format!("http://{}/ui/#code=", server.address);
    assert!(link.starts_with(&before), "{link}");
    assert_eq!(link.lines().count(), 1);
    assert_eq!(sign_in(&link), "HTTP/1.1 201 Created");
}

#[test]
#[cfg(not(target_os = "macos"))]
fn ui_starts_a_server_of_this_home_where_none_runs_and_opens_the_browser() {
    let (test, opened) = with_an_opener(Test::new().config("[server]\naddr = \"127.0.0.1:0\"\n"));
    let mut child = test
        .command()
        .arg("ui")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    eventually("the browser is opened", || opened.exists());
    let link = std::fs::read_to_string(&opened).unwrap();
    assert_eq!(sign_in(&link), "HTTP/1.1 201 Created");
    // It is the server of this home: another `ui` finds it.
    let again = test.run(&["ui", "--print"]).exits(0).stdout;
    let server = |link: &str| link.split("#").next().unwrap_or_default().to_owned();
    assert_eq!(server(&again), server(&link));
    assert!(child.try_wait().unwrap().is_none(), "it goes on serving");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_directory_without_a_page_is_refused_as_the_web_admin() {
    let test = Test::new();
    test.run(&["serve", "--addr", "127.0.0.1:0", "--web", "."])
        .exits(2)
        .says("has no index.html");
}

#[test]
fn a_socket_alone_is_listened_on_without_an_address() {
    let test = Test::new();
    let path = test.home().with_file_name("crib.sock");
    let mut child = test
        .command()
        .args(["serve", "--socket", path.to_str().unwrap(), "--json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(child.stdout.take().unwrap()),
        &mut line,
    )
    .unwrap();
    let told: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(told["url"], serde_json::Value::Null);
    assert_eq!(told["socket"], path.to_str().unwrap());
    let mut stream = UnixStream::connect(&path).unwrap();
    let request = "GET /api/ready HTTP/1.1\r\nHost: anything\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    child.kill().unwrap();
    child.wait().unwrap();
    // It could not remove it; the next one can, and a live one is not replaced.
    let again = Serving::start_with(&test, &["--socket", path.to_str().unwrap()]);
    test.run(&["serve", "--socket", path.to_str().unwrap()])
        .exits(2)
        .says("another server listens there");
    drop(again);
}

#[test]
fn where_it_cannot_listen_it_says_why() {
    let test = Test::new();
    let server = Serving::start(&test);
    let taken = server.address.to_string();
    test.run(&["serve", "--addr", &taken])
        .exits(2)
        .says("in use")
        .says("--addr 127.0.0.1:0");
    test.run(&["serve", "--addr", "0.0.0.0:0"])
        .exits(2)
        .says("server.certificate");
    test.run(&["serve", "--addr", "nowhere"])
        .exits(2)
        .says("--addr `nowhere`");
    let nothing = test.run(&["serve", "--socket", "/nowhere/crib.sock"]);
    nothing.exits(2).says("mkdir -p '/nowhere'");
    let test = Test::new().variable("TOOLCRIB_TOKEN", "short");
    test.run(&["serve", "--addr", "127.0.0.1:0"])
        .exits(2)
        .says("TOOLCRIB_TOKEN");
}

#[test]
fn idle_connections_make_room_when_the_system_has_no_more_files() {
    let test = Test::new();
    let server = Serving::start_with_files(&test, 96);
    let mut idle = Vec::new();
    for _ in 0..150 {
        idle.push(std::net::TcpStream::connect(server.address).unwrap());
    }
    // Behind all of them.
    let (status, _) = server.get("/api/health");
    assert_eq!(status, 200);
    let used = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split(' ').collect();
        fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap()
    };
    // Hundredths of a second of work: there is a tenth of a second in which it does next to none, so it does not spin.
    eventually("it spins", || {
        let before = used();
        std::thread::sleep(std::time::Duration::from_millis(100));
        used() - before <= 3
    });
}

#[test]
fn when_quiet_it_says_where_it_listens_and_nothing_else() {
    let test = Test::new();
    let mut server = Serving::start_with(&test, &["-q"]);
    assert_eq!(server.get("/api/health").0, 200);
    server.signal(Signal::TERM);
    assert!(server.ended().success());
    assert_eq!(server.said(), "");
}

#[test]
fn without_a_workspace_or_a_browser_it_says_what_to_do() {
    let test = Test::new();
    let mut command = test.command();
    command.current_dir("/").env("PATH", "/nowhere");
    let mut server = Serving::spawn(&test, command, &["--open"]);
    let mut said = String::new();
    let url = format!("; open http://{}/ui/#code=", server.address);
    eventually("it says what is missing", || {
        said.push_str(&server.said());
        said.contains("there is no workspace") && said.contains(&url) && said.contains(" yourself")
    });
    server.kill();
}

#[test]
#[cfg(not(target_os = "macos"))]
fn serve_open_opens_the_browser_with_a_link_that_signs_in() {
    let (test, opened) = with_an_opener(Test::new());
    let mut server = Serving::start_with(&test, &["--open"]);
    eventually("the browser is opened", || opened.exists());
    let link = std::fs::read_to_string(&opened).unwrap();
    let before = format!("http://{}/ui/#code=", server.address);
    assert!(link.starts_with(&before), "{link}");
    assert_eq!(link.lines().count(), 1);
    assert_eq!(sign_in(&link), "HTTP/1.1 201 Created");
    server.kill();
}

#[test]
fn a_socket_is_known_by_its_plain_path() {
    let test = Test::new();
    std::fs::create_dir(test.workspace().join("sub")).unwrap();
    let mut server = Serving::start_with(&test, &["--socket", "sub/../crib.sock"]);
    let plain = test.workspace().canonicalize().unwrap().join("crib.sock");
    let mut said = String::new();
    eventually("it names its socket", || {
        said.push_str(&server.said());
        said.contains(&format!("listening on unix:{}\n", plain.display()))
    });
    server.kill();
}
