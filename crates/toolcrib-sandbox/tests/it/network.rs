//! With the network off nothing gets out; with it on, only IP does.

use crate::stage::{Ran, Stage, WALLS, as_root_and_nobody};
use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr as UnixAddr, UnixDatagram, UnixListener},
    },
    time::Duration,
};
use toolcrib_sandbox::{Layer, Level, Network};

/// Listeners of the host, all of which answer or note what arrives.
pub(crate) struct Host {
    tcp4: TcpListener,
    tcp6: Option<TcpListener>,
    udp: UdpSocket,
    stream: UnixListener,
    datagram: UnixDatagram,
    stream_inside: UnixListener,
    abstract_name: String,
    hidden: UnixListener,
}

impl Host {
    fn new(stage: &Stage) -> Self {
        let abstract_name = crate::stage::token();
        let hidden = UnixAddr::from_abstract_name(&abstract_name).unwrap();
        let host = Self {
            tcp4: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap(),
            tcp6: TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).ok(),
            udp: UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap(),
            stream: UnixListener::bind(stage.outside.join("stream")).unwrap(),
            datagram: UnixDatagram::bind(stage.outside.join("datagram")).unwrap(),
            stream_inside: UnixListener::bind(stage.workspace.join("stream")).unwrap(),
            abstract_name,
            hidden: UnixListener::bind_addr(&hidden).unwrap(),
        };
        host.tcp4.set_nonblocking(true).unwrap();
        if let Some(tcp6) = &host.tcp6 {
            tcp6.set_nonblocking(true).unwrap();
        }
        host.udp.set_nonblocking(true).unwrap();
        host.stream.set_nonblocking(true).unwrap();
        host.datagram.set_nonblocking(true).unwrap();
        host.stream_inside.set_nonblocking(true).unwrap();
        host.hidden.set_nonblocking(true).unwrap();
        host
    }

    /// What has reached the host, by name.
    fn reached(&self) -> Vec<&'static str> {
        let mut byte = [0; 1];
        let mut reached = Vec::new();
        let mut note = |name, yes: bool| {
            if yes {
                reached.push(name);
            }
        };
        note("tcp4", self.tcp4.accept().is_ok());
        note(
            "tcp6",
            self.tcp6.as_ref().is_some_and(|tcp6| tcp6.accept().is_ok()),
        );
        note("udp", self.udp.recv(&mut byte).is_ok());
        note("unix stream", self.stream.accept().is_ok());
        note("unix datagram", self.datagram.recv(&mut byte).is_ok());
        note("unix stream inside", self.stream_inside.accept().is_ok());
        note("abstract", self.hidden.accept().is_ok());
        reached
    }

    /// Tries everything, and says what the program inside believes to have done.
    fn attack(&self, stage: &Stage, level: Level, network: Network) -> Ran {
        let port = |address: io::Result<SocketAddr>| address.unwrap().port();
        let script = ATTEMPTS
            .replace("TCP4", &port(self.tcp4.local_addr()).to_string())
            .replace(
                "TCP6",
                &self
                    .tcp6
                    .as_ref()
                    .map_or(1, |tcp| port(tcp.local_addr()))
                    .to_string(),
            )
            .replace("UDP4", &port(self.udp.local_addr()).to_string())
            .replace("OUTSIDE", stage.outside.to_str().unwrap())
            .replace("WORKSPACE", stage.workspace.to_str().unwrap())
            .replace("HIDDEN", &self.abstract_name);
        let mut policy = stage.policy(level);
        policy.network = network;
        let ran = stage.python(&policy, &script);
        assert!(ran.stdout.ends_with("done\n"), "{level}: {ran:?}");
        ran
    }
}

/// Prints the name of every attempt that worked.
const ATTEMPTS: &str = r#"
import ctypes, errno, os, socket as s
def attempt(name, what):
    try:
        what()
        print(name)
    except (OSError, AttributeError) as error:
        pass
def connect(family, kind, address):
    one = s.socket(family, kind); one.settimeout(2); one.connect(address); one.send(b"x")
def send(family, address):
    one = s.socket(family, s.SOCK_DGRAM); one.settimeout(2); one.sendto(b"x", address)
def pair(address):
    # A pair needs no right to make sockets, and a datagram one can be sent anywhere.
    one, two = s.socketpair(s.AF_UNIX, s.SOCK_DGRAM); one.sendto(b"x", address)
def message(address):
    one, two = s.socketpair(s.AF_UNIX, s.SOCK_DGRAM); one.sendmsg([b"x"], [], 0, address)
