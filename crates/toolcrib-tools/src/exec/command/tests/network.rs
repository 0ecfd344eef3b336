//! `network:external:HOST` with real programs behind real walls: the host is reached, and nothing else is.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;

use super::{Scene, error, value};
use crate::egress::{AllowedHosts, Egress, EgressOptions};
use crate::model::JsonObject;
use crate::model::error::ErrorCode;
use crate::sandbox::{Layer, Sandbox};
use crate::testing::{NameTable, RecordingDialler, Reply, ScriptedServer};
use crate::tool::Tool as _;

const LEVELS: [&str; 2] = ["process", "container"];
const PUBLIC: &str = "93.184.216.34";

/// A way out on which `api.test` and `other.test` are this server, wherever they say they are.
fn named(server: SocketAddr) -> (Egress, RecordingDialler) {
    let dialler = RecordingDialler::to(server);
    let names = NameTable::new()
        .name("api.test", &[PUBLIC])
        .name("other.test", &[PUBLIC]);
    let egress = Egress::new(EgressOptions {
        resolver: Some(Arc::new(names)),
        dialler: Some(Arc::new(dialler.clone())),
        ..EgressOptions::default()
    });
    (egress.unwrap(), dialler)
}

/// A way out with this setting `allowedHosts`, to real addresses.
fn listed(hosts: &[&str]) -> Egress {
    Egress::new(EgressOptions {
        allowed_hosts: AllowedHosts::parse(hosts.iter().copied()).unwrap(),
        ..EgressOptions::default()
    })
    .unwrap()
}

/// A scene whose programs have this way out, and a person who says yes.
fn scene(egress: Egress) -> Scene {
    let mut scene = Scene::new().approved();
    scene.options.egress = Some(egress);
    scene
}

/// A tool that runs a script at a level, and may reach a host.
fn tool(level: &str, host: &str, script: &str) -> String {
    let script = script.replace('\n', "\n  ");
    format!(
        "name: a\ndescription: d\ntags: [write]\nbash: |\n  {script}\nsecurity: {{isolation: {level}, required-permissions: ['network:external:{host}']}}\n"
    )
}

fn hello() -> ScriptedServer {
    ScriptedServer::start(|request| match request.target.as_str() {
        "/away" => Reply::redirect(302, "http://other.test/secret"),
        "/echo" => Reply::ok(request.body.clone()),
        path => Reply::ok(format!("hello from {path}")),
    })
}

#[tokio::test]
async fn curl_reaches_the_host_that_is_named_and_no_other() {
    let script = "\
c() { curl -sS --max-time 5 \"$@\" 2> /dev/null; echo \" $?\"; }
code='-o /dev/null -w %{http_code},%{http_connect}'
c http://api.test/plain
c $code --proxytunnel http://api.test/tunnel
c $code --proxytunnel -H 'Host: other.test' http://api.test/tenant
c -d some=body http://api.test/echo
c $code http://other.test/
c $code http://api.test:8080/
c $code --proxytunnel http://other.test/
c $code https://other.test/
c $code -L http://api.test/away
c $code http://127.0.0.1:PORT/
c $code http://[::1]:PORT/
c $code http://10.1.2.3/
c $code -H 'Host: other.test' http://api.test/
c --noproxy '*' http://api.test/
c --noproxy '*' http://127.0.0.1:PORT/
c --noproxy '*' http://[::1]:PORT/
c --noproxy '*' http://93.184.216.34/
";
    for level in LEVELS {
        let server = hello();
        let (egress, dialler) = named(server.address());
        let script = script.replace("PORT", &server.port().to_string());
        let scene = scene(egress).tool(&tool(level, "api.test", &script));
        let outcome = scene.call("a", json!({})).await;
        assert_eq!(
            value(&outcome)["output"],
            "hello from /plain 0\n403,200 0\n403,200 0\nsome=body 0\n403,000 0\n403,000 0\n000,403 56\n000,403 56\n403,000 0\n403,000 0\n\
             403,000 0\n403,000 0\n400,000 0\n 6\n 7\n 7\n 7",
            "{level}"
        );
        assert_eq!(outcome.sandbox.as_ref().unwrap().level, level);
        let paths: Vec<String> = server
            .received()
            .into_iter()
            .map(|seen| seen.target)
            .collect();
        assert_eq!(paths, ["/plain", "/echo", "/away"], "{level}");
        let address: SocketAddr = format!("{PUBLIC}:80").parse().unwrap();
        assert_eq!(dialler.dialled(), [address; 5], "{level}");
        // What left is on record, and what was refused did not leave.
        let network = scene.crib.records().remove(0).network;
        let left: Vec<(&str, &str)> = network
            .iter()
            .map(|exchange| (exchange.method.as_str(), exchange.host.as_str()))
            .collect();
        let host = "api.test:80";
        assert_eq!(
            left,
            [
                ("GET", host),
                ("CONNECT", host),
                ("CONNECT", host),
                ("POST", host),
                ("GET", host)
            ]
        );
        assert_eq!((network[3].sent, network[3].received), (9, 9));
        // Traffic that is not TLS cannot leave by a tunnel, whatever host it names.
        assert_eq!((network[1].sent, network[2].sent), (0, 0));
    }
}

