//! The whole of Toolcrib over HTTP.
//!
//! [`Api`] answers one request; it knows nothing of sockets, so that tests, benchmarks and other servers can hand it requests directly.
//! [`listen`] brings it to the network: our own accept loop with caps and deadlines. [`client`] is the other end, for the command line.
//!
//! Invariants: every route is in one table ([`routes`]), which says who may use it, what it takes and what it answers; the router, the
//! check of tokens, `openapi.json` and the page of documentation all read that table. Handlers hold no policy: a call goes to
//! [`Registry::execute`](toolcrib::Registry::execute_async) like every other.
//!
//! A server holds nothing that is not in its home except what runs, so any number of servers and commands may share a home.
//! Commands find one by [`running`] and use it only if it has the same workspace, settings and rules. Settings and rules are read
//! at the start.
//!
//! Written on hyper instead of axum: with axum's router the permission, the documentation and the tests of a route would be
//! written apart from it. `cargo bench -p toolcrib-server --bench load` compares the two.

pub mod api;
pub mod auth;
pub mod client;
pub mod curl;
pub mod listen;
pub mod mcp;
pub mod observe;
pub mod openapi;
pub mod routes;
pub mod running;
pub mod web;

pub use api::{Api, ApiOptions};

/// How long calls go by what is known of tools' files: another process's change is seen by calls this much later at most. A look takes a
/// dozen system calls, more than the rest of a short call.
pub const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(2);
