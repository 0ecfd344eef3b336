//! Tests of the binary from outside, as one program.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod approvals;
mod attacks;
mod authoring;
mod bundle_archives;
mod calls;
mod check;
mod completions;
mod config;
mod doctor;
mod example_server;
mod grants;
mod harness;
mod help;
mod http_authoring;
mod http_files;
mod http_tools;
mod interactive;
mod list;
mod programs;
mod prompt;
mod readme;
mod rules;
mod run;
mod sandbox;
mod schema;
mod search;
mod secrets;
mod seed_fields;
mod seed_yaml;
mod steps;
mod terminal;
mod tool_files;
mod trial;
mod watch;
mod yaml_cases;