#[tokio::test]
async fn tls_goes_through_a_tunnel_and_only_for_the_tunnels_name() {
    let made = rcgen::generate_simple_self_signed(["api.test".to_owned()]).unwrap();
    let server = ScriptedServer::start_tls(
        made.cert.der().to_vec(),
        made.signing_key.serialize_der(),
        |_| Reply::ok("in private"),
    );
    let (egress, _) = named(server.address());
    let script = "\
curl -k -sS --max-time 5 https://api.test/; echo \" $?\"
curl -k -sS --max-time 5 --connect-to other.test:443:api.test:443 https://other.test/ 2> /dev/null; echo \" $?\"
curl -k -sS --max-time 5 --connect-to 127.0.0.1:443:api.test:443 https://127.0.0.1/ 2> /dev/null; echo \" $?\"
";
    let scene = scene(egress).tool(&tool("process", "api.test", script));
    let outcome = scene.call("a", json!({})).await;
    assert_eq!(value(&outcome)["output"], "in private 0\n 35\n 35");
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn programs_that_know_no_proxy_reach_nothing() {
    let server = hello();
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let script = format!(
        r#"
cat > probe.py << 'END'
import socket, urllib.request
print(urllib.request.urlopen('http://api.test/python', timeout=5).read().decode())
def reach(name, family, kind, address, data=None):
    try:
        s = socket.socket(family, kind)
        s.settimeout(2)
        s.connect(address)
        if data:
            s.send(data)
            s.recv(100)
        print('reached', name)
    except OSError:
        pass
port, udp = {port}, {udp}
v4, v6, tcp, dgram, raw = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW
reach('tcp', v4, tcp, ('127.0.0.1', port))
reach('any', v4, tcp, ('0.0.0.0', port))
reach('public', v4, tcp, ('93.184.216.34', 80))
reach('tcp6', v6, tcp, ('::1', port))
reach('mapped', v6, tcp, ('::ffff:127.0.0.1', port))
reach('udp', v4, dgram, ('127.0.0.1', udp), b'x')
reach('dns', v4, dgram, ('127.0.0.53', 53), b'x')
reach('raw', v4, raw, ('127.0.0.1', 0), b'x')
for name in ('abstract', 'path'):
    reach('unix', socket.AF_UNIX, tcp, '\0x' if name == 'abstract' else '/run/dbus/system_bus_socket')
try:
    print('resolved', socket.getaddrinfo('api.test', 80))
except OSError:
    pass
END
python3 probe.py
echo "$http_proxy $https_proxy $HTTP_PROXY $HTTPS_PROXY $all_proxy ${{no_proxy-unset}}" "#,
        port = server.port(),
        udp = udp.local_addr().unwrap().port(),
    );
    for level in LEVELS {
        let (egress, _) = named(server.address());
        let scene = scene(egress).tool(&tool(level, "api.test", script.trim_start()));
        let outcome = scene.call("a", json!({})).await;
        let proxy = "http://127.0.0.1:3128 ".repeat(5);
        let expected = format!("hello from /python\n{proxy}");
        assert_eq!(value(&outcome)["output"], expected, "{level}");
        assert!(udp.recv(&mut [0; 8]).is_err(), "{level}");
    }
}

#[tokio::test]
async fn an_address_needs_the_operators_word_besides_the_tools() {
    let server = hello();
    let host = server.host();
    let script = format!("curl -sS --max-time 5 http://{host}/here");
    let yaml = tool("process", &host, &script);
    let permitted = scene(listed(&[&host])).tool(&yaml);
    let outcome = permitted.call("a", json!({})).await;
    assert_eq!(value(&outcome)["output"], "hello from /here");

    for (egress, yaml, words) in [
        (listed(&[]), yaml.clone(), "allowedHosts"),
        (listed(&["127.0.0.1:1"]), yaml, "allowedHosts"),
        (
            listed(&[]),
            tool("process", "localhost:8080", "true"),
            "allowedHosts",
        ),
        (
            listed(&[]),
            tool("process", "169.254.169.254:80", "true"),
            "metadata",
        ),
        (
            listed(&[]),
            tool("container", "metadata.google.internal", "true"),
            "metadata",
        ),
    ] {
        let refused = scene(egress).tool(&yaml);
        let outcome = refused.call("a", json!({})).await;
        let error = error(&outcome);
        assert_eq!(error.code(), ErrorCode::HostNotAllowed, "{error}");
        assert!(error.message().contains(words), "{error}");
        assert!(
            refused.crib.asked().is_empty(),
            "no one is asked for nothing"
        );
    }
    // Without a port it is not a permission, wherever it is.
    let outcome = scene(listed(&[&host]))
        .tool(&tool("process", "127.0.0.1", "true"))
        .call("a", json!({}))
        .await;
    assert_eq!(error(&outcome).code(), ErrorCode::HostNotAllowed);
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_host_may_come_from_an_argument_and_is_a_host_then() {
    let server = hello();
    let yaml = "
name: a
description: d
tags: [write]
bash: curl -sS --max-time 5 http://{HOST}/x
parameters: {HOST: {type: string, description: Where}}
security: {required-permissions: ['network:external:{HOST}']}
";
    let (egress, dialler) = named(server.address());
    let scene = scene(egress).tool(yaml);
    let outcome = scene.call("a", json!({"HOST": "api.test"})).await;
    assert_eq!(value(&outcome)["output"], "hello from /x");
    assert!(scene.crib.asked()[0].reason.contains("`api.test`"));
    assert!(scene.crib.asked()[0].effect.contains("a way to `api.test`"));
    for bad in [
        "http://api.test",
        "api.test/x",
        "a b",
        "user@api.test",
        "*",
        "*.test",
        "api.test:x",
        "api.test:0",
        "api.test,other.test",
        "api.test\nother.test",
        "{HOST}",
        "[::1",
        "a..b",
    ] {
        let outcome = scene.call("a", json!({"HOST": bad})).await;
        let error = error(&outcome);
        assert_eq!(
            error.code(),
            ErrorCode::InvalidArguments,
            "{bad:?}: {error}"
        );
    }
    assert_eq!((scene.crib.asked().len(), dialler.dialled().len()), (1, 1));
}

#[tokio::test]
async fn domains_and_ports_work_as_in_the_setting() {
    let server = hello();
    let (egress, dialler) = named(server.address());
    let script = "\
for url in api.test:8080 test:8080 api.test; do curl -s -o /dev/null -w '%{http_code} ' http://$url/; done
";
    let scene = scene(egress).tool(&tool("process", "*.test:8080", script));
    let outcome = scene.call("a", json!({})).await;
    assert_eq!(value(&outcome)["output"], "200 403 403 ");
    assert_eq!(
        dialler.dialled(),
        [format!("{PUBLIC}:8080").parse().unwrap()]
    );
}

#[tokio::test]
async fn a_sandbox_that_is_kept_serves_every_call_by_its_own_way_out() {
    let server = hello();
    let yaml = "
name: a
description: d
tags: [write]
bash: curl -s -o /dev/null -w '%{http_code}' http://{URL}/
parameters: {HOST: {type: string, description: Where}, URL: {type: string, description: What}}
security: {required-permissions: ['network:external:{HOST}']}
";
    let (egress, _) = named(server.address());
    let scene = scene(egress).approved().tool(yaml);
    for (host, url, code) in [
        ("api.test", "api.test", "200"),
        ("api.test", "api.test", "200"),
        ("other.test", "api.test", "403"),
        ("other.test", "other.test", "200"),
        ("api.test", "other.test", "403"),
        ("api.test", "api.test", "200"),
    ] {
        let outcome = scene.call("a", json!({"HOST": host, "URL": url})).await;
        assert_eq!(value(&outcome)["output"], code, "{host} {url}");
    }
}

#[tokio::test]
async fn many_requests_at_once_all_arrive() {
    let server = hello();
    let (egress, _) = named(server.address());
    let script = "\
for i in $(seq 1 100); do echo \"url = http://api.test/$i\"; done > urls
curl -sS --max-time 20 --parallel --parallel-max 100 --parallel-immediate -K urls 2> /dev/null | grep -o 'hello from /' | wc -l
";
    let scene = scene(egress).tool(&tool("process", "api.test", script));
    let outcome = scene.call("a", json!({})).await;
    assert_eq!(value(&outcome)["output"], "100");
}

/// A server that sends without end, and reports when no one reads it any more.
fn endless() -> (SocketAddr, mpsc::Receiver<u64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let tell = tell.clone();
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                let piece = vec![b'x'; 64 * 1024];
                let mut sent = 0;
                while stream.write_all(&piece).is_ok() {
                    sent += piece.len() as u64;
                }
                let _ = tell.send(sent);
            });
        }
    });
    (address, told)
}

