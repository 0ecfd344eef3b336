//! Who asks, and from where: tokens, clients, `Host` and `Origin`.

mod clients;
mod hosts;
mod tokens;

pub use clients::{Client, Clients, ClientsError, NewClient};
pub use hosts::{Hosts, Welcome};
pub use tokens::{Principal, TokenError, Tokens};
