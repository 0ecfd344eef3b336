//! A scripted collector of traces, which keeps what it received.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How a collector answers.
#[derive(Clone, Copy)]
pub(crate) enum Mood {
    /// Takes it.
    Takes,
    /// Answers with this status and these further lines of the head.
    Says(&'static str),
    /// Reads everything and answers never.
    Silent,
}

/// Listens until it is dropped.
pub(crate) struct Collector {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The answers to the next requests; `Takes` to those behind.
    moods: Mutex<VecDeque<Mood>>,
    /// Every body that came, taken or not.
    bodies: Mutex<Vec<Value>>,
    came: Condvar,
}

impl Collector {
    pub(crate) fn start(moods: impl IntoIterator<Item = Mood>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            moods: Mutex::new(moods.into_iter().collect()),
            ..State::default()
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || shared.serve(stream.unwrap()));
            }
        });
        Collector { port, state }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The first so many requests that came.
    pub(crate) fn requests(&self, count: usize) -> Vec<Value> {
        let bodies = self.state.bodies.lock().unwrap();
        let (bodies, timeout) = self
            .state
            .came
            .wait_timeout_while(bodies, Duration::from_secs(20), |all| all.len() < count)
            .unwrap();
        assert!(!timeout.timed_out(), "{} of {count} came", bodies.len());
        bodies.clone()
    }

    /// The spans of all requests, once there are so many, each checked for its form.
    pub(crate) fn spans(&self, count: usize) -> Vec<Value> {
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut requests = 1;
        loop {
            let spans: Vec<Value> = self.requests(requests).iter().flat_map(spans_of).collect();
            if spans.len() >= count {
                return spans;
            }
            assert!(
                Instant::now() < deadline,
                "{} of {count} spans",
                spans.len()
            );
            requests += 1;
        }
    }
}

impl State {
    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            assert_eq!(line.trim_end(), "POST /v1/traces HTTP/1.1");
            let (mut length, mut is_json) = (0, false);
            loop {
                let mut header = String::new();
                reader.read_line(&mut header).unwrap();
                let header = header.trim_end().to_ascii_lowercase();
                if let Some(value) = header.strip_prefix("content-length: ") {
                    length = value.parse().unwrap();
                }
                is_json |= header == "content-type: application/json";
                if header.is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            assert!(is_json, "OTLP in JSON says so");
            self.bodies
                .lock()
                .unwrap()
                .push(serde_json::from_slice(&body).unwrap());
            self.came.notify_all();
            let mood = self.moods.lock().unwrap().pop_front();
            let answer = match mood.unwrap_or(Mood::Takes) {
                Mood::Takes => {
                    "200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
                        .to_owned()
                }
                Mood::Says(head) => format!("{head}\r\ncontent-length: 0\r\n\r\n"),
                Mood::Silent => continue,
            };
            if stream
                .write_all(format!("HTTP/1.1 {answer}").as_bytes())
                .is_err()
            {
                return;
            }
        }
    }
}

/// The spans of a request, every field of which must be one that the protocol has.
fn spans_of(body: &Value) -> Vec<Value> {
    let only = |value: &Value, known: &[&str]| {
        for key in value.as_object().expect("an object").keys() {
            assert!(known.contains(&key.as_str()), "`{key}` in {value}");
        }
    };
    only(body, &["resourceSpans"]);
    let [resource] = body["resourceSpans"].as_array().unwrap().as_slice() else {
        panic!("one resource");
    };
    only(resource, &["resource", "scopeSpans"]);
    attributes(&resource["resource"]["attributes"]);
    let [scope] = resource["scopeSpans"].as_array().unwrap().as_slice() else {
        panic!("one scope");
    };
    only(scope, &["scope", "spans"]);
    assert_eq!(scope["scope"]["name"], "toolcrib");
    let spans = scope["spans"].as_array().unwrap().clone();
    for span in &spans {
        only(
            span,
            &[
                "traceId",
                "spanId",
                "parentSpanId",
                "name",
                "kind",
                "startTimeUnixNano",
                "endTimeUnixNano",
                "attributes",
                "events",
                "status",
            ],
        );
        let hex = |key: &str, digits: usize| {
            let text = span[key].as_str().unwrap();
            let is_hex = |letter: char| letter.is_ascii_digit() || ('a'..='f').contains(&letter);
            assert!(text.len() == digits && text.chars().all(is_hex), "{span}");
        };
        hex("traceId", 32);
        hex("spanId", 16);
        if span.get("parentSpanId").is_some() {
            hex("parentSpanId", 16);
        }
        let nanos = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        assert!(
            nanos("startTimeUnixNano") <= nanos("endTimeUnixNano"),
            "{span}"
        );
        attributes(&span["attributes"]);
        only(&span["status"], &["code"]);
        for event in span["events"].as_array().into_iter().flatten() {
            only(event, &["timeUnixNano", "name", "attributes"]);
            attributes(&event["attributes"]);
        }
    }
    spans
}

fn attributes(list: &Value) {
    for attribute in list.as_array().unwrap() {
        assert!(attribute["key"].is_string(), "{attribute}");
        let value = attribute["value"].as_object().unwrap();
        let [(kind, value)] = value.iter().collect::<Vec<_>>()[..] else {
            panic!("one value: {attribute}");
        };
        let is_sound = match kind.as_str() {
            "stringValue" => value.is_string(),
            // 64-bit numbers are strings in the protocol's JSON.
            "intValue" => value
                .as_str()
                .is_some_and(|text| text.parse::<i64>().is_ok()),
            "doubleValue" => value.is_number(),
            "boolValue" => value.is_boolean(),
            _ => false,
        };
        assert!(is_sound, "{attribute}");
    }
}

/// The value of an attribute, as text.
pub(crate) fn attribute(span: &Value, key: &str) -> Option<String> {
    let found = span["attributes"]
        .as_array()?
        .iter()
        .find(|attribute| attribute["key"] == key)?;
    let value = found["value"].as_object()?.values().next()?;
    Some(
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned),
    )
}
