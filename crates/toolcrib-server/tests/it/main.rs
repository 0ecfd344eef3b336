//! The server by its routes, in this process: requests go to [`toolcrib_server::Api`] as they would come from a socket.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod approvals;
mod archive;
mod browsers;
mod bundles;
mod calls;
mod catalogue;
mod client;
mod collector;
mod files;
mod fuzz;
mod grants;
mod harness;
mod health;
mod hostile;
mod hosts;
mod in_process;
mod kernel;
mod listen;
mod lists;
mod manners;
mod mcp;
mod mcp_gate;
mod mcp_http;
mod mcp_list;
mod observe;
mod removal;
mod settings;
mod table;
mod tokens;
mod tools;
mod traces;
mod ui;
mod unicode;
mod upstreams;