#[tokio::test]
async fn a_large_download_streams() {
    let (server, told) = endless();
    let (egress, _) = named(server);
    let script = "curl -sS http://api.test/ 2> /dev/null | head -c 100000000 | wc -c";
    let scene = scene(egress).tool(&tool("process", "api.test", script));
    let outcome = scene.call("a", json!({})).await;
    assert_eq!(value(&outcome)["output"], "100000000");
    let sent = told.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(
        sent < 150_000_000,
        "no more than was asked for, and what buffers hold: {sent}"
    );
}

#[tokio::test]
async fn the_end_of_a_call_cuts_what_it_was_downloading() {
    for (host, way, level) in [
        ("api.test", "", "process"),
        (PUBLIC, "--proxytunnel", "container"),
    ] {
        let (server, told) = endless();
        let (egress, _) = named(server);
        let script =
            format!("echo begun; curl -sS --limit-rate 1M -o /dev/null {way} http://{host}/\n");
        let yaml = tool(level, host, &script) + "timeout: 4000\n";
        let scene = scene(egress).tool(&yaml);
        let outcome = scene.call("a", json!({})).await;
        assert_eq!(error(&outcome).code(), ErrorCode::Timeout);
        assert!(told.recv_timeout(Duration::from_secs(20)).is_ok(), "{host}");
        assert_eq!(scene.crib.records()[0].network.len(), 1, "{host}");
    }
}

