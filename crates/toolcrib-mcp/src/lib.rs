//! The Model Context Protocol, both eras, both ends.
//!
//! Up to `2025-11-25` a client begins with `initialize`, has a session, and may be asked things by the server. Since `2026-07-28`
//! every request stands for itself: it says its version and what the client can do, and a server that wants to know something answers
//! `input_required`. One [`Server`](server::Server) speaks both on one endpoint; one [`Client`](client::Client) finds out which its server
//! speaks.
//!
//! A [`Host`](server::Host) decides what is served; this crate knows messages, lifecycles and transports. It opens no files, sockets
//! or processes: readers, writers and HTTP exchanges are given to it.
//!
//! Written by hand instead of using rmcp: every message must be bounded, one dispatch serves both eras, and what opens sockets
//! and processes has to be our guarded client and the sandbox.

pub mod client;
pub mod protocol;
pub mod rpc;
pub mod server;
mod weight;
