//! Tests of the library from outside, as one program: linking is slow and this links once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod approvals;
mod archive;
mod call_log;
mod definition;
mod egress;
mod endings;
mod files;
mod golden;
mod grants;
mod jsonpath;
mod layers;
mod manifest;
mod paths;
mod pipeline;
mod programs;
mod properties;
mod rules;
mod search;
mod search_many;
mod secrets;
mod seeds;
mod shell;
mod shell_cases;
mod source;
mod storage;
mod store;
mod syscalls;
mod template;
mod tools;
mod unicode;
mod web;
mod wire;
