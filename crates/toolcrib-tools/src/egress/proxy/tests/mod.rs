//! The proxy over real sockets: bytes in, bytes out. Names and addresses are doubles; nothing but loopback is dialled.

mod limits;
mod requests;
mod tunnels;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::Proxy;
use crate::egress::{AllowedHosts, Egress, EgressOptions, ExchangeLog, Reach};
use crate::testing::{NameTable, RecordingDialler};

/// An address that is no one's business of ours.
const PUBLIC: &str = "93.184.216.34";

/// A proxy at work, with one server behind every address.
struct Scene {
    proxy: Proxy,
    log: ExchangeLog,
    address: SocketAddr,
    dialler: RecordingDialler,
    serving: tokio::task::JoinHandle<io::Result<()>>,
}

impl Scene {
    /// Permits these hosts, and connects permitted clients to the server.
    async fn new(hosts: &[&'static str], server: TcpListener) -> Self {
        let names = NameTable::new()
            .name("api.test", &[PUBLIC])
            .name("other.test", &[PUBLIC])
            .name("a.wide.test", &[PUBLIC])
            .name("inside.test", &["127.0.0.1"])
            .name("both.test", &[PUBLIC, "10.0.0.1"]);
        let dialler = RecordingDialler::to(server.local_addr().unwrap());
        let egress = Egress::new(EgressOptions {
            resolver: Some(Arc::new(names)),
            dialler: Some(Arc::new(dialler.clone())),
            ..EgressOptions::default()
        })
        .unwrap();
        let hosts = AllowedHosts::parse(hosts.iter().copied()).unwrap();
        let log = ExchangeLog::default();
        let proxy = Proxy::new(egress, Reach::Only(hosts), log.clone());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn({
            let proxy = proxy.clone();
            async move { proxy.serve(listener).await }
        });
        // The test itself handles connections to the server.
        std::mem::forget(server);
        Scene {
            proxy,
            log,
            address,
            dialler,
            serving,
        }
    }

    /// A server that answers every connection with the same text, after it has read a head, and keeps what it read.
    async fn answering(hosts: &[&'static str], answer: &'static str) -> (Self, Heard) {
        let (server, heard) = server(answer).await;
        (Scene::new(hosts, server).await, heard)
    }

    async fn client(&self) -> Client {
        Client(TcpStream::connect(self.address).await.unwrap())
    }

    /// The answer to these bytes on a separate connection, which ends with them.
    async fn ask(&self, bytes: &str) -> String {
        let mut client = self.client().await;
        client.send(bytes).await;
        client.0.shutdown().await.unwrap();
        client.rest().await
    }

    fn dialled(&self) -> usize {
        self.dialler.dialled().len()
    }
}

struct Client(TcpStream);

impl Client {
    async fn send(&mut self, bytes: &str) {
        self.0.write_all(bytes.as_bytes()).await.unwrap();
    }

    /// Reads up to and with this text.
    async fn until(&mut self, end: &str) -> String {
        let mut read = Vec::new();
        let reading = async {
            while !read.ends_with(end.as_bytes()) {
                match self.0.read_u8().await {
                    Ok(byte) => read.push(byte),
                    Err(_) => break,
                }
            }
        };
        let late = tokio::time::timeout(Duration::from_secs(10), reading).await;
        assert!(
            late.is_ok(),
            "no `{end}` in {:?}",
            String::from_utf8_lossy(&read)
        );
        String::from_utf8_lossy(&read).into_owned()
    }

    /// Everything to the end.
    async fn rest(&mut self) -> String {
        let mut read = Vec::new();
        let reading = self.0.read_to_end(&mut read);
        // A connection that is cut may end with a reset.
        let _ = tokio::time::timeout(Duration::from_secs(10), reading)
            .await
            .expect("an end");
        String::from_utf8_lossy(&read).into_owned()
    }
}

/// What a server was sent, one text a connection.
type Heard = Arc<Mutex<Vec<String>>>;

/// Answers every connection with a text once a head and the body it announces were read.
async fn server(answer: &'static str) -> (TcpListener, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let again = std::net::TcpListener::from(rustix_clone(&listener));
    again.set_nonblocking(true).unwrap();
    let accepting = TcpListener::from_std(again).unwrap();
    let heard = Heard::default();
    let hearing = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((stream, _)) = accepting.accept().await {
            let hearing = Arc::clone(&hearing);
            tokio::spawn(async move {
                let mut client = Client(stream);
                let head = client.until("\r\n\r\n").await;
                let length = head
                    .to_lowercase()
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
                let mut body = vec![0; length.unwrap_or(0)];
                client.0.read_exact(&mut body).await.unwrap();
                let mut said = head.clone() + &String::from_utf8_lossy(&body);
                if head.to_lowercase().contains("transfer-encoding: chunked") {
                    said += &client.until("0\r\n\r\n").await;
                }
                hearing.lock().unwrap().push(said);
                let _ = client.0.write_all(answer.as_bytes()).await;
            });
        }
    });
    (listener, heard)
}

fn rustix_clone(listener: &TcpListener) -> std::os::fd::OwnedFd {
    use std::os::fd::AsFd as _;
    listener.as_fd().try_clone_to_owned().unwrap()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or(answer)
}
