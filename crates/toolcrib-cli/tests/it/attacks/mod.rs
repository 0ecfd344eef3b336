//! Attacks on `toolcrib sandbox`, from inside: `cases/sandbox-attacks.jsonl` (as handed down) and `cases/more-attacks.jsonl`.
//!
//! Every case runs at every level of its `must_hold_at`, as root and as an ordinary user, in its own scene: a git
//! workspace, a directory outside with a secret, sockets that listen, a process to kill. `PWNED` in what it prints, in what
//! its `host_check` prints afterwards, or anything that reached a socket of the host, is a failure. So is an attack that
//! did not run to its end, or not to the end it says it meets: an attack that cannot fail proves nothing.
//!
//! Fields that only `more-attacks.jsonl` has are described at [`Case`].

mod case;
mod scene;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use case::{Attacker, Case, is_root};
use scene::Scene;

const GIVEN: &str = include_str!("../../cases/sandbox-attacks.jsonl");
const MORE: &str = include_str!("../../cases/more-attacks.jsonl");

/// Not `/tmp`: a run's own `/tmp` would hide the scene, and nothing but that would be tested.
const PLACE: &str = "/var/tmp";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The ordinary user when the tests run as root.
const NOBODY: u32 = 65534;
/// What an attack prints when it came to its end.
const ENDED: &str = "<attack ended>";
/// A runner that takes this long hangs: every attack has four seconds.
const HANGS: Duration = Duration::from_secs(20);
/// What becomes of protected names that are not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absent {
    /// They cannot be made.
    Refused,
    /// Files made there are held: an attack may make it, and the host must not run it.
    Held,
}

/// Runs one attack at one level; what is wrong about it, if anything is.
fn attack(case: &Case, level: &str, attacker: &Attacker, absent: Absent) -> Result<String, String> {
    let mut scene = Scene::new(attacker);
    let word = match absent {
        Absent::Refused => "refuse",
        Absent::Held => "hold",
    };
    let config = format!("[sandbox]\nabsentNames = \"{word}\"\n");
    fs::write(scene.at("toolcrib/config.toml"), config).unwrap();
    if let Some(script) = &case.setup {
        scene.set_up(script)?;
    }
    let before = protected_in(&scene.at("ws"));
    let (out, err) = (scene.at("stdout"), scene.at("stderr"));
    let mut runner = scene
        .runner(case, level)
        .stdin(Stdio::null())
        .stdout(File::create(&out).unwrap())
        .stderr(File::create(&err).unwrap())
        .spawn()
        .unwrap();
    let killed = case.end() == "killed";
    let up = if killed {
        let up = wait_for_daemon(&scene);
        runner.kill().unwrap();
        up
    } else {
        Ok(())
    };
    let code = wait(&mut runner)?;
    up?;
    let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let (out, err) = (text(&out), text(&err));
    // A terminal has more to say than the report.
    let start = out.find("{\"level\"").unwrap_or(0);
    let report = serde_json::from_str::<Value>(out[start..].trim_end());
    let all = format!(
        "exit code {code:?}\n{}\n{err}",
        shown(&out, report.as_ref().ok())
    );
    if absent == Absent::Held {
        let here = "test -e @OUTSIDE@/ran";
        let is_run = |script: &&str| script.contains(here);
        if let Some(script) = case.host_check.as_deref().filter(is_run) {
            let output = scene.host(script).output().unwrap();
            if String::from_utf8_lossy(&output.stdout).contains("PWNED") {
                return Err(format!("the host ran it\n{all}"));
            }
        }
        let left = left_in(&scene.at("ws"), &before);
        if !left.is_empty() {
            return Err(format!("{left:?} stayed\n{all}"));
        }
        return Ok(all);
    }
    let checked = case.host_check.as_deref().map(|script| {
        let output = scene.host(script).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    });
    if all.contains("PWNED") {
        return Err(all);
    }
    if let Some(said) = checked.filter(|said| said.contains("PWNED")) {
        return Err(format!("the host finds: {said}\n{all}"));
    }
    let reached = scene.reached();
    if !reached.is_empty() {
        return Err(format!("it reached {reached:?} of the host\n{all}"));
    }
    if killed {
        return Ok(all);
    }
    let report = report.map_err(|_| format!("there is no report\n{all}"))?;
    really_ran(case, level, &report).map_err(|what| format!("{what}\n{all}"))?;
    if let Some(planted) = &case.planted {
        let path = scene.fill_in(planted);
        let named = report["planted"].as_array().unwrap();
        let is_named = |name: &Value| name.as_str().is_some_and(|name| name.starts_with(&path));
        let held = report["held"].as_array().unwrap();
        let is_held = |note: &Value| {
            let held = note["path"].as_str().unwrap();
            scene.at("ws").join(held).starts_with(&path)
        };
        if !named.iter().any(is_named) && !held.iter().any(is_held) {
            return Err(format!(
                "the report does not say that `{path}` was planted\n{all}"
            ));
        }
    }
    Ok(all)
}

