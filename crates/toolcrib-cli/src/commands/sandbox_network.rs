//! The one way out of `toolcrib sandbox`: to some hosts through Toolcrib's own guard, or to a proxy of the user's own.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use toolcrib::egress::Proxy;
use toolcrib::sandbox::Command;

/// Connections that are passed on to a proxy at once; more wait.
const MOST: usize = 64;

/// Where the way leads.
pub(super) enum WayOut {
    /// Hosts, judged one by one.
    Hosts(Proxy),
    /// An address, with any listener.
    Address(SocketAddr),
}

/// Serves the connections of a command until it is dropped.
pub(super) struct Open {
    closing: CancellationToken,
}

impl WayOut {
    /// Opens the way for a command.
    pub(super) fn open(self, command: Command) -> io::Result<(Command, Open)> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        let closing = CancellationToken::new();
        let closed = closing.clone();
        std::thread::Builder::new()
            .name("way-out".to_owned())
            .spawn(move || runtime.block_on(closed.cancelled()))?;
        let way_out = Arc::new(self);
        let command = command.proxy(move |listener| {
            let way_out = Arc::clone(&way_out);
            handle.spawn(async move {
                // Without it the command reaches nothing, and says so.
                let _ = way_out.serve(listener).await;
            });
        });
        Ok((command, Open { closing }))
    }

    async fn serve(&self, listener: TcpListener) -> io::Result<()> {
        match self {
            WayOut::Hosts(proxy) => proxy.serve(listener).await,
            WayOut::Address(address) => pass_on(listener, *address).await,
        }
    }
}

/// Serves connections to the address, until the runtime ends.
async fn pass_on(listener: TcpListener, to: SocketAddr) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return Ok(());
        };
        let Ok((mut inside, _)) = listener.accept().await else {
            // Out of descriptors, perhaps: not at once again.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        tokio::spawn(async move {
            if let Ok(mut outside) = TcpStream::connect(to).await {
                let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
            }
            drop(place);
        });
    }
}

impl Drop for Open {
    /// The thread ends with its runtime, and everything that runs there with it.
    fn drop(&mut self) {
        self.closing.cancel();
    }
}
