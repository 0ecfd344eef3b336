//! A moving line on stderr for whatever takes longer than 300 ms.

use std::future::Future;
use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::output::Output;

const PATIENCE: Duration = Duration::from_millis(300);
const FRAME: Duration = Duration::from_millis(100);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Awaits something; shows a moving line when it takes long and somebody looks.
pub(crate) async fn show<T>(output: &Output, what: &str, work: impl Future<Output = T>) -> T {
    if !output.shows_progress() {
        return work.await;
    }
    let mut work = std::pin::pin!(work);
    let start = Instant::now();
    if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
        return done;
    }
    for frame in FRAMES.iter().cycle() {
        let line = format!(
            "\r{} {what} · {:.1} s",
            output.dim(frame),
            start.elapsed().as_secs_f64()
        );
        let _ = write!(std::io::stderr(), "{line}\x1b[K");
        if let Ok(done) = tokio::time::timeout(FRAME, &mut work).await {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
            return done;
        }
    }
    unreachable!("the frames never end")
}
