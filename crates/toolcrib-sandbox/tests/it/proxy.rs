//! Network `proxy`: one address of the host can be reached, and no other.

use crate::stage::{PATH, Stage, WALLS, as_root_and_nobody, bash, skipped};
use std::{
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};
use toolcrib_sandbox::{Command, EndedBy, Layer, Level, Network, Policy, SandboxError};

/// A tiny HTTP proxy: it answers every request itself, saying who it is and what was asked for.
struct Endpoint {
    address: SocketAddr,
    connections: Arc<AtomicU32>,
}

impl Endpoint {
    fn new(name: &'static str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&connections);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || answer(&stream, name));
            }
        });
        Self {
            address,
            connections,
        }
    }

    fn connections(&self) -> u32 {
        self.connections.load(Ordering::SeqCst)
    }
}

fn answer(stream: &TcpStream, name: &str) {
    stream
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    while lines.next().is_some_and(|line| !line.is_empty()) {}
    let body = format!("{name}: {request}\n");
    let mut writer = stream;
    let _ = write!(
        writer,
        "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
}

fn through(stage: &Stage, level: Level, endpoint: SocketAddr) -> Policy {
    let mut policy = stage.policy(level);
    policy.network = Network::Proxy(endpoint);
    policy
}

#[test]
fn the_proxy_is_reached_by_its_variable_and_by_its_port() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let endpoint = Endpoint::new("the proxy");
            let policy = through(&stage, level, endpoint.address);
            let ran = stage.python(
                &policy,
                "import urllib.request as r; print(r.urlopen('http://example.com/page', timeout=5).read().decode(), end='')",
            );
            assert_eq!(
                ran.stdout, "the proxy: GET http://example.com/page HTTP/1.1\n",
                "{level}: {ran:?}"
            );
            let by_port = "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT x HTTP/1.0\\r\\n\\r\\n' >&3; tail -n1 <&3; echo $https_proxy $ALL_PROXY";
            let ran = stage.bash(&policy, by_port);
            assert_eq!(
                ran.stdout,
                "the proxy: CONNECT x HTTP/1.0\nhttp://127.0.0.1:3128 http://127.0.0.1:3128\n",
                "{level}: {ran:?}"
            );
            assert!(ran.report.layers.contains(&Layer::ProxyOnly), "{level}");
            assert!(
                ran.report.layers.contains(&Layer::NetworkNamespace),
                "{level}"
            );
            assert_eq!(endpoint.connections(), 2, "{level}");
        }
    });
}

#[test]
fn curl_goes_through_the_proxy() {
    as_root_and_nobody(|| {
        let installed = std::process::Command::new("curl")
            .arg("--version")
            .env("PATH", PATH)
            .output();
        if installed.is_err() {
            return skipped("curl_goes_through_the_proxy", "curl is not installed");
        }
        for level in WALLS {
            let stage = Stage::new();
            let endpoint = Endpoint::new("the proxy");
            let policy = through(&stage, level, endpoint.address);
            let command = Command::new("curl").env("PATH", PATH).args([
                "--silent",
                "--show-error",
                "--max-time",
                "5",
                "http://example.com/x",
            ]);
            let ran = stage.run(&policy, &command).unwrap();
            assert_eq!(
                ran.stdout, "the proxy: GET http://example.com/x HTTP/1.1\n",
                "{level}: {ran:?}"
            );
            let port = endpoint.address.port();
            let script =
                format!("curl --noproxy '*' -sS --max-time 3 http://127.0.0.1:{port}/; echo $?");
            let ran = stage.bash(&policy, &script);
            assert_eq!(ran.stdout, "7\n", "{level}: {ran:?}");
        }
    });
}

#[test]
fn nothing_but_the_proxy_is_reached() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let (endpoint, other) = (Endpoint::new("the proxy"), Endpoint::new("other"));
            let policy = through(&stage, level, endpoint.address);
            let (own, other_port) = (endpoint.address.port(), other.address.port());
            // Its real port is not there, nor is anything else of the host; not even by UDP, raw or another family.
            let script = format!(
                r#"
for port in {own} {other_port} 22 53 80; do (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && echo reached $port; done
for family in 1 16 17 38 40; do /usr/bin/python3 -c "import socket; socket.socket($family, 3 if $family in (16, 17) else 1 if $family != 38 else 5)" 2>/dev/null && echo family $family; done
cat /proc/net/route | tail -n +2; ls /sys/class/net 2>/dev/null | grep -v '^lo$'
echo done"#
            );
            let ran = stage.bash(&policy, &script);
            assert_eq!(ran.stdout, "done\n", "{level}: {}", ran.stderr);
            assert_eq!(
                (endpoint.connections(), other.connections()),
                (0, 0),
                "{level}"
            );
        }
    });
}

