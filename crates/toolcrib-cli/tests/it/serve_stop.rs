//! A server that stops: calls in flight are finished or cancelled, streams say that they end, nothing is lost.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread::JoinHandle;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::Test;
use crate::serving::{Client, PATIENCE, Serving, eventually};

/// Calls `shell` in a thread.
fn shell(client: Client, command: &str) -> JoinHandle<Option<(u16, Value)>> {
    let body = json!({"name": "shell", "arguments": {"command": command}, "approvals": "yes"});
    std::thread::spawn(move || client.ask("POST", "/api/calls", &body))
}

/// Whether a process with this in its command line lives.
fn lives(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(word))
}

/// The records of the call log.
fn records(test: &Test) -> Vec<Value> {
    let ran = test.run(&["calls", "list", "--json"]).exits(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_call_in_flight_is_finished_and_answered() {
    let test = Test::new();
    let mut server = Serving::start(&test);
    let call = shell(
        server.client(),
        "touch begun; while [ ! -e go ]; do sleep 0.02; done; echo done",
    );
    eventually("the call begins", || {
        test.workspace().join("begun").exists()
    });
    server.signal(Signal::TERM);
    eventually("no one gets in", || {
        TcpStream::connect(server.address).is_err()
    });
    std::fs::write(test.workspace().join("go"), "").unwrap();
    let (status, body) = call.join().unwrap().expect("an answer");
    assert_eq!((status, &body["value"]["stdout"]), (200, &json!("done\n")));
    assert!(server.ended().success());
    let id = body["metadata"]["callId"].as_str().unwrap();
    let records = records(&test);
    let record = records.iter().find(|record| record["callId"] == id);
    assert_eq!(record.unwrap()["ok"], true);
}

#[test]
fn a_call_that_takes_too_long_is_cancelled_and_its_programs_die() {
    let test = Test::new().config("[server]\nshutdownMs = 200\n");
    let mut server = Serving::start(&test);
    let nap = format!("86400.{}", server.pid());
    let call = shell(server.client(), &format!("touch begun; sleep {nap}"));
    eventually("the call begins", || {
        test.workspace().join("begun").exists()
    });
    eventually("its program runs", || lives(&nap));
    server.signal(Signal::TERM);
    let (_, body) = call.join().unwrap().expect("an answer");
    assert_eq!(body["error"]["code"], "CANCELLED", "{body}");
    assert!(server.ended().success());
    assert!(!lives(&nap));
    let records = records(&test);
    let id = &body["metadata"]["callId"];
    let record = records.iter().find(|record| record["callId"] == *id);
    assert_eq!(record.unwrap()["code"], "CANCELLED", "{records:?}");
}

#[test]
fn a_second_signal_cancels_at_once() {
    let test = Test::new().config("[server]\nshutdownMs = 600000\n");
    let mut server = Serving::start(&test);
    let nap = format!("86400.{}", server.pid());
    let call = shell(server.client(), &format!("touch begun; sleep {nap}"));
    eventually("the call begins", || {
        test.workspace().join("begun").exists()
    });
    server.signal(Signal::INT);
    eventually("no one gets in", || {
        TcpStream::connect(server.address).is_err()
    });
    server.signal(Signal::INT);
    let (_, body) = call.join().unwrap().expect("an answer");
    assert_eq!(body["error"]["code"], "CANCELLED", "{body}");
    assert!(server.ended().success());
    assert!(!lives(&nap));
}

#[test]
fn a_stream_is_informed_that_the_server_stops() {
    let test = Test::new();
    let mut server = Serving::start(&test);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "GET /api/events HTTP/1.1\r\nHost: localhost:{}\r\nAuthorization: Bearer {}\r\n\
         Accept: text/event-stream\r\n\r\n",
        server.address.port(),
        server.token
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    server.signal(Signal::TERM);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("event: shutdown"), "{rest}");
    assert!(server.ended().success());
}

#[test]
fn a_caller_that_waits_for_an_approval_is_informed_and_nothing_waits_for_ever() {
    let test = Test::new()
        .file("f", "")
        .config("[server]\nshutdownMs = 100\n");
    let mut server = Serving::start(&test);
    let client = server.client();
    let body = json!({"name": "delete_file", "arguments": {"path": "f"}});
    let call = std::thread::spawn(move || client.ask("POST", "/api/calls", &body));
    eventually("it is asked for", || {
        let (_, body) = server.get("/api/approvals");
        body["approvals"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    });
    server.signal(Signal::TERM);
    let (_, body) = call.join().unwrap().expect("an answer");
    assert_eq!(body["ok"], false, "{body}");
    assert!(server.ended().success());
}
