//! Attacks on `toolcrib sandbox`, from inside: `cases/sandbox-attacks.jsonl` (as handed down) and `cases/more-attacks.jsonl`.
//!
//! Every case runs at every level of its `must_hold_at`, as root and as an ordinary user, in a scene of its own: a git
//! workspace, a directory outside with a secret, sockets that listen, a process to kill. `PWNED` in what it prints, in what
//! its `host_check` prints afterwards, or anything that reached a socket of the host, is a failure. So is an attack that
//! did not run to its end, or not to the end it says it meets: an attack that cannot fail proves nothing.
//!
//! Fields that only `more-attacks.jsonl` has are described at [`Case`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

const GIVEN: &str = include_str!("../cases/sandbox-attacks.jsonl");
const MORE: &str = include_str!("../cases/more-attacks.jsonl");

/// Not `/tmp`: a run's own `/tmp` would hide the scene, and nothing but that would be tested.
const PLACE: &str = "/var/tmp";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Who an ordinary user is when the tests run as root.
const NOBODY: u32 = 65534;
/// What an attack prints when it came to its end.
const ENDED: &str = "<attack ended>";
/// A runner that takes this long hangs: every attack has four seconds.
const HANGS: Duration = Duration::from_secs(20);

/// One attack.
#[derive(Deserialize)]
struct Case {
    id: String,
    title: String,
    language: Language,
    code: String,
    expect: String,
    must_hold_at: Vec<String>,
    /// Bash on the host, afterwards, as whoever ran the sandbox.
    host_check: Option<String>,
    /// Bash on the host, before; a line `NAME=value` that it prints makes a token `@NAME@`.
    setup: Option<String>,
    /// Bash that starts the runner, which it finds as `"$@"`.
    start: Option<String>,
    /// Flags of `toolcrib sandbox`.
    #[serde(default)]
    flags: Vec<String>,
    /// Variables of the runner.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// How the attack ends if it fails: `itself`, a limit's name, `signal N`, `killed` (by us), `any`.
    end: Option<String>,
    /// A path that the report must name as planted.
    planted: Option<String>,
    /// `root` or `ordinary` where only one of them makes sense.
    only: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Language {
    Bash,
    Python,
}

impl Case {
    fn all(text: &str) -> Vec<Case> {
        let parse = |line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in the case {line}"))
        };
        text.lines().map(parse).collect()
    }

    fn end(&self) -> &str {
        // The cases as handed down do not say.
        match (self.id.as_str(), &self.end) {
            (_, Some(end)) => end,
            ("res-06", None) => "time",
            ("net-14", None) => "signal 31",
            ("life-02", None) => "killed",
            _ => "itself",
        }
    }

    fn time(&self) -> &[&str] {
        if self.flags.iter().any(|flag| flag == "--timeout") {
            &[]
        } else {
            &["--timeout", "4s"]
        }
    }

    /// The attack with words at its end that tell that it came there.
    fn program(&self, scene: &Scene) -> [String; 3] {
        let code = scene.fill_in(&self.code);
        match self.language {
            Language::Bash => [
                "bash".to_owned(),
                "-c".to_owned(),
                format!("trap 'echo \"{ENDED}\"' EXIT\n{code}"),
            ],
            Language::Python => [
                "/usr/bin/python3".to_owned(),
                "-c".to_owned(),
                format!("import atexit; atexit.register(print, '{ENDED}')\n{code}"),
            ],
        }
    }
}

/// Who runs the sandbox.
#[derive(Clone)]
struct Attacker {
    /// Set where we have to become somebody else.
    uid: Option<u32>,
    toolcrib: PathBuf,
    _copy: Option<Arc<TempDir>>,
    /// What every workspace starts from, made once.
    repository: Arc<TempDir>,
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

impl Attacker {
    fn ourselves() -> Self {
        Attacker {
            uid: None,
            toolcrib: env!("CARGO_BIN_EXE_toolcrib").into(),
            _copy: None,
            repository: repository().into(),
        }
    }

