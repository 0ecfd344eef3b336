//! The one way out: every byte that leaves for another machine goes through [`Egress`], whether an HTTP tool, a built-in or a
//! sandboxed program sends it.
//!
//! ```text
//! target    a URL, read once and in one spelling          address   which addresses are nobody's business
//! hosts     the setting `allowedHosts`, who may be reached guard     the decisions, pure
//! resolve   who answers for names, who dials              dial      resolve, judge, dial what was judged
//! tls       encryption                                    pool      connections kept for the next request
//! request   what is sent and what comes back              client    one request: hops, time, sizes
//! redirect  where a hop leads, what goes along            body      reading and unpacking, to a limit
//! exchange  what the record of a call says of it          error     why not, in words and codes
//! proxy     the same guard for programs in the sandbox    charset   bytes that came as text
//! retry_after  when a server wants to be asked again       stream    an answer that is read while it comes
//! raw       a connection for another protocol than HTTP scripted  answers in the place of the network, for tests of tools
//! ```
//!
//! The invariant: no connection of a tool is opened to an address that was not judged, and what was judged is what is dialled. Only our own
//! client of a server that the operator named uses `dial_first` and `Tls` by themselves. It is why redirects,
//! the pool and the resolver are our own: a general client (reqwest) follows, resolves and reuses by itself.
//!
//! A name is not looked up before the settings or a person named its host, since a lookup is itself a message. An `ExchangeLog`
//! is filled as things happen, so that a call that is stopped half-way still records what was sent. Tests use doubles for names
//! and for dialling; no test dials anything but loopback.

mod body;
pub(crate) mod charset;
mod client;
mod counted;
mod dial;
mod guard;
mod hosts;
mod pool;
mod proxy;
mod raw;
mod redirect;
mod request;
mod resolve;
mod retry_after;
mod scripted;
mod stream;
mod tls;

pub use client::{Egress, EgressOptions};
pub use hosts::{AllowedHosts, HostVerdict, Reach};
pub use proxy::Proxy;
pub(crate) use raw::{RawStream, RawTls};
pub use request::{Redirected, Request, Response};
pub use resolve::{Dial, Dialled, Resolve};
#[doc(hidden)]
pub use resolve::{System, Tcp, dial_first};
#[doc(hidden)]
pub use retry_after::retry_after;
pub use scripted::{Answerer, ScriptedAnswer};
pub use stream::{Streamed, StreamedBody};
#[doc(hidden)]
pub use tls::{Judging, Tls, TlsError};

pub use crate::model::exchange::{Exchange, ExchangeLog};
pub(crate) use crate::target::MAX_URL;
pub use crate::target::{EgressError, Host, Refusal, Target, is_framing};
