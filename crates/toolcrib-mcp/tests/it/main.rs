//! The server over a pair of pipes and over HTTP, both eras, from the client's side of the wire.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod cancelling;
mod changes;
mod crowded;
mod http;
mod http_legacy;
mod http_modern;
mod legacy;
mod malformed;
mod modern;
mod pipes;
mod questions;
mod random;
mod stage;
mod transcripts;
