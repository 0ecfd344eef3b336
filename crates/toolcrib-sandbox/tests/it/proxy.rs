//! Network `proxy`: who serves the command is reached, and nothing else.

use crate::stage::{PATH, Ran, Stage, WALLS, as_root_and_nobody, bash, python, skipped};
use std::{
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};
use toolcrib_sandbox::{Cancel, Command, EndedBy, Layer, Level, Network, Policy, SandboxError};

/// A tiny HTTP proxy: it answers every request itself, saying who it is and what was asked for.
struct Endpoint {
    name: &'static str,
    connections: Arc<AtomicU32>,
}

impl Endpoint {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            connections: Arc::default(),
        }
    }

    /// The command with this as its proxy.
    fn behind(&self, command: Command) -> Command {
        let (name, connections) = (self.name, Arc::clone(&self.connections));
        command.proxy(move |listener| {
            let connections = Arc::clone(&connections);
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    connections.fetch_add(1, Ordering::SeqCst);
                    thread::spawn(move || answer(&stream, name));
                }
            });
        })
    }

    fn bash(&self, stage: &Stage, policy: &Policy, script: &str) -> Ran {
        stage.run(policy, &self.behind(bash(script))).unwrap()
    }

    fn python(&self, stage: &Stage, policy: &Policy, script: &str) -> Ran {
        stage.run(policy, &self.behind(python(script))).unwrap()
    }

    fn connections(&self) -> u32 {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Keeps the listening sockets of a command, and serves no one.
fn kept(command: Command) -> (Command, Arc<Mutex<Vec<TcpListener>>>) {
    let listeners = Arc::<Mutex<Vec<TcpListener>>>::default();
    let keeping = Arc::clone(&listeners);
    let command = command.proxy(move |listener| keeping.lock().unwrap().push(listener));
    (command, listeners)
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

fn through(stage: &Stage, level: Level) -> Policy {
    let mut policy = stage.policy(level);
    policy.network = Network::Proxy;
    policy
}

#[test]
fn the_proxy_is_reached_by_its_variable_and_by_its_port() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let endpoint = Endpoint::new("the proxy");
            let policy = through(&stage, level);
            let ran = endpoint.python(
                &stage,
                &policy,
                "import urllib.request as r; print(r.urlopen('http://example.com/page', timeout=5).read().decode(), end='')",
            );
            assert_eq!(
                ran.stdout, "the proxy: GET http://example.com/page HTTP/1.1\n",
                "{level}: {ran:?}"
            );
            let by_port = "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT x HTTP/1.0\\r\\n\\r\\n' >&3; tail -n1 <&3; echo $https_proxy $ALL_PROXY ${no_proxy-unset} ${NO_PROXY-unset}";
            let ran = endpoint.bash(&stage, &policy, by_port);
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
            let policy = through(&stage, level);
            let command = Command::new("curl").env("PATH", PATH).args([
                "--silent",
                "--show-error",
                "--max-time",
                "5",
                "http://example.com/x",
            ]);
            let ran = stage.run(&policy, &endpoint.behind(command)).unwrap();
            assert_eq!(
                ran.stdout, "the proxy: GET http://example.com/x HTTP/1.1\n",
                "{level}: {ran:?}"
            );
            let host = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = host.local_addr().unwrap().port();
            let script =
                format!("curl --noproxy '*' -sS --max-time 3 http://127.0.0.1:{port}/; echo $?");
            let ran = endpoint.bash(&stage, &policy, &script);
            assert_eq!(ran.stdout, "7\n", "{level}: {ran:?}");
        }
    });
}

