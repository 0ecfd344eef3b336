//! A browser's answer, taken on this machine: [`Loopback`].
//!
//! One address of this machine, for one answer: any other request there gets an error, and everything is bounded. Other
//! local users can send requests too, so only the answer with the right `state` counts.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use url::Url;

use super::Consent;

/// The path a browser is sent back to.
const PATH: &str = "/callback";
/// The longest head of a request, and how long it may take.
const MAX_HEAD: usize = 32 * 1024;
const PATIENCE: Duration = Duration::from_secs(2);
/// How many requests are looked at.
const MAX_REQUESTS: usize = 100;

/// Waits for a browser to come back.
pub struct Loopback {
    listener: TcpListener,
    port: u16,
    patience: Duration,
    show: Box<dyn Fn(&str) + Send + Sync>,
}

impl Loopback {
    /// On this port of this machine, or any other if it is taken and not required; `show` shows a person the page to open.
    pub async fn open(
        wish: Option<u16>,
        is_needed: bool,
        patience: Duration,
        show: impl Fn(&str) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let at = |port: u16| TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let listener = match wish {
            Some(port) if is_needed => at(port).await?,
            Some(port) => match at(port).await {
                Ok(listener) => listener,
                Err(_) => at(0).await?,
            },
            None => at(0).await?,
        };
        Ok(Loopback {
            port: listener.local_addr()?.port(),
            listener,
            patience,
            show: Box::new(show),
        })
    }

    async fn wait(&self, url: Url, state: String) -> Result<Url, String> {
        (self.show)(url.as_str());
        let deadline = Instant::now() + self.patience;
        let answer = async {
            for _ in 0..MAX_REQUESTS {
                let accepted = self.listener.accept().await;
                let Ok((mut stream, _)) = accepted else {
                    continue;
                };
                let heard = tokio::time::timeout(PATIENCE, self.hear(&mut stream, &state)).await;
                if let Ok(Some(answer)) = heard {
                    return Ok(answer);
                }
            }
            Err("too many requests came that are not an answer to the login".to_owned())
        };
        match tokio::time::timeout_at(deadline, answer).await {
            Ok(answered) => answered,
            Err(_) => Err(format!(
                "no one logged in within {} s",
                self.patience.as_secs()
            )),
        }
    }

    /// One request; the answer to the login, if it is one.
    async fn hear(&self, stream: &mut TcpStream, state: &str) -> Option<Url> {
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            if head.len() > MAX_HEAD || stream.read_buf(&mut head).await.ok()? == 0 {
                return None;
            }
        }
        let first = head.split(|byte| *byte == b'\r').next()?;
        let mut words = std::str::from_utf8(first).ok()?.split(' ');
        let (method, path) = (words.next()?, words.next()?);
        let url = Url::parse(&format!("http://127.0.0.1:{}", self.port)).ok()?;
        let url = url
            .join(path)
            .ok()
            .filter(|url| url.path() == PATH && path.starts_with('/'));
        let Some(url) = url.filter(|_| method == "GET") else {
            say(stream, "404 Not Found", "There is nothing here.").await;
            return None;
        };
        if !url
            .query_pairs()
            .any(|(name, value)| name == "state" && value == state)
        {
            say(
                stream,
                "400 Bad Request",
                "This is not the answer to the login that Toolcrib began. Nothing was done.",
            )
            .await;
            return None;
        }
        match url.query_pairs().any(|(name, _)| name == "error") {
            true => say(stream, "200 OK", "The login was refused. Toolcrib says why.").await,
            false => say(stream, "200 OK", "Toolcrib has the answer. You can close this page; the command says whether it worked.").await,
        }
        Some(url)
    }
}

impl Consent for Loopback {
    fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    fn ask(&self, url: Url, state: String) -> BoxFuture<'_, Result<Url, String>> {
        Box::pin(self.wait(url, state))
    }
}

/// A page with one sentence, which may load nothing and sends no referrer.
async fn say(stream: &mut TcpStream, status: &str, words: &str) {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Toolcrib</title><p>{words}</p></html>\n"
    );
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nContent-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}
