//! Who asks, and from where: tokens, clients, `Host` and `Origin`.

mod authority;
mod clients;
mod digest;
mod hosts;
mod removal;
mod tokens;

pub use clients::{Client, Clients, ClientsError, NewClient};
pub use hosts::{Hosts, HostsError, Welcome};
pub(crate) use removal::cancel_strays;
pub use removal::remove_clients;
pub use tokens::{Principal, TokenError, Tokens, operator_token};