#[test]
fn two_runs_at_once_reach_each_its_own_proxy() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let endpoints = [Endpoint::new("one"), Endpoint::new("two")];
            let script = "for i in 1 2 3 4 5; do exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; tail -n1 <&3; exec 3>&-; sleep 0.05; done";
            let said = thread::scope(|scope| {
                let runs = endpoints.each_ref().map(|endpoint| {
                    let policy = through(&stage, level, endpoint.address);
                    let stage = &stage;
                    scope.spawn(move || stage.bash(&policy, script).stdout)
                });
                runs.map(|run| run.join().unwrap())
            });
            assert_eq!(said[0], "one: GET / HTTP/1.0\n".repeat(5), "{level}");
            assert_eq!(said[1], "two: GET / HTTP/1.0\n".repeat(5), "{level}");
        }
    });
}

#[test]
fn many_connections_at_once_and_large_answers_arrive() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let endpoint = Endpoint::new("the proxy");
            let policy = through(&stage, level, endpoint.address);
            let script = "import socket, threading\nok = []\ndef one(i):\n  s = socket.create_connection(('127.0.0.1', 3128), 10)\n  s.sendall(b'GET /' + b'x' * 100000 + b' HTTP/1.0\\r\\n\\r\\n')\n  n = 0\n  while True:\n    d = s.recv(65536)\n    if not d: break\n    n += len(d)\n  ok.append(n > 100000)\nts = [threading.Thread(target=one, args=(i,)) for i in range(100)]\n[t.start() for t in ts]; [t.join() for t in ts]\nprint(sum(ok))";
            let ran = stage.python(&policy, script);
            assert_eq!(ran.stdout, "100\n", "{level}: {ran:?}");
        }
    });
}

#[test]
fn a_proxy_that_never_answers_does_not_hold_the_end_up() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let mut policy = through(&stage, level, silent.local_addr().unwrap());
            policy.limits.time = Some(Duration::from_millis(600));
            let ran = stage.bash(
                &policy,
                "exec 3<>/dev/tcp/127.0.0.1/3128; echo asked; cat <&3",
            );
            assert_eq!(
                (&*ran.stdout, ran.report.ended_by),
                ("asked\n", Some(EndedBy::Time)),
                "{level}"
            );
            assert!(
                ran.took < Duration::from_millis(1600),
                "{level}: {:?}",
                ran.took
            );
        }
    });
}

#[test]
fn the_connection_to_the_proxy_ends_with_the_run() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let policy = through(&stage, level, listener.local_addr().unwrap());
            let ran = stage.bash(
                &policy,
                "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'hello\\n' >&3; sleep 0.3",
            );
            assert_eq!(ran.report.exit_code(), 0, "{level}: {ran:?}");
            let (stream, _) = listener.accept().unwrap();
            stream
                .set_read_timeout(Some(Duration::from_secs(2)))
                .unwrap();
            let text = std::io::read_to_string(&stream).expect("an end of the connection, soon");
            assert_eq!(text, "hello\n", "{level}");
        }
    });
}

#[test]
fn a_proxy_needs_a_network_of_its_own() {
    as_root_and_nobody(|| {
        let stage = Stage::without(&[Layer::NetworkNamespace]);
        for level in WALLS {
            let policy = through(&stage, level, (Ipv4Addr::LOCALHOST, 1).into());
            match stage.run(&policy, &bash("true")).unwrap_err() {
                SandboxError::Unavailable { missing, .. } => {
                    assert_eq!(missing.layer, Layer::NetworkNamespace, "{level}");
                }
                other => panic!("{level}: {other}"),
            }
        }
        let policy = through(&stage, Level::None, (Ipv4Addr::LOCALHOST, 1).into());
        let error = stage.run(&policy, &bash("true")).unwrap_err();
        assert!(matches!(error, SandboxError::Invalid(_)), "{error}");
    });
}
