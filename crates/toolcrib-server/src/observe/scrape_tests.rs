//! The text is read back by a parser that takes nothing it does not know.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use super::*;
use crate::observe::Observer;
use crate::observe::watch::Ended;
use crate::routes::Routes;

/// A sample: name, labels, value.
type Sample = (String, BTreeMap<String, String>, f64);

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Reads `{a="b",…}` and returns what is behind it.
fn labels(mut text: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    let Some(rest) = text.strip_prefix('{') else {
        return (labels, text);
    };
    text = rest;
    loop {
        let (name, rest) = text.split_once("=\"").expect("a label has a value");
        assert!(is_name(name), "{name}");
        let mut value = String::new();
        let mut letters = rest.char_indices();
        let end = loop {
            match letters.next().expect("a value ends") {
                (at, '"') => break at,
                (_, '\\') => value.push(match letters.next().expect("something is escaped").1 {
                    'n' => '\n',
                    letter @ ('\\' | '"') => letter,
                    other => panic!("`\\{other}` is not an escape"),
                }),
                (_, letter) => value.push(letter),
            }
        };
        assert_eq!(labels.insert(name.to_owned(), value), None, "{name} twice");
        let rest = &rest[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => text = more,
            None => return (labels, rest.strip_prefix('}').expect("labels end")),
        }
    }
}

/// Reads the whole text; every family has its head, once, before its samples, and these are together.
pub(super) fn read(text: &str) -> Vec<Sample> {
    assert!(text.ends_with('\n'));
    let (mut samples, mut kinds) = (Vec::new(), HashMap::new());
    let (mut current, mut helped) = (String::new(), HashSet::new());
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("help has words");
            assert!(is_name(name) && !words.trim().is_empty());
            assert!(helped.insert(name.to_owned()), "{name} has two heads");
            current = name.to_owned();
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a type has a kind");
            assert_eq!(name, current, "the help comes first");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{kind}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
            kinds.insert(name.to_owned(), kind.to_owned());
        } else {
            let end = line.find(['{', ' ']).expect("a sample has a value");
            let (name, rest) = line.split_at(end);
            let (labels, rest) = labels(rest);
            let value: f64 = rest.strip_prefix(' ').expect("a blank").parse().unwrap();
            let family = match kinds[&current].as_str() {
                "histogram" => ["_bucket", "_sum", "_count"]
                    .iter()
                    .find_map(|end| name.strip_suffix(end))
                    .expect("a sample of a histogram"),
                _ => name,
            };
            assert!(is_name(name) && family == current, "{name} in {current}");
            samples.push((name.to_owned(), labels, value));
        }
    }
    let mut seen = HashSet::new();
    for (name, labels, _) in &samples {
        assert!(
            seen.insert(format!("{name}{labels:?}")),
            "{name}{labels:?} twice"
        );
    }
    histograms_add_up(&samples, &kinds);
    samples
}

fn histograms_add_up(samples: &[Sample], kinds: &HashMap<String, String>) {
    for (family, _) in kinds.iter().filter(|(_, kind)| *kind == "histogram") {
        let mut last: HashMap<String, (f64, f64)> = HashMap::new();
        for (name, labels, value) in samples {
            if *name == format!("{family}_bucket") {
                let bound = match labels["le"].as_str() {
                    "+Inf" => f64::INFINITY,
                    bound => bound.parse().unwrap(),
                };
                let mut others = labels.clone();
                others.remove("le");
                let before = last.insert(format!("{others:?}"), (bound, *value));
                if let Some((lower, fewer)) = before {
                    assert!(lower < bound && fewer <= *value, "{family} goes down");
                }
            }
        }
        for (name, labels, value) in samples {
            if *name == format!("{family}_count") {
                assert_eq!(last[&format!("{labels:?}")], (f64::INFINITY, *value));
            }
        }
    }
}

fn value(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let wanted: BTreeMap<String, String> = labels
        .iter()
        .map(|(label, text)| ((*label).to_owned(), (*text).to_owned()))
        .collect();
    let found = samples
        .iter()
        .find(|(other, labels, _)| other == name && *labels == wanted);
    found.map(|(_, _, value)| *value)
}

fn observer() -> Observer {
    let observer = Observer::default();
    observer.0.figures.learn(&Routes::all());
    observer
}

#[test]
fn the_text_is_what_prometheus_reads() {
    let observer = observer();
    let figures = &observer.0.figures;
    let health = figures.route("health").unwrap();
    for micros in [10, 700, 5_000_000] {
        figures.began();
        figures.ended(
            Some(health),
            Some(200),
            Ended::Whole,
            Duration::from_micros(micros),
        );
    }
    figures.began();
    figures.ended(None, Some(404), Ended::Whole, Duration::from_micros(1));
    figures.began();
    figures.ended(Some(health), None, Ended::Aborted, Duration::from_micros(1));
    let open = observer.connection();
    observer.timed_out(crate::observe::Timeout::Header);
    observer.stream_dropped();
    let store = StoreNow {
        bundles: 2,
        approvals_pending: Some(1),
        ..StoreNow::default()
    };
    let gate = GateNow {
        running: 3,
        waiting: 4,
    };
    let samples = read(&observer.scrape(&gate, &store));
    let route = [("route", "/api/health"), ("method", "GET")];
    let requests = "toolcrib_http_requests_total";
    let with = |status| [route[0], route[1], ("status", status)];
    assert_eq!(value(&samples, requests, &with("2xx")), Some(3.0));
    assert_eq!(value(&samples, requests, &with("aborted")), Some(1.0));
    let none = [("route", "none"), ("method", "any"), ("status", "4xx")];
    assert_eq!(value(&samples, requests, &none), Some(1.0));
    let took = "toolcrib_http_request_duration_seconds_count";
    assert_eq!(value(&samples, took, &route), Some(4.0));
    for (name, expected) in [
        ("toolcrib_http_requests_in_flight", 0.0),
        ("toolcrib_connections_open", 1.0),
        ("toolcrib_connections_accepted_total", 1.0),
        ("toolcrib_streams_open", 0.0),
        ("toolcrib_streams_dropped_total", 1.0),
        ("toolcrib_gate_running", 3.0),
        ("toolcrib_gate_waiting", 4.0),
        ("toolcrib_approvals_pending", 1.0),
        ("toolcrib_store_bundles", 2.0),
        ("toolcrib_access_log_dropped_total", 0.0),
    ] {
        assert_eq!(value(&samples, name, &[]), Some(expected), "{name}");
    }
    let header = [("what", "header")];
    assert_eq!(
        value(&samples, "toolcrib_connections_timed_out_total", &header),
        Some(1.0)
    );
    for name in [
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_start_time_seconds",
    ] {
        assert!(value(&samples, name, &[]).unwrap() > 0.0, "{name}");
    }
    drop(open);
    assert_eq!(observer.connections_open(), 0);
}

#[test]
fn odd_letters_in_labels_are_escaped() {
    let mut text = Text(String::new());
    text.head("a_total", "counter", "A.");
    let odd = "q\"b\\n\nü";
    text.sample("a_total", &[("l", odd)], 1);
    assert_eq!(value(&read(&text.0), "a_total", &[("l", odd)]), Some(1.0));
}
