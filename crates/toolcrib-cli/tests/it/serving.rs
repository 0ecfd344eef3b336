//! `toolcrib serve` as a separate process, and requests to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::harness::Test;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A server that runs; killed when it is dropped.
pub(crate) struct Serving {
    child: Child,
    lines: Receiver<String>,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

impl Serving {
    /// Starts a server on a port that is free.
    pub(crate) fn start(test: &Test) -> Self {
        Serving::start_with(test, &[])
    }

    /// With more words.
    pub(crate) fn start_with(test: &Test, words: &[&str]) -> Self {
        Serving::spawn(test, test.command(), words)
    }

    /// With at most so many open files.
    pub(crate) fn start_with_files(test: &Test, files: u32) -> Self {
        Serving::start_limited(test, &format!("-n {files}"))
    }

    /// With at most so many KB of memory.
    pub(crate) fn start_with_memory(test: &Test, kilobytes: u64) -> Self {
        Serving::start_limited(test, &format!("-d {kilobytes}"))
    }

    fn start_limited(test: &Test, limit: &str) -> Self {
        let toolcrib = test.command();
        let mut command = Command::new("sh");
        let limited = format!("ulimit {limit}; exec \"$0\" \"$@\"");
        command
            .args(["-c", &limited])
            .arg(toolcrib.get_program())
            .current_dir(test.workspace())
            .env_clear();
        for (name, value) in toolcrib.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        Serving::spawn(test, command, &[])
    }

    pub(crate) fn spawn(test: &Test, mut command: Command, words: &[&str]) -> Self {
        let mut child = command
            .args(["serve", "--addr", "127.0.0.1:0"])
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines() {
                let Ok(line) = line else { return };
                let _ = send.send(line);
            }
        });
        let address = loop {
            let line = lines
                .recv_timeout(PATIENCE)
                .expect("it says where it listens");
            let plain = line.strip_prefix("listening on http://");
            if let Some(address) = plain.or_else(|| line.strip_prefix("listening on https://")) {
                break address.parse().unwrap();
            }
        };
        let token = std::fs::read_to_string(test.home().join("token")).unwrap();
        Serving {
            child,
            lines,
            address,
            token: token.trim().to_owned(),
        }
    }

    /// What it said since someone last looked.
    pub(crate) fn said(&self) -> String {
        self.lines.try_iter().collect::<Vec<_>>().join("\n")
    }

    /// The most memory that it has had, in KB.
    pub(crate) fn peak_memory(&self) -> u64 {
        self.status("VmHWM:")
    }

    /// The memory that it has now, in KB.
    pub(crate) fn memory(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// A number from the kernel's page about the process.
    fn status(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.unwrap().split_whitespace().next().unwrap();
        number.parse().unwrap()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < until, "it does not end: {}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends it as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn client(&self) -> Client {
        Client {
            address: self.address,
            token: self.token.clone(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        self.client().ask("GET", path, &Value::Null).unwrap()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.client().ask("POST", path, body).unwrap()
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> (u16, Value) {
        self.client().ask("PUT", path, body).unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Someone with the operator's token.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

impl Client {
    /// One request on its own connection. `None` if there was no whole answer: nothing was acknowledged.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
        let text = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let kind = match text.is_empty() {
            true => "",
            false => "Content-Type: application/json\r\n",
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nAuthorization: Bearer {}\r\n{kind}\
             Content-Length: {}\r\nConnection: close\r\n\r\n{text}",
            self.address.port(),
            self.token,
            text.len()
        );
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        match body {
            "" => Some((status, Value::Null)),
            body => Some((status, serde_json::from_str(body).ok()?)),
        }
    }
}

/// Waits for something to become true.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