def reconnect(address):
    one, two = s.socketpair(s.AF_UNIX, s.SOCK_DGRAM); one.connect(address); one.send(b"x")
def call(number, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *arguments) < 0: raise OSError(ctypes.get_errno(), "")
attempt("tcp4", lambda: connect(s.AF_INET, s.SOCK_STREAM, ("127.0.0.1", TCP4)))
attempt("tcp6", lambda: connect(s.AF_INET6, s.SOCK_STREAM, ("::1", TCP6)))
attempt("mapped", lambda: connect(s.AF_INET6, s.SOCK_STREAM, ("::ffff:127.0.0.1", TCP4)))
attempt("udp", lambda: send(s.AF_INET, ("127.0.0.1", UDP4)))
attempt("unix stream", lambda: connect(s.AF_UNIX, s.SOCK_STREAM, "OUTSIDE/stream"))
attempt("unix stream inside", lambda: connect(s.AF_UNIX, s.SOCK_STREAM, "WORKSPACE/stream"))
attempt("unix datagram", lambda: send(s.AF_UNIX, "OUTSIDE/datagram"))
attempt("seqpacket", lambda: connect(s.AF_UNIX, s.SOCK_SEQPACKET, "OUTSIDE/stream"))
attempt("abstract", lambda: connect(s.AF_UNIX, s.SOCK_STREAM, "\0HIDDEN"))
attempt("pair", lambda: pair("OUTSIDE/datagram"))
attempt("message", lambda: message("OUTSIDE/datagram"))
attempt("reconnect", lambda: reconnect("OUTSIDE/datagram"))
attempt("vsock", lambda: s.socket(40, s.SOCK_STREAM))
attempt("vsock datagram", lambda: s.socket(40, s.SOCK_DGRAM))
attempt("netlink route", lambda: s.socket(16, s.SOCK_RAW, 0))
attempt("netlink audit", lambda: s.socket(16, s.SOCK_RAW, 9))
attempt("netlink generic", lambda: s.socket(16, s.SOCK_DGRAM, 16))
attempt("raw", lambda: s.socket(s.AF_INET, s.SOCK_RAW, 1))
attempt("raw6", lambda: s.socket(s.AF_INET6, s.SOCK_RAW, 58))
attempt("packet", lambda: s.socket(s.AF_PACKET, s.SOCK_RAW, 3))
attempt("packet datagram", lambda: s.socket(s.AF_PACKET, s.SOCK_DGRAM, 3))
attempt("alg", lambda: s.socket(38, s.SOCK_SEQPACKET))
attempt("xdp", lambda: s.socket(44, s.SOCK_RAW))
attempt("bluetooth", lambda: s.socket(31, s.SOCK_RAW, 1))
attempt("can", lambda: s.socket(29, s.SOCK_RAW, 1))
attempt("smc", lambda: s.socket(43, s.SOCK_STREAM))
attempt("sctp", lambda: s.socket(s.AF_INET, s.SOCK_STREAM, 132))
attempt("mptcp", lambda: s.socket(s.AF_INET, s.SOCK_STREAM, 262).connect(("127.0.0.1", TCP4)))
attempt("io_uring", lambda: call(425, 8, ctypes.create_string_buffer(120)))
attempt("io_uring_enter", lambda: call(426, 0, 0, 0, 0, 0))
print("done")
"#;

/// What the program inside says worked.
fn claimed(ran: &Ran) -> Vec<&str> {
    ran.stdout.lines().filter(|line| *line != "done").collect()
}

#[test]
fn no_network_lets_nothing_out() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let host = Host::new(&stage);
            let ran = host.attack(&stage, level, Network::None);
            assert_eq!(host.reached(), [""; 0], "{level}");
            assert_eq!(claimed(&ran), udp_into_nothing(level), "{level}");
            let expected = match level {
                Level::Container => Layer::NetworkNamespace,
                Level::None | Level::Process => Layer::NoSockets,
            };
            assert!(
                ran.report.layers.contains(&expected),
                "{level}: {:?}",
                ran.report.layers
            );
        }
    });
}

/// In its own network a datagram to the loopback goes nowhere, and the sender gets no error.
fn udp_into_nothing(level: Level) -> &'static [&'static str] {
    match level {
        Level::Container => &["udp"],
        Level::None | Level::Process => &[],
    }
}

