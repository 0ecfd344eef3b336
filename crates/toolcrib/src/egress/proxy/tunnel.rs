//! [`Tunnel`]: bytes both ways, once CONNECT was answered.

use std::io;

use futures_util::future::try_join;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::activity::Watched;
use super::hello::{self, Hello, MAX_HELLO};
use crate::egress::Dialled;
use crate::egress::exchange::Noted;
use crate::egress::target::{Host, Target};

/// How much is on its way in one direction.
const PIECE: usize = 16 * 1024;

/// A connection that is to become a tunnel.
pub(super) struct Tunnel {
    pub(super) upgrade: OnUpgrade,
    pub(super) upstream: Watched<Box<dyn Dialled>>,
    pub(super) target: Target,
    pub(super) noted: Noted,
}

impl Tunnel {
    /// Passes bytes on until both sides have ended, or one has broken.
    pub(super) async fn run(self) {
        let Ok(inside) = self.upgrade.await else {
            return;
        };
        let (from_inside, to_inside) = tokio::io::split(TokioIo::new(inside));
        let (from_outside, to_outside) = tokio::io::split(self.upstream);
        let noted = &self.noted;
        let out = send_out(&self.target, from_inside, to_outside, |bytes| {
            noted.sent(bytes);
        });
        let back = pump(from_outside, to_inside, Vec::new(), |bytes| {
            noted.received(bytes);
        });
        // An error of one direction ends the other.
        let _ = try_join(out, back).await;
    }
}

/// The way out, whose first bytes are looked at: TLS for another name than the tunnel's does not leave.
async fn send_out(
    target: &Target,
    mut from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin,
    count: impl Fn(u64),
) -> io::Result<()> {
    let mut first = Vec::new();
    loop {
        match hello::read(&first) {
            Hello::More => {}
            Hello::Other => break,
            Hello::Tls(name) if is_meant(target, name.as_deref()) => break,
            Hello::Tls(_) | Hello::Bad => {
                return Err(io::Error::other("TLS for another name than the tunnel's"));
            }
        }
        let room = (MAX_HELLO - first.len().min(MAX_HELLO)) as u64;
        if (&mut from).take(room).read_buf(&mut first).await? == 0 {
            break;
        }
    }
    pump(from, to, first, count).await
}

/// An address is one machine, whatever it is called. A client that names nobody gets what the machine has for everybody.
fn is_meant(target: &Target, name: Option<&str>) -> bool {
    match (&target.host, name) {
        (Host::Address(_), _) | (_, None) => true,
        (Host::Name(host), Some(name)) => host == name.strip_suffix('.').unwrap_or(name),
    }
}

/// Passes bytes on, those in hand first, and says when they end.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut bytes: Vec<u8>,
    count: impl Fn(u64),
) -> io::Result<()> {
    loop {
        if !bytes.is_empty() {
            to.write_all(&bytes).await?;
            to.flush().await?;
            count(bytes.len() as u64);
            bytes.clear();
        }
        bytes.reserve(PIECE);
        if (&mut from).take(PIECE as u64).read_buf(&mut bytes).await? == 0 {
            return to.shutdown().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(host: Host) -> Target {
        Target {
            https: true,
            host,
            port: 443,
        }
    }

    #[test]
    fn tls_names_the_host_of_its_tunnel_or_nobody() {
        let named = to(Host::Name("api.example.com".to_owned()));
        assert!(is_meant(&named, Some("api.example.com")));
        assert!(is_meant(&named, Some("api.example.com.")));
        assert!(is_meant(&named, None));
        assert!(!is_meant(&named, Some("example.com")));
        assert!(!is_meant(&named, Some("evil.api.example.com")));
        let address = to(Host::Address(std::net::Ipv4Addr::LOCALHOST.into()));
        assert!(is_meant(&address, Some("whatever.example")));
    }

    #[tokio::test]
    async fn bytes_that_look_like_tls_and_are_none_do_not_leave() {
        let target = to(Host::Name("api.example.com".to_owned()));
        let mut sent = Vec::new();
        let bad: &[u8] = &[22, 3, 1, 0, 4, 2, 0, 0, 0];
        assert!(send_out(&target, bad, &mut sent, |_| {}).await.is_err());
        assert_eq!(sent, b"");
        let other: &[u8] = b"SSH-2.0-x\r\n";
        send_out(&target, other, &mut sent, |_| {}).await.unwrap();
        assert_eq!(sent, other);
    }
}
