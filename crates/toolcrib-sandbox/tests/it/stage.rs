//! Where tests play: a sandbox, a workspace, and the same test again as an ordinary user.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process,
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use toolcrib_sandbox::{
    Cancel, Command, Layer, Level, Policy, Report, Sandbox, SandboxError, Stream,
};

/// Set in the process that runs a test again as an ordinary user.
const RUN_AS: &str = "TOOLCRIB_TEST_AS";
const NOBODY: u32 = 65534;
/// How long a test may take, for each user.
const PATIENCE: Duration = Duration::from_secs(20);
/// What commands find programs by; the caller's own may lead to places that an ordinary user cannot read.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

pub(crate) const WALLS: [Level; 2] = [Level::Process, Level::Container];

/// Runs a test, and where we are root runs it again as `nobody`, in its own process. The closure must be the test's
/// own: its type says the test's name.
pub(crate) fn as_root_and_nobody<F: FnOnce()>(body: F) {
    within(PATIENCE, body);
}

/// Like [`as_root_and_nobody`], but for a test that takes longer.
pub(crate) fn within<F: FnOnce()>(patience: Duration, body: F) {
    watched(patience, body);
    if is_root() {
        assert!(
            again_as_nobody(&test_name::<F>()),
            "the test passes as root and fails as an ordinary user, see above"
        );
    }
}

/// Runs a test where we are root.
pub(crate) fn as_root<F: FnOnce()>(body: F) {
    if is_root() {
        watched(PATIENCE, body);
    } else {
        skipped(&test_name::<F>(), "needs root");
    }
}

/// Runs a test as an ordinary user only.
pub(crate) fn as_nobody<F: FnOnce()>(body: F) {
    if is_root() {
        assert!(
            again_as_nobody(&test_name::<F>()),
            "the test fails as an ordinary user, see above"
        );
    } else {
        watched(PATIENCE, body);
    }
}

/// Does something, and ends this test and every process it left when that never returns: a hang is a failure, not a wait.
fn watched(patience: Duration, body: impl FnOnce()) {
    // SAFETY: numbers only. Orphans become ours, so that they can be found.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        if is_done.recv_timeout(patience) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        eprintln!("HANGS: no end after {patience:?}; everything is killed");
        let kill_all = || {
            let all = descendants(process::id());
            for signal in [libc::SIGSTOP, libc::SIGKILL] {
                for pid in &all {
                    // SAFETY: numbers only; descendants of ours.
                    unsafe { libc::kill(*pid as i32, signal) };
                }
            }
            all.is_empty()
        };
        eventually(Duration::from_secs(5), kill_all);
        process::exit(101);
    });
    body();
    drop(done);
}

/// Living processes that descend from this one.
pub(crate) fn descendants(of: u32) -> Vec<u32> {
    let mut parents = BTreeMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let mut fields = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        if let (Some(state), Some(Ok(parent))) =
            (fields.next(), fields.next().map(str::parse::<u32>))
            && state != "Z"
        {
            parents.insert(pid, parent);
        }
    }
    let mut found = vec![of];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        at += 1;
        found.extend(
            parents
                .iter()
                .filter(|(_, of)| **of == parent)
                .map(|(pid, _)| *pid),
        );
    }
    found.split_off(1)
}

pub(crate) fn is_root() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() == 0 }
}

pub(crate) fn skipped(name: &str, reason: &str) {
    eprintln!("SKIPPED {name}: {reason}");
}

/// `it::module::test::{{closure}}` without its ends.
fn test_name<F>() -> String {
    let name = std::any::type_name::<F>();
    let name = name.split_once("::").map_or(name, |(_, rest)| rest);
    name.split("::{{closure}}").next().unwrap().to_owned()
}

fn again_as_nobody(test: &str) -> bool {
    // Not in /tmp, which runs replace by their own: the other case is root's.
    let home = tempfile::Builder::new()
        .prefix("wall-")
        .tempdir_in("/var/tmp")
        .unwrap();
    chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let program = reachable_self(home.path());
    let status = process::Command::new(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(RUN_AS, NOBODY.to_string())
        .env("TMPDIR", home.path())
        .env("HOME", home.path())
        .env("PATH", PATH)
        .current_dir(home.path())
        .gid(NOBODY)
        .uid(NOBODY)
        .status()
        .unwrap();
    status.success()
}

/// This test program, or a copy where its own place is closed to others.
fn reachable_self(home: &Path) -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let open = |path: &Path| {
        fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o5 == 0o5)
    };
    if program.ancestors().all(open) {
        return program;
    }
    let copy = home.join("it");
    fs::copy(&program, &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    copy
}

