//! Ending well: answers that are on their way are finished, streams say that they end, calls get their time and are cancelled
//! after it, every record and every outcome that is kept is written. Calls that wait for a person are refused at once by their approver:
//! no one answers in so little time.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::connections::Connections;
use crate::Api;
use crate::api::Stage;

/// How long connections get to send their last answers when every call has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long cancelled calls get to end: their programs are killed, and what they wrote is recorded.
const LAST_CALLS: Duration = Duration::from_secs(5);

/// How long records, and then logs and traces, get to be written.
const LAST_LINES: Duration = Duration::from_secs(2);

/// When and how to stop.
#[derive(Debug, Clone, Default)]
pub struct Stopping {
    /// Stop: no one new, and those who are here get `grace`.
    pub finish: CancellationToken,
    /// At once: calls are cancelled.
    pub cancel: CancellationToken,
    /// How long running calls get (`server.shutdownMs`).
    pub grace: Duration,
}

/// Ends everything, in order.
pub(super) async fn stop(api: &Api, connections: &Connections, stopping: &Stopping) {
    api.set_stage(Stage::Stopping);
    // Streams see it and end.
    api.stopping().cancel();
    connections.finish();
    let registry = api.crib().registry();
    let ended = async {
        connections.closed().await;
        registry.idle().await;
    };
    tokio::select! {
        () = ended => {}
        () = tokio::time::sleep(stopping.grace) => {}
        () = stopping.cancel.cancelled() => {}
    }
    // Also those that no one can find yet, or that wait for another with their id.
    if registry.cancel_all() > 0 {
        // Until what they leave is kept, not only until they have ended.
        let _ = tokio::time::timeout(LAST_CALLS, registry.idle()).await;
        // Clients are notified of the end of their calls now.
        let _ = tokio::time::timeout(LAST_WORDS, connections.closed()).await;
    }
    connections.close();
    // A disk that takes nothing any more does not keep the server from ending.
    let _ = tokio::time::timeout(LAST_LINES, registry.recorded()).await;
    let observer = api.0.observer.clone();
    let _ = tokio::task::spawn_blocking(move || observer.flush(LAST_LINES)).await;
}