/// The protected names that are in a workspace.
fn protected_in(workspace: &Path) -> Vec<String> {
    let rows = toolcrib::sandbox::PROTECTED_NAMES.iter();
    let paths = rows
        .filter(|row| row.name != ".git")
        .flat_map(|row| match row.within {
            [] => vec![row.name.to_owned()],
            within => within
                .iter()
                .map(|file| format!("{}/{file}", row.name))
                .collect(),
        });
    paths
        .filter(|path| workspace.join(path).symlink_metadata().is_ok())
        .collect()
}

/// Those that were not there before.
fn left_in(workspace: &Path, before: &[String]) -> Vec<String> {
    let mut left = protected_in(workspace);
    left.retain(|path| !before.contains(path));
    left
}

/// What matters of a report to who wonders how an attack got through.
fn shown(out: &str, report: Option<&Value>) -> String {
    let Some(report) = report.filter(|report| report["level"].is_string()) else {
        return out.to_owned();
    };
    let keys = ["status", "endedBy", "planted", "notEnforced", "durationMs"];
    let mut text: String = keys.map(|key| format!("{key}: {}; ", report[key])).concat();
    for stream in ["stdout", "stderr"] {
        let printed = report[stream].as_str().unwrap_or_default();
        write!(
            text,
            "\n{stream}:\n{}",
            toolcrib::model::text::shorten(printed, 4000)
        )
        .unwrap();
    }
    text
}

/// An attack that did not come to its end, or that lacked a program, has shown nothing.
fn really_ran(case: &Case, level: &str, report: &Value) -> Result<(), String> {
    if report["level"] != level {
        return Err("the level is not the one asked for".to_owned());
    }
    let printed = |stream: &str| report[stream].as_str().unwrap_or_default();
    for broken in [
        "command not found",
        "SyntaxError",
        "NameError",
        "ModuleNotFoundError",
        "AttributeError",
        "syntax error",
        "operator expected",
    ] {
        if printed("stderr").contains(broken) || printed("stdout").contains(broken) {
            return Err(format!("the attack is broken: {broken}"));
        }
    }
    let meets = match case.end().split_once(' ') {
        Some(("signal", number)) => {
            report["status"]["signal"].as_i64() == number.parse().ok()
                && report["endedBy"].is_null()
        }
        _ => match case.end() {
            "itself" => printed("stdout").contains(ENDED) && report["status"]["exited"].is_number(),
            "any" => true,
            limit => report["endedBy"] == limit,
        },
    };
    if meets {
        Ok(())
    } else {
        Err(format!("it was to end by `{}`", case.end()))
    }
}

/// Until the daemon that is to survive is there to survive.
fn wait_for_daemon(scene: &Scene) -> Result<(), String> {
    let began = Instant::now();
    while began.elapsed() < HANGS {
        let found = scene.host("pgrep -f '^tc_daemon'").output().unwrap();
        if found.status.success() {
            return Ok(());
        }
    }
    Err("the daemon never came up".to_owned())
}

