//! [`Tunnel`]: bytes both ways, once CONNECT was answered.

use std::io;

use futures_util::future::try_join;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::activity::Watched;
use super::hello::{self, Hello, MAX_HELLO};
use crate::egress::Dialled;
use crate::model::exchange::Noted;
use crate::target::{Host, Target};

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
        let mut inside = TokioIo::new(inside);
        let first = match opening(&self.target, &mut inside).await {
            Ok(first) => first,
            Err(Cut::Plain) => {
                // A client that speaks plain HTTP can read why it ends here.
                let _ = inside.write_all(NOT_TLS.as_bytes()).await;
                let _ = inside.shutdown().await;
                return;
            }
            Err(Cut::Tls | Cut::Ended) => return,
        };
        let (from_inside, to_inside) = tokio::io::split(inside);
        let (from_outside, to_outside) = tokio::io::split(self.upstream);
        let noted = &self.noted;
        let out = pump(from_inside, to_outside, first, |bytes| noted.sent(bytes));
        let back = pump(from_outside, to_inside, Vec::new(), |bytes| {
            noted.received(bytes);
        });
        // An error of one direction ends the other.
        let _ = try_join(out, back).await;
    }
}

/// Why a tunnel ends before anything has left.
#[derive(Debug, PartialEq, Eq)]
enum Cut {
    /// Something else than TLS.
    Plain,
    /// TLS that does not ask for the tunnel's name, or that no one understands.
    Tls,
    /// The client has gone before it was known what it wants.
    Ended,
}

/// The answer to a client that speaks something other than TLS.
const NOT_TLS: &str = "HTTP/1.1 403 Forbidden\r\nX-Toolcrib-Refused: not-tls\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Connection: close\r\nContent-Length: 120\r\n\r\n\
    toolcrib: a tunnel to a name carries TLS that asks for this name; plain HTTP goes without a tunnel (`GET http://host/`)\n";

/// The first bytes of a tunnel to a name, which leave only if they are TLS that asks for it: in anything else someone else
/// could be named. An address is one machine, whatever it is called: nothing is looked at.
async fn opening(target: &Target, from: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>, Cut> {
    let mut first = Vec::new();
    let Host::Name(host) = &target.host else {
        return Ok(first);
    };
    loop {
        match hello::read(&first) {
            Hello::More => {}
            Hello::Other => return Err(Cut::Plain),
            Hello::Tls(Some(name)) if *host == name.strip_suffix('.').unwrap_or(&name) => {
                return Ok(first);
            }
            Hello::Tls(_) | Hello::Bad => return Err(Cut::Tls),
        }
        let room = (MAX_HELLO - first.len().min(MAX_HELLO)) as u64;
        match from.take(room).read_buf(&mut first).await {
            Ok(0) | Err(_) => return Err(Cut::Ended),
            Ok(_) => {}
        }
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

    #[tokio::test]
    async fn nothing_but_tls_for_its_name_opens_a_tunnel_to_a_name() {
        let named = to(Host::Name("api.example.com".to_owned()));
        for (name, opens) in [
            ("api.example.com", true),
            ("API.example.com.", true),
            ("127.0.0.1", false),
            ("example.com", false),
            ("evil.api.example.com", false),
        ] {
            let sent = hello::tests::real(name);
            let opened = opening(&named, &mut &sent[..]).await;
            let expected = if opens { Ok(sent) } else { Err(Cut::Tls) };
            assert_eq!(opened, expected, "{name}");
        }
        let real = hello::tests::real("api.example.com");
        let cases: [(&[u8], Cut); 7] = [
            (
                b"GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
                Cut::Plain,
            ),
            (b"SSH-2.0-x\r\n", Cut::Plain),
            (&[0], Cut::Plain),
            // The hello of SSL 2, which names no one.
            (&[0x80, 0x2e, 1, 3, 1], Cut::Plain),
            (&[22, 3, 1, 0, 4, 2, 0, 0, 0], Cut::Tls),
            (&real[..real.len() - 1], Cut::Ended),
            (b"", Cut::Ended),
        ];
        for (sent, cut) in cases {
            assert_eq!(opening(&named, &mut &*sent).await, Err(cut), "{sent:?}");
        }
    }

    #[tokio::test]
    async fn a_tunnel_to_an_address_carries_anything() {
        let address = to(Host::Address(std::net::Ipv4Addr::LOCALHOST.into()));
        let mut said: &[u8] = b"SSH-2.0-x\r\n";
        assert_eq!(opening(&address, &mut said).await, Ok(Vec::new()));
        assert_eq!(said, b"SSH-2.0-x\r\n", "it waits for nothing");
    }

    #[test]
    fn the_answer_to_plain_http_is_as_long_as_it_says() {
        let (head, body) = NOT_TLS.split_once("\r\n\r\n").unwrap();
        assert!(
            head.ends_with(&format!("Content-Length: {}", body.len())),
            "{}",
            body.len()
        );
    }
}