    /// `None` when there is no way to be one.
    fn ordinary() -> Option<Self> {
        if !is_root() {
            return Some(Self::ourselves());
        }
        Command::new("setpriv").arg("--version").output().ok()?;
        // The binary lies in a directory that an ordinary user need not be able to enter.
        let copy = directory(PLACE);
        let toolcrib = copy.path().join("toolcrib");
        fs::copy(env!("CARGO_BIN_EXE_toolcrib"), &toolcrib).unwrap();
        Some(Attacker {
            uid: Some(NOBODY),
            toolcrib,
            _copy: Some(copy.into()),
            repository: repository().into(),
        })
    }

    fn name(&self) -> &'static str {
        if self.uid.is_none() && is_root() {
            "root"
        } else {
            "ordinary"
        }
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let Some(uid) = self.uid else {
            return Command::new(program);
        };
        let mut command = Command::new("setpriv");
        command
            .args([format!("--reuid={uid}"), format!("--regid={uid}")])
            .arg("--clear-groups")
            .arg(program);
        command
    }
}

/// A directory that anybody may enter.
fn directory(beneath: &str) -> TempDir {
    let directory = tempfile::tempdir_in(beneath).unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    directory
}

/// What an attack finds around it.
struct Scene {
    attacker: Attacker,
    directory: TempDir,
    elsewhere: TempDir,
    /// In every name that leaves traces on the host, so that scenes do not see each other's.
    mark: String,
    core_pattern: String,
    tokens: BTreeMap<String, String>,
    sockets: Sockets,
    victim: Child,
}

/// Sockets of the host; whatever reaches them has got out.
struct Sockets {
    tcp: Vec<TcpListener>,
    udp: UdpSocket,
    unix: Vec<UnixListener>,
    datagram: UnixDatagram,
}

impl Scene {
    fn new(attacker: &Attacker) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("tc{}x{number}_", std::process::id());
        let (directory, elsewhere) = (directory(PLACE), directory("/tmp"));
        let at = |name: &str| directory.path().join(name);
        for name in ["ws", "outside", "home/.ssh", "home/.aws", "toolcrib"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("outside/secret.txt"), "TOPSECRET\n").unwrap();
        fs::write(at("outside/tool"), "#!/bin/sh\necho PWNED\n").unwrap();
        fs::set_permissions(at("outside/tool"), Permissions::from_mode(0o755)).unwrap();
        fs::write(at("home/.ssh/id_ed25519"), "TOPSECRET\n").unwrap();
        fs::write(at("home/.aws/credentials"), "TOPSECRET\n").unwrap();
        fs::write(at("toolcrib/secret"), "TOPSECRET\n").unwrap();
        let copied = Command::new("cp")
            .arg("-a")
            .arg(attacker.repository.path().join("."))
            .arg(at("ws"))
            .status();
        assert!(copied.unwrap().success());

