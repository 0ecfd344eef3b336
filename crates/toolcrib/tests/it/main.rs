//! Tests of the library from outside, as one program: linking is slow and this links once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod answer;
mod approvals;
mod archive;
mod call_log;
mod call_states;
mod chat;
mod database;
mod definition;
mod discovery;
mod egress;
mod endings;
mod files;
mod git;
mod golden;
mod grants;
mod held;
mod hostile;
mod jsonpath;
mod layers;
mod manifest;
mod newer_home;
mod notify;
mod paths;
mod pipeline;
mod programs;
mod properties;
mod results;
mod rules;
mod run_tests;
mod running;
mod schemas;
mod search;
mod search_code;
mod search_many;
mod secrets;
mod seeds;
mod shell;
mod shell_cases;
mod source;
mod storage;
mod store;
mod strict_json;
mod syscalls;
mod template;
mod tools;
mod unicode;
mod upstream;
mod web;
mod wire;

use std::io::Write as _;

/// The file in which a run collects what could not run.
const SKIPPED: &str = "TOOLCRIB_TEST_SKIPPED";

/// Says that the test that asks cannot run here, and why: in its output, and where `test.sh` reports it at the end.
fn skipped(why: std::fmt::Arguments<'_>) {
    let thread = std::thread::current();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test")).replace('\r', "");
    eprint!("SKIPPED {line}");
    if let Some(path) = std::env::var_os(SKIPPED) {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        file.unwrap().write_all(line.as_bytes()).unwrap();
    }
}
