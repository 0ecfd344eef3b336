//! Upstream MCP servers: real programs and a real server on loopback, behind a crib.

mod calls;
mod failures;
mod http;
mod material;
mod oauth;
mod pins;
mod registry;
mod walled;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib::approval::AllowAll;
use toolcrib::config::{Replace, Surroundings};
use toolcrib::crib::{Crib, CribOptions, UpstreamCandidate};
use toolcrib::upstream::UpstreamSettings;
use toolcrib::{CallRequest, Outcome, Slug};

const SERVER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/upstream_server.py"
);

/// A home with a crib on it.
struct Scene {
    home: tempfile::TempDir,
    crib: Crib,
}

fn open(home: &Path) -> Crib {
    CribOptions::default()
        .home(home)
        .surroundings(Surroundings::new(home, []))
        .approver(AllowAll::by("the test"))
        .open()
        .unwrap()
}

fn slug(name: &str) -> Slug {
    Slug::parse(name).unwrap()
}

fn candidate(name: &str, settings: Value) -> UpstreamCandidate {
    UpstreamCandidate {
        name: slug(name),
        settings: UpstreamSettings::read(settings.as_object().unwrap()).unwrap(),
    }
}

/// The settings of the server of the tests in a mode.
fn fake(mode: &str, file: Option<&Path>) -> Value {
    let mut args = vec![SERVER.to_owned(), mode.to_owned()];
    args.extend(file.map(|file| file.to_string_lossy().into_owned()));
    json!({"command": "python3", "args": args})
}

impl Scene {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let crib = open(home.path());
        Scene { home, crib }
    }

    /// Connects to a server, accepts what it is and adds it.
    async fn add(&self, name: &str, settings: Value) {
        let candidate = candidate(name, settings);
        let probe = self.crib.probe_candidate(&candidate).await.unwrap();
        self.crib
            .add_upstream(&candidate, Some(&probe), Replace::Never)
            .unwrap();
    }

    /// Adds a server that answers under other settings, of which then the given ones are configured.
    async fn add_like(&self, name: &str, settings: Value) {
        let probe = self
            .crib
            .probe_candidate(&candidate(name, fake("plain", None)))
            .await
            .unwrap();
        self.crib
            .add_upstream(&candidate(name, settings), Some(&probe), Replace::Never)
            .unwrap();
    }

    async fn call(&self, tool: &str, args: Value) -> Outcome {
        let args = args.as_object().unwrap().clone();
        self.crib
            .registry()
            .execute(CallRequest::new(tool).args(args))
            .await
    }
}

fn pid_in(file: &Path) -> i32 {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        if let Ok(text) = std::fs::read_to_string(file)
            && let Ok(pid) = text.trim().parse()
        {
            return pid;
        }
        assert!(Instant::now() < deadline, "no one wrote {}", file.display());
        std::thread::yield_now();
    }
}

/// Waits until a process is gone.
fn gone(pid: i32) {
    let pid = nix::unistd::Pid::from_raw(pid);
    let deadline = Instant::now() + Duration::from_secs(10);
    while nix::sys::signal::kill(pid, None).is_ok() {
        assert!(Instant::now() < deadline, "{pid} still lives");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn file(scene: &Scene, name: &str) -> PathBuf {
    scene.home.path().join(name)
}