        let host_socket = elsewhere.path().join("host.sock");
        let mut tcp = vec![TcpListener::bind("127.0.0.1:0").unwrap()];
        tcp.extend(TcpListener::bind("[::1]:0"));
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let abstract_address = SocketAddr::from_abstract_name(format!("{mark}abstract")).unwrap();
        let sockets = Sockets {
            unix: vec![
                UnixListener::bind(at("outside/host.sock")).unwrap(),
                UnixListener::bind(&host_socket).unwrap(),
                UnixListener::bind_addr(&abstract_address).unwrap(),
            ],
            datagram: UnixDatagram::bind(at("outside/datagram.sock")).unwrap(),
            tcp,
            udp,
        };
        for path in [
            &at("outside/host.sock"),
            &at("outside/datagram.sock"),
            &host_socket,
        ] {
            fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        }
        if let Some(uid) = attacker.uid {
            let owner = format!("{uid}:{uid}");
            let given = Command::new("chown")
                .args(["-R", &owner])
                .arg(directory.path())
                .status();
            assert!(given.unwrap().success());
        }
        let port = |listener: Option<&TcpListener>| {
            listener.map_or(1, |listener| listener.local_addr().unwrap().port())
        };
        let victim = attacker.command("sleep").arg("600").spawn().unwrap();
        let path = |path: PathBuf| path.into_os_string().into_string().unwrap();
        let tokens = BTreeMap::from([
            ("@WS@".to_owned(), path(at("ws"))),
            ("@OUTSIDE@".to_owned(), path(at("outside"))),
            ("@HOME@".to_owned(), path(at("home"))),
            ("@TOOLCRIB_HOME@".to_owned(), path(at("toolcrib"))),
            ("@HOSTSOCK@".to_owned(), path(host_socket)),
            ("@RUNNER@".to_owned(), path(attacker.toolcrib.clone())),
            ("@VICTIM@".to_owned(), victim.id().to_string()),
            (
                "UPORT".to_owned(),
                sockets.udp.local_addr().unwrap().port().to_string(),
            ),
            ("PORT6".to_owned(), port(sockets.tcp.get(1)).to_string()),
            ("PORT".to_owned(), port(sockets.tcp.first()).to_string()),
        ]);
        Scene {
            attacker: attacker.clone(),
            directory,
            elsewhere,
            mark,
            core_pattern: fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap(),
            tokens,
            sockets,
            victim,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn fill_in(&self, text: &str) -> String {
        let mut text = text.replace("tc_", &self.mark);
        // The longer names first: `PORT` is in all of them.
        for (token, value) in self.tokens.iter().rev() {
            text = text.replace(token, value);
        }
        text
    }

    /// Bash on the host, as whoever runs the sandbox.
    fn host(&self, script: &str) -> Command {
        let mut command = self.attacker.command("bash");
        command
            .args(["-c", &self.fill_in(script)])
            .current_dir(self.at("ws"))
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", self.at("home"))
            .env("CORE_BEFORE", self.core_pattern.trim_end())
            .env("VICTIM", self.victim.id().to_string());
        command
    }

    fn set_up(&mut self, script: &str) -> Result<(), String> {
        let output = self.host(script).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        for (name, value) in said.lines().filter_map(|line| line.split_once('=')) {
            self.tokens.insert(format!("@{name}@"), value.to_owned());
        }
        if output.status.success() {
            Ok(())
        } else {
            Err(format!(
                "its setup failed: {}",
                String::from_utf8_lossy(&output.stderr)
            ))
        }
    }

    fn runner(&self, case: &Case, level: &str) -> Command {
        let start = case.start.as_deref().unwrap_or("exec \"$@\"");
        let mut command = self.attacker.command("bash");
        command
            .arg("-c")
            .arg(self.fill_in(&format!("exec 9</; {start}")))
            .arg("runner")
            .arg(&self.attacker.toolcrib)
            .args(["--json", "sandbox", "--isolation", level])
            .args(case.time())
            .args(case.flags.iter().map(|flag| self.fill_in(flag)))
            .arg("--")
            .args(case.program(self))
            .current_dir(self.at("ws"))
            .env_clear()
            .env("PATH", PATH)
            .env("SHELL", "/bin/bash")
            .env("TOOLCRIB_HOME", self.at("toolcrib"))
            .env("AWS_SECRET_ACCESS_KEY", "AWS_SECRET_VALUE")
            .env("HOME", self.at("home"))
            .envs(
                case.env
                    .iter()
                    .map(|(name, value)| (name, self.fill_in(value))),
            );
        if case.id == "fs-12" && self.attacker.name() == "root" {
            // Root's own home, with the toolchains in it that are readable.
            command.env("HOME", "/root");
        }
        command
    }

    /// What has reached the sockets of the host.
    fn reached(&self) -> Vec<&'static str> {
        let mut reached = Vec::new();
        for listener in &self.sockets.tcp {
            listener.set_nonblocking(true).unwrap();
            reached.extend(listener.accept().ok().map(|_| "a TCP socket"));
        }
        for listener in &self.sockets.unix {
            listener.set_nonblocking(true).unwrap();
            reached.extend(listener.accept().ok().map(|_| "a unix socket"));
        }
        let mut byte = [0];
        self.sockets.udp.set_nonblocking(true).unwrap();
        reached.extend(self.sockets.udp.recv(&mut byte).ok().map(|_| "UDP"));
        self.sockets.datagram.set_nonblocking(true).unwrap();
        let came = self.sockets.datagram.recv(&mut byte);
        reached.extend(came.ok().map(|_| "a datagram socket"));
        reached
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        // Trees deeper than the standard library's removal goes, directories without permissions.
        let _ = host(
            "chmod -R u+rwx . 2>/dev/null; rm -rf ./* ./.[!.]*",
            &self.at("ws"),
        )
        .stderr(Stdio::null())
        .status();
        let _ = &self.elsewhere;
    }
}

