//! The one way out of a sandbox whose network is `proxy`.
//!
//! The child makes a listening socket in its own network, where nothing else is, and hands it over before the command
//! exists. Whoever connects to it inside is connected, by a thread out here, to the one address the policy names. The
//! command never holds a socket of the host's network, and there is no route in its own.

use crate::sys;
use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::net::UnixDatagram,
    },
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// Where the proxy is found inside.
pub(crate) const PORT: u16 = 3128;

/// Connections relayed at once; more wait in the socket's queue.
const MOST: usize = 64;

/// Takes the listening socket that the child has sent.
pub(crate) fn receive(channel: &UnixDatagram) -> io::Result<TcpListener> {
    channel.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut byte = 0u8;
    let mut control = [0u64; 4];
    // SAFETY: the message is zeroed and points to places of ours that live during the call; the control buffer has room
    // for one descriptor and is aligned.
    unsafe {
        let mut part = libc::iovec {
            iov_base: (&raw mut byte).cast(),
            iov_len: 1,
        };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        sys::check(libc::recvmsg(
            channel.as_raw_fd(),
            &raw mut message,
            libc::MSG_CMSG_CLOEXEC,
        ) as i64)?;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::Error::other("the sandbox sent no socket"));
        }
        let fd = libc::CMSG_DATA(header).cast::<i32>().read_unaligned();
        Ok(TcpListener::from(OwnedFd::from_raw_fd(fd)))
    }
}

/// Relays connections until dropped, and cuts them then.
#[derive(Debug)]
pub(crate) struct Relay {
    /// Closed when we are dropped, which the thread that accepts sees.
    _stop: OwnedFd,
    open: Arc<Connections>,
}

/// The connections that are being relayed, both ends of each.
#[derive(Debug, Default)]
struct Connections {
    next: AtomicUsize,
    open: Mutex<BTreeMap<usize, [TcpStream; 2]>>,
}

impl Connections {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, [TcpStream; 2]>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relay {
    pub(crate) fn start(listener: TcpListener, to: SocketAddr) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let (seen, stop) = sys::pipe()?;
        let open = Arc::new(Connections::default());
        let relay = Self {
            _stop: stop,
            open: Arc::clone(&open),
        };
        thread::Builder::new()
            .name("toolcrib-relay".to_owned())
            .spawn(move || accept(&listener, &seen, to, &open))?;
        Ok(relay)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        for stream in self.open.lock().values().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &TcpListener, stop: &OwnedFd, to: SocketAddr, open: &Arc<Connections>) {
    loop {
        let full = open.lock().len() >= MOST;
        let mut ready = [
            sys::awaits(Some(stop), 0),
            sys::awaits((!full).then_some(listener), libc::POLLIN),
        ];
        sys::poll(&mut ready, if full { 50 } else { -1 });
        if ready[0].revents != 0 {
            return;
        }
        if ready[1].revents == 0 {
            continue;
        }
        let Ok((inside, _)) = listener.accept() else {
            // Out of descriptors, perhaps: not at once again.
            sys::poll(&mut [sys::awaits(Some(stop), 0)], 50);
            continue;
        };
        let open = Arc::clone(open);
        // A thread that cannot be started drops the connection.
        let _ = thread::Builder::new()
            .name("toolcrib-relay".to_owned())
            .spawn(move || {
                let _ = relay(&inside, to, &open);
            });
    }
}

fn relay(inside: &TcpStream, to: SocketAddr, open: &Connections) -> io::Result<()> {
    inside.set_nonblocking(false)?;
    let outside = TcpStream::connect_timeout(&to, Duration::from_secs(10))?;
    let number = open.next.fetch_add(1, Ordering::Relaxed);
    open.lock()
        .insert(number, [inside.try_clone()?, outside.try_clone()?]);
    thread::scope(|scope| {
        scope.spawn(|| copy(inside, &outside));
        copy(&outside, inside);
    });
    open.lock().remove(&number);
    Ok(())
}

/// Copies until one side ends, then tells the other.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(length) = from.read(&mut buffer) {
        if length == 0 || to.write_all(buffer.get(..length).unwrap_or(&[])).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}
