//! What `toolcrib serve` has in memory after many connections.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::harness::Test;
use crate::serving::{PATIENCE, Serving};

const CONNECTIONS: usize = 5_000;
/// How much more than before the server may have, in KB.
const MORE: u64 = 20 * 1024;
/// How long after the last connection has closed.
const AFTER: Duration = Duration::from_secs(10);

/// How many files a process of these tests may have open.
fn most_files() -> u64 {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.unwrap().split_whitespace().next().unwrap();
    soft.parse().unwrap_or(u64::MAX)
}

/// A connection that asked for the list of tools and was answered.
fn asks(server: &Serving) -> TcpStream {
    let mut connection = TcpStream::connect(server.address).unwrap();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "GET /tools HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\r\n",
        server.address, server.token
    );
    connection.write_all(request.as_bytes()).unwrap();
    let (mut answer, mut piece) = (Vec::new(), [0; 65536]);
    loop {
        let read = connection.read(&mut piece).unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..read]);
        if is_whole(&answer) {
            return connection;
        }
    }
}

fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, _)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.unwrap().parse().unwrap();
    answer.len() >= head.len() + 4 + length
}

#[test]
fn memory_is_near_idle_soon_after_thousands_of_connections_have_closed() {
    let needed = CONNECTIONS as u64 + 500;
    if most_files() < needed {
        crate::skipped(format_args!(
            "at most {} files may be open here",
            most_files()
        ));
        return;
    }
    let test = Test::new();
    let server = Serving::start_with_files(&test, u32::try_from(needed).unwrap());
    // What the first request loads stays.
    drop(asks(&server));
    let idle = server.memory();
    let connections: Vec<TcpStream> = (0..CONNECTIONS).map(|_| asks(&server)).collect();
    let busy = server.memory();
    drop(connections);
    let closed = Instant::now();
    loop {
        let now = server.memory();
        if now <= idle + MORE {
            println!(
                "{idle} KB idle, {busy} KB busy, {now} KB after {:?}",
                closed.elapsed()
            );
            return;
        }
        assert!(
            closed.elapsed() < AFTER,
            "{now} KB {AFTER:?} after {CONNECTIONS} connections ({busy} KB) have closed, {idle} KB before them"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}
