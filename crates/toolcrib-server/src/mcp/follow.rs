//! Telling clients that the list of tools is another one: [`CribHost::follow`].
//!
//! Files are looked at once a second, which costs some system calls, and at once when a call has found that something changed. Clients are
//! notified of another list, not of another state: switching a tool off and on again is not reported.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use toolcrib_mcp::server::{ChangeNotice, Server};

use super::CribHost;

/// How often files are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long it is waited for more of a change: who writes ten files writes them one after the other.
const SETTLE: Duration = Duration::from_millis(50);

impl CribHost {
    /// Notifies the clients of a server when the list of tools changes, for as long as this is polled. Never ends.
    pub async fn follow(self: Arc<Self>, server: Server) {
        let changed = Arc::new(Notify::new());
        let told = Arc::downgrade(&changed);
        self.crib.registry().watch(move |_, _| {
            if let Some(changed) = told.upgrade() {
                changed.notify_one();
            }
        });
        let mut known = self.catalogue();
        let mut seen = (self.crib.upstream_stamp(), known.state);
        // Read here, so that it is known when this is first polled.
        let mut material = self.crib.upstream_material(&self.options.bundles);
        loop {
            tokio::select! {
                () = changed.notified() => tokio::time::sleep(SETTLE).await,
                () = tokio::time::sleep(LOOK) => {}
            }
            let now = (self.crib.upstream_stamp(), self.crib.registry().state());
            if now != seen {
                seen = now;
                if let Ok(now) = self.material().await {
                    if now.prompts != material.prompts {
                        server.changed(ChangeNotice::Prompts);
                    }
                    if (&now.resources, &now.templates)
                        != (&material.resources, &material.templates)
                    {
                        server.changed(ChangeNotice::Resources);
                    }
                    material = now;
                }
            }
            if self.crib.registry().state() == known.state {
                continue;
            }
            // A long list takes a while to write.
            let host = Arc::clone(&self);
            let Ok(now) = tokio::task::spawn_blocking(move || host.catalogue()).await else {
                continue;
            };
            if !now.is_like(&known) {
                server.changed(ChangeNotice::Tools);
            }
            known = now;
        }
    }
}
