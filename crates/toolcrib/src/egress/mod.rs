//! The one way out: every byte that leaves for another machine goes through [`Egress`], whether an HTTP tool, a built-in or a
//! sandboxed program sends it.
//!
//! ```text
//! address   which addresses are nobody's business        hosts    the setting `allowedHosts`, and who may be reached
//! target    a URL, read once and in one spelling          resolve  names to addresses, checked; the checked one is dialled
//! client    one exchange: hops, time, sizes               body     unpacking, to a limit
//! error     why not, in words and codes                   proxy    the same guard for programs in the sandbox
//! ```
//!
//! The invariant: no connection is opened to an address that was not judged, and what was judged is what is dialled.

mod client;
mod error;
mod hosts;
mod proxy;
mod resolve;
mod target;

pub use client::{Egress, EgressOptions, Exchange, Request, Response};
pub use error::{EgressError, Refusal};
pub use hosts::{AllowedHosts, Reach, Standing};
pub use proxy::Proxy;
pub use resolve::{Dial, Dialled, Resolve};
pub use target::{Host, Target};
