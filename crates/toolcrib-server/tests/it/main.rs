//! The server by its routes, in this process: requests go to [`toolcrib_server::Api`] as they would come from a socket.

mod archive;
mod bundles;
mod catalogue;
mod client;
mod harness;
mod health;
mod listen;
mod lists;
mod tools;
mod unicode;
