//! What the attacks are after: secrets, sockets, a repository, a victim.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use super::case::{Attacker, Case};
use super::{PATH, PLACE};

/// A directory that anybody may enter.
pub(super) fn directory(beneath: &str) -> TempDir {
    let directory = tempfile::tempdir_in(beneath).unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    directory
}

/// What an attack finds around it.
pub(super) struct Scene {
    pub(super) attacker: Attacker,
    pub(super) directory: TempDir,
    pub(super) elsewhere: TempDir,
    /// In every name that leaves traces on the host, so that scenes do not see each other's.
    pub(super) mark: String,
    pub(super) core_pattern: String,
    pub(super) tokens: BTreeMap<String, String>,
    pub(super) sockets: Sockets,
    pub(super) victim: Child,
}

/// Sockets of the host; whatever reaches them has got out.
pub(super) struct Sockets {
    pub(super) tcp: Vec<TcpListener>,
    pub(super) udp: UdpSocket,
    pub(super) unix: Vec<UnixListener>,
    pub(super) datagram: UnixDatagram,
}

impl Scene {
    pub(super) fn new(attacker: &Attacker) -> Self {
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

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn fill_in(&self, text: &str) -> String {
        let mut text = text.replace("tc_", &self.mark);
        // The longer names first: `PORT` is in all of them.
        for (token, value) in self.tokens.iter().rev() {
            text = text.replace(token, value);
        }
        text
    }

    /// Bash on the host, as the user who runs the sandbox.
    pub(super) fn host(&self, script: &str) -> Command {
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

    pub(super) fn set_up(&mut self, script: &str) -> Result<(), String> {
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

    pub(super) fn runner(&self, case: &Case, level: &str) -> Command {
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
    pub(super) fn reached(&self) -> Vec<&'static str> {
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
pub(super) fn repository() -> TempDir {
    let made = directory(PLACE);
    let git = "git init -q -b main && echo hello > README && git add README \
        && git -c user.name=a -c user.email=a@b commit -q -m first";
    let status = host(git, made.path()).status().unwrap();
    assert!(status.success(), "git could not make a repository");
    made
}

/// Bash on the host, as ourselves.
pub(super) fn host(script: &str, at: &Path) -> Command {
    let mut command = Command::new("bash");
    command
        .args(["-c", script])
        .current_dir(at)
        .env_clear()
        .env("PATH", PATH);
    command
}