/// A repository with a commit.
fn repository() -> TempDir {
    let made = directory(PLACE);
    let git = "git init -q -b main && echo hello > README && git add README \
        && git -c user.name=a -c user.email=a@b commit -q -m first";
    let status = host(git, made.path()).status().unwrap();
    assert!(status.success(), "git could not make a repository");
    made
}

/// Bash on the host, as ourselves.
fn host(script: &str, at: &Path) -> Command {
    let mut command = Command::new("bash");
    command
        .args(["-c", script])
        .current_dir(at)
        .env_clear()
        .env("PATH", PATH);
    command
}

/// Runs one attack at one level; what is wrong about it, if anything is.
fn attack(case: &Case, level: &str, attacker: &Attacker) -> Result<String, String> {
    let mut scene = Scene::new(attacker);
    if let Some(script) = &case.setup {
        scene.set_up(script)?;
    }
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
        if !named.iter().any(|name| *name == *path) {
            return Err(format!(
                "the report does not say that `{path}` was planted\n{all}"
            ));
        }
    }
    Ok(all)
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

/// Runs all cases, two at a time, and tells all that went wrong at once.
fn every_attack_fails(cases: &str, attacker: &Attacker) {
    // For one's own hunt: ONLY_ATTACKS=name-,net-1 runs these and shows what they print.
    let wanted = std::env::var("ONLY_ATTACKS");
    let only = wanted.as_deref().unwrap_or("");
    let cases = Case::all(cases);
    let runs: Vec<(&Case, &str)> = cases
        .iter()
        .filter(|case| only.split(',').any(|start| case.id.starts_with(start)))
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
                    let answer = attack(case, level, attacker);
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

fn as_root(cases: &str) {
    if is_root() {
        every_attack_fails(cases, &Attacker::ourselves());
    } else {
        println!("SKIPPED: only root can find out what root can do");
    }
}

fn as_an_ordinary_user(cases: &str) {
    match Attacker::ordinary() {
        Some(attacker) => every_attack_fails(cases, &attacker),
        None => println!("SKIPPED: there is no `setpriv` to become an ordinary user with"),
    }
}

#[test]
fn every_attack_fails_at_every_level_it_must_as_root() {
    as_root(GIVEN);
}

#[test]
fn every_attack_fails_at_every_level_it_must_as_an_ordinary_user() {
    as_an_ordinary_user(GIVEN);
}

#[test]
fn every_further_attack_fails_at_every_level_it_must_as_root() {
    as_root(MORE);
}

#[test]
fn every_further_attack_fails_at_every_level_it_must_as_an_ordinary_user() {
    as_an_ordinary_user(MORE);
}

/// Nothing an attack aims at is missing: otherwise it fails for a reason that is no wall.
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
        println!("SKIPPED: no attack over IPv6, there is none here ({kind})");
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
