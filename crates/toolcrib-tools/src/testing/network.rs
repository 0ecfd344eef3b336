//! Doubles for names and connections: [`NameTable`] answers for names, [`RecordingDialler`] dials. With both, what would be dialled is
//! seen without dialling anything but loopback.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;

use crate::egress::{Dial, Dialled, Resolve};

/// Answers for names from a table. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct NameTable(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    answers: HashMap<String, VecDeque<Vec<IpAddr>>>,
    asked: Vec<String>,
}

impl NameTable {
    /// No one has a name.
    pub fn new() -> Self {
        NameTable::default()
    }

    /// A name with these addresses.
    #[must_use]
    pub fn name(self, name: &str, addresses: &[&str]) -> Self {
        self.name_in_turn(name, &[addresses])
    }

    /// A name whose answer is another one each time, in a circle: what a server with a TTL of 0 can do.
    ///
    /// # Panics
    ///
    /// When an address is none.
    #[must_use]
    pub fn name_in_turn(self, name: &str, answers: &[&[&str]]) -> Self {
        let parse = |address: &&str| address.parse::<IpAddr>().expect("an address");
        let answers = answers
            .iter()
            .map(|answer| answer.iter().map(parse).collect());
        lock(&self.0)
            .answers
            .insert(name.to_owned(), answers.collect());
        self
    }

    /// The names asked for so far.
    pub fn asked(&self) -> Vec<String> {
        lock(&self.0).asked.clone()
    }
}

impl Resolve for NameTable {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let mut table = lock(&self.0);
        table.asked.push(name.to_owned());
        let answer = table.answers.get_mut(name).and_then(|answers| {
            let next = answers.pop_front()?;
            answers.push_back(next.clone());
            Some(next)
        });
        let answer = answer
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such name in the table"));
        Box::pin(std::future::ready(answer))
    }
}

/// Remembers what it was asked to dial, and connects elsewhere on loopback or nowhere. Clones share the memory.
#[derive(Debug, Clone)]
pub struct RecordingDialler {
    dialled: Arc<Mutex<Vec<SocketAddr>>>,
    to: Option<SocketAddr>,
}

impl RecordingDialler {
    /// Connects nowhere.
    pub fn refusing() -> Self {
        RecordingDialler {
            dialled: Arc::default(),
            to: None,
        }
    }

    /// Connects to this address, whatever it is asked for.
    ///
    /// # Panics
    ///
    /// When the address is not one of loopback.
    pub fn to(address: SocketAddr) -> Self {
        assert!(address.ip().is_loopback(), "a test dials loopback only");
        RecordingDialler {
            dialled: Arc::default(),
            to: Some(address),
        }
    }

    /// What it was asked to dial so far.
    pub fn dialled(&self) -> Vec<SocketAddr> {
        lock(&self.dialled).clone()
    }
}

impl Dial for RecordingDialler {
    fn dial(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<Box<dyn Dialled>>> {
        lock(&self.dialled).push(to);
        Box::pin(async move {
            let Some(to) = self.to else {
                return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
            };
            let stream = tokio::net::TcpStream::connect(to).await?;
            Ok(Box::new(stream) as Box<dyn Dialled>)
        })
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
