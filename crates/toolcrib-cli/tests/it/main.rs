//! Tests of the binary from outside, as one program.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod absence;
mod approvals;
mod attacks;
mod authoring;
mod bundle_archives;
mod bundle_trust;
mod bundles;
mod calls;
mod check;
mod clients;
mod completions;
mod config;
mod connect;
mod contents;
mod converse;
mod doctor;
mod elicit;
mod example_server;
mod grants;
mod harness;
mod held;
mod help;
mod hidden;
mod home_files;
mod hook;
mod http_authoring;
mod http_files;
mod http_tools;
mod interactive;
mod list;
mod mcp;
mod newer_home;
mod own_data;
mod pages;
mod programs;
mod promises;
mod prompt;
mod readme;
mod remote;
mod remote_verbs;
mod rules;
mod run;
mod sandbox;
mod schema;
mod search;
mod secrets;
mod seed_fields;
mod seed_yaml;
mod serve;
mod serve_approvals;
mod serve_crash;
mod serve_hostile;
mod serve_memory;
mod serve_pair;
mod serve_stop;
mod serve_tls;
mod service_manager;
mod serving;
mod stats;
mod steps;
mod stored_tools;
mod terminal;
mod tool_files;
mod trial;
mod upstream;
mod version;
mod watch;
mod yaml_cases;

/// Says that the test that asks cannot run here, and why: in its output, and where `test.sh` reports it at the end.
fn skipped(why: std::fmt::Arguments<'_>) {
    use std::io::Write as _;
    let thread = std::thread::current();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test")).replace('\r', "");
    eprint!("SKIPPED {line}");
    if let Some(path) = std::env::var_os("TOOLCRIB_TEST_SKIPPED") {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        file.unwrap().write_all(line.as_bytes()).unwrap();
    }
}
