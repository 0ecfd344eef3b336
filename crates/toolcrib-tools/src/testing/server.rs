//! A real HTTP/1.1 server on loopback that answers as a test scripts it: [`ScriptedServer`].
//!
//! It runs on its own threads, so that it serves tests with any runtime, paused time and other processes alike.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

/// How long a thread of the server waits for the next byte.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// GET, POST, …
    pub method: String,
    /// What stood after the method.
    pub target: String,
    /// The headers, in order and as they were spelled.
    pub headers: Vec<(String, String)>,
    /// The head, byte for byte, with the empty line at its end.
    pub head: Vec<u8>,
    /// The body.
    pub body: Vec<u8>,
    /// On which connection it came, counted from 1.
    pub connection: usize,
}

impl Received {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut named = self
            .headers
            .iter()
            .filter(|(other, _)| other.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// What the server does in answer to a request.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// Instead of a head and a body.
    raw: Option<Vec<u8>>,
    /// The body goes in pieces of this size with this pause.
    drip: Option<(usize, Duration)>,
    /// The body is repeated, chunked, until the client goes away.
    endless: bool,
    /// Before anything is sent.
    delay: Duration,
    close: bool,
}

impl Reply {
    /// An answer with this status and no body.
    pub fn status(status: u16) -> Self {
        Reply {
            status,
            ..Reply::default()
        }
    }

    /// 200 with this body.
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Reply::status(200).body(body)
    }

    /// 200 with this JSON.
    pub fn json(value: &Value) -> Self {
        Reply::ok(value.to_string()).header("Content-Type", "application/json")
    }

    /// A redirection.
    pub fn redirect(status: u16, location: &str) -> Self {
        Reply::status(status).header("Location", location)
    }

    /// These very bytes, whatever they are; the connection is closed after them.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Reply {
            raw: Some(bytes.into()),
            close: true,
            ..Reply::default()
        }
    }

    /// With this header. One named `Content-Length` or `Transfer-Encoding` is sent in place of the right one.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With this body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends the body (or the raw bytes) in pieces with a pause after each.
    #[must_use]
    pub fn slowly(mut self, piece: usize, pause: Duration) -> Self {
        self.drip = Some((piece.max(1), pause));
        self
    }

    /// Sends the body again and again, chunked, until the client goes away.
    #[must_use]
    pub fn endless(mut self) -> Self {
        self.endless = true;
        self
    }

    /// Waits before it sends anything.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Closes the connection after the answer, without saying so before.
    #[must_use]
    pub fn close(mut self) -> Self {
        self.close = true;
        self
    }

    fn head(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} x\r\n", self.status);
        let is_set = |name: &str| {
            self.headers
                .iter()
                .any(|(other, _)| other.eq_ignore_ascii_case(name))
        };
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let bodiless = matches!(self.status, 100..=199 | 204 | 304);
        match (
            is_set("Content-Length") || is_set("Transfer-Encoding"),
            self.endless,
        ) {
            (true, _) => {}
            (false, true) => head.push_str("Transfer-Encoding: chunked\r\n"),
            (false, false) if bodiless => {}
            (false, false) => head.push_str(&format!("Content-Length: {}\r\n", self.body.len())),
        }
        head.push_str("\r\n");
        head.into_bytes()
    }

    fn send(&self, to: &mut dyn Write, is_head: bool) -> io::Result<()> {
        std::thread::sleep(self.delay);
        let body: &[u8] = match &self.raw {
            Some(raw) => raw,
            None => {
                to.write_all(&self.head())?;
                to.flush()?;
                &self.body
            }
        };
        if is_head && self.raw.is_none() {
            return Ok(());
        }
        loop {
            let (piece, pause) = self.drip.unwrap_or((body.len().max(1), Duration::ZERO));
            for piece in body.chunks(piece) {
                if self.endless && self.raw.is_none() {
                    to.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
                    to.write_all(piece)?;
                    to.write_all(b"\r\n")?;
                } else {
                    to.write_all(piece)?;
                }
                to.flush()?;
                std::thread::sleep(pause);
            }
            if !self.endless || body.is_empty() {
                return Ok(());
            }
        }
    }
}

type Answering = dyn Fn(&Received) -> Reply + Send + Sync;

/// A server on loopback. It stops when it is dropped.
pub struct ScriptedServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    scheme: &'static str,
    /// Holds the port.
    listening: Option<JoinHandle<()>>,
}

struct Shared {
    answering: Box<Answering>,
    tls: Option<Arc<ServerConfig>>,
    received: Mutex<Vec<Received>>,
    connections: AtomicUsize,
    stopped: AtomicBool,
}

