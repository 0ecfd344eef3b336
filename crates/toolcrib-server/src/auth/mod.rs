//! Who asks, and from where: tokens, clients, `Host` and `Origin`.

mod authority;
mod clients;
mod digest;
mod hosts;
mod tokens;

pub use clients::{Client, Clients, ClientsError, NewClient};
pub use hosts::{Hosts, HostsError, Welcome};
pub use tokens::{Principal, TokenError, Tokens, operator_token};