#[tokio::test]
async fn where_it_cannot_be_enforced_the_call_is_refused() {
    let support = Sandbox::new().unwrap().support().clone();
    let mut scene = scene(listed(&[]));
    scene.options.sandbox =
        Some(Sandbox::with_support(support.without(Layer::NetworkNamespace)).unwrap());
    let yaml = tool("process", "api.test", "true");
    let plan = scene.make(&yaml).unwrap();
    let plan = plan.sandbox_plan(&JsonObject::new(), None).unwrap();
    assert!(plan.refused.unwrap().contains("proxy-only"));
    let scene = scene.tool(&yaml);
    let outcome = scene.call("a", json!({})).await;
    let error = error(&outcome);
    assert_eq!(error.code(), ErrorCode::SandboxUnavailable);
    assert!(error.message().contains("proxy-only"), "{error}");
}

#[test]
fn the_plan_says_how_hosts_are_reached() {
    let scene = scene(listed(&[]));
    let network = |level: &str, host: &str| {
        let tool = scene.make(&tool(level, host, "true")).unwrap();
        let plan = tool.sandbox_plan(&JsonObject::new(), None).unwrap();
        let line = plan.lines.iter().find(|line| line.about == "network");
        let line = line.unwrap().clone();
        (line.kept, line.promise, line.backed_by, plan.refused)
    };
    let (kept, promise, backed, refused) = network("process", "api.test");
    assert!(kept && refused.is_none(), "{refused:?}");
    assert_eq!(promise, "`api.test`; a person is asked every time");
    assert!(backed.contains("proxy-only"), "{backed}");
    let (kept, promise, backed, refused) = network("none", "api.test");
    assert!(!kept && refused.is_none(), "{refused:?}");
    assert_eq!(promise, "whatever the caller can reach");
    assert!(backed.contains("bind it to nothing"), "{backed}");
    let (.., refused) = network("process", "127.0.0.1:8080");
    assert!(refused.unwrap().contains("allowedHosts"));
}
