//! Taking an address, and a name in the file system.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix};
use tokio::net::{TcpListener, TcpSocket, UnixListener};

use super::ListenError;
use super::socket::{listens_for, new_socket};

/// How many connections may wait to be accepted.
const WAITING: u32 = 4096;

/// How long a directory that others have locked is waited for, by who takes a name in it and by who gives it back, and how often it
/// is tried.
const TAKING: Duration = Duration::from_secs(1);
const LEAVING: Duration = Duration::from_millis(100);
const AGAIN: Duration = Duration::from_millis(5);

/// Takes an address.
pub(super) fn tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // The kernel's state of the last server must not delay the start.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

/// A socket that someone else made and passed on.
pub(super) enum Inherited {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

/// Looks at what was passed on. Its name in the file system is for its maker to remove.
pub(super) fn inherited(socket: OwnedFd) -> io::Result<Inherited> {
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why);
    let Some(family) = listens_for(&socket)? else {
        return Err(wrong("it does not listen for streams"));
    };
    match family {
        AddressFamily::INET | AddressFamily::INET6 => {
            let listener = std::net::TcpListener::from(socket);
            listener.set_nonblocking(true)?;
            Ok(Inherited::Tcp(TcpListener::from_std(listener)?))
        }
        AddressFamily::UNIX => {
            let listener = std::os::unix::net::UnixListener::from(socket);
            let address = listener.local_addr()?;
            let path = address
                .as_pathname()
                .ok_or_else(|| wrong("it has no name in the file system"))?;
            let path = path.to_owned();
            listener.set_nonblocking(true)?;
            Ok(Inherited::Unix(UnixListener::from_std(listener)?, path))
        }
        _ => Err(wrong("it is of neither TCP nor the file system")),
    }
}

/// A socket in the file system; its name goes when this is dropped.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Which one it is: someone may have put another in its place.
    id: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // What stays is what a server that was killed leaves; the next one replaces it.
        let Ok(directory) = Directory::of(&self.path, LEAVING) else {
            return;
        };
        if let Ok(Some(stat)) = directory.look()
            && id(&stat) == self.id
        {
            let _ = rustix::fs::unlinkat(&directory.file, &directory.name, AtFlags::empty());
        }
    }
}

/// Takes a name in the file system, for this user only. What a dead server left is replaced; a live server, a link or any other
/// file is left alone.
pub(super) fn unix(path: &Path) -> Result<(UnixListener, SocketFile), ListenError> {
    let failed = |source: io::Error| ListenError::Socket {
        path: path.to_owned(),
        source,
    };
    let directory = Directory::of(path, TAKING).map_err(failed)?;
    if let Some(stat) = directory.look().map_err(failed)? {
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
            let why = "there is a file of this name that is not a socket; remove it or choose another name";
            return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, why)));
        }
        if is_live(path) {
            let why = "another server listens there; stop it or choose another name";
            return Err(failed(io::Error::new(io::ErrorKind::AddrInUse, why)));
        }
        rustix::fs::unlinkat(&directory.file, &directory.name, AtFlags::empty())
            .map_err(|error| failed(error.into()))?;
    }
    let socket = private_socket(path).map_err(|error| failed(error.into()))?;
    let listener = std::os::unix::net::UnixListener::from(socket);
    let listener = UnixListener::from_std(listener).map_err(failed)?;
    let stat = directory.look().map_err(failed)?;
    let stat = stat.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    let file = SocketFile {
        path: path.to_owned(),
        id: id(&stat),
    };
    Ok((listener, file))
}

/// The directory of a socket. While this is kept, no one else who goes by this rule takes or frees a name in it.
struct Directory {
    file: File,
    name: std::ffi::OsString,
}

impl Directory {
    /// Waits no longer than `patience` for others: anybody may lock a directory that they can read.
    fn of(path: &Path, patience: Duration) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(parent, flags, Mode::empty())?);
        let until = Instant::now() + patience;
        while let Err(error) = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if !matches!(error, Errno::WOULDBLOCK | Errno::INTR) {
                return Err(error.into());
            }
            if Instant::now() >= until {
                let why = "another process keeps its directory locked; choose another directory";
                return Err(io::Error::new(io::ErrorKind::WouldBlock, why));
            }
            std::thread::sleep(AGAIN);
        }
        let name = name.to_owned();
        Ok(Directory { file, name })
    }

    /// What has the name now, not what a link leads to.
    fn look(&self) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.file, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn id(stat: &Stat) -> (u64, u64) {
    toolcrib::workspace::file_id(stat)
}

/// Whether someone listens.
fn is_live(path: &Path) -> bool {
    let connect = || {
        let socket = new_socket()?;
        rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)
    };
    // A server that is too busy to accept us is alive.
    !matches!(connect(), Err(Errno::CONNREFUSED | Errno::NOENT))
}

fn private_socket(path: &Path) -> rustix::io::Result<OwnedFd> {
    // The kernel cuts longer names off without a word.
    if path.as_os_str().as_bytes().len() > 107 {
        return Err(Errno::NAMETOOLONG);
    }
    let socket = new_socket()?;
    // Before it has a name: at no time can others connect.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, i32::try_from(WAITING).unwrap_or(i32::MAX))?;
    Ok(socket)
}
