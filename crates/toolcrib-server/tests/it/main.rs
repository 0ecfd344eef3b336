//! The server by its routes, in this process: requests go to [`toolcrib_server::Api`] as they would come from a socket.

mod calls;
mod client;
mod harness;
mod health;
