//! A PostgreSQL server of a test's own: in a temporary directory, on a port of loopback, by a user who is not root.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Whom the server runs as, where the test is run by root: no one.
const NOBODY: u32 = 65534;

/// The password of the superuser, and of `reader`.
pub(super) const PASSWORD: &str = "correct horse battery";

/// A running server. Dropping it ends it.
pub(super) struct Server {
    directory: tempfile::TempDir,
    running: Option<Child>,
    pub(super) port: u16,
}

/// Where the server's programs are: in `PATH`, or where Debian puts them.
fn programs() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
            let versions = std::fs::read_dir("/usr/lib/postgresql")
                .into_iter()
                .flatten();
            places.extend(versions.flatten().map(|version| version.path().join("bin")));
            let has_all = |place: &PathBuf| {
                ["initdb", "postgres"]
                    .iter()
                    .all(|name| place.join(name).exists())
            };
            places.into_iter().find(has_all)
        })
        .as_deref()
}

/// A program of the server, as a user who may run it.
fn program(name: &str) -> Command {
    let place = programs().unwrap().join(name);
    if !rustix::process::geteuid().is_root() {
        return Command::new(place);
    }
    let mut command = Command::new("setpriv");
    command
        .args([
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            "--pdeathsig",
            "KILL",
        ])
        .arg(place);
    command
}

impl Server {
    /// Starts one, or says why there is none.
    pub(super) fn start() -> Option<Server> {
        Server::start_with("", &[])
    }

    /// Starts one with more settings, and with files in its directory that no one else reads.
    pub(super) fn start_with(settings: &str, files: &[(&str, &str)]) -> Option<Server> {
        if programs().is_none() {
            crate::skipped(format_args!(
                "there is no PostgreSQL server (initdb, postgres)"
            ));
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        std::fs::create_dir(&data).unwrap();
        let password = directory.path().join("password");
        std::fs::write(&password, PASSWORD).unwrap();
        own(directory.path());
        own(&data);
        own(&password);
        let made = program("initdb")
            .args([
                "--no-sync",
                "-U",
                "postgres",
                "-A",
                "scram-sha-256",
                "-E",
                "UTF8",
                "--locale",
                "C",
                "--no-instructions",
            ])
            .arg("--pwfile")
            .arg(&password)
            .arg("-D")
            .arg(&data)
            .current_dir("/")
            .output()
            .unwrap();
        if !made.status.success() {
            let why = String::from_utf8_lossy(&made.stderr).replace('\n', " ");
            crate::skipped(format_args!("initdb does not work here: {why}"));
            return None;
        }
        for (name, content) in files {
            let path = data.join(name);
            std::fs::write(&path, content).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            own(&path);
        }
        let mut server = Server {
            directory,
            running: None,
            port: 0,
        };
        for _ in 0..5 {
            server.port = TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap()
                .port();
            if server.run(settings) {
                server.sql("CREATE ROLE reader LOGIN PASSWORD 'correct horse battery'; CREATE DATABASE shop OWNER reader");
                return Some(server);
            }
        }
        panic!("the server does not start: {}", server.log());
    }

    fn run(&mut self, settings: &str) -> bool {
        let data = self.directory.path().join("data");
        let plain = format!(
            "listen_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = '{}'\nfsync = off\nmax_connections = 40\n{settings}\n",
            self.port,
            self.directory.path().display()
        );
        std::fs::write(data.join("postgresql.auto.conf"), plain).unwrap();
        own(&data.join("postgresql.auto.conf"));
        let log = std::fs::File::create(self.directory.path().join("log")).unwrap();
        let started = program("postgres")
            .arg("-D")
            .arg(&data)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut running = started;
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            if running.try_wait().unwrap().is_some() {
                return false;
            }
            // The port listens before the server lets anybody in; its log says when it does.
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok()
                && self
                    .log()
                    .contains("database system is ready to accept connections")
            {
                self.running = Some(running);
                return true;
            }
            std::thread::yield_now();
        }
        let _ = running.kill();
        let _ = running.wait();
        false
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// Runs statements as the superuser in the database `postgres`.
    pub(super) fn sql(&self, sql: &str) -> String {
        self.sql_in("postgres", sql)
    }

    /// Runs statements as the superuser in any database; returns what `psql` prints of the rows.
    pub(super) fn sql_in(&self, database: &str, sql: &str) -> String {
        let mut all = String::new();
        // Each by itself: a database cannot be made in a transaction.
        for one in sql.split("; ") {
            let output = Command::new("psql")
                .args([
                    "-X",
                    "-q",
                    "-A",
                    "-t",
                    "-v",
                    "ON_ERROR_STOP=1",
                    "-h",
                    "127.0.0.1",
                    "-U",
                    "postgres",
                ])
                .args(["-p", &self.port.to_string(), "-d", database, "-c", one])
                .env("PGPASSWORD", PASSWORD)
                .env("PGSSLMODE", "prefer")
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{one}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            all.push_str(&String::from_utf8_lossy(&output.stdout));
        }
        all.trim().to_owned()
    }

    /// Kills it without any goodbye.
    pub(super) fn kill(&mut self) {
        let mut running = self.running.take().unwrap();
        // The processes of connections notice that their parent is gone.
        running.kill().unwrap();
        running.wait().unwrap();
    }

    /// Starts it again where it was.
    pub(super) fn restart(&mut self) {
        // Connections of before end by themselves, and let go of the data.
        let lock = self.directory.path().join("data/postmaster.pid");
        let deadline = Instant::now() + Duration::from_secs(30);
        while !self.run("") {
            assert!(Instant::now() < deadline, "{}", self.log());
            let _ = std::fs::remove_file(&lock);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = &mut self.running {
            // Quits at once; its children with it.
            let id = nix::unistd::Pid::from_raw(i32::try_from(running.id()).unwrap());
            let _ = nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGQUIT);
            let _ = running.wait();
        }
    }
}

fn own(path: &Path) {
    if rustix::process::geteuid().is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}
