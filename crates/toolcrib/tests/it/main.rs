//! Tests of the library from outside, as one program: linking is slow and this links once.

mod call_log;
mod golden;
mod storage;
mod syscalls;
mod layers;
mod pipeline;
mod unicode;
mod wire;
