//! Ending well: answers that are on their way are finished, streams say that they end, calls get their time and are cancelled
//! after it, every record is written.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::connections::Connections;
use crate::Api;
use crate::api::Stage;

/// How long connections get to send their last answers when every call has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long cancelled calls get to end: their programs are killed, and what they wrote is recorded.
const LAST_CALLS: Duration = Duration::from_secs(5);

/// How long logs and traces get to be written.
const LAST_LINES: Duration = Duration::from_secs(2);

/// When and how to stop.
#[derive(Debug, Clone, Default)]
pub struct Stopping {
    /// Stop: nobody new, and those who are here get `grace`.
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
    let ended = async {
        connections.closed().await;
        calls_ended(api).await;
    };
    tokio::select! {
        () = ended => {}
        () = tokio::time::sleep(stopping.grace) => {}
        () = stopping.cancel.cancelled() => {}
    }
    cancel_calls(api);
    let _ = tokio::time::timeout(LAST_CALLS, calls_ended(api)).await;
    // They know of the end of their calls now.
    let _ = tokio::time::timeout(LAST_WORDS, connections.closed()).await;
    connections.close();
    api.crib().registry().recorded().await;
    let observer = api.0.observer.clone();
    let _ = tokio::task::spawn_blocking(move || observer.flush(LAST_LINES)).await;
}

fn cancel_calls(api: &Api) {
    let registry = api.crib().registry();
    for call in registry.running() {
        registry.cancel(&call.call_id);
    }
}

/// Waits until no call runs.
async fn calls_ended(api: &Api) {
    // Nobody is told of the end of a call that nobody follows; it is no hurry.
    while !api.crib().registry().running().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
