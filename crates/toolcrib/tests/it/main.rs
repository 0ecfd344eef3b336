//! Tests of the library from outside, as one program: linking is slow and this links once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod call_log;
mod endings;
mod golden;
mod layers;
mod paths;
mod pipeline;
mod properties;
mod rules;
mod seeds;
mod shell;
mod storage;
mod syscalls;
mod tools;
mod unicode;
mod wire;