fn wait(runner: &mut Child) -> Result<Option<i32>, String> {
    let began = Instant::now();
    while began.elapsed() < HANGS {
        if let Some(status) = runner.try_wait().unwrap() {
            return Ok(status.code());
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    runner.kill().unwrap();
    runner.wait().unwrap();
    Err("the runner hangs".to_owned())
}

/// Runs all cases, two at a time, and reports all failures at once.
fn every_attack_fails(cases: &str, attacker: &Attacker, absent: Absent) {
    // For one's own hunt: ONLY_ATTACKS=name-,net-1 runs these and shows what they print.
    let wanted = std::env::var("ONLY_ATTACKS");
    let only = wanted.as_deref().unwrap_or("");
    let cases = Case::all(cases);
    let runs: Vec<(&Case, &str)> = cases
        .iter()
        .filter(|case| only.split(',').any(|start| case.id.starts_with(start)))
        // The others have nothing to do with names.
        .filter(|case| absent == Absent::Refused || case.id.starts_with("name-"))
        .filter(|case| {
            case.only
                .as_deref()
                .is_none_or(|only| only == attacker.name())
        })
        .flat_map(|case| {
            case.must_hold_at
                .iter()
                .map(move |level| (case, level.as_str()))
        })
        .collect();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((case, level)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let began = Instant::now();
                    let answer = attack(case, level, attacker, absent);
                    if let (Ok(_), Ok(said)) = (&wanted, &answer) {
                        println!("-- {} at {level}, {:?}: {said}", case.id, began.elapsed());
                    }
                    if let Err(what) = answer {
                        let title = format!(
                            "{} at {level}: {}; expected: {}",
                            case.id, case.title, case.expect
                        );
                        failures.lock().unwrap().insert(title, what);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    let mut story = String::new();
    for (title, what) in &failures {
        write!(story, "\n== {title}\n{what}\n").unwrap();
    }
    println!(
        "{} attacks as {}, {} got through",
        runs.len(),
        attacker.name(),
        failures.len()
    );
    assert!(
        failures.is_empty(),
        "{} of {} attacks:{story}",
        failures.len(),
        runs.len()
    );
}

fn as_root(cases: &str, absent: Absent) {
    if is_root() {
        every_attack_fails(cases, &Attacker::ourselves(), absent);
    } else {
        crate::skipped(format_args!("only root can find out what root can do"));
    }
}

fn as_an_ordinary_user(cases: &str, absent: Absent) {
    match Attacker::ordinary() {
        Some(attacker) => every_attack_fails(cases, &attacker, absent),
        None => crate::skipped(format_args!(
            "there is no `setpriv` to become an ordinary user with"
        )),
    }
}

#[test]
fn every_attack_fails_at_every_level_it_must_as_root() {
    as_root(GIVEN, Absent::Refused);
}

#[test]
fn every_attack_fails_at_every_level_it_must_as_an_ordinary_user() {
    as_an_ordinary_user(GIVEN, Absent::Refused);
}

#[test]
fn every_further_attack_fails_at_every_level_it_must_as_root() {
    as_root(MORE, Absent::Refused);
}

#[test]
fn every_further_attack_fails_at_every_level_it_must_as_an_ordinary_user() {
    as_an_ordinary_user(MORE, Absent::Refused);
}

#[test]
fn nothing_that_an_attack_plants_outlives_it_where_names_are_held_as_root() {
    as_root(MORE, Absent::Held);
}

#[test]
fn nothing_that_an_attack_plants_outlives_it_where_names_are_held_as_an_ordinary_user() {
    as_an_ordinary_user(MORE, Absent::Held);
}

/// Nothing an attack aims at is missing: otherwise it would fail for another reason than the sandbox.
#[test]
fn the_scene_holds_what_the_attacks_are_after() {
    let scene = Scene::new(&Attacker::ourselves());
    assert!(scene.reached().is_empty());
    for listener in &scene.sockets.tcp {
        TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    }
    for path in ["outside/host.sock", "outside/../outside/host.sock"] {
        UnixStream::connect(scene.at(path)).unwrap();
    }
    UnixStream::connect(&scene.tokens["@HOSTSOCK@"]).unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender
        .send_to(b"x", scene.sockets.udp.local_addr().unwrap())
        .unwrap();
    let sender = UnixDatagram::unbound().unwrap();
    sender
        .send_to(b"x", scene.at("outside/datagram.sock"))
        .unwrap();
    let reached = scene.reached();
    assert!(reached.len() >= 5, "{reached:?}");
    let script = "grep -q TOPSECRET ../outside/secret.txt @HOME@/.ssh/id_ed25519 && git status --short && kill -0 $VICTIM";
    assert!(scene.host(script).status().unwrap().success());
    let gone = TcpListener::bind("[::1]:0").map_err(|error| error.kind());
    if let Err(kind @ ErrorKind::AddrNotAvailable) = gone {
        crate::skipped(format_args!(
            "no attack over IPv6, there is none here ({kind})"
        ));
    }
}

/// An attack hides what its programs say; so the programs have to be there.
#[test]
fn the_programs_that_attacks_use_are_inside() {
    let scene = Scene::new(&Attacker::ourselves());
    let code = "for p in bash cat chmod cp cut dd dmesg git grep head kill ln ls mkdir mkfifo mknod mv python3 rm rmdir \
        setsid sleep stat timeout touch tr true truncate unshare wc; do \
        command -v $p >/dev/null || echo missing $p; done";
    for level in ["process", "container"] {
        let output = Command::new(&scene.attacker.toolcrib)
            .args(["sandbox", "--isolation", level, "--", "bash", "-c", code])
            .current_dir(scene.at("ws"))
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", scene.at("home"))
            .env("TOOLCRIB_HOME", scene.at("toolcrib"))
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "",
            "{level}: {output:?}"
        );
        assert!(output.status.success(), "{level}: {output:?}");
    }
}