impl ScriptedServer {
    /// Answers every request by this.
    ///
    /// # Panics
    ///
    /// When no port of loopback is free.
    pub fn start(answering: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        ScriptedServer::run(Ipv4Addr::LOCALHOST.into(), None, Box::new(answering))
    }

    /// Answers with these, one after the other, and with status 500 when they are used up.
    ///
    /// # Panics
    ///
    /// When no port of loopback is free.
    pub fn script(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Mutex<VecDeque<Reply>> = Mutex::new(replies.into_iter().collect());
        ScriptedServer::start(move |_| {
            let next = lock(&replies).pop_front();
            next.unwrap_or_else(|| Reply::status(500).body("the script has no more answers"))
        })
    }

    /// Like [`start`](Self::start), at another address of this machine, such as `::1`.
    ///
    /// # Panics
    ///
    /// When no port is free there.
    pub fn start_at(
        ip: impl Into<IpAddr>,
        answering: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> Self {
        ScriptedServer::run(ip.into(), None, Box::new(answering))
    }

    /// Like [`start`](Self::start), over TLS, with a certificate and its key (PKCS #8), both DER.
    ///
    /// # Panics
    ///
    /// When the certificate and the key cannot be used.
    pub fn start_tls(
        certificate: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
        answering: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let certificate = CertificateDer::from(certificate.into());
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.into()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the protocols of the provider")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .expect("a certificate with its key");
        ScriptedServer::run(
            Ipv4Addr::LOCALHOST.into(),
            Some(Arc::new(config)),
            Box::new(answering),
        )
    }

    fn run(ip: IpAddr, tls: Option<Arc<ServerConfig>>, answering: Box<Answering>) -> Self {
        let listener = TcpListener::bind((ip, 0)).expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let scheme = if tls.is_some() { "https" } else { "http" };
        let shared = Arc::new(Shared {
            answering,
            tls,
            received: Mutex::default(),
            connections: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        let server = Arc::clone(&shared);
        let listening = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if server.stopped.load(Ordering::Acquire) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let number = server.connections.fetch_add(1, Ordering::AcqRel) + 1;
                let server = Arc::clone(&server);
                // A client that breaks off is not a fault of the server's.
                std::thread::spawn(move || drop(server.serve(stream, number)));
            }
        });
        ScriptedServer {
            shared,
            address,
            scheme,
            listening: Some(listening),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The entry of `allowedHosts` that permits it: the address and the port.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// The URL of a path, which starts with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// The requests so far.
    pub fn received(&self) -> Vec<Received> {
        lock(&self.shared.received).clone()
    }

    /// How many connections were accepted so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Acquire)
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        // Wakes the thread that waits for the next one; when it has ended, no one listens any more.
        if TcpStream::connect(self.address).is_ok()
            && let Some(listening) = self.listening.take()
        {
            let _ = listening.join();
        }
    }
}

/// Something to read from and write to.
trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

impl Shared {
    fn serve(&self, stream: TcpStream, number: usize) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let mut stream: Box<dyn Stream> = match &self.tls {
            Some(config) => {
                let connection =
                    ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
                Box::new(StreamOwned::new(connection, stream))
            }
            None => Box::new(stream),
        };
        let mut ahead = Vec::new();
        while let Some(request) = read_request(&mut stream, &mut ahead, number)? {
            let is_head = request.method == "HEAD";
            lock(&self.received).push(request.clone());
            let reply = (self.answering)(&request);
            reply.send(&mut stream, is_head)?;
            if reply.close || self.stopped.load(Ordering::Acquire) {
                break;
            }
        }
        Ok(())
    }
}

/// The next request; `None` when the client is done. What was read beyond it stays in `ahead`.
fn read_request(
    stream: &mut dyn Stream,
    ahead: &mut Vec<u8>,
    connection: usize,
) -> io::Result<Option<Received>> {
    let end = loop {
        if let Some(at) = ahead.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break at + 4;
        }
        if !read_more(stream, ahead)? {
            return Ok(None);
        }
    };
    let head: Vec<u8> = ahead.drain(..end).collect();
    let text = String::from_utf8_lossy(&head).into_owned();
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    let mut received = Received {
        method: method.to_owned(),
        target: target.to_owned(),
        headers,
        head,
        body: Vec::new(),
        connection,
    };
    let length: usize = received
        .header("content-length")
        .and_then(|value| value.parse().ok())
        .unwrap_or(0);
    while ahead.len() < length {
        if !read_more(stream, ahead)? {
            return Ok(None);
        }
    }
    received.body = ahead.drain(..length).collect();
    Ok(Some(received))
}

fn read_more(stream: &mut dyn Stream, ahead: &mut Vec<u8>) -> io::Result<bool> {
    let mut piece = [0; 16 * 1024];
    let read = stream.read(&mut piece)?;
    ahead.extend_from_slice(&piece[..read]);
    Ok(read > 0)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