#[test]
fn nothing_but_the_proxy_is_reached() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let endpoint = Endpoint::new("the proxy");
            let policy = through(&stage, level);
            let host = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            host.set_nonblocking(true).unwrap();
            let port = host.local_addr().unwrap().port();
            // Nothing of the host is there; not even by UDP, raw or another family.
            let script = format!(
                r#"
for port in {port} 22 53 80; do (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && echo reached $port; done
for family in 1 16 17 38 40; do /usr/bin/python3 -c "import socket; socket.socket($family, 3 if $family in (16, 17) else 1 if $family != 38 else 5)" 2>/dev/null && echo family $family; done
cat /proc/net/route | tail -n +2; ls /sys/class/net 2>/dev/null | grep -v '^lo$'
echo done"#
            );
            let ran = endpoint.bash(&stage, &policy, &script);
            assert_eq!(ran.stdout, "done\n", "{level}: {}", ran.stderr);
            assert_eq!(endpoint.connections(), 0, "{level}");
            assert!(host.accept().is_err(), "{level}");
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
                    let policy = through(&stage, level);
                    let stage = &stage;
                    scope.spawn(move || endpoint.bash(stage, &policy, script).stdout)
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
            let policy = through(&stage, level);
            let script = "import socket, threading\nok = []\ndef one(i):\n  s = socket.create_connection(('127.0.0.1', 3128), 10)\n  s.sendall(b'GET /' + b'x' * 100000 + b' HTTP/1.0\\r\\n\\r\\n')\n  n = 0\n  while True:\n    d = s.recv(65536)\n    if not d: break\n    n += len(d)\n  ok.append(n > 100000)\nts = [threading.Thread(target=one, args=(i,)) for i in range(100)]\n[t.start() for t in ts]; [t.join() for t in ts]\nprint(sum(ok))";
            let ran = endpoint.python(&stage, &policy, script);
            assert_eq!(ran.stdout, "100\n", "{level}: {ran:?}");
        }
    });
}

#[test]
fn a_proxy_that_never_answers_does_not_hold_the_end_up() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let mut policy = through(&stage, level);
            policy.limits.time = Some(Duration::from_millis(600));
            let (silent, _listeners) =
                kept(bash("exec 3<>/dev/tcp/127.0.0.1/3128; echo asked; cat <&3"));
            let ran = stage.run(&policy, &silent).unwrap();
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
            let policy = through(&stage, level);
            let (command, listeners) = kept(bash(
                "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'hello\\n' >&3; sleep 0.3",
            ));
            let ran = stage.run(&policy, &command).unwrap();
            assert_eq!(ran.report.exit_code(), 0, "{level}: {ran:?}");
            let listener = listeners.lock().unwrap().remove(0);
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
fn a_sandbox_that_stood_ready_is_served_by_its_own_commands_proxy() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let policy = through(&stage, level);
            let prepared = stage.sandbox.prepare(&policy).unwrap();
            prepared.keep_ready().unwrap();
            for name in ["one", "two", "three"] {
                let script = "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; tail -n1 <&3";
                let command = Endpoint::new(name).behind(bash(script));
                let mut said = Vec::new();
                let mut take = |_, bytes: &[u8]| said.extend_from_slice(bytes);
                let cancel = Cancel::new().unwrap();
                prepared.run(&command, &mut take, &cancel).unwrap();
                let said = String::from_utf8(said).unwrap();
                assert_eq!(said, format!("{name}: GET / HTTP/1.0\n"), "{level}");
            }
        }
    });
}

#[test]
fn a_proxy_that_no_one_serves_is_refused() {
    as_root_and_nobody(|| {
        for level in WALLS {
            let stage = Stage::new();
            let error = stage.run(&through(&stage, level), &bash("true"));
            assert!(matches!(error, Err(SandboxError::Invalid(_))), "{level}");
        }
    });
}

#[test]
fn a_proxy_needs_its_own_network() {
    as_root_and_nobody(|| {
        let stage = Stage::without(&[Layer::NetworkNamespace]);
        for level in WALLS {
            let policy = through(&stage, level);
            let layer = match level {
                Level::Container => Layer::NetworkNamespace,
                Level::None | Level::Process => Layer::ProxyOnly,
            };
            let (command, _) = kept(bash("true"));
            match stage.run(&policy, &command).unwrap_err() {
                SandboxError::Unavailable { missing, .. } => {
                    assert_eq!(missing.layer, layer, "{level}");
                    assert!(missing.reason.contains("switched off"), "{missing}");
                }
                other => panic!("{level}: {other}"),
            }
        }
        let policy = through(&stage, Level::None);
        let error = stage.run(&policy, &bash("true")).unwrap_err();
        assert!(matches!(error, SandboxError::Invalid(_)), "{error}");
    });
}
