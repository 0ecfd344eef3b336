//! How much a server takes on.

use std::time::Duration;

use rustix::process::{Resource, Rlimit};

/// How many connections there may be, and how long each may keep the server waiting. Bodies, calls and streams have separate limits,
/// enforced where they are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The most connections at once (`server.maxConnections`).
    pub max_connections: usize,
    /// How long the head of a request may take: from the first byte of it, or from the start of a connection
    /// (`server.headerTimeoutMs`).
    pub head: Duration,
    /// How long a connection may be open with nothing to do (`server.idleTimeoutMs`).
    pub idle: Duration,
    /// How long the other end may take nothing of what is sent to it (`server.writeTimeoutMs`).
    pub write: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_connections: 10_000,
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            write: Duration::from_secs(30),
        }
    }
}

/// Raises the number of files this process may have open as far as it may be raised, and says how many that is: every connection
/// is one.
pub fn raise_open_files() -> Option<u64> {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return limit.current;
    }
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    match rustix::process::setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}
