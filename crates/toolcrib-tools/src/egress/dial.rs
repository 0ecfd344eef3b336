//! Connections: resolve, judge, dial what was judged; through the configured proxy where there is one.

use std::net::IpAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, timeout_at};

use super::guard::Guard;
use super::hosts::Reach;
use super::resolve::{Dial, Dialled, Resolve, dial_first};
use crate::target::EgressError;
use crate::target::{Host, Target};

/// The most addresses a name may have. All are judged.
const MAX_ADDRESSES: usize = 256;

/// The longest answer of a proxy to `CONNECT`.
const MAX_PROXY_HEAD: usize = 16 * 1024;

/// Resolves, judges and dials.
pub(super) struct Connector {
    pub(super) guard: Guard,
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) dialler: Arc<dyn Dial>,
    /// The configured proxy.
    pub(super) proxy: Option<Target>,
}

/// A connection, and the address it was dialled to; none behind a proxy, which alone knows.
pub(super) struct Connection {
    pub(super) stream: Box<dyn Dialled>,
    pub(super) address: Option<IpAddr>,
}

/// How a target is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By its own address.
    Direct,
    /// By the proxy.
    Proxy,
}

impl Connector {
    /// How a target is reached. This machine is reached directly: to a proxy, `localhost` would be the proxy's own.
    pub(super) fn way_to(&self, target: &Target) -> Way {
        let is_here = Guard::known_addresses(target)
            .is_some_and(|addresses| addresses.iter().all(IpAddr::is_loopback));
        match self.proxy {
            Some(_) if !is_here => Way::Proxy,
            Some(_) | None => Way::Direct,
        }
    }

    /// Opens a connection to a target that was admitted. Behind a proxy it is one to the proxy if `plain`, else a tunnel through it.
    pub(super) async fn open(
        &self,
        target: &Target,
        reach: &Reach,
        plain: bool,
        deadline: Instant,
    ) -> Result<Connection, EgressError> {
        if let (Some(proxy), Way::Proxy) = (&self.proxy, self.way_to(target)) {
            let addresses = self.addresses(proxy, deadline).await?;
            let (mut stream, _) = self.dial_first(proxy, &addresses, deadline).await?;
            if !plain {
                within(deadline, target, tunnel(&mut stream, target)).await??;
            }
            return Ok(Connection {
                stream,
                address: None,
            });
        }
        let addresses = self.addresses(target, deadline).await?;
        self.guard.judge_addresses(target, reach, &addresses)?;
        let (stream, address) = self.dial_first(target, &addresses, deadline).await?;
        Ok(Connection {
            stream,
            address: Some(address),
        })
    }

    /// The addresses of a target, not judged yet.
    async fn addresses(
        &self,
        target: &Target,
        deadline: Instant,
    ) -> Result<Vec<IpAddr>, EgressError> {
        if let Some(known) = Guard::known_addresses(target) {
            return Ok(known);
        }
        let Host::Name(name) = &target.host else {
            return Ok(Vec::new());
        };
        let addresses = match timeout_at(deadline, self.resolver.resolve(name)).await {
            Ok(Ok(addresses)) => addresses,
            Ok(Err(error)) => {
                return Err(EgressError::unsent(format!(
                    "cannot find the address of `{name}`: {error}"
                )));
            }
            Err(_) => {
                return Err(EgressError::Timeout(format!(
                    "the address of `{name}` was not found in time"
                )));
            }
        };
        if addresses.is_empty() {
            return Err(EgressError::unsent(format!("`{name}` has no address")));
        }
        if addresses.len() > MAX_ADDRESSES {
            return Err(EgressError::unsent(format!(
                "`{name}` has more than {MAX_ADDRESSES} addresses"
            )));
        }
        Ok(addresses
            .into_iter()
            .map(crate::target::canonical)
            .collect())
    }

    async fn dial_first(
        &self,
        target: &Target,
        addresses: &[IpAddr],
        deadline: Instant,
    ) -> Result<(Box<dyn Dialled>, IpAddr), EgressError> {
        let dialled = dial_first(&*self.dialler, addresses, target.port, deadline).await;
        dialled.map_err(|mut errors| match errors.pop() {
            Some(error) => EgressError::unsent(format!("cannot connect to `{target}`: {error}")),
            None => EgressError::Timeout(format!("`{target}` did not accept a connection in time")),
        })
    }
}

/// Waits for something about a target until the deadline.
pub(super) async fn within<T>(
    deadline: Instant,
    target: &Target,
    future: impl Future<Output = T>,
) -> Result<T, EgressError> {
    timeout_at(deadline, future).await.map_err(|_| {
        EgressError::Timeout(format!("the exchange with `{target}` was not over in time"))
    })
}

/// Asks a proxy for a tunnel.
async fn tunnel(stream: &mut Box<dyn Dialled>, target: &Target) -> Result<(), EgressError> {
    let failed = |error: std::io::Error| {
        EgressError::unsent(format!("the configured proxy broke off: {error}"))
    };
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(failed)?;
    stream.flush().await.map_err(failed)?;
    // Byte by byte: what follows the head belongs to the tunnel. It happens once per connection.
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == MAX_PROXY_HEAD {
            return Err(EgressError::unsent(
                "the configured proxy answered with a head that does not end",
            ));
        }
        head.push(stream.read_u8().await.map_err(failed)?);
    }
    let status = head
        .strip_prefix(b"HTTP/1.1 ")
        .or_else(|| head.strip_prefix(b"HTTP/1.0 "))
        .and_then(|rest| std::str::from_utf8(rest.get(..3)?).ok());
    match status {
        Some(status) if status.starts_with('2') => Ok(()),
        Some(status) => Err(EgressError::unsent(format!(
            "the configured proxy did not connect to `{target}`: it answered with status {status}"
        ))),
        None => Err(EgressError::unsent(
            "the configured proxy did not answer in HTTP",
        )),
    }
}
