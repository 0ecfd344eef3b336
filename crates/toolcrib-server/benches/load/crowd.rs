//! Those who only cost: connections that idle, that send a byte now and then, that ask for a stream and never read it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::client::{self, Connection};
use super::say;

/// How many may be connecting at once.
const AT_ONCE: usize = 64;

fn told<'a>(words: &mut std::str::SplitWhitespace<'a>) -> &'a str {
    words.next().expect("what to do")
}

/// Connections that made one request and stay, and others whose request never ends. Those that are closed come again.
pub(super) async fn idle_and_slow(words: &str, ended: impl Future<Output = ()>) {
    let mut words = words.split_whitespace();
    let address: SocketAddr = told(&mut words).parse().expect("an address");
    let idle: usize = told(&mut words).parse().expect("a number");
    let slow: usize = told(&mut words).parse().expect("a number");
    let health = Arc::new(client::health());
    let mut kept = Vec::with_capacity(idle);
    while kept.len() < idle {
        let some = AT_ONCE.min(idle - kept.len());
        let opening = (0..some).map(|_| {
            let health = Arc::clone(&health);
            tokio::spawn(async move {
                let mut connection = Connection::open(address).await;
                connection.ask(&health).await;
                connection.into_stream()
            })
        });
        for stream in opening.collect::<Vec<_>>() {
            kept.push(stream.await.expect("a connection"));
        }
    }
    let closed = Arc::new(AtomicUsize::new(0));
    for number in 0..slow {
        let closed = Arc::clone(&closed);
        tokio::spawn(async move {
            // Not all in one moment, as attackers would not.
            tokio::time::sleep(Duration::from_millis(number as u64 / 2)).await;
            loop {
                dribble(address).await;
                closed.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    tokio::time::sleep(Duration::from_millis(slow as u64 / 2 + 100)).await;
    say("ready");
    ended.await;
    let still = kept.iter().filter(|stream| is_open(stream)).count();
    let closed = closed.load(Ordering::Relaxed);
    say(&format!(
        "{still} idle ones were kept, slow ones were closed {closed} times"
    ));
}

/// A request that never ends, until the server closes the connection.
async fn dribble(address: SocketAddr) {
    let Ok(mut stream) = TcpStream::connect(address).await else {
        return tokio::time::sleep(Duration::from_millis(100)).await;
    };
    let _ = stream.write_all(b"GET / HTTP/1.1\r\nX-A: ").await;
    loop {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(10)) => {
                if stream.write_all(b"a").await.is_err() {
                    return;
                }
            }
            _ = stream.readable() => return,
        }
    }
}

fn is_open(stream: &TcpStream) -> bool {
    let read = stream.try_read(&mut [0; 1]);
    read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

/// Clients that ask for the events of a call and never read them.
pub(super) async fn deaf(words: &str, ended: impl Future<Output = ()>) {
    let mut words = words.split_whitespace();
    let address: SocketAddr = told(&mut words).parse().expect("an address");
    let count: usize = told(&mut words).parse().expect("a number");
    let follow = client::follow(told(&mut words));
    let mut streams = Vec::with_capacity(count);
    for _ in 0..count {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(&follow).await.expect("to write");
        streams.push(stream);
    }
    say("ready");
    ended.await;
    // A reset is seen without reading.
    let is_dropped = |stream: &&TcpStream| stream.take_error().is_ok_and(|error| error.is_some());
    let dropped = streams.iter().filter(is_dropped).count();
    say(&format!("{dropped} of {count} were dropped"));
}
