//! `toolcrib serve` below a service manager: sockets that it passes on (`LISTEN_FDS`), and what it is notified of (`NOTIFY_SOCKET`).

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal};

use crate::harness::{Ran, Test};
use crate::serving::{Client, PATIENCE};

/// Runs `serve` with sockets as descriptors 3 and 4, as a service manager does: the shell's process becomes the server.
fn below_manager(test: &Test, first: OwnedFd, second: Option<OwnedFd>, words: &str) -> Command {
    let toolcrib = test.command();
    let (count, moved) = match second.is_some() {
        true => (2, "exec 3<&0 4>&1 </dev/null >/dev/null"),
        false => (1, "exec 3<&0 </dev/null >/dev/null"),
    };
    let script = format!("{moved}; LISTEN_PID=$$ LISTEN_FDS={count} exec \"$0\" serve {words}");
    let mut command = Command::new("sh");
    command
        .args(["-c", &script])
        .arg(toolcrib.get_program())
        .current_dir(test.workspace())
        .env_clear()
        .stdin(Stdio::from(first))
        .stdout(second.map_or_else(Stdio::null, Stdio::from))
        .stderr(Stdio::piped());
    for (name, value) in toolcrib.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command
}

/// A server that is ended with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The notifications of one server.
fn manager(test: &Test) -> UnixDatagram {
    let socket = UnixDatagram::bind(test.workspace().join("../notify")).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn heard(socket: &UnixDatagram) -> String {
    let mut bytes = [0; 64];
    let length = socket.recv(&mut bytes).expect("it is notified");
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

fn token(test: &Test) -> String {
    let token = std::fs::read_to_string(test.home().join("token")).unwrap();
    token.trim().to_owned()
}

#[test]
fn a_server_answers_on_the_address_that_it_was_given_and_says_when_it_is_ready_and_stops() {
    let test = Test::new();
    let notified = manager(&test);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let name = test.workspace().join("../notify");
    let mut command = below_manager(&test, listener.into(), None, "");
    let mut server = Ended(command.env("NOTIFY_SOCKET", name).spawn().unwrap());
    assert_eq!(heard(&notified), "READY=1");
    let client = Client {
        address,
        token: token(&test),
    };
    let (status, health) = client
        .ask("GET", "/api/health", &serde_json::Value::Null)
        .unwrap();
    assert_eq!((status, health["status"].as_str()), (200, Some("ok")));
    rustix::process::kill_process(Pid::from_child(&server.0), Signal::TERM).unwrap();
    assert_eq!(heard(&notified), "STOPPING=1");
    assert!(server.0.wait().unwrap().success());
}

#[test]
fn an_address_and_a_name_in_the_file_system_may_be_given_and_the_name_stays() {
    let test = Test::new();
    let name =
        SocketAddr::from_abstract_name(format!("toolcrib-test-{}", test.workspace().display()))
            .unwrap();
    let notified = UnixDatagram::bind_addr(&name).unwrap();
    notified.set_read_timeout(Some(PATIENCE)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let path = test.workspace().join("crib.sock");
    let unix = UnixListener::bind(&path).unwrap();
    let mut command = below_manager(&test, listener.into(), Some(unix.into()), "");
    let spelled = format!("@toolcrib-test-{}", test.workspace().display());
    let server = Ended(command.env("NOTIFY_SOCKET", spelled).spawn().unwrap());
    assert_eq!(heard(&notified), "READY=1");
    let mut stream = UnixStream::connect(&path).unwrap();
    stream
        .write_all(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    rustix::process::kill_process(Pid::from_child(&server.0), Signal::TERM).unwrap();
    assert_eq!(heard(&notified), "STOPPING=1");
    drop(server);
    // It is its maker's to remove.
    assert!(path.exists());
}

#[test]
fn what_was_given_and_cannot_be_listened_on_is_refused() {
    let test = Test::new();
    let refused = |first: OwnedFd, second: Option<OwnedFd>, words: &str| {
        Ran::of(below_manager(&test, first, second, words).output().unwrap()).exits(2)
    };
    let listener = || OwnedFd::from(TcpListener::bind("127.0.0.1:0").unwrap());
    refused(listener(), Some(listener()), "").says("there are several addresses");
    refused(listener(), None, "--addr 127.0.0.1:0").says("`--addr` and `--socket`");
    let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    refused(datagrams.into(), None, "").says("it does not listen for streams");
    let open = TcpListener::bind("0.0.0.0:0").unwrap();
    refused(open.into(), None, "").says("without TLS");
}

#[test]
fn sockets_of_a_process_above_are_not_taken() {
    let test = Test::new().variable("LISTEN_FDS", "1");
    let test = test.variable("LISTEN_PID", "1");
    let server = crate::serving::Serving::start(&test);
    assert_eq!(server.get("/api/health").0, 200);
}

#[test]
fn a_manager_that_is_gone_is_a_warning() {
    let test = Test::new();
    let nowhere = test.workspace().join("nowhere");
    let test = test.variable("NOTIFY_SOCKET", nowhere.to_str().unwrap());
    let mut server = crate::serving::Serving::start(&test);
    assert_eq!(server.get("/api/health").0, 200);
    server.signal(Signal::TERM);
    assert!(server.ended().success());
    assert!(server.said().contains("cannot notify the service manager"));
}