#[test]
fn no_network_without_namespaces_lets_nothing_out_either() {
    as_root_and_nobody(|| {
        let stage = Stage::without_namespaces();
        let host = Host::new(&stage);
        let ran = host.attack(&stage, Level::Process, Network::None);
        assert_eq!(host.reached(), [""; 0]);
        assert_eq!(claimed(&ran), [""; 0]);
    });
}

/// A program that serves itself.
const OWN_SERVER: &str = r#"
import socket, threading
for family, address in [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]:
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError:
        if family == socket.AF_INET: raise
        continue
    threading.Thread(target=lambda: server.accept()[0].sendall(b"hello"), daemon=True).start()
    print(socket.create_connection(server.getsockname()[:2], 5).recv(5).decode())
"#;

#[test]
fn its_own_loopback_serves_the_command_and_lets_nothing_out() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let host = Host::new(&stage);
            let ran = host.attack(&stage, level, Network::Loopback);
            assert_eq!(host.reached(), [""; 0], "{level}");
            assert_eq!(claimed(&ran), ["udp"], "{level}");
            let layers = &ran.report.layers;
            assert!(layers.contains(&Layer::NetworkNamespace), "{layers:?}");
            assert!(!layers.contains(&Layer::NoSockets), "{layers:?}");
            let mut policy = stage.policy(level);
            policy.network = Network::Loopback;
            let ran = stage.python(&policy, OWN_SERVER);
            assert!(ran.stdout.starts_with("hello\n"), "{level}: {ran:?}");
        }
    });
}

#[test]
fn where_there_are_no_networks_its_own_loopback_is_none_and_the_report_says_so() {
    as_root_and_nobody(|| {
        let stage = Stage::without(&[Layer::NetworkNamespace]);
        let host = Host::new(&stage);
        let ran = host.attack(&stage, Level::Process, Network::Loopback);
        assert_eq!(host.reached(), [""; 0]);
        assert_eq!(claimed(&ran), [""; 0]);
        let report = &ran.report;
        assert!(report.layers.contains(&Layer::NoSockets), "{report:?}");
        let missing = report.not_enforced.iter().map(|missing| missing.layer);
        assert!(
            missing
                .into_iter()
                .any(|layer| layer == Layer::NetworkNamespace),
            "{report:?}"
        );
    });
}

#[test]
fn full_network_is_ip_and_nothing_else() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let host = Host::new(&stage);
            let ran = host.attack(&stage, level, Network::Full);
            let mut allowed = vec!["tcp4", "tcp6", "mapped", "udp", "mptcp"];
            if host.tcp6.is_none() {
                allowed.retain(|name| *name != "tcp6");
            }
            let claimed = claimed(&ran);
            assert!(
                claimed.contains(&"tcp4") && claimed.contains(&"udp"),
                "{level}: {claimed:?}"
            );
            let beyond: Vec<&&str> = claimed
                .iter()
                .filter(|name| !allowed.contains(name))
                .collect();
            assert!(beyond.is_empty(), "{level}: {beyond:?}");
            let reached = host.reached();
            assert!(
                reached
                    .iter()
                    .all(|name| ["tcp4", "tcp6", "udp"].contains(name)),
                "{level}: {reached:?}"
            );
            assert!(
                reached.contains(&"tcp4") && reached.contains(&"udp"),
                "{level}: {reached:?}"
            );
        }
    });
}

#[test]
fn a_pair_of_sockets_works_between_a_commands_own_processes() {
    as_root_and_nobody(|| {
        let script = "import socket, os\na, b = socket.socketpair()\nif os.fork() == 0:\n  b.send(b'hello'); os._exit(0)\nprint(a.recv(9).decode())";
        for level in WALLS {
            let stage = Stage::new();
            let ran = stage.python(&stage.policy(level), script);
            assert_eq!(ran.stdout, "hello\n", "{level}: {ran:?}");
        }
    });
}

#[test]
fn no_wall_has_the_hosts_network() {
    as_root_and_nobody(|| {
        let stage = Stage::new();
        let host = Host::new(&stage);
        host.tcp4.set_nonblocking(false).unwrap();
        let port = host.tcp4.local_addr().unwrap().port();
        let answer = std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut one, _) = host.tcp4.accept().unwrap();
                one.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                let mut text = [0; 3];
                one.read_exact(&mut text).unwrap();
                one.write_all(&text).unwrap();
            });
            let script =
                format!("exec 3<>/dev/tcp/127.0.0.1/{port}; printf hey >&3; head -c 3 <&3");
            stage.bash(&stage.policy(Level::None), &script).stdout
        });
        assert_eq!(answer, "hey");
    });
}