/// A temporary directory with a path that no link leads through.
pub(crate) fn directory() -> TempDir {
    let base = std::env::temp_dir().canonicalize().unwrap();
    tempfile::Builder::new()
        .prefix("wall-")
        .tempdir_in(base)
        .unwrap()
}

/// A sandbox with a workspace, and a place outside of it.
pub(crate) struct Stage {
    pub(crate) sandbox: Sandbox,
    pub(crate) workspace: PathBuf,
    pub(crate) outside: PathBuf,
    // Last: the sandbox lets go of the workspace first.
    _home: TempDir,
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) report: Report,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// As the caller waited.
    pub(crate) took: Duration,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(Sandbox::new().unwrap())
    }

    /// A machine without these layers.
    pub(crate) fn without(layers: &[Layer]) -> Self {
        let support = Sandbox::new().unwrap().support().clone();
        let support = layers
            .iter()
            .fold(support, |support, layer| support.without(*layer));
        Self::with(Sandbox::with_support(support).unwrap())
    }

    /// A machine that offers neither processes nor mounts of one's own, as in many containers.
    pub(crate) fn without_namespaces() -> Self {
        Self::without(&[Layer::PidNamespace, Layer::MountNamespace])
    }

    fn with(sandbox: Sandbox) -> Self {
        let home = directory();
        let workspace = home.path().join("workspace");
        let outside = home.path().join("outside");
        fs::create_dir(&workspace).unwrap();
        fs::create_dir(&outside).unwrap();
        Self {
            sandbox,
            workspace,
            outside,
            _home: home,
        }
    }

    /// A policy for the workspace with a time limit that a test would notice.
    pub(crate) fn policy(&self, level: Level) -> Policy {
        let mut policy = Policy::new(level, &self.workspace);
        policy.limits.time = Some(Duration::from_secs(20));
        policy
    }

    pub(crate) fn run(&self, policy: &Policy, command: &Command) -> Result<Ran, SandboxError> {
        let cancel = Cancel::new().unwrap();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let prepared = self.sandbox.prepare(policy)?;
        let began = Instant::now();
        let report = prepared.run(
            command,
            &mut |stream, bytes| match stream {
                Stream::Stdout => stdout.extend_from_slice(bytes),
                Stream::Stderr => stderr.extend_from_slice(bytes),
            },
            &cancel,
        )?;
        Ok(Ran {
            report,
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
            took: began.elapsed(),
        })
    }

    pub(crate) fn bash(&self, policy: &Policy, script: &str) -> Ran {
        self.run(policy, &bash(script)).unwrap()
    }

    pub(crate) fn python(&self, policy: &Policy, script: &str) -> Ran {
        self.run(policy, &python(script)).unwrap()
    }

    /// Makes a file of the workspace, with its directories.
    pub(crate) fn file(&self, name: &str, text: &str) {
        let path = self.workspace.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Makes the workspace a git repository with one commit.
    pub(crate) fn repository(&self) {
        git(&self.workspace, &["init", "--quiet", "-b", "main"]);
        self.file("tracked.txt", "one\n");
        git(&self.workspace, &["add", "tracked.txt"]);
        git(&self.workspace, &["commit", "--quiet", "-m", "one"]);
    }
}

pub(crate) fn bash(script: &str) -> Command {
    Command::new("bash").env("PATH", PATH).args(["-c", script])
}

pub(crate) fn python(script: &str) -> Command {
    Command::new("/usr/bin/python3")
        .env("PATH", PATH)
        .args(["-c", script])
}

/// Runs git outside of any wall, with no one's configuration.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = process::Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
        .args(arguments)
        .current_dir(directory)
        .env("PATH", PATH)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Looks until it is so; false when the time is over first.
pub(crate) fn eventually(within: Duration, mut so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + within;
    loop {
        if so() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::yield_now();
    }
}

/// A word that no other process has in its arguments.
pub(crate) fn token() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("marked-{}-{number}-{}", process::id(), nanoseconds())
}

fn nanoseconds() -> u128 {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_nanos()
}

/// Processes other than this one with a word in their arguments. The dead that no one has collected have no arguments.
pub(crate) fn marked(token: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some(pid) = pid.filter(|pid| *pid != process::id())
            && let Ok(arguments) = fs::read(entry.path().join("cmdline"))
            && contains(&arguments, token.as_bytes())
        {
            found.push(pid);
        }
    }
    found
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Every path beneath a directory: its kind, mode, owner, and what it holds.
pub(crate) fn snapshot(root: &Path) -> BTreeMap<PathBuf, (u32, u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut queue = vec![root.to_owned()];
    while let Some(directory) = queue.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else if metadata.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            if metadata.is_dir() {
                queue.push(path.clone());
            }
            all.insert(path, (metadata.mode(), metadata.uid(), content));
        }
    }
    all
}

/// The names in a directory, sorted.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .unwrap()
        .iter()
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
