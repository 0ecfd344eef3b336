//! The guarded way out of a command: a proxy that lives exactly as long as the command does.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::wall::{Reachable, Wall};
use crate::egress::{AllowedHosts, Egress, ExchangeLog, Proxy, Reach};
use crate::model::error::{ErrorCode, ToolError};
use crate::sandbox::{Command, Level};

/// A way out while its command runs.
#[doc(hidden)]
pub struct WayOut {
    proxy: Proxy,
    /// Taken while connections are served.
    serving: Arc<Semaphore>,
}

impl WayOut {
    /// Opens the way out that a wall leaves to its commands, if it leaves one. In a runtime, which serves it.
    pub fn open(
        wall: &Wall,
        egress: Option<&Egress>,
        log: ExchangeLog,
        command: Command,
    ) -> Result<(Command, Option<Self>), ToolError> {
        let reach = match (&wall.network, wall.level) {
            (Reachable::Nothing | Reachable::EachOther | Reachable::Everything, _)
            | (_, Level::None) => {
                return Ok((command, None));
            }
            (Reachable::Hosts(hosts), _) => {
                let hosts = AllowedHosts::parse(hosts.iter().map(String::as_str))
                    .map_err(|why| ToolError::new(ErrorCode::InvalidArguments, why))?;
                Reach::Only(hosts)
            }
            (Reachable::Listed, _) => Reach::Listed,
        };
        let egress = egress.cloned().ok_or_else(no_egress)?;
        let proxy = Proxy::new(egress, reach, log);
        let serving = Arc::new(Semaphore::new(1));
        let way_out = WayOut {
            proxy: proxy.clone(),
            serving: Arc::clone(&serving),
        };
        let runtime = tokio::runtime::Handle::current();
        let command = command.proxy(move |listener| {
            let proxy = proxy.clone();
            let Ok(place) = Arc::clone(&serving).try_acquire_owned() else {
                return;
            };
            runtime.spawn(async move {
                // Without it the command reaches nothing, which is what it then reports.
                let _ = proxy.serve(listener).await;
                drop(place);
            });
        });
        Ok((command, Some(way_out)))
    }

    /// The hosts that were asked for and are not within reach, each with its port.
    pub fn refused(&self) -> Vec<String> {
        self.proxy.refused()
    }

    /// Closes the way when dropped, whatever becomes of the call.
    pub fn closing(&self) -> CloseWhenDropped {
        CloseWhenDropped(self.proxy.clone())
    }

    /// Closes the way, and waits until nothing is left of it.
    pub(super) async fn end(self) {
        self.proxy.close();
        let _ = self.serving.acquire().await;
    }
}

/// The error for a tool that may reach hosts where no network access was set up.
pub(crate) fn no_egress() -> ToolError {
    ToolError::new(
        ErrorCode::SandboxUnavailable,
        "programs have no network access from the sandbox here: the embedding program has set none up",
    )
}

/// Closes a way out when it is dropped.
#[doc(hidden)]
pub struct CloseWhenDropped(Proxy);

impl Drop for CloseWhenDropped {
    fn drop(&mut self) {
        self.0.close();
    }
}
