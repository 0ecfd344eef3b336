//! Identifies callers and their origin: tokens, clients, `Host` and `Origin`.
//!
//! A token makes a request a [`Principal`], and that becomes the `Caller` of its calls. Grants, ids that callers chose and the
//! right to see a call all go by the caller.

mod authority;
mod browsers;
mod clients;
mod digest;
mod hosts;
mod removal;
mod tokens;

pub(crate) use browsers::{BadCode, SignedIn, prove_origin};
pub use browsers::{Browser, Browsers, CODE_LASTS};
pub use clients::{Client, Clients, ClientsError, NewClient};
pub use hosts::{Hosts, HostsError, Welcome};
pub(crate) use removal::cancel_strays;
pub use removal::remove_clients;
pub use tokens::{Principal, TokenError, Tokens, operator_token};
